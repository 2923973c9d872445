//! What the tests of this room share: a classifier and rows whose errors can be counted by hand.

use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Result, require};
use crate::linalg::Dense;
use crate::model::{Estimator, Fitted, Linear, Link, Model};

/// Says the sign of the first feature plus `shift`; cannot be fitted if that is not finite.
pub(super) struct Threshold(pub f64);

impl Estimator for Threshold {
    fn fit(&self, _data: &Dataset, _control: &Control) -> Result<Fitted> {
        require(self.0.is_finite(), "shift", self.0, "finite")?;
        let model = Linear { coef: vec![vec![1.0]], intercept: vec![self.0], link: Link::None };
        Ok(Fitted::new(Model::Linear(model), 1))
    }
}

/// Rows at -5 to 5 without 0; class 1 is positive.
pub(super) fn data() -> Dataset {
    let x: Vec<f64> = (-5..=5).filter(|v| *v != 0).map(f64::from).collect();
    let labels = x.iter().map(|v| usize::from(*v > 0.0)).collect();
    Dataset::new(Dense::from_rows(10, 1, x).into(), labels, 2)
        .unwrap_or_else(|e| unreachable!("{e}"))
}
