//! The baseline of Globerson and Roweis (2006): an SVM that expects any `k` features of every row to be deleted.

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::vector;
use mainstay::model::{Linear, Link};

use crate::error::Result;

/// `$\min \tfrac12\|u\|^2 + C\sum_i \max_{|J| \le k} [1 - y_i u^\top x_i^{(-J)}]_+$` with `$u = (w, b)$`, where the constant feature is
/// never deleted.
pub(super) struct GlobersonRoweis {
    /// How many features may go.
    pub(super) k: usize,
    /// Weight of the losses.
    pub(super) c: f64,
}

/// Relative duality gap to reach, and passes at most.
const TOL: f64 = 1e-3;
const PASSES: usize = 300;

impl GlobersonRoweis {
    /// Block-coordinate Frank-Wolfe on the dual: every row keeps a mixture of its damaged copies; a step moves it towards the
    /// copy that hurts most now, with exact line search. One pass costs a partial sort of every row.
    ///
    /// Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), *Block-Coordinate Frank-Wolfe Optimization for Structural SVMs*,
    /// Algorithm 4; their lambda n is our 1/C.
    pub(super) fn fit(&self, data: &Dataset, control: &Control) -> Result<Linear> {
        // Long because the step reads beside the state that it changes.
        let (n, p) = (data.len(), data.n_features());
        let x = data.features().to_dense();
        let y = data.signs(1);
        // Signed rows with the constant last.
        let rows: Vec<Vec<f64>> =
            (0..n).map(|i| x.row(i).iter().chain(&[1.0]).map(|v| y[i] * v).collect()).collect();
        let mut w = vec![0.0; p + 1];
        let mut own = vec![vec![0.0; p + 1]; n];
        let mut level = vec![0.0; n];
        for _ in 0..PASSES {
            control.check()?;
            let mut gap = 0.0;
            for i in 0..n {
                let mut copy = self.worst(&rows[i], &w);
                let mut target = self.c;
                if 1.0 - vector::dot(&copy, &w) <= 0.0 {
                    // No deletion costs anything: the row's share is nothing.
                    copy.fill(0.0);
                    target = 0.0;
                }
                vector::scale(&mut copy, self.c);
                let mut step = copy;
                vector::axpy(-1.0, &own[i], &mut step);
                let rise = target - level[i];
                let slope = rise - vector::dot(&step, &w);
                gap += slope;
                let length = vector::norm_sq(&step);
                if slope <= 0.0 || length == 0.0 {
                    continue;
                }
                let share = (slope / length).min(1.0);
                vector::axpy(share, &step, &mut own[i]);
                vector::axpy(share, &step, &mut w);
                level[i] += share * rise;
            }
            let dual = level.iter().sum::<f64>() - 0.5 * vector::norm_sq(&w);
            if gap <= TOL * dual.abs().max(1e-12) {
                break;
            }
        }
        let b = w.pop().unwrap_or(0.0);
        Ok(Linear::binary(w, b, Link::None))
    }

    /// The row without the `k` features that help it most.
    fn worst(&self, row: &[f64], w: &[f64]) -> Vec<f64> {
        let last = row.len() - 1;
        let mut helpful: Vec<usize> = (0..last).filter(|&j| row[j] * w[j] > 0.0).collect();
        let help = |j: usize| row[j] * w[j];
        if helpful.len() > self.k && self.k > 0 {
            helpful.select_nth_unstable_by(self.k - 1, |&a, &b| help(b).total_cmp(&help(a)));
        }
        let mut copy = row.to_vec();
        helpful.iter().take(self.k).for_each(|&j| copy[j] = 0.0);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay::linalg::Dense;

    fn objective(method: &GlobersonRoweis, data: &Dataset, model: &Linear) -> f64 {
        let y = data.signs(1);
        let mut u = model.coef[0].clone();
        u.push(model.intercept[0]);
        let x = data.features().to_dense();
        let loss: f64 = (0..data.len())
            .map(|i| {
                let row: Vec<f64> = x.row(i).iter().chain(&[1.0]).map(|v| y[i] * v).collect();
                (1.0 - vector::dot(&method.worst(&row, &u), &u)).max(0.0)
            })
            .sum();
        0.5 * vector::norm_sq(&u) + method.c * loss
    }

    /// Convex: no small random change of the answer may improve it by more than the gap.
    #[test]
    fn the_answer_cannot_be_improved_nearby() {
        use rand::RngExt;
        let mut rng = mainstay::folds::generator(3);
        for k in [0, 1, 3] {
            let x = Dense::from_fn(30, 6, |i, _| {
                rng.random_range(-1.0..1.0) + if i % 2 == 0 { 0.8 } else { -0.8 }
            });
            let labels = (0..30).map(|i| usize::from(i % 2 == 0)).collect();
            let data = Dataset::new(x.into(), labels, 2).unwrap();
            let method = GlobersonRoweis { k, c: 0.5 };
            let model = method.fit(&data, &Control::new()).unwrap();
            let best = objective(&method, &data, &model);
            for _ in 0..300 {
                let mut other = model.clone();
                let size = 10f64.powf(rng.random_range(-3.0..0.0));
                other.coef[0].iter_mut().for_each(|w| *w += size * rng.random_range(-1.0..1.0));
                other.intercept[0] += size * rng.random_range(-1.0..1.0);
                assert!(objective(&method, &data, &other) >= best - 2.0 * TOL * best.max(1.0));
            }
        }
    }
}
