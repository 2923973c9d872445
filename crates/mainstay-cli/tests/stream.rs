//! Models applied to files chunk by chunk: the same answers wherever the file is cut, in memory that does not grow.
#![cfg(test)]
#![expect(clippy::format_push_string, reason = "small tables are made in the shortest way")]

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn command(args: &[&str], chunk: Option<usize>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(args);
    if let Some(bytes) = chunk {
        command.env("MAINSTAY_CHUNK", bytes.to_string());
    }
    command
}

fn run(args: &[&str], chunk: Option<usize>) -> Output {
    command(args, chunk).stdin(Stdio::null()).output().unwrap()
}

fn piped(args: &[&str], chunk: Option<usize>, input: &[u8]) -> Output {
    let mut child = command(args, chunk)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A command that refuses its input may be gone before all of it was written.
    let _ = writer.join().unwrap();
    output
}

/// Everything that a command says, its code included.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Three classes, gaps, categories with a line end inside, dates, identifiers.
fn rows(count: usize, strange: bool) -> String {
    let mut text = String::from("patient,seen,ward,note,a,b,outcome\n");
    for i in 0..count {
        let wave = |k: usize| ((i * k) as f64 * 0.7).sin();
        let class = ["low", "mid", "high"][(i * i + i / 2) % 3];
        let shift = ((i * i + i / 2) % 3) as f64;
        let ward = if strange && i % 11 == 4 { "attic" } else { ["north", "\"so\nuth\""][i % 2] };
        let a = if i % 13 == 5 { "NA".into() } else { format!("{:.4}", wave(3) + shift) };
        let label = if strange && i % 17 == 3 { "" } else { class };
        let (day, month) = (1 + i % 28, 1 + i % 12);
        text.push_str(&format!(
            "{:03},2024-{month:02}-{day:02},{ward},\"x, {i}\",{a},{:.3},{label}\n",
            1000 - i64::try_from(i).unwrap(),
            wave(5) - shift
        ));
    }
    text
}

struct Case {
    folder: TempDir,
    model: String,
    data: String,
}

impl Case {
    fn new(impute: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (train, model, data) = (path("train.csv"), path("model.json"), path("new.csv"));
        fs::write(&train, rows(120, false)).unwrap();
        fs::write(&data, rows(90, true)).unwrap();
        let fit = ["fit", &train, "-t", "outcome", "--id", "patient", "--drop", "note"];
        let more = ["--impute", impute, "-o", &model];
        let fitted = run(&[&fit[..], &more].concat(), None);
        assert!(fitted.status.success(), "{:?}", said(&fitted));
        Self { folder, model, data }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn answers_do_not_depend_on_where_the_file_is_cut() {
    for impute in ["mean", "drop"] {
        let case = Case::new(impute);
        let (model, data) = (case.model.as_str(), case.data.as_str());
        let rows = case.path("rows.csv");
        let commands: [&[&str]; 7] = [
            &["predict", model, data, "--proba", "--scores", "--id", "patient", "--keep", "ward"],
            &["predict", model, data, "--json"],
            &["predict", model, data, "--row", "7", "--row", "patient=0990", "--row", "3"],
            &["certify", model, data, "--value", "a=3", "--witness", "l1"],
            &["certify", model, data, "--id", "patient", "--row", "ward=attic"],
            &["evaluate", model, data, "--drop-unlabelled", "--json"],
            &["evaluate", model, data, "--drop-unlabelled", "--rows", &rows, "--id", "patient"],
        ];
        for args in commands {
            let expected = said(&run(args, None));
            assert_eq!(expected.0, Some(0), "{args:?}: {}", expected.2);
            let written = fs::read(&rows).ok();
            for chunk in [1, 150, 1000] {
                assert_eq!(said(&run(args, Some(chunk))), expected, "{args:?}, chunks of {chunk}");
                assert_eq!(fs::read(&rows).ok(), written);
            }
        }
    }
}

#[test]
fn files_pipes_and_archives_give_the_same_answers() {
    let case = Case::new("mean");
    let text = fs::read(&case.data).unwrap();
    let args = ["--scores", "--id", "patient"];
    let expected = said(&run(&[&["predict", &case.model, &case.data], &args[..]].concat(), None));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    for chunk in [None, Some(100)] {
        for input in [&text, &packed] {
            let found = piped(&[&["predict", &case.model, "-"], &args[..]].concat(), chunk, input);
            assert_eq!(said(&found), expected);
        }
        // Without the last line end.
        let cut = &text[..text.len() - 1];
        let found = piped(&[&["predict", &case.model, "-"], &args[..]].concat(), chunk, cut);
        assert_eq!(said(&found), expected);
    }
}

#[test]
fn a_mistake_late_in_the_file_is_named_and_leaves_no_file() {
    let case = Case::new("mean");
    let bad = case.path("bad.csv");
    let mut text = rows(200, false);
    text.push_str("1,2024-01-01,north,x,oops,1,low\n");
    fs::write(&bad, text).unwrap();
    let output = case.path("out.csv");
    for chunk in [None, Some(100)] {
        let (code, _, error) = said(&run(&["predict", &case.model, &bad, "-o", &output], chunk));
        assert_eq!(code, Some(2));
        assert!(
            error.contains("row 201 of the data, column `a`: `oops` is not a number"),
            "{error}"
        );
        let mut names: Vec<_> =
            fs::read_dir(case.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["bad.csv", "model.json", "new.csv", "train.csv"]);
    }
}

#[test]
fn a_row_asked_for_by_number_is_found_without_reading_on() {
    let case = Case::new("mean");
    let mut child = command(&["predict", &case.model, "-", "--row", "2"], Some(100))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Standard input stays open: whoever waited for its end would wait for ever.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(rows(40_000, false).as_bytes()).unwrap_or_default();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().nth(1).unwrap().starts_with("2,"));
    drop(stdin);
}

/// The largest resident memory of a run, in kB, as the system counts it.
#[cfg(target_os = "linux")]
fn peak(args: &[&str]) -> u64 {
    let chunk = Some(1 << 16);
    let mut child =
        command(args, chunk).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn ten_times_the_rows_take_no_more_memory() {
    let case = Case::new("mean");
    let (small, large) = (case.path("small.csv"), case.path("large.csv"));
    let body = rows(100, false);
    let (header, lines) = body.split_once('\n').unwrap();
    let repeats = (2 << 20) / lines.len();
    fs::write(&small, format!("{header}\n{}", lines.repeat(repeats))).unwrap();
    fs::write(&large, format!("{header}\n{}", lines.repeat(10 * repeats))).unwrap();
    let few = peak(&["predict", &case.model, &small]);
    let many = peak(&["predict", &case.model, &large]);
    assert!(10 * many < 15 * few, "{many} kB against {few} kB");
}

fn json(output: &Output) -> serde_json::Value {
    let (code, text, error) = said(output);
    assert_eq!(code, Some(0), "{error}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_fit_in_passes_is_as_good_as_one_in_memory() {
    let case = Case::new("mean");
    let train = case.path("train.csv");
    fs::write(&train, rows(3000, false)).unwrap();
    let flags =
        ["-t", "outcome", "--id", "patient", "--drop", "note", "--impute", "mean", "--json"];
    for method in [
        &["-m", "l2"][..],
        &["-m", "stable-logistic", "-s", "k=0.7"],
        &["-m", "missing-lp", "-s", "C=1"],
        &["-m", "ellipsoid-svm", "-s", "C=0.01"],
    ] {
        let fit = |data: &str, more: &[&str], chunk| {
            json(&run(&[&["fit", data][..], &flags, method, more].concat(), chunk))
        };
        let memory = fit(&train, &[], None);
        let objective = |found: &serde_json::Value| found["objective"][0].as_f64().unwrap();
        let gap = |found: &serde_json::Value| found["dual_gap"].as_f64().unwrap();
        for (found, what) in [
            (fit(&train, &["--stream"], None), "whole"),
            (fit(&train, &["--stream", "--memory", "300K"], Some(2000)), "little memory"),
            (fit(&train, &["--stream", "--checkpoint", &case.path("c")], None), "checkpoint"),
        ] {
            let (a, b) = (objective(&found), objective(&memory));
            let apart = (gap(&found) + gap(&memory)) * b.abs().max(1.0) + 1e-12;
            assert!((a - b).abs() <= apart, "{what}: {a} and {b}");
            assert_eq!(found["rows"], memory["rows"]);
            assert_eq!(found["classes"], memory["classes"]);
            assert_eq!(found["status"], memory["status"]);
        }
        assert!(!std::path::Path::new(&case.path("c")).exists());
    }
}

/// Methods with kernels of their own: where there is no objective to compare, the answers are.
#[test]
fn planes_perceptron_and_conic_svm_read_rows_in_passes() {
    let case = Case::new("mean");
    let (train, model) = (case.path("train.csv"), case.path("m.json"));
    fs::write(&train, rows(1500, false)).unwrap();
    let flags = ["-t", "outcome", "--id", "patient", "--drop", "note", "--impute", "mean"];
    for method in [
        &["-m", "regec", "-s", "rule=plane"][..],
        &["-m", "norm-robust-regec", "-s", "rule=plane"],
        &["-m", "robust-regec", "-s", "xi=0.5"],
        &["-m", "missing-perceptron", "-s", "shuffle=false"],
        &["-m", "conic", "-s", "kappa=0.3"],
    ] {
        let predicted = |more: &[&str]| {
            let wanted = [&["fit", &train, "-o", &model][..], &flags, method, more].concat();
            let (code, _, error) = said(&run(&wanted, Some(3000)));
            assert_eq!(code, Some(0), "{method:?}: {error}");
            let (code, predicted, error) = said(&run(&["predict", &model, &train], None));
            assert_eq!(code, Some(0), "{method:?}: {error}");
            predicted
        };
        let (passes, memory) = (predicted(&["--stream"]), predicted(&[]));
        let same = passes.lines().zip(memory.lines()).filter(|(a, b)| a == b).count();
        assert!(same >= 1470, "{method:?}: {same} of 1501 lines are the same");
    }
}

#[test]
fn a_folder_is_one_table() {
    let case = Case::new("mean");
    let folder = case.path("parts");
    fs::create_dir(&folder).unwrap();
    let (one, two) = (rows(200, false), rows(150, true).replace(",\n", ",low\n"));
    fs::write(format!("{folder}/a.csv"), one).unwrap();
    fs::write(format!("{folder}/b.csv"), two).unwrap();
    let model = case.path("m.json");
    let flags = ["-t", "outcome", "--drop", "note,patient", "--impute", "mean", "-o", &model];
    for data in [folder.as_str(), &format!("{folder}/*.csv")] {
        let found = json(&run(&[&["fit", data, "--json"][..], &flags].concat(), Some(500)));
        assert_eq!(found["rows"], 350);
        // A category that only the second file has.
        let text = fs::read_to_string(&model).unwrap();
        assert!(text.contains("ward=attic"));
    }
}

#[test]
fn what_needs_all_rows_is_refused_with_a_reason() {
    let case = Case::new("mean");
    let train = case.path("train.csv");
    let base = ["fit", &train, "-t", "outcome", "--drop", "note", "--impute", "mean", "--stream"];
    let other = case.path("other");
    fs::write(&other, "something else").unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["--cv", "3"], "--cv needs all rows in memory"),
        (&["--suspects", "s.csv"], "--suspects needs all rows in memory"),
        (&["-m", "rolin"], "needs all rows in memory"),
        (&["-m", "missing-lp", "-s", "values=mutual_info"], "compute the values on a sample"),
        (&["-m", "ellipsoid-svm", "--error-columns", "_err"], "--error-columns needs all rows"),
        (&["-s", "alpha=cv"], "need all rows in memory"),
        (&["--checkpoint", &other], "other"),
        (&["--memory", "much"], "must be a size such as"),
        (&["--impute", "median"], "cannot be used multiple times"),
    ];
    for (more, part) in cases {
        let (code, out, error) = said(&run(&[&base[..], more].concat(), None));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{more:?}");
        assert!(error.contains(part), "{more:?}: {error}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "something else");
    let text = fs::read(&train).unwrap();
    let (_, _, error) = said(&piped(&["fit", "-", "-t", "outcome", "--stream"], None, &text));
    assert!(error.contains("standard input: it can be read once only"), "{error}");
}
