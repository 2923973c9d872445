//! Which training labels the fit would doubt.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Fitted, Output};

/// Training rows by how suspicious their label is, most suspicious first: columns `row`, `label`,
/// `score` and `predicted` (class indices).
///
/// The score is the indicator $z_i$ of the row, with more than two classes the one of its own class
/// against the rest. Equal scores are in row order.
pub fn suspects(fitted: &Fitted, data: &Dataset) -> Result<Output> {
    let scores: Vec<f64> = match fitted.outputs.get("z") {
        Some(Output::Vector(z)) => z.clone(),
        Some(Output::Matrix(z)) => data.labels().iter().zip(z).map(|(&k, row)| row.0[k]).collect(),
        _ => return Err(Error::BadModel("the fit has no indicators z".into())),
    };
    let predicted = fitted.model.predict(data.features())?;
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]).then(i.cmp(&j)));
    let integers = |value: &dyn Fn(usize) -> usize| {
        Output::Integers(
            order.iter().map(|&i| i64::try_from(value(i)).unwrap_or(i64::MAX)).collect(),
        )
    };
    Ok(Output::Table(vec![
        ("row".into(), integers(&|i| i)),
        ("label".into(), integers(&|i| data.labels()[i])),
        ("score".into(), Output::Vector(order.iter().map(|&i| scores[i]).collect())),
        ("predicted".into(), integers(&|i| predicted[i])),
    ]))
}
