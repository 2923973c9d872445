//! Problem (4) of Dekel and Shamir (2008) in solver units: its bounds from the sums of a pass, and its Newton step.

use super::box_qp::{BoxProgram, minimise};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::vector;
use crate::optim::design::finite_model;
use crate::partitioned::ask::{PassAsk, Point};
use crate::partitioned::block::Block;
use crate::partitioned::continuation::{Before, Pace, Place, Smoothed, Values};
use crate::partitioned::kernels::{KernelAsk, KernelSums};
use crate::partitioned::message::SmoothedSums;
use crate::partitioned::missing_rows::adversary::Adversary;
use crate::partitioned::missing_rows::{MissingAsk, Question, look_with};
use crate::partitioned::newton_step::Step;
use crate::partitioned::units::Units;

/// The smoothing is narrowed by 0.3 at most, once the step promises less than what it leaves open, and until it leaves 0.3 of
/// the gap open; see [`Pace`].
const PACE: Pace = Pace { ready: 1.0, least: 0.3, share: 0.3, narrowest: 0.0 };
/// How much narrower the trial of zero weights is smoothed than a first step: small beside the loss of a row.
const TRIAL_NARROWER: f64 = 10.0;

/// ```math
/// \min_{|v_j| \le c_j,\, b}\ \frac1\Omega \sum_i \omega_i \big[h_i(v) - y_i b\big]_+
/// ```
///
/// with the margin as unit, `$c_j = C/(\gamma t_j)$` for features that are multiplied by `$t_j$`, and `$h_i$` the worst case of
/// `RobustHinge`.
#[derive(Debug, Clone)]
pub(in crate::partitioned) struct Missing {
    /// Rows of this class are positive.
    pub positive: usize,
    pub adversary: Adversary,
    /// `$c_j$`.
    pub boxes: Vec<f64>,
    pub intercept: bool,
    /// `$\Omega$`.
    pub total: f64,
    /// Share of the positive rows in it.
    pub own: f64,
    /// `$\gamma$`.
    pub margin: f64,
    /// Whether features are deleted at all; not while zero weights are tried.
    pub deleting: bool,
}

impl Missing {
    /// The dual value of the shares of both classes: with `$\tau_{ij}$` within its limits and balanced classes,
    /// `$\frac1P \sum_{ij} v_j \tau_{ij} - \sum_j c_j |\sum_i y_i x_{ij} \tau_{ij}|$`. Scaling a class down keeps it feasible.
    fn bound(&self, sums: &SmoothedSums) -> f64 {
        let [plus, minus] = &sums.sides;
        let (up, down) = if self.intercept {
            if plus.share <= 0.0 || minus.share <= 0.0 {
                return 0.0;
            }
            ((minus.share / plus.share).min(1.0), (plus.share / minus.share).min(1.0))
        } else {
            (1.0, 1.0)
        };
        let pulled = plus.pulled.iter().zip(&minus.pulled).map(|(p, m)| (up * p + down * m).abs());
        let taken: f64 = pulled.zip(&self.boxes).map(|(r, c)| r * c).sum();
        let gain = self.adversary.demand * (up * plus.gain + down * minus.gain);
        let bound = (gain - taken) / self.total;
        if bound.is_finite() { bound.max(0.0) } else { 0.0 }
    }
}

impl Smoothed for Missing {
    type Question = Question;
    type Sums = SmoothedSums;

    fn positive(&self) -> usize {
        self.positive
    }

    fn question(&self, place: &Place, before: Option<&Before>, _: Option<f64>) -> Question {
        Question {
            positive: self.positive,
            point: place.point.clone(),
            width: place.width,
            before: before.map(|b| b.from.width),
            deleting: self.deleting,
        }
    }

    fn look(
        &self,
        block: &Block<'_>,
        rows: &PassAsk,
        questions: &[Question],
    ) -> Result<Vec<SmoothedSums>> {
        look_with(block, rows, &self.adversary, questions)
    }

    fn ask(&self, rows: PassAsk, questions: Vec<Question>) -> KernelAsk {
        let deletions = &self.adversary.deletions;
        let (values, budget) = (deletions.values().to_vec(), deletions.budget());
        KernelAsk::Missing(MissingAsk { rows, values, budget, questions })
    }

    fn answers(said: KernelSums) -> Option<Vec<SmoothedSums>> {
        if let KernelSums::Missing(sums) = said { Some(sums) } else { None }
    }

    fn certify(&self, _: &Point, sums: &SmoothedSums) -> Certificate {
        Certificate { primal: sums.primal / self.total, dual: self.bound(sums) }
    }

    fn values(&self, _: &Point, sums: &SmoothedSums) -> Values {
        Values {
            here: sums.value / self.total,
            before: sums.value_before / self.total,
            open: sums.open / self.total,
        }
    }

    fn step(&self, place: &Place, sums: &SmoothedSums) -> Step {
        let p = self.boxes.len();
        let [plus, minus] = &sums.sides;
        let mut slope: Vec<f64> =
            plus.pulled.iter().zip(&minus.pulled).map(|(a, b)| a + b).collect();
        slope.push(minus.share - plus.share);
        let room = |sign: f64| {
            let edge = |(v, c): (&f64, &f64)| sign * c - v;
            let free = if self.intercept { sign * f64::INFINITY } else { 0.0 };
            let mut room: Vec<f64> = place.point.v.iter().zip(&self.boxes).map(edge).collect();
            room.push(free);
            room
        };
        let program = BoxProgram {
            matrix: &sums.curvature.matrix.0,
            slope: &slope,
            low: &room(-1.0),
            high: &room(1.0),
        };
        let step = minimise(&program);
        let fall = -vector::dot(&slope, &step) / self.total;
        Step { to: Point { v: step[..p].to_vec(), b: step[p], theta: 0.0 }, fall }
    }

    fn pace(&self, _: &Place, _: &Step) -> Option<Pace> {
        Some(PACE)
    }

    fn for_part(&self, weight: f64, own: f64) -> Self {
        Self { total: weight, own, ..self.clone() }
    }

    fn start(&self) -> Place {
        Place::zero(self.boxes.len(), self.adversary.intact())
    }

    fn constant(&self) -> (Point, f64) {
        let intact = self.adversary.intact();
        let v = vec![0.0; self.boxes.len()];
        if !self.intercept {
            return (Point { v, b: 0.0, theta: 0.0 }, intact);
        }
        let b = if self.own >= 0.5 { intact } else { -intact };
        (Point { v, b, theta: 0.0 }, 2.0 * intact * self.own.min(1.0 - self.own))
    }

    /// Nothing is deleted where all weights are zero. With a width small beside the loss of the lighter class all of its
    /// rows count in full, and at the optimum, where no bound is active, the heavier class balances them.
    fn zero_trial(&self) -> Option<(Self, Place)> {
        let trial =
            Self { deleting: false, boxes: vec![f64::INFINITY; self.boxes.len()], ..self.clone() };
        let point = self.constant().0;
        let width = self.adversary.intact() / TRIAL_NARROWER;
        Some((trial, Place { point, width, positive_only: false }))
    }

    fn to_user(&self, point: &Point, units: &Units) -> Result<(Vec<f64>, f64)> {
        let (weights, intercept) = units.to_user(point)?;
        let scaled = weights.into_iter().map(|w| w * self.margin).collect();
        finite_model(scaled, intercept * self.margin)
    }
}
