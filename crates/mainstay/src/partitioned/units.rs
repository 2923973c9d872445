//! Features in solver units, settled by the first look: centred where an intercept is free, divided by powers of two.

use super::ask::{PassAsk, Point};
use super::first_look::{ClassMoments, FirstLook};
use crate::error::{Error, Result};
use crate::linalg::{Compensated, vector};
use crate::optim::design::{finite_model, power_of_two};

/// How far below its largest entry a deviation counts as zero.
const CONSTANT: f64 = 1e-12;

/// Units of every column.
#[derive(Debug, Clone)]
pub(super) struct Units {
    /// `$t_j$`; 0 for a column of one value, which a free intercept makes useless.
    factors: Vec<f64>,
    /// `$m_j$`; empty where nothing is subtracted.
    means: Vec<f64>,
    /// `$u_j$`: the unit in which the penalty sees a feature.
    seen: Vec<f64>,
    class_factors: Vec<f64>,
}

impl Units {
    pub(super) fn new(
        look: &FirstLook,
        class_factors: Vec<f64>,
        (intercept, normalize): (bool, bool),
    ) -> Result<Self> {
        let all = look.overall(&class_factors);
        if !vector::all_finite(&all.mean) || !vector::all_finite(&all.squares) {
            let text = "the squares of a feature are beyond the range of floating point; rescale the features";
            return Err(Error::Numerical(text.into()));
        }
        let centred = intercept && !look.sparse;
        let size = |j: usize| look.highest[j].abs().max(look.lowest[j].abs());
        let deviation = |j: usize| deviation(&all, j);
        let factor = |j: usize| {
            if intercept && look.lowest[j] == look.highest[j] {
                return 0.0;
            }
            let spread = if centred { deviation(j) } else { deviation(j).hypot(all.mean[j]) };
            1.0 / power_of_two(if spread > 0.0 { spread } else { size(j) })
        };
        let columns = 0..look.columns;
        let unit = |j: usize| {
            let deviation = deviation(j);
            if normalize && deviation > CONSTANT * size(j) { deviation } else { 1.0 }
        };
        Ok(Self {
            factors: columns.clone().map(factor).collect(),
            means: if centred { all.mean.clone() } else { Vec::new() },
            seen: columns.map(unit).collect(),
            class_factors,
        })
    }

    /// A pass without questions.
    pub(super) fn pass(&self) -> PassAsk {
        PassAsk {
            factors: self.factors.clone(),
            means: self.means.clone(),
            class_factors: self.class_factors.clone(),
            thin: 1,
            questions: Vec::new(),
        }
    }

    /// What the penalty makes of a weight of 1 in solver units: `$u_j t_j$`.
    pub(super) fn penalised(&self) -> impl Iterator<Item = f64> {
        self.factors.iter().zip(&self.seen).map(|(t, u)| t * u)
    }

    /// Weights and intercept for the features as given.
    pub(super) fn to_user(&self, point: &Point) -> Result<(Vec<f64>, f64)> {
        let weights: Vec<f64> = point.v.iter().zip(&self.factors).map(|(v, t)| v * t).collect();
        // Where columns are far from zero this is a small difference of large numbers.
        let mut moved = Compensated::new(point.b);
        weights.iter().zip(&self.means).for_each(|(w, m)| moved.add_product(-w, *m));
        finite_model(weights, moved.value())
    }

    /// Weights and intercept for the features as given, in solver units.
    pub(super) fn of_user(&self, weights: &[f64], intercept: f64) -> (Vec<f64>, f64) {
        let unit = |(w, t): (&f64, &f64)| if *t == 0.0 { 0.0 } else { w / t };
        let v = weights.iter().zip(&self.factors).map(unit).collect();
        let mut moved = Compensated::new(intercept);
        weights.iter().zip(&self.means).for_each(|(w, m)| moved.add_product(*w, *m));
        (v, moved.value())
    }
}

/// Weighted standard deviation of column `j`.
fn deviation(all: &ClassMoments, j: usize) -> f64 {
    if all.weight > 0.0 { (all.squares[j] / all.weight).sqrt() } else { 0.0 }
}
