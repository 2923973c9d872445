//! The worst case within stated damage against a conic solver, the stable fits and the plain ones.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests stop at the first surprise"
)]

use clarabel::solver::SupportedConeT::{ExponentialConeT, SecondOrderConeT};
use mainstay::data::{Dataset, RowUncertainty};
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted};
use mainstay::penalized::{Alpha, PenalizedParams};
use mainstay::robust::{
    Correction, PerFeature, Protect, RobustLogisticParams, Strength, WrongLabels,
};
use mainstay::stable::{K, StableLogisticParams};
use mainstay::{Control, Status};
use mainstay_testkit::cone::Program;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn normal(r: &mut impl Rng) -> f64 {
    StandardNormal.sample(r)
}

/// Centred features, so that a deleted one is 0, and noisy labels.
fn sample(n: usize, p: usize, seed: u64) -> (Dense, Vec<usize>) {
    let mut r = ChaCha8Rng::seed_from_u64(seed);
    let beta: Vec<f64> = (0..p).map(|_| normal(&mut r)).collect();
    let mut x = Dense::from_fn(n, p, |_, _| normal(&mut r));
    for j in 0..p {
        let mean = x.column(j).iter().sum::<f64>() / n as f64;
        (0..n).for_each(|i| x[(i, j)] -= mean);
    }
    let label = |i: usize, r: &mut ChaCha8Rng| {
        let score: f64 = x.row(i).iter().zip(&beta).map(|(x, b)| x * b).sum();
        usize::from(r.random_bool(1.0 / (1.0 + (-score).exp())))
    };
    let labels = (0..n).map(|i| label(i, &mut r)).collect();
    (x, labels)
}

fn worst(alpha: f64) -> RobustLogisticParams {
    RobustLogisticParams {
        alpha: Strength::Fixed(alpha),
        protect: Protect::Worst,
        ..Default::default()
    }
}

fn fit(params: RobustLogisticParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

/// What the conic program is told.
struct Case<'a> {
    x: &'a Dense,
    labels: &'a [usize],
    alpha: f64,
    budget: f64,
    axes: Option<&'a Dense>,
    share: f64,
    kappa: f64,
}

/// The textbook form: one exponential cone pair per loss, one second-order cone per row, linear programs for deletions.
fn conic(case: &Case<'_>) -> f64 {
    let (n, p) = (case.x.nrows(), case.x.ncols());
    let (b, theta) = (p, p + 1);
    let row = |i: usize| p + 2 + i * (6 + p);
    let mut program = Program::new(p + 2 + n * (6 + p));
    (0..p).for_each(|j| program.add_product(j, j, 0.5 * case.alpha));
    program.add_linear(theta, 1.0);
    program.at_least_zero(vec![(theta, 1.0)], 20.0);
    for i in 0..n {
        let y = if case.labels[i] == 1 { 1.0 } else { -1.0 };
        let at = row(i);
        let (loss, one, two, excess, length, level, lost) =
            (at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6);
        program.add_linear(excess, 1.0 / (case.share * n as f64));
        program.at_least_zero(vec![(excess, 1.0)], 0.0);
        // margin = y (x'w + b) - length - N level - sum lost
        let mut margin: Vec<(usize, f64)> = (0..p).map(|j| (j, y * case.x[(i, j)])).collect();
        margin.extend([(b, y), (length, -1.0), (level, -case.budget)]);
        margin.extend((0..p).map(|j| (lost + j, -1.0)));
        let scaled = |c: f64| margin.iter().map(move |(k, v)| (*k, c * v)).collect::<Vec<_>>();
        // excess >= loss - kappa margin - theta
        let mut terms = scaled(case.kappa);
        terms.extend([(excess, 1.0), (theta, 1.0), (loss, -1.0)]);
        program.at_least_zero(terms, 0.0);
        program.at_least_zero(vec![(one, -1.0), (two, -1.0)], 1.0);
        let exponential = |program: &mut Program, x: Vec<(usize, f64)>, z: usize| {
            program
                .constrain(ExponentialConeT(), &[(x, 0.0), (vec![], 1.0), (vec![(z, 1.0)], 0.0)]);
        };
        exponential(&mut program, vec![(loss, -1.0)], one);
        let mut other = scaled(-1.0);
        other.push((loss, -1.0));
        exponential(&mut program, other, two);
        program.at_least_zero(vec![(level, 1.0)], 0.0);
        for j in 0..p {
            program.at_least_zero(vec![(lost + j, 1.0)], 0.0);
            if case.budget > 0.0 {
                let gain = vec![(lost + j, 1.0), (level, 1.0), (j, -y * case.x[(i, j)])];
                program.at_least_zero(gain, 0.0);
            }
        }
        let mut cone = vec![(vec![(length, 1.0)], 0.0)];
        if let Some(axes) = case.axes {
            cone.extend((0..p).map(|j| (vec![(j, axes[(i, j)])], 0.0)));
        }
        let order = cone.len();
        program.constrain(SecondOrderConeT(order), &cone);
    }
    let answer = program.solve_to(1e-9);
    answer.objective
}

#[test]
fn every_combination_of_threats_is_what_a_conic_solver_finds() {
    for seed in 0..12 {
        let (n, p) = (40, 4);
        let (x, labels) = sample(n, p, 100 + seed);
        let mut r = ChaCha8Rng::seed_from_u64(seed);
        let budget = [0.0, 1.0, 1.6][seed as usize % 3];
        let axes = (seed % 2 == 1).then(|| Dense::from_fn(n, p, |_, _| 0.3 * r.random::<f64>()));
        let share = if seed % 4 >= 2 { 0.7 } else { 1.0 };
        let backward = share >= 1.0 && seed >= 6;
        let alpha = [0.01, 0.1][seed as usize % 2];
        let mut data = Dataset::new(x.clone().into(), labels.clone(), 2).unwrap();
        if let Some(axes) = &axes {
            data = data.with_uncertainty(RowUncertainty::Axes(axes.clone())).unwrap();
        }
        let params = RobustLogisticParams {
            missing: PerFeature::Same(budget / p as f64),
            worst_share: share,
            wrong_labels: WrongLabels::Share(if backward { 0.1 } else { 0.0 }),
            correction: if backward { Correction::Backward } else { Correction::After },
            tol: 1e-7,
            max_iter: 500,
            ..worst(alpha)
        };
        let found = fit(params, &data);
        let kappa = if backward { 0.1 / 0.8 } else { 0.0 };
        let case =
            Case { x: &x, labels: &labels, alpha, budget, axes: axes.as_ref(), share, kappa };
        let wanted = conic(&case);
        let interval = found.certificates[0];
        assert_eq!(found.status(), Status::Certified, "{seed}: {:?}", found.dual_gap());
        assert!((interval.primal - wanted).abs() < 1e-6, "{seed}: {} {wanted}", interval.primal);
        assert!(interval.dual <= wanted + 1e-7, "{seed}: {} {wanted}", interval.dual);
    }
}

/// Stable fits minimise the same with alpha ||w||^2 for alpha/2 ||w||^2.
#[test]
fn the_worst_rows_alone_are_the_stable_logistic_regression() {
    let (x, labels) = sample(90, 5, 1);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(RobustLogisticParams { worst_share: 0.6, tol: 1e-8, ..worst(0.1) }, &data);
    let stable =
        StableLogisticParams { k: K::Fraction(0.6), alpha: 0.05, tol: 1e-8, ..Default::default() };
    let stable = stable.check().unwrap().fit(&data, &Control::new()).unwrap();
    let difference = found.certificates[0].primal - stable.certificates[0].primal;
    assert!(difference.abs() < 1e-6, "{difference}");
}

#[test]
fn without_a_threat_it_is_the_penalised_logistic_regression() {
    let (x, labels) = sample(90, 5, 2);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let found = fit(RobustLogisticParams { tol: 1e-9, ..worst(0.05) }, &data);
    let plain = PenalizedParams { alpha: Alpha::Fixed(0.05), tol: 1e-9, ..Default::default() };
    let plain = plain.check().unwrap().fit(&data, &Control::new()).unwrap();
    let difference = found.certificates[0].primal - plain.certificates[0].primal;
    assert!(difference.abs() < 1e-8, "{difference}");
}

#[test]
fn combinations_without_a_minimum_are_refused() {
    let refused = |params: RobustLogisticParams| params.check().is_err();
    assert!(refused(RobustLogisticParams { correction: Correction::Forward, ..worst(0.1) }));
    assert!(refused(RobustLogisticParams {
        worst_share: 0.5,
        correction: Correction::Backward,
        ..worst(0.1)
    }));
    assert!(refused(RobustLogisticParams { worst_share: 0.5, ..Default::default() }));
    assert!(refused(RobustLogisticParams { worst_share: 0.0, ..worst(0.1) }));
}

#[test]
fn the_strength_may_be_chosen_by_the_worst_held_out_loss() {
    let (x, labels) = sample(60, 3, 3);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let params = RobustLogisticParams {
        protect: Protect::Worst,
        missing: PerFeature::Same(0.3),
        ..Default::default()
    };
    let found = fit(params, &data);
    assert_eq!(found.status(), Status::Certified);
    assert!(found.outputs.contains_key("cv_results") && found.outputs.contains_key("worst_rows"));
}

#[test]
#[ignore = "a timing: run with --ignored --nocapture"]
fn speed_of_the_worst_case() {
    let (x, labels) = sample(5000, 50, 4);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let errors = Some(PerFeature::Same(0.1));
    let params = RobustLogisticParams { missing: PerFeature::Same(0.04), errors, ..worst(0.01) };
    let start = std::time::Instant::now();
    let found = fit(params, &data);
    eprintln!("{:?}: {} steps, gap {:?}", start.elapsed(), found.n_iter, found.dual_gap());
}
