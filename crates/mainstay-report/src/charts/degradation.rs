//! The metric against the amount of damage, one chart per threat.

use mainstay::compare::{Interval, ThreatInfo};
use mainstay::metrics::Metric;

use super::tip::Tip;
use super::{Chart, Drawing, Key, Table, parts, within};
use crate::scale::Scale;
use crate::story::{Emphasis, Story};
use crate::svg::Element;
use crate::text;

const SIZE: (f64, f64) = (400.0, 284.0);
const LEFT: f64 = 48.0;
const RIGHT: f64 = 334.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 234.0;

/// The methods of a chart, those in the background first.
struct Cast {
    methods: Vec<(Emphasis, String)>,
}

impl Cast {
    fn new(story: Story<'_>, threat: &ThreatInfo) -> Self {
        let best = story.best_under(threat);
        let part = |name: &str| match story.part(name) {
            Emphasis::Other if best == Some(name) => Emphasis::Best,
            part => part,
        };
        let mut methods: Vec<(Emphasis, String)> =
            story.0.methods.iter().map(|m| (part(&m.name), m.name.clone())).collect();
        methods.sort_by_key(|(part, _)| match part {
            Emphasis::Other => 0,
            Emphasis::Best => 1,
            Emphasis::Baseline => 2,
            Emphasis::Advised => 3,
        });
        Self { methods }
    }

    /// The part in front first.
    fn by_importance(&self) -> impl Iterator<Item = &(Emphasis, String)> {
        let front = self.methods.iter().rev().filter(|m| m.0 != Emphasis::Other);
        front.chain(self.methods.iter().filter(|m| m.0 == Emphasis::Other))
    }
}

/// A column of the chart: undamaged, or one level.
#[derive(Clone, Copy)]
enum Slot {
    Clean,
    Level(f64),
}

impl Slot {
    fn word(self) -> String {
        match self {
            Self::Clean => "none".into(),
            Self::Level(level) => text::number(level),
        }
    }

    fn value(self, story: Story<'_>, method: &str, threat: &str) -> Option<Interval> {
        match self {
            Self::Clean => story.clean(method),
            Self::Level(level) => story.value(method, threat, level),
        }
    }
}

fn slots(story: Story<'_>, threat: &ThreatInfo) -> Vec<Slot> {
    let known = story.0.methods.iter().any(|m| story.clean(&m.name).is_some());
    let clean = (known && !threat.levels.contains(&0.0)).then_some(Slot::Clean);
    clean.into_iter().chain(threat.levels.iter().map(|l| Slot::Level(*l))).collect()
}

/// One scale for all threats, so that charts can be compared by eye.
pub(crate) fn shared_scale(story: Story<'_>) -> Scale {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for curve in &story.0.curves {
        let front = story.part(&curve.method) != Emphasis::Other;
        for interval in curve.points.iter().filter_map(|p| story.point_value(p)) {
            let ends = if front { [interval.low, interval.high] } else { [interval.mean; 2] };
            for value in ends.into_iter().chain([interval.mean]).filter(|v| v.is_finite()) {
                (low, high) = (low.min(value), high.max(value));
            }
        }
    }
    if low > high {
        return Scale::nice(0.0, 1.0, 5);
    }
    let edge = 0.04 * (high - low).max(0.02);
    within(story, Scale::nice(low, high, 5).within(low - edge, high + edge))
}

/// The chart of one threat.
pub(crate) fn chart(story: Story<'_>, threat: &ThreatInfo, id: &str, scale: &Scale) -> Chart {
    let cast = Cast::new(story, threat);
    let slots = slots(story, threat);
    let title = story.threat_title(&threat.name);
    let any = (cast.methods.iter())
        .any(|(_, m)| threat.levels.iter().any(|l| story.value(m, &threat.name, *l).is_some()));
    let worst = story.0.advice.worst_threat.as_deref() == Some(threat.name.as_str());
    let mut chart = Chart {
        title: title.clone(),
        badge: if worst { "hurts most" } else { "" },
        explanation: text::paragraph(&threat.explanation),
        svg: None,
        empty: String::new(),
        legend: Vec::new(),
        table: table(story, threat, &cast, &slots),
    };
    if any {
        chart.svg = Some(draw(story, threat, (id, &title), &cast, &slots, scale));
        chart.legend = legend(story, threat, &cast);
        chart.legend.extend(guess(story, scale).map(|(_, words)| Key::constant(words)));
    } else {
        chart.empty = why_empty(story, threat);
    }
    chart
}

fn why_empty(story: Story<'_>, threat: &ThreatInfo) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let curves = story.0.curves.iter().filter(|c| c.threat == threat.name);
    for reason in curves.flat_map(|c| &c.points).filter_map(|p| p.problem.as_deref()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        return "This threat was not run.".into();
    }
    let shown = reasons.iter().take(3).copied().collect::<Vec<_>>().join("; ");
    format!("No method could be judged here: {}", text::paragraph(&shown))
}

fn legend(story: Story<'_>, threat: &ThreatInfo, cast: &Cast) -> Vec<Key> {
    let drawn = |method: &str| {
        let at = |level: &f64| story.value(method, &threat.name, *level).is_some();
        threat.levels.iter().any(at) || story.clean(method).is_some()
    };
    let mut keys: Vec<Key> = (cast.by_importance())
        .filter(|(part, _)| *part != Emphasis::Other)
        .map(|(part, name)| Key::new(*part, word(story, *part), story.method(name)))
        .collect();
    let others = cast.methods.iter().filter(|m| m.0 == Emphasis::Other && drawn(&m.1)).count();
    if others > 0 {
        keys.push(Key::new(Emphasis::Other, "others", text::count(others, "more method")));
    }
    keys
}

fn word(story: Story<'_>, part: Emphasis) -> &'static str {
    match part {
        Emphasis::Baseline if story.plain_is_enough() => "plain",
        part => part.word(),
    }
}

fn draw(
    story: Story<'_>,
    threat: &ThreatInfo,
    (id, title): (&str, &str),
    cast: &Cast,
    slots: &[Slot],
    scale: &Scale,
) -> String {
    let y = scale.clone().drawn(BOTTOM, TOP);
    let gap = (RIGHT - LEFT) / slots.len() as f64;
    let x: Vec<f64> = (0..slots.len()).map(|k| LEFT + gap * (k as f64 + 0.5)).collect();
    let heading = format!("{} under {title}", text::capital(story.metric().title()));
    let mut drawing = Drawing::new(id, SIZE, &heading, &describe(story, threat, cast));
    drawing.draw(&parts::value_axis(&y, LEFT, RIGHT, |t| story.tick(&y, t)));
    drawing.draw(&guess_line(story, &y));
    drawing.draw(&level_axis(slots, &x, &threat.unit));
    let mut ends = Vec::new();
    for (part, method) in &cast.methods {
        let found: Vec<Option<Interval>> =
            slots.iter().map(|s| s.value(story, method, &threat.name)).collect();
        if let Some(height) = draw_curve(&mut drawing, *part, &found, (&x, &y)) {
            ends.push((*part, word(story, *part).to_owned(), height));
        }
    }
    drawing.draw(&parts::end_words(RIGHT + 4.0, ends, (TOP + 4.0, BOTTOM)));
    for (k, slot) in slots.iter().enumerate() {
        let hit = Element::rect((x[k] - gap / 2.0, TOP), gap, BOTTOM - TOP).class("hit");
        let guide = Element::line((x[k], TOP), (x[k], BOTTOM)).class("guide");
        let anchor = (x[k], f64::midpoint(TOP, BOTTOM));
        drawing.place(&hit, Some(&guide), &tip(story, threat, cast, *slot, anchor));
    }
    drawing.render()
}

/// The curve of a method; where it ends, unless it is in the background.
fn draw_curve(
    drawing: &mut Drawing,
    part: Emphasis,
    found: &[Option<Interval>],
    (x, y): (&[f64], &Scale),
) -> Option<f64> {
    let points: Vec<Option<(f64, f64)>> =
        found.iter().zip(x).map(|(a, x)| a.map(|a| (*x, y.place(a.mean)))).collect();
    if part == Emphasis::Other {
        drawing.draw(&parts::line(part, &points));
        return None;
    }
    drawing.draw(&parts::band(part, x, y, found));
    drawing.draw(&parts::line(part, &points));
    points.iter().flatten().for_each(|p| drawing.draw(&parts::marker(part, *p)));
    points.iter().flatten().last().map(|(_, height)| *height)
}

fn tip(story: Story<'_>, threat: &ThreatInfo, cast: &Cast, slot: Slot, anchor: (f64, f64)) -> Tip {
    let heading = match slot {
        Slot::Clean => "no damage".to_owned(),
        Slot::Level(level) => format!("{} {}", text::number(level), text::name(&threat.unit)),
    };
    let mut tip = Tip::new(anchor, heading);
    for (part, method) in cast.by_importance() {
        let value = slot.value(story, method, &threat.name);
        let value = value.map_or_else(|| "no number".to_owned(), |a| story.show(a.mean));
        tip = tip.row(*part, story.method(method), value);
    }
    tip
}

/// What always giving the same answer gets, if it is on the scale, and how that answer is called.
fn guess(story: Story<'_>, scale: &Scale) -> Option<(f64, &'static str)> {
    let classes = &story.0.data.classes;
    let total: usize = classes.iter().map(|c| c.rows).sum();
    let largest = classes.iter().map(|c| c.rows).max().unwrap_or(0);
    let accuracy = story.metric() == Metric::Accuracy;
    let share = (total > 0 && accuracy).then(|| largest as f64 / total as f64);
    let share = share.or(story.0.constant_answer).filter(|share| scale.holds(*share))?;
    Some((share, if accuracy { "always the largest class" } else { "the same answer for all" }))
}

/// Its line; the legend says what it is, as words in the drawing would lie on curves.
fn guess_line(story: Story<'_>, y: &Scale) -> Element {
    let group = Element::group("guess");
    let Some((share, _)) = guess(story, y) else { return group };
    let place = y.place(share);
    group.child(&Element::line((LEFT, place), (RIGHT, place)))
}

fn level_axis(slots: &[Slot], x: &[f64], unit: &str) -> Element {
    let mut axis = Element::group("axis");
    // Labels are left out where they would touch.
    let every = slots.len().div_ceil(8).max(1);
    for (k, slot) in slots.iter().enumerate().filter(|(k, _)| k % every == 0) {
        axis.push(&Element::words((x[k], BOTTOM + 17.0), &slot.word()).class("middle"));
    }
    let unit = text::shorten(&text::name(unit), 44);
    let middle = f64::midpoint(LEFT, RIGHT);
    axis.child(&Element::words((middle, BOTTOM + 37.0), &unit).class("middle unit"))
}

fn describe(story: Story<'_>, threat: &ThreatInfo, cast: &Cast) -> String {
    let front = cast.by_importance().filter(|(part, _)| *part != Emphasis::Other);
    let lines = front.filter_map(|(part, method)| {
        let mut last = threat.levels.iter().rev();
        let end = last.find_map(|l| Some((*l, story.value(method, &threat.name, *l)?)))?;
        let start = story
            .clean(method)
            .map_or(String::new(), |a| format!("from {} without damage ", story.show(a.mean)));
        let (name, level) = (story.method(method), text::number(end.0));
        let word = part.word();
        Some(format!("{name} ({word}) goes {start}to {} at level {level}", story.show(end.1.mean)))
    });
    let lines: Vec<String> = lines.collect();
    format!("{}. The table below has all numbers.", lines.join("; "))
}

fn table(story: Story<'_>, threat: &ThreatInfo, cast: &Cast, slots: &[Slot]) -> Table {
    let mut head = vec!["method".to_owned()];
    head.extend(slots.iter().map(|s| match s {
        Slot::Clean => "no damage".to_owned(),
        Slot::Level(level) => text::number(*level),
    }));
    let rows = cast.by_importance().map(|(_, method)| {
        let cells = slots.iter().map(|slot| cell(story, threat, method, *slot));
        std::iter::once(story.method(method)).chain(cells).collect()
    });
    Table { head, rows: rows.collect() }
}

fn cell(story: Story<'_>, threat: &ThreatInfo, method: &str, slot: Slot) -> String {
    let point = match slot {
        Slot::Clean => story.points(method, "clean").first(),
        Slot::Level(level) => story.points(method, &threat.name).iter().find(|p| p.level == level),
    };
    let Some(point) = point else { return text::DASH.into() };
    let Some(value) = story.point_value(point) else {
        return text::paragraph(point.problem.as_deref().unwrap_or(text::DASH));
    };
    let range = if value.low == value.high && story.0.settings.repeats > 1 {
        "the same in every split".into()
    } else {
        story.range(&value)
    };
    let mut out = story.show(value.mean);
    if !range.is_empty() {
        out = format!("{out} ({range})");
    }
    match point.log_loss.filter(|_| story.metric() != Metric::LogLoss) {
        Some(loss) if loss.mean.is_finite() => {
            format!("{out}, log loss {}", text::fixed(loss.mean, 3))
        }
        _ => out,
    }
}
