//! Trust in single predictions, flips in the terms of a table, and calibrated probabilities.
#![cfg(test)]

use mainstay::Control;
use mainstay::certify::{Attack, Column, Options, Units, certify_columns};
use mainstay::data::Dataset;
use mainstay::folds::generator;
use mainstay::linalg::{Dense, Matrix};
use mainstay::methods;
use mainstay::model::{Linear, Link, Model, TrainingSummary};
use mainstay::trust::{Described, Known, ModelSummary, Refit, Verdict, bootstrap, trust};
use rand::RngExt as _;
use serde_json::json;

/// Two overlapping clouds in the plane, their features in different units.
fn clouds(n: usize, seed: u64) -> Dataset {
    let mut rng = generator(seed);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let mut cells = Vec::new();
    for &label in &labels {
        let side = if label == 1 { 1.0 } else { -1.0 };
        cells.extend([50.0 + 10.0 * (normal() + 0.9 * side), 0.01 * (normal() + 0.5 * side)]);
    }
    Dataset::new(Dense::from_rows(n, 2, cells).into(), labels, 2).unwrap()
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// Two numbers and categories of three and (with a reference) two levels.
fn mixed(classes: usize, seed: u64) -> (Linear, Units, Vec<Vec<f64>>) {
    let mut rng = generator(seed);
    let mut number = || 2.0 * rng.random::<f64>() - 1.0;
    let rows = if classes == 2 { 1 } else { classes };
    let coef = (0..rows).map(|_| (0..6).map(|_| number()).collect()).collect();
    let intercept = (0..rows).map(|_| 0.3 * number()).collect();
    let columns = vec![
        Column::Number(0),
        Column::Category { first: 1, width: 3, reference: false },
        Column::Number(4),
        Column::Category { first: 5, width: 1, reference: true },
    ];
    let means = vec![0.4, 0.2, 0.5, 0.3, -0.1, 0.7];
    let units = Units { means, sizes: vec![2.0, 0.4, 0.5, 0.45, 0.1, 0.5], columns };
    let mut points = Vec::new();
    for level in 0..3 {
        for extra in [0.0, 1.0] {
            let mut row = vec![2.0 * number(), 0.0, 0.0, 0.0, number(), extra];
            row[1 + level] = 1.0;
            points.push(row);
        }
    }
    (Linear { coef, intercept, link: Link::None }, units, points)
}

fn predicted(model: &Linear, row: &[f64]) -> usize {
    let x = Matrix::from(Dense::from_rows(1, row.len(), row.to_vec()));
    Model::Linear(model.clone()).predict(&x).unwrap()[0]
}

/// Least number of columns for which some choice among `options` changes the prediction, by trying all.
fn brute_force(model: &Linear, row: &[f64], options: &[Vec<Vec<(usize, f64)>>]) -> f64 {
    let own = predicted(model, row);
    let mut best = f64::INFINITY;
    let mut states = vec![(row.to_vec(), 0.0)];
    for column in options {
        let mut next = states.clone();
        for (row, count) in &states {
            for change in column {
                let mut moved = row.clone();
                for (j, v) in change {
                    moved[*j] = *v;
                }
                next.push((moved, count + 1.0));
            }
        }
        states = next;
    }
    for (row, count) in states {
        if predicted(model, &row) != own {
            best = best.min(count);
        }
    }
    best
}

#[test]
fn deletions_and_category_flips_are_the_fewest_of_all_choices() {
    for (classes, seed) in (0..30).map(|seed| (2 + (seed % 2) as usize, seed)) {
        let (model, units, points) = mixed(classes, seed);
        let p = points[0].len();
        let x = Matrix::from(Dense::from_fn(points.len(), p, |i, j| points[i][j]));
        let wrapped = Model::Linear(model.clone());
        let (found, flips) =
            certify_columns(&wrapped, &x, &units, &Options::default(), &Control::new()).unwrap();
        let mean = |j: usize| (j, units.means[j]);
        let deletions = [
            vec![vec![mean(0)]],
            vec![vec![mean(1), mean(2), mean(3)]],
            vec![vec![mean(4)]],
            vec![vec![mean(5)]],
        ];
        let level = |k: usize| (1..4).map(|j| (j, f64::from(u8::from(j == k)))).collect();
        let categories = [vec![level(1), level(2), level(3)], vec![vec![(5, 0.0)], vec![(5, 1.0)]]];
        for (i, row) in points.iter().enumerate() {
            assert_eq!(found.deletions[i], brute_force(&model, row, &deletions), "{seed} {i}");
            assert_eq!(flips[i], brute_force(&model, row, &categories), "{seed} {i}");
        }
    }
}

#[test]
fn a_radius_is_reached_by_its_witness_and_by_nothing_smaller() {
    for seed in 0..20 {
        let (model, units, points) = mixed(2, seed);
        let x = Matrix::from(Dense::from_fn(points.len(), 6, |i, j| points[i][j]));
        for attack in [Attack::L2, Attack::L1, Attack::Linf] {
            let options = Options { witness: Some(attack), ..Options::default() };
            let wrapped = Model::Linear(model.clone());
            let (found, _) =
                certify_columns(&wrapped, &x, &units, &options, &Control::new()).unwrap();
            let witness = found.witness.unwrap();
            for (i, row) in points.iter().enumerate() {
                let moved = witness.row(i);
                assert_ne!(predicted(&model, moved), predicted(&model, row));
                // Indicators stay as they are.
                assert!([1, 2, 3, 5].iter().all(|&j| moved[j] == row[j]));
                let steps: Vec<f64> =
                    [0, 4].iter().map(|&j| ((moved[j] - row[j]) / units.sizes[j]).abs()).collect();
                let (size, radius) = match attack {
                    Attack::L1 => (steps[0] + steps[1], found.radius_l1[i]),
                    Attack::Linf => (steps[0].max(steps[1]), found.radius_linf[i]),
                    _ => (steps[0].hypot(steps[1]), found.radius_l2[i]),
                };
                assert!(
                    (size - radius).abs() <= 1e-9 * (1.0 + radius),
                    "{attack:?} {size} {radius}"
                );
                let nearly: Vec<f64> =
                    row.iter().zip(moved).map(|(a, b)| a + 0.999 * (b - a)).collect();
                assert_eq!(predicted(&model, &nearly), predicted(&model, row));
            }
        }
    }
}

#[test]
fn calibration_leaves_out_the_row_it_scores_and_agrees_with_predict() {
    let estimator = |params| methods::find("conic").unwrap().estimator(&params).unwrap();
    let data = clouds(120, 1);
    let plain = estimator(json!({})).fit(&data, &Control::new()).unwrap();
    let fitted = estimator(json!({"calibrate": true})).fit(&data, &Control::new()).unwrap();
    assert!(!plain.model.gives_probabilities() && fitted.model.gives_probabilities());
    let shown = fitted.model.probabilities(data.features()).unwrap().unwrap();
    for (i, class) in fitted.model.predict(data.features()).unwrap().into_iter().enumerate() {
        assert!(shown[(i, class)] >= 0.5);
    }
    // A sigmoid of the scores of the fit to all rows: log odds are a straight line of them.
    let (scores, odds) = (
        plain.model.decision(data.features()).unwrap(),
        fitted.model.decision(data.features()).unwrap(),
    );
    let slope = (odds[(1, 0)] - odds[(0, 0)]) / (scores[(1, 0)] - scores[(0, 0)]);
    assert!(slope > 0.0);
    for i in 0..120 {
        let expected = odds[(0, 0)] + slope * (scores[(i, 0)] - scores[(0, 0)]);
        assert!((odds[(i, 0)] - expected).abs() < 1e-9);
        assert!((shown[(i, 1)] - 1.0 / (1.0 + (-odds[(i, 0)]).exp())).abs() < 1e-12);
    }
}

#[test]
fn a_row_of_weight_two_is_calibrated_as_the_row_twice() {
    let data = clouds(60, 2);
    let twice: Vec<usize> = (0..60).chain(0..20).collect();
    let repeated = data.select_rows(&twice);
    let weights = (0..60).map(|i| if i < 20 { 2.0 } else { 1.0 }).collect();
    let weighted = data.with_weights(weights).unwrap();
    for method in ["conic", "stable-svm", "ellipsoid-svm"] {
        let estimator =
            methods::find(method).unwrap().estimator(&json!({"calibrate": true})).unwrap();
        let a = estimator.fit(&repeated, &Control::new()).unwrap();
        let b = estimator.fit(&weighted, &Control::new()).unwrap();
        assert_eq!(a.model, b.model, "{method}");
    }
}

#[test]
fn from_a_thousand_rows_on_the_map_is_isotonic_and_the_model_still_certified() {
    let data = clouds(1200, 3);
    let estimator =
        methods::find("ellipsoid-svm").unwrap().estimator(&json!({"calibrate": true})).unwrap();
    let fitted = estimator.fit(&data, &Control::new()).unwrap();
    assert!(fitted.model.is_calibrated());
    let p = fitted.model.probabilities(data.features()).unwrap().unwrap();
    // Isotonic regression keeps the mean: the share of the class, up to rows in training.
    let mean = p.column(1).iter().sum::<f64>() / 1200.0;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
    let options = Options { witness: Some(Attack::L2), ..Options::default() };
    let found =
        mainstay::certify::certify_model(&fitted.model, data.features(), &options, &Control::new())
            .unwrap();
    let flipped = fitted.model.predict(&found.witness.unwrap().into()).unwrap();
    assert!(flipped.iter().zip(&found.predicted).all(|(a, b)| a != b));
    let text = serde_json::to_string(&fitted).unwrap();
    assert_eq!(serde_json::from_str::<mainstay::model::Fitted>(&text).unwrap(), fitted);
}

#[test]
fn a_loss_with_probabilities_of_its_own_is_not_calibrated_again() {
    let estimator = methods::find("l2").unwrap().estimator(&json!({"calibrate": true})).unwrap();
    let error = estimator.fit(&clouds(40, 4), &Control::new()).unwrap_err().to_string();
    assert!(error.contains("`calibrate`") && error.contains("of its own"), "{error}");
    let refused = methods::find("robust-logistic").unwrap().estimator(&json!({"calibrate": true}));
    assert!(refused.map(|_| ()).unwrap_err().to_string().contains("not a parameter"));
}

fn judged(data: &Dataset, x: &Matrix, with_rows: bool) -> mainstay::trust::RowTrust {
    let method = methods::find("l2").unwrap();
    let refit = Refit { method, params: &json!({}), standardized: true, imputed: false };
    let fitted = refit.fit(data, &Control::new()).unwrap().remember(data, true).unwrap();
    let ranges = fitted.training.as_ref().unwrap().features.clone().unwrap();
    let units = Units {
        means: ranges.means,
        sizes: ranges.deviations,
        columns: vec![Column::Number(0), Column::Number(1)],
    };
    let known = Known {
        training: with_rows.then_some((refit, data)),
        refits: 50,
        seed: 0,
        errors: None,
        units: Some(&units),
    };
    let (features, classes) = (names(&["weight", "size"]), names(&["no", "yes"]));
    trust(&fitted, &features, &classes, x, &known, &Control::new()).unwrap()
}

#[test]
fn rows_far_away_near_the_boundary_and_well_inside_get_different_words() {
    let data = clouds(400, 5);
    let x = Matrix::from(Dense::from_rows(
        4,
        2,
        // The middle, deep in class 1, far beyond everything, and against the units of the second feature.
        vec![50.0, 0.0, 66.0, 0.015, 500.0, 0.0, 50.0, 1.0],
    ));
    let found = judged(&data, &x, true);
    let words = [Verdict::CloseCall, Verdict::Stands, Verdict::Unlike, Verdict::Unlike];
    assert_eq!(found.verdict, words, "{:?}", found.reasons);
    assert_eq!(found.outside, [vec![], vec![], vec![0], vec![1]]);
    assert!(found.reasons[2].contains("weight"), "{}", found.reasons[2]);
    let (low, high) = (found.probability_low.unwrap()[1], found.probability_high.unwrap()[1]);
    assert!(low <= found.probability.unwrap()[1] && low <= high);
    assert!(found.agreement.unwrap()[1] > 0.99);
    let alone = judged(&data, &x, false);
    assert!(alone.p_values.is_none() && alone.agreement.is_none());
    assert_eq!(alone.verdict[1..], words[1..]);
}

/// Rows of the same kind get a p-value of their own class of at most 10 % in about 10 % of the cases. With 2000 new rows
/// the share has a standard deviation of 0.7 %, the calibration rows (200 per class) add 2 %.
#[test]
fn p_values_of_the_true_class_are_evenly_spread() {
    let (data, new) = (clouds(400, 6), clouds(2000, 7));
    let p = judged(&data, new.features(), true).p_values.unwrap();
    for level in [0.1, 0.3, 0.5] {
        let below = (0..2000).filter(|&i| p[(i, new.labels()[i])] <= level).count();
        let share = below as f64 / 2000.0;
        assert!((share - level).abs() < 0.08, "{level}: {share}");
    }
}

#[test]
fn too_few_rows_for_a_level_are_told_with_the_smallest_p_value() {
    let data = clouds(30, 8);
    let found = judged(&data, data.features(), true);
    let note = found.notes.iter().find(|text| text.contains("takes 19")).unwrap();
    assert!(note.contains("`no` (15 rows, smallest p-value 0.06)"), "{note}");
}

#[test]
fn refits_are_the_same_on_any_number_of_threads_and_give_intervals() {
    let data = clouds(200, 9);
    let method = methods::find("l2").unwrap();
    let params = json!({});
    let refit = Refit { method, params: &params, standardized: true, imputed: false };
    let run =
        |threads| bootstrap(refit, &data, 40, 3, &Control::new().with_threads(threads)).unwrap();
    let refits = run(1);
    assert_eq!(refits, run(2));
    let fitted = refit.fit(&data, &Control::new()).unwrap().remember(&data, true).unwrap();
    let (features, classes) = (names(&["weight", "size"]), names(&["no", "yes"]));
    let described = Described {
        method,
        params: &params,
        classes: &classes,
        features: &features,
        target: Some("ill"),
        encoder: None,
        fitted: &fitted,
        claimed: false,
    };
    let summary = ModelSummary::new(&described, &refits);
    // The rows were standardised: "normalize false" beside it would read as if they had not been.
    assert!(!summary.text().contains("normalize"), "{}", summary.text());
    assert!(summary.assumptions.iter().any(|a| a.name == "normalize"));
    let first = &summary.coefficients[0].features[0];
    let steady = first.steadiness.unwrap();
    assert!(steady.low < first.weight && first.weight < steady.high && steady.same_sign > 0.95);
    assert!((first.odds_ratio.unwrap() - first.weight.exp()).abs() < 1e-12);
    let summary_rows = TrainingSummary::learn(&data).unwrap();
    let deviation = summary_rows.features.unwrap().deviations[0];
    assert!((first.per_sd.unwrap() - first.weight * deviation).abs() < 1e-12);
    let text = summary.text();
    for part in
        ["`yes` (positive) against `no`", "200 rows (100 no, 100 yes)", "(intercept)", "40 refits"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert!(summary.markdown().contains("| weight |"));
}

#[test]
fn where_no_prediction_stands_the_reason_is_told_once_for_all() {
    let mut data = clouds(80, 11);
    // Labels dealt without a look at the features: no class can be ruled out.
    let dealt = (0..80).map(|i| (i / 2) % 2).collect();
    data = Dataset::new(data.features().clone(), dealt, 2).unwrap();
    let method = methods::find("l2").unwrap();
    let params = json!({});
    let refit = Refit { method, params: &params, standardized: true, imputed: false };
    let fitted = refit.fit(&data, &Control::new()).unwrap().remember(&data, true).unwrap();
    let known =
        Known { training: Some((refit, &data)), refits: 20, seed: 1, errors: None, units: None };
    let (features, classes) = (names(&["weight", "size"]), names(&["no", "yes"]));
    let judge = |known: &Known<'_>| {
        trust(&fitted, &features, &classes, data.features(), known, &Control::new()).unwrap()
    };
    let found = judge(&known);
    let stand = found.verdict.iter().filter(|v| **v == Verdict::Stands).count();
    let told = found.notes.iter().any(|n| n.starts_with("no prediction stands"));
    assert_eq!(told, stand == 0, "{stand} {:?}", found.notes);
    let alone = judge(&Known { training: None, ..known });
    assert!(!alone.notes.iter().any(|n| n.starts_with("no prediction stands")));
}
