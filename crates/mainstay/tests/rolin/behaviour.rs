//! Awkward data, threads, units, several classes, kernels.

use super::*;

fn everyone() -> Vec<Box<dyn Estimator>> {
    let mut all: Vec<Box<dyn Estimator>> = Vec::new();
    for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
        for rule in [CvRule::Robust, CvRule::Standard, CvRule::OneSd] {
            for scoring in [Scoring::Loss, Scoring::ZeroOne] {
                let cv = RolinCv::from(rule);
                let own = RolinParams { loss, cv: cv.clone(), scoring, ..paper() };
                all.push(Box::new(own.check().unwrap()));
                let top = TopPcsParams { loss, cv, scoring, ..TopPcsParams::default() };
                all.push(Box::new(top.check().unwrap()));
            }
        }
        for scoring in [Scoring::Loss, Scoring::ZeroOne] {
            let extended = RolinParams { loss, scoring, ..RolinParams::default() };
            all.push(Box::new(extended.check().unwrap()));
        }
    }
    all
}

#[test]
fn awkward_data_give_a_finite_model() {
    let (rows, labels) = two_clouds(1, 12, 3, 1.0);
    let (apart, _) = two_clouds(1, 12, 3, 60.0);
    let scaled = |s: f64| rows.iter().map(|v| v * s).collect::<Vec<f64>>();
    let sevens = vec![7.0; 12];
    let mut mixed = rows.clone();
    mixed.iter_mut().step_by(3).for_each(|v| *v *= 1e9);
    let twins: Vec<f64> = rows.chunks(3).flat_map(|r| [r[0], r[0], 2.0 * r[0], 4.0]).collect();
    let copies: Vec<f64> = (0..12).flat_map(|i| rows[i % 2 * 3..i % 2 * 3 + 3].to_vec()).collect();
    let cases: Vec<(&str, Vec<f64>, Vec<f64>)> = vec![
        ("separable", apart, labels.clone()),
        ("huge", scaled(1e150), labels.clone()),
        ("tiny", scaled(1e-150), labels.clone()),
        ("uneven", mixed, labels.clone()),
        ("one column", rows.chunks(3).map(|r| r[0]).collect(), labels.clone()),
        ("constant", sevens, labels.clone()),
        ("rank one", twins, labels.clone()),
        ("two distinct rows", copies, labels.clone()),
        ("three rows", rows[..9].to_vec(), labels[..3].to_vec()),
        ("two rows", rows[..6].to_vec(), labels[..2].to_vec()),
        ("wide", rows.clone(), vec![1.0, -1.0, 1.0]),
        ("one positive", rows.clone(), (0..12).map(|i| if i == 4 { 1.0 } else { -1.0 }).collect()),
    ];
    for (name, rows, labels) in cases {
        let data = dataset(&rows, &labels);
        for (i, estimator) in everyone().iter().enumerate() {
            let fitted = estimator
                .fit(&data, &Control::new())
                .unwrap_or_else(|e| panic!("{name}, estimator {i}: {e}"));
            fitted.model.validate().unwrap_or_else(|e| panic!("{name}, estimator {i}: {e}"));
            if name == "separable" {
                assert_eq!(fitted.model.predict(data.features()).unwrap(), data.labels(), "{i}");
            }
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let (rows, labels) = uneven(11, 40, 60, 1.5);
    let data = dataset(&rows, &labels);
    for params in [paper(), RolinParams::default()] {
        let run = |threads| {
            let control = Control::new().with_threads(threads);
            params.clone().check().unwrap().fit(&data, &control).unwrap()
        };
        let (one, three) = (run(1), run(3));
        assert_eq!(one.model, three.model);
        assert_eq!(format!("{:?}", one.outputs), format!("{:?}", three.outputs));
    }
}

#[test]
fn scaling_all_features_by_a_power_of_two_scales_the_weights_back() {
    let (rows, labels) = uneven(2, 25, 7, 1.5);
    let data = dataset(&rows, &labels);
    let big: Vec<f64> = rows.iter().map(|v| v * 1024.0).collect();
    let (one, other) =
        (fit(RolinParams::default(), &data), fit(RolinParams::default(), &dataset(&big, &labels)));
    for (a, b) in linear(&one).0.iter().zip(linear(&other).0) {
        assert!((a - b * 1024.0).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}");
    }
}

#[test]
fn more_classes_share_the_splits_and_are_told_apart() {
    let mut random = rng(4);
    let (n, p) = (45, 4);
    let labels: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let mut rows = normal(&mut random, n * p);
    for (i, &label) in labels.iter().enumerate() {
        rows[i * p + label] += 5.0;
    }
    let data = Dataset::new(Dense::from_rows(n, p, rows).into(), labels.clone(), 3).unwrap();
    for params in [paper(), RolinParams::default()] {
        let fitted = fit(params, &data);
        let Model::Linear(model) = &fitted.model else { panic!() };
        assert_eq!((model.coef.len(), model.intercept.len()), (3, 3));
        let predicted = fitted.model.predict(data.features()).unwrap();
        let right = predicted.iter().zip(&labels).filter(|(a, b)| a == b).count();
        assert!(right >= 42, "{right}");
        assert!(fitted.model.probabilities(data.features()).unwrap().is_some());
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |params: RolinParams| params.check().map(|_| ()).unwrap_err().to_string();
    assert!(
        message(RolinParams { sigma_ratios: Some(vec![]), ..paper() }).contains("sigma_ratios")
    );
    assert!(message(RolinParams { b_maxs: Some(vec![0.1, -1.0]), ..paper() }).contains("-1"));
    assert!(message(RolinParams { s0_ridge: 0.0, ..paper() }).contains("s0_ridge"));
    assert!(message(RolinParams { n_folds: 1, ..paper() }).contains("n_folds"));
    assert!(message(RolinParams { theta_ratio: 0.5, ..paper() }).contains("theta_ratio"));
    let knob = RolinParams { k: Some(2), ..RolinParams::default() };
    assert!(message(knob).contains("variant=\"paper\""));
    let (rows, labels) = two_clouds(1, 12, 3, 1.0);
    let params = RolinParams { k: Some(4), ..paper() };
    let error = params.check().unwrap().fit(&dataset(&rows, &labels), &Control::new()).unwrap_err();
    assert!(matches!(error, Error::InvalidParam { name: "k", .. }), "{error}");
}

/// No matrix of rows by rows is made: 40,000 rows would need 13 GB for one.
#[test]
fn many_rows_are_no_obstacle() {
    let (n, p) = (40_000, 3);
    let (rows, labels) = two_clouds(1, n, p, 2.0);
    let data = dataset(&rows, &labels);
    let params = RolinParams { n_repeats: 1, ..RolinParams::default() };
    let fitted = fit(params.clone(), &data);
    fitted.model.validate().unwrap();
    let predicted = fitted.model.predict(data.features()).unwrap();
    let right = predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
    // Two unit clouds two apart: the best rule is right on 84 %.
    assert!(right as f64 > 0.83 * n as f64, "{right}");
    let control = Control::new();
    control.cancel();
    let stopped = params.check().unwrap().fit(&data, &control);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn directions_that_are_left_out_are_mentioned() {
    let (rows, labels) = two_clouds(1, 2_001, 420, 2.0);
    let params = RolinParams { n_repeats: 1, n_folds: 2, ..RolinParams::default() };
    let fitted = fit(params, &dataset(&rows, &labels));
    assert!(fitted.warnings.iter().any(|w| w.contains("400 leading")), "{:?}", fitted.warnings);
}

/// Data without a clear gap between small singular values and rounding take the slower road.
#[test]
fn ill_conditioned_wide_rows_keep_their_small_directions() {
    let (n, p) = (12, 20);
    let (mut rows, labels) = two_clouds(3, n, p, 1.0);
    // One feature far larger than the others: squares of the rest vanish beside its own.
    rows.iter_mut().step_by(p).for_each(|v| *v *= 1e7);
    let params = RolinParams { normalize: Normalize::Fixed(false), ..paper() };
    let fitted = fit(RolinParams { k: Some(8), ..params }, &dataset(&rows, &labels));
    fitted.model.validate().unwrap();
    assert_eq!(number(&fitted, "k"), 8.0);
}

#[test]
fn a_class_smaller_than_the_folds_is_mentioned() {
    let (rows, _) = two_clouds(1, 12, 3, 1.0);
    let labels: Vec<f64> = (0..12).map(|i| if i < 3 { 1.0 } else { -1.0 }).collect();
    let fitted = fit(paper(), &dataset(&rows, &labels));
    assert!(fitted.warnings[0].contains("smallest class has 3 rows"), "{:?}", fitted.warnings);
}

/// RobustCV over penalised fits: a baseline with a proper strength is not given up for one that
/// overfits, and a good candidate replaces a bad baseline.
#[test]
fn robust_cross_validation_works_for_any_estimator() {
    use mainstay::penalized::{Alpha, PenalizedParams};
    use mainstay::rolin::rules::{Choice, Thresholds};
    use mainstay::selection::{RobustCv, RobustScoring};
    let (rows, labels) = two_clouds(3, 30, 10, 1.5);
    let data = dataset(&rows, &labels);
    let ridge = |alpha| {
        PenalizedParams { alpha: Alpha::Fixed(alpha), ..Default::default() }.check().unwrap()
    };
    let (loose, good, tight) = (ridge(1e-6), ridge(0.3), ridge(1e4));
    let cv = RobustCv {
        rules: Thresholds::default(),
        n_folds: 5,
        n_repeats: 2,
        scoring: RobustScoring::Loss(Loss::Logistic),
        random_state: 0,
    };
    let chosen = cv.select(&[&loose, &good], &[&tight], &data, &Control::new()).unwrap();
    assert_eq!(chosen.choice, Choice::Candidate(1));
    let kept = cv.select(&[&loose], &[&good], &data, &Control::new()).unwrap();
    assert_eq!(kept.choice, Choice::Baseline(0));
    assert!(kept.candidates[0].loss_ratio > 5.0);
    assert!(cv.select(&[], &[], &data, &Control::new()).is_err());
}

/// The matrix of inner products is all a fit needs: given it, the scores are those of the features.
#[test]
fn a_precomputed_linear_kernel_gives_the_scores_of_the_features() {
    use mainstay::rolin::KernelKind;
    for (n, p) in [(20, 4), (15, 30)] {
        let (rows, labels) = uneven(8, n, p, 1.5);
        let x = Dense::from_rows(n, p, rows.clone());
        let gram = x.mul_tr(&x).into_data();
        for base in [paper(), RolinParams::default()] {
            let base = RolinParams { normalize: Normalize::Fixed(false), ..base };
            let (plain, inner) = (dataset(&rows, &labels), dataset(&gram, &labels));
            let wanted = fit(base.clone(), &plain).model.decision(plain.features()).unwrap();
            let kernel = RolinParams { kernel: KernelKind::Precomputed, ..base };
            let fitted = fit(kernel, &inner);
            let found = fitted.model.decision(inner.features()).unwrap();
            for (a, b) in found.data().iter().zip(wanted.data()) {
                assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "n = {n}, p = {p}: {a} {b}");
            }
            assert!(fitted.model.probabilities(inner.features()).unwrap().is_some());
        }
    }
}

#[test]
fn a_kernel_tells_a_ring_from_its_centre() {
    use mainstay::rolin::KernelKind;
    let mut random = rng(2);
    let n = 60;
    let labels: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let noise = normal(&mut random, 2 * n);
    let rows: Vec<f64> = (0..n)
        .flat_map(|i| {
            let (a, b) = (noise[2 * i], noise[2 * i + 1]);
            let length = (a * a + b * b).sqrt();
            if labels[i] > 0.0 { [0.4 * a, 0.4 * b] } else { [3.0 * a / length, 3.0 * b / length] }
        })
        .collect();
    let data = dataset(&rows, &labels);
    for base in [paper(), RolinParams::default()] {
        let fitted = fit(RolinParams { kernel: KernelKind::Rbf, ..base }, &data);
        assert_eq!(fitted.model.predict(data.features()).unwrap(), data.labels());
    }
    let poly = RolinParams { kernel: KernelKind::Poly, ..RolinParams::default() };
    fit(poly, &data).model.validate().unwrap();
}

#[test]
fn a_bad_kernel_matrix_is_refused() {
    use mainstay::rolin::KernelKind;
    let params = RolinParams { kernel: KernelKind::Precomputed, ..RolinParams::default() };
    let (rows, labels) = two_clouds(1, 6, 3, 1.0);
    let refused = |rows: &[f64]| {
        let data = dataset(rows, &labels);
        params.clone().check().unwrap().fit(&data, &Control::new()).unwrap_err().to_string()
    };
    assert!(refused(&rows).contains("one column for each"));
    let mut lopsided = vec![0.0; 36];
    for i in 0..6 {
        lopsided[i * 7] = 1.0;
    }
    lopsided[1] = 0.5;
    assert!(refused(&lopsided).contains("symmetric"));
}
