//! The binary as a user meets it: exit codes, one clear line for every mistake, nothing half-written.
//!
//! Longer than other files: a list of tests, which share one way to call the binary in a folder of its own.
#![cfg(test)]
#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    clippy::cast_sign_loss,
    reason = "small tables are made in the shortest way"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The command failed with code 2 and one line that contains `part`; nothing went to standard output.
fn fails(output: &Output, part: &str) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(error.contains(part), "`{part}` is not in: {error}");
    assert!(output.stdout.is_empty());
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Colour decides the class, size nearly does.
const SHAPES: &str =
    "size,colour,kind\n1.5,red,a\n2.5,red,a\n2.0,green,a\n4.0,blue,b\n3.5,blue,b\n5.0,green,b\n";

fn fit_shapes(folder: &Folder) -> String {
    let data = folder.write("shapes.csv", SHAPES);
    let model = folder.text("model.json");
    let output = mainstay(&["fit", &data, "--target", "kind", "-o", &model]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    model
}

#[test]
fn what_a_fit_found_is_told_in_one_line() {
    // With all rows counted the stable fit is the classical one by definition.
    let text = out(&mainstay(&["fit", "--method", "stable-svm", "--set", "k=1.0"]));
    let found = text.lines().find(|line| line.starts_with("found ")).unwrap();
    assert!(found.contains("equals_classical yes"), "{found}");
    // What the user gave was not found.
    let text = out(&mainstay(&["fit", "--method", "l2", "--set", "alpha=0.0625"]));
    assert!(!text.contains("found "), "{text}");
    let text = out(&mainstay(&["fit", "--method", "l2", "--set", "alpha=cv"]));
    let found = text.lines().find(|line| line.starts_with("found ")).unwrap();
    assert!(found.contains("alpha "), "{found}");
}

#[test]
fn the_embedded_data_are_fitted_certified_and_judged() {
    let output = mainstay(&["fit", "--cv", "5", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["rows"], 569);
    assert_eq!(found["status"], "certified");
    assert!(found["dual_gap"].as_f64().unwrap() <= 1e-6);
    assert!(found["cross_validation"]["accuracy"].as_f64().unwrap() > 0.95);
}

#[test]
fn predictions_take_raw_rows_in_any_column_order() {
    let folder = Folder::new();
    let model = fit_shapes(&folder);
    let new = folder.write("new.csv", "extra,colour,size\n9,blue,4.2\n9,red,1.0\n9,purple,2.0\n");
    let result = folder.text("out.csv");
    let output = mainstay(&["predict", &model, &new, "--proba", "-o", &result]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&result).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("predicted,probability_a,probability_b"));
    assert!(lines.next().unwrap().starts_with("b,"));
    assert!(lines.next().unwrap().starts_with("a,"));
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("colour") && note.contains("not seen"), "{note}");

    let from_pipe = with_input(&["predict", &model, "-"], b"size,colour\n4.2,blue\n");
    assert_eq!(out(&from_pipe), "predicted\nb\n");
    let narrow = folder.write("narrow.csv", "size\n1\n");
    fails(&mainstay(&["predict", &model, &narrow]), "colour");
}

#[test]
fn evaluation_reports_rates_per_class() {
    let folder = Folder::new();
    let model = fit_shapes(&folder);
    let output = mainstay(&["evaluate", &model, &folder.text("shapes.csv"), "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["accuracy"], 1.0);
    assert_eq!(found["confusion"], serde_json::json!([[3, 0], [0, 3]]));
    assert_eq!(found["per_class"][0]["false_positive_rate"], 0.0);
    let text = out(&mainstay(&["evaluate", &model, &folder.text("shapes.csv")]));
    assert!(text.contains("balanced accuracy") && text.contains("confusion"));
}

#[test]
fn every_broken_input_gets_one_clear_line() {
    let folder = Folder::new();
    let fit = |name: &str, content: &[u8]| {
        let path = folder.write(name, content);
        mainstay(&["fit", &path, "--target", "y"])
    };
    fails(&fit("empty.csv", b""), "empty");
    fails(&fit("header.csv", b"x,y\n"), "no row");
    fails(&fit("ragged.csv", b"x,y\n1,a\n2\n3,b\n"), "line 3");
    fails(&fit("semicolon.csv", b"x;z\n1;a\n2;b\n"), "`y`");
    fails(&fit("twice.csv", b"x,x,y\n1,2,a\n2,3,b\n"), "`x`");
    fails(&fit("one.csv", b"x,y\n1,a\n2,a\n"), "class");
    fails(&fit("missing.csv", b"x,y\n1,a\n,b\n"), "row 2 of the data, column `x`");
    fails(&fit("infinite.csv", b"x,y\n1,a\ninf,b\n"), "column `x`");
    fails(&fit("nothing.csv", b"y\na\nb\n"), "column");
    fails(&fit("cut.csv.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1]), "cut.csv.gz");
    fails(&fit("cut.parquet", b"PAR1abcd"), "cut.parquet");
    fails(&mainstay(&["fit", &folder.text("absent.csv"), "--target", "y"]), "absent.csv");
    let good = folder.write("good.csv", "x,y\n1,a\n2,b\n");
    fails(&mainstay(&["fit", &good]), "--target");
    fails(&mainstay(&["fit", &good, "--target", "z"]), "z");
    fails(&mainstay(&["fit", &good, "--target", "y", "--method", "l3"]), "l3");
    fails(&mainstay(&["fit", &good, "--target", "y", "--set", "alpha=-1"]), "alpha");
    fails(&mainstay(&["fit", &good, "--target", "y", "--set", "beta=1"]), "beta");
    fails(&mainstay(&["fit", &good, "--target", "y", "--set", "alpha"]), "KEY=VALUE");
    fails(&mainstay(&["fit", &good, "--target", "y", "--cv", "7"]), "--cv");
}

#[test]
fn missing_cells_are_filled_when_asked() {
    let folder = Folder::new();
    let data = folder.write("gaps.csv", "x,c,y\n1,u,a\n,u,b\n3,,b\n2,v,a\n4,v,b\n");
    for rule in ["mean", "median", "most-frequent"] {
        let output = mainstay(&["fit", &data, "--target", "y", "--impute", rule, "--json"]);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["rows"], 5, "{rule}");
    }
    let output = mainstay(&["fit", &data, "--target", "y", "--impute", "drop", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["rows"], 3);
}

#[test]
fn a_damaged_model_is_refused_wherever_the_damage_is() {
    let folder = Folder::new();
    let model = fit_shapes(&folder);
    let bytes = fs::read(&model).unwrap();
    for position in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 4;
        let path = folder.write("damaged.json", &damaged);
        fails(&mainstay(&["predict", &path, &folder.text("shapes.csv")]), "damaged.json");
    }
    let cut = folder.write("cut.json", &bytes[..bytes.len() / 2]);
    fails(&mainstay(&["predict", &cut, &folder.text("shapes.csv")]), "cut.json");
}

#[test]
fn nothing_is_written_where_writing_fails() {
    let folder = Folder::new();
    let data = folder.write("shapes.csv", SHAPES);
    let nowhere = folder.text("no/such/folder/model.json");
    fails(&mainstay(&["fit", &data, "--target", "kind", "-o", &nowhere]), "model.json");
    if Path::new("/dev/full").exists() {
        let full = Command::new(env!("CARGO_BIN_EXE_mainstay"))
            .args(["methods"])
            .stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        assert_eq!(full.status.code(), Some(2));
    }
    assert_eq!(folder.names(), ["shapes.csv"]);
}

#[test]
fn a_failed_fit_leaves_the_old_model_alone() {
    let folder = Folder::new();
    let model = fit_shapes(&folder);
    let before = fs::read(&model).unwrap();
    let bad = folder.write("bad.csv", "x,y\n1,a\n2,a\n");
    fails(&mainstay(&["fit", &bad, "--target", "y", "-o", &model]), "class");
    assert_eq!(fs::read(&model).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_fit_that_is_not_certified_exits_with_1_and_still_saves() {
    let folder = Folder::new();
    let model = folder.text("rough.json");
    let output = mainstay(&["fit", "--set", "max_iter=1", "--set", "tol=1e-12", "-o", &model]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("NOT certified"));
    assert_eq!(mainstay(&["evaluate", &model]).status.code(), Some(0));
}

/// Logistic regression with an L2 penalty on standardised features, either way.
#[test]
fn standardising_first_is_the_same_as_a_penalty_on_standardised_features() {
    let loss = |args: &[&str]| {
        let output = mainstay(args);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        found["training"]["log_loss"].as_f64().unwrap()
    };
    let outside = loss(&["fit", "--json", "--set", "tol=1e-10"]);
    let inside = loss(&["fit", "--raw", "--json", "--set", "tol=1e-10", "--set", "normalize=true"]);
    let raw = loss(&["fit", "--raw", "--json", "--set", "tol=1e-10"]);
    assert!((outside - inside).abs() < 1e-5 && (outside - raw).abs() > 1e-3);
}

#[test]
fn sparse_files_go_through_the_same_door() {
    let folder = Folder::new();
    let data = folder.write("rows.libsvm", "+1 1:0.5 3:2\n-1 2:1\n+1 1:1.5\n-1 2:2 3:-1\n");
    let model = folder.text("model.json");
    assert_eq!(mainstay(&["fit", &data, "-o", &model]).status.code(), Some(0));
    let output = mainstay(&["predict", &model, &data]);
    assert_eq!(out(&output), "predicted\n1\n-1\n1\n-1\n");
    fails(&mainstay(&["evaluate", &model, &data, "--id", "x"]), "a LIBSVM file has none");
}

#[test]
fn every_command_explains_itself_with_an_example() {
    for command in ["fit", "predict", "evaluate", "certify", "show", "trust", "completions"] {
        let help = out(&mainstay(&[command, "--help"]));
        assert!(help.contains("Example"), "{command}");
        assert!(help.contains(&format!("mainstay {command}")), "{command}");
    }
    assert!(out(&mainstay(&["methods"])).contains("PenalizedClassifier"));
    assert!(out(&mainstay(&["datasets"])).contains("569"));
    assert!(out(&mainstay(&["--version"])).starts_with("mainstay "));
}

#[test]
fn same_input_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    let (one, two) = (folder.text("one.json"), folder.text("two.json"));
    let fit = |threads: &str, path: &str| {
        let args = ["fit", "--set", "alpha=cv", "--seed", "3", "--threads", threads, "-o", path];
        assert_eq!(mainstay(&args).status.code(), Some(0));
    };
    fit("1", &one);
    fit("2", &two);
    assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
}

#[test]
fn a_certificate_comes_with_a_witness_that_flips() {
    let folder = Folder::new();
    let data = folder.write("line.csv", "x,y\n-3,a\n-1,a\n1,b\n3,b\n");
    let model = folder.text("model.json");
    assert_eq!(mainstay(&["fit", &data, "--target", "y", "-o", &model]).status.code(), Some(0));
    let certify = ["certify", &model, &data, "--units", "raw", "--witness", "l2", "--json"];
    let table = out(&mainstay(&certify));
    let found: serde_json::Value = serde_json::from_str(&table).unwrap();
    // By symmetry the boundary is at 0, so the radius of a row is its distance to 0.
    for (row, x) in [3.0, 1.0, 1.0, 3.0].into_iter().enumerate() {
        assert!((found["radius_l2"][row].as_f64().unwrap() - x).abs() < 1e-3);
    }
    let witness = found["witness_x"][3].as_f64().unwrap();
    let flipped = with_input(&["predict", &model, "-"], format!("x\n{witness}\n").as_bytes());
    assert_eq!(out(&flipped), "predicted\na\n");
    fails(&mainstay(&["certify", &model, &data, "--value", "z=1"]), "`z`");
}

#[test]
fn planes_are_certified_for_two_classes_only() {
    let folder = Folder::new();
    let two: String = (0..20)
        .map(|i| {
            let x = f64::from(i % 10) / 3.0;
            let (y, label) = if i < 10 { (x, "a") } else { (3.0 - x, "b") };
            format!("{x},{},{label}\n", y + 0.01 * f64::from(i % 3))
        })
        .collect();
    let data = folder.write("two.csv", format!("x,y,label\n{two}"));
    let model = folder.text("two.json");
    mainstay(&["fit", &data, "--target", "label", "--method", "regec", "-o", &model]);
    let table = out(&mainstay(&["certify", &model, &data, "--witness", "l2", "--json"]));
    let found: serde_json::Value = serde_json::from_str(&table).unwrap();
    let rows: String =
        (0..20).map(|i| format!("{},{}\n", found["witness_x"][i], found["witness_y"][i])).collect();
    let flipped = with_input(&["predict", &model, "-"], format!("x,y\n{rows}").as_bytes());
    for (i, label) in out(&flipped).lines().skip(1).enumerate() {
        assert_ne!(found["predicted"][i], label, "row {i}");
    }
    let three = folder.write("three.csv", format!("x,y,label\n{two}9,9,c\n9,8,c\n8,9,c\n"));
    let model = folder.text("three.json");
    mainstay(&["fit", &three, "--target", "label", "--method", "regec", "-o", &model]);
    fails(&mainstay(&["certify", &model, &three]), "three or more classes");
}

#[test]
fn suspicious_labels_are_written_most_suspicious_first() {
    let folder = Folder::new();
    let mut text = String::from("a,b,label\n");
    for i in 0..40 {
        let side = if i % 2 == 0 { 3.0 } else { -3.0 };
        let label = if (i % 2 == 0) == (i != 17) { "yes" } else { "no" };
        let (a, b) = (side + 0.01 * f64::from(i), 0.02 * f64::from(i % 7));
        text.push_str(&[a.to_string(), b.to_string(), label.to_owned()].join(","));
        text.push('\n');
    }
    let data = folder.write("data.csv", &text);
    let suspects = folder.text("suspects.csv");
    for method in ["conic", "conic-cv", "l2", "stable-svm"] {
        let output = mainstay(&[
            "fit",
            &data,
            "--target",
            "label",
            "--method",
            method,
            "--suspects",
            &suspects,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let table = fs::read_to_string(&suspects).unwrap();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("row,label,score,predicted"));
        let first: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!((first[0], first[1], first[3]), ("18", "yes", "no"));
        assert_eq!(table.lines().count(), 41);
    }
}

/// Twelve rows with an error beside each of two features; `b` matters less where its errors are large.
fn measured(folder: &Folder) -> String {
    let mut text = String::from("a,a_err,kind,b,b_err,site\n");
    for i in 0..12 {
        let (side, x) = (i % 2, f64::from(i));
        let (a, b) = (f64::from(side) * 3.0 + 0.1 * x, 20.0 * f64::from(side) + (x * 7.0) % 5.0);
        text += &format!("{a},0.2,{},{b},{},s{}\n", ["u", "v"][side as usize], 2.0 + x, i % 3);
    }
    folder.write("measured.csv", text)
}

#[test]
fn error_columns_become_ellipsoids_and_not_features() {
    let folder = Folder::new();
    let data = measured(&folder);
    let model = |name: &str, method: &str, more: &[&str]| {
        let path = folder.text(name);
        let mut args =
            vec!["fit", &data, "-t", "kind", "-m", method, "--drop", "site", "-o", &path];
        args.extend(more);
        let output = mainstay(&args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(out(&output).contains("12 rows, 2 features"), "{}", out(&output));
        let file: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        file["model"]["fitted"]["model"].clone()
    };
    let errors: String = fs::read_to_string(&data)
        .unwrap()
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{}\n", cells[4].replace("b_err", "b"), cells[1].replace("a_err", "a"))
        })
        .collect();
    let errors = folder.write("errors.csv", errors);
    for method in ["ellipsoid-svm", "robust-regec"] {
        let suffix = model("m.json", method, &["--error-columns", "_err"]);
        let pairs = ["--error-columns", "b=b_err", "--error-columns", "a=a_err"];
        assert_eq!(suffix, model("pairs.json", method, &pairs));
        let drop = ["--drop", "a_err", "--drop", "b_err"];
        let file = [&drop[..], &["--error-columns", &errors]].concat();
        assert_eq!(suffix, model("file.json", method, &file));
        let exact = [&drop[..], &["--set", "uncertainty=0"]].concat();
        let none = [&["--error-columns", "_err", "--error-scale", "0"][..]].concat();
        assert_ne!(suffix, model("exact.json", method, &exact));
        model("none.json", method, &none);
        // Rows are added in another order: equal up to rounding.
        let scores = |name: &str| -> Vec<f64> {
            let found = mainstay(&["predict", &folder.text(name), &data, "--scores"]);
            let last = |line: &str| line.rsplit(',').next().unwrap().parse().unwrap();
            out(&found).lines().skip(1).map(last).collect()
        };
        for (a, b) in scores("exact.json").iter().zip(scores("none.json")) {
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()));
        }
        // Predicting needs the features alone.
        let new = folder.write("new.csv", "b,a\n1.0,0.1\n21.0,3.3\n");
        let found = mainstay(&["predict", &folder.text("m.json"), &new]);
        assert_eq!(out(&found), "predicted\nu\nv\n");
        let judged = mainstay(&["evaluate", &folder.text("m.json"), &data, "--json"]);
        assert!(out(&judged).contains("\"accuracy\": 1.0"));
    }
}

#[test]
fn wrong_error_columns_get_one_clear_line() {
    let folder = Folder::new();
    let data = measured(&folder);
    let fit = |more: &[&str]| {
        let mut args = vec!["fit", &data, "-t", "kind", "-m", "ellipsoid-svm"];
        args.extend(more);
        mainstay(&args)
    };
    fails(
        &mainstay(&["fit", &data, "-t", "kind", "--error-columns", "_err"]),
        "method `l2` does not use measurement errors; use robust-regec or ellipsoid-svm",
    );
    fails(&fit(&["--error-columns", "_sd"]), "neither the ending of columns");
    fails(&fit(&["--error-columns", "a=a_eror"]), "a_err");
    fails(&fit(&["--error-columns", "c=a_err"]), "there is no such feature");
    fails(&fit(&["--error-columns", "site=a_err"]), "categories");
    fails(&fit(&["--error-columns", "_err", "--error-columns", "a=b"]), "given twice");
    fails(&fit(&["--error-columns", "_err", "--error-scale", "-1"]), "--error-scale");
    let broken = fs::read_to_string(&data).unwrap().replacen("0.2", "-0.2", 1);
    let broken = folder.write("broken.csv", broken);
    let args = ["fit", &broken, "-t", "kind", "-m", "robust-regec", "--error-columns", "_err"];
    fails(&mainstay(&args), "an error of -0.2");
    let empty = fs::read_to_string(&data).unwrap().replacen("0.2", "", 1);
    let empty = folder.write("empty.csv", empty);
    let args = ["fit", &empty, "-t", "kind", "-m", "robust-regec", "--error-columns", "_err"];
    fails(&mainstay(&args), "write 0 where");
    let short = folder.write("short.csv", "a,b\n0.1,0.2\n");
    fails(&fit(&["--error-columns", &short]), "1 rows, the data have 12");
}

#[test]
fn rolin_takes_long_tables_too() {
    let folder = Folder::new();
    let rows: Vec<String> = (0..10_001).map(|i| format!("{i},{}", u8::from(i > 7000))).collect();
    let data = folder.write("long.csv", format!("x,y\n{}\n", rows.join("\n")));
    let fitted = mainstay(&["fit", &data, "--target", "y", "--method", "rolin"]);
    assert!(fitted.status.success());
    let text = out(&fitted);
    assert!(text.contains("10001 rows") && text.contains("accuracy 1.00"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_long_fit_at_once_and_leaves_no_file() {
    use std::time::{Duration, Instant};
    let folder = Folder::new();
    let mut text = String::from("y");
    (0..30).for_each(|j| text.push_str(&format!(",x{j}")));
    let mut state = 1_u32;
    for i in 0..10_000 {
        text.push_str(&format!("\n{}", i % 2));
        for _ in 0..30 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(&format!(",{}", (state >> 16) % 1000));
        }
    }
    let data = folder.write("long.csv", text);
    let model = folder.text("model.json");
    let child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["fit", &data, "--target", "y", "--method", "conic-cv", "-o", &model])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "the fit was over before it could be interrupted");
    fails(&child.wait_with_output().unwrap(), "interrupted");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert_eq!(folder.names(), ["long.csv"]);
}

#[test]
fn reproduce_lists_runs_and_resumes_experiments() {
    let listed = out(&mainstay(&["reproduce", "--list"]));
    for id in
        ["rolin-figure-2", "conic-table-3", "missing-sanity", "stable-table-6", "regec-figure-7"]
    {
        assert!(listed.contains(id), "{listed}");
    }
    let folder = Folder::new();
    let results = folder.path("results");
    let results = results.to_str().unwrap();
    let args = ["reproduce", "regec-figure-2", "--quick", "-o", results, "--json", "-q"];
    let first = mainstay(&args);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let value: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(value[0]["id"], "regec-figure-2");
    assert!(value[0]["outcome"]["rows"].as_array().unwrap().len() > 10);
    for file in ["regec.md", "regec-figure-2.svg", "results.json"] {
        assert!(Path::new(results).join(file).is_file(), "{file}");
    }
    assert_eq!(mainstay(&args).stdout, first.stdout);
    assert_eq!(mainstay(&[&args[..], &["--threads", "1"]].concat()).stdout, first.stdout);
}

#[test]
fn reproduce_says_what_is_wrong() {
    fails(&mainstay(&["reproduce", "figure-99"]), "no experiment `figure-99`; there are: all, ");
    let none = ["reproduce", "stable-table-1", "--data", "/no/such/folder"];
    fails(&mainstay(&none), "there is no such folder");
    let folder = Folder::new();
    let results = folder.path("results");
    let args = ["reproduce", "stable-table-5", "--quick", "-o", results.to_str().unwrap()];
    let found = out(&mainstay(&args));
    assert!(
        found.contains("not run: adult: no folder of data sets was given (--data DIR)"),
        "{found}"
    );
}
