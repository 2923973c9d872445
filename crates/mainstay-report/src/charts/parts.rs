//! Pieces that every chart is made of.

use mainstay::compare::Interval;

use crate::scale::Scale;
use crate::story::Emphasis;
use crate::svg::{Element, path};

/// Circle, square or triangle: parts differ in shape as well as in colour.
pub(super) fn marker(part: Emphasis, (x, y): (f64, f64)) -> Element {
    let shape = match part {
        Emphasis::Advised => Element::rect((x - 4.0, y - 4.0), 8.0, 8.0),
        Emphasis::Best => Element::new("path").attr(
            "d",
            &format!(
                "{}Z",
                path(&[Some((x, y - 5.0)), Some((x + 5.0, y + 4.0)), Some((x - 5.0, y + 4.0))])
            ),
        ),
        _ => Element::new("circle").at("cx", x).at("cy", y).at("r", 4.2),
    };
    shape.class(&format!("marker {}", part.class()))
}

/// A line through points, with gaps.
pub(super) fn line(part: Emphasis, points: &[Option<(f64, f64)>]) -> Element {
    Element::new("path").attr("d", &path(points)).class(&format!("line {}", part.class()))
}

/// The area between the ends of intervals; gaps split it.
pub(super) fn band(
    part: Emphasis,
    x: &[f64],
    y: &Scale,
    intervals: &[Option<Interval>],
) -> Element {
    let ends = |k: usize| {
        let interval = intervals[k]?;
        let known = interval.low.is_finite() && interval.high.is_finite();
        known.then(|| (y.place(interval.low), y.place(interval.high)))
    };
    let mut area = String::new();
    let mut k = 0;
    while k < x.len() {
        let run: Vec<usize> = (k..x.len()).take_while(|&i| ends(i).is_some()).collect();
        if run.len() > 1 {
            let upper = run.iter().filter_map(|&i| Some(Some((x[i], ends(i)?.1))));
            let lower = run.iter().rev().filter_map(|&i| Some(Some((x[i], ends(i)?.0))));
            area.push_str(&path(&upper.chain(lower).collect::<Vec<_>>()));
            area.push('Z');
        }
        k += run.len().max(1);
    }
    Element::new("path").attr("d", &area).class(&format!("band {}", part.class()))
}

/// Horizontal grid lines with percentages at the left.
pub(super) fn percent_axis(y: &Scale, from: f64, to: f64) -> Element {
    value_axis(y, from, to, |tick| y.percent_label(tick))
}

/// Horizontal grid lines with numbers at the left, written by `label`.
pub(super) fn value_axis(y: &Scale, from: f64, to: f64, label: impl Fn(f64) -> String) -> Element {
    let mut axis = Element::group("axis");
    for tick in y.ticks() {
        let place = y.place(tick);
        axis.push(&Element::line((from, place), (to, place)).class("grid"));
        let label = Element::words((from - 6.0, place + 4.0), &label(tick));
        axis.push(&label.class("end"));
    }
    axis
}

/// Vertical grid lines with numbers below, written by `label`.
pub(super) fn bottom_axis(
    x: &Scale,
    top: f64,
    bottom: f64,
    label: impl Fn(f64) -> String,
) -> Element {
    let mut axis = Element::group("axis");
    for tick in x.ticks() {
        let place = x.place(tick);
        let class = if tick == 0.0 { "grid zero" } else { "grid" };
        axis.push(&Element::line((place, top), (place, bottom)).class(class));
        axis.push(&Element::words((place, bottom + 15.0), &label(tick)).class("middle"));
    }
    axis
}

/// Words at the ends of lines, moved apart so that none covers another.
pub(super) fn end_words(
    x: f64,
    mut words: Vec<(Emphasis, String, f64)>,
    limits: (f64, f64),
) -> Element {
    const APART: f64 = 14.0;
    words.sort_by(|a, b| a.2.total_cmp(&b.2));
    for k in 1..words.len() {
        words[k].2 = words[k].2.max(words[k - 1].2 + APART);
    }
    if let Some(last) = words.last_mut() {
        last.2 = last.2.min(limits.1);
    }
    for k in (1..words.len()).rev() {
        words[k - 1].2 = words[k - 1].2.min(words[k].2 - APART).max(limits.0);
    }
    let mut out = Element::group("ends");
    for (part, word, y) in words {
        out.push(&Element::words((x, y + 4.0), &word).class(&format!("word {}", part.class())));
    }
    out
}
