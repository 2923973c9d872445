//! What a threshold on the score would do: ROC curve, precision-recall curve, and a table of thresholds.

use serde::{Deserialize, Serialize};

use super::side::Side;
use super::undefined::Undefined;
use super::{Judged, Metric};
use crate::error::Result;

/// Thresholds of a table that fits on a page.
pub const USUAL_THRESHOLDS: [f64; 12] =
    [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// One threshold on the probability of the positive class, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRow {
    /// Rows are called positive from this probability on.
    pub threshold: f64,
    /// Share of the rows that are called positive.
    pub called: f64,
    /// Share of the positive rows that are called positive.
    pub sensitivity: Option<f64>,
    /// Share of the negative rows that are called negative.
    pub specificity: Option<f64>,
    /// Share of the rows called positive that are.
    pub ppv: Option<f64>,
    /// Share of the rows called negative that are.
    pub npv: Option<f64>,
    /// Net benefit of acting on the rows called positive.
    pub net_benefit: Option<f64>,
    /// Net benefit of acting on every row, whatever the model says.
    pub net_benefit_all: Option<f64>,
}

/// False positive rate and sensitivity as the threshold falls, from (0, 0) to (1, 1): class `class` against the rest.
/// Points on a straight line between two others are left out.
pub fn roc_curve(judged: &Judged<'_>, class: usize) -> Result<Vec<[f64; 2]>, Undefined> {
    let steps = Steps::new(&Side::new(judged, class))?;
    let points =
        steps.each().map(|(hits, alarms)| [alarms / steps.negative, hits / steps.positive]);
    Ok(corners(std::iter::once([0.0, 0.0]).chain(points).collect()))
}

/// Recall and precision as the threshold falls: class `class` against the rest. The first point is that of the highest
/// score.
pub fn pr_curve(judged: &Judged<'_>, class: usize) -> Result<Vec<[f64; 2]>, Undefined> {
    let steps = Steps::new(&Side::new(judged, class))?;
    let points = steps.each().map(|(hits, alarms)| [hits / steps.positive, hits / (hits + alarms)]);
    Ok(corners(points.collect()))
}

/// What each of `thresholds` would do; two classes with probabilities only.
pub fn threshold_table(judged: &Judged<'_>, thresholds: &[f64]) -> Result<Vec<ThresholdRow>> {
    let n = judged.truth().len();
    let total: f64 = (0..n).map(|i| judged.weight(i)).sum();
    let share = |of: &dyn Fn(usize) -> bool| {
        (0..n).filter(|&i| of(i)).map(|i| judged.weight(i)).sum::<f64>() / total
    };
    let positive = share(&|i| judged.truth()[i] == 1);
    let one = |&threshold: &f64| {
        let here = judged.clone().with_threshold(threshold)?;
        let value = |metric: Metric| metric.of(&here).ok();
        let odds = threshold / (1.0 - threshold);
        Ok(ThresholdRow {
            threshold,
            called: share(&|i| here.predicted()[i] == 1),
            sensitivity: value(Metric::Sensitivity),
            specificity: value(Metric::Specificity),
            ppv: value(Metric::Ppv),
            npv: value(Metric::Npv),
            net_benefit: value(Metric::NetBenefit),
            net_benefit_all: Some(positive - (1.0 - positive) * odds).filter(|v| v.is_finite()),
        })
    };
    thresholds.iter().map(one).collect()
}

/// Rows by falling score, as weights of positive and negative rows; equal scores are one step.
struct Steps {
    weights: Vec<(f64, f64)>,
    positive: f64,
    negative: f64,
}

impl Steps {
    fn new(side: &Side<'_>) -> Result<Self, Undefined> {
        let (positive, negative) = side.both_sizes()?;
        let scores = side.scores()?;
        let mut order: Vec<usize> = (0..side.len()).filter(|&i| side.weight(i) > 0.0).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let weigh = |tie: &[usize]| {
            tie.iter().fold((0.0, 0.0), |(p, n), &i| {
                let w = side.weight(i);
                if side.positive(i) { (p + w, n) } else { (p, n + w) }
            })
        };
        let weights = order.chunk_by(|&a, &b| scores[a] == scores[b]).map(weigh).collect();
        Ok(Self { weights, positive, negative })
    }

    /// Positive and negative rows that are called positive, step by step.
    fn each(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.weights.iter().scan((0.0, 0.0), |sum, (hits, alarms)| {
            *sum = (sum.0 + hits, sum.1 + alarms);
            Some(*sum)
        })
    }
}

/// The points at which a polygon turns, and its ends.
fn corners(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let mut kept: Vec<[f64; 2]> = Vec::with_capacity(points.len());
    for point in points {
        if let [.., a, b] = kept.as_slice() {
            let turn = (b[0] - a[0]) * (point[1] - b[1]) - (b[1] - a[1]) * (point[0] - b[0]);
            let ahead = (b[0] - a[0]) * (point[0] - b[0]) + (b[1] - a[1]) * (point[1] - b[1]);
            if turn.abs() < 1e-12 && ahead >= 0.0 {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::metrics::Predictions;

    /// Scores 0.9+ 0.8+ 0.7- 0.6+ 0.2- 0.2-: probabilities and scores alike.
    fn made() -> (Vec<usize>, Predictions) {
        let p = [0.9, 0.8, 0.7, 0.6, 0.2, 0.2];
        let predicted = p.iter().map(|v| usize::from(*v >= 0.5)).collect();
        let made = Predictions {
            predicted,
            scores: Some(Dense::from_rows(6, 1, p.to_vec())),
            probabilities: Some(Dense::from_fn(
                6,
                2,
                |i, k| if k == 1 { p[i] } else { 1.0 - p[i] },
            )),
        };
        (vec![1, 1, 0, 1, 0, 0], made)
    }

    #[test]
    fn the_area_under_the_curves_is_that_of_the_metrics() {
        let (truth, made) = made();
        let judged = Judged::new(&truth, 2, &made).unwrap();
        let roc = roc_curve(&judged, 1).unwrap();
        let third = 1.0 / 3.0;
        let expected =
            [[0.0, 0.0], [0.0, 2.0 * third], [third, 2.0 * third], [third, 1.0], [1.0, 1.0]];
        assert_eq!(roc.len(), expected.len());
        for (a, b) in roc.iter().zip(expected) {
            assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12, "{roc:?}");
        }
        let area: f64 =
            roc.windows(2).map(|w| (w[1][0] - w[0][0]) * f64::midpoint(w[0][1], w[1][1])).sum();
        assert!((area - Metric::Auc.of(&judged).unwrap()).abs() < 1e-12);
        let pr = pr_curve(&judged, 1).unwrap();
        assert_eq!(pr.first(), Some(&[third, 1.0]));
        assert_eq!(pr.last(), Some(&[1.0, 0.5]));
    }

    #[test]
    fn thresholds_count_what_they_call() {
        let (truth, made) = made();
        let judged = Judged::new(&truth, 2, &made).unwrap();
        let rows = threshold_table(&judged, &[0.65, 0.95]).unwrap();
        assert_eq!(rows[0].called, 0.5);
        assert!((rows[0].sensitivity.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!((rows[0].npv.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        // Two hits and one false alarm of six rows at odds 0.65 / 0.35.
        let odds = 0.65 / 0.35;
        assert!((rows[0].net_benefit.unwrap() - (2.0 - odds) / 6.0).abs() < 1e-12);
        assert!((rows[0].net_benefit_all.unwrap() - (0.5 - 0.5 * odds)).abs() < 1e-12);
        // Nobody is called positive: there is no PPV, and nothing is gained or lost.
        assert_eq!((rows[1].ppv, rows[1].net_benefit), (None, Some(0.0)));
    }

    #[test]
    fn one_class_has_no_curve() {
        let (_, made) = made();
        let judged = Judged::new(&[1; 6], 2, &made).unwrap();
        assert_eq!(roc_curve(&judged, 1), Err(Undefined::OneClass));
    }
}
