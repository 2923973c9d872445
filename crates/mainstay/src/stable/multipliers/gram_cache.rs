//! The Newton matrix, most of which is kept from step to step.

use super::rows::RowsAt;
use crate::error::Result;
use crate::linalg::{Dense, Row, vector};
use crate::stable::interior::System;
use crate::stable::problem::Problem;
use crate::stable::row_space::Features;

/// `$\sum_i d_i z_i z_i^\top$` for weights close to `$d_i = a_i L_i''$`.
///
/// Only rows whose weight has changed by more than [`STALE`] of itself are touched. That leaves every
/// Newton step that much of the error it had, which a next step removes.
#[derive(Debug)]
pub(in crate::stable) struct GramCache {
    gram: Dense,
    weights: Vec<f64>,
    /// The largest square in every column, once it has been asked for.
    peaks: Vec<f64>,
}

/// What keeps the weights from moving far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Damping {
    /// `$2\rho/\lambda$`.
    pub ridge: f64,
    /// `$h$`.
    pub width: f64,
    /// Additional rows that hold every weight, each with the largest entry of its column.
    pub rows: f64,
}

/// Relative change of a row's weight below which its part of the matrix is left as it is.
const STALE: f64 = 0.15;
/// Rows to touch, in multiples of all rows, beyond which one Gram matrix of everything is made and none kept.
const ANEW: f64 = 1.25;
/// Additional rows that hold the intercept: rows of one class between their bounds do not.
const INTERCEPT_ROWS: f64 = 0.01;

impl GramCache {
    pub(in crate::stable) fn new(features: &Features) -> Self {
        let order = features.z.ncols();
        let (gram, weights) = (Dense::zeros(order, order), vec![0.0; features.z.nrows()]);
        Self { gram, weights, peaks: Vec::new() }
    }

    /// A matrix to which `rows` rows have added nothing yet.
    pub(super) fn starting_with(gram: Dense, rows: usize) -> Self {
        Self { gram, weights: vec![0.0; rows], peaks: Vec::new() }
    }

    fn peaks(&mut self, features: &Features) -> &[f64] {
        if self.peaks.is_empty() {
            self.peaks = vec![0.0; features.z.ncols()];
            for (j, v) in features.z.rows().flat_map(Row::entries) {
                self.peaks[j] = self.peaks[j].max(v * v);
            }
        }
        &self.peaks
    }

    /// Takes the weights `wanted`; changes of less than `floor` are not worth the trouble.
    pub(in crate::stable) fn update(
        &mut self,
        features: &Features,
        wanted: impl Iterator<Item = f64>,
        floor: f64,
    ) {
        let change = self.change(wanted, floor);
        self.apply(features, &change);
    }

    /// What is missing from the weights kept, where it matters.
    fn change(&self, wanted: impl Iterator<Item = f64>, floor: f64) -> Vec<f64> {
        let matters = |(have, want): (&f64, f64)| {
            let change = want - have;
            if change.abs() > floor.max(STALE * want.max(*have)) { change } else { 0.0 }
        };
        self.weights.iter().zip(wanted).map(matters).collect()
    }

    fn apply(&mut self, features: &Features, change: &[f64]) {
        if change.iter().any(|c| *c != 0.0) {
            vector::axpy(1.0, change, &mut self.weights);
            let gram = features.z.weighted_gram(change);
            vector::axpy(1.0, gram.data(), self.gram.data_mut());
        }
    }

    /// The matrix with `more` on its diagonal.
    pub(in crate::stable) fn damped(&self, more: f64) -> Dense {
        let mut matrix = self.gram.clone();
        (0..matrix.nrows()).for_each(|j| matrix[(j, j)] += more);
        matrix
    }

    /// `$\tfrac{2\rho}{\lambda} I_w + Z^\top (\mathrm{diag}(a L'') + \mathrm{diag}(D L'^2)) Z$`, less what
    /// moving `$\theta$` along takes away, with `$D = c/h$` for rows between their bounds. `gain` is `$D$`, `border`
    /// is `$Z^\top (D L')$`.
    pub(super) fn system(
        &mut self,
        problem: &Problem<'_>,
        features: &Features,
        rows: &RowsAt,
        damping: Damping,
        (gain, border): (&[f64], &[f64]),
    ) -> Result<System> {
        let mut matrix = self.with_gain(features, rows, gain);
        let row = problem.total() / problem.n() as f64 / damping.width;
        for j in 0..features.m {
            matrix[(j, j)] += damping.ridge;
        }
        if damping.rows > 0.0 {
            for (j, peak) in self.peaks(features).iter().enumerate().take(features.m) {
                matrix[(j, j)] += damping.rows * row * peak;
            }
        }
        let total: f64 = gain.iter().sum();
        if rows.theta > 0.0 && total > 0.0 {
            for (j, coupling) in border.iter().enumerate() {
                vector::axpy(-coupling / total, border, matrix.row_mut(j));
            }
        }
        if features.intercept {
            matrix[(features.m, features.m)] += INTERCEPT_ROWS * row;
        }
        System::factor(matrix)
    }

    /// `$Z^\top (\mathrm{diag}(a L'') + \mathrm{diag}(D L'^2)) Z$`.
    fn with_gain(&mut self, features: &Features, rows: &RowsAt, gain: &[f64]) -> Dense {
        let curved = || rows.share.iter().zip(&rows.curvature).map(|(a, curvature)| a * curvature);
        let mut weights: Vec<f64> = gain.iter().zip(&rows.slope).map(|(d, s)| d * s * s).collect();
        let change = self.change(curved(), 0.0);
        let touched = |v: &[f64]| v.iter().filter(|v| **v != 0.0).count();
        let anew = (touched(&change) + touched(&weights)) as f64 > ANEW * weights.len() as f64;
        if anew {
            weights.iter_mut().zip(curved()).for_each(|(w, curved)| *w += curved);
            return features.z.weighted_gram(&weights);
        }
        self.apply(features, &change);
        let mut matrix = features.z.weighted_gram(&weights);
        vector::axpy(1.0, self.gram.data(), matrix.data_mut());
        matrix
    }
}
