//! `variant = "paper"`: Algorithms 1 and 2 as published, under the settled readings; also Top PCs.
//!
//! | file | part of the paper |
//! |---|---|
//! | [`fit`] | from data to a fitted model: normalisations, splits, one search per binary problem |
//! | [`search`] | Algorithm 2: which `$\psi$`, by robust cross-validation |
//! | [`reliable_scan`] | its lines 12-19: fits on the reliable components for k = 1, 2, ... |
//! | [`robust_tails`] | its lines 20-23: all robust tails for one k |
//! | [`tail_bounds`] | what a tail can gain at most, so that most are never looked at |
//! | [`rules`] | its lines 9, 24-26 and 34-37: costs and choices, whatever is judged |
//! | [`problem`] | Algorithm 1 (CALCBETA): the classifier for one `$\psi$` |
//! | [`space`] | the rows in an orthonormal basis of their span |
//! | [`report`] | the model in the user's units, and the tables |

pub(in crate::rolin) mod fit;
mod problem;
mod reliable_scan;
mod report;
mod robust_tails;
pub mod rules;
mod search;
mod space;
mod tail_bounds;
