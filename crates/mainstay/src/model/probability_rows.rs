//! Probabilities that add up to 1 and agree with the predicted class.

use crate::linalg::{Dense, vector};

/// One row of probabilities per row of scores. `of(scores, k, winner)` is what class `k` (or, with one column of scores,
/// the second class) gets before the row is brought to a sum of 1; `chosen` are the predicted classes. Where rounding or
/// saturation ties, the tie goes to the class that was predicted.
pub(super) fn probability_rows(
    scores: &Dense,
    chosen: &[usize],
    classes: usize,
    of: impl Fn(&[f64], usize, usize) -> f64,
) -> Dense {
    let mut out = Dense::zeros(scores.nrows(), classes);
    for (i, &winner) in chosen.iter().enumerate() {
        let (row, scores) = (out.row_mut(i), scores.row(i));
        if scores.len() == 1 {
            row[1] = of(scores, 0, winner);
            row[0] = 1.0 - row[1];
        } else {
            row.iter_mut().enumerate().for_each(|(k, p)| *p = of(scores, k, winner));
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                vector::scale(row, 1.0 / sum);
            } else {
                row.fill(1.0 / classes as f64);
            }
        }
        let largest = row.iter().fold(0.0, |m: f64, p| m.max(*p));
        if row.iter().position(|&p| p == largest) != Some(winner) {
            row[winner] = largest.next_up();
        }
    }
    out
}
