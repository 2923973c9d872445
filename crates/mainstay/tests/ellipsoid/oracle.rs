//! Optima are those of a general conic solver and of closed forms.

use super::*;

/// Every kind of ellipsoid, shared and per row, singular ones and points among them, with weights.
#[test]
fn the_optimum_is_that_of_a_general_conic_solver() {
    let mut sharp = 0;
    for seed in 0..56_u64 {
        let (n, p) = (24 + 3 * (seed as usize % 5), 2 + seed as usize % 5);
        let (rows, y) = two_clouds(seed, n, p, 2.0);
        let mut rng = rng(1000 + seed);
        let abs = |v: Vec<f64>| v.iter().map(|x| 0.4 * x.abs()).collect::<Vec<_>>();
        let c = [0.01, 0.3, 1.0, 30.0][seed as usize % 4];
        let mut shared = Shape::Ball(0.3);
        let mut set = data(&rows, &y);
        set = match seed % 7 {
            0 => set,
            1 => {
                let mut axes = abs(normal(&mut rng, p));
                axes[0] = 0.0;
                shared = Shape::Axes(axes);
                set
            }
            2 => {
                let m = random_matrix(&mut rng, p, 1 + seed as usize % p);
                shared = Shape::Matrix(m.chunks(p).map(<[f64]>::to_vec).collect());
                set
            }
            3 => {
                let mut radii = abs(normal(&mut rng, n));
                radii[..4].fill(0.0);
                set.with_uncertainty(RowUncertainty::Radii(radii)).unwrap()
            }
            4 => {
                let mut axes = abs(normal(&mut rng, n * p));
                axes[..2 * p].fill(0.0);
                let axes = Dense::from_rows(n, p, axes);
                set.with_uncertainty(RowUncertainty::Axes(axes)).unwrap()
            }
            5 => {
                let all = (0..n).flat_map(|i| random_matrix(&mut rng, p, i % (p + 1))).collect();
                let all = Dense::from_rows(n, p * p, all);
                set.with_uncertainty(RowUncertainty::Matrices(all)).unwrap()
            }
            _ => {
                let m = random_matrix(&mut rng, p, p);
                let shapes = vec![
                    Shape::Ball(0.2),
                    Shape::Axes(abs(normal(&mut rng, p))),
                    Shape::Matrix(m.chunks(p).map(<[f64]>::to_vec).collect()),
                    Shape::Ball(0.0),
                ];
                let group = (0..n).map(|i| (i * 7 + i / 3) % 4).collect();
                set.with_uncertainty(RowUncertainty::Groups { group, shapes }).unwrap()
            }
        };
        if seed % 2 == 1 {
            let weights = normal(&mut rng, n).iter().map(|v| v.abs() + 0.1).collect();
            set = set.with_weights(weights).unwrap();
        }
        let tight = EllipsoidParams { uncertainty: shared.clone(), tol: 1e-8, ..params(c) };
        let fitted = fit(tight, &set);
        let gap = fitted.dual_gap().unwrap();
        assert!(gap <= 1e-8, "seed {seed}: gap {gap:e} after {} iterations", fitted.n_iter);
        let found = fitted.certificates[0].primal;
        let spelled = objective(&set, &y, c, &shared, &fitted);
        assert!((found - spelled).abs() <= 1e-9 * found.max(1.0), "seed {seed}: {found} {spelled}");
        let (wanted, trust) = reference(&set, &y, c, &shared);
        sharp += usize::from(trust < 1e-6);
        let scale = trust * wanted.max(1.0);
        assert!((found - wanted).abs() <= scale, "seed {seed}: {found} {wanted} to {trust:e}");
    }
    assert!(sharp >= 40, "the reference solved only {sharp} to the end");
}

/// Two points at -1 and 1 with radius r: the slack of the moved points is 1 - r, so w = 1/(1 - r) while
/// C allows it, and w = 2 C (1 - r) below (both multipliers at C).
#[test]
fn two_points_on_a_line_match_the_closed_form() {
    for r in [0.0, 0.25, 0.5, 0.9] {
        for c in [0.01, 0.2, 1.0, 50.0] {
            let shape = Shape::Ball(r);
            let set = data(&[-1.0, 1.0], &[-1.0, 1.0]);
            let fitted = fit(EllipsoidParams { uncertainty: shape, tol: 1e-9, ..params(c) }, &set);
            let room: f64 = 1.0 - r;
            let w = (1.0 / room).min(2.0 * c * room);
            let value = 0.5 * w * w + 2.0 * c * (1.0 - w * room);
            let found = fitted.certificates[0].primal;
            assert!((found - value).abs() <= 2e-9 * value.max(1.0), "r {r} C {c}: {found} {value}");
        }
    }
}

#[test]
fn zero_uncertainty_is_the_plain_svm() {
    for seed in 0..5 {
        let (rows, y) = two_clouds(seed, 40, 3, 1.5);
        let set = data(&rows, &y);
        let (wanted, trust) = reference(&set, &y, 1.0, &Shape::Ball(0.0));
        for shape in
            [Shape::Ball(0.0), Shape::Axes(vec![0.0; 3]), Shape::Matrix(vec![vec![0.0; 3]; 3])]
        {
            let found = fit(EllipsoidParams { uncertainty: shape, tol: 1e-8, ..params(1.0) }, &set);
            assert!((found.certificates[0].primal - wanted).abs() <= trust * wanted);
        }
    }
}

/// With equal classes and one shared P, w = 0 is optimal if and only if the Mahalanobis distance of the
/// class means is at most 2, whatever C is.
#[test]
fn huge_ellipsoids_leave_only_the_intercept() {
    let (rows, y) = two_clouds(3, 30, 4, 2.0);
    let set = data(&rows, &y);
    let sum = |sign: f64, j: usize| -> f64 {
        (0..30).filter(|i| y[*i] == sign).map(|i| rows[i * 4 + j]).sum::<f64>() / 15.0
    };
    let distance = (0..4).map(|j| (sum(1.0, j) - sum(-1.0, j)).powi(2)).sum::<f64>().sqrt();
    for c in [0.1, 10.0] {
        let at = |r: f64| fit(EllipsoidParams { uncertainty: Shape::Ball(r), ..params(c) }, &set);
        let beyond = at(0.5 * distance * 1.05);
        assert!((beyond.certificates[0].primal - 30.0 * c).abs() <= 1e-5 * 30.0 * c);
        assert!(beyond.dual_gap().unwrap() <= 1e-6);
        let within = at(0.5 * distance * 0.9);
        assert!(within.certificates[0].primal < 30.0 * c * (1.0 - 1e-3));
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_zero_its_absence() {
    let (rows, y) = two_clouds(8, 20, 3, 1.0);
    let axes: Vec<f64> = normal(&mut rng(4), 60).iter().map(|v| 0.2 * v.abs()).collect();
    let mut weights = vec![1.0; 20];
    weights[3] = 2.0;
    weights[5] = 0.0;
    let kept: Vec<usize> = (0..20).filter(|i| *i != 5).chain([3]).collect();
    let pick = |v: &[f64], width: usize| -> Vec<f64> {
        kept.iter().flat_map(|i| v[i * width..(i + 1) * width].to_vec()).collect()
    };
    let error = |v: Vec<f64>, n: usize| RowUncertainty::Axes(Dense::from_rows(n, 3, v));
    let weighted = data(&rows, &y).with_weights(weights).unwrap();
    let weighted = weighted.with_uncertainty(error(axes.clone(), 20)).unwrap();
    let repeated = data(&pick(&rows, 3), &pick(&y, 1));
    let repeated = repeated.with_uncertainty(error(pick(&axes, 3), 20)).unwrap();
    assert_eq!(fit(params(1.0), &weighted).model, fit(params(1.0), &repeated).model);
}

#[test]
fn rotating_data_and_ellipsoids_together_changes_nothing() {
    for seed in 0..4 {
        let (n, p) = (30, 4);
        let (rows, y) = two_clouds(seed, n, p, 1.5);
        let mut rng = rng(seed);
        let q = mainstay::linalg::thin_qr(&Dense::from_rows(p, p, normal(&mut rng, p * p))).0;
        let all: Vec<f64> = (0..n).flat_map(|_| random_matrix(&mut rng, p, p)).collect();
        let turned: Vec<f64> = all
            .chunks(p * p)
            .flat_map(|m| {
                let m = q.mul(&Dense::from_rows(p, p, m.to_vec())).mul_tr(&q);
                Dense::from_fn(p, p, |i, j| 0.5 * (m[(i, j)] + m[(j, i)])).into_data()
            })
            .collect();
        let x = Dense::from_rows(n, p, rows.clone()).mul_tr(&q);
        let set = |x: &[f64], m: Vec<f64>| {
            let m = RowUncertainty::Matrices(Dense::from_rows(n, p * p, m));
            data(x, &y).with_uncertainty(m).unwrap()
        };
        let plain = fit(params(1.0), &set(&rows, all));
        let rotated = fit(params(1.0), &set(x.data(), turned));
        let (a, b) = (plain.certificates[0].primal, rotated.certificates[0].primal);
        assert!((a - b).abs() <= 2e-6 * a.max(1.0), "{a} {b}");
    }
}

/// Twice as many features as rows and more: the small side of the problem gives the same optimum as
/// the large one.
#[test]
fn more_features_than_rows_agree_with_the_general_solver() {
    for (seed, (n, p)) in [(0, (12, 60)), (1, (20, 45)), (2, (8, 120))] {
        let (rows, y) = two_clouds(seed, n, p, 1.0);
        let mut rng = rng(seed + 50);
        let axes: Vec<f64> = normal(&mut rng, n * p).iter().map(|v| 0.1 * v.abs()).collect();
        let per_row = data(&rows, &y)
            .with_uncertainty(RowUncertainty::Axes(Dense::from_rows(n, p, axes.clone())))
            .unwrap();
        let shared = Shape::Axes(axes[..p].to_vec());
        for (set, shape) in [
            (per_row, Shape::Ball(0.0)),
            (data(&rows, &y), shared),
            (data(&rows, &y), Shape::Ball(0.2)),
        ] {
            let fitted =
                fit(EllipsoidParams { uncertainty: shape.clone(), tol: 1e-7, ..params(1.0) }, &set);
            assert!(fitted.dual_gap().unwrap() <= 1e-7, "{:?}", fitted.certificates);
            let (wanted, _) = reference(&set, &y, 1.0, &shape);
            let spelled = objective(&set, &y, 1.0, &shape, &fitted);
            assert!((spelled - wanted).abs() <= 1e-5 * wanted.max(1.0), "{spelled} {wanted}");
        }
    }
}
