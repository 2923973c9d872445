//! Low-rank Newton: the fast solver, for problems where `$V$` has few directions.

mod conjugate;
mod state;
mod step;

pub(super) use step::FactorCache;

use self::state::State;
use self::step::{MATRIX_FREE_COLUMNS, Stepper};
use super::problem::{Dual, Form, Hyperplane, RowTerms, Rows};
use crate::error::Result;
use crate::linalg::{Dense, SymmetricEigen, thin_qr, vector};
use crate::optim::{Bracket, Budget};

/// Directions of the factor in a cold start. With one the iteration stalls on the ridges `$F x_i = 0$`; with none it
/// starts at a stationary point; a step costs the third power of their number.
const START_RANK: usize = 4;
/// The same where the first start did not lead to the optimum.
const AMPLE_RANK: usize = 8;
/// Squared length, in units of the largest entry, below which a row counts for less than one direction in a cold start.
const SHORTEST: f64 = 1e-12;
/// Iterations between looks at the certificate when the gradient is not small yet.
const LOOK_EVERY: usize = 12;
/// A gradient this small, relative to the objective's, is as small as arithmetic allows.
const SMALLEST_RESIDUAL: f64 = 1e-13;
/// A point counts as stationary at a residual of the first value times the gap asked for, but between the others.
const STATIONARY: [f64; 3] = [10.0, 1e-9, 1e-6];
/// Part of the gap asked for that a residual may have in any case: wide gaps do not need more steps than that.
const LOOSE: f64 = 0.1;
/// What the residual of a stationary point is multiplied by where the gap is still open and no direction is missing.
const STRICTER: f64 = 1e-2;
/// Scales of `$V$` that a start in the priced form chooses from, as quarters of powers of ten.
const START_SCALES: std::ops::Range<i32> = -24..24;
/// Steps of the subspace iteration that finds leading directions of very many columns.
const SUBSPACE_STEPS: usize = 4;

/// Where the iteration starts.
pub(super) enum Start {
    /// At this point, scaled to the budget.
    At(Hyperplane),
    /// Along leading directions of the rows; many of them if `ample`.
    Cold { ample: bool },
}

/// Low-rank Newton: `$V = F^\top F$` with few rows in `$F$`, second-order steps in `$(w, F)$`.
///
/// `$V$` has rank 1 to 5 at most optima, so the unknowns are few. The gradient of `$\sum c_i z_i$` is
/// ```math
/// -2\sum_i c_i t_i (1 - z_i) y_i x_i \;(w), \qquad -2 \sum_i c_i t_i^2 \rho_{ik} x_i \;(F_k),
/// ```
/// with `$\rho_i = F x_i$`; its Hessian is a sum of `$(r+1) \times (r+1)$` coefficients times `$x_i x_i^\top$`:
/// `$2s(s - 3a^2)/q^3$` for `$(w, w)$`, `$-4 y a \rho_k (a^2 - s)/q^3$` for `$(w, F_k)$`, and `$8 a^2 \rho_k \rho_l/q^3 -
/// [k = l]\,2a^2/q^2$` for `$(F_k, F_l)$`.
///
/// The priced form is minimised directly. The budget form stays on the manifold `$\sum c_i z_i =
/// \kappa\sum c_i$`: every trial point is pulled back by scaling `$V$` (a root of a monotone function), the
/// multiplier is the least-squares one, and steps are tangential, so every iterate is feasible and its
/// objective a proven upper bound. Steps are Levenberg-Marquardt damped in the metric of the columns' scales.
///
/// At a stationary point the certificate decides: if `$S$` has negative directions they are added to
/// `$F$` and the iteration goes on, so a limit that is certified is the global optimum. One iteration
/// costs `$n p^2 (r+1)(r+2)$` flops and a Cholesky factorisation of order `$p(r+1)$`.
///
/// Along a path the factor is kept and preconditions conjugate gradients on products with the Hessian until that takes
/// too many of them. With very many columns (kernels) there is no factor at all: near the optimum the Hessian is 2I
/// but for few directions, and a step takes some ten products of `$4np(r+1)$` flops.
///
/// Longer than 40 lines: one loop whose exits share all it knows.
pub(super) fn newton(
    rows: &Rows<'_>,
    form: Form,
    start: Start,
    floor: f64,
    budget: &mut Budget<'_>,
    cache: &mut FactorCache,
) -> Result<Bracket<Hyperplane, Dual>> {
    let mut bracket = Bracket::new();
    let Some(mut state) = (match start {
        Start::At(plane) => State::new(rows, form, plane.w, plane.factor),
        Start::Cold { ample } => cold_start(rows, form, ample)?,
    }) else {
        return Ok(bracket);
    };
    let quick = cache.is_along_a_path() || is_wide(rows);
    let mut stepper = Stepper::new(cache);
    let mut last_look = 0;
    let most = f64::max(STATIONARY[2], LOOSE * budget.tol());
    let mut small = (STATIONARY[0] * budget.tol()).clamp(STATIONARY[1], most);
    loop {
        budget.control().check()?;
        let slope = state.slope(rows, form);
        let (stationary, spent_all) = (slope.residual <= small, budget.left() == 0);
        if stationary || spent_all || budget.spent() - last_look >= LOOK_EVERY {
            last_look = budget.spent();
            let gap = |lower: f64| (state.value - lower) / state.value.abs().max(floor);
            if quick {
                let enough = state.value - budget.tol() * state.value.abs().max(floor);
                state.glance(rows, form, &slope, enough, &mut bracket)?;
            }
            if quick && (spent_all || gap(bracket.lower()) <= budget.tol()) {
                break;
            }
            if !quick || stationary {
                let spectrum = state.look(rows, form, slope.price, &mut bracket)?;
                if gap(bracket.lower()) <= budget.tol() || spent_all {
                    break;
                }
                if stationary {
                    if let Some(grown) = state.grow(rows, form, &spectrum) {
                        state = grown;
                        budget.take()?;
                    } else if small < SMALLEST_RESIDUAL {
                        break;
                    } else {
                        small *= STRICTER;
                    }
                    continue;
                }
            }
        }
        let Some(next) = stepper.step(&state, rows, form, &slope, small) else { break };
        state = next.compressed(rows, form);
        budget.take()?;
    }
    if bracket.proof().is_none() {
        let price = state.slope(rows, form).price;
        state.look(rows, form, price, &mut bracket)?;
    }
    let State { w, factor, value, .. } = state;
    bracket.offer_primal(value, || Hyperplane { w, factor });
    Ok(bracket)
}

/// The objective at `plane`, scaled to the budget; none if that cannot be reached.
pub(super) fn objective(rows: &Rows<'_>, form: Form, plane: &Hyperplane) -> Option<f64> {
    let state = State::new(rows, form, plane.w.clone(), plane.factor.clone());
    state.map(|state| state.value)
}

/// Whether there are too many columns for the Hessian to be formed, or for a factor of full rank.
pub(super) fn is_wide(rows: &Rows<'_>) -> bool {
    rows.x.ncols() > MATRIX_FREE_COLUMNS
}

/// `$w = 0$` and `$V$` a multiple of the projection on the leading principal directions of the rows (of their lengths too if
/// `ample`); on all where those do not reach the budget and there are not too many.
fn cold_start(rows: &Rows<'_>, form: Form, ample: bool) -> Result<Option<State>> {
    let p = rows.x.ncols();
    if is_wide(rows) {
        return Ok(start_along(rows, form, leading_directions(rows)));
    }
    // Every row counts as one direction: far rows would have all of the leading ones.
    let each = |i: usize| rows.c[i] / vector::norm_sq(rows.x.row(i)).max(SHORTEST);
    let directions: Vec<f64> = (0..rows.c.len()).map(each).collect();
    let weights = if ample { rows.c } else { &directions };
    let eigen = SymmetricEigen::new(&rows.x.weighted_gram(weights))?;
    let rank = if ample { AMPLE_RANK } else { START_RANK };
    for rank in [rank.min(p), p] {
        let factor = Dense::from_fn(rank, p, |k, j| eigen.vectors[(j, p - 1 - k)]);
        let state = start_along(rows, form, factor);
        if state.is_some() {
            return Ok(state);
        }
    }
    Ok(None)
}

/// About the leading eigenvectors of `$\sum c_i x_i x_i^\top$`, one per row, by subspace iteration from some of the rows.
fn leading_directions(rows: &Rows<'_>) -> Dense {
    let n = rows.x.nrows();
    let rank = AMPLE_RANK.min(n);
    let chosen: Vec<usize> = (0..rank).map(|k| k * n / rank).collect();
    let mut basis = thin_qr(&rows.x.select_rows(&chosen).transpose()).0;
    for _ in 0..SUBSPACE_STEPS {
        let mut image = rows.x.mul(&basis);
        for (i, c) in rows.c.iter().enumerate() {
            vector::scale(image.row_mut(i), *c);
        }
        basis = thin_qr(&rows.x.tr_mul(&image)).0;
    }
    basis.transpose()
}

/// `$w = 0$` and `$V$` a multiple of `$F^\top F$`: in the budget form the one that meets the budget, in the priced form the
/// cheapest of a few.
fn start_along(rows: &Rows<'_>, form: Form, factor: Dense) -> Option<State> {
    let (p, rank) = (rows.x.ncols(), factor.nrows());
    let factor = match form {
        Form::Budget(_) => factor,
        Form::Price(price) => {
            let s = RowTerms::new(rows, &vec![0.0; p], &factor).s;
            let value = |scale: f64| {
                let paid = rows.c.iter().zip(&s).map(|(c, s)| price * c / (1.0 + scale * s));
                scale * rank as f64 + paid.sum::<f64>()
            };
            let scales = START_SCALES.map(|k| 10f64.powf(f64::from(k) / 4.0));
            let scale = scales.fold(1.0, |b, v| if value(v) < value(b) { v } else { b });
            scaled(&factor, scale.sqrt())
        }
    };
    State::new(rows, form, vec![0.0; p], factor)
}

fn scaled(factor: &Dense, by: f64) -> Dense {
    let mut out = factor.clone();
    vector::scale(out.data_mut(), by);
    out
}
