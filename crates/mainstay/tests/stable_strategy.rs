//! The stages of a stable fit: one budget for all of them, and each delivers where the others do not.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted};
use mainstay::stable::{K, Solver, StableLogisticParams, StableSvcParams, SvmLoss};
use mainstay_testkit::generate::{normal, rng};

/// Two clouds of `n` rows in `p` columns whose centres are `apart`.
fn clouds(seed: u64, n: usize, p: usize, apart: f64) -> Dataset {
    let noise = normal(&mut rng(seed), n * p);
    let x = Dense::from_fn(n, p, |i, j| noise[i * p + j] + if i % 2 == 0 { apart } else { 0.0 });
    Dataset::new(x.into(), (0..n).map(|i| i % 2).collect(), 2).unwrap()
}

fn fit(params: StableSvcParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

#[test]
fn max_iter_limits_the_iterations_of_all_stages_together() {
    let few = clouds(1, 120, 4, 0.8);
    let many = clouds(2, 3000, 4, 0.8);
    let crowded = clouds(3, 2000, 3, 0.0);
    for data in [&few, &many, &crowded] {
        for max_iter in [1, 2, 3, 5, 8, 13] {
            for solver in [Solver::InteriorPoint, Solver::CuttingPlane] {
                let k = K::Fraction(0.5);
                for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                    let params = StableSvcParams { k, loss, solver, ..Default::default() };
                    let fitted = fit(StableSvcParams { max_iter, tol: 1e-12, ..params }, data);
                    let certificate = fitted.certificates[0];
                    assert!(fitted.n_iter <= max_iter, "{loss:?} {max_iter}: {}", fitted.n_iter);
                    assert!(certificate.primal.is_finite() && certificate.dual.is_finite());
                    assert!(certificate.dual <= certificate.primal * (1.0 + 1e-12));
                }
                let params = StableLogisticParams { k, solver, max_iter, ..Default::default() };
                let params = StableLogisticParams { tol: 1e-12, ..params }.check().unwrap();
                let fitted = params.fit(data, &Control::new()).unwrap();
                assert!(fitted.n_iter <= max_iter, "{max_iter}: {}", fitted.n_iter);
            }
        }
    }
}

#[test]
fn more_iterations_are_spent_only_where_they_are_needed() {
    let data = clouds(1, 120, 4, 1.5);
    let free = fit(StableSvcParams::default(), &data);
    assert!(free.dual_gap().unwrap() <= 1e-6);
    let enough = StableSvcParams { max_iter: free.n_iter, ..Default::default() };
    let short = StableSvcParams { max_iter: free.n_iter - 1, ..Default::default() };
    assert_eq!(fit(enough, &data).model, free.model);
    assert!(fit(short, &data).dual_gap().unwrap() > 1e-6);
}

fn svm(k: f64, c: f64, loss: SvmLoss) -> StableSvcParams {
    StableSvcParams { k: K::Fraction(k), c, loss, ..Default::default() }
}

/// The fit is certified, and the last of these stages is the one that got there.
#[track_caller]
fn took(fitted: &Fitted, stages: &[&str]) {
    assert_eq!(fitted.route, stages);
    assert!(fitted.dual_gap().unwrap() <= 1e-6, "{stages:?}: {:?}", fitted.dual_gap());
}

#[test]
fn many_rows_are_solved_by_multipliers() {
    let data = clouds(2, 3000, 4, 0.8);
    for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
        took(&fit(svm(0.5, 1.0, loss), &data), &["multipliers"]);
    }
}

#[test]
fn few_rows_are_solved_by_the_interior_point() {
    took(&fit(svm(0.5, 1.0, SvmLoss::Hinge), &clouds(1, 120, 4, 0.8)), &["interior point"]);
}

#[test]
fn a_neighbour_on_a_path_is_where_the_interior_point_starts() {
    let svc = svm(0.5, 1.0, SvmLoss::Hinge).check().unwrap();
    let ks = [K::Fraction(1.0), K::Fraction(0.9)];
    let path = svc.path(&clouds(1, 120, 4, 0.8), &ks, &Control::new()).unwrap();
    took(&path[1], &["warm interior point"]);
}

/// The features say nothing: with a few rows in the worst case zero weights are optimal, and all rows share
/// the threshold.
#[test]
fn a_useless_k_of_many_rows_is_proven_by_balanced_shares() {
    let fitted = fit(svm(0.1, 1.0, SvmLoss::Hinge), &clouds(3, 3000, 3, 0.0));
    took(&fitted, &["multipliers", "zero weights"]);
    assert_eq!(fitted.warnings.len(), 1);
}

#[test]
fn separable_squared_hinges_are_the_classical_fit() {
    let (n, p) = (300, 60);
    let rows = normal(&mut rng(5), n * p);
    let labels = rows.chunks(p).map(|row| usize::from(row.iter().sum::<f64>() > 0.0)).collect();
    let x = Dense::from_rows(n, p, rows);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    took(&fit(svm(0.5, 100.0, SvmLoss::SquaredHinge), &data), &["classical fit"]);
}

#[test]
fn a_classical_fit_is_refined_beyond_the_asked_gap() {
    let data = clouds(1, 120, 4, 0.8);
    let fitted = fit(svm(1.0, 1.0, SvmLoss::Hinge), &data);
    assert_eq!(fitted.route.last().map(String::as_str), Some("classical refinement"));
    assert!(fitted.dual_gap().unwrap() <= 1e-9);
}

#[test]
fn the_papers_method_takes_one_stage() {
    let params = StableSvcParams {
        solver: Solver::CuttingPlane,
        tol: 1e-4,
        ..svm(0.6, 0.5, SvmLoss::Hinge)
    };
    let fitted = fit(params, &clouds(6, 60, 3, 1.0));
    assert_eq!(fitted.route, ["cutting planes"]);
    assert!(fitted.dual_gap().unwrap() <= 1e-4);
}

/// Six factors far from zero and a little noise that alone decides about the class: nothing in the Newton
/// system keeps rows from being thrown over the kink.
#[test]
fn small_differences_of_large_numbers_need_short_steps() {
    const FACTORS: usize = 6;
    let (n, p) = (400, 80);
    let fits = (0..4).map(|seed| {
        let mut rng = rng(seed);
        let (left, right) = (normal(&mut rng, n * FACTORS), normal(&mut rng, FACTORS * p));
        let (own, weights) = (normal(&mut rng, n * p), normal(&mut rng, p));
        let x = Dense::from_fn(n, p, |i, j| {
            let common: f64 = (0..FACTORS).map(|l| left[i * FACTORS + l] * right[l * p + j]).sum();
            100.0 * (common + 0.03 * own[i * p + j]) + 300.0 * (1.0 + (j % 7) as f64 / 7.0)
        });
        let score = |row: &[f64]| row.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
        let labels = own.chunks(p).map(|row| usize::from(score(row) > 0.0)).collect();
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        fit(svm(0.1, 100.0, SvmLoss::SquaredHinge), &data)
    });
    let short: Vec<Fitted> =
        fits.filter(|f| f.route.last().is_some_and(|stage| stage == "short steps")).collect();
    assert!(!short.is_empty());
    assert!(short.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
}

/// A few rows in many columns, separable by a wide margin: the objective is far below 1, and the classical fit
/// is close enough to the stable one in absolute terms.
#[test]
fn a_small_objective_is_left_to_the_classical_fit() {
    let (n, p, unit) = (40, 60, [1.0, 300.0, 1e4]);
    let fits = (0..12).map(|at| {
        let noise = normal(&mut rng(at / 3), n * p);
        let unit = unit[(at % 3) as usize];
        let x = Dense::from_fn(n, p, |i, j| {
            unit * (noise[i * p + j] + if i % 2 == 0 { 3.0 } else { 0.5 })
        });
        let data = Dataset::new(x.into(), (0..n).map(|i| i % 2).collect(), 2).unwrap();
        fit(svm(0.1, 100.0, SvmLoss::SquaredHinge), &data)
    });
    let small: Vec<Fitted> =
        fits.filter(|f| f.route.last().is_some_and(|stage| stage == "small objective")).collect();
    assert!(!small.is_empty());
    assert!(small.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
}

/// Small integers in as many columns as rows, labels by a plane, losses that cost a thousand times the penalty:
/// the interior point stalls far from the answer and has to come from an easier problem.
#[test]
fn stalled_interior_points_arrive_by_continuation() {
    let fits = (0..300_usize).map(|seed| {
        let (n, p, k, c) = [(20, 40, 0.3, 1e3), (40, 40, 0.5, 1e3), (20, 20, 0.3, 1e4)][seed % 3];
        let mut rng = rng(seed as u64);
        let rows: Vec<f64> = normal(&mut rng, n * p)
            .iter()
            .map(|v| (v / 0.43 + 1.0).clamp(0.0, 2.0).round())
            .collect();
        let weights = normal(&mut rng, p);
        let score = |row: &[f64]| row.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
        let scores: Vec<f64> = rows.chunks(p).map(score).collect();
        let mean = scores.iter().sum::<f64>() / n as f64;
        let labels = scores.iter().map(|s| usize::from(*s > mean)).collect();
        let data = Dataset::new(Dense::from_rows(n, p, rows).into(), labels, 2).unwrap();
        fit(svm(k, c, SvmLoss::SquaredHinge), &data)
    });
    let late: Vec<Fitted> =
        fits.filter(|f| f.route.last().is_some_and(|stage| stage == "continuation")).collect();
    assert!(late.iter().any(|f| f.dual_gap().unwrap() <= 1e-6));
}

/// Rows of this size with labels by a plane.
fn by_a_plane(seed: u64, n: usize, p: usize, size: f64) -> Dataset {
    let mut rng = rng(seed);
    let (noise, weights) = (normal(&mut rng, n * p), normal(&mut rng, p));
    let score = |row: &[f64]| row.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
    let mut labels: Vec<usize> = noise.chunks(p).map(|row| usize::from(score(row) > 0.0)).collect();
    // Both classes are there.
    (labels[0], labels[1]) = (0, 1);
    let x = Dense::from_fn(n, p, |i, j| size * noise[i * p + j]);
    Dataset::new(x.into(), labels, 2).unwrap()
}

fn logistic(k: f64, alpha: f64, data: &Dataset) -> Fitted {
    let params = StableLogisticParams { k: K::Fraction(k), alpha, ..Default::default() };
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

/// Hardly any penalty: the weights grow until the curvature of most rows has vanished, where full Newton steps lead astray
/// and steps that stay centred arrive.
#[test]
fn logistic_losses_of_separable_rows_need_centred_steps() {
    let sizes = [(20, 30), (6, 5), (10, 10)];
    let fits = (0..60_usize).map(|seed| {
        let (n, p) = sizes[seed % 3];
        logistic([0.1, 0.3, 0.9][seed / 3 % 3], 1e-9, &by_a_plane(seed as u64, n, p, 1.0))
    });
    let centred: Vec<Fitted> =
        fits.filter(|f| f.route.last().is_some_and(|stage| stage == "centred steps")).collect();
    assert!(!centred.is_empty());
    assert!(centred.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
}

/// With features in the thousands as well, centred steps come near, and the interior point goes on from there.
#[test]
fn where_centred_steps_come_near_the_interior_point_goes_on() {
    let fits = (0..12).map(|seed| logistic(0.9, 1e-10, &by_a_plane(seed, 40, 30, 1e4)));
    let stage = "interior point from there";
    let late = |f: &Fitted| f.route.last().is_some_and(|last| last == stage);
    assert!(fits.into_iter().any(|f| late(&f) && f.dual_gap().unwrap() <= 1e-6));
}
