//! Feasible iterates of the low-rank Newton method: value, slope, curvature, and how their rank changes.

use crate::conic::problem::{Dual, Form, Hyperplane, RowTerms, Rows, retraction};
use crate::conic::spectrum::{Spectrum, Wanted, dual_at, glance};
use crate::error::Result;
use crate::linalg::{Dense, Svd, vector};
use crate::optim::Bracket;

/// Singular values of the factor below this share of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-7;
/// Factors on V below which a pull-back to the budget is a collapse, a jump to another branch: at the start, and
/// within a step.
const COLLAPSE: [f64; 2] = [1e-12, 1e-3];
/// Lengths of new directions that are tried, in units of the factor's.
const LENGTHS: [f64; 9] = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5];
/// The factor's length counts as at least this part of the root of the objective.
const LEAST_LENGTH: f64 = 1e-3;
/// Part of the objective that is rounding in a decrease.
const ROUNDING: f64 = 1e-13;
/// The residual of an objective smaller than the square of this is measured against this.
const LEAST_ROOT: f64 = 1e-150;

/// A feasible iterate.
pub(super) struct State {
    pub(super) w: Vec<f64>,
    pub(super) factor: Dense,
    pub(super) terms: RowTerms,
    pub(super) value: f64,
}

/// First-order information at a [`State`].
pub(super) struct Slope {
    /// Gradient of the Lagrangian in `$(w, F)$`.
    pub(super) gradient: Vec<f64>,
    /// Unit normal of the budget manifold; empty in the priced form.
    pub(super) normal: Vec<f64>,
    /// `$\lambda$`.
    pub(super) price: f64,
    /// Length of the gradient relative to that of the objective's.
    pub(super) residual: f64,
}

impl State {
    /// Pulls `$(w, F)$` back to the budget; `None` if no multiple of `$V$` gets there.
    pub(super) fn new(rows: &Rows<'_>, form: Form, w: Vec<f64>, factor: Dense) -> Option<Self> {
        let mut state = Self::raw(rows, form, w, factor);
        if let Form::Budget(target) = form {
            let k = retraction(&state.terms.a, &state.terms.s, rows.c, target);
            if !(k > COLLAPSE[0] && k.is_finite()) {
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
    pub(super) fn look(
        &self,
        rows: &Rows<'_>,
        form: Form,
        price: f64,
        bracket: &mut Bracket<Hyperplane, Dual>,
    ) -> Result<Spectrum> {
        let spectrum = Spectrum::new(rows, &self.terms, price, form)?;
        bracket.offer_dual(spectrum.lower, || dual_at(rows, &self.terms, price, spectrum.shrink));
        Ok(spectrum)
    }

    /// Offers a bound that costs no eigenvectors, if there is one; `enough` needs no better one.
    pub(super) fn glance(
        &self,
        rows: &Rows<'_>,
        form: Form,
        slope: &Slope,
        enough: f64,
        bracket: &mut Bracket<Hyperplane, Dual>,
    ) -> Result<()> {
        let (price, wanted) = (slope.price, Wanted { enough, residual: slope.residual });
        let found = glance(rows, &self.terms, &self.factor, price, form, wanted)?;
        if let Some((lower, shrink)) = found {
            bracket.offer_dual(lower, || dual_at(rows, &self.terms, price, shrink));
        }
        Ok(())
    }

    pub(super) fn slope(&self, rows: &Rows<'_>, form: Form) -> Slope {
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
        let residual = vector::norm(&gradient) / (2.0 * self.value.abs().sqrt()).max(LEAST_ROOT);
        Slope { gradient, normal, price, residual }
    }

    /// Hessian of the Lagrangian, order p (r + 1).
    pub(super) fn hessian(&self, rows: &Rows<'_>, price: f64) -> Dense {
        let mut hessian = self.terms.curvature(rows, price);
        hessian.add_diagonal(2.0);
        hessian
    }

    /// `None` where the pull-back changes V by more than a factor of a thousand.
    pub(super) fn moved(&self, rows: &Rows<'_>, form: Form, step: &[f64]) -> Option<Self> {
        let p = self.w.len();
        let w = self.w.iter().zip(step).map(|(w, d)| w + d).collect();
        let mut factor = self.factor.clone();
        vector::axpy(1.0, &step[p..], factor.data_mut());
        let mut next = Self::raw(rows, form, w, factor);
        if let Form::Budget(target) = form {
            let k = retraction(&next.terms.a, &next.terms.s, rows.c, target);
            if !(k > COLLAPSE[1] && k.is_finite()) {
                return None;
            }
            next.rescale(k);
        }
        next.value.is_finite().then_some(next)
    }

    /// Drops directions of V that have become negligible.
    pub(super) fn compressed(self, rows: &Rows<'_>, form: Form) -> Self {
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

    /// Adds the negative directions of `$S$` to the factor, as far as that helps.
    pub(super) fn grow(&self, rows: &Rows<'_>, form: Form, spectrum: &Spectrum) -> Option<Self> {
        let added = spectrum.growth()?;
        let (r, p) = (self.factor.nrows(), self.w.len());
        let size = vector::norm(self.factor.data()).max(LEAST_LENGTH * self.value.abs().sqrt());
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
        let grown = best.filter(|b| self.value - b.value > ROUNDING * self.value.abs())?;
        if grown.factor.nrows() <= p {
            return Some(grown);
        }
        let svd = Svd::new(&grown.factor).ok()?;
        let factor = Dense::from_fn(svd.s.len(), p, |k, j| svd.s[k] * svd.v[(j, k)]);
        Self::new(rows, form, grown.w, factor)
    }
}
