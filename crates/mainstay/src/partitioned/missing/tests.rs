//! The bound of a pass against the objective from its definition.

use proptest::prelude::*;

use super::problem::Missing;
use crate::linalg::{Dense, Matrix};
use crate::partitioned::ask::{PassAsk, Point};
use crate::partitioned::block::Block;
use crate::partitioned::continuation::Smoothed;
use crate::partitioned::missing_rows::adversary::{Adversary, RowCase};
use crate::partitioned::missing_rows::{Question, look_with};
use crate::uncertainty::Deletions;

const ROWS: usize = 6;
const COLUMNS: usize = 3;

/// `$h_i(w)$` by its definition: what pays is kept, and of the rest the least harmful per value until `$P$` is reached.
fn worst_case(x: &[f64], y: f64, w: &[f64], values: &[f64], kept: f64) -> f64 {
    let mut items: Vec<(f64, f64)> =
        (0..COLUMNS).map(|j| (values[j] / kept - y * w[j] * x[j], values[j])).collect();
    items.sort_by(|a, b| (b.0 * a.1).total_cmp(&(a.0 * b.1)));
    let (mut sum, mut have) = (0.0, 0.0);
    for (short, value) in items.iter().filter(|item| item.0 > 0.0) {
        sum += short;
        have += value;
    }
    for (short, value) in items.iter().filter(|item| item.0 <= 0.0 && item.1 > 0.0) {
        let part = ((kept - have) / value).clamp(0.0, 1.0);
        sum += part * short;
        have += part * value;
    }
    sum
}

#[derive(Debug, Clone)]
struct Draw {
    x: Vec<f64>,
    weights: Vec<f64>,
    values: Vec<f64>,
    spent: f64,
    flags: (bool, bool),
    side: f64,
    point: (Vec<f64>, f64, f64),
    other: (Vec<f64>, f64),
}

fn draws() -> impl Strategy<Value = Draw> {
    let part = || prop::collection::vec(-1.0..=1.0_f64, COLUMNS);
    (
        prop::collection::vec((-3..=3_i8).prop_map(f64::from), ROWS * COLUMNS),
        prop::collection::vec(0.0..2.0_f64, ROWS),
        prop::collection::vec(prop_oneof![Just(0.0), 0.2..2.0_f64], COLUMNS),
        0.0..0.95_f64,
        (any::<bool>(), any::<bool>()),
        0.01..3.0_f64,
        (part(), -2.0..2.0_f64, 0.001..2.0_f64),
        (part(), -2.0..2.0_f64),
    )
        .prop_map(|(x, weights, values, spent, flags, side, point, other)| Draw {
            x,
            weights,
            values,
            spent,
            flags,
            side,
            point,
            other,
        })
}

impl Draw {
    fn problem(&self) -> Missing {
        let total: f64 = self.weights.iter().sum();
        let budget = self.spent * self.values.iter().sum::<f64>();
        Missing {
            positive: 1,
            adversary: Adversary::new(Deletions::new(self.values.clone(), budget).unwrap()),
            boxes: vec![self.side; COLUMNS],
            intercept: self.flags.0,
            total,
            own: 0.5,
            margin: 1.0,
            deleting: self.flags.1,
        }
    }

    fn objective(&self, problem: &Missing, part: &[f64], b: f64) -> f64 {
        let w: Vec<f64> = part.iter().map(|v| v * self.side).collect();
        let b = if problem.intercept { b } else { 0.0 };
        let kept = problem.adversary.deletions.kept();
        let loss = |i: usize| {
            let y = if i % 2 == 1 { 1.0 } else { -1.0 };
            let x = &self.x[i * COLUMNS..(i + 1) * COLUMNS];
            self.weights[i] * (worst_case(x, y, &w, &self.values, kept) - y * b).max(0.0)
        };
        (0..ROWS).map(loss).sum::<f64>() / problem.total
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Weak duality at whatever point and width the sums were taken, with and without deletions: no point of the box is
    /// below the bound, and the objective of the point itself is that of the definition.
    #[test]
    fn no_bound_lies_above_any_objective(draw in draws()) {
        prop_assume!(draw.weights.iter().sum::<f64>() > 0.1 && draw.values.iter().any(|v| *v > 0.0));
        let problem = draw.problem();
        let x = Matrix::from(Dense::from_rows(ROWS, COLUMNS, draw.x.clone()));
        let labels = (0..ROWS).map(|i| i % 2).collect();
        let block = Block::new(0, x, labels, Some(draw.weights.clone()));
        let pass = PassAsk {
            factors: vec![1.0; COLUMNS],
            means: Vec::new(),
            class_factors: vec![1.0; 2],
            thin: 1,
            questions: Vec::new(),
        };
        let (part, b, width) = draw.point.clone();
        let v = part.iter().map(|v| v * draw.side).collect();
        let b = if problem.intercept { b } else { 0.0 };
        let point = Point { v, b, theta: 0.0 };
        let question = Question {
            positive: 1,
            point: point.clone(),
            width,
            before: None,
            deleting: problem.deleting,
        };
        let sums = look_with(&block, &pass, &problem.adversary, &[question]).unwrap();
        let found = problem.certify(&point, &sums[0]);
        let own = draw.objective(&problem, &part, b);
        prop_assert!((own - found.primal).abs() <= 1e-10 * own.max(1.0), "{own} {found:?}");
        for (part, b) in [draw.other.clone(), (part, b), (vec![0.0; COLUMNS], 0.0)] {
            let value = draw.objective(&problem, &part, b);
            prop_assert!(found.dual <= value * (1.0 + 1e-10) + 1e-10, "{value} {found:?}");
        }
    }
}

/// The smoothed worst case lies above the exact one by at most the entropy, and its slope is what is kept.
#[test]
fn the_smoothed_worst_case_is_near_and_its_slope_is_what_is_kept() {
    let deletions = Deletions::new(vec![1.0, 0.5, 2.0], 1.2).unwrap();
    let adversary = Adversary::new(deletions);
    let rows = Dense::from_rows(1, 3, vec![1.3, -0.7, 0.4]);
    let matrix = Matrix::from(rows);
    let w = [0.9, -1.1, 2.0];
    let mut case = RowCase::default();
    for width in [1.0, 0.1, 0.01] {
        let exact = case.take(&adversary, matrix.row(0), 1.0, &w);
        let value = case.smooth(&adversary, width);
        assert!(value >= exact - 1e-12 && value <= exact + 3.0 * width, "{width}: {value} {exact}");
        for j in 0..3 {
            let step = 1e-6 * width;
            let at = |sign: f64| {
                let mut moved = w;
                moved[j] += sign * step;
                let mut case = RowCase::default();
                case.take(&adversary, matrix.row(0), 1.0, &moved);
                case.smooth(&adversary, width)
            };
            let slope = (at(1.0) - at(-1.0)) / (2.0 * step);
            assert!(
                (slope + case.kept[j] * matrix.values()[j]).abs() <= 1e-5,
                "{width} {j}: {slope}"
            );
        }
    }
}
