//! What the paper's method and the extended one share: losses over vectors of margins, line searches,
//! ridge-penalised fits by Newton's method, singular value decompositions, kernels.

pub(in crate::rolin) mod kernel;
pub(in crate::rolin) mod line_search;
pub(in crate::rolin) mod losses;
pub(in crate::rolin) mod ridge_newton;
pub(in crate::rolin) mod row_weights;
mod secants;
pub(in crate::rolin) mod spectrum;
