//! The five papers and the list of their experiments, found by the name that is typed.

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::outcome::Outcome;

/// The five papers, in the order of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paper {
    /// Few samples.
    Rolin,
    /// Wrong labels and outliers.
    Conic,
    /// Features missing at prediction time.
    Missing,
    /// Unlucky subsets.
    Stable,
    /// Measurement error.
    Regec,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rolin, Self::Conic, Self::Missing, Self::Stable, Self::Regec];

    /// Name of its page and prefix of its experiments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rolin => "rolin",
            Self::Conic => "conic",
            Self::Missing => "missing",
            Self::Stable => "stable",
            Self::Regec => "regec",
        }
    }

    /// Authors and title.
    pub fn citation(self) -> &'static str {
        match self {
            Self::Rolin => "Chakrabarti, *Robust Linear Classification from Limited Training Data*",
            Self::Conic => {
                "Cepeda, Gomez, Han (2024), *Robust Support Vector Machines via Conic Optimization*"
            }
            Self::Missing => {
                "Dekel, Shamir (2008), *Learning to Classify with Missing and Corrupted Features*"
            }
            Self::Stable => {
                "Tazi Bouardi, Ramirez (2019), *An extension of Stable Regression to Support Vector Machines and \
                 Logistic Regression*"
            }
            Self::Regec => {
                "Xanthopoulos, Guarracino, Pardalos (2013), *Robust generalized eigenvalue classifier with \
                 ellipsoidal uncertainty*"
            }
        }
    }
}

/// One table or figure.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// What is typed: `conic-table-1`.
    pub id: &'static str,
    /// Whose.
    pub paper: Paper,
    /// Its name in the paper and what it is about.
    pub title: &'static str,
    /// The protocol, in a few sentences.
    pub what: &'static str,
    /// Does it.
    pub run: fn(&Context<'_>) -> Result<Outcome>,
}

/// All experiments, in the papers' order.
pub fn experiments() -> Vec<&'static Experiment> {
    [
        crate::rolin::EXPERIMENTS,
        crate::conic::EXPERIMENTS,
        crate::missing::EXPERIMENTS,
        crate::stable::EXPERIMENTS,
        crate::regec::EXPERIMENTS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The experiments meant by a name: `all`, a paper, or one experiment.
pub fn select(name: &str) -> Result<Vec<&'static Experiment>> {
    let all = experiments();
    let known = all.iter().map(|e| e.id).collect();
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|e| name == "all" || name == e.id || name == e.paper.name())
        .collect();
    if chosen.is_empty() { Err(Error::Unknown { name: name.into(), known }) } else { Ok(chosen) }
}
