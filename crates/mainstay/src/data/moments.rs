//! Means and deviations of features that arrive in chunks.

use super::Standardize;
use crate::linalg::Matrix;

/// Weight, mean and sum of squared distances from the mean of every column, merged chunk by chunk.
///
/// # Reference
///
/// Chan, Golub, LeVeque (1983), *Algorithms for Computing the Sample Variance*, The American Statistician 37, Eq. (2.1).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Moments {
    weight: Vec<f64>,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Adds rows with their weights; missing cells (NaN) do not count.
    pub fn add(&mut self, x: &Matrix, weights: Option<&[f64]>) {
        let next = Self::of(x, weights);
        if self.mean.is_empty() {
            *self = next;
            return;
        }
        for j in 0..self.mean.len() {
            let (a, b) = (self.weight[j], next.weight[j]);
            if b == 0.0 {
                continue;
            }
            let apart = next.mean[j] - self.mean[j];
            let share = b / (a + b);
            self.squares[j] += next.squares[j] + apart * apart * a * share;
            self.mean[j] += apart * share;
            self.weight[j] = a + b;
        }
    }

    fn of(x: &Matrix, weights: Option<&[f64]>) -> Self {
        let p = x.ncols();
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let all: f64 = (0..x.nrows()).map(weight).sum();
        let (mut total, mut mean) = (vec![all; p], vec![0.0; p]);
        for (i, row) in x.rows().enumerate() {
            for (j, v) in row.entries() {
                if v.is_nan() {
                    total[j] -= weight(i);
                } else {
                    mean[j] += weight(i) * v;
                }
            }
        }
        for (m, w) in mean.iter_mut().zip(&total) {
            *m = if *w > 0.0 { *m / w } else { 0.0 };
        }
        // Entries that are not stored are zeros: each contributes mean^2.
        let (mut squares, mut absent) = (vec![0.0; p], total.clone());
        for (i, row) in x.rows().enumerate() {
            for (j, v) in row.entries().filter(|(_, v)| !v.is_nan()) {
                squares[j] += weight(i) * (v - mean[j]) * (v - mean[j]);
                absent[j] -= weight(i);
            }
        }
        for (j, square) in squares.iter_mut().enumerate() {
            *square += absent[j].max(0.0) * mean[j] * mean[j];
        }
        Self { weight: total, mean, squares }
    }

    /// Means and scales as [`Standardize::learn`] gives them, but for rounding; sparse features are not centred.
    pub fn finish(self, sparse: bool) -> Standardize {
        let scale = |j: usize| {
            let (weight, mean) = (self.weight[j], self.mean[j]);
            let sd = if weight > 0.0 { (self.squares[j] / weight).sqrt() } else { 0.0 };
            let constant = sd <= 1e-12 * mean.abs().max(1.0) || !sd.is_finite();
            if constant { 1.0 } else { sd }
        };
        let scales = (0..self.mean.len()).map(scale).collect();
        let means = if sparse { vec![0.0; self.mean.len()] } else { self.mean };
        Standardize { means, scales }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    #[test]
    fn moments_of_chunks_are_those_of_the_whole() {
        let entry = |i: usize, j: usize| match (i * 7 + j * 3) % 5 {
            0 => 0.0,
            1 if j == 2 => f64::NAN,
            _ => 1e3 * j as f64 + ((i * (j + 2)) as f64 * 0.31).sin(),
        };
        let x = Dense::from_fn(60, 4, entry);
        let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 4)).collect();
        let expected = Standardize::learn(&x.clone().into(), Some(&weights));
        for size in [1, 7, 60] {
            for sparse in [false, true] {
                let mut moments = Moments::default();
                for start in (0..60).step_by(size) {
                    let rows: Vec<usize> = (start..60.min(start + size)).collect();
                    let part: Matrix = x.select_rows(&rows).into();
                    let stored = part.compressed().filter(|_| sparse).map(Matrix::Sparse);
                    let own: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
                    moments.add(stored.as_ref().unwrap_or(&part), Some(&own));
                }
                let found = moments.finish(false);
                for j in 0..4 {
                    let (a, b) = (found.means[j], expected.means[j]);
                    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
                    let (a, b) = (found.scales[j], expected.scales[j]);
                    assert!((a / b - 1.0).abs() <= 1e-9, "{a} {b}");
                }
            }
        }
    }
}
