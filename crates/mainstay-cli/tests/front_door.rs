//! Real tables at the door: rows and columns stay what their owner means, or one line says why not.
#![allow(
    clippy::unwrap_used,
    clippy::format_push_string,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit code 2 and one line that contains all `parts`.
fn fails(output: &Output, parts: &[&str]) {
    let error = err(output);
    assert_eq!(output.status.code(), Some(2), "{error}{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.text(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn text(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The weights of a fitted linear model by feature, with the intercept.
    fn weights(&self, args: &[&str]) -> BTreeMap<String, f64> {
        let path = self.text("weights.json");
        let output = mainstay(&[args, &["-o", &path]].concat());
        assert!(output.status.code().is_some_and(|c| c < 2), "{args:?}: {}", err(&output));
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let model = &file["model"];
        let linear = &model["fitted"]["model"];
        let names = model["feature_names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap());
        let coef = linear["coef"][0].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
        let mut found: BTreeMap<String, f64> = names.map(str::to_owned).zip(coef).collect();
        found.insert("(intercept)".into(), linear["intercept"][0].as_f64().unwrap());
        found
    }
}

fn alike(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>, what: &str) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, value) in a {
        assert!(
            (value - b[name]).abs() <= 1e-5 * (1.0 + value.abs()),
            "{what}: {name} {value} {}",
            b[name]
        );
    }
}

/// One row of the patients: every row has errors and a weight of its own.
fn row(i: usize) -> [String; 9] {
    let (x, side) = (i as f64, (i % 2) as f64);
    [
        format!("P-{:03}", 500 - i),
        format!("{}", side * 3.0 + 0.37 * (x * 7.0 % 5.0) - 1.1),
        format!("{}", 0.1 + 0.05 * (x % 4.0)),
        format!("{}", 10.5 * side + (x * 13.0) % 9.0),
        format!("{}", 0.5 + 0.25 * (x % 6.0)),
        format!("{}", 1.0 + (x % 3.0)),
        ["north", "south", "east"][i % 3].to_owned(),
        ["ill", "well"][if i.is_multiple_of(11) { 1 - i % 2 } else { i % 2 }].to_owned(),
        "1".into(),
    ]
}

const NAMES: [&str; 9] = ["patient", "a", "a_err", "b", "b_err", "w", "ward", "outcome", "one"];
/// Rows with a gap (the first three in a feature, the last in the label).
const GAPS: [usize; 4] = [0, 7, 16, 23];

/// The patients as CSV, with gaps or without the rows that have them; columns in the order given.
fn patients(gaps: bool, order: &[usize]) -> String {
    let mut text = order.iter().map(|&j| NAMES[j]).collect::<Vec<_>>().join(",") + "\n";
    for i in 0..40 {
        let mut cells = row(i);
        if let Some(k) = GAPS.iter().position(|&g| g == i) {
            if !gaps {
                continue;
            }
            cells[if k == 3 { 7 } else { 1 + 2 * (k % 2) }] = String::new();
        }
        text += &(order.iter().map(|&j| cells[j].clone()).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

const ORDER: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Left-out rows leave every other row its own errors, weight, identifier and label: each pair of flags that brings
/// something for every row is tried on a table with gaps and on the same table without those rows.
#[test]
fn flags_in_pairs_give_the_model_of_the_rows_that_are_left() {
    let folder = Folder::new();
    let messy = folder.write("messy.csv", patients(true, &ORDER));
    let clean = folder.write("clean.csv", patients(false, &ORDER));
    let flags: [(&str, &[&str], &[&str]); 4] = [
        ("weights", &["--weights", "w"], &["--drop", "w"]),
        ("errors", &["--error-columns", "_err"], &["--drop", "a_err,b_err"]),
        ("ids", &["--id", "patient"], &["--drop", "patient"]),
        ("ward", &["--drop-first"], &["--drop", "ward"]),
    ];
    for mask in 0..16_usize {
        let mut more: Vec<&str> = Vec::new();
        for (k, (_, with, without)) in flags.iter().enumerate() {
            more.extend(if mask >> k & 1 == 1 { *with } else { *without });
        }
        let method = if mask >> 1 & 1 == 1 { "ellipsoid-svm" } else { "l2" };
        let fit = |path: &str| {
            let base = ["fit", path, "-t", "outcome", "-m", method, "--impute", "drop"];
            folder.weights(&[&base[..], &more].concat())
        };
        let names: Vec<&str> = (0..4).filter(|k| mask >> k & 1 == 1).map(|k| flags[k].0).collect();
        alike(&fit(&messy), &fit(&clean), &names.join(" and "));
    }
    // The errors matter: exchanged between rows they give another model.
    let swapped = patients(false, &ORDER).replacen("0.1,", "9.9,", 1);
    let swapped = folder.write("swapped.csv", swapped);
    let args = |path: &'static str| -> Vec<&'static str> {
        vec![
            "fit",
            path,
            "-t",
            "outcome",
            "-m",
            "ellipsoid-svm",
            "--error-columns",
            "_err",
            "--drop",
            "patient,w",
        ]
    };
    let swapped: &'static str = Box::leak(swapped.into_boxed_str());
    let clean: &'static str = Box::leak(clean.into_boxed_str());
    assert_ne!(folder.weights(&args(swapped)), folder.weights(&args(clean)));
}

#[test]
fn any_order_of_columns_and_any_flags_that_say_the_same_give_the_same_model() {
    let folder = Folder::new();
    let base = folder.write("base.csv", patients(false, &ORDER));
    let fit = ["-t", "outcome", "--drop", "a_err,b_err", "--weights", "w"];
    let expected = folder.weights(&[&["fit", &base][..], &fit].concat());
    assert!(!expected.keys().any(|name| name.contains("patient")), "{expected:?}");
    let same: [&[&str]; 5] = [
        &["--id", "patient"],
        &["--categorical", "ward"],
        &["--na", "NA,none"],
        &["--min-count", "2"],
        &["--delimiter", ",", "--decimal", "."],
    ];
    let mut state = 7_usize;
    for mask in 0..(1_usize << same.len()) {
        // A permutation for every subset.
        let mut order = ORDER;
        for k in (1..order.len()).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            order.swap(k, (state >> 33) % (k + 1));
        }
        let path = folder.write("shuffled.csv", patients(false, &order));
        let mut args = vec!["fit", path.as_str()];
        args.extend(fit);
        (0..same.len()).filter(|k| mask >> k & 1 == 1).for_each(|k| args.extend(same[k]));
        alike(&expected, &folder.weights(&args), &format!("{order:?} {args:?}"));
    }
}

fn cells(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Every list of rows names them by number and identifier as the file does.
#[test]
fn rows_are_the_files_rows_in_every_output() {
    let folder = Folder::new();
    let data = folder.write("messy.csv", patients(true, &ORDER));
    let drop = ["--drop", "a_err,b_err,w"];
    let (model, suspects) = (folder.text("m.json"), folder.text("s.csv"));
    let fit = ["fit", &data, "-t", "outcome", "-m", "conic", "--impute", "drop", "--id", "patient"];
    let tail = ["--suspects", &suspects, "-o", &model];
    out(&mainstay(&[&fit[..], &drop, &tail].concat()));
    let truth: BTreeMap<usize, [String; 9]> = (0..40).map(|i| (i + 1, row(i))).collect();
    let listed = cells(&fs::read_to_string(&suspects).unwrap());
    assert_eq!(listed[0][..3], ["row", "patient", "label"]);
    assert_eq!(listed.len(), 1 + 40 - GAPS.len());
    for cells in &listed[1..] {
        let own = &truth[&cells[0].parse::<usize>().unwrap()];
        assert_eq!((&cells[1], &cells[2]), (&own[0], &own[7]));
    }
    let judged = folder.text("rows.csv");
    out(&mainstay(&["evaluate", &model, &data, "--rows", &judged, "--id", "patient"]));
    let listed = cells(&fs::read_to_string(&judged).unwrap());
    assert_eq!(listed[0][..4], ["row", "patient", "true", "predicted"]);
    for cells in &listed[1..] {
        let own = &truth[&cells[0].parse::<usize>().unwrap()];
        assert_eq!((&cells[1], &cells[2]), (&own[0], &own[7]));
    }
    for command in ["predict", "certify"] {
        let listed = cells(&out(&mainstay(&[command, &model, &data, "--id", "patient"])));
        assert_eq!(listed[0][..2], ["row", "patient"]);
        for cells in &listed[1..] {
            assert_eq!(cells[1], truth[&cells[0].parse::<usize>().unwrap()][0]);
        }
        let one = |spec: &str| {
            cells(&out(&mainstay(&[command, &model, &data, "--id", "patient", "--row", spec])))
        };
        assert_eq!(one("18"), one("patient=P-483"));
        assert_eq!(one("18")[1][..2], ["18", "P-483"]);
        fails(&mainstay(&[command, &model, &data, "--row", "41"]), &["--row 41", "1 to 40"]);
        fails(&mainstay(&[command, &model, &data, "--row", "patient=Q"]), &["no row has `Q`"]);
    }
    let kept =
        cells(&out(&mainstay(&["predict", &model, &data, "--keep", "ward", "--keep", "outcome"])));
    assert_eq!(kept[0][..3], ["row", "ward", "outcome"]);
    assert_eq!(kept[1][1], row(1)[6]);
}

/// A table of 24 rows from one function per column.
fn table(delimiter: &str, columns: &[(&str, &dyn Fn(usize) -> String)]) -> String {
    let mut text = columns.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(delimiter) + "\n";
    for i in 0..24 {
        let cells: Vec<String> = columns.iter().map(|(_, cell)| cell(i)).collect();
        text += &(cells.join(delimiter) + "\n");
    }
    text
}

fn label(i: usize) -> String {
    ["no", "yes"][usize::from(i * 7 % 5 > 2)].to_owned()
}

fn measure(i: usize) -> String {
    format!("{}", (i * 7 % 5) as f64 + 0.25 * (i % 3) as f64)
}

/// A file, flags, and the features it gives or the parts of the one line that stops it.
type Nasty<'a> = (&'a str, Vec<u8>, &'a [&'a str], Result<&'a [&'a str], &'a [&'a str]>);

#[test]
fn nasty_files_give_the_expected_columns_or_one_line() {
    let plain = |more: &(&str, &dyn Fn(usize) -> String)| {
        table(",", &[("x", &measure), *more, ("y", &label)]).into_bytes()
    };
    let mostly = |odd: &'static str| {
        move |i: usize| if i == 16 { odd.to_owned() } else { format!("{}", 20 + i % 11) }
    };
    let dates = |form: fn(usize) -> String| plain(&("when", &form));
    let constant = |cell: &'static str| move |_: usize| cell.to_owned();
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            table(",", &[("größe", &measure), ("y", &label)])
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    let comma = table(";", &[("x", &|i| measure(i).replace('.', ",")), ("y", &label)]);
    let index = table(",", &[("", &|i| i.to_string()), ("x", &measure), ("y", &label)]);
    let cases: Vec<Nasty> = vec![
        (
            "bom.csv",
            ["\u{feff}".as_bytes(), table(",", &[("x", &measure), ("y", &label)]).as_bytes()]
                .concat(),
            &[],
            Ok(&["x"]),
        ),
        ("comma.csv", comma.into_bytes(), &[], Ok(&["x"])),
        ("spaces.csv", plain(&("age", &|i| format!(" {} ", 20 + i % 11))), &[], Ok(&["x", "age"])),
        ("dot.csv", plain(&("age", &mostly("."))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("dash.csv", plain(&("age", &mostly("-"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("na.csv", plain(&("age", &mostly("n/a"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("none.csv", plain(&("age", &mostly("none"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("gap.csv", plain(&("age", &mostly("."))), &[], Err(&["row 17", "`age`", "impute"])),
        (
            "odd.csv",
            plain(&("age", &mostly("old"))),
            &[],
            Err(&["row 17", "`age`", "`old`", "--na", "--categorical age"]),
        ),
        (
            "code.csv",
            plain(&("age", &mostly("-99"))),
            &["--na", "-99", "--impute", "drop"],
            Ok(&["x", "age"]),
        ),
        (
            "unit.csv",
            plain(&("age", &|i| format!("{} kg", 20 + i))),
            &[],
            Err(&["row 1", "`20 kg`", "unit"]),
        ),
        (
            "percent.csv",
            plain(&("age", &|i| format!("{}%", 20 + i))),
            &[],
            Err(&["`20%`", "percent"]),
        ),
        (
            "thousand.csv",
            plain(&("age", &|i| format!("\"1,{:03}\"", 20 + i))),
            &[],
            Err(&["`1,020`", "thousands"]),
        ),
        ("index.csv", index.clone().into_bytes(), &[], Ok(&["x"])),
        ("index2.csv", index.into_bytes(), &["--keep-feature", "column1"], Ok(&["column1", "x"])),
        ("ids.csv", plain(&("id", &|i| format!("P{}", 900 - i))), &[], Ok(&["x"])),
        ("numbers.csv", plain(&("id", &|i| format!("{}", 7000 + i * i))), &[], Ok(&["x"])),
        ("iso.csv", dates(|i| format!("2024-02-{:02}", 1 + i % 20)), &[], Ok(&["x", "when"])),
        ("day.csv", dates(|i| format!("{:02}/03/2024", 1 + i % 20)), &[], Ok(&["x", "when"])),
        ("points.csv", dates(|i| format!("{}.3.2024", 1 + i % 9)), &[], Ok(&["x", "when"])),
        (
            "ambiguous.csv",
            dates(|i| format!("{:02}/03/2024", 1 + i % 9)),
            &[],
            Err(&["`when`", "2024-03-01 or 2024-01-03"]),
        ),
        (
            "dropped.csv",
            dates(|i| format!("{:02}/03/2024", 1 + i % 9)),
            &["--drop", "when"],
            Ok(&["x"]),
        ),
        ("constant.csv", plain(&("same", &constant("4"))), &[], Ok(&["x", "same"])),
        ("utf16.csv", utf16, &[], Ok(&["größe"])),
        (
            "headless.csv",
            b"5.1,3.5,u\n4.9,3.0,v\n".to_vec(),
            &[],
            Err(&["line 1", "`5.1`", "--no-header"]),
        ),
        ("sheet.xlsx", sheet(), &[], Ok(&["x", "ward=a", "ward=b"])),
        ("book.xlsx", sheet(), &["--sheet", "other"], Err(&["no sheet `other`", "`Data`"])),
    ];
    let folder = Folder::new();
    for case in cases {
        meets(&folder, case);
    }
}

/// Fits the file, and compares its features or the line that stops it with what is expected.
fn meets(folder: &Folder, (name, bytes, flags, expected): Nasty<'_>) {
    let path = folder.write(name, bytes);
    let model = folder.text("nasty.json");
    let output = mainstay(&[&["fit", &path, "-t", "y", "-o", &model][..], flags].concat());
    match expected {
        Err(parts) => fails(&output, parts),
        Ok(features) => {
            assert!(output.status.success(), "{name}: {}", err(&output));
            let file: Value = serde_json::from_slice(&fs::read(&model).unwrap()).unwrap();
            assert_eq!(file["model"]["feature_names"], serde_json::json!(features), "{name}");
            // The same file is predicted as it was fitted.
            let again = mainstay(&["predict", &model, &path]);
            assert!(again.status.success(), "{name}: {}", err(&again));
        }
    }
}

/// A spreadsheet of 24 rows as a zip archive without compression, made by hand.
fn sheet() -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    let cell = |value: &str| match value.parse::<f64>() {
        Ok(_) => format!("<c><v>{value}</v></c>"),
        Err(_) => format!("<c t=\"inlineStr\"><is><t>{value}</t></is></c>"),
    };
    let row = |cells: &[&str]| {
        format!("<row>{}</row>", cells.iter().map(|c| cell(c)).collect::<String>())
    };
    let mut rows = row(&["x", "ward", "y"]);
    for i in 0..24 {
        rows += &row(&[&measure(i), ["a", "b"][i % 2], &label(i)]);
    }
    let files = [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>"
            ),
        ),
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"Data\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ];
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in &files {
        let offset = archive.len() as u32;
        let mut common = Vec::new();
        for half in [20_u16, 0, 0, 0, 0] {
            common.extend(half.to_le_bytes());
        }
        common.extend(crc32fast::hash(content.as_bytes()).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        archive.extend(
            [b"PK\x03\x04", common.as_slice(), name.as_bytes(), content.as_bytes()].concat(),
        );
        directory.extend(
            [
                b"PK\x01\x02\x14\x00",
                common.as_slice(),
                &[0; 10],
                &offset.to_le_bytes(),
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let (start, count) = (archive.len() as u32, files.len() as u16);
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}

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
        text.contains("left out: all its values differ") && text.contains("next: mainstay fit "),
        "{text}"
    );
    let fitted = out(&mainstay(&["fit", &path, "--target", "y"]));
    assert!(fitted.contains("`after` alone tells the class of every row"), "{fitted}");
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

#[test]
fn standard_output_is_no_file_called_minus() {
    let folder = Folder::new();
    let path = folder.write("data.csv", table(",", &[("x", &measure), ("y", &label)]));
    let output = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["fit", &path, "-t", "y", "-o", "-"])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    assert!(out(&output).starts_with("{\"format\":\"mainstay-model\""));
    assert!(err(&output).contains("accuracy"));
    assert_eq!(folder.names(), ["data.csv"]);
}

#[test]
fn formulas_in_labels_are_defused_when_asked() {
    let folder = Folder::new();
    let text = table(",", &[("x", &measure), ("y", &|i| format!("={}", label(i)))]);
    let path = folder.write("data.csv", text);
    let model = folder.text("m.json");
    out(&mainstay(&["fit", &path, "-t", "y", "-o", &model]));
    assert!(out(&mainstay(&["predict", &model, &path])).contains("\n=no\n"));
    assert!(out(&mainstay(&["predict", &model, &path, "--safe-csv"])).contains("\n'=no\n"));
}

#[cfg(unix)]
#[test]
fn pipes_given_as_a_path_are_read_whole() {
    let folder = Folder::new();
    let rows: Vec<String> =
        (0..20_000).map(|i| format!("{} 1:{} 2:{}\n", i % 2, i % 2 * 3, i % 7)).collect();
    let rows = rows.concat();
    assert!(rows.len() > 3 * (64 << 10));
    let pipe = folder.text("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["fit", &pipe, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fs::OpenOptions::new().write(true).open(&pipe).unwrap().write_all(rows.as_bytes()).unwrap();
    let found: Value = serde_json::from_str(&out(&child.wait_with_output().unwrap())).unwrap();
    assert_eq!((&found["rows"], &found["features"]), (&Value::from(20_000), &Value::from(2)));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    let small = folder.write("data.csv", table(",", &[("x", &measure), ("y", &label)]));
    let model = folder.text("m.json");
    out(&mainstay(&["fit", &small, "-t", "y", "-o", &model]));
    let many = folder.write("many.csv", "x\n".to_owned() + &"1.5\n".repeat(200_000));
    for more in [&[][..], &["-o", "-"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
            .args([&["predict", &model, &many, "--proba"][..], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    }
}
