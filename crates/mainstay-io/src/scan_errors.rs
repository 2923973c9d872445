//! Columns of errors in a scan: the known error of every row travels beside its features.

use mainstay::data::{Cells, Table};
use mainstay::linalg::Dense;

use crate::error::Result;

/// Names of the columns of errors: one of radii, or one of semi-axes for every feature, in the order of the features.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorColumns(pub(crate) Vec<String>);

/// The errors of the rows of one chunk.
pub(crate) struct ChunkErrors {
    /// Where the rows are in their file.
    places: Vec<usize>,
    /// One column of errors after the other.
    columns: Vec<Vec<f64>>,
}

impl ErrorColumns {
    /// Takes the errors out of a table: they are no features.
    pub(crate) fn take(&self, table: &mut Table) -> Result<ChunkErrors> {
        let places = (0..table.nrows()).map(|i| table.place(i)).collect();
        let mut columns = Vec::with_capacity(self.0.len());
        for name in &self.0 {
            let column = table.take(name)?;
            let Cells::Numbers(errors) = column.cells else {
                let text = format!("column `{name}` of errors must hold numbers");
                return Err(mainstay::Error::BadData(text).into());
            };
            columns.push(errors);
        }
        Ok(ChunkErrors { places, columns })
    }

    /// The first `rows` of errors that wait, as a matrix; none where rows have none.
    pub(crate) fn first(&self, waiting: &mut Vec<f64>, rows: usize) -> Option<Dense> {
        let count = self.0.len();
        let taken: Vec<f64> = waiting.drain(..rows * count).collect();
        (count > 0).then(|| Dense::from_rows(rows, count, taken))
    }
}

impl ChunkErrors {
    /// Adds the errors of the rows at `kept`, some of these in their order, to `out`, row after row.
    pub(crate) fn add_to(&self, kept: &[usize], out: &mut Vec<f64>) {
        let mut at = 0;
        for place in kept {
            while self.places.get(at).is_some_and(|own| own != place) {
                at += 1;
            }
            out.extend(self.columns.iter().filter_map(|column| column.get(at)));
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay::data::Column;

    use super::*;

    #[test]
    fn errors_stay_with_the_rows_that_are_kept() {
        let column = |name: &str, values: Vec<f64>| Column::numbers(name, values);
        let columns = vec![
            column("x", vec![1.0, 2.0, 3.0]),
            column("e", vec![0.1, 0.2, 0.3]),
            column("f", vec![4.0, 5.0, 6.0]),
        ];
        let mut table = Table::new(columns).unwrap();
        let named = ErrorColumns(vec!["f".into(), "e".into()]);
        let errors = named.take(&mut table).unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), ["x"]);
        let mut waiting = Vec::new();
        errors.add_to(&[0, 2], &mut waiting);
        let taken = named.first(&mut waiting, 1).unwrap();
        assert_eq!(
            (taken.data(), waiting.as_slice()),
            ([4.0, 0.1].as_slice(), [6.0, 0.3].as_slice())
        );
        assert!(named.take(&mut table).is_err());
    }
}
