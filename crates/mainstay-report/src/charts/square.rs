//! Charts of shares against shares: ROC, precision-recall, calibration, instability, net benefit.

use mainstay::compare::{ClassCurves, UnstableRow, Unsteadiness};
use mainstay::metrics::ThresholdRow;
use mainstay::validate::{CalibrationCurve, CalibrationPoint};

use super::tip::Tip;
use super::{Chart, Drawing, Key, Table, parts};
use crate::scale::Scale;
use crate::story::Emphasis;
use crate::svg::Element;
use crate::text;

const SIZE: (f64, f64) = (400.0, 326.0);
const LEFT: f64 = 56.0;
const RIGHT: f64 = 384.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 274.0;
/// False positive rates and recalls of which the table tells.
const GRID: [f64; 9] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.95];

/// An empty chart with its axes.
struct Frame {
    drawing: Drawing,
    x: Scale,
    y: Scale,
}

/// What the axes of a frame say.
struct Axes<'a> {
    title: &'a str,
    description: &'a str,
    x: &'a str,
    y: &'a str,
    /// Whether the height is a share.
    share: bool,
}

impl Frame {
    fn new(id: &str, axes: &Axes<'_>, y: Scale) -> Self {
        let x = Scale::nice(0.0, 1.0, 5).drawn(LEFT, RIGHT);
        let y = y.drawn(BOTTOM, TOP);
        let mut drawing = Drawing::new(id, SIZE, axes.title, axes.description);
        let label = |t: f64| if axes.share { y.percent_label(t) } else { y.label(t) };
        drawing.draw(&parts::value_axis(&y, LEFT, RIGHT, label));
        drawing.draw(&parts::bottom_axis(&x, TOP, BOTTOM, |t| x.percent_label(t)));
        let middle = f64::midpoint(LEFT, RIGHT);
        drawing.draw(&Element::words((middle, BOTTOM + 36.0), axes.x).class("middle unit"));
        let (side, height) = (12.0, f64::midpoint(TOP, BOTTOM));
        let turned = Element::words((side, height), axes.y).class("middle unit");
        drawing.draw(&turned.attr("transform", &format!("rotate(-90 {side} {height})")));
        Self { drawing, x, y }
    }

    fn unit(id: &str, axes: &Axes<'_>) -> Self {
        Self::new(id, axes, Scale::nice(0.0, 1.0, 5))
    }

    fn at(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    /// A thin line to compare with.
    fn reference(&mut self, from: [f64; 2], to: [f64; 2]) {
        let line = Element::line(self.at(from), self.at(to)).class("reference");
        self.drawing.draw(&line);
    }

    fn line(&mut self, part: Emphasis, points: &[[f64; 2]]) {
        let places: Vec<Option<(f64, f64)>> = points.iter().map(|p| Some(self.at(*p))).collect();
        self.drawing.draw(&parts::line(part, &places));
    }

    /// The area between the ends of the intervals.
    fn band(&mut self, part: Emphasis, curve: &CalibrationCurve) {
        let upper = curve.points.iter().map(|p| [p.predicted, p.high]);
        let lower = curve.points.iter().rev().map(|p| [p.predicted, p.low]);
        let around: Vec<Option<(f64, f64)>> =
            upper.chain(lower).map(|point| Some(self.at(point))).collect();
        let area = format!("{}Z", crate::svg::path(&around));
        let band = Element::new("path").attr("d", &area).class(&format!("band {}", part.class()));
        self.drawing.draw(&band);
    }

    /// A column around `x` that answers with `tip`, and a mark at its height.
    fn place(&mut self, part: Emphasis, point: [f64; 2], half: f64, tip: &Tip) {
        let (at, height) = self.at(point);
        let from = self.x.place(point[0] - half);
        let to = self.x.place(point[0] + half);
        self.drawing.draw(&parts::marker(part, (at, height)));
        let hit = Element::rect((from, TOP), to - from, BOTTOM - TOP).class("hit");
        let guide = Element::line((at, TOP), (at, BOTTOM)).class("guide");
        self.drawing.place(&hit, Some(&guide), tip);
    }

    fn tip(&self, x: f64, heading: String) -> Tip {
        Tip::new((self.x.place(x), f64::midpoint(TOP, BOTTOM)), heading)
    }
}

/// Half the way to the nearest neighbour of `at` among `all`.
fn half_way(all: &[f64], at: f64) -> f64 {
    let others = all.iter().filter(|v| **v != at).map(|v| (v - at).abs());
    others.fold(f64::INFINITY, f64::min).min(0.2) / 2.0
}

fn chart(title: String, explanation: String, drawn: Option<String>, table: Table) -> Chart {
    Chart {
        title,
        badge: "",
        explanation,
        svg: drawn,
        empty: "There is nothing to draw.".into(),
        legend: Vec::new(),
        table,
    }
}

/// The height of a falling or rising staircase at `x`: that of the first point at or beyond it.
fn height(points: &[[f64; 2]], x: f64) -> f64 {
    let beyond = points.iter().find(|p| p[0] >= x - 1e-12).or(points.last());
    beyond.map_or(f64::NAN, |p| p[1])
}

/// The largest height up to `x`.
fn reached(points: &[[f64; 2]], x: f64) -> f64 {
    points.iter().filter(|p| p[0] <= x + 1e-12).map(|p| p[1]).fold(0.0, f64::max)
}

/// Sensitivity against false positive rate.
pub(crate) fn roc(curves: &ClassCurves, part: Emphasis, id: &str) -> Chart {
    let class = text::name(&curves.class);
    let auc = curves.auc.map_or(text::DASH.into(), |v| text::fixed(v, 3));
    let description = format!("ROC curve for {class}, area {auc}.");
    let axes = Axes {
        title: "ROC curve",
        description: &description,
        x: "false positive rate (1 − specificity)",
        y: "sensitivity",
        share: true,
    };
    let mut frame = Frame::unit(id, &axes);
    frame.reference([0.0, 0.0], [1.0, 1.0]);
    frame.line(part, &curves.roc);
    let mut rows = Vec::new();
    for rate in GRID {
        let found = reached(&curves.roc, rate);
        let tip = frame.tip(rate, format!("false positive rate {}", text::percent(rate))).row(
            part,
            "sensitivity",
            text::percent(found),
        );
        frame.place(part, [rate, found], half_way(&GRID, rate), &tip);
        rows.push(vec![text::percent(rate), text::percent(found), text::percent(1.0 - rate)]);
    }
    let head = ["false positive rate", "sensitivity", "specificity"].map(str::to_owned).to_vec();
    chart(
        format!("ROC curve for {class}"),
        format!(
            "How many rows of {class} are found (height) if so many of the others are called {class} by mistake. The area \
             under the curve is {auc}; guessing is the diagonal with 0.5."
        ),
        Some(frame.drawing.render()),
        Table { head, rows },
    )
}

/// Precision against recall.
pub(crate) fn precision_recall(curves: &ClassCurves, part: Emphasis, id: &str) -> Chart {
    let class = text::name(&curves.class);
    let area = curves.pr_auc.map_or(text::DASH.into(), |v| text::fixed(v, 3));
    let description = format!("Precision-recall curve for {class}, average precision {area}.");
    let axes = Axes {
        title: "Precision-recall curve",
        description: &description,
        x: "recall (sensitivity)",
        y: "precision (PPV)",
        share: true,
    };
    let mut frame = Frame::unit(id, &axes);
    frame.reference([0.0, curves.prevalence], [1.0, curves.prevalence]);
    frame.line(part, &curves.pr);
    let mut rows = Vec::new();
    for recall in GRID {
        let found = height(&curves.pr, recall);
        let tip = frame.tip(recall, format!("recall {}", text::percent(recall))).row(
            part,
            "precision",
            text::percent(found),
        );
        frame.place(part, [recall, found], half_way(&GRID, recall), &tip);
        rows.push(vec![text::percent(recall), text::percent(found)]);
    }
    let head = ["recall", "precision"].map(str::to_owned).to_vec();
    chart(
        format!("Precision and recall for {class}"),
        format!(
            "Of the rows called {class} so many are (height) if so many of all rows of {class} are to be found. The \
             average precision is {area}; guessing is the thin line at the share of {class}, {}.",
            text::percent(curves.prevalence)
        ),
        Some(frame.drawing.render()),
        Table { head, rows },
    )
}

/// What happened against what was said.
pub(crate) fn calibration(
    curve: &CalibrationCurve,
    class: &str,
    part: Emphasis,
    id: &str,
) -> Chart {
    let class = text::name(class);
    let description = format!("Observed share of {class} against its predicted probability.");
    let (x, y) = (&format!("predicted probability of {class}"), "observed share");
    let axes = Axes { title: "Calibration", description: &description, x, y, share: true };
    let mut frame = Frame::unit(id, &axes);
    frame.reference([0.0, 0.0], [1.0, 1.0]);
    frame.band(part, curve);
    let line: Vec<[f64; 2]> = curve.points.iter().map(|p| [p.predicted, p.observed]).collect();
    frame.line(part, &line);
    let every = curve.points.len().div_ceil(9).max(1);
    let shown: Vec<&CalibrationPoint> = curve.points.iter().step_by(every).collect();
    let at: Vec<f64> = shown.iter().map(|p| p.predicted).collect();
    let mut rows = Vec::new();
    for point in shown {
        let range = format!("{} to {}", text::percent(point.low), text::percent(point.high));
        let tip = frame
            .tip(point.predicted, format!("said {}", text::percent(point.predicted)))
            .row(part, "happened", text::percent(point.observed))
            .row(Emphasis::Other, "95 % range", range.clone());
        let half = half_way(&at, point.predicted);
        frame.place(part, [point.predicted, point.observed], half, &tip);
        rows.push(vec![text::percent(point.predicted), text::percent(point.observed), range]);
    }
    let head = ["predicted", "observed", "95 % range"].map(str::to_owned).to_vec();
    chart(
        "Calibration".into(),
        format!(
            "Of rows with about this probability of {class}, so many are {class}. On the diagonal probabilities can be \
             taken at their word; below it they are too high. The shaded area is a 95 % band; it is wide where rows are few."
        ),
        (!curve.points.is_empty()).then(|| frame.drawing.render()),
        Table { head, rows },
    )
}

/// Probabilities over refits to redrawn rows.
pub(crate) fn instability(found: &Unsteadiness, class: &str, part: Emphasis, id: &str) -> Chart {
    let class = text::name(class);
    let mean = found.mean_absolute_error.map_or(text::DASH.into(), |m| text::fixed(m, 3));
    let description =
        format!("Range of every row's probability of {class} over refits; mean change {mean}.");
    let x = &format!("probability of {class} by the fit to all rows");
    let (title, y) = ("Instability", "over refits");
    let axes = Axes { title, description: &description, x, y, share: true };
    let mut frame = Frame::unit(id, &axes);
    frame.reference([0.0, 0.0], [1.0, 1.0]);
    for row in &found.rows {
        let (low, high) =
            (frame.at([row.probability, row.low]), frame.at([row.probability, row.high]));
        frame.drawing.draw(&Element::line(low, high).class(&format!("whisker {}", part.class())));
    }
    let rows = tenths(&mut frame, found, part);
    let head = ["probability", "rows shown", "mean width of the range"].map(str::to_owned).to_vec();
    let flips = text::percent(found.flips);
    chart(
        "How steady the probabilities are".into(),
        format!(
            "Every vertical line is one row: where 95 % of the refits to redrawn rows put its probability. Short lines \
             on the diagonal are steady. In a refit a probability is off by {mean} on average, {flips} of the answers change, \
             and {} of the rows get another answer from more than one refit in ten.",
            text::percent(found.often)
        ),
        (!found.rows.is_empty()).then(|| frame.drawing.render()),
        Table { head, rows },
    )
}

/// Tooltips for every tenth of the probabilities, and what they say as rows of a table.
fn tenths(frame: &mut Frame, found: &Unsteadiness, part: Emphasis) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for tenth in 0..10 {
        let (from, to) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
        let own: Vec<&UnstableRow> = (found.rows.iter())
            .filter(|r| r.probability >= from && (r.probability < to || tenth == 9))
            .collect();
        if own.is_empty() {
            continue;
        }
        let width = own.iter().map(|r| r.high - r.low).sum::<f64>() / own.len() as f64;
        let heading = format!("{} to {}", text::percent(from), text::percent(to));
        let middle = f64::midpoint(from, to);
        let tip = frame
            .tip(middle, heading.clone())
            .row(part, "mean width of the range", text::percent(width))
            .row(Emphasis::Other, "rows shown", own.len().to_string());
        let hit = Element::rect((frame.x.place(from), TOP), (RIGHT - LEFT) / 10.0, BOTTOM - TOP);
        frame.drawing.place(&hit.class("hit"), None, &tip);
        rows.push(vec![heading, own.len().to_string(), text::percent(width)]);
    }
    rows
}

/// Net benefit against the threshold.
pub(crate) fn net_benefit(thresholds: &[ThresholdRow], part: Emphasis, id: &str) -> Chart {
    let (drawn, rows) = draw_net_benefit(thresholds, part, id);
    let head = ["threshold", "by the model", "on every row"].map(str::to_owned).to_vec();
    Chart {
        legend: vec![
            Key::new(part, "model", "act where the probability reaches the threshold".into()),
            Key::new(Emphasis::Other, "all", "act on every row".into()),
        ],
        ..chart(
            "Net benefit of acting on it".into(),
            "Right actions less false alarms, a false alarm counted at the odds of the threshold, per row. The model is \
             of use at thresholds where its line lies above both others (never acting is 0)."
                .into(),
            drawn,
            Table { head, rows },
        )
    }
}

/// The drawing, and its numbers as rows of a table.
fn draw_net_benefit(
    thresholds: &[ThresholdRow],
    part: Emphasis,
    id: &str,
) -> (Option<String>, Vec<Vec<String>>) {
    let known: Vec<(&ThresholdRow, f64)> =
        thresholds.iter().filter_map(|r| Some((r, r.net_benefit?))).collect();
    let all = |r: &ThresholdRow| r.net_benefit_all.unwrap_or(f64::NAN);
    let top = known.iter().map(|(r, v)| v.max(all(r))).fold(0.05, f64::max);
    let low = known.iter().map(|(_, v)| *v).fold(-0.1 * top, f64::min);
    let axes = Axes {
        title: "Net benefit",
        description: "Net benefit of acting by the model, of acting on every row, and of never acting.",
        x: "threshold on the probability",
        y: "net benefit",
        share: false,
    };
    let y = Scale::nice(low, top, 5);
    let floor = y.low();
    let mut frame = Frame::new(id, &axes, y);
    frame.reference([0.0, 0.0], [1.0, 0.0]);
    let above = known.iter().filter(|(r, _)| all(r) >= floor);
    let treat_all: Vec<[f64; 2]> = above.map(|(r, _)| [r.threshold, all(r)]).collect();
    frame.line(Emphasis::Other, &treat_all);
    let line: Vec<[f64; 2]> = known.iter().map(|(r, v)| [r.threshold, *v]).collect();
    frame.line(part, &line);
    let at: Vec<f64> = known.iter().map(|(r, _)| r.threshold).collect();
    let mut rows = Vec::new();
    for (row, value) in &known {
        let (own, every) = (text::fixed(*value, 3), text::fixed(all(row), 3));
        let tip = frame
            .tip(row.threshold, format!("from {} on", text::percent(row.threshold)))
            .row(part, "by the model", own.clone())
            .row(Emphasis::Other, "on every row", every.clone());
        frame.place(part, [row.threshold, *value], half_way(&at, row.threshold), &tip);
        rows.push(vec![text::percent(row.threshold), own, every]);
    }
    ((!known.is_empty()).then(|| frame.drawing.render()), rows)
}
