//! The smallest quotient `$z^\top N z / z^\top D z$` of two symmetric matrices.

use crate::error::Result;
use crate::linalg::{Dense, Svd, SymmetricEigen, qr_triangle, thin_qr, vector};

/// An eigenvalue below this part of the largest one is rounding error.
const VANISHING: f64 = 1e-14;

/// A minimiser and its quotient.
#[derive(Debug, Clone)]
pub(super) struct Eigenpair {
    pub z: Vec<f64>,
    pub value: f64,
}

/// Columns that whiten a positive semidefinite matrix on its range: `$T^\top M T = I$`.
///
/// M is first scaled to unit diagonal, so that units do not matter; eigenvalues that are rounding are
/// left out. The second value is the ratio of the smallest kept eigenvalue to the largest.
fn whiten(m: &Dense) -> Result<(Dense, f64)> {
    let q = m.nrows();
    let scale: Vec<f64> =
        (0..q).map(|j| if m[(j, j)] > 0.0 { 1.0 / m[(j, j)].sqrt() } else { 0.0 }).collect();
    let scaled = Dense::from_fn(q, q, |i, j| m[(i, j)] * scale[i] * scale[j]);
    let eigen = SymmetricEigen::new(&scaled)?;
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let floor = 16.0 * q as f64 * f64::EPSILON * top;
    let first = eigen.values.iter().position(|v| *v > floor).unwrap_or(q);
    let t = Dense::from_fn(q, q - first, |i, j| {
        scale[i] * eigen.vectors[(i, first + j)] / eigen.values[first + j].sqrt()
    });
    Ok((t, if first < q { eigen.values[first] / top } else { 1.0 }))
}

fn congruence(t: &Dense, m: &Dense) -> Dense {
    t.tr_mul(&m.mul(t))
}

fn quadratic(m: &Dense, z: &[f64]) -> f64 {
    vector::dot(z, &m.mul_vec(z))
}

fn quotient(n: &Dense, d: &Dense, z: &[f64]) -> f64 {
    let (top, bottom) = (quadratic(n, z).max(0.0), quadratic(d, z));
    if bottom > 0.0 { top / bottom } else { f64::INFINITY }
}

/// Smallest quotients of N/D and of D/N for positive semidefinite N and D, and how well conditioned
/// N + D is.
///
/// Both are ends of one spectrum: with N + D = I, N has eigenvalues in [0, 1]. `None` where the range of
/// N + D is empty.
pub(super) fn both_ends(n: &Dense, d: &Dense) -> Result<Option<([Eigenpair; 2], f64)>> {
    let q = n.nrows();
    let sum = Dense::from_fn(q, q, |i, j| n[(i, j)] + d[(i, j)]);
    let (t, condition) = whiten(&sum)?;
    if t.ncols() == 0 {
        return Ok(None);
    }
    let eigen = SymmetricEigen::new(&congruence(&t, n))?;
    let (first, last) = ends(&eigen.values);
    let low = best_of(&t, &eigen.vectors, first, d);
    let high = best_of(&t, &eigen.vectors, last, n);
    let a = Eigenpair { value: quotient(n, d, &low), z: low };
    let b = Eigenpair { value: quotient(d, n, &high), z: high };
    Ok(Some(([a, b], condition)))
}

/// Eigenvalues that are 0, or 1, up to rounding belong together.
fn ends(values: &[f64]) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let r = values.len();
    let noise = 64.0 * r as f64 * f64::EPSILON;
    let zeros = values.iter().take_while(|v| **v <= noise).count().max(1);
    let ones = values.iter().rev().take_while(|v| **v >= 1.0 - noise).count().max(1);
    (0..zeros, r - ones..r)
}

/// The vector of a (mostly one-dimensional) eigenspace that makes `rival` largest for its length.
fn best_of(t: &Dense, vectors: &Dense, which: std::ops::Range<usize>, rival: &Dense) -> Vec<f64> {
    if which.len() == 1 {
        return t.mul_vec(&vectors.column(which.start));
    }
    let basis = thin_qr(&t.mul(&vectors.columns(which.start, which.end))).0;
    match SymmetricEigen::new(&congruence(&basis, rival)) {
        Ok(eigen) => basis.mul_vec(&eigen.vectors.column(eigen.values.len() - 1)),
        Err(_) => basis.column(0),
    }
}

/// T with T'(A'A + B'B)T = I on the span of all rows, one column per dimension of the span; none if all rows vanish.
fn whitening(a: &Dense, b: &Dense) -> Result<Option<Dense>> {
    let q = a.ncols();
    let mut stacked = a.data().to_vec();
    stacked.extend_from_slice(b.data());
    let mut stacked = Dense::from_rows(a.nrows() + b.nrows(), q, stacked);
    let mut squares = vec![0.0; q];
    for i in 0..stacked.nrows() {
        squares.iter_mut().zip(stacked.row(i)).for_each(|(s, v)| *s += v * v);
    }
    let scale: Vec<f64> =
        squares.iter().map(|s| if *s > 0.0 { 1.0 / s.sqrt() } else { 0.0 }).collect();
    for i in 0..stacked.nrows() {
        stacked.row_mut(i).iter_mut().zip(&scale).for_each(|(v, s)| *v *= s);
    }
    let triangle = if stacked.nrows() > q { qr_triangle(&stacked) } else { stacked };
    let svd = Svd::new(&triangle)?;
    let floor = 16.0 * q as f64 * f64::EPSILON * svd.s.first().copied().unwrap_or(0.0);
    let rank = svd.s.iter().take_while(|s| **s > floor).count();
    let t = || Dense::from_fn(q, rank, |i, j| scale[i] * svd.v[(i, j)] / svd.s[j]);
    Ok((rank > 0).then(t))
}

/// As [`both_ends`], for N = A'A and D = B'B given by rows: singular values of the rows themselves, so
/// that the condition number is not squared.
pub(super) fn both_ends_of_rows(a: &Dense, b: &Dense) -> Result<Option<[Eigenpair; 2]>> {
    let Some(t) = whitening(a, b)? else { return Ok(None) };
    let rank = t.ncols();
    let whitened = a.mul(&t);
    let whitened = if whitened.nrows() > rank { qr_triangle(&whitened) } else { whitened };
    // Padded to a square, so that directions in which A vanishes have singular vectors too.
    let square =
        Dense::from_fn(
            rank,
            rank,
            |i, j| if i < whitened.nrows() { whitened[(i, j)] } else { 0.0 },
        );
    let svd = Svd::new(&square)?;
    let values: Vec<f64> = svd.s.iter().rev().map(|s| s * s).collect();
    let vectors = Dense::from_fn(rank, rank, |i, j| svd.v[(i, rank - 1 - j)]);
    let (first, last) = ends(&values);
    let (gram_a, gram_b) = (a.tr_mul(a), b.tr_mul(b));
    let low = best_of(&t, &vectors, first, &gram_b);
    let high = best_of(&t, &vectors, last, &gram_a);
    let square = |m: &Dense, z: &[f64]| vector::norm(&m.mul_vec(z)).powi(2);
    let over = |top: f64, bottom: f64| if bottom > 0.0 { top / bottom } else { f64::INFINITY };
    let low_value = over(square(a, &low), square(b, &low));
    let high_value = over(square(b, &high), square(a, &high));
    Ok(Some([Eigenpair { z: low, value: low_value }, Eigenpair { z: high, value: high_value }]))
}

/// The smallest positive quotient of a positive definite N and an indefinite D; `None` if D is
/// nowhere positive.
pub(super) fn smallest_positive(n: &Dense, d: &Dense) -> Result<Option<Eigenpair>> {
    let (t, _) = whiten(n)?;
    if t.ncols() == 0 {
        return Ok(None);
    }
    let eigen = SymmetricEigen::new(&congruence(&t, d))?;
    let last = eigen.values.len() - 1;
    let scale = eigen.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if eigen.values[last] <= VANISHING * scale {
        return Ok(None);
    }
    let z = t.mul_vec(&eigen.vectors.column(last));
    Ok(Some(Eigenpair { value: quotient(n, d, &z), z }))
}
