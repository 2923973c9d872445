//! Methods by name over partitions of rows.

use serde_json::Value;

use super::{find, parse};
use crate::conic::ConicParams;
use crate::eigen::{NormRobustRegecParams, RegecParams, RobustRegecParams};
use crate::ellipsoid::EllipsoidParams;
use crate::error::{Error, Result};
use crate::missing::{MissingFeatureSvcParams, MissingPerceptronParams};
use crate::partitioned::{Driver, Plan, Task};
use crate::penalized::{PenalizedParams, Penalty};
use crate::robust::RobustLogisticParams;
use crate::stable::{StableLogisticParams, StableSvcParams};

/// A driver of the method called `name`; methods that need all rows in memory are refused with what to use instead.
pub fn driver(name: &str, params: &Value) -> Result<Driver> {
    let method = find(name)?;
    method.check_names(params)?;
    let mut own = params.clone();
    if super::calibrate::asked_for(&mut own)? {
        return Err(Error::BadParams(
            "`calibrate` = true learns from held-out rows in memory and has no fit over partitions; calibrate on a sample of \
             the rows"
                .into(),
        ));
    }
    let params = &own;
    let identity = format!("{}{params}", method.name);
    match task(method.name, params)? {
        Some(task) => Ok(Driver::of_task(task, identity)),
        None => plan(method.name, params).map(|plan| Driver::new(plan, identity)),
    }
}

/// Methods with kernels of their own.
fn task(name: &str, params: &Value) -> Result<Option<Box<dyn Task>>> {
    Ok(Some(match name {
        "regec" => parse::<RegecParams>(params)?.partitioned()?,
        "norm-robust-regec" => parse::<NormRobustRegecParams>(params)?.partitioned()?,
        "robust-regec" => parse::<RobustRegecParams>(params)?.partitioned()?,
        "missing-perceptron" => parse::<MissingPerceptronParams>(params)?.partitioned()?,
        "conic" => parse::<ConicParams>(params)?.partitioned()?,
        "robust-logistic" => parse::<RobustLogisticParams>(params)?.partitioned()?,
        _ => return Ok(None),
    }))
}

fn plan(name: &str, params: &Value) -> Result<Plan> {
    let penalized = |penalty| {
        super::check_penalty(params, penalty)?;
        PenalizedParams { penalty, ..parse(params)? }.partitioned().map(Plan::from)
    };
    match name {
        "l2" => penalized(Penalty::L2),
        "l1" => penalized(Penalty::L1),
        "elasticnet" => penalized(Penalty::ElasticNet),
        "stable-svm" => parse::<StableSvcParams>(params)?.partitioned().map(Plan::from),
        "stable-logistic" => parse::<StableLogisticParams>(params)?.partitioned().map(Plan::from),
        "missing-lp" => parse::<MissingFeatureSvcParams>(params)?.partitioned().map(Plan::from),
        "ellipsoid-svm" => parse::<EllipsoidParams>(params)?.partitioned().map(Plan::from),
        other => Err(Error::BadParams(format!(
            "{} ({other}) needs all rows in memory and has no fit over partitions; {}",
            find(other)?.class,
            alternative(other)
        ))),
    }
}

/// What a user of a method without partitioned form can do.
fn alternative(name: &str) -> &'static str {
    match name {
        "stable-svm-cv" => "choose k and C on a sample of the rows and fit StableSVC with them",
        "stable-logistic-cv" => {
            "choose k and alpha on a sample of the rows and fit StableLogisticRegression with them"
        }
        "rolin" | "top-pcs" => "it is made for few rows: with many use PenalizedClassifier",
        "missing-cv" => {
            "choose budget and C on a sample of the rows and fit MissingFeatureSVC with them"
        }
        "ellipsoid-svm-cv" => {
            "choose the size of the ellipsoids and C on a sample of the rows and fit EllipsoidSVC with them"
        }
        "conic-cv" => "choose kappa on a sample of the rows and fit ConicSVC with it",
        _ => {
            "fit it to a sample of the rows, or use PenalizedClassifier, StableSVC or StableLogisticRegression"
        }
    }
}
