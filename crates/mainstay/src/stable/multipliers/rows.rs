//! Every row at given scores: its loss, its slope and curvature, and how much of the row counts.

#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use crate::linalg::elementary::{exponential, log_one_plus};
use crate::linalg::vector::vectorized;
use crate::stable::problem::{Problem, RowLoss, Target};

/// Part of `k` to which the shares add up.
const ADDS_UP: f64 = 1e-11;
/// Relative width of a bracket of the threshold that is rounding.
const ROUNDING: f64 = 1e-15;
/// Passes over the rows in search of the threshold at most.
const PASSES: usize = 200;

/// The rows at some scores `$f$`, for reference shares `$\bar a$` and a width `$h$`.
///
/// Row `$i$` counts `$a_i = \mathrm{clip}(\bar a_i + c_i (L_i - \theta)/h,\ 0,\ c_i)$`, the maximiser of `$a
/// (L_i - \theta) - \tfrac{h}{2c_i}(a - \bar a_i)^2$`; `$\theta \ge 0$` is the one with `$\sum a_i \le k$`
/// (equal to it unless `$\theta = 0$`).
#[derive(Debug, Clone)]
pub(super) struct RowsAt {
    pub scores: Vec<f64>,
    pub loss: Vec<f64>,
    /// `$L'$`.
    pub slope: Vec<f64>,
    /// `$L''$`.
    pub curvature: Vec<f64>,
    /// `$a$`.
    pub share: Vec<f64>,
    pub theta: f64,
    /// `$k\theta + \sum \max_a$`, the rows' part of the augmented Lagrangian.
    pub value: f64,
}

/// What the rows are compared with.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    /// `$\bar a$`.
    pub share: Vec<f64>,
    /// `$h$`.
    pub width: f64,
}

impl RowsAt {
    pub(super) fn new(n: usize) -> Self {
        let zero = || vec![0.0; n];
        Self {
            scores: zero(),
            loss: zero(),
            slope: zero(),
            curvature: zero(),
            share: zero(),
            theta: 0.0,
            value: 0.0,
        }
    }

    /// Losses and their derivatives at `self.scores`.
    pub(super) fn eval_losses(&mut self, problem: &Problem<'_>) {
        let Target::Signs(y) = &problem.target else { return };
        match problem.loss {
            RowLoss::Hinge => self.set(y, |y, f| (1.0 - y * f, -y, 0.0)),
            RowLoss::SquaredHinge => self.set(y, |y, f| {
                let shortfall = (1.0 - y * f).max(0.0);
                (
                    shortfall * shortfall,
                    -2.0 * y * shortfall,
                    if shortfall > 0.0 { 2.0 } else { 0.0 },
                )
            }),
            RowLoss::Logistic => self.set(y, logistic),
        }
    }

    /// Loss, slope and curvature of every row from its sign and score.
    fn set(&mut self, y: &[f64], eval_losses: impl Fn(f64, f64) -> (f64, f64, f64)) {
        let derivatives = self.loss.iter_mut().zip(&mut self.slope).zip(&mut self.curvature);
        let rows = derivatives.zip(y.iter().zip(&self.scores));
        vectorized!({
            for (((loss, slope), curvature), (y, f)) in rows {
                (*loss, *slope, *curvature) = eval_losses(*y, *f);
            }
        });
    }

    /// The shares and the threshold, which is looked for from `guess`.
    pub(super) fn solve_threshold(
        &mut self,
        problem: &Problem<'_>,
        reference: &Reference,
        guess: f64,
    ) {
        let (c, h) = (problem.weights, reference.width);
        // First the unclipped shares at theta = 0.
        for (((a, base), c), loss) in
            self.share.iter_mut().zip(&reference.share).zip(c).zip(&self.loss)
        {
            *a = base + c * loss / h;
        }
        self.theta = threshold(&self.share, c, h, problem.k, guess);
        let theta = self.theta;
        let mut value = [problem.k * theta, 0.0];
        for (((a, base), c), loss) in
            self.share.iter_mut().zip(&reference.share).zip(c).zip(&self.loss)
        {
            *a = (*a - c * theta / h).max(0.0).min(*c);
            let away = *a - base;
            value[0] += *a * (loss - theta);
            value[1] += away * away / c;
        }
        self.value = value[0] - 0.5 * h * value[1];
    }

    /// `$\sum c \max(0, L - \theta)$` and by how much it exceeds `$\sum a (L - \theta)$`.
    pub(super) fn excess(&self, weights: &[f64]) -> (f64, f64) {
        let (mut excess, mut open) = (0.0, 0.0);
        for ((loss, a), c) in self.loss.iter().zip(&self.share).zip(weights) {
            let over = loss - self.theta;
            let most = c * over.max(0.0);
            excess += most;
            open += most - a * over;
        }
        (excess, open)
    }

    /// `$\alpha = a L'$`.
    pub(super) fn alpha(&self) -> Vec<f64> {
        self.share.iter().zip(&self.slope).map(|(a, s)| a * s).collect()
    }

    /// How many rows have a share strictly between its bounds.
    pub(super) fn between(&self, weights: &[f64]) -> usize {
        self.share.iter().zip(weights).filter(|(a, c)| **a > 0.0 && a < c).count()
    }

    /// `$c/h$` of the rows whose share is strictly between its bounds, 0 for the others.
    pub(super) fn gain(&self, problem: &Problem<'_>, width: f64) -> Vec<f64> {
        let inside = |(a, c): (&f64, &f64)| if *a > 0.0 && a < c { c / width } else { 0.0 };
        self.share.iter().zip(problem.weights).map(inside).collect()
    }
}

/// Loss, slope and curvature of the logistic loss from one exponential.
#[inline(always)]
fn logistic(y: f64, f: f64) -> (f64, f64, f64) {
    let e = exponential(-f.abs());
    let own = 1.0 / (1.0 + e);
    let (other, margin) = (e * own, y * f);
    let miss = if margin > 0.0 { other } else { own };
    ((-margin).max(0.0) + log_one_plus(e), -y * miss, other * own)
}

/// The `$\theta \ge 0$` with `$\sum \mathrm{clip}(r_i - c_i\theta/h,\ 0,\ c_i) = k$`, or 0 if the sum is smaller
/// there already.
///
/// The sum falls piecewise linearly: Newton's method, kept in a bracket, ends on the right piece after
/// a few passes.
fn threshold(raw: &[f64], c: &[f64], h: f64, k: f64, guess: f64) -> f64 {
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut theta = guess.max(0.0);
    let mut seen_zero = theta == 0.0;
    for _ in 0..PASSES {
        let (sum, inside) = clipped_sum(raw, c, theta / h);
        let rest = sum - k;
        if rest.abs() <= ADDS_UP * k || (rest <= 0.0 && theta == 0.0) {
            return theta;
        }
        if rest > 0.0 {
            low = theta;
        } else {
            high = theta;
        }
        let newton = theta + rest * h / inside;
        theta = if inside > 0.0 && newton > low && newton < high {
            newton
        } else if high.is_infinite() {
            2.0 * low + h
        } else if !seen_zero && newton <= 0.0 {
            seen_zero = true;
            0.0
        } else {
            f64::midpoint(low, high)
        };
        if high.is_finite() && high - low <= ROUNDING * high {
            break;
        }
    }
    theta
}

/// `$\sum \mathrm{clip}(r_i - c_i x,\ 0,\ c_i)$`, and the weight of the rows strictly inside.
fn clipped_sum(raw: &[f64], c: &[f64], x: f64) -> (f64, f64) {
    const LANES: usize = 8;
    vectorized!({
        let (mut sums, mut insides) = ([0.0; LANES], [0.0; LANES]);
        let (raw, raw_rest) = raw.as_chunks::<LANES>();
        let (c, c_rest) = c.as_chunks::<LANES>();
        for (raw, c) in raw.iter().zip(c) {
            for lane in 0..LANES {
                let (sum, inside) = clipped(raw[lane], c[lane], x);
                sums[lane] += sum;
                insides[lane] += inside;
            }
        }
        for (lane, (raw, c)) in raw_rest.iter().zip(c_rest).enumerate() {
            let (sum, inside) = clipped(*raw, *c, x);
            sums[lane] += sum;
            insides[lane] += inside;
        }
        (sums.iter().sum(), insides.iter().sum())
    })
}

#[inline(always)]
fn clipped(raw: f64, c: f64, x: f64) -> (f64, f64) {
    let at = raw - c * x;
    let share = at.max(0.0).min(c);
    (share, if share == at { c } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_makes_the_shares_add_up() {
        let raw = [3.0, -1.0, 0.4, 0.9, 12.0, 0.4, 2.0, 1.0, 5.0, 0.1];
        let c = [1.0, 1.0, 0.5, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0];
        let at = |theta: f64, h: f64| clipped_sum(&raw, &c, theta / h).0;
        for h in [1e-6, 1e-2, 1.0, 50.0] {
            for guess in [0.0, 0.3, 1e5] {
                for k in [1e-3, 0.5, 3.0, 6.9] {
                    let theta = threshold(&raw, &c, h, k, guess);
                    assert!((at(theta, h) - k).abs() <= 1e-10 * k, "{h} {guess} {k}");
                }
                assert_eq!(threshold(&raw, &c, h, 12.0, guess), 0.0);
            }
        }
    }
}
