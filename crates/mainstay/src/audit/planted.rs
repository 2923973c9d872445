//! Labels flipped on purpose: how many of them an audit would find.

use rayon::prelude::*;

use super::posterior::Story;
use super::scores::{Scores, Splits};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::model::Estimator;
use crate::stress::{Threat, label_noise, seed_of};

/// One time of flipping.
pub(super) struct Round {
    /// How many labels were flipped.
    pub flipped: usize,
    /// How many labels are wrong by each of the stories, with the flipped ones among them.
    pub totals: [f64; 2],
    /// Stated probabilities of the flipped rows.
    pub wrong: Vec<f64>,
}

/// Flips `level` of the labels in each of `rounds` rounds and looks for wrong labels as an audit does, with one repeat of
/// held-out scores.
pub(super) fn plant(
    estimator: &dyn Estimator,
    data: &Dataset,
    (rounds, level): (usize, f64),
    splits: Splits<'_>,
    control: &Control,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Round>> {
    let one = |round: usize| {
        let seed = seed_of(splits.seed, round, Some(Threat::LabelNoise));
        let labels = label_noise(data.labels(), data.n_classes(), level, seed)?;
        let flipped: Vec<usize> =
            (0..labels.len()).filter(|&i| labels[i] != data.labels()[i]).collect();
        let noisy = data.replace_labels(labels);
        let splits = Splits { repeats: 1, seed, ..splits };
        let scores = Scores::new(estimator, &noisy, splits, control, done)?;
        let mean = scores.mean();
        let curves = scores.curves(&mean, noisy.labels())?;
        let wrong = curves.wrong(Story::SomeOdd, &mean, noisy.labels());
        Ok(Round {
            flipped: flipped.len(),
            totals: curves.totals(&mean, noisy.labels()),
            wrong: flipped.iter().map(|&i| wrong[i]).collect(),
        })
    };
    (0..rounds).into_par_iter().map(one).collect()
}
