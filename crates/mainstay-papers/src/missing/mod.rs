//! Dekel, Shamir: classifiers for rows with deleted features.

mod adversary;
mod globerson;
mod random;
mod sanity;

use mainstay::data::{Dataset, deviations};
use mainstay::folds::generator;
use mainstay::linalg::Matrix;
use rand::seq::SliceRandom;

use crate::context::Context;
use crate::error::Result;
use crate::experiment::{Experiment, Paper};

pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "missing-sanity",
        paper: Paper::Missing,
        title: "Section 4: the sanity check",
        what: "1000 separable rows with 20 features, labels flipped with probability 0.2, the label itself twice more as features of \
               value 10; half of the rows train. Error on the other half with one or both of the label features deleted; 100 \
               repetitions.",
        run: sanity::run,
    },
    Experiment {
        id: "missing-figure-1",
        paper: Paper::Missing,
        title: "Figure 1: random deletion, 50 training rows",
        what: "Spambase and MNIST (4 against 7): 50 training rows, a validation set for tuning, N random nonzero features deleted from \
               every test row; the linear program, the method of Globerson and Roweis, and the SVM.",
        run: random::figure_1,
    },
    Experiment {
        id: "missing-figure-2",
        paper: Paper::Missing,
        title: "Figure 2: greedy adversary",
        what: "10-fold cross-validation; an adversary deletes from every test row the features that help most per value, up to N; \
               one ninth of the training rows tunes. The linear program in chunks as in the paper and on all rows, the Perceptron, the \
               SVM; values uniform or by mutual information.",
        run: adversary::figure_2,
    },
];

/// A data set scaled so that zeros stay zeros: pixels by 1/255, other features by their deviations.
fn scaled(context: &Context<'_>, name: &'static str) -> Result<Option<Dataset>> {
    let Some(set) = context.data(name)? else { return Ok(None) };
    let data = set.binary()?;
    let x = data.features();
    let factors: Vec<f64> = if name == "mnist_4v7" {
        vec![1.0 / 255.0; x.ncols()]
    } else {
        let share = vec![1.0 / x.nrows() as f64; x.nrows()];
        deviations(x, &share).iter().map(|d| 1.0 / d).collect()
    };
    let scaled: Matrix = x.scale_columns(&factors);
    Ok(Some(data.replace_features(scaled)))
}

/// The rows in random order.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..n).collect();
    rows.shuffle(&mut generator(seed));
    rows
}

/// The first `rows` that hold both classes, so that `count` of them can train.
fn training(data: &Dataset, rows: &[usize], count: usize) -> Result<Dataset> {
    let part = data.select_rows(&rows[..count.min(rows.len())]);
    Ok(Dataset::new(part.features().clone(), part.labels().to_vec(), 2)?)
}
