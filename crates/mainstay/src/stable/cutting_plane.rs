//! The paper's Algorithm 1, repaired: cutting planes for the worst-case loss.

use super::certificate::Dual;
use super::problem::{Problem, worst_sum};
use super::row_loss::expand;
use super::row_space::Reduced;
use super::simplex_qp::maximise_on_simplex;
use super::solution::{Found, Iterate};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::optim::{Bracket, Budget};

/// A tangent of the worst-case loss, `$e + g^\top v$`, and the multipliers behind it.
struct Cut {
    gradient: Vec<f64>,
    constant: f64,
    dual: Dual,
    /// Its part in the master's last answer.
    part: f64,
    /// Rounds since that was not zero.
    idle: usize,
    /// Products with the gradients of the cuts up to itself.
    products: Vec<f64>,
}

/// Rounds without a part in the master's answer after which a cut is dropped.
const PATIENCE: usize = 25;
/// Part of `k` by which the master keeps an intercept, which has no ridge, near the best one so far.
const ANCHOR: f64 = 0.05;

/// Cutting planes: the worst-case loss is replaced by the largest of its tangents so far, the ridge
/// stays as it is, and the minimiser is where the next tangent is taken.
///
/// Repairs of the printed algorithm: `$w^\top w$` is exact in the master (its tangents leave a linear
/// program that is unbounded without a box and converges far more slowly), the first cut is taken at
/// `$w_0 = 0$`, and the counter advances. The intercept, which the paper leaves out, has no ridge; it is
/// kept near the best one so far by a quadratic term that vanishes in the limit. The master is solved
/// in its dual, one variable per cut; these variables also mix the cuts' multipliers into the dual
/// point that proves the gap. One round costs two products with the data.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let mut planes = Planes::new(problem, reduced);
    while budget.take()? {
        planes.cut();
        let next = planes.minimise();
        let best = planes.best.certificate();
        if best.primal - best.dual <= budget.tol() * best.primal.abs() {
            break;
        }
        planes.drop_idle();
        planes.v = next;
    }
    let proven = planes.best.lower();
    if let (Some(v), Some(dual)) = planes.best.into_points() {
        let hyperplanes = reduced.hyperplanes(&v);
        let primal = reduced.objective(problem, &v, &hyperplanes);
        found.offer_primal(primal, || Iterate { v, hyperplanes });
        found.offer_dual(proven, || dual);
    }
    Ok(())
}

/// The tangents so far, where the next one is taken, and the best answers.
struct Planes<'r, 'a> {
    problem: &'r Problem<'a>,
    reduced: &'r Reduced<'a>,
    /// One over the ridge for weights, over what keeps it near for an intercept.
    metric: Vec<f64>,
    is_weight: Vec<bool>,
    ridge: f64,
    cuts: Vec<Cut>,
    v: Vec<f64>,
    best: Bracket<Vec<f64>, Dual>,
}

impl<'r, 'a> Planes<'r, 'a> {
    fn new(problem: &'r Problem<'a>, reduced: &'r Reduced<'a>) -> Self {
        let columns = reduced.features.z.ncols();
        let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
        let anchor = ANCHOR * problem.k;
        let v = vec![0.0; problem.q() * columns];
        let is_weight: Vec<bool> =
            (0..v.len()).map(|at| at % columns < reduced.features.m).collect();
        let metric =
            is_weight.iter().map(|w| if *w { 1.0 / ridge } else { 1.0 / anchor }).collect();
        let mut best = Bracket::new();
        // Losses are not negative, which zero multipliers prove.
        best.offer_dual(0.0, || zero_multipliers(problem));
        Self { problem, reduced, metric, is_weight, ridge, cuts: Vec::new(), v, best }
    }

    /// Takes the tangent at `v`.
    fn cut(&mut self) {
        let (cut, worst) = tangent(self.problem, self.reduced, &self.v);
        let weights = self.v.iter().zip(&self.is_weight).filter(|(_, is_weight)| **is_weight);
        let size: f64 = weights.map(|(v, _)| v * v).sum();
        let primal = self.problem.scale * (0.5 * self.ridge * size + worst);
        self.best.offer_primal(primal, || self.v.clone());
        self.cuts.push(cut);
    }

    /// Solves the master problem: the minimiser under the tangents so far. Their parts in it make the dual point.
    fn minimise(&mut self) -> Vec<f64> {
        let best = self.best.point().unwrap_or(&self.v);
        let center: Vec<f64> =
            best.iter().zip(&self.is_weight).map(|(v, w)| if *w { 0.0 } else { *v }).collect();
        // The zero cut says that losses are not negative.
        let mut linear = vec![0.0];
        linear.extend(self.cuts.iter().map(|c| c.constant + vector::dot(&c.gradient, &center)));
        let mut start = vec![1.0 - self.cuts.iter().map(|c| c.part).sum::<f64>()];
        start.extend(self.cuts.iter().map(|c| c.part));
        let products = gram_of_cuts(&mut self.cuts, &self.metric);
        let mixture = maximise_on_simplex(&products, &linear, &start);

        let mut adjoint = vec![0.0; self.v.len()];
        let mut dual = zero_multipliers(self.problem);
        for (cut, &part) in self.cuts.iter_mut().zip(&mixture[1..]) {
            cut.part = part;
            cut.idle = if part > 0.0 { 0 } else { cut.idle + 1 };
            if part > 0.0 {
                vector::axpy(part, &cut.gradient, &mut adjoint);
                vector::axpy(part, &cut.dual.share, &mut dual.share);
                vector::axpy(part, &cut.dual.alpha, &mut dual.alpha);
            }
        }
        self.best.offer_dual(self.reduced.bound(self.problem, &dual), || dual);
        let step = adjoint.iter().zip(&self.metric).map(|(g, m)| g * m);
        center.iter().zip(step).map(|(c, step)| c - step).collect()
    }

    fn drop_idle(&mut self) {
        let stays: Vec<bool> = self.cuts.iter().map(|cut| cut.idle < PATIENCE).collect();
        for cut in &mut self.cuts {
            let mut at = 0;
            cut.products.retain(|_| {
                at += 1;
                stays[at - 1]
            });
        }
        self.cuts.retain(|cut| cut.idle < PATIENCE);
    }
}

/// Multipliers of zero.
fn zero_multipliers(problem: &Problem<'_>) -> Dual {
    Dual { share: vec![0.0; problem.n()], alpha: vec![0.0; problem.n() * problem.q()] }
}

/// All products of the cuts' gradients in `metric`, with a zero cut before them. Only those of the newest
/// are computed.
fn gram_of_cuts(cuts: &mut [Cut], metric: &[f64]) -> Dense {
    if let Some((newest, _)) = cuts.split_last() {
        let scaled: Vec<f64> = newest.gradient.iter().zip(metric).map(|(g, m)| g * m).collect();
        let products = cuts.iter().map(|cut| vector::dot(&cut.gradient, &scaled)).collect();
        if let Some(newest) = cuts.last_mut() {
            newest.products = products;
        }
    }
    let mut matrix = Dense::zeros(cuts.len() + 1, cuts.len() + 1);
    for (i, cut) in cuts.iter().enumerate() {
        matrix.row_mut(i + 1)[1..i + 2].copy_from_slice(&cut.products);
    }
    matrix.mirror_lower();
    matrix
}

/// The tangent of the worst-case loss at `v`, and the loss there.
fn tangent(problem: &Problem<'_>, reduced: &Reduced<'_>, v: &[f64]) -> (Cut, f64) {
    let q = problem.q();
    let f = reduced.features.scores(v);
    let losses = problem.losses(&f);
    let worst = worst_sum(&losses, problem.weights, problem.k);
    let share = shares(problem, &losses, worst.threshold);
    let mut alpha = vec![0.0; f.len()];
    let mut curve = vec![0.0; q * (q + 1) / 2];
    // A row without loss has slope 0, whatever its share.
    for (i, a) in share.iter().enumerate().filter(|(i, a)| **a > 0.0 && losses[*i] > 0.0) {
        let row = i * q..(i + 1) * q;
        expand(problem, i, &f[row.clone()], *a, &mut alpha[row.clone()], &mut curve);
        vector::scale(&mut alpha[row], *a);
    }
    let gradient = reduced.features.adjoint(&alpha, q);
    let constant = worst.sum - vector::dot(&gradient, v);
    (
        Cut {
            gradient,
            constant,
            dual: Dual { share, alpha },
            part: 0.0,
            idle: 0,
            products: Vec::new(),
        },
        worst.sum,
    )
}

/// Multipliers of the inner maximum: full weight above the threshold, what is left at it.
#[expect(clippy::float_cmp, reason = "the threshold is one of the losses, bit for bit")]
fn shares(problem: &Problem<'_>, losses: &[f64], threshold: f64) -> Vec<f64> {
    let (mut above, mut level) = (0.0, 0.0);
    for (l, c) in losses.iter().zip(problem.weights) {
        if *l > threshold {
            above += c;
        } else if *l == threshold {
            level += c;
        }
    }
    let part = if level > 0.0 { ((problem.k - above) / level).clamp(0.0, 1.0) } else { 0.0 };
    let share = |(l, c): (&f64, &f64)| {
        if *l > threshold {
            *c
        } else if *l == threshold {
            c * part
        } else {
            0.0
        }
    };
    losses.iter().zip(problem.weights).map(share).collect()
}
