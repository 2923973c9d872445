//! Rules to choose among estimators, on tables of losses that Python filled.

use mainstay::rolin::rules::{Choice, Judgement, Thresholds};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::run::to_python;

/// Algorithm 2 of the ROLIN paper on losses with one row per setting and one column per split; the last
/// `n_baseline` settings are the baseline of line 9. Returns the winning row, and loss_avg, loss_max,
/// loss_ratio and cost of every row.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn robust_choice<'py>(
    py: Python<'py>,
    judged: PyReadonlyArray2<'_, f64>,
    train: PyReadonlyArray2<'_, f64>,
    holdout: PyReadonlyArray2<'_, f64>,
    n_baseline: usize,
    theta_ratio: f64,
    theta_slack: f64,
    theta_gain: f64,
) -> PyResult<(usize, Bound<'py, PyDict>)> {
    let rules = Thresholds { ratio: theta_ratio, slack: theta_slack, gain: theta_gain };
    let rules = rules.check().map_err(|e| to_python(&e))?;
    let (judged, train, holdout) = (judged.as_array(), train.as_array(), holdout.as_array());
    if judged.dim() != train.dim() || judged.dim() != holdout.dim() || n_baseline > judged.nrows() {
        return Err(PyValueError::new_err("the tables of losses differ in shape"));
    }
    let judgements: Vec<Judgement> = (0..judged.nrows())
        .map(|i| {
            let [a, b, c] = [judged, train, holdout].map(|table| table.row(i).to_vec());
            rules.judge(&a, &b, &c)
        })
        .collect();
    let first_baseline = judgements.len() - n_baseline;
    let (candidates, baseline) = judgements.split_at(first_baseline);
    let winner = match rules.choose_against(candidates, baseline) {
        Some(Choice::Candidate(i)) => i,
        Some(Choice::Baseline(i)) => first_baseline + i,
        None => return Err(PyValueError::new_err("no setting has a loss that is a number")),
    };
    let table = PyDict::new(py);
    let column = |of: fn(&Judgement) -> f64| judgements.iter().map(of).collect::<Vec<f64>>();
    table.set_item("loss_avg", column(|j| j.loss_avg))?;
    table.set_item("loss_max", column(|j| j.loss_max))?;
    table.set_item("loss_ratio", column(|j| j.loss_ratio))?;
    table.set_item("cost", column(|j| j.cost))?;
    Ok((winner, table))
}
