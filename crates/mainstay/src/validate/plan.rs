//! Which refits a validation consists of.

use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};
use crate::folds::{Split, generator, learnable_groups, members_of, stratified};
use crate::metrics::Metric;
use crate::stress::few_samples;

/// Shares of the rows of the smaller training sets; the folds of the cross-validation are one more size.
const SIZES: [f64; 4] = [0.2, 0.35, 0.5, 0.65];
/// A bootstrap sample without one of the classes is drawn again, so many times at most.
const TRIES: usize = 100;

/// How a validation is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationPlan {
    /// Bootstrap samples, for optimism and instability.
    pub bootstrap: usize,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Its repeats.
    pub repeats: usize,
    /// Training sets of each size of the learning curve; 0 leaves it out.
    pub curve_repeats: usize,
    /// What the learning curve is drawn of.
    pub metric: Metric,
    /// Seed of everything random.
    pub seed: u64,
    /// Rows with the same number are drawn, fitted to and held out together; none: every row on its own.
    pub groups: Option<Vec<usize>>,
}

impl Default for ValidationPlan {
    fn default() -> Self {
        let (bootstrap, folds, repeats, curve_repeats) = (200, 5, 10, 20);
        Self {
            bootstrap,
            folds,
            repeats,
            curve_repeats,
            metric: Metric::Auc,
            seed: 0,
            groups: None,
        }
    }
}

/// What a refit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The fit to all rows.
    All,
    /// A bootstrap sample, judged on it and on all rows.
    Bootstrap,
    /// A fold of this repeat, judged on the rows left out.
    Fold {
        /// Which repeat.
        repeat: usize,
    },
    /// A smaller training set, judged on the other rows.
    Curve {
        /// Which size.
        size: usize,
        /// Which repeat.
        repeat: usize,
    },
}

/// A refit to be done: fit to the rows `train`, predict the rows `judged`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it is for.
    pub kind: Kind,
    /// Rows to fit to; in a bootstrap sample rows occur several times.
    pub train: Vec<usize>,
    /// Rows to predict.
    pub judged: Vec<usize>,
}

impl ValidationPlan {
    pub(super) fn check(&self, labels: &[usize], n_classes: usize) -> Result<()> {
        require(self.folds >= 2, "folds", self.folds, "at least 2")?;
        require(self.repeats >= 1, "repeats", self.repeats, "at least 1")?;
        require(self.bootstrap >= 10, "bootstrap", self.bootstrap, "at least 10")?;
        let mut counts = vec![0_usize; n_classes];
        for &label in labels {
            match counts.get_mut(label) {
                Some(count) => *count += 1,
                None => return Err(Error::BadData(format!("class index {label} of {n_classes}"))),
            }
        }
        if let Some((class, count)) = counts.iter().enumerate().find(|(_, c)| **c < self.folds) {
            return Err(Error::BadData(format!(
                "class {class} has {count} rows, fewer than the {} folds: every fold needs a row of every class; \
                 use fewer folds or leave the class out",
                self.folds
            )));
        }
        if let Some(groups) = self.groups.as_ref().filter(|g| g.len() != labels.len()) {
            let (groups, rows) = (groups.len(), labels.len());
            return Err(Error::BadData(format!("{groups} groups for {rows} rows")));
        }
        Ok(())
    }

    /// Rows that stay together, one list each.
    pub(super) fn members(&self, n: usize) -> Vec<Vec<usize>> {
        let alone = || (0..n).map(|i| vec![i]).collect();
        self.groups.as_deref().map_or_else(alone, members_of)
    }

    fn splits(&self, labels: &[usize]) -> Result<Vec<Split>> {
        match &self.groups {
            Some(groups) => learnable_groups(labels, groups, self.folds, self.repeats, self.seed),
            None => Ok(stratified(labels, self.folds, self.repeats, self.seed)),
        }
    }

    /// A smaller training set of about this share of the rows; `None` if groups leave no such set with every class on
    /// both sides.
    fn smaller(&self, share: f64, labels: &[usize], repeat: u64) -> Result<Option<Vec<usize>>> {
        let seed = self.seed.wrapping_add(1 + repeat);
        if self.groups.is_none() {
            return few_samples(labels, 1.0 - share, seed).map(Some);
        }
        let n = labels.len();
        let mut members = self.members(n);
        let mut rng = generator(seed ^ (share * 100.0).to_bits());
        let classes = labels.iter().max().map_or(0, |m| m + 1);
        for _ in 0..TRIES {
            members.shuffle(&mut rng);
            let mut train: Vec<usize> = Vec::new();
            for rows in &members {
                if (train.len() + rows.len() / 2) as f64 > share * n as f64 {
                    break;
                }
                train.extend(rows);
            }
            train.sort_unstable();
            let left: Vec<usize> = (0..n).filter(|i| train.binary_search(i).is_err()).collect();
            if (0..classes).all(|k| occurs(k, &train, labels) && occurs(k, &left, labels)) {
                return Ok(Some(train));
            }
        }
        Ok(None)
    }

    /// The refits of the learning curve, each with its place among all of them.
    fn smaller_sets(&self, labels: &[usize]) -> Result<Vec<(f64, Job)>> {
        let mut jobs = Vec::new();
        for repeat in 0..self.curve_repeats {
            for (size, share) in SIZES.into_iter().enumerate() {
                let Some(train) = self.smaller(share, labels, repeat as u64)? else { continue };
                let judged: Vec<usize> =
                    (0..labels.len()).filter(|i| train.binary_search(i).is_err()).collect();
                let job = Job { kind: Kind::Curve { size, repeat }, train, judged };
                jobs.push(((repeat as f64 + 0.5) / self.curve_repeats as f64, job));
            }
        }
        Ok(jobs)
    }

    /// All refits, the fit to all rows first and the kinds mixed after it: what is done when a run is stopped is a
    /// smaller validation.
    pub fn jobs(&self, labels: &[usize], n_classes: usize) -> Result<Vec<Job>> {
        self.check(labels, n_classes)?;
        let n = labels.len();
        let all: Vec<usize> = (0..n).collect();
        let mut jobs =
            vec![(0.0, Job { kind: Kind::All, train: all.clone(), judged: all.clone() })];
        let place = |k: usize, count: usize| (k as f64 + 0.5) / count as f64;
        let (mut rng, members) = (generator(self.seed), self.members(n));
        for b in 0..self.bootstrap {
            let train = bootstrap_sample(labels, n_classes, &members, &mut rng)?;
            let job = Job { kind: Kind::Bootstrap, train, judged: all.clone() };
            jobs.push((place(b, self.bootstrap), job));
        }
        let splits = self.splits(labels)?;
        let per_repeat = splits.len() / self.repeats;
        for (k, split) in splits.into_iter().enumerate() {
            let repeat = k / per_repeat;
            let job =
                Job { kind: Kind::Fold { repeat }, train: split.train, judged: split.holdout };
            jobs.push((place(repeat, self.repeats), job));
        }
        jobs.extend(self.smaller_sets(labels)?);
        jobs.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(jobs.into_iter().map(|(_, job)| job).collect())
    }
}

/// Whether one of `rows` is of the class.
fn occurs(class: usize, rows: &[usize], labels: &[usize]) -> bool {
    rows.iter().any(|&i| labels[i] == class)
}

/// As many groups as there are, drawn with replacement, every class among their rows.
fn bootstrap_sample(
    labels: &[usize],
    n_classes: usize,
    members: &[Vec<usize>],
    rng: &mut impl rand::Rng,
) -> Result<Vec<usize>> {
    let n = members.len();
    for _ in 0..TRIES {
        let mut rows: Vec<usize> =
            (0..n).flat_map(|_| members[rng.random_range(0..n)].iter().copied()).collect();
        rows.sort_unstable();
        if (0..n_classes).all(|class| occurs(class, &rows, labels)) {
            return Ok(rows);
        }
    }
    Err(Error::BadData(
        "a class is so rare, or in so few groups, that bootstrap samples do not contain it".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_what_the_plan_says() {
        let labels: Vec<usize> = (0..50).map(|i| usize::from(i % 3 == 0)).collect();
        let plan =
            ValidationPlan { bootstrap: 20, repeats: 3, curve_repeats: 2, ..Default::default() };
        let jobs = plan.jobs(&labels, 2).unwrap();
        assert_eq!(jobs.len(), 1 + 20 + 15 + 8);
        assert_eq!(jobs[0].kind, Kind::All);
        assert_eq!(jobs, plan.jobs(&labels, 2).unwrap());
        for job in &jobs {
            match job.kind {
                Kind::All => assert_eq!(job.train, job.judged),
                Kind::Bootstrap => assert_eq!((job.train.len(), job.judged.len()), (50, 50)),
                _ => {
                    assert_eq!(job.train.len() + job.judged.len(), 50);
                    assert!(job.train.iter().all(|i| !job.judged.contains(i)));
                }
            }
            assert!((0..2).all(|k| job.train.iter().any(|&i| labels[i] == k)));
        }
        for repeat in 0..3 {
            let own = jobs.iter().filter(|j| j.kind == Kind::Fold { repeat });
            let mut held: Vec<usize> = own.flat_map(|j| j.judged.clone()).collect();
            held.sort_unstable();
            assert_eq!(held, (0..50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_class_with_fewer_rows_than_folds_is_refused() {
        let labels = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
        let told = ValidationPlan::default().jobs(&labels, 2).unwrap_err().to_string();
        assert!(told.contains("class 1 has 4 rows"), "{told}");
    }

    #[test]
    fn groups_are_drawn_and_held_out_together() {
        let labels: Vec<usize> = (0..120).map(|i| usize::from(i % 3 == 0)).collect();
        let groups: Vec<usize> = (0..120).map(|i| i / 4).collect();
        let plan = ValidationPlan {
            groups: Some(groups.clone()),
            bootstrap: 20,
            repeats: 2,
            curve_repeats: 3,
            ..Default::default()
        };
        let jobs = plan.jobs(&labels, 2).unwrap();
        assert_eq!(jobs.len(), 1 + 20 + 10 + 12);
        for job in &jobs {
            let count = |i: usize| job.train.iter().filter(|&&j| j == i).count();
            assert!((0..120).all(|i| count(i) == count(i / 4 * 4)), "{:?}", job.kind);
            if !matches!(job.kind, Kind::All | Kind::Bootstrap) {
                assert!(job.judged.iter().all(|i| count(*i) == 0));
                assert_eq!(job.train.len() + job.judged.len(), 120);
            }
        }
        let few = ValidationPlan { groups: Some(vec![0; 120]), ..Default::default() };
        assert!(few.jobs(&labels, 2).is_err());
        let one_class = ValidationPlan {
            groups: Some(
                labels.iter().enumerate().map(|(i, l)| if *l == 1 { 0 } else { 1 + i }).collect(),
            ),
            ..Default::default()
        };
        let told = one_class.jobs(&labels, 2).unwrap_err().to_string();
        assert!(told.contains("class 1 has all its rows"), "{told}");
        assert_eq!(plan.members(120).len(), 30);
    }
}
