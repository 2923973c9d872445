//! Robust logistic regression against the plain one, simulation, independent minimisers and its own promises.
#![expect(clippy::unwrap_used, clippy::cast_lossless, reason = "tests stop at the first surprise")]

use mainstay::data::{Dataset, RowUncertainty};
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Model};
use mainstay::penalized::{Alpha, PenalizedParams};
use mainstay::robust::{Correction, PerFeature, RobustLogisticParams, Strength, WrongLabels};
use mainstay::{Control, Error, Status};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn normal(r: &mut impl Rng) -> f64 {
    StandardNormal.sample(r)
}

/// Correlated features, a logistic truth, and labels of which some are wrong.
fn sample(n: usize, p: usize, seed: u64) -> (Dense, Vec<usize>) {
    let mut r = ChaCha8Rng::seed_from_u64(seed);
    let beta: Vec<f64> = (0..p).map(|_| normal(&mut r)).collect();
    let mut x = Dense::zeros(n, p);
    let mut labels = Vec::new();
    for i in 0..n {
        let common = normal(&mut r);
        for j in 0..p {
            x[(i, j)] = 0.7 * common + 0.7 * normal(&mut r);
        }
        let score: f64 = x.row(i).iter().zip(&beta).map(|(x, b)| x * b).sum();
        labels.push(usize::from(r.random_bool(1.0 / (1.0 + (0.3 - 1.5 * score).exp()))));
    }
    (x, labels)
}

fn holes(x: &Dense, share: f64, seed: u64) -> Dense {
    let mut r = ChaCha8Rng::seed_from_u64(seed);
    Dense::from_fn(
        x.nrows(),
        x.ncols(),
        |i, j| {
            if r.random_bool(share) { f64::NAN } else { x[(i, j)] }
        },
    )
}

fn fixed(alpha: f64) -> RobustLogisticParams {
    RobustLogisticParams { alpha: Strength::Fixed(alpha), ..Default::default() }
}

fn fit(params: RobustLogisticParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn coefficients(fitted: &Fitted) -> (Vec<f64>, f64) {
    let Model::GaussianLinear(m) = &fitted.model else { panic!("a linear model was expected") };
    (m.linear.coef[0].clone(), m.linear.intercept[0])
}

#[test]
fn nothing_stated_is_the_penalised_logistic_regression() {
    let (x, labels) = sample(120, 5, 1);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    for correction in [Correction::After, Correction::Backward, Correction::Forward] {
        let found = fit(RobustLogisticParams { correction, tol: 1e-11, ..fixed(0.02) }, &data);
        let plain = PenalizedParams { alpha: Alpha::Fixed(0.02), tol: 1e-11, ..Default::default() };
        let plain = plain.check().unwrap().fit(&data, &Control::new()).unwrap();
        let difference = found.certificates[0].primal - plain.certificates[0].primal;
        assert!(difference.abs() < 1e-9, "{difference}");
        let (w, b) = coefficients(&found);
        let linear = plain.model.linear().unwrap();
        // Both are within 1e-11 of the optimum of a 0.02-strongly convex problem.
        for (a, c) in w.iter().zip(&linear.coef[0]) {
            assert!((a - c).abs() < 1e-4);
        }
        assert!((b - linear.intercept[0]).abs() < 1e-4);
    }
}

/// A million draws of the stated damage give the expected loss to a few standard errors.
#[test]
fn the_objective_is_the_loss_under_simulated_damage() {
    let (x, labels) = sample(40, 3, 2);
    let data = Dataset::new(x.clone().into(), labels.clone(), 2).unwrap();
    let missing = PerFeature::Each(vec![0.4, 0.0, 0.2]);
    // Features that know nothing of each other: a lost one is at its mean.
    let params = RobustLogisticParams { missing, feature_model: false, ..fixed(0.05) };
    let found = fit(params, &data);
    let (w, b) = coefficients(&found);
    let means: Vec<f64> = (0..3).map(|j| x.column(j).iter().sum::<f64>() / 40.0).collect();
    let mut r = ChaCha8Rng::seed_from_u64(3);
    let draws = 25_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for i in 0..40 {
        let y = if labels[i] == 1 { 1.0 } else { -1.0 };
        for _ in 0..draws {
            // The stated damage up to two moments: a normal margin of the same mean and variance.
            let (mut mean, mut variance) = (b, 0.0);
            for (j, q) in [0.4, 0.0, 0.2].into_iter().enumerate() {
                let away = x[(i, j)] - means[j];
                mean += w[j] * (means[j] + (1.0 - q) * away);
                variance += w[j] * w[j] * q * (1.0 - q) * away * away;
            }
            let margin: f64 = y * (mean + variance.sqrt() * normal(&mut r));
            let loss = (-margin).max(0.0) + (-margin.abs()).exp().ln_1p();
            sum += loss;
            squares += loss * loss;
        }
    }
    let count = 40.0 * f64::from(draws);
    let mean = sum / count;
    let error = ((squares / count - mean * mean) / count).sqrt();
    let penalty: f64 = 0.025 * w.iter().map(|v| v * v).sum::<f64>();
    assert!((found.certificates[0].primal - mean - penalty).abs() < 5.0 * error);
}

/// No point around the answer, near or far, is below the proven bound: the problem is convex and the bound holds
/// for all.
#[test]
fn no_point_is_below_the_certificate() {
    let (x, labels) = sample(80, 4, 4);
    let x = holes(&x, 0.2, 5);
    let errors = Dense::from_fn(80, 4, |i, j| 0.1 * ((i + j) % 4) as f64);
    let data = Dataset::with_gaps(x.into(), labels, 2)
        .unwrap()
        .with_uncertainty(RowUncertainty::Axes(errors))
        .unwrap();
    let base = RobustLogisticParams {
        missing: PerFeature::Same(0.2),
        wrong_labels: WrongLabels::Pair([0.05, 0.1]),
        correction: Correction::Backward,
        ..fixed(0.02)
    };
    let good = fit(RobustLogisticParams { tol: 1e-12, ..base.clone() }, &data);
    assert_eq!(good.status(), Status::Certified);
    let optimum = good.certificates[0].primal;
    for max_iter in 1..6 {
        let rough = fit(RobustLogisticParams { max_iter, tol: 1e-12, ..base.clone() }, &data);
        let interval = rough.certificates[0];
        assert!(interval.primal >= optimum - 1e-11, "{max_iter}");
        assert!(interval.dual <= optimum + 1e-11, "{max_iter}: {} {optimum}", interval.dual);
    }
}

#[test]
fn a_row_with_nothing_measured_gets_about_the_base_rate() {
    let (x, labels) = sample(400, 4, 6);
    let rate = labels.iter().sum::<usize>() as f64 / 400.0;
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(fixed(1e-3), &data);
    let nothing = Dense::from_rows(1, 4, vec![f64::NAN; 4]);
    let p = found.model.probabilities(&nothing.into()).unwrap().unwrap();
    // The average over a normal distribution of the rows instead of the rows themselves.
    assert!((p[(0, 1)] - rate).abs() < 0.03, "{} {rate}", p[(0, 1)]);
    assert!((p[(0, 0)] + p[(0, 1)] - 1.0).abs() < 1e-12);
}

/// With 30 % of the positives labelled negative, plain probabilities are too low; all corrections repair that.
/// The average of the logistic function over a normal score, by the trapezoidal rule.
fn averaged(score: f64, variance: f64) -> f64 {
    let (mut sum, mut mass) = (0.0, 0.0);
    for k in -4000..=4000 {
        let z = f64::from(k) * 0.0025;
        let weight = (-0.5 * z * z).exp();
        sum += weight / (1.0 + (-(score + variance.sqrt() * z)).exp());
        mass += weight;
    }
    sum / mass
}

/// A row as inexact as stated is judged where the fit has seen such rows; only a row that is more open is averaged over.
#[test]
fn only_what_is_open_beyond_the_stated_errors_is_averaged_over() {
    let (x, labels) = sample(150, 4, 21);
    let data = Dataset::new(x.clone().into(), labels, 2).unwrap();
    let stated = PerFeature::Same(0.8);
    let found = fit(RobustLogisticParams { errors: Some(stated), ..fixed(0.02) }, &data);
    let Model::GaussianLinear(model) = &found.model else { panic!("a linear model was expected") };
    let (w, b) = coefficients(&found);
    let few = x.select_rows(&[0, 1, 2]);
    let errors = |sd: f64| Dense::from_rows(1, 4, vec![sd; 4]);
    let usual = model.features.posterior(&few, Some(&errors(0.8))).unwrap().scatters[0].form(&w);
    for sd in [0.2, 0.8, 1.6] {
        let posterior = model.features.posterior(&few, Some(&errors(sd))).unwrap();
        let open = (posterior.scatters[0].form(&w) - usual).max(0.0);
        assert_eq!(open > 0.0, sd > 0.8);
        let nothing = model.unmeasured[0];
        let found = model.probabilities(&few.clone().into(), Some(&errors(sd))).unwrap();
        for i in 0..3 {
            let mean = posterior.mean.row(i);
            let score = b + mean.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
            let p = averaged(score, open);
            let odds = (p / (1.0 - p)).ln() + nothing.shift * open / nothing.variance;
            assert!((found[(i, 1)] - 1.0 / (1.0 + (-odds).exp())).abs() < 1e-7, "{sd}");
        }
    }
}

/// For two features the open part of rows damaged as stated, by hand: with D = (e^2 + q s)/(1 - q) added to the
/// variances s of what is seen, S - S (S + D)^-1 S.
#[test]
fn the_variance_a_fit_has_met_is_that_of_the_best_linear_reconstruction() {
    let (x, labels) = sample(120, 2, 22);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let (e, q) = ([0.5, 0.0], [0.3, 0.1]);
    let params = RobustLogisticParams {
        errors: Some(PerFeature::Each(e.to_vec())),
        missing: PerFeature::Each(q.to_vec()),
        ..fixed(0.02)
    };
    let found = fit(params, &data);
    let Model::GaussianLinear(model) = &found.model else { panic!("a linear model was expected") };
    let s = model.features.covariance();
    let added = |j: usize| (e[j] * e[j] + q[j] * s[(j, j)]) / (1.0 - q[j]);
    let (a, c, d) = (s[(0, 0)] + added(0), s[(0, 1)], s[(1, 1)] + added(1));
    let w = &model.linear.coef[0];
    let pulled = [s[(0, 0)] * w[0] + c * w[1], c * w[0] + s[(1, 1)] * w[1]];
    let det = a * d - c * c;
    let explained = (d * pulled[0] * pulled[0] - 2.0 * c * pulled[0] * pulled[1]
        + a * pulled[1] * pulled[1])
        / det;
    let expected = w[0] * pulled[0] + w[1] * pulled[1] - explained;
    assert!((model.met[0] - expected).abs() < 1e-9 * expected, "{:?} {expected}", model.met);
}

/// Fits of very many rows start from a few of them.
#[test]
fn the_start_from_few_rows_leads_to_the_optimum_of_all() {
    let (x, labels) = sample(3000, 3, 23);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(RobustLogisticParams { tol: 1e-11, ..fixed(0.01) }, &data);
    let plain = PenalizedParams { alpha: Alpha::Fixed(0.01), tol: 1e-11, ..Default::default() };
    let plain = plain.check().unwrap().fit(&data, &Control::new()).unwrap();
    let difference = found.certificates[0].primal - plain.certificates[0].primal;
    assert!(difference.abs() < 1e-10, "{difference}");
}

#[test]
fn corrected_probabilities_are_those_of_the_true_classes() {
    let (x, truth) = sample(6000, 3, 7);
    let mut r = ChaCha8Rng::seed_from_u64(8);
    let labels: Vec<usize> =
        truth.iter().map(|&t| if t == 1 && r.random_bool(0.3) { 0 } else { t }).collect();
    let rate = truth.iter().sum::<usize>() as f64 / 6000.0;
    let data = Dataset::new(x.clone().into(), labels.clone(), 2).unwrap();
    for correction in [Correction::After, Correction::Backward, Correction::Forward] {
        let wrong_labels = WrongLabels::Pair([0.0, 0.3]);
        let found = fit(RobustLogisticParams { correction, wrong_labels, ..fixed(1e-4) }, &data);
        let p = found.model.probabilities(&x.clone().into()).unwrap().unwrap();
        let mean = p.column(1).iter().sum::<f64>() / 6000.0;
        assert!((mean - rate).abs() < 0.03, "{correction:?}: {mean} {rate}");
        assert_eq!(found.status() == Status::NoCertificate, correction == Correction::Forward);
        let Some(mainstay::model::Output::Vector(right)) = found.outputs.get("label_posterior")
        else {
            panic!("label_posterior is missing");
        };
        // No negative was labelled positive, so that a positive label is always right.
        for i in 0..6000 {
            assert!((0.0..=1.0).contains(&right[i]));
            assert!(labels[i] == 0 || (right[i] - 1.0).abs() < 1e-12);
        }
        let wrong: Vec<f64> =
            (0..6000).filter(|&i| labels[i] != truth[i]).map(|i| right[i]).collect();
        let kept: Vec<f64> =
            (0..6000).filter(|&i| labels[i] == 0 && truth[i] == 0).map(|i| right[i]).collect();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        assert!(mean(&wrong) < mean(&kept) - 0.1);
    }
}

#[test]
fn weights_count_like_repeated_rows() {
    let (x, labels) = sample(60, 3, 9);
    let x = holes(&x, 0.1, 10);
    let twice: Vec<usize> = (0..60).flat_map(|i| vec![i; i % 3]).collect();
    let repeated = Dataset::with_gaps(
        x.select_rows(&twice).into(),
        twice.iter().map(|&i| labels[i]).collect(),
        2,
    )
    .unwrap();
    let weights = (0..60).map(|i| (i % 3) as f64).collect();
    let weighted = Dataset::with_gaps(x.into(), labels, 2).unwrap().with_weights(weights).unwrap();
    let params = RobustLogisticParams { missing: PerFeature::Same(0.1), ..Default::default() };
    let (a, b) = (fit(params.clone(), &repeated), fit(params, &weighted));
    assert_eq!(coefficients(&a), coefficients(&b));
}

#[test]
fn many_features_need_no_square_matrix() {
    let (x, labels) = sample(30, 900, 11);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(RobustLogisticParams { missing: PerFeature::Same(0.1), ..fixed(1.0) }, &data);
    assert_eq!(found.status(), Status::Certified);
}

#[test]
fn more_than_two_classes_are_told_apart() {
    let mut r = ChaCha8Rng::seed_from_u64(12);
    let x = Dense::from_fn(150, 2, |i, j| {
        [[0.0, 3.0], [3.0, 0.0], [-3.0, -3.0]][i % 3][j] + normal(&mut r)
    });
    let labels: Vec<usize> = (0..150).map(|i| i % 3).collect();
    let data = Dataset::new(x.clone().into(), labels.clone(), 3).unwrap();
    let found =
        fit(RobustLogisticParams { wrong_labels: WrongLabels::Share(0.1), ..fixed(0.01) }, &data);
    let hits = found.model.predict(&x.clone().into()).unwrap();
    assert!(hits.iter().zip(&labels).filter(|(a, b)| a == b).count() > 140);
    let p = found.model.probabilities(&x.into()).unwrap().unwrap();
    assert!((0..150).all(|i| (p.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-9));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bad = |params: RobustLogisticParams| params.check().map(|_| ()).unwrap_err().to_string();
    let stated = |wrong_labels| RobustLogisticParams { wrong_labels, ..Default::default() };
    assert!(bad(stated(WrongLabels::Share(0.5))).contains("wrong_labels"));
    assert!(bad(stated(WrongLabels::Pair([0.6, 0.4]))).contains("wrong_labels"));
    let missing = PerFeature::Same(1.0);
    assert!(bad(RobustLogisticParams { missing, ..Default::default() }).contains("missing"));
    let errors = Some(PerFeature::Each(vec![0.1, -0.1]));
    assert!(bad(RobustLogisticParams { errors, ..Default::default() }).contains("errors"));
    // A tenth of the rows is labelled positive, but 30 % of the negatives are said to be: impossible.
    let x = Dense::from_fn(40, 1, |i, _| i as f64);
    let labels = (0..40).map(|i| usize::from(i < 4)).collect();
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let params = RobustLogisticParams {
        wrong_labels: WrongLabels::Pair([0.3, 0.0]),
        correction: Correction::Backward,
        ..fixed(0.1)
    };
    let error = params.check().unwrap().fit(&data, &Control::new()).unwrap_err();
    assert!(matches!(error, Error::Infeasible(_)), "{error}");
}
