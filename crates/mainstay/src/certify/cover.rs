//! The least deletion that uses up a lead: a covering knapsack, solved exactly or enclosed.

use crate::control::Control;
use crate::error::Result;

/// States looked at for one row and one other class before the search settles for an interval: a second at most.
const STATES: usize = 1_000_000;

/// A set of features whose deletion flips the prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Cover {
    /// Total cost of the set.
    pub cost: f64,
    /// The features, ascending.
    pub features: Vec<usize>,
}

impl Cover {
    /// Fewest features whose gains add up to `need` (beyond it if `strict`): the largest gains first.
    pub fn fewest(gains: &[(usize, f64)], need: f64, strict: bool) -> Option<Self> {
        let mut sorted = gains.to_vec();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut total = 0.0;
        let mut features = Vec::new();
        for (feature, gain) in sorted {
            if reached(total, need, strict) {
                break;
            }
            total += gain;
            features.push(feature);
        }
        if !reached(total, need, strict) {
            return None;
        }
        features.sort_unstable();
        Some(Self { cost: features.len() as f64, features })
    }

    /// Least total value of features whose gains add up to `need` (beyond it if `strict`).
    ///
    /// Features are considered by falling gain per value. The states reached so far are kept as a
    /// Pareto front (no state costs at least as much as another and gains no more); a state is dropped
    /// when its cost plus the fractional cost of the gain it still lacks is no better than the best cover
    /// known. Both reductions keep an optimal cover, so the result is exact where the search ends. The problem
    /// is NP-hard: after [`STATES`] states the search stops with what it has proven.
    pub(super) fn cheapest(
        gains: &[(usize, f64)],
        values: &[f64],
        need: f64,
        strict: bool,
        control: &Control,
    ) -> Result<Cheapest> {
        let (free, mut paid): (Vec<_>, Vec<_>) =
            gains.iter().copied().partition(|(feature, _)| values[*feature] == 0.0);
        let mut start = State { cost: 0.0, gain: 0.0, last: None };
        let mut taken: Vec<usize> = Vec::new();
        // What costs nothing is deleted first, but only as far as it is needed.
        for (feature, gain) in free {
            if reached(start.gain, need, strict) {
                break;
            }
            start.gain += gain;
            taken.push(feature);
        }
        paid.sort_by(|a, b| {
            let ratio = |item: &(usize, f64)| item.1 / values[item.0];
            ratio(b).total_cmp(&ratio(a)).then(a.0.cmp(&b.0))
        });
        let items: Vec<Item> = paid
            .iter()
            .map(|&(feature, gain)| Item { feature, gain, cost: values[feature] })
            .collect();
        let Found { best, history, lower } =
            Search::new(&items, need, strict).run(start, control)?;
        let Some(best) = best else { return Ok(Cheapest { lower, cover: None }) };
        let mut last = best.last;
        while let Some(step) = last {
            taken.push(items[history[step].0].feature);
            last = history[step].1;
        }
        taken.sort_unstable();
        let cover = Some(Self { cost: best.cost, features: taken });
        Ok(Cheapest { lower, cover })
    }
}

/// The cheapest cover that was found, and what no cover can cost less than.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cheapest {
    /// Proven lower bound: the cost of `cover` where that is optimal, infinite where there is none.
    pub(super) lower: f64,
    /// The best cover found.
    pub(super) cover: Option<Cover>,
}

impl Cheapest {
    /// Cost of the cover; infinite if there is none.
    pub(super) fn upper(&self) -> f64 {
        self.cover.as_ref().map_or(f64::INFINITY, |cover| cover.cost)
    }
}

fn reached(gain: f64, need: f64, strict: bool) -> bool {
    if strict { gain > need } else { gain >= need }
}

struct Item {
    feature: usize,
    gain: f64,
    cost: f64,
}

#[derive(Clone, Copy)]
struct State {
    cost: f64,
    gain: f64,
    /// Index into the history of choices: (item, the choice before it).
    last: Option<usize>,
}

/// Choices made on the way: (item, the choice before it).
type History = Vec<(usize, Option<usize>)>;

/// What a search ended with.
struct Found {
    best: Option<State>,
    history: History,
    lower: f64,
}

struct Search<'a> {
    items: &'a [Item],
    need: f64,
    strict: bool,
    /// Gain and cost of the items before each, to find where a completion ends without adding up.
    sums: Vec<(f64, f64)>,
}

impl<'a> Search<'a> {
    fn new(items: &'a [Item], need: f64, strict: bool) -> Self {
        let mut sums = vec![(0.0, 0.0)];
        let (mut gain, mut cost) = (0.0, 0.0);
        for item in items {
            gain += item.gain;
            cost += item.cost;
            sums.push((gain, cost));
        }
        Self { items, need, strict, sums }
    }

    fn run(&self, start: State, control: &Control) -> Result<Found> {
        let mut history = Vec::new();
        if reached(start.gain, self.need, self.strict) {
            return Ok(Found { best: Some(start), history, lower: start.cost });
        }
        let mut best = self.greedy(start, &mut history);
        if best.is_none() {
            return Ok(Found { best, history, lower: f64::INFINITY });
        }
        let mut front = vec![start];
        let mut visited = 0;
        for k in 0..self.items.len() {
            visited += front.len();
            if visited > STATES {
                let lower = self.proven(&front, k, best);
                return Ok(Found { best, history, lower });
            }
            let extended = self.extend(&front, k, best, &mut history);
            let enough = |state: &&State| reached(state.gain, self.need, self.strict);
            for state in extended.iter().filter(enough) {
                if best.is_none_or(|b| state.cost < b.cost) {
                    best = Some(*state);
                }
            }
            let limit = best.map_or(f64::INFINITY, |b| b.cost);
            let merged = merge(&front, &extended);
            front.clear();
            for (i, state) in merged.into_iter().enumerate() {
                if i.is_multiple_of(4096) {
                    control.check()?;
                }
                if !enough(&&state) && self.promises(&state, k + 1, limit) {
                    front.push(state);
                }
            }
        }
        let lower = best.map_or(f64::INFINITY, |b| b.cost);
        Ok(Found { best, history, lower })
    }

    /// The states of `front` with item `k` taken, where that may still become the best cover.
    fn extend(
        &self,
        front: &[State],
        k: usize,
        best: Option<State>,
        history: &mut History,
    ) -> Vec<State> {
        let item = &self.items[k];
        let mut extended = Vec::with_capacity(front.len());
        for state in front {
            let (cost, gain) = (state.cost + item.cost, state.gain + item.gain);
            if best.is_none_or(|b| cost < b.cost) {
                history.push((k, state.last));
                extended.push(State { cost, gain, last: Some(history.len() - 1) });
            }
        }
        extended
    }

    /// Items in order until the need is reached, less those that turn out not to be needed, dearest first.
    fn greedy(&self, start: State, history: &mut History) -> Option<State> {
        let mut gain = start.gain;
        let mut taken = Vec::new();
        for (k, item) in self.items.iter().enumerate() {
            if reached(gain, self.need, self.strict) {
                break;
            }
            gain += item.gain;
            taken.push(k);
        }
        let mut dearest = taken.clone();
        dearest.sort_by(|&a, &b| self.items[b].cost.total_cmp(&self.items[a].cost));
        let mut dropped = vec![false; self.items.len()];
        for k in dearest {
            if reached(gain - self.items[k].gain, self.need, self.strict) {
                gain -= self.items[k].gain;
                dropped[k] = true;
            }
        }
        let mut state = start;
        for k in taken.into_iter().filter(|&k| !dropped[k]) {
            history.push((k, state.last));
            let item = &self.items[k];
            let last = Some(history.len() - 1);
            state = State { cost: state.cost + item.cost, gain: state.gain + item.gain, last };
        }
        // Summed in the order of the items, as a cover is checked.
        reached(state.gain, self.need, self.strict).then_some(state)
    }

    /// No cover costs less than the best one or than the cheapest completion of a state that is left.
    fn proven(&self, front: &[State], k: usize, best: Option<State>) -> f64 {
        let limit = best.map_or(f64::INFINITY, |b| b.cost);
        let rounding = 1.0 - 1e-12;
        front.iter().map(|state| self.bound(state, k) * rounding).fold(limit, f64::min)
    }

    /// Whether the least cost of a completion is below `limit`.
    ///
    /// Differences of partial sums decide where their rounding error cannot; otherwise the sum itself does.
    fn promises(&self, state: &State, k: usize, limit: f64) -> bool {
        let (gains, costs) = self.sums[self.items.len()];
        let error = f64::EPSILON * (self.items.len() as f64 + 2.0);
        let lacking = self.need - state.gain;
        let slack = error * (gains + self.need.abs());
        let room = error * (costs + state.cost);
        let least = state.cost + self.between(k, lacking - slack) - room;
        if least >= limit {
            return false;
        }
        let most = state.cost + self.between(k, lacking + slack) + room;
        most < limit || self.bound(state, k) < limit
    }

    /// Fractional cost of a gain of `lacking` from items `k` on, by partial sums.
    fn between(&self, k: usize, lacking: f64) -> f64 {
        let (gains, costs) = self.sums[k];
        let end = self.sums[k..].partition_point(|sum| sum.0 - gains < lacking) + k;
        if lacking <= 0.0 {
            return 0.0;
        }
        let Some(sum) = self.sums.get(end) else { return f64::INFINITY };
        let (item, before) = (&self.items[end - 1], self.sums[end - 1]);
        let part = (lacking - (before.0 - gains)) / (sum.0 - before.0).max(f64::MIN_POSITIVE);
        before.1 - costs + item.cost * part.clamp(0.0, 1.0)
    }

    /// Least cost of any completion of `state` with items from `k` on, fractions allowed.
    fn bound(&self, state: &State, k: usize) -> f64 {
        let mut lacking = self.need - state.gain;
        let mut cost = state.cost;
        for item in &self.items[k..] {
            if item.gain >= lacking {
                return cost + item.cost * (lacking / item.gain);
            }
            lacking -= item.gain;
            cost += item.cost;
        }
        // Equality is a cover unless it must be exceeded; rounding decides, so keep the state.
        if lacking <= self.need.abs() * 1e-12 { cost } else { f64::INFINITY }
    }
}

/// Merges two fronts sorted by cost into one without dominated states.
fn merge(a: &[State], b: &[State]) -> Vec<State> {
    let mut out: Vec<State> = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let first =
            j >= b.len() || (i < a.len() && (a[i].cost, -a[i].gain) <= (b[j].cost, -b[j].gain));
        let state = if first { a[i] } else { b[j] };
        if first {
            i += 1;
        } else {
            j += 1;
        }
        if out.last().is_none_or(|last| state.gain > last.gain) {
            out.push(state);
        }
    }
    out
}

#[cfg(test)]
mod tests;
