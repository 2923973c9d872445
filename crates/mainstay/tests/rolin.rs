//! ROLIN against its own words, its theorems, and awkward data.

use mainstay::data::Dataset;
use mainstay::folds::stratified;
use mainstay::linalg::Dense;
use mainstay::loss::Loss;
use mainstay::model::{Estimator, Fitted, Model, Output};
use mainstay::rolin::{CvRule, Normalize, RolinParams, Scoring, TopPcsParams, Variant};
use mainstay::{Control, Error};
use mainstay_testkit::generate::{normal, rng, two_clouds};
use mainstay_testkit::rolin as literal;

fn dataset(rows: &[f64], labels: &[f64]) -> Dataset {
    let p = rows.len() / labels.len();
    let classes = labels.iter().map(|&y| usize::from(y > 0.0)).collect();
    Dataset::new(Dense::from_rows(labels.len(), p, rows.to_vec()).into(), classes, 2).unwrap()
}

fn paper() -> RolinParams {
    RolinParams { variant: Variant::Paper, ..RolinParams::default() }
}

fn fit(params: RolinParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> (&[f64], f64) {
    let Model::Linear(m) = &fitted.model else { panic!("a linear model") };
    (&m.coef[0], m.intercept[0])
}

fn number(fitted: &Fitted, name: &str) -> f64 {
    match &fitted.outputs[name] {
        Output::Number(v) => *v,
        Output::Integer(v) => *v as f64,
        Output::Flag(v) => f64::from(u8::from(*v)),
        other => panic!("{name}: {other:?}"),
    }
}

fn column(fitted: &Fitted, table: &str, name: &str) -> Vec<f64> {
    let Output::Table(columns) = &fitted.outputs[table] else { panic!("a table") };
    match &columns.iter().find(|(n, _)| n == name).unwrap().1 {
        Output::Vector(v) => v.clone(),
        Output::Integers(v) => v.iter().map(|&v| v as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// Data whose columns have different scales, so that both normalisations matter.
fn uneven(seed: u64, n: usize, p: usize, distance: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, labels) = two_clouds(seed, n, p, distance);
    for (i, v) in rows.iter_mut().enumerate() {
        *v *= 3.0 / (1.0 + (i % p) as f64);
        *v += 0.3 * (i % p) as f64;
    }
    (rows, labels)
}

#[test]
fn the_fast_search_finds_what_the_literal_algorithms_find() {
    let losses = [
        (Loss::Logistic, literal::Loss::Logistic),
        (Loss::SquaredHinge, literal::Loss::SquaredHinge),
        (Loss::ModifiedHuber, literal::Loss::ModifiedHuber),
    ];
    for (seed, (n, p, distance)) in
        [(18, 4, 2.0), (16, 24, 1.5), (24, 6, 1.0), (20, 5, 6.0)].into_iter().enumerate()
    {
        for (ours, theirs) in losses {
            let (rows, labels) = uneven(seed as u64, n, p, distance);
            let data = dataset(&rows, &labels);
            let (sigma_ratios, b_maxs) = (vec![1.0, 3.0, 10.0], vec![0.01, 0.1, 0.4, 2.0]);
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
            let (ks, ss) = (column(&fitted, "cv_results", "k"), column(&fitted, "cv_results", "sigma_ratio"));
            let (bs, zs) =
                (column(&fitted, "cv_results", "b_max"), column(&fitted, "cv_results", "normalize"));
            let row = (0..costs.len()).find(|&i| [ks[i], ss[i], bs[i], zs[i]] == wanted).unwrap();
            assert!((costs[row] - cost).abs() <= 1e-9 * cost, "{case}: {} {cost}", costs[row]);
            // Same scores on the training rows, in whatever units.
            let (w, b) = linear(&fitted);
            let view: Vec<Vec<f64>> = if psi.normalize { z_scores(&x) } else { x.clone() };
            let scale = weights.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
            for (raw, seen) in x.iter().zip(&view) {
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
                let (fast, slow) = (dot(raw, w) + b, dot(seen, &weights) + intercept);
                assert!((fast - slow).abs() <= 1e-9 * scale.max(slow.abs()), "{case}: {fast} {slow}");
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
        out.iter_mut().for_each(|r| r[j] = (r[j] - mean) / sd);
    }
    out
}
