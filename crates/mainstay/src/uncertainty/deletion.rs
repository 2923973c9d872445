//! Deletions of features within a budget: the adversary of Dekel and Shamir (2008).

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::knapsack::{self, Chosen};
use crate::error::{Error, Result, require};
use crate::linalg::Row;

/// Sums of values may exceed the budget by this share: 0.1 three times fits a budget of 0.3.
pub(super) const SLACK: f64 = 1e-12;

/// How the features to delete are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attack {
    /// The largest gain per value first, as long as it fits and hurts.
    #[default]
    Greedy,
    /// Nonzero features in random order, as long as they fit.
    Random,
    /// The subset that hurts most.
    Exact,
}

/// What deleting a feature takes away from the margin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gain {
    /// Index of the feature.
    pub feature: usize,
    /// Loss of margin if it is deleted; positive.
    pub gain: f64,
}

/// The features of `row` whose deletion lowers `sign * w'x`, each with
/// `$\mathrm{gain}_j = \mathrm{sign}\, w_j x_j - \mathrm{demand}\, v_j$`; only positive gains are kept.
///
/// `demand` is `$\gamma/P$` in the loss (12) of the paper and 0 where only the sign counts.
pub fn gains(row: Row<'_>, w: &[f64], sign: f64, demand: f64, values: &[f64], out: &mut Vec<Gain>) {
    out.clear();
    out.resize(row.stored(), Gain::default());
    let mut count = 0;
    // Written first and counted if wanted: half of the gains are, and no branch would foresee which.
    for (feature, x) in row.entries() {
        let gain = sign * (w[feature] * x) - demand * values[feature];
        out[count] = Gain { feature, gain };
        count += usize::from(gain > 0.0) * usize::from(x != 0.0);
    }
    out.truncate(count);
}

/// Sets of features whose values sum to at most a budget: what the adversary may delete.
///
/// The adversary of Dekel and Shamir (2008), section 2.1: feature `$j$` has value `$v_j \ge 0$` and any set
/// `$D$` with `$V(D) = \sum_{j \in D} v_j \le N$` may be replaced by zeros, chosen for every row anew. A
/// feature of value 0 may always be deleted. `budget` is the paper's `$N$`, `total` its `$V([n])$`, `kept`
/// its `$P = V([n]) - N$`.
#[derive(Debug, Clone, PartialEq)]
pub struct Deletions {
    values: Vec<f64>,
    budget: f64,
    total: f64,
    /// How many features fit if all have the same positive value.
    count: Option<usize>,
}

impl Deletions {
    /// Checks that the values are finite, not negative and not all zero, and the budget finite and not negative.
    pub fn new(values: Vec<f64>, budget: f64) -> Result<Self> {
        require(budget >= 0.0 && budget.is_finite(), "budget", budget, "finite and at least 0")?;
        if let Some(j) = values.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            let shown = format!("{} at feature {j}", values[j]);
            return Err(Error::param("values", shown, "finite and at least 0"));
        }
        let total: f64 = values.iter().sum();
        if total == 0.0 {
            let rule =
                "positive for at least one feature (with all values 0 everything may be deleted)";
            return Err(Error::param("values", "all 0", rule));
        }
        require(total.is_finite(), "values", "their sum overflows", "of finite sum")?;
        let equal = values.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        let count = equal.then(|| whole(budget / values[0] * (1.0 + SLACK), values.len()));
        Ok(Self { values, budget, total, count })
    }

    /// The same features with another budget.
    pub fn with_budget(&self, budget: f64) -> Result<Self> {
        Self::new(self.values.clone(), budget)
    }

    /// As [`Deletions::new`], and something is left however the budget is spent: `$N < V$`.
    pub fn leaving_something(values: Vec<f64>, budget: f64) -> Result<Self> {
        let set = Self::new(values, budget)?;
        if set.budget < set.total {
            return Ok(set);
        }
        let p = set.values.len();
        Err(Error::param(
            "budget",
            budget,
            format!(
                "less than the total value {} of the features (n_features={p}): otherwise every \
                 feature may be deleted; lower the budget or raise the values",
                set.total
            ),
        ))
    }

    /// Whether all features have one value and the budget is enough for one of them.
    pub(crate) fn takes_one(&self) -> bool {
        self.count == Some(1)
    }

    /// Value of every feature, `$v$`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Largest value of a deleted set, `$N$`.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Value of all features, `$V$`.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// What the adversary cannot take, `$P = V - N$`; not positive if it can take everything.
    pub fn kept(&self) -> f64 {
        self.total - self.budget
    }

    /// Largest total gain if features may be deleted in part: the relaxation (7).
    ///
    /// The best ratios gain/value first, the last one in part; `$O(k \log k)$` for `k` gains, `$O(k)$` for
    /// equal values. Equal to [`Deletions::exact`] for equal values and a budget that is a multiple of them.
    pub fn fractional(&self, items: &mut [Gain]) -> f64 {
        self.fractional_with_price(items).0
    }

    /// The same and what one more unit of budget would gain.
    pub fn fractional_with_price(&self, items: &mut [Gain]) -> (f64, f64) {
        if self.count.is_some() {
            return self.fractional_equal(items);
        }
        self.by_ratio(items);
        let mut room = self.budget;
        let mut sum = 0.0;
        for item in items.iter() {
            let value = self.values[item.feature];
            if value > room {
                return (sum + item.gain * (room / value), item.gain / value);
            }
            room -= value;
            sum += item.gain;
        }
        (sum, 0.0)
    }

    fn fractional_equal(&self, items: &mut [Gain]) -> (f64, f64) {
        let room = self.budget / self.values[0];
        if items.len() as f64 <= room {
            return (items.iter().map(|item| item.gain).sum(), 0.0);
        }
        let count = whole(room, items.len() - 1);
        items.select_nth_unstable_by(count, by_gain);
        let full: f64 = items[..count].iter().map(|item| item.gain).sum();
        let next = items[count].gain;
        (full + (room - count as f64) * next, next / self.values[0])
    }

    /// The set of largest total gain. Equal values: the largest gains. Otherwise branch and bound on the
    /// knapsack problem (6), with (7) as bound, exact to twelve digits.
    ///
    /// Stops early at a set of gain at least `goal`, and does not look for the best one if none reaches it.
    pub fn reaching(&self, items: &mut [Gain], goal: f64) -> Chosen {
        self.search(items, Some(goal))
    }

    /// The set of largest total gain; see [`Deletions::reaching`].
    pub fn exact(&self, items: &mut [Gain]) -> Chosen {
        self.search(items, None)
    }

    fn search(&self, items: &mut [Gain], goal: Option<f64>) -> Chosen {
        if let Some(count) = self.count {
            return largest(items, count);
        }
        self.by_ratio(items);
        knapsack::search(items, &self.values, self.budget, goal)
    }

    /// The paper's greedy adversary (section 4): the largest gain per value first; what does not fit is
    /// skipped. (The paper says "most valuable", which is undefined for equal values.)
    pub fn greedy(&self, items: &mut [Gain]) -> Chosen {
        self.by_ratio(items);
        knapsack::greedy(items, &self.values, self.budget)
    }

    /// Nonzero features of `row` in random order, as many as fit.
    pub fn random(&self, row: Row<'_>, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let mut features: Vec<usize> =
            row.entries().filter(|(_, x)| *x != 0.0).map(|(j, _)| j).collect();
        features.shuffle(rng);
        let mut room = self.budget * (1.0 + SLACK);
        features.retain(|&j| {
            let fits = self.values[j] <= room;
            room -= if fits { self.values[j] } else { 0.0 };
            fits
        });
        features.sort_unstable();
        features
    }

    /// Sorts by gain per value, largest first; ties by feature.
    fn by_ratio(&self, items: &mut [Gain]) {
        let key = |item: &Gain| {
            let value = self.values[item.feature];
            if value == 0.0 { f64::INFINITY } else { item.gain / value }
        };
        items.sort_unstable_by(|a, b| {
            key(b).total_cmp(&key(a)).then_with(|| a.feature.cmp(&b.feature))
        });
    }
}

/// Up to this many are found by insertion, which is faster than a general selection.
const FEW: usize = 16;

/// Brings the `count` (at least 1) largest gains to the front, by insertion into the sorted front.
fn keep_largest(items: &mut [Gain], count: usize) {
    items[..count].sort_unstable_by(by_gain);
    for i in count..items.len() {
        let mut at = count - 1;
        if by_gain(&items[i], &items[at]).is_lt() {
            items.swap(i, at);
            while at > 0 && by_gain(&items[at], &items[at - 1]).is_lt() {
                items.swap(at, at - 1);
                at -= 1;
            }
        }
    }
}

/// The largest gains.
fn largest(items: &mut [Gain], count: usize) -> Chosen {
    let count = count.min(items.len());
    if count == 0 {
        return Chosen { features: Vec::new(), gain: 0.0, proven: true };
    }
    if count > FEW {
        if count < items.len() {
            items.select_nth_unstable_by(count, by_gain);
        }
    } else {
        keep_largest(items, count);
    }
    let chosen = &items[..count];
    let mut features: Vec<usize> = chosen.iter().map(|item| item.feature).collect();
    features.sort_unstable();
    Chosen { features, gain: chosen.iter().map(|item| item.gain).sum(), proven: true }
}

fn by_gain(a: &Gain, b: &Gain) -> std::cmp::Ordering {
    b.gain.total_cmp(&a.gain).then_with(|| a.feature.cmp(&b.feature))
}

/// The whole part of a number that is not negative, at most `limit`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, which is what is wanted"
)]
fn whole(number: f64, limit: usize) -> usize {
    (number.floor() as usize).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The best set by trying all of them.
    fn brute_force(gains: &[f64], values: &[f64], budget: f64) -> f64 {
        let sum = |of: &[f64], set: u32| -> f64 {
            (0..of.len()).filter(|j| set >> j & 1 == 1).map(|j| of[j]).sum()
        };
        let sets = 0..1u32 << gains.len();
        let allowed = sets.filter(|set| sum(values, *set) <= budget * (1.0 + SLACK));
        allowed.map(|set| sum(gains, set)).fold(0.0, f64::max)
    }

    fn items(gains: &[f64]) -> Vec<Gain> {
        gains.iter().enumerate().map(|(feature, &gain)| Gain { feature, gain }).collect()
    }

    #[test]
    fn gains_are_what_deletion_takes_from_the_margin() {
        let x = crate::linalg::Matrix::from(crate::linalg::Dense::from_rows(
            1,
            4,
            vec![2.0, 0.0, -1.0, 3.0],
        ));
        let mut found = Vec::new();
        // sign w x - demand v = -(2, 0, -3, 0.3) - 0.5 (1, 1, 2, 1): only the third is positive.
        gains(x.row(0), &[1.0, 5.0, 3.0, 0.1], -1.0, 0.5, &[1.0, 1.0, 2.0, 1.0], &mut found);
        assert_eq!(found, [Gain { feature: 2, gain: 2.0 }]);
    }

    #[test]
    fn rounding_of_sums_does_not_shrink_a_budget() {
        let set = Deletions::new(vec![0.1; 4], 0.3).unwrap();
        assert_eq!(set.exact(&mut items(&[1.0, 2.0, 3.0, 4.0])).features, [1, 2, 3]);
    }

    #[test]
    fn budgets_that_leave_nothing_are_refused() {
        assert!(Deletions::leaving_something(vec![1.0, 2.0], 3.0).is_err());
        assert!(Deletions::leaving_something(vec![1.0, 2.0], 2.9).is_ok());
        assert!(Deletions::new(vec![0.0, 0.0], 1.0).is_err());
        assert!(Deletions::new(vec![1.0, f64::NAN], 1.0).is_err());
        assert!(Deletions::new(vec![1.0], -1.0).is_err());
    }

    #[test]
    fn only_features_that_support_the_label_are_worth_deleting() {
        let mut found = Vec::new();
        gains(
            Row::Dense(&[1.0, -2.0, 0.0, 3.0]),
            &[2.0, 1.0, 9.0, 0.5],
            1.0,
            0.0,
            &[1.0; 4],
            &mut found,
        );
        assert_eq!(found, [Gain { feature: 0, gain: 2.0 }, Gain { feature: 3, gain: 1.5 }]);
        gains(
            Row::Sparse(&[1, 3], &[-2.0, 3.0]),
            &[2.0, 1.0, 9.0, 0.5],
            -1.0,
            0.0,
            &[1.0; 4],
            &mut found,
        );
        assert_eq!(found, [Gain { feature: 1, gain: 2.0 }]);
    }

    /// Many are selected, few inserted: both find the largest gains.
    #[test]
    fn the_largest_gains_are_found_however_many_are_wanted() {
        let all = |n: usize| -> Vec<Gain> {
            (0..n).map(|feature| Gain { feature, gain: ((feature * 37) % 101) as f64 }).collect()
        };
        for count in [1, 3, FEW, FEW + 1, 60] {
            let mut sorted: Vec<f64> = all(100).iter().map(|item| item.gain).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let wanted: f64 = sorted[..count].iter().sum();
            assert_eq!(largest(&mut all(100), count).gain, wanted, "{count}");
        }
    }

    proptest! {
        /// Greedy is one of the sets, and deletion in part only helps the adversary.
        #[test]
        fn the_exact_set_is_the_best_of_all(
            gains in prop::collection::vec(0.01..5.0, 1..9),
            values in prop::collection::vec(0u8..4, 9),
            spent in 0.0..1.0,
            equal in any::<bool>(),
        ) {
            let value = |j: usize| if equal { 1.0 } else { f64::from(values[j]) + 0.5 };
            let values: Vec<f64> = (0..gains.len()).map(value).collect();
            let budget = spent * values.iter().sum::<f64>();
            let set = Deletions::new(values.clone(), budget).unwrap();
            let best = brute_force(&gains, &values, budget);
            let exact = set.exact(&mut items(&gains));
            prop_assert!(exact.proven && (exact.gain - best).abs() <= 1e-9);
            prop_assert!(set.greedy(&mut items(&gains)).gain <= best + 1e-9);
            prop_assert!(set.fractional(&mut items(&gains)) >= best - 1e-9);
            let value: f64 = exact.features.iter().map(|j| values[*j]).sum();
            prop_assert!(value <= budget * (1.0 + SLACK));
            let reached = set.reaching(&mut items(&gains), 0.5 * best);
            prop_assert!(reached.gain >= 0.5 * best - 1e-9);
        }
    }
}
