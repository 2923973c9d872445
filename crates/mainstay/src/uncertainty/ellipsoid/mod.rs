//! Ellipsoids `$\{x + d : d^\top P^{-1} d \le 1\}$` around rows, with `$P = L L^\top$` (`$P$` may be singular or 0).
//!
//! Against a plane `$w^\top x = \gamma$` only the support function `$\rho(w) = \sqrt{w^\top P w} = \|L^\top w\|$`
//! matters; the points at which it is reached are Eq. (28) of the robust ReGEC paper,
//! `$x \pm P w / \rho(w)$`. If the ellipsoid crosses the plane the nearest distance is 0 and the nearest
//! point lies on the plane (the published formula overshoots).

mod rows;
mod shape;
mod spread;

pub use rows::{Ellipsoids, Grouped};
pub use shape::{Ellipsoid, View};
pub use spread::Spread;
