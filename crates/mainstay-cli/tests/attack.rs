//! The short runs of the attack on the binary: damaged files, killed processes. `cargo xtask attack` is the long one.
#![cfg(all(test, unix))]

use std::path::Path;

use mainstay_attack::{Limit, files, processes};

const BINARY: &str = env!("CARGO_BIN_EXE_mainstay");

#[test]
fn damaged_files_get_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let target =
        files::Target { binary: Path::new(BINARY), corpus: &corpus, folder: folder.path() };
    let found = files::run(&target, 1, Limit::tries(150));
    assert!(found.failures.is_empty(), "{}", found.failures.join("\n"));
    assert_eq!(found.tries, 150);
}

#[test]
fn struck_processes_leave_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let found = processes::run(Path::new(BINARY), folder.path(), 1, Limit::tries(15));
    assert!(found.failures.is_empty(), "{}", found.failures.join("\n"));
    assert_eq!(found.tries, 15);
}
