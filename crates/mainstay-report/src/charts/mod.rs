//! Charts: a drawing with a text alternative, places that open a tooltip, and a table of the numbers.

pub(crate) mod coefficients;
pub(crate) mod cost;
pub(crate) mod degradation;
pub(crate) mod forest;
mod parts;
pub(crate) mod square;
pub(crate) mod survival;
mod tip;

use mainstay::metrics::Metric;
use serde::Serialize;

use crate::scale::Scale;
use crate::story::{Emphasis, Story};
use crate::svg::Element;

/// The scale cut off where the metric ends.
fn within(story: Story<'_>, scale: Scale) -> Scale {
    match story.metric() {
        Metric::LogLoss => scale.within(0.0, f64::INFINITY),
        Metric::Mcc => scale.within(-1.0, 1.0),
        Metric::BrierSkill => scale.within(f64::NEG_INFINITY, 1.0),
        _ => scale.within(0.0, 1.0),
    }
}

/// A chart and everything around it.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// Heading.
    pub(crate) title: String,
    /// A word beside the heading, or nothing.
    pub(crate) badge: &'static str,
    /// One or two sentences in plain words.
    pub(crate) explanation: String,
    /// The drawing; escaped by its builder. Absent if there is nothing to draw.
    pub(crate) svg: Option<String>,
    /// Why there is nothing to draw.
    pub(crate) empty: String,
    pub(crate) legend: Vec<Key>,
    pub(crate) table: Table,
}

/// One entry of a legend.
#[derive(Debug, Serialize)]
pub(crate) struct Key {
    /// A sample of line and marker; escaped by its builder.
    sample: String,
    /// The word used in the drawing.
    word: String,
    /// What it stands for.
    meaning: String,
}

impl Key {
    pub(crate) fn new(part: Emphasis, word: &str, meaning: String) -> Self {
        let line = Element::line((1.0, 7.0), (35.0, 7.0)).class(&format!("line {}", part.class()));
        let mut sample = key().child(&line);
        if part != Emphasis::Other {
            sample.push(&parts::marker(part, (18.0, 7.0)));
        }
        Self { sample: sample.render(), word: word.to_owned(), meaning }
    }

    /// The dotted line of those who always answer the same.
    pub(crate) fn constant(meaning: &str) -> Self {
        let line = Element::line((1.0, 7.0), (35.0, 7.0));
        let sample = key().child(&Element::group("guess").child(&line));
        Self { sample: sample.render(), word: "constant".into(), meaning: meaning.into() }
    }
}

/// The frame of a sample.
fn key() -> Element {
    Element::new("svg").class("key").attr("viewBox", "0 0 36 14").attr("aria-hidden", "true")
}

/// The numbers of a chart.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The drawing: what is seen and described, below, and the places that answer, on top.
pub(crate) struct Drawing {
    width: f64,
    height: f64,
    picture: Element,
    places: Element,
}

impl Drawing {
    /// `id` must be unique on the page.
    pub(crate) fn new(id: &str, size: (f64, f64), title: &str, description: &str) -> Self {
        let (title_id, text_id) = (format!("{id}-title"), format!("{id}-text"));
        let picture = Element::new("g")
            .attr("role", "img")
            .attr("aria-labelledby", &format!("{title_id} {text_id}"))
            .child(&Element::new("title").attr("id", &title_id).text(title))
            .child(&Element::new("desc").attr("id", &text_id).text(description));
        Self { width: size.0, height: size.1, picture, places: Element::group("places") }
    }

    pub(crate) fn draw(&mut self, element: &Element) {
        self.picture.push(element);
    }

    /// A place that opens `tip` on hover and focus; screen readers hear `label`.
    pub(crate) fn place(&mut self, hit: &Element, guide: Option<&Element>, tip: &tip::Tip) {
        let mut place = Element::group("place")
            .attr("tabindex", "0")
            .attr("role", "img")
            .attr("aria-label", &tip.spoken())
            .child(hit);
        if let Some(guide) = guide {
            place.push(guide);
        }
        place.push(&tip.draw((self.width, self.height)));
        self.places.push(&place);
    }

    pub(crate) fn render(self) -> String {
        let view = format!("0 0 {} {}", self.width, self.height);
        let root = Element::new("svg").class("chart").attr("viewBox", &view);
        root.child(&self.picture).child(&self.places).render()
    }
}
