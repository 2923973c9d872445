//! Low-rank Newton: the fast solver, for problems where $V$ has few directions.

use super::problem::{Dual, Form, Hyperplane, RowTerms, Rows, retraction};
use super::spectrum::Spectrum;
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, Svd, SymmetricEigen, vector};
use crate::optim::{Bracket, Budget};

/// Columns of the factor in a cold start. With one column the iteration stalls on the ridges
/// $F x_i = 0$; with none it starts at a stationary terms.
const START_RANK: usize = 8;
/// Iterations between looks at the certificate when the gradient is not small yet.
const LOOK_EVERY: usize = 12;
/// A gradient this small, relative to the objective's, is as small as arithmetic allows.
const SMALLEST_RESIDUAL: f64 = 1e-13;
/// Trials of the damping before a step counts as impossible.
const MOST_TRIALS: usize = 40;
/// Part of the predicted decrease that a step must bring.
const SUFFICIENT: f64 = 0.05;
/// Singular values of the factor below this share of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-7;

/// Low-rank Newton: $V = F^\top F$ with few rows in $F$, second-order steps in $(w, F)$.
///
/// $V$ has rank 1 to 5 at most optima, so the unknowns are few. The gradient of $\sum c_i z_i$ is
/// $$-2\sum_i c_i t_i (1 - z_i) y_i x_i \;(w), \qquad -2 \sum_i c_i t_i^2 \rho_{ik} x_i \;(F_k),$$
/// with $\rho_i = F x_i$; its Hessian is a sum of $(r+1) \times (r+1)$ coefficients times $x_i x_i^\top$:
/// $2s(s - 3a^2)/q^3$ for $(w, w)$, $-4 y a \rho_k (a^2 - s)/q^3$ for $(w, F_k)$, and $8 a^2 \rho_k \rho_l/q^3 -
/// [k = l]\,2a^2/q^2$ for $(F_k, F_l)$.
///
/// The priced form is minimised directly. The budget form stays on the manifold $\sum c_i z_i =
/// \kappa\sum c_i$: every trial point is pulled back by scaling $V$ (a root of a monotone function), the
/// multiplier is the least-squares one, and steps are tangential, so every iterate is feasible and its
/// objective a proven upper bound. Steps are Levenberg-Marquardt damped in the metric of the columns' scales.
///
/// At a stationary point the certificate decides: if $S$ has negative directions they are added to
/// $F$ and the iteration goes on, so a limit that is certified is the global optimum. One iteration
/// costs $n p^2 (r+1)(r+2)$ flops and a Cholesky factorisation of order $p(r+1)$.
pub(super) fn newton(
    rows: &Rows<'_>,
    form: Form,
    start: Option<Hyperplane>,
    floor: f64,
    budget: &mut Budget<'_>,
) -> Result<Bracket<Hyperplane, Dual>> {
    let mut bracket = Bracket::new();
    let Some(mut state) = (match start {
        Some(start) => State::new(rows, form, start.w, start.factor),
        None => cold_start(rows, form)?,
    }) else {
        return Ok(bracket);
    };
    let mut damping = 0.0;
    let mut last_look = 0;
    let mut small = (10.0 * budget.tol()).clamp(1e-9, 1e-6);
    loop {
        budget.control().check()?;
        let slope = state.slope(rows, form);
        let (stationary, spent_all) = (slope.residual <= small, budget.left() == 0);
        if stationary || spent_all || budget.spent() - last_look >= LOOK_EVERY {
            last_look = budget.spent();
            let spectrum = state.look(rows, form, slope.price, &mut bracket)?;
            let gap = (state.value - bracket.lower()) / state.value.abs().max(floor);
            if gap <= budget.tol() || spent_all {
                break;
            }
            if stationary {
                if let Some(grown) = state.grow(rows, form, &spectrum) {
                    state = grown;
                    budget.take()?;
                } else if small < SMALLEST_RESIDUAL {
                    break;
                } else {
                    small *= 1e-2;
                }
                continue;
            }
        }
        let Some(next) = state.step(rows, form, &slope, &mut damping) else { break };
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

/// $w = 0$ and $V$ a multiple of the projection on the leading principal directions.
fn cold_start(rows: &Rows<'_>, form: Form) -> Result<Option<State>> {
    let p = rows.x.ncols();
    let eigen = SymmetricEigen::new(&rows.x.weighted_gram(rows.c))?;
    for rank in [START_RANK.min(p), p] {
        let factor = Dense::from_fn(rank, p, |k, j| eigen.vectors[(j, p - 1 - k)]);
        let state = match form {
            Form::Budget(_) => State::new(rows, form, vec![0.0; p], factor),
            Form::Price(price) => {
                let s = RowTerms::new(rows, &vec![0.0; p], &factor).s;
                let value = |scale: f64| {
                    let paid = rows.c.iter().zip(&s).map(|(c, s)| price * c / (1.0 + scale * s));
                    scale * rank as f64 + paid.sum::<f64>()
                };
                let scales = (-24..24).map(|k| 10f64.powf(f64::from(k) / 4.0));
                let scale = scales.fold(1.0, |b, v| if value(v) < value(b) { v } else { b });
                let factor = scaled(&factor, scale.sqrt());
                State::new(rows, form, vec![0.0; p], factor)
            }
        };
        if state.is_some() {
            return Ok(state);
        }
    }
    Ok(None)
}

fn scaled(factor: &Dense, by: f64) -> Dense {
    let mut out = factor.clone();
    vector::scale(out.data_mut(), by);
    out
}

/// A feasible iterate.
struct State {
    w: Vec<f64>,
    factor: Dense,
    terms: RowTerms,
    value: f64,
}

/// First-order information at a [`State`].
struct Slope {
    /// Gradient of the Lagrangian in $(w, F)$.
    gradient: Vec<f64>,
    /// Unit normal of the budget manifold; empty in the priced form.
    normal: Vec<f64>,
    /// $\lambda$.
    price: f64,
    /// Length of the gradient relative to that of the objective's.
    residual: f64,
}

impl State {
    /// Pulls $(w, F)$ back to the budget; `None` if no multiple of $V$ gets there.
    fn new(rows: &Rows<'_>, form: Form, w: Vec<f64>, factor: Dense) -> Option<Self> {
        let mut state = Self::raw(rows, form, w, factor);
        if let Form::Budget(target) = form {
            let k = retraction(&state.terms.a, &state.terms.s, rows.c, target);
            // A collapse of V is a jump to another branch, not a step.
            if !(k > 1e-12 && k.is_finite()) {
                return None;
            }
            state.rescale(k);
        }
        state.value.is_finite().then_some(state)
    }

    fn raw(rows: &Rows<'_>, form: Form, w: Vec<f64>, factor: Dense) -> Self {
        let terms = RowTerms::new(rows, &w, &factor);
        let norms = vector::norm_sq(&w) + vector::norm_sq(factor.data());
        let value = match form {
            Form::Budget(_) => norms,
            Form::Price(price) => norms + price * vector::dot(rows.c, &terms.z),
        };
        Self { w, factor, terms, value }
    }

    fn rescale(&mut self, k: f64) {
        vector::scale(self.factor.data_mut(), k.sqrt());
        self.terms.rescale(k);
        self.value = vector::norm_sq(&self.w) + vector::norm_sq(self.factor.data());
    }

    /// Offers the bound that this point gives.
    fn look(
        &self,
        rows: &Rows<'_>,
        form: Form,
        price: f64,
        bracket: &mut Bracket<Hyperplane, Dual>,
    ) -> Result<Spectrum> {
        let spectrum = Spectrum::new(rows, &self.terms, price, form)?;
        bracket.offer_dual(spectrum.lower, || spectrum.dual(rows, &self.terms, price));
        Ok(spectrum)
    }

    fn slope(&self, rows: &Rows<'_>, form: Form) -> Slope {
        let sum_z = self.terms.slope(rows);
        let objective: Vec<f64> =
            self.w.iter().chain(self.factor.data()).map(|v| 2.0 * v).collect();
        let (price, normal) = match form {
            Form::Price(price) => (price, Vec::new()),
            Form::Budget(_) => {
                let length = vector::norm(&sum_z).max(f64::MIN_POSITIVE);
                let normal: Vec<f64> = sum_z.iter().map(|v| v / length).collect();
                (-vector::dot(&normal, &objective) / length, normal)
            }
        };
        let mut gradient = objective;
        vector::axpy(price, &sum_z, &mut gradient);
        let residual = vector::norm(&gradient) / (2.0 * self.value.abs().sqrt()).max(1e-150);
        Slope { gradient, normal, price, residual }
    }

    /// Hessian of the Lagrangian, order p (r + 1).
    fn hessian(&self, rows: &Rows<'_>, price: f64) -> Dense {
        let mut hessian = self.terms.curvature(rows, price);
        hessian.add_diagonal(2.0);
        hessian
    }

    /// One accepted step; `None` if no damping gives one.
    fn step(&self, rows: &Rows<'_>, form: Form, slope: &Slope, damping: &mut f64) -> Option<Self> {
        let p = rows.x.ncols();
        let hessian = self.hessian(rows, slope.price);
        let order = hessian.nrows();
        let largest = (0..order).fold(2.0, |m, i| f64::max(m, hessian[(i, i)].abs()));
        for _ in 0..MOST_TRIALS {
            let mut matrix = hessian.clone();
            for i in 0..order {
                // The tiny ridge takes care of the rotations F -> QF, along which nothing changes.
                matrix[(i, i)] += *damping * rows.damping[i % p] + 1e-11 * largest;
                if let Some(&normal) = slope.normal.get(i) {
                    let row = &mut matrix.row_mut(i)[..=i];
                    vector::axpy(10.0 * largest * normal, &slope.normal[..=i], row);
                }
            }
            let Some(factor) = Cholesky::new(&matrix) else {
                *damping = f64::max(4.0 * *damping, 1e-3);
                continue;
            };
            let step = tangential(&factor, slope);
            let predicted = -vector::dot(&slope.gradient, &step)
                - 0.5 * vector::dot(&step, &hessian.mul_vec(&step));
            if let Some(next) = self.moved(rows, form, &step) {
                let gained = self.value - next.value;
                if gained >= SUFFICIENT * predicted - 1e-13 * self.value.abs() {
                    if gained > 0.5 * predicted {
                        *damping = if *damping < 1e-2 { 0.0 } else { *damping / 8.0 };
                    }
                    return Some(next);
                }
            }
            *damping = f64::max(4.0 * *damping, 1e-2);
        }
        None
    }

    /// `None` where the pull-back changes V by more than a factor of a thousand.
    fn moved(&self, rows: &Rows<'_>, form: Form, step: &[f64]) -> Option<Self> {
        let p = self.w.len();
        let w = self.w.iter().zip(step).map(|(w, d)| w + d).collect();
        let mut factor = self.factor.clone();
        vector::axpy(1.0, &step[p..], factor.data_mut());
        let mut next = Self::raw(rows, form, w, factor);
        if let Form::Budget(target) = form {
            let k = retraction(&next.terms.a, &next.terms.s, rows.c, target);
            if !(k > 1e-3 && k.is_finite()) {
                return None;
            }
            next.rescale(k);
        }
        next.value.is_finite().then_some(next)
    }

    /// Drops directions of V that have become negligible.
    fn compressed(self, rows: &Rows<'_>, form: Form) -> Self {
        let r = self.factor.nrows();
        if r < 2 {
            return self;
        }
        let Ok(svd) = Svd::new(&self.factor) else { return self };
        let kept = svd.s.iter().filter(|s| **s >= NEGLIGIBLE * svd.s[0]).count();
        if kept == r || kept == 0 {
            return self;
        }
        let p = self.w.len();
        let factor = Dense::from_fn(kept, p, |k, j| svd.s[k] * svd.v[(j, k)]);
        match Self::new(rows, form, self.w.clone(), factor) {
            Some(state) => state,
            None => self,
        }
    }

    /// Adds the negative directions of $S$ to the factor, as far as that helps.
    fn grow(&self, rows: &Rows<'_>, form: Form, spectrum: &Spectrum) -> Option<Self> {
        const LENGTHS: [f64; 9] = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5];
        let added = spectrum.growth()?;
        let (r, p) = (self.factor.nrows(), self.w.len());
        let size = vector::norm(self.factor.data()).max(1e-3 * self.value.abs().sqrt());
        let mut best: Option<Self> = None;
        for length in LENGTHS {
            let mut data = self.factor.data().to_vec();
            data.extend(added.data().iter().map(|v| length * size * v));
            let factor = Dense::from_rows(r + added.nrows(), p, data);
            if let Some(state) = Self::new(rows, form, self.w.clone(), factor) {
                let bar = best.as_ref().map_or(self.value, |b| b.value);
                if state.value < bar {
                    best = Some(state);
                }
            }
        }
        let grown = best.filter(|b| self.value - b.value > 1e-13 * self.value.abs())?;
        if grown.factor.nrows() <= p {
            return Some(grown);
        }
        let svd = Svd::new(&grown.factor).ok()?;
        let factor = Dense::from_fn(svd.s.len(), p, |k, j| svd.s[k] * svd.v[(j, k)]);
        Self::new(rows, form, grown.w, factor)
    }
}

/// Newton's direction; in the budget form the one that stays tangent to the manifold.
fn tangential(factor: &Cholesky, slope: &Slope) -> Vec<f64> {
    let mut step = factor.solve(&slope.gradient);
    if !slope.normal.is_empty() {
        let across = factor.solve(&slope.normal);
        let ratio = vector::dot(&slope.normal, &step) / vector::dot(&slope.normal, &across);
        vector::axpy(-ratio, &across, &mut step);
    }
    vector::scale(&mut step, -1.0);
    step
}
