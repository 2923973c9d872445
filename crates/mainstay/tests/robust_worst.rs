//! The worst case of the robust logistic regression against the methods it contains, a conic solver, and refusals.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use clarabel::solver::SupportedConeT;
use mainstay::data::{Dataset, RowUncertainty, Shape};
use mainstay::ellipsoid::EllipsoidParams;
use mainstay::linalg::Dense;
use mainstay::missing::MissingFeatureSvcParams;
use mainstay::model::{Estimator, Fitted};
use mainstay::robust::{
    Correction, PerFeature, Protect, RobustLogisticParams, Strength, WorstLoss, WrongLabels,
};
use mainstay::stable::{StableLogisticParams, StableSvcParams};
use mainstay::uncertainty::K;
use mainstay::{Control, Error};
use mainstay_testkit::cone::Program;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn normal(r: &mut impl Rng) -> f64 {
    StandardNormal.sample(r)
}

/// Rows of mean zero and labels that follow two of the features.
fn sample(n: usize, p: usize, noise: f64, seed: u64) -> (Dense, Vec<usize>) {
    let mut r = ChaCha8Rng::seed_from_u64(seed);
    let mut x = Dense::from_fn(n, p, |_, _| normal(&mut r));
    for j in 0..p {
        let mean = x.column(j).iter().sum::<f64>() / n as f64;
        (0..n).for_each(|i| x[(i, j)] -= mean);
    }
    let score = |i: usize| 1.5 * x[(i, 0)] - x[(i, 1)] + 0.2;
    let labels = (0..n).map(|i| usize::from(score(i) + noise * normal(&mut r) > 0.0)).collect();
    (x, labels)
}

fn data(x: &Dense, labels: &[usize]) -> Dataset {
    Dataset::new(x.clone().into(), labels.to_vec(), 2).unwrap()
}

fn worst(alpha: f64) -> RobustLogisticParams {
    RobustLogisticParams {
        alpha: Strength::Fixed(alpha),
        protect: Protect::Worst,
        tol: 1e-8,
        ..Default::default()
    }
}

fn fit(params: RobustLogisticParams, data: &Dataset) -> Fitted {
    let fitted = params.check().unwrap().fit(data, &Control::new()).unwrap();
    assert!(fitted.dual_gap().is_some_and(|gap| gap <= 1e-7), "{:?}", fitted.certificates);
    fitted
}

fn objective(fitted: &Fitted) -> f64 {
    fitted.certificates[0].primal
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let difference = (found - expected) / expected.abs().max(1.0);
    assert!(difference.abs() < 1e-6, "{what}: {found} {expected}");
}

#[test]
fn errors_alone_are_the_ellipsoid_svm() {
    for (seed, c) in [(1, 0.1), (2, 1.0), (3, 10.0)] {
        let (n, p) = (60, 4);
        let (x, labels) = sample(n, p, 0.8, seed);
        let alpha = 1.0 / (c * n as f64);
        let mut r = ChaCha8Rng::seed_from_u64(seed);
        let axes = Dense::from_fn(n, p, |_, _| r.random_range(0.0..0.5));
        let own = data(&x, &labels).with_uncertainty(RowUncertainty::Axes(axes)).unwrap();
        let shared = vec![0.3, 0.0, 0.1, 0.2];
        let ellipsoid = EllipsoidParams {
            c,
            uncertainty: Shape::Axes(shared.clone()),
            tol: 1e-8,
            ..Default::default()
        };
        let ellipsoid = ellipsoid.check().unwrap();
        for data in [own, data(&x, &labels)] {
            let params = RobustLogisticParams {
                loss: WorstLoss::Hinge,
                errors: Some(PerFeature::Each(shared.clone())),
                ..worst(alpha)
            };
            let expected = objective(&ellipsoid.fit(&data, &Control::new()).unwrap());
            assert_close(objective(&fit(params, &data)), expected * alpha, "ellipsoid");
        }
    }
}

/// One cone for all rows, or one for each with the same half-axes.
#[test]
fn shared_half_axes_are_the_same_ellipsoid_around_every_row() {
    let (n, p) = (70, 4);
    let (x, labels) = sample(n, p, 0.8, 31);
    let shared = vec![0.2, 0.0, 0.1, 0.15];
    let each = Dense::from_fn(n, p, |_, j| shared[j]);
    let each = data(&x, &labels).with_uncertainty(RowUncertainty::Axes(each)).unwrap();
    for loss in [WorstLoss::Logistic, WorstLoss::Hinge] {
        for worst_share in [1.0, 0.6] {
            for missing in [0.0, 0.2] {
                let params = RobustLogisticParams {
                    loss,
                    worst_share,
                    missing: PerFeature::Same(missing),
                    ..worst(0.02)
                };
                let expected = objective(&fit(params.clone(), &each));
                let errors = Some(PerFeature::Each(shared.clone()));
                let found = fit(RobustLogisticParams { errors, ..params }, &data(&x, &labels));
                assert_close(objective(&found), expected, "shared");
            }
        }
    }
}

#[test]
fn the_worst_share_alone_is_the_stable_fit() {
    for (seed, share) in [(1, 0.5), (2, 0.8), (3, 0.95)] {
        let n = 80;
        let (x, labels) = sample(n, 3, 0.7, seed);
        let data = data(&x, &labels);
        let k = share * n as f64;
        let svm =
            StableSvcParams { k: K::Fraction(share), c: 0.7, tol: 1e-8, ..Default::default() };
        let expected = objective(&svm.check().unwrap().fit(&data, &Control::new()).unwrap());
        let params = RobustLogisticParams {
            loss: WorstLoss::Hinge,
            worst_share: share,
            ..worst(2.0 / (0.7 * k))
        };
        let found = fit(params, &data);
        assert_close(objective(&found), expected / (0.7 * k), "stable hinge");
        let logistic = StableLogisticParams {
            k: K::Fraction(share),
            alpha: 0.03,
            tol: 1e-8,
            ..Default::default()
        };
        let expected = objective(&logistic.check().unwrap().fit(&data, &Control::new()).unwrap());
        let found = fit(RobustLogisticParams { worst_share: share, ..worst(0.06) }, &data);
        assert_close(objective(&found), expected, "stable logistic");
        let rows = found.worst_rows.unwrap();
        assert!((rows.weight.iter().sum::<f64>() - k).abs() < 1e-9);
        assert!(rows.loss.windows(2).all(|pair| pair[0] >= pair[1]));
    }
}

/// Without deletions, with a box that is not reached and next to no penalty, the linear program is the hinge fit.
#[test]
fn without_deletions_it_is_the_missing_feature_program_of_budget_zero() {
    let (x, labels) = sample(80, 3, 1.5, 4);
    let data = data(&x, &labels);
    let program =
        MissingFeatureSvcParams { budget: 0.0, c: 100.0, tol: 1e-8, ..Default::default() };
    let expected = objective(&program.check().unwrap().fit(&data, &Control::new()).unwrap());
    let found = fit(RobustLogisticParams { loss: WorstLoss::Hinge, ..worst(1e-8) }, &data);
    assert_close(objective(&found), expected, "missing");
}

#[test]
fn nothing_to_fear_is_the_average_fit_of_exact_rows() {
    let (x, labels) = sample(80, 3, 1.0, 5);
    let data = data(&x, &labels);
    for correction in [Correction::After, Correction::Backward] {
        let params = RobustLogisticParams {
            correction,
            wrong_labels: WrongLabels::Pair([0.1, 0.05]),
            ..worst(0.02)
        };
        let average = RobustLogisticParams { protect: Protect::Average, ..params.clone() };
        assert_close(objective(&fit(params, &data)), objective(&fit(average, &data)), "plain");
    }
}

/// The threats of one comparison with the conic solver.
struct Threats {
    hinge: bool,
    budget: f64,
    axes: Option<Dense>,
    share: f64,
    kappas: (f64, f64),
    intercept: bool,
}

/// The textbook form, with one variable for everything that is named.
fn textbook(x: &Dense, labels: &[usize], alpha: f64, threats: &Threats) -> f64 {
    let (n, p) = (x.nrows(), x.ncols());
    let (b, theta, margin, loss, excess, rho) =
        (p, p + 1, p + 2, p + 2 + n, p + 2 + 2 * n, p + 2 + 3 * n);
    let (lambda, zeta, exponent) = (p + 2 + 4 * n, p + 2 + 5 * n, p + 2 + 5 * n + n * p);
    let mut program = Program::new(exponent + 2 * n);
    (0..p).for_each(|j| program.add_product(j, j, alpha / 2.0));
    if !threats.intercept {
        program.equals_zero(vec![(b, 1.0)], 0.0);
    }
    program.add_linear(theta, 1.0);
    for i in 0..n {
        let y = if labels[i] == 1 { 1.0 } else { -1.0 };
        program.add_linear(excess + i, 1.0 / (threats.share * n as f64));
        program.at_least_zero(vec![(excess + i, 1.0)], 0.0);
        program.at_least_zero(vec![(excess + i, 1.0), (theta, 1.0), (loss + i, -1.0)], 0.0);
        let mut terms: Vec<(usize, f64)> = (0..p).map(|j| (j, y * x[(i, j)])).collect();
        terms.extend([(b, y), (rho + i, -1.0), (lambda + i, -threats.budget), (margin + i, -1.0)]);
        terms.extend((0..p).map(|j| (zeta + i * p + j, -1.0)));
        program.equals_zero(terms, 0.0);
        program.at_least_zero(vec![(lambda + i, 1.0)], 0.0);
        for j in 0..p {
            let cell = zeta + i * p + j;
            program.at_least_zero(vec![(cell, 1.0)], 0.0);
            if threats.budget > 0.0 {
                let gain = -y * x[(i, j)];
                program.at_least_zero(vec![(lambda + i, 1.0), (cell, 1.0), (j, gain)], 0.0);
            }
        }
        let axis = |j: usize| threats.axes.as_ref().map_or(0.0, |axes| axes[(i, j)]);
        let mut cone = vec![(vec![(rho + i, 1.0)], 0.0)];
        cone.extend((0..p).map(|j| (vec![(j, axis(j))], 0.0)));
        program.constrain(SupportedConeT::SecondOrderConeT(p + 1), &cone);
        let kappa = if y > 0.0 { threats.kappas.0 } else { threats.kappas.1 };
        if threats.hinge {
            program.at_least_zero(vec![(loss + i, 1.0)], 0.0);
            program.at_least_zero(vec![(loss + i, 1.0), (margin + i, 1.0)], -1.0);
        } else {
            // t = loss + kappa m has exp(-t) + exp(-m - t) <= 1.
            let (one, two) = (exponent + 2 * i, exponent + 2 * i + 1);
            program.at_least_zero(vec![(one, -1.0), (two, -1.0)], 1.0);
            let t = |extra: f64| vec![(loss + i, -1.0), (margin + i, -kappa - extra)];
            for (extra, bound) in [(0.0, one), (1.0, two)] {
                let rows = [(t(extra), 0.0), (vec![], 1.0), (vec![(bound, 1.0)], 0.0)];
                program.constrain(SupportedConeT::ExponentialConeT(), &rows);
            }
        }
    }
    program.solve_to(1e-9).objective
}

#[test]
fn several_threats_together_match_a_conic_solver() {
    let mut r = ChaCha8Rng::seed_from_u64(11);
    for case in 0..16_u64 {
        let (n, p) = (40, 4);
        let (x, labels) = sample(n, p, if case % 2 == 0 { 0.3 } else { 1.2 }, 20 + case);
        let hinge = case % 4 == 3;
        let corrected = !hinge && case % 3 == 0;
        let wrong = if corrected { [0.1, 0.05] } else { [0.0, 0.0] };
        let kept = 1.0 - wrong[0] - wrong[1];
        let share = if case % 4 == 1 { 0.7 } else { 1.0 };
        let intercept = case % 5 != 4;
        let alpha = [0.2, 0.01, 0.0005][usize::try_from(case % 3).unwrap()];
        let missing =
            if case % 8 < 6 { [0.0, 0.25, 0.4][usize::try_from(case % 3).unwrap()] } else { 0.4 };
        let axes = (case % 3 != 2).then(|| Dense::from_fn(n, p, |_, _| r.random_range(0.0..0.4)));
        let threats = Threats {
            hinge,
            budget: missing * p as f64,
            axes: axes.clone(),
            share,
            kappas: (wrong[1] / kept, wrong[0] / kept),
            intercept,
        };
        let mut data = data(&x, &labels);
        if let Some(axes) = axes {
            data = data.with_uncertainty(RowUncertainty::Axes(axes)).unwrap();
        }
        let params = RobustLogisticParams {
            loss: if hinge { WorstLoss::Hinge } else { WorstLoss::Logistic },
            worst_share: share,
            missing: PerFeature::Same(missing),
            wrong_labels: WrongLabels::Pair(wrong),
            correction: Correction::Backward,
            fit_intercept: intercept,
            ..worst(alpha)
        };
        let found = fit(params, &data);
        let expected = textbook(&x, &labels, alpha, &threats);
        assert_close(objective(&found), expected, &format!("case {case}"));
    }
}

/// More features than a row has variables for: cells join while the weights move.
#[test]
fn budgets_of_at_most_one_match_a_conic_solver() {
    for (seed, hinge, budget, error) in
        [(40, false, 1.0, 0.1), (41, true, 0.3, 0.1), (42, false, 0.5, 0.0), (43, true, 1.0, 0.0)]
    {
        let (n, p, alpha) = (70, 12, 0.01);
        let (x, labels) = sample(n, p, 0.6, seed);
        let threats = Threats {
            hinge,
            budget,
            axes: (error > 0.0).then(|| Dense::from_fn(n, p, |_, _| error)),
            share: 1.0,
            kappas: (0.0, 0.0),
            intercept: true,
        };
        let params = RobustLogisticParams {
            loss: if hinge { WorstLoss::Hinge } else { WorstLoss::Logistic },
            missing: PerFeature::Same(budget / p as f64),
            errors: (error > 0.0).then(|| PerFeature::Each(vec![error; p])),
            ..worst(alpha)
        };
        let found = fit(params, &data(&x, &labels));
        let expected = textbook(&x, &labels, alpha, &threats);
        assert_close(objective(&found), expected, &format!("seed {seed}"));
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let (x, labels) = sample(40, 3, 1.0, 7);
    let params = || RobustLogisticParams {
        worst_share: 0.8,
        missing: PerFeature::Same(0.3),
        errors: Some(PerFeature::Same(0.2)),
        ..worst(0.01)
    };
    let rows: Vec<usize> = (0..40).chain(0..10).collect();
    let twice = x.select_rows(&rows);
    let labels_twice: Vec<usize> = rows.iter().map(|&i| labels[i]).collect();
    let weights = (0..40).map(|i| if i < 10 { 2.0 } else { 1.0 }).collect();
    let weighted = data(&x, &labels).with_weights(weights).unwrap();
    let (one, other) = (fit(params(), &weighted), fit(params(), &data(&twice, &labels_twice)));
    assert_eq!(objective(&one), objective(&other));
}

#[test]
fn cross_validation_prefers_a_strength_and_reports_all() {
    let (x, labels) = sample(60, 3, 0.8, 8);
    let params = RobustLogisticParams {
        alpha: Strength::Rule(mainstay::robust::StrengthRule::Cv),
        missing: PerFeature::Same(0.3),
        n_alphas: 5,
        n_folds: 3,
        ..worst(1.0)
    };
    let fitted = fit(params, &data(&x, &labels));
    assert!(fitted.named_results().iter().any(|(name, _)| name == "cv_results"));
}

fn refused(params: RobustLogisticParams) -> String {
    match params.check() {
        Err(Error::InvalidParam { name, .. }) => name.to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    let share = |worst_share: f64| RobustLogisticParams { worst_share, ..worst(0.1) };
    for bad in [0.0, 1.5, -1.0, f64::NAN] {
        assert_eq!(refused(share(bad)), "worst_share");
    }
    let average = Protect::Average;
    assert_eq!(refused(RobustLogisticParams { protect: average, ..share(0.5) }), "worst_share");
    let hinge = RobustLogisticParams { loss: WorstLoss::Hinge, ..worst(0.1) };
    assert_eq!(refused(RobustLogisticParams { protect: average, ..hinge.clone() }), "loss");
    let wrong_labels = WrongLabels::Share(0.1);
    assert_eq!(refused(RobustLogisticParams { wrong_labels, ..hinge }), "wrong_labels");
    let forward =
        RobustLogisticParams { wrong_labels, correction: Correction::Forward, ..worst(0.1) };
    assert_eq!(refused(forward), "correction");
}

/// One row in ten is positive, but three in ten negatives are said to carry the wrong label.
#[test]
fn rates_that_leave_no_minimum_are_refused_with_advice() {
    let (x, _) = sample(50, 2, 1.0, 9);
    let labels: Vec<usize> = (0..50).map(|i| usize::from(i % 10 == 0)).collect();
    let params = RobustLogisticParams {
        wrong_labels: WrongLabels::Pair([0.3, 0.3]),
        correction: Correction::Backward,
        missing: PerFeature::Same(0.2),
        ..worst(0.1)
    };
    let found = params.check().unwrap().fit(&data(&x, &labels), &Control::new());
    let Err(Error::Infeasible(text)) = found else { panic!("{found:?}") };
    assert!(text.contains("wrong_labels") && text.contains("after"), "{text}");
}
