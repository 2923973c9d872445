//! Rows of a block in the units of a kernel, chunk by chunk.

use super::super::block::Block;
use super::super::wire::wire;
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};

/// Numbers of a chunk: few enough for the cache next to the processor.
const CHUNK_NUMBERS: usize = 65_536;

/// How rows are seen: `$(x_j - m_j) t_j$`, and behind them a constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowUnits {
    /// `$m_j$`; empty where nothing is subtracted.
    pub means: Vec<f64>,
    /// `$t_j$`.
    pub factors: Vec<f64>,
    /// The last column; none where it is absent.
    pub constant: Option<f64>,
    /// Factor on the weight of every row of a class.
    pub class_factors: Vec<f64>,
}

wire!(RowUnits { means, factors, constant, class_factors });

/// Some rows of a block. Rows without weight are left out.
pub(super) struct Chunk {
    pub x: Dense,
    pub labels: Vec<usize>,
    pub weights: Vec<f64>,
}

impl RowUnits {
    /// Columns, the constant included.
    pub(crate) fn width(&self) -> usize {
        self.factors.len() + usize::from(self.constant.is_some())
    }

    /// Shows all rows of `block`, in order and in fixed chunks.
    pub(super) fn each_chunk(
        &self,
        block: &Block<'_>,
        mut see: impl FnMut(&Chunk) -> Result<()>,
    ) -> Result<()> {
        let p = self.factors.len();
        block.check_known(p, self.class_factors.len())?;
        let height = (CHUNK_NUMBERS / self.width().max(1)).clamp(64, 2048);
        for first in (0..block.len()).step_by(height) {
            let chunk = self.chunk(block, first..block.len().min(first + height));
            if !vector::all_finite(chunk.x.data()) {
                return Err(block.changed());
            }
            see(&chunk)?;
        }
        Ok(())
    }

    fn chunk(&self, block: &Block<'_>, rows: std::ops::Range<usize>) -> Chunk {
        let weight = |i: usize| block.weight(i) * self.class_factors[block.labels[i]];
        let used: Vec<usize> = rows.filter(|&i| weight(i) > 0.0).collect();
        let mut data = Vec::with_capacity(used.len() * self.width());
        for &i in &used {
            let first = data.len();
            match &*block.x {
                Matrix::Dense(x) => data.extend_from_slice(x.row(block.rows.start + i)),
                sparse @ Matrix::Sparse(_) => {
                    data.resize(first + self.factors.len(), 0.0);
                    sparse.row(block.rows.start + i).add_scaled_to(1.0, &mut data[first..]);
                }
            }
            if !self.means.is_empty() {
                data[first..].iter_mut().zip(&self.means).for_each(|(x, m)| *x -= m);
            }
            data[first..].iter_mut().zip(&self.factors).for_each(|(x, t)| *x *= t);
            data.extend(self.constant);
        }
        Chunk {
            x: Dense::from_rows(used.len(), self.width(), data),
            labels: used.iter().map(|&i| block.labels[i]).collect(),
            weights: used.into_iter().map(weight).collect(),
        }
    }
}
