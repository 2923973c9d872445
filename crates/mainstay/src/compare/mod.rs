//! Which threat hurts this data, and which method holds: the comparison and what it found.

mod outcome;

pub use outcome::{
    Advice, Cell, ClassCount, CoefficientPair, Comparison, Curve, DataSummary, Interval,
    MethodInfo, Point, RadiusSample, Role, Settings, SuspectRow, ThreatInfo, WorstRow,
};
