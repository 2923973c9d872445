//! What single fits say: weights, doubtful labels, rows that carry the worst case, distances to the boundary.

use super::chosen::{Candidate, Chosen};
use super::labels::{LabelAudit, audited, suspects};
use super::outcome::{
    Advice, CoefficientPair, MethodInfo, RadiusSample, Role, SuspectRow, WorstRow,
};
use super::roster::calibrated;
use super::session::Subject;
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::model::{Fitted, Linear};
use crate::stress::{Clock, Entrant, Plan, few_samples};

/// Rows that are listed, at most.
pub(super) const LISTED: usize = 50;

/// Everything beside cells and advice.
pub(super) struct Details {
    pub(super) coefficients: Vec<CoefficientPair>,
    pub(super) suspects: Vec<SuspectRow>,
    pub(super) suspects_not_run: Option<String>,
    pub(super) audit: Option<LabelAudit>,
    pub(super) worst_rows: Vec<WorstRow>,
    pub(super) radii: Vec<RadiusSample>,
    pub(super) chosen: Option<Chosen>,
    pub(super) chosen_not_run: Option<String>,
}

/// What was compared, for fits beside the comparison.
pub(super) struct Fits<'a> {
    pub(super) subject: &'a Subject,
    pub(super) entrants: &'a [Entrant],
    pub(super) methods: &'a [MethodInfo],
    pub(super) plan: &'a Plan,
    /// Whether the methods are those of the roster.
    pub(super) own_roster: bool,
    pub(super) control: Control,
}

impl Fits<'_> {
    /// All details, with the advice given.
    pub(super) fn details(&self, advice: &Advice) -> Result<Details> {
        let rows = self.rows()?;
        let part = self.subject.data.select_rows(&rows);
        let scaled = standardised(&part);
        let baseline = self.linear(&advice.baseline, &scaled)?;
        let robust = self.shown_beside(advice, &scaled)?;
        let coefficients = match (&baseline, &robust) {
            (Some(plain), Some((name, other))) => pairs(self.subject, plain, other, name),
            _ => Vec::new(),
        };
        let worst = self.fit("stable-logistic-cv", &scaled)?;
        let worst_rows = worst.map_or_else(Vec::new, |f| worst_rows(&f, self.subject, &rows));
        let mut radii = Vec::new();
        let beside = robust.as_ref().map(|(name, _)| *name);
        for name in std::iter::once(advice.baseline.as_str()).chain(beside) {
            radii.extend(self.radius(name)?);
        }
        let audit = |control: &Control| audited(&scaled, self.plan.seed, control);
        let (audit, suspects_not_run) = found_or_why(self.limited(audit)?);
        let listed = |found| suspects(found, self.subject, &rows);
        let suspects = audit.as_ref().map_or_else(Vec::new, listed);
        let audit = audit.map(LabelAudit::new);
        let (chosen, chosen_not_run) = found_or_why(self.chosen(&advice.method, &rows, &part)?);
        Ok(Details {
            coefficients,
            suspects,
            suspects_not_run,
            audit,
            worst_rows,
            radii,
            chosen,
            chosen_not_run,
        })
    }

    /// The rows that are looked at: all, or every class's share of as many as three training sets hold.
    pub(super) fn rows(&self) -> Result<Vec<usize>> {
        let labels = self.subject.data.labels();
        let limit = 3 * self.plan.max_training_rows;
        if labels.len() <= limit {
            return Ok((0..labels.len()).collect());
        }
        few_samples(labels, 1.0 - limit as f64 / labels.len() as f64, self.plan.seed)
    }

    /// The weights of the advised method, or where plain is enough of the first robust one that has weights.
    fn shown_beside<'b>(
        &'b self,
        advice: &'b Advice,
        data: &Dataset,
    ) -> Result<Option<(&'b str, Linear)>> {
        let robust = self.methods.iter().filter(|m| m.role == Role::Robust);
        let names = std::iter::once(&advice.method).chain(robust.map(|m| &m.name));
        for name in names.filter(|name| **name != advice.baseline) {
            if let Some(model) = self.linear(name, data)? {
                return Ok(Some((name, model)));
            }
        }
        Ok(None)
    }

    fn linear(&self, name: &str, data: &Dataset) -> Result<Option<Linear>> {
        Ok(self.fit(name, data)?.and_then(|f| f.model.linear().cloned()))
    }

    /// A fit of the method called `name`; none if it does not take part or cannot be fitted.
    pub(super) fn fit(&self, name: &str, data: &Dataset) -> Result<Option<Fitted>> {
        let Some(entrant) = self.entrants.iter().find(|e| e.name == name) else { return Ok(None) };
        let fit = |control: &Control| control.install(|| entrant.estimator.fit(data, control));
        Ok(self.limited(fit)?.ok())
    }

    /// The method called `name`, looked at closely, or why it was not.
    fn chosen(
        &self,
        name: &str,
        rows: &[usize],
        data: &Dataset,
    ) -> Result<std::result::Result<Chosen, String>> {
        let Some(entrant) = self.entrants.iter().find(|e| e.name == name) else {
            return Ok(Err("it is not one of our methods".into()));
        };
        let own = self.own_roster.then(|| calibrated(name, data.n_features())).transpose()?;
        let own = own.flatten();
        let groups =
            self.plan.groups.as_ref().map(|g| rows.iter().map(|&i| g[i]).collect::<Vec<_>>());
        let candidate = Candidate {
            method: name,
            estimator: own.as_deref().unwrap_or(entrant.estimator.as_ref()),
            calibrated: own.is_some(),
            data,
            features: &self.subject.features,
            classes: &self.subject.classes,
            groups: groups.as_deref(),
            seed: self.plan.seed,
        };
        self.limited(|control| candidate.appraise(control))
    }

    /// What `work` finds within the time that the fits of one method may take, or why it finds nothing.
    fn limited<T>(
        &self,
        work: impl FnOnce(&Control) -> Result<T>,
    ) -> Result<std::result::Result<T, String>> {
        match Clock::new(self.plan.seconds_each).time(&self.control, work) {
            Some(Ok(found)) => Ok(Ok(found)),
            // Stopped by the user, or only for want of time?
            None | Some(Err(Error::Interrupted)) => self
                .control
                .check()
                .map(|()| Err("it takes longer than the time budget allows".into())),
            Some(Err(error)) => Ok(Err(error.to_string())),
        }
    }
}

/// What was found, or why nothing was.
fn found_or_why<T>(found: std::result::Result<T, String>) -> (Option<T>, Option<String>) {
    match found {
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why)),
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
