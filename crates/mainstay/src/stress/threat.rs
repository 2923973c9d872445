//! The eight threats by name, and the levels at which each makes sense.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};

/// Which rows a threat damages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamagedRows {
    /// Those a classifier learns from.
    Training,
    /// Those it is judged on.
    Test,
}

/// What can go wrong between the data a classifier learns from and the rows it must judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threat {
    /// See [`super::few_samples`].
    FewSamples,
    /// See [`super::label_noise`].
    LabelNoise,
    /// See [`super::outliers`].
    Outliers,
    /// See [`super::missing_features`].
    MissingFeatures,
    /// See [`super::corrupted_features`].
    CorruptedFeatures,
    /// See [`super::adversarial_deletion`].
    AdversarialDeletion,
    /// See [`super::measurement_error`].
    MeasurementError,
    /// See [`super::unlucky_split`].
    UnluckySplit,
}

impl Threat {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 8] = [
        Self::FewSamples,
        Self::LabelNoise,
        Self::Outliers,
        Self::MissingFeatures,
        Self::CorruptedFeatures,
        Self::AdversarialDeletion,
        Self::MeasurementError,
        Self::UnluckySplit,
    ];

    /// The threat called `name`.
    pub fn find(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|t| t.name()).collect();
            Error::BadParams(format!("no threat `{name}`; there are: {}", names.join(", ")))
        })
    }

    /// Name in tables, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::FewSamples => "few_samples",
            Self::LabelNoise => "label_noise",
            Self::Outliers => "outliers",
            Self::MissingFeatures => "missing_features",
            Self::CorruptedFeatures => "corrupted_features",
            Self::AdversarialDeletion => "adversarial_deletion",
            Self::MeasurementError => "measurement_error",
            Self::UnluckySplit => "unlucky_split",
        }
    }

    /// Name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::FewSamples => "few samples",
            Self::LabelNoise => "wrong labels",
            Self::Outliers => "outliers",
            Self::MissingFeatures => "missing features",
            Self::CorruptedFeatures => "corrupted features",
            Self::AdversarialDeletion => "worst-case missing features",
            Self::MeasurementError => "measurement error",
            Self::UnluckySplit => "an unlucky sample",
        }
    }

    /// What is damaged, in one sentence.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::FewSamples => {
                "A share of the training rows of every class is left out, at random."
            }
            Self::LabelNoise => {
                "A share of the training labels is replaced by another class, at random."
            }
            Self::Outliers => {
                "A share of the training rows is replaced by gross outliers: half of them in a far cluster with the \
                 wrong label, half of them scattered widely around their class."
            }
            Self::MissingFeatures => {
                "Every row to be judged loses a share of its features at random; a lost feature is replaced by its \
                 training mean."
            }
            Self::CorruptedFeatures => {
                "In every row to be judged a share of the features, chosen at random, is replaced by noise of the \
                 same mean and spread."
            }
            Self::AdversarialDeletion => {
                "Every row to be judged loses the features that hurt this classifier most; a lost feature is \
                 replaced by its training mean."
            }
            Self::MeasurementError => {
                "Every row to be judged is measured with an error, drawn evenly from an ellipsoid whose axes follow \
                 the spread of the features."
            }
            Self::UnluckySplit => {
                "A share of every class is missing from the training rows, all on one side: the rows farthest out in \
                 a random direction of the data."
            }
        }
    }

    /// What the level counts.
    pub fn unit(self) -> &'static str {
        match self {
            Self::FewSamples => "share of training rows left out",
            Self::LabelNoise => "share of training labels that are wrong",
            Self::Outliers => "share of training rows that are outliers",
            Self::MissingFeatures => "share of features missing",
            Self::CorruptedFeatures => "share of features replaced by noise",
            Self::AdversarialDeletion => "share of features deleted",
            Self::MeasurementError => "error of a feature in standard deviations",
            Self::UnluckySplit => "share of every class missing on one side",
        }
    }

    /// Levels that tell something on most data.
    pub fn default_levels(self) -> &'static [f64] {
        match self {
            Self::FewSamples => &[0.5, 0.75, 0.9],
            Self::LabelNoise => &[0.1, 0.2, 0.3],
            Self::Outliers | Self::AdversarialDeletion => &[0.05, 0.1, 0.2],
            Self::MissingFeatures | Self::CorruptedFeatures => &[0.1, 0.25, 0.5],
            Self::MeasurementError => &[0.25, 0.5, 1.0],
            Self::UnluckySplit => &[0.25, 0.5],
        }
    }

    /// Whether the level is a share of the features, of which a whole number is spoiled.
    pub fn counts_features(self) -> bool {
        matches!(self, Self::MissingFeatures | Self::CorruptedFeatures | Self::AdversarialDeletion)
    }

    /// Whether training rows are left out and those that stay are as they were.
    pub fn only_leaves_out(self) -> bool {
        matches!(self, Self::FewSamples | Self::UnluckySplit)
    }

    /// Which rows are damaged.
    pub fn part(self) -> DamagedRows {
        match self {
            Self::FewSamples | Self::LabelNoise | Self::Outliers | Self::UnluckySplit => {
                DamagedRows::Training
            }
            _ => DamagedRows::Test,
        }
    }

    /// Levels are shares, except those of measurement error, which may be any size.
    pub fn check_level(self, level: f64) -> Result<()> {
        match self {
            Self::FewSamples | Self::UnluckySplit => {
                let rule = "at least 0 and below 1: the share of training rows left out";
                require((0.0..1.0).contains(&level), "level", level, rule)
            }
            Self::MeasurementError => {
                let rule = "finite and not negative: the error in standard deviations";
                require(level >= 0.0 && level.is_finite(), "level", level, rule)
            }
            _ => {
                let rule = &format!("between 0 and 1: the {}", self.unit());
                require((0.0..=1.0).contains(&level), "level", level, rule)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threat_is_found_by_its_name_and_accepts_its_default_levels() {
        for threat in Threat::ALL {
            assert_eq!(Threat::find(threat.name()).ok(), Some(threat));
            assert!(threat.default_levels().iter().all(|level| threat.check_level(*level).is_ok()));
            assert!(threat.check_level(-0.1).is_err() && threat.check_level(f64::NAN).is_err());
        }
        let message = Threat::find("rain").map_or_else(|e| e.to_string(), |t| t.name().to_owned());
        assert!(message.contains("rain") && message.contains("label_noise"), "{message}");
    }
}
