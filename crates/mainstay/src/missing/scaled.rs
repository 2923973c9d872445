use super::block::Block;
use super::problem::RobustHinge;
use crate::uncertainty::Deletions;

/// Entries per block; at least, up to a number of blocks. Fixed by the data, never by the threads.
const ENTRIES: usize = 1 << 13;
const BLOCKS: usize = 64;

/// A budget below this share of the total value is treated as none by the solver (not by the certificate).
const RIGID: f64 = 1e-12;

/// With more columns than this every entry is contested from start to end: nothing but their sum restrains the weights of
/// settled entries, and the more there are the longer it takes to call them back.
const MANY: usize = 300;

/// No box is wider than this in units of 1 / (largest entry of the column).
const WIDEST: f64 = 1e8;

/// Problem (4) in units where every number is near 1.
///
/// Values are divided by $V$, so $P$ becomes $P/V$; the rest is homogeneous in $(w, b, \xi, \gamma)$, and
/// $\gamma$ is set to $P/V$, so that the margin demanded is $v_j$. Row weights get mean 1. Column $j$ is
/// multiplied by $k_j$, a power of two, such that its largest entry is about 1 if the box then has a side of
/// 1 or more, and such that the box has side 1 otherwise.
#[derive(Debug)]
pub(super) struct Scaled {
    pub blocks: Vec<Block>,
    /// Values and budget with $V = 1$.
    pub deletions: Deletions,
    /// Box of every column.
    pub boxes: Vec<f64>,
    /// A weight of 1 here is this much in the user's units; 0 for a column that cannot matter.
    pub weight_units: Vec<f64>,
    /// The same for the intercept.
    pub intercept_unit: f64,
    /// The same for $\sigma$ and $\tau$.
    pub dual_unit: f64,
    /// $\sum_i\omega_i\xi_i$ divided by this is the objective.
    pub norm: f64,
}

impl Scaled {
    pub(super) fn new(problem: &RobustHinge<'_>) -> crate::Result<Self> {
        let set = problem.deletions;
        let total = set.total();
        let kept = set.kept() / total;
        let values: Vec<f64> = set.values().iter().map(|v| v / total).collect();
        let deletions = Deletions::new(values, set.budget() / total)?;
        let unit = problem.margin / kept;
        let side = problem.c / unit;
        let (factors, boxes) = column_scales(problem, side);
        let rows = problem.y.len();
        let mean = problem.weights.iter().sum::<f64>() / rows as f64;
        let blocks = blocks(problem, deletions.values(), kept, &factors, mean);
        Ok(Self {
            blocks,
            boxes,
            weight_units: factors.iter().map(|k| k * unit).collect(),
            intercept_unit: unit,
            dual_unit: mean,
            norm: rows as f64 * kept,
            deletions,
        })
    }

    /// Whether entries may be settled.
    pub(super) fn few_columns(&self) -> bool {
        self.boxes.len() <= MANY
    }

    /// Whether no weight can change anything, so that only the intercept is left.
    pub(super) fn is_trivial(&self) -> bool {
        self.weight_units.iter().all(|k| *k == 0.0)
    }
}

fn column_scales(problem: &RobustHinge<'_>, side: f64) -> (Vec<f64>, Vec<f64>) {
    let mut largest: Vec<f64> = vec![0.0; problem.x.ncols()];
    for row in problem.x.rows() {
        for (j, x) in row.entries() {
            largest[j] = largest[j].max(x.abs());
        }
    }
    let power = |x: f64| x.log2().round().exp2();
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

fn blocks(
    problem: &RobustHinge<'_>,
    values: &[f64],
    kept: f64,
    factors: &[f64],
    mean: f64,
) -> Vec<Block> {
    let entries: usize = problem.x.values().len();
    // Every block sums vectors of the number of columns, which must stay cheap beside its entries.
    let size = ENTRIES.max(8 * problem.x.ncols()).max(entries.div_ceil(BLOCKS));
    let total: f64 = values.iter().sum();
    let rigid = problem.deletions.budget() <= RIGID * problem.deletions.total();
    let all = !rigid && problem.x.ncols() > MANY;
    let fresh = || Block { all_starts: vec![0], starts: vec![0], rigid, ..Block::default() };
    let mut blocks = vec![fresh()];
    let mut last = 0;
    for (i, &y) in problem.y.iter().enumerate() {
        if blocks[last].settled.len() >= size {
            blocks.push(fresh());
            last += 1;
        }
        let block = &mut blocks[last];
        let mut contested = 0.0;
        for (place, (j, x)) in problem.x.row(i).entries().filter(|(_, x)| *x != 0.0).enumerate() {
            // Indices of columns fit: a matrix with more could not be stored.
            let (j32, place) = (index(j), index(place));
            let a = y * x * factors[j];
            block.all_columns.push(j32);
            // Deleting what has no value is free, so it is contested from the start.
            if all || values[j] == 0.0 {
                block.settled.push(0.0);
                block.columns.push(j32);
                block.places.push(place);
                block.a.push(a);
                contested += values[j];
            } else {
                block.settled.push(a);
            }
        }
        block.all_starts.push(block.settled.len());
        let zeros = (total - contested).max(0.0);
        block.starts.push(block.a.len());
        block.y.push(y);
        block.weight.push(problem.weights[i] / mean);
        block.zeros.push(zeros);
        block.need.push(kept - zeros);
    }
    blocks
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Block {
    /// A strictly feasible point on both sides: $w = b = 0$, and $\sigma_i$ at `shares` (negative, positive class)
    /// of its limit.
    pub(super) fn start(&mut self, values: &[f64], shares: [f64; 2]) {
        let rows = self.y.len();
        let price = if self.rigid { 1.0 } else { 0.1 };
        let typical = 1.0 / values.len() as f64;
        self.s = vec![typical; self.a.len()];
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
