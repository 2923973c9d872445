//! What an adversary, or plain measurement error, may do to a row; support functions and worst cases.

mod deletion;
pub mod ellipsoid;
mod knapsack;
mod worst_share;

pub use deletion::{Attack, Deletions, Gain, gains};
pub use knapsack::Chosen;
pub use worst_share::K;
