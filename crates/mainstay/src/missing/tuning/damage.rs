//! Damage done to rows on purpose, and what rows with missing features can still be told.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::folds::generator;
use crate::linalg::{Dense, Matrix, Row, vector};
use crate::missing::values::Values;
use crate::model::Linear;
use crate::uncertainty::{Attack, Deletions, Gain, gains};

/// A lead that is left beyond this share of the sizes it is the difference of is no rounding.
const SURE: f64 = 1e-9;

/// What takes the place of a deleted feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Replacement<'a> {
    /// Zero: the feature is missing.
    Zero,
    /// Noise of mean 0, uniform on `$[-s_j, s_j]$`: the feature is corrupted (section 2.4, where every `$s_j$` is 1).
    Noise(&'a [f64]),
}

/// Damage done to rows on purpose, against a given model.
#[derive(Debug, Clone, Copy)]
pub struct Damage<'a> {
    /// What may be deleted.
    pub deletions: &'a Deletions,
    /// How it is chosen.
    pub attack: Attack,
    /// What takes its place.
    pub replacement: Replacement<'a>,
    /// Seed of random choices and noise.
    pub seed: u64,
}

impl Damage<'_> {
    /// Whether the model still names the right class, for every row after the damage.
    ///
    /// The adversary knows the model and the label. With more than two classes it tries every wrong class and takes
    /// the deletion that leaves the smallest lead. Under [`Attack::Exact`] and zeros a true answer is a guarantee: no
    /// deletion within the budget changes the prediction to a wrong one.
    pub fn survivors(&self, model: &Linear, x: &Matrix, labels: &[usize]) -> Result<Vec<bool>> {
        check(model, x, labels, self.deletions)?;
        let mut rng = generator(self.seed);
        let mut items = Vec::new();
        let mut row = vec![0.0; x.ncols()];
        let rivals = Rivals::new(model);
        (0..x.nrows())
            .map(|i| {
                let deleted = match self.attack {
                    Attack::Random => self.deletions.random(x.row(i), &mut rng),
                    _ => self.worst(&rivals, x.row(i), labels[i], &mut items)?,
                };
                row.fill(0.0);
                x.row(i).add_scaled_to(1.0, &mut row);
                for j in deleted {
                    row[j] = self.replacement.draw(j, &mut rng);
                }
                Ok(predict(model, &row) == labels[i])
            })
            .collect()
    }

    /// Share of rows that survive.
    pub fn accuracy(&self, model: &Linear, x: &Matrix, labels: &[usize]) -> Result<f64> {
        let survivors = self.survivors(model, x, labels)?;
        Ok(survivors.iter().filter(|s| **s).count() as f64 / survivors.len().max(1) as f64)
    }

    /// The rows after the damage.
    pub fn apply(&self, model: &Linear, x: &Matrix, labels: &[usize]) -> Result<Dense> {
        check(model, x, labels, self.deletions)?;
        let mut rng = generator(self.seed);
        let mut items = Vec::new();
        let mut out = x.to_dense();
        let rivals = Rivals::new(model);
        for (i, &label) in labels.iter().enumerate() {
            let deleted = match self.attack {
                Attack::Random => self.deletions.random(x.row(i), &mut rng),
                _ => self.worst(&rivals, x.row(i), label, &mut items)?,
            };
            for j in deleted {
                out[(i, j)] = self.replacement.draw(j, &mut rng);
            }
        }
        Ok(out)
    }

    /// The deletion that leaves `label` the smallest lead over its strongest rival.
    fn worst(
        &self,
        rivals: &Rivals,
        row: Row<'_>,
        label: usize,
        items: &mut Vec<Gain>,
    ) -> Result<Vec<usize>> {
        let mut best = (f64::INFINITY, Vec::new());
        for (w, b) in rivals.of(label) {
            gains(row, w, 1.0, 0.0, self.deletions.values(), items);
            let lead = row.dot(w) + b;
            // Even deletion in part cannot turn this row: any choice will do.
            let least = lead - self.deletions.fractional(items);
            let safe = least > SURE * (lead.abs() + row_norm(row, w));
            let chosen = if self.attack == Attack::Exact && !safe {
                self.deletions.exact(items)
            } else {
                self.deletions.greedy(items)
            };
            if !chosen.proven && lead - chosen.gain > 0.0 {
                return Err(Error::Numerical(
                    "the exact worst deletion of a row was not found; use values with fewer digits or the greedy \
                     adversary"
                        .into(),
                ));
            }
            if lead - chosen.gain < best.0 {
                best = (lead - chosen.gain, chosen.features);
            }
        }
        Ok(best.1)
    }
}

impl Replacement<'_> {
    /// What takes the place of `feature`, less its centre.
    pub fn draw(&self, feature: usize, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::Noise(scales) => scales[feature] * rng.random_range(-1.0..=1.0),
        }
    }
}

fn row_norm(row: Row<'_>, w: &[f64]) -> f64 {
    row.entries().map(|(j, x)| (x * w[j]).abs()).sum()
}

/// By the model's own rule: the sign of one score, the first largest of many.
fn predict(model: &Linear, row: &[f64]) -> usize {
    let mut scores = Dense::zeros(1, model.coef.len());
    for (k, (w, b)) in model.coef.iter().zip(&model.intercept).enumerate() {
        scores[(0, k)] = vector::dot(row, w) + b;
    }
    crate::model::choose(&scores)[0]
}

/// For every class the differences of its plane to those of the others: their smallest value is its lead.
struct Rivals(Vec<Vec<(Vec<f64>, f64)>>);

impl Rivals {
    fn new(model: &Linear) -> Self {
        let plane = |k: usize| (model.coef[k].clone(), model.intercept[k]);
        if let [w] = model.coef.as_slice() {
            let (_, b) = plane(0);
            let opposite = (w.iter().map(|v| -v).collect(), -b);
            return Self(vec![vec![opposite], vec![plane(0)]]);
        }
        let classes = model.coef.len();
        let difference = |k: usize, other: usize| {
            let w = model.coef[k].iter().zip(&model.coef[other]).map(|(a, b)| a - b).collect();
            (w, model.intercept[k] - model.intercept[other])
        };
        let of = |k: usize| (0..classes).filter(|o| *o != k).map(|o| difference(k, o)).collect();
        Self((0..classes).map(of).collect())
    }

    fn of(&self, label: usize) -> &[(Vec<f64>, f64)] {
        &self.0[label]
    }
}

fn check(model: &Linear, x: &Matrix, labels: &[usize], set: &Deletions) -> Result<()> {
    let p = model.n_features();
    if x.ncols() != p || set.values().len() != p {
        return Err(Error::Mismatch(format!(
            "the data have {} features and there are {} values, the model was fitted on {p} features",
            x.ncols(),
            set.values().len()
        )));
    }
    if labels.len() != x.nrows() || labels.iter().any(|l| *l >= model.n_classes()) {
        return Err(Error::BadData(format!(
            "{} rows need as many labels, all among the {} classes of the model",
            x.nrows(),
            model.n_classes()
        )));
    }
    if let Some((row, column, value)) = x.first_not_finite() {
        return Err(Error::BadCell {
            row,
            column: column.to_string(),
            problem: format!("{value} is not a finite number; drop or impute it"),
        });
    }
    Ok(())
}

/// What is missing in every row of `x` (NaN), and what that leaves of the guarantee.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MissingReport {
    /// Number of missing features.
    pub missing: Vec<usize>,
    /// Their total value.
    pub missing_value: Vec<f64>,
    /// Whether the budget covers it.
    pub covered: Vec<bool>,
    /// The predicted class, missing features counting as 0.
    pub prediction: Vec<usize>,
    /// Lead of the predicted class over the runner-up, missing features counting as 0.
    pub margin: Vec<f64>,
    /// The least lead left after the worst further deletion with what remains of the budget; if positive, the
    /// prediction cannot be changed by it.
    pub worst_margin: Vec<f64>,
}

/// The report on `x`, where NaN marks a missing feature.
pub fn missing_report(model: &Linear, x: &Matrix, set: &Deletions) -> Result<MissingReport> {
    let known = x.clone().nan_to_zero();
    check(model, &known, &vec![0; x.nrows()], set)?;
    let rivals = Rivals::new(model);
    let mut report = MissingReport::default();
    let mut items = Vec::new();
    let mut dense = vec![0.0; x.ncols()];
    for i in 0..x.nrows() {
        let gaps: Vec<usize> =
            x.row(i).entries().filter(|(_, v)| v.is_nan()).map(|(j, _)| j).collect();
        // From +0: the empty sum of floats is -0.
        let value = gaps.iter().fold(0.0, |sum, &j| sum + set.values()[j]);
        let left = set.with_budget((set.budget() - value).max(0.0))?;
        let row = known.row(i);
        dense.fill(0.0);
        row.add_scaled_to(1.0, &mut dense);
        let label = predict(model, &dense);
        let (mut margin, mut worst) = (f64::INFINITY, f64::INFINITY);
        for (w, b) in rivals.of(label) {
            let lead = row.dot(w) + b;
            gains(row, w, 1.0, 0.0, set.values(), &mut items);
            margin = margin.min(lead);
            let chosen = left.exact(&mut items);
            // A search that was cut short is replaced by its bound from the safe side.
            let gain = if chosen.proven { chosen.gain } else { left.fractional(&mut items) };
            worst = worst.min(lead - gain);
        }
        report.missing.push(gaps.len());
        report.missing_value.push(value);
        report.covered.push(value <= set.budget() * (1.0 + 1e-12));
        report.prediction.push(label);
        report.margin.push(margin);
        report.worst_margin.push(worst);
    }
    Ok(report)
}

/// Largest absolute entry of every column: the range of the noise that replaces it.
pub fn column_ranges(x: &Matrix) -> Vec<f64> {
    let mut ranges: Vec<f64> = vec![0.0; x.ncols()];
    for row in x.rows() {
        for (j, v) in row.entries() {
            ranges[j] = ranges[j].max(v.abs());
        }
    }
    ranges
}

/// The values a fitted model was trained with, or those its parameters give without data.
pub fn deletions_of(values: &Values, fitted: &[f64], budget: f64) -> Result<Deletions> {
    let values = match values {
        Values::Given(values) => values.clone(),
        Values::Rule(_) => fitted.to_vec(),
    };
    Deletions::new(values, budget)
}
