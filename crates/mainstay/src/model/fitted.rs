//! What a fit gives back, and the trait of everything that can be fitted.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::findings::{SUSPECTS, Stored, VALUES, WORST_ROWS};
use super::proof::{self, DualPoint};
use super::{Model, Output, Outputs, PathPoint, Suspects, TrainingSummary, WorstRows};
use crate::certificate::{Certificate, Status};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};

/// Checked parameters that can be fitted to data.
pub trait Estimator: Send + Sync {
    /// Fits a model; stopping early is a [`Status`], not an error.
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted>;

    /// One fit for each of `points`, in that order, where a method can use one for the next. Most
    /// methods have no path.
    fn fit_path(
        &self,
        _points: &[PathPoint],
        _data: &Dataset,
        _control: &Control,
    ) -> Result<Vec<Fitted>> {
        Err(Error::BadParams("this method has no path".into()))
    }

    /// The estimator with what `fitted`, a fit of it to `rows` rows, chose by cross-validation: for fits to similar
    /// rows that need not be tuned again. None where nothing is chosen, or nothing that could be fixed.
    fn settled(&self, _fitted: &Fitted, _rows: usize) -> Option<Box<dyn Estimator>> {
        None
    }

    /// How fits to similar rows, with more or less of the same damage, are tuned once there is `fitted`, a fit of it.
    fn retuning(&self, _fitted: &Fitted) -> Retuning {
        Retuning::Anew
    }

    /// Whether [`Estimator::retuning`] may say anything but [`Retuning::Anew`].
    fn retunes(&self) -> bool {
        false
    }
}

/// How an estimator is tuned on rows that are like others that it was tuned on.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Retuning {
    /// As if nothing were known.
    #[default]
    Anew,
    /// Beginning near what was chosen there, by the names of the parameters ([`Control::near`]).
    Near(BTreeMap<String, f64>),
}

/// A model and everything its fit has to say.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "File")]
pub struct Fitted {
    /// Scores new rows.
    pub model: Model,
    /// One per binary problem; empty where the method has no certificate.
    pub certificates: Vec<Certificate>,
    /// The gap that was asked for.
    pub tol: f64,
    /// Iterations of the solver, the largest over binary problems; at least 1.
    pub n_iter: usize,
    /// Training labels by suspicion, where the method judges them.
    pub suspects: Option<Suspects>,
    /// The rows that carry the worst case, where the method has one.
    pub worst_rows: Option<WorstRows>,
    /// What every feature is worth to an adversary that deletes features.
    pub values: Option<Vec<f64>>,
    /// Further results of the method by public name; [`Fitted::named_results`] has all of them.
    pub outputs: Outputs,
    /// Plain sentences the user should read.
    pub warnings: Vec<String>,
    /// The stages of the strategy that worked on the fit, in order; empty where there is one only.
    pub route: Vec<String>,
    /// The training rows in a few numbers, where whoever fitted kept them.
    pub training: Option<TrainingSummary>,
    /// The dual points behind the certificates, one for each, where [`Control::with_proof`] asked for them and the
    /// method has a form of them that can be checked.
    pub proof: Option<Vec<DualPoint>>,
    /// The version of this library that made the fit; absent in files of versions that did not say.
    pub fitted_by: Option<String>,
}

/// The most characters that a version has.
const LONGEST_VERSION: usize = 40;

impl Fitted {
    /// A fit without certificate.
    pub fn new(model: Model, n_iter: usize) -> Self {
        Self {
            model,
            certificates: Vec::new(),
            tol: f64::INFINITY,
            n_iter: n_iter.max(1),
            suspects: None,
            worst_rows: None,
            values: None,
            outputs: Outputs::new(),
            warnings: Vec::new(),
            route: Vec::new(),
            training: None,
            proof: None,
            fitted_by: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// Adds a named result.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Output>) -> Self {
        self.outputs.insert(name.to_owned(), value.into());
        self
    }

    /// All results by public name, the typed ones among them.
    pub fn named_results(&self) -> Outputs {
        let typed = [
            (SUSPECTS, self.suspects.as_ref().map(Output::from)),
            (WORST_ROWS, self.worst_rows.as_ref().map(Output::from)),
            (VALUES, self.values.clone().map(Output::from)),
        ];
        let typed = typed.into_iter().filter_map(|(name, found)| Some((name.to_owned(), found?)));
        self.outputs.clone().into_iter().chain(typed).collect()
    }

    /// The fit with a summary of the rows it was fitted to; `standardized` tells whether their features were
    /// standardised first.
    pub fn remember(mut self, data: &Dataset, standardized: bool) -> Result<Self> {
        self.training = Some(if standardized {
            // By way of the standardised features, so that a fit to features that somebody else standardised by the
            // same numbers remembers the same bits.
            let scaling = Standardize::learn_stored(data.features(), data.weights());
            let scaled = data.replace_features(scaling.apply_stored(data.features()));
            TrainingSummary::learn(&scaled)?.in_raw_units(&scaling)
        } else {
            TrainingSummary::learn(data)?
        });
        Ok(self)
    }

    /// The largest proven relative gap; `None` where the method has no certificate.
    pub fn dual_gap(&self) -> Option<f64> {
        self.certificates.iter().map(Certificate::gap).reduce(f64::max)
    }

    /// How the fit ended.
    pub fn status(&self) -> Status {
        match self.dual_gap() {
            None => Status::NoCertificate,
            Some(gap) if gap <= self.tol => Status::Certified,
            Some(_) => Status::NotCertified,
        }
    }

    /// Turns a weak proof into an error.
    pub fn certified(self, tol: f64) -> Result<Self> {
        match self.dual_gap() {
            Some(gap) if gap <= tol => Ok(self),
            gap => Err(Error::NotCertified { gap: gap.unwrap_or(f64::INFINITY), tol }),
        }
    }
}

/// Names of the results of all methods beside the typed ones. A file that holds another is not one of ours: in Python
/// the names become attributes.
const NAMES: [&str; 32] = [
    "C",
    "alpha",
    "b_max",
    "budget",
    "calibration",
    "candidates",
    "components",
    "cv_results",
    "dual_coef",
    "eigenvalues",
    "equals_classical",
    "far_rows",
    "k",
    "k_max",
    "kappa",
    "kept_rows",
    "label_posterior",
    "loss_shape",
    "normalize",
    "offsets",
    "planes",
    "price",
    "scale",
    "sigma_ratio",
    "state",
    "support",
    "threshold",
    "tied_Cs",
    "worst_case_ratio",
    "xi",
    "z",
    "zero_one_bound",
];

/// A fit as model files have it: typed results stand among the named ones.
#[derive(Deserialize)]
struct File {
    model: Model,
    certificates: Vec<Certificate>,
    #[serde(with = "crate::json::number")]
    tol: f64,
    n_iter: usize,
    outputs: Outputs,
    warnings: Vec<String>,
    #[serde(default)]
    route: Vec<String>,
    #[serde(default)]
    training: Option<TrainingSummary>,
    #[serde(default)]
    proof: Option<Vec<DualPoint>>,
    #[serde(default)]
    fitted_by: Option<String>,
}

/// An error if a text from a file, which may be shown on a terminal, is not like a version.
fn check_version(text: &str) -> Result<()> {
    let letter = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
    if text.len() <= LONGEST_VERSION && text.chars().all(letter) {
        return Ok(());
    }
    Err(Error::BadModel("`fitted_by` is not the number of a version".into()))
}

impl TryFrom<File> for Fitted {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        let File {
            model,
            certificates,
            tol,
            n_iter,
            mut outputs,
            warnings,
            route,
            training,
            proof,
            fitted_by,
        } = file;
        check_version(fitted_by.as_deref().unwrap_or_default())?;
        proof::validate(proof.as_deref().unwrap_or_default())?;
        if let Some(summary) = &training {
            summary.validate(model.n_features(), model.n_classes())?;
        }
        let Stored { suspects, worst_rows, values } = Stored::take(&mut outputs)?;
        if let Some(name) = outputs.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(Error::BadModel(format!("`{name}` is not a result of any method")));
        }
        Ok(Self {
            model,
            certificates,
            tol,
            n_iter,
            suspects,
            worst_rows,
            values,
            outputs,
            warnings,
            route,
            training,
            proof,
            fitted_by,
        })
    }
}

impl Serialize for Fitted {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(transparent)]
        struct Number(#[serde(with = "crate::json::number")] f64);

        let there = [self.training.is_some(), self.proof.is_some(), self.fitted_by.is_some()];
        let some = [!self.route.is_empty()].into_iter().chain(there);
        let count = 6 + some.filter(|there| *there).count();
        let mut fields = out.serialize_struct("Fitted", count)?;
        fields.serialize_field("model", &self.model)?;
        fields.serialize_field("certificates", &self.certificates)?;
        fields.serialize_field("tol", &Number(self.tol))?;
        fields.serialize_field("n_iter", &self.n_iter)?;
        fields.serialize_field("outputs", &self.named_results())?;
        fields.serialize_field("warnings", &self.warnings)?;
        if self.route.is_empty() {
            fields.skip_field("route")?;
        } else {
            fields.serialize_field("route", &self.route)?;
        }
        match &self.training {
            Some(summary) => fields.serialize_field("training", summary)?,
            None => fields.skip_field("training")?,
        }
        match &self.proof {
            Some(proof) => fields.serialize_field("proof", proof)?,
            None => fields.skip_field("proof")?,
        }
        match &self.fitted_by {
            Some(version) => fields.serialize_field("fitted_by", version)?,
            None => fields.skip_field("fitted_by")?,
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Linear, Link};

    fn typed() -> Fitted {
        let line = Linear { coef: vec![vec![1.0]], intercept: vec![0.0], link: Link::None };
        let mut fitted = Fitted::new(Model::Linear(line), 3).with("alpha", 0.5);
        fitted.suspects = Some(Suspects {
            row: vec![1, 0],
            label: vec![0, 1],
            score: vec![0.9, 0.1],
            predicted: vec![1, 1],
        });
        fitted.worst_rows =
            Some(WorstRows { class: None, row: vec![0], weight: vec![0.5], loss: vec![2.0] });
        fitted.values = Some(vec![1.0]);
        fitted.route = vec!["newton".into()];
        fitted
    }

    #[test]
    fn typed_results_travel_among_the_named_ones() {
        let fitted = typed();
        let text = serde_json::to_string(&fitted).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let names: Vec<&String> = value["outputs"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["alpha", "suspects", "values", "worst_rows"]);
        assert_eq!(serde_json::from_str::<Fitted>(&text).unwrap(), fitted);
    }

    #[test]
    fn a_result_that_no_method_has_is_refused_by_name() {
        let text = serde_json::to_string(&typed()).unwrap();
        let other = text.replace("\"alpha\"", "\"__dict_\"");
        assert_ne!(other, text);
        let error = serde_json::from_str::<Fitted>(&other).unwrap_err().to_string();
        assert!(error.contains("`__dict_`"), "{error}");
    }

    #[test]
    fn a_fit_says_which_version_made_it_and_one_that_does_not_is_read_too() {
        let text = serde_json::to_string(&typed()).unwrap();
        let stated = format!(",\"fitted_by\":\"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.ends_with(&format!("{stated}}}")), "{text}");
        let silent = text.replace(&stated, "");
        let fitted: Fitted = serde_json::from_str(&silent).unwrap();
        assert_eq!(fitted.fitted_by, None);
        assert_eq!(serde_json::to_string(&fitted).unwrap(), silent);
        let forged = text.replace(&stated, ",\"fitted_by\":\"\\u001b[2J\"");
        let error = serde_json::from_str::<Fitted>(&forged).unwrap_err().to_string();
        assert!(error.contains("`fitted_by`"), "{error}");
    }

    #[test]
    fn a_damaged_table_of_a_file_is_refused_by_name() {
        let text = serde_json::to_string(&typed()).unwrap();
        let shorter =
            text.replace("\"score\",{\"vector\":[0.9,0.1]}", "\"score\",{\"vector\":[0.9]}");
        assert_ne!(shorter, text);
        let error = serde_json::from_str::<Fitted>(&shorter).unwrap_err().to_string();
        assert!(error.contains("`suspects`"), "{error}");
        let negative = text.replace("\"row\",{\"integers\":[0]}", "\"row\",{\"integers\":[-1]}");
        assert_ne!(negative, text);
        assert!(serde_json::from_str::<Fitted>(&negative).is_err());
    }
}
