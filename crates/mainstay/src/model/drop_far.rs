//! An estimator that leaves far rows out.

use super::{Estimator, Fitted, Output};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::uncertainty::far_rows::{FarRows, Share};

/// Fits without the rows that robust distances put far from their class, and lists them as `far_rows`: row, distance
/// in units of the cut-off, feature, and the factor that would repair a wrong unit (NaN where none does).
/// Results with one entry per row are those of the rows that were kept (`kept_rows`).
pub struct DropFarFirst<'a> {
    /// What is fitted to the rest.
    pub estimator: &'a dyn Estimator,
    /// How many rows are far.
    pub share: Share,
}

impl Estimator for DropFarFirst<'_> {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let x = data.features().to_dense();
        let found = FarRows::find(&x, data.labels(), data.n_classes(), self.share)?;
        let kept: Vec<usize> = (0..data.len()).filter(|&i| found.distances[i] <= 1.0).collect();
        let fitted = self.estimator.fit(&data.select_rows(&kept), control)?;
        Ok(fitted.with("far_rows", table(&found)).with("kept_rows", integers(kept.iter().copied())))
    }
}

fn integers(values: impl Iterator<Item = usize>) -> Vec<i64> {
    values.map(|v| i64::try_from(v).unwrap_or(i64::MAX)).collect()
}

fn table(found: &FarRows) -> Output {
    let far = &found.far;
    Output::Table(vec![
        ("row".into(), integers(far.iter().map(|r| r.row)).into()),
        ("distance".into(), far.iter().map(|r| r.distance).collect::<Vec<f64>>().into()),
        ("feature".into(), integers(far.iter().map(|r| r.feature)).into()),
        (
            "unit".into(),
            far.iter().map(|r| r.unit.unwrap_or(f64::NAN)).collect::<Vec<f64>>().into(),
        ),
    ])
}
