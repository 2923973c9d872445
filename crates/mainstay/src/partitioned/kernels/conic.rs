//! Sums over rows for the conic loss: value, slope and curvature at `$(w, F)$`, and both halves of the certificate.

use super::super::block::Block;
use super::super::message::{add, add_matrix};
use super::super::wire::{Symmetric, damaged, wire};
use super::rows::{Chunk, RowUnits};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::optim::conic_terms::{RowTerms, Rows};

/// Multiples of `$V$` at which the indicators are summed: the sum is convex in the multiple, so that chords between them
/// bound it from above.
pub(crate) const LADDER: [f64; 25] = [
    1e-3,
    1e-2,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0 - 1.0 / 16.0,
    1.0 - 1.0 / 64.0,
    1.0 - 1.0 / 512.0,
    1.0 - 1.0 / 4096.0,
    1.0 - 1.0 / 65_536.0,
    1.0 - 1.0 / 1_048_576.0,
    1.0,
    1.0 + 1.0 / 1_048_576.0,
    1.0 + 1.0 / 65_536.0,
    1.0 + 1.0 / 4096.0,
    1.0 + 1.0 / 512.0,
    1.0 + 1.0 / 64.0,
    1.0 + 1.0 / 16.0,
    1.25,
    1.5,
    2.0,
    4.0,
    100.0,
    1e4,
];

/// One point for every class that is still open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConicAsk {
    pub units: RowUnits,
    pub questions: Vec<ConicQuestion>,
}

wire!(ConicAsk { units, questions });

/// A point of one binary problem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConicQuestion {
    /// Rows of this class are positive, all others negative.
    pub positive: usize,
    /// `$w$`.
    pub w: Vec<f64>,
    /// The rows of `$F$`, one after the other.
    pub factor: Vec<f64>,
}

wire!(ConicQuestion { positive, w, factor });

/// The answer to one question; `$\lambda$` plays no part in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConicSums {
    /// `$\sum c_i z_i$` with `$V$` multiplied by each step of the ladder.
    pub paid: Vec<f64>,
    /// The same with an infinite multiple: rows that no `$V$` of this shape reaches.
    pub stuck: f64,
    /// Gradient of `$\sum c_i z_i$`.
    pub slope: Vec<f64>,
    /// Hessian of `$\sum c_i z_i$`.
    pub curvature: Symmetric,
    /// `$\sum c_i t_i$` and `$\sum c_i t_i^2$`.
    pub totals: [f64; 2],
    /// `$\sum c_i t_i y_i x_i$` and `$\sum c_i t_i^2 y_i x_i$`.
    pub pulls: [Vec<f64>; 2],
    /// `$\sum c_i t_i^2 x_i x_i^\top$`.
    pub gram: Symmetric,
}

wire!(ConicSums { paid, stuck, slope, curvature, totals, pulls, gram });

impl ConicAsk {
    pub(super) fn look(&self, block: &Block<'_>) -> Result<Vec<ConicSums>> {
        let q = self.units.width();
        let unlike =
            |ask: &ConicQuestion| ask.w.len() != q || !ask.factor.len().is_multiple_of(q.max(1));
        if self.questions.iter().any(unlike) {
            return Err(damaged("a point of another order"));
        }
        let mut sums: Vec<_> = self.questions.iter().map(|ask| ConicSums::empty(ask, q)).collect();
        self.units.each_chunk(block, |chunk| {
            self.questions.iter().zip(&mut sums).for_each(|(ask, sum)| sum.see(ask, chunk));
            Ok(())
        })?;
        Ok(sums)
    }
}

impl ConicSums {
    fn empty(ask: &ConicQuestion, q: usize) -> Self {
        let order = q + ask.factor.len();
        Self {
            paid: vec![0.0; LADDER.len()],
            stuck: 0.0,
            slope: vec![0.0; order],
            curvature: Symmetric(Dense::zeros(order, order)),
            totals: [0.0; 2],
            pulls: [vec![0.0; q], vec![0.0; q]],
            gram: Symmetric(Dense::zeros(q, q)),
        }
    }

    fn see(&mut self, ask: &ConicQuestion, chunk: &Chunk) {
        let q = ask.w.len();
        let sign = |l: &usize| if *l == ask.positive { 1.0 } else { -1.0 };
        let y: Vec<f64> = chunk.labels.iter().map(sign).collect();
        let rows = Rows { x: &chunk.x, y: &y, c: &chunk.weights, damping: &[] };
        let factor = Dense::from_rows(ask.factor.len() / q.max(1), q, ask.factor.clone());
        let terms = RowTerms::new(&rows, &ask.w, &factor);
        for i in (0..y.len()).filter(|&i| terms.a[i] > 0.0) {
            let (a2, s, c) = (terms.a[i] * terms.a[i], terms.s[i], chunk.weights[i]);
            for (sum, k) in self.paid.iter_mut().zip(LADDER) {
                *sum += c * a2 / (k * s + a2);
            }
            self.stuck += if s / a2 > 0.0 { 0.0 } else { c };
        }
        vector::axpy(1.0, &terms.slope(&rows), &mut self.slope);
        vector::axpy(1.0, terms.curvature(&rows, 1.0).data(), self.curvature.0.data_mut());
        let share: Vec<f64> = terms.t.iter().zip(rows.c).map(|(t, c)| c * t).collect();
        let square: Vec<f64> = share.iter().zip(&terms.t).map(|(h, t)| h * t).collect();
        let signed = |v: &[f64]| v.iter().zip(&y).map(|(v, y)| v * y).collect::<Vec<f64>>();
        for (k, part) in [&share, &square].into_iter().enumerate() {
            self.totals[k] += part.iter().sum::<f64>();
            vector::axpy(1.0, &chunk.x.tr_mul_vec(&signed(part)), &mut self.pulls[k]);
        }
        vector::axpy(1.0, chunk.x.weighted_gram(&square).data(), self.gram.0.data_mut());
    }

    pub(super) fn merge(mut self, next: &Self) -> Result<Self> {
        add(&mut self.paid, &next.paid)?;
        self.stuck += next.stuck;
        add(&mut self.slope, &next.slope)?;
        add_matrix(&mut self.curvature.0, &next.curvature.0)?;
        add(&mut self.totals, &next.totals)?;
        for (total, part) in self.pulls.iter_mut().zip(&next.pulls) {
            add(total, part)?;
        }
        add_matrix(&mut self.gram.0, &next.gram.0)?;
        Ok(self)
    }
}
