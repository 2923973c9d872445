//! The command line of `mainstay validate` as typed.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::Labels;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay validate patients.csv --target outcome             how good is logistic regression here, really
  mainstay validate patients.csv --target outcome --method robust-logistic --bootstrap 500
  mainstay validate patients.csv --target outcome --id patient -o rows.csv
  mainstay validate patients.csv --target outcome --json | jq '.metrics[] | {metric, corrected}'
  mainstay validate                                           the embedded breast cancer data

Every metric on the rows the model was fitted to (apparent), how much of that is having seen them (optimism: bootstrap
refits judged on their sample less on the original rows), the difference (corrected), and repeated stratified
cross-validation beside it, each with a 95 % interval; the shrinkage factor, a calibration curve with a band, how far the
probability of each row moves between refits, and a learning curve with what twice the rows would bring. Everything that
the method chooses (alpha=cv, say) is chosen anew in every refit, and features are standardised in each. With -o finished
refits survive Ctrl-C: the same command goes on where it stopped.")]
pub(crate) struct ValidateArgs {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Which method; see `mainstay methods`
    #[arg(long, short, value_name = "NAME", default_value = "l2")]
    pub(crate) method: String,
    /// A parameter of the method, in JSON or as a plain word (may be repeated)
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Bootstrap refits
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) bootstrap: usize,
    /// Folds of the cross-validation
    #[arg(long, value_name = "K", default_value_t = 5)]
    pub(crate) folds: usize,
    /// Its repeats
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) repeats: usize,
    /// Training sets of each size of the learning curve; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) curve_repeats: usize,
    /// Metric of the headline and the learning curve
    #[arg(long, value_name = "NAME", default_value = "auc")]
    pub(crate) metric: String,
    /// Where to write one line for every row: probability, its range over refits, mean absolute error, flips
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) input: Labels,
}
