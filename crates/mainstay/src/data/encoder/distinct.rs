//! Whether whole numbers differ from row to row, in memory that does not grow with the rows.

use std::collections::HashSet;

use crate::data::row_hash::scattered;

/// Numbers that are remembered at most.
const MANY: usize = 1 << 18;

/// Whether whole numbers differ, as far as they are remembered.
///
/// Up to 262,144 all of them are. Of more those are whose place among scattered numbers is low, and the bound falls
/// whenever they are too many: which ones these are depends on the numbers alone. So a table in memory and the same rows in
/// chunks give the same answer, and numbers that repeat only far down the file are noticed as soon as one of those kept does.
pub(super) enum Distinct {
    /// Places that were met, none twice, and the highest that is remembered.
    Seen { places: HashSet<u64>, highest: u64 },
    /// Two are equal, or one is not whole.
    No,
}

impl Distinct {
    pub(super) fn new() -> Self {
        Self::Seen { places: HashSet::new(), highest: u64::MAX }
    }

    /// Looks at the numbers of a column, or of its next rows; gaps are none.
    pub(super) fn add_all(&mut self, values: &[f64]) {
        for value in values.iter().filter(|v| !v.is_nan()) {
            if !self.is_possible() {
                return;
            }
            self.add(*value);
        }
    }

    fn add(&mut self, value: f64) {
        let Self::Seen { places, highest } = self else { return };
        // Zero has two signs.
        let place = scattered((value + 0.0).to_bits());
        if value.fract() != 0.0 || (place <= *highest && !places.insert(place)) {
            *self = Self::No;
        } else if places.len() > MANY {
            *highest /= 2;
            places.retain(|place| *place <= *highest);
        }
    }

    /// Whether no two numbers were equal so far.
    pub(super) fn is_possible(&self) -> bool {
        matches!(self, Self::Seen { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(values: impl Iterator<Item = usize>) -> bool {
        let mut found = Distinct::new();
        found.add_all(&values.map(|v| v as f64).collect::<Vec<_>>());
        found.is_possible()
    }

    /// Half of what is remembered goes when there is too much: memory has a bound, and repeats are still seen.
    #[test]
    fn numbers_that_repeat_late_are_noticed_in_bounded_memory() {
        let mut found = Distinct::new();
        for start in (0..2_000_000).step_by(1000) {
            let part: Vec<f64> = (start..start + 1000).map(f64::from).collect();
            found.add_all(&part);
            let Distinct::Seen { places, .. } = &found else { panic!("no two are equal") };
            assert!(places.len() <= MANY);
        }
        found.add_all(&(0..1000).map(f64::from).collect::<Vec<_>>());
        assert!(!found.is_possible());
    }

    #[test]
    fn few_numbers_are_compared_one_and_all() {
        assert!(differ(0..MANY));
        assert!(!differ((0..MANY - 1).chain([77])));
        let mut found = Distinct::new();
        found.add_all(&[0.0, f64::NAN, f64::NAN, 1.0]);
        assert!(found.is_possible());
        found.add_all(&[-0.0]);
        assert!(!found.is_possible());
    }
}
