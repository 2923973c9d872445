//! How many predictions survive how much change: certificates of held-out rows.

use super::tip::Tip;
use super::{Chart, Drawing, Key, Table, parts};
use crate::scale::Scale;
use crate::story::{Emphasis, Story};
use crate::svg::Element;
use crate::text;

const SIZE: (f64, f64) = (400.0, 250.0);
const LEFT: f64 = 52.0;
const RIGHT: f64 = 388.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 200.0;
/// Places that answer to hover and focus.
const PLACES: usize = 9;

/// How many of a method's rows survive changes of every size.
struct Survivors {
    part: Emphasis,
    name: String,
    /// What each row withstands, sorted; infinite where nothing flips it, negative where it is wrong.
    limits: Vec<f64>,
}

impl Survivors {
    fn new(story: Story<'_>, method: &str, limits: impl Iterator<Item = f64>) -> Self {
        let mut limits: Vec<f64> = limits.filter(|v| !v.is_nan()).collect();
        limits.sort_by(f64::total_cmp);
        let part = match story.part(method) {
            // What is shown beside a baseline that is enough is not advised.
            Emphasis::Other => Emphasis::Best,
            part => part,
        };
        Self { part, name: story.method(method), limits }
    }

    /// Share of rows that withstand a change of `size`.
    fn share(&self, size: f64) -> f64 {
        let fallen = self.limits.partition_point(|limit| *limit <= size);
        (self.limits.len() - fallen) as f64 / self.limits.len() as f64
    }

    /// The size that a share of 1 in 50 withstands: beyond it there is little to see.
    fn reach(&self) -> f64 {
        let finite: Vec<f64> = self.limits.iter().copied().filter(|v| v.is_finite()).collect();
        finite.get(finite.len() * 49 / 50).or(finite.last()).copied().unwrap_or(0.0).max(0.0)
    }
}

/// Words of one kind of change.
struct Words {
    title: &'static str,
    explanation: &'static str,
    unit: &'static str,
    /// Before and after the number in a tooltip.
    around: (&'static str, &'static str),
    empty: &'static str,
}

/// Rows moved by any amount in any direction.
pub(crate) fn moved(story: Story<'_>, id: &str) -> Chart {
    let words = Words {
        title: "Rows that stay right however they are moved",
        explanation: "Every held-out row of the first split may be moved, in any direction, by up to the distance on the axis (in standard \
                      deviations of the features). The height is the share of rows that are then still called \
                      right, whatever the direction. This is proven, not sampled. At distance 0 it is plain accuracy.",
        unit: "distance a row may be moved",
        around: ("moved by up to ", ""),
        empty: "No distances are known for these methods (only linear models have them).",
    };
    let rows = story.0.radii.iter();
    let survivors =
        rows.map(|r| Survivors::new(story, &r.method, r.radius_l2.iter().copied())).collect();
    chart(&words, survivors, id, false)
}

/// Rows that lose any so many features.
pub(crate) fn deleted(story: Story<'_>, id: &str) -> Chart {
    let words = Words {
        title: "Predictions that survive lost features",
        explanation: "An adversary may erase so many features of every row, choosing the worst ones for each row. The \
                      height is the share of predictions that do not change, whichever features go.",
        unit: "features an adversary may erase",
        around: ("", " features erased"),
        empty: "It is not known how many features these predictions can lose.",
    };
    let rows = story.0.radii.iter();
    // The fewest features that flip a row: it survives one fewer.
    let limit = |d: &Option<f64>| d.map_or(f64::INFINITY, |d| d - 0.5);
    let survivors =
        rows.map(|r| Survivors::new(story, &r.method, r.deletions.iter().map(limit))).collect();
    chart(&words, survivors, id, true)
}

fn chart(words: &Words, survivors: Vec<Survivors>, id: &str, whole: bool) -> Chart {
    let survivors: Vec<Survivors> =
        survivors.into_iter().filter(|s| !s.limits.is_empty()).collect();
    let reach = survivors.iter().map(Survivors::reach).fold(0.0, f64::max);
    let reach = if whole { (reach + 0.5).max(2.0) } else { reach };
    let x = Scale::nice(0.0, if reach > 0.0 { reach } else { 1.0 }, 5).drawn(LEFT, RIGHT);
    let places = places(&x, whole);
    let legend =
        (survivors.iter()).map(|s| Key::new(s.part, word(s.part), s.name.clone())).collect();
    Chart {
        title: words.title.into(),
        badge: "",
        explanation: words.explanation.into(),
        svg: (!survivors.is_empty()).then(|| draw(words, &survivors, id, &x, &places)),
        empty: words.empty.into(),
        legend,
        table: table(words, &survivors, &places),
    }
}

/// Where the chart can be asked for numbers.
fn places(x: &Scale, whole: bool) -> Vec<f64> {
    let (low, high) = (x.low().max(0.0), x.high());
    if whole && high <= 12.0 {
        let mut all = Vec::new();
        let mut k = 0.0;
        while k <= high {
            all.push(k);
            k += 1.0;
        }
        return all;
    }
    let step = (high - low) / (PLACES - 1) as f64;
    let round = |v: f64| if whole { v.round() } else { v };
    (0..PLACES).map(|k| round(low + step * k as f64)).collect()
}

fn draw(words: &Words, survivors: &[Survivors], id: &str, x: &Scale, places: &[f64]) -> String {
    let y = Scale::nice(0.0, 1.0, 5).drawn(BOTTOM, TOP);
    let description = survivors.iter().map(|s| sentence(s, x)).collect::<Vec<_>>().join("; ");
    let mut drawing = Drawing::new(id, SIZE, words.title, &description);
    drawing.draw(&parts::percent_axis(&y, LEFT, RIGHT));
    drawing.draw(&parts::bottom_axis(x, TOP, BOTTOM, |t| x.label(t)));
    let middle = f64::midpoint(LEFT, RIGHT);
    drawing.draw(&Element::words((middle, BOTTOM + 36.0), words.unit).class("middle unit"));
    for s in survivors {
        drawing.draw(&parts::line(s.part, &steps(s, x, &y)));
        for place in places.iter().step_by(2) {
            let mark = (x.place(*place), y.place(s.share(*place)));
            drawing.draw(&parts::marker(s.part, mark));
        }
    }
    let gap = (RIGHT - LEFT) / (places.len().max(2) - 1) as f64;
    for place in places {
        let at = x.place(*place);
        let from = (at - gap / 2.0).max(LEFT);
        let hit = Element::rect((from, TOP), (at + gap / 2.0).min(RIGHT) - from, BOTTOM - TOP);
        let guide = Element::line((at, TOP), (at, BOTTOM)).class("guide");
        let (before, after) = words.around;
        let heading = format!("{before}{}{after}", text::number(*place));
        let mut tip = Tip::new((at, TOP + 40.0), heading);
        for s in survivors {
            tip = tip.row(s.part, s.name.clone(), text::percent(s.share(*place)));
        }
        drawing.place(&hit.class("hit"), Some(&guide), &tip);
    }
    drawing.render()
}

/// Where a line begins, passes and ends.
fn sentence(s: &Survivors, x: &Scale) -> String {
    let (middle, end) = (f64::midpoint(x.low(), x.high()), x.high());
    let [a, b, c] = [0.0, middle, end].map(|size| text::percent(s.share(size)));
    let [middle, end] = [middle, end].map(text::number);
    format!("{}: {a} at 0, {b} at {middle}, {c} at {end}", s.name)
}

/// A staircase, in at most about 200 steps.
fn steps(s: &Survivors, x: &Scale, y: &Scale) -> Vec<Option<(f64, f64)>> {
    let inside: Vec<f64> = s.limits.iter().copied().filter(|v| *v > 0.0 && *v < x.high()).collect();
    let every = inside.len().div_ceil(200).max(1);
    let mut level = s.share(0.0);
    let mut points = vec![Some((x.place(0.0), y.place(level)))];
    for size in inside.into_iter().step_by(every) {
        let next = s.share(size);
        points.push(Some((x.place(size), y.place(level))));
        points.push(Some((x.place(size), y.place(next))));
        level = next;
    }
    points.push(Some((x.place(x.high()), y.place(level))));
    points
}

fn table(words: &Words, survivors: &[Survivors], places: &[f64]) -> Table {
    let mut head = vec![words.unit.to_owned()];
    head.extend(survivors.iter().map(|s| s.name.clone()));
    let rows = places.iter().map(|place| {
        let shares = survivors.iter().map(|s| text::percent(s.share(*place)));
        std::iter::once(text::number(*place)).chain(shares).collect()
    });
    Table { head, rows: rows.collect() }
}

/// The word for a method's part here.
fn word(part: Emphasis) -> &'static str {
    if part == Emphasis::Best { "robust" } else { part.word() }
}
