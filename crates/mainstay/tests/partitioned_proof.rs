//! The bounds of a fit over partitions, proved again in one pass.
#![cfg(test)]

use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::partitioned::{InMemory, Proof, Step, pass};
use mainstay::{Control, methods};

fn rows(classes: usize) -> Dataset {
    let cell = |i: usize, j: usize| ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin();
    let noise = |i: usize| 0.8 * ((13 * i) as f64 * 0.31).sin();
    let label = |i: usize| {
        let score = cell(i, 0) + cell(i, 1) + noise(i);
        if score < -0.4 { 0 } else { (1 + usize::from(score > 0.6)).min(classes - 1) }
    };
    let labels = (0..3000).map(label).collect();
    Dataset::new(Dense::from_fn(3000, 3, cell).into(), labels, classes).unwrap()
}

/// One pass over other partitions of the same rows, whose sums differ in their last digits: the same bounds.
#[test]
fn one_pass_proves_the_bounds_of_a_fit_again() {
    let control = Control::new();
    for (name, params, classes) in [
        ("l2", serde_json::json!({"alpha": 1e-3}), 3),
        ("l1", serde_json::json!({"alpha": 1e-2}), 2),
        ("l2", serde_json::json!({"alpha": 1e-3, "loss": "hinge"}), 2),
        ("stable-svm", serde_json::json!({"k": 0.7, "C": 1e-2}), 2),
        ("stable-logistic", serde_json::json!({"k": 0.5, "alpha": 1e-3}), 2),
    ] {
        let data = rows(classes);
        let source = InMemory::with_rows(&data, 500);
        let mut driver = methods::driver(name, &params).unwrap();
        let mut message = None;
        let fitted = loop {
            match driver.next(message).unwrap() {
                Step::Done(fitted) => break fitted,
                Step::Ask(ask) => message = pass(&source, &ask, &control).unwrap(),
            }
        };
        let proof = driver.proof().unwrap();
        let proof = Proof::from_bytes(&proof.to_bytes()).unwrap();
        for rows in [500, 700] {
            let source = InMemory::with_rows(&data, rows);
            let answer = pass(&source, &proof.ask(), &control).unwrap().unwrap();
            let bounds = proof.bounds(answer).unwrap();
            assert_eq!(bounds.len(), fitted.certificates.len());
            for (found, known) in bounds.iter().zip(&fitted.certificates) {
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * b.abs().max(1.0);
                assert!(near(found.primal, known.primal), "{name}: {found:?} {known:?}");
                assert!(near(found.dual, known.dual), "{name}: {found:?} {known:?}");
                assert!(found.gap() <= 1e-6 && (rows != 500 || found == known), "{name}");
            }
        }
    }
}

#[test]
fn an_answer_to_something_else_proves_nothing() {
    let data = rows(2);
    let source = InMemory::new(&data);
    let mut driver = methods::driver("l2", &serde_json::json!({})).unwrap();
    let Step::Ask(first) = driver.next(None).unwrap() else { unreachable!() };
    assert!(driver.proof().is_none());
    let look = pass(&source, &first, &Control::new()).unwrap().unwrap();
    driver.next(Some(look.clone())).unwrap();
    // Nothing is proved before a pass.
    assert!(driver.proof().is_none());
    assert!(Proof::from_bytes(&look.to_bytes()).is_err());
}
