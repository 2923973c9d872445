//! One ellipsoid: support function, nearest and farthest points, sampling.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};

use crate::data::Shape;
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

/// Writes the lower triangles of L and of P, row by row; `false` if P is not positive semidefinite.
pub(super) fn factored(p: &[f64], order: usize, factor: &mut [f64], product: &mut [f64]) -> bool {
    let matrix = Dense::from_rows(order, order, p.to_vec());
    let Some(lower) = psd_factor(&matrix) else { return false };
    let mut start = 0;
    for i in 0..order {
        let end = start + i + 1;
        factor[start..end].copy_from_slice(&lower.row(i)[..=i]);
        product[start..end].copy_from_slice(&p[i * order..=i * order + i]);
        start = end;
    }
    true
}

/// The error for a P that has no factor L.
pub(super) fn no_factor() -> Error {
    Error::BadData(
        "uncertainty: a matrix is not positive semidefinite: P must be covariance-like".into(),
    )
}

impl Ellipsoid {
    /// Checks `shape` for `p` features and factors it.
    pub fn new(shape: &Shape, p: usize) -> Result<Self> {
        shape.check(p, "the parameter")?;
        Ok(match shape {
            Shape::Ball(r) => Self::Ball(*r),
            Shape::Axes(axes) => Self::Axes(axes.clone()),
            Shape::Matrix(rows) => {
                let [mut factor, mut product] = [(); 2].map(|()| vec![0.0; p * (p + 1) / 2]);
                if !factored(&rows.concat(), p, &mut factor, &mut product) {
                    return Err(no_factor());
                }
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

    pub(super) fn scale(&mut self, s: f64) {
        match self {
            Self::Ball(r) => *r *= s,
            Self::Axes(axes) => vector::scale(axes, s),
            Self::Full { factor, product } => {
                vector::scale(factor, s);
                vector::scale(product, s * s);
            }
        }
    }
}

impl View<'_> {
    /// `$L^\top w$`.
    #[inline(always)]
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

    /// `out += scale` `$L z$`.
    #[inline(always)]
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

    /// `$\rho(w) = \sqrt{w^\top P w}$`, the largest `$w^\top d$` over the ellipsoid.
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

    /// `$P w$`.
    pub fn image(self, w: &[f64]) -> Vec<f64> {
        let (mut pulled, mut out) = (vec![0.0; w.len()], vec![0.0; w.len()]);
        self.pull(w, &mut pulled);
        self.push(1.0, &pulled, &mut out);
        out
    }

    /// No point of the ellipsoid is farther from its centre.
    pub fn radius_bound(self) -> f64 {
        match self {
            Self::Ball(r) => r,
            Self::Axes(axes) => vector::norm_inf(axes),
            Self::Full(factor, _) => vector::norm(factor),
        }
    }

    /// Whether the ellipsoid is a single point.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Ball(r) => r == 0.0,
            Self::Axes(values) | Self::Full(values, _) => values.iter().all(|v| *v == 0.0),
        }
    }

    /// The point of the ellipsoid around `x` farthest from the plane `$w^\top x = \gamma$`, Eq. (28).
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

    /// `$x + t P w$`.
    fn moved(self, x: &[f64], w: &[f64], t: f64) -> Vec<f64> {
        self.image(w).iter().zip(x).map(|(d, x)| x + t * d).collect()
    }

    /// A random `$L v$` with `$v$` uniform on the unit sphere of dimension `p`.
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// `$P = \begin{pmatrix} 4 & 2\\ 2 & 5\end{pmatrix}$`, a ball and axes as matrices.
    fn shapes() -> [(Ellipsoid, [[f64; 2]; 2]); 3] {
        let full = Shape::Matrix(vec![vec![4.0, 2.0], vec![2.0, 5.0]]);
        let of = |shape: &Shape| Ellipsoid::new(shape, 2).unwrap();
        [
            (of(&full), [[4.0, 2.0], [2.0, 5.0]]),
            (of(&Shape::Ball(3.0)), [[9.0, 0.0], [0.0, 9.0]]),
            (of(&Shape::Axes(vec![2.0, 0.5])), [[4.0, 0.0], [0.0, 0.25]]),
        ]
    }

    #[test]
    fn the_support_is_the_root_of_the_quadratic_form() {
        let w = [0.6, -1.7];
        for (shape, p) in shapes() {
            let image = [0, 1].map(|i| p[i][0] * w[0] + p[i][1] * w[1]);
            let rho = (w[0] * image[0] + w[1] * image[1]).sqrt();
            assert!((shape.view().support(&w) - rho).abs() < 1e-12);
            let found = shape.view().image(&w);
            assert!(found.iter().zip(image).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        }
    }

    /// Along w the ellipsoid reaches from `$w^\top x - \rho$` to `$w^\top x + \rho$`; a plane in between is touched.
    #[test]
    fn nearest_and_farthest_points_are_at_the_support() {
        let (x, w) = ([1.0, 2.0], [0.6, -1.7]);
        let at = vector::dot(&w, &x);
        for (shape, _) in shapes() {
            let view = shape.view();
            let rho = view.support(&w);
            for (offset, nearest) in [(at - 2.0 * rho, at - rho), (at - 0.3 * rho, at - 0.3 * rho)]
            {
                let near = vector::dot(&w, &view.nearest(&x, &w, offset));
                let far = vector::dot(&w, &view.farthest(&x, &w, offset));
                assert!((near - nearest).abs() < 1e-12 && (far - at - rho).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn no_point_of_an_ellipsoid_goes_beyond_its_support_or_its_radius() {
        let (w, mut rng) = ([0.6, -1.7], ChaCha8Rng::seed_from_u64(1));
        for (shape, _) in shapes() {
            let (view, mut most) = (shape.view(), 0.0_f64);
            for _ in 0..2000 {
                let point = view.sample_surface(2, &mut rng);
                most = most.max(vector::dot(&w, &point));
                assert!(vector::norm(&point) <= view.radius_bound() * (1.0 + 1e-12));
            }
            let support = view.support(&w);
            assert!(most <= support * (1.0 + 1e-12) && most > 0.95 * support, "{most} {support}");
        }
    }

    #[test]
    fn matrices_that_are_not_semidefinite_are_refused() {
        let shape = Shape::Matrix(vec![vec![1.0, 2.0], vec![2.0, 1.0]]);
        assert!(Ellipsoid::new(&shape, 2).is_err());
    }
}
