//! How much the answer for every row depends on which rows were drawn.

use super::outcome::{Instability, RowInstability};
use super::session::Finished;
use crate::metrics::quantile;

/// Bootstrap refits against the fit to all rows; none without refits.
///
/// Riley and Collins (2023, *Stability of clinical prediction models developed using statistical or machine learning
/// methods*) plot the mean absolute error of the probability against the probability.
pub(super) fn of(finished: &Finished<'_>) -> Option<Instability> {
    let boots = finished.bootstraps();
    if boots.is_empty() {
        return None;
    }
    let count = boots.len() as f64;
    let one = |i: usize| {
        let class = if finished.n_classes == 2 { 1 } else { finished.all.predicted[i] };
        let probability = finished.all.probabilities.as_ref().map(|p| p[(i, class)]);
        let mut refits: Vec<f64> = boots
            .iter()
            .filter_map(|(_, made)| made.probabilities.as_ref().map(|p| p[(i, class)]))
            .collect();
        refits.sort_by(f64::total_cmp);
        let away = |p: f64| refits.iter().map(|r| (r - p).abs()).sum::<f64>() / refits.len() as f64;
        let other = boots.iter().filter(|(_, m)| m.predicted[i] != finished.all.predicted[i]);
        RowInstability {
            row: i,
            probability,
            low: quantile(&refits, 0.025),
            high: quantile(&refits, 0.975),
            mean_absolute_error: probability.filter(|_| !refits.is_empty()).map(away),
            flips: other.count() as f64 / count,
        }
    };
    let rows: Vec<RowInstability> = (0..finished.labels.len()).map(one).collect();
    let n = rows.len() as f64;
    let errors: Option<Vec<f64>> = rows.iter().map(|r| r.mean_absolute_error).collect();
    Some(Instability {
        mean_absolute_error: errors.map(|e| e.iter().sum::<f64>() / n),
        flips: rows.iter().map(|r| r.flips).sum::<f64>() / n,
        rows,
    })
}
