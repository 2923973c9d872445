//! Scores of rows and sums over rows, as if in twice the precision and with a bound on what rounding is left.
//!
//! A certificate is a claim about the numbers that are returned. Where a feature is far from zero for its spread,
//! scores and sums are small differences of large numbers, of which plain arithmetic leaves nothing.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use rayon::prelude::*;

use super::{ColumnRanges, Compensated, Dense, Matrix, Row, vector};

/// Rows worth a task of their own.
const ROWS_PER_TASK: usize = 512;
/// Rows that are summed before their sum is passed on; fixed, so that threads do not matter.
const ROWS_PER_SUM: usize = 4096;
/// Beyond this the error terms of compensated sums may leave the range of numbers.
const LARGEST: f64 = 1e290;

/// Rounding of a score that no loss notices.
const NOT_NOTICED: f64 = 1e-11;

/// One number per row, and by how much each may be wrong.
#[derive(Debug, Clone)]
pub struct Scores {
    /// The numbers.
    pub values: Vec<f64>,
    /// The bounds on their errors.
    pub errors: Vec<f64>,
}

/// One number per column, and by how much each may be wrong.
#[derive(Debug, Clone)]
pub struct ColumnSums {
    /// The numbers.
    pub values: Vec<f64>,
    /// The bounds on their errors.
    pub errors: Vec<f64>,
}

impl ColumnSums {
    /// The largest length that the vector may have.
    pub fn longest(&self) -> f64 {
        let each = self.values.iter().zip(&self.errors).map(|(v, e)| v.abs() + e);
        // Scaled, so that squares stay in range.
        let sizes: Vec<f64> = each.collect();
        vector::norm(&sizes) * (1.0 + (sizes.len() + 4) as f64 * f64::EPSILON)
    }
}

/// The power of two that makes two numbers about equal when one is multiplied and the other divided by it.
fn balancing(weight: f64, size: f64) -> f64 {
    if weight == 0.0 || size == 0.0 {
        return 1.0;
    }
    // Clamped to numbers whose inverses are numbers too; the exponent bits alone are a power of two.
    let ratio = (weight.sqrt() / size.sqrt()).clamp(1e-300, 1e300);
    f64::from_bits(ratio.to_bits() & (0x7FF << 52))
}

/// Rows with what sums as if in twice the precision need to know of their columns, looked at once.
pub struct Accurate<'a> {
    x: &'a Matrix,
    ranges: ColumnRanges,
}

impl Accurate<'_> {
    /// `$w^\top x_i + b$` of every row, each with a bound on its error (Ogita, Rump and Oishi's for compensated products).
    pub fn scores(&self, w: &[f64], b: f64) -> Scores {
        let sizes = || (0..w.len()).map(|j| (w[j].abs(), self.ranges.size(j)));
        let magnitude: f64 = b.abs() + sizes().map(|(w, x)| w * x).sum::<f64>();
        let factors_in_range = sizes().all(|(w, x)| w.max(x) < LARGEST);
        if magnitude < LARGEST && !factors_in_range {
            // Moving a power of two from one factor to the other changes no product.
            let shifts: Vec<f64> = sizes().map(|(w, x)| balancing(w, x)).collect();
            let w: Vec<f64> = w.iter().zip(&shifts).map(|(w, shift)| w / shift).collect();
            return self.x.scale_columns(&shifts).scores_within(&w, b, magnitude, true);
        }
        self.x.scores_within(w, b, magnitude, magnitude < LARGEST)
    }

    /// `$\sum_i a_i x_i$` for numbers that add up to zero but for rounding, or exactly as they are where they need not.
    ///
    /// Where they add up to zero, any number may be taken from a column: its sum is taken over what is left of the
    /// middle of its range. The bound covers what they fail to add up to, as if it came from the farthest row.
    pub fn sums(&self, a: &[f64], add_up_to_zero: bool) -> ColumnSums {
        let (x, ranges) = (self.x, &self.ranges);
        let centred = add_up_to_zero && matches!(x, Matrix::Dense(_));
        let middle: Vec<f64> = (0..x.ncols())
            .map(|j| if centred { f64::midpoint(ranges.low[j], ranges.high[j]) } else { 0.0 })
            .collect();
        let (mut total, mut size) = (Compensated::default(), Compensated::default());
        for a in a {
            total.add(*a);
            size.add(a.abs());
        }
        let open = if add_up_to_zero { 2.0 * total.value().abs() } else { 0.0 };
        let squared = (a.len() as f64 * f64::EPSILON).powi(2);
        let part = open + (8.0 * f64::EPSILON + squared) * size.value();
        let far = |j: usize| (ranges.high[j] - middle[j]).max(middle[j] - ranges.low[j]);
        let errors = (0..x.ncols()).map(|j| part * far(j)).collect();
        ColumnSums { values: x.compensated_sums(a, &middle), errors }
    }
}

impl Matrix {
    /// The same rows for sums as if in twice the precision. Cost: a pass over the rows.
    pub fn accurate(&self) -> Accurate<'_> {
        Accurate { x: self, ranges: self.ranges() }
    }

    /// `$w^\top x_i + b$` of every row, as if in twice the precision where digits would be lost otherwise.
    pub fn scores(&self, w: &[f64], b: f64) -> Vec<f64> {
        let largest = vector::norm_inf(self.values()).mul_add(vector::norm_1(w), b.abs());
        if largest * f64::EPSILON > NOT_NOTICED {
            return self.compensated_scores(w, b);
        }
        let mut scores = self.mul_vec(w);
        for score in &mut scores {
            *score += b;
        }
        scores
    }

    /// Scores whose terms add up to at most `magnitude`; `in_range` if no error term leaves the range of numbers.
    fn scores_within(&self, w: &[f64], b: f64, magnitude: f64, in_range: bool) -> Scores {
        let terms = (w.len() + 2) as f64 * f64::EPSILON;
        let left = if in_range { terms * terms } else { terms } * magnitude;
        // An entry or product below the smallest number is lost; no weight is larger than this where that matters.
        let floor = w.iter().fold(1.0, |m: f64, w| m.max(w.abs())) * f64::MIN_POSITIVE;
        let floor = w.len() as f64 * floor;
        let values = self.compensated_scores(w, b);
        let errors = values.iter().map(|v| f64::EPSILON * v.abs() + left + floor).collect();
        Scores { values, errors }
    }

    /// `$w^\top x_i + b$` of every row by compensated sums.
    fn compensated_scores(&self, w: &[f64], b: f64) -> Vec<f64> {
        let mut scores = vec![0.0; self.nrows()];
        scores.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(task, scores)| {
            let first = task * ROWS_PER_TASK;
            let one = |i: usize| self.row(first + i).compensated_dot(w, b);
            let whole = match self {
                Self::Dense(x) if vector::has_fused() => {
                    vector::vectorized!(dots_together::<true>(x, first, (w, b), scores))
                }
                Self::Dense(x) => {
                    vector::vectorized!(dots_together::<false>(x, first, (w, b), scores))
                }
                Self::Sparse(_) => 0,
            };
            for (i, score) in scores.iter_mut().enumerate().skip(whole) {
                *score = one(i);
            }
        });
        scores
    }

    /// `$\sum_i a_i (x_i - m)$`; sparse rows have `$m = 0$`.
    fn compensated_sums(&self, a: &[f64], middle: &[f64]) -> Vec<f64> {
        let sum_of = |(block, a): (usize, &[f64])| {
            let mut sums = ManySums::new(middle.len());
            let first = block * ROWS_PER_SUM;
            if vector::has_fused() {
                vector::vectorized!(sums.add_rows::<true>(self, (first, a), middle));
            } else {
                vector::vectorized!(sums.add_rows::<false>(self, (first, a), middle));
            }
            sums.finish()
        };
        let parts: Vec<_> = a.par_chunks(ROWS_PER_SUM).enumerate().map(sum_of).collect();
        let mut sums = vec![Compensated::default(); middle.len()];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| sum.join(part));
        }
        sums.into_iter().map(Compensated::value).collect()
    }
}

/// Compensated inner products of rows from `first` on, as many at a time as fill vector registers; how many of `scores`
/// were filled. Each is summed as by [`Row::compensated_dot`].
#[inline(always)]
fn dots_together<const FUSED: bool>(
    x: &Dense,
    first: usize,
    (w, b): (&[f64], f64),
    scores: &mut [f64],
) -> usize {
    const LANES: usize = 8;
    let (groups, _) = scores.as_chunks_mut::<LANES>();
    let mut columns = vec![[0.0; LANES]; w.len()];
    let filled = groups.len() * LANES;
    for (group, out) in groups.iter_mut().enumerate() {
        for lane in 0..LANES {
            let row = x.row(first + group * LANES + lane);
            columns.iter_mut().zip(row).for_each(|(column, v)| column[lane] = *v);
        }
        let mut sums = [Compensated::new(b); LANES];
        for (column, w) in columns.iter().zip(w) {
            for lane in 0..LANES {
                sums[lane].add_product_by::<FUSED>(column[lane], *w);
            }
        }
        for lane in 0..LANES {
            out[lane] = sums[lane].value();
        }
    }
    filled
}

/// Compensated sums of many columns, stored so that loops over columns fill vector registers.
struct ManySums {
    sums: Vec<f64>,
    errors: Vec<f64>,
}

impl ManySums {
    fn new(count: usize) -> Self {
        Self { sums: vec![0.0; count], errors: vec![0.0; count] }
    }

    /// Adds the rows of `x` from `first` on, as many as there are numbers `a` to multiply them by.
    #[inline(always)]
    fn add_rows<const FUSED: bool>(
        &mut self,
        x: &Matrix,
        (first, a): (usize, &[f64]),
        middle: &[f64],
    ) {
        for (i, a) in a.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            match x.row(first + i) {
                Row::Dense(row) => self.add_row::<FUSED>(*a, row, middle),
                row @ Row::Sparse(..) => {
                    row.entries().for_each(|(j, v)| self.add_product(j, *a, v));
                }
            }
        }
    }

    #[inline(always)]
    fn add_row<const FUSED: bool>(&mut self, a: f64, row: &[f64], middle: &[f64]) {
        let columns = self.sums.iter_mut().zip(&mut self.errors);
        for (((sum, errors), v), m) in columns.zip(row).zip(middle) {
            let mut both = Compensated::from_parts(*sum, *errors);
            both.add_product_by::<FUSED>(a, v - m);
            (*sum, *errors) = both.parts();
        }
    }

    fn add_product(&mut self, j: usize, a: f64, v: f64) {
        let mut both = Compensated::from_parts(self.sums[j], self.errors[j]);
        both.add_product(a, v);
        (self.sums[j], self.errors[j]) = both.parts();
    }

    fn finish(self) -> Vec<Compensated> {
        let pairs = self.sums.into_iter().zip(self.errors);
        pairs.map(|(sum, errors)| Compensated::from_parts(sum, errors)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Csr;

    /// Whole numbers at 2^51: scores are known exactly, and plain products would be wrong by a quarter.
    #[test]
    fn scores_of_rows_far_from_zero_are_exact() {
        let far = 2f64.powi(51);
        let x = Matrix::from(Dense::from_rows(2, 2, vec![far + 3.0, far, far - 1.0, far + 2.0]));
        // w = (1 + 2^-40, -1): the scores are 3 + 2^11 + 3 * 2^-40 and -3 + 2^11 - 2^-40, plus b.
        let small = 2f64.powi(-40);
        let found = x.accurate().scores(&[1.0 + small, -1.0], -2048.0);
        assert_eq!(found.values, [3.0 + 3.0 * small, -3.0 - small]);
        assert!(found.errors.iter().all(|e| *e < 1e-14));
    }

    /// Weights of 2^1000 and entries of 2^-975: the score is the difference of products of 2^25, known to its last digit.
    #[test]
    fn scores_of_huge_weights_and_tiny_entries_keep_their_digits() {
        let (huge, tiny) = (2f64.powi(1000), 2f64.powi(-975));
        let small = 2f64.powi(-50);
        let x = Matrix::from(Dense::from_rows(1, 2, vec![tiny * (1.0 + small), tiny]));
        let found = x.accurate().scores(&[huge * (1.0 + small), -huge], 0.0);
        assert_eq!(found.values, [2f64.powi(25) * small * (2.0 + small)]);
        assert!(found.errors[0] < 1e-20, "{:?}", found.errors);
    }

    /// Multipliers 1, 1, -2 of rows at 2^51 plus 1, 2, 4: the sum is 1 + 2 - 8 whatever the offset; without the
    /// promise that they add up to zero it is that of the plain formula.
    #[test]
    fn sums_of_balanced_rows_do_not_see_the_offset() {
        let far = 2f64.powi(51);
        let x = Matrix::from(Dense::from_rows(3, 1, vec![far + 1.0, far + 2.0, far + 4.0]));
        for balanced in [true, false] {
            let found = x.accurate().sums(&[1.0, 1.0, -2.0], balanced);
            assert_eq!(found.values, [-5.0]);
            assert_eq!(found.errors[0] < 1e-13, balanced);
        }
        let open = x.accurate().sums(&[1.0, 1.0, -1.0], true);
        assert!(open.errors[0] >= 2.0 && open.longest() >= 2.0 + open.values[0].abs());
    }

    /// More rows and columns than fill a register, and some left over.
    #[test]
    fn rows_together_have_the_scores_of_rows_alone() {
        let x = Dense::from_fn(21, 11, |i, j| (1e8 + (i * 17 + j * 5) as f64).sqrt());
        let w: Vec<f64> = (0..11).map(|j| f64::from(j - 5) / 3.0).collect();
        let x = Matrix::from(x);
        let found = x.accurate().scores(&w, 0.1).values;
        for (i, score) in found.iter().enumerate() {
            assert_eq!(*score, x.row(i).compensated_dot(&w, 0.1));
        }
    }

    #[test]
    fn sparse_rows_have_the_sums_of_dense_ones() {
        let dense = Dense::from_rows(3, 2, vec![0.0, 1.0, 2.0, 0.0, -4.0, 0.5]);
        let csr = Csr::from_dense(&dense, 4).map(Matrix::from);
        let a = [0.5, -1.0, 0.5];
        let wanted = [-4.0, 0.75];
        for x in [Some(Matrix::from(dense)), csr].into_iter().flatten() {
            assert_eq!(x.accurate().sums(&a, true).values, wanted);
            assert_eq!(x.accurate().scores(&[1.0, 2.0], 1.0).values, [3.0, 3.0, -2.0]);
        }
    }
}
