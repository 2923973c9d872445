//! Radii and witnesses against `predict` itself: the witness flips, and nothing smaller does.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    reason = "small counts; indices are those of the formulas"
)]

use mainstay::Control;
use mainstay::certify::{Attack, Options, RowCertificates, certify, certify_model};
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Linear, Link, Model, Planes, Standardized, choose};
use mainstay_testkit::generate::{normal, rng};

fn model(seed: u64, classes: usize, p: usize) -> Linear {
    let mut rng = rng(seed);
    let rows = if classes == 2 { 1 } else { classes };
    Linear {
        coef: (0..rows).map(|_| normal(&mut rng, p)).collect(),
        intercept: normal(&mut rng, rows),
        link: Link::None,
    }
}

fn predict(model: &Linear, row: &[f64]) -> usize {
    let row = Matrix::from(Dense::from_rows(1, row.len(), row.to_vec()));
    choose(&model.decision(&row))[0]
}

fn size(attack: Attack, change: &[f64]) -> f64 {
    match attack {
        Attack::L1 => change.iter().map(|v| v.abs()).sum(),
        Attack::Linf => change.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
        // The test's ellipsoid has the semi-axes 1, 2, 3, ...
        Attack::Ellipsoid => {
            let scaled = change.iter().enumerate().map(|(j, v)| (v / (j + 1) as f64).powi(2));
            scaled.sum::<f64>().sqrt()
        }
        _ => change.iter().map(|v| v * v).sum::<f64>().sqrt(),
    }
}

#[test]
fn witnesses_flip_and_nothing_sampled_inside_the_radius_does() {
    for seed in 0..20 {
        let (classes, p) = (2 + (seed as usize % 3), 1 + (seed as usize % 6));
        let linear = model(seed, classes, p);
        let x = Dense::from_rows(12, p, normal(&mut rng(seed + 100), 12 * p));
        let shape = |_: usize, d: &[f64]| -> Vec<f64> {
            d.iter().enumerate().map(|(j, v)| v * ((j + 1) as f64).powi(2)).collect()
        };
        for attack in [Attack::L2, Attack::L1, Attack::Linf, Attack::Ellipsoid] {
            let options =
                Options { ellipsoid: Some(&shape), witness: Some(attack), ..Options::default() };
            let found = certify(&linear, &x.clone().into(), &options, &Control::new()).unwrap();
            let radii = match attack {
                Attack::L2 => &found.radius_l2,
                Attack::L1 => &found.radius_l1,
                Attack::Linf => &found.radius_linf,
                _ => found.radius_ellipsoid.as_ref().unwrap(),
            };
            let witness = found.witness.as_ref().unwrap();
            let mut noise = rng(seed + 200);
            for i in 0..12 {
                let change: Vec<f64> =
                    witness.row(i).iter().zip(x.row(i)).map(|(a, b)| a - b).collect();
                assert_ne!(predict(&linear, witness.row(i)), found.predicted[i]);
                let slack = 1e-9 * (1.0 + radii[i]);
                assert!((size(attack, &change) - radii[i]).abs() <= slack, "{attack:?}");
                for _ in 0..50 {
                    let direction = normal(&mut noise, p);
                    let scale = 0.999 * radii[i] / size(attack, &direction);
                    let inside: Vec<f64> =
                        x.row(i).iter().zip(&direction).map(|(a, b)| a + scale * b).collect();
                    assert_eq!(predict(&linear, &inside), found.predicted[i], "{attack:?}");
                }
            }
        }
    }
}

#[test]
fn deletions_match_enumeration_of_all_subsets() {
    for seed in 0..20 {
        let (classes, p) = (2 + (seed as usize % 3), 7);
        let linear = model(seed, classes, p);
        let x = Dense::from_rows(10, p, normal(&mut rng(seed + 300), 10 * p));
        let values: Vec<f64> = normal(&mut rng(seed + 400), p).iter().map(|v| v.abs()).collect();
        for attack in [Attack::Deletions, Attack::DeletionValue] {
            let options =
                Options { values: Some(&values), witness: Some(attack), ..Options::default() };
            let found = certify(&linear, &x.clone().into(), &options, &Control::new()).unwrap();
            for i in 0..10 {
                let (mut fewest, mut cheapest) = (f64::INFINITY, f64::INFINITY);
                for set in 0u32..1 << p {
                    let row: Vec<f64> =
                        (0..p).map(|j| if set >> j & 1 == 1 { 0.0 } else { x[(i, j)] }).collect();
                    if predict(&linear, &row) != found.predicted[i] {
                        fewest = fewest.min(f64::from(set.count_ones()));
                        let cost = (0..p).filter(|j| set >> j & 1 == 1).map(|j| values[j]).sum();
                        cheapest = f64::min(cheapest, cost);
                    }
                }
                assert_eq!(found.deletions[i], fewest);
                assert!(
                    found.deletion_value[i] == cheapest
                        || (found.deletion_value[i] - cheapest).abs() < 1e-12
                );
                let witness = found.witness.as_ref().unwrap().row(i);
                if fewest.is_finite() {
                    assert_ne!(predict(&linear, witness), found.predicted[i]);
                } else {
                    assert!(witness.iter().all(|v| v.is_nan()));
                }
            }
        }
    }
}

/// With w = (3, 4), b = 0 the row (1, 1) scores 7: distances 7/5, 7/4 and 7/7.
#[test]
fn radii_in_two_dimensions_match_the_closed_form() {
    let linear = Linear::binary(vec![3.0, 4.0], 0.0, Link::None);
    let x = Dense::from_rows(1, 2, vec![1.0, 1.0]);
    let found = certify(&linear, &x.into(), &Options::default(), &Control::new()).unwrap();
    assert_eq!(found.margin, [7.0]);
    assert_eq!((found.radius_l2[0], found.radius_l1[0], found.radius_linf[0]), (1.4, 1.75, 1.0));
    // Deleting both features leaves a score of 0, which is class 0.
    assert_eq!(found.deletions, [2.0]);
}

#[test]
fn a_model_without_weights_never_flips() {
    let linear = Linear::binary(vec![0.0, 0.0], -1.0, Link::None);
    let x = Dense::from_rows(1, 2, vec![1.0, 1.0]);
    let options = Options { witness: Some(Attack::L2), ..Options::default() };
    let found = certify(&linear, &x.into(), &options, &Control::new()).unwrap();
    assert_eq!(found.radius_l2, [f64::INFINITY]);
    assert_eq!(found.deletions, [f64::INFINITY]);
    assert!(found.witness.unwrap().row(0)[0].is_nan());
}

#[test]
fn bad_input_is_named() {
    let linear = Linear::binary(vec![1.0, 0.0], -1.0, Link::None);
    let x = Matrix::from(Dense::from_rows(1, 2, vec![1.0, 1.0]));
    let wrong = [1.0];
    let options = Options { values: Some(&wrong), ..Options::default() };
    assert!(certify(&linear, &x, &options, &Control::new()).is_err());
    let options = Options { witness: Some(Attack::Ellipsoid), ..Options::default() };
    assert!(certify(&linear, &x, &options, &Control::new()).is_err());
    let narrow = Matrix::from(Dense::from_rows(1, 1, vec![1.0]));
    assert!(certify(&linear, &narrow, &Options::default(), &Control::new()).is_err());
}

/// Two planes, with reaches for odd seeds and small integers (so that ties happen) for every third.
fn two_planes(seed: u64, p: usize) -> Planes {
    let mut rng = rng(seed);
    let mut numbers = |n: usize| -> Vec<f64> {
        let drawn = normal(&mut rng, n);
        if seed.is_multiple_of(3) {
            drawn.iter().map(|v| (2.0 * v).round()).collect()
        } else {
            drawn
        }
    };
    let planes = vec![numbers(p), numbers(p)];
    let offsets = numbers(2);
    let reach = if seed % 2 == 1 { vec![0.5, 2.0] } else { Vec::new() };
    Planes { planes, offsets, reach, points: None }
}

fn predict_model(model: &Model, row: &[f64]) -> usize {
    let row = Matrix::from(Dense::from_rows(1, row.len(), row.to_vec()));
    model.predict(&row).unwrap()[0]
}

fn ask(model: &Model, x: &Dense, options: &Options<'_>) -> RowCertificates {
    certify_model(model, &x.clone().into(), options, &Control::new()).unwrap()
}

#[test]
fn planes_flip_at_the_witness_and_not_inside_the_radius() {
    for seed in 0..30 {
        let p = 1 + (seed as usize % 6);
        let model = Model::Planes(two_planes(seed, p));
        let x = Dense::from_rows(12, p, normal(&mut rng(seed + 100), 12 * p));
        let shape = |_: usize, d: &[f64]| -> Vec<f64> {
            d.iter().enumerate().map(|(j, v)| v * ((j + 1) as f64).powi(2)).collect()
        };
        for attack in [Attack::L2, Attack::L1, Attack::Linf, Attack::Ellipsoid] {
            let options =
                Options { ellipsoid: Some(&shape), witness: Some(attack), ..Options::default() };
            let found = ask(&model, &x, &options);
            let radii = match attack {
                Attack::L2 => &found.radius_l2,
                Attack::L1 => &found.radius_l1,
                Attack::Linf => &found.radius_linf,
                _ => found.radius_ellipsoid.as_ref().unwrap(),
            };
            let mut noise = rng(seed + 200);
            for i in 0..12 {
                let witness = found.witness.as_ref().unwrap().row(i);
                if radii[i].is_finite() {
                    assert_ne!(
                        predict_model(&model, witness),
                        found.predicted[i],
                        "{seed} {attack:?}"
                    );
                    let change: Vec<f64> =
                        witness.iter().zip(x.row(i)).map(|(a, b)| a - b).collect();
                    let slack = 1e-9 * (1.0 + radii[i]);
                    assert!((size(attack, &change) - radii[i]).abs() <= slack, "{seed} {attack:?}");
                } else {
                    assert!(witness.iter().all(|v| v.is_nan()));
                }
                for _ in 0..50 {
                    let direction = normal(&mut noise, p);
                    let scale = 0.999 * radii[i].min(100.0) / size(attack, &direction);
                    let inside: Vec<f64> =
                        x.row(i).iter().zip(&direction).map(|(a, b)| a + scale * b).collect();
                    assert_eq!(predict_model(&model, &inside), found.predicted[i], "{attack:?}");
                }
            }
        }
    }
}

#[test]
fn deletions_from_planes_match_enumeration_of_all_subsets() {
    for seed in 0..60 {
        let p = 1 + seed as usize % 8;
        let model = Model::Planes(two_planes(seed, p));
        let mut draws = rng(seed + 300);
        // Integers with integers: sums are exact and ties are common.
        let mut x = Dense::from_rows(8, p, normal(&mut draws, 8 * p));
        if seed.is_multiple_of(3) {
            x = Dense::from_fn(8, p, |i, j| (2.0 * x[(i, j)]).round());
        }
        let values: Vec<f64> =
            normal(&mut draws, p).iter().map(|v| if *v < -1.0 { 0.0 } else { v.abs() }).collect();
        for attack in [Attack::Deletions, Attack::DeletionValue] {
            let options =
                Options { values: Some(&values), witness: Some(attack), ..Options::default() };
            let found = ask(&model, &x, &options);
            for i in 0..8 {
                let (mut fewest, mut cheapest) = (f64::INFINITY, f64::INFINITY);
                for set in 0u32..1 << p {
                    let row: Vec<f64> =
                        (0..p).map(|j| if set >> j & 1 == 1 { 0.0 } else { x[(i, j)] }).collect();
                    if predict_model(&model, &row) != found.predicted[i] {
                        fewest = fewest.min(f64::from(set.count_ones()));
                        let cost = (0..p).filter(|j| set >> j & 1 == 1).map(|j| values[j]).sum();
                        cheapest = f64::min(cheapest, cost);
                    }
                }
                assert_eq!(found.deletions[i], fewest, "seed {seed}, row {i}");
                assert!(
                    found.deletion_value[i] == cheapest
                        || (found.deletion_value[i] - cheapest).abs() < 1e-12,
                    "seed {seed}, row {i}: {} against {cheapest}",
                    found.deletion_value[i]
                );
                let witness = found.witness.as_ref().unwrap().row(i);
                if fewest.is_finite() {
                    assert_ne!(predict_model(&model, witness), found.predicted[i]);
                } else {
                    assert!(witness.iter().all(|v| v.is_nan()));
                }
            }
        }
    }
}

/// With planes x = 0 and x = 2 on a line the boundary is x = 1, and x = 3 is 2 away from it.
#[test]
fn planes_on_a_line_match_the_closed_form() {
    let planes = Planes {
        planes: vec![vec![1.0], vec![1.0]],
        offsets: vec![0.0, 2.0],
        reach: vec![],
        points: None,
    };
    let x = Dense::from_rows(2, 1, vec![3.0, -0.5]);
    let found = ask(&Model::Planes(planes.clone()), &x, &Options::default());
    assert_eq!(found.predicted, [1, 0]);
    assert_eq!(found.radius_l2, [2.0, 1.5]);
    // Deleting the only feature leaves x = 0, which is class 0.
    assert_eq!(found.deletions, [1.0, f64::INFINITY]);
    // Reach 1 and 3: |x| = |x - 2| / 3 at x = 1/2 and x = -1.
    let reach = vec![1.0, 3.0];
    let found = ask(&Model::Planes(Planes { reach, ..planes.clone() }), &x, &Options::default());
    assert!((found.radius_l2[0] - 2.5).abs() < 1e-12 && (found.radius_l2[1] - 0.5).abs() < 1e-12);
    // The same plane twice: nothing ever leaves class 0.
    let same = Planes { offsets: vec![1.0, 1.0], ..planes };
    let found = ask(&Model::Planes(same), &x, &Options::default());
    assert_eq!((found.predicted, found.radius_l2), (vec![0, 0], vec![f64::INFINITY; 2]));
}

/// Where an attack meets both boundaries at once, only a step aside of their crossing flips.
#[test]
fn a_witness_is_found_where_both_boundaries_cross() {
    // u = 2 x0 and v = -2 x0 + x1: from (1, 0) the least L1 change leads to (0, 0).
    let planes = Planes {
        planes: vec![vec![0.0, 0.5], vec![2.0, -0.5]],
        offsets: vec![0.0, 0.0],
        reach: vec![],
        points: None,
    };
    let x = Dense::from_rows(1, 2, vec![1.0, 0.0]);
    let model = Model::Planes(planes);
    let options = Options { witness: Some(Attack::L1), ..Options::default() };
    let found = ask(&model, &x, &options);
    assert_eq!((found.predicted[0], found.radius_l1[0]), (0, 1.0));
    let witness = found.witness.unwrap();
    assert_eq!(predict_model(&model, witness.row(0)), 1);
    assert!((witness[(0, 0)] - 1.0).abs() + witness[(0, 1)].abs() < 1.0 + 1e-9);
}

#[test]
fn standardised_models_are_certified_in_raw_units() {
    for seed in 0..10 {
        let p = 3;
        let inner = [Model::Planes(two_planes(seed, p)), Model::Linear(self::model(seed, 2, p))];
        for inner in inner {
            let wrapped = Model::Standardized(Standardized {
                means: vec![1.0, -2.0, 0.5],
                scales: vec![2.0, 0.1, 10.0],
                model: Box::new(inner),
            });
            let x = Dense::from_rows(6, p, normal(&mut rng(seed + 7), 6 * p));
            let options = Options { witness: Some(Attack::L2), ..Options::default() };
            let found = ask(&wrapped, &x, &options);
            for i in (0..6).filter(|&i| found.radius_l2[i].is_finite()) {
                let witness = found.witness.as_ref().unwrap().row(i);
                // The raw form is rounded: a hair further along the same way.
                let beyond: Vec<f64> =
                    witness.iter().zip(x.row(i)).map(|(w, x)| w + 1e-7 * (w - x)).collect();
                assert_ne!(predict_model(&wrapped, &beyond), found.predicted[i]);
            }
        }
    }
}

#[test]
fn models_without_hyperplanes_are_refused_by_name() {
    let three = Planes {
        planes: vec![vec![1.0]; 3],
        offsets: vec![0.0, 1.0, 2.0],
        reach: vec![],
        points: None,
    };
    let x = Matrix::from(Dense::from_rows(1, 1, vec![1.0]));
    let error =
        certify_model(&Model::Planes(three), &x, &Options::default(), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("three or more classes"));
}

/// A wide row: the bound keeps the search short.
#[test]
fn deletions_from_wide_planes_are_found() {
    for seed in [1, 2, 4] {
        let model = Model::Planes(two_planes(seed, 60));
        let x = Dense::from_rows(20, 60, normal(&mut rng(seed + 100), 20 * 60));
        let options = Options { witness: Some(Attack::Deletions), ..Options::default() };
        let found = ask(&model, &x, &options);
        for i in (0..20).filter(|&i| found.deletions[i].is_finite()) {
            let witness = found.witness.as_ref().unwrap().row(i);
            assert_ne!(predict_model(&model, witness), found.predicted[i]);
        }
    }
}
