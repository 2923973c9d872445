//! From the sums of a pass to planes, and to what is asked next.

use super::check_rule;
use super::descent::Descents;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, check_small_squares, check_squares};
use crate::eigen::estimator::{
    Family, NormRobustRegecParams, RegecParams, checked_reach, enough_rows,
};
use crate::eigen::moments::Moments;
use crate::eigen::nominal::norm_robust;
use crate::eigen::robust::RobustRegecParams;
use crate::eigen::strategy::{self, PairPlanes, planes_of};
use crate::eigen::units::PlaneUnits;
use crate::error::{Error, Result};
use crate::model::{Fitted, Model};
use crate::optim::design::power_of_two_above;
use crate::partitioned::kernels::planes::{
    DistanceSums, PlaneQuestion, PlanesAsk, PlanesSums, Want,
};
use crate::partitioned::{FirstLook, KernelAsk, KernelSums, Place, RowUnits, Task};

/// Which classifier.
#[derive(Debug, Clone)]
pub(super) enum Planes {
    Regec(RegecParams),
    NormRobust(NormRobustRegecParams),
    Robust(RobustRegecParams),
}

impl Planes {
    fn class_weight(&self) -> &ClassWeight {
        match self {
            Self::Regec(params) => &params.class_weight,
            Self::NormRobust(params) => &params.class_weight,
            Self::Robust(params) => &params.class_weight,
        }
    }
}

/// What the first look settled.
#[derive(Debug)]
pub(super) struct Known {
    pub units: PlaneUnits,
    /// Factors of the classes where they compete.
    pub reach: Vec<f64>,
    /// Some rows, if every class is among them.
    pub sample: Option<Dataset>,
    /// Robust planes of an earlier fit.
    pub resume: Option<Vec<Place>>,
    classes: usize,
}

/// Where the fit is.
#[derive(Debug)]
enum Stage {
    /// Before the first look.
    Start,
    Sums,
    /// The sums were too ill-conditioned: triangles of the rows are not.
    Rows,
    Descent {
        moments: Moments,
        descents: Box<Descents>,
        route: Vec<String>,
    },
    /// Planes are there; their ratios are asked for.
    Ratios {
        fitted: Box<Fitted>,
        units: PlaneUnits,
        rho: Vec<f64>,
    },
    Done(Box<Fitted>),
}

/// Planes of all pairs of classes.
#[derive(Debug)]
pub(super) struct PlanesTask {
    planes: Planes,
    known: Option<Known>,
    stage: Stage,
}

impl PlanesTask {
    pub(super) fn new(planes: Planes) -> Self {
        Self { planes, known: None, stage: Stage::Start }
    }

    fn known(&self) -> Result<&Known> {
        self.known.as_ref().ok_or_else(misplaced)
    }

    /// Planes of all pairs without ellipsoids; `None` if the sums were too ill-conditioned for them.
    fn nominal(&self, moments: &Moments, rows: bool) -> Result<Option<PairPlanes>> {
        let (kind, delta) = match &self.planes {
            Planes::Regec(params) => (params.regularization, params.delta),
            Planes::Robust(params) => (params.regularization, params.delta),
            Planes::NormRobust(params) => {
                return norm_robust_planes(moments, params).map(Some);
            }
        };
        let (planes, poor) = planes_of(moments, kind, delta, &Control::new())?;
        Ok((rows || !poor).then_some(planes))
    }

    /// What follows once the sums are there.
    fn summed(&mut self, moments: Moments, rows: bool) -> Result<()> {
        enough_rows(moments.counts())?;
        let Some(planes) = self.nominal(&moments, rows)? else {
            self.stage = Stage::Rows;
            return Ok(());
        };
        let route: Vec<String> = if rows {
            vec![strategy::SUMS.into(), strategy::ROWS.into()]
        } else {
            vec![strategy::SUMS.into()]
        };
        if let Planes::Robust(params) = &self.planes {
            let descents = Box::new(Descents::new(params, self.known()?, &moments, planes)?);
            self.stage = Stage::Descent { moments, descents, route };
            return self.descended();
        }
        let fitted = Family { moments: &moments, planes, reach: self.known()?.reach.clone() };
        let mut fitted = fitted.finish(None)?;
        fitted.route = route;
        if matches!(self.planes, Planes::NormRobust(_)) && self.known()?.classes == 2 {
            if let Some(values) = fitted.outputs.get("eigenvalues").cloned() {
                // The eigenvalue of (12) is the worst case over the errors of the theorem.
                fitted.outputs.insert("worst_case_ratio".into(), values);
            }
            self.stage = Stage::Done(Box::new(fitted));
            return Ok(());
        }
        let ratios = match &fitted.model {
            Model::Planes(model) => moments.ratios(&model.borrowed()),
            _ => None,
        };
        self.stage = if let Some(ratios) = ratios {
            Stage::Done(Box::new(fitted.with("worst_case_ratio", ratios)))
        } else {
            let units = self.known()?.units.clone();
            let rho = vec![0.0; self.known()?.classes];
            Stage::Ratios { fitted: Box::new(fitted), units, rho }
        };
        Ok(())
    }

    /// Goes on once all robust planes stand.
    fn descended(&mut self) -> Result<()> {
        let Stage::Descent { moments, descents, route } = &self.stage else { return Ok(()) };
        let Some(chosen) = descents.chosen() else { return Ok(()) };
        let known = self.known()?;
        let planes = chosen.planes(known.classes);
        let fitted = Family { moments, planes, reach: known.reach.clone() };
        let mut fitted = fitted.finish(None)?.with("xi", descents.xi());
        fitted.warnings = chosen.warnings;
        fitted.route = route.iter().cloned().chain(chosen.stages).collect();
        self.stage = if known.classes == 2 {
            Stage::Done(Box::new(fitted.with("worst_case_ratio", chosen.ratios)))
        } else {
            let rho = match &fitted.model {
                Model::Planes(model) => model.planes.iter().map(|w| descents.support(w)).collect(),
                _ => Vec::new(),
            };
            let units = descents.units().clone();
            Stage::Ratios { fitted: Box::new(fitted), units, rho }
        };
        Ok(())
    }
}

fn norm_robust_planes(moments: &Moments, params: &NormRobustRegecParams) -> Result<PairPlanes> {
    let classes = moments.counts().len();
    let plane = |a: usize, b: usize| norm_robust(moments, (a, b), params.eta_a, params.eta_b);
    let row = |a: usize| (0..classes).filter(|b| *b != a).map(|b| plane(a, b)).collect();
    (0..classes).map(row).collect()
}

/// Rows `$(\tilde x, -1)$` in plane units, every class with its own weights.
pub(super) fn row_units(units: &PlaneUnits, classes: usize) -> RowUnits {
    RowUnits {
        means: units.center.clone(),
        factors: units.scale.iter().map(|s| 1.0 / s).collect(),
        constant: Some(-1.0),
        class_factors: vec![1.0; classes],
    }
}

/// The ratio of the distances of a plane; infinite if every row of the other class is reached.
pub(super) fn ratio(sums: &DistanceSums) -> Result<f64> {
    if !sums.top.is_finite() || !sums.bottom.is_finite() {
        let text = "the squares of distances overflow; rescale the features";
        return Err(Error::Numerical(text.into()));
    }
    Ok(if sums.bottom > 0.0 { sums.top / sums.bottom } else { f64::INFINITY })
}

pub(super) fn misplaced() -> Error {
    Error::Mismatch("an answer to a question that was not asked".into())
}

impl Task for PlanesTask {
    fn settle(&mut self, look: &FirstLook, resume: Option<&[Place]>) -> Result<()> {
        if look.errors > 0 {
            return Err(Error::BadParams(
                "an uncertainty per row has no fit of planes over partitions: give one `uncertainty` for all rows, use \
                 EllipsoidSVC, or fit a sample of the rows in memory"
                    .into(),
            ));
        }
        let classes = look.names.len();
        let sizes = || look.highest.iter().zip(&look.lowest).map(|(h, l)| h.abs().max(l.abs()));
        let rule = match &self.planes {
            Planes::Regec(params) => params.rule,
            Planes::NormRobust(params) => params.rule,
            Planes::Robust(params) => params.rule,
        };
        check_rule(rule, classes)?;
        sizes().try_for_each(check_squares)?;
        if matches!(self.planes, Planes::NormRobust(_)) {
            check_small_squares(sizes())?;
        }
        let weights: Vec<f64> = look.classes.iter().map(|c| c.weight).collect();
        let factors = self.planes.class_weight().factors_of(&weights)?.unwrap_or_default();
        let center = look.overall(&vec![1.0; classes]).mean;
        let range = |j: usize| (look.highest[j] - center[j]).max(center[j] - look.lowest[j]);
        let scale = (0..look.columns).map(|j| power_of_two_above(range(j))).collect();
        let units = PlaneUnits { center, scale };
        let robust = matches!(self.planes, Planes::Robust(_));
        self.known = Some(Known {
            units,
            reach: checked_reach(&factors)?,
            sample: if robust { look.sample_data()? } else { None },
            resume: resume.filter(|places| !places.is_empty()).map(<[Place]>::to_vec),
            classes,
        });
        self.stage = Stage::Sums;
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let known = self.known.as_ref()?;
        let ask = |units: &PlaneUnits, want: Want| {
            let units = row_units(units, known.classes);
            Some(KernelAsk::Planes(PlanesAsk { units, want }))
        };
        match &self.stage {
            Stage::Start | Stage::Done(_) => None,
            Stage::Sums => ask(&known.units, Want::Grams),
            Stage::Rows => ask(&known.units, Want::Triangles),
            Stage::Descent { descents, .. } => {
                ask(descents.units(), Want::Distances(descents.questions()))
            }
            Stage::Ratios { fitted, units, rho } => {
                let Model::Planes(model) = &fitted.model else { return None };
                let question = |(own, (w, gamma)): (usize, (&[f64], f64))| PlaneQuestion {
                    plane: units.inside(w, gamma),
                    own,
                    other: None,
                    reach: rho[own],
                    step: false,
                };
                let planes = model.borrowed().into_iter().enumerate().map(question);
                ask(units, Want::Distances(planes.collect()))
            }
        }
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let KernelSums::Planes(answer) = answer else { return Err(misplaced()) };
        match (&mut self.stage, answer) {
            (Stage::Sums, PlanesSums::Grams(sums)) => {
                let (counts, grams) =
                    sums.into_iter().map(|s| (s.rows, s.gram.0.into_data())).unzip();
                let moments = Moments::of_grams(self.known()?.units.clone(), counts, grams)?;
                self.summed(moments, false)
            }
            (Stage::Rows, PlanesSums::Triangles(sums)) => {
                let (counts, rows) = sums.into_iter().map(|s| (s.rows, s.data)).unzip();
                let moments = Moments::of_rows(self.known()?.units.clone(), counts, rows);
                self.summed(moments, true)
            }
            (Stage::Descent { descents, .. }, PlanesSums::Distances(sums)) => {
                descents.absorb(&sums)?;
                self.descended()
            }
            (Stage::Ratios { fitted, .. }, PlanesSums::Distances(sums)) => {
                let ratios = sums.iter().map(ratio).collect::<Result<Vec<f64>>>()?;
                let fitted = (**fitted).clone().with("worst_case_ratio", ratios);
                self.stage = Stage::Done(Box::new(fitted));
                Ok(())
            }
            _ => Err(misplaced()),
        }
    }

    fn gap(&self) -> f64 {
        f64::INFINITY
    }

    fn places(&self) -> Vec<Place> {
        match &self.stage {
            Stage::Descent { descents, .. } => descents.places(),
            _ => Vec::new(),
        }
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let Stage::Done(fitted) = &self.stage else { return Err(misplaced()) };
        let mut fitted = (**fitted).clone();
        fitted.n_iter = passes;
        fitted.route.push("partitions".into());
        Ok(fitted)
    }
}
