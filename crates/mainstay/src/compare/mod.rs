//! Which threat hurts this data, and which method holds: the comparison and what it found.
//!
//! A [`Session`] runs repeat after repeat until there are enough or the time is up by the clock of its caller; the
//! result of a number of repeats does not depend on when or how they were run. [`Session::finish`] sums them up in a
//! [`Comparison`].

mod advice;
#[cfg(test)]
mod advice_tests;
mod bootstrap;
mod budget;
mod chosen;
mod constant;
mod details;
mod doubts;
mod duplicates;
mod elsewhere;
mod extent;
mod finish;
mod labels;
mod outcome;
mod radii;
mod roster;
mod scores;
mod session;
mod summary;
mod survey;
mod told;
mod tuning;
mod weak;
mod wording;

pub use advice::SURE;
pub use bootstrap::Bootstrap;
pub use chosen::{Chosen, ClassCurves, ProbabilitySource, UnstableRow, Unsteadiness};
pub use duplicates::Duplicates;
pub use extent::{Extent, MAX_REPEATS, MIN_REPEATS, another_repeat, usual_rows};
pub use labels::LabelAudit;
pub use outcome::{
    Advice, Cell, ClassCount, CoefficientPair, Comparison, Curve, CurvePoint, DataSummary,
    Interval, MethodInfo, RadiusSample, Role, Settings, SuspectRow, ThreatInfo, WorstRow,
};
pub use roster::{on_request, roster};
pub use session::{Session, Subject};
pub use survey::survey;
pub use told::{Expectation, TRUTHS, Told, ToldRow, told};
