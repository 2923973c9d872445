//! Minimising a mean loss along a line: step 14 of Algorithm 1 and the line search of the top fit.

use super::losses::PaperLoss;
use crate::linalg::vector;
use crate::loss::Loss;

/// Steps of Newton's method on a slope, at most: halving the bracket alone ends earlier.
const MAX_STEPS: usize = 400;
/// A Newton step longer than this share of the last one is replaced by halving the bracket.
const QUICK: f64 = 0.7;
/// Two points closer than this share of themselves are one.
const SAME: f64 = 1e-15;
/// A slope below this share of its terms is zero: they cancel.
const CANCELLED: f64 = 1e-14;
/// A length that changes no margin by more than this is none: equal candidates stay equal.
const NO_LENGTH: f64 = 1e-12;

/// The smallest minimiser over `[0, top]` of the mean loss at the margins `base + c * slope`.
///
/// The loss is convex in `c`, so the answer for a smaller bound is the clip of the one for a larger
/// bound: one call serves every `b_max` of a grid.
pub(in crate::rolin) fn least_along(
    loss: PaperLoss<'_>,
    base: &[f64],
    slope: &[f64],
    top: f64,
) -> f64 {
    least_along_from(loss, base, slope, &loss.weights(base), top)
}

/// The same, where `weights` are the slopes and curvatures of the loss at `base`: many directions can
/// share them.
pub(in crate::rolin) fn least_along_from(
    loss: PaperLoss<'_>,
    base: &[f64],
    slope: &[f64],
    weights: &(Vec<f64>, Vec<f64>),
    top: f64,
) -> f64 {
    let at = |c: f64| loss.derivatives_along(base, slope, c);
    let at_zero = vector::dot(slope, &weights.0);
    match loss.loss {
        Loss::Hinge => least_hinge(loss.shares(), base, slope, top),
        Loss::Logistic => {
            let bent: Vec<f64> = slope.iter().zip(&weights.1).map(|(s, w)| s * w).collect();
            least_from((at_zero, vector::dot(slope, &bent)), at, top)
        }
        Loss::SquaredHinge | Loss::ModifiedHuber => {
            if at_zero >= 0.0 {
                0.0
            } else if at(top).0 < 0.0 {
                top
            } else {
                least_between(&kinks(base, slope, top), at)
            }
        }
    }
}

/// Where a margin passes 1 or -1 on the way from 0 to `top`, ascending, with both ends.
fn kinks(base: &[f64], slope: &[f64], top: f64) -> Vec<f64> {
    let passes = |(b, s): (&f64, &f64)| [(1.0 - b) / s, (-1.0 - b) / s];
    let inside = |c: &f64| *c > 0.0 && *c < top;
    let mut all: Vec<f64> = base.iter().zip(slope).flat_map(passes).filter(inside).collect();
    all.extend([0.0, top]);
    all.sort_by(f64::total_cmp);
    all
}

/// The smallest zero of a slope that is negative at the first of `kinks`, not at the last, and a straight
/// line between neighbours. Losses that are zero beyond a margin may be flat from there to a far kink, and
/// Newton's method would stop at either end.
fn least_between(kinks: &[f64], at: impl Fn(f64) -> (f64, f64)) -> f64 {
    let end = kinks.partition_point(|c| at(*c).0 < 0.0).clamp(1, kinks.len() - 1);
    let (low, high) = (kinks[end - 1], kinks[end]);
    let middle = f64::midpoint(low, high);
    match at(middle) {
        (first, second) if second > 0.0 => (middle - first / second).max(low).min(high),
        (first, _) if first < 0.0 => high,
        // Rounding hides that the slope was zero at `low` already.
        _ => low,
    }
}

/// The same for a smooth loss plus `extra.0 * c + extra.1 * c^2 / 2`: Newton's method on the slope
/// inside a shrinking bracket.
pub(in crate::rolin) fn least_smooth(
    loss: PaperLoss<'_>,
    base: &[f64],
    slope: &[f64],
    extra: (f64, f64),
    top: f64,
) -> f64 {
    let at = |c: f64| {
        let (first, second) = loss.derivatives_along(base, slope, c);
        (first + extra.0 + extra.1 * c, second + extra.1)
    };
    least_from(at(0.0), at, top)
}

/// The smallest minimiser over `[0, top]` of a convex function with slope and curvature `at`.
fn least_from(at_zero: (f64, f64), at: impl Fn(f64) -> (f64, f64), top: f64) -> f64 {
    let (mut first, mut second) = at_zero;
    if first >= 0.0 || first.is_nan() {
        return 0.0;
    }
    if at(top).0 < 0.0 {
        return top;
    }
    let (mut low, mut high, mut c) = (0.0, top, 0.0);
    let mut last = f64::INFINITY;
    for _ in 0..MAX_STEPS {
        let newton = c - first / second;
        let inside = newton > low && newton < high;
        // Newton's steps shrink fast or not at all; where they do not, the bracket is halved.
        let quick = inside && (newton - c).abs() <= QUICK * last;
        let next = if quick { newton } else { f64::midpoint(low, high) };
        last = if quick { (next - c).abs() } else { f64::INFINITY };
        if (next - c).abs() <= SAME * next && inside || next <= low || next >= high {
            return next.max(low).min(high);
        }
        c = next;
        (first, second) = at(c);
        if first == 0.0 && second > 0.0 {
            return c;
        }
        if first < 0.0 {
            low = c;
        } else {
            high = c;
        }
    }
    high
}

/// The hinge loss is piecewise linear in `c`: walk its sorted kinks until the slope is not negative.
fn least_hinge(shares: Option<&[f64]>, base: &[f64], slope: &[f64], top: f64) -> f64 {
    let active = |m: f64, s: f64| m < 1.0 || (m == 1.0 && s < 0.0);
    let share = |i: usize| shares.map_or(1.0, |shares| shares[i]);
    let rows = || base.iter().zip(slope).enumerate().map(|(i, (m, s))| (*m, *s, share(i)));
    let mut total: f64 =
        rows().filter(|&(m, s, _)| active(m, s)).map(|(_, s, share)| -s * share).sum();
    let mut kinks: Vec<(f64, f64)> = rows()
        .filter(|&(m, s, _)| (s > 0.0 && m < 1.0) || (s < 0.0 && m > 1.0))
        .map(|(m, s, share)| ((1.0 - m) / s, s.abs() * share))
        .filter(|&(c, _)| c < top)
        .collect();
    kinks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let noise = CANCELLED * rows().map(|(_, s, share)| s.abs() * share).sum::<f64>();
    if total >= -noise {
        return 0.0;
    }
    let least = NO_LENGTH / vector::norm_inf(slope);
    for (c, jump) in kinks {
        total += jump;
        if total >= -noise {
            return if c > least { c } else { 0.0 };
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 4] =
        [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

    #[test]
    fn no_grid_point_is_better_and_every_bound_is_a_clip() {
        for loss in LOSSES.map(PaperLoss::of) {
            for seed in 0..20 {
                let wave = |i: i32, f: f64| (f64::from(i * (seed + 3)) * f).sin() * 3.0;
                let base: Vec<f64> = (0..17).map(|i| wave(i, 0.7)).collect();
                let slope: Vec<f64> = (0..17).map(|i| wave(i, 1.3) + 0.4).collect();
                let best = least_along(loss, &base, &slope, 5.0);
                let least = loss.mean_along(&base, &slope, best);
                for i in 0..=5000 {
                    let c = f64::from(i) / 1000.0;
                    assert!(least <= loss.mean_along(&base, &slope, c) + 1e-12);
                }
                for top in [0.1, 0.5, 1.0, 2.0] {
                    let clipped = least_along(loss, &base, &slope, top);
                    assert!((clipped - best.min(top)).abs() <= 1e-12, "{loss:?}");
                }
            }
        }
    }

    /// The loss is zero from where the first two rows are satisfied to `end`, where the third no longer is.
    #[test]
    fn a_flat_stretch_that_ends_is_entered_no_further_than_needed() {
        for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber].map(PaperLoss::of) {
            for (a, b) in (1..8).flat_map(|a| (1..8).map(move |b| (a, b))) {
                let slope = [f64::from(a) / 7.0, f64::from(b) / 3.0, -1.0];
                let start = f64::max(0.8 / slope[0], 0.5 / slope[1]);
                for end in [start + 0.1, start + 1.0, 3.0 * start] {
                    for top in [0.5, 2.0, 9.0, 50.0] {
                        let c = least_along(loss, &[0.2, 0.5, 1.0 + end], &slope, top);
                        assert!((c - top.min(start)).abs() < 1e-12 * c.max(1.0), "{loss:?}: {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn of_a_flat_stretch_the_start_is_taken() {
        for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber].map(PaperLoss::of) {
            let c = least_along(loss, &[0.0, 0.5], &[1.0, 1.0], 9.0);
            assert!((c - 1.0).abs() < 1e-12, "{loss:?}: {c}");
        }
    }
}
