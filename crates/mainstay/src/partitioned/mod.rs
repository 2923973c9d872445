//! Fits over partitions of rows: on all cores, out of memory, on a cluster.
//!
//! A [`Driver`] asks, engines put the [`Ask`] to every partition with [`look`] and merge the [`Message`]s in one fixed
//! tree, and the driver goes on with the merged answer. Nothing here reads or sends anything, and nothing that travels
//! grows with the number of rows. Every pass brings value, slope and curvature at a point and, from the same sums, an
//! upper and a lower bound on the optimum.
//!
//! ```
//! use mainstay::Control;
//! use mainstay::data::Dataset;
//! use mainstay::linalg::Dense;
//! use mainstay::methods;
//! use mainstay::partitioned::{InMemory, fit};
//!
//! let x = Dense::from_fn(400, 2, |i, j| ((i * (7 + 4 * j)) % 101) as f64 / 50.0 - 1.0);
//! let y = (0..400).map(|i| usize::from(x[(i, 0)] + 0.3 * x[(i, 1)] > 0.0)).collect();
//! let data = Dataset::new(x.into(), y, 2)?;
//! let driver = methods::driver("l2", &serde_json::json!({"alpha": 0.1}))?;
//! let fitted = fit(&InMemory::with_rows(&data, 100), driver, &Control::new(), |_| Ok(()))?;
//! assert!(fitted.dual_gap() <= Some(1e-6));
//! # Ok::<(), mainstay::Error>(())
//! ```

mod ask;
mod block;
mod certificate;
mod checkpoint;
mod continuation;
mod drawn;
mod driver;
mod ellipsoid;
mod ellipsoid_rows;
mod engine;
mod first_look;
mod kernel;
pub(crate) mod kernels;
mod loss_problem;
mod losses;
mod message;
mod missing;
mod missing_rows;
mod near_rows;
mod newton_step;
mod one_versus_rest;
mod problem;
mod proof;
mod row_terms;
mod sample;
mod spec;
mod task;
mod units;
mod whole;
mod wire;
mod zero_weights;

pub use ask::Ask;
pub use block::{Block, InMemory, Partitions, ROWS};
pub(crate) use continuation::Place;
pub use driver::{Driver, Step};
pub use ellipsoid::EllipsoidPlan;
pub use engine::{FAN, MergeTree, fit, merge_all, pass};
pub(crate) use first_look::FirstLook;
#[cfg(test)]
pub(crate) use kernels::look_alone;
pub(crate) use kernels::{KernelAsk, KernelSums, RowUnits};
pub use message::{Message, look};
pub use missing::MissingPlan;
pub use proof::Proof;
pub use spec::{Objective, Plan, Spec};
pub(crate) use task::Task;
pub use whole::{WholeRows, WholeSolution};
