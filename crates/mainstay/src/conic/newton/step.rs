//! Steps of the low-rank Newton method: with the Hessian, with one kept from before, or with products alone.

use super::conjugate::{Curvature, Direction, Tangent, conjugate_gradients};
use super::state::{Slope, State};
use crate::conic::problem::{Form, Rows};
use crate::linalg::{Dense, PanelCholesky, vector};

/// Trials of the damping before a step counts as impossible.
const MOST_TRIALS: usize = 40;
/// Part of the predicted decrease that a step must bring.
const SUFFICIENT: f64 = 0.05;
/// Part of the predicted decrease beyond which the model is trusted and the damping reduced.
const TRUSTED: f64 = 0.5;
/// Part of the objective that is rounding in a decrease.
const ROUNDING: f64 = 1e-13;
/// What is added to the diagonal, as a part of its largest entry: it takes care of the rotations F -> QF, along which
/// nothing changes.
const ROTATION_RIDGE: f64 = 1e-11;
/// Weight of the budget's normal in the matrix, in units of its largest diagonal entry.
const NORMAL_WEIGHT: f64 = 10.0;
/// The first damping after a matrix that is not positive definite, and after a step that brought too little; in
/// units of the squared column scales.
const FIRST_DAMPING: [f64; 2] = [1e-3, 1e-2];
/// The damping grows by the first factor, and shrinks by the second.
const DAMPING_FACTORS: [f64; 2] = [4.0, 8.0];
/// Columns beyond which the Hessian, of order columns times (rank + 1), is not formed.
pub(super) const MATRIX_FREE_COLUMNS: usize = 250;
/// Columns times (rank + 2) from which a kept factor pays: a product reads the rows twice, a new Hessian costs about a
/// hundredth of this many products.
const KEPT_PAYS: usize = 120;
/// Products with a kept factor before a new Hessian is the cheaper way.
const KEPT_PRODUCTS: usize = 12;
/// Products in one step without any factor.
const FREE_PRODUCTS: usize = 200;
/// Products in one fit without any factor; an interior point costs no more.
const MOST_PRODUCTS: usize = 1500;
/// A step is solved until its residual is between these parts of what it was.
const FORCING: [f64; 2] = [1e-3, 0.1];
/// The residual of a step as a part of the one at which the point counts as stationary.
const BELOW_STATIONARY: f64 = 0.3;

/// What steps leave for later ones.
#[derive(Debug, Clone, Default)]
pub(in crate::conic) struct FactorCache {
    /// Whether factors are kept at all: on paths, where problems are alike.
    along_a_path: bool,
    /// The order and the factor of the last Hessian.
    factor: Option<(usize, PanelCholesky)>,
}

impl FactorCache {
    /// For fits that follow each other along a path.
    pub(in crate::conic) fn along_a_path() -> Self {
        Self { along_a_path: true, factor: None }
    }

    pub(super) fn is_along_a_path(&self) -> bool {
        self.along_a_path
    }
}

/// How the steps of one fit go.
pub(super) struct Stepper<'a> {
    pub(super) cache: &'a mut FactorCache,
    damping: f64,
    products: usize,
}

impl<'a> Stepper<'a> {
    pub(super) fn new(cache: &'a mut FactorCache) -> Self {
        Self { cache, damping: 0.0, products: 0 }
    }

    /// One accepted step towards a residual of `small`; `None` if no damping gives one.
    pub(super) fn step(
        &mut self,
        state: &State,
        rows: &Rows<'_>,
        form: Form,
        slope: &Slope,
        small: f64,
    ) -> Option<State> {
        let aim = (BELOW_STATIONARY * small / slope.residual).clamp(FORCING[0], FORCING[1]);
        if rows.x.ncols() > MATRIX_FREE_COLUMNS {
            return self.free(state, rows, form, slope, aim);
        }
        if let Some((order, factor)) = self.cache.factor.take()
            && order == slope.gradient.len()
            && let Some(next) = preconditioned(state, rows, form, slope, &factor, aim)
        {
            self.cache.factor = Some((order, factor));
            return Some(next);
        }
        self.dense(state, rows, form, slope)
    }

    /// With the Hessian and its Cholesky factor.
    fn dense(
        &mut self,
        state: &State,
        rows: &Rows<'_>,
        form: Form,
        slope: &Slope,
    ) -> Option<State> {
        let hessian = state.hessian(rows, slope.price);
        for _ in 0..MOST_TRIALS {
            let Some(factor) = damped(&hessian, rows, slope, self.damping) else {
                self.damp_more(FIRST_DAMPING[0]);
                continue;
            };
            let step = tangential(&factor, slope);
            let predicted = -vector::dot(&slope.gradient, &step)
                - 0.5 * vector::dot(&step, &hessian.mul_vec(&step));
            if let Some(next) = self.accepted(state, rows, form, &step, predicted) {
                let pays = rows.x.ncols() * (state.factor.nrows() + 2) >= KEPT_PAYS;
                if self.cache.along_a_path && pays && self.damping == 0.0 {
                    self.cache.factor = Some((slope.gradient.len(), factor));
                }
                return Some(next);
            }
            self.damp_more(FIRST_DAMPING[1]);
        }
        None
    }

    /// With products alone: for very many columns, where the Hessian is near a multiple of the identity.
    fn free(
        &mut self,
        state: &State,
        rows: &Rows<'_>,
        form: Form,
        slope: &Slope,
        aim: f64,
    ) -> Option<State> {
        let tangent = Tangent::new(None, &slope.normal);
        for _ in 0..MOST_TRIALS {
            let most = FREE_PRODUCTS.min(MOST_PRODUCTS.saturating_sub(self.products));
            if most == 0 {
                return None;
            }
            let curvature = Curvature::new(rows, &state.terms, slope.price, self.damping);
            let found = conjugate_gradients(&curvature, &slope.gradient, &tangent, aim, most);
            let Some(Direction { step, predicted, products, .. }) = found else {
                // How many products led to the negative curvature is not told; a few is the rule.
                self.products += KEPT_PRODUCTS;
                self.damp_more(FIRST_DAMPING[0]);
                continue;
            };
            self.products += products;
            if let Some(next) = self.accepted(state, rows, form, &step, predicted) {
                return Some(next);
            }
            self.damp_more(FIRST_DAMPING[1]);
        }
        None
    }

    fn damp_more(&mut self, first: f64) {
        self.damping = f64::max(DAMPING_FACTORS[0] * self.damping, first);
    }

    /// The point after `step` if it brings enough of what was predicted; the damping follows how well the model did.
    fn accepted(
        &mut self,
        state: &State,
        rows: &Rows<'_>,
        form: Form,
        step: &[f64],
        predicted: f64,
    ) -> Option<State> {
        let next = state.moved(rows, form, step)?;
        let gained = state.value - next.value;
        if gained < SUFFICIENT * predicted - ROUNDING * state.value.abs() {
            return None;
        }
        if gained > TRUSTED * predicted {
            let small = self.damping < FIRST_DAMPING[1];
            self.damping = if small { 0.0 } else { self.damping / DAMPING_FACTORS[1] };
        }
        Some(next)
    }
}

/// With the factor of an earlier Hessian as preconditioner; `None` where that takes too many products or the step
/// brings too little.
fn preconditioned(
    state: &State,
    rows: &Rows<'_>,
    form: Form,
    slope: &Slope,
    factor: &PanelCholesky,
    aim: f64,
) -> Option<State> {
    let curvature = Curvature::new(rows, &state.terms, slope.price, 0.0);
    let tangent = Tangent::new(Some(factor), &slope.normal);
    let found = conjugate_gradients(&curvature, &slope.gradient, &tangent, aim, KEPT_PRODUCTS)?;
    if !found.converged {
        return None;
    }
    let next = state.moved(rows, form, &found.step)?;
    let enough = SUFFICIENT * found.predicted - ROUNDING * state.value.abs();
    (state.value - next.value >= enough).then_some(next)
}

/// The factor of the Hessian with damping, the ridge against rotations and the normal of the budget; `None` if that is not
/// positive definite.
fn damped(hessian: &Dense, rows: &Rows<'_>, slope: &Slope, damping: f64) -> Option<PanelCholesky> {
    let (order, p) = (hessian.nrows(), rows.x.ncols());
    let largest = (0..order).fold(2.0, |m, i| f64::max(m, hessian[(i, i)].abs()));
    PanelCholesky::from_columns(order, |j, column| {
        column.copy_from_slice(&hessian.row(j)[j..]);
        column[0] += damping * rows.damping[j % p] + ROTATION_RIDGE * largest;
        if let Some(&normal) = slope.normal.get(j) {
            vector::axpy(NORMAL_WEIGHT * largest * normal, &slope.normal[j..], column);
        }
    })
}

/// Newton's direction; in the budget form the one that stays tangent to the manifold.
fn tangential(factor: &PanelCholesky, slope: &Slope) -> Vec<f64> {
    let mut step = factor.solve(&slope.gradient);
    if !slope.normal.is_empty() {
        let across = factor.solve(&slope.normal);
        let ratio = vector::dot(&slope.normal, &step) / vector::dot(&slope.normal, &across);
        vector::axpy(-ratio, &across, &mut step);
    }
    vector::scale(&mut step, -1.0);
    step
}
