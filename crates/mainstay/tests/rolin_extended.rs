//! The extended ROLIN against a slow fit that follows its description word by word.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::folds::stratified;
use mainstay::linalg::{Cholesky, Dense};
use mainstay::methods::find;
use mainstay::model::{Fitted, Model, Output};
use mainstay::rolin::{ExtendedConstants, FamilyConstants, RolinParams};
use mainstay_testkit::generate::two_clouds;
use serde_json::json;

type Linear = (Vec<f64>, f64);

fn dataset(rows: &[Vec<f64>], labels: &[f64]) -> Dataset {
    let x = Dense::from_rows(rows.len(), rows[0].len(), rows.concat());
    let classes = labels.iter().map(|&y| usize::from(y > 0.0)).collect();
    Dataset::new(x.into(), classes, 2).unwrap()
}

fn linear(fitted: &Fitted) -> Linear {
    let Model::Linear(m) = &fitted.model else { panic!("a linear model") };
    (m.coef[0].clone(), m.intercept[0])
}

fn score((w, b): &Linear, row: &[f64]) -> f64 {
    b + w.iter().zip(row).map(|(w, v)| w * v).sum::<f64>()
}

fn logistic(margin: f64) -> f64 {
    if margin > 0.0 { (-margin).exp().ln_1p() } else { margin.exp().ln_1p() - margin }
}

/// Columns of different scales around different means.
fn uneven(seed: u64, n: usize, p: usize, distance: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (flat, labels) = two_clouds(seed, n, p, distance);
    let scaled = |row: &[f64]| {
        row.iter().enumerate().map(|(j, v)| 3.0 * v / (1.0 + j as f64) + 0.3 * j as f64).collect()
    };
    (flat.chunks(p).map(scaled).collect(), labels)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Ridge regression of centred labels on centred rows, penalty `ridge`.
fn ridge(rows: &[Vec<f64>], y: &[f64], ridge: f64) -> Linear {
    let p = rows[0].len();
    let means: Vec<f64> = (0..p).map(|j| mean(rows.iter().map(|r| r[j]))).collect();
    let level = mean(y.iter().copied());
    let centred = |i: usize, j: usize| rows[i][j] - means[j];
    let all = 0..rows.len();
    let mut gram =
        Dense::from_fn(p, p, |j, k| all.clone().map(|i| centred(i, j) * centred(i, k)).sum());
    gram.add_diagonal(ridge);
    let mut w: Vec<f64> =
        (0..p).map(|j| all.clone().map(|i| centred(i, j) * (y[i] - level)).sum()).collect();
    Cholesky::new(&gram).unwrap().solve_in_place(&mut w);
    let shift: f64 = w.iter().zip(&means).map(|(w, m)| w * m).sum();
    (w, level - shift)
}

/// The toolkit's own L2 fit: mean of log2(1 + exp(-margin)) + strength/2 |w|^2, in nats.
fn penalised(rows: &[Vec<f64>], y: &[f64], strength: f64) -> Linear {
    let params =
        json!({"alpha": strength * std::f64::consts::LN_2, "tol": 1e-10, "normalize": false});
    let fit = find("l2").unwrap().estimator(&params).unwrap();
    linear(&fit.fit(&dataset(rows, y), &Control::new()).unwrap())
}

/// One candidate: out-of-fold scores (one list per row) and the fit to all rows.
struct Candidate<'a> {
    group: &'a FamilyConstants,
    out_of_fold: Vec<Vec<f64>>,
    full: Linear,
}

impl Candidate<'_> {
    fn loss(&self, y: &[f64], scale: f64, shift: f64) -> f64 {
        mean(
            self.out_of_fold
                .iter()
                .zip(y)
                .map(|(scores, y)| mean(scores.iter().map(|s| logistic(y * (scale * s + shift))))),
        )
    }

    /// Scale and shift by search: u on its grid, t by golden sections.
    fn calibrated(&self, y: &[f64]) -> (f64, f64) {
        let mut best = (f64::INFINITY, 0.0, 0.0);
        for point in 0..50 {
            let away = 0.25 * f64::from(point) - 3.0;
            let scale = (self.group.centre + away * self.group.spread).exp();
            let prior = if away > 1.0 { away - 0.5 } else { 0.5 * away * away };
            let objective = |t: f64| {
                y.len() as f64 * self.loss(y, scale, t)
                    + prior
                    + 0.5 * (t / self.group.shift).powi(2)
            };
            let (mut low, mut high) = (-5.0, 5.0);
            while high - low > 1e-7 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if objective(a) < objective(b) { high = b } else { low = a }
            }
            if objective(low) < best.0 {
                best = (objective(low), scale, low);
            }
        }
        (best.1, best.2)
    }
}

/// Fits to the training rows of every split, and to all.
fn candidate<'a>(
    group: &'a FamilyConstants,
    rows: &[Vec<f64>],
    y: &[f64],
    repeats: usize,
    fit: impl Fn(&[Vec<f64>], &[f64]) -> Linear,
) -> Candidate<'a> {
    let classes: Vec<usize> = y.iter().map(|&y| usize::from(y > 0.0)).collect();
    let mut out_of_fold = vec![Vec::new(); rows.len()];
    for split in stratified(&classes, 5, 5, 0).iter().take(5 * repeats) {
        let train: Vec<Vec<f64>> = split.train.iter().map(|&i| rows[i].clone()).collect();
        let labels: Vec<f64> = split.train.iter().map(|&i| y[i]).collect();
        let model = fit(&train, &labels);
        for &i in &split.holdout {
            out_of_fold[i].push(score(&model, &rows[i]));
        }
    }
    Candidate { group, out_of_fold, full: fit(rows, y) }
}

/// The four scalings of the centred rows: divisors of every feature. The last is for penalised fits alone.
fn scalings(centred: &[Vec<f64>]) -> [Vec<f64>; 4] {
    let p = centred[0].len();
    let extents: Vec<f64> =
        (0..p).map(|j| centred.iter().map(|r| r[j].abs()).fold(0.0, f64::max)).collect();
    let deviations = (0..p).map(|j| mean(centred.iter().map(|r| r[j] * r[j])).sqrt()).collect();
    let roots = extents.iter().map(|e| e.sqrt()).collect();
    [vec![1.0; p], extents, roots, deviations]
}

/// The weighted average, step by step, in the user's units.
fn literal(constants: &ExtendedConstants, rows: &[Vec<f64>], y: &[f64]) -> Linear {
    let (n, p) = (rows.len() as f64, rows[0].len());
    let means: Vec<f64> = (0..p).map(|j| mean(rows.iter().map(|r| r[j]))).collect();
    let centred: Vec<Vec<f64>> =
        rows.iter().map(|r| r.iter().zip(&means).map(|(v, m)| v - m).collect()).collect();
    let repeats = constants.penalised_rows.div_ceil(rows.len()).min(5);
    let mut all: Vec<(Candidate<'_>, Vec<f64>)> = Vec::new();
    for (s, divisors) in scalings(&centred).into_iter().enumerate() {
        let z: Vec<Vec<f64>> =
            centred.iter().map(|r| r.iter().zip(&divisors).map(|(v, d)| v / d).collect()).collect();
        let total: f64 = z.iter().flatten().map(|v| v * v).sum();
        for q in constants.robust.strengths.iter().filter(|_| s < 3) {
            let fit = |rows: &[Vec<f64>], y: &[f64]| ridge(rows, y, q * total);
            all.push((candidate(&constants.robust, &z, y, 5, fit), divisors.clone()));
        }
        for q in &constants.penalised.strengths {
            let fit = |rows: &[Vec<f64>], y: &[f64]| penalised(rows, y, q * total / n);
            all.push((candidate(&constants.penalised, &z, y, repeats, fit), divisors.clone()));
        }
    }
    let calibrations: Vec<(f64, f64)> = all.iter().map(|(c, _)| c.calibrated(y)).collect();
    let losses: Vec<f64> =
        all.iter().zip(&calibrations).map(|((c, _), (s, t))| c.loss(y, *s, *t)).collect();
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let members = |group: &FamilyConstants| all.iter().filter(|(c, _)| c.group == group).count();
    let weight = |c: usize| {
        all[c].0.group.share / members(all[c].0.group) as f64
            * (-constants.sharpness * n * (losses[c] - least)).exp()
    };
    let sum: f64 = (0..all.len()).map(weight).sum();
    let chosen = constants.chosen * (1.0 - constants.chosen_from / n).max(0.0);
    let mut average = (vec![0.0; p], 0.0);
    let mut add = |weight: f64, (candidate, divisors): &(Candidate<'_>, Vec<f64>), scale, shift| {
        for j in 0..p {
            let w = weight * scale * candidate.full.0[j] / divisors[j];
            average.0[j] += w;
            average.1 -= w * means[j];
        }
        average.1 += weight * (scale * candidate.full.1 + shift);
    };
    for (c, &(scale, shift)) in calibrations.iter().enumerate() {
        add((1.0 - chosen) * weight(c) / sum, &all[c], scale, shift);
    }
    let plain = |c: &&(Candidate<'_>, Vec<f64>)| c.0.loss(y, 1.0, 0.0);
    let best = all
        .iter()
        .filter(|c| c.0.group == &constants.penalised)
        .min_by(|a, b| plain(a).total_cmp(&plain(b)))
        .unwrap();
    add(chosen, best, 1.0, 0.0);
    let fixed = fixed_fit(constants, &centred, &means, y);
    let mix = |a: f64, b: f64| (1.0 - constants.fixed) * a + constants.fixed * b;
    (average.0.iter().zip(&fixed.0).map(|(a, b)| mix(*a, *b)).collect(), mix(average.1, fixed.1))
}

/// The logistic fit on z-scores whose score is expected to have the stated variance, in the user's units.
fn fixed_fit(
    constants: &ExtendedConstants,
    centred: &[Vec<f64>],
    means: &[f64],
    y: &[f64],
) -> Linear {
    let deviations = &scalings(centred)[3];
    let z: Vec<Vec<f64>> =
        centred.iter().map(|r| r.iter().zip(deviations).map(|(v, d)| v / d).collect()).collect();
    // Prior variance of a weight: that of the score shared by the features. Penalty of the mean loss in nats: 1/(n variance).
    let variance = constants.fixed_variance / means.len() as f64;
    let nats = 1.0 / (y.len() as f64 * variance);
    let (w, b) = penalised(&z, y, nats / std::f64::consts::LN_2);
    let w: Vec<f64> = w.iter().zip(deviations).map(|(w, d)| w / d).collect();
    let shift: f64 = w.iter().zip(means).map(|(w, m)| w * m).sum();
    (w, b - shift)
}

#[test]
fn the_average_is_what_its_description_says() {
    for (seed, n, distance) in [(1, 15, 1.0), (2, 24, 0.7), (3, 40, 4.0)] {
        let (rows, y) = uneven(seed, n, 3, distance);
        // Fewer strengths than the default: the slow fit solves every fold anew.
        let mut constants = ExtendedConstants::default();
        constants.robust.strengths = vec![1.0, 0.1, 0.001];
        constants.penalised.strengths = vec![10.0, 0.1, 0.001];
        constants.penalised_rows = 60;
        let expected = literal(&constants, &rows, &y);
        let params = RolinParams::default().check().unwrap();
        let found =
            params.fit_with_constants(constants, &dataset(&rows, &y), &Control::new()).unwrap();
        let found = linear(&found);
        for row in &rows {
            let (a, b) = (score(&found, row), score(&expected, row));
            assert!((a - b).abs() <= 2e-3 * (1.0 + b.abs()), "{n} rows: {a} {b}");
        }
    }
}

#[test]
fn the_chosen_fit_joins_beyond_twenty_rows() {
    let left = 1.0 - ExtendedConstants::default().fixed;
    for (n, share) in [(20, 0.0), (60, left * 0.4 * 2.0 / 3.0)] {
        let (rows, y) = uneven(5, n, 3, 1.0);
        let params = RolinParams::default().check().unwrap();
        let fitted = params
            .fit_with_constants(ExtendedConstants::default(), &dataset(&rows, &y), &Control::new())
            .unwrap();
        let Output::Table(columns) = &fitted.outputs["candidates"] else { panic!("a table") };
        let of = |name: &str| &columns.iter().find(|(n, _)| n == name).unwrap().1;
        let (Output::Texts(families), Output::Vector(weights)) = (of("family"), of("weight"))
        else {
            panic!("a column of texts and one of numbers")
        };
        let chosen = families.iter().position(|f| f == "chosen");
        assert_eq!(chosen.is_some(), share > 0.0);
        assert!((chosen.map_or(0.0, |c| weights[c]) - share).abs() < 1e-12);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn classes_far_apart_earn_more_confidence_with_the_chosen_fit() {
    let (rows, y) = uneven(7, 560, 2, 12.0);
    let train = dataset(&rows[..60], &y[..60]);
    let loss = |chosen: f64| {
        let constants = ExtendedConstants { chosen, ..ExtendedConstants::default() };
        let params = RolinParams::default().check().unwrap();
        let model = linear(&params.fit_with_constants(constants, &train, &Control::new()).unwrap());
        mean(rows[60..].iter().zip(&y[60..]).map(|(row, y)| logistic(y * score(&model, row))))
    };
    assert!(loss(0.4) < 0.8 * loss(0.0), "{} {}", loss(0.4), loss(0.0));
}

/// By the logistic loss alone, and where z-scores are allowed.
#[test]
fn the_fit_with_the_fixed_penalty_has_its_share_under_the_logistic_loss() {
    let (rows, y) = uneven(5, 30, 3, 1.0);
    let share = ExtendedConstants::default().fixed;
    assert!(share > 0.0);
    for (params, expected) in [
        (json!({}), share),
        (json!({"normalize": true}), share),
        (json!({"normalize": false}), 0.0),
        (json!({"loss": "squared_hinge"}), 0.0),
        (json!({"loss": "hinge"}), 0.0),
    ] {
        let fit = find("rolin").unwrap().estimator(&params).unwrap();
        let fitted = fit.fit(&dataset(&rows, &y), &Control::new()).unwrap();
        let Output::Table(columns) = &fitted.outputs["candidates"] else { panic!("a table") };
        let of = |name: &str| &columns.iter().find(|(n, _)| n == name).unwrap().1;
        let (Output::Texts(families), Output::Vector(weights)) = (of("family"), of("weight"))
        else {
            panic!("a column of texts and one of numbers")
        };
        let found = families.iter().position(|f| f == "fixed").map_or(0.0, |c| weights[c]);
        assert!((found - expected).abs() < 1e-12, "{params}: {found}");
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
