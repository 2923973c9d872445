//! The tree shows the architecture: a module may use what lies below it, never above or beside it.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "what is tested is the source itself")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the ground up; rooms in one line do not know each other.
const FLOORS: &[&[&str]] = &[
    &["error", "certificate", "control", "json"],
    &["linalg"],
    &["data"],
    &["loss", "uncertainty"],
    &["model", "folds"],
    &["metrics"],
    &["optim"],
    &["partitioned"],
    &["penalized", "rolin", "conic", "missing", "stable", "eigen", "ellipsoid", "robust"],
    &["methods"],
    &["certify", "stress"],
    &["selection", "trust", "audit", "validate"],
    &["compare"],
];

/// The solver modules of every method that has a certificate, by the names in its `mod.rs`.
///
/// Whoever renames a solver or adds one changes this table.
const SOLVERS: &[(&str, &[&str])] = &[
    (
        "penalized",
        &["newton", "path", "prox_newton", "quadratic", "smooth_hinge", "strategy", "working_set"],
    ),
    ("conic", &["hinge", "interior", "newton", "partitioned", "path", "strategy"]),
    ("missing", &["chunks", "perceptron", "program", "strategy"]),
    (
        "stable",
        &[
            "cutting_plane",
            "degenerate",
            "interior",
            "multipliers",
            "passes",
            "path",
            "simplex_qp",
            "smallest_k",
            "solution",
            "strategy",
        ],
    ),
    (
        "eigen",
        &[
            "class_pairs",
            "generalized_eigen",
            "lanczos",
            "majoriser",
            "monotone",
            "nominal",
            "paper",
            "partitioned",
            "strategy",
        ],
    ),
    ("ellipsoid", &["interior", "newton", "normal", "strategy"]),
    ("robust", &["interior", "newton", "partitioned", "tuning"]),
    (
        "partitioned",
        &[
            "task",
            "driver",
            "ellipsoid",
            "engine",
            "loss_problem",
            "losses",
            "missing",
            "near_rows",
            "newton_step",
            "one_versus_rest",
            "sample",
            "continuation",
            "whole",
            "zero_weights",
        ],
    ),
];

/// No source is longer.
const LONGEST_FILE: usize = 400;

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
    }
    assert!(wrong.is_empty(), "imports that point up or sideways:\n{}", wrong.join("\n"));
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The modules that `mod.rs` of a room declares.
fn modules(room: &Path) -> BTreeSet<String> {
    let source = fs::read_to_string(room.join("mod.rs")).unwrap();
    let declared = |line: &str| {
        let name = line.split_once("mod ")?.1.strip_suffix(';')?;
        (!line.starts_with("//")).then(|| name.to_owned())
    };
    source.lines().filter_map(declared).collect()
}

/// Which modules of a room each of its modules names, by `super::` or by `crate::room::`.
fn siblings_used(room: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let (all, name) = (modules(room), room.file_name().unwrap().to_string_lossy().into_owned());
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(room) {
        let first = path.strip_prefix(room).unwrap().components().next().unwrap();
        let module = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        let source = fs::read_to_string(&path).unwrap();
        // What stands in tests may compare with anything.
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let own = format!("crate::{name}::");
        let named = code.split("super::").skip(1).chain(code.split(own.as_str()).skip(1)).map(word);
        used.entry(module).or_default().extend(named.filter(|m| all.contains(m)));
    }
    used
}

/// The bound is recomputed from data and answer: neither `certificate` nor anything it uses, directly or through
/// other modules, is a solver.
#[test]
fn a_certificate_never_sees_a_solver() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let listed: BTreeSet<&str> = SOLVERS.iter().map(|(room, _)| *room).collect();
    for room in FLOORS.iter().copied().flatten().filter(|room| root.join(room).is_dir()) {
        let certified = modules(&root.join(room)).contains("certificate");
        assert_eq!(
            certified,
            listed.contains(room),
            "{room}: SOLVERS lists rooms with a certificate"
        );
    }
    for (room, solvers) in SOLVERS {
        let path = root.join(room);
        let all = modules(&path);
        for solver in *solvers {
            assert!(all.contains(*solver), "{room} has no module `{solver}`: correct SOLVERS");
        }
        let used = siblings_used(&path);
        let mut seen = BTreeSet::new();
        let mut next = vec!["certificate".to_owned()];
        while let Some(module) = next.pop() {
            if seen.insert(module.clone()) {
                assert!(!solvers.contains(&module.as_str()), "{room}: certificate sees `{module}`");
                next.extend(used.get(&module).into_iter().flatten().cloned());
            }
        }
    }
}

/// Every source of the workspace, with its path from the root: crates with their tests, `xtask`, examples and fuzz targets.
fn workspace() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates", "xtask", "examples", "fuzz"].map(|folder| root.join(folder));
    let found = folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| sources(folder));
    found
        .map(|path| {
            let source = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(&root).unwrap().to_owned(), source)
        })
        .collect()
}

#[test]
fn every_source_says_what_it_is_for() {
    let sources = workspace();
    assert!(sources.len() > 500, "only {} sources were found", sources.len());
    let silent: Vec<String> = sources
        .iter()
        .filter(|(_, source)| !source.starts_with("//! "))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no `//!` comment in the first line:\n{}", silent.join("\n"));
}

/// Tests are lists and may be longer.
#[test]
fn every_source_is_short() {
    let long: Vec<String> = workspace()
        .iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "src"))
        .map(|(path, source)| (path, source.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| format!("{} has {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The lines whose formulas Markdown would change before KaTeX sees them: a dollar outside code, code beside code without a
/// space, or code that goes on in a line which Markdown takes for the start of a list, a quotation, a heading or a table.
fn broken_formulas(source: &str) -> Vec<usize> {
    const BLOCKS: [&str; 9] = ["- ", "+ ", "* ", "# ", "> ", "| ", "= ", "1. ", "1) "];
    let (mut wrong, mut block, mut code) = (Vec::new(), false, false);
    for (number, line) in (1..).zip(source.lines()) {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            (block, code) = (false, false);
            continue;
        };
        let text = text.trim();
        if text.starts_with("```") {
            block = !block;
        } else if !block {
            code &= !text.is_empty();
            let interrupted =
                code && BLOCKS.iter().any(|start| format!("{text} ").starts_with(start));
            let mut bare = text.contains("``");
            // What stands between backticks is text and code by turns.
            for (i, piece) in text.split('`').enumerate() {
                code ^= i > 0;
                bare |= !code && piece.contains('$');
            }
            if interrupted || bare {
                wrong.push(number);
            }
        }
    }
    wrong
}

/// See "Formulas" in CONTRIBUTING.md.
#[test]
fn every_formula_is_code() {
    let broken = |(path, source): &(PathBuf, String)| {
        let lines = broken_formulas(source);
        (!lines.is_empty()).then(|| format!("{} lines {lines:?}", path.display()))
    };
    let wrong: Vec<String> = workspace().iter().filter_map(broken).collect();
    assert!(wrong.is_empty(), "formulas that Markdown would change:\n{}", wrong.join("\n"));
}

#[test]
fn formulas_that_markdown_changes_are_found() {
    let good =
        "/// Of `$a_i\n/// b_i$` and\n/// ```math\n/// $a\n///   + b\n/// ```\nlet x = '$'; // $a$";
    assert!(broken_formulas(good).is_empty());
    assert_eq!(broken_formulas("/// `$a$`\n//! and $b$"), [2]);
    assert_eq!(broken_formulas("/// `$a\n/// + b$`\n/// - `$c$`"), [2]);
    assert_eq!(broken_formulas("/// `a``$b$`"), [1]);
    assert_eq!(broken_formulas("/// A `stray\n///\n/// $d$"), [3]);
}

#[test]
fn the_scanner_sees_nested_groups() {
    let source =
        "use crate::{data::Dataset, linalg::{Dense, Csr}, Error};\nlet x = crate::loss::Hinge;";
    assert_eq!(rooms_used(source), ["data", "linalg", "Error", "loss"]);
}
