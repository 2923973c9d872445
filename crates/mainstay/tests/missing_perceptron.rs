//! The perceptron on a cube, and what is proven about it and the linear program.
#![cfg(test)]
#![expect(
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    reason = "what must be equal is compared exactly"
)]

use mainstay::Control;
use mainstay::data::{ClassRule, ClassWeight, Dataset};
use mainstay::linalg::{Dense, Matrix};
use mainstay::missing::bounds::{
    average_bound, corruption_margin, kl_inverse, regret_bound, risk_bound,
};
use mainstay::missing::{
    Batch, MissingPerceptronParams, PerceptronState, RobustHinge, ValueRule, Values,
};
use mainstay::model::{Estimator, Output};
use mainstay::uncertainty::Deletions;
use mainstay_testkit::generate::{normal, rng, two_clouds};

/// Section 3 in twenty lines: enumerate what may be left, update, average the hypotheses before each row.
fn reference(
    x: &Dense,
    y: &[f64],
    values: &[f64],
    (budget, margin, c): (f64, f64, f64),
    intercept: bool,
    step: impl Fn(usize) -> f64,
) -> (Vec<f64>, f64) {
    let (n, p) = (x.nrows(), x.ncols());
    let total: f64 = values.iter().sum();
    let (mut w, mut b) = (vec![0.0; p], 0.0);
    let (mut mean, mut mean_b) = (vec![0.0; p], 0.0);
    for i in 0..n {
        for j in 0..p {
            mean[j] += w[j] / n as f64;
        }
        mean_b += b / n as f64;
        let mut worst = (f64::NEG_INFINITY, 0);
        for left in 0..1usize << p {
            let kept: Vec<usize> = (0..p).filter(|j| left >> j & 1 == 1).collect();
            let value: f64 = kept.iter().map(|&j| values[j]).sum();
            let score: f64 = b + kept.iter().map(|&j| w[j] * x[(i, j)]).sum::<f64>();
            let loss = margin * value / (total - budget) - y[i] * score;
            // Of equal losses the one that keeps more.
            if total - value <= budget * (1.0 + 1e-12) && loss >= worst.0 - 1e-12 {
                worst = (loss.max(worst.0), left);
            }
        }
        if worst.0 > 0.0 {
            for j in (0..p).filter(|j| worst.1 >> j & 1 == 1) {
                w[j] = (w[j] + y[i] * step(i) * x[(i, j)]).clamp(-c, c);
            }
            b = if intercept { (b + y[i] * step(i)).clamp(-c, c) } else { 0.0 };
        }
    }
    (mean, mean_b)
}

fn clouds(seed: u64, n: usize, p: usize) -> (Dense, Vec<f64>, Vec<usize>) {
    let (rows, y) = two_clouds(seed, n, p, 2.0);
    let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
    (Dense::from_rows(n, p, rows), y, labels)
}

fn params(seed: u64) -> MissingPerceptronParams {
    let values = match seed % 3 {
        0 => Values::Rule(ValueRule::Uniform),
        1 => Values::Given(vec![1.0, 2.0, 0.5, 0.7, 1.3]),
        _ => Values::Given(vec![1.0, 0.0, 2.0, 0.3, 1.0]),
    };
    MissingPerceptronParams {
        budget: [1.0, 0.0, 2.5][(seed / 3) as usize % 3],
        values,
        margin: 0.7,
        c: [0.5, 10.0][seed as usize % 2],
        fit_intercept: !seed.is_multiple_of(5),
        shuffle: false,
        ..Default::default()
    }
}

fn values(params: &MissingPerceptronParams) -> Vec<f64> {
    match &params.values {
        Values::Given(values) => values.clone(),
        Values::Rule(_) => vec![1.0; 5],
    }
}

fn model(state: &PerceptronState) -> (Vec<f64>, f64) {
    let model = state.model();
    let linear = model.linear().unwrap();
    (linear.coef[0].clone(), linear.intercept[0])
}

#[test]
fn fit_and_streams_agree_with_twenty_lines() {
    for seed in 0..30 {
        let (x, y, labels) = clouds(seed, 60, 5);
        let params = params(seed);
        let shared = (params.budget, params.margin, params.c);
        let factor = if params.fit_intercept { 3.0f64 } else { 5.0 };
        let scale = params.c * factor.sqrt();
        let learner = params.clone().check().unwrap();
        let matrix = Matrix::from(x.clone());
        let data = Dataset::new(matrix.clone(), labels.clone(), 2).unwrap();

        let tau = scale / 60f64.sqrt();
        let found = model(&learner.train(&data, &Control::new()).unwrap());
        let wanted = reference(&x, &y, &values(&params), shared, params.fit_intercept, |_| tau);
        for (a, b) in found.0.iter().zip(&wanted.0).chain([(&found.1, &wanted.1)]) {
            assert!((a - b).abs() <= 1e-9, "seed {seed}: {found:?} {wanted:?}");
        }

        let mut state = learner.start(5, 2).unwrap();
        for part in [0..7, 7..8, 8..60] {
            let rows: Vec<usize> = part.collect();
            let labels: Vec<usize> = rows.iter().map(|&i| labels[i]).collect();
            let x = matrix.select_rows(&rows);
            let batch = Batch { x: &x, labels: &labels, weights: None };
            learner.partial_fit(&mut state, &batch, &Control::new()).unwrap();
            let Output::Text(text) = state.to_output().unwrap() else { panic!("text") };
            assert_eq!(PerceptronState::from_text(&text).unwrap(), state);
        }
        let step = |i: usize| scale / ((i + 1) as f64).sqrt();
        let wanted = reference(&x, &y, &values(&params), shared, params.fit_intercept, step);
        let found = model(&state);
        for (a, b) in found.0.iter().zip(&wanted.0).chain([(&found.1, &wanted.1)]) {
            assert!((a - b).abs() <= 1e-9, "seed {seed}: {found:?} {wanted:?}");
        }
    }
}

#[test]
fn passes_classes_and_bad_streams() {
    let (x, _, labels) = clouds(1, 90, 5);
    let three: Vec<usize> =
        labels.iter().enumerate().map(|(i, l)| l + usize::from(i % 3 == 0)).collect();
    let data = Dataset::new(x.clone().into(), three, 3).unwrap();
    let learner = MissingPerceptronParams { n_passes: 3, ..Default::default() }.check().unwrap();
    let fitted = learner.fit(&data, &Control::new()).unwrap();
    assert_eq!((fitted.model.n_classes(), fitted.n_iter), (3, 3));
    assert_eq!(fitted, learner.fit(&data, &Control::new()).unwrap());

    let weighted = data.clone().with_weights(vec![1.0; 90]).unwrap();
    assert_eq!(fitted, learner.fit(&weighted, &Control::new()).unwrap());
    let mut state = learner.start(5, 2).unwrap();
    let mut feed = |x: Dense, labels: &[usize]| {
        let batch = Batch { x: &x.into(), labels, weights: None };
        learner.partial_fit(&mut state, &batch, &Control::new())
    };
    assert!(feed(Dense::zeros(2, 4), &[0, 1]).unwrap_err().to_string().contains("4 features"));
    assert!(feed(Dense::zeros(2, 5), &[0]).is_err());
    assert!(feed(Dense::zeros(1, 5), &[2]).is_err());
    assert!(feed(Dense::from_fn(1, 5, |_, _| f64::NAN), &[1]).is_err());
    assert!(feed(Dense::zeros(1, 5), &[1]).is_ok(), "one class at a time is fine");
    let rule = MissingPerceptronParams {
        values: Values::Rule(ValueRule::MutualInfo),
        ..Default::default()
    };
    assert!(rule.check().unwrap().start(5, 2).is_err());
    assert!(learner.start(1, 2).unwrap_err().to_string().contains("n_features=1"));
    assert!(PerceptronState::from_text("{}").is_err());
}

/// Theorem 4 on sequences with absolute row sums 1: the bound holds against hypotheses drawn from the cube.
#[test]
fn the_mean_loss_obeys_the_regret_bound() {
    for seed in 0..10 {
        let (mut x, y, labels) = clouds(seed, 400, 4);
        for i in 0..400 {
            let sum: f64 = x.row(i).iter().map(|v| v.abs()).sum();
            x.row_mut(i).iter_mut().for_each(|v| *v /= sum);
        }
        let (budget, margin, c) = (1.0, 0.1, 2.0);
        let set = Deletions::new(vec![1.0; 4], budget).unwrap();
        let loss = |w: &[f64], b: f64, i: usize| {
            let gains = w.iter().zip(x.row(i)).map(|(w, x)| y[i] * w * x - margin / 3.0);
            let best = gains.fold(0.0, f64::max);
            let score: f64 = b + w.iter().zip(x.row(i)).map(|(w, x)| w * x).sum::<f64>();
            (margin * 4.0 / 3.0 - y[i] * score + best).max(0.0)
        };
        // The paper's algorithm once more, to see the loss of every round.
        let tau = c * (5.0 / 800f64).sqrt();
        let (mut w, mut b, mut sum) = (vec![0.0; 4], 0.0, 0.0);
        for i in 0..400 {
            let suffered = loss(&w, b, i);
            sum += suffered;
            if suffered > 0.0 {
                let gain = |j: usize| y[i] * w[j] * x[(i, j)] - margin / 3.0;
                let worst = (0..4).fold(0, |m, j| if gain(j) > gain(m) { j } else { m });
                let deleted = gain(worst) > 0.0;
                for j in (0..4).filter(|&j| !(deleted && j == worst)) {
                    w[j] = (w[j] + y[i] * tau * x[(i, j)]).clamp(-c, c);
                }
                b = (b + y[i] * tau).clamp(-c, c);
            }
        }
        let mut rng = rng(seed);
        let allowed = regret_bound(c, margin, 4, 400);
        for _ in 0..50 {
            let rival: Vec<f64> = normal(&mut rng, 5).iter().map(|v| v.clamp(-c, c)).collect();
            let other: f64 = (0..400).map(|i| loss(&rival[..4], rival[4], i)).sum();
            assert!(sum / (400.0 * margin) <= other / (400.0 * margin) + allowed);
        }
        let matrix = Matrix::from(x.clone());
        let problem = RobustHinge {
            x: &matrix,
            y: &y,
            weights: &vec![1.0; 400],
            deletions: &set,
            margin,
            c,
            fit_intercept: true,
        };
        let phi = margin * 4.0 / 3.0;
        let by_hand = (3.0 * c + phi) * (2.0 * (5.0 + 40f64.ln()) / 400.0).sqrt();
        assert!((average_bound(&problem, 0.05).unwrap() - by_hand).abs() < 1e-12);
        assert_eq!(labels.len(), 400);
    }
}

#[test]
fn the_divergence_is_inverted() {
    for (p, bound) in [(0.0, 0.1), (0.1, 0.01), (0.5, 0.2), (0.9, 0.5), (1.0, 0.3)] {
        let e = kl_inverse(p, bound);
        let part = |p: f64, e: f64| if p == 0.0 { 0.0 } else { p * (p / e).ln() };
        let divergence = part(p, e) + part(1.0 - p, 1.0 - e);
        assert!(p == 1.0 && e == 1.0 || (divergence - bound).abs() < 1e-9, "{p} {bound}: {e}");
        // Pinsker's inequality and the paper's closed form are weaker.
        assert!(e <= p + (bound / 2.0).sqrt() + 1e-12);
        assert!(e <= p + (2.0 * p * bound).sqrt() + 2.0 * bound + 1e-12);
    }
    assert!((kl_inverse(0.0, 0.1) - (1.0 - (-0.1f64).exp())).abs() < 1e-12);
}

#[test]
fn the_risk_bound_is_computed_only_where_it_holds() {
    let (mut x, y, _) = clouds(3, 300, 3);
    let scale = x.max_abs();
    x.data_mut().iter_mut().for_each(|v| *v /= scale);
    let matrix = Matrix::from(x.clone());
    let set = Deletions::new(vec![1.0; 3], 1.0).unwrap();
    let weights = vec![1.0; 300];
    let problem = RobustHinge {
        x: &matrix,
        y: &y,
        weights: &weights,
        deletions: &set,
        margin: 0.1,
        c: 1.0,
        fit_intercept: false,
    };
    let w = [0.5, -0.2, 0.9];
    let found = risk_bound(&problem, &w, 0.05).unwrap();
    // By hand: one of three features deleted; the loss (10) at margin 0.1.
    let wrong = (0..300).filter(|&i| {
        let parts: Vec<f64> = (0..3).map(|j| y[i] * w[j] * x[(i, j)]).collect();
        let all: f64 = parts.iter().sum();
        all < 0.15 || parts.iter().any(|part| all - part < 0.1)
    });
    let empirical = wrong.count() as f64 / 300.0;
    assert_eq!(found.empirical, empirical);
    let complexity = ((300f64 / 0.05).ln() + 3.0 * (4.0 * 2.0 / 0.1f64).ln()) / 299.0;
    assert!((found.complexity - complexity).abs() < 1e-12);
    assert!(found.bound >= empirical && found.bound <= found.closed_form + 1e-12);

    let fails = |problem: &RobustHinge<'_>, w: &[f64], delta: f64| {
        risk_bound(problem, w, delta).unwrap_err().to_string()
    };
    assert!(fails(&RobustHinge { fit_intercept: true, ..problem }, &w, 0.05).contains("intercept"));
    assert!(fails(&problem, &[2.0, 0.0, 0.0], 0.05).contains("box"));
    assert!(fails(&problem, &w, 1.5).contains("`delta`"));
    let zero = Deletions::new(vec![1.0, 0.0, 1.0], 1.0).unwrap();
    assert!(
        fails(&RobustHinge { deletions: &zero, ..problem }, &w, 0.05).contains("feature 1 is 0")
    );
    let large = Matrix::from(Dense::from_fn(300, 3, |i, j| 3.0 * x[(i, j)]));
    assert!(fails(&RobustHinge { x: &large, ..problem }, &w, 0.05).contains("|x| <= 1"));
}

/// Monte Carlo: with the margin of Theorem 3, noise overturns it less often than epsilon.
#[test]
fn the_margin_for_corruption_withstands_noise() {
    let (c, budget, epsilon) = (1.0, 4.0, 0.1);
    let margin = corruption_margin(c, budget, epsilon).unwrap();
    let mut rng = rng(5);
    let trials = 20_000;
    // The worst noise on [-1, 1] with mean 0: plus or minus 1.
    let losses = (0..trials).filter(|_| {
        let noise: f64 = normal(&mut rng, 4).iter().map(|v| v.signum()).sum();
        c * noise <= -margin
    });
    assert!(losses.count() as f64 / f64::from(trials) <= epsilon);
    assert!((margin - (8.0 * 10f64.ln()).sqrt()).abs() < 1e-12);
    assert!(corruption_margin(c, budget, 0.0).is_err());
}

/// Rows in another order, copies apart from each other, and 0 for rows that are not there.
#[test]
fn a_weight_of_two_is_the_row_twice() {
    let (x, _, labels) = clouds(3, 40, 5);
    let weight = |i: usize| (i * 7 % 4) as f64;
    let x = Matrix::from(x);
    let learner = MissingPerceptronParams { n_passes: 2, ..Default::default() }.check().unwrap();
    let fit = |rows: &[usize], weights: Option<Vec<f64>>| {
        let labels = rows.iter().map(|&i| labels[i]).collect();
        let data = Dataset::new(x.select_rows(rows), labels, 2).unwrap();
        let data = weights.map_or(data.clone(), |w| data.with_weights(w).unwrap());
        learner.train(&data, &Control::new()).unwrap()
    };
    let backwards: Vec<usize> = (0..40).rev().collect();
    let weighted = fit(&backwards, Some(backwards.iter().map(|&i| weight(i)).collect()));
    let often = |times: f64| (0..40).filter(move |&i| weight(i) >= times);
    let repeated: Vec<usize> = often(1.0).chain(often(2.0)).chain(often(3.0)).collect();
    assert_eq!(model(&weighted), model(&fit(&repeated, None)));
    assert_ne!(model(&weighted), model(&fit(&often(1.0).collect::<Vec<_>>(), None)));
}

/// Budget 0 and an endless margin: every round of the first row moves the first weight by its part of the step. The
/// hypotheses before its rounds, of weight 2.5, are 0, 1 and 2 steps, the last for half a round; then 2.5 steps stay for the
/// 20 rounds of the other row.
#[test]
fn the_rest_of_a_weight_is_a_part_of_a_round() {
    let params = MissingPerceptronParams {
        budget: 0.0,
        margin: 1e9,
        c: 1e3,
        shuffle: false,
        fit_intercept: false,
        ..Default::default()
    };
    let learner = params.check().unwrap();
    let x = Matrix::from(Dense::from_rows(2, 2, vec![1.0, 0.0, 0.0, 1.0]));
    let data = Dataset::new(x.clone(), vec![1, 0], 2).unwrap();
    let weighted = data.with_weights(vec![2.5, 20.0]).unwrap();
    let state = learner.train(&weighted, &Control::new()).unwrap();
    assert_eq!(state.rounds(), 22.5);
    let step = 1e3 * (2.0 / 22.5f64).sqrt();
    let wanted = (1.0 + 0.5 * 2.0 + 20.0 * 2.5) / 22.5 * step;
    let found = model(&state).0[0];
    assert!((found - wanted).abs() <= 1e-12 * wanted, "{found} {wanted}");

    let mut stream = learner.start(2, 2).unwrap();
    let bad = Batch { x: &x, labels: &[1, 0], weights: Some(&[1.0, -1.0]) };
    assert!(learner.partial_fit(&mut stream, &bad, &Control::new()).is_err());
    let balanced = MissingPerceptronParams {
        class_weight: ClassWeight::Rule(ClassRule::Balanced),
        ..Default::default()
    };
    let whole = Batch { weights: None, ..bad };
    let told = balanced.check().unwrap().partial_fit(&mut stream, &whole, &Control::new());
    assert!(told.unwrap_err().to_string().contains("needs all rows"));
}
