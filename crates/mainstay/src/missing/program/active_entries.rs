//! Which entries of a row the interior point method has variables for.
//!
//! The adversary of a row deletes a handful of its entries. An entry far from being deleted is left at
//! `$\tau_e = \sigma_i$`. That restricts the dual program, so every bound stays valid, whatever is left out. On the primal
//! side `$\alpha_e \ge 0$` is not seen for such an entry, so the answer is judged by the true objective, by sorting. Once the
//! weights move an entry towards deletion it becomes active, with variables near the central path; once it is far from
//! deletion again it becomes inactive. Both changes keep the point strictly feasible on both sides.

use std::ops::Range;

use super::block::Block;

/// An inactive entry becomes active once `$a_ew_j$` is beyond this share of `$v_j(\lambda_i + 1)$`, where it is deleted.
const NEAR: f64 = 0.8;
/// An active one becomes inactive below this share, if it is hardly deleted.
const FAR: f64 = 0.5;
/// Hardly deleted: less than this share of `$\sigma_i$`; a new entry is deleted by as much at most.
const DELETED: f64 = 0.1;
/// Entries are made inactive once a block loses this share of its active ones: its arrays are written anew.
const WORTHWHILE: f64 = 0.2;
/// Share of a row's slacks `$l_i$` and `$r_i$` that is left, at least, when entries become active.
const LEFT: f64 = 0.5;
/// Contested entries of a row come in multiples of this, which suits vector registers.
const GROUP: usize = 8;

/// What is active from now on in a row: places, ascending.
struct Change {
    row: usize,
    active: Vec<u32>,
}

impl Block {
    /// Activates what the weights `w` bring near deletion, and, if asked to, deactivates what is far from it.
    pub(super) fn choose_active(&mut self, w: &[f64], values: &[f64], deactivate: bool) {
        // Without a budget nothing of value can be deleted.
        let changes = if self.rigid { Vec::new() } else { self.changes(w, values, deactivate) };
        if changes.is_empty() {
            return;
        }
        let (sum, count) = self.products();
        let goal = sum / count as f64;
        let old = Self {
            starts: std::mem::replace(&mut self.starts, vec![0]),
            columns: std::mem::take(&mut self.columns),
            places: std::mem::take(&mut self.places),
            a: std::mem::take(&mut self.a),
            s: std::mem::take(&mut self.s),
            alpha: std::mem::take(&mut self.alpha),
            tau: std::mem::take(&mut self.tau),
            q: std::mem::take(&mut self.q),
            ..Self::default()
        };
        let mut next = 0;
        for change in &changes {
            self.copy_rows(&old, next..change.row);
            self.change(&old, change, w, values, goal);
            next = change.row + 1;
        }
        self.copy_rows(&old, next..self.rows());
        self.make_room();
    }

    fn changes(&self, w: &[f64], values: &[f64], deactivate: bool) -> Vec<Change> {
        let mut far = 0;
        let mut rows = Vec::new();
        for row in 0..self.rows() {
            let limit = NEAR * (self.lambda[row] + 1.0);
            let (inactive, columns) = self.inactive(row);
            // No branches: hardly any entry is near.
            let over = |(a, &j): (&f64, &u32)| a * w[j as usize] - limit * values[j as usize];
            let near = inactive.iter().zip(columns).map(over).fold(0.0, f64::max) > 0.0;
            let entries = self.starts[row]..self.starts[row + 1];
            let far_here = if deactivate {
                entries.filter(|&e| self.is_far(row, e, w, values)).count() / GROUP * GROUP
            } else {
                0
            };
            far += far_here;
            if near || far_here > 0 {
                rows.push((row, near));
            }
        }
        let rewrite = far as f64 > WORTHWHILE * self.a.len() as f64;
        let changed = rows.into_iter().filter(|(_, near)| rewrite || *near);
        changed.map(|(row, _)| self.choose(row, w, values)).collect()
    }

    fn is_far(&self, i: usize, e: usize, w: &[f64], values: &[f64]) -> bool {
        let j = self.columns[e] as usize;
        let limit = FAR * values[j] * (self.lambda[i] + 1.0);
        self.a[e] * w[j] < limit && self.q[e] < DELETED * self.sigma[i]
    }

    /// What is near, what is active and not far, and the nearest of the rest to make the group full.
    fn choose(&self, row: usize, w: &[f64], values: &[f64]) -> Change {
        let limit = NEAR * (self.lambda[row] + 1.0);
        let mut active = Vec::new();
        let mut rest = Vec::new();
        for e in self.starts[row]..self.starts[row + 1] {
            let j = self.columns[e] as usize;
            if self.is_far(row, e, w, values) {
                rest.push((self.a[e] * w[j] / values[j], self.places[e]));
            } else {
                active.push(self.places[e]);
            }
        }
        let (inactive, columns) = self.inactive(row);
        for (place, (a, &j)) in
            (0..).zip(inactive.iter().zip(columns)).filter(|(_, (a, _))| **a != 0.0)
        {
            let nearness = a * w[j as usize] / values[j as usize];
            if nearness > limit {
                active.push(place);
            } else {
                rest.push((nearness, place));
            }
        }
        let more = active.len().next_multiple_of(GROUP) - active.len();
        if more > 0 && more < rest.len() {
            rest.select_nth_unstable_by(more - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        active.extend(rest.iter().take(more).map(|(_, place)| *place));
        active.sort_unstable();
        Change { row, active }
    }

    fn copy_rows(&mut self, old: &Self, rows: Range<usize>) {
        let entries = old.starts[rows.start]..old.starts[rows.end];
        let (from, to) = (entries.start, self.a.len());
        let starts = &old.starts[rows.start + 1..=rows.end];
        self.starts.extend(starts.iter().map(|start| start - from + to));
        self.copy(old, entries);
    }

    fn copy(&mut self, old: &Self, entries: Range<usize>) {
        self.columns.extend_from_slice(&old.columns[entries.clone()]);
        self.places.extend_from_slice(&old.places[entries.clone()]);
        self.a.extend_from_slice(&old.a[entries.clone()]);
        self.s.extend_from_slice(&old.s[entries.clone()]);
        self.alpha.extend_from_slice(&old.alpha[entries.clone()]);
        self.tau.extend_from_slice(&old.tau[entries.clone()]);
        self.q.extend_from_slice(&old.q[entries]);
    }

    /// Writes a row anew.
    fn change(&mut self, old: &Self, change: &Change, w: &[f64], values: &[f64], goal: f64) {
        let i = change.row;
        let slack = self.r[i];
        let mut left = old.starts[i]..old.starts[i + 1];
        let mut fresh = Vec::new();
        for &place in &change.active {
            while left.start < left.end && old.places[left.start] < place {
                self.deactivate(old, i, left.start, values);
                left.start += 1;
            }
            if left.start < left.end && old.places[left.start] == place {
                self.copy(old, left.start..left.start + 1);
                left.start += 1;
            } else {
                fresh.push(self.a.len());
                self.append(i, place);
            }
        }
        for e in left {
            self.deactivate(old, i, e, values);
        }
        let room = LEFT * self.l[i] / fresh.len() as f64;
        for e in fresh {
            self.activate(i, e, w, values, (goal, room));
        }
        // What the new entries took from the row's slack is given back as loss.
        let lost = LEFT * slack - self.r[i];
        if lost > 0.0 {
            self.r[i] += lost;
            self.xi[i] += lost;
        }
        self.starts.push(self.a.len());
    }

    /// The active entry `e` of row `i` becomes inactive: `$\tau$` rises to `$\sigma$`, `$s$` falls to 0.
    fn deactivate(&mut self, old: &Self, i: usize, e: usize, values: &[f64]) {
        let v = values[old.columns[e] as usize];
        self.inactive[self.all_starts[i] + old.places[e] as usize] = old.a[e];
        self.zeros[i] += v;
        self.need[i] -= v;
        self.l[i] += v * old.q[e];
        self.r[i] += old.s[e];
    }

    /// Room for an inactive entry of row `i` that becomes active.
    fn append(&mut self, i: usize, place: u32) {
        let at = self.all_starts[i] + place as usize;
        self.columns.push(self.all_columns[at]);
        self.places.push(place);
        self.a.push(std::mem::take(&mut self.inactive[at]));
        for part in [&mut self.s, &mut self.alpha, &mut self.tau, &mut self.q] {
            part.push(0.0);
        }
    }

    /// Variables for the entry `e` of row `i`, just activated: products near `goal`, at most `room` taken from `$l_i$`.
    fn activate(
        &mut self,
        i: usize,
        e: usize,
        w: &[f64],
        values: &[f64],
        (goal, room): (f64, f64),
    ) {
        let j = self.columns[e] as usize;
        let (v, sigma) = (values[j], self.sigma[i]);
        let distance = v * (self.lambda[i] + 1.0) - self.a[e] * w[j];
        let most = (DELETED * sigma).min(room / v);
        let q = if distance * most > goal { goal / distance } else { most };
        let tau = sigma - q;
        let least = goal / tau;
        let s = least + (-distance).max(0.0);
        self.s[e] = s;
        self.alpha[e] = least + distance.max(0.0);
        self.tau[e] = tau;
        self.q[e] = q;
        self.zeros[i] -= v;
        self.need[i] += v;
        self.l[i] -= v * q;
        self.r[i] -= s;
    }

    /// Room for the factors and directions of the active entries.
    pub(super) fn make_room(&mut self) {
        let (entries, rows) = (self.a.len(), self.rows());
        self.inverse.resize(entries, 0.0);
        self.f.resize(entries, 0.0);
        self.step.resize(entries, rows);
        self.trial.resize(entries, rows);
    }

    /// Keeps the dual point, with `$\tau$` at all nonzeros.
    pub(super) fn keep(&mut self) {
        self.best_sigma.clone_from(&self.sigma);
        self.best_tau.clear();
        for i in 0..self.rows() {
            let first = self.best_tau.len();
            let entries = self.all_starts[i + 1] - self.all_starts[i];
            self.best_tau.extend(std::iter::repeat_n(self.sigma[i], entries));
            for e in self.starts[i]..self.starts[i + 1] {
                self.best_tau[first + self.places[e] as usize] = self.tau[e];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Block;
    use crate::linalg::{Dense, Matrix};
    use crate::missing::problem::RobustHinge;
    use crate::missing::program::scaled::{Entries, Scaled, Units};
    use crate::uncertainty::Deletions;

    /// `$r_i$` by its definition, with `$b = 0$`.
    fn slack(block: &Block, i: usize, w: &[f64]) -> f64 {
        let row = block.starts[i]..block.starts[i + 1];
        let (inactive, columns) = block.inactive(i);
        let linear: f64 = inactive.iter().zip(columns).map(|(a, &j)| a * w[j as usize]).sum();
        block.need[i] * block.lambda[i] + linear + block.xi[i]
            - block.alpha[row].iter().sum::<f64>()
            - block.zeros[i]
    }

    /// All equations of a block hold at `w`, and all its variables are positive.
    fn assert_feasible(block: &Block, w: &[f64], values: &[f64]) {
        for i in 0..block.rows() {
            let mut kept = -block.need[i] * block.sigma[i];
            for e in block.starts[i]..block.starts[i + 1] {
                let j = block.columns[e] as usize;
                let s = block.a[e] * w[j] - values[j] * (block.lambda[i] + 1.0) + block.alpha[e];
                assert!((s - block.s[e]).abs() < 1e-12);
                assert!((block.q[e] + block.tau[e] - block.sigma[i]).abs() < 1e-12);
                assert!(block.s[e].min(block.alpha[e]).min(block.q[e]).min(block.tau[e]) > 0.0);
                kept += values[j] * block.tau[e];
            }
            assert!((kept - block.l[i]).abs() < 1e-12 && kept > 0.0);
            assert!((slack(block, i, w) - block.r[i]).abs() < 1e-12 && block.r[i] > 0.0);
        }
    }

    #[test]
    fn entries_come_and_go_without_leaving_the_interior() {
        let (rows, p) = (7, 40);
        let entry = |i: usize, j: usize| ((i * 31 + j * 17) % 23) as f64 / 11.0 - 1.0;
        let x = Matrix::from(Dense::from_fn(rows, p, entry));
        let y: Vec<f64> = (0..rows).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let deletions = Deletions::new(vec![1.0; p], 5.0).unwrap();
        let problem = RobustHinge {
            x: &x,
            y: &y,
            weights: &[1.0; 7],
            deletions: &deletions,
            margin: 1.0,
            c: 1.0,
            fit_intercept: true,
        };
        let mut scaled = Scaled::new(&problem, Units::new(&problem).unwrap(), Entries::Chosen);
        let values = scaled.deletions.values().to_vec();
        let block = &mut scaled.blocks[0];
        block.start(&values, [0.5; 2]);
        let w: Vec<f64> = (0..p).map(|j| 0.1 * entry(j, 3)).collect();
        for i in 0..rows {
            block.r[i] = slack(block, i, &w);
            block.xi[i] += 1.0 - block.r[i];
            block.r[i] = 1.0;
        }
        block.choose_active(&w, &values, true);
        let many = block.a.len();
        assert!(many > 0 && block.starts.iter().all(|start| start % super::GROUP == 0));
        assert_feasible(block, &w, &values);
        // A price that no entry is worth deactivates everything again.
        for i in 0..rows {
            block.lambda[i] += 1e3;
            for e in block.starts[i]..block.starts[i + 1] {
                let v = values[block.columns[e] as usize];
                block.alpha[e] += 1e3 * v;
                block.l[i] += 0.5 * v * block.q[e];
                block.tau[e] += 0.5 * block.q[e];
                block.q[e] *= 0.5;
            }
            block.r[i] = slack(block, i, &w);
            block.xi[i] += 1.0 - block.r[i];
            block.r[i] = 1.0;
        }
        block.choose_active(&w, &values, true);
        assert_eq!(block.a.len(), 0);
        assert_feasible(block, &w, &values);
    }
}
