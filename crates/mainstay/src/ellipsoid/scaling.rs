//! Nesterov-Todd scaling of second-order cones, many at a time.

use crate::linalg::{Dense, vector};

/// Points (x0, x1) with x0 a number and x1 a row, one per cone.
#[derive(Debug, Clone)]
pub(super) struct Points {
    pub head: Vec<f64>,
    pub tail: Dense,
}

impl Points {
    pub(super) fn new(head: Vec<f64>, columns: usize) -> Self {
        let tail = Dense::zeros(head.len(), columns);
        Self { head, tail }
    }

    pub(super) fn len(&self) -> usize {
        self.head.len()
    }

    pub(super) fn add_scaled(&mut self, scale: f64, other: &Self) {
        vector::axpy(scale, &other.head, &mut self.head);
        vector::axpy(scale, other.tail.data(), self.tail.data_mut());
    }

    pub(super) fn dot(&self, other: &Self) -> f64 {
        vector::dot(&self.head, &other.head) + vector::dot(self.tail.data(), other.tail.data())
    }

    /// x0^2 - |x1|^2 of point `j`, as a product: no cancellation of squares.
    fn determinant(&self, j: usize) -> f64 {
        let tail = vector::norm(self.tail.row(j));
        (self.head[j] - tail) * (self.head[j] + tail)
    }

    /// The largest step along `d` that keeps every point in its cone.
    pub(super) fn longest_step(&self, d: &Self) -> f64 {
        let one = |j: usize| {
            let a = d.determinant(j);
            let b = self.head[j] * d.head[j] - vector::dot(self.tail.row(j), d.tail.row(j));
            let c = self.determinant(j).max(0.0);
            let disc = b * b - a * c;
            // First positive root of a t^2 + 2 b t + c.
            let root = if a < 0.0 || (b < 0.0 && disc >= 0.0) {
                c / (disc.max(0.0).sqrt() - b).max(1e-300)
            } else {
                f64::INFINITY
            };
            let head = if d.head[j] < 0.0 { -self.head[j] / d.head[j] } else { f64::INFINITY };
            root.min(head)
        };
        (0..self.len()).map(one).fold(f64::INFINITY, f64::min)
    }

    /// Point `j` of the Jordan product of `self` and `other`, added to `out` with a sign.
    pub(super) fn subtract_product(&self, other: &Self, out: &mut Self) {
        for j in 0..self.len() {
            let (x, y) = (self.tail.row(j), other.tail.row(j));
            out.head[j] -= self.head[j] * other.head[j] + vector::dot(x, y);
            let row = out.tail.row_mut(j);
            vector::axpy(-self.head[j], y, row);
            vector::axpy(-other.head[j], x, row);
        }
    }
}

/// W with W z = W^-1 k =: lambda for every cone; W = eta (w0, w1; w1', I + w1 w1'/(1 + w0)).
#[derive(Debug)]
pub(super) struct Scaling {
    pub w0: Vec<f64>,
    pub w1: Dense,
    pub eta: Vec<f64>,
    pub lambda: Points,
}

impl Scaling {
    /// The scaling point of the pair (primal `k`, dual `z`), both inside their cones.
    pub(super) fn new(k: &Points, z: &Points) -> Self {
        let m = k.len();
        let mut out = Self {
            w0: vec![0.0; m],
            w1: Dense::zeros(m, k.tail.ncols()),
            eta: vec![0.0; m],
            lambda: z.clone(),
        };
        for j in 0..m {
            let dk = k.determinant(j).max(1e-300).sqrt();
            let dz = z.determinant(j).max(1e-300).sqrt();
            let inner = vector::dot(k.tail.row(j), z.tail.row(j)) / (dk * dz);
            let gamma = (0.5 * (1.0 + k.head[j] / dk * (z.head[j] / dz) + inner)).max(0.25).sqrt();
            let row = out.w1.row_mut(j);
            for ((w, k), z) in row.iter_mut().zip(k.tail.row(j)).zip(z.tail.row(j)) {
                *w = (k / dk - z / dz) / (2.0 * gamma);
            }
            out.w0[j] = (1.0 + vector::norm_sq(out.w1.row(j))).sqrt();
            out.eta[j] = (dk / dz).sqrt();
        }
        out.lambda = out.apply(z, false);
        out
    }

    /// W x, or W^-1 x.
    pub(super) fn apply(&self, x: &Points, inverse: bool) -> Points {
        let mut out = x.clone();
        for j in 0..x.len() {
            let (sign, eta) = if inverse { (-1.0, 1.0 / self.eta[j]) } else { (1.0, self.eta[j]) };
            let w = self.w1.row(j);
            let inner = vector::dot(w, x.tail.row(j));
            let along = sign * x.head[j] + inner / (1.0 + self.w0[j]);
            out.head[j] = eta * (self.w0[j] * x.head[j] + sign * inner);
            for (o, w) in out.tail.row_mut(j).iter_mut().zip(w) {
                *o = eta * (*o + along * w);
            }
        }
        out
    }

    /// The x with lambda o x = r.
    pub(super) fn divide(&self, r: &Points) -> Points {
        let mut out = r.clone();
        for j in 0..r.len() {
            let (l0, l1) = (self.lambda.head[j], self.lambda.tail.row(j));
            let det = self.lambda.determinant(j).max(1e-300);
            let head = (l0 * r.head[j] - vector::dot(l1, r.tail.row(j))) / det;
            out.head[j] = head;
            for (o, l) in out.tail.row_mut(j).iter_mut().zip(l1) {
                *o = (*o - head * l) / l0;
            }
        }
        out
    }
}
