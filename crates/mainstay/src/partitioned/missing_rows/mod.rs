//! One look at the rows: value, slope and curvature of the smoothed problem (4), and both halves of its certificate.

pub(super) mod adversary;

use self::adversary::{Adversary, RowCase};
use super::ask::{PassAsk, Point};
use super::block::Block;
use super::kernel::{Chunk, each_chunk};
use super::message::SmoothedSums;
use super::row_terms::{logistic, softplus};
use super::wire::wire;
use crate::error::Result;
use crate::linalg::{Csr, Dense, Matrix, vector};
use crate::uncertainty::Deletions;

/// The smoothing of the adversary, in widths of that of the hinge.
const INNER: f64 = 0.3;

/// All that one pass must bring.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MissingAsk {
    /// Units of the rows; its own questions are empty.
    pub rows: PassAsk,
    /// Value of every feature.
    pub values: Vec<f64>,
    /// Total value that may be deleted.
    pub budget: f64,
    /// One for every class that is still open.
    pub questions: Vec<Question>,
}

wire!(MissingAsk { rows, values, budget, questions });

/// One class against the rest at one point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// Rows of this class are positive.
    pub positive: usize,
    /// Where.
    pub point: Point,
    /// Width of the smoothing.
    pub width: f64,
    /// Another width with which the value is wanted.
    pub before: Option<f64>,
    /// Whether features are deleted at all.
    pub deleting: bool,
}

wire!(Question { positive, point, width, before, deleting });

/// Answers every question from the rows of one block. Of a side `share` is `$\sum \sigma_i$`, `gain`
/// `$\sum_{ij} v_j \tau_{ij}$` and `pulled` `$\sum_i -y_i x_{ij} \tau_{ij}$`; no threshold bends.
pub(super) fn look(block: &Block<'_>, ask: &MissingAsk) -> Result<Vec<SmoothedSums>> {
    let adversary = Adversary::new(Deletions::new(ask.values.clone(), ask.budget)?);
    look_with(block, &ask.rows, &adversary, &ask.questions)
}

/// The same for an adversary that is known.
pub(super) fn look_with(
    block: &Block<'_>,
    rows: &PassAsk,
    adversary: &Adversary,
    questions: &[Question],
) -> Result<Vec<SmoothedSums>> {
    let p = rows.factors.len();
    let mut answers = vec![SmoothedSums::empty(p); questions.len()];
    let mut case = RowCase::default();
    each_chunk(block, rows, |chunk| {
        for (question, sums) in questions.iter().zip(&mut answers) {
            Pass { chunk, adversary, question, case: &mut case, sums }.run()?;
        }
        Ok(())
    })?;
    Ok(answers)
}

/// One question to one chunk of rows.
struct Pass<'a> {
    chunk: &'a Chunk,
    adversary: &'a Adversary,
    question: &'a Question,
    case: &'a mut RowCase,
    sums: &'a mut SmoothedSums,
}

impl Pass<'_> {
    fn run(&mut self) -> Result<()> {
        let signs = self.chunk.signs(self.question.positive);
        let mut stack = Stack::new(&self.chunk.z);
        for (i, &y) in signs.iter().enumerate() {
            let weight = self.chunk.weights[i];
            if weight > 0.0 {
                self.row(i, y, weight, &mut stack);
            }
        }
        stack.add_to(&mut self.sums.curvature.matrix.0)
    }

    fn row(&mut self, i: usize, y: f64, weight: f64, stack: &mut Stack) {
        let Question { point, width, before, .. } = self.question;
        let exact = self.case.take(self.adversary, self.chunk.z.row(i), y, &point.v);
        let loss = (exact - y * point.b).max(0.0);
        if let Some(before) = before.filter(|b| b != width) {
            let t = self.worst(before) - y * point.b;
            self.sums.value_before += weight * before * softplus(t / before);
        }
        let t = self.worst(*width) - y * point.b;
        let value = weight * width * softplus(t / width);
        self.sums.value += value;
        if before.is_none_or(|b| b == *width) {
            self.sums.value_before += value;
        }
        self.sums.primal += weight * loss;
        let share = logistic(t / width);
        stack.bends(self.case, share, weight, *width);
        let (kept, short) = self.case.make_feasible(self.adversary);
        let sigma = weight * share;
        self.sums.open += weight * loss - sigma * (short - y * point.b);
        let side = &mut self.sums.sides[usize::from(y < 0.0)];
        side.share += sigma;
        side.gain += sigma * kept;
        let parts = self.case.columns.iter().zip(&self.case.entries).zip(&self.case.kept);
        for ((&j, x), tau) in parts {
            side.pulled[j] -= y * sigma * tau * x;
        }
    }

    /// The smoothed worst case of the row at hand.
    fn worst(&mut self, width: f64) -> f64 {
        if self.question.deleting {
            self.case.smooth(self.adversary, INNER * width)
        } else {
            self.case.keep_all(self.adversary)
        }
    }
}

/// Rows whose weighted outer products are the curvature: of the hinge, with the intercept, and of the adversary, without.
struct Stack {
    ncols: usize,
    sparse: bool,
    hinge: Rows,
    adversary: Rows,
    diagonal: Vec<f64>,
}

#[derive(Default)]
struct Rows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Rows {
    fn push(&mut self, case: &RowCase, ncols: Option<usize>, entry: impl Fn(usize) -> f64) {
        if let Some(ncols) = ncols {
            let start = self.values.len();
            self.values.resize(start + ncols, 0.0);
            for (k, &j) in case.columns.iter().enumerate() {
                self.values[start + j] = entry(k);
            }
            return;
        }
        self.starts.push(self.values.len());
        for (k, &j) in case.columns.iter().enumerate() {
            self.columns.push(u32::try_from(j).unwrap_or(u32::MAX));
            self.values.push(entry(k));
        }
    }

    fn matrix(mut self, ncols: usize, sparse: bool) -> Result<(Matrix, Vec<f64>)> {
        let matrix = if sparse {
            self.starts.push(self.values.len());
            Matrix::Sparse(Csr::new(ncols, self.starts, self.columns, self.values)?)
        } else {
            Matrix::Dense(Dense::from_rows(self.weights.len(), ncols, self.values))
        };
        Ok((matrix, self.weights))
    }
}

impl Stack {
    fn new(z: &Matrix) -> Self {
        let ncols = z.ncols();
        Self {
            ncols,
            sparse: matches!(z, Matrix::Sparse(_)),
            hinge: Rows::default(),
            adversary: Rows::default(),
            diagonal: vec![0.0; ncols],
        }
    }

    /// Second derivatives of the smoothed loss of the row at hand.
    ///
    /// With `$k_j = d\tau_j/dr_j$` that of the worst case is
    /// `$\mathrm{diag}(k_j x_j^2) - (v_j k_j x_j)(v_j k_j x_j)^\top / \sum v_j^2 k_j$`, the second term where the budget is spent.
    fn bends(&mut self, case: &RowCase, share: f64, weight: f64, width: f64) {
        let dense = (!self.sparse).then_some(self.ncols);
        self.hinge.push(case, dense, |k| case.kept[k] * case.entries[k]);
        self.hinge.weights.push(weight * share * (1.0 - share) / width);
        let sigma = weight * share;
        let mut spent = 0.0;
        for (k, &j) in case.columns.iter().enumerate() {
            let bend = case.bend[k];
            self.diagonal[j] += sigma * bend * case.entries[k] * case.entries[k];
            spent += case.values[k] * case.values[k] * bend;
        }
        if case.tight && spent > 0.0 {
            let entry = |k: usize| case.values[k] * case.bend[k] * case.entries[k];
            self.adversary.push(case, dense, entry);
            self.adversary.weights.push(-sigma / spent);
        }
    }

    fn add_to(self, out: &mut Dense) -> Result<()> {
        let (p, sparse) = (self.ncols, self.sparse);
        let (hinge, bends) = self.hinge.matrix(p, sparse)?;
        super::kernel::add_gram(&hinge, &bends, out);
        let (adversary, bends) = self.adversary.matrix(p, sparse)?;
        if !bends.is_empty() {
            let gram = adversary.weighted_gram(&bends);
            for i in 0..p {
                vector::axpy(1.0, gram.row(i), &mut out.row_mut(i)[..p]);
            }
        }
        for (j, bend) in self.diagonal.iter().enumerate() {
            out[(j, j)] += bend;
        }
        Ok(())
    }
}
