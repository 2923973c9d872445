//! Models of one plane per class: the nearest decides.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};

/// One plane per class; a row belongs to the class whose plane, or whose training points projected on
/// it, is nearest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planes {
    /// Unit normals, one per class.
    pub planes: Vec<Vec<f64>>,
    /// Class k lies on `planes[k]` x = `offsets[k]`.
    pub offsets: Vec<f64>,
    /// Distances to a class are divided by its reach; empty means 1 each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<f64>,
    /// Training points of every class projected on its plane, where these decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Vec<Vec<f64>>>>,
}

impl Planes {
    /// Normal and offset of every plane.
    pub(crate) fn borrowed(&self) -> Vec<(&[f64], f64)> {
        self.planes.iter().map(Vec::as_slice).zip(self.offsets.iter().copied()).collect()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.planes.first().map_or(0, Vec::len)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.planes.len()
    }

    /// Two classes: distance to plane 0 less distance to plane 1. More: minus the distance to every
    /// class.
    pub fn decision(&self, x: &Matrix) -> Dense {
        let classes = self.planes.len();
        let mut distances = match &self.points {
            Some(points) if classes > 2 => nearest(x, points),
            _ => {
                let scores: Vec<Vec<f64>> = self.planes.iter().map(|w| x.mul_vec(w)).collect();
                Dense::from_fn(x.nrows(), classes, |i, k| (scores[k][i] - self.offsets[k]).abs())
            }
        };
        for i in 0..if self.reach.is_empty() { 0 } else { distances.nrows() } {
            distances.row_mut(i).iter_mut().zip(&self.reach).for_each(|(d, r)| *d /= r);
        }
        if classes == 2 {
            Dense::from_fn(x.nrows(), 1, |i, _| distances[(i, 0)] - distances[(i, 1)])
        } else {
            Dense::from_fn(x.nrows(), classes, |i, k| -distances[(i, k)])
        }
    }

    /// Checks lengths and finiteness.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("planes: {what}")));
        let p = self.n_features();
        if self.planes.len() < 2 || self.planes.len() != self.offsets.len() {
            return bad("one offset per plane and at least two planes are needed");
        }
        if p == 0 || self.planes.iter().any(|w| w.len() != p) {
            return bad("normals differ in length");
        }
        if self.planes.iter().flatten().chain(&self.offsets).any(|v| !v.is_finite()) {
            return bad("a number is not finite");
        }
        let positive = self.reach.iter().all(|r| *r > 0.0 && r.is_finite());
        if !self.reach.is_empty() && (self.reach.len() != self.planes.len() || !positive) {
            return bad("one positive reach per plane is needed");
        }
        if let Some(points) = &self.points {
            let good = |class: &Vec<Vec<f64>>| {
                !class.is_empty()
                    && class.iter().all(|x| x.len() == p && x.iter().all(|v| v.is_finite()))
            };
            if points.len() != self.planes.len() || !points.iter().all(good) {
                return bad("every class needs projected points of the right length");
            }
        }
        Ok(())
    }
}

/// Distance of every row to the nearest point of every class.
fn nearest(x: &Matrix, points: &[Vec<Vec<f64>>]) -> Dense {
    let rows: Vec<Vec<f64>> = (0..x.nrows())
        .into_par_iter()
        .map(|i| {
            let mut row = vec![0.0; x.ncols()];
            x.row(i).add_scaled_to(1.0, &mut row);
            points.iter().map(|class| distance(&row, class)).collect()
        })
        .collect();
    Dense::from_fn(rows.len(), points.len(), |i, k| rows[i][k])
}

fn distance(row: &[f64], class: &[Vec<f64>]) -> f64 {
    let squared =
        |point: &Vec<f64>| -> f64 { point.iter().zip(row).map(|(a, b)| (a - b) * (a - b)).sum() };
    let (best, value) = class
        .iter()
        .enumerate()
        .map(|(k, point)| (k, squared(point)))
        .fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
    if value.is_finite() && value > 1e-300 {
        return value.sqrt();
    }
    // Squares that overflow or vanish: once more with care.
    let difference: Vec<f64> = class[best].iter().zip(row).map(|(a, b)| a - b).collect();
    vector::norm(&difference)
}
