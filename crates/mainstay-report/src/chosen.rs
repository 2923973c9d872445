//! The chosen model, section by section.

use mainstay::compare::{Chosen, ProbabilitySource};
use mainstay::metrics::Metric;
use mainstay::validate::MetricRow;
use serde::Serialize;

use crate::charts::{Chart, Table, forest, square};
use crate::story::{Emphasis, Story};
use crate::text;

/// Classes whose curves are in sight before a fold.
const CLASSES: usize = 2;

/// Everything about the chosen model, or why there is nothing.
#[derive(Debug, Serialize)]
pub(crate) struct ChosenPage {
    title: String,
    lead: String,
    not_run: Option<String>,
    notes: Vec<String>,
    metrics: Table,
    curves: Vec<Chart>,
    more_curves: Vec<Chart>,
    thresholds: Option<Table>,
    no_thresholds: String,
    confusion: Option<Table>,
    weights: Vec<Chart>,
    more_weights: Vec<Chart>,
    steady: Option<Chart>,
    not_steady: String,
}

impl ChosenPage {
    pub(crate) fn new(story: Story<'_>) -> Self {
        let advice = &story.0.advice;
        let name = story.method(&advice.method);
        let title = if story.no_better_than_constant() {
            format!("A closer look at {name} (not advised)")
        } else if story.plain_is_enough() {
            format!("A closer look at {name}")
        } else {
            format!("The advised model: {name}")
        };
        match &story.0.chosen {
            Some(chosen) => Self::of(story, chosen, title),
            None => Self::nothing(story, title),
        }
    }

    fn nothing(story: Story<'_>, title: String) -> Self {
        let why =
            story.0.chosen_not_run.as_deref().unwrap_or("this comparison was made without it");
        Self {
            title,
            lead: String::new(),
            not_run: Some(text::paragraph(why)),
            notes: Vec::new(),
            metrics: Table::default(),
            curves: Vec::new(),
            more_curves: Vec::new(),
            thresholds: None,
            no_thresholds: String::new(),
            confusion: None,
            weights: Vec::new(),
            more_weights: Vec::new(),
            steady: None,
            not_steady: String::new(),
        }
    }

    fn of(story: Story<'_>, chosen: &Chosen, title: String) -> Self {
        let part = story.part(&chosen.method);
        let mut curves = class_curves(chosen, part);
        let more_curves = curves.split_off(curves.len().min(2 * CLASSES));
        curves.extend(probability_curves(story, chosen));
        let each = chosen.coefficients.iter().enumerate();
        let mut weights: Vec<Chart> = each
            .map(|(k, c)| forest::chart(c, chosen.refits, part, &format!("chosen-weights-{k}")))
            .collect();
        let more_weights = weights.split_off(weights.len().min(1));
        let positive = positive(story);
        let steady = chosen.unsteadiness.as_ref().filter(|u| !u.rows.is_empty());
        Self {
            title,
            lead: lead(story, chosen),
            not_run: None,
            notes: chosen.notes.iter().map(|n| text::paragraph(n)).collect(),
            metrics: metrics(chosen),
            curves,
            more_curves,
            thresholds: (!chosen.thresholds.is_empty()).then(|| thresholds(chosen)),
            no_thresholds: no_thresholds(chosen),
            confusion: (!chosen.confusion.is_empty()).then(|| confusion(story, chosen)),
            weights,
            more_weights,
            steady: steady.map(|u| square::instability(u, &positive, part, "chosen-steady")),
            not_steady: chosen.unsteadiness.as_ref().map_or_else(String::new, |u| {
                format!(
                    "This method gives no probabilities. Over refits to redrawn rows {} of the answers change.",
                    text::percent(u.flips)
                )
            }),
        }
    }
}

/// The class that probabilities are of.
fn positive(story: Story<'_>) -> String {
    let classes = &story.0.data.classes;
    if classes.len() == 2 { classes[1].label.clone() } else { "the predicted class".into() }
}

fn lead(story: Story<'_>, chosen: &Chosen) -> String {
    let probabilities = match chosen.probabilities {
        ProbabilitySource::Loss => "Probabilities are its own.",
        ProbabilitySource::Calibrated => {
            "Its loss defines no probabilities: they are calibrated on held-out parts of the training rows."
        }
        ProbabilitySource::None => "It gives no probabilities.",
    };
    // One deal's curve need not have the area that the figures say.
    let means = if chosen.repeats > 1 {
        " The figures in the first table are means over the deals; curves, areas under them and all other tables are of the \
         first deal."
    } else {
        ""
    };
    let part = if chosen.rows < story.0.data.rows {
        format!(" {} of the {} rows were looked at.", chosen.rows, story.0.data.rows)
    } else {
        String::new()
    };
    format!(
        "Every row is judged by a fit that has not seen it: {} folds, dealt {}, the held-out predictions of a deal put \
         together.{means} {} refits to redrawn rows give the intervals of weights and the steadiness. {probabilities}{part}",
        chosen.folds,
        text::times(chosen.repeats),
        chosen.refits
    )
}

/// Two charts for every class that is told from the others.
fn class_curves(chosen: &Chosen, part: Emphasis) -> Vec<Chart> {
    let each = chosen.curves.iter().enumerate();
    let both = |(k, curves)| {
        [
            square::roc(curves, part, &format!("roc-{k}")),
            square::precision_recall(curves, part, &format!("pr-{k}")),
        ]
    };
    each.flat_map(both).collect()
}

/// Whether probabilities are right, and what acting on them gains.
fn probability_curves(story: Story<'_>, chosen: &Chosen) -> Vec<Chart> {
    let part = story.part(&chosen.method);
    let calibration = chosen.calibration.as_ref();
    let calibration =
        calibration.map(|c| square::calibration(c, &positive(story), part, "calibration"));
    let mut charts: Vec<Chart> = calibration.into_iter().collect();
    if !chosen.thresholds.is_empty() {
        charts.push(square::net_benefit(&chosen.thresholds, part, "net-benefit"));
    }
    charts
}

fn metrics(chosen: &Chosen) -> Table {
    let shown = |row: &&MetricRow| row.metric != Metric::NetBenefit;
    let value =
        |metric: Metric, v: Option<f64>| v.map_or(text::DASH.into(), |v| text::measured(metric, v));
    let rows = chosen.metrics.iter().filter(shown).map(|row| {
        let range = row.cross_validated_interval.map_or(text::DASH.into(), |i| {
            format!(
                "{} to {}",
                text::measured(row.metric, i.low),
                text::measured(row.metric, i.high)
            )
        });
        vec![
            text::capital(row.metric.title()),
            value(row.metric, row.cross_validated),
            range,
            value(row.metric, row.corrected),
        ]
    });
    let head = ["", "held-out", "95 % interval", "corrected for optimism"];
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn thresholds(chosen: &Chosen) -> Table {
    let head = [
        "called positive from",
        "share called",
        "sensitivity",
        "specificity",
        "PPV",
        "NPV",
        "net benefit",
        "net benefit of acting on all",
    ];
    let share = |v: Option<f64>| v.map_or(text::DASH.into(), text::percent);
    let benefit = |v: Option<f64>| v.map_or(text::DASH.into(), |v| text::fixed(v, 3));
    let rows = chosen.thresholds.iter().map(|row| {
        vec![
            text::percent(row.threshold),
            text::percent(row.called),
            share(row.sensitivity),
            share(row.specificity),
            share(row.ppv),
            share(row.npv),
            benefit(row.net_benefit),
            benefit(row.net_benefit_all),
        ]
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn no_thresholds(chosen: &Chosen) -> String {
    if chosen.confusion.len() > 2 {
        "Thresholds are for two classes; with more the most probable class is the answer.".into()
    } else {
        "This method gives no probabilities, so there is no threshold to choose.".into()
    }
}

fn confusion(story: Story<'_>, chosen: &Chosen) -> Table {
    let classes = &story.0.data.classes;
    let label = |k: usize| classes.get(k).map_or_else(|| k.to_string(), |c| text::name(&c.label));
    let mut head = vec!["is".to_owned()];
    head.extend((0..chosen.confusion.len()).map(|k| format!("called {}", label(k))));
    let rows = chosen.confusion.iter().enumerate().map(|(k, row)| {
        let total: usize = row.iter().sum();
        let share = |count: usize| count as f64 / total.max(1) as f64;
        let cells = row.iter().map(|c| format!("{c} ({})", text::percent(share(*c))));
        std::iter::once(label(k)).chain(cells).collect()
    });
    Table { head, rows: rows.collect() }
}
