//! The sample of the first look: rows with the smallest draws.

use super::block::Block;
use super::first_look::FirstLook;
use super::wire::wire;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::Dense;

/// One row of the sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// The rows with the smallest numbers are the sample: it does not depend on how partitions are merged.
    pub draw: u64,
    pub label: usize,
    pub weight: f64,
}

wire!(Drawn { draw, label, weight });

/// A number for every row that looks random and depends on its place alone (the finaliser of SplitMix64).
pub(super) fn draw(partition: usize, row: usize) -> u64 {
    let mut z = (partition as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (row as u64);
    for factor in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(factor);
        z ^= z >> 27;
    }
    z ^ (z >> 31)
}

impl FirstLook {
    /// Draws rows of a block, those with a draw up to `limit`.
    pub(super) fn take_sample(&mut self, block: &Block<'_>, limit: u64) {
        let mut drawn: Vec<(u64, usize)> = (0..block.len())
            .map(|row| (draw(block.partition, row), row))
            .filter(|&(draw, row)| draw <= limit && block.weight(row) > 0.0)
            .collect();
        if drawn.len() > self.sample_rows {
            drawn.select_nth_unstable(self.sample_rows);
            drawn.truncate(self.sample_rows);
        }
        drawn.sort_unstable();
        self.sample_values = vec![0.0; drawn.len() * self.columns];
        for (k, &(draw, row)) in drawn.iter().enumerate() {
            let at = block.rows.start + row;
            let values = &mut self.sample_values[k * self.columns..(k + 1) * self.columns];
            block.x.row(at).add_scaled_to(1.0, values);
            if let Some(errors) = &block.errors {
                self.sample_spread.extend_from_slice(errors.row(at));
            }
            let (label, weight) = (block.labels[row], block.weight(row));
            self.sample.push(Drawn { draw, label, weight });
        }
    }

    /// Rows of both samples by their draws, as many as are wanted; `place` is what the other calls its classes.
    pub(super) fn merge_sample(&mut self, next: &Self, place: &[usize]) {
        let most = (self.sample.len() + next.sample.len()).min(self.sample_rows);
        let mut sample = Vec::with_capacity(most);
        let mut values = Vec::with_capacity(most * self.columns);
        let mut spread = Vec::with_capacity(most * self.errors);
        let (mut i, mut j) = (0, 0);
        while sample.len() < most {
            let own = match (self.sample.get(i), next.sample.get(j)) {
                (Some(own), Some(other)) => own.draw <= other.draw,
                (own, _) => own.is_some(),
            };
            let (from, at) = if own { (&*self, &mut i) } else { (next, &mut j) };
            let Drawn { draw, label, weight } = from.sample[*at];
            let label = if own { label } else { place[label] };
            sample.push(Drawn { draw, label, weight });
            values.extend_from_slice(&from.sample_values[*at * self.columns..][..self.columns]);
            spread.extend_from_slice(&from.sample_spread[*at * self.errors..][..self.errors]);
            *at += 1;
        }
        (self.sample, self.sample_values, self.sample_spread) = (sample, values, spread);
    }

    /// Rows with a larger draw are not in the sample of any rows to which these belong.
    pub(super) fn sample_limit(&self) -> u64 {
        let last = self.sample.last().filter(|_| self.sample.len() >= self.sample_rows);
        last.map_or(u64::MAX, |drawn| drawn.draw)
    }

    /// The rows of the sample as a matrix.
    pub(crate) fn sample_matrix(&self) -> Dense {
        Dense::from_rows(self.sample.len(), self.columns, self.sample_values.clone())
    }

    /// The errors of the rows of the sample; none where rows have none.
    pub(super) fn sample_errors(&self) -> Option<Dense> {
        let spread =
            || Dense::from_rows(self.sample.len(), self.errors, self.sample_spread.clone());
        (self.errors > 0).then(spread)
    }

    /// The rows of the sample as a data set; `None` if a class is not among them.
    pub(crate) fn sample_data(&self) -> Result<Option<Dataset>> {
        let labels: Vec<usize> = self.sample.iter().map(|d| d.label).collect();
        if (0..self.names.len()).any(|class| !labels.contains(&class)) {
            return Ok(None);
        }
        let weights = self.sample.iter().map(|d| d.weight).collect();
        let data = Dataset::new(self.sample_matrix().into(), labels, self.names.len())?;
        data.with_weights(weights).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::FirstAsk;
    use super::super::first_look::first_look;
    use super::super::message::{Inner, Message};
    use super::*;
    use crate::linalg::Matrix;

    const ROWS: usize = 40;
    const ASK: FirstAsk = FirstAsk { sample_rows: 25, sample_numbers: 1000, limit: u64::MAX };

    fn cell(partition: usize, row: usize, column: usize) -> f64 {
        (100 * partition + row) as f64 + 0.25 * column as f64
    }

    /// Rows with an error; the second partition calls its classes the other way round.
    fn look(partition: usize) -> FirstLook {
        let x = Dense::from_fn(ROWS, 2, |i, j| cell(partition, i, j));
        let labels = (0..ROWS).map(|i| (i + partition) % 2).collect();
        let names = ["a", "b"].map(String::from);
        let names = if partition == 0 { names } else { [names[1].clone(), names[0].clone()] };
        let radii = Dense::from_fn(ROWS, 1, |i, _| i as f64);
        let block = Block::new(partition, Matrix::from(x), labels, None)
            .with_names(names.to_vec())
            .with_errors(radii);
        first_look(&block, &ASK).unwrap()
    }

    #[test]
    fn a_merged_sample_holds_the_rows_with_the_smallest_draws() {
        let merged = look(0).merge(look(1)).unwrap();
        let places = [0, 1].into_iter().flat_map(|part| (0..ROWS).map(move |row| (part, row)));
        let mut wanted: Vec<(u64, usize, usize)> =
            places.map(|(part, row)| (draw(part, row), part, row)).collect();
        wanted.sort_unstable();
        wanted.truncate(ASK.sample_rows);
        assert_eq!(merged.sample.len(), ASK.sample_rows);
        let (x, radii) = (merged.sample_matrix(), merged.sample_errors().unwrap());
        for (k, &(draw, part, row)) in wanted.iter().enumerate() {
            assert_eq!(merged.sample[k].draw, draw);
            // Even rows are "a" in both partitions.
            assert_eq!(merged.names[merged.sample[k].label], ["a", "b"][row % 2]);
            assert_eq!(x.row(k), [cell(part, row, 0), cell(part, row, 1)]);
            assert_eq!(radii.row(k), [row as f64]);
        }
    }

    #[test]
    fn a_sample_without_all_its_numbers_is_refused() {
        let bytes = |look: FirstLook| Message(Inner::First(Box::new(look))).to_bytes();
        assert!(Message::from_bytes(&bytes(look(0))).is_ok());
        let mut short = look(0);
        short.sample_values.pop();
        assert!(Message::from_bytes(&bytes(short)).is_err());
        let mut strange = look(0);
        strange.sample[3].label = 2;
        assert!(Message::from_bytes(&bytes(strange)).is_err());
    }
}
