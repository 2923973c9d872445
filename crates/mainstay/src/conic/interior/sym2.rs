//! Symmetric 2 x 2 matrices: the per-row cones of the interior point.

/// `[[a, b], [b, c]]`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sym2 {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) c: f64,
}

impl Sym2 {
    pub(super) fn new(a: f64, b: f64, c: f64) -> Self {
        Self { a, b, c }
    }

    /// The determinant by way of the Schur complement, which keeps its relative accuracy near 0.
    fn det(self) -> f64 {
        self.a * (self.c - self.b * (self.b / self.a))
    }

    pub(super) fn inverse(self) -> Self {
        let det = self.det();
        Self::new(self.c / det, -self.b / det, self.a / det)
    }

    pub(super) fn plus(self, scale: f64, other: Self) -> Self {
        Self::new(self.a + scale * other.a, self.b + scale * other.b, self.c + scale * other.c)
    }

    pub(super) fn trace_product(self, other: Self) -> f64 {
        self.a * other.a + 2.0 * self.b * other.b + self.c * other.c
    }

    /// The symmetric part of `self * middle * right`.
    pub(super) fn triple(self, middle: Self, right: Self) -> Self {
        let (p11, p12) =
            (self.a * middle.a + self.b * middle.b, self.a * middle.b + self.b * middle.c);
        let (p21, p22) =
            (self.b * middle.a + self.c * middle.b, self.b * middle.b + self.c * middle.c);
        let upper = p11 * right.b + p12 * right.c;
        let lower = p21 * right.a + p22 * right.b;
        Self::new(
            p11 * right.a + p12 * right.b,
            f64::midpoint(upper, lower),
            p21 * right.b + p22 * right.c,
        )
    }

    /// The largest step along `d` that keeps `self` (positive definite) semidefinite.
    pub(super) fn step(self, d: Self) -> f64 {
        let k = self.b / self.a;
        let schur = (self.c - k * self.b).max(f64::MIN_POSITIVE);
        let d11 = d.a / self.a;
        let d21 = (d.b - k * d.a) / (self.a.sqrt() * schur.sqrt());
        let d22 = (d.c - 2.0 * k * d.b + k * k * d.a) / schur;
        let least = f64::midpoint(d11, d22) - (0.5 * (d11 - d22)).hypot(d21);
        if least < 0.0 { -1.0 / least } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_ends_where_the_determinant_vanishes() {
        let (m, d) = (Sym2::new(2.0, 0.5, 1.0), Sym2::new(-1.0, 0.3, 0.2));
        let end = m.plus(m.step(d), d);
        assert!(end.det().abs() < 1e-12 && end.a > 0.0);
        assert_eq!(m.step(Sym2::new(1.0, 0.0, 1.0)), f64::INFINITY);
        let unit = m.triple(m.inverse(), Sym2::new(1.0, 0.0, 1.0));
        assert!((unit.a - 1.0).abs() < 1e-14 && unit.b.abs() < 1e-14);
        assert!((m.trace_product(m.inverse()) - 2.0).abs() < 1e-14);
    }
}
