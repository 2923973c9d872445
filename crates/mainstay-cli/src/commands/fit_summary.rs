//! What `mainstay fit` tells: a line per fact, or JSON.

use mainstay::Status;
use mainstay::data::{Label, visible};
use mainstay::methods::Method;
use mainstay::metrics::Evaluation;
use mainstay::model::Output;
use mainstay_io::ModelFile;
use serde_json::{Value, json};

use super::crossval::Folds;
use super::fit::Told;

/// What is told about a fit.
pub(super) struct Summary<'a> {
    pub(super) method: &'a Method,
    pub(super) file: &'a ModelFile,
    pub(super) told: &'a Told,
    /// Parameters that were not found by the fit.
    pub(super) given: &'a [String],
    pub(super) standardised: bool,
}

impl Summary<'_> {
    pub(super) fn text(&self) -> String {
        let fitted = &self.file.fitted;
        let shown = |label: &Label| visible(&label.to_string()).into_owned();
        let names: Vec<String> = self.file.classes.names().iter().map(shown).collect();
        let (rows, features) = (self.told.rows, fitted.model.n_features());
        let scale =
            if self.standardised { "standardised (--raw: as they are)" } else { "as they are" };
        let mut lines = vec![
            ("method", format!("{} ({})", self.method.name, self.method.summary)),
            ("data", format!("{rows} rows, {features} features, classes {}", names.join(", "))),
            ("features", scale.to_owned()),
        ];
        lines.extend(self.proof_lines());
        lines.extend(self.found().map(|found| ("found", found)));
        lines.extend(self.told.left_out.clone().map(|far| ("left out", far)));
        lines.push(("iterations", fitted.n_iter.to_string()));
        let seen = |t: &Evaluation| scores(t.accuracy, t.balanced_accuracy, t.log_loss);
        lines.extend(self.told.training.as_ref().map(|found| ("training", seen(found))));
        lines.extend(self.told.folds.as_ref().map(|folds| ("held out", folds.text())));
        let notes = self.told.notes.iter().chain(&fitted.warnings);
        lines.extend(notes.map(|note| ("note", note.clone())));
        let lines: Vec<String> =
            lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect();
        lines.concat()
    }

    /// The objective and how near it is to the optimum, where that is proved.
    fn proof_lines(&self) -> Vec<(&'static str, String)> {
        let fitted = &self.file.fitted;
        let Some(gap) = fitted.dual_gap() else { return Vec::new() };
        let objectives: Vec<String> =
            fitted.certificates.iter().map(|c| format!("{:.6}", c.primal)).collect();
        let verdict = match fitted.status() {
            Status::NotCertified => format!("NOT certified to {:.0e}", fitted.tol),
            _ => format!("certified to {:.0e}", fitted.tol),
        };
        vec![("objective", objectives.join(", ")), ("proven gap", format!("{gap:.1e} ({verdict})"))]
    }

    /// What the fit chose by itself, in one line.
    fn found(&self) -> Option<String> {
        let results = self.file.fitted.named_results();
        let found: Vec<String> = results
            .iter()
            .filter(|(name, _)| !self.given.contains(name))
            .filter_map(|(name, value)| Some(format!("{name} {}", one_value(value)?)))
            .collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    pub(super) fn json(&self) -> Value {
        let fitted = &self.file.fitted;
        json!({
            "method": self.method.name,
            "rows": self.told.rows,
            "features": fitted.model.n_features(),
            "classes": self.file.classes.names(),
            "objective": fitted.certificates.iter().map(|c| c.primal).collect::<Vec<_>>(),
            "dual_gap": fitted.dual_gap(),
            "tol": if fitted.tol.is_finite() { Some(fitted.tol) } else { None },
            "status": fitted.status(),
            "n_iter": fitted.n_iter,
            "training": self.told.training,
            "cross_validation": self.told.folds.as_ref().map(Folds::json),
            "outputs": fitted.named_results(),
            "notes": self.told.notes.iter().chain(&fitted.warnings).collect::<Vec<_>>(),
        })
    }
}

/// Longest answer in words that is printed.
const LONGEST_TEXT: usize = 100;

/// A single number or answer in words; lists, tables and long texts are for `--json`.
fn one_value(value: &Output) -> Option<String> {
    match value {
        Output::Flag(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Output::Integer(count) => Some(count.to_string()),
        // Four digits, and always a decimal point: it tells the fraction k = 1.0 from the count k = 1.
        Output::Number(number) => {
            Some(format!("{:?}", format!("{number:.3e}").parse::<f64>().ok()?))
        }
        // What a stream goes on from is a text too, and not for people.
        Output::Text(text) => (text.len() <= LONGEST_TEXT).then(|| text.clone()),
        _ => None,
    }
}

fn scores(accuracy: f64, balanced: f64, log_loss: Option<f64>) -> String {
    let loss = log_loss.map_or_else(String::new, |l| format!(", log loss {l:.4}"));
    format!("accuracy {accuracy:.4}, balanced {balanced:.4}{loss}")
}
