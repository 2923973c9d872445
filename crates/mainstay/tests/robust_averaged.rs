//! The average of calibrated forward fits: what it keeps, what it gains, and what it refuses.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use mainstay::data::{Dataset, RowUncertainty};
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Model, Output};
use mainstay::robust::{
    Correction, PerFeature, Protect, RobustLogisticParams, Strength, WrongLabels,
};
use mainstay::{Control, Error, Status};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn normal(r: &mut impl Rng) -> f64 {
    StandardNormal.sample(r)
}

/// Correlated features, `classes` from scores along their sum, and a share of labels that are wrong: rows, labels, truth.
fn sample(
    n: usize,
    p: usize,
    classes: usize,
    wrong: f64,
    seed: u64,
) -> (Dense, Vec<usize>, Vec<usize>) {
    let mut r = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Dense::zeros(n, p);
    let (mut labels, mut truth) = (Vec::new(), Vec::new());
    for i in 0..n {
        let common = normal(&mut r);
        for j in 0..p {
            x[(i, j)] = 0.8 * common + 0.6 * normal(&mut r);
        }
        let score = common + 0.3 * x[(i, 0)] + 0.4 * normal(&mut r);
        let own = (0..classes - 1).filter(|&k| score > k as f64 * 0.8 - 0.2).count();
        truth.push(own);
        let other = (own + 1 + r.random_range(0..classes - 1)) % classes;
        labels.push(if r.random_bool(wrong) { other } else { own });
    }
    (x, labels, truth)
}

fn averaged(wrong: f64) -> RobustLogisticParams {
    RobustLogisticParams {
        wrong_labels: WrongLabels::Share(wrong),
        correction: Correction::Averaged,
        ..Default::default()
    }
}

fn fit(params: RobustLogisticParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn planes(fitted: &Fitted) -> Vec<f64> {
    let Model::GaussianLinear(m) = &fitted.model else { panic!("a linear model was expected") };
    let mut all = m.linear.coef.concat();
    all.extend(&m.linear.intercept);
    all
}

fn assert_close(a: &Fitted, b: &Fitted, tolerance: f64) {
    for (a, b) in planes(a).iter().zip(planes(b)) {
        assert!((a - b).abs() < tolerance, "{a} {b}");
    }
}

fn columns(fitted: &Fitted) -> Vec<(String, Output)> {
    let Output::Table(table) = &fitted.outputs["cv_results"] else {
        panic!("a table was expected")
    };
    table.clone()
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let (x, labels, _) = sample(60, 3, 2, 0.2, 1);
    let weights: Vec<f64> = (0..60).map(|i| f64::from(1 + i32::from(i % 4 == 0))).collect();
    let twice: Vec<usize> = (0..60).chain((0..60).step_by(4)).collect();
    let repeated: Vec<usize> = twice.iter().map(|&i| labels[i]).collect();
    let copies = Dataset::new(x.select_rows(&twice).into(), repeated, 2).unwrap();
    let weighted = Dataset::new(x.into(), labels, 2).unwrap().with_weights(weights).unwrap();
    assert_close(&fit(averaged(0.2), &weighted), &fit(averaged(0.2), &copies), 1e-8);
}

#[test]
fn every_number_of_threads_gives_the_same_bits() {
    let (x, labels, _) = sample(80, 4, 3, 0.2, 2);
    let data = Dataset::new(x.into(), labels, 3).unwrap();
    let run = |threads: usize| {
        let control = Control::new().with_threads(threads);
        let found = averaged(0.2).check().unwrap().fit(&data, &control).unwrap();
        planes(&found).iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
    };
    assert_eq!(run(1), run(3));
    assert_eq!(run(1).len(), 15);
}

#[test]
fn nothing_is_claimed_and_every_candidate_is_listed() {
    let (x, labels, _) = sample(100, 4, 2, 0.2, 3);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(RobustLogisticParams { n_alphas: 7, ..averaged(0.2) }, &data);
    assert_eq!(found.status(), Status::NoCertificate);
    let table = columns(&found);
    let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..3], ["param_prior", "param_row_weights", "param_alpha"]);
    let of = |wanted: &str| table.iter().find(|(name, _)| name == wanted).unwrap().1.clone();
    let Output::Vector(weights) = of("weight") else { panic!("numbers were expected") };
    assert_eq!(weights.len(), 28);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    // One strength of each path at most.
    assert!(weights.chunks(7).all(|path| path.iter().filter(|w| **w > 0.0).count() <= 1));
    let Output::Vector(alphas) = of("param_alpha") else { panic!("numbers were expected") };
    let Output::Number(alpha) = found.outputs["alpha"] else { panic!("a number was expected") };
    let most = (0..28).reduce(|a, b| if weights[b] > weights[a] { b } else { a }).unwrap();
    assert_eq!(alphas[most], alpha);
    let Output::Vector(right) = &found.outputs["label_posterior"] else { panic!("numbers") };
    assert!(right.len() == 100 && right.iter().all(|p| (0.0..=1.0).contains(p)));
}

/// Where labels are wrong at the stated rate the probabilities of the true classes are better than those of the forward fit.
#[test]
fn probabilities_are_better_than_those_of_the_forward_fit() {
    let mut sums = [0.0; 2];
    for seed in 0..8 {
        let (x, labels, _) = sample(120, 8, 2, 0.25, 10 + seed);
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let (test, _, truth) = sample(1000, 8, 2, 0.0, 500 + seed);
        for (k, correction) in [Correction::Averaged, Correction::Forward].into_iter().enumerate() {
            let found = fit(RobustLogisticParams { correction, ..averaged(0.25) }, &data);
            let p = found.model.probabilities(&test.clone().into()).unwrap().unwrap();
            let loss = |i: usize| -p[(i, truth[i])].max(1e-9).ln() / 1000.0;
            sums[k] += (0..1000).map(loss).sum::<f64>();
        }
    }
    assert!(sums[0] < sums[1], "{sums:?}");
}

#[test]
fn more_than_two_classes_cells_that_are_missing_and_wide_tables_are_fitted() {
    let (x, labels, truth) = sample(90, 4, 3, 0.1, 4);
    let holes = Dense::from_fn(90, 4, |i, j| if (i + j) % 6 == 0 { f64::NAN } else { x[(i, j)] });
    let data = Dataset::with_gaps(holes.clone().into(), labels, 3).unwrap();
    let found = fit(averaged(0.1), &data);
    let p = found.model.probabilities(&holes.into()).unwrap().unwrap();
    let right = (0..90).filter(|&i| (0..3).all(|k| p[(i, truth[i])] >= p[(i, k)])).count();
    assert!(right > 55, "{right}");

    let (x, labels, _) = sample(40, 70, 2, 0.1, 5);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    assert!(planes(&fit(averaged(0.1), &data)).iter().all(|v| v.is_finite()));
    let homogeneous = fit(RobustLogisticParams { fit_intercept: false, ..averaged(0.1) }, &data);
    assert_eq!(planes(&homogeneous)[70], 0.0);
}

/// The average does not jump where the stated rate goes to zero.
#[test]
fn a_rate_of_zero_is_the_limit_of_small_rates() {
    let (x, labels, _) = sample(80, 3, 2, 0.0, 6);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let tight = |wrong: f64| RobustLogisticParams { tol: 1e-10, ..averaged(wrong) };
    assert_close(&fit(tight(0.0), &data), &fit(tight(1e-9), &data), 1e-3);
}

/// Errors of the training rows are averaged out before: they enter by the posterior means alone.
#[test]
fn errors_of_training_rows_are_taken() {
    let (x, labels, _) = sample(60, 3, 2, 0.1, 7);
    let errors = Dense::from_fn(60, 3, |i, j| 0.2 * ((i + j) % 3) as f64);
    let data = Dataset::new(x.into(), labels, 2)
        .unwrap()
        .with_uncertainty(RowUncertainty::Axes(errors))
        .unwrap();
    assert!(planes(&fit(averaged(0.1), &data)).iter().all(|v| v.is_finite()));
}

#[test]
fn what_it_does_not_go_with_is_refused_by_name() {
    let refused = |params: RobustLogisticParams| params.check().unwrap_err().to_string();
    let base = || averaged(0.1);
    let fixed = RobustLogisticParams { alpha: Strength::Fixed(0.1), ..base() };
    let errors = RobustLogisticParams { errors: Some(PerFeature::Same(0.1)), ..base() };
    let missing = RobustLogisticParams { missing: PerFeature::Each(vec![0.0, 0.1]), ..base() };
    let worst = RobustLogisticParams { protect: Protect::Worst, ..base() };
    for (params, name, way) in [
        (fixed, "alpha", "forward"),
        (errors, "errors", "forward"),
        (missing, "missing", "forward"),
        (worst, "correction", "backward"),
    ] {
        let text = refused(params);
        assert!(text.contains(name) && text.contains(way), "{text}");
    }
    assert!(RobustLogisticParams { errors: Some(PerFeature::Same(0.0)), ..base() }.check().is_ok());
}

#[test]
fn an_interrupt_ends_the_fit() {
    let (x, labels, _) = sample(60, 3, 2, 0.1, 8);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let control = Control::new();
    control.cancel();
    let found = averaged(0.1).check().unwrap().fit(&data, &control);
    assert!(matches!(found, Err(Error::Interrupted)));
}
