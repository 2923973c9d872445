//! The documentation site: `target/docs/site/index.html`.

use std::path::Path;
use std::{fs, thread};

use crate::release::node_modules;
use crate::{Outcome, root, run, venv};

/// Renders the formulas while the site is built; its style sheet and fonts are copied into the site. The version is
/// the one that sphinxcontrib-katex brings along.
const KATEX: &str = "katex@0.16.22";

/// Builds the site; the package and what the site needs are installed first unless `--no-install` is given.
pub(crate) fn docs(args: &[&str]) -> Outcome {
    let mut flags = args.iter();
    if !flags.all(|flag| ["--fast", "--no-install"].contains(flag)) {
        return Err("usage: cargo xtask docs [--fast] [--no-install]".into());
    }
    if !args.contains(&"--no-install") {
        run(&venv()?, &["-m", "pip", "install", "--quiet", ".[docs]"])?;
    }
    let modules = node_modules(&[KATEX])?
        .ok_or("the site needs npm: KaTeX renders the formulas when it is built")?;
    let fast = args.contains(&"--fast");
    if !fast {
        figures()?;
    }
    build(&modules, fast)?;
    if fast {
        return Ok(());
    }
    rustdoc()?;
    add_rustdoc(&modules)
}

/// Draws the figures of the guide again. They stand in the repository, where the Markdown shows them; the same package
/// draws the same bytes, so that a figure which is out of date shows as a change.
fn figures() -> Outcome {
    let folder = root().join("docs/figures");
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries = fs::read_dir(&folder).map_err(told)?;
    let found = entries.map(|entry| entry.map(|e| e.path()).map_err(told));
    let mut programs = found.collect::<Result<Vec<_>, _>>()?;
    programs.retain(|path| path.extension().is_some_and(|e| e == "py"));
    programs.sort();
    let python = venv()?;
    programs.iter().try_for_each(|path| run(&python, &[&path.to_string_lossy()]))
}

/// The reference of the Rust crates. The lints in `Cargo.toml` make a link that leads nowhere an error.
fn rustdoc() -> Outcome {
    let header = "build.rustdocflags=['--html-in-header', 'docs/_tools/rustdoc-header.html']";
    let crates = ["mainstay", "mainstay-io", "mainstay-report", "mainstay-verify"];
    let packages = crates.iter().flat_map(|name| ["--package", name]);
    let mut args = vec!["doc", "--no-deps", "--lib", "--config", header];
    args.extend(packages);
    run("cargo", &args)
}

/// That reference into the site's folder `rust`, with what renders its formulas without a network.
fn add_rustdoc(modules: &str) -> Outcome {
    let (made, site) = (root().join("target/doc"), root().join("target/docs/site/rust"));
    copy(&made, &site)?;
    copy(&Path::new(modules).join("katex/dist"), &site.join("katex"))
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> Outcome {
    let told = |e: std::io::Error| format!("{}: {e}", from.display());
    fs::create_dir_all(to).map_err(told)?;
    for entry in fs::read_dir(from).map_err(told)? {
        let path = entry.map_err(told)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(told)?;
        }
    }
    Ok(())
}

/// The site without executing the gallery, from the package that is installed already, and the Rust reference; the latter
/// alone without npm. Sphinx keeps one core busy, so that the reference, made meanwhile, takes no time of its own.
pub(crate) fn fast() -> Outcome {
    let modules = node_modules(&[KATEX])?;
    thread::scope(|scope| {
        let reference = scope.spawn(rustdoc);
        let site = modules.as_deref().map_or(Ok(()), |modules| build(modules, true));
        reference.join().map_err(|_| "cargo doc could not be run")??;
        site
    })?;
    modules.map_or(Ok(()), |modules| add_rustdoc(&modules))
}

/// All pages are written anew (`-a`), since each holds the navigation of the others. Every warning is an error: a broken reference, a formula that does not parse, a page of the API without text.
fn build(modules: &str, fast: bool) -> Outcome {
    let python = venv()?;
    let out = root().join("target/docs");
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let place = |name: &str| out.join(name).to_string_lossy().into_owned();
    let (site, trees, manual) = (place("site"), place("trees"), place("site/man"));
    let katex = format!("mainstay_node_modules={modules}");
    let gallery = format!("plot_gallery={}", if fast { "False" } else { "True" });
    let sphinx = ["-m", "sphinx", "-b", "html", "-d", &trees, "-q", "-a", "-W", "--keep-going"];
    run(&python, &[&sphinx[..], &["-D", &gallery, "-D", &katex, "docs", &site]].concat())?;
    run(&python, &["-m", "mainstay", "manual", &manual])
}
