//! `stress` and `compare` as a user meets them.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn fails(output: &Output, part: &str) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(part), "`{part}` is not in: {error}");
    assert!(output.stdout.is_empty());
}

/// Sixty rows, two features, classes that overlap a little.
fn small(folder: &TempDir) -> String {
    let mut csv = String::from("height,<b>,kind\n");
    for i in 0..60_u32 {
        let (k, a, b) = (i % 2, (i * 37) % 23, (i * 11) % 17);
        let kind = if k == 0 { "yes" } else { "no" };
        let height = f64::from(a) / 10.0 + f64::from(k) * 1.5;
        writeln!(csv, "{height},{b},{kind}").unwrap();
    }
    let path = folder.path().join("small.csv");
    fs::write(&path, csv).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn stress_writes_one_row_a_cell_and_the_same_ones_for_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let out = folder.path().join("cells.csv");
    let run = |threads: &str| {
        let path = out.to_str().unwrap();
        let shown = text(&mainstay(&[
            "stress",
            &data,
            "-t",
            "kind",
            "-m",
            "l2",
            "-m",
            "stable-svm",
            "--set",
            "stable-svm.k=0.5",
            "--threat",
            "label_noise",
            "--levels",
            "0.1,0.3",
            "--repeats",
            "2",
            "--threads",
            threads,
            "-o",
            path,
        ]));
        assert!(shown.contains("label_noise") && shown.contains("stable-svm"), "{shown}");
        fs::read_to_string(&out).unwrap()
    };
    let one = run("1");
    assert_eq!(
        one.lines().next().unwrap(),
        "method,threat,level,repeat,accuracy,log_loss,auc,balanced_accuracy,brier,problem"
    );
    assert_eq!(one.lines().count(), 1 + 2 * 3 * 2);
    assert_eq!(one, run("2"));
    // The journal is gone once the output is there.
    assert!(!folder.path().join("cells.csv.cells").exists());
}

fn short_stress<'a>(data: &'a str, out: &'a str) -> Vec<&'a str> {
    let fixed = ["-t", "kind", "-m", "l2", "--threat", "few_samples", "--repeats", "1", "-o"];
    ["stress", data].into_iter().chain(fixed).chain([out]).collect()
}

#[test]
fn a_file_that_happens_to_be_called_like_the_journal_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let out = folder.path().join("cells.csv");
    let own = folder.path().join("cells.csv.cells");
    fs::write(&own, "my notes\n").unwrap();
    let refused = mainstay(&short_stress(&data, out.to_str().unwrap()));
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("cells.csv.cells") && message.contains("move it away"), "{message}");
    assert_eq!(fs::read_to_string(&own).unwrap(), "my notes\n");
    assert!(!out.exists());
}

#[test]
fn an_impossible_number_in_a_journal_does_not_reach_the_output() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let out = folder.path().join("cells.csv");
    let args = short_stress(&data, out.to_str().unwrap());
    text(&mainstay(&args));
    let whole = fs::read_to_string(&out).unwrap();
    // A directory in the way of the output makes a run that leaves its journal.
    fs::remove_file(&out).unwrap();
    fs::create_dir(&out).unwrap();
    assert_eq!(mainstay(&args).status.code(), Some(2));
    fs::remove_dir(&out).unwrap();
    let journal = folder.path().join("cells.csv.cells");
    let lines = fs::read_to_string(&journal).unwrap();
    let mut lines: Vec<String> = lines.lines().map(Into::into).collect();
    let mut cell: Value = serde_json::from_str(&lines[1]).unwrap();
    cell["accuracy"] = 1e300.into();
    lines[1] = cell.to_string();
    fs::write(&journal, lines.join("\n")).unwrap();
    let resumed = mainstay(&args);
    text(&resumed);
    let notes = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(notes.contains("1 lines of") && notes.contains("run again"), "{notes}");
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
}

#[test]
fn an_interrupted_run_is_taken_up_again() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let out = folder.path().join("cells.csv");
    let path = out.to_str().unwrap();
    let args = [
        "stress",
        &data,
        "-t",
        "kind",
        "-m",
        "l2",
        "--threat",
        "few_samples",
        "--repeats",
        "2",
        "-o",
        path,
    ];
    text(&mainstay(&args));
    let whole = fs::read_to_string(&out).unwrap();
    // A journal as an interrupted run leaves it: the first line of a real one is taken from a run whose output
    // cannot be written in the end.
    fs::remove_file(&out).unwrap();
    fs::create_dir(&out).unwrap();
    let failed = mainstay(&args);
    assert_eq!(failed.status.code(), Some(2));
    fs::remove_dir(&out).unwrap();
    let journal = folder.path().join("cells.csv.cells");
    if journal.exists() {
        let lines: Vec<String> =
            fs::read_to_string(&journal).unwrap().lines().map(Into::into).collect();
        // Torn in the middle of a line, with a marked number to see that cells are really taken over.
        let mut cell: Value = serde_json::from_str(&lines[1]).unwrap();
        cell["accuracy"] = 0.123.into();
        fs::write(&journal, format!("{}\n{cell}\n{}", lines[0], &lines[2][..20])).unwrap();
        let resumed = mainstay(&args);
        text(&resumed);
        assert!(String::from_utf8_lossy(&resumed.stderr).contains("1 cells of an interrupted run"));
        let found = fs::read_to_string(&out).unwrap();
        assert!(found.contains("0.123"));
        assert_eq!(found.lines().count(), whole.lines().count());
    } else {
        panic!("a run that could not write its output must leave its cells");
    }
}

#[test]
fn compare_answers_in_words_json_and_files() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let (report, cells) = (folder.path().join("out.html"), folder.path().join("cells.csv"));
    let run = |more: &[&str]| {
        let mut args = vec!["compare", &data, "--target", "kind", "--repeats", "2", "--seed", "3"];
        args.extend(more);
        text(&mainstay(&args))
    };
    let shown = run(&["--report", report.to_str().unwrap(), "-o", cells.to_str().unwrap()]);
    assert!(shown.contains("logistic regression"), "{shown}");
    assert!(shown.contains(&format!(
        "repeat with: mainstay compare {data} --target kind --repeats 2 --seed 3"
    )));
    let page = fs::read_to_string(&report).unwrap();
    assert!(page.to_lowercase().starts_with("<!doctype html>"));
    assert!(!page.contains("<b>,"), "names are escaped");
    let found: Value = serde_json::from_str(&run(&["--json", "--threads", "1"])).unwrap();
    assert_eq!(found["settings"]["repeats"], 2);
    assert!(
        shown.contains(found["advice"]["headline"].as_str().unwrap()),
        "the same for any number of threads"
    );
    let rows = found["cells"].as_array().unwrap().len();
    assert_eq!(fs::read_to_string(&cells).unwrap().lines().count(), rows + 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no journal is left");
}

#[test]
fn mistakes_are_named() {
    let folder = TempDir::new().unwrap();
    let data = small(&folder);
    let stress = |args: &[&str]| {
        let mut all = vec!["stress", &data, "--target", "kind"];
        all.extend(args);
        mainstay(&all)
    };
    fails(&stress(&["-m", "nonsense"]), "no method `nonsense`");
    fails(&stress(&["-m", "l2", "--threat", "nonsense"]), "there are: few_samples");
    fails(&stress(&["-m", "l2", "--threat", "outliers", "--levels", "7"]), "between 0 and 1");
    fails(&stress(&["-m", "l2", "--levels", "0.1"]), "exactly one --threat");
    fails(&stress(&["-m", "l2", "-m", "l2"]), "two methods are called `l2`");
    fails(&stress(&["-m", "l2", "--repeats", "0"]), "--repeats 0");
    fails(&stress(&["-m", "l2", "--set", "l2.nonsense=1"]), "nonsense");
    fails(&mainstay(&["stress", &data, "--target", "kind"]), "--method");
    fails(&mainstay(&["compare", &data]), "--target COL is needed");
    fails(&mainstay(&["compare", &data, "--target", "kind", "--budget", "0"]), "--budget 0");
    fails(
        &mainstay(&["compare", &data, "-t", "kind", "--repeats", "1", "--budget", "5"]),
        "cannot be used with",
    );
}

#[test]
fn help_shows_examples() {
    for command in ["stress", "compare"] {
        let shown = text(&mainstay(&[command, "--help"]));
        assert!(
            shown.contains("Examples:") && shown.contains(&format!("mainstay {command}")),
            "{shown}"
        );
    }
}
