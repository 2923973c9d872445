//! L2-penalised problems with more columns than rows, in as many columns as there are rows.
//!
//! Not [`crate::optim::design::RowSpace`]: penalties differ from column to column here, rows may be sparse,
//! and the weights come back through the duals, which needs the kernel matrix and no basis of length p.

use super::design::Design;
use super::solution::Solution;
use crate::linalg::{Cholesky, Dense, Matrix};
use crate::optim::Program;

/// Above this many rows the kernel matrix, whose factorisation costs n^3, is not formed.
const MOST_ROWS: usize = 2500;
/// Up to this many columns the problem is solved as it stands, which is more accurate.
const FEW_COLUMNS: usize = 500;
/// At most this many columns are carried over as they are: more would make the basis wide again.
const MOST_FREE: usize = 50;

/// An L2-penalised problem with more columns than rows, as one with as many columns as rows.
///
/// The optimal weights are a combination of the rows, `$v = M^{-1} Z^\top\beta$`, and with the
/// kernel `$K = Z M_0^{-1} Z^\top = LL^\top$`, `$M = \mu M_0$`, only `$u = L^\top\beta/\mu$` matters: the
/// same problem on the `$n \times n$` matrix `$L$` with penalty `$\mu\|u\|^2/2$`. Columns that are
/// hardly penalised at all ("free") would drown the others in `$K$`; they are appended to `$L$` as
/// they are. Built once for all strengths and classes: `$O(n^2 p)$`.
pub(super) struct RowSpace {
    /// `$L$` and the free columns.
    pub basis: Matrix,
    /// Squared penalty units of the columns of `basis`.
    pub squares: Vec<f64>,
    free: Vec<usize>,
}

impl RowSpace {
    /// `None` where the detour does not pay or the kernel cannot be factored.
    pub(super) fn new(design: &Design<'_>) -> Option<Self> {
        let (n, p) = (design.x.nrows(), design.x.ncols());
        if p <= n.max(FEW_COLUMNS) || n > MOST_ROWS {
            return None;
        }
        let free = free_columns(&design.units);
        let mut shrink: Vec<f64> = design.units.iter().map(|u| 1.0 / u).collect();
        for &j in &free {
            shrink[j] = 0.0;
        }
        let mut kernel = kernel(design, &shrink);
        let size = (0..n).fold(0.0, |m: f64, i| m.max(kernel[(i, i)]));
        // Equal rows make it singular; the lift is of the size of its rounding errors.
        let lift = (n as f64 * f64::EPSILON * size).max(f64::MIN_POSITIVE);
        kernel.add_diagonal(lift);
        let lower = Cholesky::new(&kernel)?.lower();
        let chosen = if free.is_empty() {
            Dense::zeros(n, 0)
        } else {
            design.z().select_columns(&free).to_dense()
        };
        let width = n + free.len();
        let mut data = Vec::with_capacity(n * width);
        for i in 0..n {
            data.extend_from_slice(lower.row(i));
            data.extend_from_slice(chosen.row(i));
        }
        let mut squares = vec![1.0; n];
        squares.extend(free.iter().map(|&j| design.units[j] * design.units[j]));
        Some(Self { basis: Dense::from_rows(n, width, data).into(), squares, free })
    }

    /// The solution in the columns of `design`, from one in those of `basis`.
    pub(super) fn lift(
        &self,
        design: &Design<'_>,
        inner: &Program<'_>,
        found: Solution,
        l2: f64,
    ) -> Solution {
        let n = design.x.nrows();
        let mut v = design.tr_mul_vec(&inner.signed_duals(&found.duals));
        for (v, u) in v.iter_mut().zip(&design.units) {
            *v = *v / u / (l2 * u);
        }
        for (k, &j) in self.free.iter().enumerate() {
            v[j] = found.v[n + k];
        }
        Solution { v, inner: Some(found.v), ..found }
    }
}

/// Inner products of the rows of `$z$`, whose columns are multiplied by `shrink`.
fn kernel(design: &Design<'_>, shrink: &[f64]) -> Dense {
    let Some(blocks) = design.column_blocks() else {
        return design.z().scale_columns(shrink).outer_gram();
    };
    let mut kernel = Dense::zeros(design.x.nrows(), design.x.nrows());
    for (columns, mut block) in blocks {
        let shrink = &shrink[columns];
        for i in 0..block.nrows() {
            block.row_mut(i).iter_mut().zip(shrink).for_each(|(v, s)| *v *= s);
        }
        block.add_outer_gram(&mut kernel);
    }
    kernel.mirror_lower();
    kernel
}

/// Columns whose unit is below this part of the usual one are free: their penalty is a million times
/// weaker.
const FREE_UNIT: f64 = 1e-3;

/// Columns that are hardly penalised.
fn free_columns(units: &[f64]) -> Vec<usize> {
    let mut sorted = units.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[sorted.len() / 2];
    let mut free: Vec<usize> = (0..units.len()).filter(|&j| units[j] < FREE_UNIT * usual).collect();
    free.sort_by(|&a, &b| units[a].total_cmp(&units[b]));
    free.truncate(MOST_FREE);
    free.sort_unstable();
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With v = Z'beta / (l2 u^2) the scores of the row space and of the columns agree.
    #[test]
    fn solutions_of_the_row_space_have_the_same_scores_in_the_columns() {
        let (n, p) = (4, 600);
        let x = Dense::from_fn(n, p, |i, j| ((1 + i * 13 + j * 7) as f64 * 0.61).sin());
        let shares = vec![0.25; n];
        let x = Matrix::from(x);
        let design = Design::new(&x, &shares, &vec![1.0; p]);
        let Some(space) = RowSpace::new(&design) else { unreachable!("600 columns, 4 rows") };
        assert_eq!((space.basis.nrows(), space.basis.ncols()), (n, n));
        // In blocks, of which the last is not whole, and at once.
        let at_once = Design::new(&x, &shares, &vec![1.0; p]);
        let whole = at_once.z().outer_gram();
        let blocks = kernel(&design, &vec![1.0; p]);
        assert!(
            blocks.data().iter().zip(whole.data()).all(|(a, b)| (a - b).abs() < 1e-12 * p as f64)
        );
        let l2 = 0.5;
        let y = [1.0, -1.0, 1.0, -1.0];
        let inner = Program {
            z: &space.basis,
            y: &y,
            shares: &shares,
            loss: crate::loss::Loss::Logistic.get(),
            l1: vec![0.0; n],
            l2: vec![l2; n],
            intercept: true,
        };
        // At a stationary point u = L' (s a y) / l2.
        let duals = vec![0.9, 0.2, 0.4, 1.1];
        let mut u = space.basis.tr_mul_vec(&inner.signed_duals(&duals));
        for u in &mut u {
            *u /= l2;
        }
        let scores = space.basis.mul_vec(&u);
        let lifted = space.lift(&design, &inner, Solution::new(u, 0.0, duals), l2);
        let again = design.z().mul_vec(&lifted.v);
        assert!(scores.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
    }
}
