//! A source in chunks holds the rows of the whole source, wherever it is cut.
#![cfg(test)]

use std::io::Write;

use flate2::write::GzEncoder;
use mainstay::data::{Cells, Column, Table};
use mainstay_io::{
    Chunk, ChunkOptions, ChunkSize, Chunks, Error, Input, ReadOptions, Source, read,
};

fn bytes(name: &str, content: impl AsRef<[u8]>) -> Source {
    Source::Bytes(name.into(), content.as_ref().into())
}

fn cut(size: usize) -> ChunkOptions {
    ChunkOptions { size: ChunkSize { bytes: size, cells: size }, ..ChunkOptions::default() }
}

fn chunks(source: &Source, options: &ChunkOptions) -> Result<Vec<Chunk>, Error> {
    Chunks::new(source.clone(), options.clone()).collect()
}

fn tables(found: &[Chunk]) -> Vec<&Table> {
    let table = |chunk: &Chunk| match &chunk.rows {
        Input::Table(_) => true,
        Input::Sparse(_) => false,
    };
    assert!(found.iter().all(table));
    let rows = |chunk| match chunk {
        &Chunk { rows: Input::Table(ref table), .. } => Some(table),
        _ => None,
    };
    found.iter().filter_map(rows).collect()
}

/// Every cell as text, row by row, and the number of every row.
fn cells(tables: &[&Table]) -> Vec<(usize, Vec<Option<String>>)> {
    let row = |t: &&Table, i: usize| t.columns().iter().map(|c| c.text(i)).collect();
    let rows = tables.iter().flat_map(|t| (0..t.nrows()).map(move |i| (t.place(i) + 1, row(t, i))));
    rows.collect()
}

fn whole(source: &Source, options: &ReadOptions) -> Vec<(usize, Vec<Option<String>>)> {
    let Input::Table(table) = read(source, options).unwrap() else { panic!("sparse") };
    cells(&[&table])
}

const TEXT: &str = "id,note,x\na1,\"two\nlines, \"\"quoted\"\"\",1.5\nb2,plain,-3\n\nc3,\"\",NA\r\n\
                    d4,\"ends\n\n\nlate\",1e-3\ne5,\u{e9}t\u{e9},7";

#[test]
fn text_is_the_same_wherever_it_is_cut() {
    let source = bytes("t.csv", TEXT);
    let expected = whole(&source, &ReadOptions::default());
    assert_eq!(expected.len(), 5);
    assert_eq!(expected[0].1[1].as_deref(), Some("two\nlines, \"quoted\""));
    for size in 1..TEXT.len() + 2 {
        for ending in ["", "\n", "\r\n"] {
            let found = chunks(&bytes("t.csv", format!("{TEXT}{ending}")), &cut(size)).unwrap();
            assert_eq!(cells(&tables(&found)), expected, "chunks of {size} bytes");
        }
        let first: Vec<usize> =
            chunks(&source, &cut(size)).unwrap().iter().map(|c| c.first).collect();
        assert!(first.is_sorted() && first[0] == 0);
    }
    assert!(chunks(&source, &cut(1)).unwrap().len() >= 4);
}

#[test]
fn packed_and_foreign_text_is_the_same_wherever_it_is_cut() {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(TEXT.as_bytes()).unwrap();
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(TEXT.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let latin1: Vec<u8> = TEXT.chars().map(|c| u8::try_from(c as u32).unwrap()).collect();
    let expected = whole(&bytes("t.csv", TEXT), &ReadOptions::default());
    let mark = format!("\u{feff}{TEXT}").into_bytes();
    let all = [packed.finish().unwrap(), utf16, latin1, mark];
    for (content, note) in all.into_iter().zip(["", "UTF-16", "not UTF-8 (line 11)", ""]) {
        for size in [1, 5, 64, 1000] {
            let mut reader = Chunks::new(bytes("t.csv.gz", &content), cut(size));
            let found: Vec<Chunk> = reader.by_ref().collect::<Result<_, _>>().unwrap();
            assert_eq!(cells(&tables(&found)), expected, "{note}: chunks of {size} bytes");
            assert_eq!(reader.notes().len(), usize::from(!note.is_empty()));
            assert!(reader.notes().iter().all(|n| n.contains(note)), "{:?}", reader.notes());
            assert_eq!(reader.rows(), 5);
        }
    }
}

#[test]
fn a_column_named_as_text_keeps_its_spelling_in_every_chunk() {
    let text = "id,x\n007,1\n1.50,2\nB,3\n";
    let options = ChunkOptions { text: vec!["id".into()], ..cut(4) };
    let found = chunks(&bytes("t.csv", text), &options).unwrap();
    let ids: Vec<_> = cells(&tables(&found)).into_iter().map(|(_, row)| row[0].clone()).collect();
    assert_eq!(ids, ["007", "1.50", "B"].map(|w| Some(w.to_owned())));
}

#[test]
fn only_the_columns_asked_for_are_read_if_all_are_there() {
    let options = |names: &[&str]| ChunkOptions {
        columns: Some(names.iter().map(|n| (*n).to_owned()).collect()),
        ..cut(10)
    };
    let names = |names: &[&str]| -> Vec<String> {
        let found =
            chunks(&bytes("t.csv", "a,b,c\n1,\"x\ny\",2\n3,z,4\n"), &options(names)).unwrap();
        assert_eq!(found.iter().map(|c| c.rows.nrows()).sum::<usize>(), 2);
        tables(&found)[0].names().map(str::to_owned).collect()
    };
    assert_eq!(names(&["c", "a"]), ["a", "c"]);
    assert_eq!(names(&["c", "nowhere"]), ["a", "b", "c"]);
}

#[test]
fn decimal_commas_may_come_late_but_not_beside_columns_of_points() {
    let late = "x;y\n1;7\n2;8\n3;9\n1,5;4\n-0,25;5\n";
    let numbers = |found: &[Chunk]| -> Vec<f64> {
        let values = |t: &&Table| match &t.columns()[0].cells {
            Cells::Numbers(values) => values.clone(),
            Cells::Words(_) => panic!("words"),
        };
        tables(found).iter().flat_map(values).collect()
    };
    for size in [1, 6, 100] {
        let found = chunks(&bytes("t.csv", late), &cut(size)).unwrap();
        assert_eq!(numbers(&found), [1.0, 2.0, 3.0, 1.5, -0.25]);
        // A column may have both, as in a table in memory; one of points alone is unclear.
        let both = chunks(&bytes("t.csv", late.replace("2;8", "2.5;8")), &cut(size)).unwrap();
        assert_eq!(numbers(&both), [1.0, 2.5, 3.0, 1.5, -0.25]);
        let unclear = bytes("t.csv", late.replace("2;8", "2;8.5"));
        let message = chunks(&unclear, &cut(size)).unwrap_err().to_string();
        assert!(message.contains("row 2, column `y`: a number with a point"), "{message}");
        assert_eq!(message, read(&unclear, &ReadOptions::default()).unwrap_err().to_string());
    }
}

#[test]
fn errors_name_the_line_of_the_file() {
    let message = |text: &str, size: usize| {
        chunks(&bytes("t.csv", text), &cut(size)).unwrap_err().to_string()
    };
    for size in [1, 3, 1000] {
        assert_eq!(
            message("a,b\n1,\"x\ny\"\n2\n", size),
            "t.csv, line 4: 1 cell, but the first record has 2 cells"
        );
        assert!(message("a,b\n1,2\n3,\"4\n", size).contains("line 3: a quote is opened"));
        assert!(message("a,b\n", size).contains("a header but no row"));
        assert!(message("a,a\n1,2\n", size).contains("two columns are called `a`"));
    }
    let mixed = [b"a\n\xc3\xa9\n".as_slice(), b"\xe9\n"].concat();
    let message = chunks(&bytes("t.csv", mixed), &cut(2)).unwrap_err().to_string();
    assert!(message.contains("line 3: not UTF-8"), "{message}");
}

#[test]
fn sparse_rows_are_the_same_wherever_they_are_cut() {
    let text = "+1 1:0.5 3:2\n# nothing\n-1 2:1\n+1\n-1 2:2 3:-1 # more";
    let Input::Sparse(expected) = read(&bytes("t.svm", text), &ReadOptions::default()).unwrap()
    else {
        panic!("a table")
    };
    for size in 1..=text.len() {
        let found = chunks(&bytes("t.svm", text), &cut(size)).unwrap();
        let mut rows = Vec::new();
        for chunk in &found {
            assert_eq!(chunk.first, rows.len());
            let Input::Sparse(part) = &chunk.rows else { panic!("a table") };
            let wide = part.features.clone().with_ncols(3).unwrap();
            let dense = mainstay::linalg::Matrix::Sparse(wide).to_dense();
            for i in 0..part.features.nrows() {
                rows.push((part.labels.text(i), dense.row(i).to_vec()));
            }
        }
        let dense = mainstay::linalg::Matrix::Sparse(expected.features.clone()).to_dense();
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(*row, (expected.labels.text(i), dense.row(i).to_vec()));
        }
        assert_eq!(rows.len(), 4);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn columns_on_disk_are_the_same_wherever_they_are_cut() {
    use std::path::Path;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parquet");
    for name in ["small.parquet", "gzip.parquet"] {
        let path = folder.join(name);
        let expected = whole(&Source::new(&path), &ReadOptions::default());
        let held = bytes(name, std::fs::read(&path).unwrap());
        for size in [1, 7, 1000] {
            for source in [Source::new(&path), held.clone()] {
                let mut reader = Chunks::new(source, cut(size));
                let found: Vec<Chunk> = reader.by_ref().collect::<Result<_, _>>().unwrap();
                assert_eq!(cells(&tables(&found)), expected);
                assert_eq!(reader.expected(), Some(3));
            }
        }
        let options = ChunkOptions { columns: Some(vec!["s".into(), "i".into()]), ..cut(2) };
        let found = chunks(&Source::new(&path), &options).unwrap();
        assert_eq!(tables(&found)[0].columns()[0], Column::numbers("i", vec![1.0]));
        assert_eq!(found.len(), 3);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn arrow_batches_are_the_same_wherever_they_are_cut() {
    use std::sync::Arc;

    use arrow_array::{Float64Array, RecordBatch, StringArray};
    let batch = |start: i32| {
        let x: Float64Array = (start..start + 5).map(|i| Some(f64::from(i) / 3.0)).collect();
        let s: StringArray =
            (start..start + 5).map(|i| (i % 3 > 0).then(|| format!("w{i}"))).collect();
        RecordBatch::try_from_iter([("x", Arc::new(x) as _), ("s", Arc::new(s) as _)]).unwrap()
    };
    let batches = [batch(0), batch(5)];
    let schema = batches[0].schema();
    let mut file = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &schema).unwrap();
    let mut stream = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
    for batch in &batches {
        file.write(batch).unwrap();
        stream.write(batch).unwrap();
    }
    for content in [file.into_inner().unwrap(), stream.into_inner().unwrap()] {
        let source = bytes("t.arrow", content);
        let expected = whole(&source, &ReadOptions::default());
        assert_eq!(expected.len(), 10);
        for size in [1, 6, 1000] {
            assert_eq!(cells(&tables(&chunks(&source, &cut(size)).unwrap())), expected);
        }
    }
}

#[test]
fn whoever_stops_early_stops_the_reader() {
    let text = "x\n".to_owned() + &"1\n".repeat(100_000);
    let mut reader = Chunks::new(bytes("t.csv", text), cut(100));
    assert_eq!(reader.next().unwrap().unwrap().first, 0);
    assert!(reader.rows() < 100);
}
