//! Nesterov-Todd scaling of second-order cones, many at a time.

use crate::linalg::{Dense, TINY, vector};

/// Points (x0, x1) with x0 a number and x1 a vector, one per cone.
///
/// Row j of `tail` is `$(x_1, L_j x_1)$`: the image under `$L_j$` is what sums over cones need, and since every
/// step of the method is linear in the vectors it comes along for free. So the matrices themselves are
/// read only for new directions of w.
#[derive(Debug, Clone)]
pub struct Points {
    /// x0 of every point.
    pub head: Vec<f64>,
    /// Row j is `$(x_1, L_j x_1)$`.
    pub tail: Dense,
}

impl Points {
    /// These heads, all vectors 0.
    pub fn new(head: Vec<f64>, p: usize) -> Self {
        let tail = Dense::zeros(head.len(), 2 * p);
        Self { head, tail }
    }

    /// x1 of point `j`.
    pub fn own(&self, j: usize) -> &[f64] {
        own(self.tail.row(j))
    }

    /// All x1, one row per cone.
    pub fn vectors(&self) -> Dense {
        Dense::from_fn(self.len(), self.tail.ncols() / 2, |j, k| self.tail[(j, k)])
    }

    /// `$\sum_j s_j L_j x_{1j}$` is added to `out`.
    pub fn add_images(&self, scale: impl Fn(usize) -> f64, out: &mut [f64]) {
        for j in 0..self.len() {
            vector::axpy(scale(j), image(self.tail.row(j)), out);
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.head.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Adds `scale` times `other`.
    pub fn add_scaled(&mut self, scale: f64, other: &Self) {
        vector::axpy(scale, &other.head, &mut self.head);
        vector::axpy(scale, other.tail.data(), self.tail.data_mut());
    }

    /// Sum of the inner products.
    pub fn dot(&self, other: &Self) -> f64 {
        let tails: f64 = (0..self.len()).map(|j| vector::dot(self.own(j), other.own(j))).sum();
        vector::dot(&self.head, &other.head) + tails
    }

    /// x0^2 - |x1|^2 of point `j`, as a product: no cancellation of squares.
    fn determinant(&self, j: usize) -> f64 {
        let tail = vector::norm_sq(self.own(j)).sqrt();
        (self.head[j] - tail) * (self.head[j] + tail)
    }

    /// The largest step along `d` that keeps every point in its cone.
    pub fn longest_step(&self, d: &Self) -> f64 {
        let one = |j: usize| {
            let a = d.determinant(j);
            let b = self.head[j] * d.head[j] - vector::dot(self.own(j), d.own(j));
            let c = self.determinant(j).max(0.0);
            let disc = b * b - a * c;
            // First positive root of a t^2 + 2 b t + c.
            let root = if a < 0.0 || (b < 0.0 && disc >= 0.0) {
                c / (disc.max(0.0).sqrt() - b).max(TINY)
            } else {
                f64::INFINITY
            };
            let head = if d.head[j] < 0.0 { -self.head[j] / d.head[j] } else { f64::INFINITY };
            root.min(head)
        };
        (0..self.len()).map(one).fold(f64::INFINITY, f64::min)
    }
}

/// x1 of a row (x1, L x1).
pub fn own(row: &[f64]) -> &[f64] {
    &row[..row.len() / 2]
}

/// L x1 of a row (x1, L x1).
pub fn image(row: &[f64]) -> &[f64] {
    &row[row.len() / 2..]
}

/// W with W z = W^-1 k =: lambda for every cone; W = eta (w0, w1; w1', I + w1 w1'/(1 + w0)).
#[derive(Debug)]
pub struct Scaling {
    /// w0 of every cone.
    pub w0: Vec<f64>,
    /// Rows (w1, L w1).
    pub w1: Dense,
    /// Size of the scaling.
    pub eta: Vec<f64>,
}

impl Scaling {
    /// The scaling point of the pair (primal `k`, dual `z`), both inside their cones.
    pub fn new(k: &Points, z: &Points) -> Self {
        let m = k.len();
        let mut out =
            Self { w0: vec![0.0; m], w1: Dense::zeros(m, k.tail.ncols()), eta: vec![0.0; m] };
        for j in 0..m {
            let dk = k.determinant(j).max(TINY).sqrt();
            let dz = z.determinant(j).max(TINY).sqrt();
            let inner = vector::dot(k.own(j), z.own(j)) / (dk * dz);
            let gamma = (0.5 * (1.0 + k.head[j] / dk * (z.head[j] / dz) + inner)).max(0.25).sqrt();
            let (by_k, by_z) = (0.5 / (gamma * dk), 0.5 / (gamma * dz));
            let row = out.w1.row_mut(j);
            for ((w, k), z) in row.iter_mut().zip(k.tail.row(j)).zip(z.tail.row(j)) {
                *w = k * by_k - z * by_z;
            }
            out.w0[j] = (1.0 + vector::norm_sq(own(out.w1.row(j)))).sqrt();
            out.eta[j] = (dk / dz).sqrt();
        }
        out
    }

    /// `x -= W^-2 y`, cone by cone: W^-2 = eta^-2 (2 u u' - J) with u = (w0, -w1) and J = diag(1, -I).
    pub fn subtract_inverse_square(&self, y: &Points, x: &mut Points) {
        for j in 0..y.len() {
            let (w0, w1) = (self.w0[j], self.w1.row(j));
            let k = self.eta[j].powi(-2);
            let along = 2.0 * (w0 * y.head[j] - vector::dot(own(w1), y.own(j)));
            x.head[j] -= k * (along * w0 - y.head[j]);
            for ((x, w), y) in x.tail.row_mut(j).iter_mut().zip(w1).zip(y.tail.row(j)) {
                *x -= k * (y - along * w);
            }
        }
    }

    /// The corrector's cone term `$W^{-1}(\lambda \backslash (g e - \lambda \circ \lambda - W^{-1} dk \circ W dz))$` for
    /// complementarities `goal` g, one per cone, and a predictor (dk, dz).
    pub fn corrector(&self, z: &Points, dk: &Points, dz: &Points, goal: &[f64]) -> Points {
        let width = z.tail.ncols();
        let mut out = Points::new(vec![0.0; z.len()], width / 2);
        let [mut lambda, mut a, mut b] = [(); 3].map(|()| vec![0.0; width]);
        for (j, goal) in goal.iter().enumerate() {
            let l0 = self.apply(j, false, z.head[j], z.tail.row(j), &mut lambda);
            let a0 = self.apply(j, true, dk.head[j], dk.tail.row(j), &mut a);
            let b0 = self.apply(j, false, dz.head[j], dz.tail.row(j), &mut b);
            let r0 = goal
                - l0 * l0
                - vector::norm_sq(own(&lambda))
                - a0 * b0
                - vector::dot(own(&a), own(&b));
            // a becomes the tail of the right-hand side.
            for ((a, b), l) in a.iter_mut().zip(&b).zip(&lambda) {
                *a = -2.0 * l0 * l - a0 * b - b0 * *a;
            }
            let length = vector::norm_sq(own(&lambda)).sqrt();
            let determinant = ((l0 - length) * (l0 + length)).max(TINY);
            let head = (l0 * r0 - vector::dot(own(&lambda), own(&a))) / determinant;
            a.iter_mut().zip(&lambda).for_each(|(a, l)| *a = (*a - head * l) / l0);
            out.head[j] = self.apply(j, true, head, &a, out.tail.row_mut(j));
        }
        out
    }

    /// Cone `j` of W (x0, x1), or of W^-1; returns the head.
    fn apply(&self, j: usize, inverse: bool, x0: f64, x1: &[f64], out: &mut [f64]) -> f64 {
        let (sign, eta) = if inverse { (-1.0, 1.0 / self.eta[j]) } else { (1.0, self.eta[j]) };
        let (w0, w1) = (self.w0[j], self.w1.row(j));
        let inner = vector::dot(own(w1), own(x1));
        let along = eta * (sign * x0 + inner / (1.0 + w0));
        for ((o, w), x) in out.iter_mut().zip(w1).zip(x1) {
            *o = eta * x + along * w;
        }
        eta * (w0 * x0 + sign * inner)
    }
}
