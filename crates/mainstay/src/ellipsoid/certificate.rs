//! Objective and lower bound of an answer, from the data and the numbers that are returned.

use rayon::prelude::*;

use super::problem::{Multipliers, Plane, Problem};
use crate::certificate::Certificate;
use crate::linalg::{Compensated, Matrix, vector};

/// Rows worth a task of their own.
const ROWS_PER_TASK: usize = 512;

/// The problem in the user's units, for which a plane is returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// The rows as they were given, not centred.
    pub rows: &'a Matrix,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$C_i$`.
    pub cap: &'a [f64],
    /// Features in solver units are those of the user divided by this power of two.
    pub scale: f64,
}

/// Scores and sizes of the ellipsoids along w, at the numbers that are returned.
pub(super) struct Evaluated {
    /// `$w^\top x_i + b$`.
    pub scores: Vec<f64>,
    /// `$m_i \rho_{j(i)}(w)$`.
    pub spread: Vec<f64>,
    /// The objective.
    pub objective: f64,
    /// By how much rounding may have moved it.
    rounding: f64,
}

impl Given<'_> {
    /// The objective of `plane`, which is in the user's units.
    ///
    /// Where a feature is far from zero for its spread, scores are small differences of large numbers: they are
    /// computed as if in twice the precision. Shapes are those of `problem`, in solver units, which is exact.
    pub(super) fn evaluate(&self, problem: &Problem<'_>, plane: &Plane) -> Evaluated {
        let score = |i: usize| self.rows.row(i).compensated_dot(&plane.w, plane.b);
        let rows = (0..self.rows.nrows()).into_par_iter().with_min_len(ROWS_PER_TASK);
        let scores: Vec<f64> = rows.map(score).collect();
        let scaled: Vec<f64> = plane.w.iter().map(|w| w * self.scale).collect();
        let rho: Vec<f64> = problem.shapes.iter().map(|shape| shape.support(&scaled)).collect();
        let spread = problem.spread(&rho);
        let (objective, rounding) = self.objective(&plane.w, &scores, &spread);
        Evaluated { scores, spread, objective, rounding }
    }

    /// The objective at these scores, and by how much rounding may have moved it.
    pub(super) fn objective(&self, w: &[f64], scores: &[f64], spread: &[f64]) -> (f64, f64) {
        let unit = (w.len() + 4) as f64 * f64::EPSILON;
        let mut objective = Compensated::new(0.5 * vector::norm(w).powi(2));
        let mut rounding = 0.0;
        for i in 0..scores.len() {
            let loss = 1.0 + spread[i] - self.y[i] * scores[i];
            let error = unit * (1.0 + spread[i]) + 2.0 * f64::EPSILON * scores[i].abs();
            objective.add(self.cap[i] * loss.max(0.0));
            // A row well inside its margin has loss 0 whatever the rounding.
            rounding += if loss < -error { 0.0 } else { self.cap[i] * error };
        }
        let objective = objective.value();
        (objective, rounding + unit * objective)
    }
}

/// The interval that a plane, `found` in the user's units, and `multipliers`, in those of `problem`, prove.
pub(super) fn certify(
    problem: &Problem<'_>,
    found: &Evaluated,
    multipliers: &Multipliers,
    scale: f64,
) -> Certificate {
    let bound = lower_bound(problem, multipliers) / scale / scale;
    // Zero is a bound too: no term of the objective is negative.
    Certificate { primal: found.objective, dual: bound.max(0.0) - found.rounding }
}

/// For any `$0 \le a \le C$` with `$y^\top a = 0$` and any `$\|\zeta_j\| \le \sum_{i \in j} m_i a_i$`
/// ```math
/// D = \sum_i a_i - \tfrac12 \Big\| \sum_i a_i y_i x_i + \sum_j L_j \zeta_j \Big\|^2
/// ```
/// bounds the optimum from below: it is the dual of a plain SVM on points moved inside their
/// ellipsoids. The multipliers are first moved into this set: clipped, the heavier class scaled down to balance,
/// `$\zeta$` shortened.
///
/// Since `$y^\top a = 0$` the rows may be centred, which keeps the sum accurate; what rounding may still have taken
/// from its length is added to it.
fn lower_bound(problem: &Problem<'_>, multipliers: &Multipliers) -> f64 {
    let clipped: Vec<f64> =
        multipliers.a.iter().zip(problem.cap).map(|(a, c)| vector::clip(*a, *c)).collect();
    let (up, down) = problem.by_class(&clipped);
    let lighter = up.min(down);
    let scale = |y: f64| {
        let own = if y > 0.0 { up } else { down };
        if own > 0.0 { lighter / own } else { 0.0 }
    };
    let a: Vec<f64> = clipped.iter().zip(problem.y).map(|(a, y)| a * scale(*y)).collect();
    let reach = problem.reach(&a);
    let signed: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
    let mut moved = problem.x.tr_mul_vec(&signed);
    let mut lengths: f64 =
        a.iter().enumerate().map(|(i, a)| a * vector::norm(problem.x.row(i))).sum();
    for (j, shape) in problem.shapes.iter().enumerate() {
        let zeta = multipliers.zeta.row(j);
        let length = vector::norm(zeta);
        if length > 0.0 {
            shape.push((reach[j] / length).min(1.0), zeta, &mut moved);
            lengths += reach[j] * shape.radius_bound();
        }
    }
    let terms = (a.len() + reach.len() + moved.len() + 8) as f64;
    let longest = vector::norm(&moved) + terms * f64::EPSILON * lengths;
    let bound = a.iter().sum::<f64>() * (1.0 - terms * f64::EPSILON) - 0.5 * longest * longest;
    // Multipliers and moves times t < 1 are allowed too, and prove at least t times as much.
    bound * (1.0 - excess(problem.cap)).max(0.0)
}

/// By which part caps may exceed those of the user: for features below 1e-150 they are denormal in solver units, where
/// few digits are left to round to.
fn excess(cap: &[f64]) -> f64 {
    let least = cap.iter().copied().filter(|c| *c > 0.0).fold(f64::INFINITY, f64::min);
    f64::from_bits(1) / least
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::Dense;
    use crate::uncertainty::ellipsoid::View;

    /// A problem, a plane and multipliers, feasible or not.
    #[derive(Debug, Clone)]
    struct Case {
        x: Vec<f64>,
        offset: f64,
        w: [f64; 2],
        b: f64,
        a: Vec<f64>,
        zeta: Vec<f64>,
        c: f64,
    }

    const ROWS: usize = 6;

    fn cases() -> impl Strategy<Value = Case> {
        let whole = || (-4_i32..=4).prop_map(f64::from);
        (
            prop::collection::vec(whole(), 2 * ROWS),
            0_i32..45,
            prop::array::uniform2(-3.0..3.0),
            -2.0..2.0,
            prop::collection::vec(-0.5..3.0, ROWS),
            prop::collection::vec(-2.0..2.0, 6),
            0.1..10.0,
        )
            .prop_map(|(x, power, w, b, a, zeta, c)| Case {
                x,
                offset: 2f64.powi(power),
                w,
                b,
                a,
                zeta,
                c,
            })
    }

    /// The interval of a case: three shapes, rows given with an offset that the plane makes up for.
    fn interval(case: &Case) -> Certificate {
        let y = [1.0, -1.0, 1.0, -1.0, -1.0, 1.0];
        let cap = vec![case.c; ROWS];
        let shapes = [View::Ball(0.3), View::Axes(&[0.5, 0.0]), View::Full(&[1.0, 0.5, 0.2], &[])];
        let x = Dense::from_rows(ROWS, 2, case.x.clone());
        let problem = Problem {
            x: &x,
            y: &y,
            cap: &cap,
            of: &[0, 1, 2, 0, 1, 2],
            multiplier: &[1.0, 1.0, 1.0, 0.5, 0.0, 2.0],
            shapes: &shapes,
        };
        let rows = Dense::from_fn(ROWS, 2, |i, j| x[(i, j)] + case.offset).into();
        let given = Given { rows: &rows, y: &y, cap: &cap, scale: 1.0 };
        let b = case.b - case.offset * (case.w[0] + case.w[1]);
        let plane = Plane { w: case.w.to_vec(), b };
        let zeta = Dense::from_rows(3, 2, case.zeta.clone());
        let found = given.evaluate(&problem, &plane);
        certify(&problem, &found, &Multipliers { a: case.a.clone(), zeta }, given.scale)
    }

    proptest! {
        /// Weak duality: no multipliers prove more than any plane reaches, whatever the rounding.
        #[test]
        fn no_bound_exceeds_the_objective_of_any_plane(case in cases()) {
            let found = interval(&case);
            prop_assert!(found.dual <= found.primal, "{found:?}");
            prop_assert!(found.dual > -1e-9 * found.primal.max(1.0));
        }

        /// Where the offset makes no rounding (it is 1), the objective is that of the plain formula.
        #[test]
        fn the_objective_is_the_sum_of_its_terms(case in cases()) {
            let case = Case { offset: 1.0, ..case };
            let y = [1.0, -1.0, 1.0, -1.0, -1.0, 1.0];
            let [u, v] = case.w;
            let supports = [0.3 * u.hypot(v), 0.5 * u.abs(), (u + 0.5 * v).hypot(0.2 * v)];
            let sizes = [supports[0], supports[1], supports[2], 0.5 * supports[0], 0.0, 2.0 * supports[2]];
            let mut wanted = 0.5 * (u * u + v * v);
            for i in 0..ROWS {
                let score = u * case.x[2 * i] + v * case.x[2 * i + 1] + case.b;
                wanted += case.c * (1.0 + sizes[i] - y[i] * score).max(0.0);
            }
            let found = interval(&case).primal;
            prop_assert!((found - wanted).abs() <= 1e-12 * wanted.max(1.0), "{found} {wanted}");
        }
    }

    /// Rows at 2^51 - 1 and 2^51 + 1: the best intercept for w = 1/3 is not a number that a float can hold, and the
    /// objective is that of the numbers returned, not of those meant.
    #[test]
    fn the_objective_is_that_of_the_rounded_intercept() {
        let far = 2f64.powi(51);
        let (x, y, cap) = (Dense::from_rows(2, 1, vec![-1.0, 1.0]), [-1.0, 1.0], [1.0, 1.0]);
        let problem =
            Problem { x: &x, y: &y, cap: &cap, of: &[0, 0], multiplier: &[0.0, 0.0], shapes: &[] };
        let rows = Dense::from_rows(2, 1, vec![far - 1.0, far + 1.0]).into();
        let given = Given { rows: &rows, y: &y, cap: &cap, scale: 1.0 };
        let third = 1.0 / 3.0;
        let plane = Plane { w: vec![third], b: -third * far };
        // 1/3 is (2^54 - 1)/3 / 2^54 here, and 2^51 times that is a float: the scores are exactly -+1/3.
        let found = given.evaluate(&problem, &plane);
        assert_eq!(found.scores, [-third, third]);
        let shifted = Plane { w: vec![third], b: -third * far + 0.125 };
        let moved = given.evaluate(&problem, &shifted);
        assert_eq!(moved.scores, [0.125 - third, 0.125 + third]);
    }
}
