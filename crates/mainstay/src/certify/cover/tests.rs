//! Covers against enumeration, and searches that are too long.

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
        let found = Cover::cheapest(&gains, &values, need, strict, &Control::new()).unwrap();
        let wanted = enumerate(&gains, &values, need, strict);
        assert_eq!((found.lower, found.upper()), (wanted, wanted), "seed {seed}");
        if let Some(cover) = found.cover {
            let gain: f64 = cover.features.iter().map(|&j| gains[j].1).sum();
            let cost: f64 = cover.features.iter().map(|&j| values[j]).sum();
            assert!(reached(gain, need, strict) && cost == cover.cost);
        }
        let ones = vec![1.0; p];
        let fewest = Cover::fewest(&gains, need, strict).map_or(f64::INFINITY, |c| c.cost);
        assert_eq!(fewest, enumerate(&gains, &ones, need, strict), "seed {seed}");
    }
}

/// Gains near their costs: the hardest kind for a knapsack.
fn hard(p: usize, seed: u64) -> (Vec<(usize, f64)>, Vec<f64>) {
    let mut rng = crate::folds::generator(seed);
    let values: Vec<f64> = (0..p).map(|_| 1.0 + rng.random::<f64>()).collect();
    let gains = values.iter().map(|v| v + 1e-3 * rng.random::<f64>()).enumerate().collect();
    (gains, values)
}

#[test]
fn covers_of_real_numbers_match_enumeration() {
    for seed in 0..40 {
        let (gains, values) = hard(12, seed);
        let need = gains.iter().map(|g| g.1).sum::<f64>() / 2.0;
        let found = Cover::cheapest(&gains, &values, need, false, &Control::new()).unwrap();
        let wanted = enumerate(&gains, &values, need, false);
        assert!((found.upper() - wanted).abs() < 1e-12, "{} {wanted}", found.upper());
        assert_eq!(found.lower, found.upper());
    }
}

#[test]
fn a_search_that_is_too_long_ends_with_an_interval_that_holds_the_answer() {
    let (gains, values) = hard(60, 0);
    let need = gains.iter().map(|g| g.1).sum::<f64>() / 2.0;
    let found = Cover::cheapest(&gains, &values, need, false, &Control::new()).unwrap();
    assert!(found.lower < found.upper(), "the search ended: take a harder problem");
    // The fractional cover from scratch: no cover is cheaper.
    let mut order: Vec<usize> = (0..60).collect();
    order.sort_by(|&a, &b| (gains[b].1 * values[a]).total_cmp(&(gains[a].1 * values[b])));
    let (mut lacking, mut fractional) = (need, 0.0);
    for j in order {
        let part = (lacking / gains[j].1).clamp(0.0, 1.0);
        fractional += part * values[j];
        lacking -= part * gains[j].1;
    }
    assert!(found.lower >= fractional * (1.0 - 1e-11), "{} {fractional}", found.lower);
    assert!(found.upper() <= fractional + 2.001, "one item more at most");
    let cover = found.cover.unwrap();
    assert!(cover.features.iter().map(|&j| gains[j].1).sum::<f64>() >= need - 1e-12);
}

#[test]
fn a_search_can_be_stopped() {
    let (gains, values) = hard(60, 0);
    let control = Control::new();
    control.cancel();
    let ended = Cover::cheapest(&gains, &values, 40.0, false, &control);
    assert_eq!(ended, Err(crate::error::Error::Interrupted));
}
