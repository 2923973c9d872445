//! Whether a model gives all training rows one class, or nearly so.

use crate::data::{Dataset, NanRule};
use crate::error::Result;
use crate::model::Model;

/// Rows from which on they are looked at in parts, until it is settled.
const MANY_ROWS: usize = 2_000;
/// Entries of one of these parts, a copy of which is held at a time: small enough to stay in the cache.
const PART_ENTRIES: usize = 12_000;
/// Rows of a part, at least.
const PART_ROWS: usize = 64;
/// A model that calls fewer rows something else than its usual answer than this share of those that are is as good as
/// constant: it misses nine of ten.
const NEARLY: f64 = 0.1;

/// What to say if the model is one-sided. The first rows settle it for most models.
pub(super) fn finding(model: &Model, data: &Dataset, nan: NanRule) -> Result<Option<String>> {
    let n = data.len();
    if n < MANY_ROWS {
        return Ok(one_sided(&predicted(model, data, nan)?, data));
    }
    let rows = (PART_ENTRIES / data.n_features()).max(PART_ROWS);
    let (labels, mut known) = (data.label_counts(), Vec::with_capacity(n));
    let mut calls = vec![0; data.n_classes()];
    while known.len() < n {
        let part: Vec<usize> = (known.len()..n.min(known.len() + rows)).collect();
        let found = model.predict(&nan.apply(data.features().select_rows(&part)))?;
        for (_, &class) in part.iter().zip(&found).filter(|(i, _)| data.row_counts(**i)) {
            calls[class] += 1;
        }
        known.extend(found);
        if cannot_be_one_sided(&calls, &labels) {
            return Ok(None);
        }
    }
    Ok(one_sided(&known, data))
}

/// Classes of the training rows as the model predicts them.
pub(super) fn predicted(model: &Model, data: &Dataset, nan: NanRule) -> Result<Vec<usize>> {
    match nan {
        NanRule::Zero => model.predict(&nan.apply(data.features().clone())),
        NanRule::Refuse | NanRule::Keep => model.predict(data.features()),
    }
}

/// Whether `calls` of every class for the first rows alone are too many for [`one_sided`] to find anything among all rows,
/// of which `labels` are of each class.
fn cannot_be_one_sided(calls: &[usize], labels: &[usize]) -> bool {
    let (first, all): (usize, usize) = (calls.iter().sum(), labels.iter().sum());
    // Whatever the usual answer turns out to be, and however many rows of weight zero there are.
    (0..calls.len()).all(|usual| {
        let (called, others) = (first - calls[usual], all - labels[usual]);
        called > 0 && called as f64 >= NEARLY * others as f64
    })
}

/// What to say about predictions for the training rows that are all of one class, or nearly so.
pub(super) fn one_sided(predicted: &[usize], data: &Dataset) -> Option<String> {
    let rows: Vec<usize> = data.counting_rows().collect();
    let mut calls = vec![0_usize; data.n_classes()];
    for &i in &rows {
        calls[predicted[i]] += 1;
    }
    let usual = (0..calls.len()).max_by_key(|&k| calls[k])?;
    let called = rows.len() - calls[usual];
    let others = rows.iter().filter(|&&i| data.labels()[i] != usual).count();
    if called == 0 {
        Some("the model predicts one class for all training rows".into())
    } else if (called as f64) < NEARLY * others as f64 {
        Some(format!(
            "the model predicts one class for all but {called} of {} training rows, of which {others} are of other classes",
            rows.len()
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    /// Twenty rows of the rarer class on the same side as the others, one apart.
    #[test]
    fn a_model_that_is_nearly_constant_is_told_too() {
        let x: Vec<f64> = (0..100).map(|i| if i == 0 { 9.0 } else { f64::from(i % 5) }).collect();
        let y = (0..100).map(|i| usize::from(i % 5 == 0)).collect();
        let data = Dataset::new(Dense::from_rows(100, 1, x).into(), y, 2).unwrap();
        let predicted: Vec<usize> = (0..100).map(|i| usize::from(i == 0)).collect();
        let found = one_sided(&predicted, &data).unwrap();
        assert!(
            found.ends_with("all but 1 of 100 training rows, of which 20 are of other classes")
        );
        let two: Vec<usize> = (0..100).map(|i| usize::from(i < 2)).collect();
        assert_eq!(one_sided(&two, &data), None);
        assert_eq!(one_sided(&[1; 100], &data).unwrap(), one_sided(&[0; 100], &data).unwrap());
        // Two calls of class 1, which 20 rows have, and eight of class 0, which 80 have, are enough, whatever the rest is.
        for (ones, settled) in [(0, false), (1, false), (2, true), (32, true), (33, false)] {
            let calls = [40 - ones, ones];
            assert_eq!(cannot_be_one_sided(&calls, &data.label_counts()), settled, "{ones}");
        }
    }

    /// Many rows, looked at in parts: a feature that says nothing with one row in ten of class 1, and one that says all.
    #[test]
    fn many_rows_are_looked_at_until_it_is_settled() {
        let n = 2 * MANY_ROWS;
        let rare: Vec<usize> = (0..n).map(|i| usize::from(i % 10 == 0)).collect();
        let found = |x: Vec<f64>, y: &[usize]| {
            let data = Dataset::new(Dense::from_rows(n, 1, x).into(), y.to_vec(), 2).unwrap();
            let estimator = super::super::find("l2").unwrap();
            let estimator = estimator.estimator(&serde_json::json!({})).unwrap();
            let fitted = estimator.fit(&data, &crate::control::Control::new()).unwrap();
            finding(&fitted.model, &data, NanRule::Refuse).unwrap()
        };
        let silent = (0..n).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
        assert!(
            found(silent, &rare.iter().map(|_| 0).chain([1]).skip(1).collect::<Vec<_>>()).is_some()
        );
        let telling = rare.iter().map(|&y| 6.0 * y as f64).collect();
        assert_eq!(found(telling, &rare), None);
    }
}
