//! Whether a model gives all training rows one class, or nearly so, or one of several classes to hardly any row.

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
/// How many classes are listed.
const LISTED: usize = 3;

/// What is wrong with the answers of a model to the rows it was fitted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// It gives nearly all rows one class.
    OneSided(String),
    /// It gives some of several classes to hardly any row.
    Overlooked(String),
}

/// What is wrong with a model, if something is. The first rows settle it for most models.
pub(super) fn finding(model: &Model, data: &Dataset, nan: NanRule) -> Result<Option<Finding>> {
    let (n, labels) = (data.len(), data.label_counts());
    let mut calls = vec![0; data.n_classes()];
    if n < MANY_ROWS {
        let found = predicted(model, data, nan)?;
        return Ok(of_counts(&calls_of(&found, data), &of_counting_rows(data)));
    }
    let rows = (PART_ENTRIES / data.n_features()).max(PART_ROWS);
    let mut known = 0;
    while known < n {
        let part: Vec<usize> = (known..n.min(known + rows)).collect();
        known += part.len();
        let found = model.predict(&nan.apply(data.features().select_rows(&part)))?;
        for (_, &class) in part.iter().zip(&found).filter(|(i, _)| data.row_counts(**i)) {
            calls[class] += 1;
        }
        if settled(&calls, &labels) {
            return Ok(None);
        }
    }
    Ok(of_counts(&calls, &of_counting_rows(data)))
}

/// Classes of the training rows as the model predicts them.
pub(super) fn predicted(model: &Model, data: &Dataset, nan: NanRule) -> Result<Vec<usize>> {
    match nan {
        NanRule::Zero => model.predict(&nan.apply(data.features().clone())),
        NanRule::Refuse | NanRule::Keep => model.predict(data.features()),
    }
}

/// How many of the rows that count are of each class.
fn of_counting_rows(data: &Dataset) -> Vec<usize> {
    let mut counts = vec![0_usize; data.n_classes()];
    data.counting_rows().for_each(|i| counts[data.labels()[i]] += 1);
    counts
}

/// How often each class was predicted for the rows that count.
fn calls_of(predicted: &[usize], data: &Dataset) -> Vec<usize> {
    let mut calls = vec![0_usize; data.n_classes()];
    data.counting_rows().for_each(|i| calls[predicted[i]] += 1);
    calls
}

/// Whether `calls` of every class for the first rows alone are too many for [`of_counts`] to find anything among all rows,
/// of which `labels` are of each class.
fn settled(calls: &[usize], labels: &[usize]) -> bool {
    let (first, all): (usize, usize) = (calls.iter().sum(), labels.iter().sum());
    // Whatever the usual answer turns out to be, and however many rows of weight zero there are.
    let varied = (0..calls.len()).all(|usual| {
        let (called, others) = (first - calls[usual], all - labels[usual]);
        called > 0 && called as f64 >= NEARLY * others as f64
    });
    varied && (calls.len() == 2 || calls.iter().zip(labels).all(|(c, n)| !is_overlooked(*c, *n)))
}

fn is_overlooked(calls: usize, rows: usize) -> bool {
    rows > 0 && (calls == 0 || (calls as f64) < NEARLY * rows as f64)
}

/// What to say about predictions for the training rows that are all of one class, or nearly so.
pub(super) fn one_sided(predicted: &[usize], data: &Dataset) -> Option<String> {
    nearly_constant(&calls_of(predicted, data), &of_counting_rows(data))
}

/// The same from a confusion matrix: rows of class i that were called j.
pub(super) fn of_confusion(confusion: &[Vec<usize>]) -> Option<Finding> {
    let calls: Vec<usize> =
        (0..confusion.len()).map(|k| confusion.iter().filter_map(|row| row.get(k)).sum()).collect();
    let rows: Vec<usize> = confusion.iter().map(|row| row.iter().sum()).collect();
    of_counts(&calls, &rows)
}

/// What is wrong where so many rows were given each class, and so many are of it.
fn of_counts(calls: &[usize], labels: &[usize]) -> Option<Finding> {
    nearly_constant(calls, labels)
        .map(Finding::OneSided)
        .or_else(|| overlooked(calls, labels).map(Finding::Overlooked))
}

fn nearly_constant(calls: &[usize], labels: &[usize]) -> Option<String> {
    let usual = (0..calls.len()).max_by_key(|&k| calls[k])?;
    let rows: usize = labels.iter().sum();
    let (called, others) = (rows - calls[usual], rows - labels[usual]);
    if called == 0 {
        Some("the model predicts one class for all training rows".into())
    } else if (called as f64) < NEARLY * others as f64 {
        Some(format!(
            "the model predicts one class for all but {called} of {rows} training rows, of which {others} are of other classes"
        ))
    } else {
        None
    }
}

/// Classes that hardly any row is given, by their place among the names: these are not known here.
fn overlooked(calls: &[usize], labels: &[usize]) -> Option<String> {
    let classes = calls.len();
    let found: Vec<usize> = (0..classes).filter(|&k| is_overlooked(calls[k], labels[k])).collect();
    if classes == 2 || found.is_empty() {
        return None;
    }
    let told: Vec<String> = found
        .iter()
        .take(LISTED)
        .map(|&k| {
            let called = if calls[k] == 0 { "none".into() } else { calls[k].to_string() };
            format!(
                "class {} of {classes} ({} training rows, {called} called so)",
                k + 1,
                labels[k]
            )
        })
        .collect();
    let more = found.len() - told.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("the model hardly ever predicts {}{more}", told.join(", ")))
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
        for (ones, enough) in [(0, false), (1, false), (2, true), (32, true), (33, false)] {
            let calls = [40 - ones, ones];
            assert_eq!(settled(&calls, &data.label_counts()), enough, "{ones}");
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

    /// Of three classes with 60, 30 and 10 rows the last is never called, or once: then a tenth of it is.
    #[test]
    fn a_class_that_is_hardly_ever_predicted_is_told_beside_others_that_are() {
        let told = |calls: [usize; 3], labels: [usize; 3]| match of_counts(&calls, &labels) {
            Some(Finding::Overlooked(text)) => text,
            other => format!("{other:?}"),
        };
        let labels = [60, 30, 10];
        assert_eq!(
            told([70, 30, 0], labels),
            "the model hardly ever predicts class 3 of 3 (10 training rows, none called so)"
        );
        assert_eq!(told([70, 29, 1], labels), "None");
        assert!(
            told([69, 1, 30], [30, 60, 10])
                .contains("class 2 of 3 (60 training rows, 1 called so)")
        );
        // A class of which there is no row has nothing to be overlooked.
        assert_eq!(told([50, 50, 0], [60, 40, 0]), "None");
        assert!(!settled(&[20, 9, 0], &labels) && settled(&[20, 9, 1], &labels));
        let confusion = [vec![58, 2, 0], vec![3, 27, 0], vec![9, 1, 0]];
        assert_eq!(of_confusion(&confusion), of_counts(&[70, 30, 0], &labels));
    }
}
