//! An encoder learned from a table that arrives in chunks.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::identifier::{Facts, Listing};
use super::one_value::OneValue;
use super::rule::{Rule, typed};
use super::tally::Tally;
use super::{Encoder, EncoderOptions, LeftOut, Missing, complete_rows};
use crate::data::{Column, ColumnType, Table, shell_word};
use crate::error::{Error, Result};

/// Learns what [`Encoder::learn_with`] learns, in memory that does not grow with the rows.
///
/// One pass is enough for most tables; [`EncoderLearner::needs_another_pass`] tells. The encoder is the same, bit for bit,
/// with these exceptions: the median, and the most frequent of more than 100,000 different numbers, are refused; so
/// are more than 100,000 categories of a column; a column of words of which the first tenth of a million differ is an
/// identifier even if one comes again later; what stands in for a missing date is rounded differently.
pub struct EncoderLearner {
    options: EncoderOptions,
    tallies: Vec<Tally>,
    /// For every tally whether its column varies.
    values: Vec<OneValue>,
    rows: usize,
    stage: Stage,
    /// Columns that are to be read as text in the next pass.
    text: Vec<String>,
}

/// What a pass is for.
enum Stage {
    /// Everything.
    All,
    /// Only the columns that turned out to hold numbers here and words there.
    Text,
    /// The rules, from rows without a gap alone.
    Complete { kinds: Vec<ColumnType>, left_out: Vec<LeftOut> },
}

impl EncoderLearner {
    /// Nothing seen yet.
    pub fn new(options: EncoderOptions) -> Self {
        let (tallies, values, text) = (Vec::new(), Vec::new(), Vec::new());
        Self { options, tallies, values, rows: 0, stage: Stage::All, text }
    }

    /// Takes the next rows of a table of features (the target taken out). Returns the rows that count, if not all do.
    pub fn add(&mut self, table: &Table) -> Result<Option<Vec<usize>>> {
        // Long because it is two kinds of passes over the same columns, which share what is borrowed.
        if self.tallies.is_empty() {
            self.options.check(table)?;
            self.tallies = table.names().map(|name| Tally::new(name, &self.options)).collect();
            self.values = self.tallies.iter().map(|_| OneValue::default()).collect();
        }
        let gaps = &self.options.gaps;
        let mut columns = Vec::with_capacity(self.tallies.len());
        for tally in &self.tallies {
            columns.push(table.column(&tally.name)?);
        }
        let Stage::Complete { kinds, .. } = &self.stage else {
            let all = matches!(self.stage, Stage::All);
            if all {
                self.rows += table.nrows();
                self.values.iter_mut().zip(&columns).for_each(|(found, column)| found.add(column));
            }
            let text = &self.text;
            let tallied = self.tallies.par_iter_mut().zip(columns).map(|(tally, column)| {
                if all || text.contains(&tally.name) {
                    tally.add(column, gaps, &|i| table.place(i))?;
                }
                Ok(())
            });
            // The first column that fails is named, whichever was looked at first.
            tallied.collect::<Vec<Result<()>>>().into_iter().collect::<Result<()>>()?;
            return Ok(None);
        };
        let mut whole: Vec<Cow<'_, Column>> = Vec::with_capacity(columns.len());
        for (column, kind) in columns.into_iter().zip(kinds) {
            whole.push(typed(column, *kind, gaps).map_err(|e| table.at_place(e))?);
        }
        let kept = complete_rows(&whole, table.nrows(), self.options.missing);
        let rows = kept.clone().unwrap_or_else(|| (0..table.nrows()).collect());
        self.rows += rows.len();
        for ((tally, found), column) in self.tallies.iter_mut().zip(&mut self.values).zip(&whole) {
            let column = column.select_rows(&rows);
            tally.add(&column, gaps, &|i| table.place(rows[i]))?;
            found.add(&column);
        }
        Ok(kept)
    }

    /// To be called after a pass: whether another one is needed, with [`EncoderLearner::text`] read as text.
    pub fn needs_another_pass(&mut self) -> Result<bool> {
        if let Some(mixed) = self.tallies.iter().find(|t| t.is_mixed())
            && self.text.contains(&mixed.name)
        {
            let name = &mixed.name;
            return Err(Error::BadData(format!(
                "column `{name}` holds numbers in some places and text in others; take it as categories with \
                 --categorical {typed}",
                typed = shell_word(name)
            )));
        }
        let mixed: Vec<String> =
            self.tallies.iter().filter(|t| t.is_mixed()).map(|t| t.name.clone()).collect();
        if !mixed.is_empty() && matches!(self.stage, Stage::All) {
            for tally in self.tallies.iter_mut().filter(|t| mixed.contains(&t.name)) {
                *tally = Tally::new(&tally.name, &self.options);
            }
            self.text = mixed;
            self.stage = Stage::Text;
            return Ok(true);
        }
        if self.options.missing != Missing::Drop || matches!(self.stage, Stage::Complete { .. }) {
            return Ok(false);
        }
        let (kinds, left_out) = self.decide()?;
        if self.tallies.iter().zip(&kinds).all(|(tally, kind)| !tally.has_gaps(*kind)) {
            // The columns left out are still among the tallies.
            return Ok(false);
        }
        let dropped: BTreeSet<&str> = left_out.iter().map(|l| l.column.as_str()).collect();
        let (tallies, kinds): (Vec<Tally>, Vec<ColumnType>) = (self.tallies.iter().zip(&kinds))
            .filter(|(tally, _)| !dropped.contains(tally.name.as_str()))
            .map(|(tally, kind)| (Tally::new(&tally.name, &self.options), *kind))
            .unzip();
        self.tallies = tallies;
        self.values = kinds.iter().map(|_| OneValue::default()).collect();
        self.rows = 0;
        self.stage = Stage::Complete { kinds, left_out };
        Ok(true)
    }

    /// Columns that must be read as text in the next pass, whatever they hold.
    pub fn text(&self) -> &[String] {
        &self.text
    }

    /// What every column holds, and which are left out. The kind of those does not matter.
    fn decide(&self) -> Result<(Vec<ColumnType>, Vec<LeftOut>)> {
        let mut list = Listing::new(&self.options, self.rows);
        for tally in &self.tallies {
            list.add(&Facts {
                name: &tally.name,
                words: tally.holds_words(),
                counts_up: &|| tally.counts_up(),
                all_differ: &|| tally.all_differ(),
            });
        }
        let left_out = list.finish();
        let is_out = |name: &str| left_out.iter().any(|l| l.column == name);
        let kind = |tally: &Tally| {
            if is_out(&tally.name) { Ok(ColumnType::Category) } else { tally.kind() }
        };
        Ok((self.tallies.iter().map(kind).collect::<Result<_>>()?, left_out))
    }

    /// The columns that have held one value in all rows.
    pub(crate) fn constant_columns(&self) -> Vec<String> {
        let columns = self.tallies.iter().zip(&self.values);
        let constant = columns.filter(|(_, found)| self.rows > 1 && found.is_constant());
        constant.map(|(tally, _)| tally.name.clone()).collect()
    }

    /// The encoder.
    pub fn finish(self) -> Result<Encoder> {
        self.finish_counted().map(|(encoder, _)| encoder)
    }

    /// The encoder, and how many entries sparse storage of the features would hold.
    pub(crate) fn finish_counted(self) -> Result<(Encoder, usize)> {
        let (kinds, left_out) = match self.stage {
            Stage::Complete { kinds, left_out } => (kinds, left_out),
            Stage::All | Stage::Text => self.decide()?,
        };
        if self.rows == 0 {
            return Err(Error::BadData("every row has a missing cell; impute instead".into()));
        }
        let mut rules = Vec::with_capacity(kinds.len());
        let mut stored = 0;
        for (tally, kind) in self.tallies.iter().zip(kinds) {
            if left_out.iter().all(|l| l.column != tally.name) {
                let encoding = tally.encoding(kind, &self.options)?;
                rules.push(Rule { column: tally.name.clone(), encoding });
                stored += tally.nonzeros(kind);
            }
        }
        let mut encoder =
            Encoder::from_rules(rules, (stored, self.rows), self.options.missing, left_out)?;
        encoder.gaps = self.options.gaps;
        Ok((encoder, stored))
    }
}
