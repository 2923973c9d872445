//! Fits to files that are read in passes: the encoder, the rows and the answer of a table in memory.
#![cfg(test)]

mod scan_files;

use std::fs;
use std::path::PathBuf;

use mainstay::Control;
use mainstay::data::{Missing, Preparation};
use mainstay::methods;
use mainstay::model::{Estimator, StandardizeFirst};
use mainstay::partitioned::Partitions;
use mainstay_io::{ReadOptions, ScanRows, Source, read_table};
use scan_files::{files, rewrite_unseen, scan, wishes};
use serde_json::json;
use tempfile::TempDir;

#[test]
fn files_teach_the_encoder_of_the_table_and_give_its_rows() {
    let folder = TempDir::new().unwrap();
    let (one, two) = files(&folder, 90);
    let table = read_table(&Source::new(&one), &ReadOptions::default()).unwrap();
    for missing in [Missing::MostFrequent, Missing::Drop] {
        let expected = wishes(missing).apply(table.clone()).unwrap();
        for (files, size) in [(vec![one.clone()], 40), (two.clone(), 300), (two.clone(), 1 << 20)] {
            let control = Control::new();
            let found = ScanRows::learn(scan(&files, size), &wishes(missing), None, &control, None)
                .unwrap();
            assert_eq!(found.encoder(), Some(&expected.encoder));
            assert_eq!(found.classes(), &expected.classes);
            assert_eq!(found.rows(), expected.data.len());
            for _ in 0..2 {
                let block = found.block(0).unwrap().unwrap();
                assert_eq!(*block.x, *expected.data.features());
                assert_eq!(&*block.labels, expected.data.labels());
                drop(block);
                assert!(found.block(1).unwrap().is_none());
            }
        }
    }
}

#[test]
fn a_fit_in_passes_is_certified_and_as_good_as_one_in_memory() {
    let folder = TempDir::new().unwrap();
    let (one, two) = files(&folder, 600);
    let table = read_table(&Source::new(&one), &ReadOptions::default()).unwrap();
    let data = wishes(Missing::Mean).apply(table).unwrap().data;
    for (method, params) in [
        ("l2", json!({"alpha": 0.01})),
        ("l1", json!({"alpha": 0.01})),
        ("stable-logistic", json!({"k": 0.7, "alpha": 0.01})),
    ] {
        let estimator = methods::find(method).unwrap().estimator(&params).unwrap();
        let control = Control::new();
        let expected = StandardizeFirst(estimator.as_ref()).fit(&data, &control).unwrap();
        let mut models = Vec::new();
        for (files, size) in [(vec![one.clone()], 1000), (two.clone(), 1 << 20)] {
            let mut rows =
                ScanRows::learn(scan(&files, size), &wishes(Missing::Mean), None, &control, None)
                    .unwrap();
            rows.standardize().unwrap();
            let mut gaps = Vec::new();
            let driver = methods::driver(method, &params).unwrap();
            let fitted = rows
                .fit(driver, |driver| {
                    gaps.push(driver.gap());
                    Ok(())
                })
                .unwrap();
            assert!(fitted.dual_gap().unwrap() <= fitted.tol, "{gaps:?}");
            let (a, b) = (&fitted.certificates[0], &expected.certificates[0]);
            assert!((a.primal - b.primal).abs() <= a.primal - a.dual + b.primal - b.dual + 1e-12);
            let judged = rows.judge(&fitted.model).unwrap();
            assert_eq!(judged.rows, data.len());
            assert!(judged.accuracy > 0.8, "{}", judged.accuracy);
            models.push(fitted.model);
        }
        // The same blocks, wherever files and chunks were cut.
        assert_eq!(models[0], models[1]);
    }
}

#[test]
fn sparse_rows_are_fitted_in_passes_too() {
    let folder = TempDir::new().unwrap();
    let row = |i: usize| {
        let wave = |k: usize| ((i * k + 1) as f64 * 0.731).sin();
        let label = if wave(3) - wave(7) > 0.1 { "+1" } else { "-1" };
        format!("{label} {}:{:.3} 4:{:.3}\n", 1 + i % 3, wave(3), wave(7))
    };
    // Every ending that tells LIBSVM rows is looked for in a folder.
    fs::write(folder.path().join("a.svm"), (0..200).map(row).collect::<String>()).unwrap();
    fs::write(folder.path().join("b.svmlight"), (200..400).map(row).collect::<String>()).unwrap();
    let path = folder.path().to_path_buf();
    let control = Control::new();
    let rows =
        ScanRows::learn(scan(&[path], 500), &Preparation::default(), None, &control, None).unwrap();
    assert_eq!((rows.n_features(), rows.rows()), (4, 400));
    let driver = methods::driver("l2", &json!({"alpha": 0.1})).unwrap();
    let fitted = rows.fit(driver, |_| Ok(())).unwrap();
    assert!(fitted.dual_gap().unwrap() <= fitted.tol);
}

#[test]
fn mistakes_name_the_file_and_the_row() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), "x,y\n1,p\n2,q\n3,p\n").unwrap();
    fs::write(path("b.csv"), "z,y\n1,p\n").unwrap();
    fs::write(path("c.csv"), "y,x\np,1\nq,inf\n").unwrap();
    let learn = |name: &str| {
        let files = [path("a.csv"), path(name)];
        ScanRows::learn(scan(&files, 10), &wishes(Missing::Mean), None, &Control::new(), None)
    };
    let message = learn("b.csv").err().unwrap().to_string();
    assert!(message.contains("b.csv") && message.contains("there is no column `x`"), "{message}");
    let message = learn("c.csv").err().unwrap().to_string();
    assert!(message.contains("column `x`") && message.contains("not a finite number"), "{message}");
    let rows = learn("a.csv").unwrap();
    rewrite_unseen(&path("a.csv"), "x,y\n1,p\n2,r\n3,p\n");
    let message = rows.block(0).unwrap_err().to_string();
    assert!(message.contains("a.csv") && message.contains("`r` is not among"), "{message}");
    fs::write(path("none.csv"), "x,y\n1,\n2,\n").unwrap();
    let files = [path("none.csv")];
    let control = Control::new();
    let wishes = Preparation { drop_unlabelled: true, ..wishes(Missing::Mean) };
    let found = ScanRows::learn(scan(&files, 10), &wishes, None, &control, None);
    let message = found.err().unwrap().to_string();
    assert!(message.contains("none.csv") && message.contains("no row has a label"), "{message}");
}

#[test]
fn little_memory_means_small_blocks_or_a_clear_refusal() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let learn = |memory: u64| {
        let scan = scan(std::slice::from_ref(&one), 1 << 20);
        ScanRows::learn(scan, &wishes(Missing::Mean), Some(memory), &Control::new(), None)
    };
    let rows = learn(8 * 8 * 5 * 100).unwrap();
    assert_eq!(rows.block(0).unwrap().unwrap().len(), 100);
    assert_eq!(rows.block(1).unwrap().unwrap().len(), 100);
    let message = learn(100).err().unwrap().to_string();
    assert!(message.contains("more --memory"), "{message}");
}

/// Small files are handed over together: rows keep the number they have in their own file, and all that was read before a file
/// that cannot be read comes before the error.
#[test]
fn many_small_files_are_one_table_in_order() {
    let folder = TempDir::new().unwrap();
    let path = |i: usize| folder.path().join(format!("{i:02}.csv"));
    let files: Vec<PathBuf> = (0..40).map(path).collect();
    for (i, file) in files.iter().enumerate() {
        fs::write(file, format!("x,y\n{i},p\n-{i},q\n")).unwrap();
    }
    let read = || {
        let mut pass = scan(&files, 1 << 20).pass();
        let mut seen = Vec::new();
        let error = loop {
            match pass.next() {
                Some(Ok(chunk)) => seen.push((pass.file().to_owned(), chunk.first, pass.rows())),
                Some(Err(error)) => break Some(error.to_string()),
                None => break None,
            }
        };
        assert!(pass.next().is_none());
        (seen, error)
    };
    let name = |i: usize| files[i].display().to_string();
    let expected: Vec<_> = (0..40).map(|i| (name(i), 0, 2 * i + 2)).collect();
    assert_eq!(read(), (expected.clone(), None));
    fs::write(path(30), "x,y\n1\n").unwrap();
    let (seen, error) = read();
    assert_eq!(seen, expected[..30]);
    assert!(error.as_ref().is_some_and(|text| text.contains("30.csv")), "{error:?}");
}
