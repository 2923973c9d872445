//! How large `k` must be for the classes to be told apart at all.
//!
//! `$k^* = \min_{w,b} \sum c_i \max(0, 1 - y_i f_i)$`, the smallest total hinge loss of any hyperplane, is also the largest
//! `$\sum \beta_i$` with `$0 \le \beta \le c$` and `$\sum \beta_i y_i (x_i, 1) = 0$` (linear programming duality). Any hyperplane bounds it
//! from above and any such `$\beta$` from below.
//!
//! Few rows: the interior point finds it. Many rows: it is enclosed, to a thousandth of the total weight, by Newton's
//! method on the smoothed hinges
//! ```math
//! \sum_i c_i h \ln\bigl(1 + e^{o_i + (1 - y_i f_i)/h}\bigr),
//! ```
//! whose slopes `$\beta_i = c_i / (1 + e^{-t_i})$` lie between their bounds and add up to zero at the minimum. The exponents `$t$`
//! become the next offsets `$o$` (the method of multipliers with an entropy), so that `$h$` need not become small. Slopes
//! change little from step to step, and so does the curvature, which is kept ([`GramCache`]).

use super::interior::{self, System};
use super::multipliers::GramCache;
use super::problem::{Problem, RowLoss, Target};
use super::row_space::{Features, Reduced};
use super::solution::{Iterate, Start};
use crate::control::Control;
use crate::data::sampled_rows;
use crate::error::Result;
use crate::linalg::elementary::{exponential, log_one_plus};
use crate::linalg::vector::vectorized;
use crate::linalg::{ARMIJO, Matrix, vector};
use crate::optim::Budget;

/// Relative gap asked here where a fit asks for less.
pub(super) const ENOUGH: f64 = 1e-6;
/// Part of the total weight to which `$k^*$` is enclosed.
const PRECISION: f64 = 1e-3;
/// Rows: problems with fewer are left to the interior point.
const LEAST_ROWS: usize = 1000;
/// Rows per column: problems with fewer are left to the interior point.
const LEAST_ROWS_PER_COLUMN: usize = 16;
/// Rows per sampled row.
const SAMPLE: usize = 8;
/// Newton steps of an enclosure at most.
const STEPS: usize = 60;
/// `$h$` of the first enclosure, in units of margin.
const WIDTH: f64 = 0.2;
/// `$h$` on a sample, in units of margin: its answer differs from that of all rows anyway.
const SAMPLE_WIDTH: f64 = 0.3;
/// Part of a row's weight (four times its largest curvature) below which a change of curvature is ignored.
const FLAT: f64 = 0.0025;
/// Part of what is open that another Newton step must gain.
const SETTLED: f64 = 0.03;
/// Relative changes of the smoothed hinges that may be rounding.
const NOISE: f64 = 1e-13;
/// The shortest step tried.
const LEAST_STEP: f64 = 1e-6;
/// Rounds in which shares are balanced at most; each leaves a small part of the error.
const BALANCING_ROUNDS: usize = 12;
/// Part of the total weight by which the shares may be out of balance.
const BALANCED: f64 = 1e-11;
/// As [`BALANCED`], but so small that further rounds cannot lower it.
const BALANCED_EXACTLY: f64 = 1e-15;
/// Relative improvement on the best constant below which no hyperplane helps.
const CLEARLY_BETTER: f64 = 1e-6;
/// Part of the mean squared row that a negligible ridge is.
const NEGLIGIBLE_RIDGE: f64 = 1e-8;
/// Part of the total weight that the penalty of a negligible ridge stays below.
const NEGLIGIBLE: f64 = 1e-6;
/// Factor of the ridge where it is not negligible yet,
const WEAKER: f64 = 0.01;
/// and how often it is applied at most.
const WEAKER_RIDGES: usize = 4;

/// What is known of `$k^*$`.
#[derive(Debug)]
pub(super) struct SmallestK {
    /// No `k` up to here is usable.
    pub lower: f64,
    /// Every `k` above this is usable.
    pub upper: f64,
    /// `$\beta$`, the proof of the lower bound.
    pub share: Vec<f64>,
    /// Whether the two bounds agree up to the accuracy of the solver.
    exact: bool,
}

impl SmallestK {
    /// What is known of `problem`, or enough of it to tell whether its `k` is usable and whether any is; `None`
    /// where the budget ends first.
    pub(super) fn of<'l>(
        problem: &Problem<'_>,
        reduced: &Reduced<'_>,
        known: &'l mut Option<Self>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<&'l Self>> {
        if !known.as_ref().is_some_and(|known| known.decides(problem)) {
            *known = Self::find(problem, reduced.normalised_columns(), budget)?;
        }
        Ok(known.as_ref())
    }

    /// Whether not even all rows together let the features do better than a constant.
    pub(super) fn no_k_helps(&self, problem: &Problem<'_>) -> bool {
        self.upper >= least_constant_hinge(problem) * (1.0 - CLEARLY_BETTER)
    }

    fn decides(&self, problem: &Problem<'_>) -> bool {
        let outside = problem.k <= self.lower || problem.k > self.upper;
        self.exact || (outside && !self.no_k_helps(problem))
    }

    fn find(problem: &Problem<'_>, x: &Matrix, budget: &mut Budget<'_>) -> Result<Option<Self>> {
        let reduced = Reduced::new(x, problem.fit_intercept)?;
        let enclosed = budget
            .stage(budget.tol(), STEPS, |budget| enclose(problem, &reduced.features, budget))?;
        if let Some(found) = enclosed.filter(|found| found.decides(problem)) {
            return Ok(Some(found));
        }
        let (tol, left) = (budget.tol().min(ENOUGH), budget.left());
        budget.stage(tol, left, |budget| solve(problem, x, &reduced, budget))
    }
}

/// `$k^*$` by the interior point; `None` where the budget ends first.
fn solve(
    problem: &Problem<'_>,
    x: &Matrix,
    reduced: &Reduced<'_>,
    budget: &mut Budget<'_>,
) -> Result<Option<SmallestK>> {
    let (scale, k) = (1.0, problem.total());
    let ridge = negligible_ridge(problem, reduced);
    let mut hinge = Problem { x, loss: RowLoss::Hinge, k, ridge, scale, ..problem.clone() };
    let mut found = interior::solve(&hinge, reduced, interior::ALL_ROWS, budget)?;
    for _ in 0..WEAKER_RIDGES {
        // Columns that are nearly the same take large weights to tell the classes apart.
        let matters = |at: &Iterate| hinge.penalty(&at.hyperplanes) > NEGLIGIBLE * problem.total();
        if !found.point().is_some_and(matters) {
            break;
        }
        hinge.ridge *= WEAKER;
        let start = Start::of(&found);
        let options = interior::ALL_ROWS;
        found = interior::solve_warm_then_cold(&hinge, reduced, start, options, budget)?;
    }
    let known = found.certificate().gap() <= budget.tol() || budget.left() > 0;
    let (Some(point), Some(dual), true) = (found.point(), found.proof(), known) else {
        return Ok(None);
    };
    let losses = hinge.losses(&hinge.scores(&point.hyperplanes));
    let k = losses.iter().zip(hinge.weights).map(|(l, c)| l * c).sum();
    // With all rows in the worst case it is alpha that says how much each counts.
    let share = dual.alpha.iter().map(|v| v.abs()).collect();
    Ok(Some(SmallestK { lower: k, upper: k, share, exact: true }))
}

/// Bounds on `$k^*$` of a problem with many rows; `None` where they are not found.
fn enclose(
    problem: &Problem<'_>,
    features: &Features,
    budget: &mut Budget<'_>,
) -> Result<Option<SmallestK>> {
    let Target::Signs(y) = &problem.target else { return Ok(None) };
    let n = problem.n();
    if n < LEAST_ROWS.max(LEAST_ROWS_PER_COLUMN * features.z.ncols()) {
        return Ok(None);
    }
    let started = Smoothed::start(features, y, problem.weights, WIDTH, budget)?;
    let Some((mut smoothed, mut open)) = started else { return Ok(None) };
    let wanted = PRECISION * problem.total();
    while open > wanted {
        smoothed.offset.clone_from(&smoothed.exponent);
        smoothed.width *= (wanted / open).sqrt().clamp(0.5, 1.0);
        smoothed.eval_losses();
        match smoothed.settle(budget)? {
            Some(left) => open = left,
            None => return Ok(None),
        }
    }
    let Some(share) = smoothed.balanced(budget.control())? else { return Ok(None) };
    let lower = share.iter().sum();
    let upper = smoothed.hinges();
    Ok(Some(SmallestK { lower, upper, share, exact: false }))
}

/// Smoothed hinges at some hyperplane.
struct Smoothed<'r> {
    features: &'r Features,
    y: &'r [f64],
    c: &'r [f64],
    v: Vec<f64>,
    /// `$y f$`.
    margin: Vec<f64>,
    /// `$o$`.
    offset: Vec<f64>,
    /// `$h$`.
    width: f64,
    /// `$t$`.
    exponent: Vec<f64>,
    /// `$\beta$`.
    share: Vec<f64>,
    /// `$\beta (1 - \beta/c)$`: `$h$` times the curvature.
    room: Vec<f64>,
    gram_cache: GramCache,
}

impl<'r> Smoothed<'r> {
    fn new(features: &'r Features, y: &'r [f64], c: &'r [f64], v: Vec<f64>, width: f64) -> Self {
        let zero = || vec![0.0; y.len()];
        let margin = features.scores(&v).iter().zip(y).map(|(f, y)| f * y).collect();
        let gram_cache = GramCache::new(features);
        let (offset, exponent, share, room) = (zero(), zero(), zero(), zero());
        Self { features, y, c, v, margin, offset, width, exponent, share, room, gram_cache }
    }

    /// The minimum for `width`, come to by way of samples and larger widths, with what is open there.
    fn start(
        features: &'r Features,
        y: &'r [f64],
        c: &'r [f64],
        width: f64,
        budget: &mut Budget<'_>,
    ) -> Result<Option<(Self, f64)>> {
        let some = y.len() / SAMPLE;
        let mut smoothed =
            if some >= (LEAST_ROWS / 2).max(LEAST_ROWS_PER_COLUMN * features.z.ncols()) {
                let rows = sampled_rows(y.len(), some);
                let sample = features.select(&rows);
                let of = |all: &[f64]| rows.iter().map(|&i| all[i]).collect::<Vec<f64>>();
                let (y_some, c_some) = (of(y), of(c));
                let found = Smoothed::start(&sample, &y_some, &c_some, SAMPLE_WIDTH, budget)?;
                let Some((found, _)) = found else { return Ok(None) };
                Self::new(features, y, c, found.v, width)
            } else {
                let mut smoothed = Self::new(features, y, c, vec![0.0; features.z.ncols()], 1.0);
                smoothed.eval_losses();
                if smoothed.settle(budget)?.is_none() {
                    return Ok(None);
                }
                smoothed.width = width;
                smoothed
            };
        smoothed.eval_losses();
        Ok(smoothed.settle(budget)?.map(|open| (smoothed, open)))
    }

    /// Slopes and curvatures at the margins.
    fn eval_losses(&mut self) {
        let rows = self.share.iter_mut().zip(&mut self.room).zip(&mut self.exponent);
        let given = self.offset.iter().zip(&self.margin).zip(self.c);
        vectorized!({
            for (((share, room), exponent), ((offset, margin), c)) in rows.zip(given) {
                *exponent = offset + (1.0 - margin) / self.width;
                let e = exponential(-exponent.abs());
                let large = 1.0 / (1.0 + e);
                *share = c * large * if *exponent > 0.0 { 1.0 } else { e };
                *room = c * e * large * large;
            }
        });
    }

    /// Newton steps until another would gain little of what is open; returns that, or `None` where
    /// the steps do not get there.
    fn settle(&mut self, budget: &mut Budget<'_>) -> Result<Option<f64>> {
        while budget.take()? {
            let alpha: Vec<f64> = self.share.iter().zip(self.y).map(|(a, y)| a * y).collect();
            let adjoint = self.features.z.tr_mul_vec(&alpha);
            // A row's weight on the diagonal holds the columns that hardly any row has.
            let row = self.c.iter().sum::<f64>() / self.c.len() as f64;
            self.gram_cache.update(self.features, self.room.iter().copied(), FLAT * row);
            let Ok(system) = System::factor(self.gram_cache.damped(row * self.width)) else {
                return Ok(None);
            };
            budget.control().check()?;
            let mut v = system.solve(&adjoint);
            vector::scale(&mut v, self.width);
            let decrease = vector::dot(&adjoint, &v);
            if !self.descend(&v, decrease) {
                return Ok(None);
            }
            let open = self.open();
            if decrease <= SETTLED * open {
                return Ok(Some(open));
            }
        }
        Ok(None)
    }

    /// A step along `v`, shortened until the smoothed hinges decrease as they should; whether there is one.
    fn descend(&mut self, v: &[f64], decrease: f64) -> bool {
        let moves = self.features.scores(v);
        let old = self.margin.clone();
        let before = self.value();
        let noise = NOISE * before;
        let mut step = 1.0;
        while step > LEAST_STEP {
            for (((m, old), f), y) in self.margin.iter_mut().zip(&old).zip(&moves).zip(self.y) {
                *m = old + step * y * f;
            }
            // Also false for values that are not numbers.
            if self.value() <= before - ARMIJO * step * decrease + noise {
                vector::axpy(step, v, &mut self.v);
                self.eval_losses();
                return true;
            }
            step *= 0.5;
        }
        false
    }

    fn value(&self) -> f64 {
        let rows = self.margin.iter().zip(&self.offset).zip(self.c);
        let loss = |((m, o), c): ((&f64, &f64), &f64)| {
            let t = o + (1.0 - m) / self.width;
            c * (t.max(0.0) + log_one_plus(exponential(-t.abs())))
        };
        // One after the other: sums do not use vector registers, losses do.
        let losses: Vec<f64> = vectorized!(rows.map(loss).collect());
        self.width * losses.iter().sum::<f64>()
    }

    /// The hinge losses: an upper bound.
    fn hinges(&self) -> f64 {
        self.margin.iter().zip(self.c).map(|(m, c)| c * (1.0 - m).max(0.0)).sum()
    }

    /// By how much `$\sum c \max(0, 1 - yf)$` exceeds `$\sum \beta (1 - yf)$`, which is `$\sum \beta$` at the minimum.
    fn open(&self) -> f64 {
        let met: f64 = self.share.iter().zip(&self.margin).map(|(a, m)| a * (1.0 - m)).sum();
        self.hinges() - met
    }

    /// Shares near the slopes with `$\sum \beta_i y_i (x_i, 1) = 0$`: every share moves in proportion to its distance
    /// from its bounds.
    fn balanced(&self, control: &Control) -> Result<Option<Vec<f64>>> {
        let z = &self.features.z;
        let total: f64 = self.c.iter().sum();
        let mut exact = GramCache::new(self.features);
        exact.update(self.features, self.room.iter().copied(), 0.0);
        let Ok(system) = System::factor(exact.damped(0.0)) else { return Ok(None) };
        let mut share = self.share.clone();
        let mut best = f64::INFINITY;
        for _ in 0..BALANCING_ROUNDS {
            control.check()?;
            let alpha: Vec<f64> = share.iter().zip(self.y).map(|(a, y)| a * y).collect();
            let adjoint = z.tr_mul_vec(&alpha);
            let off = adjoint.iter().fold(0.0_f64, |top, r| top.max(r.abs())) / total;
            if off <= BALANCED_EXACTLY || (off <= BALANCED && off > 0.5 * best) {
                return Ok(Some(share));
            }
            best = best.min(off);
            let moves = z.mul_vec(&system.solve(&adjoint));
            for (((a, c), y), f) in share.iter_mut().zip(self.c).zip(self.y).zip(&moves) {
                *a = (*a - *a * (1.0 - *a / c) * y * f).clamp(0.0, *c);
            }
        }
        Ok((best <= BALANCED).then_some(share))
    }
}

/// A ridge too weak to matter, in the units of the features.
pub(super) fn negligible_ridge(problem: &Problem<'_>, reduced: &Reduced<'_>) -> f64 {
    let size = vector::norm_sq(reduced.features.z.values()) / problem.n() as f64;
    NEGLIGIBLE_RIDGE * size.max(f64::MIN_POSITIVE) / reduced.ridge(1.0)
}

/// The smallest total hinge loss of any constant.
fn least_constant_hinge(problem: &Problem<'_>) -> f64 {
    let mut sides = [0.0; 2];
    for (i, c) in problem.weights.iter().enumerate() {
        sides[problem.target.label(i)] += c;
    }
    if problem.fit_intercept { 2.0 * sides[0].min(sides[1]) } else { sides[0] + sides[1] }
}
