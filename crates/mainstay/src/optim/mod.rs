//! What the solvers of different methods share: parts, not a framework.
//!
//! Each method keeps its own iteration, because the cones differ. What stands here once is what
//! would otherwise be copied: the features in solver units and the way back ([`design`]), the best
//! primal and dual point so far ([`bracket`]), step lengths and centring ([`step`]), how much a fit
//! may still spend ([`budget`]), and cross-validation along warm-started paths ([`grid`], [`choice`], [`nearby`]). Penalised
//! losses ([`program`]) share their Newton system ([`normal_equations`]), and the hinge loss, its relatives and
//! the hard margin their interior point ([`hinge_qp`]). Second-order cones share their scaling ([`cone`]). What
//! fits in memory and over partitions have in common beyond that: the terms of the conic loss (`conic_terms`) and the
//! perceptron's update (`perceptron`).

pub mod bracket;
pub mod budget;
pub mod choice;
pub mod cone;
pub(crate) mod conic_terms;
pub mod design;
pub mod grid;
pub mod hinge_qp;
pub mod nearby;
pub mod normal_equations;
pub(crate) mod perceptron;
pub mod program;
pub mod step;

pub use bracket::Bracket;
pub use budget::Budget;
pub use choice::{Collapsed, Rule, Scoring};
pub use grid::{Candidates, Scores};
pub use nearby::Search;
pub use program::Program;
