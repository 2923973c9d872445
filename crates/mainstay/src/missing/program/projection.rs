//! Removes what is left of a dual point's equations by a small change of its deletions.
//!
//! Bent steps leave residuals `$\rho_j = \sum_i a_e\tau_e - z_j$` of the columns, where `$z$` are the multipliers of the box, and
//! rows that fall short by `$\delta_i = P_i\sigma_i - \sum_j v_j\tau_e > 0$`. A bound pays `$C$` for every unit of `$\rho$`, so that no
//! residual that matters may stay. Of all changes of `$\tau$` that remove both, this is the one that is smallest in units of the room
//! that entries have, `$\sum_e (d\tau_e/\min(\tau_e, q_e))^2$`:
//! ```math
//! d\tau_e = W_e(a_e\eta_j + v_j\zeta_i), \qquad W_e = \min(\tau_e, q_e)^2,
//! ```
//! ```math
//! D_j = \sum_i W_ea_e^2, \quad B_{ij} = W_ea_ev_j, \quad
//!   \Big(\mathrm{diag}\big(\textstyle\sum_j W_ev_j^2\big) - BD^{-1}B^\top\Big)\zeta = \delta + BD^{-1}\rho, \quad
//!   D\eta = -\rho - B^\top\zeta.
//! ```
//! Entries that would leave their range stay at its end; the next round removes what that leaves.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, add, pick};
use super::normal_equations::regularised;
use super::row_stack::RowStack;
use super::scaled::Scaled;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::linalg::{Dense, Matrix};

/// What a row may fall short of its value as a share of it: it goes when the point is scaled to be feasible.
const SHORTFALL: f64 = 1e-12;
/// Rounds, at most.
const ROUNDS: usize = 6;
/// Share of the gap allowed that the residuals may cost when no further round follows.
const ENOUGH: f64 = 0.02;
/// A diagonal entry is at least this share of what it is the difference of: less is rounding.
const ROUNDING: f64 = 1e-12;

/// A dual point that is being moved.
pub(super) struct Projection<'a> {
    scaled: &'a Scaled,
    /// What the columns' sums `$\sum_i a_e\tau_e$` are to be.
    sums: &'a [f64],
    /// `$\sigma$` and, entry by entry, `$\tau$` of all blocks.
    sigma: Vec<f64>,
    tau: Vec<f64>,
}

/// What a round needs of the point.
struct Residuals {
    /// `$W$` of every entry.
    room: Vec<f64>,
    /// `$\rho$` and `$D^{-1/2}$` of the columns.
    columns: Vec<f64>,
    root: Vec<f64>,
    /// `$\delta$` and `$\sum_j W_ev_j^2$` of the rows.
    short: Vec<f64>,
    rows: Vec<f64>,
}

impl<'a> Projection<'a> {
    /// The present dual point of a program with variables at all entries; the heavier class is scaled down to the lighter
    /// one if they are to be balanced.
    pub(super) fn new(scaled: &'a Scaled, sums: &'a [f64], balanced: bool) -> Self {
        let mut totals = [0.0; 2];
        for block in &scaled.blocks {
            for (y, sigma) in block.y.iter().zip(&block.sigma) {
                totals[usize::from(*y > 0.0)] += sigma;
            }
        }
        let least = totals[0].min(totals[1]);
        let shares = totals.map(|total| if balanced && total > 0.0 { least / total } else { 1.0 });
        let (mut sigma, mut tau) = (Vec::new(), Vec::new());
        for (block, i) in rows(&scaled.blocks) {
            let share = shares[usize::from(block.y[i] > 0.0)];
            sigma.push(share * block.sigma[i]);
            tau.extend(block.tau[block.starts[i]..block.starts[i + 1]].iter().map(|t| share * t));
        }
        Self { scaled, sums, sigma, tau }
    }

    /// `$\sigma$` and `$\tau$`.
    pub(super) fn into_parts(self) -> (Vec<f64>, Vec<f64>) {
        (self.sigma, self.tau)
    }

    /// Rounds until the residuals cost a small share of `allowed`, or no further one is possible.
    pub(super) fn run(&mut self, allowed: f64) {
        for _ in 0..ROUNDS {
            let residuals = vectorized!(self.residuals());
            let columns = residuals.columns.iter().zip(&self.scaled.boxes);
            let cost: f64 = columns.map(|(rho, c)| c * rho.abs()).sum();
            let short = residuals.short.iter().any(|delta| *delta > 0.0);
            if (cost <= ENOUGH * allowed && !short) || !cost.is_finite() {
                return;
            }
            let Ok((eta, zeta)) = self.solve(&residuals) else { return };
            vectorized!(self.advance(&residuals.room, &eta, &zeta));
        }
    }

    #[inline(always)]
    fn residuals(&self) -> Residuals {
        let p = self.sums.len();
        let (mut columns, mut root) = (vec![0.0; p], vec![0.0; p]);
        let (mut short, mut totals) = (Vec::new(), Vec::new());
        let mut room = vec![0.0; self.tau.len()];
        let (mut of_sum, mut of_d, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = 0;
        for ((block, i), &sigma) in rows(&self.scaled.blocks).zip(&self.sigma) {
            let (at, a) = block.active(i);
            let n = a.len();
            let v = &pick(self.scaled.deletions.values(), at, &mut values)[..n];
            let (tau, w) = (&self.tau[first..first + n], &mut room[first..first + n]);
            of_sum.resize(n, 0.0);
            of_d.resize(n, 0.0);
            let (of_sum, of_d, a) = (&mut of_sum[..n], &mut of_d[..n], &a[..n]);
            let (mut kept, mut total) = (0.0, 0.0);
            for k in 0..n {
                let least = tau[k].min(sigma - tau[k]).max(0.0);
                w[k] = least * least;
                of_sum[k] = a[k] * tau[k];
                of_d[k] = w[k] * a[k] * a[k];
            }
            for k in 0..n {
                kept += v[k] * tau[k];
                total += w[k] * v[k] * v[k];
            }
            add(1.0, of_sum, at, &mut columns);
            add(1.0, of_d, at, &mut root);
            let need = block.need[i] * sigma;
            short.push(if need - kept > SHORTFALL * need { need - kept } else { 0.0 });
            totals.push(total);
            first += n;
        }
        vector::axpy(-1.0, self.sums, &mut columns);
        for d in &mut root {
            *d = if *d > 0.0 { 1.0 / d.sqrt() } else { 0.0 };
        }
        Residuals { room, columns, root, short, rows: totals }
    }

    /// `$\eta$` and `$\zeta$`.
    fn solve(&self, residuals: &Residuals) -> Result<(Vec<f64>, Vec<f64>)> {
        let Residuals { columns, root, short, rows, .. } = residuals;
        let b = self.coupling(residuals)?;
        let gram = b.outer_gram();
        let scale: Vec<f64> = (0..rows.len())
            .map(|i| (rows[i] - gram[(i, i)]).max(ROUNDING * rows[i]))
            .map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 })
            .collect();
        let scaled = |i: usize, j: usize| -scale[i] * gram[(i, j)] * scale[j];
        let factor = regularised(&mut Dense::from_fn(rows.len(), rows.len(), scaled))?;
        let rho: Vec<f64> = columns.iter().zip(root).map(|(rho, root)| rho * root).collect();
        let mut zeta = b.mul_vec(&rho);
        for ((z, delta), scale) in zeta.iter_mut().zip(short).zip(&scale) {
            *z = scale * (*z + delta);
        }
        factor.solve_in_place(&mut zeta);
        for (z, scale) in zeta.iter_mut().zip(&scale) {
            *z *= scale;
        }
        let mut eta = b.tr_mul_vec(&zeta);
        for ((eta, rho), root) in eta.iter_mut().zip(&rho).zip(root) {
            *eta = -root * (rho + *eta);
        }
        Ok((eta, zeta))
    }

    /// `$BD^{-1/2}$`.
    fn coupling(&self, residuals: &Residuals) -> Result<Matrix> {
        let mut stack = RowStack::new(self.sigma.len(), residuals.root.len(), self.tau.len());
        let (mut first, mut line) = (0, Vec::new());
        for (row, (block, i)) in rows(&self.scaled.blocks).enumerate() {
            let (at, a) = block.active(i);
            let w = &residuals.room[first..first + a.len()];
            line.clear();
            line.extend(at.iter().zip(a).zip(w).map(|((&j, a), w)| {
                let j = j as usize;
                w * a * self.scaled.deletions.values()[j] * residuals.root[j]
            }));
            stack.set(row, at, &line);
            first += a.len();
        }
        stack.finish()
    }

    #[inline(always)]
    fn advance(&mut self, room: &[f64], eta: &[f64], zeta: &[f64]) {
        let mut rest = (self.tau.as_mut_slice(), room);
        let (mut values, mut prices) = (Vec::new(), Vec::new());
        let all = rows(&self.scaled.blocks).zip(self.sigma.iter().zip(zeta));
        for ((block, i), (&sigma, zeta)) in all {
            let (at, a) = block.active(i);
            let n = a.len();
            let (tau, tau_rest) = rest.0.split_at_mut(n);
            let (w, w_rest) = rest.1.split_at(n);
            rest = (tau_rest, w_rest);
            let v = &pick(self.scaled.deletions.values(), at, &mut values)[..n];
            let eta = &pick(eta, at, &mut prices)[..n];
            for k in 0..n {
                let moved = tau[k] + w[k] * (a[k] * eta[k] + v[k] * zeta);
                tau[k] = moved.max(0.0).min(sigma);
            }
        }
    }
}

/// All rows: their blocks and places in them.
fn rows(blocks: &[Block]) -> impl Iterator<Item = (&Block, usize)> {
    blocks.iter().flat_map(|block| (0..block.rows()).map(move |i| (block, i)))
}

#[cfg(test)]
mod tests {
    use super::Projection;
    use crate::linalg::{Dense, Matrix};
    use crate::missing::problem::RobustHinge;
    use crate::missing::program::scaled::{Entries, Scaled, Units};
    use crate::uncertainty::Deletions;

    /// The columns are to have the sums of another point that is feasible, so that a change exists; whether one was found is
    /// counted from the answer.
    #[test]
    fn columns_get_the_sums_asked_for_and_rows_keep_their_value() {
        let (n, p) = (9, 60);
        for zeros in [false, true] {
            let entry = |i: usize, j: usize| {
                let value = ((i * 31 + j * 17 + i * j) % 23) as f64 / 11.0 - 1.05;
                if zeros && !(i + 2 * j).is_multiple_of(3) { 0.0 } else { value }
            };
            let x = Matrix::from(Dense::from_fn(n, p, entry));
            let y: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let deletions = Deletions::new(vec![1.0; p], 3.0).unwrap();
            let problem = RobustHinge {
                x: &x,
                y: &y,
                weights: &[1.0; 9],
                deletions: &deletions,
                margin: 1.0,
                c: 1.0,
                fit_intercept: false,
            };
            let mut scaled = Scaled::new(&problem, Units::new(&problem).unwrap(), Entries::All);
            let values = scaled.deletions.values().to_vec();
            let block = &mut scaled.blocks[0];
            block.start(&values, [0.5; 2]);
            let mut sums = vec![0.0; p];
            for e in 0..block.tau.len() {
                // Another point that deletes less of some entries, and this one, which falls short of its rows' value.
                let wave = 1e-2 * (e * 37 % 11) as f64 / 11.0;
                let sigma = block.tau[e] + block.q[e];
                sums[block.columns[e] as usize] += block.a[e] * (block.tau[e] + wave * block.q[e]);
                block.tau[e] -= 0.6 * block.q[e];
                block.q[e] = sigma - block.tau[e];
            }
            let mut point = Projection::new(&scaled, &sums, false);
            point.run(1e-9);
            let (sigma, tau) = point.into_parts();
            let block = &scaled.blocks[0];
            for (i, sigma) in sigma.into_iter().enumerate() {
                let of = block.starts[i]..block.starts[i + 1];
                assert!(tau[of.clone()].iter().all(|t| (0.0..=sigma).contains(t)));
                let kept: f64 = of.map(|e| values[block.columns[e] as usize] * tau[e]).sum();
                assert!(kept >= block.need[i] * sigma - 1e-9, "row {i}: {kept}");
            }
            let mut found = vec![0.0; p];
            for e in 0..tau.len() {
                found[block.columns[e] as usize] += block.a[e] * tau[e];
            }
            for (found, sum) in found.iter().zip(&sums) {
                assert!((found - sum).abs() < 1e-9, "{found} for {sum}");
            }
        }
    }
}
