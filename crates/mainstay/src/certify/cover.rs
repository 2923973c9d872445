//! The least deletion that uses up a lead: a covering knapsack, solved exactly.

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
    /// known. Both reductions keep an optimal cover, so the result is exact.
    pub fn cheapest(
        gains: &[(usize, f64)],
        values: &[f64],
        need: f64,
        strict: bool,
    ) -> Option<Self> {
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
        let search = Search { items: &items, need, strict };
        let (best, history) = search.run(start)?;
        let mut last = best.last;
        while let Some(step) = last {
            taken.push(items[history[step].0].feature);
            last = history[step].1;
        }
        taken.sort_unstable();
        Some(Self { cost: best.cost, features: taken })
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

struct Search<'a> {
    items: &'a [Item],
    need: f64,
    strict: bool,
}

impl Search<'_> {
    /// The cheapest state that reaches the need, and the history to read its items from.
    fn run(&self, start: State) -> Option<(State, History)> {
        let mut history = Vec::new();
        if reached(start.gain, self.need, self.strict) {
            return Some((start, history));
        }
        let mut best: Option<State> = None;
        let mut front = vec![start];
        for k in 0..self.items.len() {
            let item = &self.items[k];
            let mut extended = Vec::with_capacity(front.len());
            for state in &front {
                let next = State {
                    cost: state.cost + item.cost,
                    gain: state.gain + item.gain,
                    last: None,
                };
                let worth = best.is_none_or(|b| next.cost < b.cost);
                if worth {
                    history.push((k, state.last));
                    extended.push(State { last: Some(history.len() - 1), ..next });
                }
            }
            for state in &extended {
                if reached(state.gain, self.need, self.strict)
                    && best.is_none_or(|b| state.cost < b.cost)
                {
                    best = Some(*state);
                }
            }
            let limit = best.map_or(f64::INFINITY, |b| b.cost);
            front = merge(&front, &extended)
                .into_iter()
                .filter(|s| !reached(s.gain, self.need, self.strict))
                .filter(|s| self.bound(s, k + 1) < limit)
                .collect();
        }
        best.map(|b| (b, history))
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
mod tests {
    use super::*;
    use rand::RngExt;

    fn enumerate(gains: &[(usize, f64)], values: &[f64], need: f64, strict: bool) -> f64 {
        let mut best = f64::INFINITY;
        for set in 0u32..1 << gains.len() {
            let chosen = || gains.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1);
            let gain: f64 = chosen().map(|(_, g)| g.1).sum();
            let cost: f64 = chosen().map(|(_, g)| values[g.0]).sum();
            if reached(gain, need, strict) {
                best = best.min(cost);
            }
        }
        best
    }

    #[test]
    fn covers_match_enumeration() {
        for seed in 0..300 {
            let mut rng = crate::folds::generator(seed);
            let p: usize = rng.random_range(1..11);
            // Small integers: sums are exact and ties are common.
            let gains: Vec<(usize, f64)> =
                (0..p).map(|j| (j, f64::from(rng.random_range(1..9)))).collect();
            let values: Vec<f64> = (0..p).map(|_| f64::from(rng.random_range(0..7))).collect();
            let need = f64::from(rng.random_range(0..30));
            let strict = rng.random_bool(0.5);
            let found = Cover::cheapest(&gains, &values, need, strict);
            let wanted = enumerate(&gains, &values, need, strict);
            assert_eq!(found.as_ref().map_or(f64::INFINITY, |c| c.cost), wanted, "seed {seed}");
            if let Some(cover) = found {
                let gain: f64 = cover.features.iter().map(|&j| gains[j].1).sum();
                let cost: f64 = cover.features.iter().map(|&j| values[j]).sum();
                assert!(reached(gain, need, strict) && cost == cover.cost);
            }
            let ones = vec![1.0; p];
            let fewest = Cover::fewest(&gains, need, strict).map_or(f64::INFINITY, |c| c.cost);
            assert_eq!(fewest, enumerate(&gains, &ones, need, strict), "seed {seed}");
        }
    }
}
