//! Some consecutive rows of the program with their variables, and what can be done to them at once.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use crate::linalg::vector::{axpy, dot, vectorized};
use crate::uncertainty::{Deletions, Gain};

/// Some consecutive rows of the program, with their variables: the unit of parallel work.
///
/// For row `$i$` with nonzeros `$e = (i, j)$`, `$a_e = y_i x_{ij}$`, in the solver's units (see `scaled.rs`):
/// ```math
/// s_e = a_e w_j - v_j(\lambda_i + 1) + \alpha_e \ge 0 \quad (\tau_e), \qquad
///   r_i = P_i\lambda_i - \textstyle\sum_e\alpha_e + y_i b + \xi_i - V^0_i \ge 0 \quad (\sigma_i),
/// ```
/// with multipliers in brackets, and on the dual side
/// ```math
/// q_e = \sigma_i - \tau_e \ge 0, \qquad l_i = \textstyle\sum_e v_j\tau_e - P_i\sigma_i \ge 0, \qquad
///   g_i = \omega_i - \sigma_i \ge 0.
/// ```
/// Only few entries of a row are *active*: those that an adversary at the present weights deletes, or nearly does.
/// The others are *inactive* (see `active_entries.rs`): nobody deletes them, so `$\tau_e = \sigma_i$`, `$s_e = 0$` and
/// `$\alpha_e = v_j(\lambda_i + 1) - a_ew_j$`, and these are substituted out. `$V^0_i$` is the value of the inactive entries
/// and of the zeros of the row, `$P_i = P - V^0_i$`, and `$r_i$` gains the linear term `$\sum a_ew_j$` over the inactive ones.
///
/// Without a budget (`rigid`) every entry of positive value is inactive for good, and `$\lambda$` does not exist.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// All nonzeros of the rows.
    pub all_starts: Vec<usize>,
    pub all_columns: Vec<u32>,
    /// `$a_e$` of the inactive ones, 0 at the active ones.
    pub inactive: Vec<f64>,

    /// The active ones, with their places among all.
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub places: Vec<u32>,
    pub a: Vec<f64>,

    pub y: Vec<f64>,
    pub weight: Vec<f64>,
    /// `$P_i$` and `$V^0_i$`.
    pub need: Vec<f64>,
    pub zeros: Vec<f64>,
    pub rigid: bool,

    pub s: Vec<f64>,
    pub alpha: Vec<f64>,
    pub tau: Vec<f64>,
    pub q: Vec<f64>,
    pub lambda: Vec<f64>,
    pub l: Vec<f64>,
    pub xi: Vec<f64>,
    pub g: Vec<f64>,
    pub r: Vec<f64>,
    pub sigma: Vec<f64>,
    /// What bent steps leave of the equations of `$l$`: `$\sum_e v_j\tau_e - P_i\sigma_i - l_i$` (see `bent.rs`).
    pub short: Vec<f64>,

    /// `$1/(\tau\alpha + qs)$` and `$F = \tau\alpha/(\tau\alpha + qs)$`.
    pub inverse: Vec<f64>,
    pub f: Vec<f64>,
    pub pivots: Vec<Pivot>,

    /// The dual point with the largest value so far, at all nonzeros.
    pub best_tau: Vec<f64>,
    pub best_sigma: Vec<f64>,

    /// The direction to be taken.
    pub step: Move,
    /// The direction being computed.
    pub trial: Move,
}

/// The 2 x 2 system `$\begin{pmatrix} A & G\\ -G & H\end{pmatrix}$` that couples a row's `$\lambda$` and `$\sigma$`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pivot {
    pub a: f64,
    pub g: f64,
    pub h: f64,
    pub det: f64,
    /// The entry with the largest share of `$A$`, and `$A$` without it.
    pub top: usize,
    pub rest: f64,
}

/// A direction for the variables of a block. `$ds$`, `$dq$` and `$dg$` follow from the others.
#[derive(Debug, Default)]
pub(super) struct Move {
    pub alpha: Vec<f64>,
    pub tau: Vec<f64>,
    pub lambda: Vec<f64>,
    pub l: Vec<f64>,
    pub xi: Vec<f64>,
    pub r: Vec<f64>,
    pub sigma: Vec<f64>,
}

impl Move {
    pub(super) fn resize(&mut self, entries: usize, rows: usize) {
        for part in [&mut self.alpha, &mut self.tau] {
            part.resize(entries, 0.0);
        }
        for part in [&mut self.lambda, &mut self.l, &mut self.xi, &mut self.r, &mut self.sigma] {
            part.resize(rows, 0.0);
        }
    }

    fn clear(&mut self) {
        for part in [
            &mut self.alpha,
            &mut self.tau,
            &mut self.lambda,
            &mut self.l,
            &mut self.xi,
            &mut self.r,
            &mut self.sigma,
        ] {
            part.fill(0.0);
        }
    }
}

/// What the step of a block is still to be given, so that it matches that of the weights.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum PendingStep {
    #[default]
    Nothing,
    /// Start again from no step.
    FromZero,
    /// `step` and `trial` changed places.
    Swapped,
    /// `step` += weight * `trial` was done for the weights, with a weight of its own for either side.
    Trial { primal: f64, dual: f64 },
}

/// What all rows share: values of the features, and a direction for the weights and the intercept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer<'a> {
    pub values: &'a [f64],
    pub w: &'a [f64],
    pub b: f64,
}

/// The entries of `from` at the columns of a row; `from` itself where the row has them all.
#[inline(always)]
pub(super) fn pick<'a>(from: &'a [f64], columns: &[u32], room: &'a mut Vec<f64>) -> &'a [f64] {
    if columns.len() == from.len() {
        return from;
    }
    // Not by `extend`, which is a call for every row.
    if room.len() < columns.len() {
        room.resize(from.len(), 0.0);
    }
    let picked = &mut room[..columns.len()];
    for (k, &j) in columns.iter().enumerate() {
        picked[k] = from[j as usize];
    }
    picked
}

/// Puts the entries of a row at its columns.
#[inline(always)]
pub(super) fn place(from: &[f64], columns: &[u32], to: &mut [f64]) {
    if let Some(to) = whole(columns, to) {
        to.copy_from_slice(from);
    } else {
        for (k, &j) in columns.iter().enumerate() {
            to[j as usize] = from[k];
        }
    }
}

/// Adds a multiple of the entries of a row at its columns.
#[inline(always)]
pub(super) fn add(by: f64, from: &[f64], columns: &[u32], to: &mut [f64]) {
    if let Some(to) = whole(columns, to) {
        axpy(by, from, to);
    } else {
        for (k, &j) in columns.iter().enumerate() {
            to[j as usize] += by * from[k];
        }
    }
}

/// The beginning of `to` that a row without gaps covers.
fn whole<'a>(columns: &[u32], to: &'a mut [f64]) -> Option<&'a mut [f64]> {
    let last = columns.last().map_or(0, |j| *j as usize + 1);
    (last == columns.len()).then(|| &mut to[..last])
}

impl Block {
    pub(super) fn rows(&self) -> usize {
        self.y.len()
    }

    /// Complementary products and how many there are.
    #[inline(always)]
    pub(super) fn products(&self) -> (f64, usize) {
        let mut sum = dot(&self.s, &self.tau) + dot(&self.alpha, &self.q);
        sum += dot(&self.xi, &self.g) + dot(&self.r, &self.sigma);
        if self.rigid {
            (sum, 2 * (self.a.len() + self.rows()))
        } else {
            (sum + dot(&self.lambda, &self.l), 2 * self.a.len() + 3 * self.rows())
        }
    }

    /// Gives `step` what it is still to be given.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, pending: PendingStep) {
        let (primal, dual) = match pending {
            PendingStep::Nothing => return,
            PendingStep::FromZero => return self.step.clear(),
            PendingStep::Swapped => return std::mem::swap(&mut self.step, &mut self.trial),
            PendingStep::Trial { primal, dual } => (primal, dual),
        };
        let (one, two) = (&mut self.step, &self.trial);
        let add = |x: &mut [f64], y: &[f64], weight: f64| {
            if weight != 0.0 {
                axpy(weight, y, x);
            }
        };
        add(&mut one.alpha, &two.alpha, primal);
        add(&mut one.lambda, &two.lambda, primal);
        add(&mut one.xi, &two.xi, primal);
        add(&mut one.r, &two.r, primal);
        add(&mut one.tau, &two.tau, dual);
        add(&mut one.sigma, &two.sigma, dual);
        add(&mut one.l, &two.l, dual);
    }

    /// Moves along `step`.
    #[inline(always)]
    pub(super) fn advance(&mut self, outer: Outer<'_>, primal: f64, dual: f64) {
        let step = &self.step;
        let mut room = [Vec::new(), Vec::new()];
        let [room_v, room_w] = &mut room;
        for i in 0..self.y.len() {
            let row = self.starts[i]..self.starts[i + 1];
            let columns = &self.columns[row.clone()];
            let (v, w) = (pick(outer.values, columns, room_v), pick(outer.w, columns, room_w));
            let (a, alpha, tau) =
                (&self.a[row.clone()], &step.alpha[row.clone()], &step.tau[row.clone()]);
            let (d_lambda, d_sigma) = (step.lambda[i], step.sigma[i]);
            let rates = a.iter().zip(w).zip(v.iter().zip(alpha));
            for (s, ((a, w), (v, d_alpha))) in self.s[row.clone()].iter_mut().zip(rates) {
                *s += primal * (a * w - v * d_lambda + d_alpha);
            }
            for (q, d_tau) in self.q[row].iter_mut().zip(tau) {
                *q += dual * (d_sigma - d_tau);
            }
        }
        axpy(primal, &step.alpha, &mut self.alpha);
        axpy(dual, &step.tau, &mut self.tau);
        axpy(primal, &step.lambda, &mut self.lambda);
        axpy(primal, &step.xi, &mut self.xi);
        axpy(primal, &step.r, &mut self.r);
        axpy(dual, &step.sigma, &mut self.sigma);
        axpy(-dual, &step.sigma, &mut self.g);
        axpy(dual, &step.l, &mut self.l);
    }

    /// The inactive entries of row `i`, with their columns.
    #[inline(always)]
    pub(super) fn inactive(&self, i: usize) -> (&[f64], &[u32]) {
        let row = self.all_starts[i]..self.all_starts[i + 1];
        (&self.inactive[row.clone()], &self.all_columns[row])
    }

    /// The active entries of row `i`: their columns and `$a_e$`.
    #[inline(always)]
    pub(super) fn active(&self, i: usize) -> (&[u32], &[f64]) {
        let row = self.starts[i]..self.starts[i + 1];
        (&self.columns[row.clone()], &self.a[row])
    }

    /// Whether every nonzero of row `i` has variables.
    #[inline(always)]
    pub(super) fn all_active(&self, i: usize) -> bool {
        self.starts[i + 1] - self.starts[i] == self.all_starts[i + 1] - self.all_starts[i]
    }

    /// Adds `$\sum_e a_e\tau_e$` to the columns and returns (`$\sum_i\omega_i\xi_i$`, `$\sum_e v_j\tau_e + \sum_i V^0_i\sigma_i$`,
    /// `$\sum_i y_i\sigma_i$`).
    #[inline(always)]
    pub(super) fn totals(&self, values: &[f64], gradient: &mut [f64]) -> [f64; 3] {
        let mut kept = dot(&self.zeros, &self.sigma);
        for (i, bounds) in self.starts.windows(2).enumerate() {
            let row = bounds[0]..bounds[1];
            let (columns, a) = (&self.columns[row.clone()], &self.a[row.clone()]);
            if row.len() == gradient.len() {
                let tau = &self.tau[row];
                for ((sum, a), tau) in gradient.iter_mut().zip(a).zip(tau) {
                    *sum += a * tau;
                }
                kept += dot(values, tau);
                continue;
            }
            let (inactive, all) = self.inactive(i);
            add(self.sigma[i], inactive, all, gradient);
            for ((&j, a), tau) in columns.iter().zip(a).zip(&self.tau[row]) {
                gradient[j as usize] += a * tau;
                kept += values[j as usize] * tau;
            }
        }
        [dot(&self.weight, &self.xi), kept, dot(&self.y, &self.sigma)]
    }

    /// The rows' losses at `w` before intercept and hinge, by the fractional adversary itself.
    pub(super) fn shortfalls(&self, w: &[f64], set: &Deletions, items: &mut Vec<Gain>) -> Vec<f64> {
        let mut room = Vec::new();
        let mut row = |i: usize, items: &mut Vec<Gain>| {
            items.clear();
            let (columns, a) = self.active(i);
            let whole = self.all_active(i);
            let mut score =
                if whole { vectorized!(dot(a, pick(w, columns, &mut room))) } else { 0.0 };
            let mut see = |j: u32, aw: f64| {
                let feature = j as usize;
                let gain = aw - set.values()[feature];
                if gain > 0.0 {
                    items.push(Gain { feature, gain });
                }
            };
            if whole {
                columns.iter().zip(a).for_each(|(&j, a)| see(j, a * w[j as usize]));
            } else {
                let (inactive, all) = self.inactive(i);
                let active = columns.iter().zip(a);
                for (&j, a) in active.chain(all.iter().zip(inactive)) {
                    let aw = a * w[j as usize];
                    score += aw;
                    see(j, aw);
                }
            }
            set.total() - score + set.fractional(items)
        };
        (0..self.rows()).map(|i| row(i, items)).collect()
    }
}
