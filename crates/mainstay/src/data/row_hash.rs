//! A fixed hash of rows, and whether it tells all of them apart.

use super::Dataset;
use crate::linalg::{Dense, Matrix, Row};

/// By how many features rows are told apart, try after try: two are enough where one is measured, more cost more. One that
/// fails ends with the first two rows that it cannot tell apart.
const TELLING_FEATURES: [usize; 2] = [2, 16];

/// Whether every row counts once and has no copy, as far as the first few features tell: `false` may be wrong, `true` is not.
pub(crate) fn surely_once(data: &Dataset) -> bool {
    let Matrix::Dense(x) = data.features() else { return false };
    if data.weights().is_some_and(|weights| weights.iter().any(|w| *w != 1.0)) {
        return false;
    }
    TELLING_FEATURES.into_iter().any(|some| all_differ(x, some.min(x.ncols())))
}

/// Whether the first `some` features of all rows have different hashes.
fn all_differ(x: &Dense, some: usize) -> bool {
    // At most half full, so that few rows meet others; 0 is an empty place.
    let places = (2 * x.nrows()).next_power_of_two();
    let mut seen = vec![0_u64; places];
    (0..x.nrows()).all(|i| {
        let found = hash(Row::Dense(&x.row(i)[..some])).max(1);
        #[expect(clippy::cast_possible_truncation, reason = "its lower bits are the place")]
        let mut at = found as usize & (places - 1);
        while seen[at] != 0 {
            if seen[at] == found {
                return false;
            }
            at = (at + 1) & (places - 1);
        }
        seen[at] = found;
        true
    })
}

/// A number that looks random, the same for every `i` and another one for every other (the finaliser of splitmix64).
pub(super) fn scattered(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One more number in a hash.
pub(super) fn mix(h: u64, v: u64) -> u64 {
    (h ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// A fixed hash of the nonzero entries; equal rows hash equally however they are stored.
///
/// Entries are mixed one by one and added up, so that the work is not one long chain.
pub(super) fn hash(row: Row<'_>) -> u64 {
    match row {
        Row::Dense(values) => hash_from(0, values),
        Row::Sparse(..) => row.entries().fold(0, |h: u64, entry| h.wrapping_add(mixed(entry))),
    }
}

/// Columns beyond which a few runs of them tell rows apart first.
const WIDE: usize = 4096;
/// Runs of columns of wide rows, equally spaced.
const RUNS: usize = 16;
/// Columns of a run.
const RUN: usize = 64;

/// The same of the first few columns to look at: all of them unless a row of `columns` is wide. Rows that it cannot tell
/// apart may differ elsewhere.
pub(super) fn quick_hash(row: Row<'_>, columns: usize) -> u64 {
    if columns <= WIDE {
        return hash(row);
    }
    let start = |run: usize| run * (columns - RUN) / (RUNS - 1);
    let one = |run: usize| {
        let (first, end) = (start(run), start(run) + RUN);
        match row {
            Row::Dense(values) => hash_from(first, &values[first..end]),
            Row::Sparse(indices, values) => {
                let at = |column: usize| indices.partition_point(|&j| (j as usize) < column);
                let (from, to) = (at(first), at(end));
                let entries = indices[from..to].iter().zip(&values[from..to]);
                entries.fold(0, |h: u64, (&j, &v)| h.wrapping_add(mixed((j as usize, v))))
            }
        }
    };
    (0..RUNS).fold(0, |h, run| h.wrapping_add(one(run)))
}

/// The hash of some entries of a row, the first of which is in column `first`.
fn hash_from(first: usize, values: &[f64]) -> u64 {
    let add = |h: u64, (j, v): (usize, &f64)| h.wrapping_add(mixed((first + j, *v)));
    values.iter().enumerate().fold(0, add)
}

/// One entry; a zero counts for nothing.
#[inline]
fn mixed((j, v): (usize, f64)) -> u64 {
    let place = (j as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x243F_6A88_85A3_08D3;
    let mixed = (v.to_bits() ^ place).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    if v == 0.0 { 0 } else { mixed ^ (mixed >> 29) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_copy_or_a_weight_are_not_called_single() {
        let apart = [[1.0, 2.0], [1.0, 3.0], [-0.0, 2.0], [0.0, 1.0]];
        assert!(surely_once(&data(&apart, &[0, 1, 0, 1], None)));
        assert!(surely_once(&data(&apart, &[0, 1, 0, 1], Some(&[1.0; 4]))));
        assert!(!surely_once(&data(&apart, &[0, 1, 0, 1], Some(&[1.0, 2.0, 1.0, 1.0]))));
        let twice = [[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [-0.0, 3.0]];
        assert!(!surely_once(&data(&twice, &[0, 1, 0, 1], None)));
        assert!(!surely_once(&data(&twice[1..], &[0, 1, 0], None)));
    }

    fn data(rows: &[[f64; 2]], labels: &[usize], weights: Option<&[f64]>) -> Dataset {
        let x = Dense::from_fn(rows.len(), 2, |i, j| rows[i][j]);
        let data = Dataset::new(x.into(), labels.to_vec(), 2).unwrap();
        match weights {
            Some(weights) => data.with_weights(weights.to_vec()).unwrap(),
            None => data,
        }
    }
}
