//! What the tests of fits over partitions share: blocks of any size, both ways to fit, and the way of the bytes.

use mainstay::data::{Dataset, RowUncertainty};
use mainstay::model::Fitted;
use mainstay::partitioned::{Ask, Block, Driver, MergeTree, Message, Partitions, Step, fit, look};
use mainstay::{Control, Result, methods};
use serde_json::Value;

/// A fit over the partitions of `source`.
pub(crate) fn over(source: &dyn Partitions, method: &str, params: &Value) -> Result<Fitted> {
    fit(source, methods::driver(method, params)?, &Control::new(), |_| Ok(()))
}

/// The fit of the same rows in memory.
pub(crate) fn in_memory(data: &Dataset, method: &str, params: &Value) -> Fitted {
    methods::find(method).unwrap().estimator(params).unwrap().fit(data, &Control::new()).unwrap()
}

/// Objectives of both lie above the optimum by less than their gaps, but for `rounding`.
pub(crate) fn assert_within_gaps(a: &Fitted, b: &Fitted, rounding: f64, what: &str) {
    assert_eq!(a.certificates.len(), b.certificates.len());
    for (own, other) in a.certificates.iter().zip(&b.certificates) {
        assert!(own.gap() <= a.tol && other.gap() <= b.tol, "{what}: {own:?} {other:?}");
        let room = (own.gap() + other.gap() + rounding) * own.primal.abs().max(1.0);
        assert!((own.primal - other.primal).abs() <= room, "{what}: {own:?} {other:?}");
    }
}

/// Blocks as they come: owned, of any size, with weights and errors.
pub(crate) struct Pieces(pub(crate) Vec<Block<'static>>);

impl Pieces {
    /// `data` cut after the given numbers of rows.
    pub(crate) fn cut(data: &Dataset, lengths: &[usize]) -> Self {
        let mut first = 0;
        let mut pieces = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            let rows: Vec<usize> = (first..first + length).collect();
            first += length;
            let labels = rows.iter().map(|&i| data.labels()[i]).collect();
            let weights = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
            let x = data.features().select_rows(&rows);
            let block = Block::new(index, x, labels, weights);
            pieces.push(match data.uncertainty() {
                Some(RowUncertainty::Axes(axes)) => block.with_errors(axes.select_rows(&rows)),
                _ => block,
            });
        }
        assert_eq!(first, data.len());
        Self(pieces)
    }
}

impl Partitions for Pieces {
    fn block(&self, index: usize) -> Result<Option<Block<'_>>> {
        Ok(self.0.get(index).cloned())
    }
}

/// A fit with every ask and every message as bytes, merged level by level as a cluster would, or handed on from block to
/// block; and the driver at its end.
pub(crate) fn by_bytes(source: &dyn Partitions, mut driver: Driver) -> (Fitted, Driver) {
    let mut step = driver.next(None).unwrap();
    loop {
        let ask = match step {
            Step::Done(fitted) => return (*fitted, driver),
            Step::Ask(ask) => ask,
        };
        let mut level: Vec<Vec<u8>> = Vec::new();
        let mut bytes = ask.to_bytes();
        let mut index = 0;
        while let Some(block) = source.block(index).unwrap() {
            let own = Ask::from_bytes(&bytes).unwrap();
            let message = look(&block, &own).unwrap();
            if ask.in_sequence() {
                bytes = own.after(&message).to_bytes();
                level.clear();
            }
            level.push(message.to_bytes());
            index += 1;
        }
        while level.len() > 1 {
            level = level.chunks(8).map(merged).collect();
        }
        step = driver.next(Some(Message::from_bytes(&level[0]).unwrap())).unwrap();
    }
}

fn merged(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut tree = MergeTree::new();
    for message in messages {
        tree.push(Message::from_bytes(message).unwrap()).unwrap();
    }
    tree.finish().unwrap().unwrap().to_bytes()
}
