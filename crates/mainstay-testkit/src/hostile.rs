//! Random problems of the nastiest kinds: numbers of all sizes, rows and columns that repeat, hardly any rows.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::generate::{normal, rng};

/// A problem on plain slices.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// Rows, one after the other.
    pub x: Vec<f64>,
    /// Number of columns.
    pub columns: usize,
    /// Class of every row; all classes occur.
    pub labels: Vec<usize>,
    /// Weight of every row.
    pub weights: Vec<f64>,
}

impl Hostile {
    /// The problem of a seed: `classes` classes, numbers and weights at most `decades` decades from 1.
    pub fn new(seed: u64, classes: usize, decades: f64) -> Self {
        let mut rng = rng(seed);
        let n = classes + rng.random_range(0..12);
        let columns = *pick(&mut rng, &[1, 2, 3, 5, 30]);
        let mut x = normal(&mut rng, n * columns);
        spoil_rows(&mut rng, &mut x, columns);
        spoil_columns(&mut rng, &mut x, columns);
        scale(&mut rng, &mut x, columns, decades);
        let labels =
            (0..n).map(|i| if i < classes { i } else { rng.random_range(0..classes) }).collect();
        let spread = *pick(&mut rng, &[0.0, 0.0, 1.0, 6.0, decades.min(100.0)]);
        let weights = (0..n).map(|_| power(&mut rng, spread)).collect();
        Self { x, columns, labels, weights }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.labels.len()
    }
}

fn pick<'a, T>(rng: &mut ChaCha8Rng, choices: &'a [T]) -> &'a T {
    &choices[rng.random_range(0..choices.len())]
}

/// A power of ten, `decades` from 1 at most.
fn power(rng: &mut ChaCha8Rng, decades: f64) -> f64 {
    10f64.powf(decades * rng.random_range(-1.0..1.0))
}

/// Rows that repeat, exactly or nearly, and rows far out.
fn spoil_rows(rng: &mut ChaCha8Rng, x: &mut [f64], columns: usize) {
    let n = x.len() / columns;
    for i in 1..n {
        let first = x[..columns].to_vec();
        let row = &mut x[i * columns..(i + 1) * columns];
        match rng.random_range(0..8) {
            0 => row.copy_from_slice(&first),
            1 => row.iter_mut().zip(&first).for_each(|(v, f)| *v = f * (1.0 + 1e-14)),
            2 => row.iter_mut().for_each(|v| *v *= 1e5),
            _ => {}
        }
    }
}

/// Columns that are constant, far from zero, or (nearly) the first one again.
fn spoil_columns(rng: &mut ChaCha8Rng, x: &mut [f64], columns: usize) {
    for j in 0..columns {
        let kind = rng.random_range(0..10);
        let far = 2f64.powi(rng.random_range(10..50));
        for row in x.chunks_exact_mut(columns) {
            match kind {
                0 => row[j] = 1.0,
                1 => row[j] = row[0],
                2 => row[j] = row[0] * (1.0 + 1e-13) + 1e-13 * row[j],
                3 => row[j] = row[j].round() + far,
                4 => row[j] = row[j].round(),
                _ => {}
            }
        }
    }
}

/// All numbers, or every column, in units of any size.
fn scale(rng: &mut ChaCha8Rng, x: &mut [f64], columns: usize, decades: f64) {
    let units: Vec<f64> = match rng.random_range(0..4) {
        0 => vec![power(rng, decades); columns],
        1 => (0..columns).map(|_| power(rng, decades)).collect(),
        2 => (0..columns).map(|_| power(rng, 7.0)).collect(),
        _ => vec![1.0; columns],
    };
    for row in x.chunks_exact_mut(columns) {
        row.iter_mut().zip(&units).for_each(|(v, u)| *v *= u);
    }
}

/// Five rows of three classes whose sizes differ by five decades and whose columns nearly agree: softmax steps that
/// are not held back never return from there.
pub fn heavy_tailed(seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    let mut labels = Vec::new();
    for i in 0..5 {
        let size = 10f64.powf(rng.random_range(-0.5..5.0));
        x.extend(normal(&mut rng, 3).iter().map(|v| size * (1.0 + 0.05 * v)));
        labels.push(if i < 3 { i } else { rng.random_range(0..3) });
    }
    (x, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_finite_and_has_all_classes() {
        for seed in 0..500 {
            let problem = Hostile::new(seed, 3, 300.0);
            assert_eq!(problem.x.len(), problem.n() * problem.columns);
            assert!(problem.x.iter().all(|v| v.is_finite()), "seed {seed}");
            assert!((0..3).all(|class| problem.labels.contains(&class)));
            assert!(problem.weights.iter().all(|w| *w > 0.0));
        }
    }
}
