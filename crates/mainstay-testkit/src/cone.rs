//! Textbook conic programs, solved by Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SupportedConeT};

/// minimise x'Px/2 + q'x subject to b - Ax in a product of cones, given by its nonzeros.
#[derive(Debug, Default, Clone)]
pub struct Program {
    n: usize,
    quadratic: Vec<(usize, usize, f64)>,
    linear: Vec<f64>,
    entries: Vec<(usize, usize, f64)>,
    rhs: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

/// What the conic solver found.
#[derive(Debug, Clone)]
pub struct ConeSolution {
    /// The minimiser.
    pub x: Vec<f64>,
    /// Its objective.
    pub objective: f64,
    /// Whether full accuracy was reached.
    pub solved: bool,
}

impl Program {
    /// `n` free variables, objective zero.
    pub fn new(n: usize) -> Self {
        Self { n, linear: vec![0.0; n], ..Self::default() }
    }

    /// Adds `value * x_i * x_j` to the objective.
    pub fn add_product(&mut self, i: usize, j: usize, value: f64) {
        let (i, j) = (i.min(j), i.max(j));
        self.quadratic.push((i, j, if i == j { 2.0 * value } else { value }));
    }

    /// Adds `value * x_i` to the objective.
    pub fn add_linear(&mut self, i: usize, value: f64) {
        self.linear[i] += value;
    }

    /// One block: row k asks that `constants[k] + sum of coefficient * x` lie in the cone.
    pub fn constrain(&mut self, cone: SupportedConeT<f64>, rows: &[(Vec<(usize, f64)>, f64)]) {
        for (terms, constant) in rows {
            let row = self.rhs.len();
            self.entries.extend(terms.iter().map(|&(column, v)| (row, column, -v)));
            self.rhs.push(*constant);
        }
        self.cones.push(cone);
    }

    /// `terms . x + constant >= 0`.
    pub fn at_least_zero(&mut self, terms: Vec<(usize, f64)>, constant: f64) {
        self.constrain(SupportedConeT::NonnegativeConeT(1), &[(terms, constant)]);
    }

    /// `terms . x + constant = 0`.
    pub fn equals_zero(&mut self, terms: Vec<(usize, f64)>, constant: f64) {
        self.constrain(SupportedConeT::ZeroConeT(1), &[(terms, constant)]);
    }

    /// Solves to 1e-10.
    pub fn solve(&self) -> ConeSolution {
        self.solve_to(1e-10)
    }

    /// Solves to `tol`.
    pub fn solve_to(&self, tol: f64) -> ConeSolution {
        let csc = |rows, entries: &[(usize, usize, f64)]| {
            let (mut i, mut j, mut v) = (vec![], vec![], vec![]);
            for &(a, b, c) in entries {
                i.push(a);
                j.push(b);
                v.push(c);
            }
            CscMatrix::new_from_triplets(rows, self.n, i, j, v)
        };
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(tol)
            .tol_gap_rel(tol)
            .tol_feas(tol)
            .build()
            .unwrap_or_default();
        let solver = DefaultSolver::new(
            &csc(self.n, &self.quadratic),
            &self.linear,
            &csc(self.rhs.len(), &self.entries),
            &self.rhs,
            &self.cones,
            settings,
        );
        match solver {
            Ok(mut solver) => {
                solver.solve();
                let solved = solver.solution.status == clarabel::solver::SolverStatus::Solved;
                let objective = solver.solution.obj_val;
                ConeSolution { x: solver.solution.x.clone(), objective, solved }
            }
            Err(_) => {
                ConeSolution { x: vec![f64::NAN; self.n], objective: f64::NAN, solved: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// min x^2 + y^2 subject to x + y >= 2: (1, 1), value 2.
    #[test]
    fn a_small_quadratic_program_is_solved() {
        let mut program = Program::new(2);
        program.add_product(0, 0, 1.0);
        program.add_product(1, 1, 1.0);
        program.at_least_zero(vec![(0, 1.0), (1, 1.0)], -2.0);
        let answer = program.solve();
        assert!(answer.solved && (answer.objective - 2.0).abs() < 1e-8);
    }
}
