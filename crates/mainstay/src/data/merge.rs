//! A canonical form of weighted data: weight 2 and the row twice become the same bits.

use super::Dataset;
use super::uncertainty::Key;
use crate::linalg::Row;

/// A data set without zero weights and repeated rows, in an order that depends only on the
/// rows themselves, and the way back to the rows as they were given.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Distinct (row, label) pairs; weights are always present.
    pub data: Dataset,
    /// For every given row its position in `data`; `None` for rows of weight 0.
    pub position: Vec<Option<usize>>,
}

impl Merged {
    /// Drops rows of weight 0, adds up the weights of equal (row, label) pairs (and equal measurement
    /// errors, where there are any) and sorts by a hash of the row, so that neither row order nor repetition nor storage (dense or sparse) matters.
    pub fn new(data: &Dataset) -> Self {
        let copies = Copies::of(data);
        let (first, weights): (Vec<usize>, Vec<f64>) = copies.weighted(data).unzip();
        let position = copies.position;
        Self { data: data.select_rows(&first).replace_weights(weights), position }
    }

    /// Per-row results of `data` as results of the given rows; dropped rows get `missing`.
    pub fn spread(&self, values: &[f64], missing: f64) -> Vec<f64> {
        self.position.iter().map(|p| p.map_or(missing, |k| values[k])).collect()
    }
}

/// For every row the number of its content and label, counted in the order of first appearance; `None` for rows of
/// weight 0.
pub fn distinct_rows(data: &Dataset) -> Vec<Option<usize>> {
    let copies = Copies::of(data);
    let mut numbers = vec![None; copies.rows.len()];
    let mut next = 0;
    let number = |place: &Option<usize>| {
        place.map(|k| {
            *numbers[k].get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        })
    };
    copies.position.iter().map(number).collect()
}

/// The first row of every content and label with the weight of all its copies, without those of weight 0, in an order
/// that depends only on the rows themselves.
pub fn weighted_rows(data: &Dataset) -> Vec<(usize, f64)> {
    Copies::of(data).weighted(data).collect()
}

/// Which rows are the same.
struct Copies {
    /// All rows of each kind.
    rows: Vec<Vec<usize>>,
    /// The kind of every row; `None` for rows of weight 0.
    position: Vec<Option<usize>>,
}

impl Copies {
    /// Kinds in an order that depends only on the rows themselves.
    fn of(data: &Dataset) -> Self {
        let x = data.features();
        let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
        let known = |i: usize| data.uncertainty().map(|u| u.key(i));
        let hashes: Vec<u64> = (0..data.len())
            .map(|i| known(i).into_iter().flat_map(Key::bits).fold(hash(x.row(i)), mix))
            .collect();
        let content = |i: usize| -> Content {
            (nonzeros(x.row(i)).collect(), known(i).into_iter().flat_map(Key::bits).collect())
        };
        let key = |i: usize| (hashes[i], data.labels()[i]);
        let mut order: Vec<usize> = (0..data.len()).filter(|&i| weight(i) > 0.0).collect();
        // By numbers of our own: features that are lent may change under a comparison that reads them again.
        order.sort_by_key(|&i| key(i));
        let mut position = vec![None; data.len()];
        let mut rows: Vec<Vec<usize>> = Vec::with_capacity(order.len());
        for alike in order.chunk_by(|&a, &b| key(a) == key(b)) {
            for equal in equal_rows(alike, content) {
                for &i in &equal {
                    position[i] = Some(rows.len());
                }
                rows.push(equal);
            }
        }
        Self { rows, position }
    }

    /// The first row of each kind and the weight of all.
    fn weighted(&self, data: &Dataset) -> impl Iterator<Item = (usize, f64)> {
        let weight = |&i: &usize| data.weights().map_or(1.0, |w| w[i]);
        self.rows.iter().map(move |equal| {
            let mut part: Vec<f64> = equal.iter().map(weight).collect();
            // Sorted before adding, so the sum does not depend on the order of the rows.
            part.sort_by(f64::total_cmp);
            (equal[0], part.iter().sum())
        })
    }
}

fn mix(h: u64, v: u64) -> u64 {
    (h ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// A fixed hash of the nonzero entries; equal rows hash equally however they are stored.
///
/// Entries are mixed one by one and added up, so that the work is not one long chain.
fn hash(row: Row<'_>) -> u64 {
    let mix = |(j, v): (usize, f64)| {
        let place = (j as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x243F_6A88_85A3_08D3;
        let mixed = (v.to_bits() ^ place).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        if v == 0.0 { 0 } else { mixed ^ (mixed >> 29) }
    };
    match row {
        Row::Dense(values) => {
            values.iter().enumerate().fold(0, |h: u64, (j, v)| h.wrapping_add(mix((j, *v))))
        }
        Row::Sparse(..) => row.entries().fold(0, |h: u64, entry| h.wrapping_add(mix(entry))),
    }
}

/// What tells rows apart: their nonzeros and their known error.
type Content = (Vec<(usize, u64)>, Vec<u64>);

fn nonzeros(row: Row<'_>) -> impl Iterator<Item = (usize, u64)> + '_ {
    row.entries().filter(|(_, v)| *v != 0.0).map(|(j, v)| (j, v.to_bits()))
}

/// Rows of one hash and label in groups of equal content, in the order of that; nearly always one group.
fn equal_rows(alike: &[usize], content: impl Fn(usize) -> Content) -> Vec<Vec<usize>> {
    if let [alone] = alike {
        return vec![vec![*alone]];
    }
    let mut groups: Vec<(Content, Vec<usize>)> = Vec::new();
    for &i in alike {
        let own = content(i);
        match groups.iter_mut().find(|(other, _)| *other == own) {
            Some((_, rows)) => rows.push(i),
            None => groups.push((own, vec![i])),
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups.into_iter().map(|(_, rows)| rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    fn data(rows: &[[f64; 2]], labels: &[usize], weights: Option<&[f64]>) -> Dataset {
        let x = Dense::from_fn(rows.len(), 2, |i, j| rows[i][j]);
        let data = Dataset::new(Matrix::from(x), labels.to_vec(), 2).unwrap();
        match weights {
            Some(w) => data.with_weights(w.to_vec()).unwrap(),
            None => data,
        }
    }

    #[test]
    fn rows_with_different_errors_stay_apart() {
        let rows = data(&[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], &[0, 0, 0, 1], None);
        let radii = crate::data::RowUncertainty::Radii(vec![0.5, 0.1, 0.5, 0.0]);
        let merged = Merged::new(&rows.with_uncertainty(radii).unwrap());
        assert_eq!(merged.data.len(), 3);
        assert_eq!(merged.position[0], merged.position[2]);
        assert_ne!(merged.position[0], merged.position[1]);
    }

    #[test]
    fn repetition_weights_and_row_order_give_the_same_bits() {
        let repeated = data(
            &[[1.0, 2.0], [0.0, -0.0], [1.0, 2.0], [3.0, 1.0], [1.0, 2.0]],
            &[0, 1, 0, 1, 1],
            None,
        );
        let weighted = data(
            &[[3.0, 1.0], [9.0, 9.0], [1.0, 2.0], [1.0, 2.0], [-0.0, 0.0]],
            &[1, 0, 1, 0, 1],
            Some(&[1.0, 0.0, 1.0, 2.0, 1.0]),
        );
        let (a, b) = (Merged::new(&repeated), Merged::new(&weighted));
        assert_eq!(a.data.labels(), b.data.labels());
        assert_eq!(a.data.weights(), b.data.weights());
        assert_eq!(a.data.features().values(), b.data.features().values());
        assert_eq!(a.data.len(), 4);
        assert_eq!(b.position[1], None);
        assert_eq!(a.position[0], a.position[2]);
        assert_ne!(a.position[0], a.position[4]);
        let rank: Vec<f64> = (0..4).map(f64::from).collect();
        assert_eq!(a.spread(&rank, f64::NAN)[0], a.spread(&rank, f64::NAN)[2]);
    }
}
