//! One look at the rows: a smoothed hinge whose margins are moved by the errors of the rows.

use super::ask::{PassAsk, Point};
use super::block::Block;
use super::kernel::{Chunk, add_gram, each_chunk};
use super::message::SmoothedSums;
use super::row_terms::{logistic, softplus};
use super::wire::wire;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};

/// The smoothing of the length of an ellipsoid along the weights, in widths of that of the hinge.
const SOFT: f64 = 0.1;

/// A row whose share is this near 0 or 1 does not bend: it costs no product.
const FLAT: f64 = 1e-12;

/// `$\sqrt{\rho^2 + \delta^2}$`: differentiable where the weights are zero, and so that `$L^\top w$` over it is shorter than 1.
pub(super) fn smoothed(support: f64, width: f64) -> f64 {
    support.hypot(SOFT * width)
}

/// All that one pass must bring.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EllipsoidAsk {
    /// Units of the rows; its own questions are empty.
    pub rows: PassAsk,
    /// One for every class that is still open.
    pub questions: Vec<Question>,
}

wire!(EllipsoidAsk { rows, questions });

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
    /// `$\sqrt{w^\top P w}$` where all rows have the same shape; none where each has axes of its own.
    pub support: Option<f64>,
}

wire!(Question { positive, point, width, before, support });

/// Answers every question from the rows of one block. Of rows of one shape `gain` of a side is `$\sum a_i m_i$`, their own
/// move is not in `pulled`, and their size `$m_i$` takes the place of the threshold in the curvature.
pub(super) fn look(
    block: &Block<'_>,
    rows: &PassAsk,
    questions: &[Question],
) -> Result<Vec<SmoothedSums>> {
    let p = rows.factors.len();
    let mut answers = vec![SmoothedSums::empty(p); questions.len()];
    each_chunk(block, rows, |chunk| {
        for (question, sums) in questions.iter().zip(&mut answers) {
            let lengths = Lengths::new(chunk, question, block.partition)?;
            let terms = Terms::new(chunk, question, &lengths, sums);
            match &lengths.images {
                None => add_shared(chunk, &terms, &lengths.sizes, sums),
                Some(images) => add_own(chunk, &terms, images, &lengths.smooth, sums),
            }
        }
        Ok(())
    })?;
    Ok(answers)
}

/// Lengths of the ellipsoids along the weights.
struct Lengths {
    /// `$m_i$`, for rows of one shape.
    sizes: Vec<f64>,
    exact: Vec<f64>,
    smooth: Vec<f64>,
    /// With the width before.
    before: Vec<f64>,
    /// `$P_i w$` over the smoothed length, for rows with axes of their own.
    images: Option<Dense>,
}

impl Lengths {
    fn new(chunk: &Chunk, question: &Question, partition: usize) -> Result<Self> {
        let n = chunk.labels.len();
        let before = question.before.unwrap_or(question.width);
        let lost = || {
            Error::Mismatch(format!(
                "partition {partition}: the errors of its rows are not those of the first look"
            ))
        };
        let Some(support) = question.support else {
            let axes = chunk.errors.as_ref().filter(|e| e.ncols() == question.point.v.len());
            return Ok(Self::own(axes.ok_or_else(lost)?, question, before));
        };
        let sizes = match &chunk.errors {
            None => vec![1.0; n],
            Some(errors) if errors.ncols() == 1 => errors.data().to_vec(),
            Some(_) => return Err(lost()),
        };
        let times = |length: f64| sizes.iter().map(|m| m * length).collect();
        Ok(Self {
            exact: times(support),
            smooth: times(smoothed(support, question.width)),
            before: times(smoothed(support, before)),
            images: None,
            sizes,
        })
    }

    fn own(axes: &Dense, question: &Question, before: f64) -> Self {
        let mut images = axes.clone();
        let n = axes.nrows();
        let mut found = Self {
            sizes: Vec::new(),
            exact: vec![0.0; n],
            smooth: vec![0.0; n],
            before: vec![0.0; n],
            images: None,
        };
        for i in 0..n {
            let image = images.row_mut(i);
            let mut square = 0.0;
            for (a, v) in image.iter_mut().zip(&question.point.v) {
                square += (*a * v) * (*a * v);
                *a = *a * *a * v;
            }
            found.exact[i] = square.sqrt();
            found.smooth[i] = smoothed(found.exact[i], question.width);
            found.before[i] = smoothed(found.exact[i], before);
            vector::scale(image, 1.0 / found.smooth[i]);
        }
        Self { images: Some(images), ..found }
    }
}

/// What every row of a chunk means for one question.
struct Terms {
    y: Vec<f64>,
    /// `$a_i$` times the weight.
    shares: Vec<f64>,
    /// How much the smoothed hinge bends.
    stiff: Vec<f64>,
}

impl Terms {
    /// Adds the values up on the way.
    fn new(chunk: &Chunk, question: &Question, lengths: &Lengths, sums: &mut SmoothedSums) -> Self {
        let y = chunk.signs(question.positive);
        let scores = chunk.scores(&question.point);
        let (n, width) = (y.len(), question.width);
        let before = question.before.unwrap_or(width);
        let (mut shares, mut stiff) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let c = chunk.weights[i];
            let short = 1.0 - y[i] * scores[i];
            let t = (short + lengths.smooth[i]) / width;
            let a = logistic(t);
            sums.value += c * width * softplus(t);
            sums.value_before += c * before * softplus((short + lengths.before[i]) / before);
            let loss = c * (short + lengths.exact[i]).max(0.0);
            sums.primal += loss;
            // Moved as far as the smoothed length says, which is less than the ellipsoid allows.
            let length = lengths.smooth[i];
            let moved =
                if length > 0.0 { lengths.exact[i] * (lengths.exact[i] / length) } else { 0.0 };
            sums.open += loss - a * c * (short + moved);
            shares[i] = a * c;
            let bend = a * (1.0 - a);
            if bend > FLAT {
                stiff[i] = c * bend / width;
            }
            let side = &mut sums.sides[usize::from(y[i] < 0.0)];
            side.share += shares[i];
            side.pull += shares[i];
        }
        Self { y, shares, stiff }
    }

    /// Shares of either class with the sign of the pull: `$-y_i a_i$`.
    fn pulls(&self) -> [Vec<f64>; 2] {
        [1.0, -1.0].map(|sign| {
            let own = |(a, y): (&f64, &f64)| if y * sign > 0.0 { -y * a } else { 0.0 };
            self.shares.iter().zip(&self.y).map(own).collect()
        })
    }
}

fn add_pulled(z: &Matrix, terms: &Terms, sums: &mut SmoothedSums) {
    let [plus, minus] = terms.pulls();
    let pulled = z.tr_mul_pair([&plus, &minus]);
    for (side, pulled) in sums.sides.iter_mut().zip(&pulled) {
        vector::axpy(1.0, pulled, &mut side.pulled);
    }
}

/// Rows of one shape: the move of all of them is known where the shape is.
fn add_shared(chunk: &Chunk, terms: &Terms, sizes: &[f64], sums: &mut SmoothedSums) {
    add_pulled(&chunk.z, terms, sums);
    add_gram(&chunk.z, &terms.stiff, &mut sums.curvature.matrix.0);
    let mut cross = vec![0.0; sizes.len()];
    for (i, m) in sizes.iter().enumerate() {
        sums.sides[usize::from(terms.y[i] < 0.0)].gain += m * terms.shares[i];
        cross[i] = -terms.y[i] * terms.stiff[i] * m;
        sums.curvature.threshold += terms.stiff[i] * m * m;
    }
    chunk.add_weighted(&cross, &mut sums.curvature.cross);
}

/// Rows with axes of their own: each is moved by its image. The length bends by
/// `$(P_i - P_i w w^\top P_i / s_i^2) / s_i$`.
fn add_own(chunk: &Chunk, terms: &Terms, images: &Dense, smooth: &[f64], sums: &mut SmoothedSums) {
    let p = chunk.z.ncols();
    let Some(axes) = &chunk.errors else { return };
    let mut moved = chunk.z.to_dense();
    for (i, y) in terms.y.iter().enumerate() {
        vector::axpy(-y, images.row(i), moved.row_mut(i));
    }
    let moved = Matrix::Dense(moved);
    add_pulled(&moved, terms, sums);
    let out = &mut sums.curvature.matrix.0;
    add_gram(&moved, &terms.stiff, out);
    let bends: Vec<f64> = terms.shares.iter().zip(smooth).map(|(a, s)| a / s).collect();
    let gram = images.weighted_gram(&bends);
    for j in 0..p {
        vector::axpy(-1.0, gram.row(j), &mut out.row_mut(j)[..p]);
    }
    for (i, bend) in bends.iter().enumerate().filter(|(_, bend)| **bend > 0.0) {
        for (j, a) in axes.row(i).iter().enumerate() {
            out[(j, j)] += bend * a * a;
        }
    }
}
