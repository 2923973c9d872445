//! All pairs of classes of one data set: nominal planes, robust planes at any xi, the fitted model.

use rayon::prelude::*;

use super::certificate::{pair_side, worst_case_ratios};
use super::estimator::{Family, Rule};
use super::frame::Frame;
use super::moments::Moments;
use super::monotone::{Duel, Side};
use super::nominal::{Plane, pair};
use super::paper::{Iteration, iterate};
use super::problem::{Inside, Penalty};
use super::robust::{RobustRegecParams, RobustSolver};
use super::xi::{GRID, Scenarios};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::Dense;
use crate::model::Fitted;
use crate::uncertainty::ellipsoid::Ellipsoids;

/// One robust plane and what there is to say about it.
#[derive(Debug, Clone)]
pub(super) struct PairFit {
    plane: Plane,
    n_iter: usize,
    warning: Option<String>,
}

/// How well planes are solved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// To the tolerance asked for, and never worse than the nominal plane.
    Final,
    /// Well enough to choose xi by.
    Rough,
}

/// Relative fall of the ratio at which a rough descent stops.
const ROUGH: f64 = 1e-4;

/// The plane of the first class of every ordered pair.
type PairPlanes = Vec<((usize, usize), Plane)>;

/// Everything about the data that does not depend on xi.
pub(super) struct Field<'a> {
    params: &'a RobustRegecParams,
    data: &'a Dataset,
    moments: Moments,
    ellipsoids: Ellipsoids,
    frame: Frame,
    inside: Ellipsoids,
    rows: Vec<Vec<usize>>,
    /// Ordered pairs of classes and the nominal plane of the first against the second.
    pairs: Vec<((usize, usize), Plane)>,
}

impl<'a> Field<'a> {
    pub(super) fn new(
        params: &'a RobustRegecParams,
        data: &'a Dataset,
        given: &Dataset,
        control: &Control,
    ) -> Result<Self> {
        let ellipsoids = Ellipsoids::traced(data, given, &params.uncertainty)?;
        let frame = Frame::learn(data.features(), data.weights()).isotropic();
        let inside = ellipsoids.clone().scaled(1.0 / frame.scale[0]);
        let classes = data.n_classes();
        let mut rows = vec![Vec::new(); classes];
        (0..data.len())
            .filter(|&i| data.weights().is_none_or(|w| w[i] > 0.0))
            .for_each(|i| rows[data.labels()[i]].push(i));
        let mut moments = Moments::new(data, control)?;
        let nominal = |moments: &Moments| -> Result<(PairPlanes, bool)> {
            let mut pairs = Vec::new();
            let mut any_poor = false;
            for a in 0..classes {
                for b in a + 1..classes {
                    let ([first, second], poor) =
                        pair(moments, (a, b), params.regularization, params.delta, control)?;
                    pairs.push(((a, b), first));
                    pairs.push(((b, a), second));
                    any_poor |= poor;
                }
            }
            pairs.sort_by_key(|(pair, _)| *pair);
            Ok((pairs, any_poor))
        };
        let (mut pairs, poor) = nominal(&moments)?;
        if poor {
            moments = Moments::keep_rows(data, control)?;
            pairs = nominal(&moments)?.0;
        }
        Ok(Self { params, data, moments, ellipsoids, frame, inside, rows, pairs })
    }

    pub(super) fn ellipsoids(&self) -> &Ellipsoids {
        &self.ellipsoids
    }

    fn duel(&self, (a, b): (usize, usize), share: f64) -> Duel<'_> {
        let lens = self.frame.lens();
        let side = |k: usize| {
            let p = self.data.n_features();
            let mut data = Vec::with_capacity(self.rows[k].len() * (p + 1));
            for &i in &self.rows[k] {
                lens.append(self.data.features(), i, &mut data);
                data.push(-1.0);
            }
            let weight = |&i: &usize| self.data.weights().map_or(1.0, |w| w[i]);
            Side {
                rows: Dense::from_rows(self.rows[k].len(), p + 1, data),
                weights: self.rows[k].iter().map(weight).collect(),
                index: self.rows[k].clone(),
            }
        };
        let (own, other) = (self.moments.diagonal(a), self.moments.diagonal(b));
        let penalty = Penalty::new(self.params.regularization, self.params.delta, &own, &other);
        Duel {
            own: side(a),
            other: side(b),
            ellipsoids: &self.inside,
            numerator: Inside::new(&penalty.numerator, &self.frame),
            denominator: Inside::new(&penalty.denominator, &self.frame),
            share,
        }
    }

    /// Planes of all pairs at `xi`, started from `warm` where given.
    pub(super) fn planes(
        &self,
        xi: f64,
        warm: Option<&[PairFit]>,
        care: Care,
        control: &Control,
    ) -> Result<Vec<PairFit>> {
        let exact = (0..self.data.len()).all(|i| self.inside.row(i).is_zero());
        let one = |k: usize| {
            let ((a, b), nominal) = &self.pairs[k];
            if exact || (1.0 - xi) == 0.0 {
                return Ok(PairFit { plane: nominal.clone(), n_iter: 1, warning: None });
            }
            let start = warm.map(|fits| &fits[k].plane);
            let mut fit = match self.params.solver {
                RobustSolver::Monotone => {
                    self.monotone((*a, *b), nominal, start, 1.0 - xi, care, control)?
                }
                RobustSolver::Paper => self.paper((*a, *b), nominal, 1.0 - xi, control)?,
            };
            if care == Care::Final {
                fit.plane = self.never_worse((*a, *b), fit.plane, nominal, control)?;
            }
            Ok(fit)
        };
        control.install(|| (0..self.pairs.len()).into_par_iter().map(one).collect())
    }

    fn monotone(
        &self,
        pair: (usize, usize),
        nominal: &Plane,
        start: Option<&Plane>,
        share: f64,
        care: Care,
        control: &Control,
    ) -> Result<PairFit> {
        let tol =
            self.params.tol.unwrap_or(1e-7).max(if care == Care::Rough { ROUGH } else { 0.0 });
        let max_iter = self.params.max_iter.unwrap_or(300);
        let mut duel = self.duel(pair, share);
        let inside = |plane: &Plane| self.frame.inside(&plane.w, plane.gamma);
        let nominal_z = inside(nominal);
        let start_z = start.map(inside).filter(|z| duel.ratio(z) <= duel.ratio(&nominal_z));
        let solve = |duel: &mut Duel<'_>,
                     share: f64,
                     from: &[f64]|
         -> Result<Option<(Plane, usize)>> {
            duel.share = share;
            let Some(found) = duel.descend(from, tol, max_iter, control)? else { return Ok(None) };
            // The plane at infinity (errata B9): no plane among the rows is better.
            if found.plain >= duel.at_infinity() * (1.0 - 1e-3) {
                return Ok(None);
            }
            let Some((w, gamma)) = self.frame.outside(&found.z) else { return Ok(None) };
            let quotient = found.history[found.history.len() - 1];
            Ok(Some((Plane { w, gamma, quotient }, found.history.len().max(2) - 1)))
        };
        if let Some((plane, n_iter)) =
            solve(&mut duel, share, start_z.as_deref().unwrap_or(&nominal_z))?
        {
            return Ok(PairFit { plane, n_iter, warning: None });
        }
        // Too large: the most robust plane that still exists, by bisection on the size.
        let (mut low, mut high) = (0.0, 1.0);
        let mut best = PairFit { plane: nominal.clone(), n_iter: 1, warning: None };
        for _ in 0..8 {
            let middle = 0.5 * (low + high);
            match solve(&mut duel, middle * share, &nominal_z)? {
                Some((plane, n_iter)) => {
                    best = PairFit { plane, n_iter, warning: None };
                    low = middle;
                }
                None => high = middle,
            }
        }
        let works = if low > 0.0 {
            format!(
                "the plane returned is robust against {low:.2} times the uncertainty, which still works"
            )
        } else {
            "the nominal plane is returned; less than 0.01 times the uncertainty would work".into()
        };
        best.warning = Some(format!(
            "the uncertainty is too large for the plane of class index {} against {}: the plane at infinity is \
             optimal; {works}",
            pair.0, pair.1
        ));
        Ok(best)
    }

    /// The robust plane, or the nominal one should its worst case over the whole ellipsoids be better.
    fn never_worse(
        &self,
        pair: (usize, usize),
        robust: Plane,
        nominal: &Plane,
        control: &Control,
    ) -> Result<Plane> {
        let both = [robust.as_borrowed(), nominal.as_borrowed()];
        let all = Some(&self.ellipsoids);
        let ratios = worst_case_ratios(self.data, all, &both, pair_side(pair), control)?;
        Ok(if ratios[1] < ratios[0] { nominal.clone() } else { robust })
    }

    fn paper(
        &self,
        (a, b): (usize, usize),
        nominal: &Plane,
        share: f64,
        control: &Control,
    ) -> Result<PairFit> {
        let order: Vec<usize> = self.rows[a].iter().chain(&self.rows[b]).copied().collect();
        let labels = order.iter().map(|&i| usize::from(self.data.labels()[i] == b)).collect();
        let weights = order.iter().map(|&i| self.data.weights().map_or(1.0, |w| w[i])).collect();
        let mut two = Dataset::new(self.data.features().select_rows(&order), labels, 2)?
            .with_weights(weights)?;
        if let Some(error) = self.data.select_rows(&order).uncertainty() {
            two = two.with_uncertainty(error.clone())?;
        }
        let ellipsoids = Ellipsoids::new(&two, &self.params.uncertainty)?;
        let problem = Iteration {
            data: &two,
            ellipsoids: &ellipsoids,
            regularization: self.params.regularization,
            delta: self.params.delta,
            share,
        };
        let (tol, max_iter) = (self.params.tol.unwrap_or(1e-2), self.params.max_iter.unwrap_or(10));
        let (plane, n_iter, converged) =
            iterate(&problem, nominal.clone(), tol, max_iter, control)?;
        let warning = (!converged).then(|| {
            "the paper's iteration did not converge: the plane with the best worst-case ratio is returned; \
             solver=\"monotone\" always converges"
                .to_owned()
        });
        Ok(PairFit { plane, n_iter, warning })
    }

    /// The xi with the lowest mean objective over random realisations, all planes taken together.
    pub(super) fn auto(&self, control: &Control) -> Result<(f64, Vec<PairFit>)> {
        let scenarios = Scenarios::new(self.data.len(), self.data.n_features(), self.params.seed());
        let duels: Vec<Duel<'_>> =
            self.pairs.iter().map(|(pair, _)| self.duel(*pair, 1.0)).collect();
        let mut best: Option<(f64, f64, Vec<PairFit>)> = None;
        let mut warm: Option<Vec<PairFit>> = None;
        for (k, &xi) in GRID.iter().enumerate() {
            control.progress(k as u64, GRID.len() as u64);
            let fits = self.planes(xi, warm.as_deref(), Care::Rough, control)?;
            let cost: f64 = fits
                .iter()
                .zip(&duels)
                .map(|(fit, duel)| {
                    let z = self.frame.inside(&fit.plane.w, fit.plane.gamma);
                    scenarios.mean_ratio(duel, &z).max(1e-300).ln()
                })
                .sum();
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, xi, fits.clone()));
            }
            warm = Some(fits);
        }
        let (xi, rough) = best.map_or((1.0, None), |(_, xi, fits)| (xi, Some(fits)));
        Ok((xi, self.planes(xi, rough.as_deref(), Care::Final, control)?))
    }

    pub(super) fn finish(&self, xi: f64, fits: Vec<PairFit>, reach: Vec<f64>) -> Result<Fitted> {
        let classes = self.data.n_classes();
        let n_iter = fits.iter().map(|f| f.n_iter).max().unwrap_or(1);
        let mut warnings: Vec<String> = Vec::new();
        let mut planes = vec![Vec::new(); classes];
        for (((a, _), _), fit) in self.pairs.iter().zip(fits) {
            planes[*a].push(fit.plane);
            if let Some(text) = fit.warning.filter(|text| !warnings.contains(text)) {
                warnings.push(text);
            }
        }
        let points = (self.params.rule == Rule::Points).then_some(self.data);
        let mut fitted =
            Family { moments: &self.moments, planes, reach }.finish(points)?.with("xi", xi);
        fitted.n_iter = n_iter;
        fitted.warnings = warnings;
        Ok(fitted)
    }
}
