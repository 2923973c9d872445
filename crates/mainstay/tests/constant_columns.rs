//! A column without spread has no part in a fit whose intercept is free: its weight is zero, not nearly so.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::methods::{driver, find};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{InMemory, fit};
use serde_json::{Value, json};

/// The constant column.
const AT: usize = 1;

/// Linear methods whose intercept costs nothing, and which no adversary can take a feature from. Not among them: `conic`, where
/// the intercept is penalised as a constant feature and shares its part with others; `missing-lp` and `missing-perceptron`,
/// which weigh a feature that may be lost against an intercept that cannot; ROLIN and `top-pcs`, which do not centre.
fn methods() -> Vec<(&'static str, Value)> {
    vec![
        ("l2", json!({})),
        ("l2", json!({"loss": "hinge"})),
        ("l2", json!({"loss": "squared_hinge"})),
        ("l2", json!({"normalize": true})),
        ("l1", json!({"alpha": 0.01})),
        ("elasticnet", json!({"alpha": 0.01})),
        ("stable-svm", json!({"k": 0.95})),
        ("stable-svm", json!({"loss": "squared_hinge", "k": 0.95})),
        ("stable-svm", json!({"solver": "cutting-plane", "k": 0.95, "tol": 1e-3})),
        ("stable-logistic", json!({"k": 0.95})),
        ("stable-logistic", json!({"alpha": 1e-4, "k": 1.0})),
        ("ellipsoid-svm", json!({"uncertainty": 0.1})),
        ("robust-logistic", json!({})),
        ("robust-logistic", json!({"protect": "worst", "errors": 0.1})),
    ]
}

/// Two overlapping classes; every entry of column [`AT`] is `value`.
fn rows(n: usize, p: usize, value: f64) -> (Dense, Vec<usize>) {
    let entry = |i: usize, j: usize| {
        if j == AT {
            return value;
        }
        let side = if j == 0 { (i % 2) as f64 - 0.5 } else { 0.0 };
        ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin() - side
    };
    (Dense::from_fn(n, p, entry), (0..n).map(|i| usize::from(i % 2 == 0)).collect())
}

/// The entries that are not zero.
fn sparse(x: &Dense) -> Matrix {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..x.nrows() {
        for (j, v) in (0_u32..).zip(x.row(i)).filter(|(_, v)| **v != 0.0) {
            indices.push(j);
            values.push(*v);
        }
        starts.push(values.len());
    }
    Csr::new(x.ncols(), starts, indices, values).unwrap().into()
}

fn weight(method: &str, params: &Value, x: Matrix, y: &[usize]) -> f64 {
    let data = Dataset::new(x, y.to_vec(), 2).unwrap();
    let fitted = find(method).unwrap().estimator(params).unwrap();
    weight_of(&fitted.fit(&data, &Control::new()).unwrap(), &format!("{method} {params}"))
}

/// The weight of the constant column in a linear model.
fn weight_of(fitted: &Fitted, what: &str) -> f64 {
    let model = match &fitted.model {
        Model::Linear(model) => model,
        Model::GaussianLinear(model) => &model.linear,
        other => panic!("{what} is not linear: {other:?}"),
    };
    assert!(model.coef[0][0] != 0.0, "{what}: the first feature tells the classes apart");
    model.coef[0][AT]
}

/// 0.1 is no binary number: the mean of such a column as a sum differs from it. Fewer and more columns than rows, and rows
/// enough for solvers of many.
#[test]
fn a_constant_column_gets_no_weight_at_all() {
    for (n, p) in [(60, 4), (40, 80), (3000, 3)] {
        for value in [0.0, 1.0, 1e6, 0.1] {
            let (x, y) = rows(n, p, value);
            for (method, params) in methods() {
                for x in [Matrix::from(x.clone()), sparse(&x)] {
                    let found = weight(method, &params, x, &y);
                    assert_eq!(found, 0.0, "{method} {params}, {n} x {p}, all {value}");
                }
            }
        }
    }
}

/// An average of many fits, some of them along principal directions: few rows are enough, and many take long.
#[test]
fn a_constant_column_gets_no_weight_in_an_average() {
    let params = json!({"correction": "averaged", "wrong_labels": 0.1});
    for (n, p) in [(60, 4), (40, 80)] {
        for value in [1e6, 0.1] {
            let (x, y) = rows(n, p, value);
            let found = weight("robust-logistic", &params, x.into(), &y);
            assert_eq!(found, 0.0, "{n} x {p}, all {value}");
        }
    }
}

/// The mean of the column is put together from those of the blocks. All rows in the sample, and most of them outside.
#[test]
fn a_constant_column_gets_no_weight_over_partitions() {
    for n in [1500, 25_000] {
        for value in [1e6, 0.1] {
            let (x, y) = rows(n, 3, value);
            for (method, params) in [
                ("l2", json!({})),
                ("stable-logistic", json!({"alpha": 1e-4, "k": 1.0})),
                ("ellipsoid-svm", json!({"uncertainty": 0.1, "C": 1e-2})),
                ("robust-logistic", json!({"alpha": 1e-3})),
            ] {
                for x in [Matrix::from(x.clone()), sparse(&x)] {
                    let data = Dataset::new(x, y.clone(), 2).unwrap();
                    let source = InMemory::with_rows(&data, 700);
                    let driver = driver(method, &params).unwrap();
                    let fitted = fit(&source, driver, &Control::new(), |_| Ok(())).unwrap();
                    let what = format!("{method} {params}, {n} rows, all {value}");
                    assert_eq!(weight_of(&fitted, &what), 0.0, "{what}");
                }
            }
        }
    }
}

/// Where the intercept is penalised a column of ones is its twin, and one of zeros still says nothing.
#[test]
fn a_column_of_zeros_gets_no_weight_where_the_intercept_is_penalised() {
    for (n, p) in [(60, 4), (40, 80)] {
        let (x, y) = rows(n, p, 0.0);
        assert_eq!(weight("conic", &json!({}), x.into(), &y), 0.0, "{n} x {p}");
    }
}
