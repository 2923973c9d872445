//! The frame of the experiments: resuming, missing data, files, determinism. No data folder is needed.
#![cfg(test)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay::Control;
use mainstay_papers::{
    Chart, Context, Error, Event, Experiment, Goal, Measured, Outcome, Paper, Record, Result, Row,
    Series, Settings, Unit, Verdict, experiments, reproduce_these, select,
};

fn settings(output: &Path) -> Settings {
    Settings {
        quick: true,
        seed: 7,
        data: None,
        output: output.to_owned(),
        command: "mainstay reproduce test".into(),
    }
}

fn run(experiment: &Experiment, settings: &Settings, control: &Control) -> Result<Vec<Record>> {
    reproduce_these(&[experiment], settings, control, &|_| ())
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|k| format!("rep/{k}")).collect()
}

/// Numbers that depend on the seeds alone.
fn draw(seed: u64) -> Vec<f64> {
    use rand::RngExt;
    let mut rng = mainstay::folds::generator(seed);
    vec![rng.random::<f64>(), rng.random::<f64>() / 3.0]
}

fn outcome(found: &[Vec<f64>]) -> Outcome {
    let values: Vec<f64> = found.iter().map(|row| row[0]).collect();
    let paper = Measured::published(0.5, 0.3);
    let row = Row::compare("mean", Unit::Plain, Goal::Lower, paper, Measured::of(&values));
    let points = values.iter().enumerate().map(|(k, v)| (k as f64, *v));
    let charts = vec![Chart::lines("draws", "k", "value", vec![Series::new("ours", points)])];
    Outcome { rows: vec![row], charts, ..Outcome::default() }
}

const SIMPLE: Experiment = Experiment {
    id: "conic-test",
    paper: Paper::Conic,
    title: "A test",
    what: "Draws numbers.",
    run: |context| Ok(outcome(&context.each("simple", &keys(20), |_, seed| Ok(draw(seed)))?)),
};

#[test]
fn results_do_not_depend_on_threads() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for (folder, threads) in folders.iter().zip([1, 4]) {
        let control = Control::new().with_threads(threads);
        run(&SIMPLE, &settings(folder.path()), &control).unwrap();
    }
    for file in ["results.json", "conic.md", "conic-test.svg"] {
        let [a, b] = [0, 1].map(|k: usize| fs::read(folders[k].path().join(file)).unwrap());
        assert_eq!(a, b, "{file}");
    }
}

static DONE: AtomicUsize = AtomicUsize::new(0);

fn counted(context: &Context<'_>) -> Result<Outcome> {
    let found = context.each("counted", &keys(12), |_, seed| {
        DONE.fetch_add(1, Ordering::SeqCst);
        Ok(draw(seed))
    })?;
    Ok(outcome(&found))
}

#[test]
fn finished_repetitions_are_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = Experiment { id: "conic-counted", run: counted, ..SIMPLE };
    let first = run(&experiment, &settings(folder.path()), &Control::new()).unwrap();
    assert_eq!(DONE.load(Ordering::SeqCst), 12);
    let again = run(&experiment, &settings(folder.path()), &Control::new()).unwrap();
    assert_eq!(DONE.load(Ordering::SeqCst), 12);
    assert_eq!(first, again);
    let other = Settings { seed: 8, ..settings(folder.path()) };
    assert_ne!(run(&experiment, &other, &Control::new()).unwrap()[0].outcome, again[0].outcome);
    assert_eq!(DONE.load(Ordering::SeqCst), 24);
}

static STEPS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn an_interrupted_run_keeps_its_work_and_ends_as_if_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = Experiment {
        id: "conic-stopped",
        run: |context| {
            let found = context.each("stopped", &keys(12), |_, seed| {
                STEPS.fetch_add(1, Ordering::SeqCst);
                Ok(draw(seed))
            })?;
            Ok(outcome(&found))
        },
        ..SIMPLE
    };
    let control = Control::new().with_threads(1);
    let stop = control.clone();
    let listen = move |event: Event<'_>| {
        if matches!(event, Event::Progress(5, _)) {
            stop.cancel();
        }
    };
    let stopped = reproduce_these(&[&experiment], &settings(folder.path()), &control, &listen);
    assert!(stopped.unwrap_err().is_interrupt());
    let before = STEPS.load(Ordering::SeqCst);
    assert!((5..12).contains(&before), "{before}");
    assert!(!folder.path().join("results.json").exists());
    let resumed = run(&experiment, &settings(folder.path()), &Control::new()).unwrap();
    assert_eq!(STEPS.load(Ordering::SeqCst), 12);
    let fresh = tempfile::tempdir().unwrap();
    let whole = run(&experiment, &settings(fresh.path()), &Control::new()).unwrap();
    assert_eq!(resumed, whole);
}

#[test]
fn a_missing_file_is_named_and_the_rest_still_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let cells = "a,b,target\n1,x,yes\n2,y,no\n3,x,yes\n4,z,maybe\n";
    fs::write(data.path().join("glass.csv"), cells).unwrap();
    let experiment = Experiment {
        id: "conic-data",
        run: |context| {
            let found = context.all_data(&["sonar", "glass"])?;
            let [glass] = found.as_slice() else { panic!("{found:?}") };
            // A number and three indicators; "yes" is the largest class.
            assert_eq!(glass.data.n_features(), 4);
            assert_eq!(glass.data.n_classes(), 3);
            assert_eq!(glass.binary()?.labels(), [1, 0, 1, 0]);
            Ok(outcome(&[vec![0.5]]))
        },
        ..SIMPLE
    };
    let given = Settings { data: Some(data.path().to_owned()), ..settings(folder.path()) };
    let records = run(&experiment, &given, &Control::new()).unwrap();
    let missing = &records[0].outcome.not_run;
    assert_eq!(missing.len(), 1);
    assert!(missing[0].starts_with("sonar: no sonar.csv.gz or sonar.csv in "), "{missing:?}");
    assert!(missing[0].contains("https://archive.ics.uci.edu/dataset/151"), "{missing:?}");
    assert_eq!(records[0].outcome.count(Verdict::Agrees), 1);
    let page = fs::read_to_string(folder.path().join("conic.md")).unwrap();
    assert!(page.contains("Not run:") && page.contains("sonar"));
}

#[test]
fn a_failed_experiment_is_reported_and_others_still_run() {
    let folder = tempfile::tempdir().unwrap();
    let bad = Experiment {
        id: "conic-bad",
        run: |_| Err(Error::Core(mainstay::Error::Numerical("on purpose".into()))),
        ..SIMPLE
    };
    let both = [&bad, &SIMPLE];
    let records =
        reproduce_these(&both, &settings(folder.path()), &Control::new(), &|_| ()).unwrap();
    assert!(records[0].outcome.not_run[0].contains("on purpose"));
    assert_eq!(records[1].outcome.rows.len(), 1);
    // Both stand in the file and on the page; the folder holds nothing half-written.
    let text = fs::read_to_string(folder.path().join("results.json")).unwrap();
    let all: std::collections::BTreeMap<String, Record> = serde_json::from_str(&text).unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["conic-bad", "conic-test"]);
    assert_eq!(all["conic-test"], records[1]);
    let hidden = fs::read_dir(folder.path()).unwrap().flatten();
    assert!(hidden.into_iter().all(|f| !f.file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn experiments_have_unique_names_that_begin_with_their_paper() {
    let all = experiments();
    let mut names: Vec<&str> = all.iter().map(|e| e.id).collect();
    assert!(all.iter().all(|e| e.id.starts_with(e.paper.name())));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    assert_eq!(select("all").unwrap().len(), all.len());
    assert_eq!(select("stable").unwrap().len(), 6);
    assert_eq!(select("regec-figure-7").unwrap().len(), 1);
    let message = select("conic-table-9").unwrap_err().to_string();
    assert!(message.starts_with("no experiment `conic-table-9`; there are: all, rolin-figure-2"));
}
