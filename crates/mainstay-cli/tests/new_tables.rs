//! Tables nobody has prepared: gaps, labels that are missing, targets that are no classes, cells that break a line.
#![cfg(test)]
#![expect(clippy::format_push_string, reason = "small tables are made in the shortest way")]

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

/// What a command prints and what it notes.
fn both(args: &[&str]) -> (String, String) {
    let output = mainstay(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    (String::from_utf8(output.stdout).unwrap(), error)
}

fn out(args: &[&str]) -> String {
    both(args).0
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(&[args, &["--json"]].concat())).unwrap()
}

fn fails(args: &[&str]) -> String {
    let output = mainstay(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    error
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

/// Two numbers that go together and tell the class, apart from every eleventh row; `gap` empties the second.
fn line(gap: impl Fn(usize) -> bool) -> String {
    let mut text = String::from("name,a,b,y\n");
    for i in 0..80_usize {
        let a = (i as f64 * 0.7).sin() * 3.0;
        let b = if gap(i) { String::new() } else { format!("{:.3}", a + (i as f64).cos()) };
        let y = if (a > 0.2) == (i % 11 == 0) { "down" } else { "up" };
        text.push_str(&format!("p{i},{a:.3},{b},{y}\n"));
    }
    text
}

#[test]
fn models_that_fill_gaps_are_certified_on_rows_with_gaps() {
    let folder = Folder::new();
    let data = folder.write("gaps.csv", &line(|i| i % 7 == 3));
    for fit in [&["-m", "l2", "--impute", "gaussian"][..], &["-m", "robust-logistic"]] {
        let model = folder.path("m.json");
        out(&[&["fit", &data, "-t", "y", "--id", "name", "-o", &model], fit].concat());
        let (text, note) = both(&["certify", &model, &data, "--json", "--witness", "l2"]);
        assert!(note.contains("11 rows have a missing cell"), "{note}");
        let found: Value = serde_json::from_str(&text).unwrap();
        let numbers = |name: &str| -> Vec<f64> {
            found[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
        };
        assert_eq!(numbers("radius_l2").len(), 80);
        // The completed row has the score of its certificate, and the witness lies on the other side.
        let filled = numbers("witness_b");
        assert!(filled.iter().all(|v| v.is_finite()));
        let all = json(&["predict", &model, &data]);
        let same = |i: usize| all["predicted"][i] == found["predicted"][i];
        assert!((0..80).filter(|i| i % 7 != 3).all(same));
        // A complete table has nothing to note.
        let whole = folder.write("whole.csv", &line(|_| false));
        assert!(!both(&["certify", &model, &whole]).1.contains("missing cell"));
    }
}

#[test]
fn rows_without_a_label_are_left_out_where_training_rows_are_asked_for() {
    let folder = Folder::new();
    let whole = line(|_| false);
    let mut rows: Vec<String> = whole.lines().map(str::to_owned).collect();
    for i in [5, 40] {
        let (start, _) = rows[i].rsplit_once(',').unwrap();
        rows[i] = format!("{start},");
    }
    let data = folder.write("some.csv", &(rows.join("\n") + "\n"));
    let model = folder.path("m.json");
    let fit = ["fit", &data, "-t", "y", "--id", "name", "--proof", "-o", &model];
    out(&[&fit[..], &["--drop-unlabelled"]].concat());
    let left_out = "2 rows have no label and are left out";
    let trust = ["trust", &model, &data, "--train", &data, "--refits", "20"];
    let bootstrap = ["show", &model, "--bootstrap", "20", "--data", &data];
    for args in [&trust[..], &bootstrap, &["verify", &model, &data]] {
        let (_, note) = both(args);
        assert!(note.contains(left_out) && !note.contains("fitted on"), "{args:?}: {note}");
    }
}

#[test]
fn a_new_gap_is_refused_with_what_can_be_done_about_it() {
    let folder = Folder::new();
    let data = folder.write("whole.csv", &line(|_| false));
    let gaps = folder.write("gaps.csv", &line(|i| i == 6));
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "y", "--id", "name", "-o", &model]);
    for command in ["predict", "evaluate", "trust", "certify"] {
        let error = fails(&[command, &model, &gaps]);
        assert!(error.contains("row 7 of the data, column `b`: no value"), "{error}");
        assert!(error.contains("fill it in, or fit again with --impute"), "{error}");
    }
    // Where the flag is taken it is named as before.
    assert!(fails(&["fit", &gaps, "-t", "y"]).contains("or say what to do with --impute (mean,"));
}

/// Three classes along a line, the middle one rare and inside another.
#[test]
fn a_class_that_is_never_predicted_is_told() {
    let folder = Folder::new();
    let mut text = String::from("x,z,y\n");
    for i in 0..120 {
        let class = if i % 12 == 5 { "b" } else { ["a", "c"][usize::from(i % 120 > 59)] };
        text.push_str(&format!("{}.5,{},{class}\n", i, (i * 37) % 11));
    }
    let data = folder.write("three.csv", &text);
    let note =
        "the model hardly ever predicts class 2 of 3 (10 training rows, none called so); try";
    for more in [&[][..], &["--stream"]] {
        let told = out(&[&["fit", &data, "-t", "y"], more].concat());
        assert!(told.contains(note), "{told}");
    }
}

#[test]
fn a_quantity_or_a_name_as_target_is_told_before_and_after_the_fit() {
    let folder = Folder::new();
    let mut text = String::from("x,weight,name\n");
    for i in 0..60 {
        text.push_str(&format!("{}.5,{},baby {i}\n", (i * 37) % 11, 2500 + (i * 7) % 45));
    }
    let data = folder.write("births.csv", &text);
    let quantity = "target `weight` has 45 different numbers in 60 rows, most of them in one row or two: it looks like a \
                    quantity, not like a class";
    let checked = out(&["check", &data, "--target", "weight", "--drop", "name"]);
    assert!(checked.contains(&format!("Look at:\n- {quantity}")), "{checked}");
    for more in [&[][..], &["--stream"]] {
        let fit = ["fit", &data, "-t", "weight", "--drop", "name", "--set", "tol=0.01"];
        let told = String::from_utf8(mainstay(&[&fit, more].concat()).stdout).unwrap();
        assert!(told.contains(quantity), "{told}");
    }
    let checked = out(&["check", &data, "--target", "name"]);
    assert!(checked.contains("it looks like an identifier, not like a class"), "{checked}");
}

#[test]
fn fits_by_passes_tell_constant_models_and_columns() {
    let folder = Folder::new();
    let mut text = String::from("x,same,word,y\n");
    for i in 0..90 {
        text.push_str(&format!("{}.5,4,west,{}\n", (i * 37) % 11, u8::from(i % 9 == 4)));
    }
    let data = folder.write("rare.csv", &text);
    let columns = "columns `same`, `word` have one value each in all rows and tell nothing";
    for method in ["l2", "ellipsoid-svm", "missing-lp"] {
        let fit = ["fit", &data, "-t", "y", "-m", method, "--json"];
        for more in [&[][..], &["--stream"]] {
            let output = mainstay(&[&fit, more].concat());
            let found: Value = serde_json::from_slice(&output.stdout).unwrap();
            let notes: Vec<&str> =
                found["notes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
            assert!(notes.contains(&columns), "{method} {more:?}: {notes:?}");
            let constant = |n: &&&str| n.contains("constant") || n.contains("one class");
            assert_eq!(notes.iter().filter(constant).count(), 1, "{method} {more:?}: {notes:?}");
        }
    }
}

#[test]
fn an_infinity_is_something_to_look_at() {
    let folder = Folder::new();
    let text = line(|_| false);
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows[4] = "p3,inf,0.25,up".into();
    let data = folder.write("inf.csv", &(rows.join("\n") + "\n"));
    let checked = out(&["check", &data, "--target", "y"]);
    assert!(checked.contains("- row 4, column `a`: inf is not a finite number"), "{checked}");
    // The advised command runs as it stands.
    assert!(checked.contains("--drop a -o"), "{checked}");
}

#[test]
fn what_names_the_rows_of_a_result_may_be_a_feature() {
    let folder = Folder::new();
    let data = folder.write("line.csv", &line(|_| false));
    let model = folder.path("m.json");
    out(&["fit", &data, "-t", "y", "--id", "name", "-o", &model]);
    let plain = json(&["predict", &model, &data, "--scores"]);
    let named = json(&["predict", &model, &data, "--scores", "--id", "a"]);
    assert_eq!((&named["score"], named["a"][0].as_str()), (&plain["score"], Some("0.000")));
    let trusted = json(&["trust", &model, &data, "--id", "a"]);
    assert_eq!(trusted["predicted"], plain["predicted"]);
    let rows = folder.path("rows.csv");
    let judged = json(&["evaluate", &model, &data, "--id", "a", "--id", "y", "--rows", &rows]);
    assert_eq!(judged["rows"], 80);
    assert!(fs::read_to_string(&rows).unwrap().starts_with("row,a,y,true,predicted"));
    assert_eq!(json(&["certify", &model, &data, "--id", "b"])["predicted"], plain["predicted"]);
}

#[test]
fn a_line_break_in_a_category_does_not_break_tables() {
    let folder = Folder::new();
    let mut text = String::from("x,\"wa\nrd\",y\n");
    for i in 0..40 {
        let ward = ["\"east\nwing\"", "west"][usize::from(i % 3 == 0)];
        text.push_str(&format!("{},{ward},\"{}\"\n", i % 7, if i % 5 < 2 { "a\nb" } else { "c" }));
    }
    let data = folder.write("lines.csv", &text);
    let checked = out(&["check", &data, "--target", "y"]);
    let header = checked.lines().find(|l| l.starts_with("column")).unwrap();
    let row = checked.lines().find(|l| l.starts_with("wa\\nrd ")).unwrap();
    assert_eq!(row.find("category"), header.find("holds"), "{checked}");
    assert!(row.contains("east\\nwing (26), west (14)"), "{checked}");
    assert!(checked.contains("classes of `y`: a\\nb (16), c (24)"), "{checked}");
    let model = folder.path("m.json");
    assert!(out(&["fit", &data, "-t", "y", "-o", &model]).contains("classes a\\nb, c\n"));
    let shown = out(&["show", &model]);
    assert!(shown.lines().any(|l| l.starts_with("wa\\nrd=east\\nwing  ")), "{shown}");
    let judged = out(&["evaluate", &model, &data]);
    assert!(judged.lines().any(|l| l.starts_with("a\\nb ")), "{judged}");
}
