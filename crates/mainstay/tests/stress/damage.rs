//! Each kind of damage does what it says.

use super::*;

#[test]
fn level_zero_changes_nothing_and_a_seed_gives_the_same_bits() {
    for classes in [2, 3] {
        let (x, y) = sample(60, classes, 1);
        let s = scaling(&x);
        let all: Vec<usize> = (0..60).collect();
        assert_eq!(few_samples(&y, 0.0, 5).unwrap(), all);
        assert_eq!(unlucky_split(&x, &y, 0.0, 5).unwrap(), all);
        assert_eq!(label_noise(&y, classes, 0.0, 5).unwrap(), y);
        assert_eq!(
            outliers(&x, &y, classes, 0.0, OutlierKind::Both, 5).unwrap(),
            (x.clone(), y.clone())
        );
        for damage in [missing_features, corrupted_features, measurement_error] {
            assert_eq!(damage(&x, &s, 0.0, 5).unwrap(), x);
            let once = damage(&x, &s, 0.4, 5).unwrap();
            assert_eq!(once, damage(&x, &s, 0.4, 5).unwrap());
            assert_ne!(once, x);
        }
        for seed in 0..4 {
            let a = outliers(&x, &y, classes, 0.2, OutlierKind::Both, seed).unwrap();
            assert_eq!(a, outliers(&x, &y, classes, 0.2, OutlierKind::Both, seed).unwrap());
            assert_ne!(a, outliers(&x, &y, classes, 0.2, OutlierKind::Both, seed + 9).unwrap());
        }
        assert_ne!(
            missing_features(&x, &s, 0.4, 5).unwrap(),
            missing_features(&x, &s, 0.4, 6).unwrap()
        );
    }
}

#[test]
fn few_samples_and_unlucky_split_keep_the_stated_share_of_every_class() {
    for classes in [2, 3] {
        let (x, y) = sample(97, classes, 2);
        for level in [0.1, 0.5, 0.9, 0.99] {
            for kept in
                [few_samples(&y, level, 3).unwrap(), unlucky_split(&x, &y, level, 3).unwrap()]
            {
                assert!(kept.is_sorted());
                for k in 0..classes {
                    let all = y.iter().filter(|c| **c == k).count();
                    let gone = ((level * all as f64).round() as usize).max(1).min(all - 1);
                    let left = kept.iter().filter(|i| y[**i] == k).count();
                    assert_eq!(left, all - gone);
                }
            }
        }
        let (half, most) = (few_samples(&y, 0.5, 3).unwrap(), few_samples(&y, 0.9, 3).unwrap());
        assert!(most.iter().all(|i| half.contains(i)));
    }
}

/// In one dimension the only directions are up and down.
#[test]
fn an_unlucky_split_misses_one_side() {
    let x = Dense::from_fn(40, 1, |i, _| ((i * 17) % 40) as f64);
    let y: Vec<usize> = (0..40).map(|i| i % 2).collect();
    let mut sides = [false; 2];
    for seed in 0..12 {
        let kept = unlucky_split(&x, &y, 0.5, seed).unwrap();
        for k in 0..2 {
            let values = |keep: bool| {
                (0..40)
                    .filter(|i| y[*i] == k && kept.contains(i) == keep)
                    .map(|i| x[(i, 0)])
                    .collect::<Vec<_>>()
            };
            let (stay, gone) = (values(true), values(false));
            let largest = |v: &[f64]| v.iter().fold(f64::MIN, |a, b| a.max(*b));
            let smallest = |v: &[f64]| v.iter().fold(f64::MAX, |a, b| a.min(*b));
            let below = largest(&stay) < smallest(&gone);
            assert!(below || smallest(&stay) > largest(&gone));
            sides[usize::from(below)] = true;
        }
    }
    assert_eq!(sides, [true, true]);
}

#[test]
fn label_noise_flips_exactly_the_stated_share_and_more_of_the_same_at_higher_levels() {
    for classes in [2, 3, 5] {
        let (_, y) = sample(200, classes, 3);
        let wrong = |level: f64| {
            let noisy = label_noise(&y, classes, level, 8).unwrap();
            assert!(noisy.iter().all(|k| *k < classes));
            (0..200).filter(|&i| noisy[i] != y[i]).map(|i| (i, noisy[i])).collect::<Vec<_>>()
        };
        assert_eq!(wrong(0.1).len(), 20);
        assert_eq!(wrong(0.001).len(), 1);
        assert_eq!(wrong(1.0).len(), 200);
        let many = wrong(0.3);
        assert!(wrong(0.1).iter().all(|flip| many.contains(flip)));
    }
}

/// Against the definition, on classes whose centres and spread are known exactly.
#[test]
fn outliers_lie_where_the_paper_puts_them() {
    // Class 0 at -1 and 1 (centre 0), class 1 at 3 and 5 (centre 4): deviation 1 within both.
    let x = Dense::from_fn(400, 2, |i, _| [-1.0, 1.0, 3.0, 5.0][i % 4]);
    let y: Vec<usize> = (0..400).map(|i| usize::from(i % 4 > 1)).collect();
    let (clustered, labels) = outliers(&x, &y, 2, 0.25, OutlierKind::Clustered, 4).unwrap();
    let hit: Vec<usize> = (0..400).filter(|&i| changed(&x, &clustered, i) > 0).collect();
    assert_eq!(hit.len(), 100);
    for &i in &hit {
        assert_eq!(labels[i], 1);
        // Middle 2, ten times the way to centre 0: 2 - 20 = -18; deviation sqrt(0.001).
        assert!((clustered[(i, 0)] + 18.0).abs() < 5.0 * 0.001_f64.sqrt());
    }
    assert!((0..400).all(|i| hit.contains(&i) || labels[i] == y[i]));
    let (spread, labels) = outliers(&x, &y, 2, 1.0, OutlierKind::Spread, 4).unwrap();
    assert_eq!(labels, y);
    for k in 0..2 {
        let own: Vec<f64> = (0..400).filter(|&i| y[i] == k).map(|i| spread[(i, 1)]).collect();
        let mean = own.iter().sum::<f64>() / 200.0;
        let variance = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 200.0;
        // 200 normal draws of deviation 10: four deviations of the mean and of the variance.
        assert!((mean - 4.0 * k as f64).abs() < 4.0 * 10.0 / 200.0_f64.sqrt());
        assert!((variance / 100.0 - 1.0).abs() < 4.0 * (2.0_f64 / 200.0).sqrt());
    }
    let (_, both) = outliers(&x, &y, 2, 0.5, OutlierKind::Both, 4).unwrap();
    // Half of the 200 outliers are clustered; those that were of class 0 change label.
    let flipped = (0..400).filter(|&i| both[i] != y[i]).count();
    assert!((25..=75).contains(&flipped), "{flipped}");
}

#[test]
fn missing_and_corrupted_features_hit_the_stated_number_in_every_row() {
    let (x, _) = sample(150, 2, 5);
    let s = scaling(&sample(90, 2, 6).0);
    for level in [0.1, 0.25, 0.5, 0.8, 1.0] {
        let missing = missing_features(&x, &s, level, 2).unwrap();
        let noisy = corrupted_features(&x, &s, level, 2).unwrap();
        let count = spoiled(level, 4);
        assert_eq!(count, ((level * 4.0).round() as usize).max(1));
        for i in 0..150 {
            assert_eq!(changed(&x, &missing, i), count);
            assert_eq!(changed(&x, &noisy, i), count);
            for j in 0..4 {
                let lost = missing[(i, j)] != x[(i, j)];
                assert!(!lost || missing[(i, j)] == s.means[j]);
                // The same features, whether they are lost or noisy.
                assert_eq!(lost, noisy[(i, j)] != x[(i, j)]);
                let apart = (noisy[(i, j)] - s.means[j]).abs();
                assert!(!lost || apart <= 1.7321 * s.scales[j]);
            }
        }
    }
}

/// With all features replaced the noise has the stated mean and deviation; a draw of 6000 numbers.
#[test]
fn noise_and_measurement_error_have_the_stated_size() {
    let x = Dense::from_fn(6000, 3, |i, j| (i + j) as f64 / 100.0);
    let s = Standardize { means: vec![1.0, -2.0, 0.0], scales: vec![0.1, 1.0, 30.0] };
    let noisy = corrupted_features(&x, &s, 1.0, 1).unwrap();
    for level in [0.3, 2.0] {
        let moved = measurement_error(&x, &s, level, 1).unwrap();
        for j in 0..3 {
            let deviation = |m: &Dense, centre: &dyn Fn(usize) -> f64| {
                let squares: f64 = (0..6000).map(|i| (m[(i, j)] - centre(i)).powi(2)).sum();
                (squares / 6000.0).sqrt() / s.scales[j]
            };
            assert!((deviation(&noisy, &|_| s.means[j]) - 1.0).abs() < 0.03);
            assert!((deviation(&moved, &|i| x[(i, j)]) / level - 1.0).abs() < 0.05);
        }
        // Never outside the ellipsoid.
        for i in 0..6000 {
            let place: f64 =
                (0..3).map(|j| ((moved[(i, j)] - x[(i, j)]) / s.scales[j]).powi(2)).sum();
            assert!(place.sqrt() <= level * 5.0_f64.sqrt() * (1.0 + 1e-9));
        }
    }
}

/// Against every subset of features, for two and three classes.
#[test]
fn adversarial_deletion_leaves_the_smallest_lead_of_all_subsets() {
    for classes in [2_usize, 3] {
        let (x, y) = sample(40, classes, 7);
        let s = scaling(&x);
        let planes = if classes == 2 { 1 } else { classes };
        let coef: Vec<Vec<f64>> = (0..planes)
            .map(|k| {
                (0..4).map(|j| f64::from((k * 5 + j * 3) as i32 % 7 - 3) / s.scales[j]).collect()
            })
            .collect();
        let model = Linear { intercept: vec![0.3; planes], coef, link: Link::None };
        let labels: Vec<Option<usize>> = y.iter().map(|k| Some(*k)).collect();
        let set = Deletions::new(vec![1.0; 4], 2.0).unwrap();
        let lead = |row: &[f64], k: usize| {
            let score = |c: usize| vector::dot(&model.coef[c], row) + model.intercept[c];
            if planes == 1 {
                if k == 1 { score(0) } else { -score(0) }
            } else {
                (0..planes)
                    .filter(|c| *c != k)
                    .map(|c| score(k) - score(c))
                    .fold(f64::MAX, f64::min)
            }
        };
        let damaged = adversarial_deletion(&x, &labels, &model, &s, &set, Attack::Exact).unwrap();
        for i in 0..40 {
            let mut least = f64::MAX;
            for mask in 0..16_u32 {
                if mask.count_ones() <= 2 {
                    let row: Vec<f64> = (0..4)
                        .map(|j| if mask >> j & 1 == 1 { s.means[j] } else { x[(i, j)] })
                        .collect();
                    least = least.min(lead(&row, y[i]));
                }
            }
            assert!(changed(&x, &damaged, i) <= 2);
            assert!((lead(damaged.row(i), y[i]) - least).abs() < 1e-9 * (1.0 + least.abs()));
        }
        // A class the model does not know is left alone.
        let unknown = vec![None; 40];
        assert_eq!(adversarial_deletion(&x, &unknown, &model, &s, &set, Attack::Exact).unwrap(), x);
    }
}

#[test]
fn levels_that_mean_nothing_are_refused() {
    let (x, y) = sample(20, 2, 1);
    let s = scaling(&x);
    for level in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        assert!(few_samples(&y, level, 0).is_err());
        assert!(label_noise(&y, 2, level, 0).is_err());
        assert!(missing_features(&x, &s, level, 0).is_err());
    }
    assert!(few_samples(&y, 1.0, 0).is_err());
    assert!(measurement_error(&x, &s, 1.5, 0).is_ok());
    assert!(measurement_error(&x, &s, f64::INFINITY, 0).is_err());
    let few = Standardize { means: vec![0.0; 3], scales: vec![1.0; 3] };
    assert!(missing_features(&x, &few, 0.5, 0).is_err());
    assert!(label_noise(&[0, 2], 2, 0.5, 0).is_err());
    assert!(Threat::find("nonsense").unwrap_err().to_string().contains("label_noise"));
    for threat in Threat::ALL {
        assert_eq!(Threat::find(threat.name()).unwrap(), threat);
        assert!(threat.default_levels().is_sorted());
        threat.default_levels().iter().for_each(|l| threat.check_level(*l).unwrap());
    }
}
