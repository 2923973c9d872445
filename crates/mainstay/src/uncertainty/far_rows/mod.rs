//! Rows far from the bulk of their class: gross errors, wrong units, rows that belong elsewhere.

mod mcd;
mod scale;
mod wide;

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};
use crate::linalg::Dense;
use scale::{Robust, quantile};

/// How many rows count as far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a share below one half or \"auto\"")]
pub enum Share {
    /// This share of the rows of every class.
    Fixed(f64),
    /// Those beyond a cut-off that the clean majority sets.
    Rule(ShareRule),
}

/// Named rules for [`Share`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShareRule {
    /// See [`FarRows::find`].
    Auto,
}

impl Share {
    /// Refuses shares outside [0, 1/2).
    pub fn check(self) -> Result<()> {
        match self {
            Self::Fixed(share) => {
                let good = (0.0..0.5).contains(&share);
                require(good, "share", share, "at least 0 and below 0.5, or \"auto\"")
            }
            Self::Rule(ShareRule::Auto) => Ok(()),
        }
    }
}

/// A row that was found to be far.
#[derive(Debug, Clone, PartialEq)]
pub struct FarRow {
    /// Its position in the data.
    pub row: usize,
    /// Its distance in units of the cut-off of its class: above 1.
    pub distance: f64,
    /// The feature that puts it there.
    pub feature: usize,
    /// The power of ten by which that cell would have to be multiplied to be an ordinary one, where there is
    /// such a power (1/1000 to 1000): an error of units.
    pub unit: Option<f64>,
}

/// Robust distances of all rows, and those that are far.
#[derive(Debug, Clone, PartialEq)]
pub struct FarRows {
    /// Distance of every row in units of the cut-off of its class.
    pub distances: Vec<f64>,
    /// The far rows, farthest first.
    pub far: Vec<FarRow>,
}

/// Smaller classes are left alone.
const FEWEST: usize = 10;
/// Spreads between median and upper quartile of the logarithm of distances at which the cut-off lies. For
/// normal rows beyond it lie about 2 in 1000 with 50 features and fewer with less; heavy tails move it out.
const SPREADS: f64 = 4.0;

/// Distances of the rows of one class and the feature that contributes most to each.
struct Measured {
    distances: Vec<f64>,
    features: Vec<usize>,
}

impl FarRows {
    /// Judges every row that counts within its class: `weights` above 0, all of them without. Others are as good as absent,
    /// neither judged nor looked at, and have the distance 0. How large a weight is does not matter.
    ///
    /// With more than five rows per feature the distances are Mahalanobis distances from the deterministic
    /// minimum covariance determinant estimate (Hubert, Rousseeuw, Verdonck 2012); otherwise from spherical
    /// principal components (Locantore et al. 1999), within and beside their span. A missing cell counts as
    /// the median. Features of which more than half of the values are equal (rare indicators) say nothing about
    /// distance. With `auto` a row is far if the logarithm of its distance exceeds the median by more than four
    /// times the way from the median to the upper quartile.
    pub fn find(
        x: &Dense,
        (labels, n_classes): (&[usize], usize),
        weights: Option<&[f64]>,
        share: Share,
    ) -> Result<Self> {
        share.check()?;
        let mut found = Self { distances: vec![0.0; x.nrows()], far: Vec::new() };
        let counts = |i: usize| weights.is_none_or(|weights| weights[i] > 0.0);
        for class in 0..n_classes {
            let own = |i: &usize| labels[*i] == class && counts(*i);
            let rows: Vec<usize> = (0..x.nrows()).filter(own).collect();
            if rows.len() >= FEWEST {
                found.add(x, &rows, share);
            }
        }
        found.far.sort_by(|a, b| b.distance.total_cmp(&a.distance).then(a.row.cmp(&b.row)));
        Ok(found)
    }

    fn add(&mut self, x: &Dense, rows: &[usize], share: Share) {
        let robust = Robust::learn(x, rows);
        if robust.features.is_empty() {
            return;
        }
        let z = robust.apply(x, rows);
        let measured =
            if z.nrows() > 5 * z.ncols() { mcd::distances(&z) } else { wide::distances(&z) };
        let cut = cut_off(&measured.distances, share);
        for (k, &i) in rows.iter().enumerate() {
            let distance = measured.distances[k] / cut;
            self.distances[i] = distance;
            if distance > 1.0 {
                let feature = robust.features[measured.features[k]];
                let unit = robust.unit_error(measured.features[k], x[(i, feature)]);
                self.far.push(FarRow { row: i, distance, feature, unit });
            }
        }
    }
}

fn cut_off(distances: &[f64], share: Share) -> f64 {
    let mut sorted = distances.to_vec();
    sorted.sort_by(f64::total_cmp);
    match share {
        Share::Fixed(share) => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let kept = sorted.len() - (share * sorted.len() as f64).floor() as usize;
            sorted[kept - 1].max(f64::MIN_POSITIVE)
        }
        Share::Rule(ShareRule::Auto) => {
            let tiny = f64::MIN_POSITIVE;
            let (half, upper) =
                (quantile(&sorted, 0.5).max(tiny), quantile(&sorted, 0.75).max(tiny));
            (half.ln() + SPREADS * (upper / half).ln().max(0.05)).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two features around a line, and every third row a hundred times as large: of weight 0 these are not looked at, whether
    /// rows are many for the features or few.
    #[test]
    fn rows_of_weight_zero_are_absent_from_distances() {
        for width in [2, 30] {
            let cell = |i: usize, j: usize| ((i * 7 + j * 5 + i * j) as f64 * 0.9).sin();
            let gross = |i: usize| i.is_multiple_of(3);
            let x =
                Dense::from_fn(90, width, |i, j| cell(i, j) * if gross(i) { 100.0 } else { 1.0 });
            let labels: Vec<usize> = (0..90).map(|i| i % 2).collect();
            let weights: Vec<f64> = (0..90).map(|i| f64::from(u8::from(!gross(i)))).collect();
            let kept: Vec<usize> = (0..90).filter(|&i| !gross(i)).collect();
            let own: Vec<usize> = kept.iter().map(|&i| labels[i]).collect();
            for share in [Share::Rule(ShareRule::Auto), Share::Fixed(0.2)] {
                let found = FarRows::find(&x, (&labels, 2), Some(&weights), share).unwrap();
                let without = FarRows::find(&x.select_rows(&kept), (&own, 2), None, share).unwrap();
                let distances: Vec<f64> = kept.iter().map(|&i| found.distances[i]).collect();
                assert_eq!(distances, without.distances);
                assert!((0..90).filter(|&i| gross(i)).all(|i| found.distances[i] == 0.0));
                let rows: Vec<usize> = without.far.iter().map(|far| kept[far.row]).collect();
                assert_eq!(found.far.iter().map(|far| far.row).collect::<Vec<_>>(), rows);
            }
        }
    }
}
