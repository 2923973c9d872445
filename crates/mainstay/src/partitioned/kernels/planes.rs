//! Sums over classes for planes: Gram matrices, and worst-case distances with the weights of a majorising step.

use super::super::block::Block;
use super::super::message::{add, add_matrix};
use super::super::wire::{Reader, Symmetric, Wire, damaged, wire};
use super::rows::{Chunk, RowUnits};
use crate::error::{Error, Result};
use crate::linalg::{Dense, TINY, qr_triangle, vector};

/// Relative closeness to a kink at which majorisers are cut off.
pub(crate) const CLAMP: f64 = 1e-7;

/// `$\theta = |d|/(|d| + \rho)$` in `$(|d| + \rho)^2 \le d^2/\theta + \rho^2/(1 - \theta)$`, away from its ends.
pub(crate) fn own_part(distance: f64, reach: f64) -> f64 {
    (distance.abs() / (distance.abs() + reach).max(TINY)).clamp(CLAMP, 1.0 - CLAMP)
}

/// What is asked about classes and planes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanesAsk {
    /// Rows are `$(\tilde x, -1)$`.
    pub units: RowUnits,
    /// What of them.
    pub want: Want,
}

wire!(PlanesAsk { units, want });

/// What is asked of all classes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Want {
    /// `$[A\ {-e}]^\top [A\ {-e}]$` of every class.
    Grams,
    /// A triangle with the same inner products of columns, whose condition number is not squared.
    Triangles,
    /// Distances from planes.
    Distances(Vec<PlaneQuestion>),
}

/// One plane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlaneQuestion {
    /// `$z = (w, \gamma)$` in the units of the ask.
    pub plane: Vec<f64>,
    /// The class that should lie on it.
    pub own: usize,
    /// The class that should not; none is all others.
    pub other: Option<usize>,
    /// `$\rho(w)$`: by how much an error moves a row across the plane.
    pub reach: f64,
    /// Whether the next step is wanted too.
    pub step: bool,
}

wire!(PlaneQuestion { plane, own, other, reach, step });

/// The answer of some rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlanesSums {
    /// Of every class: rows of positive weight, and the matrix.
    Grams(Vec<ClassSums>),
    /// The same with triangles: rows of length p + 1, one after the other.
    Triangles(Vec<ClassRows>),
    /// One for every plane.
    Distances(Vec<DistanceSums>),
}

/// Rows of positive weight of a class, and its Gram matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassSums {
    pub rows: usize,
    pub gram: Symmetric,
}

wire!(ClassSums { rows, gram });

/// Rows of positive weight of a class, and rows with its inner products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassRows {
    pub rows: usize,
    pub width: usize,
    pub data: Vec<f64>,
}

wire!(ClassRows { rows, width, data });

/// Both halves of the worst-case ratio of a plane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistanceSums {
    /// `$\sum_A c (|d| + \rho)^2$`.
    pub top: f64,
    /// `$\sum_B c \max(|d| - \rho, 0)^2$`.
    pub bottom: f64,
    /// Total weights of both.
    pub weights: [f64; 2],
    pub step: Option<StepSums>,
}

wire!(DistanceSums { top, bottom, weights, step });

/// What majorises the ratio at a plane, `$U = c \max(|d| - \rho, 0)$` and `$\bar\rho = \max(\rho, \varepsilon|d|)$`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepSums {
    /// `$\sum_A c/\theta\ x x^\top$`.
    pub gram: Symmetric,
    /// `$\sum_A c/(1 - \theta)$`.
    pub own_spread: f64,
    /// `$\sum_B \pm U x$`.
    pub slope: Vec<f64>,
    /// `$\sum_B U/\bar\rho$`.
    pub other_spread: f64,
    /// `$\sum_B U\bar\rho/2$`.
    pub constant: f64,
}

wire!(StepSums { gram, own_spread, slope, other_spread, constant });

impl PlanesAsk {
    pub(super) fn look(&self, block: &Block<'_>) -> Result<PlanesSums> {
        let (q, classes) = (self.units.width(), self.units.class_factors.len());
        match &self.want {
            Want::Grams => {
                let empty = ClassSums { rows: 0, gram: Symmetric(Dense::zeros(q, q)) };
                let mut sums = vec![empty; classes];
                self.units.each_chunk(block, |chunk| {
                    chunk.add_grams(&mut sums);
                    Ok(())
                })?;
                Ok(PlanesSums::Grams(sums))
            }
            Want::Triangles => {
                let mut sums = vec![ClassRows { rows: 0, width: q, data: Vec::new() }; classes];
                self.units.each_chunk(block, |chunk| {
                    chunk.add_rows(&mut sums);
                    Ok(())
                })?;
                Ok(PlanesSums::Triangles(sums))
            }
            Want::Distances(questions) => {
                if questions.iter().any(|question| question.plane.len() != q) {
                    return Err(damaged("a plane of another order"));
                }
                let mut sums: Vec<_> = questions.iter().map(DistanceSums::empty).collect();
                self.units.each_chunk(block, |chunk| {
                    questions.iter().zip(&mut sums).for_each(|(ask, sum)| sum.see(ask, chunk));
                    Ok(())
                })?;
                Ok(PlanesSums::Distances(sums))
            }
        }
    }
}

impl Chunk {
    fn class(&self, label: usize) -> Vec<f64> {
        let own = |(l, c): (&usize, &f64)| if *l == label { *c } else { 0.0 };
        self.labels.iter().zip(&self.weights).map(own).collect()
    }

    fn add_grams(&self, sums: &mut [ClassSums]) {
        for (label, sum) in sums.iter_mut().enumerate() {
            let rows = self.labels.iter().filter(|l| **l == label).count();
            if rows > 0 {
                let gram = self.x.weighted_gram(&self.class(label));
                vector::axpy(1.0, gram.data(), sum.gram.0.data_mut());
                sum.rows += rows;
            }
        }
    }

    fn add_rows(&self, sums: &mut [ClassRows]) {
        for (i, (&label, weight)) in self.labels.iter().zip(&self.weights).enumerate() {
            let sum = &mut sums[label];
            sum.rows += 1;
            sum.data.extend(self.x.row(i).iter().map(|x| weight.sqrt() * x));
        }
        sums.iter_mut().for_each(ClassRows::shorten);
    }
}

impl ClassRows {
    /// Many rows become a triangle.
    fn shorten(&mut self) {
        let height = self.data.len() / self.width.max(1);
        if height > 4 * self.width.max(64) {
            let tall = Dense::from_rows(height, self.width, std::mem::take(&mut self.data));
            self.data = qr_triangle(&tall).into_data();
        }
    }
}

impl DistanceSums {
    fn empty(question: &PlaneQuestion) -> Self {
        let q = question.plane.len();
        let step = || StepSums {
            gram: Symmetric(Dense::zeros(q, q)),
            own_spread: 0.0,
            slope: vec![0.0; q],
            other_spread: 0.0,
            constant: 0.0,
        };
        Self { top: 0.0, bottom: 0.0, weights: [0.0; 2], step: question.step.then(step) }
    }

    fn see(&mut self, question: &PlaneQuestion, chunk: &Chunk) {
        let distances = chunk.x.mul_vec(&question.plane);
        let n = distances.len();
        let (mut bends, mut pulls) = (vec![0.0; n], vec![0.0; n]);
        let (mut own_spread, mut other_spread, mut constant) = (0.0, 0.0, 0.0);
        let rho = question.reach;
        for (i, &d) in distances.iter().enumerate() {
            let (label, c) = (chunk.labels[i], chunk.weights[i]);
            if label == question.own {
                self.top += c * (d.abs() + rho).powi(2);
                self.weights[0] += c;
                let theta = own_part(d, rho);
                bends[i] = if rho == 0.0 { c } else { c / theta };
                own_spread += c / (1.0 - theta);
            } else if question.other.is_none_or(|other| other == label) {
                let beyond = (d.abs() - rho).max(0.0);
                self.bottom += c * beyond * beyond;
                self.weights[1] += c;
                let floor = rho.max(CLAMP * d.abs()).max(TINY);
                pulls[i] = (c * beyond).copysign(d);
                other_spread += c * beyond / floor;
                constant += 0.5 * c * beyond * floor;
            }
        }
        if let Some(step) = &mut self.step {
            vector::axpy(1.0, chunk.x.weighted_gram(&bends).data(), step.gram.0.data_mut());
            vector::axpy(1.0, &chunk.x.tr_mul_vec(&pulls), &mut step.slope);
            step.own_spread += own_spread;
            step.other_spread += other_spread;
            step.constant += constant;
        }
    }

    fn merge(mut self, next: &Self) -> Result<Self> {
        self.top += next.top;
        self.bottom += next.bottom;
        add(&mut self.weights, &next.weights)?;
        if let (Some(total), Some(part)) = (&mut self.step, &next.step) {
            add_matrix(&mut total.gram.0, &part.gram.0)?;
            add(&mut total.slope, &part.slope)?;
            total.own_spread += part.own_spread;
            total.other_spread += part.other_spread;
            total.constant += part.constant;
        }
        Ok(self)
    }
}

impl PlanesSums {
    pub(super) fn merge(self, next: Self) -> Result<Self> {
        let unlike = || Error::Mismatch("answers to different questions".into());
        match (self, next) {
            (Self::Grams(mut a), Self::Grams(b)) if a.len() == b.len() => {
                for (total, part) in a.iter_mut().zip(&b) {
                    total.rows += part.rows;
                    add_matrix(&mut total.gram.0, &part.gram.0)?;
                }
                Ok(Self::Grams(a))
            }
            (Self::Triangles(mut a), Self::Triangles(b)) if a.len() == b.len() => {
                for (total, part) in a.iter_mut().zip(b) {
                    if total.width != part.width {
                        return Err(unlike());
                    }
                    total.rows += part.rows;
                    total.data.extend(part.data);
                    total.shorten();
                }
                Ok(Self::Triangles(a))
            }
            (Self::Distances(a), Self::Distances(b)) if a.len() == b.len() => {
                let pairs = a.into_iter().zip(&b);
                Ok(Self::Distances(pairs.map(|(a, b)| a.merge(b)).collect::<Result<_>>()?))
            }
            _ => Err(unlike()),
        }
    }
}

impl Wire for Want {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Grams => out.push(0),
            Self::Triangles => out.push(1),
            Self::Distances(questions) => {
                out.push(2);
                questions.put(out);
            }
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::Grams,
            1 => Self::Triangles,
            2 => Self::Distances(Vec::get(from)?),
            _ => return Err(damaged("an unknown question about planes")),
        })
    }
}

impl Wire for PlanesSums {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Grams(sums) => {
                out.push(0);
                sums.put(out);
            }
            Self::Triangles(rows) => {
                out.push(1);
                rows.put(out);
            }
            Self::Distances(sums) => {
                out.push(2);
                sums.put(out);
            }
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::Grams(Vec::get(from)?),
            1 => Self::Triangles(Vec::get(from)?),
            2 => Self::Distances(Vec::get(from)?),
            _ => return Err(damaged("an unknown answer about planes")),
        })
    }
}
