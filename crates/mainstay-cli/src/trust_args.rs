//! The flags of `show` and `trust`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::data_args::{Reading, Rows};

/// How a summary is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryFormat {
    /// For a terminal
    Text,
    /// For a document
    Markdown,
    /// For a program, as --json
    Json,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay show model.json
  mainstay show model.json --format markdown > model.md
  mainstay show model.json --bootstrap 200 --data patients.csv
  mainstay show model.json --json | jq '.coefficients[0].features[0]'

Weights are in the units of the columns (one unit more of the feature changes the score by the weight) and per standard
deviation of the training rows, which makes features comparable. Where scores are log odds, exp of a weight is the
factor on the odds. --bootstrap fits the method again to rows of --data drawn with replacement and adds the interval
that holds the middle 95 % of the weights, and how often a weight kept its sign. What the file says about single training
rows is listed under `about rows`.")]
pub(crate) struct Show {
    /// A file written by `mainstay fit` or by mainstay.save in Python
    pub(crate) model: PathBuf,
    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
    /// Add intervals from this many refits to the rows of --data
    #[arg(long, value_name = "N", requires = "data")]
    pub(crate) bootstrap: Option<usize>,
    /// The rows that the model was fitted on, for --bootstrap
    #[arg(long, value_name = "FILE", requires = "bootstrap")]
    pub(crate) data: Option<PathBuf>,
    /// Column of row weights of --data, if the fit had one
    #[arg(long, value_name = "COL", requires = "data")]
    pub(crate) weights: Option<String>,
    /// Column that holds the class (default: the one the model was fitted with)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What a change of a row is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitKind {
    /// Standard deviations of the training rows
    Sd,
    /// The units of the columns
    Raw,
    /// Measurement errors, as --error says
    Error,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay trust model.json new.csv                         what the model file alone can tell
  mainstay trust model.json new.csv --train patients.csv    with refits and conformal p-values
  mainstay trust model.json new.csv --error glucose=6 --error bmi=0.3 -o trust.csv
  mainstay trust model.json test.csv --abstain              answers only where they stand

One line for every row:
  verdict      stands, close call, or unlike the training data, by the rule below; reasons says why
  probability  of the predicted class; _low and _high hold 90 % of the refits, agreement is the share of refits that
               predict the same class (with --train)
  flip_sd      certified: no smaller change of the numbers flips it, in standard deviations of the training rows
               (Euclidean); flip_error the same in measurement errors (with --error)
  deletions    so many columns must be replaced by their means to flip it
  distance     from the mean of the training rows with correlations taken into account (Mahalanobis, shrunk); nearer is the
               share of the training rows that lie nearer; outside names columns beyond their range
  p_CLASS      conformal p-value: the share of training rows of the class that look no more typical (with --train)

Rule. Unlike the training data: farther from their mean than 99 % of the training rows, or a feature outside their range
by more than half its width, or no class has a p-value above 1 %. Close call: a probability below 0.6, or fewer than 90 %
of the refits agree, or a change of less than 0.2 standard deviations or 2 measurement errors flips it, or a second class
has a p-value above 5 %. Otherwise it stands. If the rows have the target column, coverage and accuracy are told.")]
pub(crate) struct Trust {
    /// A file written by `mainstay fit` or by mainstay.save in Python
    pub(crate) model: PathBuf,
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input
    pub(crate) data: PathBuf,
    /// The rows that the model was fitted on: adds refits and conformal p-values
    #[arg(long, value_name = "FILE")]
    pub(crate) train: Option<PathBuf>,
    /// Column of row weights of --train, if the fit had one
    #[arg(long, value_name = "COL", requires = "train")]
    pub(crate) weights: Option<String>,
    /// Refits to rows of --train drawn with replacement
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) refits: usize,
    /// Standard deviation of a column's measurement error, in its units (may be repeated)
    #[arg(long = "error", value_name = "COL=SIZE")]
    pub(crate) errors: Vec<String>,
    /// Leave the prediction blank where it does not stand
    #[arg(long)]
    pub(crate) abstain: bool,
    /// Column that holds the class, of the rows and of --train (default: the one the model was fitted with)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) rows: Rows,
    /// Where to write the table, as CSV (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay fit patients.csv --target outcome --proof -o model.json
  mainstay verify model.json patients.csv
  mainstay verify model.json patients.csv --weights w --tol 1e-4 --json

A fit ends with a claim: no weights lower its objective by more than the gap. With --proof the file holds the multipliers
behind the claim. This command recomputes the objective and the lower bound from the file and the training rows by a
checker that shares no code with the fits: inner products are exact, the rest is interval arithmetic. It says `proved`
(exit code 0) or `not proved` (1). DATA must be the rows of the fit. A forged or damaged proof ends with `not proved`; it
cannot prove what is false.

Methods: l1, l2, elasticnet, stable-svm, stable-logistic (and -cv), ellipsoid-svm with one ellipsoid for all rows, missing-lp.
Not yet: conic, robust-logistic, models with --calibrate, --drop-far, --impute gaussian or --stream. rolin, top-pcs, the
perceptron and the regec family have no certificate.")]
pub(crate) struct Verify {
    /// A file written by `mainstay fit --proof` or by mainstay.save(..., proof=True) in Python
    pub(crate) model: PathBuf,
    /// The rows that the model was fitted on
    pub(crate) data: PathBuf,
    /// Column that holds the class (default: the one the model was fitted with)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// Column of row weights, if the fit had one
    #[arg(long, value_name = "COL")]
    pub(crate) weights: Option<String>,
    /// Gap to be proved [default: the one the fit was asked for]
    #[arg(long, value_name = "GAP")]
    pub(crate) tol: Option<f64>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
