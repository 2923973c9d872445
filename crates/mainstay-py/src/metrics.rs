//! Metrics of predictions, and which rows stay together in splits.

use mainstay::folds::Together;
use mainstay::linalg::Dense;
use mainstay::metrics::{Costs, Judged, Metric, Needs, Predictions};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::run::{run, threads, to_python};
use crate::{Rows, class_indices};

/// A metric: name, value, and why it has none.
type Found = (&'static str, Option<f64>, Option<String>);

/// Every metric: name, name for people, whether more is better (None: neither), what it needs.
#[pyfunction]
pub(crate) fn metrics() -> Vec<(&'static str, &'static str, Option<bool>, &'static str)> {
    let needs = |metric: Metric| match metric.needs() {
        Needs::Labels => "labels",
        Needs::Scores => "scores",
        Needs::Probabilities => "probabilities",
    };
    let each = Metric::ALL.into_iter();
    each.map(|m| (m.name(), m.title(), m.higher_is_better(), needs(m))).collect()
}

fn dense(x: &PyReadonlyArray2<'_, f64>) -> Dense {
    let (rows, columns) = x.as_array().dim();
    Dense::from_rows(rows, columns, x.as_array().iter().copied().collect())
}

/// The metrics by name; all of them where none is named.
fn wanted(names: &[String]) -> mainstay::Result<Vec<Metric>> {
    if names.is_empty() {
        return Ok(Metric::ALL.to_vec());
    }
    names.iter().map(|name| Metric::find(name)).collect()
}

/// The metrics `names` (all if empty) of predictions: class indices `y` and `predicted`, scores (one column for two classes) and
/// probabilities where there are any.
#[pyfunction]
#[pyo3(signature = (names, y, predicted, n_classes, *, scores=None, probabilities=None, sample_weight=None, threshold=None, costs=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn measure(
    names: Vec<String>,
    y: PyReadonlyArray1<'_, i64>,
    predicted: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    scores: Option<PyReadonlyArray2<'_, f64>>,
    probabilities: Option<PyReadonlyArray2<'_, f64>>,
    sample_weight: Option<Vec<f64>>,
    threshold: Option<f64>,
    costs: Option<(f64, f64)>,
) -> PyResult<Vec<Found>> {
    let truth = class_indices(&y)?;
    let made = Predictions {
        predicted: class_indices(&predicted)?,
        scores: scores.as_ref().map(dense),
        probabilities: probabilities.as_ref().map(dense),
    };
    let find = || -> mainstay::Result<Vec<Found>> {
        let wanted = wanted(&names)?;
        let mut judged = Judged::new(&truth, n_classes, &made)?;
        if let Some(weights) = sample_weight {
            judged = judged.with_weights(weights)?;
        }
        if let Some(threshold) = threshold {
            judged = judged.with_threshold(threshold)?;
        }
        if let Some((false_positive, false_negative)) = costs {
            judged = judged.with_costs(Costs::new(false_positive, false_negative)?);
        }
        let one = |m: Metric| match m.of(&judged) {
            Ok(value) => (m.name(), Some(value), None),
            Err(why) => (m.name(), None, Some(why.to_string())),
        };
        Ok(wanted.into_iter().map(one).collect())
    };
    find().map_err(|e| to_python(&e))
}

/// Numbers of rows that stay on one side of every split (None: every row is free), and what to say about it.
#[pyfunction]
#[pyo3(signature = (x, y, n_classes, groups=None))]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn together(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    groups: Option<PyReadonlyArray1<'_, i64>>,
) -> PyResult<(Option<Vec<usize>>, Option<String>)> {
    let rows = Rows::new(x, &y, n_classes, None, None)?;
    let groups = groups.as_ref().map(class_indices).transpose()?;
    let found =
        run(py, threads(None)?, None, move |_| Together::new(&rows.dataset()?, groups.as_deref()))?;
    Ok((found.groups, found.note))
}
