//! What an adversary, or plain measurement error, may do to a row; support functions and worst cases.

mod deletion;
pub mod ellipsoid;
pub mod feature_model;
mod knapsack;

pub use deletion::{Attack, Deletions, Gain, gains};
pub use knapsack::Chosen;
