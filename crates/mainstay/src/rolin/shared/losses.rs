//! Eq. (2): the losses as the paper scales them, over whole vectors of margins.

#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use crate::linalg::elementary::exponential;
use crate::linalg::vector::{self, vectorized};
use crate::loss::{Hinge, Loss, MarginLoss, ModifiedHuber, SquaredHinge};
use crate::model::Link;

/// A loss of Eq. (2): the logistic one in bits (reading R1), the others as they are; and what the rows count in means.
#[derive(Debug, Clone, Copy)]
pub(in crate::rolin) struct PaperLoss<'a> {
    pub(in crate::rolin) loss: Loss,
    /// Shares that add up to 1; none: all rows alike.
    shares: Option<&'a [f64]>,
}

impl<'a> PaperLoss<'a> {
    /// All rows count alike.
    pub(in crate::rolin) fn of(loss: Loss) -> Self {
        Self { loss, shares: None }
    }

    /// Rows count by `shares`, which add up to 1, where there are any.
    pub(in crate::rolin) fn on(self, shares: Option<&[f64]>) -> PaperLoss<'_> {
        PaperLoss { loss: self.loss, shares }
    }

    /// Shares that add up to 1, where rows do not count alike.
    pub(in crate::rolin) fn shares(self) -> Option<&'a [f64]> {
        self.shares
    }

    /// 1/ln 2 for the logistic loss.
    pub(in crate::rolin) fn factor(self) -> f64 {
        if self.loss == Loss::Logistic { std::f64::consts::LOG2_E } else { 1.0 }
    }

    /// Mean loss at the margins `base + c * slope`.
    pub(in crate::rolin) fn mean_along(self, base: &[f64], slope: &[f64], c: f64) -> f64 {
        let margins = base.iter().zip(slope).map(|(b, s)| b + c * s);
        if let Some(shares) = self.shares {
            let loss = self.loss.get();
            let parts = margins.zip(shares).map(|(m, share)| share * loss.value(m));
            return self.factor() * parts.sum::<f64>();
        }
        let sum: f64 = match self.loss {
            Loss::Logistic => vectorized!(logistic_sum(base, slope, c)),
            Loss::Hinge => margins.map(|m| Hinge.value(m)).sum(),
            Loss::SquaredHinge => margins.map(|m| SquaredHinge.value(m)).sum(),
            Loss::ModifiedHuber => margins.map(|m| ModifiedHuber.value(m)).sum(),
        };
        self.factor() * sum / base.len().max(1) as f64
    }

    /// Mean losses at the margins `base + c * slope` for the first `count` points c of `grid`.
    ///
    /// Logistic loss: two exponentials per row serve all points, since from one to the next `$e^{-m}$` is
    /// multiplied by the same factor.
    pub(in crate::rolin) fn mean_on_grid(
        self,
        base: &[f64],
        slope: &[f64],
        grid: EvenGrid,
        count: usize,
    ) -> Vec<f64> {
        let stride = vector::norm_inf(slope) * grid.step;
        // The points within the reach of the first one.
        let points = 1 + (1..count).take_while(|&j| stride * j as f64 <= REACH).count();
        let plain = self.loss == Loss::Logistic && self.shares.is_none();
        if !plain || count < 3 || points < 3 {
            return (0..count).map(|j| self.mean_along(base, slope, grid.at(j))).collect();
        }
        let mut sums = Vec::with_capacity(count);
        while sums.len() < count {
            let part = EvenGrid { first: grid.at(sums.len()), ..grid };
            let points = points.min(count - sums.len());
            sums.extend(vectorized!(logistic_on_grid(base, slope, part, points)));
        }
        for sum in &mut sums {
            *sum *= self.factor() / base.len().max(1) as f64;
        }
        sums
    }

    /// Mean loss at the given margins.
    pub(in crate::rolin) fn mean(self, margins: &[f64]) -> f64 {
        self.mean_along(margins, margins, 0.0)
    }

    /// Slope and curvature of the mean loss in `c` at the margins `base + c * slope`.
    pub(in crate::rolin) fn derivatives_along(
        self,
        base: &[f64],
        slope: &[f64],
        c: f64,
    ) -> (f64, f64) {
        if let Some(shares) = self.shares {
            let (loss, factor) = (self.loss.get(), self.factor());
            let mut sums = (0.0, 0.0);
            for ((b, s), share) in base.iter().zip(slope).zip(shares) {
                let margin = b + c * s;
                sums.0 += factor * share * s * loss.slope(margin);
                sums.1 += factor * share * s * s * loss.curvature(margin).unwrap_or(0.0);
            }
            return sums;
        }
        let (first, second) = match self.loss {
            Loss::Logistic => vectorized!(logistic_derivatives(base, slope, c)),
            Loss::Hinge => derivatives(&Hinge, base, slope, c),
            Loss::SquaredHinge => derivatives(&SquaredHinge, base, slope, c),
            Loss::ModifiedHuber => derivatives(&ModifiedHuber, base, slope, c),
        };
        let scale = self.factor() / base.len().max(1) as f64;
        (scale * first, scale * second)
    }

    /// Share of rows with a margin `base + c * slope` that is not positive (the zero-one loss of Eq. (2)).
    pub(in crate::rolin) fn wrong_along(self, base: &[f64], slope: &[f64], c: f64) -> f64 {
        let wrong = |i: &usize| base[*i] + c * slope[*i] <= 0.0;
        let rows = (0..base.len()).filter(wrong);
        match self.shares {
            Some(shares) => rows.map(|i| shares[i]).sum(),
            None => rows.count() as f64 / base.len().max(1) as f64,
        }
    }

    /// Slope and curvature of the mean loss with respect to every margin.
    pub(in crate::rolin) fn weights(self, margins: &[f64]) -> (Vec<f64>, Vec<f64>) {
        if let Some(shares) = self.shares {
            let (loss, factor) = (self.loss.get(), self.factor());
            let both = |(&m, share): (&f64, &f64)| {
                let scale = factor * share;
                (scale * loss.slope(m), scale * loss.curvature(m).unwrap_or(0.0))
            };
            return margins.iter().zip(shares).map(both).unzip();
        }
        let scale = self.factor() / margins.len().max(1) as f64;
        if self.loss == Loss::Logistic {
            let mut out = (vec![0.0; margins.len()], vec![0.0; margins.len()]);
            vectorized!(logistic_weights(margins, scale, &mut out.0, &mut out.1));
            return out;
        }
        let loss = self.loss.get();
        margins
            .iter()
            .map(|&m| (scale * loss.slope(m), scale * loss.curvature(m).unwrap_or(0.0)))
            .unzip()
    }
}

/// Distance of a point from its place in an even grid that is rounding, relative to the last point.
const EVEN: f64 = 1e-14;

/// Points at equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::rolin) struct EvenGrid {
    first: f64,
    step: f64,
}

impl EvenGrid {
    /// `points` as such a grid, if they ascend and are one to rounding.
    pub(in crate::rolin) fn of(points: &[f64]) -> Option<Self> {
        let (&first, &last) = (points.first()?, points.last()?);
        let step = (last - first) / (points.len() as f64 - 1.0).max(1.0);
        let grid = Self { first, step };
        let close = |(j, v): (usize, &f64)| (v - grid.at(j)).abs() <= EVEN * last.abs();
        (step > 0.0 && points.iter().enumerate().all(close)).then_some(grid)
    }

    fn at(self, j: usize) -> f64 {
        self.first + self.step * j as f64
    }
}

/// How scores of a classifier fitted to `loss` become probabilities.
pub(in crate::rolin) fn link(loss: Loss) -> Link {
    match loss {
        Loss::Logistic => Link::Logistic,
        Loss::ModifiedHuber => Link::Clip,
        Loss::Hinge | Loss::SquaredHinge => Link::None,
    }
}

fn derivatives(loss: &impl MarginLoss, base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (b, s) in base.iter().zip(slope) {
        let margin = b + c * s;
        sums.0 += s * loss.slope(margin);
        sums.1 += s * s * loss.curvature(margin).unwrap_or(0.0);
    }
    sums
}

/// Margins handled together, so that the compiler can use vector registers.
const LANES: usize = 8;

/// `$\ln \prod (1 + q_l)$`, from positive parts only: small values keep their relative accuracy.
#[inline(always)]
fn logarithm(q: &[f64; LANES]) -> f64 {
    let both = |a: f64, b: f64| a + b + a * b;
    let q: [f64; 4] = std::array::from_fn(|l| both(q[l], q[l + 4]));
    both(both(q[0], q[2]), both(q[1], q[3])).ln_1p()
}

/// `$\sum \ln(1 + e^{-m})$` at `$m$` = `base + c * slope`, with one logarithm for many terms:
/// `$q = \prod (1 + e_i) - 1$`.
#[inline(always)]
fn logistic_sum(base: &[f64], slope: &[f64], c: f64) -> f64 {
    let (mut sum, mut linear, mut q) = (0.0, [0.0; LANES], [0.0; LANES]);
    let (base_lanes, base_rest) = base.as_chunks::<LANES>();
    let (slope_lanes, slope_rest) = slope.as_chunks::<LANES>();
    for (l, (b, s)) in base_rest.iter().zip(slope_rest).enumerate() {
        let m = b + c * s;
        linear[l] += (-m).max(0.0);
        q[l] = exponential(-m.abs());
    }
    // At most 2^64 per lane: all together stay finite.
    for (base, slope) in base_lanes.chunks(63).zip(slope_lanes.chunks(63)) {
        for (b, s) in base.iter().zip(slope) {
            for l in 0..LANES {
                let m = b[l] + c * s[l];
                let e = exponential(-m.abs());
                linear[l] += (-m).max(0.0);
                q[l] += e + q[l] * e;
            }
        }
        sum += logarithm(&q);
        q = [0.0; LANES];
    }
    if base_lanes.is_empty() {
        sum = logarithm(&q);
    }
    sum + linear.iter().sum::<f64>()
}

/// How far margins may move along a part of a grid: `$(1 + e^5)^{128}$` is still finite.
const REACH: f64 = 5.0;

/// The same at every point of a grid. A row is counted by `$\ln(1+e^{-m})$` if its first margin is not
/// negative and by `$-m + \ln(1 + e^m)$` otherwise, so that what is multiplied starts at most at 1.
#[inline(always)]
fn logistic_on_grid(base: &[f64], slope: &[f64], grid: EvenGrid, count: usize) -> Vec<f64> {
    let padded = base.len().next_multiple_of(LANES);
    let (mut terms, mut factors) = (vec![0.0; padded], vec![1.0; padded]);
    for ((e, f), (b, s)) in terms.iter_mut().zip(&mut factors).zip(base.iter().zip(slope)) {
        let m = b + grid.first * s;
        *e = exponential(-m.abs());
        *f = exponential(if m < 0.0 { grid.step * s } else { -grid.step * s });
    }
    let (mut constant, mut linear) = (0.0, 0.0);
    for (b, s) in base.iter().zip(slope) {
        let m = b + grid.first * s;
        if m < 0.0 {
            constant -= m;
            linear -= grid.step * s;
        }
    }
    let (terms, factors) = (terms.as_chunks_mut::<LANES>().0, factors.as_chunks::<LANES>().0);
    let mut sums = Vec::with_capacity(count);
    for j in 0..count {
        let mut sum = constant + linear * j as f64;
        for (terms, factors) in terms.chunks_mut(16).zip(factors.chunks(16)) {
            let mut q = [0.0; LANES];
            for (e, f) in terms.iter_mut().zip(factors) {
                for l in 0..LANES {
                    q[l] += e[l] + q[l] * e[l];
                    e[l] *= f[l];
                }
            }
            sum += logarithm(&q);
        }
        sums.push(sum);
    }
    sums
}

/// Slope and curvature of `$\ln(1 + e^{-m})$` from one exponential.
#[inline(always)]
fn logistic_slopes(m: f64) -> (f64, f64) {
    let e = exponential(-m.abs());
    let share = 1.0 / (1.0 + e);
    let slope = if m >= 0.0 { -e * share } else { -share };
    (slope, e * share * share)
}

/// `scale` times slope and curvature at every margin.
#[inline(always)]
fn logistic_weights(margins: &[f64], scale: f64, slopes: &mut [f64], curvatures: &mut [f64]) {
    for ((m, s), c) in margins.iter().zip(slopes).zip(curvatures) {
        let (slope, curvature) = logistic_slopes(*m);
        (*s, *c) = (scale * slope, scale * curvature);
    }
}

#[inline(always)]
fn logistic_derivatives(base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    let (base_lanes, base_rest) = base.as_chunks::<LANES>();
    let (slope_lanes, slope_rest) = slope.as_chunks::<LANES>();
    for (b, s) in base_lanes.iter().zip(slope_lanes) {
        for l in 0..LANES {
            let (d1, d2) = logistic_slopes(b[l] + c * s[l]);
            first[l] += s[l] * d1;
            second[l] += s[l] * s[l] * d2;
        }
    }
    let mut sums = (first.iter().sum(), second.iter().sum());
    for (b, s) in base_rest.iter().zip(slope_rest) {
        let (d1, d2) = logistic_slopes(b + c * s);
        sums.0 += s * d1;
        sums.1 += s * s * d2;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;

    #[test]
    fn one_exponential_gives_slope_and_curvature() {
        for m in [-800.0, -30.0, -1.0, 0.0, 0.3, 5.0, 40.0, 900.0] {
            let (slope, curvature) = logistic_slopes(m);
            assert!((slope - Logistic.slope(m)).abs() <= 1e-15);
            assert!((curvature - Logistic.curvature(m).unwrap()).abs() <= 1e-15);
        }
    }

    #[test]
    fn grouped_logarithms_equal_single_ones() {
        for scale in [1e-3, 1.0, 30.0, 1e3] {
            let margins: Vec<f64> = (0..2077).map(|i| scale * (f64::from(i) * 0.7).sin()).collect();
            let one_by_one: f64 = margins.iter().map(|&m| Logistic.value(m)).sum();
            let grouped = logistic_sum(&margins, &margins, 0.0);
            assert!((grouped - one_by_one).abs() <= 1e-13 * one_by_one);
        }
        let tiny = [40.0; 50];
        let wanted = 50.0 * Logistic.value(40.0);
        assert!((logistic_sum(&tiny, &tiny, 0.0) - wanted).abs() <= 1e-14 * wanted);
    }

    #[test]
    fn a_grid_of_points_equals_one_point_at_a_time() {
        let points: Vec<f64> = (0..10).map(|j| 0.01 + 0.04 * f64::from(j)).collect();
        let grid = EvenGrid::of(&points).unwrap();
        assert!(EvenGrid::of(&[1.0, 2.0, 4.0]).is_none() && EvenGrid::of(&[2.0, 1.0]).is_none());
        for loss in [Loss::Logistic, Loss::SquaredHinge].map(PaperLoss::of) {
            for (rows, size, tilt) in
                [(5, 1.0, 1.0), (40, 3.0, 0.5), (163, 30.0, 9.0), (300, 700.0, 40.0)]
            {
                let wave = |i: i32, f: f64| (f64::from(i) * f).sin();
                let base: Vec<f64> = (0..rows).map(|i| size * wave(i, 0.7)).collect();
                let slope: Vec<f64> = (0..rows).map(|i| tilt * wave(i, 1.3)).collect();
                let found = loss.mean_on_grid(&base, &slope, grid, points.len());
                for (found, c) in found.iter().zip(&points) {
                    let wanted = loss.mean_along(&base, &slope, *c);
                    assert!((found - wanted).abs() <= 1e-13 * wanted, "{rows}: {found} {wanted}");
                }
            }
        }
    }
}
