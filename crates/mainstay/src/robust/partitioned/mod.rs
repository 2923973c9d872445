//! The average loss over partitions of complete rows.

mod class;

use self::class::{Class, Goal};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::vector;
use crate::loss::CERTAIN;
use crate::model::{Fitted, GaussianLinear, Linear, Link, Model};
use crate::optim::Budget;
use crate::partitioned::kernels::expected::{ExpectedAsk, ExpectedQuestion};
use crate::partitioned::{FirstLook, KernelAsk, KernelSums, Place, RowUnits, Task};
use crate::robust::average::{Blurred, Expected, Met};
use crate::robust::certificate::Reach;
use crate::robust::labels::{Correction, Rates, no_minimum};
use crate::robust::newton::{Hyperplane, minimise};
use crate::robust::params::{PerFeature, Protect, RobustLogisticParams, Strength};
use crate::robust::problem::{Problem, growth_of};
use crate::robust::training::moved;
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};

/// Gap to which a sample is solved.
const SAMPLE_TOL: f64 = 1e-5;
impl RobustLogisticParams {
    /// The fit over partitions: random damage, complete rows without known errors.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        // Long because everything that is refused stands with what to do instead.
        let refuse = |text: &str| Err(Error::BadParams(text.into()));
        if self.protect == Protect::Worst {
            return refuse(
                "`protect` = \"worst\" needs all rows in memory; use protect=\"average\", or StableLogisticRegression, or fit a \
                 sample of the rows",
            );
        }
        if self.correction == Correction::Averaged {
            return refuse(
                "`correction` = \"averaged\" needs all rows in memory; use \"after\" or \"backward\", or fit a sample of \
                 the rows",
            );
        }
        let Strength::Fixed(alpha) = self.alpha else {
            return refuse(
                "`alpha` = \"cv\" needs all rows in memory; choose it on a sample of the rows and pass the number",
            );
        };
        if self.errors.is_some() {
            return refuse(
                "`errors`: where inexact cells lie is learned from all rows in memory; fit a sample of the rows, or leave \
                 `errors` out",
            );
        }
        if self.correction == Correction::Forward && !self.wrong_labels.none() {
            return refuse(
                "`correction` = \"forward\" is not convex and has no fit over partitions; use \"after\" or \"backward\"",
            );
        }
        let lost = match &self.missing {
            PerFeature::Same(share) => *share > 0.0,
            PerFeature::Each(shares) => shares.iter().any(|share| *share > 0.0),
        };
        if lost && self.feature_model {
            return refuse(
                "`missing` with `feature_model` = true predicts lost cells from the others, which is learned from all rows in \
                 memory; use feature_model=False, or fit a sample of the rows",
            );
        }
        self.clone().check()?;
        Ok(Box::new(AverageTask { params: self, alpha, known: None, classes: Vec::new() }))
    }
}

#[derive(Debug)]
struct AverageTask {
    params: RobustLogisticParams,
    alpha: f64,
    known: Option<Known>,
    classes: Vec<Class>,
}

/// What the first look settled.
#[derive(Debug)]
struct Known {
    features: FeatureModel,
    units: RowUnits,
    missing: Vec<f64>,
    offset: Vec<f64>,
    /// The point of the user's space that is zero in the solver's.
    centre: Vec<f64>,
    total: f64,
    rates: Rates,
    base_rates: Vec<f64>,
    rows: usize,
}

impl Known {
    /// The stated damage.
    fn expected(&self) -> Expected {
        let missing = self.missing.iter().any(|q| *q > 0.0).then(|| self.missing.clone());
        Expected { errors: None, missing, shared: None }
    }
}

impl AverageTask {
    fn known(&self, look: &FirstLook) -> Result<Known> {
        let classes = look.names.len();
        let p = look.columns;
        let weights: Vec<f64> = look.classes.iter().map(|c| c.weight).collect();
        let factors = self.params.class_weight.factors_of(&weights)?;
        let factors = factors.unwrap_or_else(|| vec![1.0; classes]);
        let (plain, all) = (look.overall(&vec![1.0; classes]), look.overall(&factors));
        let missing = self.params.missing.values(p, "missing")?;
        let features = self.features(look, &plain.mean, &plain.squares, plain.weight)?;
        let kept = |j: usize| 1.0 - missing[j];
        let offset: Vec<f64> = if self.params.fit_intercept {
            (0..p).map(|j| kept(j) * (all.mean[j] - plain.mean[j])).collect()
        } else {
            plain.mean.iter().map(|m| -m).collect()
        };
        let centre = plain.mean.iter().zip(&offset).map(|(m, d)| m + d).collect();
        let rate = |class: usize| weights[class] * factors[class] / all.weight;
        Ok(Known {
            features,
            units: RowUnits {
                means: plain.mean,
                factors: vec![1.0; p],
                constant: None,
                class_factors: factors.clone(),
            },
            missing,
            offset,
            centre,
            total: all.weight,
            rates: self.params.wrong_labels.rates(classes)?,
            base_rates: positives(classes).map(rate).collect(),
            rows: look.rows(),
        })
    }

    /// Means and deviations of all rows; what features know about each other from the sample.
    fn features(
        &self,
        look: &FirstLook,
        means: &[f64],
        squares: &[f64],
        weight: f64,
    ) -> Result<FeatureModel> {
        let x = look.sample_matrix();
        let weights: Vec<f64> = look.sample.iter().map(|d| d.weight).collect();
        let rows = Rows { x: &x, weights: Some(&weights), errors: None };
        let shrinkage =
            if self.params.feature_model { Shrinkage::default() } else { Shrinkage::Fixed(1.0) };
        let mut features = FeatureModel::learn(rows, shrinkage, &Control::new())?;
        features.means = means.to_vec();
        for (j, scale) in features.scales.iter_mut().enumerate() {
            if *scale > 0.0 {
                *scale = (squares[j] / weight).sqrt();
            }
        }
        Ok(features)
    }

    /// What bounds the intercept of one class against the rest.
    fn reach(&self, known: &Known, look: &FirstLook, positive: usize) -> Reach {
        let after = self.params.correction != Correction::Backward || !known.rates.any();
        let kappas = if after { [0.0; 2] } else { [1.0, -1.0].map(|y| known.rates.slope(y)) };
        let share = |class: usize| look.classes[class].weight * known.units.class_factors[class];
        let up = share(positive) / known.total;
        let mut far = [vec![0.0; look.columns], vec![0.0; look.columns]];
        for (class, moments) in look.classes.iter().enumerate() {
            let side = usize::from(class != positive);
            let own = share(class) / known.total / [up, 1.0 - up][side];
            for (j, far) in far[side].iter_mut().enumerate() {
                let z = moments.mean[j] - known.features.means[j];
                *far += own * ((1.0 - known.missing[j]) * z - known.offset[j]);
            }
        }
        Reach {
            shares: (up, 1.0 - up),
            kappas: (kappas[0], kappas[1]),
            far: (vector::norm(&far[0]), vector::norm(&far[1])),
        }
    }

    fn class(&self, known: &Known, look: &FirstLook, positive: usize) -> Result<Class> {
        let reach = self.reach(known, look, positive);
        let (up, kappas) = (reach.shares.0, [reach.kappas.0, reach.kappas.1]);
        let mut class = Class {
            positive,
            kappas,
            reach,
            point: Hyperplane { w: vec![0.0; look.columns], b: 0.0 },
            base: None,
            best: None,
            certificate: Certificate { primal: f64::INFINITY, dual: f64::NEG_INFINITY },
            halvings: 0,
            spent: 0,
            done: false,
        };
        if up <= 0.0 || up >= 1.0 {
            let sign = if up > 0.0 { 1.0 } else { -1.0 };
            class.point.b = if self.params.fit_intercept { sign * CERTAIN } else { 0.0 };
            let primal = crate::loss::expected_logistic(class.point.b.abs(), 0.0).value;
            class.certificate = Certificate { primal, dual: 0.0 };
            class.done = true;
            return Ok(class);
        }
        let growth = growth_of(class.reach.shares, class.reach.kappas);
        if self.params.fit_intercept && (growth.0 <= 0.0 || growth.1 <= 0.0) {
            return Err(no_minimum(up));
        }
        Ok(class)
    }

    /// The optimum of the sample.
    fn start(&self, known: &Known, look: &FirstLook, class: &Class) -> Result<Hyperplane> {
        let weight =
            |k: usize| look.sample[k].weight * known.units.class_factors[look.sample[k].label];
        let used: Vec<usize> = (0..look.sample.len()).filter(|&k| weight(k) > 0.0).collect();
        let y: Vec<f64> = used
            .iter()
            .map(|&k| if look.sample[k].label == class.positive { 1.0 } else { -1.0 })
            .collect();
        let total: f64 = used.iter().map(|&k| weight(k)).sum();
        let shares: Vec<f64> = used.iter().map(|&k| weight(k) / total).collect();
        let zero = Hyperplane { w: vec![0.0; look.columns], b: 0.0 };
        if y.iter().all(|sign| *sign == y[0]) {
            return Ok(zero);
        }
        let x = look.sample_matrix().select_rows(&used);
        let mean = known.features.posterior(&x, None)?.mean;
        let mut rows = Blurred::new(mean, &known.features, &known.expected())?;
        rows.shift(&known.centre);
        let stated = known.rates.any();
        let correction = if stated { self.params.correction } else { Correction::After };
        let problem = Problem {
            rows: &rows,
            y: &y,
            shares: &shares,
            alpha: self.alpha,
            rates: known.rates,
            correction,
            intercept: self.params.fit_intercept,
        };
        let growth = problem.growth();
        if self.params.fit_intercept && (growth.0 <= 0.0 || growth.1 <= 0.0) {
            return Ok(zero);
        }
        let control = Control::new();
        let whole = look.sample.len() == look.rows();
        let tol = if whole { 0.5 * self.params.tol } else { SAMPLE_TOL.max(self.params.tol) };
        minimise(&problem, &zero, &mut Budget::new(tol, self.params.max_iter, &control))
    }
}

/// The class that is +1 in each binary problem.
fn positives(classes: usize) -> std::ops::Range<usize> {
    if classes == 2 { 1..2 } else { 0..classes }
}

impl Task for AverageTask {
    fn settle(&mut self, look: &FirstLook, resume: Option<&[Place]>) -> Result<()> {
        if look.highest.iter().chain(&look.lowest).any(|v| v.abs() > 1e100) {
            let text = "a feature value above 1e100: rescale the features";
            return Err(Error::BadData(text.into()));
        }
        let known = self.known(look)?;
        self.classes.clear();
        for (at, positive) in positives(look.names.len()).enumerate() {
            let mut class = self.class(&known, look, positive)?;
            if !class.done {
                class.point = match resume.and_then(|places| places.get(at)) {
                    Some(place) => Hyperplane { w: place.point.v.clone(), b: place.point.b },
                    None => self.start(&known, look, &class)?,
                };
            }
            self.classes.push(class);
        }
        self.known = Some(known);
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let known = self.known.as_ref()?;
        let open = self.classes.iter().filter(|class| !class.done);
        let question = |class: &Class| ExpectedQuestion {
            positive: class.positive,
            w: class.point.w.clone(),
            b: class.point.b,
            kappas: class.kappas,
        };
        let questions: Vec<_> = open.map(question).collect();
        (!questions.is_empty()).then(|| {
            KernelAsk::Expected(ExpectedAsk {
                units: known.units.clone(),
                missing: known.missing.clone(),
                offset: known.offset.clone(),
                questions,
            })
        })
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let unlike = || Error::Mismatch("an answer to a question that was not asked".into());
        let (KernelSums::Expected(answers), Some(known)) = (answer, &self.known) else {
            return Err(unlike());
        };
        let goal = Goal {
            alpha: self.alpha,
            intercept: self.params.fit_intercept,
            total: known.total,
            tol: self.params.tol,
            most: self.params.max_iter,
        };
        let mut answers = answers.iter();
        for class in self.classes.iter_mut().filter(|class| !class.done) {
            class.absorb(answers.next().ok_or_else(unlike)?, &goal)?;
        }
        Ok(())
    }

    fn gap(&self) -> f64 {
        if self.known.is_none() {
            return f64::INFINITY;
        }
        self.classes.iter().map(|class| class.certificate.gap()).fold(0.0, f64::max)
    }

    fn places(&self) -> Vec<Place> {
        let place = |class: &Class| Place::at(class.point.w.clone(), class.point.b);
        self.classes.iter().map(place).collect()
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let Some(known) = &self.known else {
            return Err(Error::Numerical("a fit without rows".into()));
        };
        let best = |class: &Class| class.best.clone().unwrap_or_else(|| class.point.clone());
        let points: Vec<Hyperplane> = self.classes.iter().map(best).collect();
        let linear = Linear {
            coef: points.iter().map(|point| point.w.clone()).collect(),
            intercept: points.iter().map(|at| moved(at.b, &at.w, &known.centre, -1.0)).collect(),
            link: Link::Logistic,
        };
        let after = self.params.correction == Correction::After && known.rates.any();
        let rates = if after { [known.rates.negative, known.rates.positive] } else { [0.0; 2] };
        let floor = 1.0 / (known.rows as f64 + 2.0);
        let model = GaussianLinear::new(linear, known.features.clone(), Vec::new(), rates, floor);
        let met = Met::stated(&known.features, &known.expected())?;
        let model = model.having_met(|w| met.variance(w));
        let mut unmeasured = known.base_rates.clone();
        if !after && known.rates.any() {
            // The model speaks of the true classes, the shares are those of the labels.
            for share in &mut unmeasured {
                let own = (*share - known.rates.negative) / known.rates.kept();
                *share = own.clamp(floor, 1.0 - floor);
            }
        }
        let model = model.with_base_rates(&unmeasured)?;
        let mut fitted =
            Fitted::new(Model::GaussianLinear(model), passes).with("alpha", self.alpha);
        fitted.certificates = self.classes.iter().map(|class| class.certificate).collect();
        fitted.tol = self.params.tol;
        fitted.route = vec!["partitions".into()];
        Ok(fitted)
    }
}
