//! What the methods minimise, from their formulas: plain sums over scores that the caller computes.

/// Rows as an objective sees them.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// One list of weights per hyperplane.
    pub coef: &'a [Vec<f64>],
    /// One list of scores per hyperplane.
    pub scores: &'a [Vec<f64>],
    /// Class of every row.
    pub labels: &'a [usize],
    /// Weight of every row.
    pub weights: &'a [f64],
}

impl Judged<'_> {
    /// Label times score, for one hyperplane.
    fn margin(&self, i: usize) -> f64 {
        if self.labels[i] == 1 { self.scores[0][i] } else { -self.scores[0][i] }
    }

    fn norms(&self) -> (f64, f64) {
        let each = || self.coef.iter().flatten();
        (each().map(|v| v.abs()).sum(), each().map(|v| v * v).sum())
    }

    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// ln(1 + e^t).
pub fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// The loss of this name at a margin.
pub fn margin_loss(name: &str, m: f64) -> f64 {
    match name {
        "logistic" => softplus(-m),
        "hinge" => (1.0 - m).max(0.0),
        "modified_huber" if m < -1.0 => -4.0 * m,
        _ => (1.0 - m).max(0.0).powi(2),
    }
}

/// Mean loss plus `alpha` times the elastic net.
pub fn penalised(rows: Judged<'_>, loss: &str, alpha: f64, l1_ratio: f64) -> f64 {
    let (l1, l2) = rows.norms();
    let total = rows.total();
    let mean: f64 = (0..rows.labels.len())
        .map(|i| rows.weights[i] / total * margin_loss(loss, rows.margin(i)))
        .sum();
    mean + alpha * l1_ratio * l1 + alpha * (1.0 - l1_ratio) * 0.5 * l2
}

/// The sum of the worst losses, up to `k` units of weight.
fn worst(losses: &[f64], weights: &[f64], k: f64) -> f64 {
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|&a, &b| losses[b].total_cmp(&losses[a]));
    let (mut sum, mut room) = (0.0, k);
    for i in order {
        let part = weights[i].min(room);
        sum += part * losses[i];
        room -= part;
    }
    sum
}

/// Squared weights plus `c` times the worst share `k` of the (squared) hinges, all classes together.
pub fn stable_svm(rows: Judged<'_>, loss: &str, c: f64, k: f64) -> f64 {
    let sign = |i: usize, j: usize| if rows.labels[i] == j { 1.0 } else { -1.0 };
    let of = |i: usize| match rows.scores.len() {
        1 => margin_loss(loss, rows.margin(i)),
        q => (0..q).map(|j| margin_loss(loss, sign(i, j) * rows.scores[j][i])).sum(),
    };
    let losses: Vec<f64> = (0..rows.labels.len()).map(of).collect();
    rows.norms().1 + c * worst(&losses, rows.weights, k * rows.total())
}

/// `alpha` times the squared weights plus the mean of the worst share `k` of the logistic or softmax losses.
pub fn stable_logistic(rows: Judged<'_>, alpha: f64, k: f64) -> f64 {
    let of = |i: usize| {
        if rows.scores.len() == 1 {
            return softplus(-rows.margin(i));
        }
        let top = rows.scores.iter().map(|s| s[i]).fold(f64::MIN, f64::max);
        let total: f64 = rows.scores.iter().map(|s| (s[i] - top).exp()).sum();
        total.ln() + (top - rows.scores[rows.labels[i]][i])
    };
    let losses: Vec<f64> = (0..rows.labels.len()).map(of).collect();
    let k = k * rows.total();
    alpha * rows.norms().1 + worst(&losses, rows.weights, k) / k
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores 2 and -1 of classes 1 and 1, weights 1 and 3: hinges 0 and 2, of which half of all weight (2) counts.
    #[test]
    fn the_worst_rows_count_by_their_weight() {
        let rows = Judged {
            coef: &[vec![3.0]],
            scores: &[vec![2.0, -1.0]],
            labels: &[1, 1],
            weights: &[1.0, 3.0],
        };
        assert_eq!(stable_svm(rows, "hinge", 1.0, 0.5), 9.0 + 4.0);
        assert_eq!(penalised(rows, "hinge", 1.0, 0.5), 1.5 + 1.5 + 0.25 * 9.0);
    }
}
