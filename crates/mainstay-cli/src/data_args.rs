//! Flags about data that several commands share: how files are read and what their columns and rows are for.

use clap::{Args as ClapArgs, ValueEnum};

/// How a data file is read.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Reading {
    /// Column separator of a CSV file (default: detected; `\t` for tab)
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<String>,
    /// The file has no header: columns are called column1, column2, ...
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Treat this column as categories even if it holds numbers (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) categorical: Vec<String>,
    /// More cells that stand for "no value", apart by commas, beside the empty one and the usual words (NA, N/A,
    /// n/a, NaN, nan, null, ?, ., - and, in columns of numbers, none)
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) na: Option<String>,
    /// Only the words of --na and the empty cell stand for "no value", not the usual words as well
    #[arg(long)]
    pub(crate) no_default_na: bool,
    /// What numbers in a CSV file have before their decimals, `.` or `,` [default: `.`; `,` in files with `;` between
    /// cells whose numbers have it]
    #[arg(long, value_name = "CHAR")]
    pub(crate) decimal: Option<String>,
    /// Which sheet of a spreadsheet to read [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
}

/// A number of bytes, also in thousands (K), millions (M) or billions (G) of them.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim_end_matches(['b', 'B']) {
        text if text.ends_with(['k', 'K']) => (&text[..text.len() - 1], 1e3),
        text if text.ends_with(['m', 'M']) => (&text[..text.len() - 1], 1e6),
        text if text.ends_with(['g', 'G']) => (&text[..text.len() - 1], 1e9),
        text => (text, 1.0),
    };
    let value = digits.parse::<f64>().ok().map(|v| v * unit).filter(|v| (1.0..1e18).contains(v));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    value.map(|v| v as u64).ok_or_else(|| "must be a size such as 500M or 2G".into())
}

/// How columns become features.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Encoding {
    /// Columns to leave out, apart by commas (may be repeated)
    #[arg(long, value_name = "COL,...")]
    pub(crate) drop: Vec<String>,
    /// A column that names rows: shown wherever rows are listed, never a feature (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) id: Vec<String>,
    /// Take a column in although it looks like an identifier (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) keep_feature: Vec<String>,
    /// Categories with fewer rows share one indicator
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) min_count: usize,
    /// The category without an indicator: effects of the others are relative to it (may be repeated)
    #[arg(long, value_name = "COL=LEVEL")]
    pub(crate) reference: Vec<String>,
    /// Drop the indicator of the first category of every column
    #[arg(long)]
    pub(crate) drop_first: bool,
    /// Leave out rows without a label (`--impute drop` does too)
    #[arg(long)]
    pub(crate) drop_unlabelled: bool,
    /// Which of two classes is the positive one [default: the one that sorts last]
    #[arg(long, value_name = "CLASS")]
    pub(crate) positive: Option<String>,
}

/// What to put into missing cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImputeRule {
    /// The column's mean (numbers) or most frequent category
    Mean,
    /// The column's median (numbers) or most frequent category
    Median,
    /// The column's most frequent value
    MostFrequent,
    /// Nothing: rows with a missing cell are left out
    Drop,
    /// What the other features say (fit, validate, audit): a Gaussian model of them becomes part of the model
    Gaussian,
}

/// Which rows, and what names them.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Rows {
    /// A column that names rows: copied to the output (may be repeated)
    #[arg(long, value_name = "COL")]
    pub(crate) id: Vec<String>,
    /// Only this row, by its number in the file (from 1) or by a cell, COL=VALUE (may be repeated)
    #[arg(long, value_name = "ROW")]
    pub(crate) row: Vec<String>,
}

/// Where labelled rows come from.
#[derive(Debug, ClapArgs)]
pub(crate) struct Labels {
    /// Column that holds the class (LIBSVM files name it themselves)
    #[arg(long, short, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// What to do about missing cells (default: refuse and name the first)
    #[arg(long, value_name = "RULE")]
    pub(crate) impute: Option<ImputeRule>,
    /// Column whose equal cells keep rows on one side of every split (several rows of a patient, say); no feature
    #[arg(long, value_name = "COL")]
    pub(crate) groups: Option<String>,
    #[command(flatten)]
    pub(crate) encoding: Encoding,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
