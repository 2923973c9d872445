//! Class weights on top of row weights.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::error::{Error, Result};

/// How much each class counts, on top of the row weights.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected nothing, \"balanced\" or one factor per class")]
pub enum ClassWeight {
    /// Every class as it is.
    #[default]
    None,
    /// A rule, by name.
    Rule(ClassRule),
    /// One factor per class index.
    Factors(Vec<f64>),
}

/// Named class-weight rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassRule {
    /// Total weight / (classes present * weight of the class): all classes weigh the same.
    Balanced,
}

impl ClassWeight {
    /// `data` with the class factors multiplied into its row weights.
    pub fn apply(&self, data: Dataset) -> Result<Dataset> {
        match self.applied(&data)? {
            Cow::Borrowed(_) => Ok(data),
            Cow::Owned(weighted) => Ok(weighted),
        }
    }

    /// The same for borrowed data, which are copied only if a weight changes.
    pub fn applied<'a>(&self, data: &'a Dataset) -> Result<Cow<'a, Dataset>> {
        if *self == Self::None {
            return Ok(Cow::Borrowed(data));
        }
        let weights = self.weights_of(data)?.unwrap_or_default();
        data.clone().with_weights(weights).map(Cow::Owned)
    }

    /// The factors that this means for `data`, fixed: parts of the rows are then weighed as in the whole.
    pub fn settled(&self, data: &Dataset) -> Result<Self> {
        Ok(self.factors(data)?.map_or(Self::None, Self::Factors))
    }

    /// What every row of `data` counts, class factors included; `None` if each counts once.
    pub fn weights_of(&self, data: &Dataset) -> Result<Option<Vec<f64>>> {
        let Some(factors) = self.factors(data)? else {
            return Ok(data.weights().map(<[f64]>::to_vec));
        };
        let given = |i: usize| data.weights().map_or(1.0, |w| w[i]);
        let labels = data.labels().iter().enumerate();
        Ok(Some(labels.map(|(i, &label)| factors[label] * given(i)).collect()))
    }

    /// One factor per class; `None` if every class counts as it is.
    pub fn factors(&self, data: &Dataset) -> Result<Option<Vec<f64>>> {
        if *self == Self::None {
            return Ok(None);
        }
        let Some(weights) = data.weights() else {
            let counts = data.label_counts();
            return self.factors_of(&counts.iter().map(|&n| n as f64).collect::<Vec<_>>());
        };
        let mut totals = vec![0.0; data.n_classes()];
        for (&label, weight) in data.labels().iter().zip(weights) {
            totals[label] += weight;
        }
        self.factors_of(&totals)
    }

    /// The same, from the total weight of every class.
    pub fn factors_of(&self, totals: &[f64]) -> Result<Option<Vec<f64>>> {
        let factors = match self {
            Self::None => return Ok(None),
            Self::Rule(ClassRule::Balanced) => balanced(totals),
            Self::Factors(factors) => factors.clone(),
        };
        if factors.len() != totals.len() {
            return Err(Error::param(
                "class_weight",
                format!("{} factors", factors.len()),
                format!("one factor for each of the {} classes", totals.len()),
            ));
        }
        Ok(Some(factors))
    }
}

fn balanced(totals: &[f64]) -> Vec<f64> {
    let present = totals.iter().filter(|&&t| t > 0.0).count() as f64;
    let sum: f64 = totals.iter().sum();
    totals.iter().map(|&t| if t > 0.0 { sum / (present * t) } else { 1.0 }).collect()
}
