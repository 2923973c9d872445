//! A problem on plain slices; [`super::nasty`] draws them.

use rand::RngExt;

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
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.labels.len()
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
