//! Driver, blocks and merge tree together: a fit on one machine.

use rayon::prelude::*;

use super::ask::Ask;
use super::block::Partitions;
use super::driver::{Driver, Step};
use super::message::{Inner as Said, Message, look};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::Fitted;

/// Messages that become one. The tree is the same everywhere, so that the same partitions give the same bits on every
/// engine, whatever the number of workers and the order in which they finish.
pub const FAN: usize = 8;

/// Answers that arrive in partition order and are merged as a tree of [`FAN`] children per node.
#[derive(Debug, Default)]
pub struct MergeTree {
    /// Nodes that wait for siblings, leaves first.
    levels: Vec<Vec<Message>>,
}

impl MergeTree {
    /// Nothing merged yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the answer of the next partition.
    pub fn push(&mut self, message: Message) -> Result<()> {
        self.push_at(0, message)
    }

    fn push_at(&mut self, level: usize, message: Message) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::with_capacity(FAN));
        }
        self.levels[level].push(message);
        if self.levels[level].len() < FAN {
            return Ok(());
        }
        let node = merge_all(std::mem::take(&mut self.levels[level]))?;
        match node {
            Some(node) => self.push_at(level + 1, node),
            None => Ok(()),
        }
    }

    /// Rows with a larger draw are not in the sample of the first look, by what is merged so far.
    fn sample_limit(&self) -> u64 {
        let known = |message: &Message| match &message.0 {
            Said::First(look) => look.sample_limit(),
            Said::Kernel(_) => u64::MAX,
        };
        self.levels.iter().flatten().map(known).min().unwrap_or(u64::MAX)
    }

    /// The answer of all partitions; `None` if there was none.
    pub fn finish(self) -> Result<Option<Message>> {
        let mut below: Option<Message> = None;
        for mut level in self.levels {
            level.extend(below);
            below = merge_all(level)?;
        }
        Ok(below)
    }
}

/// Messages in order as one.
pub fn merge_all(messages: Vec<Message>) -> Result<Option<Message>> {
    let mut messages = messages.into_iter();
    let Some(first) = messages.next() else { return Ok(None) };
    messages.try_fold(first, Message::merge).map(Some)
}

/// One pass over all partitions: their merged answer to `ask`; `None` if there is no partition.
pub fn pass(source: &dyn Partitions, ask: &Ask, control: &Control) -> Result<Option<Message>> {
    if ask.in_sequence() {
        return follow(source, ask, control);
    }
    if !source.parallel() {
        return pass_in_order(source, ask, control);
    }
    let (mut tree, mut next, mut ask) = (MergeTree::new(), 0, ask.clone());
    loop {
        let answer = |index: usize| {
            control.check()?;
            source.block(index)?.map(|block| look(&block, &ask)).transpose()
        };
        let answers: Vec<Option<Message>> =
            (next..next + FAN).into_par_iter().map(answer).collect::<Result<_>>()?;
        for message in answers {
            match message {
                Some(message) => tree.push(message)?,
                None => return tree.finish(),
            }
        }
        ask = ask.within(tree.sample_limit()).unwrap_or(ask);
        next += FAN;
    }
}

/// A pass over blocks that come one after the other: the next is fetched while the present one is looked at.
fn pass_in_order(source: &dyn Partitions, ask: &Ask, control: &Control) -> Result<Option<Message>> {
    let (mut tree, mut ask) = (MergeTree::new(), ask.clone());
    let (mut present, mut index) = (source.block(0)?, 0);
    while let Some(block) = present {
        control.check()?;
        index += 1;
        let (answer, next) = rayon::join(|| look(&block, &ask), || source.block(index));
        tree.push(answer?)?;
        ask = ask.within(tree.sample_limit()).unwrap_or(ask);
        present = next?;
    }
    tree.finish()
}

/// A pass in which every partition goes on where the one before it was: the last answer.
fn follow(source: &dyn Partitions, ask: &Ask, control: &Control) -> Result<Option<Message>> {
    let (mut ask, mut last, mut index) = (ask.clone(), None, 0);
    while let Some(block) = source.block(index)? {
        control.check()?;
        let answer = look(&block, &ask)?;
        ask = ask.after(&answer);
        last = Some(answer);
        index += 1;
    }
    Ok(last)
}

/// Fits over all partitions of `source`; `after` sees the driver after every pass.
///
/// Every pass asks for all blocks anew; whether they are read again is up to the source. Where it is
/// parallel they are looked at by the threads of `control`; the bits of the answer do not depend on their number.
pub fn fit(
    source: &dyn Partitions,
    mut driver: Driver,
    control: &Control,
    mut after: impl FnMut(&Driver) -> Result<()> + Send,
) -> Result<Fitted> {
    driver = driver.expecting(source.rows());
    control.install(|| {
        let mut step = driver.next(None)?;
        loop {
            let ask = match step {
                Step::Done(fitted) => return Ok(*fitted),
                Step::Ask(ask) => ask,
            };
            let Some(message) = pass(source, &ask, control)? else {
                return Err(Error::BadData("there is no partition".into()));
            };
            step = driver.next(Some(message))?;
            after(&driver)?;
            control.progress(driver.passes() as u64, 0);
        }
    })
}
