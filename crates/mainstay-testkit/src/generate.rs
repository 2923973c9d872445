//! Seeded data.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A generator with the same bits on every machine.
pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `n` independent standard normal numbers.
pub fn normal(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(rng)).collect()
}

/// Rows (row-major, n x p) from two normal clouds `distance` apart, and their labels +-1; both
/// classes occur for n >= 2.
pub fn two_clouds(seed: u64, n: usize, p: usize, distance: f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let labels: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let mut rows = normal(&mut rng, n * p);
    let direction = normal(&mut rng, p);
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (i, y) in labels.iter().enumerate() {
        for (v, d) in rows[i * p..(i + 1) * p].iter_mut().zip(&direction) {
            *v += 0.5 * distance * y * d / length;
        }
    }
    (rows, labels)
}
