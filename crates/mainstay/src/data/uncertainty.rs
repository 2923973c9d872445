//! The known error of measurements, as it was given: shapes of ellipsoids around rows.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg::{Dense, psd_factor};

/// The shape of one ellipsoid `$\{d : d^\top P^{-1} d \le 1\}$` (`$P = \Sigma^{-1}$` of the ReGEC paper).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shape {
    /// `$P = r^2 I$`: a ball of this radius.
    Ball(f64),
    /// `$P = \mathrm{diag}(l_j^2)$`: semi-axis lengths along the features; 0 is an exact feature.
    Axes(Vec<f64>),
    /// `$P$` itself, symmetric positive semidefinite.
    Matrix(Vec<Vec<f64>>),
}

/// Ellipsoids around the rows of a data set, one way or the other.
#[derive(Debug, Clone, PartialEq)]
pub enum RowUncertainty {
    /// One radius per row.
    Radii(Vec<f64>),
    /// Semi-axis lengths, one row per sample.
    Axes(Dense),
    /// `$P$` of every row, row-major, one row per sample (p^2 columns).
    Matrices(Dense),
    /// Rows that share ellipsoids (the matrix E of the paper's (34)).
    Groups {
        /// Which shape belongs to each row.
        group: Vec<usize>,
        /// The shapes.
        shapes: Vec<Shape>,
    },
}

fn bad(what: impl std::fmt::Display) -> Error {
    Error::BadData(format!("uncertainty: {what}"))
}

fn lengths(values: &[f64], place: &dyn Fn(usize) -> String, what: &str) -> Result<()> {
    match values.iter().position(|v| !(v.is_finite() && *v >= 0.0)) {
        Some(k) => {
            let rule = "must be finite and not negative";
            Err(bad(format!("{what}{} = {}: {rule}", place(k), values[k])))
        }
        None => Ok(()),
    }
}

/// Finite and symmetric up to rounding.
fn symmetric(matrix: &[f64], p: usize, place: &str) -> Result<()> {
    if let Some(k) = matrix.iter().position(|v| !v.is_finite()) {
        return Err(bad(format!("{place}: entry ({}, {}) is {}", k / p, k % p, matrix[k])));
    }
    let largest = matrix.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for i in 0..p {
        for j in 0..i {
            let (a, b) = (matrix[i * p + j], matrix[j * p + i]);
            if (a - b).abs() > 1e-8 * largest {
                let text =
                    format!("{place} is not symmetric: entry ({i}, {j}) is {a}, ({j}, {i}) is {b}");
                return Err(bad(text));
            }
        }
    }
    Ok(())
}

/// Positive semidefinite up to rounding.
fn semidefinite(matrix: &[f64], p: usize, place: &str) -> Result<()> {
    if psd_factor(&Dense::from_rows(p, p, matrix.to_vec())).is_some() {
        return Ok(());
    }
    Err(bad(format!(
        "{place} is not positive semidefinite: P must be a covariance-like matrix (P = Sigma^-1)"
    )))
}

impl Shape {
    /// Checks the shape against `p` features; `place` names it in the error.
    pub fn check(&self, p: usize, place: &str) -> Result<()> {
        match self {
            Self::Ball(r) => lengths(&[*r], &|_| String::new(), place),
            Self::Axes(axes) if axes.len() != p => Err(bad(format!(
                "{place} has {} semi-axes, expected {p}: one for each feature",
                axes.len()
            ))),
            Self::Axes(axes) => lengths(axes, &|j| format!("[{j}]"), place),
            Self::Matrix(rows) if rows.len() != p || rows.iter().any(|r| r.len() != p) => {
                let columns = rows.first().map_or(0, Vec::len);
                Err(bad(format!(
                    "{place} has shape ({}, {columns}), expected ({p}, {p})",
                    rows.len()
                )))
            }
            Self::Matrix(rows) => {
                let matrix = rows.concat();
                symmetric(&matrix, p, place)?;
                semidefinite(&matrix, p, place)
            }
        }
    }
}

impl Shape {
    /// The same ellipsoid where every feature is divided by its scale.
    #[must_use]
    fn divided(&self, scales: &[f64]) -> Self {
        match self {
            Self::Ball(r) => Self::Axes(scales.iter().map(|s| r / s).collect()),
            Self::Axes(axes) => Self::Axes(divide(axes, scales).collect()),
            Self::Matrix(rows) => {
                let row =
                    |(row, s): (&Vec<f64>, &f64)| divide(row, scales).map(|v| v / s).collect();
                Self::Matrix(rows.iter().zip(scales).map(row).collect())
            }
        }
    }
}

fn divide(row: &[f64], scales: &[f64]) -> impl Iterator<Item = f64> {
    row.iter().zip(scales).map(|(v, s)| v / s)
}

impl RowUncertainty {
    /// The same ellipsoids where every feature is divided by its scale.
    #[must_use]
    pub fn divided(&self, scales: &[f64]) -> Self {
        let p = scales.len();
        match self {
            Self::Radii(radii) => {
                Self::Axes(Dense::from_fn(radii.len(), p, |i, j| radii[i] / scales[j]))
            }
            Self::Axes(m) => Self::Axes(Dense::from_fn(m.nrows(), p, |i, j| m[(i, j)] / scales[j])),
            Self::Matrices(m) => Self::Matrices(Dense::from_fn(m.nrows(), p * p, |i, k| {
                m[(i, k)] / scales[k / p] / scales[k % p]
            })),
            Self::Groups { group, shapes } => Self::Groups {
                group: group.clone(),
                shapes: shapes.iter().map(|shape| shape.divided(scales)).collect(),
            },
        }
    }

    /// Names the first row whose matrix is not positive semidefinite. Proving it of all of them takes as long as
    /// factoring them, so `RowUncertainty::check` leaves it to those who do.
    pub fn check_semidefinite(&self, p: usize) -> Result<()> {
        let Self::Matrices(m) = self else { return Ok(()) };
        let one = |i| semidefinite(m.row(i), p, &format!("the matrix of row {i}"));
        (0..m.nrows()).try_for_each(one)
    }

    /// Checks the parts against `n` rows of `p` features.
    pub(super) fn check(&self, n: usize, p: usize) -> Result<()> {
        let shape = |found: String| {
            Err(bad(format!(
                "has shape {found}, expected ({n},), ({n}, {p}) or ({n}, {p}, {p}) for {n} rows of {p} features"
            )))
        };
        match self {
            Self::Radii(radii) if radii.len() != n => shape(format!("({},)", radii.len())),
            Self::Radii(radii) => lengths(radii, &|i| format!("[{i}]"), "radius"),
            Self::Axes(m) if (m.nrows(), m.ncols()) != (n, p) => {
                shape(format!("({}, {})", m.nrows(), m.ncols()))
            }
            Self::Axes(m) => lengths(m.data(), &|k| format!("[{}, {}]", k / p, k % p), "semi-axis"),
            Self::Matrices(m) if (m.nrows(), m.ncols()) != (n, p * p) => {
                shape(format!("({}, {} entries a matrix)", m.nrows(), m.ncols()))
            }
            Self::Matrices(m) => {
                (0..n).try_for_each(|i| symmetric(m.row(i), p, &format!("the matrix of row {i}")))
            }
            Self::Groups { group, shapes } => {
                if group.len() != n {
                    return Err(bad(format!("{} group indices for {n} rows", group.len())));
                }
                if let Some(i) = group.iter().position(|&g| g >= shapes.len()) {
                    let (g, count) = (group[i], shapes.len());
                    return Err(bad(format!(
                        "row {i} is in group {g}, but there are {count} groups"
                    )));
                }
                shapes.iter().enumerate().try_for_each(|(g, s)| s.check(p, &format!("group {g}")))
            }
        }
    }

    /// The ellipsoids of `rows`, in that order.
    #[must_use]
    pub(super) fn select_rows(&self, rows: &[usize]) -> Self {
        match self {
            Self::Radii(radii) => Self::Radii(rows.iter().map(|&i| radii[i]).collect()),
            Self::Axes(m) => Self::Axes(m.select_rows(rows)),
            Self::Matrices(m) => Self::Matrices(m.select_rows(rows)),
            Self::Groups { group, shapes } => Self::Groups {
                group: rows.iter().map(|&i| group[i]).collect(),
                shapes: shapes.clone(),
            },
        }
    }

    /// Numbers that tell the ellipsoid of row `i` from those of other rows.
    pub(super) fn key(&self, i: usize) -> Key<'_> {
        match self {
            Self::Radii(radii) => Key::Numbers(&radii[i..=i]),
            Self::Axes(m) | Self::Matrices(m) => Key::Numbers(m.row(i)),
            Self::Groups { group, .. } => Key::Group(group[i]),
        }
    }
}

/// See [`RowUncertainty::key`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Key<'a> {
    Numbers(&'a [f64]),
    Group(usize),
}

impl Key<'_> {
    /// Bit patterns, zeros of both signs alike.
    pub(super) fn bits(self) -> impl Iterator<Item = u64> {
        let (numbers, group) = match self {
            Self::Numbers(numbers) => (numbers, None),
            Self::Group(group) => (&[][..], Some(group as u64)),
        };
        numbers.iter().map(|v| (v + 0.0).to_bits()).chain(group)
    }
}
