//! Extreme data, several classes, searches, and each stage of the strategy.

use super::*;

/// With a huge penalty the weights of L1 are exactly zero and the loss is that of the best constant:
/// with three of four rows positive, logistic: b = ln 3.
#[test]
fn a_huge_penalty_leaves_the_intercept() {
    let x = [1.0, 2.0, -1.0, 3.0, 0.5, -2.0, 1.5, 0.0];
    let y = [1.0, 1.0, -1.0, 1.0];
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": 1e6});
        let fitted = fit(penalty, &params, &dataset(&x, &y));
        let (w, b) = linear(&fitted);
        assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty}: {fitted:?}");
        assert!(w.iter().all(|w| w.abs() < 1e-5));
        if penalty != "l2" {
            assert_eq!(w, [0.0, 0.0], "{loss:?} {penalty}");
        }
        let best = match loss {
            Loss::Logistic => 3.0_f64.ln(),
            Loss::Hinge => 1.0,
            // 3/4 (1 - b)^2 + 1/4 (1 + b)^2 is least at b = 1/2.
            Loss::SquaredHinge | Loss::ModifiedHuber => 0.5,
        };
        assert!((b - best).abs() < 1e-2, "{loss:?} {penalty}: {b}");
    }
}

#[test]
fn a_tiny_penalty_on_separable_data_is_certified_or_says_so() {
    for (n, p) in [(40, 3), (10, 50)] {
        let (x, y) = two_clouds(8, n, p, 20.0);
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 1e-9});
            let fitted = fit(penalty, &params, &dataset(&x, &y));
            assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty} {n}: {fitted:?}");
            let right = fitted.model.predict(dataset(&x, &y).features()).unwrap();
            assert!(right.iter().zip(&y).all(|(k, y)| (*k == 1) == (*y > 0.0)));
        }
    }
}

/// Columns of any size are the same features in other units: standardised, they give the same scores.
#[test]
fn extreme_units_are_only_units() {
    let (n, p) = (40, 3);
    let (x, y) = two_clouds(9, n, p, 2.0);
    for units in [[1e150, 1e-150, 1.0], [1e300, 1e-300, 1e10]] {
        let scaled: Vec<f64> = x.iter().enumerate().map(|(k, v)| v * units[k % p]).collect();
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 0.05, "normalize": true, "tol": 1e-9});
            let plain = fit(penalty, &params, &dataset(&x, &y));
            let other = fit(penalty, &params, &dataset(&scaled, &y));
            assert_eq!(other.status(), Status::Certified, "{loss:?} {penalty}");
            let apart = plain.certificates[0].primal - other.certificates[0].primal;
            assert!(apart.abs() < 1e-8, "{loss:?} {penalty}: {apart:e}");
        }
    }
}

/// Unnormalised, a column in tiny units is priced out and one in huge units is free; either way the
/// model is finite and as good as the one without the penalty on the huge column.
#[test]
fn extreme_columns_give_finite_models() {
    let (n, p) = (40, 3);
    let (x, y) = two_clouds(9, n, p, 2.0);
    for (n, p, x, y) in [(n, p, x, y), {
        let (x, y) = two_clouds(10, 12, 30, 2.0);
        (12, 30, x, y)
    }] {
        let units = |j: usize| [1e150, 1e-150, 1.0][j.min(2)];
        let scaled: Vec<f64> = x.iter().enumerate().map(|(k, v)| v * units(k % p)).collect();
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 0.05});
            let fitted = fit(penalty, &params, &dataset(&scaled, &y));
            let (w, b) = linear(&fitted);
            assert!(w.iter().all(|w| w.is_finite()) && b.is_finite());
            let constant = fit(penalty, &json!({"loss": loss, "alpha": 1e8}), &dataset(&x, &y));
            let (value, worst) = (fitted.certificates[0].primal, constant.certificates[0].primal);
            assert!(value <= worst * (1.0 + 1e-9), "{loss:?} {penalty} {n}: {value} {worst}");
        }
    }
}

#[test]
fn constant_columns_contradictions_and_two_rows_are_ordinary() {
    // A constant column, a duplicated column, equal rows with both labels.
    let x = [
        1.0, 5.0, 1.0, //
        2.0, 5.0, 2.0, //
        2.0, 5.0, 2.0, //
        0.0, 5.0, 0.0, //
        0.0, 5.0, 0.0,
    ];
    let y = [1.0, 1.0, -1.0, -1.0, -1.0];
    for (loss, penalty) in everything() {
        for normalize in [json!(false), json!(true), json!("auto")] {
            let params = json!({"loss": loss, "normalize": normalize, "n_folds": 2});
            let fitted = fit(penalty, &params, &dataset(&x, &y));
            assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty}: {fitted:?}");
            assert_eq!(linear(&fitted).0[1], 0.0, "a constant says nothing");
        }
        let two = fit(penalty, &json!({"loss": loss}), &dataset(&[3.0, 1.0], &[1.0, -1.0]));
        assert_eq!(two.status(), Status::Certified);
        let same = fit(penalty, &json!({"loss": loss}), &dataset(&[1.0, 1.0], &[1.0, -1.0]));
        assert_eq!(same.status(), Status::Certified);
        assert_eq!(linear(&same).0, [0.0]);
    }
}

fn three_classes(seed: u64, n: usize) -> Dataset {
    let (mut x, _) = two_clouds(seed, n, 3, 0.0);
    for i in 0..n {
        x[i * 3 + i % 3] += 2.0;
    }
    let x = Dense::from_rows(n, 3, x);
    Dataset::new(Matrix::from(x), (0..n).map(|i| i % 3).collect(), 3).unwrap()
}

#[test]
fn three_classes_are_fitted_one_against_the_rest() {
    let data = three_classes(11, 60);
    for (loss, penalty) in everything() {
        let fitted = fit(penalty, &json!({"loss": loss}), &data);
        assert_eq!(fitted.certificates.len(), 3);
        assert_eq!(fitted.status(), Status::Certified);
        let predicted = fitted.model.predict(data.features()).unwrap();
        let right = predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        assert!(right > 40, "{loss:?} {penalty}: {right} of 60");
        let probable = fitted.model.probabilities(data.features()).unwrap();
        let defined = matches!(loss, Loss::Logistic | Loss::ModifiedHuber);
        assert_eq!(probable.is_some(), defined);
        // A class of weight zero is never predicted; the others go on without it.
        let params = json!({"loss": loss, "class_weight": [1.0, 0.0, 1.0]});
        let fitted = fit(penalty, &params, &data);
        assert_eq!(fitted.status(), Status::Certified);
        assert!(!fitted.model.predict(data.features()).unwrap().contains(&1));
    }
}

#[test]
fn cross_validation_does_not_depend_on_threads() {
    let data = three_classes(12, 45);
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": "cv", "normalize": "auto", "n_alphas": 5});
        let estimator = methods::find(penalty).unwrap().estimator(&params).unwrap();
        let one = estimator.fit(&data, &Control::new().with_threads(1)).unwrap();
        let four = estimator.fit(&data, &Control::new().with_threads(4)).unwrap();
        assert_eq!(one, four, "{loss:?} {penalty}");
        assert_eq!(one.status(), Status::Certified);
    }
}

/// The table has one row per candidate, and the choice is its smallest mean loss.
#[test]
fn cross_validation_takes_the_smallest_mean_loss() {
    let (x, y) = two_clouds(13, 80, 10, 1.5);
    let params = json!({"alpha": "cv", "normalize": "auto", "alphas": [0.1, 10.0, 0.001]});
    let fitted = fit("l2", &params, &dataset(&x, &y));
    let Output::Table(table) = &fitted.outputs["cv_results"] else { panic!("no table") };
    let column = |name: &str| match &table.iter().find(|(n, _)| n == name).unwrap().1 {
        Output::Vector(values) => values.clone(),
        Output::Integers(values) => values.iter().map(|v| *v as f64).collect(),
        Output::Flags(values) => values.iter().map(|v| f64::from(u8::from(*v))).collect(),
        other => panic!("{other:?}"),
    };
    let (alphas, means) = (column("param_alpha"), column("mean_test_score"));
    assert_eq!(alphas, [10.0, 0.1, 0.001, 10.0, 0.1, 0.001]);
    assert_eq!(column("param_normalize"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(column("std_test_score").len(), 6);
    // Scores are minus the mean loss, so all are negative and the largest is the best.
    assert!(means.iter().all(|score| *score < 0.0));
    let folds: Vec<Vec<f64>> = (0..5).map(|s| column(&format!("split{s}_test_score"))).collect();
    let mean = |k: usize| folds.iter().map(|fold| fold[k]).sum::<f64>() / 5.0;
    assert!((0..6).all(|k| (mean(k) - means[k]).abs() < 1e-12));
    let best = (0..6).max_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap();
    assert_eq!(fitted.outputs["alpha"], Output::Number(alphas[best]));
    assert_eq!(column("rank_test_score")[best], 1.0);
    // Too few rows to cross-validate are refused in words.
    let estimator = methods::find("l2").unwrap().estimator(&json!({"alpha": "cv"})).unwrap();
    let refused = estimator.fit(&dataset(&[1.0, 2.0], &[1.0, -1.0]), &Control::new());
    assert!(matches!(refused, Err(Error::BadData(_))), "{refused:?}");
}

#[test]
fn contradictory_and_impossible_parameters_are_refused() {
    for (method, params) in [
        ("l1", json!({"penalty": "l2"})),
        ("l2", json!({"alpha": -1.0})),
        ("l2", json!({"alpha": 0.0})),
        ("l2", json!({"alpha": "best"})),
        ("elasticnet", json!({"l1_ratio": 1.5})),
        ("l2", json!({"tol": 0.0})),
        ("l2", json!({"n_folds": 1})),
        ("l2", json!({"alphas": []})),
        ("l2", json!({"unknown": 1})),
    ] {
        let refused = methods::find(method).unwrap().estimator(&params);
        assert!(refused.is_err(), "{method} {params}");
    }
    assert!(methods::find("l1").unwrap().estimator(&json!({"penalty": "l1"})).is_ok());
}

#[test]
fn a_cancelled_fit_ends() {
    let (x, y) = two_clouds(14, 50, 5, 1.0);
    let control = Control::new();
    control.cancel();
    for (loss, penalty) in everything() {
        let estimator = methods::find(penalty).unwrap().estimator(&json!({"loss": loss})).unwrap();
        let ended = estimator.fit(&dataset(&x, &y), &control);
        assert_eq!(ended.err(), Some(Error::Interrupted));
    }
}

/// Far more columns than rows: L2 goes through the row space, L1 through small working sets. The
/// proof is the reported interval, whose upper end is recomputed here.
#[test]
fn wide_data_are_certified() {
    for (n, p) in [(20, 600), (60, 2000)] {
        let (x, y) = two_clouds(15, n, p, 2.0);
        for (loss, penalty) in everything() {
            for alpha in [1e-3, 0.1] {
                let (x, y, weights) = (x.clone(), y.clone(), vec![1.0; n]);
                let case = Case { x, y, weights, loss, penalty, alpha };
                let fitted = case.fit(1e-6);
                let (w, b) = linear(&fitted);
                assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty} {alpha} {n}");
                let told = fitted.certificates[0].primal;
                assert!((case.objective(&w, b) - told).abs() <= 1e-12 * told.max(1.0));
            }
        }
    }
}

/// Sparse rows are not centred, so the intercept is large beside the margins' imbalance.
#[test]
fn three_sparse_rows_are_certified_like_dense_ones() {
    let dense = Dense::from_rows(3, 2, vec![2.0, 1.0, 3.0, 0.0, 0.0, 5.0]);
    let csr = Csr::new(2, vec![0, 2, 3, 4], vec![0, 1, 0, 1], vec![2.0, 1.0, 3.0, 5.0]);
    for x in [Matrix::from(dense), Matrix::from(csr.unwrap())] {
        let data = Dataset::new(x, vec![0, 1, 1], 2).unwrap();
        let estimator = methods::find("l2").unwrap().estimator(&json!({})).unwrap();
        estimator.fit(&data, &Control::new()).unwrap().certified(1e-6).unwrap();
    }
}

/// A few entries per row and column: large in both directions, cheap to multiply with.
fn scattered(order: usize) -> Dataset {
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..order {
        let mut columns = [i, (7 * i + 3) % order];
        columns.sort_unstable();
        indices.extend(columns.map(|j| j as u32));
        values.extend([1.0, 0.5 + (i % 5) as f64 / 10.0]);
        indptr.push(indices.len());
    }
    let x = Csr::new(order, indptr, indices, values).unwrap();
    let labels = (0..order).map(|i| usize::from(i % 3 == 0)).collect();
    Dataset::new(x.into(), labels, 2).unwrap()
}

/// Every stage of the strategy delivers alone where it is meant to.
#[test]
fn each_stage_delivers_the_answer_where_it_is_meant_to() {
    let (x, y) = two_clouds(5, 60, 4, 1.0);
    let small = dataset(&x, &y);
    let (x, y) = two_clouds(6, 20, 700, 1.0);
    let wide = dataset(&x, &y);
    let hinge = json!({"loss": "hinge", "alpha": 0.1});
    let logistic = json!({"alpha": 0.1});
    for (method, params, data, route) in [
        ("l2", &hinge, &small, vec!["interior point"]),
        ("l2", &logistic, &small, vec!["newton"]),
        ("l2", &logistic, &wide, vec!["row space", "newton"]),
        ("l1", &logistic, &small, vec!["working set"]),
        ("l2", &logistic, &scattered(1600), vec!["newton by conjugate gradients"]),
        ("l2", &hinge, &scattered(4100), vec!["rounded hinge"]),
    ] {
        let fitted = fit(method, params, data);
        assert_eq!(fitted.route, route);
        assert_eq!(fitted.status(), Status::Certified, "{route:?}: {:?}", fitted.dual_gap());
    }
}
