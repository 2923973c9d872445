//! How far held-out rows are from being called something else.

use super::details::Fits;
use super::outcome::RadiusSample;
use crate::certify::{Options, RowCertificates, certify};
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

impl Fits<'_> {
    /// Distances of the first split's held-out rows to the boundary of a linear model.
    pub(super) fn radius(&self, name: &str) -> Result<Option<RadiusSample>> {
        let (train, test) = self.first_split()?;
        let mut present = train.labels().to_vec();
        present.sort_unstable();
        present.dedup();
        if present.len() < train.n_classes() || test.is_empty() {
            return Ok(None);
        }
        let scaling = Standardize::learn(train.features(), None);
        let scaled: Matrix = scaling.apply(train.features()).into();
        let Some(fitted) = self.fit(name, &train.replace_features(scaled))? else {
            return Ok(None);
        };
        let Some(model) = fitted.model.linear() else { return Ok(None) };
        let x: Matrix = scaling.apply(test.features()).into();
        match certify(model, &x, &Options::default(), &self.control) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(_) => Ok(None),
            Ok(found) => Ok(Some(sample(name, found, test.labels()))),
        }
    }

    /// The rows of the first split, cut as those of the comparison are.
    fn first_split(&self) -> Result<(Dataset, Dataset)> {
        let data = &self.subject.data;
        let (train, test) = self.plan.rows(data.labels(), 0)?;
        Ok((data.select_rows(&train), data.select_rows(&test)))
    }
}

fn sample(name: &str, found: RowCertificates, labels: &[usize]) -> RadiusSample {
    let sign = |i: usize| if found.predicted[i] == labels[i] { 1.0 } else { -1.0 };
    let mut radius_l2: Vec<f64> =
        (0..labels.len()).map(|i| sign(i) * found.radius_l2[i]).filter(|r| r.is_finite()).collect();
    radius_l2.sort_by(f64::total_cmp);
    let mut counts = found.deletions;
    counts.sort_by(f64::total_cmp);
    let deletions = counts.into_iter().map(|d| d.is_finite().then_some(d)).collect();
    RadiusSample { method: name.into(), radius_l2, deletions }
}
