//! All pairs of classes of one data set: nominal planes, robust planes at any xi, the fitted model.

use rayon::prelude::*;

use super::certificate::{pair_side, worst_case_ratios};
use super::estimator::{Family, Rule};
use super::moments::Moments;
use super::nominal::Plane;
use super::paper::{Iteration, iterate};
use super::problem::{Penalty, ScaledDiagonal};
use super::robust::{RobustRegecParams, RobustSolver};
use super::robust_ratio::{RobustRatio, Side};
use super::strategy::{self, nominal_planes, robust_plane, too_large};
use super::units::PlaneUnits;
use super::xi::{GRID, Scenarios};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Dense, TINY};
use crate::model::Fitted;
use crate::uncertainty::ellipsoid::Ellipsoids;

/// One robust plane and what there is to say about it.
#[derive(Debug, Clone)]
pub(super) struct PairFit {
    pub plane: Plane,
    n_iter: usize,
    /// Where the ellipsoids are too large: the part of them that the plane is robust against.
    pub works: Option<f64>,
    warning: Option<String>,
    /// What found the plane.
    stage: &'static str,
}

/// How well planes are solved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accuracy {
    /// To the tolerance asked for, and never worse than the nominal plane.
    Final,
    /// Well enough to choose xi by.
    Rough,
}

/// Relative fall of the ratio at which a rough descent stops.
const ROUGH: f64 = 1e-4;
/// Relative fall of the ratio at which the monotone solver stops, if the caller does not say.
pub(super) const MONOTONE_TOL: f64 = 1e-7;
/// Its limit on iterations.
pub(super) const MONOTONE_ITERATIONS: usize = 300;
/// Change of the unit normal at which the paper's algorithm stops, if the caller does not say.
const PAPER_TOL: f64 = 1e-2;
/// Its limit on iterations: it rarely converges.
const PAPER_ITERATIONS: usize = 10;

/// Everything about the data that does not depend on xi.
pub(super) struct ClassPairs<'a> {
    params: &'a RobustRegecParams,
    data: &'a Dataset,
    moments: Moments,
    ellipsoids: Ellipsoids,
    units: PlaneUnits,
    inside: Ellipsoids,
    rows: Vec<Vec<usize>>,
    /// Ordered pairs of classes and the nominal plane of the first against the second.
    pairs: Vec<((usize, usize), Plane)>,
    /// How the nominal planes were found.
    route: Vec<&'static str>,
}

impl<'a> ClassPairs<'a> {
    pub(super) fn new(
        params: &'a RobustRegecParams,
        data: &'a Dataset,
        given: &Dataset,
        control: &Control,
    ) -> Result<Self> {
        let ellipsoids = Ellipsoids::traced(data, given, &params.uncertainty)?;
        let units = PlaneUnits::learn(data.features(), data.weights()).isotropic();
        let inside = ellipsoids.clone().scaled(1.0 / units.scale[0]);
        let classes = data.n_classes();
        let mut rows = vec![Vec::new(); classes];
        data.counting_rows().for_each(|i| rows[data.labels()[i]].push(i));
        let (moments, planes, route) =
            nominal_planes(data, params.regularization, params.delta, control)?;
        let others = |a: usize| (0..classes).filter(move |b| *b != a);
        let pairs = planes
            .into_iter()
            .enumerate()
            .flat_map(|(a, list)| others(a).map(move |b| (a, b)).zip(list))
            .collect();
        Ok(Self { params, data, moments, ellipsoids, units, inside, rows, pairs, route })
    }

    pub(super) fn ellipsoids(&self) -> &Ellipsoids {
        &self.ellipsoids
    }

    fn robust_ratio(&self, (a, b): (usize, usize), share: f64) -> RobustRatio<'_> {
        let reader = self.units.reader();
        let side = |k: usize| {
            let p = self.data.n_features();
            let mut data = vec![-1.0; self.rows[k].len() * (p + 1)];
            for (&i, row) in self.rows[k].iter().zip(data.chunks_exact_mut(p + 1)) {
                reader.write(self.data.features(), i, &mut row[..p]);
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
        RobustRatio {
            own: side(a),
            other: side(b),
            ellipsoids: &self.inside,
            numerator: ScaledDiagonal::new(&penalty.numerator, &self.units),
            denominator: ScaledDiagonal::new(&penalty.denominator, &self.units),
            share,
        }
    }

    /// Planes of all pairs at `xi`, started from `warm` where given.
    pub(super) fn planes(
        &self,
        xi: f64,
        warm: Option<&[PairFit]>,
        accuracy: Accuracy,
        control: &Control,
    ) -> Result<Vec<PairFit>> {
        let exact = (0..self.data.len()).all(|i| self.inside.row(i).is_zero());
        let one = |k: usize| {
            let ((a, b), nominal) = &self.pairs[k];
            if exact || (1.0 - xi) == 0.0 {
                return Ok(PairFit {
                    plane: nominal.clone(),
                    n_iter: 1,
                    works: None,
                    warning: None,
                    stage: strategy::NOMINAL,
                });
            }
            let start = warm.map(|fits| &fits[k].plane);
            let mut fit = match self.params.solver {
                RobustSolver::Monotone => {
                    self.monotone((*a, *b), nominal, start, 1.0 - xi, accuracy, control)?
                }
                RobustSolver::Paper => self.paper((*a, *b), nominal, 1.0 - xi, control)?,
            };
            if accuracy == Accuracy::Final {
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
        accuracy: Accuracy,
        control: &Control,
    ) -> Result<PairFit> {
        let rough = if accuracy == Accuracy::Rough { ROUGH } else { 0.0 };
        let tol = self.params.tol.unwrap_or(MONOTONE_TOL).max(rough);
        let max_iter = self.params.max_iter.unwrap_or(MONOTONE_ITERATIONS);
        let problem = self.robust_ratio(pair, share);
        let found = robust_plane(problem, &self.units, (nominal, start), (tol, max_iter), control)?;
        let warning = found.works.map(|works| too_large(pair, works));
        let (works, n_iter) = (found.works, found.n_iter);
        Ok(PairFit { plane: found.plane, n_iter, works, warning, stage: found.stage })
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
        let tol = self.params.tol.unwrap_or(PAPER_TOL);
        let max_iter = self.params.max_iter.unwrap_or(PAPER_ITERATIONS);
        let (plane, n_iter, converged) =
            iterate(&problem, nominal.clone(), tol, max_iter, control)?;
        let warning = (!converged).then(|| {
            "the paper's iteration did not converge: the plane with the best worst-case ratio is returned; \
             solver=\"monotone\" always converges"
                .to_owned()
        });
        Ok(PairFit { plane, n_iter, works: None, warning, stage: strategy::PAPER })
    }

    /// The xi with the lowest mean objective over random realisations, all planes taken together.
    pub(super) fn auto(&self, control: &Control) -> Result<(f64, Vec<PairFit>)> {
        let scenarios = Scenarios::new(self.data.len(), self.data.n_features(), self.params.seed());
        let problems: Vec<RobustRatio<'_>> =
            self.pairs.iter().map(|(pair, _)| self.robust_ratio(*pair, 1.0)).collect();
        let mut best: Option<(f64, f64, Vec<PairFit>)> = None;
        let mut warm: Option<Vec<PairFit>> = None;
        for (k, &xi) in GRID.iter().enumerate() {
            control.progress(k as u64, GRID.len() as u64);
            let fits = self.planes(xi, warm.as_deref(), Accuracy::Rough, control)?;
            let cost: f64 = fits
                .iter()
                .zip(&problems)
                .map(|(fit, problem)| {
                    let z = self.units.inside(&fit.plane.w, fit.plane.gamma);
                    scenarios.mean_ratio(problem, &z).max(TINY).ln()
                })
                .sum();
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, xi, fits.clone()));
            }
            warm = Some(fits);
        }
        let (xi, rough) = best.map_or((1.0, None), |(_, xi, fits)| (xi, Some(fits)));
        Ok((xi, self.planes(xi, rough.as_deref(), Accuracy::Final, control)?))
    }

    pub(super) fn finish(&self, xi: f64, fits: Vec<PairFit>, reach: Vec<f64>) -> Result<Fitted> {
        let classes = self.data.n_classes();
        let n_iter = fits.iter().map(|f| f.n_iter).max().unwrap_or(1);
        let mut warnings: Vec<String> = Vec::new();
        let mut route = self.route.clone();
        let mut planes = vec![Vec::new(); classes];
        for (((a, _), _), fit) in self.pairs.iter().zip(fits) {
            planes[*a].push(fit.plane);
            if !route.contains(&fit.stage) {
                route.push(fit.stage);
            }
            if let Some(text) = fit.warning.filter(|text| !warnings.contains(text)) {
                warnings.push(text);
            }
        }
        let points = (self.params.rule == Rule::Points).then_some(self.data);
        let mut fitted =
            Family { moments: &self.moments, planes, reach }.finish(points)?.with("xi", xi);
        fitted.n_iter = n_iter;
        fitted.warnings = warnings;
        fitted.route = route.into_iter().map(str::to_owned).collect();
        Ok(fitted)
    }
}
