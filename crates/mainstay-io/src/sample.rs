//! A sample of rows that are seen once.

use mainstay::data::LearnedRows;
use mainstay::linalg::{Csr, Dense, Matrix};

/// The rows whose hash is among the smallest. The hash depends on the seed and on the row's place alone, so that the
/// sample does not depend on where chunks were cut, and every set of rows is as likely as any other.
pub(crate) struct Sample {
    count: usize,
    seed: u64,
    seen: u64,
    columns: usize,
    sparse: bool,
    /// Rows kept: hash, place, and the row itself. Twice as many as wanted at most.
    kept: Vec<(u64, u64, SampledRow)>,
    /// Rows with a larger hash are out.
    limit: u64,
}

struct SampledRow {
    indices: Vec<u32>,
    values: Vec<f64>,
    label: usize,
    weight: Option<f64>,
    /// Where the row is in its file.
    place: usize,
}

impl Sample {
    pub(crate) fn new(count: usize, seed: u64) -> Self {
        let kept = Vec::new();
        Self { count, seed, seen: 0, columns: 0, sparse: false, kept, limit: u64::MAX }
    }

    pub(crate) fn add(&mut self, rows: &LearnedRows) {
        self.columns = rows.features.ncols();
        self.sparse = matches!(rows.features, Matrix::Sparse(_));
        for (i, &label) in rows.labels.iter().enumerate() {
            let place = self.seen;
            self.seen += 1;
            let hash = mixed(self.seed ^ mixed(place));
            if hash > self.limit {
                continue;
            }
            let (indices, values) = match &rows.features {
                Matrix::Dense(x) => (Vec::new(), x.row(i).to_vec()),
                Matrix::Sparse(x) => (x.row(i).0.to_vec(), x.row(i).1.to_vec()),
            };
            let weight = rows.weights.as_ref().map(|w| w[i]);
            let row = SampledRow { indices, values, label, weight, place: rows.places[i] };
            self.kept.push((hash, place, row));
            if self.kept.len() >= 2 * self.count.max(1) {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.kept.len() > self.count {
            self.kept.sort_by_key(|(hash, place, _)| (*hash, *place));
            self.kept.truncate(self.count);
            self.limit = self.kept.last().map_or(u64::MAX, |(hash, ..)| *hash);
        }
    }

    /// The sample, in the order of the rows.
    pub(crate) fn finish(mut self) -> mainstay::Result<LearnedRows> {
        self.shrink();
        self.kept.sort_by_key(|(_, place, _)| *place);
        let rows: Vec<SampledRow> = self.kept.into_iter().map(|(.., row)| row).collect();
        let labels = rows.iter().map(|row| row.label).collect();
        let weights = rows.iter().map(|row| row.weight).collect();
        let places = rows.iter().map(|row| row.place).collect();
        let values = rows.iter().flat_map(|row| row.values.iter().copied()).collect();
        let features = if self.sparse {
            let mut starts = vec![0];
            for row in &rows {
                starts.push(starts[starts.len() - 1] + row.values.len());
            }
            let indices = rows.iter().flat_map(|row| row.indices.iter().copied()).collect();
            Matrix::Sparse(Csr::new(self.columns, starts, indices, values)?)
        } else {
            Matrix::Dense(Dense::from_rows(rows.len(), self.columns, values))
        };
        Ok(LearnedRows { features, labels, weights, places })
    }
}

/// Mixes the bits of a number thoroughly (the finaliser of SplitMix64).
///
/// # Reference
///
/// Steele, Lea, Flood (2014), *Fast Splittable Pseudorandom Number Generators*, OOPSLA.
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(cut: usize, count: usize, seed: u64) -> Vec<f64> {
        let mut sample = Sample::new(count, seed);
        for start in (0..1000).step_by(cut) {
            let n = cut.min(1000 - start);
            let features = Matrix::Dense(Dense::from_fn(n, 1, |i, _| (start + i) as f64));
            let places = (start..start + n).collect();
            sample.add(&LearnedRows { features, labels: vec![0; n], weights: None, places });
        }
        sample.finish().unwrap().features.values().to_vec()
    }

    #[test]
    fn a_sample_depends_on_the_seed_and_not_on_the_cuts() {
        let whole = drawn(1000, 50, 7);
        assert_eq!(whole.len(), 50);
        assert!(whole.is_sorted());
        assert_eq!(drawn(1, 50, 7), whole);
        assert_eq!(drawn(33, 50, 7), whole);
        assert_ne!(drawn(33, 50, 8), whole);
        assert_eq!(drawn(10, 5000, 7).len(), 1000);
    }

    /// Every row is in half of the samples of half of the rows: of 400 samples 200, give or take six deviations of 10.
    #[test]
    fn every_row_is_as_likely_as_any_other() {
        let mut hits = vec![0_i32; 1000];
        for seed in 0..400 {
            let drawn = drawn(1000, 500, seed);
            let chosen = |i: &i32| drawn.binary_search_by(|v| v.total_cmp(&f64::from(*i))).is_ok();
            for (hit, _) in hits.iter_mut().zip(0..).filter(|(_, i)| chosen(i)) {
                *hit += 1;
            }
        }
        assert!(hits.iter().all(|h| (h - 200).abs() < 60), "{hits:?}");
    }
}
