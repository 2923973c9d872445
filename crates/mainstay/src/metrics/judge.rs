//! Predictions judged chunk by chunk, in bounded memory.

use super::between_edges::BetweenEdges;
use super::evaluation::Evaluation;
use super::judged::{Costs, Judged, Predictions};
use super::undefined::Undefined;
use super::{Metric, Needs, probability};
use crate::data::check_weights;
use crate::error::Result;
use crate::linalg::Dense;

/// Numbers that are kept one by one: 32 MB.
const KEPT: usize = 1 << 22;
/// Scores between which the others are counted once there are more.
const EDGES: usize = 1 << 17;

/// Judges rows that arrive in chunks; where they were cut does not matter.
///
/// Up to about a million rows everything is exact. Beyond that predictions are counted and no longer kept: metrics of
/// labels and the log loss stay exact, areas under ROC curves lie within the distance that [`Judge::finish`] returns (about
/// 4e-6 where the rows come in no particular order), and the other metrics say that there were too many rows.
#[derive(Debug)]
pub struct Judge {
    classes: usize,
    threshold: Option<f64>,
    costs: Option<Costs>,
    kept: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Gathering(Gathered),
    Counting(Counting),
}

impl Judge {
    /// No rows yet.
    pub fn new(classes: usize) -> Self {
        let state = State::Gathering(Gathered::default());
        Self { classes, threshold: None, costs: None, kept: KEPT, state }
    }

    /// As [`Judged::with_threshold`].
    #[must_use]
    pub fn with_threshold(mut self, threshold: Option<f64>) -> Self {
        self.threshold = threshold;
        self
    }

    /// As [`Judged::with_costs`].
    #[must_use]
    pub fn with_costs(mut self, costs: Option<Costs>) -> Self {
        self.costs = costs;
        self
    }

    /// Adds rows and returns the classes they are called.
    pub fn add(&mut self, truth: &[usize], made: &Predictions) -> Result<Vec<usize>> {
        self.add_weighted(truth, made, None)
    }

    /// As [`Judge::add`], every row counted as often as its weight says ([`Judged::with_weights`]).
    pub fn add_weighted(
        &mut self,
        truth: &[usize],
        made: &Predictions,
        weights: Option<&[f64]>,
    ) -> Result<Vec<usize>> {
        if truth.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(weights) = weights {
            check_weights(weights, truth.len())?;
        }
        let judged = self.judged(truth, made)?;
        let called = judged.predicted().to_vec();
        match &mut self.state {
            State::Counting(counting) => counting.add(&judged, weights),
            State::Gathering(all) => {
                all.add(truth, made, weights);
                if all.numbers() > self.kept {
                    let (truth, made, weights) = std::mem::take(all).into_parts();
                    let judged = self.judged(&truth, &made)?;
                    let mut counting = Counting::new(&judged, self.kept);
                    counting.add(&judged, weights.as_deref());
                    self.state = State::Counting(counting);
                }
            }
        }
        Ok(called)
    }

    /// The result, and how far an area under a curve may be from the true one: 0 where it is exact.
    pub fn finish(mut self) -> Result<(Evaluation, f64)> {
        let state = std::mem::replace(&mut self.state, State::Gathering(Gathered::default()));
        match state {
            State::Gathering(all) => {
                let (truth, made, weights) = all.into_parts();
                let judged = self.judged(&truth, &made)?;
                let judged = match weights {
                    Some(weights) => judged.with_weights(weights)?,
                    None => judged,
                };
                Ok((Evaluation::of(&judged), 0.0))
            }
            State::Counting(counting) => counting.finish(self.costs),
        }
    }

    fn judged<'a>(&self, truth: &'a [usize], made: &'a Predictions) -> Result<Judged<'a>> {
        let mut judged = Judged::new(truth, self.classes, made)?;
        if let Some(threshold) = self.threshold {
            judged = judged.with_threshold(threshold)?;
        }
        Ok(match self.costs {
            Some(costs) => judged.with_costs(costs),
            None => judged,
        })
    }
}

/// Predictions of several chunks one after the other.
#[derive(Debug, Default)]
struct Gathered {
    truth: Vec<usize>,
    predicted: Vec<usize>,
    /// One for each row once a chunk had some.
    weights: Option<Vec<f64>>,
    /// Row by row; `None` where a chunk had none.
    scores: Option<Vec<f64>>,
    probabilities: Option<Vec<f64>>,
}

impl Gathered {
    fn add(&mut self, truth: &[usize], made: &Predictions, weights: Option<&[f64]>) {
        let first = self.truth.is_empty();
        if weights.is_some() || self.weights.is_some() {
            let all = self.weights.get_or_insert_with(|| vec![1.0; self.truth.len()]);
            match weights {
                Some(weights) => all.extend_from_slice(weights),
                None => all.resize(all.len() + truth.len(), 1.0),
            }
        }
        self.truth.extend_from_slice(truth);
        self.predicted.extend_from_slice(&made.predicted);
        let join = |all: &mut Option<Vec<f64>>, more: Option<&Dense>| match more {
            Some(more) if first => *all = Some(more.data().to_vec()),
            Some(more) => all.iter_mut().for_each(|all| all.extend_from_slice(more.data())),
            None => *all = None,
        };
        join(&mut self.scores, made.scores.as_ref());
        join(&mut self.probabilities, made.probabilities.as_ref());
    }

    fn numbers(&self) -> usize {
        let of = |all: &Option<Vec<f64>>| all.as_ref().map_or(0, Vec::len);
        let words = 2 * self.truth.len() + of(&self.weights);
        words + of(&self.scores) + of(&self.probabilities)
    }

    fn into_parts(self) -> (Vec<usize>, Predictions, Option<Vec<f64>>) {
        let rows = self.truth.len();
        let matrix = |all: Vec<f64>| Dense::from_rows(rows, all.len() / rows.max(1), all);
        let made = Predictions {
            predicted: self.predicted,
            scores: self.scores.map(matrix),
            probabilities: self.probabilities.map(matrix),
        };
        (self.truth, made, self.weights)
    }
}

/// Predictions that were counted and let go.
#[derive(Debug)]
struct Counting {
    confusion: Vec<Vec<usize>>,
    /// The same by weight.
    sizes: Vec<Vec<f64>>,
    /// Sum of the losses; `None` where a chunk had no probabilities.
    loss: Option<f64>,
    /// One for each column of scores; none where a chunk had no scores.
    columns: Vec<BetweenEdges>,
}

impl Counting {
    /// Nothing yet, with edges from the scores of the first rows.
    fn new(judged: &Judged<'_>, kept: usize) -> Self {
        let classes = judged.n_classes();
        let column = |scores: &Dense, k: usize| {
            let class = if classes == 2 { 1 } else { k };
            BetweenEdges::new(&scores.column(k), class, EDGES.min(kept) / scores.ncols())
        };
        let columns = judged
            .scores()
            .map_or_else(Vec::new, |s| (0..s.ncols()).map(|k| column(s, k)).collect());
        let (confusion, sizes) =
            (vec![vec![0; classes]; classes], vec![vec![0.0; classes]; classes]);
        Self { confusion, sizes, loss: Some(std::iter::empty::<f64>().sum()), columns }
    }

    fn add(&mut self, judged: &Judged<'_>, weights: Option<&[f64]>) {
        let truth = judged.truth();
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        for (i, (&t, &p)) in truth.iter().zip(judged.predicted()).enumerate() {
            self.confusion[t][p] += 1;
            self.sizes[t][p] += weight(i);
        }
        // One sum in the order of the rows: the same bits wherever the chunks were cut.
        self.loss = self.loss.zip(judged.probabilities()).map(|(sum, p)| {
            let loss = |(i, &t): (usize, &usize)| weight(i) * probability::loss(p[(i, t)]);
            std::iter::once(sum).chain(truth.iter().enumerate().map(loss)).sum()
        });
        match judged.scores() {
            Some(scores) => self
                .columns
                .iter_mut()
                .enumerate()
                .for_each(|(k, column)| column.add(truth, &scores.column(k), &weight)),
            None => self.columns.clear(),
        }
    }

    /// Metrics of labels from the confusion matrix: one row for each of its cells, weighted as the rows in it together.
    fn finish(self, costs: Option<Costs>) -> Result<(Evaluation, f64)> {
        let classes = self.confusion.len();
        let cells = || (0..classes).flat_map(|t| (0..classes).map(move |p| (t, p)));
        let truth: Vec<usize> = cells().map(|(t, _)| t).collect();
        let predicted = cells().map(|(_, p)| p).collect();
        let made = Predictions { predicted, scores: None, probabilities: None };
        let weights: Vec<f64> = cells().map(|(t, p)| self.sizes[t][p]).collect();
        let total: f64 = weights.iter().sum();
        let judged = Judged::new(&truth, classes, &made)?.with_weights(weights)?;
        let judged = match costs {
            Some(costs) => judged.with_costs(costs),
            None => judged,
        };
        let rows: usize = self.confusion.iter().flatten().sum();
        let areas: Vec<Option<(f64, f64)>> = (0..classes).map(|k| self.area(k)).collect();
        let all: Option<Vec<f64>> = areas.iter().map(|a| a.map(|a| a.0)).collect();
        let error = areas.iter().flatten().map(|a| a.1).fold(0.0, f64::max);
        let mean = all.map(|a| a.iter().sum::<f64>() / a.len() as f64);
        let loss = self.loss.map(|sum| sum / total);
        let mut found = Evaluation::of(&judged).with_counts(rows, self.confusion);
        let unknown = |metric: Metric| metric.needs() != Needs::Labels;
        found.put(unknown, |metric, class| match (metric, class) {
            (Metric::Auc, None) => mean.ok_or(Undefined::OneClass),
            (Metric::Auc, Some(k)) => areas[k].map(|a| a.0).ok_or(Undefined::OneClass),
            (Metric::LogLoss, None) => loss.ok_or(Undefined::NoProbabilities),
            _ => Err(Undefined::TooManyRows),
        });
        Ok((found, error))
    }

    /// Area under the curve of class `k` against the rest, and how far it may be off. Two classes share one column:
    /// turned round, the same pairs are in the right order.
    fn area(&self, k: usize) -> Option<(f64, f64)> {
        self.columns.get(if self.confusion.len() == 2 { 0 } else { k })?.area()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of 500 rows, many of them equal, and classes that follow them loosely.
    fn rows(classes: usize) -> (Vec<usize>, Vec<usize>, Dense, Dense) {
        let wave = |i: usize, k: usize| ((i * (7 + k)) as f64 * 0.37).sin();
        let columns = if classes == 2 { 1 } else { classes };
        let truth: Vec<usize> = (0..500).map(|i| (i * i / 7) % classes).collect();
        let score = |i: usize, k: usize| {
            let hit = if truth[i] == k.max(usize::from(classes == 2)) { 0.4 } else { 0.0 };
            ((wave(i, k) + hit) * 50.0).round() / 50.0
        };
        let scores = Dense::from_fn(500, columns, score);
        let predicted = (0..500).map(|i| (i / 3) % classes).collect();
        let shares = Dense::from_fn(500, classes, |i, k| 0.5 + 0.49 * wave(i, k + 2));
        (truth, predicted, scores, shares)
    }

    fn part(x: &Dense, rows: std::ops::Range<usize>) -> Dense {
        Dense::from_fn(rows.len(), x.ncols(), |i, j| x[(rows.start + i, j)])
    }

    fn judged(classes: usize, size: usize, kept: usize) -> (Evaluation, f64) {
        judged_by(classes, size, kept, None)
    }

    fn judged_by(
        classes: usize,
        size: usize,
        kept: usize,
        weights: Option<&[f64]>,
    ) -> (Evaluation, f64) {
        let (truth, predicted, scores, shares) = rows(classes);
        let mut judge = Judge { kept, ..Judge::new(classes) };
        for start in (0..500).step_by(size) {
            let rows = start..500.min(start + size);
            let made = Predictions {
                predicted: predicted[rows.clone()].to_vec(),
                scores: Some(part(&scores, rows.clone())),
                probabilities: Some(part(&shares, rows.clone())),
            };
            let weights = weights.map(|all| &all[rows.clone()]);
            judge.add_weighted(&truth[rows], &made, weights).unwrap();
        }
        judge.finish().unwrap()
    }

    #[test]
    fn where_the_rows_were_cut_does_not_matter() {
        for classes in [2, 3] {
            let whole = judged(classes, 500, KEPT);
            for size in [1, 7, 499] {
                assert_eq!(judged(classes, size, KEPT), whole);
            }
        }
    }

    /// Kept and counted alike: as the judgement of all rows at once, copies written out.
    #[test]
    fn a_weight_of_two_is_the_row_twice() {
        let weight = |i: usize| i % 3;
        let weights: Vec<f64> = (0..500).map(|i| weight(i) as f64).collect();
        let copies: Vec<usize> = (0..500).flat_map(|i| vec![i; weight(i)]).collect();
        for classes in [2, 3] {
            let (truth, predicted, scores, shares) = rows(classes);
            let pick = |list: &[usize]| copies.iter().map(|&i| list[i]).collect::<Vec<_>>();
            let made = Predictions {
                predicted: pick(&predicted),
                scores: Some(scores.select_rows(&copies)),
                probabilities: Some(shares.select_rows(&copies)),
            };
            let truth = pick(&truth);
            let expected = Evaluation::of(&Judged::new(&truth, classes, &made).unwrap());
            let near =
                |a: Option<f64>, b: Option<f64>, by: f64| (a.unwrap() - b.unwrap()).abs() <= by;
            for (size, kept) in [(500, KEPT), (7, KEPT), (7, 450)] {
                let (found, error) = judged_by(classes, size, kept, Some(&weights));
                assert_eq!((found.rows, error > 0.0), (500, kept == 450));
                for metric in [Metric::Accuracy, Metric::LogLoss, Metric::Mcc, Metric::Npv] {
                    assert!(near(found.get(metric), expected.get(metric), 1e-12), "{metric:?}");
                }
                assert!(near(found.auc, expected.auc, error + 1e-12));
            }
        }
    }

    #[test]
    fn counted_scores_enclose_the_area_under_the_curve() {
        for classes in [2, 3] {
            let (exact, none) = judged(classes, 50, KEPT);
            assert_eq!(none, 0.0);
            for kept in [150, 450, 2000] {
                let (found, error) = judged(classes, 10, kept);
                for (a, b) in exact.per_class.iter().zip(&found.per_class) {
                    assert!((a.auc.unwrap() - b.auc.unwrap()).abs() <= error + 1e-15);
                }
                assert!(error < 0.2);
                assert_eq!(found.rows, exact.rows);
                assert!((found.log_loss.unwrap() - exact.log_loss.unwrap()).abs() < 1e-12);
                assert_eq!(found.confusion, exact.confusion);
                for metric in Metric::ALL.into_iter().filter(|m| m.needs() == Needs::Labels) {
                    let (a, b) = (found.get(metric), exact.get(metric));
                    assert!(a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 1e-12), "{metric:?}");
                    assert_eq!(a.is_some(), b.is_some(), "{metric:?}");
                }
                assert_eq!(found.get(Metric::Brier), None);
            }
        }
    }
}
