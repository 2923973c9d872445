//! Developer commands: `cargo xtask ci` is what continuous integration runs.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod attack;
mod docs;
mod release;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask COMMAND

  ci       every check, Rust and Python, in this order: rust, packages, wheel, workflows,
           docs --fast with the Rust reference, python
  rust     format, lints, Rust tests, doc tests
  wheel    build the Python package and install it into .venv
  python   lint and test the installed Python package
  packages check that every published crate can be packaged
  workflows  check .github/workflows with zizmor and actionlint
  docs     build the documentation into target/docs/site; --fast leaves the
           gallery unexecuted and the Rust reference out, --no-install uses the package in .venv
  release --dry-run [--profile NAME]  every step of a release short of uploading
  bench    measure us and the peers in one run and rewrite BENCHMARKS.md; `bench guide
           --data DIR` measures the figures on the guide's pages, `bench depth` those in depth
  attack [--minutes N] [--seed S]  hostile problems, damaged files, killed processes, threads and
           forks, for N minutes in all (60); seeds and smallest cases of failures are printed
  fuzz     run every fuzz target for a minute (needs nightly and cargo-fuzz)";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let result = match args.first().map(String::as_str) {
        Some("ci") => {
            let steps =
                [rust, release::packages, wheel, release::workflows, docs::fast, browser, python];
            steps.into_iter().try_for_each(|step| step())
        }
        Some("rust") => rust(),
        Some("wheel") => wheel(),
        Some("python") => python(),
        Some("packages") => release::packages(),
        Some("workflows") => release::workflows(),
        Some("docs") => docs::docs(&rest),
        Some("release") => release::release(&rest),
        Some("bench") => bench(&rest),
        Some("fuzz") => fuzz(),
        Some("attack") => attack::attack(&rest),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), String>;

fn rust() -> Outcome {
    run("cargo", &["fmt", "--all", "--check"])?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    run("cargo", &["test", "--workspace", "--all-targets"])?;
    run("cargo", &["test", "--workspace", "--doc"])
}

fn wheel() -> Outcome {
    let python = venv()?;
    run(&python, &["-m", "pip", "install", "--quiet", "--upgrade", "pip"])?;
    run(&python, &["-m", "pip", "install", "--quiet", ".[test,docs]"])
}

/// The report is tested in a real browser. Continuous integration installs one where it may; elsewhere the
/// test says why it was skipped.
fn browser() -> Outcome {
    let wanted = env::var_os("CI").is_some() && !(on_path("chromium") && on_path("chromedriver"));
    let debian = Path::new("/etc/debian_version").exists() && on_path("apt-get");
    if !(wanted && debian && is_root()) {
        return Ok(());
    }
    run("apt-get", &["update", "--quiet"])?;
    let packages = ["chromium", "chromium-driver"];
    let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    args.extend(packages);
    run("apt-get", &args)
}

/// Whether a program of this name can be started.
fn on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let names = [name.to_owned(), format!("{name}.exe"), format!("{name}.cmd")];
    env::split_paths(&path).any(|folder| names.iter().any(|n| folder.join(n).exists()))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).trim() == "0")
}

fn python() -> Outcome {
    let python = venv()?;
    let ours = ["python", "examples", "docs/conf.py", "docs/_tools", "docs/figures"];
    run(&python, &[&["-m", "ruff", "check"], &ours[..]].concat())?;
    run(&python, &[&["-m", "ruff", "format", "--check"], &ours[..]].concat())?;
    run(&python, &["-m", "pytest", "--quiet", "python/tests"])
}

fn bench(args: &[&str]) -> Outcome {
    let python = venv()?;
    run("cargo", &["build", "--release", "--package", "mainstay-bench"])?;
    run(&python, &["-m", "pip", "install", "--quiet", ".[bench]"])?;
    let mut command = vec!["benches/run.py"];
    command.extend(args);
    run(&python, &command)
}

fn fuzz() -> Outcome {
    for target in ["csv", "libsvm", "parquet", "model_file"] {
        let limit = ["--", "-max_total_time=60"];
        run(
            "cargo",
            &[&["+nightly", "fuzz", "run", "--strip-dead-code", target], &limit[..]].concat(),
        )?;
    }
    Ok(())
}

/// The interpreter of `.venv`, which is created if it is not there.
fn venv() -> Result<String, String> {
    let home = root().join(".venv");
    let bin = if cfg!(windows) { home.join("Scripts/python.exe") } else { home.join("bin/python") };
    if !bin.exists() {
        let system = env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        run(&system, &["-m", "venv", &home.to_string_lossy()])?;
    }
    Ok(bin.to_string_lossy().into_owned())
}

fn run(program: &str, args: &[&str]) -> Outcome {
    let shown = format!(
        "{} {}",
        Path::new(program).file_name().map_or_else(|| program.into(), |n| n.to_string_lossy()),
        args.join(" ")
    );
    println!("==> {shown}");
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .status()
        .map_err(|e| format!("{program}: {e}"))?;
    println!("    {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("failed: {shown}")) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| ".".into(), Path::to_path_buf)
}
