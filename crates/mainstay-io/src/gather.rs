//! Rows of any number of chunks as blocks of a fixed number of rows.

use mainstay::data::LearnedRows;
use mainstay::linalg::{Csr, Dense, Matrix};

/// Rows that wait until there are enough of them.
#[derive(Default)]
pub(crate) struct Gather {
    columns: usize,
    sparse: bool,
    /// Dense: all entries. Sparse: those stored.
    values: Vec<f64>,
    indices: Vec<u32>,
    /// Stored entries of every row.
    lengths: Vec<usize>,
    labels: Vec<usize>,
    weights: Option<Vec<f64>>,
    places: Vec<usize>,
}

impl Gather {
    /// Rows that wait.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn add(&mut self, rows: LearnedRows) {
        self.columns = rows.features.ncols();
        match &rows.features {
            Matrix::Dense(x) => self.values.extend_from_slice(x.data()),
            Matrix::Sparse(x) => {
                self.sparse = true;
                for i in 0..x.nrows() {
                    let (indices, values) = x.row(i);
                    self.indices.extend_from_slice(indices);
                    self.values.extend_from_slice(values);
                    self.lengths.push(indices.len());
                }
            }
        }
        self.labels.extend(rows.labels);
        self.places.extend(rows.places);
        if let Some(weights) = rows.weights {
            self.weights.get_or_insert_default().extend(weights);
        }
    }

    /// The first rows, `count` of them or as many as there are.
    pub(crate) fn take(&mut self, count: usize) -> mainstay::Result<LearnedRows> {
        let count = count.min(self.len());
        let features = if self.sparse {
            let mut starts = Vec::with_capacity(count + 1);
            starts.push(0);
            let mut end = 0;
            for length in self.lengths.drain(..count) {
                end += length;
                starts.push(end);
            }
            let indices = first_of(&mut self.indices, end);
            let values = first_of(&mut self.values, end);
            Matrix::Sparse(Csr::new(self.columns, starts, indices, values)?)
        } else {
            let values = first_of(&mut self.values, count * self.columns);
            Matrix::Dense(Dense::from_rows(count, self.columns, values))
        };
        let labels = first_of(&mut self.labels, count);
        let weights = self.weights.as_mut().map(|w| first_of(w, count));
        let places = first_of(&mut self.places, count);
        Ok(LearnedRows { features, labels, weights, places })
    }
}

/// The first `count` of a list, which keeps the rest: in memory of just that size, since blocks may stay for long.
fn first_of<T>(list: &mut Vec<T>, count: usize) -> Vec<T> {
    list.drain(..count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that stays must not hold on to the room of all rows that waited behind it.
    #[test]
    fn what_is_taken_has_no_room_to_spare() {
        let mut list: Vec<u32> = (0..1000).collect();
        let first = first_of(&mut list, 3);
        assert_eq!((first.as_slice(), first.capacity()), ([0, 1, 2].as_slice(), 3));
        assert_eq!((list.first(), list.len()), (Some(&3), 997));
    }
}
