//! What an adversary may do to a row before it is classified, and the worst of it.

mod deletion;
mod knapsack;

pub use deletion::{Attack, Deletions, Gain, gains};
pub use knapsack::Chosen;
