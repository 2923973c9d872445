//! A model whose scores were given probabilities on held-out rows.

use serde::{Deserialize, Serialize};

use super::probability_rows::probability_rows;
use super::{Linear, Link, Model, ScoreMap, choose};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};

/// Another model and one map from scores to probabilities for each of its scores. Predictions follow the
/// probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Scores rows.
    pub model: Box<Model>,
    /// One for two classes, otherwise one per class.
    pub maps: Vec<ScoreMap>,
}

impl Calibrated {
    /// Scores whose sign (two classes) or first largest entry (more) is the more probable class: log odds under sigmoids;
    /// under an isotonic map of two classes the score less its threshold, which keeps the order of the rows.
    pub(super) fn decision(&self, x: &Matrix) -> Result<Dense> {
        // The same arithmetic as whoever looks for the boundary uses.
        if let [map @ ScoreMap::Isotonic { .. }] = self.maps.as_slice()
            && map.threshold().is_finite()
            && let Some(linear) = self.boundary()
        {
            return Ok(linear.decision(x));
        }
        let scores = self.model.decision(x)?;
        let binary = self.maps.len() == 1;
        Ok(Dense::from_fn(scores.nrows(), scores.ncols(), |i, k| {
            let score = scores[(i, k)];
            match &self.maps[k] {
                ScoreMap::Sigmoid { slope, offset } => slope * score + offset,
                map @ ScoreMap::Isotonic { .. } if binary => {
                    above_threshold(score, map.threshold())
                }
                map @ ScoreMap::Isotonic { .. } => logit(map.probability(score)),
            }
        }))
    }

    /// One column per class; rows sum to 1 and their first largest entry is the predicted class.
    pub(super) fn probabilities(&self, x: &Matrix) -> Result<Dense> {
        let scores = self.model.decision(x)?;
        let chosen = choose(&self.decision(x)?);
        let classes = self.maps.len().max(2);
        Ok(probability_rows(&scores, &chosen, classes, |scores, k, _| {
            self.maps[k].probability(scores[k])
        }))
    }

    /// A hyperplane with the same predictions, for two classes told apart by one.
    pub(super) fn boundary(&self) -> Option<Linear> {
        let [map] = self.maps.as_slice() else { return None };
        let mut linear = self.model.hyperplanes()?;
        linear.link = Link::None;
        match map.threshold() {
            threshold if threshold.is_finite() => linear.intercept[0] -= threshold,
            threshold => {
                linear.coef[0].fill(0.0);
                linear.intercept[0] = -threshold.signum();
            }
        }
        Some(linear)
    }

    /// Checks the parts against each other.
    pub(super) fn validate(&self) -> Result<()> {
        let needed = if self.model.n_classes() == 2 { 1 } else { self.model.n_classes() };
        if self.maps.len() != needed {
            return Err(Error::BadModel("calibration: one map for each score is needed".into()));
        }
        if matches!(*self.model, Model::Calibrated(_) | Model::Standardized(_)) {
            return Err(Error::BadModel("calibration: not around another wrapper".into()));
        }
        self.maps.iter().try_for_each(ScoreMap::validate)?;
        self.model.validate()
    }
}

/// The score less a threshold; a threshold that is never or always passed leaves the order of the scores.
fn above_threshold(score: f64, threshold: f64) -> f64 {
    let softplus = |v: f64| v.max(0.0) + (-v.abs()).exp().ln_1p();
    if threshold.is_finite() {
        score - threshold
    } else if threshold > 0.0 {
        -softplus(-score).max(f64::MIN_POSITIVE)
    } else {
        softplus(score).max(f64::MIN_POSITIVE)
    }
}

/// Log odds, finite.
fn logit(p: f64) -> f64 {
    let p = p.clamp(1e-15, 1.0 - 1e-15);
    (p / (1.0 - p)).ln()
}

/// Puts probabilities on a model's scores. Sigmoids on hyperplanes are hyperplanes of log odds.
pub fn calibrated(model: Model, maps: Vec<ScoreMap>) -> Model {
    let sigmoid = |map: &ScoreMap| match map {
        ScoreMap::Sigmoid { slope, offset } => Some((*slope, *offset)),
        ScoreMap::Isotonic { .. } => None,
    };
    let lines: Option<Vec<(f64, f64)>> = maps.iter().map(sigmoid).collect();
    match (model, lines) {
        (Model::Linear(mut linear), Some(lines)) => {
            for (k, (slope, offset)) in lines.into_iter().enumerate() {
                vector::scale(&mut linear.coef[k], slope);
                linear.intercept[k] = slope * linear.intercept[k] + offset;
            }
            linear.link = Link::Logistic;
            Model::Linear(linear)
        }
        (model, _) => Model::Calibrated(Calibrated { model: Box::new(model), maps }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Model {
        Model::Linear(Linear::binary(vec![2.0, -1.0], 0.5, Link::None))
    }

    fn rows() -> Matrix {
        let x = Dense::from_fn(40, 2, |i, j| ((i * (j + 2)) as f64 * 0.37).sin() * 2.0);
        x.into()
    }

    #[test]
    fn a_sigmoid_on_a_hyperplane_is_the_logistic_model_of_its_log_odds() {
        let map = ScoreMap::Sigmoid { slope: 3.0, offset: -0.4 };
        let folded = calibrated(line(), vec![map.clone()]);
        let wrapped =
            Model::Calibrated(Calibrated { model: Box::new(line()), maps: vec![map.clone()] });
        assert!(folded.linear().is_some());
        let (a, b) =
            (folded.probabilities(&rows()).unwrap(), wrapped.probabilities(&rows()).unwrap());
        for (p, q) in a.unwrap().data().iter().zip(b.unwrap().data()) {
            assert!((p - q).abs() < 1e-14);
        }
        assert_eq!(folded.predict(&rows()).unwrap(), wrapped.predict(&rows()).unwrap());
    }

    #[test]
    fn the_most_probable_class_the_sign_of_the_score_and_the_boundary_agree() {
        let steps = |low: f64, high: f64| ScoreMap::Isotonic {
            scores: vec![-1.0, 0.0, 2.0],
            probabilities: vec![low, f64::midpoint(low, high), high],
        };
        for map in [steps(0.1, 0.8), steps(0.0, 0.4), steps(0.6, 1.0), steps(0.5, 0.5)] {
            let model = calibrated(line(), vec![map]);
            model.validate().unwrap();
            let scores = model.decision(&rows()).unwrap();
            let shown = model.probabilities(&rows()).unwrap().unwrap();
            let plain = Model::Linear(model.hyperplanes().unwrap());
            let predicted = model.predict(&rows()).unwrap();
            assert_eq!(plain.predict(&rows()).unwrap(), predicted);
            for (i, &class) in predicted.iter().enumerate() {
                assert_eq!(usize::from(scores[(i, 0)] > 0.0), class);
                assert!(shown[(i, class)] >= shown[(i, 1 - class)]);
            }
        }
    }
}
