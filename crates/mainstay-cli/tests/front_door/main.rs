//! Real tables at the door: rows and columns stay what their owner means, or one line says why not.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests stop at the first surprise"
)]

mod bounds;
mod columns;
mod commands;
mod pipes;
mod rows;
mod spreadsheet;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn mainstay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(args).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit code 2 and one line that contains all `parts`.
pub(crate) fn fails(output: &Output, parts: &[&str]) {
    let error = err(output);
    assert_eq!(output.status.code(), Some(2), "{error}{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    for part in parts {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.text(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The weights of a fitted linear model by feature, with the intercept.
    pub(crate) fn weights(&self, args: &[&str]) -> BTreeMap<String, f64> {
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

pub(crate) fn alike(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>, what: &str) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, value) in a {
        assert!(
            (value - b[name]).abs() <= 1e-5 * (1.0 + value.abs()),
            "{what}: {name} {value} {}",
            b[name]
        );
    }
}
