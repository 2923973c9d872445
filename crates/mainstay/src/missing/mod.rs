//! Classifiers that expect features to be missing at prediction time.
//!
//! An adversary deletes from every row the features that hurt most, up to a total value
//! ([`crate::uncertainty::Deletions`]). A missing feature counts as 0.
//!
//! | where | what |
//! |---|---|
//! | `estimator` | [`MissingFeatureSvc`]: the worst-case hinge loss over a box, solved whole and with a proof |
//! | `problem`, `certificate` | problem (4) of the paper, and the bound recomputed from an answer |
//! | `strategy` | which solver runs when: closed cases, then the interior point method |
//! | `program` | that interior point method, for the linear program behind problem (4) |
//! | `chunks` | the paper's average over parts of the rows |
//! | `perceptron` | [`MissingPerceptron`]: online, section 3 of the paper |
//! | `tuning` | [`MissingFeatureCv`] and the damage that held-out rows are judged under |
//! | [`bounds`] | the theory: Theorems 2 to 4 and Corollary 1 |
//! | `values` | what each feature is worth to the adversary |
//!
//! Dekel and Shamir (2008), *Learning to Classify with Missing and Corrupted Features*, ICML. Their `$m$` rows and `$n$`
//! features, values `$v$`, budget `$N$`, `$P = V - N$`, margin `$\gamma$` and box `$C$`.

pub mod bounds;
mod certificate;
mod chunks;
mod estimator;
mod partitioned;
mod perceptron;
mod problem;
mod program;
mod strategy;
mod tuning;
mod values;

pub use certificate::{Dual, certify};
pub use estimator::{AtPredict, MissingFeatureSvc, MissingFeatureSvcParams};
pub use perceptron::{Batch, MissingPerceptron, MissingPerceptronParams, PerceptronState};
pub use problem::RobustHinge;
pub use strategy::{Solution, interior_point};
pub use tuning::{
    Damage, MissingFeatureCv, MissingFeatureCvParams, MissingReport, Replacement, column_ranges,
    deletions_of, missing_report,
};
pub use values::{ValueRule, Values, mutual_info};
