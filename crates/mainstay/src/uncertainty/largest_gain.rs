//! The one feature that an adversary deletes who may delete one.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::Gain;
use crate::linalg::Row;
use crate::linalg::vector::vectorized;

/// The largest of [`super::gains`] where all features have the value `value`, the first of equals; `None` if none is
/// positive. `demand` is not negative.
pub(crate) fn largest_gain(
    row: Row<'_>,
    w: &[f64],
    sign: f64,
    demand: f64,
    value: f64,
) -> Option<Gain> {
    let price = demand * value;
    let of = |(feature, x): (usize, f64)| Gain { feature, gain: sign * (w[feature] * x) - price };
    if let Row::Dense(x) = row {
        let most = vectorized!(dense_most(x, w, sign, price));
        let at = |(w, x): (&f64, &f64)| sign * (w * x) - price == most;
        let feature = if most > 0.0 { w.iter().zip(x).position(at) } else { None };
        return feature.map(|feature| Gain { feature, gain: most });
    }
    row.entries()
        .map(of)
        .filter(|item| item.gain > 0.0)
        .reduce(|best, item| if item.gain > best.gain { item } else { best })
}

/// The largest gain, or 0.
#[inline(always)]
fn dense_most(x: &[f64], w: &[f64], sign: f64, price: f64) -> f64 {
    let mut most = [0.0; 8];
    let (x8, x_rest) = x.as_chunks::<8>();
    let (w8, w_rest) = w.as_chunks::<8>();
    for (x, w) in x8.iter().zip(w8) {
        for k in 0..8 {
            let gain = sign * (w[k] * x[k]) - price;
            most[k] = if gain > most[k] { gain } else { most[k] };
        }
    }
    let rest = x_rest.iter().zip(w_rest).map(|(x, w)| sign * (w * x) - price);
    most.into_iter().chain(rest).fold(0.0, |m: f64, gain| if gain > m { gain } else { m })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Csr, Dense, Matrix};
    use crate::uncertainty::{Deletions, gains};

    /// Against the search among all gains: equal gains, zeros, rows without a gain, more features than lanes.
    #[test]
    fn the_largest_gain_is_what_the_search_for_one_feature_finds() {
        let p = 21;
        let value = |i: usize, j: usize| ((i * 7 + j * 5) % 9) as f64 - 4.0;
        let dense = Dense::from_fn(30, p, |i, j| if i == 3 { 0.0 } else { value(i, j) });
        let w: Vec<f64> = (0..p).map(|j| value(11, j) / 2.0).collect();
        let set = Deletions::new(vec![2.0; p], 2.0).unwrap();
        assert!(set.takes_one());
        let starts = (0..=30).map(|i| i * p).collect();
        let columns = (0..30).flat_map(|_| 0..21).collect();
        let csr = Csr::new(p, starts, columns, dense.data().to_vec()).unwrap();
        for x in [Matrix::from(dense), Matrix::from(csr)] {
            for (i, demand) in (0..30).flat_map(|i| [0.0, 0.7, 3.0].map(|d| (i, d))) {
                let mut items = Vec::new();
                gains(x.row(i), &w, -1.0, demand, set.values(), &mut items);
                let found = largest_gain(x.row(i), &w, -1.0, demand, 2.0);
                let wanted = set.exact(&mut items);
                assert_eq!(found.map(|item| item.feature), wanted.features.first().copied());
                assert_eq!(found.map_or(0.0, |item| item.gain), wanted.gain);
            }
        }
    }
}
