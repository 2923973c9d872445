//! What the extended variant averages, and the table that lists it.

use super::calibrate::Calibration;
use super::view::View;
use crate::linalg::vector;
use crate::model::Output;

/// How a candidate was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Robust,
    Penalised,
    /// The penalised fit with the least out-of-fold loss, as it is.
    Chosen,
    /// The penalised fit whose strength is a constant of the method, as it is.
    Fixed,
}

/// One candidate before calibration.
#[derive(Clone)]
pub(super) struct Uncalibrated {
    pub(super) view: usize,
    pub(super) family: Family,
    pub(super) strength: f64,
    /// Out-of-fold scores, one row for each repetition.
    pub(super) scores: Vec<f64>,
    /// Fit on all rows, in principal coordinates.
    pub(super) weights: Vec<f64>,
    pub(super) intercept: f64,
}

/// One candidate with its place in the average.
pub(super) struct Weighted {
    pub(super) raw: Uncalibrated,
    pub(super) calibration: Calibration,
    pub(super) weight: f64,
}

/// The weighted sum of calibrated candidates: principal coordinates of each view, and the intercept.
fn average(judged: &[Weighted], views: &[View]) -> (Vec<Vec<f64>>, f64) {
    let mut sums: Vec<Vec<f64>> = views.iter().map(|v| vec![0.0; v.spectrum.d.len()]).collect();
    let mut intercept = 0.0;
    for j in judged {
        let scale = j.weight * j.calibration.scale;
        vector::axpy(scale, &j.raw.weights, &mut sums[j.raw.view]);
        intercept += scale * j.raw.intercept + j.weight * j.calibration.shift;
    }
    (sums, intercept)
}

/// What the averages of all binary problems weigh and their intercepts. `weigh` turns the sums of the views into
/// weights for rows or features whose `means` were taken off before.
pub(super) fn averages(
    judged: &[Vec<Weighted>],
    views: &[View],
    means: &[f64],
    weigh: impl Fn(&[Vec<f64>]) -> Vec<f64>,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let one_class = |class: &Vec<Weighted>| {
        let (sums, intercept) = average(class, views);
        let weights = weigh(&sums);
        let shift = vector::dot(&weights, means);
        (weights, intercept - shift)
    };
    judged.iter().map(one_class).unzip()
}

/// `candidates_`: one row per candidate, over all binary problems.
pub(super) fn table(judged: &[Vec<Weighted>], views: &[View]) -> Output {
    let all = || judged.iter().enumerate().flat_map(|(c, js)| js.iter().map(move |j| (c, j)));
    let texts = |of: &dyn Fn(&Weighted) -> &'static str| {
        Output::Texts(all().map(|(_, j)| of(j).to_owned()).collect())
    };
    let numbers =
        |of: &dyn Fn(&Weighted) -> f64| Output::Vector(all().map(|(_, j)| of(j)).collect());
    let mut columns = Vec::new();
    if judged.len() > 1 {
        let classes = all().map(|(c, _)| i64::try_from(c).unwrap_or(i64::MAX)).collect();
        columns.push(("class".to_owned(), Output::Integers(classes)));
    }
    columns.extend([
        ("scaling".to_owned(), texts(&|j| views[j.raw.view].name())),
        (
            "family".to_owned(),
            texts(&|j| match j.raw.family {
                Family::Robust => "robust",
                Family::Penalised => "penalised",
                Family::Chosen => "chosen",
                Family::Fixed => "fixed",
            }),
        ),
        ("strength".to_owned(), numbers(&|j| j.raw.strength)),
        ("scale".to_owned(), numbers(&|j| j.calibration.scale)),
        ("shift".to_owned(), numbers(&|j| j.calibration.shift)),
        ("loss".to_owned(), numbers(&|j| j.calibration.loss)),
        ("error".to_owned(), numbers(&|j| j.calibration.error)),
        ("weight".to_owned(), numbers(&|j| j.weight)),
    ]);
    Output::Table(columns)
}
