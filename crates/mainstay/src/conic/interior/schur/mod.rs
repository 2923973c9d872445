//! The interior point's linear system, `$M_{jk} = \mathrm{tr}(A_j Z A_k S^{-1})$`, in two shapes.

mod full;
mod reduced;

use full::FullSystem;
use reduced::ReducedSystem;

use super::sym2::Sym2;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};

/// Steps of iterative refinement of the reduced system.
const REFINEMENTS: usize = 2;

/// Multiplier increments or right-hand sides.
#[derive(Debug, Clone)]
pub(super) struct Multipliers {
    pub(super) sigma: f64,
    pub(super) h: Vec<f64>,
    pub(super) g: Vec<f64>,
    /// 0 in the priced form.
    pub(super) price: f64,
}

impl Multipliers {
    fn add(&mut self, scale: f64, other: &Self) {
        self.sigma += scale * other.sigma;
        self.price += scale * other.price;
        vector::axpy(scale, &other.h, &mut self.h);
        vector::axpy(scale, &other.g, &mut self.g);
    }
}

/// The contribution of one row's own cones to M, in the order (h, g, price).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) hh: f64,
    pub(super) hg: f64,
    pub(super) gg: f64,
    pub(super) hp: f64,
    pub(super) gp: f64,
    pub(super) pp: f64,
}

impl Own {
    /// `$\mathrm{tr}(A_j Z A_k S^{-1})$` for the 2 x 2 cone, plus the slack's `ratio` on h; `c` is the
    /// row's weight, which multiplies the price.
    pub(super) fn new(z: Sym2, inverse: Sym2, ratio: f64, c: f64) -> Self {
        Self {
            hh: z.c * inverse.a + 2.0 * z.b * inverse.b + z.a * inverse.c + ratio,
            hg: inverse.b * z.c + inverse.c * z.b,
            gg: z.c * inverse.c,
            hp: c * (inverse.a * z.b + inverse.b * z.a),
            gp: c * z.b * inverse.b,
            pp: c * c * z.a * inverse.a,
        }
    }
}

/// What the system is made of.
pub(super) struct Parts<'a> {
    /// Rows `$(1, -y_i x_i)$`.
    pub(super) xt: &'a Dense,
    pub(super) z: &'a Dense,
    pub(super) s: &'a Dense,
    /// `$S^{-1}$`.
    pub(super) inverse: &'a Dense,
    pub(super) z_factor: &'a Cholesky,
    pub(super) own: &'a [Own],
    /// Whether the price is unknown (budget form).
    pub(super) budget: bool,
}

/// A factored system.
pub(super) enum Schur {
    /// Order 2n + 1: for kernels and few rows.
    Full(FullSystem),
    /// Order (p+1)(p+2)/2 by the Woodbury identity: for many rows.
    Reduced(Box<ReducedSystem>),
}

impl Schur {
    pub(super) fn new(parts: &Parts<'_>, by_rows: bool) -> Result<Self> {
        if by_rows {
            FullSystem::new(parts).map(Self::Full)
        } else {
            ReducedSystem::new(parts).map(|s| Self::Reduced(Box::new(s)))
        }
    }

    /// Solves with iterative refinement.
    pub(super) fn solve(&self, rhs: &Multipliers) -> Multipliers {
        match self {
            Self::Full(system) => system.solve(rhs),
            Self::Reduced(system) => {
                let mut x = system.solve_once(rhs);
                for _ in 0..REFINEMENTS {
                    let mut rest = rhs.clone();
                    rest.add(-1.0, &system.multiply(&x));
                    x.add(1.0, &system.solve_once(&rest));
                }
                x
            }
        }
    }
}

fn singular() -> Error {
    Error::Numerical("interior point: the step equations became singular".into())
}
