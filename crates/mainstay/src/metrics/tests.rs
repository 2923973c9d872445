//! Metrics against their definitions, by brute force.

use rand::RngExt;

use super::*;
use crate::folds::generator;
use crate::linalg::Dense;

/// Rows with ties among the scores, weights of 0 to 3 and probabilities that follow the scores.
struct Case {
    truth: Vec<usize>,
    made: Predictions,
    weights: Vec<f64>,
    classes: usize,
}

fn case(n: usize, classes: usize, seed: u64) -> Case {
    let mut rng = generator(seed);
    let truth: Vec<usize> =
        (0..n).map(|i| if i < classes { i } else { rng.random_range(0..classes) }).collect();
    let columns = if classes == 2 { 1 } else { classes };
    // Halves, so that many scores are equal.
    let score = |i: usize, j: usize, noise: f64| {
        let own = if classes == 2 { truth[i] == 1 } else { truth[i] == j };
        (4.0 * (noise + if own { 0.7 } else { -0.7 })).round() / 2.0
    };
    let scores = Dense::from_fn(n, columns, |i, j| score(i, j, rng.random_range(-2.0..2.0)));
    let probabilities = Dense::from_fn(n, classes, |i, k| {
        if classes == 2 {
            let p = 1.0 / (1.0 + (-scores[(i, 0)]).exp());
            return if k == 1 { p } else { 1.0 - p };
        }
        let total: f64 = scores.row(i).iter().map(|s| s.exp()).sum();
        scores[(i, k)].exp() / total
    });
    let predicted = crate::model::choose(&scores);
    let weights = (0..n).map(|_| f64::from(rng.random_range(0_u8..4))).collect();
    let made = Predictions { predicted, scores: Some(scores), probabilities: Some(probabilities) };
    Case { truth, made, weights, classes }
}

impl Case {
    fn plain(&self) -> Judged<'_> {
        Judged::new(&self.truth, self.classes, &self.made).unwrap()
    }

    fn weighted(&self) -> Judged<'_> {
        self.plain().with_weights(&self.weights[..]).unwrap()
    }

    /// The same rows, each written as often as its weight says.
    fn repeated(&self) -> Self {
        let rows: Vec<usize> = (0..self.truth.len())
            .flat_map(|i| (0..4).filter(move |k| f64::from(*k) < self.weights[i]).map(move |_| i))
            .collect();
        let pick = |d: &Option<Dense>| d.as_ref().map(|d| d.select_rows(&rows));
        let made = Predictions {
            predicted: rows.iter().map(|&i| self.made.predicted[i]).collect(),
            scores: pick(&self.made.scores),
            probabilities: pick(&self.made.probabilities),
        };
        let truth: Vec<usize> = rows.iter().map(|&i| self.truth[i]).collect();
        Case { weights: vec![1.0; truth.len()], truth, made, classes: self.classes }
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

/// Against the definition: compare every positive with every negative.
#[test]
fn auc_counts_pairs() {
    for seed in 0..20 {
        let case = case(40, 2, seed);
        let scores = case.made.scores.as_ref().unwrap().column(0);
        let (mut wins, mut pairs) = (0.0, 0.0);
        for i in (0..40).filter(|&i| case.truth[i] == 1) {
            for j in (0..40).filter(|&j| case.truth[j] == 0) {
                pairs += 1.0;
                wins += match scores[i].partial_cmp(&scores[j]) {
                    Some(std::cmp::Ordering::Greater) => 1.0,
                    Some(std::cmp::Ordering::Equal) => 0.5,
                    _ => 0.0,
                };
            }
        }
        let positive: Vec<bool> = case.truth.iter().map(|&t| t == 1).collect();
        assert!(near(auc(&scores, &positive).unwrap(), wins / pairs), "seed {seed}");
        assert!(near(Metric::Auc.of(&case.plain()).unwrap(), wins / pairs), "seed {seed}");
    }
    assert_eq!(auc(&[0.1, -0.0, 0.0], &[true; 3]), None);
}

/// Precision and recall counted afresh at every threshold.
#[test]
fn average_precision_steps_through_the_thresholds() {
    for seed in 0..20 {
        let case = case(30, 2, seed);
        let scores = case.made.scores.as_ref().unwrap().column(0);
        let mut thresholds = scores.clone();
        thresholds.sort_by(|a, b| b.total_cmp(a));
        thresholds.dedup();
        let positives = case.truth.iter().filter(|&&t| t == 1).count() as f64;
        let (mut last, mut sum) = (0.0, 0.0);
        for t in thresholds {
            let called: Vec<usize> = (0..30).filter(|&i| scores[i] >= t).collect();
            let hits = called.iter().filter(|&&i| case.truth[i] == 1).count() as f64;
            sum += (hits / positives - last) * hits / called.len() as f64;
            last = hits / positives;
        }
        assert!(near(Metric::PrAuc.of(&case.plain()).unwrap(), sum), "seed {seed}");
    }
}

#[test]
fn a_row_of_weight_two_counts_as_two_rows_and_one_of_weight_zero_not_at_all() {
    for classes in [2, 3] {
        for seed in 0..20 {
            let case = case(60, classes, seed);
            let repeated = case.repeated();
            for metric in Metric::ALL {
                match (metric.of(&case.weighted()), metric.of(&repeated.plain())) {
                    (Ok(a), Ok(b)) => assert!(near(a, b), "{metric:?}, seed {seed}: {a} and {b}"),
                    (a, b) => assert_eq!(a, b, "{metric:?}, seed {seed}"),
                }
            }
        }
    }
}

/// The sums of residuals, and of residuals times logits, vanish where the logistic regression is solved.
#[test]
fn calibration_solves_its_logistic_regressions() {
    for seed in 0..20 {
        let case = case(80, 2, seed);
        let judged = case.plain();
        let logits = case.made.scores.as_ref().unwrap().column(0);
        let residual = |a: f64, b: f64| -> Vec<f64> {
            let p = |x: f64| 1.0 / (1.0 + (-(a + b * x)).exp());
            logits.iter().zip(&case.truth).map(|(&x, &t)| p(x) - t as f64).collect()
        };
        let alone = Metric::CalibrationIntercept.of(&judged).unwrap();
        assert!(residual(alone, 1.0).iter().sum::<f64>().abs() < 1e-8, "seed {seed}");
        let slope = Metric::CalibrationSlope.of(&judged).unwrap();
        // The intercept beside the slope, by bisection of a monotone function.
        let (mut low, mut high) = (-50.0, 50.0);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            let above = residual(middle, slope).iter().sum::<f64>() > 0.0;
            (low, high) = if above { (low, middle) } else { (middle, high) };
        }
        let off: f64 = residual(low, slope).iter().zip(&logits).map(|(r, x)| r * x).sum();
        assert!(off.abs() < 1e-6, "seed {seed}: {off}");
    }
}

/// Ten rows by hand: 4 hits, 1 miss, 2 false alarms, 3 rightly negative.
#[test]
fn rates_come_from_the_four_counts() {
    let truth = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0];
    let p1 = [0.9, 0.8, 0.7, 0.6, 0.2, 0.6, 0.55, 0.4, 0.1, 0.3];
    let probabilities = Dense::from_fn(10, 2, |i, k| if k == 1 { p1[i] } else { 1.0 - p1[i] });
    let predicted = p1.iter().map(|p| usize::from(*p >= 0.5)).collect();
    let made = Predictions { predicted, scores: None, probabilities: Some(probabilities) };
    let judged = Judged::new(&truth, 2, &made).unwrap();
    let costly = judged.clone().with_costs(Costs::parse("fp=1,fn=5").unwrap());
    let expected = [
        (Metric::Accuracy, 0.7),
        (Metric::BalancedAccuracy, 0.7),
        (Metric::Sensitivity, 0.8),
        (Metric::Specificity, 0.6),
        (Metric::Ppv, 4.0 / 6.0),
        (Metric::Npv, 0.75),
        (Metric::F1, 8.0 / 11.0),
        (Metric::Mcc, (4.0 * 3.0 - 2.0) / (6.0 * 4.0 * 5.0 * 5.0_f64).sqrt()),
        (Metric::NetBenefit, 0.4 - 0.2),
        (Metric::Cost, (2.0 + 5.0) / 10.0),
    ];
    for (metric, value) in expected {
        assert!(near(metric.of(&costly).unwrap(), value), "{metric:?}");
    }
    // From 0.25 on: 4 hits, 4 false alarms, each worth a third of a hit.
    let early = judged.clone().with_threshold(0.25).unwrap();
    assert!(near(Metric::NetBenefit.of(&early).unwrap(), 0.4 - 0.4 / 3.0));
    assert!(near(Metric::Specificity.of(&early).unwrap(), 0.2));
    // The other side of the same calls: 1 hit, 1 false alarm, which costs three hits.
    let sides = Metric::NetBenefit.per_class(&early);
    assert!(near(sides[0].unwrap(), 0.1 - 3.0 * 0.1));
    assert!(near(sides[1].unwrap(), 0.4 - 0.4 / 3.0));
    assert!(near(Metric::Sensitivity.per_class(&early)[0].unwrap(), 0.2));
    // Costs seen from the other class change places.
    assert_eq!(Metric::Cost.per_class(&costly), vec![Ok(0.7), Ok(0.7)]);
    assert_eq!(Metric::Auc.of(&judged), Err(Undefined::NoScores));
}

#[test]
fn what_is_undefined_says_why() {
    let scores = Dense::from_rows(3, 1, vec![-1.0, -2.0, -3.0]);
    let made = Predictions { predicted: vec![0; 3], scores: Some(scores), probabilities: None };
    let one = Judged::new(&[0, 0, 0], 2, &made).unwrap();
    assert_eq!(Metric::Auc.of(&one), Err(Undefined::OneClass));
    assert_eq!(Metric::Sensitivity.of(&one), Err(Undefined::NoRowsOfClass));
    assert_eq!(Metric::Ppv.of(&one), Err(Undefined::NoneCalled));
    assert_eq!(Metric::LogLoss.of(&one), Err(Undefined::NoProbabilities));
    assert_eq!(Metric::BalancedAccuracy.of(&one), Ok(1.0));
    assert!(one.clone().with_threshold(0.5).is_err());
    assert!(one.with_weights(vec![0.0; 3]).is_err());
    let sure = Dense::from_rows(4, 2, vec![0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.4, 0.6]);
    let made = Predictions { predicted: vec![0, 0, 1, 1], scores: None, probabilities: Some(sure) };
    let apart = Judged::new(&[0, 0, 1, 1], 2, &made).unwrap();
    assert_eq!(Metric::CalibrationSlope.of(&apart), Err(Undefined::Separated));
    assert!(apart.with_threshold(1.5).is_err_and(|e| e.to_string().contains("between 0 and 1")));
    let three = case(30, 3, 1);
    assert_eq!(Metric::Cost.of(&three.plain()), Err(Undefined::MoreClasses));
    for bad in ["fp", "fp=x", "tp=1", "fn=-1", "fp=inf"] {
        assert!(Costs::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn every_metric_is_found_by_its_name_and_by_that_of_scikit_learn() {
    for metric in Metric::ALL {
        assert_eq!(Metric::find(metric.name()), Ok(metric));
        assert_eq!(Metric::find(&metric.name().replace('_', "-")), Ok(metric));
        let text = serde_json::to_string(&metric).unwrap();
        assert_eq!(text.trim_matches('"'), metric.name());
    }
    assert_eq!(Metric::find("roc_auc"), Ok(Metric::Auc));
    assert!(Metric::find("acuracy").is_err_and(|e| e.to_string().contains("`accuracy`")));
}

#[test]
fn held_out_predictions_are_put_back_in_the_order_of_the_rows() {
    let all = case(20, 3, 4);
    let part = |rows: &[usize]| {
        let pick = |d: &Option<Dense>| d.as_ref().map(|d| d.select_rows(rows));
        Predictions {
            predicted: rows.iter().map(|&i| all.made.predicted[i]).collect(),
            scores: pick(&all.made.scores),
            probabilities: pick(&all.made.probabilities),
        }
    };
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..20).partition(|i| i % 2 == 0);
    let parts = [(&odd[..], part(&odd)), (&even[..], part(&even))];
    assert_eq!(Predictions::pooled(20, &parts).unwrap(), all.made);
    assert!(Predictions::pooled(21, &parts).is_err());
    assert!(Predictions::pooled(20, &[(&odd[..], part(&odd)), (&odd[..], part(&odd))]).is_err());
}

/// The accuracy of redraws is binomial: its standard deviation is known.
#[test]
fn the_interval_of_accuracy_is_that_of_a_share() {
    let case = case(400, 2, 9);
    let judged = case.plain();
    let share = Metric::Accuracy.of(&judged).unwrap();
    let half = 1.96 * (share * (1.0 - share) / 400.0).sqrt();
    let found = intervals(&judged, &[Metric::Accuracy, Metric::Cost], None, 2000, 0).unwrap();
    let interval = found[0].unwrap();
    // Two thousand redraws place the ends of the interval to about 5 % of its width.
    assert!((interval.low - (share - half)).abs() < 0.2 * half, "{interval:?} {share} {half}");
    assert!((interval.high - (share + half)).abs() < 0.2 * half, "{interval:?} {share} {half}");
    // Rows that come in fours tell a quarter as much: the interval is twice as wide.
    let four = Case {
        truth: (0..1600).map(|i| case.truth[i / 4]).collect(),
        made: Predictions {
            predicted: (0..1600).map(|i| case.made.predicted[i / 4]).collect(),
            ..Predictions::default()
        },
        weights: vec![1.0; 1600],
        classes: 2,
    };
    let groups: Vec<usize> = (0..1600).map(|i| i / 4).collect();
    let wide =
        intervals(&four.plain(), &[Metric::Accuracy], Some(&groups), 2000, 0).unwrap()[0].unwrap();
    assert!((wide.low - interval.low).abs() < 0.2 * half);
    let none = intervals(&four.plain(), &[Metric::Auc, Metric::Accuracy], Some(&[0; 1600]), 50, 0)
        .unwrap();
    assert_eq!(none, vec![None, None]);
}
