//! Fits to files in passes: the threads that read and those that fit.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A file of some megabytes, so that many chunks are parsed at a time, and where its model goes.
fn training_rows(folder: &TempDir) -> (String, String) {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut text = String::from("a,b,c,y\n");
    for i in 0..120_000_u64 {
        let wave = |k: u64| ((i * k) as f64 * 0.7).sin();
        let label = if wave(3) + 0.4 * wave(11) > 0.0 { "yes" } else { "no" };
        writeln!(text, "{:.9},{:.9},{:.9},{label}", wave(3), wave(5), wave(7)).unwrap();
    }
    fs::write(path("train.csv"), text).unwrap();
    (path("train.csv"), path("model.json"))
}

/// The reader parses on several threads while the fit waits for it on others: neither may wait for the other. Rows that
/// are read in every pass and rows that are kept give the same model.
#[test]
fn a_fit_in_passes_ends_whatever_its_threads_do() {
    let folder = TempDir::new().unwrap();
    let (train, model) = training_rows(&folder);
    let models = ["6M", "20M"].map(|memory| {
        let args = [
            "fit", &train, "-t", "y", "--method", "l2", "--stream", "--memory", memory, "-o",
            &model,
        ];
        let mut child = command(&args).spawn().unwrap();
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begin.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
                panic!("a fit to 5 MB with --memory {memory} has not ended in two minutes");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{memory}");
        fs::read_to_string(&model).unwrap()
    });
    assert!(models[0] == models[1], "the models differ");
}

/// How many threads of a running program have this name.
#[cfg(target_os = "linux")]
fn threads_called(name: &str, program: u32) -> usize {
    let Ok(tasks) = fs::read_dir(format!("/proc/{program}/task")) else { return 0 };
    let comm = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(comm).filter(|found| found.trim_end() == name).count()
}

/// The number of threads that parse which is seen most often while a command runs.
#[cfg(target_os = "linux")]
fn most_often_seen(args: &[&str]) -> Option<usize> {
    let mut child = command(args).spawn().unwrap();
    let mut seen = [0; 16];
    while child.try_wait().unwrap().is_none() {
        seen[threads_called("rows-parse", child.id()).min(15)] += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    (1..16).max_by_key(|count| seen[*count])
}

/// Files are parsed by as many threads as are asked for, in every pass. A pool that ends may overlap with the next one, so that the
/// number that is seen most often counts.
#[cfg(target_os = "linux")]
#[test]
fn files_are_parsed_by_the_threads_that_were_asked_for() {
    let folder = TempDir::new().unwrap();
    let (train, model) = training_rows(&folder);
    let fit = ["fit", &train, "-t", "y", "--stream", "--memory", "1G", "-o", &model];
    for command_line in [&fit[..], &["predict", &model, &train]] {
        for threads in [1, 3] {
            let count = threads.to_string();
            let args = [command_line, &["--threads", &count]].concat();
            // On a machine that is busy with other things a single look may be unlucky.
            let seen: Vec<Option<usize>> = (0..3).map(|_| most_often_seen(&args)).collect();
            assert!(seen.contains(&Some(threads)), "{args:?}: {seen:?}");
        }
    }
}
