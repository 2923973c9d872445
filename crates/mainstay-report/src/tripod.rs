//! A checklist along TRIPOD+AI: what the program knows is filled in, the rest is left open by name.
//!
//! Items follow the numbering of Collins and others (2024), *TRIPOD+AI statement*, BMJ 385; the wording is ours.

use mainstay::compare::ProbabilitySource;
use mainstay::metrics::Metric;
use serde::Serialize;

use crate::story::Story;
use crate::text;

/// Items of one part of a paper.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    title: &'static str,
    items: Vec<Item>,
}

/// One item.
#[derive(Debug, Serialize)]
struct Item {
    number: &'static str,
    name: &'static str,
    /// What is known; empty where it is for the authors to say.
    known: String,
    /// What is left to the authors; empty where nothing is.
    open: &'static str,
}

/// How an item is answered.
type ItemText = (String, &'static str);

fn open(what: &'static str) -> ItemText {
    (String::new(), what)
}

/// All items, in order.
pub(crate) fn checklist(story: Story<'_>) -> Vec<Group> {
    vec![
        Group { title: "Title, abstract, introduction", items: introduction() },
        Group { title: "Methods: data", items: data(story) },
        Group { title: "Methods: analysis", items: analysis(story) },
        Group { title: "Open science", items: openness(story) },
        Group { title: "Results", items: results(story) },
        Group { title: "Discussion", items: discussion(story) },
    ]
}

fn item(number: &'static str, name: &'static str, (known, open): ItemText) -> Item {
    Item { number, name, known: text::paragraph(&known), open }
}

fn introduction() -> Vec<Item> {
    vec![
        item(
            "1",
            "Title",
            open(
                "say that a prediction model is developed or evaluated, for whom, and for which outcome",
            ),
        ),
        item("2", "Abstract", open("follow the list for abstracts")),
        item(
            "3",
            "Background",
            open(
                "medical context, purpose, who would use the model, known differences between groups of people",
            ),
        ),
        item("4", "Objectives", open("development, evaluation, or both")),
    ]
}

fn data(story: Story<'_>) -> Vec<Item> {
    let data = &story.0.data;
    let classes: Vec<String> =
        data.classes.iter().map(|c| format!("{} ({})", text::name(&c.label), c.rows)).collect();
    let outcome = format!("Classes: {}.", classes.join(", "));
    let names: Vec<String> = data.features.iter().take(12).map(|f| text::name(f)).collect();
    let more = data.features.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let predictors =
        format!("{}: {}{more}.", text::count(data.features.len(), "feature"), names.join(", "));
    vec![
        item(
            "5",
            "Source of the data",
            (
                format!("Table: {}.", text::name(&data.name)),
                "where and when the rows were collected, and why they stand for the people meant",
            ),
        ),
        item("6", "Participants", open("setting, who was eligible, treatments")),
        item(
            "7",
            "Preparation of the data",
            (preparation(story), "anything done before the table was made"),
        ),
        item(
            "8",
            "Outcome",
            (outcome, "definition, time horizon, who assessed it and whether blinded"),
        ),
        item("9", "Predictors", (predictors, "why these, how and when they were measured")),
        item("10", "Sample size", (format!("{} rows.", data.rows), "why this number is enough")),
        item("11", "Missing data", (missing(story), "why cells are missing")),
    ]
}

fn preparation(story: Story<'_>) -> String {
    let (handled, copies) = (&story.0.data.handled, &story.0.data.duplicates);
    let read = handled.rows_read.map_or(String::new(), |n| format!("{n} rows read. "));
    let columns = handled.columns_left_out.len();
    let columns = if columns > 0 {
        format!(" {} left out.", text::count(columns, "column"))
    } else {
        String::new()
    };
    format!(
        "{read}{} left out.{columns} Features standardised by the training rows of each split. {} equal to an earlier one; \
         equal rows stay on one side of every split unless most rows are.",
        text::count(handled.all_rows_left_out(), "row"),
        text::count(copies.equal, "row")
    )
}

fn missing(story: Story<'_>) -> String {
    let handled = &story.0.data.handled;
    match (handled.all_cells_filled(), &handled.filled_with) {
        (0, _) => "No cell was filled.".into(),
        (cells, with) => format!(
            "{} in {} filled with {}.",
            text::count(cells, "cell"),
            text::count(handled.cells_filled.len(), "column"),
            with.as_deref().unwrap_or("a stand-in")
        ),
    }
}

fn analysis(story: Story<'_>) -> Vec<Item> {
    vec![
        item(
            "12",
            "Analysis",
            (
                method(story),
                "why this kind of model, and how groups of people or sites were handled",
            ),
        ),
        item("12e", "Measures of performance", (measures(story), "")),
        item("13", "Class imbalance", (balance(story), "")),
        item(
            "14",
            "Fairness",
            open("what was done to find and reduce differences between groups of people"),
        ),
        item("15", "Output of the model", (output(story), "thresholds for action, and why these")),
        item(
            "16",
            "Development and evaluation data",
            (
                "The same table, split; no other data were seen.".into(),
                "differences to the setting of use",
            ),
        ),
        item("17", "Ethical approval", open("name of the committee, consent")),
    ]
}

fn method(story: Story<'_>) -> String {
    let comparison = story.0;
    let advised = &comparison.advice.method;
    let method = comparison.methods.iter().find(|m| m.name == *advised);
    format!(
        "Comparison of {} methods on {} of the data (two thirds to learn from), the same for all, with and without {} kinds \
         of damage; chosen by {} under the rule in the documentation. {}: {}.",
        comparison.methods.len(),
        text::count(comparison.settings.repeats, "split"),
        comparison.threats.len(),
        comparison.settings.metric.title(),
        text::capital(&story.method(advised)),
        method.map_or("", |m| &m.tuning)
    )
}

fn measures(story: Story<'_>) -> String {
    story.0.chosen.as_ref().map_or_else(
        || format!("{} with 95 % intervals.", text::capital(story.metric().title())),
        |c| {
            // The table of the chosen model leaves net benefit to its curve over thresholds, which has no intervals.
            let tabled = c.metrics.iter().filter(|m| m.metric != Metric::NetBenefit);
            let all: Vec<&str> = tabled.map(|m| m.metric.title()).collect();
            let by_threshold =
                if c.thresholds.is_empty() { "" } else { " Net benefit by threshold." };
            format!("On held-out rows, with 95 % intervals: {}.{by_threshold}", all.join(", "))
        },
    )
}

fn balance(story: Story<'_>) -> String {
    let data = &story.0.data;
    let largest = data.classes.iter().map(|c| c.rows).max().unwrap_or(0);
    format!(
        "The largest class holds {} of the rows; no class weights or resampling in the comparison.",
        text::percent(largest as f64 / data.rows.max(1) as f64)
    )
}

fn output(story: Story<'_>) -> String {
    let answer = story.0.chosen.as_ref().map(|c| match c.probabilities {
        ProbabilitySource::None => "A class; no probabilities.",
        _ => "A class and probabilities; the answer is the most probable class.",
    });
    answer.unwrap_or_default().into()
}

fn openness(story: Story<'_>) -> Vec<Item> {
    let settings = &story.0.settings;
    let code = format!("mainstay {}; repeat with: {}", settings.version, settings.command);
    vec![
        item("18a", "Funding", open("who paid, and their part in the study")),
        item("18b", "Conflicts of interest", open("of all authors")),
        item("18c", "Protocol", open("where it can be read")),
        item("18d", "Registration", open("number, or that there is none")),
        item("18e", "Sharing of data", open("where and under which terms")),
        item("18f", "Sharing of code", (code, "where your own code is")),
        item("19", "Patients and the public", open("how they were involved")),
    ]
}

fn results(story: Story<'_>) -> Vec<Item> {
    let comparison = story.0;
    let data = &comparison.data;
    let classes: Vec<String> =
        data.classes.iter().map(|c| format!("{} {}", c.rows, text::name(&c.label))).collect();
    let flow = format!("{} rows analysed: {}.", data.rows, classes.join(", "));
    let chosen = comparison.chosen.as_ref();
    let events = chosen
        .map_or(String::new(), |c| format!("Fitted to {} rows; {} refits.", c.rows, c.refits));
    let weights = chosen.filter(|c| !c.coefficients.is_empty()).map_or(String::new(), |c| {
        format!(
            "{} with intervals in this report; `mainstay fit` writes the whole model to a file.",
            text::count(c.coefficients[0].features.len(), "weight")
        )
    });
    vec![
        item(
            "20",
            "Participants",
            (
                flow,
                "flow of participants, their characteristics, and how they differ between data sets",
            ),
        ),
        item("21", "Development", (events, "")),
        item("22", "Specification of the model", (weights, "how others can use it")),
        item("23", "Performance", (performance(story), "for groups of people and sites")),
        item("24", "Updating", open("whether the model was changed after evaluation")),
    ]
}

fn performance(story: Story<'_>) -> String {
    let Some(chosen) = &story.0.chosen else { return String::new() };
    let wanted = [Metric::Auc, Metric::LogLoss, Metric::CalibrationSlope, Metric::Accuracy];
    let each = wanted.iter().filter_map(|metric| {
        let row = chosen.metrics.iter().find(|m| m.metric == *metric)?;
        let value = text::measured(*metric, row.cross_validated?);
        let range = row.cross_validated_interval.map_or(String::new(), |i| {
            format!(" ({} to {})", text::measured(*metric, i.low), text::measured(*metric, i.high))
        });
        Some(format!("{} {value}{range}", metric.title()))
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!("Held-out: {}.", each.join(", ")) }
}

fn discussion(story: Story<'_>) -> Vec<Item> {
    let warnings = &story.0.data.warnings;
    let limits = if warnings.is_empty() {
        String::new()
    } else {
        format!("Noticed about the data: {}", warnings.join(" "))
    };
    let worst = story.0.advice.worst_threat.as_deref().map_or(String::new(), |threat| {
        format!(
            "What hurts most of the damage tried: {}.",
            story.threat_title(threat).to_lowercase()
        )
    });
    vec![
        item("25", "Interpretation", open("in the light of earlier studies, fairness included")),
        item("26", "Limitations", (limits, "of the study")),
        item(
            "27",
            "Use of the model",
            (
                worst,
                "what users must know and check, how poor or missing input is handled, what comes next",
            ),
        ),
    ]
}
