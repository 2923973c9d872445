//! Factorisations of small dense matrices, by faer.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::householder;
use faer::linalg::solvers::{PartialPivLu, Qr, SolveCore};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Conj, Mat, MatMut, Par, Side, Spec};

use super::Dense;
use crate::error::{Error, Result};

/// Leaves the vector registers as the rest of the program expects them (decision 0011).
///
/// The kernels behind a matrix product end without `vzeroupper`; until one is executed every
/// scalar instruction compiled for plain x86-64, `exp` and `ln` above all, runs several times slower
/// (measured: a logistic fit took four times as long). A factorisation of order one executes it
/// and costs next to nothing; an intrinsic would need unsafe code.
pub(super) fn clear_registers() {
    std::hint::black_box(Cholesky::new(&Dense::identity(1)));
}

/// Cholesky factor of a symmetric positive definite matrix.
///
/// Only the lower triangle of what it holds is the factor.
#[derive(Debug, Clone)]
pub struct Cholesky(Mat<f64>);

impl Cholesky {
    /// Factors `a` (its lower triangle is read); `None` if it is not numerically positive definite.
    pub fn new(a: &Dense) -> Option<Self> {
        let mut lower = Mat::zeros(a.nrows(), a.nrows());
        lower.copy_from_triangular_lower(a.view());
        Self::of(a, lower)
    }

    /// [`Cholesky::new`] of a matrix with both triangles filled alike: the copy is one of whole rows, which are columns.
    pub fn symmetric(a: &Dense) -> Option<Self> {
        let mut whole = Mat::zeros(a.nrows(), a.nrows());
        whole.as_mut().copy_from(a.view().transpose());
        Self::of(a, whole)
    }

    /// Factors `copy`, which is that of `a`, in place.
    fn of(a: &Dense, mut copy: Mat<f64>) -> Option<Self> {
        if a.data().iter().any(|v| !v.is_finite()) {
            return None;
        }
        let scratch = cholesky_in_place_scratch::<f64>(a.nrows(), Par::Seq, Spec::default());
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let (regularised, params) = (LltRegularization::default(), Spec::default());
        cholesky_in_place(copy.as_mut(), regularised, Par::Seq, stack, params).ok()?;
        Some(Self(copy))
    }

    /// Overwrites `b` with the solution of `a x = b`.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        let rows = b.len();
        self.solve_columns(MatMut::from_column_major_slice_mut(b, rows, 1));
    }

    fn solve_columns(&self, mut b: MatMut<'_, f64>) {
        solve_lower_triangular_in_place(self.0.as_ref(), b.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(self.0.transpose(), b, Par::Seq);
    }

    /// Solves `a x = b`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.solve_in_place(&mut x);
        x
    }

    /// Solves `a X = B`.
    #[must_use]
    pub fn solve_matrix(&self, b: &Dense) -> Dense {
        let mut x = b.clone();
        self.solve_columns(x.view_mut());
        x
    }

    /// `l^-1 d l^-T` for symmetric `d`, with `a = l l'`: `d` seen in the metric of `a`.
    #[must_use]
    pub fn whiten(&self, d: &Dense) -> Dense {
        let mut half = d.clone();
        solve_lower_triangular_in_place(self.0.as_ref(), half.view_mut(), Par::Seq);
        let mut whole = half.transpose();
        solve_lower_triangular_in_place(self.0.as_ref(), whole.view_mut(), Par::Seq);
        whole
    }

    /// The lower triangular factor; entries above the diagonal are zero.
    pub fn lower(&self) -> Dense {
        let l = self.0.as_ref();
        let n = l.nrows();
        let mut out = Dense::zeros(n, n);
        for i in 0..n {
            out.row_mut(i)[..=i].iter_mut().zip(l.row(i).iter()).for_each(|(o, v)| *o = *v);
        }
        out
    }
}

/// LU factors of a square matrix, rows exchanged for stability.
#[derive(Debug, Clone)]
pub struct Lu(PartialPivLu<f64>);

impl Lu {
    /// Factors `a`; `None` if an entry is not finite.
    pub fn new(a: &Dense) -> Option<Self> {
        a.data().iter().all(|v| v.is_finite()).then(|| Self(a.view().partial_piv_lu()))
    }

    /// Solves `a x = b`; not finite if `a` is singular.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        let rows = x.len();
        let view = MatMut::from_column_major_slice_mut(&mut x, rows, 1);
        self.0.solve_in_place_with_conj(Conj::No, view);
        x
    }
}

/// Eigenvalues and pivots below this multiple of order times machine precision are rounding, and count as 0.
const ROUNDING: f64 = 8.0;

/// A lower triangular L with `a` = L L' for a symmetric positive semidefinite `a` (its lower
/// triangle is read); `None` if an eigenvalue is negative beyond rounding.
///
/// A matrix that is singular up to rounding gets a singular factor: an eigenvalue of 1e-16 that is rounding
/// would otherwise be an axis of length 1e-8. What is rounding is decided at unit diagonal, so that a short axis
/// along a feature measured in large units stays.
pub fn psd_factor(a: &Dense) -> Option<Dense> {
    let n = a.nrows();
    let largest = a.max_abs();
    if largest == 0.0 {
        return Some(Dense::zeros(n, n));
    }
    let noise = ROUNDING * n as f64 * f64::EPSILON;
    if let Some(factor) = Cholesky::new(a) {
        let lower = factor.lower();
        if (0..n).all(|i| lower[(i, i)].powi(2) > noise * a[(i, i)]) {
            return Some(lower);
        }
    }
    let values = SymmetricEigen::values(a).ok()?;
    let top = values.last().copied().unwrap_or(0.0);
    if values[0] < -1e-10 * largest.max(top) {
        return None;
    }
    let root: Vec<f64> = (0..n).map(|i| a[(i, i)].max(0.0).sqrt()).collect();
    let unit = |i: usize, j: usize| {
        if root[i] * root[j] > 0.0 { a[(i, j)] / root[i] / root[j] } else { 0.0 }
    };
    let eigen = SymmetricEigen::new(&Dense::from_fn(n, n, unit)).ok()?;
    let floor = noise * eigen.values[n - 1];
    let length = |k: usize| if eigen.values[k] > floor { eigen.values[k].sqrt() } else { 0.0 };
    // a = F F' with F = diag(root) V sqrt(values); the R of F' = Q R is the transposed triangle.
    let transposed = Dense::from_fn(n, n, |k, i| root[i] * eigen.vectors[(i, k)] * length(k));
    Some(qr_triangle(&transposed).transpose())
}

/// Eigendecomposition of a symmetric matrix.
#[derive(Debug, Clone)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Column `j` is the unit eigenvector of `values[j]`.
    pub vectors: Dense,
}

impl SymmetricEigen {
    /// Decomposes `a` (its lower triangle is read).
    pub fn new(a: &Dense) -> Result<Self> {
        finite(a, "symmetric eigendecomposition")?;
        if a.nrows() == 0 {
            return Ok(Self { values: Vec::new(), vectors: Dense::zeros(0, 0) });
        }
        let eigen = a
            .view()
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Numerical("symmetric eigendecomposition".into()))?;
        let values = eigen.S().column_vector().iter().copied().collect();
        Ok(Self { values, vectors: Dense::from_view(eigen.U()) })
    }

    /// The eigenvalues of `a` alone (its lower triangle is read), ascending.
    pub fn values(a: &Dense) -> Result<Vec<f64>> {
        finite(a, "symmetric eigenvalues")?;
        if a.nrows() == 0 {
            return Ok(Vec::new());
        }
        a.view()
            .self_adjoint_eigenvalues(Side::Lower)
            .map_err(|_| Error::Numerical("symmetric eigenvalues".into()))
    }
}

/// Thin singular value decomposition `a = u diag(s) v'`.
#[derive(Debug, Clone)]
pub struct Svd {
    /// Left singular vectors, one per column.
    pub u: Dense,
    /// Singular values, descending.
    pub s: Vec<f64>,
    /// Right singular vectors, one per column.
    pub v: Dense,
}

impl Svd {
    /// Decomposes `a`.
    pub fn new(a: &Dense) -> Result<Self> {
        finite(a, "singular value decomposition")?;
        let svd = a
            .view()
            .thin_svd()
            .map_err(|_| Error::Numerical("singular value decomposition".into()))?;
        let s = svd.S().column_vector().iter().copied().collect();
        Ok(Self { u: Dense::from_view(svd.U()), s, v: Dense::from_view(svd.V()) })
    }
}

/// Thin QR decomposition `a = q r`.
pub fn thin_qr(a: &Dense) -> (Dense, Dense) {
    let qr = a.view().qr();
    (Dense::from_view(qr.compute_thin_Q().as_ref()), upper(&qr))
}

/// The triangle `r` of `a = q r` alone: `r' r = a' a` without squaring.
pub fn qr_triangle(a: &Dense) -> Dense {
    upper(&a.view().qr())
}

fn upper(qr: &Qr<f64>) -> Dense {
    let r = qr.thin_R();
    Dense::from_fn(r.nrows(), r.ncols(), |i, j| if j >= i { r[(i, j)] } else { 0.0 })
}

/// A wide matrix as lower triangle times orthonormal rows, `a = l q'`; `q` is kept as reflectors.
#[derive(Debug, Clone)]
pub struct Lq(Qr<f64>);

impl Lq {
    /// Factors `a`, which has at least as many columns as rows.
    pub fn new(a: &Dense) -> Result<Self> {
        finite(a, "orthogonal factorisation")?;
        Ok(Self(a.view().transpose().qr()))
    }

    /// The lower triangle, one row for each row of `a`.
    pub fn lower(&self) -> Dense {
        let r = self.0.thin_R();
        Dense::from_fn(r.ncols(), r.nrows(), |i, j| if j <= i { r[(j, i)] } else { 0.0 })
    }

    /// `q v`: from coordinates in the row space of `a` to a vector as long as a row of `a`.
    pub fn apply(&self, v: &[f64]) -> Vec<f64> {
        let (basis, coeff) = (self.0.Q_basis(), self.0.Q_coeff());
        let mut out = vec![0.0; basis.nrows()];
        out[..v.len()].copy_from_slice(v);
        let rows = out.len();
        let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<
            f64,
        >(rows, coeff.nrows(), 1);
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            basis,
            coeff,
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut out, rows, 1),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
        );
        out
    }
}

fn finite(a: &Dense, what: &str) -> Result<()> {
    if a.data().iter().all(|v| v.is_finite()) {
        Ok(())
    } else {
        Err(Error::Numerical(format!(
            "{what} of a matrix with infinite or undefined entries; rescale the features"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector;
    use super::*;

    fn close(a: &Dense, b: &Dense) -> bool {
        a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() <= 1e-12 * (1.0 + y.abs()))
    }

    fn sample() -> Dense {
        Dense::from_fn(6, 4, |i, j| {
            ((i * 5 + j * 3) % 7) as f64 - 2.5 + f64::from(u8::from(i == j))
        })
    }

    #[test]
    fn factors_multiply_back() {
        let a = sample();
        let (q, r) = thin_qr(&a);
        assert!(close(&q.mul(&r), &a));
        let svd = Svd::new(&a).unwrap();
        let us = Dense::from_fn(6, 4, |i, j| svd.u[(i, j)] * svd.s[j]);
        assert!(close(&us.mul_tr(&svd.v), &a));
        let wide = a.transpose();
        let lq = Lq::new(&wide).unwrap();
        let lower = lq.lower();
        let back: Vec<f64> = (0..4).flat_map(|i| lq.apply(lower.row(i))).collect();
        assert!(close(&Dense::from_rows(4, 6, back), &wide));
        let gram = a.tr_mul(&a);
        let eigen = SymmetricEigen::new(&gram).unwrap();
        let scaled = Dense::from_fn(4, 4, |i, j| eigen.vectors[(i, j)] * eigen.values[j]);
        assert!(close(&scaled.mul_tr(&eigen.vectors), &gram));
        let factor = Cholesky::new(&gram).unwrap();
        assert!(close(&factor.lower().mul_tr(&factor.lower()), &gram));
        assert!(close(&factor.whiten(&gram), &Dense::identity(4)));
        let values = SymmetricEigen::values(&gram).unwrap();
        assert!(values.iter().zip(&eigen.values).all(|(a, b)| (a - b).abs() < 1e-10));
        let b = [1.0, -2.0, 0.5, 3.0];
        let x = factor.solve(&b);
        for (found, wanted) in gram.mul_vec(&x).iter().zip(b) {
            assert!((found - wanted).abs() < 1e-10);
        }
    }

    #[test]
    fn a_matrix_of_order_zero_has_no_eigenvalues() {
        let nothing = Dense::zeros(0, 0);
        assert!(SymmetricEigen::new(&nothing).unwrap().values.is_empty());
        assert!(SymmetricEigen::values(&nothing).unwrap().is_empty());
    }

    #[test]
    fn a_semidefinite_matrix_has_a_triangular_factor_and_an_indefinite_one_has_none() {
        let f = Dense::from_rows(3, 2, vec![1.0, 2.0, -1.0, 0.5, 3.0, 1.0]);
        let singular = f.mul_tr(&f);
        let l = psd_factor(&singular).unwrap();
        assert!(close(&l.mul_tr(&l), &singular));
        assert!((0..3).all(|i| (i + 1..3).all(|j| l[(i, j)] == 0.0)));
        assert!(psd_factor(&Dense::from_rows(2, 2, vec![1.0, 2.0, 2.0, 1.0])).is_none());
        assert_eq!(psd_factor(&Dense::zeros(2, 2)), Some(Dense::zeros(2, 2)));
    }

    /// P = f f' vanishes on what is orthogonal to f; an eigenvalue of 1e-17 there would be a length of 3e-9.
    #[test]
    fn a_singular_matrix_has_no_axis_made_of_rounding() {
        for k in 0..200 {
            let f = [0.1 + 0.013 * f64::from(k), 0.7, -0.3];
            let outer = Dense::from_fn(3, 3, |i, j| f[i] * f[j]);
            let l = psd_factor(&outer).unwrap();
            let orthogonal = [f[1], -f[0], 0.0];
            assert!(vector::norm(&l.tr_mul_vec(&orthogonal)) < 1e-14, "{k}");
        }
    }

    #[test]
    fn a_short_axis_of_a_graded_matrix_stays() {
        let graded = Dense::from_rows(2, 2, vec![1.0, 0.0, 0.0, 1e-20]);
        assert!((psd_factor(&graded).unwrap()[(1, 1)] - 1e-10).abs() < 1e-24);
    }

    #[test]
    fn lu_solves_a_matrix_that_is_not_symmetric() {
        let a = Dense::from_rows(3, 3, vec![0.0, 2.0, 1.0, 1.0, -1.0, 0.0, 3.0, 0.5, -2.0]);
        let x = Lu::new(&a).unwrap().solve(&[1.0, 2.0, 3.0]);
        for (found, wanted) in a.mul_vec(&x).iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-13);
        }
    }

    #[test]
    fn a_broken_matrix_has_no_eigenvalues() {
        assert!(SymmetricEigen::new(&Dense::from_rows(1, 1, vec![f64::NAN])).is_err());
    }
}
