//! The linear system of a Newton step in weights and intercept, factored in its smaller dimension.

use crate::linalg::{Cholesky, Dense, Matrix, vector};

/// With this many columns or fewer the second form is never worth its rounding errors.
const FEW_COLUMNS: usize = 500;
/// Steps of iterative refinement: two restore what one factorisation loses.
const REFINEMENTS: usize = 2;
/// First relative lift of the diagonal; ten times more is tried until the matrix can be factored.
const FIRST_LIFT: f64 = 1e-15;
/// Lift at which factoring is given up.
const LAST_LIFT: f64 = 1e3;
/// Part of the largest diagonal entry that every entry is lifted as if it were, so that vanishing ones become positive.
const LIFT_FLOOR: f64 = 1e-4;
/// Diagonal entries from here on come from variables at their bounds and say nothing about the others.
const UNBOUNDED: f64 = 1e100;

/// The linear system that Newton's method and the interior point of the hinge program share,
///
/// ```math
/// \begin{pmatrix} Z^\top D Z + T & Z^\top d\\ d^\top Z & \mathbf 1^\top d\end{pmatrix}
///   \begin{pmatrix} x\\ b\end{pmatrix} = \begin{pmatrix} h\\ g\end{pmatrix},
///   \qquad D = \mathrm{diag}(d) \ge 0,\ T = \mathrm{diag}(\tau) > 0,
/// ```
///
/// factored in the smaller of the two dimensions: as it stands unless there are more columns than
/// rows, else through `$S = I + D^{1/2} Z T^{-1} Z^\top D^{1/2}$` (Woodbury), which is less
/// accurate when `$\tau$` spans many orders of magnitude. Refinement restores the digits. Without an
/// intercept the last row and column are absent.
pub struct NormalEquations<'a> {
    z: &'a Matrix,
    weights: &'a [f64],
    ridge: &'a [f64],
    intercept: bool,
    form: Form,
}

enum Form {
    Columns { matrix: Dense, factor: Option<Cholesky> },
    Rows { root: Vec<f64>, factor: Option<Cholesky>, bordered: Vec<f64> },
}

impl<'a> NormalEquations<'a> {
    /// Factors the system for `$d$` = `weights`, `$\tau$` = `ridge`.
    ///
    /// `accurate` keeps to the first form as long as it is affordable.
    pub fn new(
        z: &'a Matrix,
        weights: &'a [f64],
        ridge: &'a [f64],
        intercept: bool,
        accurate: bool,
    ) -> Self {
        let most = if accurate { FEW_COLUMNS.max(4 * z.nrows()) } else { z.nrows() };
        let form = if z.ncols() <= most {
            by_columns(z, weights, ridge, intercept)
        } else {
            by_rows(z, weights, ridge)
        };
        Self { z, weights, ridge, intercept, form }
    }

    /// Solves for `$(x, b)$`, which come back in one vector; `rhs` is `$(h, g)$`. Without intercept neither `$b$`
    /// nor `$g$` is there.
    pub fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let mut x = self.solve_once(rhs);
        let mut last = vector::norm_inf(rhs);
        for _ in 0..REFINEMENTS {
            let residual: Vec<f64> = self.apply(&x).iter().zip(rhs).map(|(a, h)| h - a).collect();
            let size = vector::norm_inf(&residual);
            // Refinement that does not contract makes things worse.
            if size.is_nan() || size >= 0.5 * last {
                break;
            }
            last = size;
            vector::axpy(1.0, &self.solve_once(&residual), &mut x);
        }
        x
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        if let Form::Columns { matrix, .. } = &self.form {
            return matrix.mul_vec(x);
        }
        let p = self.z.ncols();
        let mut scores = self.z.mul_vec(&x[..p]);
        for (s, d) in scores.iter_mut().zip(self.weights) {
            *s = d * (*s + x.get(p).unwrap_or(&0.0));
        }
        let mut out = self.z.tr_mul_vec(&scores);
        for j in 0..p {
            out[j] += self.ridge[j] * x[j];
        }
        if self.intercept {
            out.push(scores.iter().sum());
        }
        out
    }

    fn solve_once(&self, rhs: &[f64]) -> Vec<f64> {
        match &self.form {
            Form::Columns { factor, .. } => solve(factor.as_ref(), rhs),
            Form::Rows { root, factor, bordered } => {
                self.solve_by_rows(rhs, root, factor.as_ref(), bordered)
            }
        }
    }

    fn solve_by_rows(
        &self,
        rhs: &[f64],
        root: &[f64],
        factor: Option<&Cholesky>,
        bordered: &[f64],
    ) -> Vec<f64> {
        let p = self.z.ncols();
        let mut x: Vec<f64> = rhs[..p].iter().zip(self.ridge).map(|(h, t)| h / t).collect();
        let mut g = self.z.mul_vec(&x);
        for (g, root) in g.iter_mut().zip(root) {
            *g *= root;
        }
        let b = rhs
            .get(p)
            .map_or(0.0, |rhs| (rhs - vector::dot(bordered, &g)) / vector::dot(bordered, root));
        let mut k = solve(factor, &g);
        for ((k, e), root) in k.iter_mut().zip(bordered).zip(root) {
            *k = root * (*k + e * b);
        }
        for ((x, c), t) in x.iter_mut().zip(self.z.tr_mul_vec(&k)).zip(self.ridge) {
            *x -= c / t;
        }
        if self.intercept {
            x.push(b);
        }
        x
    }
}

fn by_rows(z: &Matrix, weights: &[f64], ridge: &[f64]) -> Form {
    let root: Vec<f64> = weights.iter().map(|d| d.sqrt()).collect();
    let shrink: Vec<f64> = ridge.iter().map(|t| 1.0 / t.sqrt()).collect();
    let mut s = z.scale_columns(&shrink).outer_gram();
    for i in 0..s.nrows() {
        for (v, r) in s.row_mut(i).iter_mut().zip(&root) {
            *v *= root[i] * r;
        }
    }
    s.add_diagonal(1.0);
    let factor = lifted(&s);
    let bordered = solve(factor.as_ref(), &root);
    Form::Rows { root, factor, bordered }
}

fn by_columns(z: &Matrix, weights: &[f64], ridge: &[f64], intercept: bool) -> Form {
    let p = z.ncols();
    let gram = z.weighted_gram(weights);
    if !intercept {
        let mut matrix = gram;
        for (j, t) in ridge.iter().enumerate() {
            matrix[(j, j)] += t;
        }
        let factor = lifted(&matrix);
        return Form::Columns { matrix, factor };
    }
    let cross = z.tr_mul_vec(weights);
    let mut matrix = Dense::zeros(p + 1, p + 1);
    for j in 0..p {
        matrix.row_mut(j)[..p].copy_from_slice(gram.row(j));
        matrix[(j, j)] += ridge[j];
        matrix[(p, j)] = cross[j];
        matrix[(j, p)] = cross[j];
    }
    matrix[(p, p)] = weights.iter().sum();
    let factor = lifted(&matrix);
    Form::Columns { matrix, factor }
}

fn solve(factor: Option<&Cholesky>, rhs: &[f64]) -> Vec<f64> {
    factor.map_or_else(|| rhs.to_vec(), |f| f.solve(rhs))
}

/// Cholesky factor of a matrix that is positive semidefinite but for rounding: the diagonal is
/// lifted, each entry in proportion to itself, until the factorisation succeeds.
fn lifted(matrix: &Dense) -> Option<Cholesky> {
    let order = matrix.nrows();
    let largest = (0..order).fold(f64::MIN_POSITIVE, |m, j| m.max(matrix[(j, j)].min(UNBOUNDED)));
    let mut lift = 0.0;
    while lift < LAST_LIFT {
        let mut copy = matrix.clone();
        for j in 0..order {
            copy[(j, j)] += lift * copy[(j, j)].max(LIFT_FLOOR * largest);
        }
        if let Some(factor) = Cholesky::new(&copy) {
            return Some(factor);
        }
        lift = if lift == 0.0 { FIRST_LIFT } else { 10.0 * lift };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both forms solve the same system, with and without an intercept: what comes back satisfies it.
    #[test]
    fn the_solution_satisfies_the_equations_in_either_form() {
        let z = Matrix::from(Dense::from_fn(3, 5, |i, j| ((3 * i + 2 * j) as f64).sin()));
        let (weights, ridge) = ([0.5, 2.0, 1.0], [0.1, 0.2, 0.3, 0.4, 0.5]);
        for intercept in [true, false] {
            let order = 5 + usize::from(intercept);
            let rhs: Vec<f64> = (0..order).map(|j| j as f64 - 2.0).collect();
            let few = NormalEquations {
                form: by_rows(&z, &weights, &ridge),
                ..NormalEquations::new(&z, &weights, &ridge, intercept, true)
            };
            let many = NormalEquations::new(&z, &weights, &ridge, intercept, true);
            assert!(matches!(many.form, Form::Columns { .. }));
            for system in [few, many] {
                let x = system.solve(&rhs);
                assert_eq!(x.len(), order);
                let mut scores = z.mul_vec(&x[..5]);
                for (s, d) in scores.iter_mut().zip(&weights) {
                    *s = d * (*s + x.get(5).unwrap_or(&0.0));
                }
                let mut image = z.tr_mul_vec(&scores);
                for (j, t) in ridge.iter().enumerate() {
                    image[j] += t * x[j];
                }
                if intercept {
                    image.push(scores.iter().sum());
                }
                assert!(image.iter().zip(&rhs).all(|(a, b)| (a - b).abs() < 1e-11), "{image:?}");
            }
        }
    }
}
