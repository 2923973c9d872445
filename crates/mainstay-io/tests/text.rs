//! CSV and LIBSVM readers: what they accept, and what they say about what they do not.
//!
//! Longer than other files by a few lines: a list of tests of two readers.
#![cfg(test)]

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use mainstay::data::{Cells, Classes, Column, Encoder, Missing, Table};
use mainstay_io::{
    CsvText, Format, Input, ReadOptions, Source, SparseRows, read, read_noted, write_csv,
    write_csv_as,
};
use proptest::prelude::*;

fn source(name: &str, bytes: impl AsRef<[u8]>) -> Source {
    Source::Bytes(name.into(), Arc::from(bytes.as_ref()))
}

fn csv_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table, String> {
    match read(&source("t.csv", text), options) {
        Ok(Input::Table(table)) => Ok(table),
        Ok(Input::Sparse(_)) => panic!("read as LIBSVM"),
        Err(error) => Err(error.to_string()),
    }
}

fn csv(text: impl AsRef<[u8]>) -> Result<Table, String> {
    csv_with(text, &ReadOptions::default())
}

fn libsvm(text: &str) -> Result<SparseRows, String> {
    match read(&source("t.svm", text), &ReadOptions::default()) {
        Ok(Input::Sparse(rows)) => Ok(rows),
        Ok(Input::Table(_)) => panic!("read as CSV"),
        Err(error) => Err(error.to_string()),
    }
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn numbers(column: &Column) -> &[f64] {
    match &column.cells {
        Cells::Numbers(values) => values,
        Cells::Words(_) => panic!("`{}` holds words", column.name),
    }
}

#[test]
fn numbers_and_words_are_told_apart_by_their_cells() {
    let table = csv("a, b ,c,d\n1,x,2.5e3, -4\n,y,NaN,?\n+3,1,null,.5\n").unwrap();
    assert_eq!(table.names().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    let a = numbers(&table.columns()[0]);
    assert!(a[0] == 1.0 && a[1].is_nan() && a[2] == 3.0);
    assert_eq!(table.columns()[1], Column::words("b", [Some("x"), Some("y"), Some("1")]));
    assert_eq!(numbers(&table.columns()[2])[0], 2500.0);
    assert_eq!(numbers(&table.columns()[3])[2], 0.5);
}

#[test]
fn quoted_cells_may_hold_delimiters_quotes_and_line_feeds() {
    let table = csv("a,b\n\"x, \"\"y\"\"\nz\",1\r\n\"2\",2\r\n").unwrap();
    assert_eq!(table.columns()[0], Column::words("a", [Some("x, \"y\"\nz"), Some("2")]));
    assert_eq!(numbers(&table.columns()[1]), [1.0, 2.0]);
}

#[test]
fn the_delimiter_is_found_or_taken_as_given() {
    for (delimiter, text) in [
        (',', "a,b\n1,2\n"),
        (';', "a;b\n1,5;2\n3,5;4\n"),
        ('\t', "a\tb\n1\t2\n"),
        ('|', "a|b\n1|2\n"),
    ] {
        let table = csv(text).unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), ["a", "b"], "{delimiter:?}");
    }
    let options = ReadOptions { delimiter: Some(b':'), ..ReadOptions::default() };
    assert_eq!(csv_with("a:b\n1:2\n", &options).unwrap().columns().len(), 2);
    let wrong = ReadOptions { delimiter: Some(b';'), ..ReadOptions::default() };
    let message = csv_with("a,y\n1,2\n", &wrong).unwrap().column("y").unwrap_err().to_string();
    assert!(message.contains("the only column is `a,y` (is the delimiter right?)"), "{message}");
}

#[test]
fn a_file_without_header_gets_numbered_columns() {
    let options = ReadOptions { header: false, ..ReadOptions::default() };
    let table = csv_with("1,x\n2,y\n", &options).unwrap();
    assert_eq!(table.names().collect::<Vec<_>>(), ["column1", "column2"]);
    assert_eq!(table.nrows(), 2);
}

#[test]
fn gzip_is_recognised_by_content_and_damage_is_named() {
    let text = "a,b\n".to_owned() + &"1,2\n".repeat(5000);
    let packed = gz(text.as_bytes());
    assert_eq!(csv(&packed).unwrap(), csv(&text).unwrap());
    for cut in [3, 12, packed.len() / 2, packed.len() - 1] {
        let message = csv(&packed[..cut]).unwrap_err();
        assert!(message.contains("gzip data are damaged or cut short"), "{cut}: {message}");
    }
    let mut flipped = packed.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert!(csv(&flipped).unwrap_err().contains("gzip"));
}

#[test]
fn codes_with_leading_zeros_keep_their_text() {
    // The word comes only after the reader has handed out blocks full of numbers.
    let mut text = String::from("zip,v\n");
    let rows = 600_000;
    for i in 0..rows {
        writeln!(text, "{:05},{}", i % 7, i % 2).unwrap();
    }
    text += "x1,1\n";
    assert!(text.len() > 4 << 20);
    let table = csv(&text).unwrap();
    let Cells::Words(list) = &table.columns()[0].cells else { panic!("read as numbers") };
    assert_eq!(
        (list.get(0), list.get(8), list.get(rows)),
        (Some("00000"), Some("00001"), Some("x1"))
    );
    assert_eq!(list.words().len(), 8);
    assert_eq!(numbers(&table.columns()[1]).len(), rows + 1);
}

#[test]
fn columns_can_be_kept_as_text() {
    let options = ReadOptions { categorical: vec!["zip".into()], ..ReadOptions::default() };
    let table = csv_with("zip,v\n01,1\n1,2\n", &options).unwrap();
    assert_eq!(table.columns()[0], Column::words("zip", [Some("01"), Some("1")]));
}

#[test]
fn bad_csv_gets_one_clear_line() {
    let big = "a,b\n".to_owned() + &"1,2\n".repeat(2_000_000) + "1,2,3\n";
    let cases: &[(&[u8], &str)] = &[
        (b"", "t.csv: the file is empty"),
        (b"\n\n", "t.csv: the file is empty"),
        (b"a,b\n", "t.csv: there is a header but no row of data"),
        (b"a,b\n1,2\n\n3\n", "t.csv, line 4: 1 cell, but the first record has 2 cells"),
        (b"a,b\n1,2\n3,4,5\n", "t.csv, line 3: 3 cells, but the first record has 2 cells"),
        (big.as_bytes(), "t.csv, line 2000002: 3 cells, but the first record has 2 cells"),
        (b"a,b\n1,2\n\"x,4\n5,6\n", "t.csv, line 3: a quote is opened but never closed"),
        (b"a,b\r\n1,\"2\"\r\n\r\n3\r\n", "t.csv, line 4: 1 cell, but the first record has 2 cells"),
        (b"a,a\n1,2\n", "t.csv: two columns are called `a`; rename one"),
        (b"\xff\xfea\0,\0b\0", "t.csv: there is a header but no row of data"),
        (
            b"a,b\n1,\0\n",
            "t.csv: the file is binary; CSV, LIBSVM, Parquet, Arrow or a spreadsheet is needed",
        ),
        (
            b"5.1,3.5,setosa\n4.9,3.0,setosa\n",
            "t.csv, line 1: `5.1` is a number where the name of a column should be: if the file has no header, \
             add --no-header",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(csv(text).unwrap_err(), *message);
    }
}

#[test]
fn extreme_numbers_are_read_and_infinite_ones_refused_by_the_encoder() {
    let table = csv("a,b\n1e308,5e-324\n-1e308,0\n").unwrap();
    assert_eq!(numbers(&table.columns()[0]), [1e308, -1e308]);
    assert_eq!(numbers(&table.columns()[1])[0], 5e-324);
    for cell in ["inf", "-Infinity", "1e999"] {
        let table = csv(format!("a,b\n1,2\n3,{cell}\n")).unwrap();
        let encoder = Encoder::learn(&table, Missing::Refuse).unwrap();
        let message = encoder.encode(&table).unwrap_err().to_string();
        assert!(message.starts_with("row 1, column `b`"), "{message}");
    }
}

#[test]
fn a_missing_file_and_a_directory_are_named() {
    let message = |path: &str| read(&Source::new(path), &ReadOptions::default()).unwrap_err();
    let missing = message("/no/such/file.csv").to_string();
    assert!(missing.starts_with("cannot read `/no/such/file.csv`: "), "{missing}");
    assert!(message("/").to_string().contains("directory"));
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_name() {
    let table = csv("\u{feff}a,b\n1,2\n").unwrap();
    assert_eq!(table.names().next(), Some("a"));
}

#[test]
fn a_single_line_beyond_all_measure_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("line.csv");
    // 2 GB that take no room on disk: zeros do not matter, the length of the line does.
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(2 << 30).unwrap();
    let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    let message = read(&Source::new(&path), &options).unwrap_err().to_string();
    assert!(message.contains("line 1: the record is longer than 256 MB"), "{message}");
}

#[test]
fn sparse_rows_are_read_with_comments_and_query_ids() {
    let rows =
        libsvm("# a file\n+1 qid:3 1:0.5 4:-2 # first\n\n-1 2:1e3\n+1 # no features\n").unwrap();
    assert_eq!((rows.features.nrows(), rows.features.ncols()), (3, 4));
    assert_eq!(rows.features.row(0), (&[0, 3][..], &[0.5, -2.0][..]));
    assert_eq!(rows.features.row(1), (&[1][..], &[1000.0][..]));
    assert_eq!(rows.features.row(2).0.len(), 0);
    let classes = Classes::learn(&rows.labels).unwrap();
    assert_eq!(classes.codes(&rows.labels).unwrap(), [1, 0, 1]);
}

#[test]
fn sparse_rows_are_recognised_by_content() {
    let options = ReadOptions::default();
    for (name, text, sparse) in [
        ("data", "1 1:2 3:4\n", true),
        ("-", "1 qid:7 1:2\n", true),
        ("data.svmlight.gz", "1 1:2\n", true),
        ("data.txt", "a b\n1 2\n", false),
        ("data.txt", "time,v\n10:30,2\n", false),
    ] {
        let input = read(&source(name, text), &options).unwrap();
        assert_eq!(matches!(input, Input::Sparse(_)), sparse, "{name}: {text}");
    }
    let packed = read(&source("data.svmlight.gz", gz(b"1 1:2\n")), &options).unwrap();
    assert!(matches!(packed, Input::Sparse(_)));
}

#[test]
fn bad_sparse_rows_get_one_clear_line() {
    for (text, problem) in [
        ("", "t.svm: the file is empty"),
        ("# nothing\n", "t.svm: there is no row of data"),
        ("1 1:1\nx 1:1\n", "t.svm, line 2: the label `x` is not a finite number"),
        ("1,2 1:1\n", "t.svm, line 1: the label `1,2` is not a finite number"),
        (
            "1 0:1\n",
            "t.svm, line 1: index 0: indices count from 1 (write the file with zero_based=False)",
        ),
        ("1 2:1 2:3\n", "t.svm, line 1: index 2 after 2: indices must ascend within a line"),
        ("1 3:1 2:3\n", "t.svm, line 1: index 2 after 3: indices must ascend within a line"),
        ("1 2\n", "t.svm, line 1: `2` is not `index:value`"),
        ("1 2:\n", "t.svm, line 1: `2:` is not `index:value`"),
        ("1 2:inf\n", "t.svm, line 1: `2:inf` is not a finite number"),
        ("1 4000000000:1\n", "t.svm, line 1: index 4000000000 is above the limit of 100000000"),
    ] {
        assert_eq!(libsvm(text).unwrap_err(), problem);
    }
}

#[test]
fn a_folder_of_formats_reads_alike_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let load = |path: &Path| read(&Source::new(path), &ReadOptions::default()).unwrap();
    let text = b"a,b\n1,x\n2,y\n";
    assert_eq!(load(&write("d.csv", text)), load(&write("d.csv.gz", &gz(text))));
    assert_eq!(load(&write("d.tsv", b"a\tb\n1\tx\n2\ty\n")), load(&write("e.csv", text)));
}

fn noted(text: &[u8], options: &ReadOptions) -> (Table, Vec<String>) {
    match read_noted(&source("t.csv", text), options).unwrap() {
        (Input::Table(table), notes) => (table, notes),
        (Input::Sparse(_), _) => panic!("read as LIBSVM"),
    }
}

#[test]
fn other_encodings_are_decoded_and_told() {
    let text = "größe;ort\n1;Köln\n2;Bonn\n";
    let utf8 = csv(text).unwrap();
    let utf16 = |encode: fn(u16) -> [u8; 2], mark: [u8; 2]| -> Vec<u8> {
        mark.into_iter().chain(text.encode_utf16().flat_map(encode)).collect()
    };
    let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(c as u32).unwrap()).collect();
    for (bytes, name) in [
        (utf16(u16::to_le_bytes, [0xff, 0xfe]), "UTF-16"),
        (utf16(u16::to_be_bytes, [0xfe, 0xff]), "UTF-16"),
        (latin1, "Latin-1"),
    ] {
        let (table, notes) = noted(&bytes, &ReadOptions::default());
        assert_eq!(table, utf8, "{name}");
        assert!(notes.len() == 1 && notes[0].contains(name), "{notes:?}");
    }
}

#[test]
fn a_decimal_comma_is_found_with_semicolons_or_taken_as_told() {
    let text = b"a;b;c\n1,5;2;x\n-3,25;4;y\n;5;z\n";
    let (table, notes) = noted(text, &ReadOptions::default());
    let a = numbers(&table.columns()[0]);
    assert!(a[0] == 1.5 && a[1] == -3.25 && a[2].is_nan());
    assert_eq!(numbers(&table.columns()[1]), [2.0, 4.0, 5.0]);
    assert!(notes[0].contains("decimal comma"), "{notes:?}");
    let told = |text: &str| {
        let options = ReadOptions { decimal_comma: Some(true), ..ReadOptions::default() };
        csv_with(text, &options)
    };
    assert_eq!(numbers(&told("a\tb\n1,5\t1\n2,5\t2\n").unwrap().columns()[0]), [1.5, 2.5]);
    let message = told("a\tb\n1,5\t1.250\n2,5\t2.5\n").unwrap_err();
    assert!(message.contains("row 1, column `b`: a number with a point"), "{message}");
    let not = ReadOptions { decimal_comma: Some(false), ..ReadOptions::default() };
    assert!(matches!(noted(text, &not).0.columns()[0].cells, Cells::Words(_)));
}

#[test]
fn indices_far_apart_are_not_learned_from() {
    let far = libsvm("1 1:1\n-1 100000000:1\n").unwrap();
    let message = far.check_compact().unwrap_err().to_string();
    assert!(message.contains("the largest index is 100000000, but there are only 2 entries"));
    assert!(libsvm("1 1:1\n-1 70000:1\n").unwrap().check_compact().is_ok());
}

/// Forty thousand columns take about forty times as long as a thousand, not sixteen hundred times.
#[test]
fn many_columns_are_read_and_encoded_in_linear_time() {
    let table = |p: usize| {
        let names: Vec<String> = (0..p).map(|j| format!("c{j}")).collect();
        let row = |k: usize| -> String {
            (0..p).map(|j| ((j + k) % 7).to_string()).collect::<Vec<_>>().join(",")
        };
        csv(format!("{}\n{}\n{}\n", names.join(","), row(1), row(2))).unwrap()
    };
    let time = |p: usize| {
        let start = std::time::Instant::now();
        let table = table(p);
        let encoder = Encoder::learn(&table, Missing::Refuse).unwrap();
        encoder.encode(&table).unwrap();
        start.elapsed().as_secs_f64()
    };
    let small = time(2_000).max(0.005);
    let large = time(40_000);
    assert!(large < 100.0 * small, "{large} s against {small} s");
}

#[test]
fn text_that_a_spreadsheet_would_run_can_be_made_harmless() {
    let table = Table::new(vec![
        Column::words("=a", [Some("=1+1"), Some("@x"), Some("plain"), Some("-b")]),
        Column::numbers("n", vec![-1.0, 2.0, -3.0, 4.0]),
    ])
    .unwrap();
    let mut out = Vec::new();
    write_csv_as(&mut out, &table, CsvText::Safe).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "'=a,n\n'=1+1,-1\n'@x,2\nplain,-3\n'-b,4\n");
}

/// Cells as the reader hands them out: no outer spaces, not a missing marker, not a number.
fn word() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        "[a-z\",;|\n\r\t é\u{1F600}]{1,12}".prop_map(|w| {
            let trimmed = w.trim_matches(|c: char| c.is_ascii_whitespace());
            Some(format!("w{trimmed}"))
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        words in proptest::collection::vec(word(), 1..40),
        bits in proptest::collection::vec(any::<u64>(), 40),
        name in "[a-z\",\n ]{0,8}x",
    ) {
        let values: Vec<f64> = bits[..words.len()]
            .iter()
            .map(|b| f64::from_bits(*b))
            .map(|v| if v.is_finite() { v } else { f64::NAN })
            .collect();
        let name = name.trim().to_owned();
        let table = Table::new(vec![
            Column::numbers("number", values.clone()),
            Column::words(name, words.iter().map(Option::as_deref)),
            Column::words("fixed", vec![Some("z"); words.len()]),
        ])
        .unwrap();
        let mut bytes = Vec::new();
        write_csv(&mut bytes, &table).unwrap();
        let back = csv_with(&bytes, &ReadOptions { delimiter: Some(b','), ..ReadOptions::default() }).unwrap();
        for (value, found) in values.iter().zip(numbers(&back.columns()[0])) {
            prop_assert_eq!(value.is_nan(), found.is_nan());
            prop_assert!(value.is_nan() || value.to_bits() == found.to_bits());
        }
        if words.iter().any(Option::is_some) {
            prop_assert_eq!(&back.columns()[1], &table.columns()[1]);
        }
        prop_assert_eq!(&back.columns()[2], &table.columns()[2]);
    }
}
