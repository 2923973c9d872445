//! What the paper proves: the worst sum, the classical case, the role of C, k that is too small.

use super::*;

#[test]
fn the_worst_sum_is_that_of_sorting_and_of_the_cvar_form() {
    for seed in 0..200 {
        let mut rng = rng(seed);
        let n = 1 + seed as usize % 17;
        // Rounded, so that ties occur.
        let losses: Vec<f64> =
            normal(&mut rng, n).iter().map(|v| (4.0 * v.abs()).round() / 4.0).collect();
        let weights: Vec<f64> = normal(&mut rng, n).iter().map(|v| v.abs() + 0.05).collect();
        let total: f64 = weights.iter().sum();
        let k = total * (0.05 + 0.95 * (seed % 20) as f64 / 19.0);
        let found = worst_sum(&losses, &weights, k);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| losses[b].total_cmp(&losses[a]));
        let (mut room, mut sorted) = (k, 0.0);
        for i in order {
            sorted += losses[i] * weights[i].min(room);
            room -= weights[i].min(room);
        }
        let cvar = |theta: f64| {
            k * theta
                + losses.iter().zip(&weights).map(|(l, c)| c * (l - theta).max(0.0)).sum::<f64>()
        };
        let least = losses.iter().map(|l| cvar(*l)).fold(cvar(0.0), f64::min);
        assert!((found.sum - sorted).abs() <= 1e-12 * (1.0 + sorted), "seed {seed}");
        assert!((found.sum - least).abs() <= 1e-12 * (1.0 + sorted), "seed {seed}");
        assert!((cvar(found.threshold) - found.sum).abs() <= 1e-12 * (1.0 + sorted));
    }
}

/// With all rows counted (8) and (12) are the penalised problems of another solver, in other units.
#[test]
fn all_rows_give_the_classical_objective_at_the_default_tolerance() {
    for (seed, n, p) in [(1, 200, 5), (2, 900, 5), (3, 6000, 20)] {
        let (_, _, data) = binary(seed, n, p, 1.0);
        let classical = |loss: &str, alpha: f64| {
            let params =
                serde_json::json!({"loss": loss, "alpha": alpha, "tol": 1e-12, "normalize": false});
            let l2 = mainstay::methods::find("l2").unwrap().estimator(&params).unwrap();
            objective(&l2.fit(&data, &Control::new()).unwrap())
        };
        let (c, rows) = (0.02, n as f64);
        for (loss, name) in [(SvmLoss::Hinge, "hinge"), (SvmLoss::SquaredHinge, "squared_hinge")] {
            let params = StableSvcParams { loss, ..svm(K::Fraction(1.0), c) };
            let found = objective(&fit(StableSvcParams { tol: 1e-6, ..params }, &data));
            let wanted = c * rows * classical(name, 2.0 / (c * rows));
            assert!((found - wanted).abs() <= 2e-9 * wanted, "{n} {name}: {found} {wanted}");
        }
        let params =
            StableLogisticParams { k: K::Fraction(1.0), alpha: 0.05, ..Default::default() };
        let logistic = params.check().unwrap().fit(&data, &Control::new()).unwrap();
        let (found, wanted) = (objective(&logistic), classical("logistic", 0.1));
        assert!((found - wanted).abs() <= 2e-9, "{n}: {found} {wanted}");
    }
}

#[test]
fn enough_worst_rows_give_the_classical_svm() {
    for seed in 0..5 {
        let (_, y, data) = binary(2 * seed + 1, 60, 4, 1.0);
        let positive = y.iter().filter(|v| **v > 0.0).count();
        let enough = 2 * positive.min(60 - positive) as u64;
        let tight = |k| fit(StableSvcParams { tol: 1e-10, ..svm(k, 0.7) }, &data);
        let (classical, by_count) = (tight(K::Fraction(1.0)), tight(K::Count(60)));
        assert_eq!(classical.model, by_count.model);
        let stable = tight(K::Count(enough));
        assert!(flag(&stable) && flag(&classical));
        let (a, b) = (objective(&stable), objective(&classical));
        assert!((a - b).abs() <= 1e-9 * b, "seed {seed}: {a} {b}");
    }
}

#[test]
fn otherwise_the_direction_does_not_depend_on_c() {
    let mut compared = 0;
    for seed in 0..4 {
        let (_, _, data) = binary(2 * seed, 80, 3, 2.5);
        for k in [12, 16, 20, 24, 28, 32, 36] {
            let fits: Vec<Fitted> = [0.02, 0.05, 0.1]
                .map(|c| fit(StableSvcParams { tol: 1e-10, ..svm(K::Count(k), c) }, &data))
                .into_iter()
                .filter(|f| !flag(f) && f.warnings.is_empty())
                .collect();
            for pair in fits.windows(2) {
                let ((a, _), (b, _)) = (linear(&pair[0]), linear(&pair[1]));
                let cosine = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / norm(a) / norm(b);
                assert!(cosine > 1.0 - 1e-6, "seed {seed} k {k}: {cosine}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

#[test]
fn a_dead_fit_is_named_together_with_the_smallest_usable_k() {
    let (_, _, data) = binary(2, 60, 3, 1.0);
    let dead = fit(svm(K::Count(1), 100.0), &data);
    assert_eq!(linear(&dead).0, [0.0; 3]);
    assert!(dead.dual_gap().unwrap() <= 1e-6);
    let text = &dead.warnings[0];
    assert!(text.contains("zero weights are optimal for every C"), "{text}");
    let words: Vec<&str> = text.split("usable k is ").collect();
    let smallest: u64 = words[1].split(' ').next().unwrap().parse().unwrap();
    let usable = fit(svm(K::Count(smallest), 100.0), &data);
    assert!(usable.warnings.is_empty() && norm(linear(&usable).0) > 0.0, "{:?}", usable.warnings);
    let below = fit(svm(K::Count(smallest - 1), 1e4), &data);
    assert!(!below.warnings.is_empty(), "{text} {below:?}");
    let logistic =
        |k| StableLogisticParams { k, alpha: 1e-3, ..Default::default() }.check().unwrap();
    let dead = logistic(K::Count(1)).fit(&data, &control()).unwrap();
    assert!((objective(&dead) - 2f64.ln()).abs() < 1e-9 && dead.warnings[0].contains("alpha"));
    let usable = logistic(K::Count(smallest)).fit(&data, &control()).unwrap();
    assert!(usable.warnings.is_empty());
    // Weak regularisation alone does not make a fit dead.
    assert!(fit(svm(K::Fraction(1.0), 1e-8), &data).warnings.is_empty());
    // The joint problem, and data in which nothing can be told apart.
    let (_, _, three) = classes(5, 30, 2, 3);
    let dead = fit(svm(K::Count(1), 10.0), &three);
    assert!(dead.warnings[0].contains("smallest usable k"), "{:?}", dead.warnings);
    let flat = Dataset::new(Dense::zeros(8, 2).into(), vec![0, 1, 0, 1, 0, 1, 0, 1], 2).unwrap();
    for k in [K::Fraction(0.5), K::Fraction(1.0)] {
        let fitted = fit(svm(k, 1.0), &flat);
        assert_eq!(linear(&fitted).0, [0.0; 2]);
        assert!(fitted.warnings[0].contains("no k helps"), "{:?}", fitted.warnings);
    }
}

#[test]
fn one_worst_row_of_separable_data_gives_the_widest_margin() {
    // Points at -1 and +1 on a line (and further out): w = 1, b = 0 is the hard-margin solution.
    let x = Dense::from_rows(6, 1, vec![-1.0, 1.0, -2.0, 3.0, -1.5, 1.2]);
    let data = Dataset::new(x.into(), vec![0, 1, 0, 1, 0, 1], 2).unwrap();
    for k in [K::Count(1), K::Count(2), K::Fraction(1.0)] {
        let fitted = fit(StableSvcParams { tol: 1e-9, ..svm(k, 1e3) }, &data);
        let (w, b) = linear(&fitted);
        assert!((w[0] - 1.0).abs() < 1e-4 && b.abs() < 1e-4, "{k:?}: {w:?} {b}");
    }
}
