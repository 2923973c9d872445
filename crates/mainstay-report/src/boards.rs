//! The methods by other metrics than the one they are judged by.

use mainstay::metrics::Metric;
use serde::Serialize;

use crate::story::Story;
use crate::text;

/// What can be looked at beside the metric of the comparison.
const OTHERS: [Metric; 6] = [
    Metric::Accuracy,
    Metric::BalancedAccuracy,
    Metric::Auc,
    Metric::LogLoss,
    Metric::Brier,
    Metric::Mcc,
];

/// One row per method, one column per threat.
#[derive(Debug, Serialize)]
pub(crate) struct Board {
    title: String,
    direction: &'static str,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    method: String,
    cells: Vec<String>,
}

/// A board for every metric that some cell holds.
pub(crate) fn other_metrics(story: Story<'_>) -> Vec<Board> {
    let others = OTHERS.into_iter().filter(|metric| *metric != story.metric());
    others.filter_map(|metric| board(story, metric)).collect()
}

fn board(story: Story<'_>, metric: Metric) -> Option<Board> {
    story.0.cells.iter().find_map(|cell| cell.value(metric))?;
    let names = || std::iter::once("clean").chain(story.0.threats.iter().map(|t| t.name.as_str()));
    let title = |name: &str| {
        if name == "clean" { "No damage".to_owned() } else { story.threat_title(name) }
    };
    let row = |name: &str| Row {
        method: story.method(name),
        cells: names().map(|threat| mean(story, metric, name, threat)).collect(),
    };
    Some(Board {
        title: text::capital(metric.title()),
        direction: if metric.higher_is_better() == Some(false) { "less" } else { "more" },
        columns: names().map(title).collect(),
        rows: story.0.methods.iter().map(|m| row(&m.name)).collect(),
    })
}

/// Mean over splits and levels; a dash where no cell has the metric.
fn mean(story: Story<'_>, metric: Metric, method: &str, threat: &str) -> String {
    let levels = story.threat(threat).map(|t| &t.levels);
    let own = story.0.cells.iter().filter(|cell| {
        cell.method == method
            && cell.threat == threat
            && levels.is_none_or(|levels| levels.contains(&cell.level))
    });
    let values: Vec<f64> = own.filter_map(|cell| cell.value(metric)).collect();
    if values.is_empty() {
        return text::DASH.into();
    }
    text::measured(metric, values.iter().sum::<f64>() / values.len() as f64)
}
