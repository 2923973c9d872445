//! Methods of the roster that fix what they chose once, for fits that need not be tuned again.

use serde_json::Value;

use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods;
use crate::model::{Estimator, Fitted, Output, Retuning};

/// A method with its settings; knows what it chooses.
pub(super) struct Tuned {
    method: &'static str,
    settings: Value,
    estimator: Box<dyn Estimator>,
}

impl Tuned {
    pub(super) fn new(method: &'static str, settings: Value) -> Result<Self> {
        let estimator = methods::find(method)?.estimator(&settings)?;
        Ok(Self { method, settings, estimator })
    }
}

impl Estimator for Tuned {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        self.estimator.fit(data, control)
    }

    fn settled(&self, fitted: &Fitted, rows: usize) -> Option<Box<dyn Estimator>> {
        methods::settled(self.method, &self.settings, fitted, rows)
    }

    fn retuning(&self, fitted: &Fitted) -> Retuning {
        // Held-out losses along the penalty fall and rise once, or nearly so. Those of the other methods, mostly counts of errors,
        // have several valleys: a search that begins in one stays there (decision 0053).
        let alpha = fitted.outputs.get("alpha").filter(|_| self.retunes());
        match alpha {
            Some(Output::Number(alpha)) => Retuning::Near([("alpha".to_owned(), *alpha)].into()),
            _ => Retuning::Anew,
        }
    }

    fn retunes(&self) -> bool {
        ["l2", "l1", "robust-logistic"].contains(&self.method)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::linalg::Dense;

    fn data(n: usize) -> Dataset {
        let x = Dense::from_fn(n, 3, |i, j| ((i * (7 + 4 * j) + j) % 13) as f64 / 4.0 - 1.5);
        let labels = (0..n).map(|i| usize::from((i * 7) % 13 + (i % 4) > 7)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }

    /// Every kind of choice with small settings.
    fn cases() -> Vec<(&'static str, Value)> {
        let kappas = json!({"kappas": [0.05, 0.2], "cv": 3, "tol": 1e-6});
        let ks = json!({"ks": [0.5, 1.0], "alphas": [1e-3, 1e-1], "cv": 3, "tol": 1e-7});
        let cs = json!({"ks": [0.5, 1.0], "Cs": [1e-2, 1e-1], "cv": 3, "tol": 1e-7});
        let budget =
            json!({"budget": 1.0, "budgets": [1.0], "Cs": [0.3, 3.0], "cv": 3, "tol": 1e-4});
        let ellipsoid = json!({"uncertainty": 0.1, "scales": [1.0], "Cs": [0.1, 1.0], "cv": 3,
                               "tol": 1e-7, "max_iter": 200});
        vec![
            ("l2", json!({"alpha": "cv", "tol": 1e-8})),
            ("conic-cv", kappas),
            ("stable-logistic-cv", ks),
            ("stable-svm-cv", cs),
            ("missing-cv", budget),
            ("ellipsoid-svm-cv", ellipsoid),
            ("robust-logistic", json!({"missing": 0.1, "n_alphas": 4, "tol": 1e-8})),
        ]
    }

    /// How many candidates a search judged, and how many there are.
    fn judged(fitted: &Fitted) -> (usize, usize) {
        let Some(Output::Table(table)) = fitted.outputs.get("cv_results") else { unreachable!() };
        let means = table.iter().find(|(name, _)| name == "mean_test_score").map(|(_, m)| m);
        let Some(Output::Vector(means)) = means else { unreachable!() };
        (means.iter().filter(|mean| !mean.is_nan()).count(), means.len())
    }

    /// A search that begins at the answer of the full one ends there, with the same model, and does not look at all candidates.
    #[test]
    fn searches_near_the_answer_find_it() {
        let rows = data(90);
        for (method, settings) in cases() {
            let tuned = Tuned::new(method, settings).unwrap();
            let fitted = tuned.fit(&rows, &Control::new()).unwrap();
            assert_eq!(tuned.retunes(), !method.ends_with("-cv"), "{method}");
            let Retuning::Near(chosen) = tuned.retuning(&fitted) else {
                assert!(!tuned.retunes(), "{method}");
                continue;
            };
            let again = tuned.fit(&rows, &Control::new().near(chosen)).unwrap();
            let (all, some) = (judged(&fitted), judged(&again));
            assert!(all.0 == all.1 && some.0 < some.1, "{method}: {all:?} {some:?}");
            assert_eq!(tuned.retuning(&again), tuned.retuning(&fitted), "{method}");
            let (a, b) = (fitted.model.weights().unwrap(), again.model.weights().unwrap());
            let scale = a.coef[0].iter().fold(0.0_f64, |m, w| m.max(w.abs()));
            for (x, y) in a.coef[0].iter().zip(&b.coef[0]) {
                assert!((x - y).abs() <= 0.02 * scale, "{method}: {:?} {:?}", a.coef, b.coef);
            }
        }
    }

    /// Held-out losses of the penalised fits fall and rise once along the grid here: from both of its ends the search comes to the
    /// answer of the full one.
    #[test]
    fn searches_from_far_away_go_on_to_the_answer() {
        let rows = data(90);
        for method in ["l2", "robust-logistic"] {
            let settings = json!({"alpha": "cv", "n_alphas": 8, "tol": 1e-8});
            let tuned = Tuned::new(method, settings).unwrap();
            let full = tuned.retuning(&tuned.fit(&rows, &Control::new()).unwrap());
            assert!(matches!(full, Retuning::Near(_)), "{method}");
            for start in [1e-9, 1e9] {
                let near = Control::new().near([("alpha".to_owned(), start)].into());
                assert_eq!(tuned.retuning(&tuned.fit(&rows, &near).unwrap()), full, "{method}");
            }
        }
    }
}
