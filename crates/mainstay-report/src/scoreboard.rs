//! All methods against all threats in one table.

use serde::Serialize;

use crate::story::{Emphasis, Story};
use crate::text;

/// One row per method, one column per threat at the level where the baseline is worst.
#[derive(Debug, Serialize)]
pub(crate) struct Scoreboard {
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Whether some method calls all rows the same.
    constant: bool,
}

#[derive(Debug, Serialize)]
struct Column {
    title: String,
    level: String,
}

#[derive(Debug, Serialize)]
struct Row {
    method: String,
    tuning: String,
    badge: &'static str,
    class: &'static str,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize)]
struct Cell {
    text: String,
    /// `better` or `worse` than the baseline's confidence interval, `best` of its column.
    class: String,
    sign: &'static str,
    note: String,
}

impl Scoreboard {
    pub(crate) fn new(story: Story<'_>) -> Self {
        let mut columns = vec![Column { title: "No damage".into(), level: String::new() }];
        let mut places: Vec<(&str, f64)> = vec![("clean", 0.0)];
        for threat in &story.0.threats {
            if let Some(level) = story.hardest(threat) {
                columns.push(Column {
                    title: story.threat_title(&threat.name),
                    level: format!("{} = {}", text::name(&threat.unit), text::number(level)),
                });
                places.push((&threat.name, level));
            }
        }
        let best: Vec<f64> = places.iter().map(|place| best(story, *place)).collect();
        let rows = story.0.methods.iter().map(|m| {
            let part = story.part(&m.name);
            let cells =
                places.iter().zip(&best).map(|(place, best)| cell(story, &m.name, *place, *best));
            Row {
                method: story.method(&m.name),
                tuning: text::paragraph(&m.tuning),
                badge: match part {
                    Emphasis::Baseline if story.0.constant.contains(&m.name) => {
                        "baseline, constant"
                    }
                    Emphasis::Advised if story.0.constant.contains(&m.name) => "advised, constant",
                    _ if story.0.constant.contains(&m.name) => "constant",
                    Emphasis::Baseline if story.no_better_than_constant() => part.word(),
                    Emphasis::Baseline if story.plain_is_enough() => "baseline, advised",
                    Emphasis::Baseline | Emphasis::Advised => part.word(),
                    _ => "",
                },
                class: part.class(),
                cells: cells.collect(),
            }
        });
        Self { columns, rows: rows.collect(), constant: !story.0.constant.is_empty() }
    }
}

fn mean(story: Story<'_>, method: &str, (threat, level): (&str, f64)) -> Option<f64> {
    let found =
        if threat == "clean" { story.clean(method) } else { story.value(method, threat, level) };
    found.map(|a| a.mean)
}

fn best(story: Story<'_>, place: (&str, f64)) -> f64 {
    let means = story.0.methods.iter().filter_map(|m| mean(story, &m.name, place));
    story.sign() * means.map(|m| story.sign() * m).fold(f64::NEG_INFINITY, f64::max)
}

fn cell(story: Story<'_>, method: &str, place: (&str, f64), best: f64) -> Cell {
    let baseline = &story.0.advice.baseline;
    let range = if place.0 == "clean" {
        story.clean(baseline)
    } else {
        story.value(baseline, place.0, place.1)
    };
    let Some(value) = mean(story, method, place) else {
        let problem = story.points(method, place.0).iter().find_map(|p| p.problem.as_deref());
        let note = text::paragraph(problem.unwrap_or("not run"));
        return Cell { text: text::DASH.into(), class: "none".into(), sign: "", note };
    };
    let (mut class, mut sign) = (String::new(), "");
    if let Some(range) = range.filter(|_| method != baseline) {
        let upwards = story.sign() > 0.0;
        if value > range.high {
            (class, sign) = (if upwards { "better" } else { "worse" }.into(), "▲");
        } else if value < range.low {
            (class, sign) = (if upwards { "worse" } else { "better" }.into(), "▼");
        }
    }
    // Ties at the shown precision are all best.
    if story.show(value) == story.show(best) {
        class.push_str(" top");
    }
    Cell { text: story.show(value), class, sign, note: String::new() }
}
