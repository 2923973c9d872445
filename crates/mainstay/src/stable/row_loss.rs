//! The loss of one row: its value, slope and curvature in the scores.

use super::problem::{Problem, Target};

/// Which loss a row suffers from its scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowLoss {
    /// `$\sum_j \max(0, 1 - y_{ij} f_{ij})$`.
    Hinge,
    /// `$\sum_j \max(0, 1 - y_{ij} f_{ij})^2$`.
    SquaredHinge,
    /// One score: `$\ln(1 + e^{-y f})$`; several: `$\ln \sum_j e^{f_j} - f_{y}$`.
    Logistic,
}

impl Problem<'_> {
    /// Loss of row `i` at its scores `f`.
    pub fn row_loss(&self, i: usize, f: &[f64]) -> f64 {
        let shortfall = |j: usize| (1.0 - self.target.sign(i, j) * f[j]).max(0.0);
        match self.loss {
            RowLoss::Hinge => (0..f.len()).map(shortfall).sum(),
            RowLoss::SquaredHinge => (0..f.len()).map(|j| shortfall(j) * shortfall(j)).sum(),
            RowLoss::Logistic => match &self.target {
                Target::Signs(y) => softplus(-y[i] * f[0]),
                Target::Classes { labels, .. } => log_sum_exp(f) - f[labels[i]],
            },
        }
    }
}

/// Loss and slope of a row, and its curvature (lower triangle) times `a`. The two-class hinge comes
/// without its zero part.
#[inline]
pub(super) fn expand(
    problem: &Problem<'_>,
    i: usize,
    f: &[f64],
    a: f64,
    slope: &mut [f64],
    curve: &mut [f64],
) -> f64 {
    match (problem.loss, &problem.target) {
        (RowLoss::Hinge, Target::Signs(y)) => {
            slope[0] = -y[i];
            curve[0] = 0.0;
            1.0 - y[i] * f[0]
        }
        (RowLoss::Hinge, target) => {
            curve.fill(0.0);
            hinges(target, i, f, slope)
        }
        (RowLoss::SquaredHinge, target) => squared_hinges(target, i, f, a, slope, curve),
        (RowLoss::Logistic, Target::Signs(y)) => {
            let e = (-f[0].abs()).exp();
            let miss = if y[i] * f[0] > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
            slope[0] = -y[i] * miss;
            curve[0] = a * e / ((1.0 + e) * (1.0 + e));
            softplus(-y[i] * f[0])
        }
        (RowLoss::Logistic, Target::Classes { labels, .. }) => {
            softmax(labels[i], f, a, slope, curve)
        }
    }
}

fn hinges(target: &Target, i: usize, f: &[f64], slope: &mut [f64]) -> f64 {
    let mut loss = 0.0;
    for (j, slope) in slope.iter_mut().enumerate() {
        let y = target.sign(i, j);
        let shortfall = (1.0 - y * f[j]).max(0.0);
        loss += shortfall;
        *slope = if shortfall > 0.0 { -y } else { 0.0 };
    }
    loss
}

#[inline]
fn squared_hinges(
    target: &Target,
    i: usize,
    f: &[f64],
    a: f64,
    slope: &mut [f64],
    curve: &mut [f64],
) -> f64 {
    curve.fill(0.0);
    let (mut loss, mut diagonal) = (0.0, 0);
    for (j, slope) in slope.iter_mut().enumerate() {
        let y = target.sign(i, j);
        let shortfall = (1.0 - y * f[j]).max(0.0);
        loss += shortfall * shortfall;
        *slope = -2.0 * y * shortfall;
        curve[diagonal] = if shortfall > 0.0 { 2.0 * a } else { 0.0 };
        diagonal += j + 2;
    }
    loss
}

fn softmax(label: usize, f: &[f64], a: f64, slope: &mut [f64], curve: &mut [f64]) -> f64 {
    let total = log_sum_exp(f);
    for (s, v) in slope.iter_mut().zip(f) {
        *s = (v - total).exp();
    }
    let mut at = 0;
    for j in 0..slope.len() {
        for l in 0..=j {
            let diagonal = if j == l { slope[j] } else { 0.0 };
            curve[at] = a * (diagonal - slope[j] * slope[l]);
            at += 1;
        }
    }
    slope[label] -= 1.0;
    total - f[label]
}

/// `$\ln(1 + e^t)$` without overflow.
fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// `$\ln \sum_j e^{f_j}$` without overflow.
fn log_sum_exp(f: &[f64]) -> f64 {
    let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + f.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    /// Slopes and curvatures of all smooth pieces against central differences, off their kinks.
    #[test]
    fn slopes_and_curvatures_match_central_differences() {
        let x = Matrix::from(Dense::zeros(3, 1));
        let weights = [1.0; 3];
        let problem = |loss, target| Problem {
            x: &x,
            target,
            weights: &weights,
            loss,
            k: 1.0,
            ridge: 1.0,
            scale: 1.0,
            fit_intercept: true,
        };
        let signs = || Target::Signs(vec![1.0, -1.0, 1.0]);
        let classes = || Target::Classes { labels: vec![0, 2, 1], count: 3 };
        let scores = [0.31, -1.7, 2.4, 0.05, -0.6, 1.3, 3.1, -2.2, 0.77];
        for (loss, target) in [
            (RowLoss::SquaredHinge, signs()),
            (RowLoss::Logistic, signs()),
            (RowLoss::SquaredHinge, classes()),
            (RowLoss::Logistic, classes()),
        ] {
            let problem = problem(loss, target);
            let q = problem.q();
            for i in 0..3 {
                agrees_with_differences(&problem, i, &scores[i * q..(i + 1) * q]);
            }
        }
    }

    /// Checks value, slope and curvature of row `i` at the scores `f`.
    fn agrees_with_differences(problem: &Problem<'_>, i: usize, f: &[f64]) {
        let (q, h) = (problem.q(), 1e-5);
        let at = |f: &[f64]| {
            let (mut slope, mut curve) = (vec![0.0; q], vec![0.0; q * (q + 1) / 2]);
            let loss = expand(problem, i, f, 1.0, &mut slope, &mut curve);
            (loss, slope, curve)
        };
        let (value, slope, curve) = at(f);
        assert!((value - problem.row_loss(i, f)).abs() < 1e-14);
        for j in 0..q {
            let moved = |d: f64| {
                let mut g = f.to_vec();
                g[j] += d;
                at(&g)
            };
            let (up, down) = (moved(h), moved(-h));
            assert!(((up.0 - down.0) / (2.0 * h) - slope[j]).abs() < 1e-6);
            for l in 0..=j {
                let numeric = (up.1[l] - down.1[l]) / (2.0 * h);
                assert!((numeric - curve[j * (j + 1) / 2 + l]).abs() < 1e-6);
            }
        }
    }
}
