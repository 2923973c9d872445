//! What `check`, `fit` and the others say about a table.

use super::columns::{label, measure, table};
use super::*;

#[test]
fn check_says_what_becomes_of_every_column_and_what_to_type() {
    let folder = Folder::new();
    let text = table(
        ",",
        &[
            ("id", &|i| format!("P{i}")),
            ("x", &|i| format!("{}.5", i * 5 % 7)),
            ("after", &|i| format!("{}", usize::from(label(i) == "yes") * 10 + i % 3)),
            ("same", &|_| "4".into()),
            ("y", &label),
        ],
    );
    let path = folder.write("data.csv", text);
    let found: Value =
        serde_json::from_str(&out(&mainstay(&["check", &path, "--target", "y", "--json"])))
            .unwrap();
    assert_eq!(found["rows"], 24);
    assert_eq!(found["columns"][0]["plan"]["treatment"], "left-out");
    assert_eq!(
        (&found["columns"][2]["leak"], &found["columns"][3]["constant"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let command = found["command"].as_str().unwrap();
    assert!(command.ends_with("--target y --drop after,same -o model.json"), "{command}");
    let text = out(&mainstay(&["check", &path, "--target", "y"]));
    assert!(
        text.contains("left out: its values differ") && text.contains("next: mainstay fit "),
        "{text}"
    );
    // A column that would stop `fit` is named, and the command that follows runs without it.
    let dates = table(
        ",",
        &[("when", &|i| format!("03/0{}/2024", 1 + i % 9)), ("x", &measure), ("y", &label)],
    );
    let dates = folder.write("dates.csv", dates);
    let text = out(&mainstay(&["check", &dates, "--target", "y"]));
    assert!(text.contains("2024-01-03 or 2024-03-01") && text.contains("--drop when -o"), "{text}");
    // A word for "not measured" is taken for a gap, and the command that follows keeps the column.
    let stray = |i: usize| if i % 11 == 3 { "k.A.".into() } else { measure(i) };
    let ward = |i: usize| if i % 7 == 2 { "n/a".into() } else { "ABC"[i % 3..=i % 3].into() };
    let lab =
        table(",", &[("CRP (mg/l)", &stray), ("ward", &ward), ("x", &measure), ("y", &label)]);
    let lab = folder.write("lab.csv", lab);
    let text = out(&mainstay(&["check", &lab, "--target", "y"]));
    assert!(text.contains("--categorical 'CRP (mg/l)'"), "{text}");
    assert!(text.contains("--target y --na k.A. --drop x --impute median -o model.json"), "{text}");
    let given = ["fit", &lab, "--target", "y", "--na", "k.A.", "--impute", "median"];
    let weights = folder.weights(&given);
    assert!(weights.contains_key("CRP (mg/l)") && !weights.contains_key("ward=n/a"), "{weights:?}");
    let only = folder.weights(&[&given[..], &["--no-default-na"]].concat());
    assert!(only.contains_key("ward=n/a"), "{only:?}");
    let fitted = out(&mainstay(&["fit", &path, "--target", "y"]));
    assert!(fitted.contains("`after` alone tells the class of every row"), "{fitted}");
}

#[test]
fn a_column_with_a_comma_in_its_name_is_dropped_by_itself() {
    let folder = Folder::new();
    let (same, other) = (|_: usize| "4".to_owned(), |i: usize| format!("{}.5", i * 5 % 7));
    let columns: [(&str, &dyn Fn(usize) -> String); 4] =
        [("\"a,b\"", &same), ("c", &same), ("z", &other), ("y", &label)];
    let path = folder.write("data.csv", table(",", &columns));
    let text = out(&mainstay(&["check", &path, "--target", "y"]));
    assert!(text.contains("--target y --drop a,b --drop c -o model.json"), "{text}");
    let weights = folder.weights(&["fit", &path, "-t", "y", "--drop", "a,b", "--drop", "c"]);
    assert!(weights.len() == 2 && weights.contains_key("z"), "{weights:?}");
}

#[test]
fn the_positive_class_is_the_one_that_was_named() {
    let folder = Folder::new();
    let path = folder.write("data.csv", table(",", &[("x", &measure), ("y", &label)]));
    let model = folder.text("m.json");
    let weight =
        |more: &[&str]| folder.weights(&[&["fit", &path, "-t", "y"][..], more].concat())["x"];
    assert!((weight(&["--positive", "no"]) + weight(&["--positive", "yes"])).abs() < 1e-6);
    out(&mainstay(&["fit", &path, "-t", "y", "--positive", "no", "-o", &model]));
    let header = out(&mainstay(&["predict", &model, &path, "--proba"]));
    assert!(header.starts_with("predicted,probability_yes,probability_no\n"), "{header}");
    fails(&mainstay(&["fit", &path, "-t", "y", "--positive", "nu"]), &["no class `nu`", "`no`"]);
}

#[test]
fn what_a_model_says_about_training_rows_can_be_left_out() {
    let folder = Folder::new();
    let path = folder.write("data.csv", table(",", &[("x", &measure), ("y", &label)]));
    let fit = |more: &[&str]| {
        let model = folder.text("m.json");
        out(&mainstay(
            &[&["fit", &path, "-t", "y", "-m", "conic", "-o", &model][..], more].concat(),
        ));
        (fs::read_to_string(&model).unwrap(), out(&mainstay(&["predict", &model, &path])))
    };
    let (with, predicted) = fit(&[]);
    let (without, same) = fit(&["--no-training-rows"]);
    assert!(with.contains("\"suspects\"") && !without.contains("\"suspects\""));
    assert_eq!(predicted, same);
}

#[test]
fn messages_name_the_nearest_and_hide_nothing_dangerous() {
    let folder = Folder::new();
    let path = folder.write("data.csv", table(",", &[("x", &measure), ("y", &label)]));
    let wrong = mainstay(&["fit", &path, "-t", "y", "-m", "conic", "--set", "kapa=0.5"]);
    fails(&wrong, &["`kapa` is not a parameter of conic; nearest is `kappa`; it has: "]);
    let odd = |i: usize| if i == 3 { "\u{1b}[31mred".to_owned() } else { i.to_string() };
    let coloured = folder.write("esc.csv", table(",", &[("x", &odd), ("y", &label)]));
    let output = mainstay(&["fit", &coloured, "-t", "y"]);
    fails(&output, &["row 4", "[31mred"]);
    assert!(!output.stderr.contains(&0x1b));
    let damaged = folder.write("cut.parquet", b"PAR1\x15\x04\x15\x10\x15\x14\x4c\x15\x02PAR1");
    fails(&mainstay(&["fit", &damaged, "-t", "y"]), &["cut.parquet", "damaged"]);
    let help = String::from_utf8(mainstay(&["fit", "--help"]).stdout).unwrap();
    assert!(help.contains("column1, column2") && !help.contains("x0, x1"));
}
