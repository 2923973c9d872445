//! What a comparison found, as one HTML file that needs nothing else.
//!
//! The page holds its own style and charts (inline SVG), no script at all, and a content security policy
//! that forbids the network. Tooltips are CSS: they open on hover, on touch and on keyboard focus. Every
//! word that came from the user is escaped, by the template engine in HTML and by [`svg`] in charts.

mod answer;
mod boards;
mod charts;
mod chosen;
mod handled;
mod page;
mod rows;
pub mod scale;
mod scoreboard;
mod story;
pub mod svg;
mod text;
mod tripod;

use mainstay::compare::Comparison;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

/// Templates by name; names that end in .html are escaped automatically.
const TEMPLATES: [(&str, &str); 6] = [
    ("style.css", include_str!("../templates/style.css")),
    ("parts.html", include_str!("../templates/parts.html")),
    ("chosen.html", include_str!("../templates/chosen.html")),
    ("data.html", include_str!("../templates/data.html")),
    ("tripod.html", include_str!("../templates/tripod.html")),
    ("report.html", include_str!("../templates/report.html")),
];

/// What a page may hold beyond the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// A checklist along TRIPOD+AI, filled in as far as the program can.
    pub tripod: bool,
}

/// The page could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The template does not fit its data: a fault of this crate, please report it.
    #[error("the report could not be written: {0}")]
    Template(#[from] minijinja::Error),
}

/// The report as the text of one HTML file.
///
/// The same comparison gives the same text: no clock and nothing random goes in.
pub fn html(comparison: &Comparison) -> Result<String, ReportError> {
    html_with(comparison, Options::default())
}

/// As [`html`], with more in it.
pub fn html_with(comparison: &Comparison, options: Options) -> Result<String, ReportError> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    for (name, text) in TEMPLATES {
        engine.add_template(name, text)?;
    }
    let page = Serde(page::Page::new(comparison, options));
    Ok(engine.get_template("report.html")?.render(page)?)
}
