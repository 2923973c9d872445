//! One file per command.

pub(crate) mod audit;
pub(crate) mod certify;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod crossval;
pub(crate) mod evaluate;
pub(crate) mod fit;
pub(crate) mod fit_stream;
mod fit_summary;
pub(crate) mod list;
pub(crate) mod predict;
pub(crate) mod reproduce;
pub(crate) mod show;
pub(crate) mod stress;
pub(crate) mod told;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod verify;
