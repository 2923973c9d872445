//! Rows keep their number, identifier, weight and errors through every combination of flags.

use super::*;

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
