//! Vectors, rows (dense and sparse) and factorisations. All arithmetic is `f64`.
//!
//! The factorisations are faer's (but one, [`PanelCholesky`]); they are wrapped in functions on [`Dense`] so that the rest of
//! the crate compiles none of faer's generics and always runs them on one thread (parallelism
//! lives in the outer loops, which keeps results independent of the number of threads).

mod accurate;
mod compensated;
mod csr;
mod dense;
pub(crate) mod elementary;
mod factor;
mod gram;
mod growing;
mod low_rank;
mod matrix;
mod panel_cholesky;
mod pivoted;
mod products;
mod ranges;
mod row;
mod stacked;
mod storage;
pub mod vector;
mod weighted_gram;

pub use accurate::{Accurate, ColumnSums, Scores};
pub use compensated::Compensated;
pub use csr::Csr;
pub use dense::Dense;
pub use factor::{Cholesky, Lq, Lu, Svd, SymmetricEigen, psd_factor, qr_triangle, thin_qr};
pub use gram::GramSum;
pub use growing::GrowingCholesky;
pub use low_rank::DiagonalPlusRows;
pub use matrix::Matrix;
pub use panel_cholesky::PanelCholesky;
pub use pivoted::PivotedCholesky;
pub use products::ColumnPass;
pub use ranges::ColumnRanges;
pub use row::Row;

/// A divisor, at least: keeps a quotient finite where its denominator vanishes.
pub const TINY: f64 = 1e-300;

/// Part of the fall that the slope promises which a step of a line search must bring (Armijo's rule).
pub const ARMIJO: f64 = 1e-4;
