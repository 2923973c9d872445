//! Weak duality of every problem: whatever multipliers a file holds, no bound is above the objective of any point.

use proptest::prelude::*;

use crate::ellipsoid::{Ellipsoid, Shape};
use crate::interval::Interval;
use crate::loss::Loss;
use crate::margin::{Margins, Penalty};
use crate::missing::Missing;
use crate::rows::Rows;
use crate::softmax::Softmax;

const N: usize = 6;
const P: usize = 2;
const LOSSES: [Loss; 4] = [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

/// Rows, weights, a point and multipliers, all drawn blindly.
#[derive(Debug, Clone)]
struct Draw {
    x: Vec<f64>,
    weights: Vec<f64>,
    w: Vec<Vec<f64>>,
    b: Vec<f64>,
    multipliers: Vec<f64>,
    shares: Vec<f64>,
    strengths: (f64, f64, f64),
    offset: i32,
    which: usize,
    fit_intercept: bool,
}

fn draws() -> impl Strategy<Value = Draw> {
    let numbers = |size: f64, count: usize| prop::collection::vec(-size..size, count);
    (
        (numbers(3.0, N * P), prop::collection::vec(0.1..4.0_f64, N)),
        (prop::collection::vec(numbers(2.0, P), 3), numbers(3.0, 3)),
        (numbers(2.0, N * 3), prop::collection::vec(-0.2..1.5_f64, N)),
        (0.05..2.0_f64, 0.0..1.0_f64, 0.2..1.0_f64),
        (0..40_i32, 0..4_usize, any::<bool>()),
    )
        .prop_map(|((x, weights), (w, b), (multipliers, shares), strengths, rest)| {
            let (offset, which, fit_intercept) = rest;
            Draw { x, weights, w, b, multipliers, shares, strengths, offset, which, fit_intercept }
        })
}

impl Draw {
    /// The rows, their first column far from zero where there is an intercept to make up for it.
    fn rows(&self) -> Vec<f64> {
        let far = if self.fit_intercept { 2f64.powi(self.offset) } else { 0.0 };
        let moved = |(k, v): (usize, &f64)| if k % P == 0 { v.round() + far } else { *v };
        self.x.iter().enumerate().map(moved).collect()
    }

    fn intercept(&self) -> Vec<f64> {
        if self.fit_intercept { self.b.clone() } else { vec![0.0; 3] }
    }

    fn k(&self) -> Interval {
        Interval::point(self.strengths.2 * self.weights.iter().sum::<f64>())
    }
}

fn signs(class: usize) -> Vec<f64> {
    (0..N).map(|i| if i % 3 == class { 1.0 } else { -1.0 }).collect()
}

proptest! {
    #[test]
    fn of_margin_losses(draw in draws(), worst in any::<bool>(), joint in any::<bool>()) {
        let values = draw.rows();
        let q = if joint { 3 } else { 1 };
        let (alpha, ratio, _) = draw.strengths;
        let lasso = ratio > 0.7;
        let problem = Margins {
            rows: Rows::Dense { values: &values, columns: P },
            y: (0..q).map(signs).collect(),
            weights: draw.weights.clone(),
            loss: LOSSES[draw.which],
            k: worst.then(|| draw.k()),
            scale: Interval::point(0.3),
            penalty: Penalty {
                l1: Interval::point(if ratio < 0.3 { 0.0 } else { alpha }),
                l2: Interval::point(if lasso { 0.0 } else { alpha }),
                units: vec![1.0, 0.5],
            },
            fit_intercept: draw.fit_intercept,
        };
        let objective = problem.objective(&draw.w[..q], &draw.intercept()[..q]);
        let bound = problem.bound(&draw.multipliers[..N * q], worst.then_some(draw.shares.as_slice()));
        prop_assert!(bound <= objective.high, "{bound} {objective:?}");
        prop_assert!(objective.low <= objective.high);
    }

    #[test]
    fn of_the_softmax(draw in draws()) {
        let values = draw.rows();
        let problem = Softmax {
            rows: Rows::Dense { values: &values, columns: P },
            labels: &[0, 1, 2, 0, 1, 2],
            classes: 3,
            weights: draw.weights.clone(),
            k: draw.k(),
            alpha: draw.strengths.0,
            fit_intercept: draw.fit_intercept,
        };
        let objective = problem.objective(&draw.w, &draw.intercept());
        // Nearly balanced multipliers, so that the bound is not always zero.
        let even: Vec<f64> = (0..N * 3).map(|k| 0.3 + 1e-14 * draw.multipliers[k]).collect();
        for multipliers in [&draw.multipliers, &even] {
            let bound = problem.bound(multipliers, &draw.shares);
            prop_assert!(bound <= objective.high, "{bound} {objective:?}");
        }
    }

    #[test]
    fn of_ellipsoids(draw in draws()) {
        let values = draw.rows();
        let shape = match draw.which {
            0 => Shape::Ball(0.3),
            1 => Shape::Axes(vec![0.5, 0.0]),
            _ => Shape::Full(vec![vec![0.5, 0.2], vec![0.2, 0.1]]),
        };
        let rows = Rows::Dense { values: &values, columns: P };
        let problem = Ellipsoid { rows, y: signs(0), caps: draw.weights.clone(), shape };
        let objective = problem.objective(&draw.w[0], draw.b[0]);
        for direction in &draw.w {
            let bound = problem.bound(&draw.multipliers[..N], direction);
            prop_assert!(bound <= objective.high, "{bound} {objective:?}");
        }
    }

    #[test]
    fn of_deleted_features(draw in draws()) {
        // No intercept makes up for a feature that counts as zero: near zero only.
        let problem = Missing {
            rows: Rows::Dense { values: &draw.x, columns: P },
            y: signs(1),
            weights: draw.weights.clone(),
            values: vec![1.0, 0.5],
            budget: draw.strengths.1,
            margin: 0.7,
            c: 2.0,
            fit_intercept: draw.fit_intercept,
        };
        let objective = problem.objective(&draw.w[0], draw.intercept()[0]);
        let parts = &draw.multipliers[N..N + N * P];
        let bound = problem.bound(&draw.multipliers[..N], parts);
        prop_assert!(bound <= objective.high, "{bound} {objective:?}");
    }
}
