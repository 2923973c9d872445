//! Optima are those of a general conic solver; no dual point exceeds them.

use super::*;

/// Points at +-1 on a line, logistic loss: alpha w = 1 / (1 + e^w), b = 0.
#[test]
fn two_points_on_a_line_solve_the_stationarity_equation() {
    for alpha in [1e-4, 0.1, 10.0] {
        let data = dataset(&[1.0, -1.0], &[1.0, -1.0]);
        let fitted = fit("l2", &json!({"alpha": alpha, "tol": 1e-12}), &data);
        let (w, b) = linear(&fitted);
        assert!((alpha * w[0] - 1.0 / (1.0 + w[0].exp())).abs() < 1e-7, "{alpha}: {fitted:?}");
        assert!(b.abs() < 1e-9);
        assert_eq!(fitted.status(), Status::Certified);
    }
}

#[test]
fn every_loss_and_penalty_meets_the_conic_solver() {
    let mut failures = Vec::new();
    let (mut cases, mut judged) = (0, 0);
    for seed in 0..2 {
        for (n, p) in [(60, 4), (12, 30), (30, 30), (5, 40)] {
            let (x, y) = two_clouds(seed, n, p, 2.0);
            let mut random = rng(seed + 100);
            let weights: Vec<f64> = (0..n).map(|_| random.random_range(0.1..3.0)).collect();
            for loss in LOSSES {
                for penalty in PENALTIES {
                    for alpha in [1e-4, 1e-2, 0.3, 10.0] {
                        let (x, y, weights) = (x.clone(), y.clone(), weights.clone());
                        let case = Case { x, y, weights, loss, penalty, alpha };
                        let optimum = case.optimum();
                        cases += 1;
                        judged += usize::from(optimum.is_some());
                        let fitted = case.fit(1e-9);
                        let (w, b) = linear(&fitted);
                        let value = case.objective(&w, b);
                        let told = fitted.certificates[0];
                        let scale = value.abs().max(1.0);
                        let name = format!("{loss:?} {penalty} {alpha} n={n} p={p} seed={seed}");
                        let gap = fitted.dual_gap().unwrap();
                        if fitted.status() != Status::Certified {
                            failures.push(format!("{name}: gap {gap:.1e} after {}", fitted.n_iter));
                        }
                        if (told.primal - value).abs() > 1e-12 * scale {
                            failures.push(format!("{name}: objective {} is {value}", told.primal));
                        }
                        let Some(optimum) = optimum else { continue };
                        // The conic solver is good to about 1e-8.
                        if (value - optimum).abs() > 1e-7 * scale {
                            failures.push(format!("{name}: {value} against {optimum}"));
                        }
                        if told.dual > optimum + 1e-7 * scale {
                            failures.push(format!("{name}: bound {} above {optimum}", told.dual));
                        }
                    }
                }
            }
        }
    }
    assert!(judged * 10 >= cases * 9, "only {judged} of {cases} were judged");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The dual bound from scratch: clip, balance the classes, shrink for L1, evaluate.
fn dual_value(case: &Case, duals: &[f64]) -> f64 {
    let (n, p) = (case.n(), case.p());
    let total: f64 = case.weights.iter().sum();
    let bound = case.loss.get().dual_bound();
    let mut a: Vec<f64> = duals.iter().map(|a| a.clamp(0.0, bound)).collect();
    let side = |a: &[f64], sign: f64| -> f64 {
        (0..n).filter(|&i| case.y[i] == sign).map(|i| case.weights[i] * a[i]).sum()
    };
    let (plus, minus) = (side(&a, 1.0), side(&a, -1.0));
    for i in 0..n {
        a[i] *= plus.min(minus) / if case.y[i] > 0.0 { plus } else { minus };
    }
    let (l1, l2) = case.strengths();
    let pull = |j: usize, a: &[f64]| -> f64 {
        (0..n).map(|i| case.weights[i] / total * a[i] * case.y[i] * case.x[i * p + j]).sum()
    };
    if l2 == 0.0 {
        let largest = (0..p).map(|j| pull(j, &a).abs()).fold(0.0, f64::max);
        let shrink = f64::min(1.0, l1 / largest) * (1.0 - 1e-15);
        for a in &mut a {
            *a *= shrink;
        }
    }
    let conjugate: f64 =
        (0..n).map(|i| case.weights[i] / total * case.loss.get().conjugate(a[i])).sum();
    let excess: f64 = (0..p).map(|j| (pull(j, &a).abs() - l1).max(0.0).powi(2)).sum();
    -conjugate - if l2 > 0.0 { excess / (2.0 * l2) } else { 0.0 }
}

/// Weak duality: no feasible dual point, however made, lies above the value of a certified fit or
/// of any other weights; and the reported interval contains the bound of the smooth losses' slopes.
#[test]
fn no_dual_point_lies_above_any_primal_point() {
    for seed in 0..20 {
        let mut random = rng(seed);
        let (n, p) = (random.random_range(3..20), random.random_range(1..12));
        let (x, y) = two_clouds(seed, n, p, 1.0);
        let weights: Vec<f64> = (0..n).map(|_| random.random_range(0.1..3.0)).collect();
        for loss in LOSSES {
            for penalty in PENALTIES {
                let alpha = 10.0_f64.powf(random.random_range(-3.0..1.0));
                let (x, y, weights) = (x.clone(), y.clone(), weights.clone());
                let case = Case { x, y, weights, loss, penalty, alpha };
                let fitted = case.fit(1e-6);
                let (w, b) = linear(&fitted);
                let told = fitted.certificates[0];
                assert!(told.dual <= told.primal + 1e-12 * told.primal.max(1.0));
                for _ in 0..5 {
                    let duals: Vec<f64> = (0..n).map(|_| random.random_range(0.0..1.5)).collect();
                    let bound = dual_value(&case, &duals);
                    assert!(bound <= told.primal * (1.0 + 1e-12), "{loss:?} {penalty} {alpha}");
                    let other: Vec<f64> =
                        w.iter().map(|w| w + random.random_range(-0.5..0.5)).collect();
                    assert!(told.dual <= case.objective(&other, b) * (1.0 + 1e-12));
                }
                // Slopes at the answer give back a bound as good as the one that was reported.
                if loss != Loss::Hinge && penalty == "l2" {
                    let duals: Vec<f64> = (0..n)
                        .map(|i| {
                            let score: f64 = (0..p).map(|j| case.x[i * p + j] * w[j]).sum();
                            -loss.get().slope(case.y[i] * (score + b))
                        })
                        .collect();
                    assert!(told.primal - dual_value(&case, &duals) <= 1e-6 * told.primal.max(1.0));
                }
            }
        }
    }
}
