//! The ellipsoids of all rows of a data set.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use rayon::prelude::*;

use super::shape::{factored, no_factor};
use super::spread::SpreadSum;
use super::{Ellipsoid, Spread, View};
use crate::data::{Dataset, RowUncertainty, Shape};
use crate::error::Result;
use crate::linalg::{Dense, vector};

/// The ellipsoid of every row of a data set.
#[derive(Debug, Clone)]
pub struct Ellipsoids {
    p: usize,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Shared(Ellipsoid),
    Balls(Vec<f64>),
    Axes(Dense),
    Full { factors: Dense, products: Dense },
    Groups(Vec<usize>, Vec<Ellipsoid>),
}

/// Ellipsoids up to scale: row `i` has `multiplier[i]` times the shape `shapes[of[i]]`.
#[derive(Debug)]
pub struct Grouped<'a> {
    /// Index into `shapes`; meaningless where the multiplier is 0.
    pub of: Vec<usize>,
    /// Factor on the shape; 0 where the row is exact.
    pub multiplier: Vec<f64>,
    /// The distinct shapes.
    pub shapes: Vec<View<'a>>,
}

impl Ellipsoids {
    /// [`Ellipsoids::new`] for `data` made from `given` by merging rows: an error names the row that was given.
    pub fn traced(data: &Dataset, given: &Dataset, shared: &Shape) -> Result<Self> {
        Self::new(data, shared).or_else(|error| {
            given.uncertainty().map_or(Ok(()), |u| u.check_semidefinite(given.n_features()))?;
            Err(error)
        })
    }

    /// Those given with the data, or else `shared` around every row.
    pub fn new(data: &Dataset, shared: &Shape) -> Result<Self> {
        let p = data.n_features();
        let kind = match data.uncertainty() {
            None => Kind::Shared(Ellipsoid::new(shared, p)?),
            Some(RowUncertainty::Radii(radii)) => Kind::Balls(radii.clone()),
            Some(RowUncertainty::Axes(axes)) => Kind::Axes(axes.clone()),
            Some(RowUncertainty::Matrices(m)) => {
                let size = p * (p + 1) / 2;
                let mut factors = Dense::zeros(m.nrows(), size);
                let mut products = Dense::zeros(m.nrows(), size);
                let rows = factors.data_mut().par_chunks_mut(size.max(1));
                let proven = rows
                    .zip(products.data_mut().par_chunks_mut(size.max(1)))
                    .enumerate()
                    .all(|(i, (factor, product))| factored(m.row(i), p, factor, product));
                if !proven {
                    return Err(no_factor());
                }
                Kind::Full { factors, products }
            }
            Some(RowUncertainty::Groups { group, shapes }) => {
                let shapes = shapes.iter().map(|s| Ellipsoid::new(s, p)).collect::<Result<_>>()?;
                Kind::Groups(group.clone(), shapes)
            }
        };
        Ok(Self { p, kind })
    }

    /// The same ellipsoid around every row.
    pub fn shared(shape: Ellipsoid, p: usize) -> Self {
        Self { p, kind: Kind::Shared(shape) }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.p
    }

    /// The ellipsoid of row `i`.
    pub fn row(&self, i: usize) -> View<'_> {
        match &self.kind {
            Kind::Shared(shape) => shape.view(),
            Kind::Balls(radii) => View::Ball(radii[i]),
            Kind::Axes(axes) => View::Axes(axes.row(i)),
            Kind::Full { factors, products } => View::Full(factors.row(i), products.row(i)),
            Kind::Groups(group, shapes) => shapes[group[i]].view(),
        }
    }

    /// `$\rho_i(w)$` of the rows `rows`.
    pub fn supports(&self, rows: &[usize], w: &[f64]) -> Vec<f64> {
        match &self.kind {
            Kind::Shared(shape) => vec![shape.view().support(w); rows.len()],
            Kind::Balls(radii) => {
                let norm = vector::norm(w);
                rows.iter().map(|&i| radii[i] * norm).collect()
            }
            Kind::Groups(group, shapes) => {
                let each: Vec<f64> = shapes.iter().map(|s| s.view().support(w)).collect();
                rows.iter().map(|&i| each[group[i]]).collect()
            }
            Kind::Axes(axes) => {
                let squares: Vec<f64> = w.iter().map(|v| v * v).collect();
                let mut out = vec![0.0; rows.len()];
                vector::vectorized!(axis_supports(axes, rows, &squares, &mut out));
                out
            }
            Kind::Full { .. } => rows.iter().map(|&i| self.row(i).support(w)).collect(),
        }
    }

    /// `$\sum_k c_k P_{\mathrm{rows}[k]}$`.
    pub fn weighted_sum(&self, rows: &[usize], c: &[f64]) -> Spread {
        let mut sum = SpreadSum::new(self.p);
        match &self.kind {
            Kind::Shared(shape) => sum.add(c.iter().sum(), shape.view()),
            Kind::Balls(radii) => {
                sum.add(
                    rows.iter().zip(c).map(|(&i, c)| c * radii[i] * radii[i]).sum(),
                    View::Ball(1.0),
                );
            }
            Kind::Groups(group, shapes) => {
                let mut totals = vec![0.0; shapes.len()];
                rows.iter().zip(c).for_each(|(&i, c)| totals[group[i]] += c);
                totals.iter().zip(shapes).for_each(|(t, s)| sum.add(*t, s.view()));
            }
            Kind::Axes(_) | Kind::Full { .. } => vector::vectorized!({
                for (&i, c) in rows.iter().zip(c) {
                    sum.add(*c, self.row(i));
                }
            }),
        }
        sum.finish()
    }

    /// All ellipsoids `s` times as large.
    #[must_use]
    pub fn scaled(mut self, s: f64) -> Self {
        let times = |m: &mut Dense, s: f64| vector::scale(m.data_mut(), s);
        match &mut self.kind {
            Kind::Shared(shape) => shape.scale(s),
            Kind::Balls(radii) => vector::scale(radii, s),
            Kind::Axes(axes) => times(axes, s),
            Kind::Full { factors, products } => {
                times(factors, s);
                times(products, s * s);
            }
            Kind::Groups(_, shapes) => shapes.iter_mut().for_each(|shape| shape.scale(s)),
        }
        self
    }

    /// Whether every ellipsoid is a ball, so that only the length of w matters.
    pub fn all_balls(&self) -> bool {
        match &self.kind {
            Kind::Shared(e) => matches!(e, Ellipsoid::Ball(_)),
            Kind::Balls(_) => true,
            Kind::Groups(_, shapes) => shapes.iter().all(|e| matches!(e, Ellipsoid::Ball(_))),
            Kind::Axes(_) | Kind::Full { .. } => false,
        }
    }

    /// Whether every P is diagonal.
    pub fn all_diagonal(&self) -> bool {
        let diagonal = |e: &Ellipsoid| !matches!(e, Ellipsoid::Full { .. });
        match &self.kind {
            Kind::Shared(e) => diagonal(e),
            Kind::Balls(_) | Kind::Axes(_) => true,
            Kind::Groups(_, shapes) => shapes.iter().all(diagonal),
            Kind::Full { .. } => false,
        }
    }

    /// The balls of the same radii in `p` dimensions; `None` unless all are balls.
    pub fn balls_in(&self, p: usize) -> Option<Self> {
        self.all_balls().then(|| Self { p, kind: self.kind.clone() })
    }

    /// The fewest shapes of which the first `n` ellipsoids are multiples.
    pub fn grouped(&self, n: usize) -> Grouped<'_> {
        let (of, multiplier, shapes): (Vec<usize>, Vec<f64>, Vec<View<'_>>) = match &self.kind {
            _ if self.all_balls() => {
                let radius = |i| match self.row(i) {
                    View::Ball(r) => r,
                    View::Axes(_) | View::Full(..) => 0.0,
                };
                let largest = (0..n).map(radius).fold(0.0, f64::max);
                let share = |i| if largest > 0.0 { radius(i) / largest } else { 0.0 };
                (vec![0; n], (0..n).map(share).collect(), vec![View::Ball(largest)])
            }
            Kind::Shared(shape) => (vec![0; n], vec![1.0; n], vec![shape.view()]),
            Kind::Groups(group, shapes) => {
                (group.clone(), vec![1.0; n], shapes.iter().map(Ellipsoid::view).collect())
            }
            _ => ((0..n).collect(), vec![1.0; n], (0..n).map(|i| self.row(i)).collect()),
        };
        // Points are no ellipsoids: number the others anew.
        let mut number = vec![usize::MAX; shapes.len()];
        let mut kept = Vec::with_capacity(shapes.len());
        let mut used = vec![false; shapes.len()];
        (0..n).for_each(|i| used[of[i]] |= multiplier[i] > 0.0);
        for (j, shape) in shapes.iter().enumerate() {
            if used[j] && !shape.is_zero() {
                number[j] = kept.len();
                kept.push(*shape);
            }
        }
        let exact = |i: usize| number[of[i]] == usize::MAX;
        let multiplier = (0..n).map(|i| if exact(i) { 0.0 } else { multiplier[i] }).collect();
        let of = (0..n).map(|i| if exact(i) { 0 } else { number[of[i]] }).collect();
        Grouped { of, multiplier, shapes: kept }
    }
}

#[inline(always)]
fn axis_supports(axes: &Dense, rows: &[usize], squares: &[f64], out: &mut [f64]) {
    for (o, &i) in out.iter_mut().zip(rows) {
        *o = vector::weighted_norm_sq(axes.row(i), squares).sqrt();
    }
}
