//! One raw column: what is learned from it and how it is encoded.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Missing;
use super::assemble::Part;
use crate::data::table::number_word;
use crate::data::{Cells, Column, MISSING, is_missing};
use crate::error::{Error, Result};

/// How one raw column becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoding {
    /// One feature, the number itself.
    Numeric {
        /// Stands in for a missing cell.
        fill: Option<f64>,
    },
    /// One indicator a category.
    Categorical {
        /// In the order of their bytes.
        categories: Vec<String>,
        /// Index of the category that stands in for a missing cell.
        fill: Option<usize>,
    },
}

/// A raw column and how it becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) column: String,
    #[serde(flatten)]
    pub(super) encoding: Encoding,
}

impl Rule {
    /// Learns the encoding of `column`.
    pub(super) fn learn(column: &Column, missing: Missing) -> Result<Self> {
        Ok(Self { column: column.name.clone(), encoding: learn(column, missing)? })
    }

    pub(super) fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Numeric { .. } => 1,
            Encoding::Categorical { categories, .. } => categories.len(),
        }
    }

    /// The encoded column and how many of its cells hold an unseen category.
    pub(super) fn encode(&self, column: &Column, missing: Missing) -> Result<(Part, usize)> {
        match &self.encoding {
            Encoding::Numeric { fill } => {
                let mut values = numbers(column)?;
                for (row, value) in values.iter_mut().enumerate() {
                    if value.is_nan() {
                        match fill {
                            Some(fill) => *value = *fill,
                            None if missing == Missing::Keep => {}
                            None => return Err(refuse(column, row)),
                        }
                    }
                    if value.is_infinite() {
                        return Err(infinite(column, row, *value));
                    }
                }
                Ok((Part::Number(values), 0))
            }
            Encoding::Categorical { categories, fill } => {
                let places: HashMap<&str, u32> =
                    (0..).zip(categories).map(|(k, c)| (c.as_str(), k)).collect();
                let mut unseen = 0;
                let mut place = |word: &str| {
                    let found = places.get(word).copied();
                    unseen += usize::from(found.is_none());
                    found.unwrap_or(MISSING)
                };
                let gap = match fill {
                    Some(k) => u32::try_from(*k).ok(),
                    None => (missing == Missing::Keep).then_some(MISSING),
                };
                let codes = match &column.cells {
                    Cells::Numbers(values) => values
                        .iter()
                        .map(|v| if v.is_nan() { gap } else { Some(place(&number_word(*v))) })
                        .collect::<Option<Vec<u32>>>(),
                    Cells::Words(list) => (0..list.len())
                        .map(|i| list.get(i).map_or(gap, |word| Some(place(word))))
                        .collect(),
                };
                let codes = codes
                    .ok_or_else(|| refuse(column, column.first_missing().unwrap_or_default()))?;
                Ok((Part::OneOf(codes, categories.len()), unseen))
            }
        }
    }
}

fn learn(column: &Column, missing: Missing) -> Result<Encoding> {
    let fills = !matches!(missing, Missing::Refuse | Missing::Keep | Missing::Drop);
    let empty = || {
        Error::BadData(format!("column `{}` has no value in any row; drop the column", column.name))
    };
    match &column.cells {
        Cells::Numbers(values) => {
            if !fills {
                return Ok(Encoding::Numeric { fill: None });
            }
            if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                return Err(infinite(column, row, values[row]));
            }
            let mut present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            if present.is_empty() {
                return Err(empty());
            }
            let fill = match missing {
                Missing::Mean => mean(&present),
                Missing::Median => median(&mut present),
                _ => most_frequent(&mut present),
            };
            Ok(Encoding::Numeric { fill: Some(fill) })
        }
        Cells::Words(list) => {
            let counts = list.counts();
            let mut used: Vec<(&String, usize)> =
                list.words().iter().zip(counts).filter(|(_, n)| *n > 0).collect();
            used.sort_unstable();
            let largest = used.iter().map(|(_, n)| *n).max().ok_or_else(empty)?;
            let common = used.iter().position(|(_, n)| *n == largest);
            let categories = used.into_iter().map(|(word, _)| word.clone()).collect();
            Ok(Encoding::Categorical { categories, fill: common.filter(|_| fills) })
        }
    }
}

/// Divides before adding, so that numbers near the largest do not overflow.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() { sum / n } else { values.iter().map(|v| v / n).sum() }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

fn most_frequent(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let mut best = (0, 0.0);
    for run in values.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

/// The column's cells as numbers.
fn numbers(column: &Column) -> Result<Vec<f64>> {
    match &column.cells {
        Cells::Numbers(values) => Ok(values.clone()),
        Cells::Words(list) => {
            let read = |word: &String| match word.trim() {
                cell if is_missing(cell) => Some(f64::NAN),
                cell => cell.parse::<f64>().ok(),
            };
            let values: Vec<Option<f64>> = list.words().iter().map(read).collect();
            let cell = |(row, &code): (usize, &u32)| {
                if code == MISSING {
                    return Ok(f64::NAN);
                }
                values[code as usize].ok_or_else(|| {
                    let word: String = list.words()[code as usize].chars().take(40).collect();
                    let problem = format!("`{word}` is not a number, but the model needs one here");
                    column.bad_cell(row, problem)
                })
            };
            list.codes().iter().enumerate().map(cell).collect()
        }
    }
}

fn refuse(column: &Column, row: usize) -> Error {
    column.bad_cell(row, "no value; fill it in, or impute (mean, median, most-frequent, drop)")
}

fn infinite(column: &Column, row: usize, value: f64) -> Error {
    column.bad_cell(row, format!("{value} is not a finite number; repair or drop it"))
}
