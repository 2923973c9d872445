//! The support vector machine whose rows are ellipsoids, in solver units: its bounds and its Newton step.

use super::shape::Principal;
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::partitioned::ask::{PassAsk, Point};
use crate::partitioned::block::Block;
use crate::partitioned::continuation::{Before, Pace, Place, Smoothed, Values};
use crate::partitioned::ellipsoid_rows::{self, EllipsoidAsk, Question, smoothed};
use crate::partitioned::kernels::{KernelAsk, KernelSums};
use crate::partitioned::message::SmoothedSums;
use crate::partitioned::newton_step::{Step, solve_regular};
use crate::partitioned::units::Units;

/// The ridge that keeps the system regular while zero weights are tried, beside the weight of the losses.
const RIDGE: f64 = 1e-9;
/// Width of the first smoothing, in units of the margin.
const START_WIDTH: f64 = 1.0;
/// Width of the smoothing while zero weights are tried: small beside the loss of a row.
const TRIAL_WIDTH: f64 = 0.1;
/// The smoothing is narrowed to a quarter at most, once the step promises less than twice what it leaves open, and until it
/// leaves a quarter of the gap open; see [`Pace`].
const PACE: Pace = Pace { ready: 2.0, least: 0.25, share: 0.25, narrowest: 0.0 };

/// ```math
/// \min_{v, b}\ \tfrac12 \|w\|^2 + C \sum_i c_i \max(0,\ 1 + m_i \|L_i^\top w\| - y_i(v^\top z_i + b)),\qquad w_j = t_j v_j.
/// ```
#[derive(Debug, Clone)]
pub(in crate::partitioned) struct Ellipsoid {
    /// Rows of this class are positive.
    pub positive: usize,
    /// The shape of all rows; none where each has axes of its own.
    pub shape: Option<Principal>,
    /// `$C$`.
    pub scale: f64,
    /// `$t_j$`.
    pub factors: Vec<f64>,
    /// Weight of `$\|w\|^2/2$`: 1, but while zero weights are tried.
    pub ridge: f64,
    /// `$\sum c_i$`.
    pub total: f64,
    /// Share of the positive rows in it.
    pub own: f64,
}

impl Ellipsoid {
    fn weights(&self, point: &Point) -> Vec<f64> {
        point.v.iter().zip(&self.factors).map(|(v, t)| v * t).collect()
    }

    /// For shares `$0 \le a_i \le c_i$` that balance the classes and rows moved within their ellipsoids,
    /// `$C \sum a_i - \frac12 \|C \sum_i a_i (y_i x_i - d_i)\|^2$` bounds the optimum from below. Rows of one shape are moved so
    /// that the sum is shortest; all shares may be scaled down together.
    fn bound(&self, sums: &SmoothedSums) -> f64 {
        let [plus, minus] = &sums.sides;
        if plus.share <= 0.0 || minus.share <= 0.0 {
            return 0.0;
        }
        let up = (minus.share / plus.share).min(1.0);
        let down = (plus.share / minus.share).min(1.0);
        let gain = self.scale * (up * plus.share + down * minus.share);
        let size = self.scale * (up * plus.gain + down * minus.gain);
        let sum = |(j, t): (usize, &f64)| {
            let pulled = up * plus.pulled[j] + down * minus.pulled[j];
            if *t > 0.0 { self.scale * pulled / t } else { 0.0 }
        };
        let moved: Vec<f64> = self.factors.iter().enumerate().map(sum).collect();
        let length = match &self.shape {
            Some(shape) => shape.distance(&moved, size),
            None => vector::norm(&moved),
        };
        let square = length * length / self.ridge;
        let part = if square > gain { gain / square } else { 1.0 };
        let bound = part * gain - 0.5 * part * part * square;
        if bound.is_finite() { bound.max(0.0) } else { 0.0 }
    }

    fn ridge_at(&self, point: &Point) -> f64 {
        0.5 * self.ridge * vector::norm_sq(&self.weights(point))
    }

    /// Second and first derivatives of the smoothed objective, of order p + 1.
    fn expand(&self, place: &Place, sums: &SmoothedSums) -> (Dense, Vec<f64>) {
        let p = self.factors.len();
        let c = self.scale;
        let [plus, minus] = &sums.sides;
        let mut matrix = Dense::from_fn(p + 1, p + 1, |i, j| c * sums.curvature.matrix.0[(i, j)]);
        let pulled = plus.pulled.iter().zip(&minus.pulled).map(|(a, b)| c * (a + b));
        let mut slope: Vec<f64> = pulled.collect();
        slope.push(c * (minus.pull - plus.pull));
        if let Some(shape) = &self.shape {
            let size = c * (plus.gain + minus.gain);
            self.add_shape(shape, place, sums, size, (&mut matrix, &mut slope));
        }
        for (j, t) in self.factors.iter().enumerate() {
            // A column of one value has no part in anything: its weight stays zero.
            matrix[(j, j)] += if *t > 0.0 { self.ridge * t * t } else { 1.0 };
            slope[j] += self.ridge * t * t * place.point.v[j];
        }
        (matrix, slope)
    }

    /// The length `$s$` of the shape along the weights: its slope `$TPw/s$` moves all rows, and it bends by
    /// `$T(P - Pww^\top P/s^2)T/s$`.
    fn add_shape(
        &self,
        shape: &Principal,
        place: &Place,
        sums: &SmoothedSums,
        size: f64,
        (matrix, slope): (&mut Dense, &mut [f64]),
    ) {
        let (p, c) = (self.factors.len(), self.scale);
        let w = self.weights(&place.point);
        let length = smoothed(shape.support(&w), place.width);
        let mut along = shape.image(&w);
        along.iter_mut().zip(&self.factors).for_each(|(a, t)| *a *= t / length);
        let (cross, bend) = (&sums.curvature.cross, c * sums.curvature.threshold);
        for i in 0..p {
            slope[i] += size * along[i];
            for j in 0..p {
                let own = shape.entry(i, j) * self.factors[i] * self.factors[j];
                matrix[(i, j)] += c * (cross[i] * along[j] + cross[j] * along[i])
                    + bend * along[i] * along[j]
                    + size / length * (own - along[i] * along[j]);
            }
            matrix[(i, p)] += c * cross[p] * along[i];
            matrix[(p, i)] += c * cross[p] * along[i];
        }
    }
}

impl Smoothed for Ellipsoid {
    type Question = Question;
    type Sums = SmoothedSums;

    fn positive(&self) -> usize {
        self.positive
    }

    fn question(&self, place: &Place, before: Option<&Before>, _: Option<f64>) -> Question {
        let support = |shape: &Principal| shape.support(&self.weights(&place.point));
        Question {
            positive: self.positive,
            point: place.point.clone(),
            width: place.width,
            before: before.map(|b| b.from.width),
            support: self.shape.as_ref().map(support),
        }
    }

    fn look(
        &self,
        block: &Block<'_>,
        rows: &PassAsk,
        questions: &[Question],
    ) -> Result<Vec<SmoothedSums>> {
        ellipsoid_rows::look(block, rows, questions)
    }

    fn ask(&self, rows: PassAsk, questions: Vec<Question>) -> KernelAsk {
        KernelAsk::Ellipsoid(EllipsoidAsk { rows, questions })
    }

    fn answers(said: KernelSums) -> Option<Vec<SmoothedSums>> {
        if let KernelSums::Ellipsoid(sums) = said { Some(sums) } else { None }
    }

    fn certify(&self, point: &Point, sums: &SmoothedSums) -> Certificate {
        let primal = self.ridge_at(point) + self.scale * sums.primal;
        Certificate { primal, dual: self.bound(sums) }
    }

    fn values(&self, point: &Point, sums: &SmoothedSums) -> Values {
        let ridge = self.ridge_at(point);
        Values {
            here: ridge + self.scale * sums.value,
            before: ridge + self.scale * sums.value_before,
            open: self.scale * sums.open,
        }
    }

    fn step(&self, place: &Place, sums: &SmoothedSums) -> Step {
        let p = self.factors.len();
        let (matrix, slope) = self.expand(place, sums);
        let step: Vec<f64> = solve_regular(&matrix, &slope).iter().map(|d| -d).collect();
        let fall = -vector::dot(&slope, &step);
        Step { to: Point { v: step[..p].to_vec(), b: step[p], theta: 0.0 }, fall }
    }

    fn pace(&self, _: &Place, _: &Step) -> Option<Pace> {
        Some(PACE)
    }

    fn for_part(&self, weight: f64, own: f64) -> Self {
        Self { scale: self.scale * self.total / weight, total: weight, own, ..self.clone() }
    }

    fn start(&self) -> Place {
        Place::zero(self.factors.len(), START_WIDTH)
    }

    fn constant(&self) -> (Point, f64) {
        let v = vec![0.0; self.factors.len()];
        let b = if self.own >= 0.5 { 1.0 } else { -1.0 };
        let lighter = self.total * self.own.min(1.0 - self.own);
        (Point { v, b, theta: 0.0 }, 2.0 * self.scale * lighter)
    }

    /// Without a ridge the optimum balances the moved rows. With a width small beside the loss of the lighter class all of
    /// its rows count in full.
    fn zero_trial(&self) -> Option<(Self, Place)> {
        let trial = Self { ridge: RIDGE * self.scale * self.total, ..self.clone() };
        let place = Place { point: self.constant().0, width: TRIAL_WIDTH, positive_only: false };
        Some((trial, place))
    }

    fn to_user(&self, point: &Point, units: &Units) -> Result<(Vec<f64>, f64)> {
        units.to_user(point)
    }
}
