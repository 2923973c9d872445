//! Standard output, pipes and what a spreadsheet would take for a formula.

use super::columns::{label, measure, table};
use super::*;

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
