//! Cholesky factors for many small Newton systems, and solutions with them.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{Dense, vector};

/// Columns that are factored together. What earlier columns take from them is one matrix product.
const PANEL: usize = 32;

/// Cholesky factor of a symmetric positive definite matrix.
///
/// For the orders of the conic SVM's Newton systems, some tens to some hundreds, a product per panel and loops over whole columns take
/// half as long as faer's recursion ([`super::Cholesky`]), and solutions for one vector a fifth. Sums are in another order: where a system is
/// singular up to rounding the last digits differ, so that methods which solve such systems stay with faer.
#[derive(Debug, Clone)]
pub struct PanelCholesky {
    order: usize,
    /// Column after column; only what is on and below the diagonal counts.
    columns: Vec<f64>,
}

impl PanelCholesky {
    /// Factors a matrix with both triangles filled alike; `None` if it is not numerically positive definite.
    pub fn symmetric(a: &Dense) -> Option<Self> {
        Self::from_columns(a.nrows(), |j, out| out.copy_from_slice(&a.row(j)[j..]))
    }

    /// Factors the matrix of which `fill` writes column `j` from the diagonal on.
    pub fn from_columns(order: usize, mut fill: impl FnMut(usize, &mut [f64])) -> Option<Self> {
        let mut columns = vec![0.0; order * order];
        for (j, column) in columns.chunks_exact_mut(order.max(1)).enumerate() {
            fill(j, &mut column[j..]);
        }
        for first in (0..order).step_by(PANEL) {
            let last = order.min(first + PANEL);
            take_earlier(&mut columns, order, first, last);
            if !vector::vectorized!(factor_panel(&mut columns, order, first, last)) {
                return None;
            }
        }
        Some(Self { order, columns })
    }

    /// Overwrites `b` with the solution of `a x = b`.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        vector::vectorized!({
            self.forward(b);
            self.backward(b);
        });
    }

    /// Solves `a x = b`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.solve_in_place(&mut x);
        x
    }

    /// The lower triangular factor; entries above the diagonal are zero.
    #[cfg(test)]
    fn lower(&self) -> Dense {
        let n = self.order;
        let entry = |i: usize, j: usize| if j <= i { self.columns[j * n + i] } else { 0.0 };
        Dense::from_fn(n, n, entry)
    }

    /// What column `j` holds below row `from`, that row included.
    #[inline(always)]
    fn below(&self, j: usize, from: usize) -> &[f64] {
        &self.columns[j * self.order + from..(j + 1) * self.order]
    }

    /// The same of the four columns from `j` on. Not by `map`, which is not inlined into code for wider vectors.
    #[inline(always)]
    fn four_below(&self, j: usize, from: usize) -> [&[f64]; 4] {
        [
            self.below(j, from),
            self.below(j + 1, from),
            self.below(j + 2, from),
            self.below(j + 3, from),
        ]
    }

    /// Overwrites `x` with the solution of `l z = x`, four columns at a time.
    #[inline(always)]
    fn forward(&self, x: &mut [f64]) {
        let n = self.order;
        for j in (0..n).step_by(4) {
            let end = n.min(j + 4);
            for k in j..end {
                let column = self.below(k, k);
                x[k] /= column[0];
                let known = x[k];
                vector::axpy(-known, &column[1..end - k], &mut x[k + 1..end]);
            }
            if end < n {
                let known = [x[j], x[j + 1], x[j + 2], x[j + 3]];
                take_four(known, self.four_below(j, end), &mut x[end..]);
            }
        }
    }

    /// Overwrites `x` with the solution of `l' z = x`, four columns at a time.
    #[inline(always)]
    fn backward(&self, x: &mut [f64]) {
        let n = self.order;
        for j in (0..n).step_by(4).rev() {
            let end = n.min(j + 4);
            if end < n {
                let sums = vector::four_dots(self.four_below(j, end), &x[end..]);
                for (k, sum) in sums.iter().enumerate() {
                    x[j + k] -= sum;
                }
            }
            for k in (j..end).rev() {
                let column = self.below(k, k);
                let mut sum = 0.0;
                for (i, l) in column[1..end - k].iter().enumerate() {
                    sum += l * x[k + 1 + i];
                }
                x[k] = (x[k] - sum) / column[0];
            }
        }
    }
}

/// `y` minus the sum of four columns, each times its factor.
#[inline(always)]
fn take_four(by: [f64; 4], columns: [&[f64]; 4], y: &mut [f64]) {
    let n = y.len();
    let (a, b, c, d) = (&columns[0][..n], &columns[1][..n], &columns[2][..n], &columns[3][..n]);
    for (i, y) in y.iter_mut().enumerate() {
        *y -= (by[0] * a[i] + by[1] * b[i]) + (by[2] * c[i] + by[3] * d[i]);
    }
}

/// Takes what the columns before `first` contribute from the columns `first..last`.
fn take_earlier(columns: &mut [f64], n: usize, first: usize, last: usize) {
    if first == 0 {
        return;
    }
    let (done, rest) = columns.split_at_mut(first * n);
    let width = last - first;
    let known = MatRef::from_column_major_slice(done, n, first).subrows(first, n - first);
    let panel = MatMut::from_column_major_slice_mut(&mut rest[..width * n], n, width);
    let target = panel.subrows_mut(first, n - first);
    let own = known.subrows(0, width).transpose();
    matmul(target, Accum::Add, known, own, -1.0, Par::Seq);
}

/// Factors the columns `first..last`, from which all earlier ones are taken already; `false` if a pivot is not positive.
/// Entries that are not finite lead to such a pivot.
#[inline(always)]
fn factor_panel(columns: &mut [f64], n: usize, first: usize, last: usize) -> bool {
    for j in first..last {
        let (done, rest) = columns.split_at_mut(j * n);
        let column = &mut rest[j..n];
        let below = |k: usize| &done[k * n + j..(k + 1) * n];
        let whole = first + (j - first) / 4 * 4;
        for k in (first..whole).step_by(4) {
            let four = [below(k), below(k + 1), below(k + 2), below(k + 3)];
            take_four([four[0][0], four[1][0], four[2][0], four[3][0]], four, column);
        }
        for k in whole..j {
            vector::axpy(-below(k)[0], below(k), column);
        }
        let pivot = column[0];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        for v in column {
            *v *= inverse;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::Cholesky;
    use super::*;

    /// Orders around those of panels and of four columns; the product of the factors, and solutions, tell.
    #[test]
    fn factors_multiply_back_and_solve_whatever_the_order() {
        for n in [0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 97, 130] {
            let rows = Dense::from_fn(n + 3, n, |i, j| ((i * 37 + j * 11 + i * j) as f64).sin());
            let mut a = rows.tr_mul(&rows);
            a.add_diagonal(0.5);
            let factor = PanelCholesky::symmetric(&a).unwrap();
            let lower = factor.lower();
            let again = lower.mul_tr(&lower);
            let size = a.max_abs().max(1.0);
            for (x, y) in again.data().iter().zip(a.data()) {
                assert!((x - y).abs() <= 1e-13 * size, "{n}: {x} {y}");
            }
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            let found = factor.solve(&b);
            let wanted = Cholesky::new(&a).unwrap().solve(&b);
            for (x, y) in found.iter().zip(&wanted) {
                assert!((x - y).abs() <= 1e-11 * (1.0 + y.abs()), "{n}: {x} {y}");
            }
            for (x, y) in a.mul_vec(&found).iter().zip(&b) {
                assert!((x - y).abs() <= 1e-10, "{n}: {x} {y}");
            }
        }
    }

    /// One entry that is not finite, wherever it is, or one negative eigenvalue.
    #[test]
    fn an_indefinite_or_broken_matrix_has_no_factor() {
        assert!(
            PanelCholesky::symmetric(&Dense::from_rows(2, 2, vec![1.0, 2.0, 2.0, 1.0])).is_none()
        );
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-3] {
            for at in [(0, 0), (20, 20), (39, 39), (39, 0), (35, 33), (20, 3)] {
                let mut a = Dense::identity(40);
                if at.0 == at.1 || !(-1.0..1.0).contains(&bad) {
                    a[at] = bad;
                    a[(at.1, at.0)] = bad;
                    assert!(PanelCholesky::symmetric(&a).is_none(), "{bad} {at:?}");
                }
            }
        }
    }
}
