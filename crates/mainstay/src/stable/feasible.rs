//! Dual points made feasible: any numbers come in, multipliers that prove something go out.

use super::certificate::Dual;
use super::problem::{Problem, RowLoss};
use crate::linalg::vector::{self, clip};
use crate::linalg::{Compensated, Dense, thin_qr};

/// Part of all flow between classes that may be rounding.
const ROUNDING: f64 = 1e-12;

/// Multipliers are clipped to the domain of the conjugate, and those of the heavier sign are shrunk until all
/// add up to zero; both keep them in that (convex) domain, which contains 0. For squared hinges any `$\alpha$` of the
/// right sign will do, and the best shares follow from them ([`cheapest_shares`]).
pub(super) fn feasible(problem: &Problem<'_>, dual: &Dual) -> Dual {
    let q = problem.q();
    let Dual { mut share, mut alpha } = dual.clone();
    if problem.loss == RowLoss::SquaredHinge {
        clip_signs(problem, |_| f64::MAX, &mut alpha);
        if problem.fit_intercept {
            balance_signs(q, &mut alpha);
        }
        return Dual { share: cheapest_shares(problem, &alpha), alpha };
    }
    share.iter_mut().zip(problem.weights).for_each(|(a, c)| *a = clip(*a, *c));
    let mut total = Compensated::default();
    for a in &share {
        total.add(*a);
    }
    let total = total.value();
    if total > problem.k {
        vector::scale(&mut share, problem.k / total);
        vector::scale(&mut alpha, problem.k / total);
    }
    if problem.loss == RowLoss::Logistic && q > 1 {
        clip_softmax(problem, &share, &mut alpha);
        if problem.fit_intercept {
            balance_softmax(problem, &mut alpha);
        }
    } else {
        clip_signs(problem, |i| share[i], &mut alpha);
        if problem.fit_intercept {
            balance_signs(q, &mut alpha);
        }
    }
    Dual { share, alpha }
}

/// The shares that take least from the bound of squared hinges: over `$0 \le a \le c$` and `$\sum a \le k$`,
/// `$\sum_i \|\alpha_i\|^2 / 4a_i$` is least for `$a_i = \min(c_i, \tau \|\alpha_i\|)$`.
pub(super) fn cheapest_shares(problem: &Problem<'_>, alpha: &[f64]) -> Vec<f64> {
    // The norm of one number is that number: its square has an exact root.
    let size: Vec<f64> = match problem.q() {
        1 => alpha.iter().map(|v| v.abs()).collect(),
        q => alpha.chunks_exact(q).map(vector::norm).collect(),
    };
    let rows = || size.iter().zip(problem.weights);
    let mut tau = 0.0;
    // Newton's method from below: rows that count in full at one tau do so at every larger one.
    loop {
        let (mut room, mut open) = (problem.k, 0.0);
        for (size, c) in rows() {
            if tau * size >= *c { room -= c } else { open += size }
        }
        let further = open > 0.0 && room / open > tau;
        if !further {
            return rows().map(|(size, c)| (tau * size).min(*c)).collect();
        }
        tau = room / open;
    }
}

/// Hinges and the two-class logistic loss: `$\beta = -y\alpha$` in `$[0, a]$`.
fn clip_signs(problem: &Problem<'_>, a: impl Fn(usize) -> f64, alpha: &mut [f64]) {
    for (i, alpha) in alpha.chunks_exact_mut(problem.q()).enumerate() {
        for (j, v) in alpha.iter_mut().enumerate() {
            let sign = problem.target.sign(i, j);
            *v = -sign * clip(-sign * *v, a(i));
        }
    }
}

/// Softmax: `$\alpha_i = a_i(\pi - e_y)$` with `$\pi$` in the simplex.
fn clip_softmax(problem: &Problem<'_>, a: &[f64], alpha: &mut [f64]) {
    // Nothing can flow back from a class without rows.
    let mut present = vec![false; problem.q()];
    (0..problem.n()).for_each(|i| present[problem.target.label(i)] = true);
    for (i, alpha) in alpha.chunks_exact_mut(problem.q()).enumerate() {
        let own = problem.target.label(i);
        let mut moved = 0.0;
        for (j, v) in alpha.iter_mut().enumerate().filter(|(j, _)| *j != own) {
            *v = if present[j] { clip(*v, a[i]) } else { 0.0 };
            moved += *v;
        }
        let shrink = if moved > a[i] { a[i] / moved } else { 1.0 };
        vector::scale(alpha, shrink);
        alpha[own] = -moved * shrink;
    }
}

/// For every score, shrinks the multipliers of the heavier sign so that all add up to zero.
fn balance_signs(q: usize, alpha: &mut [f64]) {
    for j in 0..q {
        let (mut up, mut down) = (Compensated::default(), Compensated::default());
        for v in alpha.iter().skip(j).step_by(q) {
            if *v > 0.0 { up.add(*v) } else { down.add(-v) }
        }
        let (up, down) = (up.value(), down.value());
        let (shrink_up, shrink_down) = if up > down { (down / up, 1.0) } else { (1.0, up / down) };
        for v in alpha.iter_mut().skip(j).step_by(q) {
            *v *= if *v > 0.0 { shrink_up } else { shrink_down };
        }
    }
    // 0/0 when all multipliers of a score are zero.
    for v in alpha.iter_mut().filter(|v| v.is_nan()) {
        *v = 0.0;
    }
}

/// Shrinks the multipliers of all rows of a class together so that those of every score add up to zero.
///
/// The mass that rows of class `$l$` move to class `$j$` is a flow `$N_{lj}$`; factors `$\tau$` with
/// `$\sum_l \tau_l N_{lj} = \tau_j \sum_l N_{jl}$` make it a circulation. They are the stationary
/// measure of a Markov chain on the classes, close to 1 near the optimum.
fn balance_softmax(problem: &Problem<'_>, alpha: &mut [f64]) {
    let q = problem.q();
    let mut flow = Dense::zeros(q, q);
    for (i, alpha) in alpha.chunks_exact(q).enumerate() {
        vector::axpy(1.0, alpha, flow.row_mut(problem.target.label(i)));
    }
    let tau = stationary(&flow);
    let mut left = vec![0.0; q];
    for (i, alpha) in alpha.chunks_exact_mut(q).enumerate() {
        vector::scale(alpha, tau[problem.target.label(i)]);
        vector::axpy(1.0, alpha, &mut left);
    }
    // More than rounding left over (classes that exchange nothing): only zero multipliers add up.
    let balanced = vector::norm_1(&left) <= ROUNDING * vector::norm_1(flow.data());
    if !balanced {
        alpha.fill(0.0);
    }
}

/// `$\tau \ge 0$`, largest entry 1, with `$\tau^\top F = 0$` for a matrix whose rows sum to zero and
/// whose entries off the diagonal are not negative.
fn stationary(flow: &Dense) -> Vec<f64> {
    let q = flow.nrows();
    // The left null vector is the last column of Q in F = QR when F has rank q - 1.
    let (basis, _) = thin_qr(flow);
    let mut tau = basis.column(q - 1);
    let top = tau.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
    for v in &mut tau {
        *v = if top == 0.0 { 1.0 } else { (*v / top).max(0.0) };
    }
    tau
}
