//! Tables of a few categories, where equal rows are patients of a kind and no copies: searches learn from all kinds.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use mainstay::data::{Dataset, Merged};
use mainstay::linalg::Dense;
use mainstay::{Control, methods};
use serde_json::{Value, json};

/// Three binary columns; in every hundred rows of a kind so many of class 1.
const ONES: [usize; 8] = [12, 30, 25, 55, 40, 72, 66, 90];

fn table() -> Dataset {
    let x = Dense::from_fn(800, 3, |i, j| ((i % 8) >> j & 1) as f64);
    let labels = (0..800).map(|i| usize::from(i / 8 < ONES[i % 8])).collect();
    Dataset::new(x.into(), labels, 2).unwrap()
}

fn searches() -> Vec<(&'static str, Value)> {
    vec![
        ("l2", json!({"alpha": "cv"})),
        ("l1", json!({"alpha": "cv"})),
        ("robust-logistic", json!({})),
        ("robust-logistic", json!({"wrong_labels": 0.05, "correction": "averaged"})),
        ("robust-logistic", json!({"protect": "worst", "errors": 0.05, "n_alphas": 6})),
        ("rolin", json!({"n_repeats": 2})),
        ("rolin", json!({"n_repeats": 1, "variant": "paper"})),
        ("top-pcs", json!({"n_repeats": 2})),
        ("conic-cv", json!({"kappas": [0.1, 0.3, 0.6]})),
        ("stable-svm-cv", json!({"ks": [0.7, 1.0], "Cs": [1e-3, 1e-2, 0.1]})),
        ("stable-logistic-cv", json!({"ks": [0.7, 1.0], "alphas": [1e-4, 1e-2, 0.1]})),
        ("stable-logistic", json!({"k": "auto", "alpha": 1e-3})),
        ("ellipsoid-svm-cv", json!({"uncertainty": 0.1, "scales": [0.1, 1.0], "Cs": [0.01, 0.1]})),
        ("missing-cv", json!({"budget": 0.2, "budgets": [0.0, 0.2], "Cs": [0.3, 3.0]})),
        ("l2", json!({"loss": "hinge", "alpha": 1e-3, "calibrate": true})),
    ]
}

/// A kind has both classes. Held out by class it would be taught the wrong way round, and answering one class would win.
#[test]
fn every_search_finds_what_kinds_say() {
    let rows = table();
    let best: usize = ONES.iter().map(|ones| *ones.max(&(100 - ones))).sum();
    for (name, params) in searches() {
        let estimator = methods::find(name).unwrap().estimator(&params).unwrap();
        let model = estimator.fit(&rows, &Control::new()).unwrap().model;
        let found = model.predict(rows.features()).unwrap();
        let right = found.iter().zip(rows.labels()).filter(|(a, b)| a == b).count();
        // The kinds of 55 and of 40 may be on the wrong side of a plane; a constant is right on 410 rows.
        assert!(right + 30 >= best, "{name} {params}: {right} right of {best}");
    }
}

#[test]
fn counts_as_weights_give_what_repeated_rows_give() {
    let rows = table();
    let counted = Merged::new(&rows).data;
    for (name, params) in searches() {
        let estimator = methods::find(name).unwrap().estimator(&params).unwrap();
        let scores = |data: &Dataset| {
            let model = estimator.fit(data, &Control::new()).unwrap().model;
            let p = if model.gives_probabilities() {
                model.probabilities(rows.features()).unwrap().unwrap()
            } else {
                model.decision(rows.features()).unwrap()
            };
            p.data()[..24].to_vec()
        };
        for (a, b) in scores(&rows).iter().zip(&scores(&counted)) {
            assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{name} {params}: {a} {b}");
        }
    }
}
