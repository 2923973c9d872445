//! Every method by name: one table for the command line, Python and the model files.

mod calibrate;
mod guarded;
mod one_sided;
mod partitioned;
mod remedies;
mod settled;

use guarded::Guarded;
pub use partitioned::driver;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
pub(crate) use settled::settled;

use crate::conic::{ConicCvParams, ConicParams};
use crate::data::NanRule;
use crate::eigen::{NormRobustRegecParams, RegecParams, RobustRegecParams};
use crate::ellipsoid::{EllipsoidCvParams, EllipsoidParams};
use crate::error::{Error, Result, nearest};
use crate::missing::{MissingFeatureCvParams, MissingFeatureSvcParams, MissingPerceptronParams};
use crate::model::{Estimator, PathPoint};
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
    /// What the method makes of a missing value (NaN).
    pub nan: NanRule,
    build: fn(&Value) -> Result<Box<dyn Estimator>>,
    defaults: fn() -> Value,
}

/// All methods, in the order in which `mainstay methods` lists them.
pub const METHODS: &[Method] = &[
    Method {
        name: "l2",
        class: "PenalizedClassifier",
        summary: "ridge-penalised logistic regression or SVM: the plain baseline",
        nan: NanRule::Refuse,
        build: |params| penalized(params, Penalty::L2),
        defaults: || to_json(&PenalizedParams { penalty: Penalty::L2, ..Default::default() }),
    },
    Method {
        name: "l1",
        class: "PenalizedClassifier",
        summary: "the same with an L1 penalty: uses few features",
        nan: NanRule::Refuse,
        build: |params| penalized(params, Penalty::L1),
        defaults: || to_json(&PenalizedParams { penalty: Penalty::L1, ..Default::default() }),
    },
    Method {
        name: "elasticnet",
        class: "PenalizedClassifier",
        summary: "the same with a mix of both penalties: few features, correlated ones together",
        nan: NanRule::Refuse,
        build: |params| penalized(params, Penalty::ElasticNet),
        defaults: || {
            to_json(&PenalizedParams { penalty: Penalty::ElasticNet, ..Default::default() })
        },
    },
    Method {
        name: "rolin",
        class: "RolinClassifier",
        summary: "few samples: trusts what is well estimated, is robust in the rest",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<RolinParams>(params)?.check()?)),
        defaults: || to_json(&RolinParams::default()),
    },
    Method {
        name: "top-pcs",
        class: "TopPCsClassifier",
        summary: "few samples: a classifier on the top principal components alone",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<TopPcsParams>(params)?.check()?)),
        defaults: || to_json(&TopPcsParams::default()),
    },
    Method {
        name: "conic",
        class: "ConicSVC",
        summary: "conic-loss SVM: holds against wrong labels and outliers, and points them out",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<ConicParams>(params)?.check()?)),
        defaults: || to_json(&ConicParams::default()),
    },
    Method {
        name: "conic-cv",
        class: "ConicSVCCV",
        summary: "the same with the share of wrong labels chosen by cross-validation",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<ConicCvParams>(params)?.check()?)),
        defaults: || to_json(&ConicCvParams::default()),
    },
    Method {
        name: "stable-svm",
        class: "StableSVC",
        summary: "SVM on the worst k rows: expects an unlucky subset",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<StableSvcParams>(params)?.check()?)),
        defaults: || to_json(&StableSvcParams::default()),
    },
    Method {
        name: "stable-svm-cv",
        class: "StableSVCCV",
        summary: "the same, k and C chosen by cross-validation",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<StableSvcCvParams>(params)?.check()?)),
        defaults: || to_json(&StableSvcCvParams::default()),
    },
    Method {
        name: "stable-logistic",
        class: "StableLogisticRegression",
        summary: "logistic regression on the worst k rows: expects an unlucky subset",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<StableLogisticParams>(params)?.check()?)),
        defaults: || to_json(&StableLogisticParams::default()),
    },
    Method {
        name: "stable-logistic-cv",
        class: "StableLogisticRegressionCV",
        summary: "the same, k and alpha chosen by cross-validation",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<StableLogisticCvParams>(params)?.check()?)),
        defaults: || to_json(&StableLogisticCvParams::default()),
    },
    Method {
        name: "regec",
        class: "ReGEC",
        summary: "one plane per class by generalized eigenvalues",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<RegecParams>(params)?.check()?)),
        defaults: || to_json(&RegecParams::default()),
    },
    Method {
        name: "robust-regec",
        class: "RobustReGEC",
        summary: "planes that allow for the known error of every measurement",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<RobustRegecParams>(params)?.check()?)),
        defaults: || to_json(&RobustRegecParams::default()),
    },
    Method {
        name: "norm-robust-regec",
        class: "NormRobustReGEC",
        summary: "planes that allow for matrix errors of bounded norm",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<NormRobustRegecParams>(params)?.check()?)),
        defaults: || to_json(&NormRobustRegecParams::default()),
    },
    Method {
        name: "ellipsoid-svm",
        class: "EllipsoidSVC",
        summary: "SVM that keeps its margin on the error ellipsoid of every row",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<EllipsoidParams>(params)?.check()?)),
        defaults: || to_json(&EllipsoidParams::default()),
    },
    Method {
        name: "ellipsoid-svm-cv",
        class: "EllipsoidSVCCV",
        summary: "the same, size of the ellipsoids and C chosen on held-out rows with that noise",
        nan: NanRule::Refuse,
        build: |params| Ok(Box::new(parse::<EllipsoidCvParams>(params)?.check()?)),
        defaults: || to_json(&EllipsoidCvParams::default()),
    },
    Method {
        name: "missing-lp",
        class: "MissingFeatureSVC",
        summary: "features missing at prediction time: worst-case linear program, solved with a proof",
        nan: NanRule::Zero,
        build: |params| Ok(Box::new(parse::<MissingFeatureSvcParams>(params)?.check()?)),
        defaults: || to_json(&MissingFeatureSvcParams::default()),
    },
    Method {
        name: "missing-perceptron",
        class: "MissingFeaturePerceptron",
        summary: "features missing at prediction time: online, for streams and millions of rows",
        nan: NanRule::Zero,
        build: |params| Ok(Box::new(parse::<MissingPerceptronParams>(params)?.check()?)),
        defaults: || to_json(&MissingPerceptronParams::default()),
    },
    Method {
        name: "missing-cv",
        class: "MissingFeatureCV",
        summary: "missing-lp with budget and C chosen on damaged held-out rows",
        nan: NanRule::Zero,
        build: |params| Ok(Box::new(parse::<MissingFeatureCvParams>(params)?.check()?)),
        defaults: || to_json(&MissingFeatureCvParams::default()),
    },
    Method {
        name: "robust-logistic",
        class: "RobustLogisticRegression",
        summary: "damage of labels and features at once, as stated, random or worst: missing, inexact, mislabelled",
        nan: NanRule::Keep,
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
        self.check_names(params)?;
        let mut own = params.clone();
        let calibrate = calibrate::asked_for(&mut own)?;
        let mut inner = (self.build)(&own)?;
        if calibrate {
            inner = self.calibrated(&own, inner)?;
        }
        Ok(Box::new(Guarded::new(self, params, inner)))
    }

    /// Refuses a name that is not a parameter, with the nearest that is one.
    fn check_names(&self, params: &Value) -> Result<()> {
        let defaults = self.defaults();
        let known: Vec<&str> =
            defaults.as_object().into_iter().flatten().map(|(k, _)| k.as_str()).collect();
        let given = params.as_object().into_iter().flatten().map(|(name, _)| name);
        let Some(name) = given.into_iter().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let near = match nearest(name, &known).first() {
            Some(near) => format!("nearest is `{near}`; "),
            None => String::new(),
        };
        let (method, all) = (self.name, known.join(", "));
        Err(Error::BadParams(format!(
            "`{name}` is not a parameter of {method}; {near}it has: {all}"
        )))
    }

    /// Whether a missing value (NaN) is a legal feature value.
    pub fn allows_nan(&self) -> bool {
        self.nan != NanRule::Refuse
    }

    /// What the method makes of a missing number with these parameters.
    pub fn nan_rule(&self, params: &Value) -> NanRule {
        let filled = params.get("at_predict").and_then(Value::as_str) == Some("gaussian");
        if filled { NanRule::Keep } else { self.nan }
    }

    /// The parameters given and the defaults of all others, as model files hold them. A seed that was not given stays
    /// out: that nothing was asked for is what a file should say.
    pub fn all_params(&self, given: &Value) -> Value {
        let mut all = self.defaults();
        if let (Some(all), Some(given)) = (all.as_object_mut(), given.as_object()) {
            all.remove("random_state");
            all.extend(given.clone());
        }
        all
    }

    /// Every parameter with its default, as a JSON object.
    pub fn defaults(&self) -> Value {
        let mut all = (self.defaults)();
        if let Some(fields) = all.as_object_mut().filter(|_| self.takes_calibrate()) {
            fields.insert("calibrate".into(), false.into());
        }
        all
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
            Some(match unknown_field(&error) {
                Some(text) => text,
                None => format!("`{name}` = {value}: {}", plain_words(&error)),
            })
        });
        Error::BadParams(guilty.unwrap_or_else(|| plain_words(&error.to_string())))
    })
}

/// The points of a path given as a JSON array of objects: `[{"k": 20, "C": 1.0}, ...]`.
pub fn path_points(values: &Value) -> Result<Vec<PathPoint>> {
    let bad = |what: &str| Error::BadParams(what.into());
    let Value::Array(values) = values else { return Err(bad("a path is a list of its points")) };
    let point = |value: &Value| match value {
        Value::Object(fields) if fields.values().any(Value::is_null) => {
            Err(bad("a point of a path has a value for each of its parameters"))
        }
        Value::Object(_) => parse(value),
        _ => Err(bad("a point of a path is an object of parameters by name")),
    };
    values.iter().map(point).collect()
}

/// "unknown field `x`, expected one of ..." as a user would say it.
fn unknown_field(error: &str) -> Option<String> {
    let (name, known) = error.strip_prefix("unknown field ")?.split_once(", expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known).replace('`', "");
    Some(format!("{name} is not a parameter; it has: {known}"))
}

/// What a value must be, without the words of the parser.
fn plain_words(error: &str) -> String {
    let expected = |text: &str| text.rsplit_once(", expected ").map(|(_, rule)| rule.to_owned());
    if error.starts_with("unknown variant") {
        let names = expected(error).unwrap_or_default();
        return format!("must be {names}");
    }
    if error.starts_with("invalid type") || error.starts_with("invalid value") {
        let rule = expected(error).unwrap_or_default();
        return match rule.as_str() {
            "f64" | "f32" => "must be a number".into(),
            "a boolean" => "must be true or false".into(),
            "a string" => "must be a word".into(),
            rule if rule.starts_with(['u', 'i']) && rule[1..].parse::<u8>().is_ok() => {
                "must be a whole number".into()
            }
            "usize" => "must be a whole number that is not negative".into(),
            "a sequence" => "must be a list".into(),
            rule => format!("must be {rule}"),
        };
    }
    if error.contains("did not match any variant") {
        return "is none of the values this parameter takes".into();
    }
    error.to_owned()
}

/// The method's name settles the penalty; a parameter that says otherwise is an error.
fn penalized(params: &Value, penalty: Penalty) -> Result<Box<dyn Estimator>> {
    check_penalty(params, penalty)?;
    Ok(Box::new(PenalizedParams { penalty, ..parse(params)? }.check()?))
}

fn check_penalty(params: &Value, penalty: Penalty) -> Result<()> {
    let given: PenalizedParams = parse(params)?;
    if params.get("penalty").is_some_and(|p| !p.is_null()) && given.penalty != penalty {
        let (found, needed) = (to_json(&given.penalty), to_json(&penalty));
        return Err(Error::param("penalty", found, format!("{needed} for this method")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
