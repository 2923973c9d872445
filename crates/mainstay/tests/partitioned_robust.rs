//! Classifiers with an adversary over partitions against the fits of the same rows in memory.
#![cfg(test)]

mod partitions;

use mainstay::data::{Dataset, RowUncertainty};
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::model::Fitted;
use mainstay::partitioned::{InMemory, fit};
use mainstay::{Control, methods};
use mainstay_testkit::generate::{normal, rng};
use partitions::{Pieces, assert_within_gaps, by_bytes, in_memory, over};
use serde_json::{Value, json};

/// Rows of classes that every feature knows a little about, a twentieth of them of any class; columns of different sizes.
fn rows(n: usize, p: usize, classes: usize, seed: u64) -> Dataset {
    let mut rng = rng(seed);
    let (z, noise) = (normal(&mut rng, n * p), normal(&mut rng, n));
    let group = |i: usize| (i * 7 + i / 13) % classes;
    let class = |i: usize| if i.is_multiple_of(20) { i / 20 % classes } else { group(i) };
    let towards = |i: usize, j: usize| match classes {
        2 => 2.0 * group(i) as f64 - 1.0,
        _ => f64::from(u8::from(group(i) == j % classes)),
    };
    let unit = |j: usize| [1.0, 0.1, 4.0][j % 3];
    let signal =
        |i: usize, j: usize| towards(i, j) * (0.6 + 0.3 * noise[i]) / (1.0 + j as f64 / 8.0);
    let x = Dense::from_fn(n, p, |i, j| (z[i * p + j] + signal(i, j)) * unit(j));
    Dataset::new(x.into(), (0..n).map(class).collect(), classes).unwrap()
}

/// One semi-axis for every number, of the size of its column.
fn axes(n: usize, p: usize) -> Dense {
    let unit = |j: usize| [0.1, 0.01, 0.4][j % 3];
    Dense::from_fn(n, p, |i, j| unit(j) * ((i * 5 + j * 3) % 7) as f64 / 4.0)
}

fn assert_agree(a: &Fitted, b: &Fitted, what: &str) {
    assert_within_gaps(a, b, 1e-9, what);
}

/// Problems that have a partitioned form, for five features.
fn cases() -> Vec<(&'static str, Value)> {
    let matrix: Vec<Vec<f64>> = (0..5)
        .map(|i| {
            (0..5).map(|j| if i == j { 0.04 } else { 0.01 * f64::from((i + j) % 3) }).collect()
        })
        .collect();
    vec![
        ("missing-lp", json!({"budget": 1.0, "C": 1.0})),
        ("missing-lp", json!({"budget": 2.5, "C": 10.0})),
        ("missing-lp", json!({"budget": 0.0, "C": 0.5})),
        ("missing-lp", json!({"budget": 1.0, "C": 1.0, "fit_intercept": false})),
        ("missing-lp", json!({"budget": 1.5, "C": 3.0, "margin": 4.0, "class_weight": "balanced"})),
        (
            "missing-lp",
            json!({"budget": 1.5, "values": [1.0, 0.5, 2.0, 0.0, 0.3], "class_weight": [1.0, 3.0]}),
        ),
        ("ellipsoid-svm", json!({"C": 1e-2})),
        ("ellipsoid-svm", json!({"C": 1.0, "uncertainty": 0.3})),
        ("ellipsoid-svm", json!({"C": 1e-2, "uncertainty": 0.0})),
        ("ellipsoid-svm", json!({"C": 1e-2, "uncertainty": [0.1, 0.05, 0.4, 0.0, 0.02]})),
        ("ellipsoid-svm", json!({"C": 1e-2, "uncertainty": matrix, "class_weight": "balanced"})),
    ]
}

#[test]
fn every_problem_reaches_the_optimum_of_the_fit_in_memory() {
    let data = rows(3000, 5, 2, 1);
    for (method, params) in cases() {
        let found = over(&InMemory::with_rows(&data, 700), method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), &format!("{method} {params}"));
    }
}

/// Most rows are not in the sample, so that passes are needed. The limits are those of docs/scale.md.
#[test]
fn passes_are_few_and_the_optimum_is_that_in_memory() {
    let data = rows(30_000, 5, 2, 2);
    let radii = RowUncertainty::Radii((0..30_000).map(|i| f64::from(i % 5) / 20.0).collect());
    let uncertain = |errors: RowUncertainty| data.clone().with_uncertainty(errors).unwrap();
    let svm = json!({"C": 1e-2});
    for (method, params, data, most) in [
        ("missing-lp", json!({"budget": 1.0, "C": 1.0}), data.clone(), 15),
        ("ellipsoid-svm", svm.clone(), data.clone(), 15),
        ("ellipsoid-svm", svm.clone(), uncertain(radii), 15),
        ("ellipsoid-svm", svm.clone(), uncertain(RowUncertainty::Axes(axes(30_000, 5))), 15),
    ] {
        let found = over(&InMemory::new(&data), method, &params).unwrap();
        let what = format!("{method} {params}: {} passes", found.n_iter);
        assert!(found.n_iter <= most, "{what}");
        assert_agree(&found, &in_memory(&data, method, &params), &what);
    }
}

/// Classes whose rows are the same cannot be told apart, nor can those within reach of the adversary.
#[test]
fn zero_weights_are_proven_and_told() {
    let apart = rows(30_000, 4, 2, 3);
    let labels = (0..30_000).map(|i| usize::from(i % 3 == 0)).collect();
    let same = Dataset::new(apart.features().clone(), labels, 2).unwrap();
    for (method, params, data) in [
        ("missing-lp", json!({"budget": 1.0, "C": 1.0}), &same),
        ("ellipsoid-svm", json!({"C": 1e-2, "uncertainty": 0.1}), &same),
        ("ellipsoid-svm", json!({"C": 1e-2, "uncertainty": 30.0}), &apart),
    ] {
        let found = over(&InMemory::new(data), method, &params).unwrap();
        let what = format!("{method} {params}: {} passes, {found:?}", found.n_iter);
        assert!(found.dual_gap() <= Some(found.tol), "{what}");
        assert!(found.n_iter <= 12, "{what}");
        assert!(found.warnings.iter().any(|w| w.contains("constant")), "{what}");
        assert_agree(&found, &in_memory(data, method, &params), &what);
    }
}

#[test]
fn more_than_two_classes_share_a_pass() {
    let data = rows(2400, 4, 3, 4);
    let uncertain = data.clone().with_uncertainty(RowUncertainty::Axes(axes(2400, 4))).unwrap();
    for (method, params, data) in [
        ("missing-lp", json!({"C": 1.0}), &data),
        ("ellipsoid-svm", json!({"C": 1e-2}), &uncertain),
    ] {
        let found = over(&InMemory::with_rows(data, 900), method, &params).unwrap();
        assert_agree(&found, &in_memory(data, method, &params), method);
    }
}

/// Sorted by class, so that most blocks hold one class only; weights count as rows.
#[test]
fn empty_one_class_and_weighted_partitions_are_partitions() {
    let mut data = rows(1500, 4, 2, 5);
    let weights: Vec<f64> = (0..1500).map(|i| f64::from(i % 3)).collect();
    data = data.with_weights(weights).unwrap();
    data = data.with_uncertainty(RowUncertainty::Axes(axes(1500, 4))).unwrap();
    let mut order: Vec<usize> = (0..1500).collect();
    order.sort_by_key(|&i| data.labels()[i]);
    let sorted = data.select_rows(&order);
    let pieces = Pieces::cut(&sorted, &[0, 1, 400, 0, 299, 1, 1, 798, 0]);
    for (method, params) in
        [("missing-lp", json!({"C": 1.0})), ("ellipsoid-svm", json!({"C": 1e-2}))]
    {
        let found = over(&pieces, method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), method);
    }
}

/// The same numbers as compressed rows, a third of them zero.
#[test]
fn sparse_blocks_are_as_good_as_dense_ones() {
    let data = rows(900, 6, 2, 6);
    let mut dense = data.features().to_dense();
    for (k, v) in dense.data_mut().iter_mut().enumerate() {
        *v *= f64::from(u8::from(k % 3 != 1));
    }
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..900 {
        for (j, v) in dense.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(u32::try_from(j).unwrap());
            values.push(*v);
        }
        starts.push(values.len());
    }
    let sparse = data.replace_features(Csr::new(6, starts, columns, values).unwrap().into());
    let dense = data.replace_features(Matrix::from(dense));
    for (method, params) in
        [("missing-lp", json!({"budget": 2, "C": 1.0})), ("ellipsoid-svm", json!({"C": 1e-2}))]
    {
        let found = over(&Pieces::cut(&sparse, &[300, 600]), method, &params).unwrap();
        assert_agree(&found, &in_memory(&dense, method, &params), method);
    }
}

/// Every ask and every message as bytes, merged level by level as a cluster would; and with other numbers of threads.
#[test]
fn the_number_of_threads_and_the_way_of_the_bytes_change_no_bit() {
    let data = rows(3000, 4, 2, 7);
    let data = data.with_uncertainty(RowUncertainty::Axes(axes(3000, 4))).unwrap();
    let source = InMemory::with_rows(&data, 100);
    for (method, params) in
        [("missing-lp", json!({"C": 1.0})), ("ellipsoid-svm", json!({"C": 1e-2}))]
    {
        let driver = || methods::driver(method, &params).unwrap();
        let threads = Control::new().with_threads(3);
        let one = fit(&source, driver(), &threads, |_| Ok(())).unwrap();
        let (found, own) = by_bytes(&source, driver());
        assert_eq!(found, one);
        let bytes = own.checkpoint().unwrap();
        assert!(bytes.len() <= 50 * 4 + 2000, "{} bytes", bytes.len());
        let again = fit(&source, driver().resume(&bytes).unwrap(), &threads, |_| Ok(())).unwrap();
        assert_agree(&again, &one, method);
        assert!(again.n_iter <= 4, "{} passes", again.n_iter);
    }
}

#[test]
fn what_has_no_partitioned_form_is_refused_with_the_reason() {
    let data = rows(60, 3, 2, 8);
    let told = |method: &str, params: Value| {
        over(&InMemory::new(&data), method, &params).unwrap_err().to_string()
    };
    assert!(told("missing-lp", json!({"values": "mutual_info"})).contains("sample"));
    assert!(told("missing-lp", json!({"n_chunks": 3})).contains("n_chunks"));
    let filled = told("missing-lp", json!({"at_predict": "gaussian"}));
    assert!(filled.contains("at_predict") && filled.contains("\"zero\""), "{filled}");
    assert!(told("missing-lp", json!({"values": [1.0]})).contains("3 features"));
    assert!(told("missing-lp", json!({"budget": 3.0})).contains("budget"));
    assert!(told("ellipsoid-svm", json!({"uncertainty": [0.1, 0.2]})).contains("semi-axes"));
    let mut pieces = Pieces::cut(&data, &[20, 40]);
    pieces.0[1] = pieces.0[1].clone().with_errors(Dense::zeros(40, 2));
    let wrong = over(&pieces, "ellipsoid-svm", &json!({})).unwrap_err().to_string();
    assert!(wrong.contains("partition 1") && wrong.contains("2 columns of errors"), "{wrong}");
    let mut pieces = Pieces::cut(&data, &[20, 40]);
    pieces.0[1] = pieces.0[1].clone().with_errors(Dense::from_fn(40, 3, |_, _| -1.0));
    let wrong = over(&pieces, "ellipsoid-svm", &json!({})).unwrap_err().to_string();
    assert!(wrong.contains("partition 1: uncertainty: row 0"), "{wrong}");
    let matrices = RowUncertainty::Matrices(Dense::zeros(60, 9));
    let full = data.clone().with_uncertainty(matrices).unwrap();
    let wrong = over(&InMemory::new(&full), "ellipsoid-svm", &json!({})).unwrap_err().to_string();
    assert!(wrong.contains("full matrix per row"), "{wrong}");
}
