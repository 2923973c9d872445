//! The conic SVM: closed forms, enumeration, the paper's identities, invariances, degenerate data.
//!
//! Longer than other files: a list of tests; what must hold of a solution is stated once for plain rows and kernels.
#![cfg(test)]

use mainstay::conic::{ConicCvParams, ConicParams, Kappas, KernelKind, hinge_grid, hinge_path};
use mainstay::data::{ClassWeight, Dataset, Outliers, make_label_noise, make_outliers};
use mainstay::folds::{Cv, linear_grid};
use mainstay::linalg::{Dense, Matrix};
use mainstay::loss::robust::ConicLoss;
use mainstay::model::{Estimator, Fitted, Model, Output, PathPoint, Suspects};
use mainstay::{Control, Error, Status, methods};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};
use serde_json::json;

fn dataset(x: &[f64], y: &[f64]) -> Dataset {
    let x = Dense::from_rows(y.len(), x.len() / y.len(), x.to_vec());
    let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
    Dataset::new(Matrix::from(x), labels, 2).unwrap()
}

fn kappa(kappa: f64) -> ConicParams {
    ConicParams { kappa: Some(kappa), ..Default::default() }
}

fn price(c: f64) -> ConicParams {
    ConicParams { c: Some(c), ..Default::default() }
}

fn fit(params: &ConicParams, data: &Dataset) -> Fitted {
    params.clone().check().unwrap().fit(data, &Control::new()).unwrap()
}

fn fail(params: &ConicParams, data: &Dataset) -> Error {
    params.clone().check().unwrap().fit(data, &Control::new()).unwrap_err()
}

fn vector<'a>(fitted: &'a Fitted, name: &str) -> &'a [f64] {
    match &fitted.outputs[name] {
        Output::Vector(values) => values,
        other => panic!("{name}: {other:?}"),
    }
}

fn number(fitted: &Fitted, name: &str) -> f64 {
    match fitted.outputs[name] {
        Output::Number(value) => value,
        ref other => panic!("{name}: {other:?}"),
    }
}

fn objective(fitted: &Fitted) -> f64 {
    fitted.certificates[0].primal
}

/// Labels as signs and rows with the constant feature.
fn signed_rows(data: &Dataset, intercept: bool) -> (Vec<f64>, Vec<Vec<f64>>) {
    let x = data.features().to_dense();
    let row = |i: usize| {
        let mut row = x.row(i).to_vec();
        if intercept {
            row.push(1.0);
        }
        row
    };
    (data.signs(1), (0..data.len()).map(row).collect())
}

fn plane(fitted: &Fitted, intercept: bool) -> Vec<f64> {
    let Model::Linear(model) = &fitted.model else { panic!("not linear") };
    let mut w = model.coef[0].clone();
    if intercept {
        w.push(model.intercept[0]);
    }
    w
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sandwich behind Theorem 2. With gamma feasible in (13) and any w, (11) with Proposition 1's loss
/// is at least the optimum's lower bound; at the answer's w it is at most the answer's objective. So
/// bound <= (11) at (w, gamma) <= objective, up to rounding.
fn theorem_2_holds(fitted: &Fitted, data: &Dataset, params: &ConicParams) {
    let (y, rows) = signed_rows(data, params.fit_intercept);
    let w = plane(fitted, params.fit_intercept);
    let lambda = number(fitted, "price");
    let shape = vector(fitted, "loss_shape");
    let unit = vec![1.0; y.len()];
    let c = data.weights().unwrap_or(&unit);
    let mut value = dot(&w, &w);
    for i in 0..y.len() {
        if c[i] > 0.0 && lambda > 0.0 {
            let loss = ConicLoss { price: lambda, shape: shape[i] };
            value += c[i] * loss.value(y[i] * dot(&rows[i], &w));
        }
    }
    if params.c.is_none() {
        value -= lambda * params.kappa.unwrap_or(0.1) * c.iter().sum::<f64>();
    }
    let found = fitted.certificates[0];
    let slack = 1e-8 * (1.0 + found.primal.abs() + lambda * 1e-4);
    assert!(value <= found.primal + slack, "{value} above {found:?}");
    assert!(value >= found.dual - slack, "{value} below {found:?}");
}

fn certified(fitted: &Fitted, what: &str) {
    let gap = fitted.dual_gap().unwrap();
    assert_eq!(fitted.status(), Status::Certified, "{what}: gap {gap:.1e}");
    fitted.model.validate().unwrap();
    for name in ["z", "loss_shape"] {
        if let Output::Vector(values) = &fitted.outputs[name] {
            assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0), "{what}: {name}");
        }
    }
}

/// Random problems of many shapes: noise, separable, heavy tails, contradictions, bad scales, p > n.
fn zoo(seed: u64) -> (String, Dataset) {
    let mut rng = rng(1000 + seed);
    let kind = seed % 8;
    let n = 12 + usize::try_from(seed * 7 % 60).unwrap();
    let p = match kind {
        5 => n + 5,
        6 => 1,
        _ => 2 + usize::try_from(seed % 6).unwrap(),
    };
    let (mut x, mut y) = two_clouds(seed, n, p, if kind == 1 { 12.0 } else { 1.5 });
    match kind {
        2 => {
            for (v, e) in x.iter_mut().zip(normal(&mut rng, n * p)) {
                *v *= (2.0 * e).exp();
            }
        }
        3 => {
            for i in 0..n / 2 {
                x.copy_within(i * p..(i + 1) * p, (n - 1 - i) * p);
                y[n - 1 - i] = -y[i];
            }
        }
        4 => {
            for (k, v) in x.iter_mut().enumerate() {
                *v *= 10f64.powi(i32::try_from(k % p).unwrap() * 2 - 3);
            }
        }
        7 => {
            for (i, y) in y.iter_mut().enumerate() {
                *y = if i % 9 == 0 { 1.0 } else { -1.0 };
            }
        }
        _ => {}
    }
    (format!("kind {kind}, seed {seed}, {n} x {p}"), dataset(&x, &y))
}

#[test]
fn random_problems_are_certified_and_satisfy_theorem_2() {
    for seed in 0..64 {
        let (name, data) = zoo(seed);
        let budgets = [0.01, 0.1, 0.3, 0.6];
        let prices = [1e-2, 0.3, 5.0, 200.0];
        let pick = usize::try_from(seed / 8 % 4).unwrap();
        for mut params in [kappa(budgets[pick]), price(prices[pick])] {
            params.fit_intercept = seed % 3 != 0;
            let fitted = fit(&params, &data);
            let what = format!("{name}, {params:?}");
            certified(&fitted, &what);
            theorem_2_holds(&fitted, &data, &params);
        }
    }
}

#[test]
fn weighted_problems_are_certified_and_satisfy_theorem_2() {
    for seed in 0..12 {
        let (name, data) = zoo(seed);
        let weights = normal(&mut rng(seed), data.len()).iter().map(|v| v.exp()).collect();
        let data = data.with_weights(weights).unwrap();
        for params in [kappa(0.15), price(2.0)] {
            let fitted = fit(&params, &data);
            certified(&fitted, &name);
            theorem_2_holds(&fitted, &data, &params);
            if params.c.is_none() {
                let c = data.weights().unwrap();
                let spent = dot(c, vector(&fitted, "z"));
                assert!(spent <= 0.15 * c.iter().sum::<f64>() * (1.0 + 1e-9), "{name}");
            }
        }
    }
}

/// Orthogonal rows decouple into the hulls of Theorem 1, which are tight: a row costs
/// (1 - z)/|x|^2 + C z.
#[test]
fn orthogonal_rows_match_the_convex_hull() {
    let lengths = [0.5, 2.0, 1.0, 3.0];
    let x: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { lengths[k / 5] } else { 0.0 }).collect();
    let data = dataset(&x, &[1.0, -1.0, 1.0, -1.0]);
    for c in [0.05, 0.2, 0.5, 2.0, 10.0] {
        let params = ConicParams { fit_intercept: false, ..price(c) };
        let fitted = fit(&params, &data);
        let optimum: f64 = lengths.iter().map(|l| f64::min(c, 1.0 / (l * l))).sum();
        certified(&fitted, &format!("C = {c}"));
        assert!((objective(&fitted) - optimum).abs() <= 2e-6 * optimum.max(1.0), "{c}: {optimum}");
    }
    for k in [0.1, 0.25, 0.4, 0.8] {
        let params = ConicParams { fit_intercept: false, ..kappa(k) };
        let fitted = fit(&params, &data);
        // The budget goes where a margin is dearest.
        let (mut left, mut optimum) = (4.0 * k, 0.0);
        for l in [0.5, 1.0, 2.0, 3.0] {
            let z = f64::min(left, 1.0);
            left -= z;
            optimum += (1.0 - z) / (l * l);
        }
        certified(&fitted, &format!("kappa = {k}"));
        assert!((objective(&fitted) - optimum).abs() <= 2e-6 * optimum.max(1.0), "{k}: {optimum}");
    }
}

/// min |w|^2 subject to margins of at least 1 on the chosen rows, or infinity.
fn hard_margin(y: &[f64], rows: &[Vec<f64>], chosen: &[usize]) -> f64 {
    let p = rows[0].len();
    let mut program = Program::new(p);
    for j in 0..p {
        program.add_product(j, j, 1.0);
    }
    for &i in chosen {
        program.at_least_zero((0..p).map(|j| (j, y[i] * rows[i][j])).collect(), -1.0);
    }
    let answer = program.solve();
    if answer.solved { answer.objective } else { f64::INFINITY }
}

#[test]
fn the_bound_is_below_the_best_0_1_solution_of_all() {
    for seed in 0..6 {
        let (x, y) = two_clouds(50 + seed, 7, 2, 1.0);
        let data = dataset(&x, &y);
        let (y, rows) = signed_rows(&data, true);
        let values: Vec<(u32, f64)> = (0..1_u32 << 7)
            .map(|z| {
                let kept: Vec<usize> = (0..7).filter(|i| z >> i & 1 == 0).collect();
                (z.count_ones(), hard_margin(&y, &rows, &kept))
            })
            .collect();
        for c in [0.2, 1.0, 5.0] {
            let fitted = fit(&price(c), &data);
            let best =
                values.iter().map(|(k, v)| v + c * f64::from(*k)).fold(f64::INFINITY, f64::min);
            certified(&fitted, "enumeration");
            let bound = number(&fitted, "zero_one_bound");
            assert!(bound <= best * (1.0 + 1e-7) && bound > 0.0, "{bound} {best}");
            assert!(bound <= objective(&fitted));
        }
        for share in [0.15, 0.3, 0.6] {
            let fitted = fit(&kappa(share), &data);
            let within = values.iter().filter(|(k, _)| f64::from(*k) <= 7.0 * share);
            let best = within.map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
            assert!(number(&fitted, "zero_one_bound") <= best * (1.0 + 1e-7));
        }
    }
}

#[test]
fn a_budget_and_its_price_give_the_same_solution() {
    for seed in 0..6 {
        let data = make_outliers(120, 4, 0.5, Outliers::Spread, 0.1, seed).unwrap();
        for share in [0.05, 0.2, 0.4] {
            let tight = ConicParams { tol: 1e-8, ..kappa(share) };
            let by_budget = fit(&tight, &data);
            let lambda = number(&by_budget, "price");
            let by_price = fit(&ConicParams { tol: 1e-8, ..price(lambda) }, &data);
            certified(&by_budget, "budget");
            certified(&by_price, "price");
            let total = objective(&by_budget) + lambda * share * 120.0;
            assert!((objective(&by_price) - total).abs() <= 1e-6 * total);
            let spent: f64 = vector(&by_price, "z").iter().sum();
            // z moves with the square root of the gap.
            assert!((spent - share * 120.0).abs() <= 1e-2 * spent, "{spent}");
        }
    }
}

#[test]
fn a_path_is_monotone_in_the_order_given_and_equals_single_fits() {
    let data = make_outliers(150, 3, 0.5, Outliers::Clustered, 0.1, 4).unwrap();
    let kappas = [0.3, 0.01, 0.5, 0.12, 0.02, 0.25];
    let svc = kappa(0.1).check().unwrap();
    let path = svc.fit_path(&kappas.map(PathPoint::kappa), &data, &Control::new()).unwrap();
    assert!(svc.fit_path(&[PathPoint::default()], &data, &Control::new()).is_err());
    for (share, fitted) in kappas.iter().zip(&path) {
        certified(fitted, "path");
        let alone = objective(&fit(&kappa(*share), &data));
        assert!((objective(fitted) - alone).abs() <= 2e-6 * alone.max(1.0));
    }
    let mut order: Vec<usize> = (0..kappas.len()).collect();
    order.sort_by(|&i, &j| kappas[i].total_cmp(&kappas[j]));
    for pair in order.windows(2) {
        let (small, large) = (&path[pair[0]].certificates[0], &path[pair[1]].certificates[0]);
        assert!(small.primal >= large.dual && small.dual <= small.primal);
    }
}

/// So many columns that factors are kept from one fit to the next.
#[test]
fn a_path_with_kept_factors_equals_single_fits() {
    for (seed, kind) in [Outliers::Clustered, Outliers::Spread].iter().enumerate() {
        let data = make_outliers(130, 45, 0.5, *kind, 0.1, seed as u64).unwrap();
        let kappas = linear_grid(0.01, 0.5, 12);
        let path = kappa(0.1).check().unwrap().path(&data, &kappas, &Control::new()).unwrap();
        for (share, fitted) in kappas.iter().zip(&path) {
            certified(fitted, "kept factors");
            let alone = fit(&kappa(*share), &data);
            certified(&alone, "alone");
            let (a, b) = (objective(fitted), objective(&alone));
            assert!((a - b).abs() <= 2e-6 * b.max(1.0), "{kind:?} {share}: {a} {b}");
        }
    }
}

#[test]
fn a_kernel_with_many_rows_is_certified_without_the_interior_point() {
    let data = make_label_noise(300, 4, 0.1, 2).unwrap();
    for base in [kappa(0.1), kappa(0.01), price(1.0)] {
        let params = with_kernel(KernelKind::Rbf, base);
        let fitted =
            fit(&ConicParams { gamma: mainstay::conic::Gamma::Fixed(1.0), ..params }, &data);
        certified(&fitted, "many rows");
        assert_eq!(fitted.route, ["low-rank newton"]);
    }
}

#[test]
fn the_default_grid_is_certified_on_every_kind_of_outlier() {
    let kappas = linear_grid(0.005, 0.5, 100);
    for (seed, kind) in [Outliers::None, Outliers::Clustered, Outliers::Spread].iter().enumerate() {
        for sigma in [0.2, 1.0] {
            let data = make_outliers(200, 6, sigma, *kind, 0.1, seed as u64).unwrap();
            let path = kappa(0.1).check().unwrap().path(&data, &kappas, &Control::new()).unwrap();
            for fitted in &path {
                certified(fitted, "grid");
            }
        }
    }
}

#[test]
fn row_order_label_swap_and_weights_do_not_matter() {
    let data = make_outliers(60, 3, 0.5, Outliers::Spread, 0.1, 9).unwrap();
    for params in [kappa(0.1), price(1.0)] {
        let reference = fit(&params, &data);
        let order: Vec<usize> = (0..60).map(|i| (i * 7 + 3) % 60).collect();
        let shuffled = fit(&params, &data.select_rows(&order));
        assert_eq!(plane(&reference, true), plane(&shuffled, true));
        let flipped = data.labels().iter().map(|l| 1 - l).collect();
        let flipped = Dataset::new(data.features().clone(), flipped, 2).unwrap();
        let flipped = fit(&params, &flipped);
        assert!((objective(&reference) - objective(&flipped)).abs() <= 2e-6);

        let twice: Vec<usize> = (0..60).chain([5, 17]).collect();
        let mut weights = vec![1.0; 60];
        (weights[5], weights[17]) = (2.0, 2.0);
        let by_rows = fit(&params, &data.select_rows(&twice));
        let by_weight = fit(&params, &data.clone().with_weights(weights).unwrap());
        assert_eq!(plane(&by_rows, true), plane(&by_weight, true));
        assert_eq!(vector(&by_rows, "loss_shape")[..60], *vector(&by_weight, "loss_shape"));
        let mut weights = vec![1.0; 60];
        weights[11] = 0.0;
        let absent: Vec<usize> = (0..60).filter(|i| *i != 11).collect();
        let dropped = fit(&params, &data.clone().with_weights(weights).unwrap());
        assert_eq!(plane(&dropped, true), plane(&fit(&params, &data.select_rows(&absent)), true));
    }
}

/// Without an intercept features times s give weights over s and the objective over s^2.
#[test]
fn units_do_not_matter() {
    let (x, y) = two_clouds(3, 40, 3, 1.0);
    let params = ConicParams { fit_intercept: false, ..kappa(0.1) };
    let reference = fit(&params, &dataset(&x, &y));
    for scale in [2f64.powi(-300), 1e-3, 1e6, 2f64.powi(490)] {
        let scaled: Vec<f64> = x.iter().map(|v| v * scale).collect();
        let fitted = fit(&params, &dataset(&scaled, &y));
        certified(&fitted, &format!("scale {scale}"));
        for (a, b) in plane(&fitted, false).iter().zip(plane(&reference, false)) {
            assert!((a * scale - b).abs() <= 1e-3 * (1.0 + b.abs()), "{scale}: {a} {b}");
        }
    }
    for scale in [1e150, 1e-150] {
        let scaled: Vec<f64> = x.iter().map(|v| v * scale).collect();
        for params in [kappa(0.1), price(1.0)] {
            // Either a model or a clear error, never a panic or a NaN.
            match params.check().unwrap().fit(&dataset(&scaled, &y), &Control::new()) {
                Ok(fitted) => fitted.model.validate().unwrap(),
                Err(error) => assert!(matches!(error, Error::Numerical(_)), "{error}"),
            }
        }
    }
}

#[test]
fn no_budget_means_the_hard_margin() {
    for seed in 0..4 {
        let (x, y) = two_clouds(seed, 30, 3, 9.0);
        let data = dataset(&x, &y);
        let fitted = fit(&kappa(0.0), &data);
        certified(&fitted, "hard margin");
        let (y, rows) = signed_rows(&data, true);
        let all: Vec<usize> = (0..30).collect();
        let optimum = hard_margin(&y, &rows, &all);
        assert!((objective(&fitted) - optimum).abs() <= 2e-6 * optimum.max(1.0));
        assert!(vector(&fitted, "z").iter().all(|z| *z == 0.0));
    }
    let (x, y) = two_clouds(1, 60, 2, 0.5);
    let error = fail(&kappa(0.0), &dataset(&x, &y));
    assert!(matches!(&error, Error::Infeasible(text) if text.contains("kappa > 0")), "{error}");
}

#[test]
fn trivial_prices_and_budgets_disbelieve_everything() {
    let (x, y) = two_clouds(2, 20, 2, 1.0);
    let data = dataset(&x, &y);
    for params in [price(1e-3), kappa(1.0)] {
        let fitted = fit(&params, &data);
        certified(&fitted, "trivial");
        assert!(plane(&fitted, true).iter().all(|w| *w == 0.0));
        assert!(vector(&fitted, "z").iter().all(|z| *z == 1.0));
        assert!((objective(&fitted) - params.c.unwrap_or(0.0) * 20.0).abs() < 1e-12);
    }
    let rows_of_zeros = dataset(&[0.0, 0.0, 1.0, 2.0], &[1.0, -1.0, 1.0, -1.0]);
    let params = ConicParams { fit_intercept: false, ..kappa(0.4) };
    let error = fail(&params, &rows_of_zeros);
    assert!(matches!(&error, Error::Infeasible(text) if text.contains("0.5")), "{error}");
    certified(&fit(&ConicParams { fit_intercept: false, ..kappa(0.7) }, &rows_of_zeros), "zeros");
}

/// Few positives and a budget near their share: predicting one class, w = (0, ..., 0, -1), is optimal.
#[test]
fn an_optimum_that_predicts_one_class_is_certified() {
    for seed in 0..4 {
        let mut x = normal(&mut rng(seed), 200);
        for v in &mut x {
            *v *= 0.3;
        }
        let y: Vec<f64> = (0..100).map(|i| if i < 10 { 1.0 } else { -1.0 }).collect();
        for share in [0.09, 0.1, 0.101, 0.12] {
            certified(&fit(&kappa(share), &dataset(&x, &y)), &format!("kappa {share}"));
        }
    }
}

#[test]
fn the_smallest_data_sets_work() {
    for params in [kappa(0.1), kappa(0.5), price(1.0), price(1e4)] {
        certified(&fit(&params, &dataset(&[1.0, -1.0], &[1.0, -1.0])), "two");
        certified(&fit(&params, &dataset(&[3.0, 3.0], &[1.0, -1.0])), "contradiction");
        certified(&fit(&params, &dataset(&[1.0, 2.0, 4.0], &[1.0, -1.0, 1.0])), "three");
        certified(&fit(&params, &dataset(&[0.0; 12], &[1.0, -1.0, 1.0])), "constant columns");
    }
}

fn with_kernel(kernel: KernelKind, base: ConicParams) -> ConicParams {
    ConicParams { kernel, ..base }
}

fn gram(data: &Dataset, f: impl Fn(f64) -> f64) -> Dataset {
    let x = data.features().to_dense();
    let k = Dense::from_fn(data.len(), data.len(), |i, j| f(dot(x.row(i), x.row(j))));
    data.replace_features(k.into())
}

#[test]
fn a_precomputed_linear_kernel_is_the_linear_model() {
    let data = make_outliers(50, 3, 0.5, Outliers::Spread, 0.1, 2).unwrap();
    for base in [kappa(0.1), price(0.5), kappa(0.4)] {
        let linear = fit(&base, &data);
        let kernel = gram(&data, |v| v);
        let by_kernel = fit(&with_kernel(KernelKind::Precomputed, base), &kernel);
        certified(&by_kernel, "precomputed");
        assert!((objective(&linear) - objective(&by_kernel)).abs() <= 2e-6);
        let a = linear.model.decision(data.features()).unwrap();
        let b = by_kernel.model.decision(kernel.features()).unwrap();
        for (a, b) in a.data().iter().zip(b.data()) {
            // Scores move with the square root of the gap.
            assert!((a - b).abs() < 1e-2, "{a} {b}");
        }
    }
}

#[test]
fn kernel_fits_are_certified_and_predict_from_their_support() {
    for seed in 0..4 {
        let data = make_label_noise(60, 2, 0.1, seed).unwrap();
        for kernel in [KernelKind::Rbf, KernelKind::Poly] {
            for base in [kappa(0.02), kappa(0.2), price(1.0)] {
                let params = with_kernel(kernel, base);
                let fitted = fit(&params, &data);
                certified(&fitted, &format!("{params:?}, seed {seed}"));
                let text = serde_json::to_string(&fitted).unwrap();
                let again: Fitted = serde_json::from_str(&text).unwrap();
                assert_eq!(again, fitted);
                again.model.validate().unwrap();
                let predicted = again.model.predict(data.features()).unwrap();
                let right = predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
                assert!(right >= 40, "{right} of 60");
            }
        }
    }
}

#[test]
fn kernel_weights_equal_repetition() {
    let data = make_label_noise(30, 2, 0.1, 5).unwrap();
    let params = with_kernel(KernelKind::Rbf, kappa(0.1));
    let twice: Vec<usize> = (0..30).chain([4]).collect();
    let mut weights = vec![1.0; 30];
    weights[4] = 2.0;
    let by_rows = fit(&params, &data.select_rows(&twice));
    let by_weight = fit(&params, &data.clone().with_weights(weights).unwrap());
    assert_eq!(by_rows.model, by_weight.model);
}

#[test]
fn bad_kernel_matrices_are_refused() {
    let data = make_label_noise(10, 2, 0.1, 5).unwrap();
    let params = with_kernel(KernelKind::Precomputed, kappa(0.1));
    assert!(fail(&params, &data).to_string().contains("square"));
    let k = gram(&data, |v| v);
    let mut skew = k.features().to_dense();
    skew[(3, 5)] += 1.0;
    assert!(fail(&params, &data.replace_features(skew.into())).to_string().contains("(5, 3)"));
    let negative = gram(&data, |v| -v - 2.0);
    assert!(fail(&params, &negative).to_string().contains("positive semidefinite"));
}

#[test]
fn parameters_are_checked() {
    let bad = [
        json!({"kappa": -0.1}),
        json!({"kappa": 1.5}),
        json!({"kappa": 0.1, "C": 1.0}),
        json!({"C": 0.0}),
        json!({"gamma": -1.0, "kernel": "rbf"}),
        json!({"kernel": "sigmoid"}),
        json!({"degree": 0}),
        json!({"coef0": -1.0}),
        json!({"tol": 0.0}),
        json!({"max_iter": 0}),
        json!({"kapa": 0.1}),
    ];
    let method = methods::find("conic").unwrap();
    for params in bad {
        assert!(method.estimator(&params).is_err(), "{params}");
    }
    assert!(method.estimator(&json!({"C": 2.0, "kernel": "rbf", "gamma": "auto"})).is_ok());
    let cv = methods::find("conic-cv").unwrap();
    for params in [json!({"kappas": [0.1, 2.0]}), json!({"kappas": []}), json!({"cv": 1})] {
        assert!(cv.estimator(&params).is_err(), "{params}");
    }
    assert!(cv.estimator(&json!({"kappas": [0.1], "cv": [[[0, 1], [2]]]})).is_ok());
}

#[test]
fn a_cancelled_fit_stops() {
    let control = Control::new();
    control.cancel();
    let data = make_label_noise(30, 2, 0.1, 5).unwrap();
    let error = kappa(0.1).check().unwrap().fit(&data, &control).unwrap_err();
    assert_eq!(error, Error::Interrupted);
}

#[test]
fn stopping_early_is_a_status_with_a_usable_model() {
    let data = make_outliers(100, 5, 1.0, Outliers::Spread, 0.1, 5).unwrap();
    let fitted = fit(&ConicParams { max_iter: 1, ..kappa(0.05) }, &data);
    assert_eq!(fitted.status(), Status::NotCertified);
    fitted.model.validate().unwrap();
    assert!(fitted.dual_gap().unwrap() > 1e-6);
}

#[test]
fn cross_validation_is_the_same_for_any_number_of_threads() {
    let data = make_outliers(80, 3, 0.2, Outliers::Clustered, 0.1, 1).unwrap();
    let params = ConicCvParams { kappas: Kappas::Count(12), ..Default::default() };
    let cv = params.check().unwrap();
    let one = cv.fit(&data, &Control::new().with_threads(1)).unwrap();
    let three = cv.fit(&data, &Control::new().with_threads(3)).unwrap();
    assert_eq!(one, three);
    certified(&one, "cv");
    let Output::Table(columns) = &one.outputs["cv_results"] else { panic!("no table") };
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["param_kappa", "split0_test_score"]);
    assert_eq!(names[6..], ["mean_test_score", "std_test_score", "rank_test_score"]);
    let chosen = fit(&kappa(number(&one, "kappa")), &data);
    assert_eq!(chosen.model, one.model);
}

#[test]
fn a_predefined_split_and_a_precomputed_kernel_cross_validate() {
    let data = make_outliers(60, 3, 0.2, Outliers::None, 0.1, 1).unwrap();
    let split = Cv::Splits(vec![((0..40).collect(), (40..60).collect())]);
    let params =
        ConicCvParams { kappas: Kappas::Values(vec![0.3, 0.05]), cv: split, ..Default::default() };
    let linear = params.clone().check().unwrap().fit(&data, &Control::new()).unwrap();
    let kernel = ConicCvParams { kernel: KernelKind::Precomputed, ..params.clone() };
    let by_kernel = kernel.check().unwrap().fit(&gram(&data, |v| v), &Control::new()).unwrap();
    assert_eq!(linear.outputs["cv_results"], by_kernel.outputs["cv_results"]);
    let beyond = ConicCvParams { cv: Cv::Splits(vec![(vec![0, 1], vec![60])]), ..params };
    assert!(beyond.check().unwrap().fit(&data, &Control::new()).is_err());
}

#[test]
fn flipped_labels_are_the_most_suspicious() {
    let clean = make_outliers(100, 3, 0.1, Outliers::None, 0.0, 3).unwrap();
    let mut labels = clean.labels().to_vec();
    let flipped = [7, 31, 64, 90];
    for i in flipped {
        labels[i] = 1 - labels[i];
    }
    let data = Dataset::new(clean.features().clone(), labels, 2).unwrap();
    let fitted = fit(&kappa(0.06), &data);
    let Suspects { row, label, predicted, .. } = fitted.suspects.unwrap();
    let mut first = row[..4].to_vec();
    first.sort_unstable();
    assert_eq!(first, [7, 31, 64, 90]);
    assert!((0..4).all(|k| label[k] != predicted[k]));
}

/// A class whose labels count a thousand times is hardly disbelieved, so its rows set the plane.
#[test]
fn class_weights_make_disbelief_dear() {
    let (x, y) = two_clouds(6, 80, 2, 0.5);
    let data = dataset(&x, &y);
    let factors = |a: f64, b: f64| ClassWeight::Factors(vec![a, b]);
    let dear = fit(&ConicParams { class_weight: factors(1000.0, 1e-3), ..kappa(0.1) }, &data);
    certified(&dear, "class weight");
    assert!(dear.model.predict(data.features()).unwrap().iter().all(|k| *k == 0));
    let spent: f64 =
        vector(&dear, "z").iter().zip(data.labels()).map(|(z, k)| z * [1000.0, 1e-3][*k]).sum();
    assert!(spent <= 8.0 * (1.0 + 1e-9));
    let balanced = ConicParams { class_weight: factors(1.0, 1.0), ..kappa(0.1) };
    assert_eq!(fit(&balanced, &data).model, fit(&kappa(0.1), &data).model);
}

/// Kernel values rounded to single precision are semidefinite only up to 1e-7.
#[test]
fn a_kernel_matrix_in_single_precision_is_accepted() {
    let data = make_label_noise(40, 2, 0.1, 5).unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "the point of the test")]
    let rounded = gram(&data, |v| f64::from((v - 1.0).exp() as f32));
    let params = with_kernel(KernelKind::Precomputed, kappa(0.1));
    let fitted = fit(&ConicParams { tol: 1e-4, ..params }, &rounded);
    certified(&fitted, "single precision");
}

#[test]
fn three_classes_go_one_against_the_rest() {
    let x = normal(&mut rng(4), 180);
    let labels: Vec<usize> = (0..90).map(|i| i % 3).collect();
    let centres = [(0.0, 4.0), (-4.0, -2.0), (4.0, -2.0)];
    let x = Dense::from_fn(90, 2, |i, j| {
        let (a, b) = centres[i % 3];
        x[2 * i + j] + if j == 0 { a } else { b }
    });
    let data = Dataset::new(x.into(), labels, 3).unwrap();
    for params in [kappa(0.05), with_kernel(KernelKind::Rbf, kappa(0.05))] {
        let fitted = fit(&params, &data);
        certified(&fitted, "three classes");
        assert_eq!(fitted.certificates.len(), 3);
        let predicted = fitted.model.predict(data.features()).unwrap();
        let right = predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        assert!(right >= 85, "{right} of 90");
        assert!(matches!(&fitted.outputs["z"], Output::Matrix(rows) if rows.len() == 90));
    }
}

#[test]
fn the_hinge_path_is_certified() {
    for (n, p) in [(60, 4), (20, 40)] {
        let (x, y) = two_clouds(8, n, p, 1.0);
        let path =
            hinge_path(&dataset(&x, &y), &hinge_grid(20), true, 1e-6, &Control::new()).unwrap();
        for fitted in &path {
            assert_eq!(fitted.status(), Status::Certified, "{:?}", fitted.certificates);
        }
    }
}

/// Table 1, clustered outliers at sigma = 0.2: chosen on a contaminated validation set and tested on
/// clean rows, the hinge loss breaks down and the conic loss does not.
#[test]
fn the_conic_loss_holds_where_the_hinge_loss_breaks() {
    let (mut hinge, mut conic) = (Vec::new(), Vec::new());
    let repeats = 12;
    for seed in 0..repeats {
        let both = make_outliers(200, 3, 0.2, Outliers::Clustered, 0.1, seed).unwrap();
        let train = both.select_rows(&(0..100).collect::<Vec<_>>());
        let validation = both.select_rows(&(100..200).collect::<Vec<_>>());
        // The same direction without outliers, by the same seed.
        let far = |i: &usize| both.features().row(*i).norm_sq() > 9.0;
        let clean: Vec<usize> = (0..200).filter(|i| !far(i)).collect();
        let test = both.select_rows(&clean);
        let control = Control::new();
        let wrong = |fitted: &Fitted, data: &Dataset| {
            let predicted = fitted.model.predict(data.features()).unwrap();
            let wrong = predicted.iter().zip(data.labels()).filter(|(a, b)| a != b).count();
            wrong as f64 / data.len() as f64
        };
        let tested = |path: Vec<Fitted>| {
            let errors: Vec<f64> = path.iter().map(|f| wrong(f, &validation)).collect();
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let tied: Vec<usize> = (0..path.len()).filter(|&k| errors[k] == least).collect();
            wrong(&path[tied[(tied.len() - 1) / 2]], &test)
        };
        let kappas = linear_grid(0.005, 0.5, 100);
        conic.push(tested(kappa(0.1).check().unwrap().path(&train, &kappas, &control).unwrap()));
        hinge.push(tested(hinge_path(&train, &hinge_grid(100), true, 1e-6, &control).unwrap()));
    }
    // A draw of 100 rows may hold a fifth of outliers instead of a tenth; single failures are luck.
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let broken = |errors: &[f64]| errors.iter().filter(|e| **e > 0.3).count();
    assert!(mean(&hinge) > 2.0 * mean(&conic), "hinge {hinge:?}, conic {conic:?}");
    assert!(mean(&hinge) > 0.2 && mean(&conic) < 0.1, "hinge {hinge:?}, conic {conic:?}");
    assert!(broken(&conic) <= 1 && broken(&hinge) >= 6, "hinge {hinge:?}, conic {conic:?}");
}
