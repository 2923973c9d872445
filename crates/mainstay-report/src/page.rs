//! Everything the template shows, in the order in which it shows it.

use mainstay::compare::Comparison;
use mainstay::metrics::Metric;
use serde::Serialize;

use crate::Options;
use crate::answer::Answer;
use crate::boards::{self, Board};
use crate::charts::{Chart, coefficients, cost, degradation, survival};
use crate::chosen::ChosenPage;
use crate::handled::HandledPage;
use crate::rows::{AuditPage, RowList};
use crate::scoreboard::Scoreboard;
use crate::story::Story;
use crate::text;
use crate::tripod::{self, Group};

/// Feature names listed before the rest are counted.
const FEATURES: usize = 200;
/// Coefficient charts in sight before a fold.
const SCORES: usize = 2;

/// The page.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    name: String,
    answer: Answer,
    chosen: ChosenPage,
    tripod: Vec<Group>,
    audit: Option<AuditPage>,
    curves: Vec<Chart>,
    scoreboard: Scoreboard,
    boards: Vec<Board>,
    metric: MetricWords,
    cost: Chart,
    coefficients: Vec<Chart>,
    more_coefficients: Vec<Chart>,
    suspects: RowList,
    suspects_not_run: Option<String>,
    worst_rows: RowList,
    survival: Vec<Chart>,
    data: Data,
    problems: Vec<Problem>,
    settings: Settings,
}

/// What the numbers of the page are.
#[derive(Debug, Serialize)]
struct MetricWords {
    title: String,
    height: String,
}

impl MetricWords {
    fn new(story: Story<'_>) -> Self {
        let title = story.metric().title();
        let height = if story.metric() == Metric::Accuracy {
            "The height of a line is the share of new rows a method still calls right.".into()
        } else {
            let better = if story.sign() > 0.0 { "higher" } else { "lower" };
            format!(
                "The height of a line is the {title} of a method on new rows; {better} is better."
            )
        };
        Self { title: text::capital(title), height }
    }
}

#[derive(Debug, Serialize)]
struct Data {
    rows: usize,
    feature_count: usize,
    features: Vec<String>,
    more_features: usize,
    classes: Vec<Class>,
    warnings: Vec<Vec<text::Span>>,
    handled: HandledPage,
}

#[derive(Debug, Serialize)]
struct Class {
    label: String,
    rows: usize,
    share: String,
    bar: String,
}

#[derive(Debug, Serialize)]
struct Problem {
    why: String,
    count: usize,
    places: String,
}

#[derive(Debug, Serialize)]
struct Settings {
    version: String,
    seed: String,
    repeats: usize,
    budget: String,
    command: String,
    cells: usize,
}

impl Page {
    pub(crate) fn new(comparison: &Comparison, options: Options) -> Self {
        let story = Story(comparison);
        let scale = degradation::shared_scale(story);
        let threats = comparison.threats.iter().enumerate();
        let pairs = comparison.coefficients.iter().enumerate();
        let mut coefficients: Vec<Chart> = pairs
            .map(|(k, pair)| coefficients::chart(story, pair, &format!("weights-{k}")))
            .collect();
        let more_coefficients = coefficients.split_off(coefficients.len().min(SCORES));
        Self {
            name: text::name(&comparison.data.name),
            answer: Answer::new(story),
            chosen: ChosenPage::new(story),
            tripod: if options.tripod { tripod::checklist(story) } else { Vec::new() },
            audit: comparison.audit.as_ref().map(AuditPage::new),
            curves: threats
                .map(|(k, t)| degradation::chart(story, t, &format!("curve-{k}"), &scale))
                .collect(),
            scoreboard: Scoreboard::new(story),
            boards: boards::other_metrics(story),
            metric: MetricWords::new(story),
            cost: cost::chart(story, "cost"),
            coefficients,
            more_coefficients,
            suspects: RowList::suspects(&comparison.suspects),
            suspects_not_run: comparison.suspects_not_run.as_deref().map(text::paragraph),
            worst_rows: RowList::worst(&comparison.worst_rows),
            survival: vec![survival::moved(story, "moved"), survival::deleted(story, "deleted")],
            data: data(comparison),
            problems: (story.problems().into_iter())
                .map(|(why, count, places)| Problem { why, count, places })
                .collect(),
            settings: settings(comparison),
        }
    }
}

fn data(comparison: &Comparison) -> Data {
    let data = &comparison.data;
    let total: usize = data.classes.iter().map(|c| c.rows).sum();
    let share = |rows: usize| if total > 0 { rows as f64 / total as f64 } else { 0.0 };
    Data {
        rows: data.rows,
        feature_count: data.features.len(),
        features: data.features.iter().take(FEATURES).map(|f| text::name(f)).collect(),
        more_features: data.features.len().saturating_sub(FEATURES),
        classes: (data.classes.iter())
            .map(|c| Class {
                label: text::name(&c.label),
                rows: c.rows,
                share: text::percent(share(c.rows)),
                bar: format!("{:.0}", 100.0 * share(c.rows)),
            })
            .collect(),
        warnings: data.warnings.iter().map(|w| text::spans(w)).collect(),
        handled: HandledPage::new(data),
    }
}

fn settings(comparison: &Comparison) -> Settings {
    let settings = &comparison.settings;
    Settings {
        version: text::name(&settings.version),
        seed: settings.seed.to_string(),
        repeats: settings.repeats,
        budget: settings.budget_seconds.map_or(String::new(), text::number),
        command: text::paragraph(&settings.command),
        cells: comparison.cells.len(),
    }
}
