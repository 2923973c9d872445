//! Several classes, chosen parameters, errors per row, awkward data.

use super::*;

fn three_clouds(seed: u64, n: usize) -> Dataset {
    let noise = normal(&mut rng(seed), 2 * n);
    let centres = [[0.0, 4.0], [4.0, -2.0], [-4.0, -2.0]];
    let x = Dense::from_fn(n, 2, |i, j| centres[i % 3][j] + noise[2 * i + j]);
    Dataset::new(x.into(), (0..n).map(|i| i % 3).collect(), 3).unwrap()
}

#[test]
fn three_classes_are_told_apart_by_both_rules() {
    let set = three_clouds(5, 150);
    for rule in [Rule::Points, Rule::Plane] {
        let estimators: [Box<dyn Estimator>; 3] = [
            Box::new(RegecParams { rule, ..Default::default() }.check().unwrap()),
            Box::new(RobustRegecParams { rule, ..Default::default() }.check().unwrap()),
            Box::new(NormRobustRegecParams { rule, ..Default::default() }.check().unwrap()),
        ];
        for estimator in &estimators {
            let fitted = fit(estimator.as_ref(), &set);
            let predicted = fitted.model.predict(set.features()).unwrap();
            let right = predicted.iter().zip(set.labels()).filter(|(a, b)| a == b).count();
            assert!(right >= 125, "{rule:?}: {right} of 150");
            assert!(
                matches!(&fitted.outputs["eigenvalues"], Output::Matrix(m) if m.len() == 3 && m[0].0.len() == 2)
            );
            let text = serde_json::to_string(&fitted).unwrap();
            assert_eq!(serde_json::from_str::<Fitted>(&text).unwrap(), fitted);
        }
    }
}

#[test]
fn xi_is_chosen_from_the_grid_and_depends_on_the_seed_only() {
    let set = random(6, 60, 3);
    for rule in [XiRule::Auto, XiRule::Cv] {
        let params = RobustRegecParams {
            uncertainty: Shape::Axes(vec![1.5, 0.1, 0.1]),
            xi: Xi::Rule(rule),
            random_state: Some(3),
            ..Default::default()
        };
        let estimator = params.check().unwrap();
        let one = estimator.fit(&set, &Control::new().with_threads(1)).unwrap();
        let two = estimator.fit(&set, &Control::new().with_threads(3)).unwrap();
        assert_eq!(one, two);
        let Output::Number(xi) = one.outputs["xi"] else { panic!() };
        assert!((0.0..=1.0).contains(&xi));
    }
}

#[test]
fn per_row_errors_of_every_kind_are_used() {
    let (n, p) = (30, 3);
    let set = random(7, n, p);
    let axes: Vec<f64> = normal(&mut rng(3), n * p).iter().map(|v| 0.3 * v.abs()).collect();
    let full: Vec<f64> = (0..n)
        .flat_map(|i| {
            let row = axes[i * p..(i + 1) * p].to_vec();
            (0..p * p).map(move |k| if k % (p + 1) == 0 { row[k / (p + 1)].powi(2) } else { 0.0 })
        })
        .collect();
    let shapes = (0..n).map(|i| Shape::Axes(axes[i * p..(i + 1) * p].to_vec())).collect();
    let kinds = [
        RowUncertainty::Axes(Dense::from_rows(n, p, axes.clone())),
        RowUncertainty::Matrices(Dense::from_rows(n, p * p, full)),
        RowUncertainty::Groups { group: (0..n).collect(), shapes },
    ];
    let ratios: Vec<Vec<f64>> = kinds
        .into_iter()
        .map(|kind| {
            let params = RobustRegecParams { xi: Xi::Fixed(0.0), ..Default::default() };
            let set = set.clone().with_uncertainty(kind).unwrap();
            vector_of(&fit(&params.check().unwrap(), &set), "worst_case_ratio")
        })
        .collect();
    for k in 0..2 {
        assert!((ratios[0][k] - ratios[1][k]).abs() < 1e-5 * ratios[0][k]);
        assert!((ratios[0][k] - ratios[2][k]).abs() < 1e-5 * ratios[0][k]);
    }
}

#[test]
fn many_features_are_no_obstacle() {
    let set = random(1, 20, 3000);
    let start = std::time::Instant::now();
    for regularization in [Regularization::Cross, Regularization::Tikhonov, Regularization::None] {
        let params = RegecParams { regularization, ..Default::default() };
        let fitted = fit(&params.check().unwrap(), &set);
        assert_eq!(fitted.model.predict(set.features()).unwrap(), set.labels());
    }
    println!("three fits of 20 x 3000: {:?}", start.elapsed());
    let norm = fit(&NormRobustRegecParams::default().check().unwrap(), &set);
    assert_eq!(norm.model.predict(set.features()).unwrap(), set.labels());
    let axes = vec![0.05; 3000];
    let params = RobustRegecParams { uncertainty: Shape::Axes(axes), ..Default::default() };
    let robust = fit(&params.check().unwrap(), &set);
    assert!(vector_of(&robust, "worst_case_ratio").iter().all(|r| r.is_finite()));
    println!("and the robust fit: {:?}", start.elapsed());
}

#[test]
fn units_far_from_one_and_constant_columns_leave_finite_planes() {
    let (rows, y) = two_clouds(3, 20, 3, 2.0);
    for scale in [1e150, 1e-150, 1e8] {
        let scaled: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(k, v)| {
                if k % 3 == 1 {
                    7.0
                } else if k % 3 == 2 {
                    v * scale
                } else {
                    *v + 1e6
                }
            })
            .collect();
        let set = data(&scaled, &y);
        for estimator in [
            &RegecParams::default().check().unwrap() as &dyn Estimator,
            &RobustRegecParams::default().check().unwrap(),
            &NormRobustRegecParams::default().check().unwrap(),
        ] {
            // A typed error is as good an answer.
            if let Ok(fitted) = estimator.fit(&set, &Control::new()) {
                assert!(planes(&fitted).validate().is_ok(), "{scale:e}");
            }
        }
    }
}

#[test]
fn a_class_with_one_row_is_refused() {
    let set = data(&[1.0, 2.0, 3.0, 5.0, 4.0, 4.0], &[1.0, 1.0, -1.0]);
    let error = RegecParams::default().check().unwrap().fit(&set, &Control::new()).unwrap_err();
    assert!(error.to_string().contains("class index 0 has 1 rows"), "{error}");
    assert!(RegecParams { delta: -1.0, ..Default::default() }.check().is_err());
    assert!(RobustRegecParams { xi: Xi::Fixed(1.5), ..Default::default() }.check().is_err());
}
