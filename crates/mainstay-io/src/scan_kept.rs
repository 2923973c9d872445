//! Rows of a scan that stay in memory between passes, and all of its rows as the partitions of a fit.

use std::borrow::Cow;
use std::sync::OnceLock;

use mainstay::data::{LearnedRows, Standardize};
use mainstay::partitioned::{Block, Partitions};

use crate::error::{Error, Result};
use crate::scan_reader::BlockRows;
use crate::scan_rows::ScanRows;

/// Blocks that stay in memory once they were read, a place for each; none where they would take too much of it.
#[derive(Default)]
pub(crate) struct KeptBlocks(Vec<OnceLock<BlockRows>>);

impl KeptBlocks {
    /// Places for so many blocks.
    pub(crate) fn new(blocks: usize) -> Self {
        let mut places = Vec::new();
        places.resize_with(blocks, OnceLock::new);
        Self(places)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn all_there(&self) -> bool {
        !self.is_empty() && self.0.iter().all(|place| place.get().is_some())
    }

    /// Standardises what is there, a block at a time.
    pub(crate) fn standardize(&mut self, scaling: &Standardize) {
        for (rows, _) in self.0.iter_mut().filter_map(OnceLock::get_mut) {
            rows.features = scaling.apply_stored(&rows.features);
        }
    }
}

impl ScanRows {
    /// Block number `index` as it is fitted.
    pub(crate) fn block_to_fit(&self, index: usize) -> Result<Option<Block<'_>>> {
        if !self.kept.is_empty() {
            return self.kept_block(index);
        }
        if index == 0 {
            self.counter.restart();
        }
        let rows = self.scaled_block(index)?;
        Ok(rows.map(|(rows, errors)| {
            let block = Block::new(index, rows.features, rows.labels, rows.weights)
                .with_names(self.names.as_slice());
            match errors {
                Some(errors) => block.with_errors(errors),
                None => block,
            }
        }))
    }

    /// Block number `index` as it is read, standardised if that is wanted.
    fn scaled_block(&self, index: usize) -> Result<Option<BlockRows>> {
        let rows = self.raw_block(index)?;
        Ok(match (rows, &self.scaling) {
            (Some((rows, errors)), Some(scaling)) => {
                let features = scaling.apply_stored(&rows.features);
                Some((LearnedRows { features, ..rows }, errors))
            }
            (rows, _) => rows,
        })
    }

    /// Block number `index` of rows that stay in memory; it is read now if it was not before.
    fn kept_block(&self, index: usize) -> Result<Option<Block<'_>>> {
        if index == 0 {
            // What an earlier pass left open may be older than the files are now, and its threads are not those of a fork.
            *self.reader() = None;
            if !self.kept.all_there() {
                self.counter.restart();
            }
        }
        let Some(place) = self.kept.0.get(index) else { return Ok(None) };
        if place.get().is_some() {
            self.counter.tell(self.rows().min((index + 1) * self.block));
        } else {
            let Some(rows) = self.scaled_block(index)? else { return Ok(None) };
            place.get_or_init(|| rows);
        }
        Ok(place.get().map(|(rows, errors)| Block {
            x: Cow::Borrowed(&rows.features),
            rows: 0..rows.labels.len(),
            labels: Cow::Borrowed(&rows.labels),
            weights: rows.weights.as_deref().map(Cow::Borrowed),
            errors: errors.as_ref().map(Cow::Borrowed),
            names: Cow::Borrowed(&self.names),
            partition: index,
        }))
    }
}

impl Partitions for ScanRows {
    fn block(&self, index: usize) -> mainstay::Result<Option<Block<'_>>> {
        self.block_to_fit(index).map_err(Error::into_core)
    }

    fn parallel(&self) -> bool {
        self.kept.all_there()
    }

    fn rows(&self) -> Option<usize> {
        Some(Self::rows(self))
    }
}
