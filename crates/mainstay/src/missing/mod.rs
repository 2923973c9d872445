//! Classifiers that expect features to be missing at prediction time.
//!
//! An adversary deletes from every row the features that hurt most, up to a total value
//! ([`crate::uncertainty::Deletions`]). [`MissingFeatureSvc`] minimises the worst-case hinge loss over a box, whole and
//! with a proof; [`MissingPerceptron`] learns online; [`MissingFeatureCv`] tunes the box under the user's own kind of
//! damage. A missing feature counts as 0.
//!
//! Dekel and Shamir (2008), *Learning to Classify with Missing and Corrupted Features*, ICML. Their $m$ rows and $n$
//! features, values $v$, budget $N$, $P = V - N$, margin $\gamma$ and box $C$.

mod block;
pub mod bounds;
mod certificate;
mod chunks;
mod contest;
mod damage;
mod elimination;
mod estimator;
mod interior;
mod lengths;
mod low_rank;
mod perceptron;
mod problem;
mod round;
mod scaled;
mod solver;
mod system;
mod tuning;
mod values;

pub use certificate::{Dual, certify};
pub use damage::{Damage, MissingReport, Replacement, column_ranges, deletions_of, missing_report};
pub use estimator::{MissingFeatureSvc, MissingFeatureSvcParams};
pub use perceptron::{MissingPerceptron, MissingPerceptronParams, PerceptronState};
pub use problem::RobustHinge;
pub use solver::{Solution, interior_point};
pub use tuning::{Cv, MissingFeatureCv, MissingFeatureCvParams};
pub use values::{ValueRule, Values, mutual_info};
