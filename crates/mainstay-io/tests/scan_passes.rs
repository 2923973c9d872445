//! Passes over files: what stays in memory between them, what a change of the files means, and how they end.
#![cfg(test)]

mod scan_files;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mainstay::Control;
use mainstay::data::{Missing, Preparation};
use mainstay::methods;
use mainstay::partitioned::Partitions;
use mainstay_io::{ChunkOptions, Scan, ScanRows};
use scan_files::{files, rewrite_unseen, scan, text, wishes};
use serde_json::json;
use tempfile::TempDir;

/// Moves the time of change of a file, which stays as it is otherwise.
fn touch(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
}

/// Memory in which 300 rows of [`text`] are several blocks that stay.
const KEPT: u64 = 40_000;
/// Memory in which they are several blocks, and too many to stay.
const NOT_KEPT: u64 = 20_000;

/// Rows that are there in one pass and not in another make a proof worthless, whether rows stay in memory or not.
#[test]
fn files_that_change_between_passes_are_refused() {
    let folder = TempDir::new().unwrap();
    let (one, two) = files(&folder, 300);
    let wishes = Preparation { drop_unlabelled: true, ..wishes(Missing::Mean) };
    let (fewer, same) = (text(300).replacen("01\n", "  \n", 1), text(300));
    for memory in [None, Some(NOT_KEPT), Some(KEPT)] {
        let learn = || {
            let (scan, control) = (scan(std::slice::from_ref(&one), 2000), Control::new());
            ScanRows::learn(scan, &wishes, memory, &control, None).unwrap()
        };
        let failed = |rows: &ScanRows| {
            let driver = methods::driver("l2", &json!({"alpha": 0.01})).unwrap();
            rows.fit(driver, |_| Ok(())).map(|_| ()).unwrap_err().to_string()
        };
        for (before, after, told) in [(&same, &fewer, "fewer rows"), (&fewer, &same, "more rows")] {
            fs::write(&one, before).unwrap();
            let rows = learn();
            rewrite_unseen(&one, after);
            let message = failed(&rows);
            assert!(message.contains(told) && message.contains("all.csv"), "{message}");
        }
        let rows = learn();
        let driver = methods::driver("l2", &json!({"alpha": 0.01})).unwrap();
        let model = rows.fit(driver, |_| Ok(())).unwrap().model;
        assert_eq!(rows.judge(&model).unwrap().rows, 300);
        touch(&one);
        let message = rows.judge(&model).unwrap_err().to_string();
        assert!(message.contains("all.csv: the file has changed"), "{message}");
        if memory != Some(KEPT) {
            assert!(failed(&rows).contains("all.csv: the file has changed"));
        }
    }
    // Of several files the one that changed is named, though it was read already.
    let scan = scan(&two, 500);
    let mut pass = scan.pass();
    assert!(pass.next().unwrap().is_ok());
    touch(&two[0]);
    let message = pass.find_map(Result::err).unwrap().to_string();
    assert!(message.contains("p1.csv: the file has changed"), "{message}");
    assert!(pass.next().is_none());
}

/// A pass that ends early begins again with what is there, not with what an earlier one left open.
#[test]
fn a_pass_never_goes_on_where_another_one_stopped() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let (scan, control) = (scan(std::slice::from_ref(&one), 500), Control::new());
    let rows = ScanRows::learn(scan, &wishes(Missing::Mean), Some(KEPT), &control, None).unwrap();
    drop(rows.block(0).unwrap());
    touch(&one);
    drop(rows.block(0).unwrap());
    // The second of three: at the end of the files the change would be noticed anyway.
    let message = rows.block(1).unwrap_err().to_string();
    assert!(message.contains("the file has changed"), "{message}");
}

/// Rows that take less than half of the memory are read once after the columns were learned, for means and deviations or for the
/// fit: their file may go then. The bits are those of rows that are read in every pass, whatever the blocks.
#[test]
fn rows_that_fit_into_memory_are_read_once() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let control = Control::new();
    let lost = folder.path().join("lost.csv");
    let fit = |kept: bool, standardised: bool, remove: bool| {
        fs::copy(&one, &lost).unwrap();
        let scan = scan(std::slice::from_ref(&lost), 2000);
        let wishes = wishes(Missing::Mean);
        let mut rows = ScanRows::learn(scan, &wishes, Some(KEPT), &control, None)?;
        if !kept {
            rows = rows.read_anew();
        }
        if standardised {
            rows.standardize()?;
        }
        if standardised && remove {
            fs::remove_file(&lost).unwrap();
        }
        let driver = methods::driver("l2", &json!({"alpha": 0.01}))?;
        let gone = |_: &_| {
            if remove {
                let _ = fs::remove_file(&lost);
            }
            Ok(())
        };
        let (fitted, judged) = rows.fit_and_judge(driver, gone, || ())?;
        assert_eq!(rows.parallel(), kept);
        Ok::<_, mainstay_io::Error>((fitted.model, judged?))
    };
    for standardised in [true, false] {
        let (expected, judged) = fit(false, standardised, false).unwrap();
        let message = fit(false, standardised, true).unwrap_err().to_string();
        assert!(message.contains("lost.csv"), "{message}");
        let (model, again) = fit(true, standardised, true).unwrap();
        assert!(!lost.exists());
        assert_eq!(model, expected);
        assert_eq!((again.rows, again.accuracy), (300, judged.accuracy));
        assert_eq!(again.log_loss, judged.log_loss);
    }
}

/// What was learned about the rows beside the fit is no reason to lose it.
#[test]
fn a_fit_outlives_the_file_that_it_cannot_be_judged_on() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let (scan, control) = (scan(std::slice::from_ref(&one), 2000), Control::new());
    let wishes = wishes(Missing::Mean);
    let rows = ScanRows::learn(scan, &wishes, Some(NOT_KEPT), &control, None).unwrap();
    let driver = methods::driver("l2", &json!({"alpha": 0.01})).unwrap();
    let remove = || fs::remove_file(&one).unwrap();
    let (fitted, judged) = rows.fit_and_judge(driver, |_| Ok(()), remove).unwrap();
    assert!(fitted.dual_gap().unwrap() <= fitted.tol);
    assert!(judged.unwrap_err().to_string().contains("all.csv"));
}

/// Threads look at kept blocks in any order; who watches sees a pass go on and never back.
#[test]
fn a_watch_is_told_of_more_and_more_rows() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let told = Arc::new(Mutex::new(Vec::new()));
    let ours = told.clone();
    let watch = Arc::new(move |rows| ours.lock().unwrap().push(rows));
    let (scan, control) = (scan(std::slice::from_ref(&one), 2000), Control::new());
    let wishes = wishes(Missing::Mean);
    let rows = ScanRows::learn(scan, &wishes, Some(KEPT), &control, Some(watch)).unwrap();
    let driver = methods::driver("l2", &json!({"alpha": 0.01})).unwrap();
    let mut passes = Vec::new();
    told.lock().unwrap().clear();
    rows.fit(driver, |_| {
        passes.push(std::mem::take(&mut *told.lock().unwrap()));
        Ok(())
    })
    .unwrap();
    assert!(passes.len() > 1, "{passes:?}");
    for pass in &passes {
        assert!(pass.is_sorted() && pass.last() == Some(&300), "{passes:?}");
    }
    told.lock().unwrap().clear();
    for index in [1, 0, 2] {
        drop(rows.block(index).unwrap());
    }
    assert!(told.lock().unwrap().is_sorted());
}

/// One who makes a single pass has no use for rows that stay.
#[test]
fn rows_that_are_not_to_stay_are_let_go() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let (scan, control) = (scan(std::slice::from_ref(&one), 2000), Control::new());
    let wishes = wishes(Missing::Mean);
    let rows = ScanRows::learn(scan, &wishes, Some(KEPT), &control, None).unwrap().read_anew();
    let count = (0..).map_while(|index| rows.block(index).unwrap()).count();
    assert!(count > 2 && !rows.parallel(), "{count} blocks");
}

/// A pass can be stopped between two chunks of one block, and nothing of it goes on.
#[test]
fn a_pass_that_is_stopped_ends_and_the_next_one_begins_anew() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let wishes = wishes(Missing::Mean);
    for memory in [None, Some(KEPT)] {
        let (scan, control) = (scan(std::slice::from_ref(&one), 100), Control::new());
        let rows = ScanRows::learn(scan, &wishes, memory, &control, None).unwrap();
        drop(rows.block(0).unwrap());
        control.cancel();
        // Chunk by chunk: a single block holds all rows where no memory is told.
        let stopped = rows.block(1).map(|block| block.is_some());
        let stopped = stopped.and(rows.block(0).map(|block| block.is_some()));
        assert!(matches!(stopped, Err(mainstay::Error::Interrupted)), "{memory:?}: {stopped:?}");
    }
}

/// What is read ahead is part of what memory is told of: with little of it chunks are small.
#[test]
fn little_memory_means_small_chunks() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 2000);
    let chunks = |memory: Option<u64>| {
        let told = Arc::new(Mutex::new(0));
        let ours = told.clone();
        let watch = Arc::new(move |_| *ours.lock().unwrap() += 1);
        let scan = Scan::new(&[&one], ChunkOptions::default()).unwrap();
        let wishes = wishes(Missing::Mean);
        ScanRows::learn(scan, &wishes, memory, &Control::new(), Some(watch)).unwrap();
        *told.lock().unwrap()
    };
    let (whole, cut) = (chunks(None), chunks(Some(100_000)));
    assert!(cut >= 3 * whole, "{cut} chunks and {whole}");
}

/// Categories become features of which nearly all are 0: stored sparsely, they take a small part of what they would take.
#[test]
fn features_stored_sparsely_count_for_what_they_take() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("words.csv");
    let row = |i: usize| {
        let label = if (i * i) % 7 < 3 { "a" } else { "b" };
        format!("c{},w{},{label}\n", i % 50, i % 43)
    };
    fs::write(&path, "u,v,y\n".to_owned() + &(0..5000).map(row).collect::<String>()).unwrap();
    let (scan, control) = (scan(&[path], 2000), Control::new());
    // Of 93 features a row stores two: 2 * 12 bytes, 8 for its place there and 24 beside; 744 if all were stored.
    let memory = 2 * 5000 * 60;
    let rows = ScanRows::learn(scan, &wishes(Missing::Mean), Some(memory), &control, None).unwrap();
    assert!(rows.n_features() > 80, "{}", rows.n_features());
    let lengths: Vec<usize> =
        (0..).map_while(|i| rows.block(i).unwrap().map(|block| block.labels.len())).collect();
    assert!(rows.parallel());
    // An eighth of the memory; of rows stored densely it would hold 100.
    assert!(lengths[0] > 500, "{lengths:?}");
}

/// A pass that was cut short is made up for: the next one reads from the start, skips the blocks that are there, and finds the
/// same rows behind them.
#[test]
fn kept_rows_survive_a_pass_that_was_cut_short() {
    let folder = TempDir::new().unwrap();
    let (one, _) = files(&folder, 300);
    let control = Control::new();
    let learn = || {
        let scan = scan(std::slice::from_ref(&one), 2000);
        ScanRows::learn(scan, &wishes(Missing::Mean), Some(KEPT), &control, None).unwrap()
    };
    let rows = learn();
    let whole: Vec<usize> =
        (0..).map_while(|i| rows.block(i).unwrap().map(|block| block.labels.len())).collect();
    assert!(whole.len() > 2 && whole.iter().sum::<usize>() == 300, "{whole:?}");
    assert!(rows.parallel());
    let again = learn();
    drop(again.block(0).unwrap());
    drop(again.block(1).unwrap());
    // A second pass begins, and reads nothing before the third block.
    for index in 0..whole.len() {
        let (block, expected) = (again.block(index).unwrap(), rows.block(index).unwrap());
        let (block, expected) = (block.unwrap(), expected.unwrap());
        assert_eq!(*block.x, *expected.x);
        assert_eq!(block.labels, expected.labels);
    }
    assert!(again.block(whole.len()).unwrap().is_none());
    assert!(again.parallel());
}
