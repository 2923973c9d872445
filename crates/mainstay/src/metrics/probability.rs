//! Metrics of probabilities, row by row.

use super::judged::Judged;
use super::side::Side;
use super::undefined::Undefined;

/// `$-\ln p$` of what happened.
pub(super) fn surprise(positive: bool, p: f64) -> f64 {
    loss(if positive { p } else { 1.0 - p })
}

/// `$-\ln p$`, kept finite.
pub(super) fn loss(p: f64) -> f64 {
    -p.clamp(f64::EPSILON, 1.0).ln()
}

/// `$(p - y)^2$`.
pub(super) fn square(positive: bool, p: f64) -> f64 {
    let y = if positive { 1.0 } else { 0.0 };
    (p - y) * (p - y)
}

/// One minus the Brier score over that of always answering the share of the class.
pub(super) fn skill(side: &Side<'_>) -> Result<f64, Undefined> {
    let (positive, negative) = side.both_sizes()?;
    let share = positive / (positive + negative);
    Ok(1.0 - side.mean(square)? / (share * (1.0 - share)))
}

/// Weighted mean of a function of the label and the row of probabilities.
fn mean(judged: &Judged<'_>, of: impl Fn(usize, &[f64]) -> f64) -> Result<f64, Undefined> {
    let all = judged.probabilities().ok_or(Undefined::NoProbabilities)?;
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, &truth) in judged.truth().iter().enumerate() {
        sum += judged.weight(i) * of(truth, all.row(i));
        total += judged.weight(i);
    }
    if sum.is_nan() { Err(Undefined::NotANumber) } else { Ok(sum / total) }
}

pub(super) fn log_loss(judged: &Judged<'_>) -> Result<f64, Undefined> {
    mean(judged, |truth, p| loss(p[truth]))
}

/// Over all classes; two classes are judged by the positive one alone, as scikit-learn does.
pub(super) fn brier(judged: &Judged<'_>) -> Result<f64, Undefined> {
    mean(judged, |truth, p| p.iter().enumerate().map(|(k, &p)| square(k == truth, p)).sum())
}

pub(super) fn brier_skill(judged: &Judged<'_>) -> Result<f64, Undefined> {
    let mut shares = vec![0.0; judged.n_classes()];
    for (i, &truth) in judged.truth().iter().enumerate() {
        shares[truth] += judged.weight(i);
    }
    let total: f64 = shares.iter().sum();
    let constant: f64 = shares.iter().map(|s| s / total * (1.0 - s / total)).sum();
    if constant <= 0.0 {
        return Err(Undefined::OneClass);
    }
    Ok(1.0 - brier(judged)? / constant)
}
