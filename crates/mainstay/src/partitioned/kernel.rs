//! One look at the rows of a partition: value, slope, curvature and both halves of a certificate at a point.

use std::ops::Range;

use super::ask::{BACKTRACK, Counting, PassAsk, Point, Question};
use super::block::Block;
use super::drawn::draw;
use super::message::{Curvature, NearRows, Side, Sums};
use super::row_terms::{Losses, share, smoothed_sum};
use super::wire::Symmetric;
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};
use crate::loss::Loss;

/// Numbers of a chunk: few enough for the cache next to the processor.
const CHUNK_NUMBERS: usize = 65_536;
/// Rows of a chunk, at least and at most.
const CHUNK_ROWS: (usize, usize) = (64, 2048);

/// Rows of a partition in solver units, with their classes and weights.
pub(super) struct Chunk {
    pub z: Matrix,
    pub labels: Vec<usize>,
    pub weights: Vec<f64>,
    /// Radii, or semi-axes in solver units, one row of them for each row; none where rows have no error.
    pub errors: Option<Dense>,
    thinned: Option<Thinned>,
}

/// The rows of a chunk that tell the curvature for all of them.
struct Thinned {
    /// One row in so many.
    thin: u64,
    rows: Vec<usize>,
    z: Matrix,
}

/// Shows the rows of one block chunk by chunk, in row order.
pub(super) fn each_chunk(
    block: &Block<'_>,
    ask: &PassAsk,
    mut see: impl FnMut(&Chunk) -> Result<()>,
) -> Result<()> {
    let p = ask.factors.len();
    block.check_known(p, ask.class_factors.len())?;
    let height = (CHUNK_NUMBERS / p.max(1)).clamp(CHUNK_ROWS.0, CHUNK_ROWS.1);
    // The same memory for all chunks: some allocators give it back each time, and the system clears it anew.
    let mut room = Vec::new();
    for first in (0..block.len()).step_by(height) {
        let chunk = Chunk::new(block, first..block.len().min(first + height), ask, room)?;
        see(&chunk)?;
        room = chunk.into_room();
    }
    Ok(())
}

/// Answers every question from the rows of one block.
pub(super) fn look_at(block: &Block<'_>, ask: &PassAsk) -> Result<Vec<Sums>> {
    let p = ask.factors.len();
    let mut answers: Vec<Sums> = ask.questions.iter().map(|q| Sums::empty(q, p)).collect();
    each_chunk(block, ask, |chunk| {
        for (question, sums) in ask.questions.iter().zip(&mut answers) {
            chunk.answer(question, sums);
        }
        Ok(())
    })?;
    Ok(answers)
}

impl Sums {
    /// Nothing seen yet.
    fn empty(question: &Question, p: usize) -> Self {
        let side = || Side { pulled: vec![0.0; p], ..Side::default() };
        let square = || Symmetric(Dense::zeros(p + 1, p + 1));
        let near = question.near.map(|_| NearRows {
            rows: Vec::new(),
            value: 0.0,
            weight: 0.0,
            slope: vec![0.0; p + 1],
            bend: (question.loss != Loss::Hinge).then(square),
        });
        let curvature = || Curvature { matrix: square(), cross: vec![0.0; p + 1], threshold: 0.0 };
        Self {
            value: 0.0,
            value_before: 0.0,
            back: [0.0; BACKTRACK.len()],
            primal: 0.0,
            open: 0.0,
            share: 0.0,
            band: 0.0,
            sides: [side(), side()],
            curvature: near.is_none().then(curvature),
            near,
        }
    }
}

/// What every row of a chunk means for one question.
struct Terms {
    y: Vec<f64>,
    scores: Vec<f64>,
    losses: Losses,
    /// `$a_i$` times the weight.
    shares: Vec<f64>,
    /// Whether the row is on the threshold.
    between: Vec<bool>,
}

impl Chunk {
    /// `room` is memory for its numbers.
    fn new(block: &Block<'_>, rows: Range<usize>, ask: &PassAsk, room: Vec<f64>) -> Result<Self> {
        let at = block.rows.start + rows.start..block.rows.start + rows.end;
        let labels: Vec<usize> = block.labels[rows.clone()].to_vec();
        let weight = |i: usize| block.weight(i) * ask.class_factors[block.labels[i]];
        let weights = rows.clone().map(weight).collect();
        let z = match &*block.x {
            Matrix::Dense(x) => Matrix::Dense(standard(x, at.clone(), ask, room)),
            sparse @ Matrix::Sparse(_) => {
                let rows: Vec<usize> = at.clone().collect();
                sparse.select_rows(&rows).scale_columns(&ask.factors)
            }
        };
        if !vector::all_finite(z.values()) {
            return Err(block.changed());
        }
        let errors = block.errors.as_ref().map(|e| errors_in_units(e, at, ask));
        let thinned = (ask.thin > 1).then(|| {
            let chosen =
                |row: &usize| draw(block.partition, rows.start + row).is_multiple_of(ask.thin);
            let chosen: Vec<usize> = (0..rows.len()).filter(chosen).collect();
            Thinned { thin: ask.thin, z: z.select_rows(&chosen), rows: chosen }
        });
        Ok(Self { z, labels, weights, errors, thinned })
    }

    /// Gives the memory of its numbers back.
    fn into_room(self) -> Vec<f64> {
        match self.z {
            Matrix::Dense(z) => z.into_data(),
            Matrix::Sparse(_) => Vec::new(),
        }
    }

    /// +1 for rows of class `positive`, -1 for others.
    pub(super) fn signs(&self, positive: usize) -> Vec<f64> {
        let signed = |label: &usize| if *label == positive { 1.0 } else { -1.0 };
        self.labels.iter().map(signed).collect()
    }

    /// The score of every row.
    pub(super) fn scores(&self, point: &Point) -> Vec<f64> {
        let mut scores = self.z.mul_vec(&point.v);
        for f in &mut scores {
            *f += point.b;
        }
        scores
    }

    /// Adds what the chunk says to the answer.
    fn answer(&self, question: &Question, sums: &mut Sums) {
        let terms = self.terms(question);
        self.add_values(question, &terms, sums);
        self.add_sides(&terms, sums);
        if let Some(near) = &mut sums.near {
            self.add_near(question, &terms, near);
        }
        if let Some(curvature) = &mut sums.curvature {
            self.add_curvature(question, &terms, curvature);
        }
    }

    fn terms(&self, question: &Question) -> Terms {
        let y = self.signs(question.positive);
        let scores = self.scores(&question.point);
        let margins: Vec<f64> = y.iter().zip(&scores).map(|(y, f)| y * f).collect();
        let losses = Losses::at(question.loss, &margins);
        let mut shares = Vec::with_capacity(y.len());
        let mut between = Vec::with_capacity(y.len());
        for (l, c) in losses.value.iter().zip(&self.weights) {
            let (a, _) = share(question.counting, *l, question.point.theta, question.width);
            between.push(a > 0.0 && a < 1.0);
            shares.push(a * c);
        }
        Terms { y, scores, losses, shares, between }
    }

    fn add_values(&self, question: &Question, terms: &Terms, sums: &mut Sums) {
        let (counting, theta) = (question.counting, question.point.theta);
        let losses = &terms.losses.value;
        let sum = |theta, width| smoothed_sum(counting, losses, &self.weights, theta, width);
        let value = sum(theta, question.width);
        sums.value += value;
        for (i, &l) in losses.iter().enumerate() {
            let t = l - theta;
            let above = self.weights[i] * t.max(0.0);
            sums.primal += above;
            sums.open += above - terms.shares[i] * t;
            sums.share += terms.shares[i];
            sums.band += f64::from(u8::from(terms.between[i] && self.weights[i] > 0.0));
        }
        let Some(back) = &question.back else {
            sums.value_before += value;
            return;
        };
        sums.value_before +=
            if back.width == question.width { value } else { sum(theta, back.width) };
        let rate = self.scores(&back.step);
        for (total, part) in sums.back.iter_mut().zip(BACKTRACK) {
            let margin = |i: usize| terms.y[i] * (terms.scores[i] - part * rate[i]);
            let margins: Vec<f64> = (0..rate.len()).map(margin).collect();
            let losses = Losses::at(question.loss, &margins).value;
            let theta = (theta - part * back.step.theta).max(0.0);
            *total += smoothed_sum(counting, &losses, &self.weights, theta, back.width);
        }
    }

    fn add_sides(&self, terms: &Terms, sums: &mut Sums) {
        let n = terms.y.len();
        let mut pulls = [vec![0.0; n], vec![0.0; n]];
        for (i, (&a, &slope)) in terms.shares.iter().zip(&terms.losses.slope).enumerate() {
            if a * slope <= 0.0 {
                continue;
            }
            let which = usize::from(terms.y[i] < 0.0);
            let side = &mut sums.sides[which];
            side.share += a;
            side.pull += a * slope;
            // Fenchel's equality: the conjugate at the slope is slope times margin less value.
            side.gain += a * (terms.losses.value[i] + slope * terms.y[i] * terms.scores[i]);
            pulls[which][i] = -terms.y[i] * a * slope;
        }
        let pulled = self.z.tr_mul_pair([&pulls[0], &pulls[1]]);
        for (side, pulled) in sums.sides.iter_mut().zip(&pulled) {
            vector::axpy(1.0, pulled, &mut side.pulled);
        }
    }

    fn add_curvature(&self, question: &Question, terms: &Terms, out: &mut Curvature) {
        let n = terms.y.len();
        let (mut bends, mut cross) = (vec![0.0; n], vec![0.0; n]);
        let mut any = false;
        for i in 0..n {
            bends[i] = terms.shares[i] * terms.losses.bend[i];
            if question.counting == Counting::Above && terms.between[i] {
                let stiff = self.weights[i] / question.width;
                let slope = terms.losses.slope[i];
                bends[i] += stiff * slope * slope;
                cross[i] = -terms.y[i] * stiff * slope;
                out.threshold += stiff;
                any = true;
            }
        }
        match &self.thinned {
            // Rows on a threshold may be few: none of them is left out.
            Some(thinned) if question.counting != Counting::Above => {
                let factor = thinned.thin as f64;
                let bends: Vec<f64> = thinned.rows.iter().map(|&i| factor * bends[i]).collect();
                add_gram(&thinned.z, &bends, &mut out.matrix.0);
            }
            _ => add_gram(&self.z, &bends, &mut out.matrix.0),
        }
        if any {
            self.add_weighted(&cross, &mut out.cross);
        }
    }

    fn add_near(&self, question: &Question, terms: &Terms, out: &mut NearRows) {
        let reach = question.near.unwrap_or(0.0);
        let n = terms.y.len();
        let (mut slopes, mut bends) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let t = terms.losses.value[i] - question.point.theta;
            let c = self.weights[i];
            if t > reach {
                out.value += c * terms.losses.value[i];
                out.weight += c;
                slopes[i] = -terms.y[i] * c * terms.losses.slope[i];
                bends[i] = c * terms.losses.bend[i];
            } else if t >= -reach && c > 0.0 {
                let start = out.rows.len();
                out.rows.resize(start + self.z.ncols(), 0.0);
                self.z.row(i).add_scaled_to(1.0, &mut out.rows[start..]);
                out.rows.extend([terms.y[i], c]);
            }
        }
        self.add_weighted(&slopes, &mut out.slope);
        if let Some(bend) = &mut out.bend {
            add_gram(&self.z, &bends, &mut bend.0);
        }
    }

    /// Adds `$\sum r_i (z_i, 1)$`.
    pub(super) fn add_weighted(&self, r: &[f64], out: &mut [f64]) {
        let p = self.z.ncols();
        vector::axpy(1.0, &self.z.tr_mul_vec(r), &mut out[..p]);
        out[p] += r.iter().sum::<f64>();
    }
}

/// Adds `$\sum \omega_i (z_i, 1)(z_i, 1)^\top$`.
pub(super) fn add_gram(z: &Matrix, weights: &[f64], out: &mut Dense) {
    if weights.iter().all(|w| *w == 0.0) {
        return;
    }
    let p = z.ncols();
    let gram = z.weighted_gram(weights);
    let sums = z.tr_mul_vec(weights);
    for i in 0..p {
        vector::axpy(1.0, gram.row(i), &mut out.row_mut(i)[..p]);
        out[(i, p)] += sums[i];
        out[(p, i)] += sums[i];
    }
    out[(p, p)] += weights.iter().sum::<f64>();
}

/// Rows in solver units, `$(x - m) t$`, in the memory of `data`.
fn standard(x: &Dense, rows: Range<usize>, ask: &PassAsk, mut data: Vec<f64>) -> Dense {
    let (p, height) = (x.ncols(), rows.len());
    let given = &x.data()[rows.start * p..rows.end * p];
    data.resize(height * p, 0.0);
    vector::vectorized!({
        let pairs = given.chunks_exact(p.max(1)).zip(data.chunks_exact_mut(p.max(1)));
        for (row, out) in pairs {
            let cells = out.iter_mut().zip(row).zip(&ask.factors);
            if ask.means.is_empty() {
                cells.for_each(|((out, x), t)| *out = x * t);
            } else {
                cells.zip(&ask.means).for_each(|(((out, x), t), m)| *out = (x - m) * t);
            }
        }
    });
    Dense::from_rows(height, p, data)
}

/// Errors of some rows: semi-axes in solver units, radii as they are.
fn errors_in_units(errors: &Dense, rows: Range<usize>, ask: &PassAsk) -> Dense {
    let count = errors.ncols();
    let radii = count == 1 && ask.factors.len() > 1;
    let unit = |j: usize| if radii { 1.0 } else { ask.factors[j] };
    let first = rows.start;
    Dense::from_fn(rows.len(), count, |i, j| errors[(first + i, j)] * unit(j))
}

/// The weighted mean of `$(z, 1)(z, 1)^\top$` over the rows of a block, whose total weight is given.
pub(super) fn mean_gram(block: &Block<'_>, ask: &PassAsk, total: f64) -> Result<Dense> {
    let p = ask.factors.len();
    let mut gram = Dense::zeros(p + 1, p + 1);
    each_chunk(block, ask, |chunk| {
        let shares: Vec<f64> = chunk.weights.iter().map(|w| w / total).collect();
        add_gram(&chunk.z, &shares, &mut gram);
        Ok(())
    })?;
    Ok(gram)
}
