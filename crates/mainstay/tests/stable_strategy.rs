//! The stages of a stable fit: one budget for all of them, and each delivers where the others do not.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise"
)]

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
    let data = clouds(1, 120, 4, 0.8);
    let free = fit(StableSvcParams::default(), &data);
    assert!(free.dual_gap().unwrap() <= 1e-6);
    let enough = StableSvcParams { max_iter: free.n_iter, ..Default::default() };
    let short = StableSvcParams { max_iter: free.n_iter - 1, ..Default::default() };
    assert_eq!(fit(enough, &data).model, free.model);
    assert!(fit(short, &data).dual_gap().unwrap() > 1e-6);
}
