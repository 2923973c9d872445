//! Features far from zero for their spread: what a certificate claims is checked in twice the precision.
//!
//! Whole numbers in +-4, plus a power of two. The same rows around zero have the same optimum, since every problem here
//! has a free intercept; an objective that is reached there, evaluated here by its formula, is an upper bound on it whoever
//! found it. Around 2^51 the intercept that would be needed is no float: the answer is worse than the optimum, and the
//! certificate must not deny that.
#![cfg(test)]

use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Fitted, Model};
use mainstay::{Control, methods};
use mainstay_testkit::exact::score;
use mainstay_testkit::generate::{normal, rng};
use mainstay_testkit::objective::{self, Judged};
use serde_json::{Value, json};

const ROWS: usize = 20;
const POWERS: [i32; 5] = [20, 34, 38, 45, 51];

/// Rows around zero with their classes.
struct Rows {
    near: Vec<f64>,
    labels: Vec<usize>,
    columns: usize,
}

impl Rows {
    fn new(seed: u64, columns: usize, classes: usize) -> Self {
        let mut rng = rng(seed);
        let near: Vec<f64> = normal(&mut rng, ROWS * columns)
            .iter()
            .map(|v| (2.0 * v).round().clamp(-4.0, 4.0))
            .collect();
        let noise = normal(&mut rng, ROWS);
        let labels = (0..ROWS)
            .map(|i| {
                let t = near[i * columns] + noise[i];
                if i < classes {
                    i
                } else {
                    usize::from(t > 0.5) + usize::from(t > 2.0 && classes > 2)
                }
            })
            .collect();
        Self { near, labels, columns }
    }

    fn moved(&self, by: f64) -> Vec<f64> {
        self.near.iter().map(|v| v + by).collect()
    }

    fn fit(&self, method: &str, params: &Value, by: f64) -> Fitted {
        let x = Dense::from_rows(ROWS, self.columns, self.moved(by));
        let classes = self.labels.iter().max().unwrap() + 1;
        let data = Dataset::new(x.into(), self.labels.clone(), classes).unwrap();
        let estimator = methods::find(method).unwrap().estimator(params).unwrap();
        estimator.fit(&data, &Control::new()).unwrap()
    }

    /// Exact scores, one list per hyperplane.
    fn scores(&self, fitted: &Fitted, by: f64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let Model::Linear(model) = &fitted.model else { panic!("not linear") };
        let x = self.moved(by);
        let planes = model.coef.iter().zip(&model.intercept);
        let of =
            |(w, b): (&Vec<f64>, &f64)| x.chunks(self.columns).map(|x| score(w, *b, x)).collect();
        (model.coef.clone(), planes.map(of).collect())
    }
}

/// A method, its parameters, and its objective.
struct Case {
    method: &'static str,
    params: Value,
    classes: usize,
    objective: fn(&Value, Judged<'_>) -> f64,
}

fn number(params: &Value, name: &str) -> f64 {
    params[name].as_f64().unwrap()
}

fn loss(params: &Value) -> &str {
    params["loss"].as_str().unwrap()
}

/// Checks one case at every offset; how many claims were weak.
fn check(case: &Case, seed: u64, columns: usize) -> usize {
    let rows = Rows::new(seed, columns, case.classes);
    let value = |fitted: &Fitted, by: f64| {
        let (w, scores) = rows.scores(fitted, by);
        let weights = [1.0; ROWS];
        let judged = Judged { coef: &w, scores: &scores, labels: &rows.labels, weights: &weights };
        (case.objective)(&case.params, judged)
    };
    let near = rows.fit(case.method, &case.params, 0.0);
    let reached = value(&near, 0.0);
    let name = format!("{} {} {} {seed}", case.method, case.params, columns);
    assert!(near.certificates[0].gap() <= 1e-6, "{name}: {:?}", near.certificates);
    let mut weak = 0;
    for power in POWERS {
        let by = 2f64.powi(power);
        let far = rows.fit(case.method, &case.params, by);
        let (found, objective) = (far.certificates[0], value(&far, by));
        let size = objective.max(1.0);
        assert!(
            (found.primal - objective).abs() <= 1e-11 * size,
            "{name} 2^{power}: says {} for {objective}",
            found.primal
        );
        assert!(
            found.dual <= reached + 1e-9 * size,
            "{name} 2^{power}: the bound {} is above {reached}",
            found.dual
        );
        let excess = (objective - reached) / size;
        assert!(found.gap() >= excess - 1e-9, "{name} 2^{power}: {:e} for {excess:e}", found.gap());
        // Below 2^30 nothing is lost that matters.
        assert!(power > 30 || found.gap() <= 1e-5, "{name} 2^{power}: {:e}", found.gap());
        weak += usize::from(found.gap() > 1e-6);
    }
    weak
}

#[test]
fn claims_of_penalised_fits_are_about_the_rounded_numbers() {
    let mut weak = 0;
    for (at, name) in ["logistic", "hinge", "squared_hinge", "modified_huber"].iter().enumerate() {
        for (method, part) in [("l2", 0.0), ("l1", 1.0), ("elasticnet", 0.4)] {
            let params = json!({"loss": name, "alpha": 0.05, "l1_ratio": part, "tol": 1e-8});
            let objective = |params: &Value, rows: Judged<'_>| {
                objective::penalised(
                    rows,
                    loss(params),
                    number(params, "alpha"),
                    number(params, "l1_ratio"),
                )
            };
            let case = Case { method, params, classes: 2, objective };
            for seed in 0..3 {
                weak += check(&case, 10 * at as u64 + seed, 2);
            }
            weak += check(&case, 99, 30);
        }
    }
    assert!(weak > 0, "no case was hard");
}

#[test]
fn claims_of_stable_fits_are_about_the_rounded_numbers() {
    let mut weak = 0;
    for classes in [2, 3] {
        for name in ["hinge", "squared_hinge"] {
            let params = json!({"loss": name, "C": 1.0, "k": 0.6, "tol": 1e-8});
            let objective = |params: &Value, rows: Judged<'_>| {
                objective::stable_svm(rows, loss(params), number(params, "C"), number(params, "k"))
            };
            let case = Case { method: "stable-svm", params, classes, objective };
            for seed in 0..4 {
                weak += check(&case, seed, 2);
            }
            weak += check(&case, 98, 30);
        }
        let params = json!({"alpha": 0.02, "k": 0.6, "multi_class": "joint", "tol": 1e-8});
        let objective = |params: &Value, rows: Judged<'_>| {
            objective::stable_logistic(rows, number(params, "alpha"), number(params, "k"))
        };
        let case = Case { method: "stable-logistic", params, classes, objective };
        for seed in 0..4 {
            weak += check(&case, seed, 2);
        }
        weak += check(&case, 98, 30);
    }
    assert!(weak > 0, "no case was hard");
}
