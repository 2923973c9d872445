//! Parquet files as other programs write them (see the corpus of the fuzzing targets).
#![cfg(all(test, feature = "parquet"))]

use std::path::{Path, PathBuf};

use mainstay::data::{Cells, Column, Table};
use mainstay_io::{ChunkOptions, Input, ReadOptions, Scan, Source, read};

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

#[cfg(not(feature = "zstd"))]
#[test]
fn a_missing_decoder_is_named() {
    let message = load(&Source::new(path("zstd.parquet"))).unwrap_err();
    assert!(message.contains("build with the feature `zstd`"), "{message}");
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_is_read_as_polars_writes_it() {
    let table = load(&Source::new(path("zstd.parquet"))).unwrap();
    assert!(table.nrows() > 0);
}

#[test]
fn times_are_read_as_text_in_the_order_of_the_calendar() {
    let table = load(&Source::new(path("time.parquet"))).unwrap();
    let Cells::Words(list) = &table.column("t").unwrap().cells else { panic!("not words") };
    let first = list.get(0).unwrap();
    assert!(first.len() >= 10 && first.as_bytes()[4] == b'-', "{first}");
}

/// An Arrow file (Feather) of the same columns reads as the Parquet file does.
#[test]
fn feather_files_and_streams_read_alike() {
    use arrow_array::{Float64Array, RecordBatch, StringArray};
    use std::sync::Arc;
    let batch = RecordBatch::try_from_iter([
        ("x", Arc::new(Float64Array::from(vec![Some(1.5), None])) as _),
        ("s", Arc::new(StringArray::from(vec![Some("p"), Some("q")])) as _),
    ])
    .unwrap();
    let mut file = Vec::new();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut stream = Vec::new();
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    for (name, bytes) in [("t.feather", &file), ("t.arrow", &stream)] {
        let table = load(&Source::Bytes(name.into(), bytes.as_slice().into())).unwrap();
        let Cells::Numbers(x) = &table.columns()[0].cells else { panic!() };
        assert!(x[0] == 1.5 && x[1].is_nan(), "{name}");
        assert_eq!(table.columns()[1], Column::words("s", [Some("p"), Some("q")]));
        let cut = load(&Source::Bytes(name.into(), bytes[..bytes.len() / 2].into())).unwrap_err();
        assert!(cut.starts_with(&format!("{name}: the Arrow data are damaged")), "{cut}");
    }
}

/// The same file many times, among other formats: in passes as at once, each pass anew.
#[test]
fn small_files_are_read_in_passes_as_at_once() {
    let files = [path("small.parquet"), path("gzip.parquet"), path("small.parquet")];
    let scan = Scan::new(&files, ChunkOptions::default()).unwrap();
    for _ in 0..2 {
        let chunks: Vec<_> = scan.pass().map(Result::unwrap).collect();
        assert_eq!(chunks.len(), 3);
        for (chunk, file) in chunks.iter().zip(&files) {
            let Input::Table(found) = &chunk.rows else { panic!() };
            assert_eq!(found.columns()[1..], load(&Source::new(file)).unwrap().columns()[1..]);
        }
    }
}

#[test]
fn a_cut_file_among_others_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let bytes = std::fs::read(path("small.parquet")).unwrap();
    let (whole, cut) = (folder.path().join("a.parquet"), folder.path().join("b.parquet"));
    std::fs::write(&whole, &bytes).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    let scan = Scan::new(&[whole, cut], ChunkOptions::default()).unwrap();
    let found: Vec<_> = scan.pass().collect();
    assert!(found.len() == 2 && found[0].is_ok());
    let message = found[1].as_ref().unwrap_err().to_string();
    assert!(message.contains("b.parquet") && message.contains("cut short"), "{message}");
}
