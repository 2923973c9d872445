//! What each feature is worth to the adversary, by rule or as given.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::uncertainty::Deletions;

/// What each feature is worth to the adversary, `$v$`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// A rule, by name.
    Rule(ValueRule),
    /// One value per feature.
    Given(Vec<f64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Rule(ValueRule::Uniform)
    }
}

/// Named rules for [`Values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueRule {
    /// 1 for every feature: the budget is a number of features.
    Uniform,
    /// The information that the best threshold on the feature has about the label, see [`mutual_info`].
    MutualInfo,
}

impl Values {
    /// The values for `data`.
    pub fn resolve(&self, data: &Dataset) -> Result<Vec<f64>> {
        let p = data.n_features();
        match self {
            Self::Rule(ValueRule::Uniform) => Ok(vec![1.0; p]),
            Self::Rule(ValueRule::MutualInfo) => mutual_info(data),
            Self::Given(values) if values.len() == p => Ok(values.clone()),
            Self::Given(values) => Err(Error::param(
                "values",
                format!("{} numbers", values.len()),
                format!("one number for each of the {p} features"),
            )),
        }
    }

    /// The values for `data` with a budget that leaves something.
    pub fn deletions(&self, data: &Dataset, budget: f64) -> Result<Deletions> {
        Deletions::leaving_something(self.resolve(data)?, budget)
    }
}

/// `$v_j = \frac{1}{Z}\max_c I([x_j > c]; y)$` with `$Z$` such that the values sum to the number of features
/// (section 4 of the paper). Counts are weighted; `$y$` is the class, also with more than two.
///
/// `$O(k \log k)$` for a column of `$k$` nonzeros.
pub fn mutual_info(data: &Dataset) -> Result<Vec<f64>> {
    let unit = vec![1.0; data.len()];
    let weights = data.weights().unwrap_or(&unit);
    let mut columns: Vec<Vec<(f64, usize, f64)>> = vec![Vec::new(); data.n_features()];
    let mut totals = vec![0.0; data.n_classes()];
    for (i, row) in data.features().rows().enumerate() {
        let label = data.labels()[i];
        totals[label] += weights[i];
        for (j, x) in row.entries().filter(|(_, x)| *x != 0.0) {
            columns[j].push((x, label, weights[i]));
        }
    }
    let found: Vec<f64> =
        columns.into_par_iter().map(|column| best_threshold(column, &totals)).collect();
    let sum: f64 = found.iter().sum();
    if sum == 0.0 {
        return Err(Error::BadData(
            "no threshold on any feature says anything about the labels: mutual-information values are all 0; use \
             values=\"uniform\""
                .into(),
        ));
    }
    let scale = found.len() as f64 / sum;
    Ok(found.into_iter().map(|v| v * scale).collect())
}

/// A class with less than this share of all weight among a column's zeros has none of them: rounding leaves as much.
const TRACE: f64 = 1e-12;

/// Largest `$I([x > c]; y)$` over `$c$`, given the nonzeros (value, class, weight) of a column; the rest is zero.
fn best_threshold(mut column: Vec<(f64, usize, f64)>, totals: &[f64]) -> f64 {
    column.sort_unstable_by(|a, b| {
        a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)).then_with(|| a.2.total_cmp(&b.2))
    });
    let mut zeros = totals.to_vec();
    for &(_, label, weight) in &column {
        zeros[label] -= weight;
    }
    // Rounding must not leave a class with a trace of weight in a column without zeros.
    let floor = TRACE * totals.iter().sum::<f64>();
    for zero in &mut zeros {
        *zero = if *zero > floor { *zero } else { 0.0 };
    }
    let mut below = vec![0.0; totals.len()];
    let mut best: f64 = 0.0;
    let mut zeros_in = zeros.iter().all(|z| *z == 0.0);
    let mut k = 0;
    while k < column.len() || !zeros_in {
        let next = column.get(k).map_or(f64::INFINITY, |entry| entry.0);
        if !zeros_in && next > 0.0 {
            for (b, z) in below.iter_mut().zip(&zeros) {
                *b += z;
            }
            zeros_in = true;
        } else {
            while k < column.len() && column[k].0 <= next {
                below[column[k].1] += column[k].2;
                k += 1;
            }
        }
        if k < column.len() || !zeros_in {
            best = best.max(information(&below, totals));
        }
    }
    best
}

/// `$I$` between a two-way split and the class: entropy of the class less that on either side. In nats; the unit
/// cancels.
fn information(below: &[f64], totals: &[f64]) -> f64 {
    let all: f64 = totals.iter().sum();
    let low: f64 = below.iter().sum();
    let high = all - low;
    let mut sum = 0.0;
    for (&b, &t) in below.iter().zip(totals) {
        for (joint, side) in [(b, low), (t - b, high)] {
            if joint > 0.0 && side > 0.0 {
                sum += joint * (joint * all / (side * t)).ln();
            }
        }
    }
    (sum / all).max(0.0)
}
