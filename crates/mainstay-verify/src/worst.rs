//! The worst rows: how much of each counts, and what their losses add up to.

use crate::interval::{Interval, sum};

/// Sums of the worst losses, up to `k` units of weight; all of them where there is no limit.
pub(crate) struct WorstSum<'a> {
    pub weights: &'a [f64],
    pub k: Option<Interval>,
}

impl WorstSum<'_> {
    /// `$\max \sum a_i L_i$` over `$0 \le a \le c$`, `$\sum a \le k$`.
    ///
    /// From above by `$k\theta + \sum c_i (L_i - \theta)_+$`, which holds for every `$\theta \ge 0$`, from below by one
    /// choice of `$a$`.
    pub(crate) fn of(&self, losses: &[Interval]) -> Interval {
        let weighted = |part: &dyn Fn(usize) -> Interval| {
            sum((0..losses.len()).map(|i| Interval::point(self.weights[i]) * part(i)))
        };
        let Some(k) = self.k else { return weighted(&|i| losses[i]) };
        let mut order: Vec<usize> = (0..losses.len()).collect();
        order.sort_by(|&a, &b| losses[b].high.total_cmp(&losses[a].high));
        let (mut room, mut taken) = (k.low, vec![0.0; losses.len()]);
        let mut threshold = 0.0;
        for i in order {
            if room <= 0.0 {
                break;
            }
            threshold = losses[i].high;
            taken[i] = self.weights[i].min(room);
            room = (room - taken[i]).next_down();
        }
        let theta = Interval::point(threshold);
        let high = k * theta + weighted(&|i| (losses[i] - theta).positive_part());
        let low = sum((0..losses.len()).map(|i| Interval::point(taken[i]) * losses[i]));
        Interval::new(low.low.max(0.0), high.high)
    }
}

/// How much of each row's weight counts, given shares of it: at most `k` in all. The factor by which everything was
/// scaled down to stay within comes with it.
pub(crate) fn within(
    weights: &[f64],
    k: Option<Interval>,
    share: impl Fn(usize) -> f64,
) -> (Vec<f64>, f64) {
    let Some(k) = k else { return (weights.to_vec(), 1.0) };
    let of = |i: usize, factor: f64| {
        let part = share(i) * factor;
        // The product may round up to the weight, and no further.
        if part > 0.0 { (part.min(1.0) * weights[i]).min(weights[i]) } else { 0.0 }
    };
    let mut factor = 1.0;
    for _ in 0..8 {
        let counted: Vec<f64> = (0..weights.len()).map(|i| of(i, factor)).collect();
        let total = sum(counted.iter().map(|a| Interval::point(*a)));
        if total.high <= k.low {
            return (counted, factor);
        }
        factor *= (k.low / total.high).min(1.0) * (1.0 - 4.0 * f64::EPSILON);
    }
    (vec![0.0; weights.len()], 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses 3, 1, 2 with weights 1, 1, 0.5 and k = 1.25: 3 + 0.25 * 2.
    #[test]
    fn the_worst_rows_count_in_part() {
        let losses = [3.0, 1.0, 2.0].map(Interval::point);
        let worst = WorstSum { weights: &[1.0, 1.0, 0.5], k: Some(Interval::point(1.25)) };
        let found = worst.of(&losses);
        assert!(found.low <= 3.5 && 3.5 <= found.high && found.high - found.low < 1e-14);
    }

    #[test]
    fn shares_beyond_k_are_scaled_down() {
        let (counted, factor) = within(&[1.0, 2.0], Some(Interval::point(1.5)), |_| 1.0);
        assert!(counted.iter().sum::<f64>() <= 1.5 && factor <= 0.5 && factor > 0.499);
    }
}
