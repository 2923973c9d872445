//! Whether a model gives all training rows one class, or nearly so.

use crate::data::{Dataset, NanRule};
use crate::error::Result;
use crate::model::Model;

/// Rows from which on predictions of the first of them may spare those of the others.
const MANY_ROWS: usize = 2_000;
/// One in so many rows is among the first: twice as many as a balanced model of two balanced classes needs.
const FIRST_PART: usize = 5;
/// A model that calls fewer rows something else than its usual answer than this share of those that are is as good as
/// constant: it misses nine of ten.
const NEARLY: f64 = 0.1;

/// What to say if the model is one-sided. The first rows settle it for most models.
pub(super) fn finding(model: &Model, data: &Dataset, nan: NanRule) -> Result<Option<String>> {
    if data.len() >= MANY_ROWS {
        let first: Vec<usize> = (0..data.len() / FIRST_PART).collect();
        let predicted = model.predict(&nan.apply(data.features().select_rows(&first)))?;
        if cannot_be_one_sided(&predicted, data) {
            return Ok(None);
        }
    }
    Ok(one_sided(&predicted(model, data, nan)?, data))
}

/// Classes of the training rows as the model predicts them.
pub(super) fn predicted(model: &Model, data: &Dataset, nan: NanRule) -> Result<Vec<usize>> {
    match nan {
        NanRule::Zero => model.predict(&nan.apply(data.features().clone())),
        NanRule::Refuse | NanRule::Keep => model.predict(data.features()),
    }
}

/// Whether calls for the first rows alone are too many of each class for [`one_sided`] to find anything.
fn cannot_be_one_sided(predicted: &[usize], data: &Dataset) -> bool {
    let counts = |i: usize| data.weights().is_none_or(|weights| weights[i] > 0.0);
    let (mut calls, mut labels) =
        (vec![0_usize; data.n_classes()], vec![0_usize; data.n_classes()]);
    for (_, &class) in predicted.iter().enumerate().filter(|(i, _)| counts(*i)) {
        calls[class] += 1;
    }
    data.labels().iter().for_each(|&label| labels[label] += 1);
    let first: usize = calls.iter().sum();
    // Whatever the usual answer turns out to be, and however many rows of weight zero there are.
    (0..calls.len()).all(|usual| {
        let (called, others) = (first - calls[usual], data.len() - labels[usual]);
        called > 0 && called as f64 >= NEARLY * others as f64
    })
}

/// What to say about predictions for the training rows that are all of one class, or nearly so.
pub(super) fn one_sided(predicted: &[usize], data: &Dataset) -> Option<String> {
    // A row of weight zero is as good as absent.
    let counts = |i: usize| data.weights().is_none_or(|weights| weights[i] > 0.0);
    let rows: Vec<usize> = (0..predicted.len()).filter(|&i| counts(i)).collect();
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
        let called = |ones: usize| (0..40).map(|i| usize::from(i < ones)).collect::<Vec<usize>>();
        for (ones, settled) in [(0, false), (1, false), (2, true), (32, true), (33, false)] {
            assert_eq!(cannot_be_one_sided(&called(ones), &data), settled, "{ones}");
        }
    }
}
