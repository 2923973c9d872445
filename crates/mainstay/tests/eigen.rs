//! Generalized eigenvalue classifiers against inertia counts, brute force and sampling.
//!
//! Longer than other files: a list of tests for three estimators, which share data, pencils and quotients.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    reason = "small counts; indices are those of the formulas; one fit is timed"
)]

use mainstay::data::{Dataset, RowUncertainty, Shape};
use mainstay::eigen::{
    Moments, NormRobustRegecParams, RegecParams, Regularization, RobustRegecParams, RobustSolver,
    Rule, Xi, XiRule,
};
use mainstay::linalg::{Cholesky, Dense, thin_qr, vector};
use mainstay::model::{Estimator, Fitted, Model, Output, Planes};
use mainstay::uncertainty::ellipsoid::{Ellipsoid, Ellipsoids};
use mainstay::{Control, Error};
use mainstay_testkit::generate::{normal, rng, two_clouds};

fn data(rows: &[f64], y: &[f64]) -> Dataset {
    let labels = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let x = Dense::from_rows(y.len(), rows.len() / y.len(), rows.to_vec());
    Dataset::new(x.into(), labels, 2).unwrap()
}

fn random(seed: u64, n: usize, p: usize) -> Dataset {
    let (rows, y) = two_clouds(seed, n, p, 2.0);
    data(&rows, &y)
}

fn fit(estimator: &dyn Estimator, data: &Dataset) -> Fitted {
    estimator.fit(data, &Control::new()).unwrap()
}

fn planes(fitted: &Fitted) -> &Planes {
    match &fitted.model {
        Model::Planes(m) => m,
        other => panic!("{other:?}"),
    }
}

fn vector_of(fitted: &Fitted, name: &str) -> Vec<f64> {
    match &fitted.outputs[name] {
        Output::Vector(v) => v.clone(),
        other => panic!("{other:?}"),
    }
}

/// [A -e]'[A -e] of a class, weighted.
fn gram(data: &Dataset, class: usize) -> Dense {
    let p = data.n_features();
    let x = data.features().to_dense();
    let mut out = Dense::zeros(p + 1, p + 1);
    for i in (0..data.len()).filter(|i| data.labels()[*i] == class) {
        let z: Vec<f64> = x.row(i).iter().copied().chain([-1.0]).collect();
        let weight = data.weights().map_or(1.0, |w| w[i]);
        for j in 0..=p {
            vector::axpy(weight * z[j], &z, out.row_mut(j));
        }
    }
    out
}

/// Numerator and denominator of the plane of `own`.
fn pencil(data: &Dataset, own: usize, kind: Regularization, delta: f64) -> (Dense, Dense) {
    let (g, h) = (gram(data, own), gram(data, 1 - own));
    let (mut n, mut d) = (g.clone(), h.clone());
    for j in 0..g.nrows() {
        match kind {
            Regularization::Cross => {
                n[(j, j)] += delta * h[(j, j)];
                d[(j, j)] += delta * g[(j, j)];
            }
            Regularization::Tikhonov => n[(j, j)] += delta,
            Regularization::None => {}
        }
    }
    (n, d)
}

/// The largest t with N - tD positive definite, by bisection: an eigenvalue solver without eigenvectors.
fn smallest_quotient(n: &Dense, d: &Dense) -> f64 {
    let definite = |t: f64| {
        let q = n.nrows();
        Cholesky::new(&Dense::from_fn(q, q, |i, j| n[(i, j)] - t * d[(i, j)])).is_some()
    };
    let (mut low, mut high) = (0.0, 1.0);
    while definite(high) {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if definite(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn quotient(n: &Dense, d: &Dense, model: &Planes, k: usize) -> f64 {
    let z: Vec<f64> = model.planes[k].iter().copied().chain([model.offsets[k]]).collect();
    vector::dot(&z, &n.mul_vec(&z)) / vector::dot(&z, &d.mul_vec(&z))
}

#[test]
fn planes_minimise_the_quotient_for_every_regularisation() {
    for seed in 0..10 {
        // More features than rows from the seventh on.
        let (n, p) = if seed < 7 { (30, 1 + seed as usize) } else { (14, 25) };
        let mut set = random(seed, n, p);
        if seed % 2 == 1 {
            let w = normal(&mut rng(seed), n).iter().map(|v| v.abs() + 0.1).collect();
            set = set.with_weights(w).unwrap();
        }
        let kinds = [Regularization::Cross, Regularization::Tikhonov, Regularization::None];
        for kind in kinds.into_iter().filter(|k| p < n || *k != Regularization::None) {
            let delta = 1e-3;
            let estimator = RegecParams { regularization: kind, delta, ..Default::default() };
            let fitted = fit(&estimator.check().unwrap(), &set);
            let values = vector_of(&fitted, "eigenvalues");
            for k in 0..2 {
                let (top, bottom) = pencil(&set, k, kind, delta);
                let best = smallest_quotient(&top, &bottom);
                let found = quotient(&top, &bottom, planes(&fitted), k);
                let close = |v: f64| (v - best).abs() <= 1e-9 * best + 1e-12;
                assert!(
                    close(found) && close(values[k]),
                    "seed {seed} {kind:?}: {found} {} {best}",
                    values[k]
                );
                assert!((vector::norm(&planes(&fitted).planes[k]) - 1.0).abs() < 1e-12);
            }
        }
    }
}

/// On a line the rows 0, 2 and 5, 7: (g - 0)^2 + (g - 2)^2 over (g - 5)^2 + (g - 7)^2 with c = g - 1 is
/// (2 c^2 + 2)/(2 (c - 5)^2 + 2), stationary where c^2 - 5 c - 1 = 0: c = (5 - sqrt 29)/2.
#[test]
fn four_points_on_a_line_match_the_closed_form() {
    let set = data(&[0.0, 2.0, 5.0, 7.0], &[-1.0, -1.0, 1.0, 1.0]);
    let params = RegecParams { regularization: Regularization::None, ..Default::default() };
    let fitted = fit(&params.check().unwrap(), &set);
    let c = (5.0 - 29.0_f64.sqrt()) / 2.0;
    assert!((planes(&fitted).offsets[0] - (1.0 + c)).abs() < 1e-12);
    assert!((planes(&fitted).offsets[1] - (6.0 - c)).abs() < 1e-12);
    let ratio = (c * c + 1.0) / ((c - 5.0).powi(2) + 1.0);
    for name in ["worst_case_ratio", "eigenvalues"] {
        assert!(vector_of(&fitted, name).iter().all(|r| (r - ratio).abs() < 1e-12));
    }
}

#[test]
fn batches_and_merged_parts_give_the_planes_of_the_whole() {
    for (n, p) in [(60, 4), (9, 30), (40, 30)] {
        let set = random(3, n, p);
        let regec = RegecParams::default().check().unwrap();
        let whole = fit(&regec, &set);
        let part = |from: usize, to: usize| set.select_rows(&(from..to).collect::<Vec<_>>());
        let (a, b) = (n / 3, 2 * n / 3);
        let mut batches = Moments::new(&part(0, a), &Control::new()).unwrap();
        batches.add(&part(a, b), &Control::new()).unwrap();
        batches.add(&part(b, n), &Control::new()).unwrap();
        let mut merged = Moments::new(&part(0, b), &Control::new()).unwrap();
        merged.merge(&Moments::new(&part(b, n), &Control::new()).unwrap()).unwrap();
        for moments in [batches, merged] {
            let fitted = regec.fit_moments(&moments, &Control::new()).unwrap();
            for k in 0..2 {
                let (x, y) = (&planes(&fitted).planes[k], &planes(&whole).planes[k]);
                assert!((vector::dot(x, y).abs() - 1.0).abs() < 1e-8, "{n} x {p}");
            }
        }
    }
    let mut moments = Moments::new(&random(1, 10, 3), &Control::new()).unwrap();
    assert!(moments.add(&random(1, 10, 4), &Control::new()).is_err());
}

#[test]
fn zero_uncertainty_gives_the_nominal_planes() {
    for seed in 0..4 {
        let set = random(seed, 30, 3);
        let nominal = fit(&RegecParams::default().check().unwrap(), &set);
        for solver in [RobustSolver::Monotone, RobustSolver::Paper] {
            let params = RobustRegecParams {
                uncertainty: Shape::Ball(0.0),
                xi: Xi::Fixed(0.0),
                solver,
                ..Default::default()
            };
            assert_eq!(planes(&fit(&params.check().unwrap(), &set)), planes(&nominal));
        }
        let none = RegecParams { regularization: Regularization::None, ..Default::default() };
        let none = fit(&none.check().unwrap(), &set);
        let norm = NormRobustRegecParams { eta_a: 0.0, ..Default::default() };
        let norm = fit(&norm.check().unwrap(), &set);
        for k in 0..2 {
            let angle = vector::dot(&planes(&norm).planes[k], &planes(&none).planes[k]).abs();
            assert!((angle - 1.0).abs() < 1e-9);
        }
    }
}

/// R(z), spelled out for a ball.
fn ratio(set: &Dataset, w: &[f64], gamma: f64, own: usize, r: f64) -> f64 {
    let rho = r * vector::norm(w);
    let (mut top, mut bottom) = (0.0, 0.0);
    for (i, d) in set.features().mul_vec(w).iter().enumerate() {
        let d = (d - gamma).abs();
        if set.labels()[i] == own {
            top += (d + rho).powi(2);
        } else {
            bottom += (d - rho).max(0.0).powi(2);
        }
    }
    top / bottom
}

#[test]
fn the_worst_case_ratio_is_recomputed_and_never_above_the_nominal_one() {
    for seed in 0..8 {
        let set = random(seed, 40, 2 + seed as usize % 3);
        let nominal = fit(&RegecParams::default().check().unwrap(), &set);
        for solver in [RobustSolver::Monotone, RobustSolver::Paper] {
            for r in [0.05, 0.2, 0.4] {
                let params = RobustRegecParams {
                    uncertainty: Shape::Ball(r),
                    xi: Xi::Fixed(0.0),
                    solver,
                    ..Default::default()
                };
                let fitted = fit(&params.check().unwrap(), &set);
                let reported = vector_of(&fitted, "worst_case_ratio");
                for k in 0..2 {
                    let at = |m: &Planes| ratio(&set, &m.planes[k], m.offsets[k], k, r);
                    let own = at(planes(&fitted));
                    assert!((own - reported[k]).abs() <= 1e-10 * own, "{own} {reported:?}");
                    assert!(
                        own <= at(planes(&nominal)) * (1.0 + 1e-12) || !fitted.warnings.is_empty()
                    );
                }
            }
        }
    }
}

/// No realisation inside the ellipsoids is worse than the worst case, and the points of Eq. (28) reach it.
#[test]
fn no_sampled_point_is_worse_than_the_worst_case_point() {
    for seed in 0..20 {
        let mut rng = rng(seed);
        let p = 1 + seed as usize % 5;
        let f = Dense::from_rows(p, p, normal(&mut rng, p * p));
        let m = f.mul_tr(&f);
        let shapes = [
            Shape::Ball(0.7),
            Shape::Axes(normal(&mut rng, p).iter().map(|v| v.abs()).collect()),
            Shape::Matrix((0..p).map(|i| m.row(i).to_vec()).collect()),
        ];
        for shape in &shapes {
            let ellipsoid = Ellipsoid::new(shape, p).unwrap();
            let view = ellipsoid.view();
            let (x, w) = (normal(&mut rng, p), normal(&mut rng, p));
            let gamma = normal(&mut rng, 1)[0];
            let distance = |x: &[f64]| (vector::dot(&w, x) - gamma).abs();
            let (far, near) = (view.farthest(&x, &w, gamma), view.nearest(&x, &w, gamma));
            let rho = view.support(&w);
            assert!((distance(&far) - distance(&x) - rho).abs() < 1e-10 * (1.0 + distance(&far)));
            let reached = (distance(&x) - rho).max(0.0);
            assert!((distance(&near) - reached).abs() < 1e-10 * (1.0 + distance(&x)));
            for k in 0..200 {
                let d = if k % 2 == 0 {
                    view.sample_inside(p, &mut rng)
                } else {
                    view.sample_surface(p, &mut rng)
                };
                let point: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + d).collect();
                let slack = 1e-12 * (1.0 + distance(&far));
                assert!(distance(&point) <= distance(&far) + slack);
                assert!(distance(&point) >= distance(&near) - slack);
            }
        }
    }
}

#[test]
fn rotating_data_and_ellipsoids_together_rotates_the_planes() {
    for seed in 0..4 {
        let (n, p) = (40, 3);
        let (rows, y) = two_clouds(seed, n, p, 3.0);
        let q = thin_qr(&Dense::from_rows(p, p, normal(&mut rng(seed + 9), p * p))).0;
        let turned = Dense::from_rows(n, p, rows.clone()).mul_tr(&q);
        let axes = [0.3, 0.1, 0.02];
        let matrix = Dense::from_fn(p, p, |i, j| {
            (0..p).map(|k| q[(i, k)] * axes[k] * axes[k] * q[(j, k)]).sum()
        });
        let matrix = Shape::Matrix(
            (0..p)
                .map(|i| (0..p).map(|j| 0.5 * (matrix[(i, j)] + matrix[(j, i)])).collect())
                .collect(),
        );
        let robust = |uncertainty: Shape, set: &Dataset| {
            let params = RobustRegecParams {
                uncertainty,
                xi: Xi::Fixed(0.0),
                regularization: Regularization::Tikhonov,
                tol: Some(1e-12),
                max_iter: Some(3000),
                ..Default::default()
            };
            fit(&params.check().unwrap(), set)
        };
        let plain = robust(Shape::Axes(axes.to_vec()), &data(&rows, &y));
        let other = robust(matrix, &data(turned.data(), &y));
        let (a, b) = (vector_of(&plain, "worst_case_ratio"), vector_of(&other, "worst_case_ratio"));
        for k in 0..2 {
            assert!((a[k] - b[k]).abs() <= 1e-5 * a[k], "{a:?} {b:?}");
            let moved = q.mul_vec(&planes(&plain).planes[k]);
            assert!(vector::dot(&moved, &planes(&other).planes[k]).abs() > 1.0 - 1e-5);
        }
    }
}

#[test]
fn row_order_and_weights_do_not_matter() {
    let set = random(4, 24, 3);
    let order: Vec<usize> = (0..24).rev().chain([5, 5]).collect();
    let mut weights = vec![1.0; 24];
    weights[5] = 3.0;
    let shuffled = set.select_rows(&order);
    let weighted = set.with_weights(weights).unwrap();
    let robust = RobustRegecParams::default().check().unwrap();
    assert_eq!(fit(&robust, &shuffled).model, fit(&robust, &weighted).model);
    let regec = RegecParams::default().check().unwrap();
    assert_eq!(fit(&regec, &shuffled).model, fit(&regec, &weighted).model);
}

/// max over ||dG|| <= a, ||dH|| <= b of the quotient is (G + a I)/(H - b I): no random plane does better
/// than the one found, also beyond the theorem's condition, and too large a b leaves no plane.
#[test]
fn theorem_one_holds_beyond_its_condition_and_fails_clearly() {
    for (seed, n, p) in [(0, 30, 2), (1, 30, 3), (2, 30, 2), (3, 6, 12)] {
        let set = random(seed, n, p);
        for eta_b in [0.0, 1.0, 20.0] {
            let params = NormRobustRegecParams { eta_a: 0.5, eta_b, ..Default::default() };
            let fitted = match params.check().unwrap().fit(&set, &Control::new()) {
                Ok(fitted) => fitted,
                Err(Error::Infeasible(_)) => continue,
                Err(other) => panic!("{other}"),
            };
            for k in 0..2 {
                let (mut top, mut bottom) = (gram(&set, k), gram(&set, 1 - k));
                top.add_diagonal(0.5);
                bottom.add_diagonal(-eta_b);
                let found = quotient(&top, &bottom, planes(&fitted), k);
                assert!((found - vector_of(&fitted, "eigenvalues")[k]).abs() <= 1e-8 * found);
                let mut rng = rng(seed);
                for _ in 0..2000 {
                    let z = normal(&mut rng, p + 1);
                    let (a, b) =
                        (vector::dot(&z, &top.mul_vec(&z)), vector::dot(&z, &bottom.mul_vec(&z)));
                    assert!(b <= 0.0 || a / b >= found * (1.0 - 1e-9));
                }
            }
        }
        let params = NormRobustRegecParams { eta_b: 1e6, ..Default::default() };
        let error = params.check().unwrap().fit(&set, &Control::new()).unwrap_err();
        assert!(error.to_string().contains("no robust plane exists"), "{error}");
    }
}

/// Section 4.1 with b_2 = (2, 1.72): two classes of three points, circles of radius alpha around them.
fn case_study() -> Dataset {
    data(
        &[5.0, 7.11, 4.0, 5.36, 4.63, 4.42, 2.82, 1.44, 2.0, 1.72, 1.0, -0.68],
        &[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0],
    )
}

/// Figure 2: the robust plane is conservative for small ellipses and better for large ones, where its
/// objective over 1000 realisations also spreads less.
#[test]
fn the_case_study_behaves_as_published() {
    let set = case_study();
    let nominal = fit(&RegecParams::default().check().unwrap(), &set);
    let objective = |m: &Planes, radius: f64| -> (f64, f64) {
        let ellipsoids = Ellipsoids::shared(Ellipsoid::Ball(radius), 2);
        let x = set.features().to_dense();
        let mut rng = rng(1);
        let mut values: Vec<f64> = (0..1000)
            .map(|_| {
                let (mut top, mut bottom) = (0.0, 0.0);
                for i in 0..6 {
                    let d = ellipsoids.row(i).sample_surface(2, &mut rng);
                    let score = vector::dot(x.row(i), &m.planes[0]) + vector::dot(&d, &m.planes[0]);
                    let square = (score - m.offsets[0]).powi(2);
                    if i < 3 { top += square } else { bottom += square }
                }
                top / bottom
            })
            .collect();
        values.sort_by(f64::total_cmp);
        (values.iter().sum::<f64>() / 1000.0, values[950])
    };
    for solver in [RobustSolver::Monotone, RobustSolver::Paper] {
        for (radius, large) in [(0.5, false), (2.0, true)] {
            let params = RobustRegecParams {
                uncertainty: Shape::Ball(radius),
                xi: Xi::Fixed(0.0),
                solver,
                ..Default::default()
            };
            let robust = fit(&params.check().unwrap(), &set);
            let (a, b) = (objective(planes(&nominal), radius), objective(planes(&robust), radius));
            println!(
                "{solver:?} radius {radius}: nominal {a:?}, robust {b:?} {:?}",
                robust.warnings
            );
            if large {
                assert!(b.0 < a.0 && b.1 < a.1);
            } else {
                assert!(b.0 < 2.0 * a.0);
            }
        }
    }
}

#[test]
fn ellipsoids_that_swallow_everything_are_reported_with_a_scale_that_works() {
    let set = random(2, 30, 2);
    let at = |r: f64| {
        let params = RobustRegecParams {
            uncertainty: Shape::Ball(r),
            xi: Xi::Fixed(0.0),
            ..Default::default()
        };
        fit(&params.check().unwrap(), &set)
    };
    let large = at(50.0);
    assert!(large.warnings.iter().any(|w| w.contains("too large")), "{:?}", large.warnings);
    assert!(planes(&large).validate().is_ok());
    assert!(at(0.05).warnings.is_empty());
}

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
