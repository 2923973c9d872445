//! Splits and grids.

mod cv;
mod groups;
mod parts;

pub use cv::{Cv, deal_distinct, stratified_distinct};
pub use groups::{Together, learnable_groups, members_of, stratified_groups};
pub use parts::{Dealt, Parts};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::data::{Dataset, Merged};

/// Rows to fit on and rows to judge on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to fit on, ascending.
    pub train: Vec<usize>,
    /// Rows to judge on, ascending.
    pub holdout: Vec<usize>,
}

/// A generator of random numbers that gives the same bits on every machine.
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `repeats` times `folds`-fold cross-validation, stratified: every fold gets its share of every class.
///
/// The rows of each class are shuffled and dealt out one by one, each class starting where the
/// last one stopped, so that fold sizes differ by at most one. `folds` is lowered to the number of
/// rows if there are fewer; 0 and 1 count as 2.
pub fn stratified(labels: &[usize], folds: usize, repeats: usize, seed: u64) -> Vec<Split> {
    let n = labels.len();
    let folds = folds.clamp(2, n.max(2));
    let classes = labels.iter().max().map_or(0, |m| m + 1);
    let mut rng = generator(seed);
    let mut splits = Vec::with_capacity(folds * repeats);
    for _ in 0..repeats {
        let mut fold_of = vec![0; n];
        let mut next = 0;
        for class in 0..classes {
            let mut rows: Vec<usize> = (0..n).filter(|&i| labels[i] == class).collect();
            rows.shuffle(&mut rng);
            for i in rows {
                fold_of[i] = next % folds;
                next += 1;
            }
        }
        splits.extend((0..folds).map(|fold| {
            let (holdout, train) = (0..n).partition(|&i| fold_of[i] == fold);
            Split { train, holdout }
        }));
    }
    splits
}

/// Stratified folds need a row, or a part of one, of every class each: says so where a class has fewer than that.
pub fn fold_warning(data: &Dataset, folds: usize) -> Option<String> {
    let fewest = |counts: Vec<usize>| counts.into_iter().filter(|c| *c > 0).min();
    let mut smallest = fewest(data.label_counts())?;
    if smallest < folds {
        let distinct = Merged::new(data).data;
        let parts = Parts::of(&distinct).map(|parts| parts.dataset(&distinct));
        smallest = parts.map_or(Some(smallest), |parts| fewest(parts.label_counts()))?;
    }
    (smallest < folds).then(|| {
        let rows = if smallest == 1 { "row" } else { "rows" };
        format!(
            "the smallest class has {smallest} {rows}, fewer than n_folds = {folds}: \
             some folds hold none of it"
        )
    })
}

/// `count` values from `first` to `last`, equal steps apart; exactly both ends.
pub fn linear_grid(first: f64, last: f64, count: usize) -> Vec<f64> {
    let steps = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|k| first + (last - first) * (k as f64 / steps)).collect()
}

/// `count` values from `first` to `last`, equal ratios apart. Both ends must be positive.
pub fn geometric_grid(first: f64, last: f64, count: usize) -> Vec<f64> {
    linear_grid(first.ln(), last.ln(), count).into_iter().map(f64::exp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_partition_the_rows_and_keep_class_shares() {
        let labels: Vec<usize> =
            (0..103).map(|i| usize::from(i % 4 == 0) + usize::from(i % 8 == 0)).collect();
        let splits = stratified(&labels, 5, 2, 7);
        assert_eq!(splits.len(), 10);
        for repeat in splits.chunks(5) {
            let mut all: Vec<usize> = repeat.iter().flat_map(|s| s.holdout.clone()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..103).collect::<Vec<_>>());
            for split in repeat {
                assert_eq!(split.train.len() + split.holdout.len(), 103);
                for class in 0..3 {
                    let total = labels.iter().filter(|&&l| l == class).count();
                    let here = split.holdout.iter().filter(|&&i| labels[i] == class).count();
                    assert!((here as f64 - total as f64 / 5.0).abs() < 1.0);
                }
            }
        }
        assert_eq!(splits, stratified(&labels, 5, 2, 7));
        assert_ne!(splits[0], splits[5]);
    }

    #[test]
    fn grids_hit_both_ends() {
        assert_eq!(linear_grid(0.005, 0.5, 100)[99], 0.5);
        assert_eq!(linear_grid(1.0, 10.0, 10), (1..=10).map(f64::from).collect::<Vec<_>>());
        assert_eq!(linear_grid(3.0, 4.0, 1), vec![3.0]);
    }
}
