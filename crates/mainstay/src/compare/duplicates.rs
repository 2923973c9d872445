//! Rows that are the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;

/// How many rows repeat others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Duplicates {
    /// Rows that equal an earlier one in all features and in their class.
    pub equal: usize,
    /// Rows whose features are those of a row of another class: no method can get all of them right.
    pub contradicting: usize,
}

impl Duplicates {
    /// Counts them; 0 and -0 are the same number.
    pub(super) fn count(data: &Dataset) -> Self {
        let x = data.features().to_dense();
        let mut classes: BTreeMap<Vec<u64>, BTreeMap<usize, usize>> = BTreeMap::new();
        for (i, &label) in data.labels().iter().enumerate() {
            let bits = x.row(i).iter().map(|v| (v + 0.0).to_bits()).collect();
            *classes.entry(bits).or_default().entry(label).or_default() += 1;
        }
        let distinct: usize = classes.values().map(BTreeMap::len).sum();
        let at_odds = classes.values().filter(|own| own.len() > 1);
        Self {
            equal: data.len() - distinct,
            contradicting: at_odds.flat_map(BTreeMap::values).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    #[test]
    fn copies_and_contradictions_are_counted_apart() {
        let x = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 0.0, 5.0, -0.0, 5.0, 9.0, 9.0];
        let data =
            Dataset::new(Dense::from_rows(6, 2, x.to_vec()).into(), vec![0, 0, 1, 1, 1, 0], 2)
                .unwrap();
        // Rows 0 and 1 are copies, row 2 says otherwise; rows 3 and 4 are copies.
        assert_eq!(Duplicates::count(&data), Duplicates { equal: 2, contradicting: 3 });
    }
}
