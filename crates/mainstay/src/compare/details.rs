//! What single fits say: weights, doubtful labels, rows that carry the worst case, distances to the boundary.

use super::outcome::{
    Advice, CoefficientPair, MethodInfo, RadiusSample, Role, SuspectRow, WorstRow,
};
use super::session::Subject;
use crate::audit::flip_aware;
use crate::certify::{Options, certify};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{Fitted, Linear, Suspects};
use crate::stress::{Clock, Entrant, Plan, few_samples};

/// Rows that are listed, at most.
const LISTED: usize = 50;
/// Labels below this suspicion are not listed.
const DOUBT: f64 = 0.5;

/// Everything beside cells and advice.
pub(super) struct Details {
    pub(super) coefficients: Vec<CoefficientPair>,
    pub(super) suspects: Vec<SuspectRow>,
    pub(super) suspects_not_run: Option<String>,
    pub(super) worst_rows: Vec<WorstRow>,
    pub(super) radii: Vec<RadiusSample>,
}

struct Fits<'a> {
    subject: &'a Subject,
    entrants: &'a [Entrant],
    control: Control,
    /// What one fit may take, if there is a limit.
    seconds: Option<f64>,
}

impl Details {
    pub(super) fn new(
        subject: &Subject,
        entrants: &[Entrant],
        methods: &[MethodInfo],
        plan: &Plan,
        advice: &Advice,
        control: &Control,
    ) -> Result<Self> {
        let fits = Fits {
            subject,
            entrants,
            control: control.without_progress(),
            seconds: plan.seconds_each,
        };
        let rows = fits.rows(plan)?;
        let scaled = standardised(&subject.data.select_rows(&rows));
        let linear = |name: &str| -> Result<Option<Linear>> {
            Ok(fits.fit(name, &scaled)?.and_then(|f| f.model.linear().cloned()))
        };
        let baseline = linear(&advice.baseline)?;
        // Where plain is enough, the first robust method that can be shown.
        let mut shown: Vec<&str> = vec![&advice.method];
        shown.extend(methods.iter().filter(|m| m.role == Role::Robust).map(|m| m.name.as_str()));
        shown.retain(|name| *name != advice.baseline);
        let mut robust = None;
        for name in shown {
            robust = linear(name)?.map(|model| (name, model));
            if robust.is_some() {
                break;
            }
        }
        let coefficients = match (&baseline, &robust) {
            (Some(plain), Some((name, other))) => pairs(subject, plain, other, name),
            _ => Vec::new(),
        };
        let (suspects, suspects_not_run) = match fits.doubtful(&advice.baseline, &scaled)? {
            Ok(found) => (suspect_rows(&found, subject, &rows), None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let worst = fits.fit("stable-logistic-cv", &scaled)?;
        let worst_rows = worst.map_or_else(Vec::new, |f| worst_rows(&f, subject, &rows));
        let mut radii = Vec::new();
        let mut names = vec![advice.baseline.as_str()];
        names.extend(robust.as_ref().map(|(name, _)| *name));
        for name in names {
            radii.extend(fits.radius(name, plan)?);
        }
        Ok(Self { coefficients, suspects, suspects_not_run, worst_rows, radii })
    }
}

impl Fits<'_> {
    /// The rows that are looked at: all, or every class's share of as many as three training sets hold.
    fn rows(&self, plan: &Plan) -> Result<Vec<usize>> {
        let labels = self.subject.data.labels();
        let limit = 3 * plan.max_training_rows;
        if labels.len() <= limit {
            return Ok((0..labels.len()).collect());
        }
        few_samples(labels, 1.0 - limit as f64 / labels.len() as f64, plan.seed)
    }

    /// A fit of the method called `name`; none if it does not take part or cannot be fitted.
    fn fit(&self, name: &str, data: &Dataset) -> Result<Option<Fitted>> {
        let Some(entrant) = self.entrants.iter().find(|e| e.name == name) else { return Ok(None) };
        let fit = |control: &Control| control.install(|| entrant.estimator.fit(data, control));
        match Clock::new(self.seconds).time(&self.control, fit).unwrap_or(Err(Error::Interrupted)) {
            // Stopped by the user, or only for want of time?
            Err(Error::Interrupted) => self.control.check().map(|()| None),
            fitted => Ok(fitted.ok()),
        }
    }

    /// Labels by how doubtful they are to the method called `name`, or why they were not looked at.
    fn doubtful(
        &self,
        name: &str,
        data: &Dataset,
    ) -> Result<std::result::Result<Suspects, String>> {
        Ok(match self.fit(name, data)? {
            Some(fitted) => flip_aware(&fitted, data).map_err(|error| error.to_string()),
            None => {
                Err(format!("`{name}` could not be fitted to these rows in the time there was"))
            }
        })
    }

    /// Distances of the first split's held-out rows to the boundary of a linear model.
    fn radius(&self, name: &str, plan: &Plan) -> Result<Option<RadiusSample>> {
        let data = &self.subject.data;
        let split = plan.split(data.labels(), 0);
        let cut = |rows: &[usize], limit: usize| rows[..rows.len().min(limit)].to_vec();
        let (train, test) = if split.train.len() > plan.max_training_rows {
            let rows = self.rows(plan)?;
            let keep = |part: &[usize]| -> Vec<usize> {
                part.iter().copied().filter(|i| rows.binary_search(i).is_ok()).collect()
            };
            (keep(&split.train), cut(&keep(&split.holdout), plan.max_test_rows))
        } else {
            (split.train, cut(&split.holdout, plan.max_test_rows))
        };
        let train = data.select_rows(&train);
        let test = data.select_rows(&test);
        let mut present = train.labels().to_vec();
        present.sort_unstable();
        present.dedup();
        if present.len() < data.n_classes() || test.is_empty() {
            return Ok(None);
        }
        let scaling = Standardize::learn(train.features(), None);
        let scaled: Matrix = scaling.apply(train.features()).into();
        let Some(fitted) = self.fit(name, &train.replace_features(scaled))? else {
            return Ok(None);
        };
        let Some(model) = fitted.model.linear() else { return Ok(None) };
        let x: Matrix = scaling.apply(test.features()).into();
        let found = match certify(model, &x, &Options::default(), &self.control) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(_) => return Ok(None),
            Ok(found) => found,
        };
        let sign = |i: usize| if found.predicted[i] == test.labels()[i] { 1.0 } else { -1.0 };
        let mut radius_l2: Vec<f64> = (0..test.len())
            .map(|i| sign(i) * found.radius_l2[i])
            .filter(|r| r.is_finite())
            .collect();
        radius_l2.sort_by(f64::total_cmp);
        let mut counts = found.deletions;
        counts.sort_by(f64::total_cmp);
        let deletions = counts.into_iter().map(|d| d.is_finite().then_some(d)).collect();
        Ok(Some(RadiusSample { method: name.into(), radius_l2, deletions }))
    }
}

fn standardised(data: &Dataset) -> Dataset {
    let scaling = Standardize::learn(data.features(), None);
    data.replace_features(scaling.apply(data.features()).into())
}

fn pairs(subject: &Subject, plain: &Linear, other: &Linear, name: &str) -> Vec<CoefficientPair> {
    let classes = &subject.classes;
    let label = |k: usize| if plain.coef.len() == 1 { &classes[1] } else { &classes[k] };
    let both = plain.coef.iter().zip(&other.coef).enumerate();
    both.map(|(k, (baseline, robust))| CoefficientPair {
        class: label(k).clone(),
        features: subject.features.clone(),
        baseline: baseline.clone(),
        robust: robust.clone(),
        robust_method: name.into(),
    })
    .collect()
}

fn suspect_rows(found: &Suspects, subject: &Subject, rows: &[usize]) -> Vec<SuspectRow> {
    let all = found.row.iter().zip(&found.score).zip(&found.predicted);
    all.take_while(|((_, score), _)| **score >= DOUBT)
        .take(LISTED)
        .map(|((&i, &score), &k)| SuspectRow {
            row: subject.rows[rows[i]],
            id: None,
            label: subject.classes[subject.data.labels()[rows[i]]].clone(),
            score,
            predicted: subject.classes[k].clone(),
        })
        .collect()
}

/// By loss, a row that counts for several classes once, with its largest.
fn worst_rows(fitted: &Fitted, subject: &Subject, rows: &[usize]) -> Vec<WorstRow> {
    let Some(found) = &fitted.worst_rows else { return Vec::new() };
    let columns = found.row.iter().zip(&found.weight).zip(&found.loss);
    let mut all: Vec<(usize, f64, f64)> = columns.map(|((i, w), l)| (*i, *w, *l)).collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let mut seen = Vec::new();
    all.retain(|(i, ..)| {
        let new = !seen.contains(i);
        seen.push(*i);
        new
    });
    all.iter()
        .take(LISTED)
        .map(|&(i, weight, loss)| WorstRow {
            row: subject.rows[rows[i]],
            id: None,
            label: subject.classes[subject.data.labels()[rows[i]]].clone(),
            weight,
            loss,
        })
        .collect()
}
