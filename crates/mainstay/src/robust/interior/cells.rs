//! The cells that have variables of their own: features that the adversary of a row may delete.

use super::rows::Rows;
use crate::linalg::Dense;
use crate::robust::worst_problem::WorstCase;

/// Cells row after row. A cell that is left out is never deleted, which restricts the adversary: bounds stay proofs.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Where the cells of each row begin; one entry more than rows.
    start: Vec<usize>,
    /// Feature of each cell.
    pub feature: Vec<usize>,
    /// $y_i (x_{ij} - c_j)$ of each cell.
    pub away: Vec<f64>,
}

/// What deleting feature `j` takes from a margin per unit of its weight.
fn away(signed: &[f64], y: f64, feature: usize, centre: f64) -> f64 {
    signed[feature] - y * centre
}

impl Cells {
    /// Every losable feature of every row.
    pub(super) fn all(problem: &WorstCase<'_>, signed: &Dense) -> Option<Self> {
        let losable = problem.losable?;
        let mut cells = Self::none();
        for (i, y) in problem.y.iter().enumerate() {
            for (&j, c) in losable.columns.iter().zip(&losable.centre) {
                cells.push(j, away(signed.row(i), *y, j, *c));
            }
            cells.end_row();
        }
        Some(cells)
    }

    /// No row yet.
    pub(super) fn none() -> Self {
        Self { start: vec![0], feature: Vec::new(), away: Vec::new() }
    }

    /// The next cell of the present row.
    pub(super) fn push(&mut self, feature: usize, away: f64) {
        self.feature.push(feature);
        self.away.push(away);
    }

    /// The present row has no more cells.
    pub(super) fn end_row(&mut self) {
        self.start.push(self.feature.len());
    }

    /// Where the cells of row `i` are.
    #[inline]
    pub(super) fn of(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.feature.len()
    }
}

/// Calls `see` with feature, $y_i (x_{ij} - c_j)$ and what deleting it takes from the margin, for the losable features of row `i`.
#[inline]
pub(super) fn gains(rows: &Rows<'_>, w: &[f64], i: usize, mut see: impl FnMut(usize, f64, f64)) {
    let Some(losable) = rows.problem.losable else { return };
    let (signed, y) = (rows.signed.row(i), rows.problem.y[i]);
    for (&j, c) in losable.columns.iter().zip(&losable.centre) {
        let away = away(signed, y, j, *c);
        see(j, away, w[j] * away);
    }
}

/// For each row the `most` cells whose deletion takes most from its margin, as far as it takes anything.
pub(super) fn dearest(rows: &Rows<'_>, w: &[f64], most: usize) -> Cells {
    let mut cells = Cells::none();
    let mut best: Vec<(f64, usize, f64)> = Vec::with_capacity(most + 1);
    for i in 0..rows.len() {
        best.clear();
        let mut least = 0.0;
        gains(rows, w, i, |j, away, gain| {
            if gain > least {
                let mut at = best.len();
                best.push((gain, j, away));
                while at > 0 && best[at - 1].0 < gain {
                    best.swap(at - 1, at);
                    at -= 1;
                }
                best.truncate(most);
                if best.len() == most {
                    least = best[most - 1].0;
                }
            }
        });
        for (_, j, away) in &best {
            cells.push(*j, *away);
        }
        cells.end_row();
    }
    cells
}
