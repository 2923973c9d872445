//! The tree shows the architecture: a module may use what lies below it, never above or beside it.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests stop at the first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the ground up; rooms in one line do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error", "certificate", "control", "json"],
    &["linalg"],
    &["data"],
    &["loss", "uncertainty"],
    &["model", "folds"],
    &["optim"],
    &["penalized", "rolin", "conic", "missing", "stable", "eigen", "ellipsoid", "robust"],
    &["methods"],
    &["certify", "stress"],
    &["selection"],
    &["compare"],
];

fn floor(room: &str) -> usize {
    FLOORS
        .iter()
        .position(|rooms| rooms.contains(&room))
        .unwrap_or_else(|| panic!("room `{room}` has no floor: add it here with a decision record"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// Every `crate::room` a source mentions, also inside `use crate::{a, b::c}`.
fn rooms_used(source: &str) -> Vec<String> {
    let name =
        |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = Vec::new();
    for tail in source.split("crate::").skip(1) {
        if let Some(group) = tail.strip_prefix('{') {
            let mut depth = 1;
            let mut item = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => {
                        used.push(name(item.trim()));
                        item.clear();
                        continue;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                item.push(c);
            }
            used.push(name(item.trim()));
        } else {
            used.push(name(tail));
        }
    }
    used
}

#[test]
fn every_import_points_downwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let relative = path.strip_prefix(&root).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        if room == "lib" {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for used in rooms_used(&source) {
            // Items re-exported at the root (`crate::Error`) are open to all.
            let re_export = used.chars().next().is_some_and(char::is_uppercase);
            if re_export || used == room {
                continue;
            }
            if floor(&used) >= floor(&room) && floor(&used) != 0 {
                wrong.push(format!("{}: crate::{used}", relative.display()));
            }
        }
        // Inside a method the certificate shares nothing with the solver.
        if relative.ends_with("certificate.rs") && relative.components().count() == 2 {
            let shares = source.contains("super::solver") || source.contains("::solver");
            assert!(!shares, "{}: a certificate must not see the solver", relative.display());
        }
    }
    assert!(wrong.is_empty(), "imports that point up or sideways:\n{}", wrong.join("\n"));
}

#[test]
fn the_scanner_sees_nested_groups() {
    let source =
        "use crate::{data::Dataset, linalg::{Dense, Csr}, Error};\nlet x = crate::loss::Hinge;";
    assert_eq!(rooms_used(source), ["data", "linalg", "Error", "loss"]);
}
