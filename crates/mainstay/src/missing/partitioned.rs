//! The batch classifier over partitions of rows.

use super::estimator::{AtPredict, MissingFeatureSvcParams};
use super::values::{ValueRule, Values};
use crate::error::{Error, Result};
use crate::partitioned::MissingPlan;

impl MissingFeatureSvcParams {
    /// What a partitioned fit solves; values by rule need all rows, and parts of the rows are what a partitioned fit saves.
    pub fn partitioned(self) -> Result<MissingPlan> {
        let values = match &self.values {
            Values::Rule(ValueRule::Uniform) => None,
            Values::Given(values) => Some(values.clone()),
            Values::Rule(ValueRule::MutualInfo) => {
                return Err(Error::BadParams(
                    "`values` = \"mutual_info\" sorts every column and needs all rows in memory; compute the values on a \
                     sample of the rows and pass the numbers"
                        .into(),
                ));
            }
        };
        if self.at_predict == AtPredict::Gaussian {
            return Err(Error::param(
                "at_predict",
                "gaussian",
                "\"zero\" for data in partitions: the model of the features is learned from all rows in memory",
            ));
        }
        if self.n_chunks != 1 {
            return Err(Error::param(
                "n_chunks",
                self.n_chunks,
                "1 for data in partitions, which are solved whole",
            ));
        }
        let plan = MissingPlan {
            budget: self.budget,
            values,
            margin: self.margin,
            c: self.c,
            fit_intercept: self.fit_intercept,
            class_weight: self.class_weight.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
        };
        self.check()?;
        Ok(plan)
    }
}
