//! Damage done to data on purpose, and what it does to classifiers.
//!
//! Eight [`Threat`]s, each a pure function of (data, level, seed). Four damage the rows a classifier learns
//! from ([`few_samples`], [`label_noise`], [`outliers`], [`unlucky_split`]), four the rows it is judged on
//! ([`missing_features`], [`corrupted_features`], [`adversarial_deletion`], [`measurement_error`]); nothing else is
//! touched. Level 0 changes nothing, and with one seed a higher level damages more of the same rows or features, so
//! that curves over levels are smooth.
//!
//! [`Plan::run`] fits methods to damaged training rows and judges them on held-out rows. All methods see
//! the same splits and the same damage; features are standardised with what the (damaged) training rows say, and a
//! fit that fails leaves cells that say why.

mod clock;
mod judgement;
mod run;
mod runner;
mod scene;
mod test_damage;
mod threat;
mod training;

pub(crate) use clock::Clock;
pub use judgement::{JUDGED_BY, usual_metric};
pub(crate) use run::empty_the_slow;
pub use run::{CLEAN, Cell, Entrant, Plan, TOO_SLOW, Trial, seed_of, split_of, split_together};
pub use test_damage::{
    adversarial_deletion, corrupted_features, measurement_error, missing_features, spoiled,
};
pub use threat::{DamagedRows, Threat};
pub use training::{OutlierKind, few_samples, label_noise, outliers, unlucky_split};

/// `level` of `total`, rounded; at least one where the level is positive.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, and levels are not negative"
)]
fn share(level: f64, total: usize) -> usize {
    let count = (level * total as f64).round() as usize;
    if level > 0.0 { count.clamp(1.min(total), total) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_level_damages_at_least_one_and_at_most_all() {
        let cases =
            [(0.0, 10, 0), (0.01, 10, 1), (0.25, 10, 3), (0.24, 10, 2), (1.0, 10, 10), (0.5, 0, 0)];
        for (level, total, expected) in cases {
            assert_eq!(share(level, total), expected, "{level} of {total}");
        }
    }
}
