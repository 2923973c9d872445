//! The constants of the extended variant, in one place.

use serde::{Deserialize, Serialize};

/// One family of candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FamilyConstants {
    /// Ridge strengths, descending, relative to the mean square of a row.
    pub strengths: Vec<f64>,
    /// Prior weight of the family; its members share it.
    pub share: f64,
    /// Where the logarithm of the calibrated scale is expected (m).
    pub centre: f64,
    /// How far it may be from there (v).
    pub spread: f64,
    /// How far the calibrated shift may be from 0 (h).
    pub shift: f64,
}

/// What the extended variant averages, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtendedConstants {
    /// Ridge regressions on the labels: ROLIN's robust direction for k = 0 (Theorem 2).
    pub robust: FamilyConstants,
    /// Penalised fits of the loss itself.
    pub penalised: FamilyConstants,
    /// How sharply the average prefers a low out-of-fold loss.
    pub sharpness: f64,
    /// What the best penalised fit, as it is, has in the average from endless rows.
    pub chosen: f64,
    /// Up to this many rows it has nothing: see `chosen_share`.
    pub chosen_from: f64,
    /// What the logistic fit with a penalty of its own, as it is, has in the average, whatever the number of rows.
    pub fixed: f64,
    /// The penalty of that fit, as the variance that is expected of its score, in squared logits: that of each weight of a
    /// standardised feature times their number. On the mean loss of n rows it is 1/(n times this) relative to the mean
    /// square of a row, so that many rows outweigh it.
    pub fixed_variance: f64,
    /// Out-of-fold rows that the penalised family needs; repetitions beyond that are skipped.
    pub penalised_rows: usize,
}

impl ExtendedConstants {
    /// Share of the penalised fit with the least out-of-fold loss, not calibrated: choosing is noise
    /// from few rows and as good as averaging from many.
    pub(super) fn chosen_share(&self, rows: f64) -> f64 {
        self.chosen * (1.0 - self.chosen_from / rows).max(0.0)
    }
}

impl Default for ExtendedConstants {
    fn default() -> Self {
        let powers =
            |first: f64, step: f64| (0..9).map(move |k| 10f64.powf(first - step * f64::from(k)));
        Self {
            robust: FamilyConstants {
                strengths: powers(1.0, 0.5).collect(),
                share: 3.0,
                centre: 2f64.ln(),
                spread: 0.8,
                shift: 0.5,
            },
            penalised: FamilyConstants {
                strengths: powers(2.0, 1.0).collect(),
                share: 4.0 / 3.0,
                centre: 0.6f64.ln(),
                spread: 0.5,
                shift: 0.3,
            },
            sharpness: 0.35,
            chosen: 0.4,
            chosen_from: 20.0,
            fixed: 0.2,
            fixed_variance: 3.0,
            penalised_rows: 400,
        }
    }
}
