//! The bound of a pass against the objective from its definition.

use proptest::prelude::*;

use super::problem::Ellipsoid;
use super::shape::Principal;
use crate::data::Shape;
use crate::linalg::{Dense, Matrix};
use crate::partitioned::ask::{PassAsk, Point};
use crate::partitioned::block::Block;
use crate::partitioned::continuation::{Place, Smoothed};
use crate::partitioned::ellipsoid_rows::look;

const ROWS: usize = 6;

#[derive(Debug, Clone)]
struct Draw {
    x: Vec<f64>,
    weights: Vec<f64>,
    /// Radii, axes, or neither.
    errors: Option<(bool, Vec<f64>)>,
    shape: (f64, f64, f64),
    c: f64,
    trial: bool,
    point: ([f64; 2], f64, f64),
    other: ([f64; 2], f64),
}

fn draws() -> impl Strategy<Value = Draw> {
    let numbers = || prop::array::uniform2(-3.0..3.0_f64);
    (
        prop::collection::vec(-3.0..3.0_f64, 2 * ROWS),
        prop::collection::vec(0.0..2.0_f64, ROWS),
        prop::option::of((any::<bool>(), prop::collection::vec(0.0..1.5_f64, 2 * ROWS))),
        (0.0..1.5_f64, -1.0..1.0_f64, 0.0..1.5_f64),
        0.05..5.0_f64,
        any::<bool>(),
        (numbers(), -2.0..2.0_f64, 0.001..3.0_f64),
        (numbers(), -2.0..2.0_f64),
    )
        .prop_map(|(x, weights, errors, shape, c, trial, point, other)| Draw {
            x,
            weights,
            errors,
            shape,
            c,
            trial,
            point,
            other,
        })
}

impl Draw {
    /// P of the shape that rows without errors share: `$LL^\top$`.
    fn product(&self) -> [[f64; 2]; 2] {
        let (a, b, c) = self.shape;
        [[a * a, a * b], [a * b, b * b + c * c]]
    }

    fn problem(&self) -> Ellipsoid {
        let product = self.product().iter().map(|row| row.to_vec()).collect();
        let shape = match &self.errors {
            None => Some(Shape::Matrix(product)),
            Some((true, _)) => Some(Shape::Ball(1.0)),
            Some((false, _)) => None,
        };
        Ellipsoid {
            positive: 1,
            shape: shape.map(|shape| Principal::new(&shape, 2).unwrap()),
            scale: self.c,
            factors: vec![1.0; 2],
            ridge: 1.0,
            total: self.weights.iter().sum(),
            own: 0.5,
        }
    }

    fn objective(&self, w: [f64; 2], b: f64) -> f64 {
        let [[p, q], [_, r]] = self.product();
        let loss = |i: usize| {
            let spread = match &self.errors {
                None => (p * w[0] * w[0] + 2.0 * q * w[0] * w[1] + r * w[1] * w[1]).max(0.0).sqrt(),
                Some((true, radii)) => radii[i] * w[0].hypot(w[1]),
                Some((false, axes)) => (axes[2 * i] * w[0]).hypot(axes[2 * i + 1] * w[1]),
            };
            let score = self.x[2 * i] * w[0] + self.x[2 * i + 1] * w[1] + b;
            let y = if i % 2 == 1 { 1.0 } else { -1.0 };
            self.weights[i] * (1.0 + spread - y * score).max(0.0)
        };
        0.5 * (w[0] * w[0] + w[1] * w[1]) + self.c * (0..ROWS).map(loss).sum::<f64>()
    }

    fn block(&self) -> Block<'static> {
        let x = Matrix::from(Dense::from_rows(ROWS, 2, self.x.clone()));
        let labels = (0..ROWS).map(|i| i % 2).collect();
        let block = Block::new(0, x, labels, Some(self.weights.clone()));
        match &self.errors {
            None => block,
            Some((true, radii)) => {
                block.with_errors(Dense::from_rows(ROWS, 1, radii[..ROWS].to_vec()))
            }
            Some((false, axes)) => block.with_errors(Dense::from_rows(ROWS, 2, axes.clone())),
        }
    }
}

fn pass() -> PassAsk {
    PassAsk {
        factors: vec![1.0; 2],
        means: Vec::new(),
        class_factors: vec![1.0; 2],
        thin: 1,
        questions: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Weak duality at whatever point and width the sums were taken: no plane is below the bound, and the objective of the
    /// point itself is that of the definition.
    #[test]
    fn no_bound_lies_above_any_objective(draw in draws()) {
        prop_assume!(draw.weights.iter().sum::<f64>() > 0.1);
        let problem = draw.problem();
        let (w, b, width) = draw.point;
        let point = Point { v: w.to_vec(), b, theta: 0.0 };
        let place = Place { point: point.clone(), width, positive_only: false };
        let asked = if draw.trial { problem.zero_trial().unwrap().0 } else { problem.clone() };
        let sums = look(&draw.block(), &pass(), &[asked.question(&place, None, None)]).unwrap();
        let found = problem.certify(&point, &sums[0]);
        let own = draw.objective(w, b);
        prop_assert!((own - found.primal).abs() <= 1e-10 * own.max(1.0), "{own} {found:?}");
        for (w, b) in [draw.other, (w, b), ([0.0; 2], 1.0), ([0.0; 2], -1.0)] {
            let value = draw.objective(w, b);
            prop_assert!(found.dual <= value * (1.0 + 1e-10) + 1e-10, "{value} {found:?}");
        }
    }

    /// The step is Newton's: the slope is the derivative of the smoothed objective, and the model falls along the step.
    #[test]
    fn the_slope_is_the_derivative_of_the_smoothed_objective(draw in draws()) {
        prop_assume!(draw.weights.iter().sum::<f64>() > 0.1);
        let problem = draw.problem();
        let (w, b, width) = draw.point;
        let width = width.max(0.3);
        let at = |w: [f64; 2], b: f64| {
            let point = Point { v: w.to_vec(), b, theta: 0.0 };
            let place = Place { point, width, positive_only: false };
            let sums = look(&draw.block(), &pass(), &[problem.question(&place, None, None)]).unwrap();
            (problem.values(&place.point, &sums[0]).here, place, sums)
        };
        let (_, place, sums) = at(w, b);
        let step = problem.step(&place, &sums[0]);
        let small = 1e-6 / (1.0 + step.to.v[0].abs() + step.to.v[1].abs() + step.to.b.abs());
        let moved = |s: f64| {
            at([w[0] + s * step.to.v[0], w[1] + s * step.to.v[1]], b + s * step.to.b).0
        };
        let slope = (moved(small) - moved(-small)) / (2.0 * small);
        prop_assert!(step.fall >= 0.0);
        prop_assert!((slope + step.fall).abs() <= 1e-4 * (1.0 + step.fall), "{slope} {}", step.fall);
    }
}
