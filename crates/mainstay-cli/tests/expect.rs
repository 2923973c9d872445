//! What a user says may be wrong with the data: `--expect`, `--impute gaussian`, `--drop-far`.
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

/// Eighty rows: `b` follows `a`, and the class follows both; some cells of `b` are empty, one row is far off.
fn rows(folder: &TempDir, gaps: bool, far: bool) -> String {
    let mut csv = String::from("a,b,c,y\n");
    for i in 0..80_u32 {
        let a = f64::from((i * 37) % 41) / 4.0 - 5.0;
        let b = a + f64::from((i * 13) % 7) / 5.0;
        let c = f64::from((i * 29) % 17);
        let y = if a + b > f64::from((i * 11) % 5) - 2.0 { "ill" } else { "well" };
        let a = if far && i == 10 { a * 1000.0 + 500.0 } else { a };
        if gaps && i % 4 == 0 {
            writeln!(csv, "{a},,{c},{y}").unwrap();
        } else {
            writeln!(csv, "{a},{b},{c},{y}").unwrap();
        }
    }
    let path = folder.path().join("rows.csv");
    fs::write(&path, csv).unwrap();
    path.to_str().unwrap().to_owned()
}

fn params(folder: &TempDir, data: &str, more: &[&str]) -> (Value, String) {
    let model = folder.path().join("model.json");
    let model = model.to_str().unwrap();
    let said = text(&mainstay(&[&["fit", data, "-t", "y", "-o", model], more].concat()));
    let file: Value = serde_json::from_str(&fs::read_to_string(model).unwrap()).unwrap();
    (file["model"]["params"].clone(), said)
}

#[test]
fn what_is_expected_becomes_the_parameters_that_are_for_it() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, false, false);
    let all =
        ["--expect", "wrong-labels=0.1", "--expect", "missing=0.25", "--expect", "errors=0.3"];
    let of = |method: &str| params(&folder, &data, &[&["-m", method], all.as_slice()].concat());
    let (told, _) = of("robust-logistic");
    assert_eq!(
        (&told["wrong_labels"], &told["missing"], &told["errors"]),
        (&Value::from(0.1), &Value::from(0.25), &Value::from(0.3))
    );
    // A quarter of three features.
    let (told, said) = of("missing-lp");
    assert_eq!(told["budget"], Value::from(0.75));
    assert!(said.contains("missing-lp has no use for `wrong-labels`"), "{said}");
    let (told, _) = of("conic");
    assert_eq!(told["kappa"], Value::from(0.1));
    let (told, said) = of("ellipsoid-svm");
    assert_eq!(told["uncertainty"], Value::from(0.3));
    assert!(said.contains("no use for `missing`"), "{said}");
}

#[test]
fn wrong_labels_alone_are_met_by_the_average_of_several_fits() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, false, false);
    let wrong = ["-m", "robust-logistic", "--expect", "wrong-labels=0.1"];
    let of = |more: &[&str]| params(&folder, &data, &[wrong.as_slice(), more].concat());
    let (told, said) = of(&[]);
    assert_eq!(told["correction"], "averaged");
    assert!(said.contains("`correction` = \"averaged\""), "{said}");
    for more in [
        vec!["--set", "correction=forward"],
        vec!["--set", "alpha=0.1"],
        vec!["--expect", "missing=0.1"],
        vec!["--expect", "errors=0.1"],
    ] {
        assert_eq!(of(&more).0["correction"], "forward", "{more:?}");
    }
    let worst = of(&["--set", "protect=worst", "--set", "correction=after"]).0;
    assert_eq!(worst["correction"], "after");
}

#[test]
fn an_expectation_that_cannot_be_read_is_refused() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, false, false);
    let base = ["fit", &data, "-t", "y", "-m", "robust-logistic"];
    for (more, part) in [
        (vec!["--expect", "missing"], "has no level"),
        (vec!["--expect", "rain=0.1"], "no such threat"),
        (vec!["--expect", "missing=much"], "not a number"),
        (vec!["--expect", "missing=1.5"], "`missing` = 1.5"),
        (vec!["--expect", "missing=0.1", "--set", "missing=0.2"], "set already"),
        (vec!["--drop-far", "0.7"], "below 0.5"),
        (vec!["--drop-far", "many"], "must be `auto`"),
    ] {
        let found = mainstay(&[base.as_slice(), more.as_slice()].concat());
        let error = String::from_utf8_lossy(&found.stderr).into_owned();
        assert_eq!(found.status.code(), Some(2), "{error}");
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn a_model_with_gaussian_imputation_predicts_rows_with_missing_cells() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, true, false);
    let model = folder.path().join("model.json");
    let model = model.to_str().unwrap();
    for method in ["l2", "conic", "robust-logistic"] {
        let told = ["fit", &data, "-t", "y", "-m", method, "--impute", "gaussian", "-o", model];
        text(&mainstay(&told));
        let table = text(&mainstay(&["predict", model, &data]));
        assert_eq!(table.lines().count(), 81, "{method}");
    }
    let nothing = folder.path().join("nothing.csv");
    fs::write(&nothing, "a,b,c\n,,\n").unwrap();
    text(&mainstay(&["fit", &data, "-t", "y", "--impute", "gaussian", "-o", model]));
    let table = text(&mainstay(&["predict", model, nothing.to_str().unwrap(), "--proba"]));
    // A row of which nothing is measured gets the base rate.
    let csv = fs::read_to_string(&data).unwrap();
    let rate = csv.lines().filter(|line| line.ends_with("well")).count() as f64 / 80.0;
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let cells: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    let at = header.iter().position(|name| name.contains("well") && *name != "prediction");
    let found: f64 = cells[at.unwrap()].parse().unwrap();
    assert!((found - rate).abs() < 1e-6, "{found} {rate}: {table}");
}

#[test]
fn validation_and_audit_fill_cells_from_the_other_features() {
    let folder = TempDir::new().unwrap();
    let holey = rows(&folder, true, false);
    let short: [&[&str]; 2] = [
        &["validate", "--bootstrap", "20", "--repeats", "1"],
        &["audit", "--repeats", "2", "--planted", "2"],
    ];
    let found = |command: &[&str], data: &str, more: &[&str]| -> Value {
        let told = [command, &["-t", "y", "--json", data], more].concat();
        serde_json::from_str(&text(&mainstay(&told))).unwrap()
    };
    let gaussian = ["--impute", "gaussian"];
    for command in short {
        assert!(found(command, &holey, &gaussian).is_object(), "{command:?}");
        let refused = mainstay(&[command, &["-t", "y", &holey]].concat());
        assert_eq!(refused.status.code(), Some(2), "{command:?}");
    }
    // A model that fills cells is fitted again, filling cells.
    let model = folder.path().join("m.json");
    let model = model.to_str().unwrap();
    text(&mainstay(&["fit", &holey, "-t", "y", "--impute", "gaussian", "-o", model]));
    let shown = text(&mainstay(&["show", model, "--bootstrap", "20", "--data", &holey]));
    assert!(shown.contains("95 %"), "{shown}");
    let judged = text(&mainstay(&["trust", model, &holey, "--train", &holey, "--refits", "20"]));
    assert!(judged.lines().next().unwrap().contains("agreement"), "{judged}");
    // Where nothing is missing there is nothing to fill: the same figures, up
    // to the last digits of sums in another order.
    let whole = rows(&folder, false, false);
    for (command, figure) in short.into_iter().zip(["/metrics/4/corrected", "/estimate/count"]) {
        let [with, without] = [&gaussian[..], &[]].map(|more| {
            let read = found(command, &whole, more);
            read.pointer(figure).and_then(Value::as_f64).unwrap()
        });
        assert!((with - without).abs() < 1e-9, "{command:?}: {with} {without}");
    }
}

#[test]
fn gaussian_imputation_needs_a_hyperplane() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, true, false);
    let found = mainstay(&["fit", &data, "-t", "y", "-m", "regec", "--impute", "gaussian"]);
    assert_eq!(found.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&found.stderr).contains("linear models"));
}

#[test]
fn far_rows_are_left_out_and_named_by_their_number() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, false, true);
    let said = text(&mainstay(&["fit", &data, "-t", "y", "--drop-far", "auto"]));
    let line = said.lines().find(|line| line.starts_with("left out")).unwrap();
    assert!(line.contains("11"), "{line}");
}

#[test]
fn a_told_comparison_says_what_to_use_and_what_it_costs_to_be_wrong() {
    let folder = TempDir::new().unwrap();
    let data = rows(&folder, false, false);
    let base = ["compare", &data, "-t", "y", "--repeats", "2", "--expect", "missing=0.3"];
    let said = text(&mainstay(&base));
    assert!(
        said.contains("robust-logistic") && said.contains("If you expect missing=0.3"),
        "{said}"
    );
    let said = text(&mainstay(&[base.as_slice(), &["--json"]].concat()));
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["rows"][0]["method"], "l2");
    assert_eq!(found["rows"][0]["gain"], serde_json::json!([0.0, 0.0, 0.0, 0.0]));
    assert_eq!(found["truths"], serde_json::json!([0.0, 0.5, 1.0, 2.0]));
    let robust = |expect: &[&str]| -> Value {
        let told = [&["compare", &data, "-t", "y", "--repeats", "1", "--json"], expect].concat();
        let found: Value = serde_json::from_str(&text(&mainstay(&told))).unwrap();
        let rows = found["rows"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["method"] == "robust-logistic");
        row.unwrap()["parameters"]["correction"].clone()
    };
    assert_eq!(robust(&["--expect", "wrong-labels=0.1"]), "averaged");
    assert_eq!(robust(&["--expect", "wrong-labels=0.1", "--expect", "missing=0.1"]), Value::Null);
    let refused = mainstay(&["compare", &data, "-t", "y", "--expect", "missing=0"]);
    assert_eq!(refused.status.code(), Some(2));
}
