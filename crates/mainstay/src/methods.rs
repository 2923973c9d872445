//! Every method by name: one table for the command line, Python and the model files.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::conic::{ConicCvParams, ConicParams};
use crate::eigen::{NormRobustRegecParams, RegecParams, RobustRegecParams};
use crate::ellipsoid::EllipsoidParams;
use crate::error::{Error, Result};
use crate::missing::{MissingFeatureCvParams, MissingFeatureSvcParams, MissingPerceptronParams};
use crate::model::Estimator;
use crate::penalized::{PenalizedParams, Penalty};
use crate::robust::RobustLogisticParams;
use crate::rolin::{RolinParams, TopPcsParams};
use crate::stable::{
    StableLogisticCvParams, StableLogisticParams, StableSvcCvParams, StableSvcParams,
};

/// What a user should know about a method before choosing it.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Name on the command line and in model files.
    pub name: &'static str,
    /// Class in the Python package.
    pub class: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
    /// Whether a missing value (NaN) is a legal feature value.
    pub allows_nan: bool,
    /// Whether the method makes its own sense of NaN; otherwise an allowed NaN counts as 0.
    pub keeps_nan: bool,
    build: fn(&Value) -> Result<Box<dyn Estimator>>,
    defaults: fn() -> Value,
}

/// All methods, in the order in which `mainstay methods` lists them.
pub const METHODS: &[Method] = &[
    Method {
        name: "l2",
        class: "PenalizedClassifier",
        summary: "ridge-penalised logistic regression or SVM: the plain baseline",
        allows_nan: false,
        keeps_nan: false,
        build: |params| penalized(params, Penalty::L2),
        defaults: || to_json(&PenalizedParams { penalty: Penalty::L2, ..Default::default() }),
    },
    Method {
        name: "l1",
        class: "PenalizedClassifier",
        summary: "the same with an L1 penalty: uses few features",
        allows_nan: false,
        keeps_nan: false,
        build: |params| penalized(params, Penalty::L1),
        defaults: || to_json(&PenalizedParams { penalty: Penalty::L1, ..Default::default() }),
    },
    Method {
        name: "elasticnet",
        class: "PenalizedClassifier",
        summary: "the same with a mix of both penalties: few features, correlated ones together",
        allows_nan: false,
        keeps_nan: false,
        build: |params| penalized(params, Penalty::ElasticNet),
        defaults: || {
            to_json(&PenalizedParams { penalty: Penalty::ElasticNet, ..Default::default() })
        },
    },
    Method {
        name: "rolin",
        class: "RolinClassifier",
        summary: "few samples: trusts what is well estimated, is robust in the rest",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<RolinParams>(params)?.check()?)),
        defaults: || to_json(&RolinParams::default()),
    },
    Method {
        name: "top-pcs",
        class: "TopPCsClassifier",
        summary: "few samples: a classifier on the top principal components alone",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<TopPcsParams>(params)?.check()?)),
        defaults: || to_json(&TopPcsParams::default()),
    },
    Method {
        name: "conic",
        class: "ConicSVC",
        summary: "conic-loss SVM: holds against wrong labels and outliers, and points them out",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<ConicParams>(params)?.check()?)),
        defaults: || to_json(&ConicParams::default()),
    },
    Method {
        name: "conic-cv",
        class: "ConicSVCCV",
        summary: "the same with the share of wrong labels chosen by cross-validation",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<ConicCvParams>(params)?.check()?)),
        defaults: || to_json(&ConicCvParams::default()),
    },
    Method {
        name: "stable-svm",
        class: "StableSVC",
        summary: "SVM on the worst k rows: expects an unlucky subset",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<StableSvcParams>(params)?.check()?)),
        defaults: || to_json(&StableSvcParams::default()),
    },
    Method {
        name: "stable-svm-cv",
        class: "StableSVCCV",
        summary: "the same, k and C chosen by cross-validation",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<StableSvcCvParams>(params)?.check()?)),
        defaults: || to_json(&StableSvcCvParams::default()),
    },
    Method {
        name: "stable-logistic",
        class: "StableLogisticRegression",
        summary: "logistic regression on the worst k rows: expects an unlucky subset",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<StableLogisticParams>(params)?.check()?)),
        defaults: || to_json(&StableLogisticParams::default()),
    },
    Method {
        name: "stable-logistic-cv",
        class: "StableLogisticRegressionCV",
        summary: "the same, k and alpha chosen by cross-validation",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<StableLogisticCvParams>(params)?.check()?)),
        defaults: || to_json(&StableLogisticCvParams::default()),
    },
    Method {
        name: "regec",
        class: "ReGEC",
        summary: "one plane a class by generalized eigenvalues",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<RegecParams>(params)?.check()?)),
        defaults: || to_json(&RegecParams::default()),
    },
    Method {
        name: "robust-regec",
        class: "RobustReGEC",
        summary: "planes that allow for the known error of every measurement",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<RobustRegecParams>(params)?.check()?)),
        defaults: || to_json(&RobustRegecParams::default()),
    },
    Method {
        name: "norm-robust-regec",
        class: "NormRobustReGEC",
        summary: "planes that allow for matrix errors of bounded norm",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<NormRobustRegecParams>(params)?.check()?)),
        defaults: || to_json(&NormRobustRegecParams::default()),
    },
    Method {
        name: "ellipsoid-svm",
        class: "EllipsoidSVC",
        summary: "SVM that keeps its margin on the error ellipsoid of every row",
        allows_nan: false,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<EllipsoidParams>(params)?.check()?)),
        defaults: || to_json(&EllipsoidParams::default()),
    },
    Method {
        name: "missing-lp",
        class: "MissingFeatureSVC",
        summary: "features missing at prediction time: worst-case linear program, solved with a proof",
        allows_nan: true,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<MissingFeatureSvcParams>(params)?.check()?)),
        defaults: || to_json(&MissingFeatureSvcParams::default()),
    },
    Method {
        name: "missing-perceptron",
        class: "MissingFeaturePerceptron",
        summary: "features missing at prediction time: online, for streams and millions of rows",
        allows_nan: true,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<MissingPerceptronParams>(params)?.check()?)),
        defaults: || to_json(&MissingPerceptronParams::default()),
    },
    Method {
        name: "missing-cv",
        class: "MissingFeatureCV",
        summary: "missing-lp with C chosen by accuracy on damaged held-out rows",
        allows_nan: true,
        keeps_nan: false,
        build: |params| Ok(Box::new(parse::<MissingFeatureCvParams>(params)?.check()?)),
        defaults: || to_json(&MissingFeatureCvParams::default()),
    },
    Method {
        name: "robust-logistic",
        class: "RobustLogisticRegression",
        summary: "random damage of labels and features at once, as stated: missing, inexact, mislabelled",
        allows_nan: true,
        keeps_nan: true,
        build: |params| Ok(Box::new(parse::<RobustLogisticParams>(params)?.check()?)),
        defaults: || to_json(&RobustLogisticParams::default()),
    },
];

/// The method called `name`, on the command line or in Python.
pub fn find(name: &str) -> Result<&'static Method> {
    METHODS.iter().find(|m| m.name == name).ok_or_else(|| {
        let names: Vec<&str> = METHODS.iter().map(|m| m.name).collect();
        Error::BadParams(format!("no method `{name}`; there are: {}", names.join(", ")))
    })
}

impl Method {
    /// Parses and checks parameters given as a JSON object; unknown names are errors.
    pub fn estimator(&self, params: &Value) -> Result<Box<dyn Estimator>> {
        (self.build)(params)
    }

    /// Whether a NaN is allowed and counts as 0.
    pub fn zeroes_nan(&self) -> bool {
        self.allows_nan && !self.keeps_nan
    }

    /// Every parameter with its default, as a JSON object.
    pub fn defaults(&self) -> Value {
        (self.defaults)()
    }
}

fn to_json(params: &impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

/// Every parameter has a default, so a parameter that fails is one that fails alone: the error
/// names it.
pub fn parse<T: DeserializeOwned>(params: &Value) -> Result<T> {
    T::deserialize(params).map_err(|error| {
        let guilty = params.as_object().into_iter().flatten().find_map(|(name, value)| {
            let alone = Value::from_iter([(name.clone(), value.clone())]);
            let error = T::deserialize(&alone).err()?.to_string();
            let unknown = error.starts_with("unknown field");
            Some(if unknown { error } else { format!("`{name}` = {value}: {error}") })
        });
        Error::BadParams(guilty.unwrap_or_else(|| error.to_string()))
    })
}

/// The method's name settles the penalty; a parameter that says otherwise is an error.
fn penalized(params: &Value, penalty: Penalty) -> Result<Box<dyn Estimator>> {
    let given: PenalizedParams = parse(params)?;
    if params.get("penalty").is_some_and(|p| !p.is_null()) && given.penalty != penalty {
        let (found, needed) = (to_json(&given.penalty), to_json(&penalty));
        return Err(Error::param("penalty", found, format!("{needed} for this method")));
    }
    Ok(Box::new(PenalizedParams { penalty, ..given }.check()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(params: &Value) -> String {
        find("l2").unwrap().estimator(params).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_parameter_is_named_with_its_value() {
        assert!(message(&json!({"tol": "small"})).starts_with("`tol` = \"small\": invalid type"));
        assert!(message(&json!({"tol": 1e-3, "max_iter": -4})).starts_with("`max_iter` = -4: "));
        assert!(
            message(&json!({"tols": 1e-3})).starts_with("unknown field `tols`, expected one of")
        );
    }
}
