//! The audit: scores, curve, planted flips, cut-off.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::flips::Flips;
use super::interval::{Counting, LEAST_RESPONSE};
use super::outcome::{Audit, AuditRow, ClassShare, Planted, TopRows};
use super::planted::{Round, plant};
use super::posterior::{ODD, Story};
use super::scores::{Curves, Scores, Splits, each_label, looks_like};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::fold_warning;
use crate::linalg::Dense;
use crate::methods;
use crate::model::{Estimator, Fitted, Output, StandardizeFirst, Suspects};

/// Places of the list of which is told what to expect.
const TOPS: [usize; 6] = [5, 10, 20, 50, 100, 200];

/// How an audit is done.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditPlan {
    /// Repeats of the held-out scores.
    pub repeats: usize,
    /// Folds of each.
    pub folds: usize,
    /// How many times labels are flipped on purpose.
    pub planted: usize,
    /// Share of the labels flipped each time.
    pub level: f64,
    /// Rows are flagged while at least this share of them is expected to be wrong.
    pub precision: f64,
    /// Seed of splits and flips.
    pub seed: u64,
    /// Rows with the same entry are left out together: a fit that has seen a row knows its neighbours.
    pub groups: Option<Vec<usize>>,
}

impl Default for AuditPlan {
    fn default() -> Self {
        Self {
            repeats: 10,
            folds: 5,
            planted: 10,
            level: 0.05,
            precision: 0.5,
            seed: 0,
            groups: None,
        }
    }
}

/// Logistic regression with an L2 penalty chosen by cross-validation on these rows, for standardised features: what an
/// audit uses unless told otherwise. Tuned once, so that the many refits are quick.
pub fn tuned_logistic(data: &Dataset, control: &Control) -> Result<Box<dyn Estimator>> {
    let method = methods::find("l2")?;
    let tuner = method.estimator(&json!({"alpha": "cv", "tol": 1e-5}))?;
    let tuned = StandardizeFirst(tuner.as_ref()).fit(data, &control.without_progress())?;
    match tuned.outputs.get("alpha") {
        Some(Output::Number(alpha)) => method.estimator(&json!({"alpha": alpha, "tol": 1e-5})),
        _ => Err(Error::Numerical("cross-validation chose no strength of the penalty".into())),
    }
}

/// Training rows, most suspicious label first, from the scores of one fit. The scores of the list are the logarithms of the odds
/// that [`Flips`] fitted to them gives a wrong label.
///
/// They rank and are no probabilities to rely on: a fit that has seen a label takes its side, and nothing was held out to
/// say how far. [`AuditPlan::run`] states probabilities.
pub fn flip_aware(fitted: &Fitted, data: &Dataset) -> Result<Suspects> {
    let scores = fitted.model.decision(data.features())?;
    let odds = match stated_rates(fitted, data) {
        Some(odds) => odds,
        None => suspicions(&scores, data.labels(), data.weights())?,
    };
    let order = by_suspicion(&odds);
    let predicted = crate::model::choose(&scores);
    Ok(Suspects {
        label: order.iter().map(|&i| data.labels()[i]).collect(),
        score: order.iter().map(|&i| odds[i]).collect(),
        predicted: order.iter().map(|&i| predicted[i]).collect(),
        row: order,
    })
}

/// How suspicious each label is, as the logarithm of odds, from scores of the rows: one column for two classes, else one per class.
pub fn suspicions(scores: &Dense, labels: &[usize], weights: Option<&[f64]>) -> Result<Vec<f64>> {
    let curve =
        |k: usize| Flips::fit(&scores.column(k), &Curves::positive(scores, labels, k), weights);
    let curves = (0..scores.ncols()).map(curve).collect::<Result<Vec<Flips>>>()?;
    Ok(each_label(scores, labels, |k, score, positive| curves[k].suspicion(score, positive)))
}

/// The same of a fit that was told how many labels are wrong.
fn stated_rates(fitted: &Fitted, data: &Dataset) -> Option<Vec<f64>> {
    let right: Vec<f64> = match fitted.outputs.get("label_posterior")? {
        Output::Vector(right) => right.clone(),
        Output::Matrix(rows) => data.labels().iter().zip(rows).map(|(&k, row)| row.0[k]).collect(),
        _ => return None,
    };
    let odds = |p: &f64| {
        ((1.0 - p).max(f64::MIN_POSITIVE) / p.max(f64::MIN_POSITIVE)).ln().clamp(-700.0, 700.0)
    };
    right.iter().any(|p| *p < 1.0).then(|| right.iter().map(odds).collect())
}

/// Rows by falling probability, equal ones in row order.
fn by_suspicion(wrong: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wrong.len()).collect();
    order.sort_by(|&i, &j| wrong[j].total_cmp(&wrong[i]).then(i.cmp(&j)));
    order
}

impl AuditPlan {
    fn check(&self, data: &Dataset) -> Result<()> {
        require(self.repeats >= 1, "repeats", self.repeats, "at least 1")?;
        require(self.folds >= 2, "folds", self.folds, "at least 2")?;
        require(self.planted >= 2, "planted", self.planted, "at least 2")?;
        require(self.level > 0.0 && self.level <= 0.2, "level", self.level, "in (0, 0.2]")?;
        let precision = self.precision;
        require(precision > 0.0 && precision < 1.0, "precision", precision, "in (0, 1)")?;
        if data.len() < 2 * self.folds {
            return Err(Error::BadData(format!(
                "{} rows are too few to leave out one of {} folds: at least {} are needed",
                data.len(),
                self.folds,
                2 * self.folds
            )));
        }
        Ok(())
    }

    /// Audits the labels of `data` with refits of `estimator`. The same bits whatever the number of threads.
    pub fn run(
        &self,
        estimator: &dyn Estimator,
        data: &Dataset,
        control: &Control,
    ) -> Result<Audit> {
        self.check(data)?;
        let total = (1 + self.folds * self.repeats + self.planted * (1 + self.folds)) as u64;
        let count = AtomicU64::new(0);
        let done = || control.progress(count.fetch_add(1, Ordering::Relaxed) + 1, total);
        let (folds, repeats, seed) = (self.folds, self.repeats, self.seed);
        let splits = Splits { folds, repeats, seed, groups: self.groups.as_deref() };
        control.install(|| {
            let scores = Scores::new(estimator, data, splits, control, &done)?;
            let dose = (self.planted, self.level);
            let rounds = plant(estimator, data, dose, splits, control, &done)?;
            self.conclude(&scores, &rounds, data, control)
        })
    }

    fn conclude(
        &self,
        scores: &Scores,
        rounds: &[Round],
        data: &Dataset,
        control: &Control,
    ) -> Result<Audit> {
        // Long because everything an audit says is gathered here, in the order of its fields.
        let labels = data.labels();
        let mean = scores.mean();
        let curves = scores.curves(&mean, labels)?;
        let wrong = curves.wrong(Story::SomeOdd, &mean, labels);
        let without_odd = curves.wrong(Story::NoneOdd, &mean, labels);
        let counted: Vec<f64> =
            wrong.iter().zip(&without_odd).map(|(w, o)| 0.5 * (w + o)).collect();
        let order = by_suspicion(&wrong);
        let flagged = self.cut(&order, &wrong);
        // Where nothing is flagged, the row at the top says what would have been.
        let bar = wrong[order[flagged.saturating_sub(1)]];
        let responses = responses(scores, rounds, labels)?;
        let estimate = Counting { scores: &mean, labels, curves: &curves }
            .estimate(&responses, self.seed, control)?;
        let found = recall(rounds, bar);
        let response = responses.iter().flatten().sum::<f64>() / (2 * rounds.len()) as f64;
        let planted = Planted {
            rounds: rounds.len(),
            rows: rounds.first().map_or(0, |r| r.flipped),
            found,
            response,
        };
        let stability = stability(scores, labels, &curves, bar);
        let others = looks_like(&mean, labels, &wrong);
        let rows: Vec<AuditRow> = order
            .iter()
            .enumerate()
            .map(|(place, &i)| AuditRow {
                row: i,
                label: labels[i],
                looks_like: others[i],
                wrong: wrong[i],
                stability: stability[i],
                flagged: place < flagged,
            })
            .collect();
        let top = top_rows(&order, &wrong, rounds, flagged);
        let classes = shares(&rows, &counted, data.n_classes());
        let notes = self.notes(data, flagged, response, estimate.low);
        let precision = self.precision;
        Ok(Audit { rows, estimate, flagged, precision, planted, top, classes, notes })
    }

    /// The most rows at the top of which the asked share is expected to be wrong.
    fn cut(&self, order: &[usize], wrong: &[f64]) -> usize {
        let (mut sum, mut best) = (0.0, 0);
        for (place, &i) in order.iter().enumerate() {
            sum += wrong[i];
            let count = place + 1;
            // A row that is more likely right than not is never flagged for the company it keeps.
            if sum >= self.precision * count as f64 && wrong[i] >= self.precision.min(0.5) {
                best = count;
            }
        }
        best
    }

    fn notes(&self, data: &Dataset, flagged: usize, response: f64, low: f64) -> Vec<String> {
        let mut notes: Vec<String> = fold_warning(data, self.folds).into_iter().collect();
        if flagged > 0 {
            // docs/methods/label-audit.md has the figures.
            let text = "the probabilities hold on average over data sets: where classes overlap fewer of the flagged \
                        labels are wrong, where they lie apart more";
            notes.push(text.into());
        }
        if low > 0.0 {
            notes.push(format!(
                "the lower end of the interval holds where at most {:.0} % of the rows of a class look like another class \
                 although their labels are right: labels alone do not tell how many do; where there are more, fewer labels \
                 are wrong",
                100.0 * ODD
            ));
        }
        if response < LEAST_RESPONSE {
            notes.push(format!(
                "only {:.0} % of the labels flipped on purpose showed in the estimate: the classes overlap too much \
                 to tell wrong labels from hard rows, and neither the count nor the interval says much",
                100.0 * response.max(0.0)
            ));
        }
        notes
    }
}

/// How much the count rose for every flipped label, by each of the stories and in each round; a flip of a wrong label makes
/// it right.
fn responses(scores: &Scores, rounds: &[Round], labels: &[usize]) -> Result<[Vec<f64>; 2]> {
    let first = Scores { seen: scores.seen.clone(), held_out: vec![scores.held_out[0].clone()] };
    let mean = first.mean();
    let before = first.curves(&mean, labels)?.totals(&mean, labels);
    Ok(std::array::from_fn(|story| {
        let total = before[story];
        let kept = (1.0 - 2.0 * total / labels.len() as f64).max(0.1);
        let rise = |r: &Round| (r.totals[story] - total) / (r.flipped.max(1) as f64 * kept);
        rounds.iter().map(rise).collect()
    }))
}

/// Share of the planted flips that are at least as suspicious as `bar`.
fn recall(rounds: &[Round], bar: f64) -> f64 {
    let all: usize = rounds.iter().map(|r| r.wrong.len()).sum();
    let found = rounds.iter().flat_map(|r| &r.wrong).filter(|w| **w >= bar).count();
    found as f64 / all.max(1) as f64
}

/// Share of the repeats whose held-out score alone puts a row above `bar`.
fn stability(scores: &Scores, labels: &[usize], curves: &Curves, bar: f64) -> Vec<f64> {
    let mut share = vec![0.0; labels.len()];
    for table in &scores.held_out {
        for (s, w) in share.iter_mut().zip(curves.wrong(Story::SomeOdd, table, labels)) {
            *s += f64::from(u8::from(w >= bar)) / scores.held_out.len() as f64;
        }
    }
    share
}

fn top_rows(order: &[usize], wrong: &[f64], rounds: &[Round], flagged: usize) -> Vec<TopRows> {
    let mut sizes: Vec<usize> = TOPS.into_iter().chain([flagged]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|k| *k > 0 && *k <= order.len());
    let one = |k: usize| {
        let expected_wrong: f64 = order[..k].iter().map(|&i| wrong[i]).sum();
        TopRows {
            rows: k,
            expected_wrong,
            precision: expected_wrong / k as f64,
            recall: recall(rounds, wrong[order[k - 1]]),
        }
    };
    sizes.into_iter().map(one).collect()
}

fn shares(rows: &[AuditRow], counted: &[f64], n_classes: usize) -> Vec<ClassShare> {
    let one = |class: usize| {
        let own = || rows.iter().filter(move |r| r.label == class);
        ClassShare {
            class,
            rows: own().count(),
            expected_wrong: own().map(|r| counted[r.row]).sum(),
            flagged: own().filter(|r| r.flagged).count(),
        }
    };
    (0..n_classes).map(one).collect()
}
