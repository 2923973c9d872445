//! `mainstay fit` as typed.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::data_args::{Encoding, ImputeRule, Reading, size};
use crate::expect::Threats;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay fit                                            the embedded data, logistic regression
  mainstay fit data.csv --target y --method l1 --set alpha=cv -o model.json
  mainstay fit data.csv.gz --target y --set loss=hinge --set alpha=0.001 --impute median -o m.json
  zcat big.csv.gz | mainstay fit - --target y -o model.json
  mainstay fit lab.csv --target y --method ellipsoid-svm --error-columns _err -o model.json
  mainstay fit 'rows/*.parquet' --target y --stream --memory 2G --checkpoint fit.ckpt -o model.json
  mainstay fit data.csv --target y -m robust-logistic --expect missing=0.2 --expect wrong-labels=0.1 -o m.json
  mainstay fit data.csv --target y --impute gaussian --drop-far auto -o m.json

`mainstay methods` lists what --method and --set take, `mainstay check` says what becomes of every column. Features
are standardised first unless --raw is given (in Python they are not); linear models are saved in the units of the raw
features. A column of at least 90 % numbers is one of numbers: other cells are missing if --na lists them and an error
otherwise. Dates become days since the first one, identifiers are left out. Categorical columns are one-hot encoded; a
category that was not seen in training gets zero in all its columns when predicting. Rows are counted from 1, as in
the file, whatever was left out. Error columns are in the
units of their features and are not needed for predicting; a parameter `uncertainty` is in standard deviations
unless --raw is given.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Fit {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Column that holds the class (LIBSVM files name it themselves)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// Which method; see `mainstay methods`
    #[arg(long, short, value_name = "NAME", default_value = "l2")]
    pub(crate) method: String,
    /// A parameter of the method, in JSON or as a plain word (may be repeated)
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What to do about missing cells (default: refuse and name the first)
    #[arg(long, value_name = "RULE")]
    pub(crate) impute: Option<ImputeRule>,
    /// Fit on features as they are, without standardising them first
    #[arg(long)]
    pub(crate) raw: bool,
    /// Column of row weights
    #[arg(long, value_name = "COL")]
    pub(crate) weights: Option<String>,
    /// Known errors of the features (robust-regec, ellipsoid-svm): the ending of their columns (`_err`
    /// for x1_err beside x1), FEATURE=COLUMN, or a file with one column for each feature (may be repeated)
    #[arg(long, value_name = "SPEC")]
    pub(crate) error_columns: Vec<String>,
    /// Half-axes of the error ellipsoids in units of the error columns
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    #[arg(requires = "error_columns", allow_negative_numbers = true)]
    pub(crate) error_scale: f64,
    /// Also judge the method by stratified K-fold cross-validation: the held-out rows of all folds together
    #[arg(long, value_name = "K")]
    pub(crate) cv: Option<usize>,
    /// Read the rows in passes, and hold them between passes only if they fit into half of --memory (l1, l2, elasticnet, stable-svm,
    /// stable-logistic, regec, norm-robust-regec, robust-regec, missing-lp, missing-perceptron,
    /// ellipsoid-svm, conic, robust-logistic); done by itself for folders, patterns and files larger than a third of the
    /// free memory
    #[arg(long)]
    pub(crate) stream: bool,
    /// Memory that --stream may take for rows: those under way, and all where half of it suffices; such as 500M or 2G [default: a third of what is free]
    #[arg(long, value_name = "SIZE", requires = "stream", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Where --stream keeps its state after every pass; the same command goes on from there
    #[arg(long, value_name = "FILE", requires = "stream")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Column whose equal cells keep rows in one fold of --cv (several rows of a patient, say); no feature
    #[arg(long, value_name = "COL")]
    pub(crate) groups: Option<String>,
    /// Where to write the model; `-` is standard output, the summary then goes to standard error
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Leave out of the model what it says about single training rows and prediction does not need
    #[arg(long)]
    pub(crate) no_training_rows: bool,
    /// Keep the multipliers behind the certificate in the model file, for `mainstay verify`
    #[arg(long, conflicts_with = "stream")]
    pub(crate) proof: bool,
    /// Give a method without probabilities some, learned on held-out parts of the rows (as --set calibrate=true)
    #[arg(long)]
    pub(crate) calibrate: bool,
    /// Where to write the training rows, the most suspicious label first; `mainstay audit` says more
    #[arg(long, value_name = "FILE")]
    pub(crate) suspects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) threats: Threats,
    #[command(flatten)]
    pub(crate) encoding: Encoding,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
