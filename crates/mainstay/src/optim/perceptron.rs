//! What one row changes: a round of the online learner, section 3 of Dekel and Shamir (2008).
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use serde::{Deserialize, Serialize};

use crate::linalg::{Row, vector::vectorized};
use crate::uncertainty::{Deletions, Gain, gains, largest_gain};

/// One binary problem: the present hypothesis, and what turns it into the mean of all so far.
///
/// A change made in round `$t$` (the first is 1) holds in all hypotheses but those before the first `$t$` rounds. With `$c$`
/// the sum of the changes times their rounds, the hypotheses before `$T$` rounds sum to `$Tw - c$`; weights that do not change
/// need no work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learner {
    /// Weight of every feature.
    pub weights: Vec<f64>,
    pub intercept: f64,
    /// Sum of the changes of every weight, each times its round.
    pub changes: Vec<f64>,
    pub intercept_changes: f64,
}

impl Learner {
    pub(crate) fn new(p: usize) -> Self {
        Self {
            weights: vec![0.0; p],
            intercept: 0.0,
            changes: vec![0.0; p],
            intercept_changes: 0.0,
        }
    }

    /// Mean of the hypotheses before each of `rounds` rounds.
    pub(crate) fn average(&self, rounds: f64) -> (Vec<f64>, f64) {
        let rounds = if rounds > 0.0 { rounds } else { 1.0 };
        let weights = self.weights.iter().zip(&self.changes).map(|(w, c)| w - c / rounds).collect();
        (weights, self.intercept - self.intercept_changes / rounds)
    }
}

/// What a round needs besides the learner and the row.
pub(crate) struct UpdateRule<'a> {
    set: &'a Deletions,
    demand: f64,
    c: f64,
    intercept: bool,
    /// No set can gain more than this times the largest `$y w_j x_j$`, less `relief`; infinite with values of 0.
    reach: f64,
    relief: f64,
    /// Whether a set has one feature at most, which takes no search.
    one_at_most: bool,
}

impl<'a> UpdateRule<'a> {
    /// For a margin of `margin` and weights within `c` of zero.
    pub(crate) fn new(set: &'a Deletions, margin: f64, c: f64, intercept: bool) -> Self {
        let demand = margin / set.kept();
        let least = set.values().iter().fold(f64::INFINITY, |m, v| m.min(*v));
        let most = set.values().iter().fold(0.0, |m, v| f64::max(m, *v));
        // Equal values: every deleted unit of value also relieves the demand.
        let relief = if most <= least { demand * set.budget() } else { 0.0 };
        let reach = if least == 0.0 { f64::INFINITY } else { set.budget() / least };
        let one_at_most = set.takes_one() && demand >= 0.0;
        Self { set, demand, c, intercept, reach, relief, one_at_most }
    }
}

/// One round of all learners: a class against the rest each, or the second of two classes against the first. `end` is the
/// number of rounds with this one.
pub(crate) fn learn_row(
    learners: &mut [Learner],
    (row, label): (Row<'_>, usize),
    round: (f64, f64),
    rule: &UpdateRule<'_>,
    items: &mut Vec<Gain>,
) {
    let binary = learners.len() == 1;
    for (k, learner) in learners.iter_mut().enumerate() {
        let positive = label == if binary { 1 } else { k };
        learner.learn(row, if positive { 1.0 } else { -1.0 }, round, rule, items);
    }
}

impl Learner {
    /// One round: the worst deletion, and the update by `step` if it causes a loss. `end` is the number of rounds with
    /// this one.
    fn learn(
        &mut self,
        row: Row<'_>,
        y: f64,
        (step, end): (f64, f64),
        rule: &UpdateRule<'_>,
        items: &mut Vec<Gain>,
    ) {
        if let Some(deleted) = self.worst_deletion(row, y, rule, items) {
            let change = WeightChange { step: y * step, round: end, c: rule.c };
            self.update(row, &deleted, change, rule.intercept);
        }
    }

    /// What the adversary deletes, if that causes a loss.
    fn worst_deletion(
        &self,
        row: Row<'_>,
        y: f64,
        rule: &UpdateRule<'_>,
        items: &mut Vec<Gain>,
    ) -> Option<Vec<usize>> {
        let (score, largest) = score_and_largest(row, &self.weights, y);
        let intact = rule.demand * rule.set.total() - score - y * self.intercept;
        if intact + (rule.reach * largest - rule.relief).max(0.0) <= 0.0 {
            return None;
        }
        if rule.one_at_most {
            let value = rule.set.values()[0];
            return match largest_gain(row, &self.weights, y, rule.demand, value) {
                None => (intact > 0.0).then(Vec::new),
                Some(item) => (intact + item.gain > 0.0).then(|| vec![item.feature]),
            };
        }
        gains(row, &self.weights, y, rule.demand, rule.set.values(), items);
        if items.is_empty() {
            return (intact > 0.0).then(Vec::new);
        }
        let chosen = rule.set.exact(items);
        (intact + chosen.gain > 0.0).then_some(chosen.features)
    }

    /// Changes the weights of the features that are left, and the intercept.
    fn update(&mut self, row: Row<'_>, deleted: &[usize], change: WeightChange, intercept: bool) {
        let kept: Vec<(usize, f64, f64)> =
            deleted.iter().map(|&j| (j, self.weights[j], self.changes[j])).collect();
        match row {
            Row::Dense(x) => vectorized!({
                for ((w, changes), x) in self.weights.iter_mut().zip(&mut self.changes).zip(x) {
                    change.apply(w, changes, *x);
                }
            }),
            Row::Sparse(indices, values) => {
                for (&j, x) in indices.iter().zip(values) {
                    change.apply(&mut self.weights[j as usize], &mut self.changes[j as usize], *x);
                }
            }
        }
        for (j, weight, changes) in kept {
            (self.weights[j], self.changes[j]) = (weight, changes);
        }
        if intercept {
            change.apply(&mut self.intercept, &mut self.intercept_changes, 1.0);
        }
    }
}

/// How an update changes a weight.
#[derive(Clone, Copy)]
struct WeightChange {
    /// `$y\tau$`.
    step: f64,
    round: f64,
    c: f64,
}

impl WeightChange {
    #[inline(always)]
    fn apply(self, weight: &mut f64, changes: &mut f64, x: f64) {
        let next = (*weight + self.step * x).max(-self.c).min(self.c);
        *changes += self.round * (next - *weight);
        *weight = next;
    }
}

#[inline(always)]
fn dense_score_and_largest(x: &[f64], w: &[f64], y: f64) -> (f64, f64) {
    let mut sums = [0.0; 8];
    let mut tops = [0.0; 8];
    let (x8, x_rest) = x.as_chunks::<8>();
    let (w8, w_rest) = w.as_chunks::<8>();
    for (x, w) in x8.iter().zip(w8) {
        for k in 0..8 {
            let part = y * x[k] * w[k];
            sums[k] += part;
            tops[k] = if part > tops[k] { part } else { tops[k] };
        }
    }
    let (mut sum, mut top) =
        (sums.iter().sum::<f64>(), tops.iter().fold(0.0, |m: f64, v| m.max(*v)));
    for (x, w) in x_rest.iter().zip(w_rest) {
        sum += y * x * w;
        top = top.max(y * x * w);
    }
    (sum, top)
}

/// `$y\,w^\top x$` and the largest `$y\,w_jx_j$` (at least 0), in one pass.
fn score_and_largest(row: Row<'_>, w: &[f64], y: f64) -> (f64, f64) {
    match row {
        Row::Dense(x) => vectorized!(dense_score_and_largest(x, w, y)),
        Row::Sparse(indices, values) => {
            indices.iter().zip(values).fold((0.0, 0.0), |(sum, top), (&j, x)| {
                let part = y * x * w[j as usize];
                (sum + part, f64::max(top, part))
            })
        }
    }
}
