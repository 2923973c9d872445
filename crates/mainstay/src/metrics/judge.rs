//! Predictions judged chunk by chunk, in bounded memory.

use super::evaluation::Evaluation;
use super::judged::{Costs, Judged, Predictions};
use super::undefined::Undefined;
use super::{Metric, Needs, probability};
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
        if truth.is_empty() {
            return Ok(Vec::new());
        }
        let judged = self.judged(truth, made)?;
        let called = judged.predicted().to_vec();
        match &mut self.state {
            State::Counting(counting) => counting.add(&judged),
            State::Gathering(all) => {
                all.add(truth, made);
                if all.numbers() > self.kept {
                    let (truth, made) = std::mem::take(all).into_parts();
                    let judged = self.judged(&truth, &made)?;
                    let mut counting = Counting::new(&judged, self.kept);
                    counting.add(&judged);
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
                let (truth, made) = all.into_parts();
                Ok((Evaluation::of(&self.judged(&truth, &made)?), 0.0))
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
    /// Row by row; `None` where a chunk had none.
    scores: Option<Vec<f64>>,
    probabilities: Option<Vec<f64>>,
}

impl Gathered {
    fn add(&mut self, truth: &[usize], made: &Predictions) {
        let first = self.truth.is_empty();
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
        2 * self.truth.len() + of(&self.scores) + of(&self.probabilities)
    }

    fn into_parts(self) -> (Vec<usize>, Predictions) {
        let rows = self.truth.len();
        let matrix = |all: Vec<f64>| Dense::from_rows(rows, all.len() / rows.max(1), all);
        let made = Predictions {
            predicted: self.predicted,
            scores: self.scores.map(matrix),
            probabilities: self.probabilities.map(matrix),
        };
        (self.truth, made)
    }
}

/// Predictions that were counted and let go.
#[derive(Debug)]
struct Counting {
    confusion: Vec<Vec<usize>>,
    /// Sum of the losses; `None` where a chunk had no probabilities.
    loss: Option<f64>,
    /// One for each column of scores; none where a chunk had no scores.
    columns: Vec<Counted>,
}

impl Counting {
    /// Nothing yet, with edges from the scores of the first rows.
    fn new(judged: &Judged<'_>, kept: usize) -> Self {
        let classes = judged.n_classes();
        let column = |scores: &Dense, k: usize| {
            let class = if classes == 2 { 1 } else { k };
            Counted::new(&scores.column(k), class, EDGES.min(kept) / scores.ncols())
        };
        let columns = judged
            .scores()
            .map_or_else(Vec::new, |s| (0..s.ncols()).map(|k| column(s, k)).collect());
        let confusion = vec![vec![0; classes]; classes];
        Self { confusion, loss: Some(std::iter::empty::<f64>().sum()), columns }
    }

    fn add(&mut self, judged: &Judged<'_>) {
        let truth = judged.truth();
        for (&t, &p) in truth.iter().zip(judged.predicted()) {
            self.confusion[t][p] += 1;
        }
        // One sum in the order of the rows: the same bits wherever the chunks were cut.
        self.loss = self.loss.zip(judged.probabilities()).map(|(sum, p)| {
            let losses = truth.iter().enumerate().map(|(i, &t)| probability::loss(p[(i, t)]));
            std::iter::once(sum).chain(losses).sum()
        });
        match judged.scores() {
            Some(scores) => self
                .columns
                .iter_mut()
                .enumerate()
                .for_each(|(k, column)| column.add(truth, &scores.column(k))),
            None => self.columns.clear(),
        }
    }

    /// Metrics of labels from the confusion matrix: one row for each of its cells, with its count as weight.
    fn finish(self, costs: Option<Costs>) -> Result<(Evaluation, f64)> {
        let classes = self.confusion.len();
        let cells = || (0..classes).flat_map(|t| (0..classes).map(move |p| (t, p)));
        let truth: Vec<usize> = cells().map(|(t, _)| t).collect();
        let predicted = cells().map(|(_, p)| p).collect();
        let made = Predictions { predicted, scores: None, probabilities: None };
        let weights: Vec<f64> = cells().map(|(t, p)| self.confusion[t][p] as f64).collect();
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
        let loss = self.loss.map(|sum| sum / rows as f64);
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

/// Rows counted by where their score lies among the edges: at edge `i` (place `2 i + 1`) or before it (place `2 i`).
#[derive(Debug)]
struct Counted {
    class: usize,
    edges: Vec<f64>,
    /// Rows of the class, and others.
    counts: Vec<[u64; 2]>,
}

impl Counted {
    /// Edges that cut the given scores into about `count` equal shares.
    fn new(scores: &[f64], class: usize, count: usize) -> Self {
        let mut sorted: Vec<f64> = scores.iter().map(|s| s + 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        let step = sorted.len().div_ceil(count.max(1)).max(1);
        let mut edges: Vec<f64> = sorted.iter().copied().step_by(step).collect();
        edges.dedup();
        let counts = vec![[0; 2]; 2 * edges.len() + 1];
        Self { class, edges, counts }
    }

    fn add(&mut self, truth: &[usize], scores: &[f64]) {
        for (&t, s) in truth.iter().zip(scores) {
            let place = match self.edges.binary_search_by(|e| e.total_cmp(&(s + 0.0))) {
                Ok(i) => 2 * i + 1,
                Err(i) => 2 * i,
            };
            self.counts[place][usize::from(t != self.class)] += 1;
        }
    }

    /// Pairs within one place count half: right at an edge, where scores are equal, and at most so much off between.
    fn area(&self) -> Option<(f64, f64)> {
        let (mut below, mut wins, mut unsure) = (0.0, 0.0, 0.0);
        let (mut positives, mut negatives) = (0.0, 0.0);
        for (place, &[here, others]) in self.counts.iter().enumerate() {
            let (here, others) = (here as f64, others as f64);
            wins += here * (below + others / 2.0);
            unsure += if place % 2 == 0 { here * others / 2.0 } else { 0.0 };
            below += others;
            positives += here;
            negatives += others;
        }
        let pairs = positives * negatives;
        (pairs > 0.0).then(|| (wins / pairs, unsure / pairs))
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
        let (truth, predicted, scores, shares) = rows(classes);
        let mut judge = Judge { kept, ..Judge::new(classes) };
        for start in (0..500).step_by(size) {
            let rows = start..500.min(start + size);
            let made = Predictions {
                predicted: predicted[rows.clone()].to_vec(),
                scores: Some(part(&scores, rows.clone())),
                probabilities: Some(part(&shares, rows.clone())),
            };
            judge.add(&truth[rows], &made).unwrap();
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
