//! Kernels of their own over partitions, against the fits of the same rows in memory.
#![cfg(test)]

mod partitions;

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense};
use mainstay::methods::driver;
use mainstay::model::{Fitted, Model, Output};
use mainstay::partitioned::{InMemory, fit};
use mainstay_testkit::generate::{normal, rng};
use partitions::{Pieces, assert_within_gaps, by_bytes, in_memory, over};
use serde_json::{Value, json};

/// Rows around a plane, a tenth of them of any class; columns of different sizes, away from zero.
fn rows(n: usize, p: usize, classes: usize, seed: u64) -> Dataset {
    let mut rng = rng(seed);
    let (z, noise) = (normal(&mut rng, n * p), normal(&mut rng, n));
    let class = |i: usize| {
        let score = z[i * p] - 0.5 * z[i * p + 1] + 0.4 * noise[i];
        let bands = [f64::NEG_INFINITY, -0.8, 0.8];
        let own = match classes {
            2 => usize::from(score > 0.0),
            _ => bands.partition_point(|b| *b < score) - 1,
        };
        if i.is_multiple_of(10) { i / 10 % classes } else { own }
    };
    let unit = |j: usize| [1.0, 0.3, 2.0][j % 3];
    let x = Dense::from_fn(n, p, |i, j| (z[i * p + j] + 0.5 * j as f64) * unit(j));
    Dataset::new(x.into(), (0..n).map(class).collect(), classes).unwrap()
}

fn vector(fitted: &Fitted, name: &str) -> Vec<f64> {
    match fitted.outputs.get(name) {
        Some(Output::Vector(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Methods with a kernel of their own.
fn cases() -> Vec<(&'static str, Value)> {
    vec![
        ("regec", json!({})),
        ("regec", json!({"regularization": "tikhonov", "delta": 1e-3})),
        ("norm-robust-regec", json!({"eta_a": 0.5})),
        ("robust-regec", json!({"uncertainty": 0.1, "xi": 0.0})),
        ("robust-regec", json!({"uncertainty": 0.05, "class_weight": "balanced"})),
        ("robust-regec", json!({"uncertainty": [0.1, 0.0, 0.2, 0.1, 0.0, 0.1], "xi": 0.2})),
        ("missing-perceptron", json!({"shuffle": false, "n_passes": 2})),
        ("conic", json!({"kappa": 0.1})),
        ("conic", json!({"kappa": 0.3, "class_weight": [1.0, 2.0], "fit_intercept": false})),
        ("conic", json!({"C": 0.01})),
        ("conic", json!({"C": 1e-6})),
        ("robust-logistic", json!({"alpha": 1e-2, "missing": 0.2, "feature_model": false})),
        (
            "robust-logistic",
            json!({"alpha": 1e-3, "wrong_labels": 0.1, "correction": "after", "class_weight": "balanced"}),
        ),
        (
            "robust-logistic",
            json!({"alpha": 1e-2, "wrong_labels": 0.05, "correction": "backward",
                                   "missing": 0.1, "feature_model": false, "fit_intercept": false}),
        ),
    ]
}

/// What both fits promise agrees: objectives within the gaps where there is a proof, weights of the perceptron to the
/// last bit, ratios of planes to the accuracy of the descent.
fn assert_agree(found: &Fitted, known: &Fitted, what: &str) {
    if !known.certificates.is_empty() {
        assert!(found.tol <= 1e-6 && known.tol <= 1e-6);
        return assert_within_gaps(found, known, 1e-12, what);
    }
    let Model::Planes(_) = &found.model else {
        assert_eq!(found.model, known.model, "{what}");
        return;
    };
    let pairs =
        vector(found, "worst_case_ratio").into_iter().zip(vector(known, "worst_case_ratio"));
    for (a, b) in pairs {
        assert!((a / b - 1.0).abs() <= 2e-5, "{what}: {a} {b}");
    }
}

#[test]
fn every_kernel_reaches_what_the_fit_in_memory_does() {
    let data = rows(3000, 6, 2, 1);
    for (method, params) in cases() {
        let found = over(&InMemory::with_rows(&data, 700), method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), &format!("{method} {params}"));
    }
}

/// The sample is a third of the rows, so that passes are needed.
#[test]
fn passes_are_those_of_the_documentation() {
    let data = rows(60_000, 10, 2, 2);
    for (method, params, most) in [
        ("regec", json!({}), 2),
        ("norm-robust-regec", json!({"eta_a": 1.0}), 2),
        ("robust-regec", json!({"uncertainty": 0.1, "xi": 0.0}), 35),
        ("missing-perceptron", json!({"n_passes": 3}), 4),
        ("conic", json!({"kappa": 0.1}), 17),
        ("conic", json!({"C": 1e-3}), 17),
        ("robust-logistic", json!({"alpha": 1e-3, "missing": 0.2, "feature_model": false}), 6),
    ] {
        let found = over(&InMemory::new(&data), method, &params).unwrap();
        println!("{method} {params}: {} passes, gap {:?}", found.n_iter, found.dual_gap());
        assert!(found.n_iter <= most, "{method} {params}: {} passes", found.n_iter);
        assert!(found.dual_gap().is_none_or(|gap| gap <= 1e-6), "{method}: {:?}", found.dual_gap());
    }
}

#[test]
fn more_than_two_classes_share_a_pass() {
    let data = rows(4000, 4, 3, 4);
    for (method, params) in [
        ("regec", json!({"rule": "plane"})),
        ("norm-robust-regec", json!({"rule": "plane", "eta_a": 0.1})),
        ("robust-regec", json!({"uncertainty": 0.05, "xi": 0.5})),
        ("missing-perceptron", json!({"shuffle": false})),
        ("conic", json!({"kappa": 0.2})),
        ("robust-logistic", json!({"alpha": 1e-2, "missing": 0.3, "feature_model": false})),
    ] {
        let found = over(&InMemory::with_rows(&data, 900), method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), method);
    }
    for method in ["regec", "norm-robust-regec"] {
        let told = over(&InMemory::new(&data), method, &json!({})).unwrap_err().to_string();
        assert!(told.contains("\"plane\" for 3 classes"), "{told}");
    }
}

#[test]
fn empty_one_row_and_one_class_partitions_are_partitions() {
    let data = rows(1500, 6, 2, 5);
    let mut order: Vec<usize> = (0..1500).collect();
    order.sort_by_key(|&i| data.labels()[i]);
    let sorted = data.select_rows(&order);
    let pieces = Pieces::cut(&sorted, &[0, 1, 400, 0, 299, 1, 1, 798, 0]);
    for (method, params) in cases() {
        let found = over(&pieces, method, &params).unwrap();
        assert_agree(&found, &in_memory(&sorted, method, &params), &format!("{method} {params}"));
    }
}

#[test]
fn weights_count_as_rows_and_sparse_blocks_as_dense_ones() {
    let data = rows(1200, 6, 2, 6);
    let weights: Vec<f64> = (0..1200).map(|i| f64::from(i % 3)).collect();
    let weighted = data.clone().with_weights(weights).unwrap();
    let repeated: Vec<usize> = (0..1200).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let repeated = data.select_rows(&repeated);
    let dense = data.features().to_dense();
    let starts = (0..=1200).map(|i| 6 * i).collect();
    let columns = (0..1200).flat_map(|_| 0..6).collect();
    let sparse = Csr::new(6, starts, columns, dense.data().to_vec()).unwrap();
    let sparse = data.replace_features(sparse.into());
    for (method, params) in cases() {
        let found = over(&Pieces::cut(&sparse, &[300, 900]), method, &params).unwrap();
        assert_agree(
            &found,
            &in_memory(&data, method, &params),
            &format!("sparse {method} {params}"),
        );
        let found = over(&Pieces::cut(&weighted, &[500, 700]), method, &params);
        if method == "missing-perceptron" {
            let told = found.unwrap_err().to_string();
            assert!(told.contains("repeat rows"), "{told}");
            continue;
        }
        let known = in_memory(&repeated, method, &params);
        assert_agree(&found.unwrap(), &known, &format!("weights {method} {params}"));
    }
}

#[test]
fn the_number_of_threads_and_the_way_of_the_bytes_change_no_bit() {
    let data = rows(1600, 6, 2, 7);
    let source = InMemory::with_rows(&data, 130);
    for (method, params) in cases() {
        let with_threads = |threads: usize| {
            let driver = driver(method, &params).unwrap();
            fit(&source, driver, &Control::new().with_threads(threads), |_| Ok(())).unwrap()
        };
        let one = with_threads(1);
        assert_eq!(with_threads(3), one, "{method} {params}");
        let (found, _) = by_bytes(&source, driver(method, &params).unwrap());
        assert_eq!(found, one, "{method} {params}");
    }
}

/// Rows are shuffled within their partition, in another order in every pass.
#[test]
fn a_shuffled_perceptron_depends_on_its_seed_alone() {
    let data = rows(2000, 5, 2, 8);
    let source = InMemory::with_rows(&data, 300);
    let with = |seed: u64| {
        over(&source, "missing-perceptron", &json!({"n_passes": 2, "random_state": seed})).unwrap()
    };
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).model, with(2).model);
    let right = |fitted: &Fitted| {
        let predicted = fitted.model.predict(data.features()).unwrap();
        predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count()
    };
    let known = in_memory(&data, "missing-perceptron", &json!({"n_passes": 2}));
    assert!(right(&with(1)) as f64 >= 0.97 * right(&known) as f64);
}

/// Sums cannot tell features apart that agree to five digits; triangles of the rows can.
#[test]
fn nearly_collinear_features_take_one_pass_more() {
    let plain = rows(400, 3, 2, 9);
    let dense = plain.features().to_dense();
    let x = Dense::from_fn(400, 4, |i, j| match j {
        3 => dense[(i, 0)] + 1e-5 * ((3 * i % 7) as f64 - 3.0),
        _ => dense[(i, j)],
    });
    let data = plain.replace_features(x.into());
    let params = json!({"regularization": "none"});
    let found = over(&InMemory::with_rows(&data, 90), "regec", &params).unwrap();
    assert_eq!(found.route, ["sums", "rows", "partitions"]);
    assert_agree(&found, &in_memory(&data, "regec", &params), "collinear");
}

#[test]
fn ellipsoids_that_cover_everything_are_made_smaller() {
    let data = rows(2000, 4, 2, 10);
    let params = json!({"uncertainty": 30.0, "xi": 0.0});
    let found = over(&InMemory::with_rows(&data, 500), "robust-regec", &params).unwrap();
    assert!(found.warnings.iter().any(|w| w.contains("too large")), "{:?}", found.warnings);
    assert!(found.model.validate().is_ok());
}

#[test]
fn a_checkpoint_goes_on_where_the_fit_was() {
    let data = rows(30_000, 6, 2, 11);
    let source = InMemory::with_rows(&data, 4000);
    for (method, params) in [
        ("robust-regec", json!({"uncertainty": 0.1, "xi": 0.0})),
        ("missing-perceptron", json!({"n_passes": 4, "shuffle": false})),
        ("conic", json!({"kappa": 0.1, "tol": 1e-8})),
    ] {
        let mut left = None;
        let whole = fit(&source, driver(method, &params).unwrap(), &Control::new(), |driver| {
            if driver.passes() == 3 {
                left = driver.checkpoint();
            }
            Ok(())
        });
        let (whole, bytes) = (whole.unwrap(), left.unwrap());
        assert!(bytes.len() <= 400 * 6 + 2000, "{method}: {} bytes", bytes.len());
        let again = driver(method, &params).unwrap().resume(&bytes).unwrap();
        let again = fit(&source, again, &Control::new(), |_| Ok(())).unwrap();
        assert_agree(&again, &whole, method);
        assert!(
            3 + again.n_iter <= whole.n_iter + 3,
            "{method}: {} {}",
            again.n_iter,
            whole.n_iter
        );
        let other = rows(30_000, 6, 2, 12);
        let elsewhere = driver(method, &params).unwrap().resume(&bytes).unwrap();
        let told = fit(&InMemory::new(&other), elsewhere, &Control::new(), |_| Ok(())).unwrap_err();
        assert!(told.to_string().contains("other data"), "{told}");
    }
}

#[test]
fn what_has_no_partitioned_form_says_what_to_do() {
    let told = |method: &str, params: Value| driver(method, &params).unwrap_err().to_string();
    assert!(told("robust-regec", json!({"solver": "paper"})).contains("monotone"));
    assert!(told("missing-perceptron", json!({"values": "mutual_info"})).contains("sample"));
    assert!(told("conic", json!({"kernel": "rbf"})).contains("linear"));
    assert!(told("conic", json!({"kappa": 0.0})).contains("small `kappa`"));
    assert!(told("robust-logistic", json!({})).contains("sample"));
    assert!(told("robust-logistic", json!({"alpha": 0.1, "protect": "worst"})).contains("average"));
    assert!(told("robust-logistic", json!({"alpha": 0.1, "errors": 0.1})).contains("errors"));
    let averaged = told("robust-logistic", json!({"alpha": 0.1, "correction": "averaged"}));
    assert!(averaged.contains("averaged") && averaged.contains("backward"), "{averaged}");
    let missing = told("robust-logistic", json!({"alpha": 0.1, "missing": 0.2}));
    assert!(missing.contains("feature_model=False") && missing.contains("sample"), "{missing}");
    let wide = rows(50, 2100, 2, 13);
    let told = over(&InMemory::new(&wide), "conic", &json!({})).unwrap_err().to_string();
    assert!(told.contains("at most 4000"), "{told}");
}
