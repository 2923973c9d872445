//! Metrics on the command line: evaluate, fit --cv, groups, and comparisons by another metric.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(&mainstay(args))).unwrap()
}

fn fails(args: &[&str], part: &str) {
    let output = mainstay(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(part), "`{part}` is not in: {error}");
}

/// One row in five is ill; `a` tells a little, `b` nothing; three rows per patient.
fn table(folder: &TempDir, rows: usize) -> String {
    let mut text = String::from("a,b,patient,y\n");
    for i in 0..rows {
        let ill = i % 5 == 0;
        let noise = ((i * 7919) % 101) as f64 / 101.0;
        let a = noise * 3.0 + if ill { 2.5 } else { 0.0 };
        let class = if ill { "ill" } else { "well" };
        let _ = writeln!(text, "{a:.4},{},p{},{class}", (i * 37) % 11, i / 3);
    }
    let path = folder.path().join("data.csv");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn evaluate_gives_every_metric_and_says_why_one_is_not_defined() {
    let folder = TempDir::new().unwrap();
    let data = table(&folder, 90);
    let model = folder.path().join("m.json");
    let model = model.to_str().unwrap();
    let fit =
        ["fit", &data, "--target", "y", "--drop", "patient", "-o", model, "--positive", "ill"];
    out(&mainstay(&fit));
    let judge = ["evaluate", model, &data, "--json", "--threshold", "0.2", "--cost", "fp=1,fn=5"];
    let found = json(&judge);
    // The counts at the threshold, from the confusion matrix: rows are the true classes well, ill.
    let cell = |i: usize, j: usize| found["confusion"][i][j].as_f64().unwrap();
    let close = |name: &str, value: f64| {
        let shown = found["metrics"][name].as_f64().unwrap();
        assert!((shown - value).abs() < 1e-12, "{name}: {shown} and {value}");
    };
    close("cost", (cell(0, 1) + 5.0 * cell(1, 0)) / 90.0);
    close("net_benefit", (cell(1, 1) - cell(0, 1) * 0.25) / 90.0);
    close("sensitivity", cell(1, 1) / 18.0);
    close("accuracy", (cell(0, 0) + cell(1, 1)) / 90.0);
    let svm = folder.path().join("svm.json");
    let svm = svm.to_str().unwrap();
    let fit = ["fit", &data, "--target", "y", "--drop", "patient", "-o", svm, "-m", "stable-svm"];
    mainstay(&fit);
    let text = out(&mainstay(&["evaluate", svm, &data]));
    assert!(text.contains("AUC"), "{text}");
    assert!(text.contains("the model gives no probabilities"), "{text}");
    let svm_found = json(&["evaluate", svm, &data, "--json"]);
    assert!(svm_found["metrics"]["log_loss"].is_null());
    assert_eq!(svm_found["undefined"]["brier"], "the model gives no probabilities");
    fails(&["evaluate", model, &data, "--threshold", "1.5"], "between 0 and 1");
    fails(&["evaluate", model, &data, "--cost", "fp=-1"], "at least 0");
    fails(&["evaluate", svm, &data, "--threshold", "0.5"], "gives probabilities");
}

/// Balanced accuracy of pooled predictions does not climb with the number of folds: a fold of one row counts as one row.
#[test]
fn held_out_rows_are_judged_together_whatever_the_number_of_folds() {
    let folder = TempDir::new().unwrap();
    let data = table(&folder, 60);
    let judged = |k: &str| {
        let args = ["fit", &data, "--target", "y", "--drop", "patient", "--cv", k, "--json"];
        json(&args)["cross_validation"].clone()
    };
    let (few, all) = (judged("3"), judged("60"));
    assert_eq!(all["folds"], 60);
    for name in ["accuracy", "balanced_accuracy", "auc", "log_loss"] {
        let (a, b) = (few[name].as_f64().unwrap(), all[name].as_f64().unwrap());
        assert!((a - b).abs() < 0.2, "{name}: {a} with 3 folds, {b} with 60");
        let range = &few["intervals"][name];
        let (low, high) = (range["low"].as_f64().unwrap(), range["high"].as_f64().unwrap());
        assert!(low <= a && a <= high && low < high, "{name}: {a} in {range}");
    }
}

#[test]
fn groups_stay_in_one_fold_and_are_no_feature() {
    let folder = TempDir::new().unwrap();
    let data = table(&folder, 60);
    let args = ["fit", &data, "--target", "y", "--groups", "patient", "--cv", "5", "--json"];
    let found = json(&args);
    assert_eq!(found["features"], 2);
    // Nor where rows are read in passes, which hold nothing out.
    let streamed = ["fit", &data, "--target", "y", "--groups", "patient", "--stream", "--json"];
    assert_eq!(json(&streamed)["features"], 2);
    fails(&["fit", &data, "--target", "y", "--groups", "ward", "--stream"], "ward");
    let audit = ["audit", &data, "--target", "y", "--repeats", "1", "--planted", "2", "--json"];
    let grouped = json(&[&audit[..], &["--groups", "patient"]].concat());
    assert_eq!(grouped["rows"].as_array().unwrap().len(), 60);
    assert_ne!(grouped, json(&[&audit[..], &["--drop", "patient"]].concat()));
    fails(&[&audit[..], &["--groups", "ward"]].concat(), "ward");
    let base = ["fit", &data, "--target", "y", "--cv", "30", "--groups", "patient"];
    fails(&base, "only 20 groups");
    fails(&["fit", &data, "--target", "y", "--cv", "5", "--groups", "y"], "y");
    fails(&["fit", &data, "--target", "y", "--cv", "5", "--groups", "ward"], "ward");
    // Every class in a group of its own: whoever holds it out has none to learn from.
    let text: String = (0..40).fold("a,g,y\n".into(), |mut text: String, i| {
        let _ = writeln!(text, "{i},g{},{}", i % 2, 7 + i % 2);
        text
    });
    let path = folder.path().join("two.csv");
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    fails(&["fit", path, "--target", "y", "--cv", "2", "--groups", "g"], "in one group");
    fails(&["fit", path, "--target", "y", "--cv", "2", "--groups", "g"], "class `7`");
}

#[test]
fn equal_rows_are_kept_together_with_a_note() {
    let folder = TempDir::new().unwrap();
    let data = table(&folder, 60);
    let text = fs::read_to_string(&data).unwrap();
    let again: Vec<&str> = text.lines().skip(1).take(10).collect();
    fs::write(&data, format!("{text}{}\n", again.join("\n"))).unwrap();
    let args = ["fit", &data, "--target", "y", "--drop", "patient", "--cv", "5"];
    let shown = out(&mainstay(&args));
    assert!(shown.contains("10 rows are the same as an earlier one"), "{shown}");
}

#[test]
fn a_comparison_is_judged_by_the_metric_that_suits_or_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let data = table(&folder, 90);
    let args = |more: &[&str]| {
        let mut all = vec!["compare", &data, "--target", "y", "--groups", "patient", "--json"];
        all.extend(["--repeats", "2", "--threat", "label_noise", "--without", "missing-cv"]);
        all.extend(more);
        json(&all)
    };
    let usual = args(&[]);
    assert_eq!(usual["settings"]["metric"], "auc");
    assert_eq!(usual["threats"].as_array().unwrap().len(), 1);
    let command = usual["settings"]["command"].as_str().unwrap();
    assert!(command.contains("--groups patient") && command.contains("--threat label_noise"));
    let asked = args(&["--metric", "balanced-accuracy"]);
    assert_eq!(asked["settings"]["metric"], "balanced_accuracy");
    // The same cells, judged otherwise.
    assert_eq!(asked["cells"], usual["cells"]);
    let stress = ["stress", &data, "--target", "y", "--drop", "patient", "--repeats", "2"];
    let stress = [&stress[..], &["-m", "l2", "--threat", "label_noise"]].concat();
    // All methods give probabilities, four rows in five are of one class: log loss.
    assert!(out(&mainstay(&stress)).contains("mean log loss"));
    let wrong = [&stress[..], &["--metric", "cost"]].concat();
    fails(&wrong, "cannot be ranked");
    fails(&["compare", &data, "--target", "y", "--metric", "acuracy"], "accuracy");
    fails(&["compare", &data, "--target", "y", "--threat", "rain"], "no threat `rain`");
}

/// The sign of x is the class, apart from three rows of weight 0: by weight every row is right.
#[test]
fn the_training_line_counts_rows_by_their_weights() {
    let folder = TempDir::new().unwrap();
    let mut text = String::from("x,y,w\n");
    for i in 0..60 {
        let (x, wrong) = (f64::from(i) - 29.5, i % 20 == 7);
        let class = if (x > 0.0) == wrong { "well" } else { "ill" };
        let _ = writeln!(text, "{x},{class},{}", if wrong { 0 } else { 1 + i % 2 });
    }
    let data = folder.path().join("w.csv");
    fs::write(&data, text).unwrap();
    let fit = ["fit", data.to_str().unwrap(), "-t", "y", "--weights", "w", "--json"];
    for more in [&[][..], &["--stream"][..]] {
        let training = &json(&[&fit, more].concat())["training"];
        assert_eq!(
            (training["accuracy"].as_f64(), training["auc"].as_f64()),
            (Some(1.0), Some(1.0))
        );
        // Counts stay counts of rows.
        assert_eq!((&training["rows"], &training["confusion"][0][1]), (&60.into(), &2.into()));
    }
}
