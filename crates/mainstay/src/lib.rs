//! Robust linear classifiers, each with a proof of how good its answer is.
//!
//! Data flows one way: [`data`] -> an estimator's `fit` -> [`model::Fitted`] with its
//! [`Certificate`] -> predictions. One folder per method; what two methods share lives in a
//! room below them (`linalg`, `data`, `loss`, `model`). This crate opens no file and prints nothing.
//!
//! ```
//! use mainstay::data::Dataset;
//! use mainstay::linalg::Dense;
//! use mainstay::model::Estimator;
//! use mainstay::stable::{K, StableSvcParams};
//! use mainstay::{Control, methods};
//!
//! let x = Dense::from_rows(6, 2, vec![0., 1., 1., 0., 1., 1., 3., 4., 4., 3., 4., 4.]);
//! let data = Dataset::new(x.into(), vec![0, 0, 0, 1, 1, 1], 2)?;
//!
//! // A method by its type: the SVM whose loss is that of the worst four rows.
//! let svm = StableSvcParams { k: K::Count(4), ..Default::default() }.check()?;
//! let fitted = svm.fit(&data, &Control::new())?.certified(1e-6)?;
//! let proof = fitted.certificates[0];
//! assert!(proof.primal - proof.dual <= 1e-6 * proof.primal.max(1.0));
//! assert_eq!(fitted.model.predict(data.features())?, data.labels());
//!
//! // The same by its name, as the command line and Python do it.
//! let named = methods::find("stable-svm")?.estimator(&serde_json::json!({"k": 4}))?;
//! assert_eq!(named.fit(&data, &Control::new())?.model, fitted.model);
//! # Ok::<(), mainstay::Error>(())
//! ```
//!
//! # Methods
//!
//! | Name | Parameters | For |
//! | --- | --- | --- |
//! | `l2`, `l1`, `elasticnet` | [`penalized::PenalizedParams`] | the plain baselines, exact and certified |
//! | `rolin` | [`rolin::RolinParams`] | few samples |
//! | `top-pcs` | [`rolin::TopPcsParams`] | few samples: the top principal components alone |
//! | `conic`, `conic-cv` | [`conic::ConicParams`], [`conic::ConicCvParams`] | wrong labels and outliers |
//! | `stable-svm`, `stable-svm-cv` | [`stable::StableSvcParams`], [`stable::StableSvcCvParams`] | an unlucky subset of the rows |
//! | `stable-logistic`, `stable-logistic-cv` | [`stable::StableLogisticParams`], [`stable::StableLogisticCvParams`] | the same with probabilities |
//! | `regec` | [`eigen::RegecParams`] | one plane per class |
//! | `robust-regec` | [`eigen::RobustRegecParams`] | planes that allow for the known error of every measurement |
//! | `norm-robust-regec` | [`eigen::NormRobustRegecParams`] | planes that allow for matrix errors of bounded norm |
//! | `ellipsoid-svm`, `ellipsoid-svm-cv` | [`ellipsoid::EllipsoidParams`], [`ellipsoid::EllipsoidCvParams`] | known errors of measurement, with a margin |
//! | `missing-lp`, `missing-cv` | [`missing::MissingFeatureSvcParams`], [`missing::MissingFeatureCvParams`] | features missing at prediction time |
//! | `missing-perceptron` | [`missing::MissingPerceptronParams`] | the same for streams |
//! | `robust-logistic` | [`robust::RobustLogisticParams`] | random damage that is stated: wrong labels, errors, missing cells |
//!
//! [`methods::METHODS`] is this table for programs. What a model is worth on data like yours is asked of
//! [`certify`], [`stress`], [`selection`] and [`compare`]; which labels are wrong, of [`audit`]; how good
//! it is on new rows, of [`validate`]; whether to believe one prediction, of [`trust`]. [`metrics`] are what all of
//! them count in; [`partitioned`] fits rows that are never in one place.

pub mod audit;
pub mod certificate;
pub mod certify;
pub mod compare;
pub mod conic;
pub mod control;
pub mod data;
pub mod eigen;
pub mod ellipsoid;
pub mod error;
pub mod folds;
mod json;
pub mod linalg;
pub mod loss;
pub mod methods;
pub mod metrics;
pub mod missing;
pub mod model;
pub mod optim;
pub mod partitioned;
pub mod penalized;
pub mod robust;
pub mod rolin;
pub mod selection;
pub mod stable;
pub mod stress;
pub mod trust;
pub mod uncertainty;
pub mod validate;

pub use certificate::{Certificate, Status};
pub use control::Control;
pub use error::{Error, Result};
