//! Searches that take what they chose on all rows as given, for fits that need not choose again.

use serde_json::{Value, json};

use super::find;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Estimator, Fitted, Output, PathPoint};

/// A search, the method that takes its choice as given, and the names of what it chooses: outputs of the one, parameters of the
/// other.
struct Search {
    name: &'static str,
    single: &'static str,
    chooses: &'static [&'static str],
}

const SEARCHES: [Search; 5] = [
    Search { name: "conic-cv", single: "conic", chooses: &["kappa"] },
    Search { name: "stable-logistic-cv", single: "stable-logistic", chooses: &["k", "alpha"] },
    Search { name: "stable-svm-cv", single: "stable-svm", chooses: &["k", "C"] },
    Search { name: "missing-cv", single: "missing-lp", chooses: &["budget", "C"] },
    Search { name: "ellipsoid-svm-cv", single: "ellipsoid-svm", chooses: &["C"] },
];

/// The method called `name` with `params` and with what it chose where it was fitted to `rows` rows; none where nothing was
/// chosen, or nothing that could be given.
pub(crate) fn settled(
    name: &str,
    params: &Value,
    fitted: &Fitted,
    rows: usize,
) -> Option<Box<dyn Estimator>> {
    let number = |name: &str| match fitted.outputs.get(name) {
        Some(Output::Number(value)) if value.is_finite() => Some(*value),
        _ => None,
    };
    if params.get("alpha").and_then(Value::as_str) == Some("cv") || name == "robust-logistic" {
        let mut same = params.clone();
        same["alpha"] = json!(number("alpha")?);
        if let Some(Output::Flag(chosen)) = fitted.outputs.get("normalize") {
            same["normalize"] = json!(chosen);
        }
        return Some(Box::new(Settled::new(find(name).ok()?.name, same, rows)));
    }
    let search = SEARCHES.iter().find(|search| search.name == name)?;
    let known = find(search.single).ok()?.defaults();
    let mut own = params.as_object()?.clone();
    own.retain(|name, _| known.get(name).is_some() && name != "calibrate");
    for name in search.chooses {
        own.insert((*name).to_owned(), json!(number(name)?));
    }
    let mut settled = Settled::new(search.single, Value::Object(own), rows);
    // How large ellipsoids are is no parameter of the method.
    if let Some(scale) = number("scale").filter(|_| name == "ellipsoid-svm-cv") {
        settled.point = Some(PathPoint { scale: Some(scale), ..PathPoint::c(number("C")?) });
    }
    Some(Box::new(settled))
}

/// A method with nothing left to choose.
struct Settled {
    method: &'static str,
    params: Value,
    /// The penalty times the number of rows, where it stands beside a mean loss: as a prior on the weights it counts for less the
    /// more rows there are.
    total: Option<f64>,
    /// Where it is on a path of the method.
    point: Option<PathPoint>,
}

impl Settled {
    fn new(method: &'static str, params: Value, rows: usize) -> Self {
        let total = params.get("alpha").and_then(Value::as_f64).map(|alpha| alpha * rows as f64);
        Self { method, params, total, point: None }
    }
}

impl Estimator for Settled {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let mut params = self.params.clone();
        if let Some(total) = self.total {
            params["alpha"] = json!(total / data.len() as f64);
        }
        let estimator = find(self.method)?.estimator(&params)?;
        let Some(point) = self.point else { return estimator.fit(data, control) };
        let path = estimator.fit_path(&[point], data, control)?;
        let none = || Error::Numerical("the path has no fit".into());
        path.into_iter().next().ok_or_else(none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    fn data(n: usize) -> Dataset {
        let x = Dense::from_fn(n, 3, |i, j| ((i * (7 + 4 * j) + j) % 13) as f64 / 4.0 - 1.5);
        let labels = (0..n).map(|i| usize::from((i * 7) % 13 + (i % 4) > 7)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }

    /// Every search with small settings, some of them not the usual ones.
    fn cases() -> Vec<(&'static str, Value)> {
        let ks = json!({"ks": [0.5, 1.0], "alphas": [1e-3, 1e-1], "cv": 3, "tol": 1e-7});
        let cs = json!({"ks": [0.5, 1.0], "Cs": [1e-2, 1e-1], "cv": 3, "tol": 1e-7,
                        "loss": "squared_hinge", "class_weight": "balanced"});
        let budget =
            json!({"budget": 1.0, "budgets": [1.0], "Cs": [0.3, 3.0], "cv": 3, "tol": 1e-4});
        let ellipsoid = json!({"uncertainty": 0.1, "scales": [0.3, 1.0], "Cs": [0.1, 1.0], "cv": 3,
                               "tol": 1e-7, "max_iter": 200});
        vec![
            ("l2", json!({"alpha": "cv", "tol": 1e-8})),
            ("l1", json!({"alpha": "cv", "tol": 1e-8, "normalize": "auto", "n_alphas": 5})),
            (
                "conic-cv",
                json!({"kappas": [0.05, 0.2], "cv": 3, "tol": 1e-6, "fit_intercept": false}),
            ),
            ("stable-logistic-cv", ks),
            ("stable-svm-cv", cs),
            ("missing-cv", budget),
            ("ellipsoid-svm-cv", ellipsoid),
            ("robust-logistic", json!({"missing": 0.1, "n_alphas": 4, "tol": 1e-8})),
        ]
    }

    /// On the rows it was tuned on a settled method is what the tuned one is.
    #[test]
    fn settled_methods_are_the_tuned_ones() {
        let rows = data(90);
        for (method, settings) in cases() {
            let tuned = find(method).unwrap().estimator(&settings).unwrap();
            let fitted = tuned.fit(&rows, &Control::new()).unwrap();
            let settled = settled(method, &settings, &fitted, rows.len()).expect(method);
            let again = settled.fit(&rows, &Control::new()).unwrap();
            let (a, b) = (fitted.model.weights().unwrap(), again.model.weights().unwrap());
            let scale = a.coef[0].iter().fold(0.0_f64, |m, w| m.max(w.abs()));
            for (x, y) in a.coef[0].iter().zip(&b.coef[0]) {
                assert!((x - y).abs() <= 0.02 * scale, "{method}: {:?} {:?}", a.coef, b.coef);
            }
        }
        let fixed = find("l2").unwrap().estimator(&json!({"alpha": 0.1})).unwrap();
        let fitted = fixed.fit(&rows, &Control::new()).unwrap();
        assert!(settled("l2", &json!({"alpha": 0.1}), &fitted, 90).is_none());
    }

    /// Half the rows, twice the penalty beside a mean loss: the same prior.
    #[test]
    fn penalties_follow_the_number_of_rows() {
        let settings = json!({"alpha": "cv", "tol": 1e-8});
        let tuned = find("l2").unwrap().estimator(&settings).unwrap();
        let fitted = tuned.fit(&data(80), &Control::new()).unwrap();
        let Some(Output::Number(alpha)) = fitted.outputs.get("alpha") else { unreachable!() };
        let settled = settled("l2", &settings, &fitted, 80).unwrap();
        let half = settled.fit(&data(40), &Control::new()).unwrap();
        assert_eq!(half.outputs.get("alpha"), Some(&Output::Number(2.0 * alpha)));
    }
}
