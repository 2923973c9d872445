//! A primal-dual interior point method for the linear program behind problem (4), made for its structure.
//!
//! All iterates are strictly feasible on both sides, so each carries a proven bound. Only entries that an
//! adversary at the present weights nearly deletes have variables ([`active_entries`]). The variables
//! `$\alpha, \lambda, \xi$` of a row are eliminated row by row ([`elimination`]), which leaves a system in the
//! weights and the intercept ([`normal_equations`], [`low_rank`]). Each factorisation serves a predictor,
//! Mehrotra's corrector with a weight chosen for the primal and the dual step separately
//! ([`step_lengths`]), and two to five Gondzio correctors, the more the dearer it is ([`direction`],
//! [`interior_point`]).
//! With thousands of columns steps are not shortened by entries near the boundary ([`bent`]).
//! Rows are handled in blocks ([`block`]), in units where every number is near 1 ([`scaled`]).
//!
//! One iteration costs `$O(\mathrm{nnz} + \sum_i \mathrm{nnz}_i^2 + p^3)$`, or `$O(m^2 p + m^3)$` for `$p > 2m$`.
//!
//! # Reference
//!
//! Dekel and Shamir (2008), Eq. (4). Mehrotra (1992); Gondzio (1996), *Multiple centrality corrections*;
//! Colombo and Gondzio (2008), *Further development of multiple centrality correctors*.

mod active_entries;
mod bent;
mod block;
mod direction;
mod elimination;
mod interior_point;
mod low_rank;
mod normal_equations;
mod projection;
mod row_stack;
mod scaled;
mod step_lengths;

pub(super) use interior_point::Interior;
pub(super) use scaled::{Entries, Scaled, Units};
