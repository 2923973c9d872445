//! The logistic loss expected under random loss of features: value, slope and curvature at a point.

use super::super::block::Block;
use super::super::message::{add, add_matrix};
use super::super::wire::{Symmetric, damaged, wire};
use super::rows::{Chunk, RowUnits};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::loss::{Terms, expected_logistic};

/// A curvature below this is none: a quotient by it could overflow.
const VANISHED: f64 = 1e-290;

/// One point for every class that is still open.
///
/// With `$z = x - \mu$`, `$q$` the share of rows that will lack a feature and `$k = 1 - q$` a row has the mean `$k z - d$` and the
/// variances `$q k z^2$`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedAsk {
    /// Rows are `$z$`.
    pub units: RowUnits,
    /// `$q$`.
    pub missing: Vec<f64>,
    /// `$d$`.
    pub offset: Vec<f64>,
    pub questions: Vec<ExpectedQuestion>,
}

wire!(ExpectedAsk { units, missing, offset, questions });

/// A point of one binary problem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedQuestion {
    /// Rows of this class are positive, all others negative.
    pub positive: usize,
    pub w: Vec<f64>,
    pub b: f64,
    /// What corrects the loss of rows labelled +1 and -1 for wrong labels: `$\kappa$` in `$\varphi(m) - \kappa m$`.
    pub kappas: [f64; 2],
}

wire!(ExpectedQuestion { positive, w, b, kappas });

/// The answer to one question: sums over weighted rows, without the penalty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedSums {
    pub value: f64,
    /// In `$(w, b)$`.
    pub slope: Vec<f64>,
    pub curvature: Symmetric,
}

wire!(ExpectedSums { value, slope, curvature });

impl ExpectedAsk {
    pub(super) fn look(&self, block: &Block<'_>) -> Result<Vec<ExpectedSums>> {
        let p = self.units.width();
        let fits = self.missing.len() == p && self.offset.len() == p;
        if !fits || self.questions.iter().any(|ask| ask.w.len() != p) {
            return Err(damaged("a point of another order"));
        }
        let empty = ExpectedSums {
            value: 0.0,
            slope: vec![0.0; p + 1],
            curvature: Symmetric(Dense::zeros(p + 1, p + 1)),
        };
        let mut sums = vec![empty; self.questions.len()];
        self.units.each_chunk(block, |chunk| {
            let rows = self.blurred(chunk);
            for (ask, sum) in self.questions.iter().zip(&mut sums) {
                sum.see(ask, chunk, &rows);
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// Means and variances of the rows.
    fn blurred(&self, chunk: &Chunk) -> (Dense, Option<Dense>) {
        let (n, p) = (chunk.x.nrows(), chunk.x.ncols());
        let mean = |i: usize, j: usize| (1.0 - self.missing[j]) * chunk.x[(i, j)] - self.offset[j];
        let own = |i: usize, j: usize| {
            self.missing[j] * (1.0 - self.missing[j]) * chunk.x[(i, j)] * chunk.x[(i, j)]
        };
        let any = self.missing.iter().any(|q| *q > 0.0);
        (Dense::from_fn(n, p, mean), any.then(|| Dense::from_fn(n, p, own)))
    }
}

impl ExpectedSums {
    fn see(&mut self, ask: &ExpectedQuestion, chunk: &Chunk, rows: &(Dense, Option<Dense>)) {
        let (mean, own) = rows;
        let (n, p) = (mean.nrows(), mean.ncols());
        let squares: Vec<f64> = ask.w.iter().map(|w| w * w).collect();
        let variances = own.as_ref().map(|own| own.mul_vec(&squares));
        let scores = mean.mul_vec(&ask.w);
        let (mut terms, mut signs) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for i in 0..n {
            let own = chunk.labels[i] == ask.positive;
            let (y, kappa) = if own { (1.0, ask.kappas[0]) } else { (-1.0, ask.kappas[1]) };
            let margin = y * (scores[i] + ask.b);
            let t = expected_logistic(margin, variances.as_ref().map_or(0.0, |v| v[i]));
            self.value += chunk.weights[i] * (t.value - kappa * margin);
            terms.push(Terms { m: t.m - kappa, ..t });
            signs.push(y);
        }
        let c = &chunk.weights;
        let pull: Vec<f64> = (0..n).map(|i| c[i] * terms[i].m * signs[i]).collect();
        vector::axpy(1.0, &mean.tr_mul_vec(&pull), &mut self.slope[..p]);
        self.slope[p] += pull.iter().sum::<f64>();
        self.add_curvature(&ask.w, (&terms, &signs, c), rows);
    }

    /// Adds the second derivatives, and what the variances add to the slope.
    fn add_curvature(
        &mut self,
        w: &[f64],
        (terms, signs, c): (&[Terms], &[f64], &[f64]),
        (mean, own): &(Dense, Option<Dense>),
    ) {
        let (n, p) = (mean.nrows(), mean.ncols());
        let bends: Vec<f64> = (0..n).map(|i| c[i] * terms[i].mm).collect();
        let ratio = |t: &Terms| if t.mm > VANISHED { t.mv / t.mm } else { 0.0 };
        // 2 V w of every row, if it has variances.
        let images = own.as_ref().map(|own| Dense::from_fn(n, p, |i, j| 2.0 * own[(i, j)] * w[j]));
        let tilted = Dense::from_fn(n, p + 1, |i, j| {
            let beside = |images: &Dense| signs[i] * ratio(&terms[i]) * images[(i, j)];
            if j == p { 1.0 } else { mean[(i, j)] + images.as_ref().map_or(0.0, beside) }
        });
        let gram = tilted.weighted_gram(&bends);
        vector::axpy(1.0, gram.data(), self.curvature.0.data_mut());
        let (Some(own), Some(images)) = (own, images) else { return };
        let spread: Vec<f64> = (0..n).map(|i| 2.0 * c[i] * terms[i].v).collect();
        let diagonal = own.tr_mul_vec(&spread);
        let left = |t: &Terms| t.vv - ratio(t) * t.mv;
        let rest: Vec<f64> = (0..n).map(|i| c[i] * left(&terms[i])).collect();
        let square = images.weighted_gram(&rest);
        for j in 0..p {
            self.slope[j] += diagonal[j] * w[j];
            vector::axpy(1.0, square.row(j), &mut self.curvature.0.row_mut(j)[..p]);
            self.curvature.0[(j, j)] += diagonal[j];
        }
    }

    pub(super) fn merge(mut self, next: &Self) -> Result<Self> {
        self.value += next.value;
        add(&mut self.slope, &next.slope)?;
        add_matrix(&mut self.curvature.0, &next.curvature.0)?;
        Ok(self)
    }
}
