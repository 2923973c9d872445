//! `variant = "extended"`: a weighted average of calibrated candidates instead of one choice.
//!
//! [`fit`] is the method. It looks at the features under several scalings ([`view`]), fits two families
//! of candidates on each ([`ridge_folds`]: ridge regressions on the labels; [`penalised_path`]: penalised
//! fits of the loss), calibrates every one on its out-of-fold scores ([`calibrate`]) and averages them
//! ([`candidate`]). All its constants are in [`constants`].

mod calibrate;
mod candidate;
pub(in crate::rolin) mod constants;
pub(in crate::rolin) mod fit;
mod penalised_path;
mod ridge_folds;
mod view;
