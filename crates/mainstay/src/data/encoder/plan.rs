//! What an encoder does with every column, in data and in words.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{Encoder, Encoding};
use crate::data::{dates, shell_word};

/// A column that did not become a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The column.
    pub column: String,
    /// Why, as the end of a sentence.
    pub why: String,
}

/// What becomes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// One feature, the number itself.
    Number,
    /// One feature, days since the first date.
    Days,
    /// This many 0/1 features.
    Indicators(usize),
    /// No feature.
    LeftOut,
}

/// What becomes of a column, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnPlan {
    /// The column.
    pub column: String,
    /// What becomes of it.
    pub treatment: Treatment,
    /// Why, in words.
    pub why: String,
}

/// Beyond this many categories, more than half as many as rows, a column is worth a word.
const MANY_CATEGORIES: usize = 20;

impl Encoder {
    /// What becomes of every column: features first, in their order, then what is left out.
    pub fn plan(&self) -> Vec<ColumnPlan> {
        let plan = |column: &str, treatment, why: String| ColumnPlan {
            column: column.to_owned(),
            treatment,
            why,
        };
        let features = self.columns().map(|(name, encoding)| match encoding {
            Encoding::Numeric { .. } => plan(name, Treatment::Number, "numbers".into()),
            Encoding::Date { order, origin, .. } => {
                let why =
                    format!("dates ({}) as days since {}", order.describe(), dates::iso(*origin));
                plan(name, Treatment::Days, why)
            }
            Encoding::Categorical { categories, rare, reference, .. } => {
                let mut why = format!("{} categories", categories.len() + rare.len());
                if !rare.is_empty() {
                    let _ = write!(why, ", {} rare ones together", rare.len());
                }
                if let Some(level) = reference.and_then(|k| categories.get(k)) {
                    let _ = write!(why, ", relative to `{level}`");
                }
                plan(name, Treatment::Indicators(encoding.width()), why)
            }
        });
        let left_out =
            self.left_out.iter().map(|l| plan(&l.column, Treatment::LeftOut, l.why.clone()));
        features.chain(left_out).collect()
    }

    /// Columns that did not become features, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Sentences for the user about what is not plain to see, given the number of rows learned from.
    pub fn notes(&self, nrows: usize) -> Vec<String> {
        let about = |plan: ColumnPlan| {
            let (name, why) = (&plan.column, &plan.why);
            match plan.treatment {
                Treatment::LeftOut => Some(format!(
                    "column `{name}` is left out: {why} (--keep-feature {typed} takes it in)",
                    typed = shell_word(name)
                )),
                Treatment::Days => Some(format!("column `{name}` holds {why}")),
                Treatment::Indicators(width) if width > MANY_CATEGORIES && 2 * width > nrows => {
                    Some(format!(
                        "column `{name}` has {width} different words in {nrows} rows; \
                         if it is a name or a number badly written, drop or repair it"
                    ))
                }
                _ => None,
            }
        };
        self.plan().into_iter().filter_map(about).collect()
    }

    /// Whether model files of version 1 can hold it.
    pub fn is_plain(&self) -> bool {
        let plain = self.columns().all(|(_, encoding)| encoding.is_plain());
        plain && self.gaps.is_usual() && self.left_out.is_empty()
    }
}
