//! `mainstay fit`: read, learn, judge, save.

use std::fmt::Write as _;

use mainstay::Status;
use mainstay::audit::flip_aware;
use mainstay::data::{Column, Dataset, Encoder, NanRule, Table};
use mainstay::methods::{self, Method};
use mainstay::metrics::{Evaluation, Judged, Predictions};
use mainstay::model::{DropFarFirst, Estimator, Fitted, ImputeFirst, Output, StandardizeFirst};
use mainstay::uncertainty::far_rows::Share;
use mainstay_io::ModelFile;
use serde_json::{Value, json};

use crate::args::{Fit, ImputeRule};
use crate::commands::crossval::{Folds, cross_validate};
use crate::commands::fit_stream;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::{groups, measurement, settings, table};

pub(crate) fn run(args: &Fit, console: &Console) -> Outcome {
    let method = methods::find(&args.method)?;
    let mut params = settings::parse(method, &args.set, console.seed)?;
    if args.calibrate {
        if method.defaults().get("calibrate").is_none() {
            let name = method.name;
            return Err(Failure::say(format!("--calibrate: {name} has probabilities of its own")));
        }
        params.insert("calibrate".into(), true.into());
    }
    // Wrong parameters should be reported before a large file is read.
    let mut early = params.clone();
    args.threats.apply(method, &mut early, None)?;
    method.estimator(&Value::Object(early))?;
    let far = args.threats.far()?;
    let gaussian = args.impute == Some(ImputeRule::Gaussian);
    let errors = measurement::Wanted { columns: &args.error_columns, scale: args.error_scale };
    errors.check(method)?;
    if args.proof && (far.is_some() || gaussian || args.calibrate || args.no_training_rows) {
        return Err(Failure::say(
            "--proof: there is no checker for fits with --drop-far, --impute gaussian or --calibrate, and a proof says \
             something about every row, which --no-training-rows forbids",
        ));
    }
    console.make_way(&[args.output.as_deref(), args.suspects.as_deref()]);
    if let Some(scan) = fit_stream::wanted(args, method, &params, console)? {
        if args.proof {
            return Err(Failure::say("--proof: a fit to rows read in passes keeps no proof"));
        }
        return fit_stream::run(args, method, params, scan, console);
    }
    let loaded = input::read(args.data.as_deref(), &args.reading, std::iter::empty())?;
    let encoding = groups::set_aside(&args.encoding, args.groups.as_deref());
    let wanted = Wanted {
        target: args.target.as_deref(),
        weights: args.weights.as_deref(),
        encoding: &encoding,
        impute: args.impute,
        nan: if gaussian { NanRule::Keep } else { method.nan_rule(&Value::Object(params.clone())) },
        standardise: !args.raw,
        errors,
        reading: &args.reading,
    };
    let mut labelled = input::learn(loaded, &wanted, args.data.is_none())?;
    let features = Some(labelled.data.n_features());
    labelled.notes.extend(args.threats.apply(method, &mut params, features)?);
    let groups = groups::take(&mut labelled, args.groups.as_deref(), &args.encoding)?;
    let params = settings::name_classes(params, &labelled.classes)?;
    let plain = method.estimator(&Value::Object(params.clone()))?;
    let filling = ImputeFirst(plain.as_ref());
    let inner: &dyn Estimator = if gaussian { &filling } else { plain.as_ref() };
    let scaled = StandardizeFirst(inner);
    let kept: &dyn Estimator = if args.raw { inner } else { &scaled };
    let dropping = DropFarFirst { estimator: kept, share: far.unwrap_or(Share::Fixed(0.0)) };
    let estimator: &dyn Estimator = if far.is_some() { &dropping } else { kept };

    let control = console.control("fitting").with_proof(args.proof);
    let fitted = estimator.fit(&labelled.data, &control)?.remember(&labelled.data, !args.raw)?;
    let training = judge(&fitted, &labelled.data)?;
    let folds = match args.cv {
        Some(k) => {
            let seed = console.seed.unwrap_or(0);
            let folds = (k, groups.as_deref());
            let found = cross_validate(estimator, &labelled, folds, seed, &control)?;
            labelled.notes.extend(found.note.clone());
            Some(found)
        }
        None => None,
    };
    if let Some(path) = &args.suspects {
        table::write(&suspects(&fitted, &labelled)?, Some(path), console)?;
    }
    let left_out = left_out(&fitted, &labelled);
    let rows = labelled.data.len();
    if args.proof && fitted.proof.is_none() {
        labelled.notes.push(no_checker(method));
    }
    let told = Told { rows, training, folds, left_out, notes: labelled.notes };
    let file = ModelFile {
        method: method.name.into(),
        params: method.all_params(&Value::Object(params)),
        feature_names: labelled.encoder.as_ref().map(Encoder::feature_names),
        classes: labelled.classes,
        target: labelled.target,
        encoder: labelled.encoder,
        fitted,
    };
    finish(args, method, file, &told, console)
}

/// Why the model file holds no proof.
fn no_checker(method: &Method) -> String {
    format!("--proof: there is no checker for this fit by {}; the file holds no proof", method.name)
}

/// Tells about a fit and saves it.
pub(crate) fn finish(
    args: &Fit,
    method: &Method,
    mut file: ModelFile,
    told: &Told,
    console: &Console,
) -> Outcome {
    let given = given(method, &file.params);
    let summary = Summary { method, file: &file, told, given: &given, standardised: !args.raw };
    let status = file.fitted.status();
    let (text, value) = (summary.text(), summary.json());
    if let Some(path) = &args.output {
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

/// What is told about a fit beside the model.
pub(crate) struct Told {
    /// Rows it was fitted to.
    pub(crate) rows: usize,
    /// How well it does on them.
    pub(crate) training: Evaluation,
    /// How well it does on held-out rows.
    pub(crate) folds: Option<Folds>,
    /// Rows left out as far from their class, in words.
    pub(crate) left_out: Option<String>,
    /// What the user should know about the data.
    pub(crate) notes: Vec<String>,
}

/// Names of parameters whose value was settled before the fit, by the user or by default: it was not found.
fn given(method: &Method, params: &Value) -> Vec<String> {
    let Value::Object(mut all) = method.defaults() else { return Vec::new() };
    all.extend(params.as_object().cloned().unwrap_or_default());
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

/// The rows that were left out as far from their class, the first of them by number.
fn left_out(fitted: &Fitted, labelled: &Labelled) -> Option<String> {
    const SHOWN: usize = 10;
    let Some(Output::Table(table)) = fitted.outputs.get("far_rows") else { return None };
    let (_, Output::Integers(rows)) = table.iter().find(|(name, _)| name == "row")? else {
        return None;
    };
    let number = |row: &i64| {
        let at = usize::try_from(*row).unwrap_or(usize::MAX);
        labelled.row_number(at).to_string()
    };
    let shown: Vec<String> = rows.iter().take(SHOWN).map(number).collect();
    let more = if rows.len() > SHOWN { ", ..." } else { "" };
    Some(match rows.len() {
        0 => "no row is far from its class".into(),
        count => format!("{count} rows far from their class: {}{more}", shown.join(", ")),
    })
}

/// How well the model does on `data`.
pub(crate) fn judge(fitted: &Fitted, data: &Dataset) -> Outcome<Evaluation> {
    let made = Predictions::of(&fitted.model, data.features())?;
    Ok(Evaluation::of(&Judged::new(data.labels(), data.n_classes(), &made)?))
}

/// What is told about a fit.
struct Summary<'a> {
    method: &'a Method,
    file: &'a ModelFile,
    told: &'a Told,
    /// Parameters that were not found by the fit.
    given: &'a [String],
    standardised: bool,
}

impl Summary<'_> {
    fn text(&self) -> String {
        let fitted = &self.file.fitted;
        let mut text = String::new();
        let names: Vec<String> =
            self.file.classes.names().iter().map(ToString::to_string).collect();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<12} {value}");
        };
        line("method", format!("{} ({})", self.method.name, self.method.summary));
        line(
            "data",
            format!(
                "{} rows, {} features, classes {}",
                self.told.rows,
                fitted.model.n_features(),
                names.join(", ")
            ),
        );
        let scale =
            if self.standardised { "standardised (--raw: as they are)" } else { "as they are" };
        line("features", scale.into());
        if let Some(gap) = fitted.dual_gap() {
            let objective: Vec<String> =
                fitted.certificates.iter().map(|c| format!("{:.6}", c.primal)).collect();
            line("objective", objective.join(", "));
            let verdict = match fitted.status() {
                Status::NotCertified => format!("NOT certified to {:.0e}", fitted.tol),
                _ => format!("certified to {:.0e}", fitted.tol),
            };
            line("proven gap", format!("{gap:.1e} ({verdict})"));
        }
        let found: Vec<String> = fitted
            .named_results()
            .iter()
            .filter(|(name, _)| !self.given.contains(name))
            .filter_map(|(name, value)| Some(format!("{name} {}", one_value(value)?)))
            .collect();
        if !found.is_empty() {
            line("found", found.join(", "));
        }
        if let Some(far) = &self.told.left_out {
            line("left out", far.clone());
        }
        line("iterations", fitted.n_iter.to_string());
        line(
            "training",
            scores(
                self.told.training.accuracy,
                self.told.training.balanced_accuracy,
                self.told.training.log_loss,
            ),
        );
        if let Some(folds) = &self.told.folds {
            line("held out", folds.text());
        }
        for note in self.told.notes.iter().chain(&fitted.warnings) {
            line("note", note.clone());
        }
        text
    }

    fn json(&self) -> Value {
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
