//! Weights of the chosen model with their intervals.

use mainstay::trust::{ClassCoefficients, Coefficient};

use super::tip::Tip;
use super::{Chart, Drawing, Table, parts};
use crate::scale::Scale;
use crate::story::Emphasis;
use crate::svg::Element;
use crate::text;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 156.0;
const RIGHT: f64 = 384.0;
const TOP: f64 = 12.0;
const ROW: f64 = 19.0;
/// Features shown; the rest are counted.
const SHOWN: usize = 20;

/// One feature: its weight for a standard deviation with the ends of its interval.
struct Line<'a> {
    own: &'a Coefficient,
    name: String,
    value: f64,
    ends: Option<(f64, f64)>,
}

impl<'a> Line<'a> {
    fn new(own: &'a Coefficient) -> Self {
        let value = own.per_sd.unwrap_or(own.weight);
        // Intervals are in units of the data; a weight of zero does not tell the unit.
        let unit = if own.weight == 0.0 { f64::NAN } else { value / own.weight };
        let ends = own.steadiness.map(|s| (unit * s.low, unit * s.high));
        let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
        Self { own, name: text::name(&own.feature), value, ends }
    }

    fn sure(&self) -> bool {
        self.ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// The chart of one score.
pub(crate) fn chart(found: &ClassCoefficients, refits: usize, part: Emphasis, id: &str) -> Chart {
    let class = text::name(&found.class);
    let mut lines: Vec<Line<'_>> = found.features.iter().map(Line::new).collect();
    let size = |l: &Line<'_>| if l.value.is_finite() { l.value.abs() } else { 0.0 };
    lines.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let sure = lines.iter().filter(|l| l.sure()).count();
    let all = lines.len();
    let leave = if sure == 1 { "leaves" } else { "leave" };
    lines.truncate(SHOWN);
    let shown = if all > SHOWN {
        format!(" The {SHOWN} largest of {all} are shown.")
    } else {
        String::new()
    };
    Chart {
        title: format!("Weights for {class}, with intervals"),
        badge: "",
        explanation: format!(
            "How much one standard deviation of a feature moves the score towards {class}, in the fit to all rows, and where \
             95 % of {refits} refits to redrawn rows put it. {sure} of {all} intervals {leave} out zero.{shown}"
        ),
        svg: (!lines.is_empty()).then(|| draw(id, &class, &lines, part)),
        empty: "This method has no weights.".into(),
        legend: Vec::new(),
        table: table(&lines),
    }
}

fn draw(id: &str, class: &str, lines: &[Line<'_>], part: Emphasis) -> String {
    let values = || {
        let all = lines.iter().flat_map(|l| {
            let (low, high) = l.ends.unwrap_or((l.value, l.value));
            [l.value, low, high]
        });
        all.filter(|v| v.is_finite())
    };
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let x = Scale::nice(low, high, 4).drawn(LEFT, RIGHT);
    let bottom = TOP + ROW * lines.len() as f64;
    let description =
        format!("Weights for {class} with 95 % intervals; the largest is {}.", lines[0].name);
    let title = format!("Weights for {class} with intervals");
    let mut drawing = Drawing::new(id, (WIDTH, bottom + 42.0), &title, &description);
    drawing.draw(&parts::bottom_axis(&x, TOP - 6.0, bottom, |t| x.label(t)));
    let middle = f64::midpoint(LEFT, RIGHT);
    let unit = Element::words((middle, bottom + 34.0), "score for one standard deviation");
    drawing.draw(&unit.class("middle unit"));
    for (k, line) in lines.iter().enumerate() {
        let y = TOP + ROW * (k as f64 + 0.5);
        let name = text::shorten(&line.name, 21);
        drawing.draw(&Element::words((LEFT - 10.0, y + 4.0), &name).class("rowname"));
        if let Some((low, high)) = line.ends {
            let span = Element::line((x.place(low), y), (x.place(high), y));
            drawing.draw(&span.class(&format!("span {}", part.class())));
        }
        if line.value.is_finite() {
            drawing.draw(&parts::marker(part, (x.place(line.value), y)));
        }
    }
    answers(&mut drawing, lines, part);
    drawing.render()
}

/// Tooltips, one per feature.
fn answers(drawing: &mut Drawing, lines: &[Line<'_>], part: Emphasis) {
    for (k, line) in lines.iter().enumerate() {
        let top = TOP + ROW * k as f64;
        let hit = Element::rect((0.0, top), WIDTH, ROW).class("hit");
        let tip = Tip::new((LEFT - 12.0, top + ROW + 40.0), line.name.clone())
            .row(part, "weight", text::number(line.value))
            .row(Emphasis::Other, "95 % of refits", range(line.ends));
        drawing.place(&hit, None, &tip);
    }
}

fn range(ends: Option<(f64, f64)>) -> String {
    ends.map_or(text::DASH.into(), |(low, high)| {
        format!("{} to {}", text::number(low.min(high)), text::number(low.max(high)))
    })
}

fn table(lines: &[Line<'_>]) -> Table {
    let head = [
        "feature",
        "for one standard deviation",
        "95 % of refits",
        "same sign in",
        "for one unit",
        "odds ratio for one standard deviation",
    ];
    let rows = lines.iter().map(|l| {
        vec![
            l.name.clone(),
            text::number(l.value),
            range(l.ends),
            l.own.steadiness.map_or(text::DASH.into(), |s| text::percent(s.same_sign)),
            text::number(l.own.weight),
            l.own.odds_ratio_per_sd.map_or(text::DASH.into(), text::number),
        ]
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}
