//! The Gaussian model of the features against textbook formulas, brute force and moments.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise"
)]

use mainstay::Control;
use mainstay::linalg::{Dense, Lu};
use mainstay::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn normal(r: &mut impl Rng) -> f64 {
    StandardNormal.sample(r)
}

/// Correlated rows: few common factors, own noise, units and means that differ.
fn rows(n: usize, p: usize, seed: u64) -> Dense {
    let mut r = rng(seed);
    let load = Dense::from_fn(3, p, |_, _| normal(&mut r));
    let units: Vec<f64> = (0..p).map(|j| 10.0_f64.powi(j as i32 % 4 - 1)).collect();
    let mut x = Dense::zeros(n, p);
    for i in 0..n {
        let f: Vec<f64> = (0..3).map(|_| normal(&mut r)).collect();
        for j in 0..p {
            let common: f64 = (0..3).map(|k| f[k] * load[(k, j)]).sum();
            x[(i, j)] = units[j] * (common + 0.5 * normal(&mut r) + j as f64);
        }
    }
    x
}

fn learn(x: &Dense, shrinkage: f64) -> FeatureModel {
    let rows = Rows { x, weights: None, errors: None };
    FeatureModel::learn(rows, Shrinkage::Fixed(shrinkage), &Control::new()).unwrap()
}

/// V of row i as a matrix.
fn scatter(model: &FeatureModel, x: &Dense, errors: Option<&Dense>, i: usize) -> Dense {
    let posterior = model.posterior(x, errors).unwrap();
    let mut v = Dense::zeros(x.ncols(), x.ncols());
    posterior.scatters[posterior.group[i]].add_to(1.0, &mut v);
    v.mirror_lower();
    v
}

/// m and V by inverting the joint covariance of (x, measurement), one right-hand side after the other.
fn textbook(model: &FeatureModel, row: &[f64], errors: &[f64]) -> (Vec<f64>, Dense) {
    let (p, sigma) = (row.len(), model.covariance());
    let o: Vec<usize> = (0..p).filter(|&j| !row[j].is_nan()).collect();
    let block = Dense::from_fn(o.len(), o.len(), |a, b| {
        sigma[(o[a], o[b])] + if a == b { errors[o[a]].powi(2) } else { 0.0 }
    });
    let lu = Lu::new(&block).unwrap();
    let away: Vec<f64> = o.iter().map(|&j| row[j] - model.means[j]).collect();
    let solved = lu.solve(&away);
    let mean = (0..p)
        .map(|j| {
            model.means[j] + o.iter().zip(&solved).map(|(&k, s)| sigma[(j, k)] * s).sum::<f64>()
        })
        .collect();
    let mut v = sigma.clone();
    for k in 0..p {
        let column: Vec<f64> = o.iter().map(|&l| sigma[(l, k)]).collect();
        let solved = lu.solve(&column);
        for j in 0..p {
            v[(j, k)] -= o.iter().zip(&solved).map(|(&l, s)| sigma[(j, l)] * s).sum::<f64>();
        }
    }
    (mean, v)
}

#[test]
fn the_posterior_is_the_textbook_formula() {
    let x = rows(200, 7, 1);
    let model = learn(&x, 0.1);
    let mut r = rng(2);
    let damaged =
        Dense::from_fn(30, 7, |i, j| if r.random_bool(0.4) { f64::NAN } else { x[(i, j)] });
    let errors = Dense::from_fn(30, 7, |i, j| match (i + j) % 3 {
        0 => 0.0,
        k => k as f64 * model.scales[j] * 0.4,
    });
    for given in [None, Some(&errors)] {
        let posterior = model.posterior(&damaged, given).unwrap();
        for i in 0..30 {
            let zero = vec![0.0; 7];
            let (mean, v) = textbook(&model, damaged.row(i), given.map_or(&zero, |e| e.row(i)));
            let found = scatter(&model, &damaged, given, i);
            for j in 0..7 {
                let unit = model.scales[j];
                assert!((posterior.mean[(i, j)] - mean[j]).abs() < 1e-10 * unit, "{i} {j}");
                for k in 0..7 {
                    let off = (found[(j, k)] - v[(j, k)]).abs();
                    assert!(off < 1e-10 * unit * model.scales[k], "{i} {j} {k}");
                }
            }
        }
    }
}

/// The density of (x1, x2) given an inexact measurement of x1 and none of x2, summed over a fine grid.
#[test]
fn the_posterior_in_two_dimensions_is_what_integration_gives() {
    let mut r = rng(3);
    let x = Dense::from_fn(400, 2, |_, _| normal(&mut r));
    let x =
        Dense::from_fn(400, 2, |i, j| if j == 0 { x[(i, 0)] } else { x[(i, 0)] + 0.7 * x[(i, 1)] });
    let model = learn(&x, 0.0);
    let sigma = model.covariance();
    let det = sigma[(0, 0)] * sigma[(1, 1)] - sigma[(0, 1)] * sigma[(0, 1)];
    let (seen, error) = (1.3, 0.6);
    let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [0.0; 3]);
    for a in -400..=400 {
        for b in -400..=400 {
            let (u, v) = (f64::from(a) * 0.02, f64::from(b) * 0.02);
            let (d, e) = (u - model.means[0], v - model.means[1]);
            let form = sigma[(1, 1)] * d * d - 2.0 * sigma[(0, 1)] * d * e + sigma[(0, 0)] * e * e;
            let density = (-0.5 * form / det - 0.5 * ((seen - u) / error).powi(2)).exp();
            mass += density;
            first[0] += density * u;
            first[1] += density * v;
            second[0] += density * u * u;
            second[1] += density * u * v;
            second[2] += density * v * v;
        }
    }
    let mean = first.map(|s| s / mass);
    let row = Dense::from_rows(1, 2, vec![seen, f64::NAN]);
    let errors = Dense::from_rows(1, 2, vec![error, 0.0]);
    let posterior = model.posterior(&row, Some(&errors)).unwrap();
    let v = scatter(&model, &row, Some(&errors), 0);
    // The grid ends more than six deviations out and is 20 times finer than the narrowest one.
    assert!((posterior.mean[(0, 0)] - mean[0]).abs() < 1e-6);
    assert!((posterior.mean[(0, 1)] - mean[1]).abs() < 1e-6);
    assert!((v[(0, 0)] - (second[0] / mass - mean[0] * mean[0])).abs() < 1e-6);
    assert!((v[(0, 1)] - (second[1] / mass - mean[0] * mean[1])).abs() < 1e-6);
    assert!((v[(1, 1)] - (second[2] / mass - mean[1] * mean[1])).abs() < 1e-6);
}

#[test]
fn complete_rows_give_their_moments_shrunk_towards_the_diagonal() {
    let x = rows(60, 5, 4);
    for shrink in [0.0, 0.3] {
        let model = learn(&x, shrink);
        assert_eq!(model.n_iter, 0);
        let sigma = model.covariance();
        let mean: Vec<f64> = (0..5).map(|j| x.column(j).iter().sum::<f64>() / 60.0).collect();
        for j in 0..5 {
            for k in 0..5 {
                let terms = (0..60).map(|i| (x[(i, j)] - mean[j]) * (x[(i, k)] - mean[k]));
                let moment = terms.sum::<f64>() / 60.0;
                let wanted = if j == k { moment } else { (1.0 - shrink) * moment };
                let unit = model.scales[j] * model.scales[k];
                assert!((sigma[(j, k)] - wanted).abs() < 1e-12 * unit);
            }
        }
    }
}

/// EM's fixed point makes the gradient of the observed-data likelihood 0: it is highest there along lines.
#[test]
fn em_finds_a_maximum_of_the_likelihood_of_what_was_measured() {
    let full = rows(150, 3, 5);
    let mut r = rng(6);
    let x =
        Dense::from_fn(150, 3, |i, j| if r.random_bool(0.25) { f64::NAN } else { full[(i, j)] });
    let model = learn(&x, 0.0);
    assert!(model.n_iter > 1);
    let sigma = model.covariance();
    let likelihood = |means: &[f64], sigma: &Dense| -> f64 {
        (0..150)
            .map(|i| {
                let o: Vec<usize> = (0..3).filter(|&j| !x[(i, j)].is_nan()).collect();
                if o.is_empty() {
                    return 0.0;
                }
                let block = Dense::from_fn(o.len(), o.len(), |a, b| sigma[(o[a], o[b])]);
                let factor = mainstay::linalg::Cholesky::new(&block).unwrap();
                let l = factor.lower();
                let log_det: f64 = (0..o.len()).map(|a| 2.0 * l[(a, a)].ln()).sum();
                let away: Vec<f64> = o.iter().map(|&j| x[(i, j)] - means[j]).collect();
                let solved = factor.solve(&away);
                -0.5 * (log_det + away.iter().zip(&solved).map(|(a, s)| a * s).sum::<f64>())
            })
            .sum()
    };
    let top = likelihood(&model.means, &sigma);
    for j in 0..3 {
        for sign in [-0.02, 0.02] {
            let mut means = model.means.clone();
            means[j] += sign * model.scales[j];
            assert!(likelihood(&means, &sigma) < top);
            for k in 0..3 {
                let mut other = sigma.clone();
                let change = sign * model.scales[j] * model.scales[k];
                other[(j, k)] += change;
                if j != k {
                    other[(k, j)] += change;
                }
                assert!(likelihood(&model.means, &other) < top, "{j} {k} {sign}");
            }
        }
    }
}

/// With errors of variance 1 on every cell the covariance of what was measured is the true one plus I.
#[test]
fn known_errors_are_taken_out_of_the_covariance() {
    let mut r = rng(7);
    let n = 20_000;
    let x = Dense::from_fn(n, 1, |_, _| 2.0 * normal(&mut r) + normal(&mut r));
    let errors = Dense::from_rows(1, 1, vec![1.0]);
    let rows = Rows { x: &x, weights: None, errors: Some(&errors) };
    let model = FeatureModel::learn(rows, Shrinkage::default(), &Control::new()).unwrap();
    // The variance estimate has a deviation of 5 sqrt(2/20000).
    assert!((model.covariance()[(0, 0)] - 4.0).abs() < 0.25);
}

/// Three factors explain twelve features. An estimate from filled cells would see no relation in what was filled
/// without one, and keep to that.
#[test]
fn related_features_stay_related_where_most_cells_are_missing() {
    let full = rows(200, 12, 5);
    for share in [0.3, 0.5, 0.7, 0.8] {
        let mut r = rng(6);
        let x = Dense::from_fn(200, 12, |i, j| {
            if r.random::<f64>() < share { f64::NAN } else { full[(i, j)] }
        });
        let rows = Rows { x: &x, weights: None, errors: None };
        let model = FeatureModel::learn(rows, Shrinkage::default(), &Control::new()).unwrap();
        assert!(model.shrinkage < 0.6, "{share}: {}", model.shrinkage);
    }
}

#[test]
fn weights_count_like_repeated_rows() {
    let x = rows(30, 3, 8);
    let x = Dense::from_fn(30, 3, |i, j| if i % 4 == j { f64::NAN } else { x[(i, j)] });
    let twice: Vec<usize> = (0..30).flat_map(|i| vec![i; 1 + i % 3]).collect();
    let weights: Vec<f64> = (0..30).map(|i| (1 + i % 3) as f64).collect();
    let repeated = x.select_rows(&twice);
    let control = Control::new();
    let a = Rows { x: &repeated, weights: None, errors: None };
    let b = Rows { x: &x, weights: Some(&weights), errors: None };
    let a = FeatureModel::learn(a, Shrinkage::default(), &control).unwrap();
    let b = FeatureModel::learn(b, Shrinkage::default(), &control).unwrap();
    assert!((a.shrinkage - b.shrinkage).abs() < 1e-12);
    for (u, v) in a.covariance().data().iter().zip(b.covariance().data()) {
        assert!((u - v).abs() < 1e-9 * a.covariance().max_abs());
    }
}

/// Above 500 features the posterior goes through the common factors: it is the textbook's for that covariance.
#[test]
fn the_low_rank_posterior_is_the_textbook_formula_of_its_covariance() {
    let p = 510;
    let x = rows(80, p, 9);
    let control = Control::new();
    let rows = Rows { x: &x, weights: None, errors: None };
    let model = FeatureModel::learn(rows, Shrinkage::default(), &control).unwrap();
    let mut r = rng(10);
    let damaged =
        Dense::from_fn(2, p, |i, j| if r.random_bool(0.3) { f64::NAN } else { x[(i, j)] });
    let errors = Dense::from_fn(2, p, |i, j| if (i + j) % 2 == 0 { 0.0 } else { model.scales[j] });
    let posterior = model.posterior(&damaged, Some(&errors)).unwrap();
    let w: Vec<f64> = (0..p).map(|j| (j as f64).sin() / model.scales[j]).collect();
    for i in 0..2 {
        let (mean, v) = textbook(&model, damaged.row(i), errors.row(i));
        for j in 0..p {
            assert!((posterior.mean[(i, j)] - mean[j]).abs() < 1e-7 * model.scales[j]);
        }
        let wanted: f64 = v.mul_vec(&w).iter().zip(&w).map(|(a, b)| a * b).sum();
        let found = posterior.scatters[posterior.group[i]].form(&w);
        assert!((found - wanted).abs() < 1e-6 * wanted, "{found} {wanted}");
    }
}

/// The posterior means of rows measured with errors scatter by `$G E G'$`, `$G = \Sigma(\Sigma + E)^{-1}$`.
#[test]
fn denoised_rows_scatter_as_the_textbook_says() {
    let x = rows(60, 5, 31);
    let model = learn(&x, 0.1);
    let (errors, sigma) = ([0.4, 0.0, 3.0, 20.0, 0.2], model.covariance());
    let (mean, scatter) = model.denoised(&x, &errors).unwrap();
    let (expected, _) = textbook(&model, x.row(7), &errors);
    for j in 0..5 {
        assert!((mean[(7, j)] - expected[j]).abs() < 1e-9 * expected[j].abs().max(1.0));
    }
    let noisy =
        Dense::from_fn(5, 5, |j, k| sigma[(j, k)] + if j == k { errors[j].powi(2) } else { 0.0 });
    let lu = Lu::new(&noisy).unwrap();
    let gain: Vec<Vec<f64>> = (0..5).map(|j| lu.solve(sigma.row(j))).collect();
    let mut found = Dense::zeros(5, 5);
    scatter.add_to(1.0, &mut found);
    found.mirror_lower();
    for j in 0..5 {
        for k in 0..5 {
            let wanted: f64 = (0..5).map(|l| gain[j][l] * errors[l].powi(2) * gain[k][l]).sum();
            let unit = (sigma[(j, j)] * sigma[(k, k)]).sqrt();
            assert!((found[(j, k)] - wanted).abs() < 1e-9 * unit, "{j} {k}");
        }
    }
}

/// What others leave unexplained of a cell: the residual of the regression on cells that are lost at random, with
/// a full covariance and with one of low rank.
#[test]
fn lost_cells_are_predicted_by_the_best_linear_rule() {
    for p in [6, 510] {
        let x = rows(80, p, 32);
        let model = learn(&x, 0.2);
        let missing: Vec<f64> = (0..p).map(|j| 0.1 * (j % 5) as f64).collect();
        let found = model.unexplained(&x, &missing).unwrap();
        let sigma = model.covariance();
        for j in [0, 3, p - 1] {
            let others: Vec<usize> = (0..p).filter(|k| *k != j).collect();
            let block = Dense::from_fn(p - 1, p - 1, |a, b| {
                let q = missing[others[a]];
                sigma[(others[a], others[b])] / if a == b { 1.0 - q } else { 1.0 }
            });
            let cross: Vec<f64> = others.iter().map(|&k| sigma[(k, j)]).collect();
            let weights = Lu::new(&block).unwrap().solve(&cross);
            let told: f64 =
                others.iter().zip(&weights).map(|(&k, w)| w * (x[(11, k)] - model.means[k])).sum();
            let wanted = x[(11, j)] - model.means[j] - told;
            let scale = sigma[(j, j)].sqrt();
            assert!((found[(11, j)] - wanted).abs() < 1e-7 * scale, "{p} {j}: {wanted}");
        }
    }
}

#[test]
fn a_feature_that_never_varies_is_filled_with_its_value() {
    let x = Dense::from_fn(10, 2, |i, j| if j == 0 { 3.0 } else { i as f64 });
    let model = learn(&x, 0.1);
    let row = Dense::from_rows(1, 2, vec![f64::NAN, f64::NAN]);
    let posterior = model.posterior(&row, None).unwrap();
    assert_eq!(posterior.mean.row(0), [3.0, 4.5]);
    assert_eq!(posterior.scatters[0].form(&[1.0, 0.0]), 0.0);
}

#[test]
#[ignore = "a timing: run with --ignored --nocapture"]
fn speed_of_the_posterior() {
    let x = rows(100_000, 50, 11);
    let model = learn(&x, 0.1);
    let mut r = rng(12);
    let patterns: Vec<Vec<bool>> =
        (0..1000).map(|_| (0..50).map(|_| r.random_bool(0.3)).collect()).collect();
    let damaged =
        Dense::from_fn(
            100_000,
            50,
            |i, j| if patterns[i % 1000][j] { f64::NAN } else { x[(i, j)] },
        );
    let start = std::time::Instant::now();
    let posterior = model.posterior(&damaged, None).unwrap();
    eprintln!("{} patterns: {:?}", posterior.scatters.len(), start.elapsed());
    let rows = Rows { x: &damaged, weights: None, errors: None };
    let start = std::time::Instant::now();
    let model = FeatureModel::learn(rows, Shrinkage::default(), &Control::new()).unwrap();
    eprintln!("EM, {} steps: {:?}", model.n_iter, start.elapsed());
}
