//! Sums of multiples of the matrices P.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::View;
use crate::linalg::{Dense, vector};

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

    /// The sum of `parts`, in their order.
    pub fn total(p: usize, parts: &[Self]) -> Self {
        if let [Self::Diagonal(first), rest @ ..] = parts
            && rest.iter().all(|part| matches!(part, Self::Diagonal(_)))
        {
            let mut sum = first.clone();
            for part in rest {
                if let Self::Diagonal(d) = part {
                    vector::axpy(1.0, d, &mut sum);
                }
            }
            return Self::Diagonal(sum);
        }
        let mut sum = Dense::zeros(p, p);
        for part in parts {
            part.add_to(1.0, &mut sum);
        }
        Self::Full(sum)
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

/// Adds up multiples of P, diagonal for as long as possible.
pub(super) struct SpreadSum {
    diagonal: Vec<f64>,
    /// Lower triangle, row by row; empty until needed.
    lower: Vec<f64>,
}

impl SpreadSum {
    pub(super) fn new(p: usize) -> Self {
        Self { diagonal: vec![0.0; p], lower: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, c: f64, shape: View<'_>) {
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

    pub(super) fn finish(self) -> Spread {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball of radius 2, axes 1 and 3, and P = (1 1; 1 2), each with its multiple.
    #[test]
    fn sums_stay_diagonal_until_a_full_matrix_joins() {
        let round = [(0.5, View::Ball(2.0)), (2.0, View::Axes(&[1.0, 3.0]))];
        let Spread::Diagonal(diagonal) = Spread::sum(2, round.into_iter()) else {
            unreachable!("balls and axes are diagonal");
        };
        assert_eq!(diagonal, [4.0, 20.0]);
        let full = View::Full(&[1.0, 1.0, 1.0], &[1.0, 1.0, 2.0]);
        let mut dense = Dense::zeros(2, 2);
        Spread::sum(2, round.into_iter().chain([(3.0, full)])).add_to(1.0, &mut dense);
        assert_eq!(dense.data(), [7.0, 3.0, 3.0, 26.0]);
    }
}
