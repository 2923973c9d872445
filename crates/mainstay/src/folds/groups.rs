//! Splits that keep rows together: those of one group, and those that are the same.

use rand::seq::SliceRandom;

use super::parts::FEW;
use super::{Split, generator};
use crate::data::{Dataset, Merged, Positions};
use crate::error::{Error, Result};

/// Rows that must be on one side of every split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Together {
    /// Rows with the same number stay together; none: every row is free.
    pub groups: Option<Vec<usize>>,
    /// What the user should know about it.
    pub note: Option<String>,
}

impl Together {
    /// Rows of the same entry of `groups`, and rows that are equal in all features and in their label.
    pub fn new(data: &Dataset, groups: Option<&[usize]>) -> Result<Self> {
        let n = data.len();
        if let Some(groups) = groups.filter(|g| g.len() != n) {
            return Err(Error::BadData(format!("{} groups for {n} rows", groups.len())));
        }
        // Weights say how often a row counts; here every line of the table is one row.
        let merged = Merged::new(&data.without_weights());
        let distinct = merged.data.len();
        let copies = n - distinct;
        let rows = |count: usize| if count == 1 { "row is" } else { "rows are" };
        // In tables of few categories equal rows are the rule and no sign of copying.
        let bound = copies > 0 && distinct as f64 >= FEW * n as f64;
        let note = (copies > 0).then(|| {
            if bound {
                format!(
                    "{copies} {} the same as an earlier one; equal rows are kept on one side of every split",
                    rows(copies)
                )
            } else {
                format!(
                    "only {distinct} of {n} rows are distinct: equal rows are taken as rows of their own in every split"
                )
            }
        });
        let own: Vec<usize> = match groups {
            Some(groups) => groups.to_vec(),
            None if bound => (0..n).collect(),
            None => return Ok(Self { groups: None, note }),
        };
        let groups = if bound { joined(&own, &merged.position) } else { own };
        Ok(Self { groups: Some(groups), note })
    }
}

/// Groups that hold equal rows share a number.
fn joined(groups: &[usize], position: &Positions) -> Vec<usize> {
    let mut leader: Vec<usize> = (0..groups.iter().max().map_or(0, |m| m + 1)).collect();
    let find = |leader: &mut Vec<usize>, mut g: usize| {
        while leader[g] != g {
            leader[g] = leader[leader[g]];
            g = leader[g];
        }
        g
    };
    let mut first: Vec<Option<usize>> = vec![None; groups.len()];
    for (&group, place) in groups.iter().zip(position.iter()) {
        let Some(place) = place else { continue };
        let group = find(&mut leader, group);
        match first[place] {
            None => first[place] = Some(group),
            Some(other) => {
                let other = find(&mut leader, other);
                let (low, high) = (group.min(other), group.max(other));
                leader[high] = low;
            }
        }
    }
    groups.iter().map(|&g| find(&mut leader, g)).collect()
}

/// The first fold of those where a group with `own` rows of every class raises the sum of squared class shares least.
fn most_even_fold(filled: &[Vec<f64>], own: &[f64], sizes: &[f64]) -> usize {
    // Squares of shares: the increase is 2 * filled * own + own^2, class by class.
    let cost = |fold: &[f64]| -> f64 {
        let each = fold.iter().zip(own).zip(sizes);
        each.map(|((f, o), s)| o * (2.0 * f + o) / (s * s).max(1.0)).sum()
    };
    let costs: Vec<f64> = filled.iter().map(|fold| cost(fold)).collect();
    (0..costs.len()).fold(0, |best, k| if costs[k] < costs[best] { k } else { best })
}

/// The rows of every group that has any, in order of the groups.
pub fn members_of(groups: &[usize]) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.iter().max().map_or(0, |m| m + 1)];
    groups.iter().enumerate().for_each(|(i, &g)| members[g].push(i));
    members.retain(|rows| !rows.is_empty());
    members
}

/// `repeats` times `folds`-fold cross-validation that keeps rows with the same entry of `groups` together and, as far as
/// that allows, gives every fold its share of every class.
///
/// Groups are dealt out in random order, large ones first, each to the fold where it brings the counts of the classes
/// nearest to their shares. `folds` is lowered to the number of groups if there are fewer; 0 and 1 count as 2.
pub fn stratified_groups(
    labels: &[usize],
    groups: &[usize],
    folds: usize,
    repeats: usize,
    seed: u64,
) -> Vec<Split> {
    let n = labels.len();
    let classes = labels.iter().max().map_or(0, |m| m + 1);
    let mut sizes = vec![0.0_f64; classes];
    for &k in labels {
        sizes[k] += 1.0;
    }
    let mut members = members_of(groups);
    let folds = folds.clamp(2, members.len().max(2));
    let mut rng = generator(seed);
    let mut splits = Vec::with_capacity(folds * repeats);
    for _ in 0..repeats {
        members.shuffle(&mut rng);
        members.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
        let mut filled = vec![vec![0.0_f64; classes]; folds];
        let mut fold_of = vec![0; n];
        for rows in &members {
            let mut own = vec![0.0; classes];
            for &i in rows {
                own[labels[i]] += 1.0;
            }
            let best = most_even_fold(&filled, &own, &sizes);
            filled[best].iter_mut().zip(&own).for_each(|(f, o)| *f += o);
            for &i in rows {
                fold_of[i] = best;
            }
        }
        splits.extend((0..folds).map(|fold| {
            let (holdout, train) = (0..n).partition(|&i| fold_of[i] == fold);
            Split { train, holdout }
        }));
    }
    splits
}

/// [`stratified_groups`] with as many folds as asked for, each leaving rows of every class that occurs to learn from; an
/// error where groups do not allow that.
pub fn learnable_groups(
    labels: &[usize],
    groups: &[usize],
    folds: usize,
    repeats: usize,
    seed: u64,
) -> Result<Vec<Split>> {
    if groups.len() != labels.len() {
        return Err(Error::BadData(format!("{} groups for {} rows", groups.len(), labels.len())));
    }
    let splits = stratified_groups(labels, groups, folds, repeats, seed);
    if splits.len() < folds * repeats {
        let count = splits.len() / repeats.max(1);
        return Err(Error::BadData(format!(
            "there are only {count} groups to hold out, fewer than the {folds} folds: use fewer folds"
        )));
    }
    let lacks = |class: &usize, split: &Split| split.train.iter().all(|&i| labels[i] != *class);
    let classes = labels.iter().max().map_or(0, |m| m + 1);
    let mut there = (0..classes).filter(|class| labels.contains(class));
    match there.find(|class| splits.iter().any(|split| lacks(class, split))) {
        Some(class) => Err(Error::BadData(format!(
            "class {class} has all its rows in groups of one fold: no training rows of it are left; use fewer \
             folds or smaller groups"
        ))),
        None => Ok(splits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    #[test]
    fn groups_stay_together_and_classes_keep_their_shares() {
        let labels: Vec<usize> = (0..120).map(|i| usize::from(i % 3 == 0)).collect();
        let groups: Vec<usize> = (0..120).map(|i| i / 4).collect();
        let splits = stratified_groups(&labels, &groups, 5, 2, 3);
        assert_eq!(splits.len(), 10);
        for repeat in splits.chunks(5) {
            let mut all: Vec<usize> = repeat.iter().flat_map(|s| s.holdout.clone()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..120).collect::<Vec<_>>());
            for split in repeat {
                assert!(split.holdout.iter().all(|i| {
                    let mates = (0..120).filter(|j| groups[*j] == groups[*i]);
                    mates.into_iter().all(|j| split.holdout.contains(&j))
                }));
                let positive = split.holdout.iter().filter(|&&i| labels[i] == 1).count();
                assert!((6..=10).contains(&positive), "{positive} of 8");
            }
        }
        assert_ne!(splits[0], splits[5]);
    }

    /// Rows 0 and 3 are equal and so are 1 and 4; groups {0, 1} and {3} and {4} become one.
    #[test]
    fn equal_rows_join_their_groups() {
        let x = Dense::from_rows(6, 1, vec![1.0, 2.0, 3.0, 1.0, 2.0, 1.0]);
        let data = Dataset::new(Matrix::from(x), vec![0, 0, 1, 0, 0, 1], 2).unwrap();
        let found = Together::new(&data, Some(&[0, 0, 1, 2, 3, 4])).unwrap();
        assert_eq!(found.groups, Some(vec![0, 0, 1, 0, 0, 4]));
        assert!(found.note.is_some_and(|note| note.starts_with("2 rows are")));
        let alone = Together::new(&data, None).unwrap().groups.unwrap();
        assert_eq!((alone[0], alone[1]), (alone[3], alone[4]));
        // The last row is equal to the first but for its label.
        assert_ne!(alone[0], alone[5]);
        assert!(Together::new(&data, Some(&[0; 5])).is_err());
    }

    #[test]
    fn rows_of_few_categories_are_free() {
        let x = Dense::from_fn(40, 1, |i, _| (i % 3) as f64);
        let data = Dataset::new(Matrix::from(x), (0..40).map(|i| i % 2).collect(), 2).unwrap();
        let found = Together::new(&data, None).unwrap();
        assert_eq!(found.groups, None);
        assert!(found.note.is_some_and(|note| note.contains("6 of 40")));
    }
}
