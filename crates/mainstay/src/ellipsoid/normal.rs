//! The normal equations of one interior point step.

use super::problem::Problem;
use crate::linalg::{Cholesky, Dense, DiagonalPlusRows, vector};
use crate::optim::cone::{Scaling, image};
use crate::uncertainty::ellipsoid::Spread;

/// Parts by which the diagonal is raised, one after the other, until the matrix has a factor.
const RIDGES: [f64; 4] = [1e-15, 1e-13, 1e-11, 1e-9];

/// Which rows stand behind which cone.
#[derive(Debug)]
pub(super) struct Members {
    /// Rows of every cone.
    pub of_cone: Vec<Vec<usize>>,
    /// Rows without uncertainty.
    pub exact: Vec<usize>,
}

impl Members {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        let mut of_cone = vec![Vec::new(); problem.shapes.len()];
        let mut exact = Vec::new();
        for (i, &m) in problem.multiplier.iter().enumerate() {
            if m > 0.0 { of_cone[problem.of[i]].push(i) } else { exact.push(i) }
        }
        Self { of_cone, exact }
    }
}

/// What elimination leaves of every cone.
#[derive(Debug)]
pub(super) struct Eliminated {
    /// Pivot h of `$\rho_j$`.
    pub pivot: Vec<f64>,
    /// `$\sum_i d_i m_i g_i + 2 k w_0 e$`, the coupling of `$\rho_j$` with (w, b).
    pub coupling: Dense,
}

/// The matrix `$S = I_w + \sum_j k_j P_j + U^\top \mathrm{diag}(c)\, U$` of order p + 1, factored.
///
/// With `$g_i = y_i(x_i, 1)$`, `$d = (s/a + v/(C - a))^{-1}$`, `$e_j = L_j w_{1j}$` and `$k = \eta^{-2}$`, eliminating
/// `$\rho_j$` leaves, with `$D = \sum d_i m_i^2$`, `$\hat g = \sum d_i m_i g_i / D$` and `$t = 1 + 2\|w_1\|^2$`,
/// ```math
/// \sum_{i \in j} d_i (g_i - m_i \hat g)(\cdot)^\top + \tfrac{D k t}{D + k t} (\hat g - \tfrac{2 w_0}{t} e)(\cdot)^\top -
/// \tfrac{2k}{t} e e^\top,
/// ```
/// which has no difference of large numbers. A cone with one row has no first term, one cone shared by
/// all rows has one term of each other kind: both ends cost one or two weighted Gram matrices.
///
/// With more features than rows of U and diagonal P, S is solved through the small side (Woodbury).
#[derive(Debug)]
pub(super) enum Normal {
    Tall { matrix: Dense, factor: Cholesky },
    Wide(DiagonalPlusRows),
}

impl Normal {
    /// Builds and factors; `None` if arithmetic breaks down.
    pub(super) fn new(
        problem: &Problem<'_>,
        members: &Members,
        d: &[f64],
        scaling: &Scaling,
    ) -> Option<(Self, Eliminated)> {
        let p = problem.x.ncols();
        let mut build = Rows { p, data: Vec::new(), weights: Vec::new() };
        let cones = problem.shapes.len();
        let mut eliminated =
            Eliminated { pivot: vec![0.0; cones], coupling: Dense::zeros(cones, p + 1) };
        for &i in &members.exact {
            build.push(d[i], &[(problem.y[i], problem.x.row(i))], problem.y[i]);
        }
        for (j, rows) in members.of_cone.iter().enumerate() {
            let e = image(scaling.w1.row(j));
            let k = scaling.eta[j].powi(-2);
            let (w0, t) = (scaling.w0[j], 2.0 * scaling.w0[j] * scaling.w0[j] - 1.0);
            let (mass, mean) = build.push_deviations(problem, rows, d);
            let h = mass + k * t;
            let terms = [(1.0, &mean[..p]), (-2.0 * w0 / t, e)];
            build.push(mass * (k * t / h), &terms, mean[p]);
            build.push(-2.0 * k / t, &[(1.0, e)], 0.0);
            eliminated.pivot[j] = h;
            let coupling = eliminated.coupling.row_mut(j);
            vector::axpy(mass, &mean, coupling);
            vector::axpy(2.0 * k * w0, e, &mut coupling[..p]);
        }
        let spread = problem.spread_sum(|j| scaling.eta[j].powi(-2));
        Some((Self::factor(build, spread)?, eliminated))
    }

    fn factor(mut build: Rows, spread: Spread) -> Option<Self> {
        let order = build.p + 1;
        match spread {
            Spread::Diagonal(mut diagonal) if order > 2 * build.weights.len() => {
                for v in &mut diagonal {
                    *v += 1.0;
                }
                // The free intercept has no diagonal: give it one and take it away by a row.
                diagonal.push(1.0);
                build.push(-1.0, &[], 1.0);
                let (rows, weights) = build.finish();
                DiagonalPlusRows::new(diagonal, rows, weights).map(Self::Wide)
            }
            spread => {
                let (rows, weights) = build.finish();
                let mut matrix = rows.weighted_gram(&weights);
                spread.add_to(1.0, &mut matrix);
                (0..order - 1).for_each(|j| matrix[(j, j)] += 1.0);
                for ridge in RIDGES {
                    let mut lifted = matrix.clone();
                    (0..order).for_each(|j| lifted[(j, j)] *= 1.0 + ridge);
                    if let Some(factor) = Cholesky::new(&lifted) {
                        return Some(Self::Tall { matrix, factor });
                    }
                }
                None
            }
        }
    }

    /// Solves S x = r, with one step of refinement.
    pub(super) fn solve(&self, r: &[f64]) -> Vec<f64> {
        match self {
            Self::Wide(matrix) => matrix.solve(r),
            Self::Tall { matrix, factor } => {
                let mut x = factor.solve(r);
                let residual: Vec<f64> =
                    r.iter().zip(matrix.mul_vec(&x)).map(|(r, s)| r - s).collect();
                vector::axpy(1.0, &factor.solve(&residual), &mut x);
                x
            }
        }
    }
}

/// Rows of U and their weights.
struct Rows {
    p: usize,
    data: Vec<f64>,
    weights: Vec<f64>,
}

impl Rows {
    /// Adds the row (sum of multiples, last entry).
    fn push(&mut self, weight: f64, terms: &[(f64, &[f64])], last: f64) {
        let start = self.data.len();
        self.data.resize(start + self.p, 0.0);
        for (scale, row) in terms {
            vector::axpy(*scale, row, &mut self.data[start..]);
        }
        self.data.push(last);
        self.weights.push(weight);
    }

    /// Adds `$g_i - m_i \hat g$` for the rows of one cone, and returns D and `$\hat g$`; a single row has no deviation.
    fn push_deviations(
        &mut self,
        problem: &Problem<'_>,
        rows: &[usize],
        d: &[f64],
    ) -> (f64, Vec<f64>) {
        let (p, m) = (self.p, |i: usize| problem.multiplier[i]);
        let mass: f64 = rows.iter().map(|&i| d[i] * m(i) * m(i)).sum();
        let mut mean = vec![0.0; p + 1];
        if let [i] = rows[..] {
            let scale = problem.y[i] / m(i);
            vector::axpy(scale, problem.x.row(i), &mut mean[..p]);
            mean[p] = scale;
            return (mass, mean);
        }
        for &i in rows {
            let scale = d[i] * m(i) / mass * problem.y[i];
            vector::axpy(scale, problem.x.row(i), &mut mean[..p]);
            mean[p] += scale;
        }
        for &i in rows {
            let terms = [(problem.y[i], problem.x.row(i)), (-m(i), &mean[..p])];
            self.push(d[i], &terms, problem.y[i] - m(i) * mean[p]);
        }
        (mass, mean)
    }

    fn finish(self) -> (Dense, Vec<f64>) {
        (Dense::from_rows(self.weights.len(), self.p + 1, self.data), self.weights)
    }
}
