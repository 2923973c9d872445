//! The adversary that deletes features, against enumeration.
#![cfg(test)]
#![expect(clippy::float_cmp, reason = "tests: what must be equal is compared exactly")]

use mainstay::linalg::Row;
use mainstay::uncertainty::{Deletions, Gain, gains};
use mainstay_testkit::generate::{normal, rng};
use proptest::prelude::*;

/// Total value and gain of every subset of the items.
fn subsets<'a>(items: &'a [Gain], values: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    (0..1usize << items.len()).map(move |mask| {
        let chosen = items.iter().enumerate().filter(move |(k, _)| mask >> k & 1 == 1);
        chosen.fold((0.0, 0.0), |(v, g), (_, item)| (v + values[item.feature], g + item.gain))
    })
}

fn best_subset(items: &[Gain], set: &Deletions) -> f64 {
    let room = set.budget() * (1.0 + 1e-12);
    let fitting = subsets(items, set.values()).filter(|(value, _)| *value <= room);
    fitting.fold(0.0, |best: f64, (_, gain)| best.max(gain))
}

/// An optimum of the relaxation has at most one feature deleted in part (Lemma 1c).
fn best_fraction(items: &[Gain], set: &Deletions) -> f64 {
    let mut best = best_subset(items, set);
    for (k, partial) in items.iter().enumerate() {
        let others: Vec<Gain> =
            items.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, item)| *item).collect();
        for (value, gain) in subsets(&others, set.values()) {
            let room = set.budget() - value;
            if room >= 0.0 {
                let v = set.values()[partial.feature];
                let share = if v == 0.0 { 1.0 } else { (room / v).min(1.0) };
                best = best.max(gain + share * partial.gain);
            }
        }
    }
    best
}

/// Weights, row, values and budget of many kinds: equal, 0/1, with zeros, ties, integers, arbitrary.
fn instance() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>, f64)> {
    let value = prop_oneof![
        Just(vec![1.0]),
        Just(vec![0.3]),
        Just(vec![0.0, 1.0]),
        Just(vec![1.0, 2.0, 3.0]),
        prop::collection::vec(0.0..3.0, 9),
    ];
    let number = || prop_oneof![Just(0.0), Just(1.0), Just(-1.0), -2.0..2.0];
    (1usize..9, value, any::<bool>()).prop_flat_map(move |(p, kinds, whole)| {
        let values = prop::collection::vec(prop::sample::select(kinds), p);
        let budget =
            (0.0..1.2f64).prop_map(move |b| if whole { (b * 9.0).floor() } else { b * 6.0 });
        let numbers = prop::collection::vec(number(), p);
        (prop::collection::vec(number(), p), numbers, values, budget)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_adversary_agrees_with_enumeration((w, x, values, budget) in instance()) {
        prop_assume!(values.iter().any(|v| *v > 0.0));
        let set = Deletions::new(values.clone(), budget).unwrap();
        let mut items = Vec::new();
        gains(Row::Dense(&x), &w, 1.0, 0.0, &values, &mut items);
        let (whole, part) = (best_subset(&items, &set), best_fraction(&items, &set));
        let exact = set.exact(&mut items.clone());
        prop_assert!(exact.proven);
        prop_assert!((exact.gain - whole).abs() <= 1e-11);
        let fractional = set.fractional(&mut items.clone());
        prop_assert!((fractional - part).abs() <= 1e-11);
        prop_assert!(fractional >= whole - 1e-11);
        let binary = values.iter().all(|v| *v == 0.0 || *v == 1.0) && budget.fract() == 0.0;
        prop_assert!(!binary || (fractional - whole).abs() <= 1e-11);
        let greedy = set.greedy(&mut items.clone());
        prop_assert!(greedy.gain <= whole + 1e-11);
        for chosen in [&exact, &greedy] {
            let value: f64 = chosen.features.iter().map(|&j| values[j]).sum();
            let gain: f64 = chosen.features.iter().map(|&j| w[j] * x[j]).sum();
            prop_assert!(value <= budget * (1.0 + 1e-11) + 1e-300);
            prop_assert!((gain - chosen.gain).abs() <= 1e-11);
        }
        let goal = 0.7 * whole;
        prop_assert!(set.reaching(&mut items.clone(), goal).gain >= goal);
        prop_assert!(set.reaching(&mut items, whole + 1e-6).gain < whole + 1e-6);
    }
}

#[test]
fn what_costs_nothing_is_deleted_even_without_a_budget() {
    let set = Deletions::new(vec![0.0, 1.0], 0.0).unwrap();
    let mut items = Vec::new();
    gains(Row::Dense(&[1.0, 1.0]), &[2.0, 3.0], 1.0, 0.0, set.values(), &mut items);
    assert_eq!(set.exact(&mut items).features, vec![0]);
    assert_eq!(set.fractional(&mut items), 2.0);
    assert_eq!(set.greedy(&mut items).features, vec![0]);
}

#[test]
fn three_tenths_fit_a_budget_of_three_tenths() {
    let set = Deletions::new(vec![0.1; 5], 0.3).unwrap();
    let mut items: Vec<Gain> = (0..5).map(|feature| Gain { feature, gain: 1.0 }).collect();
    assert_eq!(set.exact(&mut items).features.len(), 3);
}

#[test]
fn the_random_adversary_deletes_as_many_nonzeros_as_fit() {
    let set = Deletions::new(vec![1.0; 6], 2.0).unwrap();
    let mut rng = rng(1);
    for _ in 0..50 {
        let row = [0.0, 1.0, 2.0, 0.0, 3.0, 4.0];
        let chosen = set.random(Row::Dense(&row), &mut rng);
        assert_eq!(chosen.len(), 2);
        assert!(chosen.iter().all(|&j| row[j] != 0.0));
        assert_eq!(set.random(Row::Dense(&[0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), &mut rng), vec![1]);
    }
}

/// Hundreds of features with values of all sizes end with a proof.
#[test]
fn branch_and_bound_ends_on_wide_rows() {
    for seed in 0..20 {
        let mut rng = rng(seed);
        let values: Vec<f64> = normal(&mut rng, 800).iter().map(|v| v.abs() + 1e-3).collect();
        let row = normal(&mut rng, 800);
        let set = Deletions::new(values, 40.0 + seed as f64).unwrap();
        let mut items = Vec::new();
        gains(Row::Dense(&row), &[1.0; 800], 1.0, 0.0, set.values(), &mut items);
        let exact = set.exact(&mut items.clone());
        assert!(exact.proven);
        assert!(exact.gain >= set.greedy(&mut items.clone()).gain);
        assert!(exact.gain <= set.fractional(&mut items) * (1.0 + 1e-11));
    }
}

#[test]
fn bad_values_and_budgets_are_named() {
    let message = |values: &[f64], budget| {
        Deletions::leaving_something(values.to_vec(), budget).unwrap_err().to_string()
    };
    assert!(message(&[1.0, -1.0], 1.0).contains("`values` = -1 at feature 1"));
    assert!(message(&[f64::NAN], 1.0).contains("feature 0"));
    assert!(message(&[0.0, 0.0], 0.0).contains("all 0"));
    assert!(message(&[1.0], 1.0).contains("n_features=1"));
    assert!(message(&[1.0, 1.0], 2.0).contains("less than the total value 2"));
    assert!(message(&[1.0, 1.0], f64::INFINITY).contains("`budget`"));
    assert!(message(&[1.0, 1.0], -0.5).contains("`budget` = -0.5"));
}

/// Few and many deletions are found in different ways; both are the first of all gains in order, ties included.
#[test]
fn equal_values_lose_the_largest_gains_however_many() {
    let mut rng = rng(0);
    for p in [1, 5, 17, 60] {
        // Rounded, so that gains tie.
        let row: Vec<f64> = normal(&mut rng, p).iter().map(|x| (4.0 * x).round()).collect();
        let weights = vec![1.0; p];
        for count in 0..p {
            let set = Deletions::new(vec![1.0; p], count as f64).unwrap();
            let mut items = Vec::new();
            gains(Row::Dense(&row), &weights, 1.0, 0.0, set.values(), &mut items);
            let mut sorted: Vec<(usize, f64)> =
                row.iter().copied().enumerate().filter(|(_, x)| *x > 0.0).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
            sorted.truncate(count);
            let mut features: Vec<usize> = sorted.iter().map(|(j, _)| *j).collect();
            features.sort_unstable();
            let chosen = set.exact(&mut items);
            assert_eq!(chosen.features, features, "{p} {count}");
            assert_eq!(chosen.gain, sorted.iter().map(|(_, x)| x).sum::<f64>());
        }
    }
}
