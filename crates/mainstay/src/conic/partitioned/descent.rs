//! One binary problem on its way to a proven gap: low-rank Newton with one look at the rows a step.

use std::sync::Arc;

use super::bounds::{Slope, UNIT, dual_sums, multiple};
use super::sample::{Sample, solve_sample};
use crate::conic::problem::{Form, Hyperplane, RowTerms, Rows};
use crate::conic::spectrum::Spectrum;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, Svd, vector};
use crate::partitioned::kernels::conic::{ConicQuestion, ConicSums};

/// Unknowns `$(p + 1)(r + 1)$` whose curvature a message holds: 64 MB.
const MOST_UNKNOWNS: usize = 4000;
/// Directions of `$V$` below this part of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-6;
/// Part of the predicted decrease that a step must bring.
const SUFFICIENT: f64 = 0.05;
/// Steps in a row that bring nothing before the fit ends with the gap it has.
const MOST_REFUSALS: usize = 20;
/// Trials of the damping for one step; they need no look at the rows.
const MOST_TRIALS: usize = 60;
/// Relative length of the gradient below which `$V$` may grow by directions.
const GROW_BELOW: f64 = 0.03;

/// What is known before the problem is solved.
#[derive(Debug)]
pub(super) struct Problem {
    pub positive: usize,
    pub form: Form,
    /// Total weight of the rows, class factors apart.
    pub weight: f64,
    /// Squared column scales.
    pub damping: Vec<f64>,
    /// Objectives in solver units are this times those in the user's.
    pub unit2: f64,
    pub tol: f64,
    /// Most passes.
    pub most: usize,
}

/// A point at which all is known that a step needs.
#[derive(Debug)]
struct Base {
    point: Hyperplane,
    /// Objective of the point pulled back to the budget.
    merit: f64,
    /// Gradient of the Lagrangian.
    gradient: Vec<f64>,
    /// Its Hessian.
    hessian: Dense,
    /// Unit normal of the budget, and how far along it the budget lies; priced problems have none.
    normal: Option<(Vec<f64>, f64)>,
    /// What the step that is under way should bring.
    predicted: f64,
}

/// One class against the rest.
#[derive(Debug)]
pub(super) struct Descent {
    problem: Problem,
    sample: Arc<Sample>,
    y: Vec<f64>,
    /// Where the next pass looks.
    point: Hyperplane,
    base: Option<Base>,
    damping: f64,
    refusals: usize,
    /// Whether `$V$` has a direction that reaches every row with a feature.
    widened: bool,
    /// Objective and weights of the best feasible point.
    best: Option<(f64, Vec<f64>)>,
    lower: f64,
    price: f64,
    spent: usize,
    done: bool,
}

impl Descent {
    /// Starts at `start`, or else where the sample is optimal.
    pub(super) fn new(
        problem: Problem,
        sample: &Arc<Sample>,
        start: Option<Hyperplane>,
    ) -> Result<Self> {
        // No direction of doubt is known yet; there is at least one.
        check_order(problem.damping.len(), 1)?;
        let sign = |l: &usize| if *l == problem.positive { 1.0 } else { -1.0 };
        let y: Vec<f64> = sample.labels.iter().map(sign).collect();
        let point = match start {
            Some(point) => point,
            None => solve_sample(&problem, sample, &y)?,
        };
        check_order(point.w.len(), point.factor.nrows())?;
        let price = match problem.form {
            Form::Price(price) => price,
            Form::Budget(_) => 0.0,
        };
        Ok(Self {
            problem,
            sample: Arc::clone(sample),
            y,
            point,
            base: None,
            damping: 0.0,
            refusals: 0,
            widened: false,
            best: None,
            lower: 0.0,
            price,
            spent: 0,
            done: false,
        })
    }

    pub(super) fn question(&self) -> Option<ConicQuestion> {
        (!self.done).then(|| ConicQuestion {
            positive: self.problem.positive,
            w: self.point.w.clone(),
            factor: self.point.factor.data().to_vec(),
        })
    }

    pub(super) fn point(&self) -> &Hyperplane {
        &self.point
    }

    /// The best feasible weights.
    pub(super) fn weights(&self) -> &[f64] {
        self.best.as_ref().map_or(&self.point.w, |(_, w)| w)
    }

    /// Objective of the best feasible point.
    pub(super) fn upper(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(value, _)| *value)
    }

    /// The best lower bound, at least 0.
    pub(super) fn lower(&self) -> f64 {
        self.lower
    }

    /// `$\lambda$`.
    pub(super) fn price(&self) -> f64 {
        self.price
    }

    fn gap(&self) -> f64 {
        (self.upper() - self.lower) / self.upper().max(self.problem.unit2)
    }

    /// Takes the sums at [`Descent::point`] in.
    pub(super) fn absorb(&mut self, sums: &ConicSums) -> Result<()> {
        self.spent += 1;
        let merit = self.merit(sums)?;
        if merit < self.upper() {
            self.best = Some((merit, self.point.w.clone()));
        }
        let slope = Slope::new(&self.point, sums, self.problem.form);
        let dual = dual_sums(sums, slope.price);
        let spectrum = Spectrum::of_sums(&dual, slope.price, self.problem.form)?;
        if spectrum.lower > self.lower {
            self.lower = spectrum.lower;
            self.price = slope.price;
        }
        if self.gap() <= self.problem.tol || self.spent >= self.problem.most {
            self.done = true;
            return Ok(());
        }
        if let Some(base) = &self.base {
            let gained = base.merit - merit;
            let enough = SUFFICIENT * base.predicted - 1e-13 * base.merit.abs();
            if gained.is_nan() || gained < enough {
                self.refuse();
                return Ok(());
            }
            if gained > 0.5 * base.predicted {
                self.damping = if self.damping < 1e-2 { 0.0 } else { self.damping / 8.0 };
            }
        } else if merit.is_infinite() {
            return self.enlarge(sums);
        }
        self.refusals = 0;
        self.advance(sums, merit, slope, &spectrum)
    }

    /// Objective of the point, in the budget form with the multiple of `$V$` that a chord of the ladder proves feasible.
    fn merit(&self, sums: &ConicSums) -> Result<f64> {
        let (w, v) = (vector::norm_sq(&self.point.w), vector::norm_sq(self.point.factor.data()));
        match self.problem.form {
            Form::Price(price) => Ok(w + v + price * sums.paid[UNIT]),
            Form::Budget(target) => {
                if sums.stuck >= target && self.widened {
                    return Err(lost(
                        sums.stuck / self.problem.weight,
                        target / self.problem.weight,
                    ));
                }
                Ok(match multiple(&sums.paid, target) {
                    Some(k) => w + k * v,
                    None => f64::INFINITY,
                })
            }
        }
    }

    /// No multiple of the ladder meets the budget: a larger `$V$` that leaves no row out.
    fn enlarge(&mut self, sums: &ConicSums) -> Result<()> {
        let q = self.point.w.len();
        if self.problem.form.spent_by(sums.stuck) || self.point.factor.nrows() == 0 {
            // A direction that no row but an empty one is orthogonal to, save by accident.
            let mut data = self.point.factor.data().to_vec();
            let size = data.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            data.extend((0..q).map(|j| size * (1.5 + (j as f64 + 1.0).sin())));
            self.point.factor = Dense::from_rows(data.len() / q, q, data);
            self.widened = true;
        }
        vector::scale(self.point.factor.data_mut(), 100.0);
        self.refusals += 1;
        self.done = self.refusals > MOST_REFUSALS;
        check_order(self.point.w.len(), self.point.factor.nrows())
    }

    /// A step that was too long is taken again with more damping.
    fn refuse(&mut self) {
        self.refusals += 1;
        self.damping = f64::max(4.0 * self.damping, 1e-2);
        if self.refusals > MOST_REFUSALS || !self.step() {
            self.done = true;
        }
    }

    /// From a point that was accepted to the next.
    fn advance(
        &mut self,
        sums: &ConicSums,
        merit: f64,
        slope: Slope,
        spectrum: &Spectrum,
    ) -> Result<()> {
        let Slope { gradient, normal, price } = slope;
        let mut hessian = sums.curvature.0.clone();
        vector::scale(hessian.data_mut(), price);
        hessian.add_diagonal(2.0);
        let residual = vector::norm(&gradient) / (2.0 * merit.abs().sqrt()).max(1e-150);
        let point = self.point.clone();
        self.base = Some(Base { point, merit, gradient, hessian, normal, predicted: 0.0 });
        if !self.step() {
            self.done = true;
            return Ok(());
        }
        if residual <= GROW_BELOW
            && let Some(added) = self.growth(spectrum, residual, price)
        {
            let mut data = self.point.factor.data().to_vec();
            data.extend_from_slice(added.data());
            let rows = self.point.factor.nrows() + added.nrows();
            self.point.factor = Dense::from_rows(rows, self.point.w.len(), data);
            // More unknowns: nothing to compare the next point with.
            self.base = None;
        }
        self.compress();
        check_order(self.point.w.len(), self.point.factor.nrows())
    }

    /// Newton's step from the base with the present damping, raised until it is one of descent; whether there is one.
    fn step(&mut self) -> bool {
        let Some(base) = &mut self.base else { return false };
        let (q, order) = (base.point.w.len(), base.hessian.nrows());
        let largest = (0..order).fold(2.0, |m, i| f64::max(m, base.hessian[(i, i)].abs()));
        for _ in 0..MOST_TRIALS {
            let mut matrix = base.hessian.clone();
            for i in 0..order {
                // The tiny ridge takes care of the rotations F -> QF, along which nothing changes.
                matrix[(i, i)] += self.damping * self.problem.damping[i % q] + 1e-11 * largest;
                if let Some((normal, _)) = &base.normal {
                    let row = &mut matrix.row_mut(i)[..=i];
                    vector::axpy(10.0 * largest * normal[i], &normal[..=i], row);
                }
            }
            let Some(factor) = Cholesky::new(&matrix) else {
                self.damping = f64::max(4.0 * self.damping, 1e-3);
                continue;
            };
            let mut step = factor.solve(&base.gradient);
            vector::scale(&mut step, -1.0);
            if let Some((normal, distance)) = &base.normal {
                let across = factor.solve(normal);
                let missing = distance - vector::dot(normal, &step);
                vector::axpy(missing / vector::dot(normal, &across), &across, &mut step);
            }
            base.predicted = -vector::dot(&base.gradient, &step)
                - 0.5 * vector::dot(&step, &base.hessian.mul_vec(&step));
            let w = base.point.w.iter().zip(&step).map(|(w, d)| w + d).collect();
            let mut moved = base.point.factor.clone();
            vector::axpy(1.0, &step[q..], moved.data_mut());
            self.point = Hyperplane { w, factor: moved };
            return vector::all_finite(&step);
        }
        false
    }

    /// Directions in which `$S$` is negative, beyond what the gradient explains and outside of `$V$`, each with the length that
    /// the sample finds best.
    fn growth(&self, spectrum: &Spectrum, residual: f64, price: f64) -> Option<Dense> {
        let real = -(3.0 * residual + 0.1 * self.problem.tol);
        let chosen: Vec<usize> =
            (0..spectrum.values.len()).filter(|&j| spectrum.values[j] < real).take(4).collect();
        if chosen.is_empty() {
            return None;
        }
        let some = self.point.factor.nrows() > 0;
        let basis = if some { Svd::new(&self.point.factor).ok() } else { None };
        let rows = self.sample_rows();
        let terms = RowTerms::new(&rows, &self.point.w, &self.point.factor);
        let scale = self.problem.weight / self.sample.weight;
        let mut added = Vec::new();
        for &j in &chosen {
            let mut u = spectrum.vectors.row(j).to_vec();
            if let Some(svd) = &basis {
                for k in 0..svd.s.len().min(self.point.factor.nrows()) {
                    let direction = svd.v.column(k);
                    vector::axpy(-vector::dot(&direction, &u), &direction, &mut u);
                }
            }
            let length = vector::norm(&u);
            if length < 0.5 {
                continue;
            }
            vector::scale(&mut u, 1.0 / length);
            // Along e u the Lagrangian changes by e^2 u'Su + e^4 lambda sum c (a^2/q^3) (x'u)^4.
            let quartic = price * scale * fourth_order(&rows, &terms, &u);
            let best = (-spectrum.values[j] / (2.0 * quartic.max(f64::MIN_POSITIVE))).sqrt();
            let most =
                vector::norm_sq(self.point.factor.data()).max(self.upper().min(1e300)).sqrt();
            added.extend(u.iter().map(|v| v * best.min(most)));
        }
        let q = self.point.w.len();
        (!added.is_empty()).then(|| Dense::from_rows(added.len() / q, q, added))
    }

    fn sample_rows(&self) -> Rows<'_> {
        Rows { x: &self.sample.x, y: &self.y, c: &self.sample.c, damping: &self.problem.damping }
    }

    /// Drops directions of `$V$` that have become negligible.
    fn compress(&mut self) {
        let r = self.point.factor.nrows();
        if r < 2 {
            return;
        }
        let Ok(svd) = Svd::new(&self.point.factor) else { return };
        let kept = svd.s.iter().filter(|s| **s >= NEGLIGIBLE * svd.s[0]).count();
        if kept > 0 && kept < r {
            let q = self.point.w.len();
            self.point.factor = Dense::from_fn(kept, q, |k, j| svd.s[k] * svd.v[(j, k)]);
        }
    }
}

/// `$\sum c_i (a_i^2/q_i^3) (x_i^\top u)^4$`.
fn fourth_order(rows: &Rows<'_>, terms: &RowTerms, u: &[f64]) -> f64 {
    let image = rows.x.mul_vec(u);
    let used = (0..image.len()).filter(|&i| terms.a[i] > 0.0);
    let one = |i: usize| {
        let a2 = terms.a[i] * terms.a[i];
        let q = terms.s[i] + a2;
        rows.c[i] * (a2 / q) * (image[i] * image[i] / q).powi(2)
    };
    used.map(one).sum()
}

/// Refuses more unknowns than a message can hold the curvature of.
fn check_order(q: usize, r: usize) -> Result<()> {
    if q * (r + 1) <= MOST_UNKNOWNS {
        return Ok(());
    }
    Err(Error::BadData(format!(
        "{q} features (the constant included) and {r} directions of doubt make {} unknowns, whose curvature every partition \
         would send: a fit over partitions takes at most {MOST_UNKNOWNS}; leave columns out, or fit a sample of the rows in \
         memory",
        q * (r + 1)
    )))
}

fn lost(lost: f64, kappa: f64) -> Error {
    Error::Infeasible(format!(
        "kappa = {kappa}: rows without any nonzero feature are always wrong and weigh {lost} of the total; kappa must be \
         larger than that (or set fit_intercept)"
    ))
}
