//! The search and its directions against literal readings of the paper.

use super::*;

#[test]
fn the_fast_search_finds_what_the_literal_algorithms_find() {
    let losses = [
        (Loss::Logistic, literal::Loss::Logistic),
        (Loss::SquaredHinge, literal::Loss::SquaredHinge),
        (Loss::ModifiedHuber, literal::Loss::ModifiedHuber),
    ];
    // The last one has a feature far larger than the others, which inner products cannot take.
    let cases = [
        (18, 4, 2.0, 1.0),
        (16, 24, 1.5, 1.0),
        (24, 6, 1.0, 1.0),
        (20, 5, 6.0, 1.0),
        (16, 24, 1.5, 2e4),
    ];
    let even: Vec<f64> = (0..6).map(|j| 0.01 + 0.3 * f64::from(j)).collect();
    let grids = [vec![0.01, 0.1, 0.4, 2.0], even];
    for (seed, (n, p, distance, first)) in cases.into_iter().enumerate() {
        for (ours, theirs, b_maxs) in
            losses.iter().flat_map(|&(a, b)| grids.iter().map(move |grid| (a, b, grid.clone())))
        {
            let (mut rows, labels) = uneven(seed as u64, n, p, distance);
            rows.iter_mut().step_by(p).for_each(|v| *v *= first);
            let data = dataset(&rows, &labels);
            let sigma_ratios = vec![1.0, 3.0, 10.0];
            let params = RolinParams {
                loss: ours,
                sigma_ratios: Some(sigma_ratios.clone()),
                b_maxs: Some(b_maxs.clone()),
                n_repeats: 1,
                theta_gain: 0.01,
                ..paper()
            };
            let fitted = fit(params, &data);
            let splits = stratified(data.labels(), 5, 1, 0);
            let limit = p.min(splits.iter().map(|s| s.train.len()).min().unwrap() - 1);
            let slow = literal::Problem {
                loss: theirs,
                splits: splits.into_iter().map(|s| (s.train, s.holdout)).collect(),
                theta: (5.0, 0.1, 0.01),
                sigma_ratios,
                b_maxs,
                ridge: 1e-6,
            };
            let x: Vec<Vec<f64>> = rows.chunks(p).map(<[f64]>::to_vec).collect();
            // Centring can cost one dimension of a training split.
            let limit = if p > n { limit - 1 } else { limit };
            let (psi, cost, (intercept, weights)) = slow.robust_cv(&x, &labels, limit);
            let case = format!("{ours:?}, n = {n}, p = {p}");
            let found = ["k", "sigma_ratio", "b_max", "normalize"].map(|f| number(&fitted, f));
            let wanted =
                [psi.k as f64, psi.sigma_ratio, psi.b_max, f64::from(u8::from(psi.normalize))];
            assert_eq!(found, wanted, "{case}");
            let costs = column(&fitted, "cv_results", "cost");
            let (ks, ss) =
                (column(&fitted, "cv_results", "k"), column(&fitted, "cv_results", "sigma_ratio"));
            let (bs, zs) = (
                column(&fitted, "cv_results", "b_max"),
                column(&fitted, "cv_results", "normalize"),
            );
            let row = (0..costs.len()).find(|&i| [ks[i], ss[i], bs[i], zs[i]] == wanted).unwrap();
            assert!((costs[row] - cost).abs() <= 1e-9 * cost, "{case}: {} {cost}", costs[row]);
            // Same scores on the training rows, in whatever units.
            let (w, b) = linear(&fitted);
            let view: Vec<Vec<f64>> = if psi.normalize { z_scores(&x) } else { x.clone() };
            let scale = weights.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
            for (raw, seen) in x.iter().zip(&view) {
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
                let (fast, slow) = (dot(raw, w) + b, dot(seen, &weights) + intercept);
                assert!(
                    (fast - slow).abs() <= 1e-9 * scale.max(slow.abs()),
                    "{case}: {fast} {slow}"
                );
            }
        }
    }
}

fn z_scores(x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = x.len() as f64;
    let mut out = x.to_vec();
    for j in 0..x[0].len() {
        let mean = x.iter().map(|r| r[j]).sum::<f64>() / n;
        let sd = (x.iter().map(|r| (r[j] - mean).powi(2)).sum::<f64>() / n).sqrt();
        for r in &mut out {
            r[j] = (r[j] - mean) / sd;
        }
    }
    out
}

fn parts(fitted: &Fitted, name: &str) -> Vec<f64> {
    let Output::Parts(parts) = &fitted.outputs["components"] else { panic!("parts") };
    match &parts.iter().find(|(n, _)| n == name).unwrap().1 {
        Output::Matrix(rows) => rows[0].0.clone(),
        other => panic!("{other:?}"),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn fixed(k: usize, sigma_ratio: f64, b_max: f64) -> RolinParams {
    RolinParams {
        k: Some(k),
        sigma_ratios: Some(vec![sigma_ratio]),
        b_maxs: Some(vec![b_max]),
        normalize: Normalize::Fixed(false),
        ..paper()
    }
}

/// Theorem 2: eta is proportional to the ridge regression of y on the rows without their top part.
#[test]
fn the_robust_direction_is_that_of_a_ridge_regression() {
    for seed in 0..5 {
        let (n, p, k, ratio) = (20, 6, 2, 3.0);
        let (rows, labels) = uneven(seed, n, p, 1.0);
        let eta = parts(&fit(fixed(k, ratio, 1.0), &dataset(&rows, &labels)), "direction");
        let x: Vec<Vec<f64>> = rows.chunks(p).map(<[f64]>::to_vec).collect();
        let (_, d, v) = literal::svd(&x);
        let projected: Vec<f64> = x
            .iter()
            .flat_map(|row| {
                let mut out = row.clone();
                for v in &v[..k] {
                    let along = dot(row, v);
                    out.iter_mut().zip(v).for_each(|(o, v)| *o -= along * v);
                }
                out
            })
            .collect();
        let projected = Dense::from_rows(n, p, projected);
        let mut normal = projected.tr_mul(&projected);
        normal.add_diagonal(ratio * d[k] * d[k]);
        let ridge =
            mainstay::linalg::Cholesky::new(&normal).unwrap().solve(&projected.tr_mul_vec(&labels));
        let cosine = dot(&ridge, &eta) / dot(&ridge, &ridge).sqrt();
        assert!((cosine - 1.0).abs() < 1e-12, "{cosine}");
    }
}

/// Theorem 1: no direction does better under the Gaussian with the worst second moments. Here the
/// rest has two dimensions, and the expectation is a sum over equally likely quantiles.
#[test]
fn the_robust_direction_is_best_under_the_most_uncertain_distribution() {
    let (n, p, ratio) = (30, 3, 1.0);
    let (rows, labels) = uneven(3, n, p, 1.2);
    let fitted = fit(fixed(1, ratio, 1e-3), &dataset(&rows, &labels));
    let (eta, top) = (parts(&fitted, "direction"), parts(&fitted, "reliable"));
    let intercept = linear(&fitted).1;
    let x: Vec<Vec<f64>> = rows.chunks(p).map(<[f64]>::to_vec).collect();
    let (_, d, v) = literal::svd(&x);
    let basis = [&v[1], &v[2]];
    let mu =
        basis.map(|v| x.iter().zip(&labels).map(|(r, y)| y * dot(r, v)).sum::<f64>() / n as f64);
    // Sigma_smooth of the paper: D^2/n + sigma_bound, whose 1/n matters here and not in eta.
    let sigma = [1, 2].map(|j| (d[j] * d[j] + ratio * d[1] * d[1]) / n as f64);
    let base: Vec<f64> =
        x.iter().zip(&labels).map(|(r, y)| y * (intercept + dot(r, &top))).collect();
    let noise: Vec<f64> = {
        let mut values = normal(&mut rng(1), 400);
        values.extend(values.clone().iter().map(|v| -v));
        values
    };
    let expected = |angle: f64, length: f64| {
        let b = [length * angle.cos(), length * angle.sin()];
        let shift = b[0] * mu[0] + b[1] * mu[1];
        let spread =
            (b[0] * b[0] * sigma[0] + b[1] * b[1] * sigma[1] - shift * shift).max(0.0).sqrt();
        let mut sum = 0.0;
        for m in &base {
            sum += noise
                .iter()
                .map(|w| literal::Loss::Logistic.at(m + shift + spread * w).0)
                .sum::<f64>();
        }
        sum
    };
    let least = |angle: f64| {
        let (mut low, mut high) = (0.0, 4.0);
        for _ in 0..40 {
            let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
            if expected(angle, a) < expected(angle, b) { high = b } else { low = a }
        }
        expected(angle, f64::midpoint(low, high))
    };
    let claimed = dot(&eta, basis[1]).atan2(dot(&eta, basis[0]));
    let best = least(claimed);
    for turn in [-1.5, -0.5, -0.1, -0.02, 0.02, 0.1, 0.5, 1.5, 3.0] {
        assert!(best <= least(claimed + turn) * (1.0 + 1e-9), "turned by {turn}");
    }
}

/// Appendix to reading R4: the hinge fit on the top is the quadratic program's, by Clarabel.
#[test]
fn the_hinge_fit_solves_its_quadratic_program() {
    use mainstay_testkit::cone::Program;
    for (seed, distance) in [(0, 0.5), (1, 2.0), (2, 8.0), (3, 1.0)] {
        let (n, p, k, ridge) = (25, 5, 3, 1e-3);
        let (rows, labels) = uneven(seed, n, p, distance);
        let params = RolinParams { loss: Loss::Hinge, s0_ridge: ridge, ..fixed(k, 1.0, 1e-9) };
        let fitted = fit(params, &dataset(&rows, &labels));
        let x: Vec<Vec<f64>> = rows.chunks(p).map(<[f64]>::to_vec).collect();
        let (u, d, v) = literal::svd(&x);
        let root = (n as f64).sqrt();
        let top = parts(&fitted, "reliable");
        let mut theta = vec![linear(&fitted).1];
        theta.extend((0..k).map(|j| dot(&top, &v[j]) * d[j] / root));
        let feature =
            |i: usize, j: usize| labels[i] * if j == 0 { 1.0 } else { root * u[j - 1][i] };
        let objective = |theta: &[f64]| {
            let hinge = |i| {
                let margin: f64 = (0..=k).map(|j| feature(i, j) * theta[j]).sum();
                (1.0 - margin).max(0.0)
            };
            (0..n).map(hinge).sum::<f64>() / n as f64 + 0.5 * ridge * dot(theta, theta)
        };
        let mut program = Program::new(k + 1 + n);
        for j in 0..=k {
            program.add_product(j, j, 0.5 * ridge);
        }
        for i in 0..n {
            program.add_linear(k + 1 + i, 1.0 / n as f64);
            program.at_least_zero(vec![(k + 1 + i, 1.0)], 0.0);
            let mut terms: Vec<(usize, f64)> = (0..=k).map(|j| (j, feature(i, j))).collect();
            terms.push((k + 1 + i, 1.0));
            program.at_least_zero(terms, -1.0);
        }
        let answer = program.solve();
        let (found, wanted) = (objective(&theta), objective(&answer.x[..=k]));
        assert!(answer.solved && found <= wanted + 1e-9, "distance {distance}: {found} {wanted}");
    }
}

#[test]
fn a_bound_beyond_the_minimum_changes_nothing() {
    let (rows, labels) = uneven(5, 30, 6, 1.0);
    let data = dataset(&rows, &labels);
    for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
        let model = |b_max| fit(RolinParams { loss, ..fixed(1, 2.0, b_max) }, &data).model;
        assert_ne!(model(1e-3), model(50.0));
        let (Model::Linear(a), Model::Linear(b)) = (model(50.0), model(500.0)) else { panic!() };
        for (a, b) in a.coef[0].iter().zip(&b.coef[0]) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{loss:?}");
        }
    }
}

#[test]
fn every_candidate_is_in_the_table_and_pruned_ones_say_so() {
    let (rows, labels) = uneven(7, 40, 8, 1.0);
    let fitted = fit(paper(), &dataset(&rows, &labels));
    let [k, cost, average, ratio, pruned, b_max] =
        ["k", "cost", "loss_avg", "loss_ratio", "pruned", "b_max"]
            .map(|name| column(&fitted, "cv_results", name));
    let looked_at: usize = (0..k.len()).filter(|&i| b_max[i] == 0.0).count();
    assert_eq!(k.len(), looked_at * 101);
    let least = (0..k.len())
        .filter(|&i| pruned[i] == 0.0 && b_max[i] > 0.0)
        .map(|i| cost[i])
        .fold(f64::INFINITY, f64::min);
    // No tail left: none gains enough on the fit that was chosen, one on the top components alone.
    let normalize = column(&fitted, "cv_results", "normalize");
    let chosen = [number(&fitted, "k"), number(&fitted, "b_max"), number(&fitted, "normalize")];
    let answer = (0..k.len()).find(|&i| [k[i], b_max[i], normalize[i]] == chosen).unwrap();
    let none_left = least == f64::INFINITY;
    assert!(!none_left || b_max[answer] == 0.0);
    let limit = if none_left { 0.95 * cost[answer] } else { 1.1 * least };
    for i in 0..k.len() {
        assert_eq!(ratio[i].is_nan(), pruned[i] == 1.0);
        assert!(cost[i] >= average[i]);
        assert!(pruned[i] == 0.0 || average[i] > limit);
    }
}
