//! The command line of `mainstay audit` as typed.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::Labels;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  mainstay audit patients.csv --target outcome                how many labels look wrong, and which
  mainstay audit patients.csv --target outcome --id patient -o suspects.csv
  mainstay audit patients.csv --target outcome --precision 0.8 --json | jq .estimate
  mainstay audit visits.csv --target outcome --groups patient   several rows of a patient are held out together
  mainstay audit                                              the embedded breast cancer data

Every row gets the probability that its label is wrong, from refits that have and have not seen it; classes that
overlap are told from labels that are wrong, and each class has its own rate. Labels are then flipped on purpose to see
how many are found: the upper end of the interval is raised by what is missed. Rows are flagged as long as at least
--precision of those flagged are expected to be wrong. `stability` is the share of the refits that would flag the row
alone. Features are standardised. Rows are counted from 1, as in the file.")]
pub(crate) struct AuditArgs {
    /// CSV (also .gz), Parquet, Arrow, spreadsheet or LIBSVM file; `-` is standard input; none: the embedded data
    pub(crate) data: Option<PathBuf>,
    /// Which method scores the rows [default: l2, its penalty chosen by cross-validation]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// A parameter of the method (may be repeated)
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE", requires = "method")]
    pub(crate) set: Vec<String>,
    /// Repeats of the cross-validation behind the held-out scores
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) repeats: usize,
    /// How many times labels are flipped on purpose
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) planted: usize,
    /// Rows are flagged while at least this share of them is expected to be wrong
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) precision: f64,
    /// How many rows are printed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) show: usize,
    /// Where to write all rows, most suspicious first, as CSV
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) input: Labels,
}
