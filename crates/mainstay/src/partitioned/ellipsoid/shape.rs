//! The ellipsoid that all rows share, along its own axes, and the point of it that is nearest to another.

use crate::data::Shape;
use crate::error::Result;
use crate::linalg::{Dense, SymmetricEigen, vector};

/// `$P = V \mathrm{diag}(l^2) V^\top$`.
#[derive(Debug, Clone)]
pub(in crate::partitioned) struct Principal {
    /// `$l$`.
    axes: Vec<f64>,
    /// `$V$` and `$P$`; none where the axes are those of the features.
    turned: Option<(Dense, Dense)>,
}

impl Principal {
    /// Checks `shape` for `p` features.
    pub(super) fn new(shape: &Shape, p: usize) -> Result<Self> {
        shape.check(p, "the parameter")?;
        Ok(match shape {
            Shape::Ball(r) => Self { axes: vec![*r; p], turned: None },
            Shape::Axes(axes) => Self { axes: axes.clone(), turned: None },
            Shape::Matrix(rows) => {
                let product = Dense::from_rows(p, p, rows.concat());
                let eigen = SymmetricEigen::new(&product)?;
                let axes = eigen.values.iter().map(|l| l.max(0.0).sqrt()).collect();
                Self { axes, turned: Some((eigen.vectors, product)) }
            }
        })
    }

    /// `$V^\top w$`.
    fn turn(&self, w: &[f64]) -> Vec<f64> {
        self.turned.as_ref().map_or_else(|| w.to_vec(), |(v, _)| v.tr_mul_vec(w))
    }

    /// `$\sqrt{w^\top P w}$`.
    pub(super) fn support(&self, w: &[f64]) -> f64 {
        let along = self.turn(w);
        along.iter().zip(&self.axes).map(|(w, l)| (w * l) * (w * l)).sum::<f64>().sqrt()
    }

    /// `$P w$`.
    pub(super) fn image(&self, w: &[f64]) -> Vec<f64> {
        let mut along = self.turn(w);
        along.iter_mut().zip(&self.axes).for_each(|(w, l)| *w *= l * l);
        self.turned.as_ref().map_or_else(|| along.clone(), |(v, _)| v.mul_vec(&along))
    }

    /// Entry of `$P$`.
    pub(super) fn entry(&self, i: usize, j: usize) -> f64 {
        match &self.turned {
            Some((_, product)) => product[(i, j)],
            None if i == j => self.axes[i] * self.axes[i],
            None => 0.0,
        }
    }

    /// Distance from `g` of the nearest point of the ellipsoid that is `size` times this one.
    ///
    /// That point is `$l_j \zeta_j$` along the axes with `$\zeta_j = l_j g_j / (l_j^2 + \mu)$` and the least `$\mu \ge 0$` for which
    /// `$\zeta$` is not longer than `size`; a `$\mu$` that is too large is a point of the ellipsoid too.
    pub(super) fn distance(&self, g: &[f64], size: f64) -> f64 {
        const HALVINGS: usize = 120;
        let along = self.turn(g);
        let length = |mu: f64| {
            let one = |(g, l): (&f64, &f64)| if *l > 0.0 { l * g / (l * l + mu) } else { 0.0 };
            along.iter().zip(&self.axes).map(one).map(|z| z * z).sum::<f64>().sqrt()
        };
        let apart = |mu: f64| {
            let one = |(g, l): (&f64, &f64)| if *l > 0.0 { g * (mu / (l * l + mu)) } else { *g };
            let left: Vec<f64> = along.iter().zip(&self.axes).map(one).collect();
            vector::norm(&left)
        };
        if length(0.0) <= size {
            return apart(0.0);
        }
        if size <= 0.0 {
            return vector::norm(g);
        }
        // Where mu is this large every part is short enough.
        let (mut low, mut high) = (0.0, vector::norm(g) * vector::norm_inf(&self.axes) / size);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if length(middle) > size { low = middle } else { high = middle }
        }
        apart(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball is as far away as its centre less its radius; a turned ellipse as far as the same one in its own axes.
    #[test]
    fn distances_are_those_of_geometry() {
        let ball = Principal::new(&Shape::Ball(0.5), 2).unwrap();
        assert!((ball.distance(&[3.0, 4.0], 2.0) - 4.0).abs() < 1e-12);
        assert_eq!(ball.distance(&[0.3, 0.4], 2.0), 0.0);
        let flat = Principal::new(&Shape::Axes(vec![2.0, 0.0]), 2).unwrap();
        assert!((flat.distance(&[1.0, 3.0], 1.0) - 3.0).abs() < 1e-12);
        assert!((flat.distance(&[5.0, 4.0], 1.0) - 5.0).abs() < 1e-12);
        let (c, s) = (0.6, 0.8);
        let matrix = vec![
            vec![4.0 * c * c + 0.25 * s * s, 3.75 * c * s],
            vec![3.75 * c * s, 4.0 * s * s + 0.25 * c * c],
        ];
        let turned = Principal::new(&Shape::Matrix(matrix), 2).unwrap();
        let own = Principal::new(&Shape::Axes(vec![2.0, 0.5]), 2).unwrap();
        let (a, b) = (1.7, -2.2);
        let g = [c * a - s * b, s * a + c * b];
        assert!((turned.distance(&g, 1.0) - own.distance(&[a, b], 1.0)).abs() < 1e-12);
        assert!((turned.support(&g) - own.support(&[a, b])).abs() < 1e-12);
    }
}
