//! `mainstay compare` as typed.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::data_args::Labels;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay compare                                        the embedded breast cancer data
  mainstay compare patients.csv --target outcome --report out.html
  mainstay compare patients.csv --target outcome --report out.html --tripod
  mainstay compare patients.csv --target outcome --budget 600 -o cells.csv
  mainstay compare patients.csv --target outcome --threat label_noise --metric auc --groups patient
  mainstay compare patients.csv --target outcome --expect missing=0.3 --expect errors=0.5
  mainstay compare patients.csv --target outcome --json | jq .advice.headline

Three baselines (L2 and L1 logistic regression, linear SVM) and nine robust methods, each tuned inside the
training rows, on clean data and under eight threats. `mainstay stress --help` lists the threats. The budget
decides how many splits are run (2 to 20), runs one level of a threat where there is no time for five splits of all
(--few-levels), and then leaves out methods that are too slow for it; the command that
repeats a run exactly, with --repeats, --few-levels, --without and --seed, is printed at its end. Training sets are cut to
30,000 cells, 200 to 1000 rows (--max-rows). The report shows the advised model on held-out rows: ROC and precision-recall
curve, calibration, thresholds, confusion, weights with intervals, steadiness. With --report or -o finished cells survive Ctrl-C: the same command goes on where it stopped.")]
pub(crate) struct Compare {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Where to write the report, one HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Where to write one row per cell, as CSV
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Time to stay within, in seconds: decides the number of splits; methods too slow for it are left out
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, conflicts_with = "repeats")]
    pub(crate) budget: f64,
    /// Number of splits, whatever the time
    #[arg(long, value_name = "N")]
    pub(crate) repeats: Option<usize>,
    /// Training sets are cut to this many rows, every class by its share [default: 200 to 1000, by the
    /// number of features]
    #[arg(long, value_name = "N")]
    pub(crate) max_rows: Option<usize>,
    /// Draw this many rows in one pass over the data [default: all; 50,000 of folders, patterns and files larger
    /// than a third of the free memory]
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,
    /// Add a checklist along TRIPOD+AI to the report, filled in as far as the program can
    #[arg(long, requires = "report")]
    pub(crate) tripod: bool,
    /// A method to add that does not take part by itself: robust-regec (may be repeated)
    #[arg(long = "with", value_name = "METHOD")]
    pub(crate) with: Vec<String>,
    /// A method to leave out (may be repeated)
    #[arg(long, value_name = "METHOD")]
    pub(crate) without: Vec<String>,
    /// What to expect, as in `fit`: every method is told, and judged if it is true, absent, half or double (may be
    /// repeated)
    #[arg(long, value_name = "THREAT=LEVEL", conflicts_with_all = ["metric", "threats", "few_levels", "sample", "with", "max_rows"])]
    pub(crate) expect: Vec<String>,
    /// One level of every threat to the training rows: what a short budget chooses
    #[arg(long)]
    pub(crate) few_levels: bool,
    /// Which threat; none: all eight (may be repeated)
    #[arg(long = "threat", value_name = "NAME")]
    pub(crate) threats: Vec<String>,
    /// What methods are judged by: accuracy, balanced_accuracy, auc, pr_auc, log_loss, brier, brier_skill, f1, mcc,
    /// sensitivity, specificity, ppv, npv, calibration_error [default: accuracy while the largest class is below
    /// 65 %, else log_loss if every method gives probabilities, else auc]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) input: Labels,
}
