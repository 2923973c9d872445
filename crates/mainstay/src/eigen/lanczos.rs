//! The smallest quotient with more features than rows: diagonal plus low rank.

use rand_distr::{Distribution, StandardNormal};

use super::generalized_eigen::Eigenpair;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::folds::generator;
use crate::linalg::{Dense, DiagonalPlusRows, SymmetricEigen, TINY, vector};

/// A positive semidefinite form: rows'rows + diag.
#[derive(Debug, Clone)]
pub(super) struct DiagonalPlusGram {
    pub rows: Dense,
    pub diagonal: Vec<f64>,
}

impl DiagonalPlusGram {
    fn value(&self, z: &[f64]) -> f64 {
        let diagonal: f64 = self.diagonal.iter().zip(z).map(|(d, z)| d * z * z).sum();
        vector::norm_sq(&self.rows.mul_vec(z)) + diagonal
    }

    fn scaled(&self, scale: &[f64]) -> Self {
        let rows = &self.rows;
        Self {
            rows: Dense::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] * scale[j]),
            diagonal: self.diagonal.iter().zip(scale).map(|(d, s)| d * s * s).collect(),
        }
    }
}

/// Largest number of Lanczos vectors.
const LIMIT: usize = 300;
/// Length of the Ritz residual, relative to the unit start, below which further steps change no digit.
const RESIDUAL: f64 = 1e-13;
/// Shift `$\sigma$` in units of M's diagonal, 1: small beside the quotients that matter, large beside rounding errors.
const SHIFT: f64 = 1e-6;
/// Diagonal entry, in the same units, that directions without any get.
const LEAST_DIAGONAL: f64 = 1e-14;

/// Minimises N/D without a matrix of order p.
///
/// With M = N + D scaled to unit diagonal, the minimiser is the dominant eigenvector of `$(N + \sigma M)^{-1} M$`,
/// found by Lanczos iteration with full reorthogonalisation in the M inner product. The inverse is one
/// factorisation of the order of the number of rows; a step costs `$O(np)$`. Besides at most n
/// eigenvalues the spectrum is clustered, so that about n steps give all digits.
pub(super) fn minimise(
    n: &DiagonalPlusGram,
    d: &DiagonalPlusGram,
    control: &Control,
) -> Result<Eigenpair> {
    let q = n.diagonal.len();
    let mut mass: Vec<f64> = n.diagonal.iter().zip(&d.diagonal).map(|(a, b)| a + b).collect();
    for rows in [&n.rows, &d.rows] {
        for i in 0..rows.nrows() {
            mass.iter_mut().zip(rows.row(i)).for_each(|(m, v)| *m += v * v);
        }
    }
    let scale: Vec<f64> =
        mass.iter().map(|m| if *m > 0.0 { 1.0 / m.sqrt() } else { 0.0 }).collect();
    let (sn, sd) = (n.scaled(&scale), d.scaled(&scale));
    let sigma = SHIFT;
    let (height_n, height_d) = (sn.rows.nrows(), sd.rows.nrows());
    let mut data = sn.rows.data().to_vec();
    data.extend_from_slice(sd.rows.data());
    let rows = Dense::from_rows(height_n + height_d, q, data);
    let mut weights = vec![1.0 + sigma; height_n];
    weights.extend(vec![sigma; height_d]);
    let total: Vec<f64> = sn.diagonal.iter().zip(&sd.diagonal).map(|(a, b)| a + b).collect();
    // Directions without any diagonal get a negligible one.
    let shifted: Vec<f64> =
        (0..q).map(|j| (sn.diagonal[j] + sigma * total[j]).max(LEAST_DIAGONAL)).collect();
    let breakdown = || Error::Numerical("generalized eigenvalue problem with many features".into());
    let solve = DiagonalPlusRows::new(shifted, rows.clone(), weights).ok_or_else(breakdown)?;
    let apply = |z: &[f64]| -> Vec<f64> {
        let mut out = rows.tr_mul_vec(&rows.mul_vec(z));
        (0..q).for_each(|j| out[j] += total[j] * z[j]);
        out
    };
    let z = lanczos(q, |v| solve.solve(v), apply, control)?;
    let z: Vec<f64> = z.iter().zip(&scale).map(|(z, s)| z * s).collect();
    let bottom = d.value(&z);
    let value = if bottom > 0.0 { n.value(&z) / bottom } else { f64::INFINITY };
    if value.is_nan() { Err(breakdown()) } else { Ok(Eigenpair { z, value }) }
}

/// The same normal numbers in every run.
fn random_start(q: usize) -> Vec<f64> {
    let mut rng = generator(0);
    (0..q).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// Takes from `next` its part along the basis; twice, because rounding leaves some of it the first time.
fn orthogonalise(next: &mut [f64], basis: &[Vec<f64>], images: &[Vec<f64>]) {
    for _ in 0..2 {
        for (v, image) in basis.iter().zip(images) {
            vector::axpy(-vector::dot(image, next), v, next);
        }
    }
}

/// Dominant eigenvector of `solve` after `apply`, self-adjoint in the inner product of `apply`.
fn lanczos(
    q: usize,
    solve: impl Fn(&[f64]) -> Vec<f64>,
    apply: impl Fn(&[f64]) -> Vec<f64>,
    control: &Control,
) -> Result<Vec<f64>> {
    let mut next = solve(&apply(&random_start(q)));
    let (mut basis, mut images): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    let (mut alpha, mut beta) = (Vec::new(), Vec::new());
    let mut answer: Option<(Vec<f64>, f64)> = None;
    while basis.len() < LIMIT.min(q) {
        control.check()?;
        orthogonalise(&mut next, &basis, &images);
        let mut image = apply(&next);
        let length = vector::dot(&next, &image).max(0.0).sqrt();
        let done = !(length.is_finite() && length > 0.0);
        if let Some((ritz, residual)) = answer.take()
            && (done || length * residual <= RESIDUAL)
        {
            return Ok(combine(&basis, &ritz));
        }
        if done {
            break;
        }
        vector::scale(&mut next, 1.0 / length);
        vector::scale(&mut image, 1.0 / length);
        if !basis.is_empty() {
            beta.push(length);
        }
        let forward = solve(&image);
        alpha.push(vector::dot(&forward, &image));
        basis.push(std::mem::replace(&mut next, forward));
        images.push(image);
        answer = Some(dominant_ritz_pair(&alpha, &beta)?);
    }
    match answer {
        Some((ritz, _)) => Ok(combine(&basis, &ritz)),
        None => Err(Error::Numerical("the features are all constant: no plane exists".into())),
    }
}

/// The dominant eigenvector of the tridiagonal matrix, and the residual of its Ritz pair for a coming beta of 1,
/// relative to its value.
fn dominant_ritz_pair(alpha: &[f64], beta: &[f64]) -> Result<(Vec<f64>, f64)> {
    let k = alpha.len();
    let tridiagonal = Dense::from_fn(k, k, |i, j| match i.abs_diff(j) {
        0 => alpha[i],
        1 => beta[i.min(j)],
        _ => 0.0,
    });
    let eigen = SymmetricEigen::new(&tridiagonal)?;
    let ritz = eigen.vectors.column(k - 1);
    let residual = ritz[k - 1].abs() / eigen.values[k - 1].abs().max(TINY);
    Ok((ritz, residual))
}

fn combine(basis: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; basis[0].len()];
    basis.iter().zip(weights).for_each(|(v, w)| vector::axpy(*w, v, &mut out));
    out
}
