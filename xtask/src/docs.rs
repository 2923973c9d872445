//! The documentation site: `target/docs/site/index.html`.

use std::fs;

use crate::release::node_modules;
use crate::{Outcome, root, run, venv};

/// Renders the formulas while the site is built; its style sheet and fonts are copied into the site.
const KATEX: &str = "katex@0.16.22";

/// Builds the site with the package that is installed in `.venv`; without one it is installed first.
pub(crate) fn docs(args: &[&str]) -> Outcome {
    let fast = match args {
        [] => false,
        ["--fast"] => true,
        _ => return Err("usage: cargo xtask docs [--fast]".into()),
    };
    let python = venv()?;
    run(&python, &["-m", "pip", "install", "--quiet", ".[docs]"])?;
    let modules = node_modules(&[KATEX])?
        .ok_or("the site needs npm: KaTeX renders the formulas when it is built")?;
    let out = root().join("target/docs");
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let place = |name: &str| out.join(name).to_string_lossy().into_owned();
    let (site, trees) = (place("site"), place("trees"));
    let katex = format!("mainstay_node_modules={modules}");
    let gallery = format!("plot_gallery={}", if fast { "False" } else { "True" });
    let sphinx = ["-m", "sphinx", "-b", "html", "-d", &trees, "-q", "-W", "--keep-going"];
    run(&python, &[&sphinx[..], &["-D", &gallery, "-D", &katex, "docs", &site]].concat())
}
