//! Advice on made-up scores, where what is sure and what is not can be told by hand.

use std::collections::BTreeMap;

use rand::RngExt;

use super::advice::Judge;
use super::bootstrap::Bootstrap;
use super::outcome::{Advice, Cell, MethodInfo, Role};
use super::scores::Scores;
use super::wording::Words;
use crate::folds::generator;
use crate::metrics::Metric;
use crate::stress::{CLEAN, Threat, Trial};

const REPEATS: usize = 20;
const OTHERS: usize = 12;

fn cell(method: &str, threat: &str, repeat: usize, accuracy: f64) -> Cell {
    Cell {
        method: method.into(),
        threat: threat.into(),
        level: if threat == CLEAN { 0.0 } else { 0.1 },
        repeat,
        accuracy: Some(accuracy),
        log_loss: None,
        metrics: BTreeMap::new(),
        constant: false,
        problem: None,
    }
}

/// The one threat of these comparisons.
const THREAT: Threat = Threat::LabelNoise;

/// A baseline and others.
fn methods(count: usize) -> Vec<MethodInfo> {
    let method = |k: usize| MethodInfo {
        name: format!("m{k}"),
        title: format!("method {k}"),
        role: if k == 0 { Role::Baseline } else { Role::Robust },
        tuning: String::new(),
    };
    (0..count).map(method).collect()
}

/// The advice by `metric` on two classes, of which the largest has this share of the rows; some methods are constant.
fn judged(
    methods: &[MethodInfo],
    cells: &[Cell],
    metric: Metric,
    (constants, largest): (&[String], f64),
) -> Advice {
    let trials = [Trial { threat: THREAT, levels: vec![0.1] }];
    let judge = Judge {
        methods,
        trials: &trials,
        scores: &Scores::new(cells, &trials, REPEATS, metric),
        bootstrap: &Bootstrap::new(REPEATS, 0.5, 1),
        majority: "a",
        constant: Some(0.5),
        constants,
        largest,
        chance: 0.5,
        words: Words { metric, repeats: REPEATS },
    };
    judge.advise(cells, REPEATS)
}

/// A baseline that wrong labels cost 0.1; the first other method gets `gain` back, up and down by `spread`
/// in turn; the rest lose 0.02, up and down at random.
fn advised(gain: f64, spread: f64) -> Advice {
    let methods = methods(OTHERS + 1);
    let mut cells = Vec::new();
    for (k, method) in methods.iter().enumerate() {
        let mut rng = generator(k as u64);
        for r in 0..REPEATS {
            // As often up as down where the gain is told by hand, at random elsewhere.
            let high = if k == 1 { r % 2 == 0 } else { rng.random() };
            let up = if high { 1.0 } else { -1.0 };
            let under = match k {
                0 => 0.7,
                1 => 0.7 + gain + spread * up,
                _ => 0.68 + 0.02 * up,
            };
            cells.push(cell(&method.name, CLEAN, r, 0.8));
            cells.push(cell(&method.name, THREAT.name(), r, under));
        }
    }
    judged(&methods, &cells, Metric::Accuracy, (&[], 0.5))
}

/// Means of 20 splits deviate by 0.81 of the spread (widened for overlap): a gain of 0.1 is 10, 2.3 and 1.2 deviations.
/// The first is sure among all comparisons, the second by itself alone, the third not at all.
#[test]
fn enough_is_said_only_where_no_gain_is_promising() {
    let sure = advised(0.1, 0.012);
    assert_eq!(sure.method, "m1");
    assert!(!sure.unsettled && sure.headline.starts_with("Use "), "{}", sure.headline);
    let promising = advised(0.1, 0.053);
    assert_eq!(promising.method, "m0");
    assert!(
        promising.unsettled && promising.headline.contains("for now"),
        "{}",
        promising.headline
    );
    assert!(promising.headline.contains("method 1"), "{}", promising.headline);
    let chance = advised(0.1, 0.1);
    assert!(!chance.unsettled && chance.headline.contains("is enough"), "{}", chance.headline);
}

/// Two methods on data whose largest class has 79 % of the rows, judged by AUC: the baseline calls all rows the same and has
/// this AUC, up and down by `spread` in turn; the other has this balanced accuracy.
fn on_rare_classes(auc: f64, spread: f64, other: f64) -> Advice {
    let methods = methods(2);
    let mut cells = Vec::new();
    for (k, method) in methods.iter().enumerate() {
        for r in 0..REPEATS {
            let up = if r % 2 == 0 { spread } else { -spread };
            let balanced = if k == 0 { 0.5 } else { other };
            let metrics = [(Metric::Auc, auc + up), (Metric::BalancedAccuracy, balanced)];
            for threat in [CLEAN, THREAT.name()] {
                let plain = cell(&method.name, threat, r, 0.79);
                cells.push(Cell { metrics: metrics.into_iter().collect(), ..plain });
            }
        }
    }
    judged(&methods, &cells, Metric::Auc, (&["m0".to_owned()], 0.79))
}

/// Means of 20 splits deviate by 0.81 of the spread: the interval of 0.65 with spread 0.1 begins near 0.48, that of 0.9
/// with spread 0.01 near 0.88.
#[test]
fn a_constant_model_that_hardly_orders_the_rows_is_not_called_enough() {
    let weak = on_rare_classes(0.65, 0.1, 0.5);
    assert!(weak.weak_answers && !weak.headline.contains("enough"), "{}", weak.headline);
    let start = "No method here answers better than always saying `a`";
    assert!(weak.headline.starts_with(start), "{}", weak.headline);
    assert!(weak.headline.contains("AUC 0.650"), "{}", weak.headline);
    let order = &weak.sentences[0];
    assert!(order.starts_with("As to the order of the rows alone, "), "{order}");
    assert!(weak.sentences.iter().all(|s| !s.contains("is enough")), "{:?}", weak.sentences);
    let other = on_rare_classes(0.65, 0.1, 0.7);
    assert!(
        other.headline.contains("from method 1: balanced accuracy 70.0 %"),
        "{}",
        other.headline
    );
    let strong = on_rare_classes(0.9, 0.01, 0.5);
    assert!(!strong.weak_answers && strong.headline.contains("enough"), "{}", strong.headline);
    assert!(strong.sentences.iter().any(|s| s.contains("class_weight")), "{:?}", strong.sentences);
}

/// A baseline that loses everything to the threat and one other method that surely keeps this much.
fn against_ruin(kept: f64) -> Advice {
    let methods = methods(2);
    let mut cells = Vec::new();
    for (k, method) in methods.iter().enumerate() {
        for r in 0..REPEATS {
            cells.push(cell(&method.name, CLEAN, r, 0.8));
            cells.push(cell(&method.name, THREAT.name(), r, if k == 0 { 0.1 } else { kept }));
        }
    }
    judged(&methods, &cells, Metric::Accuracy, (&[], 0.5))
}

#[test]
fn a_method_that_is_surely_better_but_worse_than_a_constant_is_not_denied() {
    let useless = against_ruin(0.3);
    assert!(
        useless.headline.ends_with("and also better than always answering `a`."),
        "{}",
        useless.headline
    );
    assert_eq!(useless.method, "m0");
    let useful = against_ruin(0.7);
    assert_eq!(useful.method, "m1", "{}", useful.headline);
    let none = against_ruin(0.1);
    assert!(!none.headline.contains("constant") && none.headline.contains("is enough"));
    assert!(!none.headline.contains("also better"), "{}", none.headline);
}
