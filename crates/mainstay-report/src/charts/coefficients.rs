//! Weights of the baseline and of the robust method, side by side.

use mainstay::compare::CoefficientPair;

use super::tip::Tip;
use super::{Chart, Drawing, Key, Table, parts};
use crate::scale::Scale;
use crate::story::{Emphasis, Story};
use crate::svg::Element;
use crate::text;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 156.0;
const RIGHT: f64 = 384.0;
const TOP: f64 = 12.0;
const ROW: f64 = 21.0;
/// Features shown; the rest are counted.
const SHOWN: usize = 20;

struct Line {
    feature: String,
    baseline: f64,
    robust: f64,
}

/// The chart of one score.
pub(crate) fn chart(story: Story<'_>, pair: &CoefficientPair, id: &str) -> Chart {
    let (plain, other) = (normalised(&pair.baseline), normalised(&pair.robust));
    let all = pair.features.iter().zip(plain.iter().zip(&other));
    let mut lines: Vec<Line> = all
        .map(|(feature, (b, r))| Line { feature: text::name(feature), baseline: *b, robust: *r })
        .collect();
    let size = |l: &Line| finite(l.baseline).abs().max(finite(l.robust).abs());
    // Sorting is stable: equal weights keep the order of the columns.
    lines.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let left_out = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    let (class, robust) = (text::name(&pair.class), story.method(&pair.robust_method));
    let mut explanation = format!(
        "How much each feature speaks for {class}, after every feature was put on the same scale. Right of zero \
         it speaks for, left of zero against. The weights of either method are divided by their length: only their \
         proportions are compared."
    );
    if left_out > 0 {
        let rest = text::count(left_out, "feature");
        let sentence =
            format!(" The {SHOWN} largest are shown; {rest} with smaller weights left out.");
        explanation.push_str(&sentence);
    }
    let baseline = story.method(&story.0.advice.baseline);
    Chart {
        title: format!("What speaks for {class}"),
        badge: "",
        explanation,
        svg: (!lines.is_empty()).then(|| draw(id, &class, &lines)),
        empty: "There are no weights to show.".into(),
        table: table(&lines, &baseline, &robust),
        legend: vec![
            Key::new(Emphasis::Baseline, "baseline", baseline),
            Key::new(Emphasis::Advised, "robust", robust),
        ],
    }
}

/// The weights divided by their Euclidean length: two methods that differ in scale alone decide the same.
fn normalised(weights: &[f64]) -> Vec<f64> {
    let length = weights.iter().map(|w| finite(*w) * finite(*w)).sum::<f64>().sqrt();
    weights.iter().map(|w| if length > 0.0 { w / length } else { *w }).collect()
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

fn draw(id: &str, class: &str, lines: &[Line]) -> String {
    let values = || lines.iter().flat_map(|l| [finite(l.baseline), finite(l.robust)]);
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let x = Scale::nice(low, high, 4).drawn(LEFT, RIGHT);
    let bottom = TOP + ROW * lines.len() as f64;
    let description = format!(
        "Weights of {} for {class}. Largest: {}, {} in the baseline and {} in the robust method.",
        text::count(lines.len(), "feature"),
        lines[0].feature,
        text::number(lines[0].baseline),
        text::number(lines[0].robust)
    );
    let title = format!("Weights for {class}");
    let mut drawing = Drawing::new(id, (WIDTH, bottom + 42.0), &title, &description);
    drawing.draw(&parts::bottom_axis(&x, TOP - 6.0, bottom, |t| x.label(t)));
    let middle = f64::midpoint(LEFT, RIGHT);
    drawing.draw(
        &Element::words((middle, bottom + 34.0), "share of the weights' length")
            .class("middle unit"),
    );
    for (k, line) in lines.iter().enumerate() {
        draw_line(&mut drawing, line, &x, TOP + ROW * (k as f64 + 0.5));
    }
    for (k, line) in lines.iter().enumerate() {
        let top = TOP + ROW * k as f64;
        let hit = Element::rect((0.0, top), WIDTH, ROW).class("hit");
        let tip = Tip::new((LEFT - 12.0, top + ROW + 40.0), line.feature.clone())
            .row(Emphasis::Baseline, "baseline", text::number(line.baseline))
            .row(Emphasis::Advised, "robust", text::number(line.robust));
        drawing.place(&hit, None, &tip);
    }
    drawing.render()
}

/// A feature at height `y`: its name and both weights.
fn draw_line(drawing: &mut Drawing, line: &Line, x: &Scale, y: f64) {
    let name = text::shorten(&line.feature, 21);
    drawing.draw(&Element::words((LEFT - 10.0, y + 4.0), &name).class("rowname"));
    let places = [(Emphasis::Baseline, line.baseline, -4.3), (Emphasis::Advised, line.robust, 4.3)];
    for (part, value, shift) in places.into_iter().filter(|p| p.1.is_finite()) {
        let (from, to) = ((x.place(0.0), y + shift), (x.place(value), y + shift));
        drawing.draw(&Element::line(from, to).class(&format!("stem {}", part.class())));
        drawing.draw(&parts::marker(part, to));
    }
}

fn table(lines: &[Line], baseline: &str, robust: &str) -> Table {
    let rows = lines
        .iter()
        .map(|l| vec![l.feature.clone(), text::number(l.baseline), text::number(l.robust)]);
    Table {
        head: vec!["feature".into(), baseline.to_owned(), robust.to_owned()],
        rows: rows.collect(),
    }
}
