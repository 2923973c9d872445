//! Dual points kept beside a model, for whoever wants to check its certificate.

use std::collections::BTreeMap;

use crate::data::Merged;
use crate::error::{Error, Result};

/// A dual point by the names that `docs/model-file.md` explains: lists of numbers for the rows of positive weight as they
/// were given, one after the other.
pub type DualPoint = BTreeMap<String, Vec<f64>>;

/// Lists of a dual point while rows are merged: for each name a few numbers per row, per unit of its weight.
pub type RowLists = Vec<(&'static str, Vec<Vec<f64>>)>;

/// One number for every row.
pub fn one_each(values: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
    values.map(|value| vec![value]).collect()
}

/// The dual point of the rows as given.
pub fn dual_point(merged: &Merged, lists: &RowLists) -> DualPoint {
    let of = |rows: &Vec<Vec<f64>>| {
        let numbers = merged.position.iter().flatten().flat_map(|at| rows[at].iter().copied());
        // A multiplier beyond the range of numbers proves nothing; 0 is feasible everywhere.
        numbers.map(|v| if v.is_finite() { v } else { 0.0 }).collect()
    };
    lists.iter().map(|(name, rows)| ((*name).to_owned(), of(rows))).collect()
}

/// Checks that all numbers are.
pub(super) fn validate(proof: &[DualPoint]) -> Result<()> {
    let lists = proof.iter().flatten();
    match lists.into_iter().find(|(_, list)| list.iter().any(|v| !v.is_finite())) {
        Some((name, _)) => Err(Error::BadModel(format!("proof: `{name}` is not finite"))),
        None => Ok(()),
    }
}
