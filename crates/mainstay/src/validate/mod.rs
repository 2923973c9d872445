//! How good a classifier really is on few rows: every figure with an interval, corrected for having seen the rows.
//!
//! A [`ValidationPlan`] is a list of [`Job`]s: the fit to all rows, bootstrap samples, repeated stratified folds, and
//! smaller training sets. Whoever can fit (this library, or any classifier in Python) answers each with a [`Refit`];
//! [`Validation::finish`] makes of them what Harrell calls apparent, optimism and corrected, repeated cross-validation, a
//! calibration curve with a band, how unstable every row's probability is, and a learning curve.
//! `docs/decisions/0063-validate.md` has the choices.
//!
//! ```
//! use mainstay::data::Dataset;
//! use mainstay::linalg::Dense;
//! use mainstay::metrics::Metric;
//! use mainstay::validate::{Validation, ValidationPlan};
//! use mainstay::{Control, methods};
//!
//! let x = Dense::from_fn(60, 2, |i, j| ((i * 7 + j * 13) % 11) as f64);
//! let labels = (0..60).map(|i| usize::from((i * 7) % 11 + i % 5 > 6)).collect();
//! let data = Dataset::new(x.into(), labels, 2)?;
//! let estimator = methods::find("l2")?.estimator(&serde_json::json!({}))?;
//! let plan = ValidationPlan { bootstrap: 20, repeats: 2, curve_repeats: 2, ..Default::default() };
//! let validation = Validation::new(plan, data.labels(), 2)?;
//! validation.run(estimator.as_ref(), &data, &Control::new(), &|_| ())?;
//! let found = validation.finish()?;
//! let auc = found.metric(Metric::Auc).unwrap();
//! assert!((auc.apparent.unwrap() - auc.optimism.unwrap() - auc.corrected.unwrap()).abs() < 1e-12);
//! # Ok::<(), mainstay::Error>(())
//! ```

mod calibration;
mod instability;
mod learning;
mod outcome;
mod plan;
mod scores;
mod session;

pub use outcome::{
    CalibrationCurve, CalibrationPoint, Extrapolation, Instability, LearningCurve, LearningPoint,
    MetricRow, Outcome, RowInstability,
};
pub use plan::{Job, Kind, ValidationPlan};
pub use session::{Refit, Validation};
