//! The command line as typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use crate::compare_args::Compare;
pub(crate) use crate::data_args::{Encoding, ImputeRule, Labels, Reading, Rows};
pub(crate) use crate::fit_args::Fit;
use crate::trust_args::{Show, Trust, UnitKind};

/// Robust linear classifiers with proofs.
#[derive(Debug, Parser)]
#[command(name = "mainstay", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  mainstay compare                  what threatens the embedded data, what helps
  mainstay compare patients.csv --target outcome --report out.html
  mainstay fit --cv 5               the embedded breast cancer data
  mainstay fit patients.csv --target outcome -o model.json
  mainstay predict model.json new.csv -o out.csv --proba
  mainstay evaluate model.json test.csv
  mainstay certify model.json new.csv -o radii.csv

Exit codes: 0 done (and certified, where the method has a certificate),
1 done but not certified to `tol`, 2 could not do it.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Seed of everything random
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Number of threads; 0 uses every core. Results do not depend on it
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// No progress bar, and no notes beside the result
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// In CSV output put an apostrophe before text that a spreadsheet would run as a formula
    #[arg(long, global = true)]
    pub(crate) safe_csv: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at a table: what its columns hold, what `fit` will do with them, what is odd
    Check(Check),
    /// Fit a classifier and save it
    Fit(Fit),
    /// Predict the class of every row
    Predict(Predict),
    /// Judge a model on labelled rows
    Evaluate(Evaluate),
    /// How much it takes to flip each prediction
    Certify(Certify),
    /// May I believe each prediction?
    Trust(Trust),
    /// What a model says: weights, odds ratios, what it assumed, what is proven
    Show(Show),
    /// Is the fit proved? Recomputes objective and lower bound from the file and its training rows
    Verify(crate::trust_args::Verify),
    /// How many labels are wrong, and which
    Audit(crate::audit_args::AuditArgs),
    /// How good a method really is on few rows, every figure with an interval
    Validate(crate::validate_args::ValidateArgs),
    /// Reproduce the papers' tables and figures
    Reproduce(Reproduce),
    /// Damage data on purpose and see which methods hold
    Stress(Stress),
    /// Which threat hurts this data, which method holds, and what that costs
    Compare(Compare),
    /// List the methods
    Methods,
    /// List the embedded data sets
    Datasets,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  mainstay completions bash > ~/.local/share/bash-completion/completions/mainstay"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write one manual page per command into a folder
    #[command(hide = true)]
    Manual {
        /// Where to write mainstay.1, mainstay-fit.1, ...
        folder: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay check patients.csv --target outcome
  mainstay check patients.xlsx --sheet March --json

One line for every column: what it holds, missing cells, different values, range or most frequent categories, and
what `fit` will do with it; then what is odd (constant columns, equal rows, columns that alone tell the class,
cells that do not fit), the classes, and the `fit` command that follows.")]
pub(crate) struct Check {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Column that holds the class
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) encoding: Encoding,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay predict model.json new.csv                     to standard output
  mainstay predict model.json new.csv --proba -o out.csv
  mainstay predict model.json new.csv --id patient --keep ward --row patient=P-103
  cat new.csv | mainstay predict model.json -

Columns may come in any order; columns the model does not know are ignored.")]
pub(crate) struct Predict {
    /// A file written by `mainstay fit` or by mainstay.save in Python
    pub(crate) model: PathBuf,
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input
    pub(crate) data: PathBuf,
    /// Where to write the predictions, as CSV (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Add the probability of every class
    #[arg(long)]
    pub(crate) proba: bool,
    /// Add the decision values
    #[arg(long)]
    pub(crate) scores: bool,
    /// Copy this column to the output (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) keep: Vec<String>,
    #[command(flatten)]
    pub(crate) rows: Rows,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay evaluate model.json test.csv
  mainstay evaluate model.json test.csv --threshold 0.2 --cost fp=1,fn=5
  mainstay evaluate model.json test.csv --json | jq .metrics.auc

With two classes the second one is the positive one (`fit --positive` chooses). With more, metrics of one class against
the rest are means over the classes. A metric that is not defined on these rows is a dash, with the reason below.")]
pub(crate) struct Evaluate {
    /// A file written by `mainstay fit` or by mainstay.save in Python
    pub(crate) model: PathBuf,
    /// Labelled rows; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Column that holds the class (default: the one the model was fitted with)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// Where to write one line for every row: number, identifiers, true and predicted class, scores
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// A column that names rows, for --rows (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) id: Vec<String>,
    /// Leave out rows without a label
    #[arg(long)]
    pub(crate) drop_unlabelled: bool,
    /// Call rows positive from this probability on [default: what the model predicts]; also the threshold of net benefit
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// What a false alarm and a miss cost, for `cost`, the mean cost of a row [default: 1 each]
    #[arg(long, value_name = "fp=1,fn=5")]
    pub(crate) cost: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The attacks a witness can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WitnessKind {
    /// Euclidean distance
    L2,
    /// Sum of absolute changes
    L1,
    /// Largest change
    Linf,
    /// Fewest columns replaced by their means
    Deletions,
    /// Columns of the least total value replaced by their means
    DeletionValue,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay certify model.json new.csv                     to standard output
  mainstay certify model.json new.csv --witness l2 -o radii.csv
  mainstay certify model.json new.csv --value glucose=3 --value age=0
  mainstay certify model.json new.csv --units error --error glucose=6 --error bmi=0.3

For every row: the decision value, the least change in three norms, the fewest columns replaced by their means and the
fewest categorical columns changed to another category that flip the prediction; `inf` where nothing does. Norms change
columns of numbers only, in --units (default: standard deviations of the training rows; raw for files that do not know
them). Witnesses are in raw units. Exact for linear models. With --value, deletion_value is the least total value whose
deletion flips; where finding it takes too long it is a proven lower bound and deletion_value_upper, otherwise equal, is
what flips.")]
pub(crate) struct Certify {
    /// A file written by `mainstay fit` or by mainstay.save in Python
    pub(crate) model: PathBuf,
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input
    pub(crate) data: PathBuf,
    /// What deleting a column costs, 1 if not said (may be repeated)
    #[arg(long = "value", value_name = "COL=COST")]
    pub(crate) values: Vec<String>,
    /// What a change is measured in [default: sd]
    #[arg(long, value_name = "UNIT")]
    pub(crate) units: Option<UnitKind>,
    /// Standard deviation of a column's measurement error, for --units error (may be repeated)
    #[arg(long = "error", value_name = "COL=SIZE")]
    pub(crate) errors: Vec<String>,
    /// Add the flipped row itself
    #[arg(long, value_name = "KIND")]
    pub(crate) witness: Option<WitnessKind>,
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
  mainstay reproduce --list                               what there is
  mainstay reproduce conic-table-1 --quick
  mainstay reproduce all --data datasets -o results

A run that was stopped goes on where it was. Data sets that are not in --data are named with where to get them, and the rest still
runs; docs/reproduce.md says how to prepare them.")]
pub(crate) struct Reproduce {
    /// Name of an experiment or of a paper, or `all`
    #[arg(required_unless_present = "list")]
    pub(crate) experiment: Option<String>,
    /// Fewer repetitions: everything in a few minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder of data sets, NAME.csv.gz or NAME.csv with a column `target`
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Folder of the results: Markdown, SVG, JSON and what a later run can reuse
    #[arg(long, short, value_name = "DIR", default_value = "reproduced")]
    pub(crate) output: PathBuf,
    /// Only list the experiments
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay stress data.csv --target y --method l2 --method conic-cv --threat label_noise
  mainstay stress data.csv --target y -m l2 -m missing-cv --set missing-cv.budget=3 \\
      --threat adversarial_deletion --levels 0.05,0.1,0.2 --repeats 20 -o cells.csv
  mainstay stress -m l2 -m rolin --threat few_samples     the embedded data

Threats (level 0 changes nothing):
  few_samples           share of the training rows of every class left out
  label_noise           share of the training labels replaced by another class
  outliers              share of the training rows replaced by outliers, half clustered, half spread
  unlucky_split         share of every class missing from the training rows, all on one side
  missing_features      share of the features of a test row replaced by their training means, at random
  adversarial_deletion  the same, chosen to hurt the fitted model most
  corrupted_features    share of the features of a test row replaced by noise
  measurement_error     error of every feature of a test row, in standard deviations

Every repeat is a new split, two thirds to learn from; all methods see the same splits and the same damage.
Features are standardised by what the training rows say. The table has one row per cell: method, threat, level,
repeat, accuracy, log_loss, auc, balanced_accuracy, brier, problem (why a cell is empty). With -o finished cells survive Ctrl-C: the same command
goes on where it stopped. docs/workbench.md has the exact definitions.")]
pub(crate) struct Stress {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Which method; see `mainstay methods` (may be repeated)
    #[arg(long = "method", short, value_name = "NAME", required = true)]
    pub(crate) methods: Vec<String>,
    /// A parameter of a method, or of all without METHOD (may be repeated)
    #[arg(long = "set", short = 's', value_name = "[METHOD.]KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Which threat; none: all eight (may be repeated)
    #[arg(long = "threat", value_name = "NAME")]
    pub(crate) threats: Vec<String>,
    /// Levels of the one threat given (default: its usual ones)
    #[arg(long, value_name = "L1,L2,...", value_delimiter = ',')]
    pub(crate) levels: Vec<f64>,
    /// Number of splits
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) repeats: usize,
    /// Training and test sets are cut to this many rows, every class by its share
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) max_rows: usize,
    /// Where to write one row per cell, as CSV
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What methods are judged by: accuracy, balanced_accuracy, auc, pr_auc, log_loss, brier, brier_skill, f1, mcc,
    /// sensitivity, specificity, ppv, npv, calibration_error [default: accuracy while the largest class is below
    /// 65 %, else log_loss if every method gives probabilities, else auc]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) input: Labels,
}
