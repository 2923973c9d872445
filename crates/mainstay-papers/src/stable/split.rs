//! Splits, scales and rates.

use mainstay::data::{Dataset, deviations};
use mainstay::folds::generator;
use mainstay::model::{Estimator, Fitted};
use mainstay::stable::{
    K, PAPER_FRACTIONS, Protocol, coefficient_stability, coefficients, sigma_bar,
};
use rand::seq::SliceRandom;

use crate::context::Context;
use crate::error::Result;

/// The three data sets as the paper names them.
pub(super) const SETS: [(&str, &str); 3] =
    [("adult", "Adult"), ("wpbc", "WPBC"), ("glass", "Glass")];

/// Training and test rows, features divided by their deviations over the training rows.
pub(super) struct Split {
    pub(super) train: Dataset,
    pub(super) test: Dataset,
    pub(super) seed: u64,
}

impl Split {
    pub(super) fn new(data: &Dataset, seed: u64, context: &Context<'_>) -> Self {
        let mut rows: Vec<usize> = (0..data.len()).collect();
        rows.shuffle(&mut generator(seed));
        if context.quick {
            rows.truncate(QUICK_ROWS);
        }
        let (test, train) = rows.split_at(rows.len() / 10);
        let (train, test) = (data.select_rows(train), data.select_rows(test));
        let share = vec![1.0 / train.len() as f64; train.len()];
        let scales = deviations(train.features(), &share);
        let factors: Vec<f64> = scales.iter().map(|s| 1.0 / s).collect();
        let scaled = |part: Dataset| {
            let x = part.features().scale_columns(&factors);
            part.replace_features(x)
        };
        Self { train: scaled(train), test: scaled(test), seed }
    }

    /// Accuracy, true and false positive rate on the test rows; the rates of two classes only.
    pub(super) fn rates(&self, fitted: &Fitted) -> Result<[f64; 3]> {
        let predicted = fitted.model.predict(self.test.features())?;
        let truth = self.test.labels();
        let count = |f: &dyn Fn(usize, usize) -> bool| {
            predicted.iter().zip(truth).filter(|(a, b)| f(**a, **b)).count() as f64
        };
        let accuracy = count(&|a, b| a == b) / truth.len() as f64;
        if self.test.n_classes() > 2 {
            return Ok([accuracy, f64::NAN, f64::NAN]);
        }
        let rate = |of: usize| count(&|a, b| b == of && a == 1) / count(&|_, b| b == of);
        Ok([accuracy, rate(1), rate(0)])
    }

    /// `floor(fraction n)` rows.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    pub(super) fn count(&self, fraction: f64) -> K {
        K::Count((fraction * self.train.len() as f64) as u64)
    }

    /// All nine values of k.
    pub(super) fn counts(&self) -> Vec<K> {
        PAPER_FRACTIONS.iter().map(|&f| self.count(f)).collect()
    }
}

/// Rows of a quick run, at most.
pub(super) const QUICK_ROWS: usize = 3000;

/// Number of splits of a data set.
pub(super) fn splits(context: &Context<'_>, file: &str) -> usize {
    if file == "adult" { context.pick(3, 2) } else { context.pick(30, 6) }
}

/// Variability of the coefficients: classical by the paper's protocol, stable by the paper's protocol (`path`),
/// then both on the same halves, absolute and relative to the coefficients.
pub(super) fn variability(
    classical: &dyn Estimator,
    stable: &dyn Estimator,
    path: &[Fitted],
    split: &Split,
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    let control = context.control();
    let of = |estimator: &dyn Estimator, protocol| {
        coefficient_stability(estimator, &split.train, protocol, 9, split.seed, &control)
    };
    let over_k: Vec<Vec<Vec<f64>>> =
        path.iter().map(coefficients).collect::<mainstay::Result<_>>()?;
    let (paper, paired) = (of(classical, Protocol::Paper)?, of(classical, Protocol::Paired)?);
    let fair = of(stable, Protocol::Paired)?;
    let largest = |fit: &Vec<Vec<f64>>| fit.iter().flatten().fold(0.0, |m: f64, w| m.max(w.abs()));
    let idle = over_k.iter().filter(|fit| largest(fit) < 1e-3).count();
    Ok(vec![
        paper.absolute,
        sigma_bar(&over_k)?.absolute,
        paired.absolute,
        fair.absolute,
        paired.relative,
        fair.relative,
        idle as f64,
    ])
}
