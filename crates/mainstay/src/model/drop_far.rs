//! An estimator that leaves far rows out.

use super::{Estimator, Fitted, Output};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::Dense;
use crate::uncertainty::far_rows::{FarRows, Share};

/// Fits without the rows that robust distances put far from their class, and lists them as `far_rows`: row, distance
/// in units of the cut-off, feature, and the factor that would repair a wrong unit (NaN where none does).
/// Results with one entry per row are those of the rows that were kept (`kept_rows`). Rows of weight 0 are not looked at.
pub struct DropFarFirst<'a> {
    /// What is fitted to the rest.
    pub estimator: &'a dyn Estimator,
    /// How many rows are far.
    pub share: Share,
}

impl Estimator for DropFarFirst<'_> {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let x = at_medians(data);
        let labels = (data.labels(), data.n_classes());
        let found = FarRows::find(&x, labels, data.weights(), self.share)?;
        let kept: Vec<usize> = (0..data.len()).filter(|&i| found.distances[i] <= 1.0).collect();
        let mut fitted = self.estimator.fit(&data.select_rows(&kept), control)?;
        // Findings speak of rows as they were given.
        let lists = [
            fitted.suspects.as_mut().map(|found| &mut found.row),
            fitted.worst_rows.as_mut().map(|found| &mut found.row),
        ];
        for row in lists.into_iter().flatten().flatten() {
            *row = kept.get(*row).copied().unwrap_or(*row);
        }
        Ok(fitted.with("far_rows", table(&found)).with("kept_rows", integers(kept.iter().copied())))
    }
}

/// The features with missing cells (NaN) at the median of their column, where they put no row far away.
fn at_medians(data: &Dataset) -> Dense {
    let mut x = data.features().to_dense();
    for j in 0..x.ncols() {
        if (0..x.nrows()).all(|i| !x[(i, j)].is_nan()) {
            continue;
        }
        let cells = data.counting_rows().map(|i| x[(i, j)]);
        let mut known: Vec<f64> = cells.filter(|v| !v.is_nan()).collect();
        known.sort_by(f64::total_cmp);
        let median = known.get(known.len() / 2).copied().unwrap_or(0.0);
        for i in 0..x.nrows() {
            if x[(i, j)].is_nan() {
                x[(i, j)] = median;
            }
        }
    }
    x
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
