//! What is minimised with `protect = "worst"`.

use crate::linalg::{Dense, vector};

/// Share of all rows that is what rounding left over.
const LEFT_OVER: f64 = 1e-12;

/// The loss of a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorstLoss {
    /// `$\log(1 + e^{-m})$`.
    #[default]
    Logistic,
    /// `$\max(0, 1 - m)$`.
    Hinge,
}

/// The features that may go missing, and how many of them at once.
#[derive(Debug, Clone)]
pub(super) struct Losable {
    /// Which, ascending.
    pub columns: Vec<usize>,
    /// `$N$`, less than their number.
    pub budget: f64,
    /// Where a missing feature is taken to be, one for each of `columns`.
    pub centre: Vec<f64>,
}

/// Half-axes of the ellipsoids that hold the rows.
#[derive(Debug, Clone)]
pub(super) enum HalfAxes {
    /// The same for all rows.
    Shared(Vec<f64>),
    /// One row for each.
    Each(Dense),
}

impl HalfAxes {
    /// The half-axes of row `i`.
    pub(super) fn of(&self, i: usize) -> &[f64] {
        match self {
            Self::Shared(axes) => axes,
            Self::Each(axes) => axes.row(i),
        }
    }

    pub(super) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Shared(axes) => Self::Shared(axes.clone()),
            Self::Each(axes) => Self::Each(axes.select_rows(rows)),
        }
    }
}

/// ```math
/// \min_{w, b}\ \frac\alpha2\|w\|^2 + \max\Big\{\sum_i a_i \varphi_i(m_i) : 0 \le a_i \le s_i/\omega,\
///   \sum_i a_i = 1\Big\},
/// ```
/// ```math
/// m_i = y_i(w^\top x_i + b) - \|L_i w\| - \max\Big\{\sum_j \delta_j y_i w_j (x_{ij} - c_j) : 0 \le \delta \le 1,\
///   \sum_j \delta_j \le N\Big\},
/// ```
///
/// the mean loss of the worst share `$\omega$` of the rows, each moved within its ellipsoid of half-axes `$L_i$` and robbed
/// of `$N$` features, whichever way hurts most. `$\varphi_i(m) = \varphi(m) - \kappa_i m$` with the label
/// correction of Natarajan et al. (2013) falls in `$m$` and is convex, and `$m_i$` is concave: the problem is convex.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorstCase<'a> {
    /// One row per sample.
    pub x: &'a Dense,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$s$`, adding up to 1.
    pub shares: &'a [f64],
    /// `$\omega$`.
    pub worst_share: f64,
    /// `$\alpha$`.
    pub alpha: f64,
    /// `$\varphi$`.
    pub loss: WorstLoss,
    /// `$\kappa$` of rows labelled +1 and -1; 0 for the hinge loss.
    pub kappas: (f64, f64),
    /// `$L$`, where rows are inexact.
    pub axes: Option<&'a HalfAxes>,
    /// What may go missing.
    pub losable: Option<&'a Losable>,
    /// Whether `$b$` is free; otherwise it is 0.
    pub intercept: bool,
}

/// A primal point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    pub w: Vec<f64>,
    pub b: f64,
}

/// A dual point; what it proves holds whatever the numbers are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Multipliers {
    /// `$a$`: how much every row counts.
    pub counts: Vec<f64>,
    /// `$-a_i \varphi_i'(m_i)$`: how hard every row pulls.
    pub pulls: Vec<f64>,
    /// `$\delta$`: how far each losable feature of each row is deleted.
    pub deleted: Option<Dense>,
    /// Where in its unit ball the error of every row is: one row for each, or one for all.
    pub moved: Option<Dense>,
}

impl WorstCase<'_> {
    /// `$\kappa_i$`.
    pub(super) fn kappa(&self, i: usize) -> f64 {
        if self.y[i] > 0.0 { self.kappas.0 } else { self.kappas.1 }
    }

    /// Whether all rows count in full.
    pub(super) fn whole(&self) -> bool {
        self.worst_share >= 1.0
    }

    /// Whether the worst case is that nothing happens, and the loss is smooth.
    pub(super) fn harmless(&self) -> bool {
        let safe = self.axes.is_none() && self.losable.is_none();
        safe && self.whole() && self.loss == WorstLoss::Logistic
    }

    /// `$s_i / \omega$`.
    pub(super) fn cap(&self, i: usize) -> f64 {
        self.shares[i] / self.worst_share
    }

    /// `$m$` of every row.
    pub(super) fn margins(&self, w: &[f64], b: f64) -> Vec<f64> {
        let mut margins: Vec<f64> =
            self.x.mul_vec(w).iter().zip(self.y).map(|(s, y)| y * (s + b)).collect();
        if let Some(axes) = self.axes {
            let length = |axes: &[f64]| {
                axes.iter().zip(w).map(|(a, w)| (a * w) * (a * w)).sum::<f64>().sqrt()
            };
            match axes {
                HalfAxes::Shared(axes) => {
                    let length = length(axes);
                    for m in &mut margins {
                        *m -= length;
                    }
                }
                HalfAxes::Each(axes) => {
                    margins.iter_mut().enumerate().for_each(|(i, m)| *m -= length(axes.row(i)));
                }
            }
        }
        if let Some(losable) = self.losable {
            let mut gains = Vec::new();
            for (i, m) in margins.iter_mut().enumerate() {
                *m -= losable.worst(self.x.row(i), w, self.y[i], &mut gains);
            }
        }
        margins
    }

    /// `$\varphi_i(m)$`.
    pub(super) fn loss(&self, i: usize, margin: f64) -> f64 {
        match self.loss {
            WorstLoss::Hinge => (1.0 - margin).max(0.0),
            WorstLoss::Logistic => {
                let plain = (-margin).max(0.0) + (-margin.abs()).exp().ln_1p();
                plain - self.kappa(i) * margin
            }
        }
    }

    /// The losses of all rows.
    pub(super) fn losses(&self, w: &[f64], b: f64) -> Vec<f64> {
        let margins = self.margins(w, b);
        margins.iter().enumerate().map(|(i, m)| self.loss(i, *m)).collect()
    }

    /// How much every row counts if `losses` are theirs: the heaviest first until all of 1 is given away.
    pub(super) fn heaviest(&self, losses: &[f64]) -> Vec<f64> {
        if self.whole() {
            return self.shares.to_vec();
        }
        let mut order: Vec<usize> = (0..losses.len()).collect();
        order.sort_by(|&i, &j| losses[j].total_cmp(&losses[i]));
        let (mut counts, mut left) = (vec![0.0; losses.len()], 1.0_f64);
        for i in order {
            counts[i] = self.cap(i).min(left);
            left -= counts[i];
            if left <= LEFT_OVER {
                break;
            }
        }
        counts
    }

    /// The mean loss of the worst share of the rows.
    pub(super) fn mean_loss(&self, w: &[f64], b: f64) -> f64 {
        let losses = self.losses(w, b);
        vector::dot(&self.heaviest(&losses), &losses)
    }

    /// The objective.
    pub(super) fn value(&self, w: &[f64], b: f64) -> f64 {
        0.5 * self.alpha * vector::norm_sq(w) + self.mean_loss(w, b)
    }

    /// The slopes with which the objective grows for `$b \to \infty$` and `$b \to -\infty$`: it is bounded from below only if
    /// neither is negative, and its minimum is attained if both are positive.
    pub(super) fn growth(&self) -> (f64, f64) {
        let share = |sign: f64| -> f64 {
            self.y.iter().zip(self.shares).filter(|(y, _)| **y == sign).map(|(_, s)| s).sum()
        };
        let (up, down) = self.kappas;
        // Far out the rows of the other class are the worst; what they leave of the share goes to the own class.
        let slope = |other: f64, k_other: f64, k_own: f64| {
            let counted = (other / self.worst_share).min(1.0);
            counted * (1.0 + k_other) - (1.0 - counted) * k_own
        };
        (slope(share(-1.0), down, up), slope(share(1.0), up, down))
    }
}

impl Losable {
    /// By how much deletions lower the margin of a row at most.
    fn worst(&self, row: &[f64], w: &[f64], y: f64, gains: &mut Vec<f64>) -> f64 {
        if self.budget <= 1.0 {
            let gain = |(&j, c): (&usize, &f64)| y * w[j] * (row[j] - c);
            let gains = self.columns.iter().zip(&self.centre).map(gain);
            return self.budget * gains.fold(0.0, |top, gain| if gain > top { gain } else { top });
        }
        gains.clear();
        for (&j, c) in self.columns.iter().zip(&self.centre) {
            let gain = y * w[j] * (row[j] - c);
            if gain > 0.0 {
                gains.push(gain);
            }
        }
        if gains.len() as f64 <= self.budget {
            return gains.iter().sum();
        }
        // The budget is below the number of gains, so that its whole part is an index.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
        let count = self.budget as usize;
        gains.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
        gains[..count].iter().sum::<f64>() + (self.budget - count as f64) * gains[count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a whole budget the worst deletion is the worst of all sets of that size.
    #[test]
    fn the_worst_deletion_is_the_worst_of_all_sets() {
        let (row, w) = ([1.0, -2.0, 0.5, 3.0, 1.5], [0.7, 1.1, -0.4, 0.2, 2.0]);
        let (columns, centre) = (vec![0, 1, 3, 4], vec![0.0, 0.5, 1.0, -1.0]);
        for budget in [1_u32, 2, 3] {
            let set = Losable {
                columns: columns.clone(),
                budget: f64::from(budget),
                centre: centre.clone(),
            };
            for y in [1.0, -1.0] {
                let gain = |k: usize| y * w[columns[k]] * (row[columns[k]] - centre[k]);
                let brute = (0_u32..16)
                    .filter(|mask| mask.count_ones() <= budget)
                    .map(|mask| (0..4).filter(|k| mask >> k & 1 == 1).map(gain).sum::<f64>())
                    .fold(0.0, f64::max);
                let found = set.worst(&row, &w, y, &mut Vec::new());
                assert!((found - brute).abs() < 1e-14, "{budget} {y}: {found} {brute}");
            }
        }
    }

    #[test]
    fn the_worst_share_counts_the_heaviest_losses_first() {
        let x = Dense::zeros(4, 1);
        let problem = WorstCase {
            x: &x,
            y: &[1.0, -1.0, 1.0, -1.0],
            shares: &[0.25; 4],
            worst_share: 0.6,
            alpha: 1.0,
            loss: WorstLoss::Hinge,
            kappas: (0.0, 0.0),
            axes: None,
            losable: None,
            intercept: true,
        };
        let counts = problem.heaviest(&[0.1, 3.0, 0.2, 1.0]);
        let expected = [0.0, 0.25 / 0.6, 1.0 - 0.5 / 0.6, 0.25 / 0.6];
        assert!(counts.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{counts:?}");
    }
}
