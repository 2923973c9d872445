//! `audit` and `validate` as a user meets them.
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
}

/// A hundred patients, two measurements that tell ill from well; rows 8 and 41 carry the wrong label, row 3 has none.
fn patients(folder: &TempDir) -> String {
    let mut csv = String::from("patient,a,b,state\n");
    for i in 0..100_u32 {
        let ill = i % 2 == 1;
        let side = if ill { 4.0 } else { 0.0 };
        let (a, b) = (side + f64::from((i * 37) % 19) / 9.0, side + f64::from((i * 11) % 17) / 8.0);
        let wrong = i == 7 || i == 40;
        let state = match (i, ill != wrong) {
            (2, _) => "",
            (_, true) => "ill",
            (_, false) => "well",
        };
        writeln!(csv, "P{i:03},{a},{b},{state}").unwrap();
    }
    let path = folder.path().join("patients.csv");
    fs::write(&path, csv).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_audit_names_wrong_labels_by_row_and_identifier() {
    let folder = TempDir::new().unwrap();
    let data = patients(&folder);
    let out = folder.path().join("suspects.csv");
    let out = out.to_str().unwrap();
    let common = ["audit", &data, "-t", "state", "--id", "patient", "--drop-unlabelled"];
    let quick = ["--repeats", "3", "--planted", "3", "-o", out];
    let shown = text(&mainstay(&[&common[..], &quick].concat()));
    assert!(shown.contains("labels look wrong") && shown.contains("flipped on purpose"), "{shown}");
    let table = fs::read_to_string(out).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("row,patient,label,looks_like,wrong,stability,flagged"));
    let first: Vec<&str> = lines.by_ref().take(2).collect();
    let starts = |text: &str| first.iter().any(|line| line.starts_with(text));
    assert!(starts("8,P007,well,ill,") && starts("41,P040,ill,well,"), "{first:?}");
    assert_eq!(table.lines().count(), 100);
    let json = text(&mainstay(&[&common[..], &quick, &["--json"]].concat()));
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["rows"].as_array().unwrap().len(), 99);
    assert!(value["rows"][0]["id"]["patient"].is_string());
    assert!(value["estimate"]["low"].as_f64() <= value["estimate"]["high"].as_f64());
    assert!(value["classes"][0]["class"] == "ill");
}

#[test]
fn an_audit_refuses_what_it_cannot_do() {
    let folder = TempDir::new().unwrap();
    let data = patients(&folder);
    let base = ["audit", &data, "-t", "state", "--id", "patient", "--drop-unlabelled"];
    fails(&mainstay(&[&base[..], &["--precision", "1.5"]].concat()), "`precision`");
    fails(&mainstay(&[&base[..], &["--method", "no-such"]].concat()), "no method `no-such`");
    fails(&mainstay(&[&base[..], &["--set", "alpha=1"]].concat()), "--method");
}

#[test]
fn a_validation_tells_apparent_from_corrected() {
    let folder = TempDir::new().unwrap();
    let data = patients(&folder);
    let out = folder.path().join("rows.csv");
    let out = out.to_str().unwrap();
    let common = [
        "validate",
        &data,
        "-t",
        "state",
        "--id",
        "patient",
        "--drop-unlabelled",
        "--bootstrap",
        "20",
        "--repeats",
        "2",
        "--curve-repeats",
        "2",
    ];
    let shown = text(&mainstay(&[&common[..], &["-o", out]].concat()));
    for part in
        ["to expect on new rows", "optimism", "shrinkage factor", "instability", "twice the rows"]
    {
        assert!(shown.contains(part), "`{part}` is not in: {shown}");
    }
    let table = fs::read_to_string(out).unwrap();
    let header = "row,patient,label,probability,low,high,mean_absolute_error,flips";
    assert_eq!(table.lines().next(), Some(header));
    assert_eq!(table.lines().count(), 100);
    // Row 3 has no label and is left out: the third line is row 4 of the file.
    assert!(table.lines().nth(3).unwrap().starts_with("4,P003,"));
    assert!(!folder.path().join("rows.csv.refits").exists());
    let json = text(&mainstay(&[&common[..], &["--json", "--threads", "2"]].concat()));
    let value: Value = serde_json::from_str(&json).unwrap();
    let auc = value["metrics"].as_array().unwrap().iter().find(|m| m["metric"] == "auc").unwrap();
    let number = |name: &str| auc[name].as_f64().unwrap();
    assert!((number("apparent") - number("optimism") - number("corrected")).abs() < 1e-12);
    assert_eq!(value["bootstrap"], 20);
    let again = text(&mainstay(&[&common[..], &["--json", "--threads", "1"]].concat()));
    assert_eq!(json, again);
}

#[test]
fn refits_of_an_interrupted_validation_are_taken_over() {
    let folder = TempDir::new().unwrap();
    let data = patients(&folder);
    let out = folder.path().join("rows.csv");
    let common = [
        "validate",
        &data,
        "-t",
        "state",
        "--drop",
        "patient",
        "--drop-unlabelled",
        "--bootstrap",
        "20",
        "--repeats",
        "2",
        "--curve-repeats",
        "0",
        "--json",
    ];
    let whole = text(&mainstay(&common));
    // The journal of a run that was stopped: begun by a run that cannot write its table.
    fs::create_dir(&out).unwrap();
    let failed = mainstay(&[&common[..], &["-o", out.to_str().unwrap()]].concat());
    assert_eq!(failed.status.code(), Some(2));
    let journal = folder.path().join("rows.csv.refits");
    assert!(journal.exists());
    fs::remove_dir(&out).unwrap();
    let output = mainstay(&[&common[..], &["-o", out.to_str().unwrap()]].concat());
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("31 refits of an interrupted run are taken over"), "{notes}");
    assert_eq!(text(&output), whole);
    assert!(!journal.exists());
}

#[test]
fn a_validation_refuses_what_it_cannot_do() {
    let folder = TempDir::new().unwrap();
    let data = patients(&folder);
    let base = ["validate", &data, "-t", "state", "--drop", "patient", "--drop-unlabelled"];
    fails(&mainstay(&[&base[..], &["--metric", "acu"]].concat()), "no metric `acu`");
    fails(&mainstay(&[&base[..], &["--bootstrap", "2"]].concat()), "`bootstrap`");
    fails(&mainstay(&[&base[..], &["--folds", "60"]].concat()), "class ill has");
    fails(&mainstay(&[&base[..], &["--set", "alpha=-1"]].concat()), "`alpha`");
}

/// Classes 1 and 2 have the indices 0 and 1.
#[test]
fn a_class_whose_name_is_the_index_of_another_is_named_right() {
    let folder = TempDir::new().unwrap();
    let mut csv = String::from("a,state\n");
    for i in 0..40_u32 {
        let _ = writeln!(csv, "{},{}", i * 37 % 101, if i < 8 { 1 } else { 2 });
    }
    let data = folder.path().join("numbers.csv");
    fs::write(&data, &csv).unwrap();
    let args = ["validate", data.to_str().unwrap(), "-t", "state", "--folds", "9"];
    fails(&mainstay(&args), "class 1 has 8 rows");
}

/// Every patient has two rows; the column that names them is no feature, and never on both sides of a split.
#[test]
fn groups_of_a_validation_stay_together() {
    let folder = TempDir::new().unwrap();
    let mut csv = String::from("patient,a,b,state\n");
    for i in 0..120_u32 {
        let (a, b) = (f64::from(i * 37 % 101), f64::from(i * 53 % 97));
        let state = if a + b > 95.0 { "ill" } else { "well" };
        let _ = writeln!(csv, "P{:03},{a},{b},{state}", i / 2);
    }
    let data = folder.path().join("twice.csv");
    fs::write(&data, &csv).unwrap();
    let few = ["--bootstrap", "10", "--repeats", "1", "--curve-repeats", "0", "--json"];
    let base = ["validate", data.to_str().unwrap(), "-t", "state"];
    let value = |more: &[&str]| -> Value {
        serde_json::from_str(&text(&mainstay(&[&base[..], &few[..], more].concat()))).unwrap()
    };
    let (bound, without) = (value(&["--groups", "patient"]), value(&["--drop", "patient"]));
    // The fit to all rows is the same, the splits are not.
    assert_eq!(bound["metrics"][0]["apparent"], without["metrics"][0]["apparent"]);
    assert_ne!(bound["metrics"], without["metrics"]);
    fails(&mainstay(&[&base[..], &few[..], &["--groups", "state"]].concat()), "state");
}
