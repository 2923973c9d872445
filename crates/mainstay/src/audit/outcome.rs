//! What an audit of labels found.

use serde::{Deserialize, Serialize};

/// One row and what speaks against its label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditRow {
    /// Which row, from 0.
    pub row: usize,
    /// Class index it is labelled with.
    pub label: usize,
    /// Class index it looks like: the best of the other classes where the label is doubted.
    pub looks_like: usize,
    /// Probability that the label is wrong.
    pub wrong: f64,
    /// Share of the held-out repeats in which the row alone would be flagged.
    pub stability: f64,
    /// Whether it is worth a look: above the cut-off.
    pub flagged: bool,
}

/// How many labels are wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean of two sums over the rows: of the probabilities, which allow for odd rows, and of what these were if no row were odd. Flips
    /// that overlapping classes could explain are not in it.
    pub count: f64,
    /// Lower end of the 95 % interval of the number; 0 where labels without a wrong one could look the same. More odd rows than one
    /// in twenty of a class may pass for wrong labels: then it is too high.
    pub low: f64,
    /// Upper end of the 95 % interval: no row is odd, or some are, each raised by what is missed of planted flips.
    pub high: f64,
}

/// Labels flipped on purpose, and what became of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// How many times labels were flipped.
    pub rounds: usize,
    /// How many labels each time.
    pub rows: usize,
    /// Share of the flipped rows above the cut-off.
    pub found: f64,
    /// How much the count rose for every flipped label: 1 if it sees them all.
    pub response: f64,
}

/// What to expect of the rows at the top of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopRows {
    /// How many rows.
    pub rows: usize,
    /// Wrong labels expected among them.
    pub expected_wrong: f64,
    /// The same as a share of them.
    pub precision: f64,
    /// Share of planted flips that would stand among them.
    pub recall: f64,
}

/// Labels of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassShare {
    /// Class index.
    pub class: usize,
    /// Rows labelled with it.
    pub rows: usize,
    /// Wrong labels expected among them, counted as in [`Estimate::count`].
    pub expected_wrong: f64,
    /// How many of them are flagged.
    pub flagged: usize,
}

/// Everything an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// All rows, the most suspicious label first.
    pub rows: Vec<AuditRow>,
    /// How many labels are wrong.
    pub estimate: Estimate,
    /// Rows at the top that are flagged: the most of which at least `precision` are expected to be wrong.
    pub flagged: usize,
    /// The expected share of wrong labels among flagged rows that was asked for.
    pub precision: f64,
    /// What became of planted flips.
    pub planted: Planted,
    /// What to expect of the first rows of the list.
    pub top: Vec<TopRows>,
    /// One entry per class.
    pub classes: Vec<ClassShare>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Audit {
    /// The finding in one sentence.
    pub fn headline(&self) -> String {
        let (n, e) = (self.rows.len(), &self.estimate);
        let count = format!(
            "about {:.0} of {n} labels look wrong (95 % interval {:.0} to {:.0})",
            e.count, e.low, e.high
        );
        match self.flagged {
            0 => format!("{count}; none stands out enough to be named"),
            1 => format!("{count}; 1 row is worth a look"),
            k => format!("{count}; {k} rows are worth a look"),
        }
    }
}
