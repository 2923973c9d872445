//! `mainstay fit --stream`: rows that are read in passes, and held between them only where they are few for the memory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mainstay::data::unlike_classes;
use mainstay::methods::{self, Method};
use mainstay::metrics::Evaluation;
use mainstay::partitioned::Driver;
use mainstay_io::{ChunkOptions, Scan, ScanRows, Watch};
use serde_json::{Map, Value};

use crate::args::{Fit, ImputeRule};
use crate::commands::fit::{Names, Told, finish};
use crate::console::{Console, RowBar};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Wanted};
use crate::{groups, measurement, settings};

/// The files to read in passes, if the rows are to be fitted so: on demand, for folders and patterns, and for files
/// larger than a third of the memory that is free.
pub(crate) fn wanted(
    args: &Fit,
    method: &Method,
    params: &Map<String, Value>,
    console: &Console,
) -> Outcome<Option<Scan>> {
    let Some(path) = args.data.as_deref() else {
        return if args.stream { Err(Failure::say("--stream: name a file")) } else { Ok(None) };
    };
    let (several, large) = (is_several(path), is_large(path));
    if !args.stream && !several && !large {
        return Ok(None);
    }
    let problem = unsuitable(args).map(Failure::say).or_else(|| {
        methods::driver(method.name, &Value::Object(params.clone())).err().map(Failure::from)
    });
    match problem {
        None if large && !args.stream => {
            console.note("the file is larger than a third of the free memory: it is read in passes, as with --stream");
        }
        None => {}
        // In memory it may just fit.
        Some(_) if !args.stream && !several => return Ok(None),
        Some(problem) => return Err(problem),
    }
    let options = ChunkOptions {
        read: input::options(&args.reading)?,
        size: input::chunk_size(),
        ..ChunkOptions::default()
    };
    Ok(Some(Scan::new(&[path], options)?))
}

/// Whether a path stands for several files.
pub(crate) fn is_several(path: &Path) -> bool {
    path.is_dir() || (!path.exists() && path.to_string_lossy().contains(['*', '?']))
}

/// Whether a file is larger than a third of the memory that is free. Spreadsheets are read as a whole in any case.
pub(crate) fn is_large(path: &Path) -> bool {
    let sheets = ["xlsx", "xlsb", "xls", "ods"];
    if path.extension().is_some_and(|e| sheets.iter().any(|sheet| e.eq_ignore_ascii_case(sheet))) {
        return false;
    }
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len());
    size.zip(mainstay_io::available_memory()).is_some_and(|(size, free)| size > free / 3)
}

/// What needs all rows at once.
fn unsuitable(args: &Fit) -> Option<&'static str> {
    if args.proof {
        return Some("--proof: a fit to rows read in passes keeps no proof");
    }
    if args.cv.is_some() {
        return Some("--cv needs all rows in memory; hold out a file and use `mainstay evaluate`");
    }
    if args.suspects.is_some() {
        return Some(
            "--suspects needs all rows in memory; fit a part of the rows without --stream",
        );
    }
    if args.threats.drop_far.is_some() || !args.threats.expect.is_empty() {
        return Some("--drop-far and --expect need all rows in memory");
    }
    if args.impute == Some(ImputeRule::Gaussian) {
        return Some("--impute gaussian needs all rows in memory; --impute mean does not");
    }
    (!args.error_columns.is_empty()).then_some("--error-columns needs all rows in memory")
}

pub(crate) fn run(
    args: &Fit,
    method: &Method,
    params: Map<String, Value>,
    scan: Scan,
    console: &Console,
) -> Outcome {
    let progress = Progress::new(console);
    let rows = learn(args, method, scan, console, &progress)?;
    let params = settings::name_classes(params, rows.classes())?;
    let mut driver = methods::driver(method.name, &Value::Object(params.clone()))?;
    if let Some(path) = args.checkpoint.as_deref().filter(|path| path.exists()) {
        driver = resumed(driver, path)?;
        console.note(&format!("going on from {}", path.display()));
    }
    progress.say("pass 1");
    let mut start = Instant::now();
    let after = |driver: &Driver| {
        progress.passed(driver, start.elapsed().as_secs_f64());
        start = Instant::now();
        keep(driver, args.checkpoint.as_deref())
    };
    let (fitted, judged) = rows.fit_and_judge(driver, after, || progress.say("judging"))?;
    progress.clear();
    let mut notes = rows.notes().to_vec();
    let training = judgement(judged, &mut notes)?;
    let asked = (args, method, &params);
    notes.extend(training.iter().flat_map(|t| doubts(asked, &rows, t, &fitted.warnings)));
    let told = Told { rows: rows.rows(), training, folds: None, left_out: None, notes };
    let encoder = rows.encoder().cloned();
    let target = encoder.as_ref().and(args.target.clone());
    let names = Names { classes: rows.classes().clone(), target, encoder };
    let ending = finish(args, method, names.file(method, params, fitted), &told, console)?;
    if let Some(path) = &args.checkpoint {
        // The fit is done; a checkpoint that cannot be removed does no harm.
        let _ = fs::remove_file(path);
    }
    Ok(ending)
}

/// What is odd about the classes, or about the answers to the rows, as fits in memory say it.
fn doubts(
    (args, method, params): (&Fit, &Method, &Map<String, Value>),
    rows: &ScanRows,
    found: &Evaluation,
    warnings: &[String],
) -> Vec<String> {
    let counts: Vec<usize> = found.confusion.iter().map(|row| row.iter().sum()).collect();
    let target = args.target.as_deref().unwrap_or("label");
    let mut doubts: Vec<String> =
        unlike_classes(target, rows.classes(), &counts).into_iter().collect();
    let params = Value::Object(params.clone());
    doubts.extend(method.one_sided_note(&params, &found.confusion, warnings));
    doubts
}

/// How well the model does, or a note why that is not known: a complete fit is not lost for what was to be told about it.
fn judgement(
    judged: mainstay_io::Result<Evaluation>,
    notes: &mut Vec<String>,
) -> Outcome<Option<Evaluation>> {
    match judged {
        Ok(found) => Ok(Some(found)),
        Err(mainstay_io::Error::Core(stopped @ mainstay::Error::Interrupted)) => {
            Err(stopped.into())
        }
        Err(problem) => {
            notes.push(format!("the model could not be judged on its rows: {problem}"));
            Ok(None)
        }
    }
}

/// Learns what becomes of the columns, and means and deviations unless features stay as they are.
fn learn(
    args: &Fit,
    method: &Method,
    scan: Scan,
    console: &Console,
    progress: &Progress,
) -> Outcome<ScanRows> {
    let encoding = groups::set_aside(&args.encoding, args.groups.as_deref());
    let wanted = Wanted {
        target: args.target.as_deref(),
        weights: args.weights.as_deref(),
        encoding: &encoding,
        impute: args.impute,
        nan: method.nan,
        standardise: !args.raw,
        errors: measurement::Wanted { columns: &[], scale: 1.0 },
        reading: &args.reading,
    };
    let wishes = input::wishes(&first_names(&scan)?, &wanted)?;
    let memory = args.memory.or_else(|| mainstay_io::available_memory().map(|free| free / 3));
    progress.say("learning the columns");
    let control = console.silent_control();
    let mut rows = ScanRows::learn(scan, &wishes, memory, &control, progress.watch())?;
    if !args.raw {
        progress.say("means and deviations");
        rows.standardize()?;
    }
    Ok(rows)
}

/// Names of the columns, to tell a misspelt one before all rows were read; none for LIBSVM files.
pub(crate) fn first_names(scan: &Scan) -> Outcome<Vec<String>> {
    Ok(match scan.first()? {
        Some(mainstay_io::Input::Table(table)) => table.names().map(str::to_owned).collect(),
        _ => Vec::new(),
    })
}

/// The largest checkpoint that is read.
const MAX_CHECKPOINT: u64 = 1 << 30;

fn resumed(driver: Driver, path: &Path) -> Outcome<Driver> {
    let name = path.display();
    let refused = |why: String| Failure::say(format!("{name}: {why}"));
    let size = fs::metadata(path).map_or(0, |m| m.len());
    if size > MAX_CHECKPOINT {
        return Err(refused("this is not a checkpoint of a fit".into()));
    }
    let bytes = fs::read(path).map_err(|e| refused(e.to_string()))?;
    driver.resume(&bytes).map_err(|e| refused(e.to_string()))
}

/// Writes the checkpoint after a pass.
fn keep(driver: &Driver, path: Option<&Path>) -> mainstay::Result<()> {
    let Some((path, bytes)) = path.zip(driver.checkpoint()) else { return Ok(()) };
    let written = mainstay_io::write_file(path, |out| out.write_all(&bytes));
    written.map_err(|e| mainstay::Error::BadData(e.to_string()))
}

/// What a terminal shows: the pass, its rows per second and the gap so far.
struct Progress(Option<Arc<RowBar>>);

impl Progress {
    fn new(console: &Console) -> Self {
        Self(console.row_bar("reading").map(Arc::new))
    }

    fn say(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.say(what);
        }
    }

    fn watch(&self) -> Option<Watch> {
        let bar = self.0.clone()?;
        Some(Arc::new(move |rows| bar.show(rows, None)))
    }

    /// One line for every pass.
    fn passed(&self, driver: &Driver, seconds: f64) {
        let Some(bar) = &self.0 else { return };
        let speed = driver.rows().unwrap_or(0) as f64 / seconds.max(1e-9);
        let pass = driver.passes();
        let gap = match driver.gap() {
            gap if gap.is_finite() => format!("gap {gap:.1e}, "),
            _ => String::new(),
        };
        bar.line(&format!("pass {pass}: {gap}{speed:.0} rows/s"));
        bar.say(&format!("pass {}", pass + 1));
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_cannot_be_judged_is_kept_and_a_signal_is_obeyed() {
        let mut notes = Vec::new();
        let gone = mainstay::Error::BadData("rows.csv: the file has changed".into());
        assert!(matches!(judgement(Err(gone.into()), &mut notes), Ok(None)));
        assert!(notes[0].contains("could not be judged") && notes[0].contains("rows.csv"));
        assert!(judgement(Err(mainstay::Error::Interrupted.into()), &mut notes).is_err());
    }
}
