//! Where given rows are among the merged ones.

/// For every given row its position among the merged ones; `None` for rows of weight 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions(Places);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Places {
    /// So many rows, each where it was.
    Own(usize),
    Listed(Vec<Option<usize>>),
}

impl Positions {
    /// Every one of so many rows where it was.
    pub(super) fn own(rows: usize) -> Self {
        Self(Places::Own(rows))
    }

    /// As `places` say.
    pub(super) fn listed(places: Vec<Option<usize>>) -> Self {
        Self(Places::Listed(places))
    }

    /// Number of given rows.
    pub fn len(&self) -> usize {
        match &self.0 {
            Places::Own(rows) => *rows,
            Places::Listed(places) => places.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of one row.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    pub fn at(&self, row: usize) -> Option<usize> {
        match &self.0 {
            Places::Own(rows) => (row < *rows).then_some(row),
            Places::Listed(places) => places[row],
        }
    }

    /// The positions of all rows, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Option<usize>> + ExactSizeIterator {
        (0..self.len()).map(|row| self.at(row))
    }
}
