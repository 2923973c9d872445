//! Fits over partitions against the fits of the same rows in memory.
#![cfg(test)]

mod partitions;

use std::borrow::Cow;

use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{Block, Driver, InMemory, MergeTree, Partitions, Step, fit, look};
use mainstay::{Control, Error, Result, methods};
use mainstay_testkit::generate::{normal, rng};
use partitions::{Pieces, assert_within_gaps, by_bytes, in_memory, over};
use serde_json::{Value, json};

/// Rows around a plane, a tenth of them of any class; columns of different sizes, far from zero.
fn rows(n: usize, p: usize, classes: usize, seed: u64) -> Dataset {
    let mut rng = rng(seed);
    let (z, noise) = (normal(&mut rng, n * p), normal(&mut rng, n));
    let class = |i: usize| {
        let score = z[i * p] - 0.5 * z[i * p + 1] + 0.7 * noise[i];
        let bands = [f64::NEG_INFINITY, -0.8, 0.8];
        let own = if classes == 2 {
            usize::from(score > 0.0)
        } else {
            bands.partition_point(|b| *b < score) - 1
        };
        if i.is_multiple_of(10) { i / 10 % classes } else { own }
    };
    let unit = |j: usize| [1.0, 0.01, 30.0][j % 3];
    let x = Dense::from_fn(n, p, |i, j| (z[i * p + j] + j as f64) * unit(j));
    Dataset::new(x.into(), (0..n).map(class).collect(), classes).unwrap()
}

/// Problems that have a partitioned form.
fn cases() -> Vec<(&'static str, Value)> {
    vec![
        ("l2", json!({"alpha": 1e-3})),
        ("l2", json!({"alpha": 1e-3, "loss": "squared_hinge"})),
        ("l2", json!({"alpha": 1e-2, "loss": "modified_huber", "normalize": true})),
        ("l2", json!({"alpha": 1e-3, "loss": "hinge"})),
        ("l2", json!({"alpha": 1e-3, "loss": "hinge", "class_weight": "balanced"})),
        ("l1", json!({"alpha": 5e-3})),
        ("elasticnet", json!({"alpha": 5e-3, "normalize": true, "class_weight": [1.0, 3.0]})),
        ("stable-svm", json!({"k": 0.7, "C": 1e-2})),
        ("stable-svm", json!({"k": 0.5, "C": 1.0, "fit_intercept": false})),
        ("stable-svm", json!({"k": 0.7, "C": 1e-2, "loss": "squared_hinge"})),
        ("stable-svm", json!({"k": 2900, "C": 1e-2, "loss": "squared_hinge"})),
        ("stable-svm", json!({"k": 1.0, "C": 1e-2})),
        ("stable-logistic", json!({"k": 0.7, "alpha": 1e-3})),
        ("stable-logistic", json!({"k": 0.6, "alpha": 1e-2, "class_weight": "balanced"})),
    ]
}

fn assert_agree(a: &Fitted, b: &Fitted, what: &str) {
    assert!(a.tol <= 1e-6 && b.tol <= 1e-6);
    assert_within_gaps(a, b, 1e-12, what);
}

#[test]
fn every_problem_reaches_the_optimum_of_the_fit_in_memory() {
    let data = rows(3000, 6, 2, 1);
    for (method, params) in cases() {
        let found = over(&InMemory::with_rows(&data, 700), method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), &format!("{method} {params}"));
    }
}

/// The sample is a tenth of the rows, so that passes are needed. The limits are those of docs/scale.md.
#[test]
fn passes_are_few_at_200_000_rows_of_50_features() {
    let data = rows(200_000, 50, 2, 2);
    for (method, params, most) in [
        ("l2", json!({"alpha": 1e-3}), 5),
        ("l2", json!({"alpha": 1e-3, "loss": "hinge"}), 8),
        ("l1", json!({"alpha": 5e-3}), 6),
        ("stable-svm", json!({"k": 0.7, "C": 1e-3}), 10),
        ("stable-svm", json!({"k": 0.7, "C": 1e-3, "loss": "squared_hinge"}), 8),
        ("stable-logistic", json!({"k": 0.7, "alpha": 1e-3}), 10),
    ] {
        let found = over(&InMemory::new(&data), method, &params).unwrap();
        assert!(found.dual_gap() <= Some(1e-6), "{method} {params}: {:?}", found.dual_gap());
        assert!(found.n_iter <= most, "{method} {params}: {} passes", found.n_iter);
    }
}

/// The worst tenth of the rows are those with labels of chance, which no weights tell apart: every row has score zero and
/// the loss of that.
#[test]
fn zero_weights_are_proven_and_told() {
    let data = rows(40_000, 8, 2, 3);
    for (method, params, value) in [
        ("stable-logistic", json!({"k": 0.1, "alpha": 1e-3}), std::f64::consts::LN_2),
        ("stable-svm", json!({"k": 0.1, "C": 1e-2}), 0.1 * 40_000.0 * 1e-2),
        (
            "stable-svm",
            json!({"k": 0.1, "C": 1e-2, "loss": "squared_hinge"}),
            0.1 * 40_000.0 * 1e-2,
        ),
    ] {
        let found = over(&InMemory::new(&data), method, &params).unwrap();
        assert!(found.dual_gap() <= Some(1e-6), "{method}: {:?}", found.dual_gap());
        assert!((found.certificates[0].primal / value - 1.0).abs() <= 1e-6, "{method} {found:?}");
        assert!(found.n_iter <= 12, "{method}: {} passes", found.n_iter);
        assert!(found.warnings[0].contains("zero weights"), "{:?}", found.warnings);
    }
}

#[test]
fn more_than_two_classes_share_a_pass() {
    let data = rows(5000, 4, 3, 4);
    for (method, params) in
        [("l2", json!({"alpha": 1e-2})), ("stable-logistic", json!({"k": 0.8, "alpha": 1e-2}))]
    {
        let found = over(&InMemory::with_rows(&data, 900), method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), method);
    }
    let joint = over(&InMemory::new(&data), "stable-svm", &json!({})).unwrap_err().to_string();
    assert!(joint.contains("StableLogisticRegression"), "{joint}");
}

#[test]
fn empty_one_row_and_one_class_partitions_are_partitions() {
    let data = rows(1500, 3, 2, 5);
    // Sorted by class: most blocks hold one class only.
    let mut order: Vec<usize> = (0..1500).collect();
    order.sort_by_key(|&i| data.labels()[i]);
    let sorted = data.select_rows(&order);
    let pieces = Pieces::cut(&sorted, &[0, 1, 400, 0, 299, 1, 1, 798, 0]);
    for (method, params) in
        [("l2", json!({"loss": "hinge"})), ("stable-logistic", json!({"k": 0.7}))]
    {
        let found = over(&pieces, method, &params).unwrap();
        assert_agree(&found, &in_memory(&data, method, &params), method);
    }
}

#[test]
fn weights_count_as_rows_and_sparse_blocks_as_dense_ones() {
    let data = rows(1200, 5, 2, 6);
    let weights: Vec<f64> = (0..1200).map(|i| f64::from(i % 3)).collect();
    let weighted = data.clone().with_weights(weights.clone()).unwrap();
    let repeated: Vec<usize> = (0..1200).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let repeated = data.select_rows(&repeated);
    let params = json!({"k": 0.7, "C": 0.1});
    let found = over(&Pieces::cut(&weighted, &[500, 700]), "stable-svm", &params).unwrap();
    assert_agree(&found, &in_memory(&repeated, "stable-svm", &params), "weights");

    let dense = data.features().to_dense();
    let starts = (0..=1200).map(|i| 5 * i).collect();
    let columns = (0..1200).flat_map(|_| 0..5).collect();
    let sparse = Csr::new(5, starts, columns, dense.data().to_vec()).unwrap();
    let sparse = data.replace_features(sparse.into());
    let params = json!({"alpha": 1e-2});
    let found = over(&Pieces::cut(&sparse, &[300, 900]), "l2", &params).unwrap();
    assert_agree(&found, &in_memory(&data, "l2", &params), "sparse");
}

#[test]
fn the_number_of_threads_and_the_way_of_the_bytes_change_no_bit() {
    let data = rows(30_000, 4, 2, 7);
    let params = json!({"k": 0.7, "alpha": 1e-3});
    let source = InMemory::with_rows(&data, 1000);
    let with_threads = |threads: usize| {
        let driver = methods::driver("stable-logistic", &params).unwrap();
        fit(&source, driver, &Control::new().with_threads(threads), |_| Ok(())).unwrap()
    };
    let one = with_threads(1);
    assert_eq!(with_threads(3), one);

    let driver = methods::driver("stable-logistic", &params).unwrap();
    assert_eq!(by_bytes(&source, driver).0, one);
}

#[test]
fn a_number_that_is_not_finite_is_named_by_partition_and_row() {
    let data = rows(900, 3, 2, 8);
    let mut pieces = Pieces::cut(&data, &[300, 300, 300]);
    let mut dense = pieces.0[1].x.to_dense();
    dense[(17, 2)] = f64::NAN;
    pieces.0[1].x = Cow::Owned(dense.into());
    let told = over(&pieces, "l2", &json!({})).unwrap_err().to_string();
    assert!(told.starts_with("partition 1, row 17, column 2: NaN"), "{told}");
}

#[test]
fn blocks_that_do_not_fit_together_are_refused() {
    let data = rows(60, 3, 2, 9);
    let told = |change: fn(&mut Pieces)| {
        let mut pieces = Pieces::cut(&data, &[20, 40]);
        change(&mut pieces);
        over(&pieces, "l2", &json!({})).unwrap_err().to_string()
    };
    assert!(
        told(|p| p.0[1].x = Cow::Owned(Dense::zeros(40, 2).into())).contains("3 and 2 columns")
    );
    assert!(
        told(|p| p.0[1].labels.to_mut().truncate(39))
            .contains("partition 1: 40 rows but 39 labels")
    );
    assert!(
        told(|p| p.0[1].weights = Some(vec![-1.0; 40].into()))
            .contains("partition 1: row 0: weight -1")
    );
    assert!(
        told(|p| p.0.iter_mut().for_each(|b| b.labels.to_mut().fill(0))).contains("only one class")
    );
    assert!(told(|p| p.0.clear()).contains("no partition"));
}

/// A source whose second block cannot be read.
struct Broken<'a>(InMemory<'a>);

impl Partitions for Broken<'_> {
    fn block(&self, index: usize) -> Result<Option<Block<'_>>> {
        if index == 1 {
            return Err(Error::BadData("part-1.parquet is cut short".into()));
        }
        self.0.block(index)
    }
}

#[test]
fn a_partition_that_raises_ends_the_fit_with_its_words() {
    let data = rows(900, 3, 2, 10);
    let told = over(&Broken(InMemory::with_rows(&data, 300)), "l2", &json!({})).unwrap_err();
    assert_eq!(told, Error::BadData("part-1.parquet is cut short".into()));
}

#[test]
fn methods_without_a_partitioned_form_name_an_alternative() {
    for (method, word) in [
        ("rolin", "PenalizedClassifier"),
        ("conic-cv", "ConicSVC"),
        ("stable-svm-cv", "StableSVC"),
        ("missing-cv", "MissingFeatureSVC"),
        ("ellipsoid-svm-cv", "EllipsoidSVC"),
    ] {
        let told = methods::driver(method, &json!({})).unwrap_err().to_string();
        assert!(told.contains(word) && told.contains(method), "{told}");
    }
    let told = methods::driver("l2", &json!({"alpha": "cv"})).unwrap_err().to_string();
    assert!(told.contains("sample"), "{told}");
    let told = methods::driver("l2", &json!({"alfa": 1})).unwrap_err().to_string();
    assert!(told.contains("`alpha`"), "{told}");
}

/// Runs `passes` looks and leaves a checkpoint, or the fit.
fn stopped(source: &dyn Partitions, mut driver: Driver, passes: usize) -> (Driver, Option<Fitted>) {
    let mut step = driver.next(None).unwrap();
    for _ in 0..passes {
        let Step::Ask(ask) = &step else { break };
        let mut tree = MergeTree::new();
        let mut index = 0;
        while let Some(block) = source.block(index).unwrap() {
            tree.push(look(&block, ask).unwrap()).unwrap();
            index += 1;
        }
        step = driver.next(tree.finish().unwrap()).unwrap();
    }
    match step {
        Step::Done(fitted) => (driver, Some(*fitted)),
        Step::Ask(_) => (driver, None),
    }
}

#[test]
fn a_checkpoint_is_small_and_costs_two_passes_at_most() {
    let (data, other) = (rows(60_000, 10, 2, 11), rows(60_000, 10, 2, 12));
    let params = json!({"k": 0.7, "C": 1e-2});
    let source = InMemory::new(&data);
    let whole = over(&source, "stable-svm", &params).unwrap();
    let driver = || methods::driver("stable-svm", &params).unwrap();
    let (left, _) = stopped(&source, driver(), 3);
    let bytes = left.checkpoint().unwrap();
    assert!(bytes.len() <= 50 * 10 + 2000, "{} bytes", bytes.len());
    let (_, again) = stopped(&source, driver().resume(&bytes).unwrap(), 50);
    let again = again.unwrap();
    assert_agree(&again, &whole, "resumed");
    assert!(3 + again.n_iter <= whole.n_iter + 2, "{} + 3, {}", again.n_iter, whole.n_iter);

    let elsewhere = driver().resume(&bytes).unwrap();
    let told = fit(&InMemory::new(&other), elsewhere, &Control::new(), |_| Ok(())).unwrap_err();
    assert!(told.to_string().contains("other data"), "{told}");
    let problem = methods::driver("stable-svm", &json!({"k": 0.6, "C": 1e-2})).unwrap();
    let told = problem.resume(&bytes).unwrap_err().to_string();
    assert!(told.contains("other parameters"), "{told}");
    assert!(driver().resume(&bytes[..bytes.len() - 1]).is_err());
    assert!(driver().resume(b"something else").is_err());
}

/// What the first look settles does not depend on how the rows are cut: the sample of a sorted file is as good.
#[test]
fn answers_do_not_depend_on_the_partitioning_beyond_the_gap() {
    let data = rows(4000, 3, 2, 13);
    let params = json!({"alpha": 1e-3, "loss": "hinge"});
    let first = over(&Pieces::cut(&data, &[4000]), "l2", &params).unwrap();
    for lengths in [vec![1, 3999], vec![1000; 4], vec![40; 100]] {
        let found = over(&Pieces::cut(&data, &lengths), "l2", &params).unwrap();
        assert_agree(&found, &first, &format!("{} blocks", lengths.len()));
        let (Model::Linear(a), Model::Linear(b)) = (&found.model, &first.model) else { panic!() };
        // The ridge makes the objective strongly convex: |w - w*|^2 <= 2 gap / alpha.
        let apart: f64 = a.coef[0].iter().zip(&b.coef[0]).map(|(a, b)| (a - b).powi(2)).sum();
        let gaps = found.dual_gap().unwrap() + first.dual_gap().unwrap();
        assert!(apart <= 2.0 * 2.0 * gaps / 1e-3, "{apart}");
    }
}

/// Passes over chunks are the solver of the hinge in memory once there are 50,000 rows: the proof is the usual one,
/// recomputed from the duals, and threads change no bit.
#[test]
fn the_hinge_of_many_rows_in_memory_is_solved_by_passes() {
    let data = rows(60_000, 5, 2, 14);
    let svm =
        methods::find("l2").unwrap().estimator(&json!({"loss": "hinge", "alpha": 1e-3})).unwrap();
    let with_threads =
        |threads: usize| svm.fit(&data, &Control::new().with_threads(threads)).unwrap();
    let one = with_threads(1);
    assert_eq!(one.route, ["passes"]);
    assert!(one.n_iter <= 8, "{}", one.n_iter);
    assert_eq!(with_threads(3), one);
    let partitioned = over(&InMemory::new(&data), "l2", &json!({"loss": "hinge", "alpha": 1e-3}));
    assert_agree(&one, &partitioned.unwrap(), "in memory");
}

/// Weights and intercepts, bit by bit.
fn bits(fitted: &Fitted) -> Vec<u64> {
    let Model::Linear(linear) = &fitted.model else { return Vec::new() };
    let numbers = linear.coef.iter().flatten().chain(&linear.intercept);
    numbers.map(|v| v.to_bits()).collect()
}

/// Many rows in memory are looked at in the blocks that a file has, by the same driver.
#[test]
fn many_rows_in_memory_have_the_bits_of_the_same_rows_in_partitions() {
    let (two, three) = (rows(60_000, 4, 2, 21), rows(60_000, 4, 3, 22));
    for (data, method, params) in [
        (&two, "l2", json!({"alpha": 1e-3})),
        (&two, "l2", json!({"alpha": 1e-3, "loss": "squared_hinge", "normalize": true})),
        (&two, "l2", json!({"alpha": 1e-3, "loss": "hinge"})),
        (&two, "l1", json!({"alpha": 5e-3})),
        (&two, "stable-svm", json!({"k": 0.7, "C": 1e-3})),
        (&two, "stable-svm", json!({"k": 0.7, "C": 1e-3, "loss": "squared_hinge"})),
        (&two, "stable-logistic", json!({"k": 0.7, "alpha": 1e-3})),
        (&three, "l2", json!({"alpha": 1e-3})),
        (&three, "l2", json!({"alpha": 1e-3, "loss": "hinge"})),
    ] {
        let memory = in_memory(data, method, &params);
        let parts = over(&InMemory::new(data), method, &params).unwrap();
        assert_eq!(memory.route[0], "passes", "{method} {params}");
        assert_eq!(bits(&memory), bits(&parts), "{method} {params}");
        assert_agree(&memory, &parts, &format!("{method} {params}"));
    }
}

/// What is expected only says how many rows a partition offers for the sample.
#[test]
fn how_many_rows_are_expected_changes_no_bit() {
    let data = rows(60_000, 4, 2, 23);
    let params = json!({"alpha": 1e-3});
    let source = Pieces::cut(&data, &[25_000, 5, 14_995, 20_000]);
    let known = over(&source, "l2", &params).unwrap();
    // The last is far too many: the sample comes out too small, and the first look is taken again.
    for (expected, more) in [(None, 0), (Some(1), 0), (Some(60_000), 0), (Some(10_000_000), 1)] {
        let mut driver = methods::driver("l2", &params).unwrap().expecting(expected);
        let mut message = None;
        let fitted = loop {
            match driver.next(message).unwrap() {
                Step::Done(fitted) => break fitted,
                Step::Ask(ask) => {
                    let mut tree = MergeTree::new();
                    for block in &source.0 {
                        tree.push(look(block, &ask).unwrap()).unwrap();
                    }
                    message = tree.finish().unwrap();
                }
            }
        };
        assert_eq!(bits(&fitted), bits(&known), "{expected:?}");
        assert_eq!(driver.passes(), known.n_iter + more, "{expected:?}");
    }
}
