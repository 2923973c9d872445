//! Newton's method on the smoothed problem, and the change of reference shares.

use super::gram_cache::{Damping, GramCache};
use super::rows::{Reference, RowsAt};
use super::threshold_band::FarRows;
use crate::error::Result;
use crate::linalg::vector;
use crate::optim::Budget;
use crate::stable::certificate::Dual;
use crate::stable::problem::{Problem, worst_sum};
use crate::stable::row_space::{Features, Reduced};
use crate::stable::solution::{Found, Iterate};

/// Newton steps of one run at most.
const STEPS: usize = 100;
/// Factor by which the width shrinks at most with every change of reference.
const SHRINK: f64 = 0.25;
/// Root-mean-square moves of a step that the width stays above: rows that jump over the whole width are not
/// in Newton's model.
const MOVES: f64 = 2.0;
/// Part of the gap before a round on the threshold band that must be left at most for another round.
const BAND_HELPED: f64 = 0.1;
/// Recheck the certificate once the estimated gap has halved.
const RECHECK: f64 = 0.5;
/// Part of the asked gap below which the estimate stands and only rounding keeps the certificate from it.
const CERTAIN: f64 = 0.01;
/// Part of the asked gap that smoothing may take.
const SMOOTHING: f64 = 0.25;
/// Part of the threshold below which a width is sharp (a row at zero scores has a loss of about 1).
const SHARP: f64 = 0.1;
/// Relative changes of the objective that may be rounding.
pub(super) const NOISE: f64 = 1e-13;

/// Where to start from.
pub(super) struct NewtonStart {
    pub v: Vec<f64>,
    /// Width of the smoothing.
    pub width: f64,
    /// A guess of the threshold.
    pub theta: Option<f64>,
}

/// Value and derivatives of the smoothed problem at the present point.
pub(super) struct NewtonModel {
    objective: f64,
    /// What smoothing leaves open.
    open: f64,
    /// The relative gap, if the present shares are feasible up to the gradient.
    estimated_gap: f64,
    /// `$D$`: how fast the shares of the rows between their bounds change.
    gain: Vec<f64>,
    gradient: Vec<f64>,
    /// `$Z^\top (D L')$`, which couples the weights to the threshold.
    border: Vec<f64>,
}

/// The smoothed problem at one point.
pub(super) struct Newton<'r, 'a> {
    pub problem: &'r Problem<'a>,
    pub features: &'r Features,
    /// `$2\rho/\lambda$` in reduced units.
    pub ridge: f64,
    pub v: Vec<f64>,
    pub rows: RowsAt,
    pub reference: Reference,
    pub gram_cache: GramCache,
    /// Whether most rows share the threshold although it is sharp, as where zero weights are optimal:
    /// every step would cost a whole Gram matrix.
    pub crowded: bool,
    /// Whether to go on nevertheless.
    pub accept_crowding: bool,
    /// Additional rows that hold every weight. A column with entries in few rows (a rare category) is held by
    /// nothing while none of these is between its bounds: Newton's model would then send its weight far away.
    pub damping: f64,
    /// What rows that are not here add to the objective.
    pub far_rows: Option<FarRows>,
    /// Rounds on the threshold band left,
    pub rounds: usize,
    /// and the rows of the next one.
    pub band: Option<Vec<usize>>,
    /// The gap before that round.
    pub estimated_gap: f64,
    /// How the last round on the band moved the scores, and the gap before it.
    pub last_round: Option<(Vec<f64>, f64)>,
}

impl<'r, 'a> Newton<'r, 'a> {
    pub(super) fn new(
        problem: &'r Problem<'a>,
        features: &'r Features,
        ridge: f64,
        start: NewtonStart,
    ) -> Self {
        let even = (problem.k / problem.total()).min(0.5);
        let share = problem.weights.iter().map(|c| even * c).collect();
        let reference = Reference { share, width: start.width };
        let mut rows = RowsAt::new(problem.n());
        rows.scores = features.scores(&start.v);
        rows.eval_losses(problem);
        let guess = start
            .theta
            .unwrap_or_else(|| worst_sum(&rows.loss, problem.weights, problem.k).threshold);
        rows.solve_threshold(problem, &reference, guess);
        Self {
            problem,
            features,
            ridge,
            v: start.v,
            rows,
            reference,
            gram_cache: GramCache::new(features),
            crowded: false,
            accept_crowding: false,
            damping: 0.0,
            far_rows: None,
            rounds: 0,
            band: None,
            estimated_gap: f64::INFINITY,
            last_round: None,
        }
    }

    /// Takes `share` as the reference.
    pub(super) fn set_reference(&mut self, share: &[f64]) {
        self.reference.share.copy_from_slice(share);
        self.solve_threshold();
    }

    /// The present point as a start for more rows.
    pub(super) fn into_start(self) -> NewtonStart {
        NewtonStart { v: self.v, width: self.reference.width, theta: Some(self.rows.theta) }
    }

    /// Newton steps until the estimated relative gap is `tol` and `stop` agrees.
    pub(super) fn run(
        &mut self,
        tol: f64,
        budget: &mut Budget<'_>,
        stop: impl FnMut(&Self) -> bool,
    ) -> Result<()> {
        budget.stage(tol, STEPS, |budget| self.iterate(budget, stop))
    }

    fn iterate(
        &mut self,
        budget: &mut Budget<'_>,
        mut stop: impl FnMut(&Self) -> bool,
    ) -> Result<()> {
        let tol = budget.tol();
        let (mut asked, mut first) = (tol, self.far_rows.is_none());
        loop {
            budget.control().check()?;
            let here = self.newton_model();
            if here.estimated_gap <= asked {
                if stop(self) || here.estimated_gap <= CERTAIN * tol {
                    return Ok(());
                }
                asked = RECHECK * here.estimated_gap;
            }
            if self.another_round(&here) || !budget.take()? {
                return Ok(());
            }
            let Some(v) = self.direction(&here) else { return Ok(()) };
            budget.control().check()?;
            let moves = self.features.scores(&v);
            let usual = (vector::norm_sq(&moves) / moves.len() as f64).sqrt();
            if std::mem::take(&mut first) && usual > MOVES * self.reference.width {
                // Newton's model holds where few rows reach or leave a bound.
                self.reference.width = usual.min(super::COLD_WIDTH);
                self.solve_threshold();
            } else if self.advance(&here, &v, &moves, tol) {
                return Ok(());
            }
        }
    }

    /// Takes the step along `v`, which moves the scores by `moves`; whether it was the last one of this run.
    fn advance(&mut self, here: &NewtonModel, v: &[f64], moves: &[f64], tol: f64) -> bool {
        let decrease = -vector::dot(&here.gradient, v);
        let Some(step) = self.descend(v, moves, decrease) else { return true };
        if here.gain.iter().any(|gain| *gain > 0.0) {
            self.adapt_damping(step);
        }
        let enough = SMOOTHING * tol * here.objective;
        if here.open <= enough && decrease <= NOISE * here.objective {
            return true;
        }
        if decrease <= here.open && here.open > enough {
            let usual = (vector::norm_sq(moves) / moves.len() as f64).sqrt();
            self.change_reference(enough / here.open, usual);
            return self.crowded || self.enter_band(moves, here.estimated_gap);
        }
        false
    }

    fn newton_model(&self) -> NewtonModel {
        let (excess, open) = self.rows.excess(self.problem.weights);
        let objective = self.fixed_terms() + self.problem.k * self.rows.theta + excess;
        let gain = self.rows.gain(self.problem, self.reference.width);
        let (gradient, border, cost) = self.gradient(&gain);
        let estimated_gap = (open + cost) / objective;
        NewtonModel { objective, open, estimated_gap, gain, gradient, border }
    }

    /// Newton's direction; `None` where rounding leaves none.
    fn direction(&mut self, here: &NewtonModel) -> Option<Vec<f64>> {
        let damping =
            Damping { ridge: self.ridge, width: self.reference.width, rows: self.damping };
        let coupling = (here.gain.as_slice(), here.border.as_slice());
        let (problem, features) = (self.problem, self.features);
        let system = self.gram_cache.system(problem, features, &self.rows, damping, coupling);
        let mut v = system.ok()?.solve(&here.gradient);
        vector::scale(&mut v, -1.0);
        Some(v)
    }

    /// The present shares become the reference, unless rows turn out to be crowded. What is open falls with the
    /// square of the width and is to fall to the part `wanted`; `usual` is what a step changes.
    fn change_reference(&mut self, wanted: f64, usual: f64) {
        self.crowded = !self.accept_crowding
            && self.reference.width < SHARP * self.rows.theta.min(1.0)
            && 2 * self.rows.between(self.problem.weights) > self.problem.n();
        if self.crowded {
            return;
        }
        self.reference.share.clone_from(&self.rows.share);
        let width = self.reference.width;
        let floor = (SHRINK * width).max(MOVES * usual).min(width);
        self.reference.width = (wanted.sqrt() * width).max(floor);
        self.solve_threshold();
    }

    /// Whether, right after a round on the band, another one follows: not where the last did not help.
    fn another_round(&mut self, here: &NewtonModel) -> bool {
        let Some((moves, before)) = self.last_round.take() else { return false };
        self.rounds *= usize::from(here.estimated_gap <= BAND_HELPED * before);
        self.enter_band(&moves, here.estimated_gap)
    }

    /// Whether few rows are near the threshold, after a step that moved the scores by `moves`: a round on
    /// these follows.
    fn enter_band(&mut self, moves: &[f64], estimated_gap: f64) -> bool {
        self.band = self.threshold_band(moves);
        if self.band.is_some() {
            self.estimated_gap = estimated_gap;
        }
        self.band.is_some()
    }

    pub(super) fn solve_threshold(&mut self) {
        let guess = self.rows.theta;
        self.rows.solve_threshold(self.problem, &self.reference, guess);
    }

    /// What does not depend on the rows here: the ridge, and other rows.
    fn fixed_terms(&self) -> f64 {
        let size = vector::norm_sq(&self.v[..self.features.m]);
        0.5 * self.ridge * size + self.far_rows.as_ref().map_or(0.0, |far| far.value(&self.v))
    }

    /// The smoothed objective.
    pub(super) fn value(&self) -> f64 {
        self.fixed_terms() + self.rows.value
    }

    /// The gradient, `$\tfrac{2\rho}{\lambda} w + Z^\top \alpha$`, and `$Z^\top (D L')$` for `$D$` = `gain`; and what
    /// the gradient takes from the bound. Multipliers that do not add up are balanced by shrinking one side,
    /// which matters in second order only.
    fn gradient(&self, gain: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
        let steep: Vec<f64> = gain.iter().zip(&self.rows.slope).map(|(d, s)| d * s).collect();
        let alpha = self.rows.alpha();
        let [mut gradient, border] = self.features.z.tr_mul_pair([&alpha, &steep]);
        let m = self.features.m;
        vector::axpy(self.ridge, &self.v[..m], &mut gradient[..m]);
        if let Some(far) = &self.far_rows {
            vector::axpy(1.0, &far.gradient(&self.v), &mut gradient);
        }
        let mut cost = vector::norm_sq(&gradient[..m]) / (2.0 * self.ridge);
        if let Some(sum) = gradient.get(m).filter(|sum| **sum != 0.0) {
            let side = 0.5 * alpha.iter().map(|v| v.abs()).sum::<f64>();
            cost += sum * sum / side.max(sum.abs());
        }
        (gradient, border, cost)
    }

    /// Offers the present point and its multipliers, both recomputed on the given data.
    pub(super) fn offer(&self, reduced: &Reduced<'_>, found: &mut Found) {
        let hyperplanes = reduced.hyperplanes(&self.v);
        let primal = reduced.objective(self.problem, &self.v, &hyperplanes);
        found.offer_primal(primal, || Iterate { v: self.v.clone(), hyperplanes });
        let dual = Dual { share: self.rows.share.clone(), alpha: self.rows.alpha() };
        found.offer_dual(reduced.bound(self.problem, &dual), || dual);
    }
}
