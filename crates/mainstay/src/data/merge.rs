//! A canonical form of weighted data: weight 2 and the row twice become the same bits.

use rayon::prelude::*;

use super::row_hash::{hash, mix, quick_hash, scattered};
use super::uncertainty::Key;
use super::{Dataset, Positions};
use crate::linalg::Row;

/// A data set without zero weights and repeated rows, and the way back to the rows as they were given.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Distinct (row, label) pairs; weights are always present.
    pub data: Dataset,
    /// For every given row its position in `data`.
    pub position: Positions,
}

/// Distinct rows from which on they keep the order in which they were given: sorting would take a copy of all
/// features and as long as a pass of a fit. Rows in another order then give other last digits.
const KEPT_ORDER: usize = 50_000;
/// Rows worth a task of their own.
const ROWS_PER_TASK: usize = 1024;

impl Merged {
    /// Drops rows of weight 0 and adds up the weights of equal (row, label) pairs (and equal measurement errors, where
    /// there are any), so that neither repetition nor storage (dense or sparse) matters.
    ///
    /// Fewer than 50,000 distinct rows are sorted by a hash, so that their order does not matter either. More keep the order in which
    /// they appear first; features that are lent are then lent on where no row is dropped.
    pub fn new(data: &Dataset) -> Self {
        let hashed = hashed(data);
        if hashed.len() == data.len() && many_apart(&hashed) {
            return Self::as_given(data);
        }
        let copies = Copies::new(data, hashed);
        if copies.all_apart() {
            return Self::as_given(data);
        }
        let merged = data.select_rows(&copies.firsts().collect::<Vec<usize>>());
        let position = Positions::listed(copies.position());
        Self { data: merged.replace_weights(copies.weights(data)), position }
    }

    /// Rows of which each counts and stands for itself.
    fn as_given(data: &Dataset) -> Self {
        let weights = data.weights().map_or_else(|| vec![1.0; data.len()], <[f64]>::to_vec);
        let position = Positions::own(data.len());
        Self { data: data.clone().replace_weights(weights), position }
    }

    /// Per-row results of `data` as results of the given rows; dropped rows get `missing`.
    pub fn spread(&self, values: &[f64], missing: f64) -> Vec<f64> {
        self.position.iter().map(|at| at.map_or(missing, |k| values[k])).collect()
    }
}

/// For every row the number of its content and label, counted in the order of first appearance; `None` for rows of
/// weight 0.
pub fn distinct_rows(data: &Dataset) -> Vec<Option<usize>> {
    let copies = Copies::new(data, hashed(data));
    let mut numbers = vec![None; copies.ends.len()];
    let mut next = 0;
    let number = |place: &Option<usize>| {
        place.map(|k| {
            *numbers[k].get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        })
    };
    copies.position().iter().map(number).collect()
}

/// The first row of every content and label with the weight of all its copies, without those of weight 0, in the order
/// of [`Merged`].
pub fn weighted_rows(data: &Dataset) -> Vec<(usize, f64)> {
    let copies = Copies::new(data, hashed(data));
    copies.firsts().zip(copies.weights(data)).collect()
}

/// `some` of the `n` rows of [`Merged`] data in an order that has nothing to do with what they hold, so that its first
/// part is a sample too.
pub fn sampled_rows(n: usize, some: usize) -> Vec<usize> {
    if n < KEPT_ORDER {
        // They are in the order of a hash.
        return (0..some.min(n)).collect();
    }
    let mut drawn: Vec<(u64, usize)> = (0..n).map(|i| (scattered(i as u64), i)).collect();
    if some < n {
        drawn.select_nth_unstable(some);
        drawn.truncate(some);
    }
    drawn.sort_unstable();
    drawn.into_iter().map(|(_, i)| i).collect()
}

/// Which rows are the same.
struct Copies {
    /// All rows that count, kind after kind.
    rows: Vec<usize>,
    /// Where every kind ends in `rows`.
    ends: Vec<usize>,
    /// How many rows there are, counting or not.
    given: usize,
}

/// Whether these are many rows of which no two are alike.
fn many_apart(hashed: &[(u64, usize)]) -> bool {
    hashed.len() >= KEPT_ORDER && hashed.windows(2).all(|pair| pair[0].0 != pair[1].0)
}

impl Copies {
    /// Kinds in the order of [`Merged`].
    fn new(data: &Dataset, hashed: Vec<(u64, usize)>) -> Self {
        let given = data.len();
        if many_apart(&hashed) {
            let mut rows: Vec<usize> = hashed.into_iter().map(|(_, i)| i).collect();
            rows.par_sort_unstable();
            let ends = (1..=rows.len()).collect();
            return Self { rows, ends, given };
        }
        let (rows, ends) = kinds(data, &hashed);
        if ends.len() < KEPT_ORDER {
            return Self { rows, ends, given };
        }
        let start = |k: usize| if k == 0 { 0 } else { ends[k - 1] };
        let mut order: Vec<usize> = (0..ends.len()).collect();
        // Rows of a kind increase: the first one appeared first.
        order.sort_unstable_by_key(|&k| rows[start(k)]);
        let mut sorted = Vec::with_capacity(rows.len());
        let mut sorted_ends = Vec::with_capacity(ends.len());
        for k in order {
            sorted.extend_from_slice(&rows[start(k)..ends[k]]);
            sorted_ends.push(sorted.len());
        }
        Self { rows: sorted, ends: sorted_ends, given }
    }

    /// Whether these are all rows in their own order.
    fn all_apart(&self) -> bool {
        self.ends.len() == self.given && self.rows.iter().enumerate().all(|(at, &i)| at == i)
    }

    /// The kind of every row; `None` for rows of weight 0.
    fn position(&self) -> Vec<Option<usize>> {
        let mut position = vec![None; self.given];
        for (kind, rows) in self.kinds().enumerate() {
            for &i in rows {
                position[i] = Some(kind);
            }
        }
        position
    }

    /// The rows of each kind.
    fn kinds(&self) -> impl Iterator<Item = &[usize]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.rows[start..end])
    }

    /// The first row of each kind.
    fn firsts(&self) -> impl Iterator<Item = usize> {
        self.kinds().map(|rows| rows[0])
    }

    /// The weight of all rows of each kind.
    fn weights(&self, data: &Dataset) -> Vec<f64> {
        let weight = |&i: &usize| data.weights().map_or(1.0, |w| w[i]);
        let total = |rows: &[usize]| {
            if let [alone] = rows {
                return weight(alone);
            }
            let mut part: Vec<f64> = rows.iter().map(weight).collect();
            // Sorted before adding, so the sum does not depend on the order of the rows.
            part.sort_by(f64::total_cmp);
            part.iter().sum()
        };
        self.kinds().map(total).collect()
    }
}

/// Hash and number of every row that counts, sorted.
///
/// By numbers of our own: features that are lent may change under a comparison that reads them again.
fn hashed(data: &Dataset) -> Vec<(u64, usize)> {
    let x = data.features();
    let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
    let known = |i: usize| data.uncertainty().map(|u| u.key(i));
    let columns = x.ncols();
    let hash = |i: usize| {
        known(i).into_iter().flat_map(Key::bits).fold(quick_hash(x.row(i), columns), mix)
    };
    let rows = (0..data.len()).into_par_iter().with_min_len(ROWS_PER_TASK);
    let mut hashed: Vec<(u64, usize)> = rows.map(|i| (hash(i), i)).collect();
    hashed.retain(|&(_, i)| weight(i) > 0.0);
    hashed.par_sort_unstable();
    hashed
}

/// The rows of every kind, kind after kind in the order of their hashes, and where each kind ends.
fn kinds(data: &Dataset, hashed: &[(u64, usize)]) -> (Vec<usize>, Vec<usize>) {
    let x = data.features();
    let known = |i: usize| data.uncertainty().map(|u| u.key(i));
    let content = |i: usize| -> Content {
        (nonzeros(x.row(i)).collect(), known(i).into_iter().flat_map(Key::bits).collect())
    };
    let label = |i: usize| data.labels()[i];
    let (mut rows, mut ends) = (Vec::with_capacity(hashed.len()), Vec::new());
    for alike in hashed.chunk_by(|a, b| a.0 == b.0) {
        if let [(_, alone)] = alike {
            rows.push(*alone);
            ends.push(rows.len());
            continue;
        }
        let mut alike: Vec<usize> = alike.iter().map(|(_, i)| *i).collect();
        alike.sort_by_key(|&i| label(i));
        for alike in alike.chunk_by(|&a, &b| label(a) == label(b)) {
            // Rows that a quick hash cannot tell apart.
            let mut alike: Vec<(u64, usize)> = alike.iter().map(|&i| (hash(x.row(i)), i)).collect();
            alike.sort_unstable();
            for alike in alike.chunk_by(|a, b| a.0 == b.0) {
                let alike: Vec<usize> = alike.iter().map(|(_, i)| *i).collect();
                for equal in equal_rows(&alike, content) {
                    rows.extend(equal);
                    ends.push(rows.len());
                }
            }
        }
    }
    (rows, ends)
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
    use crate::linalg::{Csr, Dense, Matrix};

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
        assert_eq!(merged.position.at(0), merged.position.at(2));
        assert_ne!(merged.position.at(0), merged.position.at(1));
    }

    /// Wide rows that differ in one column, wherever it is: told apart, and in one order, whatever their storage and order.
    #[test]
    fn wide_rows_that_differ_in_a_single_column_stay_apart() {
        let columns = 10_000;
        let nonzero = |i: usize| [0, 63, 64, 5_000, 5_001, 9_999][i % 6];
        let cell = |i: usize, j: usize| f64::from(u8::from(nonzero(i) == j));
        let merged = |order: &[usize]| {
            let x = Dense::from_fn(order.len(), columns, |i, j| cell(order[i], j));
            let labels = vec![0; order.len()];
            let starts = (0..=order.len()).collect();
            let indices = order.iter().map(|&i| u32::try_from(nonzero(i)).unwrap()).collect();
            let sparse = Csr::new(columns, starts, indices, vec![1.0; order.len()]).unwrap();
            let [a, b] = [Matrix::from(x), Matrix::Sparse(sparse)].map(|x| {
                // One class alone: which rows are equal is all that is asked.
                Merged::new(&Dataset::batch(x, labels.clone(), 2, None).unwrap())
            });
            assert_eq!(a.data.weights(), b.data.weights());
            assert!(a.position.iter().eq(b.position.iter()));
            let of = |k: usize| order.iter().zip(a.position.iter()).find(|(_, at)| *at == Some(k));
            (0..a.data.len()).map(|k| nonzero(*of(k).unwrap().0)).collect::<Vec<usize>>()
        };
        let rows = merged(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(rows.len(), 6);
        assert_eq!(merged(&[5, 3, 1, 0, 2, 4, 9, 7, 3]), rows);
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
        assert_eq!(b.position.at(1), None);
        assert_eq!(a.position.at(0), a.position.at(2));
        assert_ne!(a.position.at(0), a.position.at(4));
        let rank: Vec<f64> = (0..4).map(f64::from).collect();
        assert_eq!(a.spread(&rank, f64::NAN)[0], a.spread(&rank, f64::NAN)[2]);
    }

    /// More rows than are sorted: the weight is the row twice, a weight of 0 its absence, and the order stays.
    #[test]
    fn many_rows_keep_their_order() {
        let n = KEPT_ORDER;
        let cell = |i: usize, j: usize| (i % n) as f64 + if j == 0 { 0.0 } else { 0.25 };
        let repeated = Dense::from_fn(n + 9, 2, cell);
        let label = |i: usize| i % n % 2;
        let labels = (0..n + 9).map(label).collect();
        let repeated = Dataset::new(repeated.into(), labels, 2).unwrap();
        // The first nine rows twice, and one behind all that does not count.
        let mut weights = vec![1.0; n];
        weights[..9].fill(2.0);
        weights.push(0.0);
        let distinct = Dense::from_fn(n + 1, 2, |i, j| if i < n { cell(i, j) } else { -1.0 });
        let labels = (0..=n).map(label).collect();
        let weighted = Dataset::new(distinct.into(), labels, 2).unwrap();
        let weighted = weighted.with_weights(weights).unwrap();
        let (a, b) = (Merged::new(&repeated), Merged::new(&weighted));
        assert_eq!(a.data.features().values(), b.data.features().values());
        assert_eq!(a.data.weights(), b.data.weights());
        assert_eq!(a.data.len(), n);
        assert_eq!((a.position.at(3), a.position.at(n + 3)), (Some(3), Some(3)));
        assert_eq!((b.position.at(3), b.position.at(n)), (Some(3), None));
        // Rows that are all there and apart stand for themselves.
        let alone = Merged::new(&repeated.select_rows(&(0..n).collect::<Vec<usize>>()));
        assert_eq!(alone.data.features().values(), a.data.features().values());
        assert!(alone.position.iter().eq((0..n).map(Some)) && alone.position.len() == n);
        assert_eq!(alone.data.weights(), Some(vec![1.0; n].as_slice()));
    }

    #[test]
    fn samples_of_many_rows_have_no_pattern() {
        let n = 4 * KEPT_ORDER;
        let rows = sampled_rows(n, 4000);
        let part = |of: &dyn Fn(usize) -> bool| rows[..1000].iter().filter(|&&i| of(i)).count();
        // Binomial counts of 1,000 draws: half of them +- 60 is nearly four standard deviations.
        for found in [part(&|i| i < n / 2), part(&|i| i % 2 == 0), part(&|i| i % 16 < 8)] {
            assert!((440..=560).contains(&found), "{found}");
        }
        assert_eq!(sampled_rows(9, 4), [0, 1, 2, 3]);
    }
}
