//! Fits over partitions against the fits of the same rows in memory.

use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{
    Ask, Block, Driver, InMemory, MergeTree, Message, Partitions, Step, fit, look,
};
use mainstay::{Control, Error, Result, methods};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Rows around a plane, a tenth of them on the wrong side; columns of different sizes, far from zero.
fn rows(n: usize, p: usize, classes: usize, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let mut labels = Vec::with_capacity(n);
    let mut x = Vec::with_capacity(n * p);
    for i in 0..n {
        let z: Vec<f64> = (0..p).map(|_| normal()).collect();
        let score = z[0] - 0.5 * z[1 % p] + 0.7 * normal();
        let class =
            ((score + 2.0) / 4.0 * classes as f64).clamp(0.0, classes as f64 - 1.0) as usize;
        labels.push(if i % 10 == 0 { i / 10 % classes } else { class });
        x.extend(z.iter().enumerate().map(|(j, v)| (v + j as f64) * [1.0, 0.01, 30.0][j % 3]));
    }
    Dataset::new(Dense::from_rows(n, p, x).into(), labels, classes).unwrap()
}

fn over_partitions(data: &Dataset, size: usize, method: &str, params: &Value) -> Fitted {
    let driver = methods::driver(method, params).unwrap();
    fit(&InMemory::with_rows(data, size), driver, &Control::new(), |_| Ok(())).unwrap()
}

fn in_memory(data: &Dataset, method: &str, params: &Value) -> Fitted {
    methods::find(method).unwrap().estimator(params).unwrap().fit(data, &Control::new()).unwrap()
}

/// All problems that have a partitioned form.
fn cases() -> Vec<(&'static str, Value)> {
    vec![
        ("l2", json!({"alpha": 1e-3})),
        ("l2", json!({"alpha": 1e-3, "loss": "squared_hinge"})),
        ("l2", json!({"alpha": 1e-2, "loss": "modified_huber", "normalize": true})),
        ("l2", json!({"alpha": 1e-3, "loss": "hinge"})),
        ("l2", json!({"alpha": 1e-3, "loss": "hinge", "class_weight": "balanced"})),
        ("l1", json!({"alpha": 5e-3})),
        ("l1", json!({"alpha": 5e-3, "loss": "hinge"})),
        ("elasticnet", json!({"alpha": 5e-3, "normalize": true})),
        ("stable-svm", json!({"k": 0.7, "C": 1e-2})),
        ("stable-svm", json!({"k": 0.5, "C": 1.0, "fit_intercept": false})),
        ("stable-svm", json!({"k": 0.7, "C": 1e-2, "loss": "squared_hinge"})),
        ("stable-svm", json!({"k": 0.95, "C": 1e-2, "loss": "squared_hinge"})),
        ("stable-svm", json!({"k": 1.0, "C": 1e-2})),
        ("stable-logistic", json!({"k": 0.7, "alpha": 1e-3})),
        ("stable-logistic", json!({"k": 0.5, "alpha": 1e-2, "class_weight": "balanced"})),
    ]
}

/// Objectives of both lie above the optimum by less than their gaps.
fn agree(a: &Fitted, b: &Fitted, what: &str) {
    assert_eq!(a.certificates.len(), b.certificates.len());
    for (a, b) in a.certificates.iter().zip(&b.certificates) {
        let scale = a.primal.abs().max(1.0);
        let room = (a.gap() + b.gap() + 1e-12) * scale;
        assert!((a.primal - b.primal).abs() <= room, "{what}: {a:?} {b:?}");
    }
}

#[test]
fn every_problem_reaches_the_optimum_of_the_fit_in_memory() {
    let data = rows(3000, 6, 2, 1);
    for (method, params) in cases() {
        let what = format!("{method} {params}");
        let found = over_partitions(&data, 700, method, &params);
        assert!(
            found.dual_gap() <= Some(1e-6),
            "{what}: gap {:?} after {}",
            found.dual_gap(),
            found.n_iter
        );
        agree(&found, &in_memory(&data, method, &params), &what);
        println!("{what}: {} passes, gap {:.1e}", found.n_iter, found.dual_gap().unwrap());
    }
}

/// The sample is a tenth of the rows here, so that passes are needed.
#[test]
fn passes_are_few_at_200_000_rows() {
    let data = rows(200_000, 20, 2, 2);
    for (method, params) in cases() {
        let found = over_partitions(&data, 16_384, method, &params);
        println!(
            "{method} {params}: {} passes, gap {:.1e}",
            found.n_iter,
            found.dual_gap().unwrap()
        );
        assert!(found.dual_gap() <= Some(1e-6));
    }
}
