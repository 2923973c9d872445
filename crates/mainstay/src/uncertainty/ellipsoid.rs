//! Ellipsoids $\{x + d : d^\top P^{-1} d \le 1\}$ around rows, with $P = L L^\top$ ($P$ may be singular or 0).
//!
//! Against a plane $w^\top x = \gamma$ only the support function $\rho(w) = \sqrt{w^\top P w} = \|L^\top w\|$
//! matters; the points at which it is reached are Eq. (28) of the robust ReGEC paper,
//! $x \pm P w / \rho(w)$. If the ellipsoid crosses the plane the nearest distance is 0 and the nearest
//! point lies on the plane (the published formula overshoots).

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};

use crate::data::{Dataset, RowUncertainty, Shape};
use crate::error::{Error, Result};
use crate::linalg::{Dense, psd_factor, vector};

/// One ellipsoid, centred at the origin.
#[derive(Debug, Clone, PartialEq)]
pub enum Ellipsoid {
    /// Radius.
    Ball(f64),
    /// Semi-axis lengths along the features.
    Axes(Vec<f64>),
    /// Any orientation.
    Full {
        /// Lower triangle of L, row by row.
        factor: Vec<f64>,
        /// Lower triangle of P, row by row.
        product: Vec<f64>,
    },
}

/// An [`Ellipsoid`] that lives elsewhere.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// Radius.
    Ball(f64),
    /// Semi-axis lengths along the features.
    Axes(&'a [f64]),
    /// Lower triangles of L and P, row by row.
    Full(&'a [f64], &'a [f64]),
}

fn pack(m: &Dense, out: &mut Vec<f64>) {
    (0..m.nrows()).for_each(|i| out.extend_from_slice(&m.row(i)[..=i]));
}

/// Appends the lower triangles of L and of P.
fn factored(p: &Dense, factors: &mut Vec<f64>, products: &mut Vec<f64>) -> Result<()> {
    let factor = psd_factor(p)
        .ok_or_else(|| Error::BadData("uncertainty: P is not positive semidefinite".into()))?;
    pack(&factor, factors);
    pack(p, products);
    Ok(())
}

impl Ellipsoid {
    /// Checks `shape` for `p` features and factors it.
    pub fn new(shape: &Shape, p: usize) -> Result<Self> {
        shape.check(p, "uncertainty")?;
        Ok(match shape {
            Shape::Ball(r) => Self::Ball(*r),
            Shape::Axes(axes) => Self::Axes(axes.clone()),
            Shape::Matrix(rows) => {
                let (mut factor, mut product) = (Vec::new(), Vec::new());
                factored(&Dense::from_rows(p, p, rows.concat()), &mut factor, &mut product)?;
                Self::Full { factor, product }
            }
        })
    }

    /// A view of it.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Ball(r) => View::Ball(*r),
            Self::Axes(axes) => View::Axes(axes),
            Self::Full { factor, product } => View::Full(factor, product),
        }
    }

    #[must_use]
    fn scaled(&self, s: f64) -> Self {
        let times = |v: &[f64], s: f64| v.iter().map(|x| x * s).collect();
        match self {
            Self::Ball(r) => Self::Ball(r * s),
            Self::Axes(axes) => Self::Axes(times(axes, s)),
            Self::Full { factor, product } => {
                Self::Full { factor: times(factor, s), product: times(product, s * s) }
            }
        }
    }
}

impl View<'_> {
    /// $L^\top w$.
    pub fn pull(self, w: &[f64], out: &mut [f64]) {
        match self {
            Self::Ball(r) => out.iter_mut().zip(w).for_each(|(o, v)| *o = r * v),
            Self::Axes(axes) => {
                out.iter_mut().zip(w).zip(axes).for_each(|((o, v), a)| *o = a * v);
            }
            Self::Full(factor, _) => {
                out.fill(0.0);
                let mut start = 0;
                for (i, v) in w.iter().enumerate() {
                    vector::axpy(*v, &factor[start..=start + i], &mut out[..=i]);
                    start += i + 1;
                }
            }
        }
    }

    /// `out += scale` $L z$.
    pub fn push(self, scale: f64, z: &[f64], out: &mut [f64]) {
        match self {
            Self::Ball(r) => vector::axpy(scale * r, z, out),
            Self::Axes(axes) => {
                out.iter_mut().zip(z).zip(axes).for_each(|((o, v), a)| *o += scale * a * v);
            }
            Self::Full(factor, _) => {
                let mut start = 0;
                for (i, o) in out.iter_mut().enumerate() {
                    *o += scale * vector::dot(&factor[start..=start + i], &z[..=i]);
                    start += i + 1;
                }
            }
        }
    }

    /// $\rho(w) = \sqrt{w^\top P w}$, the largest $w^\top d$ over the ellipsoid.
    pub fn support(self, w: &[f64]) -> f64 {
        match self {
            Self::Ball(r) => r * vector::norm(w),
            Self::Axes(axes) => {
                w.iter().zip(axes).map(|(v, a)| (v * a).powi(2)).sum::<f64>().sqrt()
            }
            Self::Full(..) => {
                let mut pulled = vec![0.0; w.len()];
                self.pull(w, &mut pulled);
                vector::norm(&pulled)
            }
        }
    }

    /// $P w$.
    pub fn image(self, w: &[f64]) -> Vec<f64> {
        let (mut pulled, mut out) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        self.pull(w, &mut pulled);
        self.push(1.0, &pulled, &mut out);
        out
    }

    /// Whether the ellipsoid is a single point.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Ball(r) => r == 0.0,
            Self::Axes(values) | Self::Full(values, _) => values.iter().all(|v| *v == 0.0),
        }
    }

    /// The point of the ellipsoid around `x` farthest from the plane $w^\top x = \gamma$, Eq. (28).
    pub fn farthest(self, x: &[f64], w: &[f64], offset: f64) -> Vec<f64> {
        let distance = vector::dot(w, x) - offset;
        let rho = self.support(w);
        self.moved(x, w, if rho > 0.0 { 1.0_f64.copysign(distance) / rho } else { 0.0 })
    }

    /// The point of the ellipsoid around `x` nearest to the plane: Eq. (28) with the other sign, or
    /// a point on the plane if the ellipsoid reaches it.
    pub fn nearest(self, x: &[f64], w: &[f64], offset: f64) -> Vec<f64> {
        let distance = vector::dot(w, x) - offset;
        let rho = self.support(w);
        let share = if rho > 0.0 { (distance / rho).clamp(-1.0, 1.0) } else { 0.0 };
        self.moved(x, w, if rho > 0.0 { -share / rho } else { 0.0 })
    }

    /// $x + t P w$.
    fn moved(self, x: &[f64], w: &[f64], t: f64) -> Vec<f64> {
        self.image(w).iter().zip(x).map(|(d, x)| x + t * d).collect()
    }

    /// A random $L v$ with $v$ uniform on the unit sphere of dimension `p`.
    pub fn sample_surface(self, p: usize, rng: &mut impl Rng) -> Vec<f64> {
        let mut v: Vec<f64> = (0..p).map(|_| StandardNormal.sample(rng)).collect();
        let length = vector::norm(&v);
        let mut out = vec![0.0; p];
        if length > 0.0 {
            vector::scale(&mut v, 1.0 / length);
            self.push(1.0, &v, &mut out);
        }
        out
    }

    /// A random point of the ellipsoid, uniform in its volume.
    pub fn sample_inside(self, p: usize, rng: &mut impl Rng) -> Vec<f64> {
        let mut out = self.sample_surface(p, rng);
        let u: f64 = Uniform::new(0.0, 1.0).map_or(1.0, |unit| unit.sample(rng));
        vector::scale(&mut out, u.powf(1.0 / p as f64));
        out
    }
}

/// A symmetric matrix that is diagonal where the ellipsoids allow it.
#[derive(Debug, Clone)]
pub enum Spread {
    /// The diagonal.
    Diagonal(Vec<f64>),
    /// Everything.
    Full(Dense),
}

impl Spread {
    /// The sum of multiples of P, for `p` features.
    pub fn sum<'a>(p: usize, terms: impl Iterator<Item = (f64, View<'a>)>) -> Self {
        let mut sum = SpreadSum::new(p);
        terms.for_each(|(c, shape)| sum.add(c, shape));
        sum.finish()
    }

    /// Adds `scale` times the matrix to the leading block of `out`.
    pub fn add_to(&self, scale: f64, out: &mut Dense) {
        match self {
            Self::Diagonal(d) => (0..d.len()).for_each(|j| out[(j, j)] += scale * d[j]),
            Self::Full(m) => {
                for i in 0..m.nrows() {
                    vector::axpy(scale, m.row(i), &mut out.row_mut(i)[..m.ncols()]);
                }
            }
        }
    }
}

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
    /// Those given with the data, or else `shared` around every row.
    pub fn new(data: &Dataset, shared: &Shape) -> Result<Self> {
        let p = data.n_features();
        let kind = match data.uncertainty() {
            None => Kind::Shared(Ellipsoid::new(shared, p)?),
            Some(RowUncertainty::Radii(radii)) => Kind::Balls(radii.clone()),
            Some(RowUncertainty::Axes(axes)) => Kind::Axes(axes.clone()),
            Some(RowUncertainty::Matrices(m)) => {
                let size = p * (p + 1) / 2;
                let mut factors = Vec::with_capacity(m.nrows() * size);
                let mut products = Vec::with_capacity(m.nrows() * size);
                for i in 0..m.nrows() {
                    let matrix = Dense::from_rows(p, p, m.row(i).to_vec());
                    factored(&matrix, &mut factors, &mut products)?;
                }
                Kind::Full {
                    factors: Dense::from_rows(m.nrows(), size, factors),
                    products: Dense::from_rows(m.nrows(), size, products),
                }
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

    /// $\rho_i(w)$ of the rows `rows`.
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
                let one =
                    |row: &[f64]| row.iter().zip(&squares).map(|(a, s)| a * a * s).sum::<f64>();
                rows.iter().map(|&i| one(axes.row(i)).sqrt()).collect()
            }
            Kind::Full { .. } => rows.iter().map(|&i| self.row(i).support(w)).collect(),
        }
    }

    /// $\sum_k c_k P_{\mathrm{rows}[k]}$.
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
            Kind::Axes(_) | Kind::Full { .. } => {
                rows.iter().zip(c).for_each(|(&i, c)| sum.add(*c, self.row(i)));
            }
        }
        sum.finish()
    }

    /// All ellipsoids `s` times as large.
    #[must_use]
    pub fn scaled(&self, s: f64) -> Self {
        let times = |m: &Dense, s: f64| {
            let data = m.data().iter().map(|v| s * v).collect();
            Dense::from_rows(m.nrows(), m.ncols(), data)
        };
        let kind = match &self.kind {
            Kind::Shared(shape) => Kind::Shared(shape.scaled(s)),
            Kind::Balls(radii) => Kind::Balls(radii.iter().map(|r| r * s).collect()),
            Kind::Axes(axes) => Kind::Axes(times(axes, s)),
            Kind::Full { factors, products } => {
                Kind::Full { factors: times(factors, s), products: times(products, s * s) }
            }
            Kind::Groups(group, shapes) => {
                Kind::Groups(group.clone(), shapes.iter().map(|e| e.scaled(s)).collect())
            }
        };
        Self { p: self.p, kind }
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

/// Adds up multiples of P, diagonal for as long as possible.
struct SpreadSum {
    diagonal: Vec<f64>,
    /// Lower triangle, row by row; empty until needed.
    lower: Vec<f64>,
}

impl SpreadSum {
    fn new(p: usize) -> Self {
        Self { diagonal: vec![0.0; p], lower: Vec::new() }
    }

    fn add(&mut self, c: f64, shape: View<'_>) {
        if c == 0.0 {
            return;
        }
        match shape {
            View::Ball(r) => self.diagonal.iter_mut().for_each(|d| *d += c * r * r),
            View::Axes(axes) => {
                self.diagonal.iter_mut().zip(axes).for_each(|(d, a)| *d += c * a * a);
            }
            View::Full(_, product) => {
                self.lower.resize(product.len(), 0.0);
                vector::axpy(c, product, &mut self.lower);
            }
        }
    }

    fn finish(self) -> Spread {
        if self.lower.is_empty() {
            return Spread::Diagonal(self.diagonal);
        }
        let p = self.diagonal.len();
        let mut out =
            Dense::from_fn(p, p, |i, j| if j <= i { self.lower[i * (i + 1) / 2 + j] } else { 0.0 });
        out.mirror_lower();
        (0..p).for_each(|j| out[(j, j)] += self.diagonal[j]);
        Spread::Full(out)
    }
}
