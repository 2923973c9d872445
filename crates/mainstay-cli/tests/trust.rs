//! `show`, `trust`, `fit --calibrate` and the units of `certify`, as a user meets them.
#![cfg(test)]
#![expect(clippy::format_push_string, reason = "small tables are made in the shortest way")]

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(args: &[&str]) -> String {
    let output = mainstay(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(&[args, &["--json"]].concat())).unwrap()
}

fn fails(args: &[&str], part: &str) {
    let output = mainstay(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(part), "`{part}` is not in: {error}");
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

/// Sixty patients: weight around 100, a ward of three, ill where both say so, with a few exceptions.
fn patients() -> String {
    let mut text = String::from("weight,ward,ill\n");
    for i in 0..60_u8 {
        let weight = 100.0 + 20.0 * (f64::from(i) * 0.7).sin() + f64::from(i % 7);
        let ward = ["east", "north", "west"][usize::from(i) % 3];
        let ill = (weight > 103.0) != (i % 11 == 0);
        text.push_str(&format!("{weight},{ward},{}\n", if ill { "yes" } else { "no" }));
    }
    text
}

#[test]
fn a_model_shows_weights_odds_ratios_and_what_it_holds() {
    let folder = Folder::new();
    let data = folder.write("p.csv", &patients());
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "ill", "--reference", "ward=east", "-o", &model]);
    let found = json(&["show", &model]);
    let features = found["coefficients"][0]["features"].as_array().unwrap();
    assert_eq!(features.len(), 3);
    let weight = &features[0];
    let (w, per_sd) = (weight["weight"].as_f64().unwrap(), weight["per_sd"].as_f64().unwrap());
    let sd = found["training"]["features"]["deviations"][0].as_f64().unwrap();
    assert!((per_sd - w * sd).abs() < 1e-9 * per_sd.abs());
    assert!((weight["odds_ratio"].as_f64().unwrap() - w.exp()).abs() < 1e-9);
    assert_eq!(found["references"][0][1], "east");
    assert_eq!(found["training"]["rows"], 60);
    let text = out(&["show", &model]);
    assert!(text.contains(concat!("mainstay ", env!("CARGO_PKG_VERSION"))), "{text}");
    for part in
        ["ward: weights are relative to `east`", "log odds of `yes`", "(intercept)", "ranges"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(out(&["show", &model, "--format", "markdown"]).contains("| (intercept) |"));
    let steady = json(&["show", &model, "--bootstrap", "30", "--data", &data]);
    let first = &steady["coefficients"][0]["features"][0]["steadiness"];
    assert!(first["low"].as_f64().unwrap() < first["high"].as_f64().unwrap());
    assert!(first["same_sign"].as_f64().unwrap() > 0.9);
    fails(&["show", &model, "--bootstrap", "3", "--data", &data], "between 20 and");
    let silent = folder.path("s.json");
    out(&["fit", &data, "-t", "ill", "--no-training-rows", "-o", &silent]);
    assert!(out(&["show", &silent]).contains("nothing about single ones"));
}

/// The patients with a weight of 0, 1 or 2, and the same rows as often as their weight says, none of weight 0.
fn weighted_patients() -> (String, String) {
    let text = patients();
    let (head, rows) = text.split_once('\n').unwrap();
    let (mut weighted, mut present) = (format!("{head},w\n"), format!("{head},w\n"));
    for (i, row) in rows.lines().enumerate() {
        let weight = [1, 0, 2, 1][i % 4];
        weighted.push_str(&format!("{row},{weight}\n"));
        if weight > 0 {
            present.push_str(&format!("{row},{weight}\n"));
        }
    }
    (weighted, present)
}

#[test]
fn refits_take_the_weights_of_the_rows() {
    let folder = Folder::new();
    let (weighted, present) = weighted_patients();
    let (data, present) = (folder.write("w.csv", &weighted), folder.write("p.csv", &present));
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "ill", "--weights", "w", "-o", &model]);
    let shown = |args: &[&str]| {
        let given = ["show", &model, "--bootstrap", "20", "--json"];
        let output = mainstay(&[&given, args].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (found["coefficients"][0]["features"][0]["steadiness"].clone(), said)
    };
    let (with, quiet) = shown(&["--data", &data, "--weights", "w"]);
    let (without, told) = shown(&["--data", &data]);
    assert!(!quiet.contains("rows"), "{quiet}");
    assert!(told.contains("rows count, the model was fitted on 45"), "{told}");
    assert_ne!(with, without);
    // A row of weight 0 is never drawn.
    assert_eq!(shown(&["--data", &present, "--weights", "w"]).0, with);
    let (_, told) = shown(&["--data", &present]);
    assert!(told.contains("other row weights"), "{told}");
    let trusted = |train: &str, weights: &[&str]| {
        let given = ["trust", &model, &data, "--refits", "20", "--train", train];
        json(&[&given, weights].concat())
    };
    let with = trusted(&data, &["--weights", "w"]);
    assert_eq!(trusted(&present, &["--weights", "w"])["probability_low"], with["probability_low"]);
    assert_eq!(trusted(&present, &["--weights", "w"])["p_yes"], with["p_yes"]);
    assert_ne!(trusted(&data, &[])["probability_low"], with["probability_low"]);
    fails(&["trust", &model, &data, "--weights", "w"], "--train");
    fails(&["show", &model, "--weights", "w"], "--data");
}

#[test]
fn a_target_that_the_rows_lack_is_an_error_of_trust() {
    let folder = Folder::new();
    let data = folder.write("p.csv", &patients());
    let new = folder.write("new.csv", "weight,ward\n125,east\n103,west\n");
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "ill", "-o", &model]);
    fails(&["trust", &model, &data, "--target", "sick"], "sick");
    // Rows without a class need none, and --target may be meant for the training rows.
    out(&["trust", &model, &new]);
    out(&["trust", &model, &new, "--target", "ill", "--train", &data, "--refits", "20"]);
}

#[test]
fn a_machine_without_probabilities_has_them_after_calibration() {
    let folder = Folder::new();
    let data = folder.write("p.csv", &patients());
    let (plain, model) = (folder.path("plain.json"), folder.path("m.json"));
    out(&["fit", &data, "-t", "ill", "-m", "conic", "-o", &plain]);
    fails(&["predict", &plain, &data, "--proba"], "--calibrate");
    out(&["fit", &data, "-t", "ill", "-m", "conic", "--calibrate", "-o", &model]);
    let found = json(&["predict", &model, &data, "--proba"]);
    for i in 0..60 {
        let yes = found["probability_yes"][i].as_f64().unwrap();
        assert_eq!(found["predicted"][i] == "yes", yes > 0.5);
    }
    assert!(out(&["show", &model]).contains("calibrated: sigmoid map of the scores of 60 rows"));
    fails(&["fit", &data, "-t", "ill", "-m", "robust-logistic", "--calibrate"], "of its own");
    fails(&["fit", &data, "-t", "ill", "--calibrate"], "of its own");
}

#[test]
fn trust_needs_the_model_file_only_and_says_more_with_the_training_rows() {
    let folder = Folder::new();
    let data = folder.write("p.csv", &patients());
    let new = folder.write("new.csv", "weight,ward\n125,east\n103,west\n900,east\n");
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "ill", "-o", &model]);
    let alone = json(&["trust", &model, &new]);
    assert_eq!(alone["verdict"][2], "unlike the training data");
    assert_eq!(alone["outside"][2], "weight");
    assert!(alone["flip_sd"][0].as_f64().unwrap() > alone["flip_sd"][1].as_f64().unwrap());
    assert!(alone.get("p_yes").is_none());
    let full = json(&["trust", &model, &new, "--train", &data, "--error", "weight=2"]);
    assert!(full["p_yes"][0].as_f64().unwrap() > full["p_no"][0].as_f64().unwrap());
    assert!(full["probability_low"][0].as_f64() <= full["probability_high"][0].as_f64());
    // One measurement error is 2 in the units of the column.
    let sd = json(&["show", &model])["training"]["features"]["deviations"][0].as_f64().unwrap();
    let (errors, sds) =
        (full["flip_error"][0].as_f64().unwrap(), full["flip_sd"][0].as_f64().unwrap());
    assert!((errors * 2.0 - sds * sd).abs() < 1e-6 * errors);
    let blank = json(&["trust", &model, &data, "--abstain"]);
    for i in 0..60 {
        assert_eq!(blank["predicted"][i].is_null(), blank["verdict"][i] != "stands");
    }
    assert!(blank["accuracy_where_it_stands"].as_f64().unwrap() > 0.8);
    fails(&["trust", &model, &new, "--error", "ward=1"], "not a column of numbers");
}

/// Weights -3, -1, 1, 3 around 100: the boundary is at 100, the standard deviation is the root of 5.
#[test]
fn certify_measures_in_standard_deviations_and_deletes_to_the_mean() {
    let folder = Folder::new();
    let data = folder.write("line.csv", "x,y\n97,a\n99,a\n101,b\n103,b\n");
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "y", "-o", &model]);
    let sizes = |args: &[&str]| -> Vec<f64> {
        let found = json(&[&["certify", &model, &data], args].concat());
        (0..4).map(|i| found["radius_l2"][i].as_f64().unwrap()).collect()
    };
    let apart = [3.0, 1.0, 1.0, 3.0];
    for (i, far) in apart.into_iter().enumerate() {
        assert!((sizes(&[])[i] - far / 5.0_f64.sqrt()).abs() < 1e-6);
        assert!((sizes(&["--units", "raw"])[i] - far).abs() < 1e-6);
        assert!((sizes(&["--units", "error", "--error", "x=0.5"])[i] - 2.0 * far).abs() < 1e-6);
    }
    // Set to 0, every row would be called a; set to the mean, rows of class a stay on their side.
    let found = json(&["certify", &model, &data, "--witness", "deletions"]);
    let moved: Vec<f64> = (0..4).filter_map(|i| found["witness_x"][i].as_f64()).collect();
    assert!(moved.iter().all(|v| (v - 100.0).abs() < 1e-9), "{moved:?}");
    fails(&["certify", &model, &data, "--units", "error"], "go together");
}

#[test]
fn a_categorical_column_is_changed_as_a_whole() {
    let folder = Folder::new();
    let mut text = String::from("x,ward,ill\n");
    for i in 0..40 {
        let ward = if i % 2 == 0 { "east" } else { "west" };
        text.push_str(&format!(
            "{},{ward},{}\n",
            (i / 2) % 5,
            if i % 2 == 0 { "no" } else { "yes" }
        ));
    }
    let data = folder.write("w.csv", &text);
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "ill", "-o", &model]);
    let found = json(&["certify", &model, &data, "--witness", "deletions", "--value", "ward=3"]);
    for i in 0..40 {
        assert_eq!(found["category_flips"][i], 1.0, "the other ward flips row {i}");
    }
    fails(&["certify", &model, &data, "--value", "ward=east=1"], "no column `ward=east`");
}
