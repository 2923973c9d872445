//! `mainstay fit`: read, learn, judge, save.

use std::fmt::Write as _;

use mainstay::audit::flip_aware;
use mainstay::data::{Column, Dataset, Encoder, Table};
use mainstay::folds;
use mainstay::methods::{self, Method};
use mainstay::metrics::{Evaluation, Judged, Predictions};
use mainstay::model::{Estimator, Fitted, Output, StandardizeFirst};
use mainstay::{Control, Status};
use mainstay_io::ModelFile;
use serde_json::{Value, json};

use crate::args::Fit;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::{measurement, settings, table};

pub(crate) fn run(args: &Fit, console: &Console) -> Outcome {
    let method = methods::find(&args.method)?;
    let params = settings::parse(method, &args.set, console.seed)?;
    // Wrong parameters should be reported before a large file is read.
    method.estimator(&Value::Object(params.clone()))?;
    let errors = measurement::Wanted { columns: &args.error_columns, scale: args.error_scale };
    errors.check(method)?;
    console.make_way(&[args.output.as_deref(), args.suspects.as_deref()]);
    let loaded = input::read(args.data.as_deref(), &args.reading, std::iter::empty())?;
    let wanted = Wanted {
        target: args.target.as_deref(),
        weights: args.weights.as_deref(),
        encoding: &args.encoding,
        impute: args.impute,
        nan: method.nan,
        standardise: !args.raw,
        errors,
        reading: &args.reading,
    };
    let labelled = input::learn(loaded, &wanted, args.data.is_none())?;
    let params = settings::name_classes(params, &labelled.classes)?;
    let plain = method.estimator(&Value::Object(params.clone()))?;
    let scaled = StandardizeFirst(plain.as_ref());
    let estimator: &dyn Estimator = if args.raw { plain.as_ref() } else { &scaled };

    let control = console.control("fitting");
    let fitted = estimator.fit(&labelled.data, &control)?;
    let training = judge(&fitted, &labelled.data)?;
    let folds = match args.cv {
        Some(k) => Some(cross_validate(estimator, &labelled.data, k, console, &control)?),
        None => None,
    };
    let given = given(method, &params);
    let standardised = !args.raw;
    let summary = Summary {
        method,
        labelled: &labelled,
        fitted: &fitted,
        training,
        folds,
        given: &given,
        standardised,
    };
    let status = fitted.status();
    if let Some(path) = &args.suspects {
        table::write(&suspects(&fitted, &labelled)?, Some(path), console)?;
    }
    let (text, value) = (summary.text(), summary.json());
    if let Some(path) = &args.output {
        let mut file = ModelFile {
            method: method.name.into(),
            params: Value::Object(params),
            feature_names: labelled.encoder.as_ref().map(Encoder::feature_names),
            classes: labelled.classes,
            target: labelled.target,
            encoder: labelled.encoder,
            fitted,
        };
        if args.no_training_rows {
            file.forget_training_rows();
            if file.holds_training_rows() {
                console.note("this model predicts by its training rows: they stay in the file");
            }
        }
        file.save(path)?;
    }
    console.print(&text, &value)?;
    Ok(if status == Status::NotCertified { Ending::NotCertified } else { Ending::Done })
}

/// Names of parameters whose value was settled before the fit, by the user or by default: it was not found.
fn given(method: &Method, params: &serde_json::Map<String, Value>) -> Vec<String> {
    let Value::Object(mut all) = method.defaults() else { return Vec::new() };
    all.extend(params.clone());
    let settled = |value: &Value| value.is_number() || value.is_boolean();
    all.into_iter().filter(|(_, value)| settled(value)).map(|(name, _)| name).collect()
}

/// The training rows, most suspicious label first, by number and identifier, with classes by name.
fn suspects(fitted: &Fitted, labelled: &Labelled) -> Outcome<Table> {
    let names: Vec<String> = labelled.classes.names().iter().map(ToString::to_string).collect();
    let found = flip_aware(fitted, &labelled.data)?;
    let words = |name: &str, classes: &[usize]| {
        Column::words(name, classes.iter().map(|&k| names.get(k).map(String::as_str)))
    };
    let numbers = found.row.iter().map(|&i| labelled.row_number(i) as f64).collect();
    let mut columns = vec![Column::numbers("row", numbers)];
    columns.extend(labelled.ids.iter().map(|id| id.select_rows(&found.row)));
    columns.push(words("label", &found.label));
    columns.push(Column::numbers("score", found.score.clone()));
    columns.push(words("predicted", &found.predicted));
    Ok(Table::new(columns)?)
}

/// How well the model does on `data`.
pub(crate) fn judge(fitted: &Fitted, data: &Dataset) -> Outcome<Evaluation> {
    let made = Predictions::of(&fitted.model, data.features())?;
    Ok(Evaluation::of(&Judged::new(data.labels(), data.n_classes(), &made)?))
}

/// Mean accuracy, balanced accuracy and log loss over the held-out folds.
struct Folds {
    count: usize,
    accuracy: f64,
    balanced_accuracy: f64,
    log_loss: Option<f64>,
}

fn cross_validate(
    estimator: &dyn Estimator,
    data: &Dataset,
    k: usize,
    console: &Console,
    control: &Control,
) -> Outcome<Folds> {
    if k < 2 || k > data.len() {
        let n = data.len();
        return Err(Failure::say(format!("--cv {k}: must be between 2 and the {n} rows")));
    }
    let splits = folds::stratified(data.labels(), k, 1, console.seed.unwrap_or(0));
    let mut judged = Vec::with_capacity(k);
    for (done, split) in splits.iter().enumerate() {
        let fitted = estimator.fit(&data.select_rows(&split.train), control)?;
        judged.push(judge(&fitted, &data.select_rows(&split.holdout))?);
        control.progress(done as u64 + 1, k as u64);
    }
    let mean = |pick: fn(&Evaluation) -> Option<f64>| {
        let values: Option<Vec<f64>> = judged.iter().map(pick).collect();
        values.map(|v| v.iter().sum::<f64>() / k as f64)
    };
    Ok(Folds {
        count: k,
        accuracy: mean(|e| Some(e.accuracy)).unwrap_or(f64::NAN),
        balanced_accuracy: mean(|e| Some(e.balanced_accuracy)).unwrap_or(f64::NAN),
        log_loss: mean(|e| e.log_loss),
    })
}

/// What is told about a fit.
struct Summary<'a> {
    method: &'a Method,
    labelled: &'a Labelled,
    fitted: &'a Fitted,
    training: Evaluation,
    folds: Option<Folds>,
    /// Parameters that were not found by the fit.
    given: &'a [String],
    standardised: bool,
}

impl Summary<'_> {
    fn text(&self) -> String {
        let data = &self.labelled.data;
        let mut text = String::new();
        let names: Vec<String> =
            self.labelled.classes.names().iter().map(ToString::to_string).collect();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<12} {value}");
        };
        line("method", format!("{} ({})", self.method.name, self.method.summary));
        line(
            "data",
            format!(
                "{} rows, {} features, classes {}",
                data.len(),
                data.n_features(),
                names.join(", ")
            ),
        );
        let scale =
            if self.standardised { "standardised (--raw: as they are)" } else { "as they are" };
        line("features", scale.into());
        if let Some(gap) = self.fitted.dual_gap() {
            let objective: Vec<String> =
                self.fitted.certificates.iter().map(|c| format!("{:.6}", c.primal)).collect();
            line("objective", objective.join(", "));
            let verdict = match self.fitted.status() {
                Status::NotCertified => format!("NOT certified to {:.0e}", self.fitted.tol),
                _ => format!("certified to {:.0e}", self.fitted.tol),
            };
            line("proven gap", format!("{gap:.1e} ({verdict})"));
        }
        let found: Vec<String> = self
            .fitted
            .named_results()
            .iter()
            .filter(|(name, _)| !self.given.contains(name))
            .filter_map(|(name, value)| Some(format!("{name} {}", one_value(value)?)))
            .collect();
        if !found.is_empty() {
            line("found", found.join(", "));
        }
        line("iterations", self.fitted.n_iter.to_string());
        line(
            "training",
            scores(self.training.accuracy, self.training.balanced_accuracy, self.training.log_loss),
        );
        if let Some(folds) = &self.folds {
            let held_out = scores(folds.accuracy, folds.balanced_accuracy, folds.log_loss);
            line("held out", format!("{held_out} (mean of {} folds)", folds.count));
        }
        for note in self.labelled.notes.iter().chain(&self.fitted.warnings) {
            line("note", note.clone());
        }
        text
    }

    fn json(&self) -> Value {
        let data = &self.labelled.data;
        let folds = self.folds.as_ref().map(|f| {
            json!({"folds": f.count, "accuracy": f.accuracy, "balanced_accuracy": f.balanced_accuracy,
                   "log_loss": f.log_loss})
        });
        json!({
            "method": self.method.name,
            "rows": data.len(),
            "features": data.n_features(),
            "classes": self.labelled.classes.names(),
            "objective": self.fitted.certificates.iter().map(|c| c.primal).collect::<Vec<_>>(),
            "dual_gap": self.fitted.dual_gap(),
            "tol": if self.fitted.tol.is_finite() { Some(self.fitted.tol) } else { None },
            "status": self.fitted.status(),
            "n_iter": self.fitted.n_iter,
            "training": self.training,
            "cross_validation": folds,
            "outputs": self.fitted.named_results(),
            "notes": self.labelled.notes.iter().chain(&self.fitted.warnings).collect::<Vec<_>>(),
        })
    }
}

/// A single number or answer in words; lists and tables are for `--json`.
fn one_value(value: &Output) -> Option<String> {
    match value {
        Output::Flag(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Output::Integer(count) => Some(count.to_string()),
        // Four digits, and always a decimal point: it tells the fraction k = 1.0 from the count k = 1.
        Output::Number(number) => {
            Some(format!("{:?}", format!("{number:.3e}").parse::<f64>().ok()?))
        }
        Output::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn scores(accuracy: f64, balanced: f64, log_loss: Option<f64>) -> String {
    let loss = log_loss.map_or_else(String::new, |l| format!(", log loss {l:.4}"));
    format!("accuracy {accuracy:.4}, balanced {balanced:.4}{loss}")
}
