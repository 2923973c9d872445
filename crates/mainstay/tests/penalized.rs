//! Penalised mean loss: closed forms, a conic solver as judge, invariances.

use mainstay::data::Dataset;
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Fitted, Model};
use mainstay::{Control, Status, methods};
use mainstay_testkit::generate::two_clouds;
use serde_json::{Value, json};

fn dataset(x: &[f64], n: usize, labels: &[f64]) -> Dataset {
    let x = Dense::from_rows(n, x.len() / n, x.to_vec());
    let labels = labels.iter().map(|y| usize::from(*y > 0.0)).collect();
    Dataset::new(Matrix::from(x), labels, 2).unwrap()
}

fn fit(method: &str, params: &Value, data: &Dataset) -> Fitted {
    methods::find(method).unwrap().estimator(params).unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> (Vec<f64>, f64) {
    let Model::Linear(model) = &fitted.model else { panic!("not linear") };
    (model.coef[0].clone(), model.intercept[0])
}

/// Points at +-1 on a line, logistic loss: alpha w = 1 / (1 + e^w), b = 0.
#[test]
fn two_points_on_a_line_solve_the_stationarity_equation() {
    for alpha in [1e-4, 0.1, 10.0] {
        let data = dataset(&[1.0, -1.0], 2, &[1.0, -1.0]);
        let fitted = fit("l2", &json!({"alpha": alpha, "tol": 1e-12}), &data);
        let (w, b) = linear(&fitted);
        assert!((alpha * w[0] - 1.0 / (1.0 + w[0].exp())).abs() < 1e-7, "{alpha}: {fitted:?}");
        assert!(b.abs() < 1e-9);
        assert_eq!(fitted.status(), Status::Certified);
    }
}

#[test]
fn the_default_fit_is_certified() {
    for (n, p) in [(200, 5), (20, 60)] {
        let (x, y) = two_clouds(1, n, p, 2.0);
        let fitted = fit("l2", &json!({}), &dataset(&x, n, &y));
        assert_eq!(fitted.status(), Status::Certified, "{fitted:?}");
    }
}
