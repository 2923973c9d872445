//! A model in words and numbers.

use serde::Serialize;
use serde_json::Value;

use super::coefficients::{ClassCoefficients, coefficients, log_odds};
use crate::certificate::Status;
use crate::data::{Encoder, Encoding};
use crate::methods::Method;
use crate::model::{Fitted, Model, Output, TrainingSummary};

/// A fitted model and what it was made of.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// The method.
    pub method: &'a Method,
    /// Its parameters as given.
    pub params: &'a Value,
    /// What the classes are called.
    pub classes: &'a [String],
    /// What the features are called.
    pub features: &'a [String],
    /// The column of the classes, where there was one.
    pub target: Option<&'a str>,
    /// How raw columns became features, where they did.
    pub encoder: Option<&'a Encoder>,
    /// The fit.
    pub fitted: &'a Fitted,
    /// Whether the certificate is what a file says, computed by somebody else.
    pub claimed: bool,
}

/// Something the method took for granted or found out, with how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: String,
    /// `given`, `default` or `found by the fit`.
    pub how: &'static str,
}

/// What a model says, as data; [`ModelSummary::text`] and [`ModelSummary::markdown`] are for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelSummary {
    /// Name of the method.
    pub method: String,
    /// What it is for.
    pub purpose: String,
    /// The column of the classes.
    pub target: Option<String>,
    /// What the classes are called; of two, the second is the positive one.
    pub classes: Vec<String>,
    /// Number of features.
    pub n_features: usize,
    /// One entry per hyperplane; empty where the model has none.
    pub coefficients: Vec<ClassCoefficients>,
    /// Whether scores are log odds, so that `exp` of a weight is an odds ratio.
    pub log_odds: bool,
    /// Refits behind the intervals; 0 if there are none.
    pub refits: usize,
    /// Categorical columns and the category that the others are relative to, where one was chosen.
    pub references: Vec<(String, Option<String>)>,
    /// Parameters.
    pub assumptions: Vec<Assumption>,
    /// What is proven about the fit, in words.
    pub certificate: String,
    /// The proven relative gap.
    pub dual_gap: Option<f64>,
    /// Where probabilities come from, in words.
    pub probabilities: String,
    /// The training rows in a few numbers.
    pub training: Option<TrainingSummary>,
    /// What is stored about single training rows.
    pub training_rows: Vec<String>,
    /// What the fit had to say.
    pub warnings: Vec<String>,
    /// The version of mainstay that made the fit, where that is known.
    pub fitted_by: Option<String>,
}

/// Parameters that say how a fit is computed, not what it assumes.
const TECHNICAL: [&str; 7] =
    ["tol", "max_iter", "n_jobs", "verbose", "random_state", "solver", "calibrate"];

/// Parameters of a search, told only where there was one.
const SEARCH: [&str; 4] = ["alphas", "n_alphas", "n_folds", "n_repeats"];

impl ModelSummary {
    /// Describes a model; `refits` of it add intervals.
    pub fn new(described: &Described<'_>, refits: &[Model]) -> Self {
        let Described { method, fitted, .. } = *described;
        let model = &fitted.model;
        let training = fitted.training.clone();
        Self {
            method: method.name.to_owned(),
            purpose: method.summary.to_owned(),
            target: described.target.map(str::to_owned),
            classes: described.classes.to_vec(),
            n_features: model.n_features(),
            coefficients: coefficients(
                model,
                described.features,
                described.classes,
                training.as_ref(),
                refits,
            ),
            log_odds: model.weights().is_some_and(|m| log_odds(m.link)),
            refits: refits.len(),
            references: references(described.encoder),
            assumptions: assumptions(method, described.params, fitted),
            certificate: certificate(fitted, described.claimed),
            dual_gap: fitted.dual_gap(),
            probabilities: probabilities(fitted),
            training,
            training_rows: fitted.row_results(),
            warnings: fitted.warnings.clone(),
            fitted_by: fitted.fitted_by.clone(),
        }
    }
}

fn references(encoder: Option<&Encoder>) -> Vec<(String, Option<String>)> {
    let columns = encoder.into_iter().flat_map(Encoder::columns);
    let reference = |(name, encoding): (&str, &Encoding)| match encoding {
        Encoding::Categorical { categories, reference, .. } => {
            let level = reference.and_then(|k| categories.get(k)).cloned();
            Some((name.to_owned(), level))
        }
        Encoding::Numeric { .. } | Encoding::Date { .. } => None,
    };
    columns.filter_map(reference).collect()
}

/// Parameters with their values and where these come from; results of the fit of the same or another name after them.
fn assumptions(method: &Method, params: &Value, fitted: &Fitted) -> Vec<Assumption> {
    let found = fitted.named_results();
    let mut all = Vec::new();
    let defaults = method.defaults();
    for (name, default) in defaults.as_object().into_iter().flatten() {
        if TECHNICAL.contains(&name.as_str()) {
            continue;
        }
        let given = params.get(name).filter(|value| !value.is_null() && *value != default);
        let value = given.unwrap_or(default);
        let settled = value.is_number() || value.is_boolean();
        if let Some(result) = found.get(name).filter(|_| !settled).and_then(one_value) {
            all.push(Assumption { name: name.clone(), value: result, how: "found by the fit" });
        } else if !value.is_null() {
            let how = if given.is_some() { "given" } else { "default" };
            all.push(Assumption { name: name.clone(), value: shown(value), how });
        }
    }
    // The conic machine's budget has a default of its own, which stands unless there is a price.
    let settled = |name: &str| params.get(name).is_some_and(|value| !value.is_null());
    if method.name == "conic" && !settled("kappa") && !settled("C") {
        all.push(Assumption { name: "kappa".into(), value: "0.1".into(), how: "default" });
    }
    // A share of the L1 part says nothing where the penalty has none, or nothing else.
    if all.iter().any(|a| a.name == "penalty" && a.value != "elasticnet") {
        all.retain(|a| a.name != "l1_ratio");
    }
    if !all.iter().any(|a| a.how == "found by the fit") {
        all.retain(|a| !SEARCH.contains(&a.name.as_str()));
    }
    for (name, output) in &found {
        if let (None, Some(value)) = (defaults.get(name), one_value(output)) {
            all.push(Assumption { name: name.clone(), value, how: "found by the fit" });
        }
    }
    all
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() > 40 { text.chars().take(39).collect::<String>() + "…" } else { text }
}

/// A single number or word; lists and tables are left to the file.
fn one_value(output: &Output) -> Option<String> {
    match output {
        Output::Flag(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Output::Integer(count) => Some(count.to_string()),
        Output::Number(number) => {
            Some(format!("{:?}", format!("{number:.3e}").parse::<f64>().ok()?))
        }
        Output::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn certificate(fitted: &Fitted, claimed: bool) -> String {
    let Some(gap) = fitted.dual_gap() else {
        return "none: the method solves no convex problem that would give one".into();
    };
    let source = if claimed { ", says the file" } else { "" };
    let found = format!(
        "no weights can be better by more than {gap:.1e} of the objective{source} (asked for: {:.0e})",
        fitted.tol
    );
    match fitted.status() {
        Status::NotCertified => format!("{found}: NOT reached; raise max_iter or relax tol"),
        _ => found,
    }
}

fn probabilities(fitted: &Fitted) -> String {
    if let Some(Output::Parts(parts)) = fitted.outputs.get("calibration") {
        let part = |name: &str| {
            let found = parts.iter().find(|(key, _)| key == name).and_then(|(_, v)| one_value(v));
            found.unwrap_or_default()
        };
        return format!(
            "calibrated: {} map of the scores of {} rows, each scored by a fit that had not seen it ({} folds)",
            part("kind"),
            part("rows"),
            part("folds")
        );
    }
    if fitted.model.gives_probabilities() {
        "from the loss itself".into()
    } else {
        "none: the loss defines none; fit with --calibrate (calibrate=True in Python)".into()
    }
}
