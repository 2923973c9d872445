//! Problem (4) in units where every number is near 1, its rows in blocks, and a strictly feasible start.

use super::block::Block;
use crate::error::Result;
use crate::missing::certificate::Dual;
use crate::missing::problem::RobustHinge;
use crate::optim::design::power_of_two;
use crate::uncertainty::Deletions;

/// Entries per block, at least: what a processor's own memory holds with its directions.
const ENTRIES: usize = 1 << 13;
/// Blocks, at most. Fixed by the data, never by the number of threads.
const BLOCKS: usize = 64;
/// Entries per block for each column, at least: a block sums vectors of that length.
const ENTRIES_PER_COLUMN: usize = 8;

/// No box is wider than this, in units of 1 / (largest entry of the column).
const WIDEST: f64 = 1e8;

/// `$\lambda_i$` at the start, in units of the margin that a unit of value must provide: small, since `$\alpha$` grows with it.
const FIRST_PRICE: f64 = 0.1;

/// Which entries have variables of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::missing) enum Entries {
    /// None: nothing of value can be deleted.
    Inactive,
    /// Those that the present weights bring near deletion.
    Chosen,
    /// All, from start to end.
    All,
}

/// The units of the solver.
///
/// Values are divided by `$V$`, so `$P$` becomes `$P/V$`; the rest is homogeneous in `$(w, b, \xi, \gamma)$`, and
/// `$\gamma$` is set to `$P/V$`, so that the margin demanded is `$v_j$`. Row weights get mean 1. Column `$j$` is
/// multiplied by `$k_j$`, a power of two, such that its largest entry is about 1 if the box then has a side of
/// 1 or more, and such that the box has side 1 otherwise.
#[derive(Debug)]
pub(in crate::missing) struct Units {
    /// Values and budget with `$V = 1$`.
    deletions: Deletions,
    /// `$P/V$`.
    kept: f64,
    /// `$k_j$`; 0 for a column that cannot matter.
    factors: Vec<f64>,
    /// Box of every column.
    boxes: Vec<f64>,
    /// A weight of 1 in a column of factor 1, and an intercept of 1, are this much in the user's units.
    weight: f64,
    /// The same for `$\sigma$` and `$\tau$`.
    dual: f64,
}

impl Units {
    pub(in crate::missing) fn new(problem: &RobustHinge<'_>) -> Result<Self> {
        let set = problem.deletions;
        let total = set.total();
        let kept = set.kept() / total;
        let values: Vec<f64> = set.values().iter().map(|v| v / total).collect();
        let deletions = Deletions::new(values, set.budget() / total)?;
        let weight = problem.margin / kept;
        let (factors, boxes) = column_scales(problem, problem.c / weight);
        let dual = problem.weights.iter().sum::<f64>() / problem.y.len() as f64;
        Ok(Self { deletions, kept, factors, boxes, weight, dual })
    }

    /// Whether no weight can change anything, so that only the intercept is left.
    pub(in crate::missing) fn no_weight_matters(&self) -> bool {
        self.factors.iter().all(|k| *k * self.weight == 0.0)
    }
}

/// Problem (4) in these units.
#[derive(Debug)]
pub(in crate::missing) struct Scaled {
    pub(super) blocks: Vec<Block>,
    /// Whether entries may become inactive again.
    pub(super) may_deactivate: bool,
    /// Values and budget with `$V = 1$`.
    pub(super) deletions: Deletions,
    /// Box of every column.
    pub(super) boxes: Vec<f64>,
    /// A weight of 1 here is this much in the user's units; 0 for a column that cannot matter.
    pub(super) weight_units: Vec<f64>,
    /// The same for the intercept.
    pub(super) intercept_unit: f64,
    /// The same for `$\sigma$` and `$\tau$`.
    pub(super) dual_unit: f64,
    /// `$\sum_i\omega_i\xi_i$` divided by this is the objective.
    pub(super) norm: f64,
}

impl Scaled {
    pub(in crate::missing) fn new(
        problem: &RobustHinge<'_>,
        units: Units,
        entries: Entries,
    ) -> Self {
        Self {
            blocks: blocks(problem, &units, entries),
            may_deactivate: entries != Entries::All,
            weight_units: units.factors.iter().map(|k| k * units.weight).collect(),
            intercept_unit: units.weight,
            dual_unit: units.dual,
            norm: problem.y.len() as f64 * units.kept,
            boxes: units.boxes,
            deletions: units.deletions,
        }
    }

    /// A dual point with `$\tau$` at all nonzeros, in the user's units.
    pub(super) fn dual_point(&self, sigma: &[f64], tau: &[f64]) -> Dual {
        let user = |part: &[f64]| part.iter().map(|v| v * self.dual_unit).collect();
        Dual { sigma: user(sigma), tau: user(tau) }
    }

    /// Keeps such a point as the best one.
    pub(super) fn keep(&mut self, mut sigma: &[f64], mut tau: &[f64]) {
        for block in &mut self.blocks {
            let (first, rest) = sigma.split_at(block.rows());
            block.best_sigma = first.to_vec();
            sigma = rest;
            let (first, rest) = tau.split_at(block.all_columns.len());
            block.best_tau = first.to_vec();
            tau = rest;
        }
    }
}

fn column_scales(problem: &RobustHinge<'_>, side: f64) -> (Vec<f64>, Vec<f64>) {
    let mut largest: Vec<f64> = vec![0.0; problem.x.ncols()];
    for row in problem.x.rows() {
        for (j, x) in row.entries() {
            largest[j] = largest[j].max(x.abs());
        }
    }
    // The nearest power of two, by ratio.
    let power = |x: f64| power_of_two(x * std::f64::consts::SQRT_2);
    largest
        .into_iter()
        .map(|m| {
            let reach = side * m;
            if reach == 0.0 || !side.is_normal() {
                (0.0, 1.0)
            } else if reach >= 1.0 {
                let k = power(1.0 / m);
                (k, (side / k).min(WIDEST))
            } else {
                let k = power(side);
                (k, side / k)
            }
        })
        .unzip()
}

fn blocks(problem: &RobustHinge<'_>, units: &Units, entries: Entries) -> Vec<Block> {
    let stored = problem.x.values().len();
    let size = ENTRIES.max(ENTRIES_PER_COLUMN * problem.x.ncols()).max(stored.div_ceil(BLOCKS));
    let rigid = entries == Entries::Inactive;
    let fresh = || Block { all_starts: vec![0], starts: vec![0], rigid, ..Block::default() };
    let mut blocks = vec![fresh()];
    let mut last = 0;
    for i in 0..problem.y.len() {
        if blocks[last].inactive.len() >= size {
            blocks.push(fresh());
            last += 1;
        }
        blocks[last].push_row(problem, i, units, entries == Entries::All);
    }
    blocks
}

/// Positions fit: a matrix with more columns could not be stored.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Block {
    /// Appends row `i` of the problem, all of its entries active or only those without value.
    fn push_row(&mut self, problem: &RobustHinge<'_>, i: usize, units: &Units, all: bool) {
        let values = units.deletions.values();
        let mut active = 0.0;
        for (place, (j, x)) in problem.x.row(i).entries().filter(|(_, x)| *x != 0.0).enumerate() {
            let a = problem.y[i] * x * units.factors[j];
            self.all_columns.push(index(j));
            // Deleting what has no value is free, so it is active from the start.
            if all || values[j] == 0.0 {
                self.inactive.push(0.0);
                self.columns.push(index(j));
                self.places.push(index(place));
                self.a.push(a);
                active += values[j];
            } else {
                self.inactive.push(a);
            }
        }
        self.all_starts.push(self.inactive.len());
        let zeros = (units.deletions.total() - active).max(0.0);
        self.starts.push(self.a.len());
        self.y.push(problem.y[i]);
        self.weight.push(problem.weights[i] / units.dual);
        self.zeros.push(zeros);
        self.need.push(units.kept - zeros);
    }

    /// A strictly feasible point on both sides: `$w = b = 0$`, and `$\sigma_i$` at `shares` (negative, positive class)
    /// of its limit.
    pub(super) fn start(&mut self, values: &[f64], shares: [f64; 2]) {
        let rows = self.y.len();
        let price = if self.rigid { 1.0 } else { FIRST_PRICE };
        let typical = 1.0 / values.len() as f64;
        self.s = vec![typical; self.a.len()];
        self.short = vec![0.0; rows];
        self.pivots = vec![super::block::Pivot::default(); rows];
        for i in 0..rows {
            let sigma = shares[usize::from(self.y[i] > 0.0)] * self.weight[i];
            let row = &self.columns[self.starts[i]..self.starts[i + 1]];
            let present: f64 = row.iter().map(|&j| values[j as usize]).sum();
            let kept = if present > 0.0 { self.need[i].max(0.0) / present } else { 0.0 };
            let share = f64::midpoint(1.0, kept).max(0.5);
            let share = if present > 0.0 { share } else { 0.5 };
            let alphas = row.iter().map(|&j| values[j as usize] * (price + 1.0) + typical);
            let first = self.alpha.len();
            self.alpha.extend(alphas);
            self.tau.extend(row.iter().map(|_| share * sigma));
            self.q.extend(row.iter().map(|_| (1.0 - share) * sigma));
            let need = if self.rigid { 0.0 } else { self.need[i] };
            let sum_alpha: f64 = self.alpha[first..].iter().sum();
            let base = need * price - sum_alpha - self.zeros[i];
            let xi = (-base).max(0.0) + 1.0;
            self.lambda.push(price);
            self.l.push(if self.rigid { 1.0 } else { share * sigma * present - need * sigma });
            self.xi.push(xi);
            self.r.push(base + xi);
            self.sigma.push(sigma);
            self.g.push(self.weight[i] - sigma);
        }
        self.make_room();
    }
}
