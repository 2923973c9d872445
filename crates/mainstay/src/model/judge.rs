//! Predictions judged chunk by chunk, in bounded memory.

use super::metrics::{ClassEvaluation, Evaluation, auc, losses, mean};
use crate::error::{Error, Result};
use crate::linalg::Dense;

/// Scores that are kept one by one, all classes together: 8 MB, and as much again three times while they are ranked.
const KEPT: usize = 1 << 20;
/// Scores between which the others are counted once there are more.
const EDGES: usize = 1 << 17;

/// Judges rows that arrive in chunks; where they were cut does not matter.
///
/// Everything but the areas under the curves is exact. These are exact up to about a million scores. Beyond that
/// further scores are only counted between an eighth of a million of the first ones: the area then lies within the
/// distance that [`Judge::finish`] returns, about 4e-6 where the rows come in no particular order.
#[derive(Debug)]
pub struct Judge {
    confusion: Vec<Vec<usize>>,
    /// Sum of the losses; `None` where a chunk had no probabilities.
    loss: Option<f64>,
    truth: Vec<usize>,
    /// One list for each column of scores.
    scores: Vec<Vec<f64>>,
    /// Once there are too many scores to keep: counts, one list for each column.
    counted: Option<Vec<Counted>>,
    kept: usize,
}

impl Judge {
    /// No rows yet.
    pub fn new(n_classes: usize) -> Self {
        let columns = if n_classes == 2 { 1 } else { n_classes };
        Self {
            confusion: vec![vec![0; n_classes]; n_classes],
            loss: Some(std::iter::empty::<f64>().sum()),
            truth: Vec::new(),
            scores: vec![Vec::new(); columns],
            counted: None,
            kept: KEPT,
        }
    }

    /// Adds rows: `predicted` (class indices) and `scores` (one column for two classes, else one per class).
    pub fn add(
        &mut self,
        truth: &[usize],
        predicted: &[usize],
        scores: &Dense,
        probabilities: Option<&Dense>,
    ) -> Result<()> {
        let n = truth.len();
        if predicted.len() != n || scores.nrows() != n || scores.ncols() != self.scores.len() {
            let found = predicted.len();
            return Err(Error::BadData(format!("{n} labels, {found} predictions")));
        }
        for (&t, &p) in truth.iter().zip(predicted) {
            self.confusion[t][p] += 1;
        }
        // One sum in the order of the rows: the same bits wherever the chunks were cut.
        let sum = |(loss, p)| std::iter::once(loss).chain(losses(truth, p)).sum();
        self.loss = self.loss.zip(probabilities).map(sum);
        self.rank(truth, scores);
        Ok(())
    }

    fn rank(&mut self, truth: &[usize], scores: &Dense) {
        if let Some(counted) = &mut self.counted {
            for (k, column) in counted.iter_mut().enumerate() {
                column.add(truth, &scores.column(k));
            }
            return;
        }
        self.truth.extend_from_slice(truth);
        for (k, column) in self.scores.iter_mut().enumerate() {
            column.extend(scores.column(k));
        }
        if self.truth.len() * self.scores.len() > self.kept {
            let classes = self.confusion.len();
            let edges = EDGES.min(self.kept) / self.scores.len();
            let columns = std::mem::take(&mut self.scores);
            let count = |(k, scores): (usize, &Vec<f64>)| {
                let class = if classes == 2 { 1 } else { k };
                let mut counted = Counted::new(scores, class, edges);
                counted.add(&self.truth, scores);
                counted
            };
            self.counted = Some(columns.iter().enumerate().map(count).collect());
            self.truth = Vec::new();
        }
    }

    /// The result, and how far an area under a curve may be from the true one: 0 where it is exact.
    pub fn finish(self) -> Result<(Evaluation, f64)> {
        let classes = self.confusion.len();
        let rows: usize = self.confusion.iter().flatten().sum();
        if rows == 0 {
            let problem = "0 labels, 0 predictions: at least one row with both is needed";
            return Err(Error::BadData(problem.into()));
        }
        let areas: Vec<Option<(f64, f64)>> = (0..classes).map(|k| self.area(k)).collect();
        let class = |k: usize| ClassEvaluation::new(&self.confusion, k, areas[k].map(|a| a.0));
        let per_class: Vec<ClassEvaluation> = (0..classes).map(class).collect();
        let recalls: Vec<f64> = per_class.iter().filter_map(|c| c.true_positive_rate).collect();
        let all: Option<Vec<f64>> = per_class.iter().map(|c| c.auc).collect();
        let hits: usize = (0..classes).map(|k| self.confusion[k][k]).sum();
        let error = areas.iter().flatten().map(|a| a.1).fold(0.0, f64::max);
        let found = Evaluation {
            rows,
            accuracy: hits as f64 / rows as f64,
            balanced_accuracy: mean(&recalls),
            log_loss: self.loss.map(|sum| sum / rows as f64),
            auc: all.map(|a| mean(&a)),
            confusion: self.confusion,
            per_class,
        };
        Ok((found, error))
    }

    /// Area under the curve of class `k` against the rest, and how far it may be off.
    fn area(&self, k: usize) -> Option<(f64, f64)> {
        let two = self.confusion.len() == 2;
        let column = if two { 0 } else { k };
        if let Some(counted) = &self.counted {
            // Two classes share one column: turned round, the same pairs are in the right order.
            return counted[column].area();
        }
        let sign = if two && k == 0 { -1.0 } else { 1.0 };
        let scores: Vec<f64> = self.scores[column].iter().map(|s| sign * s).collect();
        let positive: Vec<bool> = self.truth.iter().map(|&t| t == k).collect();
        auc(&scores, &positive).map(|area| (area, 0.0))
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
            let (scores, shares) = (part(&scores, rows.clone()), part(&shares, rows.clone()));
            judge.add(&truth[rows.clone()], &predicted[rows], &scores, Some(&shares)).unwrap();
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
            for kept in [30, 90, 400] {
                let (found, error) = judged(classes, 10, kept);
                for (a, b) in exact.per_class.iter().zip(&found.per_class) {
                    assert!((a.auc.unwrap() - b.auc.unwrap()).abs() <= error + 1e-15);
                }
                assert!(error < 0.2);
                assert_eq!((found.rows, found.log_loss), (exact.rows, exact.log_loss));
                assert_eq!(found.confusion, exact.confusion);
            }
        }
    }
}
