//! Parquet files as other programs write them (see the corpus of the fuzzing targets).
#![cfg(all(test, feature = "parquet"))]

use std::path::{Path, PathBuf};

use mainstay::data::{Cells, Column, Table};
use mainstay_io::{Input, ReadOptions, Source, read};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parquet").join(name)
}

fn load(source: &Source) -> Result<Table, String> {
    match read(source, &ReadOptions::default()) {
        Ok(Input::Table(table)) => Ok(table),
        Ok(Input::Sparse(_)) => panic!("read as sparse rows"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn numbers_booleans_text_and_categories_are_read() {
    let table = load(&Source::new(path("small.parquet"))).unwrap();
    let Cells::Numbers(x) = &table.columns()[0].cells else { panic!() };
    assert!(x[0] == 1.5 && x[1].is_nan() && x[2] == 3.0);
    assert_eq!(table.columns()[1], Column::numbers("i", vec![1.0, 2.0, 3.0]));
    assert_eq!(table.columns()[2], Column::words("b", [Some("true"), Some("false"), Some("true")]));
    assert_eq!(table.columns()[3], Column::words("s", [Some("p"), Some("q"), None]));
    assert_eq!(table.columns()[4], Column::words("c", [Some("u"), Some("v"), Some("u")]));
    let packed = load(&Source::new(path("gzip.parquet"))).unwrap();
    assert_eq!(packed.columns()[1..], table.columns()[1..]);
    let bytes = std::fs::read(path("small.parquet")).unwrap();
    let memory = load(&Source::Bytes("standard input".into(), bytes.into())).unwrap();
    assert_eq!(memory.columns()[1..], table.columns()[1..]);
}

#[test]
fn numbers_can_be_kept_as_categories() {
    let options = ReadOptions { categorical: vec!["i".into()], ..ReadOptions::default() };
    let Input::Table(table) = read(&Source::new(path("small.parquet")), &options).unwrap() else {
        panic!()
    };
    assert_eq!(table.columns()[1], Column::words("i", [Some("1"), Some("2"), Some("3")]));
}

#[test]
fn a_cut_file_is_refused() {
    let bytes = std::fs::read(path("small.parquet")).unwrap();
    for cut in [4, 5, bytes.len() / 3, bytes.len() - 9, bytes.len() - 1] {
        let message = load(&Source::Bytes("t.parquet".into(), bytes[..cut].into())).unwrap_err();
        assert!(message.starts_with("t.parquet: the Parquet data are damaged"), "{cut}: {message}");
    }
    let message = load(&Source::Bytes("t.parquet".into(), b"a,b\n1,2\n"[..].into())).unwrap_err();
    assert!(message.contains("not a Parquet file"), "{message}");
}

#[cfg(not(feature = "parquet-zstd"))]
#[test]
fn a_missing_decoder_is_named() {
    let message = load(&Source::new(path("zstd.parquet"))).unwrap_err();
    assert!(message.contains("build with the feature `parquet-zstd`"), "{message}");
}

#[test]
fn a_column_of_another_type_is_named() {
    let message = load(&Source::new(path("time.parquet"))).unwrap_err();
    assert!(message.contains("column `t` has type Timestamp"), "{message}");
}
