//! Everything a comparison found, as plain data: the report, Python and `--json` read it from here.

use serde::{Deserialize, Serialize};

use super::chosen::Chosen;
use super::duplicates::Duplicates;
use super::labels::LabelAudit;
use crate::data::Handled;
use crate::metrics::Metric;

pub use crate::stress::Cell;

/// A mean with its 95 % confidence interval (paired bootstrap over repeats).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Mean over repeats.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How many rows a class has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassCount {
    /// The label as the user wrote it.
    pub label: String,
    /// Its rows.
    pub rows: usize,
}

/// The table that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// File name, or what the user called it.
    pub name: String,
    /// Rows.
    pub rows: usize,
    /// Feature names, after encoding.
    pub features: Vec<String>,
    /// Classes in order.
    pub classes: Vec<ClassCount>,
    /// What a careful reader should know before believing any number: small classes, constant columns,
    /// features that give the label away.
    pub warnings: Vec<String>,
    /// What became of the rows and cells of the table.
    #[serde(default)]
    pub handled: Handled,
    /// Rows that are the same.
    #[serde(default)]
    pub duplicates: Duplicates,
}

/// What is needed to repeat the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Version of mainstay.
    pub version: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Splits of the data; every method sees the same ones.
    pub repeats: usize,
    /// Time allowed, in seconds, if it decided the number of repeats.
    pub budget_seconds: Option<f64>,
    /// What methods are judged by.
    #[serde(default = "accuracy")]
    pub metric: Metric,
    /// The command or call that repeats this comparison.
    pub command: String,
}

/// What comparisons were judged by before they could say it.
fn accuracy() -> Metric {
    Metric::Accuracy
}

/// What a method is in the comparison for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What people use today.
    Baseline,
    /// One of the robust families.
    Robust,
    /// An estimator of the user's own.
    Guest,
}

/// One compared method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodInfo {
    /// Short name, unique in this comparison; cells and curves refer to it.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Baseline or robust.
    pub role: Role,
    /// What was tuned, and how, in one sentence.
    pub tuning: String,
}

/// One kind of damage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreatInfo {
    /// Name in the contract: `few_samples`, `label_noise`, ...
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What is damaged, in one sentence without jargon.
    pub explanation: String,
    /// What the level counts, for an axis: "share of labels flipped".
    pub unit: String,
    /// Levels in the order in which they were run; the first is the mildest.
    pub levels: Vec<f64>,
}

/// What one level of damage does to one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// How much damage.
    pub level: f64,
    /// The metric of the comparison over repeats; absent if no cell could be run or the metric is not defined.
    #[serde(default)]
    pub value: Option<Interval>,
    /// Accuracy over repeats; absent if no cell could be run.
    pub accuracy: Option<Interval>,
    /// Log loss over repeats, where there are probabilities.
    pub log_loss: Option<Interval>,
    /// Why there is no number here.
    pub problem: Option<String>,
}

/// One method under one threat; `clean` has a single point at level 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Which method.
    pub method: String,
    /// Which threat.
    pub threat: String,
    /// By level.
    pub points: Vec<CurvePoint>,
}

/// The answer in words, with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// One sentence.
    pub headline: String,
    /// The rest: what hurts, what holds, what it costs, how sure that is.
    pub sentences: Vec<String>,
    /// The threat that costs the best baseline most.
    pub worst_threat: Option<String>,
    /// The baseline that everything is judged against.
    pub baseline: String,
    /// The advised method; the baseline itself where plain is enough.
    pub method: String,
    /// How much better the advised method is than the baseline under the worst threat (paired).
    pub gain: Option<Interval>,
    /// Whether no method tells the classes apart better than always answering the same.
    #[serde(default)]
    pub nothing_beats_constant: bool,
    /// Whether a method gained something worth having that is sure only by itself, not among all comparisons.
    #[serde(default)]
    pub unsettled: bool,
    /// Whether the advised method answers no better than a constant and hardly orders the rows.
    #[serde(default)]
    pub weak_answers: bool,
    /// How much worse it is on clean data (paired; positive is a cost).
    pub price: Option<Interval>,
}

/// Weights of the baseline and of the advised method, side by side, on standardised features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoefficientPair {
    /// Which score: the class against the rest, or the second class of two.
    pub class: String,
    /// Feature names.
    pub features: Vec<String>,
    /// Weights of the baseline.
    pub baseline: Vec<f64>,
    /// Weights of the robust method.
    pub robust: Vec<f64>,
    /// Name of the robust method shown.
    pub robust_method: String,
}

/// A training row whose label looks wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuspectRow {
    /// Row number in the user's table, from 1, header not counted.
    pub row: usize,
    /// What identifies it, where the user said which columns do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its label.
    pub label: String,
    /// Probability that the label is wrong.
    pub score: f64,
    /// What the model would call it.
    pub predicted: String,
    /// Share of the refits without the row that doubt it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<f64>,
}

/// A training row that carries the worst-case loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstRow {
    /// Row number in the user's table, from 1, header not counted.
    pub row: usize,
    /// What identifies it, where the user said which columns do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its label.
    pub label: String,
    /// Its weight among the worst k.
    pub weight: f64,
    /// Its loss.
    pub loss: f64,
}

impl Comparison {
    /// Says what identifies the rows that are listed; `id_of` takes a row's number in the user's table, from 1.
    pub fn name_rows(&mut self, id_of: impl Fn(usize) -> Option<String>) {
        for row in &mut self.suspects {
            row.id = id_of(row.row);
        }
        for row in &mut self.worst_rows {
            row.id = id_of(row.row);
        }
    }
}

/// How far held-out predictions are from flipping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RadiusSample {
    /// Which method.
    pub method: String,
    /// Euclidean distance to the boundary in standard deviations, negative where the prediction is wrong;
    /// one per row, sorted.
    pub radius_l2: Vec<f64>,
    /// Fewest features whose loss flips the prediction, one per row, sorted; infinite as absent.
    pub deletions: Vec<Option<f64>>,
}

/// Everything a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The data.
    pub data: DataSummary,
    /// How to repeat it.
    pub settings: Settings,
    /// The methods, baselines first.
    pub methods: Vec<MethodInfo>,
    /// The threats in the order of the contract.
    pub threats: Vec<ThreatInfo>,
    /// Methods that call all rows the same on undamaged data.
    #[serde(default)]
    pub constant: Vec<String>,
    /// What always giving the same answer gets by the metric.
    #[serde(default)]
    pub constant_answer: Option<f64>,
    /// Every fit.
    pub cells: Vec<Cell>,
    /// The fits summed up.
    pub curves: Vec<Curve>,
    /// The answer.
    pub advice: Advice,
    /// Baseline beside robust weights, one entry per score.
    pub coefficients: Vec<CoefficientPair>,
    /// Rows whose labels look wrong, most suspicious first (at most 50).
    pub suspects: Vec<SuspectRow>,
    /// Why labels were not looked at, where they were not.
    #[serde(default)]
    pub suspects_not_run: Option<String>,
    /// The audit of the labels behind the list.
    #[serde(default)]
    pub audit: Option<LabelAudit>,
    /// The advised model (the baseline where plain is enough), looked at closely.
    #[serde(default)]
    pub chosen: Option<Chosen>,
    /// Why it was not, where it was not.
    #[serde(default)]
    pub chosen_not_run: Option<String>,
    /// Rows that carry the worst-case loss, heaviest first (at most 50).
    pub worst_rows: Vec<WorstRow>,
    /// Certificate distributions of the baseline and the advised method.
    pub radii: Vec<RadiusSample>,
}
