//! Loss, pull and curvature of many rows at once, in loops that use vector registers.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::ask::Counting;
use crate::linalg::elementary::{exponential, log_one_plus};
use crate::linalg::vector::vectorized;
use crate::loss::Loss;

/// The logistic function.
#[inline(always)]
pub(super) fn logistic(z: f64) -> f64 {
    let e = exponential(-z.abs());
    let own = 1.0 / (1.0 + e);
    if z > 0.0 { own } else { e * own }
}

/// `$\ln(1 + e^z)$`.
#[inline(always)]
pub(super) fn softplus(z: f64) -> f64 {
    z.max(0.0) + log_one_plus(exponential(-z.abs()))
}

/// What the loss says about every row of a chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses {
    /// `$L_i$`. The hinge comes without its zero part: `$1 - m$`.
    pub value: Vec<f64>,
    /// `$-\varphi'(m_i) \ge 0$`.
    pub slope: Vec<f64>,
    /// `$\varphi''(m_i)$`.
    pub bend: Vec<f64>,
}

/// `$L$`, `$-\varphi'$` and `$\varphi''$` at a margin.
#[inline(always)]
fn terms(loss: Loss, m: f64) -> (f64, f64, f64) {
    match loss {
        Loss::Logistic => {
            let e = exponential(-m.abs());
            let own = 1.0 / (1.0 + e);
            let miss = if m > 0.0 { e * own } else { own };
            ((-m).max(0.0) + log_one_plus(e), miss, e * own * own)
        }
        Loss::Hinge => (1.0 - m, 1.0, 0.0),
        Loss::SquaredHinge => {
            let lack = (1.0 - m).max(0.0);
            (lack * lack, 2.0 * lack, if lack > 0.0 { 2.0 } else { 0.0 })
        }
        Loss::ModifiedHuber => {
            let lack = (1.0 - m).max(0.0);
            let steep = m < -1.0;
            let value = if steep { -4.0 * m } else { lack * lack };
            let bend = if lack > 0.0 && !steep { 2.0 } else { 0.0 };
            (value, if steep { 4.0 } else { 2.0 * lack }, bend)
        }
    }
}

#[inline(always)]
fn fill(loss: Loss, margins: &[f64], out: &mut Losses) {
    let slots = out.value.iter_mut().zip(&mut out.slope).zip(&mut out.bend);
    for (((value, slope), bend), &m) in slots.zip(margins) {
        (*value, *slope, *bend) = terms(loss, m);
    }
}

impl Losses {
    /// The losses at `margins`.
    pub(super) fn at(loss: Loss, margins: &[f64]) -> Self {
        let zeros = || vec![0.0; margins.len()];
        let mut out = Self { value: zeros(), slope: zeros(), bend: zeros() };
        // One loop per loss: a choice inside it would keep it from using vectors.
        match loss {
            Loss::Logistic => vectorized!(fill(Loss::Logistic, margins, &mut out)),
            Loss::Hinge => vectorized!(fill(Loss::Hinge, margins, &mut out)),
            Loss::SquaredHinge => vectorized!(fill(Loss::SquaredHinge, margins, &mut out)),
            Loss::ModifiedHuber => vectorized!(fill(Loss::ModifiedHuber, margins, &mut out)),
        }
        out
    }
}

/// Share of a row in the worst case, and the value of the smoothed maximum.
///
/// `$\max_{0 \le a \le 1} a t - \frac h2 (a - \frac12)^2$` with `$t = L - \theta$`: centred, so that the mean error over a
/// smooth density of losses falls with `$h^2$` times its slope rather than with `$h$`.
#[inline(always)]
pub(super) fn share(counting: Counting, loss: f64, theta: f64, width: f64) -> (f64, f64) {
    match counting {
        Counting::All => (1.0, loss),
        Counting::Positive => (if loss > 0.0 { 1.0 } else { 0.0 }, loss),
        Counting::Above => {
            let t = loss - theta;
            let a = (0.5 + t / width).clamp(0.0, 1.0);
            (a, a * t - 0.5 * width * (a - 0.5) * (a - 0.5))
        }
    }
}

/// The smoothed value of rows of weight `weights`, summed.
pub(super) fn smoothed_sum(
    counting: Counting,
    losses: &[f64],
    weights: &[f64],
    theta: f64,
    width: f64,
) -> f64 {
    losses.iter().zip(weights).map(|(l, c)| c * share(counting, *l, theta, width).1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_are_those_of_the_losses() {
        for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
            let known = loss.get();
            let margins: Vec<f64> = (-300..300).map(|k| f64::from(k) * 0.0931).collect();
            let found = Losses::at(loss, &margins);
            for (i, m) in margins.iter().enumerate() {
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + b.abs());
                assert!(close(found.value[i].max(0.0), known.value(*m)));
                if loss == Loss::Hinge {
                    continue;
                }
                assert!(close(-found.slope[i], known.slope(*m)), "{loss:?} {m}");
                assert!(close(found.bend[i], known.curvature(*m).unwrap()), "{loss:?} {m}");
            }
        }
    }

    /// The smoothed maximum lies within h/8 of max(0, t), below it away from the threshold and at most h/8 off.
    #[test]
    fn the_smoothed_maximum_is_near_the_maximum() {
        for k in -100..=100 {
            let t = f64::from(k) * 0.013;
            let (a, value) = share(Counting::Above, t + 0.7, 0.7, 0.5);
            assert!((0.0..=1.0).contains(&a));
            let exact = t.max(0.0);
            assert!((value - exact).abs() <= 0.5 / 8.0 + 1e-15, "{t}: {value}");
        }
    }
}
