//! Which refits a validation consists of.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};
use crate::folds::{Split, generator, stratified, stratified_groups};
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
}

impl Default for ValidationPlan {
    fn default() -> Self {
        let (bootstrap, folds, repeats, curve_repeats) = (200, 5, 10, 20);
        Self { bootstrap, folds, repeats, curve_repeats, metric: Metric::Auc, seed: 0 }
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
        Ok(())
    }

    fn splits(&self, labels: &[usize], groups: Option<&[usize]>) -> Vec<Split> {
        match groups {
            Some(groups) => stratified_groups(labels, groups, self.folds, self.repeats, self.seed),
            None => stratified(labels, self.folds, self.repeats, self.seed),
        }
    }

    /// The refits of the learning curve, each with its place among all of them.
    fn smaller_sets(&self, labels: &[usize]) -> Result<Vec<(f64, Job)>> {
        let mut jobs = Vec::new();
        for repeat in 0..self.curve_repeats {
            for (size, share) in SIZES.into_iter().enumerate() {
                let seed = self.seed.wrapping_add(1 + repeat as u64);
                let train = few_samples(labels, 1.0 - share, seed)?;
                let judged: Vec<usize> =
                    (0..labels.len()).filter(|i| train.binary_search(i).is_err()).collect();
                let job = Job { kind: Kind::Curve { size, repeat }, train, judged };
                jobs.push(((repeat as f64 + 0.5) / self.curve_repeats as f64, job));
            }
        }
        Ok(jobs)
    }

    /// All refits, the fit to all rows first and the kinds mixed after it: what is done when a run is stopped is a
    /// smaller validation. Rows with the same entry of `groups` are in the same fold.
    pub fn jobs(
        &self,
        labels: &[usize],
        n_classes: usize,
        groups: Option<&[usize]>,
    ) -> Result<Vec<Job>> {
        self.check(labels, n_classes)?;
        let n = labels.len();
        let all: Vec<usize> = (0..n).collect();
        let mut jobs =
            vec![(0.0, Job { kind: Kind::All, train: all.clone(), judged: all.clone() })];
        let place = |k: usize, count: usize| (k as f64 + 0.5) / count as f64;
        let mut rng = generator(self.seed);
        for b in 0..self.bootstrap {
            let train = bootstrap_sample(labels, n_classes, &mut rng)?;
            let job = Job { kind: Kind::Bootstrap, train, judged: all.clone() };
            jobs.push((place(b, self.bootstrap), job));
        }
        let splits = self.splits(labels, groups);
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

/// As many rows as there are, drawn with replacement, every class among them.
fn bootstrap_sample(
    labels: &[usize],
    n_classes: usize,
    rng: &mut impl rand::Rng,
) -> Result<Vec<usize>> {
    let n = labels.len();
    for _ in 0..TRIES {
        let mut rows: Vec<usize> = (0..n).map(|_| rng.random_range(0..n)).collect();
        rows.sort_unstable();
        if (0..n_classes).all(|class| rows.iter().any(|&i| labels[i] == class)) {
            return Ok(rows);
        }
    }
    Err(Error::BadData("a class is so rare that bootstrap samples do not contain it".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_what_the_plan_says() {
        let labels: Vec<usize> = (0..50).map(|i| usize::from(i % 3 == 0)).collect();
        let plan =
            ValidationPlan { bootstrap: 20, repeats: 3, curve_repeats: 2, ..Default::default() };
        let jobs = plan.jobs(&labels, 2, None).unwrap();
        assert_eq!(jobs.len(), 1 + 20 + 15 + 8);
        assert_eq!(jobs[0].kind, Kind::All);
        assert_eq!(jobs, plan.jobs(&labels, 2, None).unwrap());
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
        let told = ValidationPlan::default().jobs(&labels, 2, None).unwrap_err().to_string();
        assert!(told.contains("class 1 has 4 rows"), "{told}");
    }
}
