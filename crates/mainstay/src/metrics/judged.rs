//! Labels, what was predicted for them, and how the two are to be weighed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};
use crate::linalg::{Dense, Matrix};
use crate::model::Model;

/// What a model says about rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictions {
    /// The predicted class of every row.
    pub predicted: Vec<usize>,
    /// One column for two classes (positive means class 1), else one per class.
    pub scores: Option<Dense>,
    /// One column per class.
    pub probabilities: Option<Dense>,
}

impl Predictions {
    /// What `model` says about the rows of `x`.
    pub fn of(model: &Model, x: &Matrix) -> Result<Self> {
        let scores = model.decision(x)?;
        let (predicted, probabilities) = (model.predict(x)?, model.probabilities(x)?);
        Ok(Self { predicted, scores: Some(scores), probabilities })
    }

    /// Puts together predictions of held-out rows, `rows[k]` being those of `parts[k]`: in order of the `n` rows, each of
    /// which must be in exactly one part. Scores or probabilities that a part lacks are left out.
    pub fn pooled(n: usize, parts: &[(&[usize], Self)]) -> Result<Self> {
        let mut place = vec![None; n];
        for (part, (rows, found)) in parts.iter().enumerate() {
            if rows.len() != found.predicted.len() {
                return Err(Error::BadData(
                    "held-out rows and predictions differ in number".into(),
                ));
            }
            for (k, &row) in rows.iter().enumerate() {
                match place.get_mut(row) {
                    Some(slot @ None) => *slot = Some((part, k)),
                    _ => return Err(Error::BadData(format!("row {row} is held out twice"))),
                }
            }
        }
        let Some(place) = place.into_iter().collect::<Option<Vec<_>>>() else {
            return Err(Error::BadData("a row is never held out".into()));
        };
        let join = |pick: fn(&Self) -> Option<&Dense>| {
            let all: Option<Vec<&Dense>> = parts.iter().map(|(_, found)| pick(found)).collect();
            let width = all.as_ref().and_then(|a| a.first()).map_or(0, |d| d.ncols());
            all.filter(|a| a.iter().all(|d| d.ncols() == width))
                .map(|a| Dense::from_fn(n, width, |i, j| a[place[i].0][(place[i].1, j)]))
        };
        Ok(Self {
            predicted: place.iter().map(|&(part, k)| parts[part].1.predicted[k]).collect(),
            scores: join(|p| p.scores.as_ref()),
            probabilities: join(|p| p.probabilities.as_ref()),
        })
    }
}

/// What wrong answers cost; right ones cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// A negative row called positive.
    pub false_positive: f64,
    /// A positive row called negative.
    pub false_negative: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self { false_positive: 1.0, false_negative: 1.0 }
    }
}

impl Costs {
    /// Costs must be numbers that are not negative.
    pub fn new(false_positive: f64, false_negative: f64) -> Result<Self> {
        for (name, cost) in [("fp", false_positive), ("fn", false_negative)] {
            require(cost >= 0.0 && cost.is_finite(), name, cost, "a number of at least 0")?;
        }
        Ok(Self { false_positive, false_negative })
    }

    /// From `fp=1,fn=5`; what is left out costs 1.
    pub fn parse(text: &str) -> Result<Self> {
        let mut costs = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let bad = || Error::BadParams(format!("cost `{part}`: write it as fp=1,fn=5"));
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let value = value.trim().parse().map_err(|_| bad())?;
            match name.trim() {
                "fp" => costs.false_positive = value,
                "fn" => costs.false_negative = value,
                _ => return Err(bad()),
            }
        }
        Self::new(costs.false_positive, costs.false_negative)
    }
}

/// Labelled rows with predictions, ready to be judged.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    truth: &'a [usize],
    n_classes: usize,
    predicted: Cow<'a, [usize]>,
    scores: Option<&'a Dense>,
    probabilities: Option<&'a Dense>,
    weights: Option<Cow<'a, [f64]>>,
    threshold: f64,
    costs: Costs,
}

impl<'a> Judged<'a> {
    /// Class indices `truth` below `n_classes`, and what was predicted; at least one row.
    pub fn new(truth: &'a [usize], n_classes: usize, made: &'a Predictions) -> Result<Self> {
        let (n, predicted) = (truth.len(), &made.predicted);
        if n == 0 || predicted.len() != n {
            return Err(Error::BadData(format!(
                "{n} labels, {} predictions: at least one row with both is needed",
                predicted.len()
            )));
        }
        if n_classes < 2 || truth.iter().chain(predicted).any(|&k| k >= n_classes) {
            return Err(Error::BadData(format!(
                "labels and predictions must be class indices below {n_classes}, and there must be two classes"
            )));
        }
        let columns = if n_classes == 2 { 1 } else { n_classes };
        shape(made.scores.as_ref(), "scores", n, columns)?;
        shape(made.probabilities.as_ref(), "probabilities", n, n_classes)?;
        Ok(Self {
            truth,
            n_classes,
            predicted: Cow::Borrowed(predicted),
            scores: made.scores.as_ref(),
            probabilities: made.probabilities.as_ref(),
            weights: None,
            threshold: 0.5,
            costs: Costs::default(),
        })
    }

    /// Counts every row as often as its weight says; 0 leaves it out.
    pub fn with_weights(mut self, weights: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let weights = weights.into();
        if weights.len() != self.truth.len()
            || weights.iter().any(|w| !w.is_finite() || *w < 0.0)
            || weights.iter().all(|w| *w == 0.0)
        {
            return Err(Error::BadData(format!(
                "weights to judge by: {} numbers of at least 0, not all 0, are needed",
                self.truth.len()
            )));
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Calls rows positive from this probability on, instead of what was predicted. Two classes with probabilities only.
    pub fn with_threshold(mut self, threshold: f64) -> Result<Self> {
        require((0.0..=1.0).contains(&threshold), "threshold", threshold, "between 0 and 1")?;
        let (2, Some(p)) = (self.n_classes, self.probabilities) else {
            return Err(Error::BadData(
                "a threshold needs two classes and a model that gives probabilities".into(),
            ));
        };
        let called = (0..self.truth.len()).map(|i| usize::from(p[(i, 1)] >= threshold));
        self.predicted = Cow::Owned(called.collect());
        self.threshold = threshold;
        Ok(self)
    }

    /// What wrong answers cost.
    #[must_use]
    pub fn with_costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// The class of every row.
    pub fn truth(&self) -> &'a [usize] {
        self.truth
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The class that every row is called.
    pub fn predicted(&self) -> &[usize] {
        &self.predicted
    }

    /// Scores, if there are any.
    pub fn scores(&self) -> Option<&'a Dense> {
        self.scores
    }

    /// Probabilities, if there are any.
    pub fn probabilities(&self) -> Option<&'a Dense> {
        self.probabilities
    }

    /// How much row `i` counts.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// From which probability on a row is called positive.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// What wrong answers cost.
    pub fn costs(&self) -> Costs {
        self.costs
    }
}

fn shape(found: Option<&Dense>, what: &str, rows: usize, columns: usize) -> Result<()> {
    match found {
        Some(d) if d.nrows() != rows || d.ncols() != columns => Err(Error::BadData(format!(
            "{what} of {} rows and {} columns: {rows} rows and {columns} columns are needed",
            d.nrows(),
            d.ncols()
        ))),
        _ => Ok(()),
    }
}
