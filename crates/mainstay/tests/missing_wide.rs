//! Problem (4) where every entry has variables: many more columns than rows, and one class with hardly any rows.
#![cfg(test)]

use mainstay::Control;
use mainstay::linalg::{Dense, Matrix};
use mainstay::missing::{RobustHinge, certify, interior_point};
use mainstay::uncertainty::Deletions;
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};

struct Case {
    name: &'static str,
    x: Dense,
    y: Vec<f64>,
    weights: Vec<f64>,
    values: Vec<f64>,
    budget: f64,
    c: f64,
}

impl Case {
    /// Two clouds of 6 rows and 310 columns: more than the 300 up to which entries are chosen, and 50 times the rows.
    fn plain(name: &'static str) -> Self {
        let (n, p) = (6, 310);
        let (rows, y) = two_clouds(3, n, p, 0.3);
        let (weights, values) = (vec![1.0; n], vec![1.0; p]);
        Self { name, x: Dense::from_rows(n, p, rows), y, weights, values, budget: 20.0, c: 0.01 }
    }

    /// So many columns that steps bend at entries, and so small a box or so large a budget that a loss is left, or neither.
    fn very_wide(name: &'static str, budget: f64, c: f64) -> Self {
        let (n, p) = (8, 2000);
        let (rows, y) = two_clouds(5, n, p, 0.1);
        let (weights, values) = (vec![1.0; n], vec![1.0; p]);
        Self { name, x: Dense::from_rows(n, p, rows), y, weights, values, budget, c }
    }

    /// All rows but the first count twice.
    fn weighted(name: &'static str) -> Self {
        let mut case = Self::plain(name);
        case.weights = (0..case.y.len()).map(|i| if i == 0 { 1.0 } else { 2.0 }).collect();
        case
    }

    fn solve(&self, tol: f64) -> (mainstay::Certificate, usize) {
        let x = Matrix::from(self.x.clone());
        let deletions = Deletions::leaving_something(self.values.clone(), self.budget).unwrap();
        let problem = RobustHinge {
            x: &x,
            y: &self.y,
            weights: &self.weights,
            deletions: &deletions,
            margin: 1.0,
            c: self.c,
            fit_intercept: true,
        };
        let found = interior_point(&problem, tol, 300, &Control::new()).unwrap();
        (certify(&problem, &found.weights, found.intercept, &found.dual), found.n_iter)
    }

    /// Problem (4), variable by variable as printed, by a conic solver.
    fn literal(&self) -> f64 {
        let (n, p) = (self.x.nrows(), self.x.ncols());
        let kept = self.values.iter().sum::<f64>() - self.budget;
        let total: f64 = self.weights.iter().sum();
        let (b, xi, lambda, alpha) = (p, p + 1, p + 1 + n, p + 1 + 2 * n);
        let mut program = Program::new(alpha + n * p);
        for j in 0..p {
            program.at_least_zero(vec![(j, 1.0)], self.c);
            program.at_least_zero(vec![(j, -1.0)], self.c);
        }
        for i in 0..n {
            program.add_linear(xi + i, self.weights[i] / total);
            program.at_least_zero(vec![(xi + i, 1.0)], 0.0);
            program.at_least_zero(vec![(lambda + i, 1.0)], 0.0);
            let mut row = vec![(lambda + i, kept), (b, self.y[i]), (xi + i, 1.0)];
            for j in 0..p {
                let (a, v) = (alpha + i * p + j, self.values[j]);
                row.push((a, -1.0));
                program.at_least_zero(vec![(a, 1.0)], 0.0);
                let score = self.y[i] * self.x[(i, j)];
                program.at_least_zero(vec![(a, 1.0), (j, score), (lambda + i, -v)], -v / kept);
            }
            program.at_least_zero(row, 0.0);
        }
        let answer = program.solve();
        assert!(answer.solved, "{}", self.name);
        answer.objective
    }
}

#[test]
fn hard_wide_problems_have_the_optimum_of_the_printed_program() {
    let plain = Case::plain;
    let p = plain("").x.ncols();
    let full = plain("").x;
    let mut gaps = plain("zeros in the rows");
    gaps.x = Dense::from_fn(6, p, |i, j| if (i + j) % 3 == 0 { 0.0 } else { full[(i, j)] });
    let mut copies = plain("copies of a row");
    copies.x = Dense::from_fn(6, p, |i, j| full[(i % 4, j)]);
    copies.y = (0..6).map(|i| copies.y[i % 4]).collect();
    let mut lone = plain("one row in a class");
    lone.y = (0..6).map(|i| if i == 0 { 1.0 } else { -1.0 }).collect();
    let values: Vec<f64> = (0..p).map(|j| (j % 3) as f64).collect();
    let cases = [
        plain("as it is"),
        Case { c: 1e-6, ..plain("tiny box") },
        Case { c: 10.0, ..plain("wide box") },
        Case { budget: 0.0, ..plain("no budget") },
        Case { budget: p as f64 - 0.5, ..plain("nearly everything may go") },
        Case { values, budget: 17.5, ..plain("values with zeros") },
        Case::weighted("weights"),
        gaps,
        copies,
        lone,
    ];
    for case in cases {
        let wanted = case.literal();
        let (found, _) = case.solve(1e-6);
        assert!(found.gap() <= 1e-6, "{}: {found:?} for {wanted}", case.name);
        let slack = 2e-6 * wanted.max(1.0);
        assert!((found.primal - wanted).abs() <= slack, "{}: {found:?} for {wanted}", case.name);
    }
}

#[test]
fn steps_that_bend_end_at_the_optimum_of_the_printed_program() {
    let mut gaps = Case::very_wide("zeros in the rows", 500.0, 0.01);
    let full = gaps.x.clone();
    gaps.x = Dense::from_fn(8, 2000, |i, j| if (i + j) % 3 == 0 { 0.0 } else { full[(i, j)] });
    let mut valued = Case::very_wide("values with zeros", 400.0, 10.0);
    valued.values = (0..2000).map(|j| f64::from(j % 3)).collect();
    let cases = [
        Case::very_wide("small box", 40.0, 1e-4),
        Case::very_wide("most may go", 1500.0, 10.0),
        Case::very_wide("no loss", 20.0, 10.0),
        gaps,
        valued,
    ];
    for case in cases {
        let wanted = case.literal();
        let (found, steps) = case.solve(1e-4);
        assert!(found.gap() <= 1e-4, "{}: {steps} steps, {found:?} for {wanted}", case.name);
        let slack = 2e-4 * wanted.max(1.0);
        assert!((found.primal - wanted).abs() <= slack, "{}: {found:?} for {wanted}", case.name);
    }
}

/// In a wide box clouds in many dimensions are told apart whatever twenty deletions do: no loss, and nothing to prove.
#[test]
fn no_loss_needs_no_proof() {
    let (found, steps) = Case { c: 10.0, ..Case::plain("wide box") }.solve(1e-4);
    assert!(found.primal <= 1e-4 && found.dual <= 0.0, "{found:?}");
    assert!(steps <= 40, "{steps} steps");
}

#[test]
fn one_row_against_thousands_takes_few_steps() {
    for (m, p) in [(300, 10), (1000, 10), (5000, 10), (1000, 60)] {
        let noise = normal(&mut rng(0), (m + 1) * p);
        let case = Case {
            name: "",
            x: Dense::from_rows(m + 1, p, noise),
            y: (0..=m).map(|i| if i == 0 { 1.0 } else { -1.0 }).collect(),
            weights: vec![1.0; m + 1],
            values: vec![1.0; p],
            budget: 2.0,
            c: 10.0,
        };
        // The objective is at most 2 V / (P m), so that this is a share of 2e-3 of it or less.
        let (found, steps) = case.solve(1e-6);
        assert!(found.gap() <= 1e-6 && steps <= 80, "{m} x {p}: {steps} steps, {found:?}");
    }
}
