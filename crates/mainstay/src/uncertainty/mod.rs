//! What an adversary, or plain measurement error, may do to a row; support functions and worst cases;
//! what the features know about each other, and which rows are far from their class.

mod deletion;
pub mod ellipsoid;
pub mod far_rows;
pub mod feature_model;
mod knapsack;
mod largest_gain;
mod worst_share;

pub use deletion::{Attack, Deletions, Gain, gains};
pub use knapsack::Chosen;
pub(crate) use largest_gain::largest_gain;
pub use worst_share::K;
