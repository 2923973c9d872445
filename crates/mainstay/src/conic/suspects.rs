//! Which training labels the fit would doubt.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Fitted, Output, Suspects};

/// Training rows by how suspicious their label is, most suspicious first.
///
/// The score is the indicator `$z_i$` of the row, with more than two classes the one of its own class
/// against the rest. Equal scores are in row order.
pub fn suspects(fitted: &Fitted, data: &Dataset) -> Result<Suspects> {
    let scores: Vec<f64> = match fitted.outputs.get("z") {
        Some(Output::Vector(z)) => z.clone(),
        Some(Output::Matrix(z)) => data.labels().iter().zip(z).map(|(&k, row)| row.0[k]).collect(),
        _ => return Err(Error::BadModel("the fit has no indicators z".into())),
    };
    let predicted = fitted.model.predict(data.features())?;
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]).then(i.cmp(&j)));
    Ok(Suspects {
        label: order.iter().map(|&i| data.labels()[i]).collect(),
        score: order.iter().map(|&i| scores[i]).collect(),
        predicted: order.iter().map(|&i| predicted[i]).collect(),
        row: order,
    })
}
