//! Radii and witnesses against `predict` itself: the witness flips, and nothing smaller does.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests stop at the first surprise"
)]

use mainstay::Control;
use mainstay::certify::{Attack, Options, certify};
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Linear, Link, choose};
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
