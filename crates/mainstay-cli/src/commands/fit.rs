//! `mainstay fit`: read, learn, judge, save.

use mainstay::Status;
use mainstay::audit::flip_aware;
use mainstay::data::{Classes, Column, Dataset, Encoder, NanRule, Table};
use mainstay::methods::{self, Method};
use mainstay::metrics::{Evaluation, Judged, Predictions};
use mainstay::model::{DropFarFirst, Estimator, Fitted, ImputeFirst, Output, StandardizeFirst};
use mainstay::uncertainty::far_rows::Share;
use mainstay_io::ModelFile;
use serde_json::{Map, Value};

use crate::args::{Fit, ImputeRule};
use crate::commands::crossval::{Folds, cross_validate};
use crate::commands::fit_stream;
use crate::commands::fit_summary::Summary;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::{groups, measurement, settings, table};

pub(crate) fn run(args: &Fit, console: &Console) -> Outcome {
    let asked = Asked::check(args, console)?;
    let method = asked.method;
    console.make_way(&[args.output.as_deref(), args.suspects.as_deref()]);
    if let Some(scan) = fit_stream::wanted(args, method, &asked.params, console)? {
        return fit_stream::run(args, method, asked.params, scan, console);
    }
    let (mut labelled, groups, params) = asked.read()?;
    let plain = method.estimator(&Value::Object(params.clone()))?;
    let (fitted, folds) = asked.layered(plain.as_ref(), |estimator| {
        let control = console.control("fitting").with_proof(args.proof);
        let asked = control.clone().with_checked_remedies(true);
        let fitted = estimator.fit(&labelled.data, &asked)?.remember(&labelled.data, !args.raw)?;
        let held_out = |k: usize| {
            let (folds, seed) = ((k, groups.as_deref()), console.seed.unwrap_or(0));
            cross_validate(estimator, &labelled, folds, seed, &control)
        };
        Ok::<_, Failure>((fitted, args.cv.map(held_out).transpose()?))
    })?;
    labelled.notes.extend(folds.as_ref().and_then(|found| found.note.clone()));
    if folds.is_some() {
        labelled.notes.extend(labelled.constant_note());
    }
    if let Some(path) = &args.suspects {
        table::write(&suspects(&fitted, &labelled)?, Some(path), console)?;
    }
    if args.proof && fitted.proof.is_none() {
        labelled.notes.push(no_checker(method));
    }
    let told = Told {
        rows: labelled.data.len(),
        training: Some(judge(&fitted, &labelled.data)?),
        folds,
        left_out: left_out(&fitted, &labelled),
        notes: labelled.notes,
    };
    let names =
        Names { classes: labelled.classes, target: labelled.target, encoder: labelled.encoder };
    finish(args, method, names.file(method, params, fitted), &told, console)
}

/// The rows, their groups, and the parameters as they are for these rows and classes.
type Ready = (Labelled, Option<Vec<usize>>, Map<String, Value>);

/// What was asked for, as far as it can be checked before a large file is read.
struct Asked<'a> {
    args: &'a Fit,
    method: &'static Method,
    params: Map<String, Value>,
    /// Rows far from their class to leave out.
    far: Option<Share>,
    /// Whether missing cells are filled from the other features.
    gaussian: bool,
}

impl<'a> Asked<'a> {
    fn check(args: &'a Fit, console: &Console) -> Outcome<Self> {
        let method = methods::find(&args.method)?;
        let mut params = settings::parse(method, &args.set, console.seed)?;
        if args.calibrate {
            if method.defaults().get("calibrate").is_none() {
                let text = format!("--calibrate: {} has probabilities of its own", method.name);
                return Err(Failure::say(text));
            }
            params.insert("calibrate".into(), true.into());
        }
        let mut early = params.clone();
        args.threats.apply(method, &mut early, None)?;
        method.estimator(&Value::Object(early))?;
        let (far, gaussian) = (args.threats.far()?, args.impute == Some(ImputeRule::Gaussian));
        let asked = Self { args, method, params, far, gaussian };
        asked.errors().check(method)?;
        if args.proof && (far.is_some() || gaussian || args.calibrate || args.no_training_rows) {
            return Err(Failure::say(
                "--proof: there is no checker for fits with --drop-far, --impute gaussian or --calibrate, and a proof says \
                 something about every row, which --no-training-rows forbids",
            ));
        }
        Ok(asked)
    }

    fn errors(&self) -> measurement::Wanted<'a> {
        measurement::Wanted { columns: &self.args.error_columns, scale: self.args.error_scale }
    }

    fn read(&self) -> Outcome<Ready> {
        let args = self.args;
        let loaded = input::read(args.data.as_deref(), &args.reading, std::iter::empty())?;
        let encoding = groups::set_aside(&args.encoding, args.groups.as_deref());
        let own_rule = self.method.nan_rule(&Value::Object(self.params.clone()));
        let wanted = Wanted {
            target: args.target.as_deref(),
            weights: args.weights.as_deref(),
            encoding: &encoding,
            impute: args.impute,
            nan: if self.gaussian { NanRule::Keep } else { own_rule },
            standardise: !args.raw,
            errors: self.errors(),
            reading: &args.reading,
        };
        let mut labelled = input::learn(loaded, &wanted, args.data.is_none())?;
        let mut params = self.params.clone();
        let features = Some(labelled.data.n_features());
        labelled.notes.extend(args.threats.apply(self.method, &mut params, features)?);
        let groups = groups::take(&mut labelled, args.groups.as_deref(), &args.encoding)?;
        let params = settings::name_classes(params, &labelled.classes)?;
        Ok((labelled, groups, params))
    }

    /// Hands over the method with what is done to its rows first: far ones are left out, features standardised, missing
    /// cells filled.
    fn layered<T>(&self, plain: &dyn Estimator, work: impl FnOnce(&dyn Estimator) -> T) -> T {
        let filling = ImputeFirst(plain);
        let inner: &dyn Estimator = if self.gaussian { &filling } else { plain };
        let scaled = StandardizeFirst(inner);
        let kept: &dyn Estimator = if self.args.raw { inner } else { &scaled };
        match self.far {
            Some(share) => work(&DropFarFirst { estimator: kept, share }),
            None => work(kept),
        }
    }
}

/// What columns and classes are called and what becomes of them.
pub(crate) struct Names {
    pub(crate) classes: Classes,
    pub(crate) target: Option<String>,
    pub(crate) encoder: Option<Encoder>,
}

impl Names {
    pub(crate) fn file(
        self,
        method: &Method,
        params: Map<String, Value>,
        fitted: Fitted,
    ) -> ModelFile {
        ModelFile {
            method: method.name.into(),
            params: method.all_params(&Value::Object(params)),
            feature_names: self.encoder.as_ref().map(Encoder::feature_names),
            classes: self.classes,
            target: self.target,
            encoder: self.encoder,
            fitted,
        }
    }
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
    /// How well it does on them; none where they could not be read once more.
    pub(crate) training: Option<Evaluation>,
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

/// The rows that were left out as far from their class, the first of them by identifier, or by number without one.
fn left_out(fitted: &Fitted, labelled: &Labelled) -> Option<String> {
    const SHOWN: usize = 10;
    let Some(Output::Table(table)) = fitted.outputs.get("far_rows") else { return None };
    let (_, Output::Integers(rows)) = table.iter().find(|(name, _)| name == "row")? else {
        return None;
    };
    let name = |row: &i64| {
        let at = usize::try_from(*row).unwrap_or(usize::MAX);
        let id = labelled.ids.first().filter(|id| at < id.len()).and_then(|id| id.text(at));
        id.unwrap_or_else(|| labelled.row_number(at).to_string())
    };
    let shown: Vec<String> = rows.iter().take(SHOWN).map(name).collect();
    let more = if rows.len() > SHOWN { ", ..." } else { "" };
    Some(match rows.len() {
        0 => "no row is far from its class".into(),
        count => format!("{count} rows far from their class: {}{more}", shown.join(", ")),
    })
}

/// How well the model does on `data`, by its weights.
pub(crate) fn judge(fitted: &Fitted, data: &Dataset) -> Outcome<Evaluation> {
    let made = Predictions::of(&fitted.model, data.features())?;
    let mut judged = Judged::new(data.labels(), data.n_classes(), &made)?;
    if let Some(weights) = data.weights() {
        judged = judged.with_weights(weights)?;
    }
    Ok(Evaluation::of(&judged))
}
