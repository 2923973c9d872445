//! A column without spread has no part in a fit whose intercept is free: its weight is zero, not nearly so.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::methods::find;
use mainstay::model::Model;
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
    let fitted = fitted.fit(&data, &Control::new()).unwrap();
    let model = match &fitted.model {
        Model::Linear(model) => model,
        Model::GaussianLinear(model) => &model.linear,
        other => panic!("{method} is not linear: {other:?}"),
    };
    assert!(
        model.coef[0][0] != 0.0,
        "{method} {params}: the first feature tells the classes apart"
    );
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

/// Where the intercept is penalised a column of ones is its twin, and one of zeros still says nothing.
#[test]
fn a_column_of_zeros_gets_no_weight_where_the_intercept_is_penalised() {
    for (n, p) in [(60, 4), (40, 80)] {
        let (x, y) = rows(n, p, 0.0);
        assert_eq!(weight("conic", &json!({}), x.into(), &y), 0.0, "{n} x {p}");
    }
}
