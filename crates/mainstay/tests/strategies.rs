//! The second stages of the conic and the penalised fits: problems that the first stage leaves open.
#![cfg(test)]

use mainstay::conic::ConicParams;
use mainstay::data::{Dataset, Outliers, make_outliers};
use mainstay::linalg::Dense;
use mainstay::model::Fitted;
use mainstay::{Control, methods};
use mainstay_testkit::generate::{normal, rng};
use serde_json::{Value, json};

fn fit(method: &str, params: &Value, n: usize, rows: Vec<f64>, labels: Vec<usize>) -> Fitted {
    let x = Dense::from_rows(n, rows.len() / n, rows);
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    methods::find(method).unwrap().estimator(params).unwrap().fit(&data, &Control::new()).unwrap()
}

/// Labels by the plane through the origin with the given weights.
fn labels(rows: &[f64], weights: &[f64]) -> Vec<usize> {
    let score = |row: &[f64]| row.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>();
    rows.chunks(weights.len()).map(|row| usize::from(score(row) > 0.0)).collect()
}

/// Rows so unequal in length (ratios of normal numbers) that few of them decide alone.
#[test]
fn the_interior_point_takes_over_where_the_low_rank_newton_method_stalls() {
    let (n, p) = (200, 20);
    for seed in 0..3 {
        let mut rng = rng(seed);
        let (over, under) = (normal(&mut rng, n * p), normal(&mut rng, n * p));
        let rows: Vec<f64> = over.iter().zip(&under).map(|(a, b)| a / b).collect();
        let labels = labels(&rows, &normal(&mut rng, p));
        let fitted = fit("conic", &json!({"kappa": 1e-4}), n, rows, labels);
        assert_eq!(fitted.route, ["low-rank newton", "interior point"]);
        assert!(fitted.dual_gap().unwrap() <= 1e-6);
    }
}

/// Budgets far apart, outliers spread widely: Newton stalls from the answer before, and not from nothing.
#[test]
fn another_start_proves_what_a_neighbours_answer_does_not_lead_to() {
    for (sigma, seed, at) in [(0.2, 1, 0), (0.5, 11, 2)] {
        let data = make_outliers(120, 30, sigma, Outliers::Spread, 0.1, seed).unwrap();
        let conic = ConicParams { tol: 1e-3, ..Default::default() }.check().unwrap();
        let path = conic.path(&data, &[0.02, 0.05, 0.1, 0.2, 0.35], &Control::new()).unwrap();
        assert_eq!(path[at].route, ["low-rank newton", "low-rank newton, other start"]);
        assert!(path.iter().all(|fitted| fitted.dual_gap().unwrap() <= 1e-3));
    }
}

/// Features from a millionth to a million: what rounding leaves of the gap is small in the solver's units and
/// large in the user's.
#[test]
fn a_proof_that_misses_the_gap_is_followed_by_a_stricter_try() {
    let (n, p) = (20, 60);
    for seed in 0..3 {
        let mut rng = rng(seed);
        let noise = normal(&mut rng, n * p);
        let labels = labels(&noise, &normal(&mut rng, p));
        let unit = |j: usize| 10f64.powf(((j * 7) % 13) as f64 - 6.0);
        let rows = noise.iter().enumerate().map(|(at, v)| v * unit(at % p)).collect();
        let fitted = fit("l2", &json!({"loss": "hinge", "alpha": 1e-6}), n, rows, labels);
        assert_eq!(fitted.route, ["interior point", "stricter", "interior point"]);
        assert!(fitted.dual_gap().unwrap() <= 1e-6);
    }
}
