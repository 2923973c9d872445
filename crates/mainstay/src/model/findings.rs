//! What a fit found out about its rows and features, as types; [`Output`] is how files and Python
//! see them.

use super::{Output, Outputs};
use crate::error::{Error, Result};

/// Training rows by how suspicious their label is, most suspicious first. Columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suspects {
    /// Which row, from 0.
    pub row: Vec<usize>,
    /// Class index it is labelled with.
    pub label: Vec<usize>,
    /// How suspicious that is, between 0 and 1.
    pub score: Vec<f64>,
    /// Class index the fitted model gives it.
    pub predicted: Vec<usize>,
}

/// The rows that count in the worst case, heaviest loss first. Columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorstRows {
    /// Class whose problem it is, where every class has its own.
    pub class: Option<Vec<usize>>,
    /// Which row, from 0.
    pub row: Vec<usize>,
    /// How much of the row's weight counts.
    pub weight: Vec<f64>,
    /// Its loss.
    pub loss: Vec<f64>,
}

impl From<&Suspects> for Output {
    fn from(found: &Suspects) -> Self {
        Self::Table(vec![
            ("row".into(), indices(&found.row)),
            ("label".into(), indices(&found.label)),
            ("score".into(), Self::Vector(found.score.clone())),
            ("predicted".into(), indices(&found.predicted)),
        ])
    }
}

impl From<&WorstRows> for Output {
    fn from(found: &WorstRows) -> Self {
        let class = found.class.as_ref().map(|class| ("class".to_owned(), indices(class)));
        let others = [
            ("row".to_owned(), indices(&found.row)),
            ("weight".to_owned(), Self::Vector(found.weight.clone())),
            ("loss".to_owned(), Self::Vector(found.loss.clone())),
        ];
        Self::Table(class.into_iter().chain(others).collect())
    }
}

/// Takes the typed results out of the named results of a model file.
pub(super) struct Stored {
    pub(super) suspects: Option<Suspects>,
    pub(super) worst_rows: Option<WorstRows>,
    pub(super) values: Option<Vec<f64>>,
}

impl Stored {
    pub(super) fn take(outputs: &mut Outputs) -> Result<Self> {
        let suspects = outputs.remove(SUSPECTS).map(|o| read_suspects(o).ok_or(SUSPECTS));
        let worst_rows = outputs.remove(WORST_ROWS).map(|o| read_worst(o).ok_or(WORST_ROWS));
        let values = outputs.remove(VALUES).map(|o| vector(o).ok_or(VALUES));
        let damaged =
            |name: &str| Error::BadModel(format!("`{name}`: columns are missing or unequal"));
        Ok(Self {
            suspects: suspects.transpose().map_err(damaged)?,
            worst_rows: worst_rows.transpose().map_err(damaged)?,
            values: values.transpose().map_err(damaged)?,
        })
    }
}

/// Public names of the typed results.
pub(super) const SUSPECTS: &str = "suspects";
pub(super) const WORST_ROWS: &str = "worst_rows";
pub(super) const VALUES: &str = "values";

fn read_suspects(output: Output) -> Option<Suspects> {
    let mut columns = columns(output)?;
    let found = Suspects {
        row: counts(columns.remove("row")?)?,
        label: counts(columns.remove("label")?)?,
        score: vector(columns.remove("score")?)?,
        predicted: counts(columns.remove("predicted")?)?,
    };
    let n = found.row.len();
    let equal = found.label.len() == n && found.score.len() == n && found.predicted.len() == n;
    (equal && columns.is_empty()).then_some(found)
}

fn read_worst(output: Output) -> Option<WorstRows> {
    let mut columns = columns(output)?;
    let class = match columns.remove("class") {
        Some(class) => Some(counts(class)?),
        None => None,
    };
    let row = counts(columns.remove("row")?)?;
    let weight = vector(columns.remove("weight")?)?;
    let loss = vector(columns.remove("loss")?)?;
    let n = row.len();
    let equal = weight.len() == n && loss.len() == n && class.as_ref().is_none_or(|c| c.len() == n);
    (equal && columns.is_empty()).then_some(WorstRows { class, row, weight, loss })
}

fn indices(values: &[usize]) -> Output {
    Output::Integers(values.iter().map(|v| i64::try_from(*v).unwrap_or(i64::MAX)).collect())
}

fn columns(output: Output) -> Option<Outputs> {
    match output {
        Output::Table(columns) => Some(columns.into_iter().collect()),
        _ => None,
    }
}

fn counts(output: Output) -> Option<Vec<usize>> {
    match output {
        Output::Integers(values) => values.into_iter().map(|v| usize::try_from(v).ok()).collect(),
        _ => None,
    }
}

fn vector(output: Output) -> Option<Vec<f64>> {
    match output {
        Output::Vector(values) => Some(values),
        _ => None,
    }
}
