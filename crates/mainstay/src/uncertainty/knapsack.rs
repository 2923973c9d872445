//! The 0/1 knapsack problem behind the worst deletion: greedy, and branch and bound.

use super::deletion::{Gain, SLACK};

/// Nodes after which branch and bound gives up; about a tenth of a second.
const NODES: usize = 1 << 21;

/// A set of features to delete.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The deleted features, ascending.
    pub features: Vec<usize>,
    /// What their deletion takes away from the margin.
    pub gain: f64,
    /// Whether the search ended with a proof; false only if branch and bound was cut short.
    pub proven: bool,
}

/// Takes items in the order given as long as they fit.
pub(super) fn greedy(items: &[Gain], values: &[f64], budget: f64) -> Chosen {
    let mut room = budget * (1.0 + SLACK);
    let mut features = Vec::new();
    let mut gain = 0.0;
    for item in items {
        if values[item.feature] <= room {
            room -= values[item.feature];
            gain += item.gain;
            features.push(item.feature);
        }
    }
    features.sort_unstable();
    Chosen { features, gain, proven: true }
}

/// Horowitz and Sahni's depth-first branch and bound for the 0/1 knapsack problem.
///
/// `items` come sorted by gain per value. A node takes what fits; the bound of a subtree is its fractional
/// optimum, read off prefix sums in `$O(\log k)$`. With a `goal`, subtrees that cannot reach it are cut and the
/// first set that does is returned.
pub(super) fn search(items: &[Gain], values: &[f64], budget: f64, goal: Option<f64>) -> Chosen {
    let start = greedy(items, values, budget);
    let mut search = Search::new(items, values, budget, start.gain, goal);
    let proven = search.run();
    let features = match search.best_set {
        None => start.features,
        Some(taken) => {
            let chosen = items.iter().zip(taken).filter(|(_, taken)| *taken);
            let mut features: Vec<usize> = chosen.map(|(item, _)| item.feature).collect();
            features.sort_unstable();
            features
        }
    };
    Chosen { features, gain: search.best, proven }
}

struct Search<'a> {
    items: &'a [Gain],
    values: Vec<f64>,
    /// Sums of the first k values and gains.
    value_sums: Vec<f64>,
    gain_sums: Vec<f64>,
    goal: Option<f64>,
    room: f64,
    gain: f64,
    taken: Vec<bool>,
    best: f64,
    best_set: Option<Vec<bool>>,
}

impl<'a> Search<'a> {
    fn new(items: &'a [Gain], all: &[f64], budget: f64, best: f64, goal: Option<f64>) -> Self {
        let values: Vec<f64> = items.iter().map(|item| all[item.feature]).collect();
        let sums = |each: &mut dyn Iterator<Item = f64>| {
            let mut sums = vec![0.0];
            sums.extend(each.scan(0.0, |sum, v| {
                *sum += v;
                Some(*sum)
            }));
            sums
        };
        Self {
            items,
            value_sums: sums(&mut values.iter().copied()),
            gain_sums: sums(&mut items.iter().map(|item| item.gain)),
            values,
            goal,
            room: budget * (1.0 + SLACK),
            gain: 0.0,
            taken: vec![false; items.len()],
            best,
            best_set: None,
        }
    }

    /// Fractional optimum of the items from `k` on in the room that is left.
    fn bound(&self, k: usize) -> f64 {
        let limit = self.value_sums[k] + self.room;
        let full = k + self.value_sums[k + 1..].partition_point(|&sum| sum <= limit);
        let whole = self.gain_sums[full] - self.gain_sums[k];
        let part = match self.items.get(full) {
            Some(item) => item.gain * ((limit - self.value_sums[full]) / self.values[full]),
            None => 0.0,
        };
        self.gain + whole + part
    }

    fn hopeless(&self, k: usize) -> bool {
        let bound = self.bound(k);
        bound <= self.best * (1.0 + SLACK) || self.goal.is_some_and(|goal| bound < goal)
    }

    /// True if the best set is proven to be best (or to reach the goal, or that none does).
    fn run(&mut self) -> bool {
        let n = self.items.len();
        let mut k = 0;
        for _ in 0..NODES {
            if self.goal.is_some_and(|goal| self.best >= goal) {
                return true;
            }
            if !self.hopeless(k) {
                while k < n && self.values[k] <= self.room {
                    self.take(k);
                    k += 1;
                }
                if k < n {
                    k += 1;
                    continue;
                }
                if self.gain > self.best {
                    self.best = self.gain;
                    self.best_set = Some(self.taken.clone());
                }
            }
            // Back to the last item that was taken, to try without it.
            let Some(last) = self.taken[..k.min(n)].iter().rposition(|&taken| taken) else {
                return true;
            };
            self.taken[last] = false;
            self.room += self.values[last];
            self.gain -= self.items[last].gain;
            k = last + 1;
        }
        false
    }

    fn take(&mut self, k: usize) {
        self.taken[k] = true;
        self.room -= self.values[k];
        self.gain += self.items[k].gain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(gains: &[f64]) -> Vec<Gain> {
        gains.iter().enumerate().map(|(feature, &gain)| Gain { feature, gain }).collect()
    }

    /// By gain per value feature 0 comes first, but 1 and 2 together fill the budget and gain more.
    #[test]
    fn the_search_beats_the_greedy_choice_where_the_budget_does_not_fill() {
        let (items, values) = (items(&[6.0, 5.0, 5.0]), [3.0, 2.9, 2.9]);
        assert_eq!(greedy(&items, &values, 5.8).features, [0]);
        let best = search(&items, &values, 5.8, None);
        assert_eq!((best.features.as_slice(), best.gain, best.proven), (&[1, 2][..], 10.0, true));
    }

    #[test]
    fn a_goal_that_is_out_of_reach_is_proven_so() {
        let (items, values) = (items(&[6.0, 5.0, 5.0]), [3.0, 2.9, 2.9]);
        let best = search(&items, &values, 5.8, Some(11.0));
        assert!(best.proven && best.gain < 11.0);
        assert!(search(&items, &values, 5.8, Some(9.0)).gain >= 9.0);
    }
}
