//! Other ways to state the same problem give the same answer; parameters and searches.

use super::*;

#[test]
fn weights_equal_repetition_to_the_last_bit() {
    let (rows, y, _) = binary(4, 24, 3, 1.0);
    let weights: Vec<f64> = (0..24).map(|i| f64::from(i % 4)).collect();
    let labels: Vec<usize> = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let dense = |rows: &[Vec<f64>]| Matrix::from(Dense::from_rows(rows.len(), 3, rows.concat()));
    let weighted = Dataset::new(dense(&rows), labels.clone(), 2)
        .unwrap()
        .with_weights(weights.clone())
        .unwrap();
    let (mut many, mut many_labels) = (Vec::new(), Vec::new());
    for i in 0..24 {
        for _ in 0..weights[i] as usize {
            many.push(rows[i].clone());
            many_labels.push(labels[i]);
        }
    }
    let repeated = Dataset::new(dense(&many), many_labels, 2).unwrap();
    for k in [K::Count(9), K::Fraction(0.3)] {
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let params = StableSvcParams { loss, ..svm(k, 2.0) };
            assert_eq!(fit(params.clone(), &weighted).model, fit(params, &repeated).model);
        }
        let logistic = StableLogisticParams { k, ..Default::default() }.check().unwrap();
        let fitted = |data| logistic.fit(data, &control()).unwrap().model;
        assert_eq!(fitted(&weighted), fitted(&repeated));
    }
    // Class weights are row weights.
    let factors = ClassWeight::Factors(vec![2.0, 0.5]);
    let by_class = StableSvcParams { class_weight: factors, ..svm(K::Fraction(0.3), 2.0) };
    let by_row: Vec<f64> = labels.iter().zip(&weights).map(|(l, w)| w * [2.0, 0.5][*l]).collect();
    let rows = Dataset::new(dense(&rows), labels, 2).unwrap().with_weights(by_row).unwrap();
    assert_eq!(fit(by_class, &weighted).model, fit(svm(K::Fraction(0.3), 2.0), &rows).model);
}

fn sparse(rows: &[Vec<f64>]) -> Matrix {
    let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in rows {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).unwrap());
            values.push(*v);
        }
        starts.push(indices.len());
    }
    Csr::new(rows[0].len(), starts, indices, values).unwrap().into()
}

#[test]
fn sparse_and_dense_rows_few_and_many_columns_agree() {
    for (seed, n, p) in [(1, 40, 6), (2, 9, 30), (3, 12, 200)] {
        let (mut rows, _, data) = binary(seed, n, p, 1.0);
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, v) in row.iter_mut().enumerate() {
                if (i + j) % 3 != 0 {
                    *v = 0.0;
                }
            }
        }
        let dense = data.replace_features(Dense::from_rows(n, p, rows.concat()).into());
        let thin = data.replace_features(sparse(&rows));
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let params = StableSvcParams { loss, ..svm(K::Fraction(0.6), 1.0) };
            let (a, b) = (fit(params.clone(), &dense), fit(params, &thin));
            assert!(a.dual_gap().unwrap() <= 1e-6 && b.dual_gap().unwrap() <= 1e-6);
            assert!((objective(&a) - objective(&b)).abs() <= 2e-6 * objective(&a).max(1.0));
        }
    }
}

#[test]
fn cutting_planes_reach_the_same_optimum() {
    let (_, _, two) = binary(6, 50, 3, 1.0);
    let (_, _, three) = classes(6, 45, 2, 3);
    for data in [&two, &three] {
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            for fit_intercept in [true, false] {
                let params = StableSvcParams {
                    loss,
                    fit_intercept,
                    tol: 1e-5,
                    ..svm(K::Fraction(0.6), 0.5)
                };
                let inner = fit(params.clone(), data);
                let planes = fit(StableSvcParams { solver: Solver::CuttingPlane, ..params }, data);
                let what = format!("{loss:?} {fit_intercept} {}", planes.n_iter);
                assert!(planes.dual_gap().unwrap() <= 1e-5, "{what} {:?}", planes.dual_gap());
                let (a, b) = (objective(&inner), objective(&planes));
                assert!((a - b).abs() <= 2e-5 * a.max(1.0), "{what}: {a} {b}");
            }
        }
        let params = StableLogisticParams {
            multi_class: MultiClass::Joint,
            tol: 1e-5,
            k: K::Fraction(0.7),
            ..Default::default()
        };
        let inner = params.clone().check().unwrap().fit(data, &control()).unwrap();
        let planes = StableLogisticParams { solver: Solver::CuttingPlane, ..params };
        let planes = planes.check().unwrap().fit(data, &control()).unwrap();
        assert!(planes.dual_gap().unwrap() <= 1e-5, "{:?}", planes.dual_gap());
        assert!((objective(&inner) - objective(&planes)).abs() <= 2e-5);
    }
}

#[test]
fn a_path_finds_what_single_fits_find() {
    let (_, _, data) = binary(8, 70, 5, 1.5);
    let ks = [K::Fraction(1.0), K::Fraction(0.7), K::Count(30), K::Count(20), K::Fraction(0.9)];
    let svc = svm(K::Fraction(0.5), 1.0).check().unwrap();
    let path = svc.path(&data, &ks, &control()).unwrap();
    let cold: Vec<Fitted> = ks.iter().map(|&k| fit(svm(k, 1.0), &data)).collect();
    for (a, b) in path.iter().zip(&cold) {
        assert!(a.dual_gap().unwrap() <= 1e-6);
        assert!((objective(a) - objective(b)).abs() <= 2e-6 * objective(b).max(1.0));
    }
    let steps = |fits: &[Fitted]| fits.iter().map(|f| f.n_iter).sum::<usize>();
    let each = |fits: &[Fitted]| fits.iter().map(|f| f.n_iter).collect::<Vec<_>>();
    assert!(steps(&path) <= steps(&cold), "{:?} {:?}", each(&path), each(&cold));
    let over_c = svc.path_over_c(&data, &[0.01, 0.1, 1.0, 10.0], &control()).unwrap();
    assert!(over_c.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
    let logistic = StableLogisticParams::default().check().unwrap();
    let alphas = [1.0, 1e-2, 1e-4];
    let over_alpha = logistic.path_over_alpha(&data, &alphas, &control()).unwrap();
    assert!(over_alpha.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
    let points = [PathPoint::k(K::Fraction(1.0)), PathPoint::k(K::Count(20))];
    assert_eq!(svc.fit_path(&points, &data, &control()).unwrap().len(), 2);
    assert!(svc.fit_path(&[PathPoint::k(K::Count(0))], &data, &control()).is_err());
    let points = [0.01, 0.1, 1.0, 10.0].map(PathPoint::c);
    let by_name = svc.fit_path(&points, &data, &control()).unwrap();
    assert_eq!(by_name.len(), over_c.len());
    assert!(by_name.iter().zip(&over_c).all(|(a, b)| a.model == b.model));
    assert!(svc.fit_path(&[PathPoint::c(0.0)], &data, &control()).is_err());
    assert!(svc.fit_path(&[PathPoint::alpha(0.1)], &data, &control()).is_err());
}

#[test]
fn worst_rows_carry_the_objective() {
    let (_, _, data) = binary(10, 50, 3, 1.0);
    let data =
        data.clone().with_weights((0..50).map(|i| 0.5 + f64::from(i % 3)).collect()).unwrap();
    let params = StableLogisticParams { k: K::Fraction(0.6), alpha: 0.01, ..Default::default() };
    let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
    let WorstRows { class: None, row: rows, weight, loss } = fitted.worst_rows.as_ref().unwrap()
    else {
        panic!("{:?}", fitted.worst_rows)
    };
    let k = 0.6 * data.weights().unwrap().iter().sum::<f64>();
    assert!((weight.iter().sum::<f64>() - k).abs() < 1e-3 * k);
    assert!(loss.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(rows.iter().all(|row| (0..50).contains(row)));
    let carried: f64 = weight.iter().zip(loss).map(|(w, l)| w * l).sum::<f64>() / k;
    let (w, _) = linear(&fitted);
    let penalty = 0.01 * norm(w) * norm(w);
    assert!((carried + penalty - objective(&fitted)).abs() < 1e-3);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (_, _, data) = classes(3, 60, 4, 4);
    let params = StableLogisticParams::default().check().unwrap();
    let one = params.fit(&data, &Control::new().with_threads(1)).unwrap();
    assert_eq!(one, params.fit(&data, &Control::new().with_threads(3)).unwrap());
    let (_, _, two) = binary(3, 60, 4, 1.0);
    let search = StableSvcCvParams::default().check().unwrap();
    let one = search.fit(&two, &Control::new().with_threads(1)).unwrap();
    assert_eq!(one, search.fit(&two, &Control::new().with_threads(3)).unwrap());
}

#[test]
fn cross_validation_reports_every_setting_and_refits_the_best() {
    let (_, _, data) = binary(16, 90, 4, 2.0);
    let params = StableLogisticCvParams {
        ks: vec![0.3, 1.0],
        alphas: vec![1e-3, 10.0],
        ..Default::default()
    };
    let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
    let Output::Table(columns) = &fitted.outputs["cv_results"] else { panic!() };
    let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
    assert_eq!(names[..2], ["param_k", "param_alpha"]);
    assert_eq!(names[2..7], [0, 1, 2, 3, 4].map(|s| format!("split{s}_test_score")));
    assert_eq!(names[7..], ["mean_test_score", "std_test_score", "rank_test_score"]);
    let [Output::Vector(k), Output::Vector(alpha), Output::Vector(score)] =
        [0, 1, 7].map(|at: usize| &columns[at].1)
    else {
        panic!()
    };
    assert_eq!(score.len(), 4);
    let best = (0..4).max_by(|&a, &b| score[a].total_cmp(&score[b])).unwrap();
    assert_eq!(fitted.outputs["k"], Output::Number(k[best]));
    assert_eq!(fitted.outputs["alpha"], Output::Number(alpha[best]));
    assert!(fitted.dual_gap().unwrap() <= 1e-6);
    // Nearly constant probabilities lose against a fit that tells the clouds apart.
    assert_eq!(alpha[best], 1e-3);
}

#[test]
fn stability_is_measured_on_the_same_resamples() {
    let (_, _, data) = binary(18, 80, 3, 1.5);
    let strong = StableLogisticParams { alpha: 10.0, ..Default::default() }.check().unwrap();
    let weak = StableLogisticParams { alpha: 1e-3, ..Default::default() }.check().unwrap();
    let spread = |estimator: &dyn Estimator, protocol| {
        coefficient_stability(estimator, &data, protocol, 5, 1, &control()).unwrap()
    };
    for protocol in [Protocol::Paired, Protocol::Paper] {
        let (a, b) = (spread(&strong, protocol), spread(&weak, protocol));
        assert!(a.absolute < b.absolute, "{protocol:?}: {a:?} {b:?}");
        assert_eq!(a, spread(&strong, protocol));
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |params: serde_json::Value, method: &str| {
        let method = mainstay::methods::find(method).unwrap();
        method.estimator(&params).map(|_| ()).unwrap_err().to_string()
    };
    for (params, name) in [
        (serde_json::json!({"k": 0}), "`k` = 0"),
        (serde_json::json!({"k": 1.5}), "`k` = 1.5"),
        (serde_json::json!({"k": -2}), "`k` = -2"),
        (serde_json::json!({"k": "half"}), "`k` = \"half\""),
        (serde_json::json!({"C": 0.0}), "`C` = 0"),
        (serde_json::json!({"tol": 0.0}), "`tol` = 0"),
        (serde_json::json!({"loss": "logistic"}), "`loss` = \"logistic\""),
        (serde_json::json!({"solver": "simplex"}), "`solver` = \"simplex\""),
    ] {
        let text = message(params, "stable-svm");
        assert!(text.starts_with(name), "{text}");
    }
    assert!(message(serde_json::json!({"alpha": -1.0}), "stable-logistic").starts_with("`alpha`"));
    for (ks, text) in
        [(serde_json::json!([]), "`ks` = []"), (serde_json::json!([1, 2]), "`ks` = 2")]
    {
        let found = message(serde_json::json!({"ks": ks}), "stable-svm-cv");
        assert!(found.starts_with(text) && !found.contains("count"), "{found}");
    }
    let (_, _, data) = binary(0, 20, 2, 1.0);
    let error = svm(K::Count(21), 1.0).check().unwrap().fit(&data, &control()).unwrap_err();
    assert!(error.to_string().starts_with("`k` = 21"), "{error}");
    let stopped = Control::new();
    stopped.cancel();
    assert_eq!(
        svm(K::Count(5), 1.0).check().unwrap().fit(&data, &stopped).unwrap_err(),
        mainstay::Error::Interrupted
    );
}
