//! Metrics of right and wrong answers.

use super::Metric;
use super::judged::Judged;
use super::side::Side;
use super::undefined::Undefined;

/// Weight of the rows by label and answer, one class against the rest.
pub(super) struct Counts {
    hits: f64,
    misses: f64,
    alarms: f64,
    rest: f64,
}

impl Counts {
    pub(super) fn new(side: &Side<'_>) -> Self {
        let mut found = Self { hits: 0.0, misses: 0.0, alarms: 0.0, rest: 0.0 };
        for i in 0..side.len() {
            let place = match (side.positive(i), side.called(i)) {
                (true, true) => &mut found.hits,
                (true, false) => &mut found.misses,
                (false, true) => &mut found.alarms,
                (false, false) => &mut found.rest,
            };
            *place += side.weight(i);
        }
        found
    }

    fn total(&self) -> f64 {
        self.hits + self.misses + self.alarms + self.rest
    }

    pub(super) fn metric(&self, metric: Metric, side: &Side<'_>) -> Result<f64, Undefined> {
        let Self { hits, misses, alarms, rest } = *self;
        let sensitivity = || ratio(hits, hits + misses, Undefined::NoRowsOfClass);
        let specificity = || ratio(rest, rest + alarms, Undefined::NoRowsOfClass);
        match metric {
            Metric::Accuracy => Ok((hits + rest) / self.total()),
            Metric::BalancedAccuracy => match (sensitivity(), specificity()) {
                (Ok(a), Ok(b)) => Ok(f64::midpoint(a, b)),
                (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
                (Err(why), Err(_)) => Err(why),
            },
            Metric::Sensitivity => sensitivity(),
            Metric::Specificity => specificity(),
            Metric::Ppv => ratio(hits, hits + alarms, Undefined::NoneCalled),
            Metric::Npv => ratio(rest, rest + misses, Undefined::NoneCalled),
            Metric::F1 => ratio(2.0 * hits, 2.0 * hits + alarms + misses, Undefined::NoRowsOfClass),
            Metric::Mcc => {
                let product = (hits + alarms) * (rest + misses) * (hits + misses) * (rest + alarms);
                Ok(correlation(hits * rest - alarms * misses, product))
            }
            Metric::NetBenefit => self.net_benefit(side),
            Metric::Cost => {
                let costs = side.costs();
                let paid = costs.false_positive * alarms + costs.false_negative * misses;
                Ok(paid / self.total())
            }
            _ => Err(Undefined::NoProbabilities),
        }
    }

    /// Of the calls that the other metrics count; the price of a false alarm is the odds of the threshold.
    fn net_benefit(&self, side: &Side<'_>) -> Result<f64, Undefined> {
        // A threshold is one on probabilities: without them the price means nothing.
        side.probabilities()?;
        let t = side.threshold();
        // From probability 1 on a false alarm would cost infinitely much.
        let price = if self.alarms > 0.0 { t / (1.0 - t) * self.alarms } else { 0.0 };
        if price.is_finite() {
            Ok((self.hits - price) / self.total())
        } else {
            Err(Undefined::NoneCalled)
        }
    }
}

fn ratio(part: f64, whole: f64, otherwise: Undefined) -> Result<f64, Undefined> {
    if whole > 0.0 { Ok(part / whole) } else { Err(otherwise) }
}

fn correlation(covariance: f64, product: f64) -> f64 {
    if product > 0.0 { covariance / product.sqrt() } else { 0.0 }
}

pub(super) fn accuracy(judged: &Judged<'_>) -> f64 {
    let table = confusion(judged);
    let right: f64 = table.iter().enumerate().map(|(k, row)| row[k]).sum();
    right / table.iter().flatten().sum::<f64>()
}

pub(super) fn balanced_accuracy(judged: &Judged<'_>) -> Result<f64, Undefined> {
    let table = confusion(judged);
    let shares: Vec<f64> = table
        .iter()
        .enumerate()
        .filter_map(|(k, row)| {
            let size: f64 = row.iter().sum();
            (size > 0.0).then(|| row[k] / size)
        })
        .collect();
    ratio(shares.iter().sum(), shares.len() as f64, Undefined::NoRowsOfClass)
}

/// Gorodkin's correlation for any number of classes.
pub(super) fn mcc(judged: &Judged<'_>) -> f64 {
    let table = confusion(judged);
    let total: f64 = table.iter().flatten().sum();
    let right: f64 = table.iter().enumerate().map(|(k, row)| row[k]).sum();
    let truth: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
    let called: Vec<f64> = (0..table.len()).map(|k| table.iter().map(|row| row[k]).sum()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let spread = |v: &[f64]| total * total - dot(v, v);
    correlation(right * total - dot(&truth, &called), spread(&truth) * spread(&called))
}

/// Weight of the rows of class i called j.
fn confusion(judged: &Judged<'_>) -> Vec<Vec<f64>> {
    let mut table = vec![vec![0.0; judged.n_classes()]; judged.n_classes()];
    for (i, (&t, &p)) in judged.truth().iter().zip(judged.predicted()).enumerate() {
        table[t][p] += judged.weight(i);
    }
    table
}
