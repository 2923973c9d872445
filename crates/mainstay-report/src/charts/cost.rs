//! What robustness costs: every method without damage and under the worst threat, on one line.

use mainstay::compare::{Interval, ThreatInfo};

use super::tip::Tip;
use super::{Chart, Drawing, Table, parts, within};
use crate::scale::Scale;
use crate::story::{Emphasis, Story};
use crate::svg::Element;
use crate::text;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 172.0;
const RIGHT: f64 = 374.0;
const TOP: f64 = 22.0;
const ROW: f64 = 24.0;

struct Line {
    part: Emphasis,
    name: String,
    clean: Option<Interval>,
    hurt: Option<Interval>,
}

/// The chart, for the worst threat at the level where the baseline is worst.
pub(crate) fn chart(story: Story<'_>, id: &str) -> Chart {
    let advice = &story.0.advice;
    let threat = advice.worst_threat.as_deref().and_then(|name| story.threat(name));
    let level = threat.and_then(|t| story.hardest(t));
    let mut lines: Vec<Line> = (story.0.methods.iter())
        .map(|m| Line {
            part: story.part(&m.name),
            name: story.method(&m.name),
            clean: story.clean(&m.name),
            hurt: threat.zip(level).and_then(|(t, l)| story.value(&m.name, &t.name, l)),
        })
        .filter(|l| l.clean.is_some() || l.hurt.is_some())
        .collect();
    let key = |l: &Line| l.hurt.or(l.clean).map_or(0.0, |a| a.mean);
    let sign = story.sign();
    lines.sort_by(|a, b| (sign * key(b)).total_cmp(&(sign * key(a))));
    let place = threat.zip(level).map_or_else(
        || "no threat was found to matter".to_owned(),
        |(t, l)| worst_place(story, t, l),
    );
    let metric = story.metric().title();
    Chart {
        title: "Undamaged and damaged, method by method".into(),
        badge: "",
        explanation: format!(
            "Each line is one method: the open mark is its {metric} on undamaged data, the filled mark its \
             {metric} under damage ({place}). Short lines are steady; a line that starts further {} is better \
             on clean data.",
            if sign > 0.0 { "right" } else { "left" }
        ),
        svg: (!lines.is_empty()).then(|| draw(story, id, &lines, &place)),
        empty: "No method could be judged.".into(),
        legend: Vec::new(),
        table: table(story, &lines),
    }
}

fn worst_place(story: Story<'_>, threat: &ThreatInfo, level: f64) -> String {
    let title = story.threat_title(&threat.name).to_lowercase();
    format!("{title}, {} = {}", text::name(&threat.unit), text::number(level))
}

fn draw(story: Story<'_>, id: &str, lines: &[Line], place: &str) -> String {
    let means = lines.iter().flat_map(|l| [l.clean, l.hurt]).flatten().map(|a| a.mean);
    let (low, high) =
        means.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let x = within(story, Scale::nice(low, high, 4)).drawn(LEFT, RIGHT);
    let bottom = TOP + ROW * lines.len() as f64;
    let first = &lines[0];
    let description = format!(
        "{} of {} methods on undamaged data and under {place}. Best under damage: {}.",
        text::capital(story.metric().title()),
        lines.len(),
        first.name
    );
    let mut drawing =
        Drawing::new(id, (WIDTH, bottom + 42.0), "What robustness costs", &description);
    drawing.draw(&parts::bottom_axis(&x, TOP - 8.0, bottom, |t| story.tick(&x, t)));
    let middle = f64::midpoint(LEFT, RIGHT);
    drawing.draw(
        &Element::words((middle, bottom + 34.0), story.metric().title()).class("middle unit"),
    );
    for (k, line) in lines.iter().enumerate() {
        draw_line(&mut drawing, line, &x, TOP + ROW * (k as f64 + 0.5));
    }
    for (k, line) in lines.iter().enumerate() {
        let top = TOP + ROW * k as f64;
        let hit = Element::rect((0.0, top), WIDTH, ROW).class("hit");
        let anchor = (x.place(line.hurt.or(line.clean).map_or(low, |a| a.mean)), top + ROW + 42.0);
        drawing.place(&hit, None, &tip(story, line, anchor));
    }
    drawing.render()
}

/// A method at height `y`: its name, both marks, and a line between them.
fn draw_line(drawing: &mut Drawing, line: &Line, x: &Scale, y: f64) {
    let class = format!("rowname {}", line.part.class());
    let name = text::shorten(&line.name, 24);
    drawing.draw(&Element::words((LEFT - 10.0, y + 4.0), &name).class(&class));
    if let (Some(a), Some(b)) = (line.clean, line.hurt) {
        let span = Element::line((x.place(a.mean), y), (x.place(b.mean), y));
        drawing.draw(&span.class(&format!("span {}", line.part.class())));
    }
    let mark = |value: f64| parts::marker(line.part, (x.place(value), y));
    if let Some(clean) = line.clean {
        drawing.draw(&Element::group("open").child(&mark(clean.mean)));
    }
    if let Some(hurt) = line.hurt {
        drawing.draw(&mark(hurt.mean));
    }
}

fn tip(story: Story<'_>, line: &Line, anchor: (f64, f64)) -> Tip {
    let show = |a: Option<Interval>| a.map_or_else(|| "no number".into(), |a| story.show(a.mean));
    let mut tip = Tip::new(anchor, line.name.clone())
        .row(Emphasis::Other, "undamaged", show(line.clean))
        .row(Emphasis::Other, "under damage", show(line.hurt));
    if let (Some(base), Some(own)) = (story.clean(&story.0.advice.baseline), line.clean)
        && line.part != Emphasis::Baseline
    {
        tip =
            tip.row(Emphasis::Other, "clean, to baseline", story.difference(own.mean - base.mean));
    }
    tip
}

fn table(story: Story<'_>, lines: &[Line]) -> Table {
    let base = story.clean(&story.0.advice.baseline).map(|a| a.mean);
    let show = |a: Option<Interval>| {
        a.map_or_else(
            || text::DASH.to_owned(),
            |a| format!("{} ({})", story.show(a.mean), story.range(&a)),
        )
    };
    let rows = lines.iter().map(|l| {
        let difference = base.zip(l.clean).map_or(f64::NAN, |(b, c)| c.mean - b);
        vec![l.name.clone(), show(l.clean), story.difference(difference), show(l.hurt)]
    });
    let head = ["method", "undamaged", "undamaged, to the baseline", "under damage"];
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}
