//! From the first look to the binary problems, and from their answers to the model.

use std::sync::Arc;

use super::descent::{Descent, Problem};
use super::sample::Sample;
use crate::certificate::Certificate;
use crate::conic::estimator::{ConicParams, DEFAULT_KAPPA};
use crate::conic::problem::{Form, Hyperplane};
use crate::data::check_squares;
use crate::error::{Error, Result};
use crate::linalg::{Dense, vector};
use crate::model::{Fitted, Linear, Link, Model};
use crate::optim::design::{finite_model, power_of_two};
use crate::partitioned::kernels::conic::ConicAsk;
use crate::partitioned::{FirstLook, KernelAsk, KernelSums, Place, RowUnits, Task};

/// Squared column scales below this part of the largest damp no less than this.
const LEAST_DAMPING: f64 = 1e-12;

/// All binary problems of a fit.
#[derive(Debug)]
pub(super) struct ConicTask {
    params: ConicParams,
    units: Option<RowUnits>,
    /// `$\sigma$`: rows are divided by it.
    unit: f64,
    classes: Vec<Descent>,
}

impl ConicTask {
    pub(super) fn new(params: ConicParams) -> Self {
        Self { params, units: None, unit: 1.0, classes: Vec::new() }
    }

    /// Rows with the constant feature, divided by one power of two.
    fn row_units(&self, look: &FirstLook) -> Result<(RowUnits, f64, Vec<f64>)> {
        let weights: Vec<f64> = look.classes.iter().map(|c| c.weight).collect();
        let factors = self.params.class_weight.factors_of(&weights)?;
        let class_factors = factors.unwrap_or_else(|| vec![1.0; weights.len()]);
        let mut sizes: Vec<f64> =
            (0..look.columns).map(|j| look.highest[j].abs().max(look.lowest[j].abs())).collect();
        check_squares(vector::norm_inf(&sizes))?;
        sizes.extend(self.params.fit_intercept.then_some(1.0));
        let unit = power_of_two(vector::norm_inf(&sizes));
        let damping = sizes.iter().map(|s| (s / unit).powi(2).clamp(LEAST_DAMPING, 1.0)).collect();
        let units = RowUnits {
            means: Vec::new(),
            factors: vec![1.0 / unit; look.columns],
            constant: self.params.fit_intercept.then_some(1.0 / unit),
            class_factors,
        };
        Ok((units, unit, damping))
    }

    /// Objective and bound in the user's units.
    fn certificate(&self, descent: &Descent) -> Certificate {
        let unit2 = |v: f64| v / self.unit / self.unit;
        Certificate { primal: unit2(descent.upper()), dual: unit2(descent.lower()) }
    }
}

/// The rows of the sample in solver units, and their labels and weights.
fn sample_of(look: &FirstLook, units: &RowUnits) -> Sample {
    let given = look.sample_matrix();
    let weight = |k: usize| look.sample[k].weight * units.class_factors[look.sample[k].label];
    let used: Vec<usize> = (0..look.sample.len()).filter(|&k| weight(k) > 0.0).collect();
    let p = look.columns;
    let value = |i: usize, j: usize| {
        if j < p { given[(used[i], j)] * units.factors[j] } else { units.constant.unwrap_or(0.0) }
    };
    Sample {
        x: Dense::from_fn(used.len(), units.width(), value),
        labels: used.iter().map(|&k| look.sample[k].label).collect(),
        c: used.iter().map(|&k| weight(k)).collect(),
        weight: look.sample.iter().map(|d| d.weight).sum(),
        whole: look.sample.len() == look.rows(),
    }
}

impl Task for ConicTask {
    fn settle(&mut self, look: &FirstLook, resume: Option<&[Place]>) -> Result<()> {
        let (units, unit, damping) = self.row_units(look)?;
        let total: f64 = look.classes.iter().map(|c| c.weight).sum();
        let form = match self.params.c {
            Some(c) => Form::Price(c * unit * unit),
            None => Form::Budget(self.params.kappa.unwrap_or(DEFAULT_KAPPA) * total),
        };
        if let Form::Price(price) = form
            && !(price.is_finite() && price > 0.0)
        {
            let text = "`C` times the squared features overflows: rescale them";
            return Err(Error::Numerical(text.into()));
        }
        let sample = Arc::new(sample_of(look, &units));
        let classes = look.names.len();
        let positives = if classes == 2 { 1..2 } else { 0..classes };
        self.classes.clear();
        for (at, positive) in positives.enumerate() {
            let problem = Problem {
                positive,
                form,
                weight: total,
                damping: damping.clone(),
                unit2: unit * unit,
                tol: self.params.tol,
                most: self.params.max_iter,
            };
            let start = resume.and_then(|places| place_of(places, at, self.params.fit_intercept));
            self.classes.push(Descent::new(problem, &sample, start)?);
        }
        (self.units, self.unit) = (Some(units), unit);
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let questions: Vec<_> = self.classes.iter().filter_map(Descent::question).collect();
        let units = self.units.clone().filter(|_| !questions.is_empty())?;
        Some(KernelAsk::Conic(ConicAsk { units, questions }))
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let unlike = || Error::Mismatch("an answer to a question that was not asked".into());
        let KernelSums::Conic(answers) = answer else { return Err(unlike()) };
        let mut answers = answers.iter();
        for class in self.classes.iter_mut().filter(|class| class.question().is_some()) {
            class.absorb(answers.next().ok_or_else(unlike)?)?;
        }
        Ok(())
    }

    fn gap(&self) -> f64 {
        if self.classes.is_empty() {
            return f64::INFINITY;
        }
        self.classes.iter().map(|class| self.certificate(class).gap()).fold(0.0, f64::max)
    }

    /// `$w$` and the rows of `$F$` of every class, whose number stands in place of a threshold.
    fn places(&self) -> Vec<Place> {
        let place = |at: usize, v: &[f64]| {
            let (v, b) = if self.params.fit_intercept {
                v.split_last().map_or((Vec::new(), 0.0), |(b, v)| (v.to_vec(), *b))
            } else {
                (v.to_vec(), 0.0)
            };
            let mut place = Place::at(v, b);
            place.point.theta = at as f64;
            place
        };
        let all = |(at, class): (usize, &Descent)| {
            let Hyperplane { w, factor } = class.point();
            let rows = (0..factor.nrows()).map(|k| place(at, factor.row(k)));
            std::iter::once(place(at, w)).chain(rows).collect::<Vec<_>>()
        };
        self.classes.iter().enumerate().flat_map(all).collect()
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let (mut coef, mut intercept) = (Vec::new(), Vec::new());
        for class in &self.classes {
            let mut w: Vec<f64> = class.weights().iter().map(|v| v / self.unit).collect();
            let b = if self.params.fit_intercept { w.pop().unwrap_or(0.0) } else { 0.0 };
            let (w, b) = finite_model(w, b)?;
            coef.push(w);
            intercept.push(b);
        }
        let model = Model::Linear(Linear { coef, intercept, link: Link::None });
        let mut fitted = Fitted::new(model, passes);
        fitted.certificates = self.classes.iter().map(|class| self.certificate(class)).collect();
        fitted.tol = self.params.tol;
        fitted.route = vec!["partitions".into()];
        let bounds: Vec<f64> = fitted.certificates.iter().map(|c| c.dual).collect();
        let unit2 = |class: &Descent| class.price() / self.unit / self.unit;
        let prices: Vec<f64> = self.classes.iter().map(unit2).collect();
        for (name, values) in [("zero_one_bound", bounds), ("price", prices)] {
            fitted = match values.as_slice() {
                [value] => fitted.with(name, *value),
                _ => fitted.with(name, values),
            };
        }
        Ok(fitted)
    }
}

/// Where class number `at` was.
fn place_of(places: &[Place], at: usize, intercept: bool) -> Option<Hyperplane> {
    let own = places.iter().filter(|place| place.point.theta == at as f64);
    let row = |place: &Place| {
        let constant = intercept.then_some(place.point.b);
        place.point.v.iter().copied().chain(constant).collect::<Vec<f64>>()
    };
    let mut rows: Vec<Vec<f64>> = own.map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let w = rows.remove(0);
    let factor = Dense::from_rows(rows.len(), w.len(), rows.concat());
    Some(Hyperplane { w, factor })
}
