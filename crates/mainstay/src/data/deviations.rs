//! Standard deviations of columns in any unit.

use crate::linalg::Matrix;

/// Standard deviation of every column, `shares` being row weights that add up to 1.
///
/// In any unit: columns of size 1e-200 or 1e200 have theirs, as nothing is squared before it is
/// divided by the column's largest entry. A column whose deviation is at most 1e-12 times that
/// entry is constant; its deviation is given as 1.
pub fn deviations(x: &Matrix, shares: &[f64]) -> Vec<f64> {
    let p = x.ncols();
    let mut largest = vec![0.0; p];
    for row in x.rows() {
        for (j, v) in row.entries() {
            largest[j] = f64::max(largest[j], v.abs());
        }
    }
    // Squares in units of the largest entry; absent entries are zeros. The mean is subtracted first: far from zero,
    // entries in those units differ in their last digits only.
    let means = x.tr_mul_vec(shares);
    let (mut squares, mut sums) = (vec![0.0; p], vec![0.0; p]);
    let (mut stored, mut count) = (vec![0.0; p], vec![0_usize; p]);
    for (row, share) in x.rows().zip(shares) {
        for (j, v) in row.entries() {
            // Halves, so that no difference overflows.
            let apart = 0.5 * v - 0.5 * means[j];
            let apart = if largest[j] > 0.0 { apart / (0.5 * largest[j]) } else { 0.0 };
            squares[j] += share * apart * apart;
            sums[j] += share * apart;
            stored[j] += share;
            count[j] += 1;
        }
    }
    (0..p)
        .map(|j| {
            // Far from zero, what rounding leaves of 1 would weigh more than the spread.
            let absent = if count[j] == x.nrows() { 0.0 } else { (1.0 - stored[j]).max(0.0) };
            let mean = if largest[j] > 0.0 { means[j] / largest[j] } else { 0.0 };
            // What rounding left of the mean, squared, is no spread: it would weigh where one row has nearly all weight.
            let missed = sums[j] - absent * mean;
            let square = squares[j] + absent * mean * mean - missed * missed;
            let relative = square.max(0.0).sqrt();
            if relative <= 1e-12 { 1.0 } else { relative * largest[j] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    /// Columns 0, 1 and 0, 1, 2, 3 with equal shares: deviations 1/2 and sqrt(5)/2, in any unit.
    #[test]
    fn deviations_follow_the_unit_of_a_column() {
        for unit in [1e-200, 1.0, 1e200] {
            let x = Dense::from_fn(4, 3, |i, j| [unit * (i % 2) as f64, unit * i as f64, unit][j]);
            let found = deviations(&x.into(), &[0.25; 4]);
            assert!((found[0] / unit - 0.5).abs() < 1e-14);
            assert!((found[1] / unit - 1.25_f64.sqrt()).abs() < 1e-14);
            assert_eq!(found[2], 1.0);
        }
    }

    /// 2^22 and 2^22 + 3 with equal shares: 3/2 to the last digits, although the entries differ in the seventh.
    #[test]
    fn deviations_far_from_zero_keep_their_digits() {
        let far = 4_194_304.0;
        let x = Dense::from_rows(2, 1, vec![far, far + 3.0]);
        assert!((deviations(&x.into(), &[0.5, 0.5])[0] - 1.5).abs() < 1e-14);
    }

    /// One row has all weight but 2^-70 of it: its own distance from the mean is rounding, the other row's is not.
    /// The variance is s (1 - s), s being the small share.
    #[test]
    fn deviations_under_weights_of_all_sizes_keep_their_digits() {
        let small = 2.0_f64.powi(-70);
        for (a, b) in [(1.0, 0.3), (0.1, 0.7), (1.0 / 3.0, -0.9)] {
            let x = Dense::from_rows(3, 1, vec![a, b, a]);
            let found = deviations(&x.into(), &[0.75, small, 0.25])[0];
            let exact = (a - b).abs() * small.sqrt();
            assert!((found / exact - 1.0).abs() < 1e-14, "{a} {b}: {found} {exact}");
        }
    }
}
