use super::frame::Frame;
use super::scaled::Scaled;
use super::solution::Solution;
use crate::linalg::{Cholesky, Dense, Matrix};

/// Above this many rows the kernel matrix is not formed.
const MOST_ROWS: usize = 2500;
/// At most this many columns are carried over as they are.
const MOST_FREE: usize = 50;

/// An L2-penalised problem with more columns than rows, as one with as many columns as rows.
///
/// The optimal weights are a combination of the rows, $v = M^{-1} Z^\top\beta$, and with the
/// kernel $K = Z M_0^{-1} Z^\top = LL^\top$, $M = \mu M_0$, only $u = L^\top\beta/\mu$ matters: the
/// same problem on the $n \times n$ matrix $L$ with penalty $\mu\|u\|^2/2$. Columns that are
/// hardly penalised at all ("free") would drown the others in $K$; they are appended to $L$ as
/// they are. Built once for all strengths and classes: $O(n^2 p)$.
pub(super) struct RowSpace {
    /// $L$ and the free columns.
    pub basis: Matrix,
    /// Squared penalty units of the columns of `basis`.
    pub squares: Vec<f64>,
    free: Vec<usize>,
}

impl RowSpace {
    /// `None` where the detour does not pay or the kernel cannot be factored.
    pub(super) fn new(frame: &Frame) -> Option<Self> {
        let (n, p) = (frame.z.nrows(), frame.z.ncols());
        if p <= n || n > MOST_ROWS {
            return None;
        }
        let free = free_columns(&frame.units);
        let mut shrink: Vec<f64> = frame.units.iter().map(|u| 1.0 / u).collect();
        for &j in &free {
            shrink[j] = 0.0;
        }
        let mut kernel = frame.z.scale_columns(&shrink).outer_gram();
        let size = (0..n).fold(0.0, |m: f64, i| m.max(kernel[(i, i)]));
        // Equal rows make it singular; the lift is of the size of its rounding errors.
        let lift = (n as f64 * f64::EPSILON * size).max(f64::MIN_POSITIVE);
        kernel.add_diagonal(lift);
        let lower = Cholesky::new(&kernel)?.lower();
        let chosen = frame.z.select_columns(&free).to_dense();
        let width = n + free.len();
        let mut data = Vec::with_capacity(n * width);
        for i in 0..n {
            data.extend_from_slice(lower.row(i));
            data.extend_from_slice(chosen.row(i));
        }
        let mut squares = vec![1.0; n];
        squares.extend(free.iter().map(|&j| frame.units[j] * frame.units[j]));
        Some(Self { basis: Dense::from_rows(n, width, data).into(), squares, free })
    }

    /// The solution in the columns of `frame`, from one in those of `basis`.
    pub(super) fn lift(
        &self,
        frame: &Frame,
        inner: &Scaled<'_>,
        found: Solution,
        l2: f64,
    ) -> Solution {
        let n = frame.z.nrows();
        let mut v = frame.z.tr_mul_vec(&inner.pull(&found.duals));
        for (v, u) in v.iter_mut().zip(&frame.units) {
            *v = *v / u / (l2 * u);
        }
        for (k, &j) in self.free.iter().enumerate() {
            v[j] = found.v[n + k];
        }
        Solution { v, inner: Some(found.v), ..found }
    }
}

/// Columns whose penalty is a million times weaker than usual.
fn free_columns(units: &[f64]) -> Vec<usize> {
    let mut sorted = units.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[sorted.len() / 2];
    let mut free: Vec<usize> = (0..units.len()).filter(|&j| units[j] < 1e-3 * usual).collect();
    free.sort_by(|&a, &b| units[a].total_cmp(&units[b]));
    free.truncate(MOST_FREE);
    free.sort_unstable();
    free
}
