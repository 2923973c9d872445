//! Encoded columns side by side, as a matrix.

use crate::data::MISSING;
use crate::error::{Error, Result};
use crate::linalg::{Csr, Dense};

/// Rows filled at a time.
const ROWS: usize = 256;

/// One raw column, encoded: its features start at 0.
pub(super) enum EncodedColumn {
    Number(Vec<f64>),
    /// The indicator that is 1, or [`MISSING`] for none.
    OneOf(Vec<u32>, usize),
}

impl EncodedColumn {
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::OneOf(_, width) => *width,
        }
    }
}

/// Every entry stored.
pub(super) fn dense(nrows: usize, parts: &[EncodedColumn]) -> Dense {
    let ncols = parts.iter().map(EncodedColumn::width).sum();
    let mut out = Dense::zeros(nrows, ncols);
    if ncols == 0 {
        return out;
    }
    // Column by column, but few rows at a time, so that a row stays in the cache until it is full.
    for (block, cells) in out.data_mut().chunks_mut(ROWS * ncols).enumerate() {
        let rows = block * ROWS..nrows.min((block + 1) * ROWS);
        let mut start = 0;
        for part in parts {
            match part {
                EncodedColumn::Number(values) => {
                    for (row, v) in cells.chunks_mut(ncols).zip(&values[rows.clone()]) {
                        row[start] = *v;
                    }
                }
                EncodedColumn::OneOf(codes, _) => {
                    for (row, &code) in cells.chunks_mut(ncols).zip(&codes[rows.clone()]) {
                        if code != MISSING {
                            row[start + code as usize] = 1.0;
                        }
                    }
                }
            }
            start += part.width();
        }
    }
    out
}

/// Only nonzeros stored.
pub(super) fn sparse(nrows: usize, parts: &[EncodedColumn]) -> Result<Csr> {
    let too_wide = |_| Error::BadData("more than 2^32 features".into());
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let ncols = parts.iter().map(EncodedColumn::width).sum();
    u32::try_from(ncols).map_err(too_wide)?;
    for i in 0..nrows {
        let mut start = 0;
        for part in parts {
            let (place, value) = match part {
                EncodedColumn::Number(cells) => (0, cells[i]),
                EncodedColumn::OneOf(codes, _) => {
                    (codes[i], f64::from(u8::from(codes[i] != MISSING)))
                }
            };
            if value != 0.0 {
                indices.push(start + place);
                values.push(value);
            }
            start += u32::try_from(part.width()).map_err(too_wide)?;
        }
        starts.push(indices.len());
    }
    Csr::new(ncols, starts, indices, values)
}
