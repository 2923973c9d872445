//! Damage to the rows a classifier is judged on.
//!
//! `scaling` holds what the training rows say about the features: a lost feature is replaced by its mean (0 after
//! standardisation), errors are in units of its deviation.

use super::training::check_rows;
use super::{Threat, share};
use crate::data::{Shape, Standardize};
use crate::error::{Error, Result};
use crate::folds::generator;
use crate::linalg::{Dense, Matrix, vector};
use crate::missing::{Damage, Replacement};
use crate::model::Linear;
use crate::uncertainty::ellipsoid::Ellipsoid;
use crate::uncertainty::{Attack, Deletions};

/// How many of `p` features `level` spoils: rounded, at least one where the level is positive.
pub fn spoiled(level: f64, p: usize) -> usize {
    share(level, p)
}

/// In every row [`spoiled`] features, chosen at random among those that differ from the training mean, are
/// replaced by that mean.
pub fn missing_features(x: &Dense, scaling: &Standardize, level: f64, seed: u64) -> Result<Dense> {
    Threat::MissingFeatures.check_level(level)?;
    at_random(x, scaling, level, seed, Replacement::Zero)
}

/// In every row [`spoiled`] features, chosen at random among those that differ from the training mean, are
/// replaced by noise: uniform with the feature's training mean and deviation.
pub fn corrupted_features(
    x: &Dense,
    scaling: &Standardize,
    level: f64,
    seed: u64,
) -> Result<Dense> {
    Threat::CorruptedFeatures.check_level(level)?;
    // A uniform number on [-s sqrt(3), s sqrt(3)] has deviation s.
    let ranges: Vec<f64> = scaling.scales.iter().map(|s| s * 3.0_f64.sqrt()).collect();
    at_random(x, scaling, level, seed, Replacement::Noise(&ranges))
}

fn at_random(
    x: &Dense,
    scaling: &Standardize,
    level: f64,
    seed: u64,
    replacement: Replacement<'_>,
) -> Result<Dense> {
    check_columns(x, scaling)?;
    let count = spoiled(level, x.ncols());
    if count == 0 || x.nrows() == 0 {
        return Ok(x.clone());
    }
    let deletions = Deletions::new(vec![1.0; x.ncols()], count as f64)?;
    // The noise has a stream of its own, so that the choice of features does not depend on it.
    let (mut rng, mut noise) = (generator(seed), generator(seed));
    noise.set_stream(1);
    let deviations = Matrix::Dense(deviations(x, scaling));
    let mut damaged = x.clone();
    for i in 0..x.nrows() {
        for j in deletions.random(deviations.row(i), &mut rng) {
            damaged[(i, j)] = scaling.means[j] + replacement.draw(j, &mut noise);
        }
    }
    Ok(damaged)
}

/// The rows after the worst deletion within the budget against `model`, for every row anew; the adversary knows
/// the row's label. A deleted feature is replaced by its training mean.
///
/// [`Attack::Exact`] finds the deletion that leaves the true class the smallest lead; see [`Damage`]. With one value for
/// all features and a budget of k that is the k features that speak most for the true class. Labels that the model does
/// not know leave their rows as they are.
pub fn adversarial_deletion(
    x: &Dense,
    labels: &[Option<usize>],
    model: &Linear,
    scaling: &Standardize,
    deletions: &Deletions,
    attack: Attack,
) -> Result<Dense> {
    check_columns(x, scaling)?;
    check_rows(x, labels.len())?;
    if attack == Attack::Random {
        return Err(Error::param("attack", "random", "\"exact\" or \"greedy\""));
    }
    // In deviations from the mean a deleted feature is 0; the scores stay the same.
    let intercept = model.coef.iter().zip(&model.intercept);
    let shifted = Linear {
        coef: model.coef.clone(),
        intercept: intercept.map(|(w, b)| b + vector::dot(w, &scaling.means)).collect(),
        link: model.link,
    };
    let known: Vec<usize> = labels.iter().map(|label| label.unwrap_or(0)).collect();
    let damage = Damage { deletions, attack, replacement: Replacement::Zero, seed: 0 };
    let before = deviations(x, scaling);
    let after = damage.apply(&shifted, &Matrix::Dense(before.clone()), &known)?;
    let mut damaged = x.clone();
    for i in (0..x.nrows()).filter(|&i| labels[i].is_some()) {
        for j in 0..x.ncols() {
            if after[(i, j)] != before[(i, j)] {
                damaged[(i, j)] = scaling.means[j];
            }
        }
    }
    Ok(damaged)
}

/// Every row moved to a random point of an ellipsoid around it, uniform in its volume, whose axes follow the
/// training deviations `$s_j$`: semi-axes `$r\sqrt{p + 2}\,s_j$` for level `$r$`, so that the error of feature `$j$` has
/// deviation `$r s_j$` whatever the number `$p$` of features.
pub fn measurement_error(x: &Dense, scaling: &Standardize, level: f64, seed: u64) -> Result<Dense> {
    Threat::MeasurementError.check_level(level)?;
    check_columns(x, scaling)?;
    if level == 0.0 {
        return Ok(x.clone());
    }
    let p = x.ncols();
    let size = level * (p as f64 + 2.0).sqrt();
    let axes = scaling.scales.iter().map(|s| size * s).collect();
    let ellipsoid = Ellipsoid::new(&Shape::Axes(axes), p)?;
    let mut rng = generator(seed);
    let mut damaged = x.clone();
    for i in 0..x.nrows() {
        let error = ellipsoid.view().sample_inside(p, &mut rng);
        vector::axpy(1.0, &error, damaged.row_mut(i));
    }
    Ok(damaged)
}

/// Every feature as its distance from the training mean.
fn deviations(x: &Dense, scaling: &Standardize) -> Dense {
    Dense::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] - scaling.means[j])
}

fn check_columns(x: &Dense, scaling: &Standardize) -> Result<()> {
    let p = x.ncols();
    let usable = scaling.means.iter().all(|m| m.is_finite())
        && scaling.scales.iter().all(|s| s.is_finite() && *s >= 0.0);
    if scaling.means.len() != p || scaling.scales.len() != p || !usable {
        return Err(Error::Mismatch(format!(
            "the rows have {p} features: as many finite means and scales (not negative) are needed, there are {} and {}",
            scaling.means.len(),
            scaling.scales.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaling() -> Standardize {
        Standardize { means: vec![1.0, -2.0], scales: vec![2.0, 0.5] }
    }

    #[test]
    fn a_feature_at_its_mean_cannot_go_missing() {
        let x = Dense::from_rows(2, 2, vec![1.0, 5.0, 4.0, -2.0]);
        for seed in 0..10 {
            let damaged = missing_features(&x, &scaling(), 0.5, seed);
            assert_eq!(damaged.ok(), Some(Dense::from_rows(2, 2, vec![1.0, -2.0, 1.0, -2.0])));
        }
    }

    #[test]
    fn scalings_that_do_not_fit_the_rows_are_refused() {
        let x = Dense::zeros(1, 3);
        assert!(missing_features(&x, &scaling(), 0.5, 0).is_err());
        let broken = Standardize { means: vec![0.0; 3], scales: vec![1.0, f64::NAN, 1.0] };
        assert!(measurement_error(&x, &broken, 0.5, 0).is_err());
    }
}
