//! Random data sets of the papers, the same bits on every machine.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::error::{Result, require};
use crate::linalg::Dense;

/// Where the outliers of [`make_outliers`] lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outliers {
    /// There are none.
    None,
    /// Close together, far on the negative side, labelled positive.
    Clustered,
    /// Around both centres with ten times the deviation.
    Spread,
}

/// A random vector of length 1; drawn again if it is so short that its direction is rounding error.
fn unit_vector(p: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    const SHORTEST: f64 = 1e-8;
    loop {
        let d: Vec<f64> = (0..p).map(|_| rng.random_range(-1.0..1.0)).collect();
        let length = crate::linalg::vector::norm(&d);
        if length > SHORTEST {
            return d.iter().map(|v| v / length).collect();
        }
    }
}

/// Two normal classes one unit apart, with outliers (conic SVM paper, section 5.1.1).
///
/// The centres are `$\pm d/2$` with a random unit vector `$d$`, the deviation `sigma`. A share `fraction` of the
/// rows are outliers: clustered at ten times the negative centre with variance `$0.001\sigma^2$` and label 1,
/// or spread around both centres with variance `$100\sigma^2$`.
pub fn make_outliers(
    n: usize,
    p: usize,
    sigma: f64,
    kind: Outliers,
    fraction: f64,
    seed: u64,
) -> Result<Dataset> {
    require(n >= 2, "n", n, "at least 2")?;
    require(p >= 1, "p", p, "at least 1")?;
    super::generate::room(n, p)?;
    require(sigma >= 0.0 && sigma.is_finite(), "sigma", sigma, "finite and not negative")?;
    require((0.0..1.0).contains(&fraction), "fraction", fraction, "in [0, 1)")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let direction = unit_vector(p, &mut rng);
    both_classes(n, |labels, rows| {
        for label in labels.iter_mut() {
            let outlier = kind != Outliers::None && rng.random::<f64>() < fraction;
            *label = usize::from(rng.random::<f64>() < 0.5);
            let mut centre = *label as f64 - 0.5;
            let mut deviation = sigma;
            match kind {
                Outliers::Clustered if outlier => {
                    (*label, centre, deviation) = (1, -5.0, sigma * 0.001_f64.sqrt());
                }
                Outliers::Spread if outlier => deviation = 10.0 * sigma,
                _ => {}
            }
            for d in &direction {
                let noise: f64 = StandardNormal.sample(&mut rng);
                rows.push(centre * d + deviation * noise);
            }
        }
    })
}

/// Separable rows, uniform in the cube `$[-1, 1]^p$`, with every label flipped with probability `tau`
/// (conic SVM paper, Appendix B). The hyperplane, intercept included, is uniform too.
pub fn make_label_noise(n: usize, p: usize, tau: f64, seed: u64) -> Result<Dataset> {
    require(n >= 2, "n", n, "at least 2")?;
    require(p >= 1, "p", p, "at least 1")?;
    super::generate::room(n, p)?;
    require((0.0..=0.5).contains(&tau), "tau", tau, "between 0 and 0.5")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    both_classes(n, |labels, rows| {
        let plane: Vec<f64> = (0..=p).map(|_| rng.random_range(-1.0..1.0)).collect();
        for label in labels.iter_mut() {
            let mut score = plane[p];
            for w in &plane[..p] {
                let v = rng.random_range(-1.0..1.0);
                score += w * v;
                rows.push(v);
            }
            *label = usize::from((score >= 0.0) != (rng.random::<f64>() < tau));
        }
    })
}

/// The sanity check of the missing-features paper (section 4): 1000 standard normal rows with 20 features, labelled by a
/// random plane, every label then flipped with probability 0.2, and the resulting label (as -1 or 1) twice more as
/// features 20 and 21.
///
/// A classifier that leans on the two copies is lost when both are missing.
pub fn make_separable_copies(seed: u64) -> Result<Dataset> {
    const ROWS: usize = 1000;
    const FEATURES: usize = 20;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    both_classes(ROWS, |labels, rows| {
        let draw = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            (0..FEATURES).map(|_| StandardNormal.sample(rng)).collect()
        };
        let plane = draw(&mut rng);
        for label in labels.iter_mut() {
            let row = draw(&mut rng);
            let side = crate::linalg::vector::dot(&row, &plane) > 0.0;
            let flipped = rng.random::<f64>() < 0.2;
            *label = usize::from(side != flipped);
            rows.extend(row);
            rows.extend([2.0 * *label as f64 - 1.0; 2]);
        }
    })
}

/// Draws until both classes occur.
fn both_classes(n: usize, mut draw: impl FnMut(&mut Vec<usize>, &mut Vec<f64>)) -> Result<Dataset> {
    loop {
        let (mut labels, mut rows) = (vec![0; n], Vec::new());
        draw(&mut labels, &mut rows);
        if labels.contains(&0) && labels.contains(&1) {
            let p = rows.len() / n;
            return Dataset::new(Dense::from_rows(n, p, rows).into(), labels, 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_lie_where_they_should() {
        let data = make_outliers(4000, 3, 0.2, Outliers::Clustered, 0.1, 3).unwrap();
        let norm = |i: usize| data.features().row(i).norm_sq().sqrt();
        let far: Vec<usize> = (0..4000).filter(|&i| norm(i) > 4.0).collect();
        assert!((300..500).contains(&far.len()));
        assert!(far.iter().all(|&i| data.labels()[i] == 1 && (norm(i) - 5.0).abs() < 0.1));
        let spread = make_outliers(4000, 3, 0.2, Outliers::Spread, 0.1, 3).unwrap();
        let wide = (0..4000).filter(|&i| spread.features().row(i).norm_sq() > 4.0).count();
        assert!((200..450).contains(&wide));
        let again = make_outliers(4000, 3, 0.2, Outliers::Spread, 0.1, 3).unwrap();
        assert_eq!(spread.features(), again.features());
    }

    #[test]
    fn label_noise_flips_the_asked_share() {
        let clean = make_label_noise(5000, 4, 0.0, 1).unwrap();
        let noisy = make_label_noise(5000, 4, 0.2, 1).unwrap();
        assert_eq!(clean.features(), noisy.features());
        let flips = clean.labels().iter().zip(noisy.labels()).filter(|(a, b)| a != b).count();
        assert!((900..1100).contains(&flips), "{flips}");
        assert!(make_label_noise(5, 0, 0.1, 1).is_err());
    }
}
