//! The interval that a plane and multipliers prove for the worst case, from the data and the numbers alone.

use crate::certificate::Certificate;
use crate::linalg::vector;
use crate::robust::worst_problem::{Multipliers, Plane, WorstCase, WorstLoss};

/// The interval that a plane and multipliers prove.
pub(in crate::robust) fn certify(
    problem: &WorstCase<'_>,
    plane: &Plane,
    multipliers: &Multipliers,
) -> Certificate {
    Certificate {
        primal: problem.value(&plane.w, plane.b),
        dual: lower_bound(problem, multipliers),
    }
}

/// A dual point that satisfies all constraints.
struct Feasible {
    /// `$a$`.
    counts: Vec<f64>,
    /// `$\pi$`.
    slopes: Vec<f64>,
}

/// For any `$0 \le a \le s/\omega$` with `$\sum a = 1$`, any `$\pi \in [0, 1]$`, `$\delta$` within the deletion budget
/// and `$\|u_i\| \le 1$` such that `$g_i = a_i(\pi_i + \kappa_i)$` has `$y^\top g = 0$` (with an intercept),
/// ```math
/// D = \sum_i a_i H(\pi_i) - \frac{1}{2\alpha}\Big\|\sum_i g_i \big(y_i (x_i - \delta_i \circ (x_i - c)) - L_i u_i\big)\Big\|^2
/// ```
/// bounds the optimum from below: it is the least value over `$(w, b)$` of the objective with the adversary's choices
/// fixed and every loss replaced by its tangent of slope `$-(\pi + \kappa)$`. `$H(\pi) = -\pi\log\pi - (1-\pi)\log(1-\pi)$` for
/// the logistic loss and `$\pi$` for the hinge loss. Where no loss is negative `$\sum a \le 1$` will do.
///
/// The multipliers are first moved into this set. What rounding may have taken from the length of the sum is added to it.
pub(in crate::robust) fn lower_bound(problem: &WorstCase<'_>, multipliers: &Multipliers) -> f64 {
    let Some(feasible) = feasible(problem, multipliers) else { return f64::NEG_INFINITY };
    let (n, p) = (problem.x.nrows(), problem.x.ncols());
    let (mut sum, mut lengths, mut gain) = (vec![0.0; p], 0.0, 0.0);
    let mut row = vec![0.0; p];
    for i in 0..n {
        let (a, slope) = (feasible.counts[i], feasible.slopes[i]);
        let pull = a * (slope + problem.kappa(i));
        gain += a * entropy(problem.loss, slope);
        if pull == 0.0 {
            continue;
        }
        moved_row(problem, multipliers, i, &mut row);
        vector::axpy(pull, &row, &mut sum);
        lengths += pull * vector::norm(&row);
    }
    let terms = (n + p + 8) as f64 * f64::EPSILON;
    let longest = vector::norm(&sum) + terms * lengths;
    gain * (1.0 - terms) - longest * longest / (2.0 * problem.alpha)
}

/// `$y_i (x_i - \delta_i \circ (x_i - c)) - L_i u_i$`.
fn moved_row(problem: &WorstCase<'_>, multipliers: &Multipliers, i: usize, out: &mut [f64]) {
    let y = problem.y[i];
    out.iter_mut().zip(problem.x.row(i)).for_each(|(o, x)| *o = y * x);
    if let (Some(losable), Some(deleted)) = (problem.losable, &multipliers.deleted) {
        let clipped = |d: &f64| if d.is_nan() { 0.0 } else { d.clamp(0.0, 1.0) };
        let spent: f64 = deleted.row(i).iter().map(clipped).sum();
        let scale = if spent > losable.budget { losable.budget / spent } else { 1.0 };
        for ((&j, c), d) in losable.columns.iter().zip(&losable.centre).zip(deleted.row(i)) {
            out[j] -= y * scale * clipped(d) * (problem.x[(i, j)] - c);
        }
    }
    if let (Some(axes), Some(moved)) = (problem.axes, &multipliers.moved) {
        let u = moved.row(if moved.nrows() == 1 { 0 } else { i });
        let length = vector::norm(u);
        if length.is_finite() {
            let scale = 1.0 / length.max(1.0);
            for ((o, u), axis) in out.iter_mut().zip(u).zip(axes.of(i)) {
                *o -= scale * u * axis;
            }
        }
    }
}

/// `$H$`.
fn entropy(loss: WorstLoss, slope: f64) -> f64 {
    let term = |t: f64| if t > 0.0 { -t * t.ln() } else { 0.0 };
    match loss {
        WorstLoss::Hinge => slope,
        WorstLoss::Logistic => term(slope) + term(1.0 - slope),
    }
}

/// The multipliers, moved so that all constraints hold; `None` where the label correction leaves no way to balance
/// the classes.
fn feasible(problem: &WorstCase<'_>, multipliers: &Multipliers) -> Option<Feasible> {
    let counts = counted(problem, &multipliers.counts);
    let slope = |i: usize| {
        let given = multipliers.counts[i];
        let slope = if given > 0.0 { multipliers.pulls[i] / given - problem.kappa(i) } else { 0.0 };
        if slope.is_nan() { 0.0 } else { slope.clamp(0.0, 1.0) }
    };
    let mut slopes: Vec<f64> = (0..counts.len()).map(slope).collect();
    if problem.intercept {
        balance(problem, &counts, &mut slopes)?;
    }
    Some(Feasible { counts, slopes })
}

/// Counts within their caps that add up to 1, or to less where no loss is negative.
fn counted(problem: &WorstCase<'_>, given: &[f64]) -> Vec<f64> {
    let correcting = problem.kappas.0 > 0.0 || problem.kappas.1 > 0.0;
    if problem.whole() && problem.loss == WorstLoss::Logistic {
        return problem.shares.to_vec();
    }
    let clipped = |(i, a): (usize, &f64)| {
        if a.is_nan() { 0.0 } else { a.clamp(0.0, problem.cap(i)) }
    };
    let mut counts: Vec<f64> = given.iter().enumerate().map(clipped).collect();
    let total: f64 = counts.iter().sum();
    if total > 1.0 {
        vector::scale(&mut counts, 1.0 / total);
    } else if correcting && total < 1.0 {
        let room: f64 = counts.iter().enumerate().map(|(i, a)| problem.cap(i) - a).sum();
        let part = if room > 0.0 { ((1.0 - total) / room).min(1.0) } else { 0.0 };
        counts.iter_mut().enumerate().for_each(|(i, a)| *a += part * (problem.cap(i) - *a));
    }
    counts
}

/// Lowers the slopes of the class that pulls harder until both pull equally.
fn balance(problem: &WorstCase<'_>, counts: &[f64], slopes: &mut [f64]) -> Option<()> {
    let mut base = [0.0; 2];
    let mut own = [0.0; 2];
    for (i, a) in counts.iter().enumerate() {
        let class = usize::from(problem.y[i] > 0.0);
        base[class] += a * problem.kappa(i);
        own[class] += a * slopes[i];
    }
    let pull = [base[0] + own[0], base[1] + own[1]];
    let heavy = usize::from(pull[1] > pull[0]);
    let target = pull[1 - heavy] - base[heavy];
    if target < 0.0 {
        return None;
    }
    let scale = if own[heavy] > 0.0 { (target / own[heavy]).min(1.0) } else { 1.0 };
    for (i, slope) in slopes.iter_mut().enumerate() {
        if usize::from(problem.y[i] > 0.0) == heavy {
            *slope *= scale;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::Dense;
    use crate::robust::worst_problem::{HalfAxes, Losable};

    const ROWS: usize = 5;

    /// Rows, a plane and multipliers, feasible or not.
    #[derive(Debug, Clone)]
    struct Case {
        x: Vec<f64>,
        plane: (Vec<f64>, f64),
        counts: Vec<f64>,
        pulls: Vec<f64>,
        deleted: Vec<f64>,
        moved: Vec<f64>,
        worst_share: f64,
        kappas: (f64, f64),
        kind: (bool, bool, bool, bool),
    }

    fn cases() -> impl Strategy<Value = Case> {
        let numbers =
            |least: f64, most: f64, count: usize| prop::collection::vec(least..most, count);
        (
            numbers(-3.0, 3.0, 3 * ROWS),
            (numbers(-2.0, 2.0, 3), -2.0..2.0_f64),
            numbers(-0.2, 1.5, ROWS),
            numbers(-0.2, 1.5, ROWS),
            numbers(-0.5, 1.5, 2 * ROWS),
            numbers(-2.0, 2.0, 3 * ROWS),
            prop_oneof![Just(1.0), 0.3..1.0_f64],
            prop_oneof![Just((0.0, 0.0)), (0.0..0.4_f64, 0.0..0.4_f64)],
            any::<(bool, bool, bool, bool)>(),
        )
            .prop_map(
                |(x, plane, counts, pulls, deleted, moved, worst_share, kappas, kind)| Case {
                    x,
                    plane,
                    counts,
                    pulls,
                    deleted,
                    moved,
                    worst_share,
                    kappas,
                    kind,
                },
            )
    }

    fn interval(case: &Case) -> Certificate {
        let (hinge, intercept, erring, losing) = case.kind;
        let x = Dense::from_rows(ROWS, 3, case.x.clone());
        let axes = HalfAxes::Each(Dense::from_fn(ROWS, 3, |i, j| 0.1 * ((i + 2 * j) % 4) as f64));
        let losable = Losable { columns: vec![0, 2], budget: 1.3, centre: vec![0.0, 0.5] };
        let problem = WorstCase {
            x: &x,
            y: &[1.0, -1.0, 1.0, -1.0, -1.0],
            shares: &[0.1, 0.3, 0.2, 0.15, 0.25],
            worst_share: case.worst_share,
            alpha: 0.3,
            loss: if hinge { WorstLoss::Hinge } else { WorstLoss::Logistic },
            kappas: if hinge { (0.0, 0.0) } else { case.kappas },
            axes: erring.then_some(&axes),
            losable: losing.then_some(&losable),
            intercept,
        };
        let b = if intercept { case.plane.1 } else { 0.0 };
        let plane = Plane { w: case.plane.0.clone(), b };
        let multipliers = Multipliers {
            counts: case.counts.clone(),
            pulls: case.pulls.clone(),
            deleted: losing.then(|| Dense::from_rows(ROWS, 2, case.deleted.clone())),
            moved: erring.then(|| Dense::from_rows(ROWS, 3, case.moved.clone())),
        };
        certify(&problem, &plane, &multipliers)
    }

    proptest! {
        /// Weak duality: no multipliers prove more than any plane reaches.
        #[test]
        fn no_bound_exceeds_the_objective_of_any_plane(case in cases()) {
            let found = interval(&case);
            prop_assert!(found.dual <= found.primal + 1e-12 * found.primal.abs().max(1.0), "{found:?}");
        }
    }

    /// Numbers that are none prove little, but nothing wrong.
    #[test]
    fn multipliers_that_are_not_numbers_prove_nothing_wrong() {
        let nan = |count: usize| vec![f64::NAN; count];
        let case = Case {
            x: vec![1.0; 3 * ROWS],
            plane: (vec![0.0; 3], 0.0),
            counts: nan(ROWS),
            pulls: nan(ROWS),
            deleted: nan(2 * ROWS),
            moved: nan(3 * ROWS),
            worst_share: 0.5,
            kappas: (0.0, 0.0),
            kind: (false, true, true, true),
        };
        let found = interval(&case);
        assert!(found.dual <= found.primal, "{found:?}");
    }
}
