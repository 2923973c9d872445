//! One raw column: what is learned from it and how it is encoded.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::assemble::EncodedColumn;
use super::open_cells::OpenCells;
use super::{EncoderOptions, Missing};
use crate::data::dates::DateOrder;
use crate::data::table::number_word;
use crate::data::typing::{self, Gaps};
use crate::data::{Cells, Column, ColumnType, MISSING, shell_word};
use crate::error::{Error, Result, suggest};

/// What the indicator of grouped rare categories is called.
const RARE: &str = "(rare)";

/// How one raw column becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoding {
    /// One feature, the number itself.
    Numeric {
        /// Stands in for a missing cell.
        fill: Option<f64>,
    },
    /// One feature, the days since `origin`.
    Date {
        /// How the column writes dates.
        order: DateOrder,
        /// Days from 1 January 1970 to the first date learned from.
        origin: f64,
        /// Stands in for a missing cell, in days since `origin`.
        fill: Option<f64>,
    },
    /// One indicator a category.
    Categorical {
        /// In the order of their bytes.
        categories: Vec<String>,
        /// Index of the category that stands in for a missing cell; one past the last is the rare ones.
        fill: Option<usize>,
        /// Categories that share one indicator because few rows had them, in the order of their bytes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rare: Vec<String>,
        /// Index of the category that has no indicator: effects of the others are relative to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<usize>,
    },
}

impl Encoding {
    /// What is wrong with an encoding of the column `name` that came from outside.
    pub(super) fn fault(&self, name: &str) -> Option<String> {
        let infinite = |v: &Option<f64>| v.is_some_and(|v| !v.is_finite());
        match self {
            Self::Numeric { fill } => {
                infinite(fill).then(|| format!("the stand-in of column `{name}` is not finite"))
            }
            Self::Date { origin, fill, .. } => (!origin.is_finite() || infinite(fill))
                .then(|| format!("the dates of column `{name}` are not finite")),
            Self::Categorical { categories, fill, rare, reference } => {
                let sorted = |list: &[String]| list.windows(2).all(|pair| pair[0] < pair[1]);
                let twice = rare.iter().any(|r| categories.binary_search(r).is_ok());
                if !sorted(categories) || !sorted(rare) || twice {
                    return Some(format!("the categories of column `{name}` are not sorted"));
                }
                let levels = categories.len() + usize::from(!rare.is_empty());
                let lacks = fill.is_some_and(|k| k >= levels)
                    || reference.is_some_and(|k| k >= categories.len() || levels < 2);
                (levels == 0 || lacks).then(|| format!("column `{name}` lacks a category"))
            }
        }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Numeric { .. } | Self::Date { .. } => 1,
            Self::Categorical { categories, rare, reference, .. } => {
                categories.len() + usize::from(!rare.is_empty()) - usize::from(reference.is_some())
            }
        }
    }

    /// What the features of column `name` are called.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let Self::Categorical { categories, rare, reference, .. } = self else {
            return vec![name.to_owned()];
        };
        let rare = (!rare.is_empty()).then_some(RARE);
        let levels = categories.iter().map(String::as_str).chain(rare);
        let kept = levels.enumerate().filter(|(k, _)| Some(*k) != *reference);
        kept.map(|(_, level)| format!("{name}={level}")).collect()
    }

    /// Whether files of version 1 know it.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Numeric { .. } => true,
            Self::Date { .. } => false,
            Self::Categorical { rare, reference, .. } => rare.is_empty() && reference.is_none(),
        }
    }
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
    /// Learns the encoding of `column`, whose cells are as [`typed`] gives them.
    pub(super) fn learn(
        column: &Column,
        kind: ColumnType,
        options: &EncoderOptions,
    ) -> Result<Self> {
        Ok(Self { column: column.name.clone(), encoding: learn(column, kind, options)? })
    }

    pub(super) fn width(&self) -> usize {
        self.encoding.width()
    }

    /// What the column's cells are taken for.
    pub(super) fn kind(&self) -> ColumnType {
        match self.encoding {
            Encoding::Numeric { .. } => ColumnType::Number,
            Encoding::Date { order, .. } => ColumnType::Date(order),
            Encoding::Categorical { .. } => ColumnType::Category,
        }
    }

    /// The encoded column and how many of its cells hold an unseen category.
    pub(super) fn encode(
        &self,
        column: &Column,
        open: OpenCells,
    ) -> Result<(EncodedColumn, usize)> {
        let number = |origin: f64, fill: Option<f64>| {
            Ok((EncodedColumn::Number(filled(column, origin, fill, open)?), 0))
        };
        match &self.encoding {
            Encoding::Numeric { fill } => number(0.0, *fill),
            Encoding::Date { origin, fill, .. } => number(*origin, *fill),
            Encoding::Categorical { categories, fill, rare, reference } => {
                let places = places(categories, rare, *reference);
                let level = |k: usize| if k < categories.len() { &categories[k] } else { &rare[0] };
                let (mut unseen, truths) = (0, is_boolean(categories));
                let mut place = |word: &str| {
                    let other_case = || truths.then(|| in_any_case(&places, word)).flatten();
                    let found = places.get(word).copied().or_else(other_case);
                    unseen += usize::from(found.is_none());
                    found.unwrap_or(MISSING)
                };
                let gap = match fill {
                    Some(k) => places.get(level(*k).as_str()).copied(),
                    None => (open.missing == Missing::Keep).then_some(MISSING),
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
                let gap_at = || open.refuse(column, column.first_missing().unwrap_or_default());
                let codes = codes.ok_or_else(gap_at)?;
                Ok((EncodedColumn::OneOf(codes, self.width()), unseen))
            }
        }
    }
}

/// Whether the categories are true and false, which every program writes in its own way.
fn is_boolean(categories: &[String]) -> bool {
    let truth = |c: &String| ["true", "false"].iter().any(|word| c.eq_ignore_ascii_case(word));
    categories.len() <= 2 && categories.iter().all(truth)
}

fn in_any_case(places: &HashMap<&str, u32>, word: &str) -> Option<u32> {
    places.iter().find(|(category, _)| category.eq_ignore_ascii_case(word)).map(|(_, k)| *k)
}

/// The indicator of every category; the reference has none.
fn places<'a>(
    categories: &'a [String],
    rare: &'a [String],
    reference: Option<usize>,
) -> HashMap<&'a str, u32> {
    let mut next = 0;
    let mut places = HashMap::new();
    for (k, category) in categories.iter().enumerate() {
        if Some(k) == reference {
            places.insert(category.as_str(), MISSING);
        } else {
            places.insert(category.as_str(), next);
            next += 1;
        }
    }
    places.extend(rare.iter().map(|category| (category.as_str(), next)));
    places
}

/// Numbers less `origin`, with gaps filled or refused.
fn filled(column: &Column, origin: f64, fill: Option<f64>, open: OpenCells) -> Result<Vec<f64>> {
    let Cells::Numbers(values) = &column.cells else { return Err(open.refuse(column, 0)) };
    let mut values = values.clone();
    for (row, value) in values.iter_mut().enumerate() {
        *value -= origin;
        if value.is_nan() {
            match fill {
                Some(fill) => *value = fill,
                None if open.missing == Missing::Keep => {}
                None => return Err(open.refuse(column, row)),
            }
        }
        if value.is_infinite() {
            return Err(infinite(column, row, *value));
        }
    }
    Ok(values)
}

/// The column with its cells as `kind` says: numbers, days or words.
pub(super) fn typed<'a>(
    column: &'a Column,
    kind: ColumnType,
    gaps: &Gaps,
) -> Result<Cow<'a, Column>> {
    let name = || column.name.clone();
    Ok(match (kind, &column.cells) {
        (ColumnType::Number, Cells::Numbers(_)) if gaps.is_usual() => Cow::Borrowed(column),
        (ColumnType::Number, _) => {
            Cow::Owned(Column::numbers(name(), typing::numbers(column, gaps)?))
        }
        (ColumnType::Date(order), _) => {
            Cow::Owned(Column::numbers(name(), typing::days(column, gaps, order)?))
        }
        (ColumnType::Category, Cells::Words(list))
            if list.words().iter().any(|word| gaps.in_words(word)) =>
        {
            let words = list.map(|word| (!gaps.in_words(word)).then(|| word.to_owned()));
            Cow::Owned(Column { name: name(), cells: Cells::Words(words) })
        }
        (ColumnType::Category, _) => Cow::Borrowed(column),
    })
}

fn learn(column: &Column, kind: ColumnType, options: &EncoderOptions) -> Result<Encoding> {
    if matches!(column.cells, Cells::Numbers(_)) {
        options.refers_to_no(&column.name)?;
    }
    match (&column.cells, kind) {
        (Cells::Numbers(values), ColumnType::Date(order)) => {
            let origin = values.iter().copied().fold(f64::INFINITY, f64::min);
            if origin.is_infinite() {
                return Err(empty(&column.name));
            }
            let since: Vec<f64> = values.iter().map(|v| v - origin).collect();
            let fill = stand_in(column, &since, options.missing)?;
            Ok(Encoding::Date { order, origin, fill })
        }
        (Cells::Numbers(values), _) => {
            Ok(Encoding::Numeric { fill: stand_in(column, values, options.missing)? })
        }
        (Cells::Words(list), _) => learn_categories(&column.name, list.used().collect(), options),
    }
}

pub(super) fn empty(name: &str) -> Error {
    Error::BadData(format!(
        "column `{name}` has no value in any row; leave it out with --drop {typed}",
        typed = shell_word(name)
    ))
}

/// What stands in for a missing number, if something does.
fn stand_in(column: &Column, values: &[f64], missing: Missing) -> Result<Option<f64>> {
    if !missing.fills() {
        return Ok(None);
    }
    if let Some(row) = values.iter().position(|v| v.is_infinite()) {
        return Err(infinite(column, row, values[row]));
    }
    let mut present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    if present.is_empty() {
        return Err(empty(&column.name));
    }
    Ok(Some(match missing {
        Missing::Mean => mean(&present),
        Missing::Median => median(&mut present),
        _ => most_frequent(&mut present),
    }))
}

/// The categories of a column of these words, each with its number of rows.
pub(super) fn learn_categories(
    column: &str,
    mut used: Vec<(&str, usize)>,
    options: &EncoderOptions,
) -> Result<Encoding> {
    used.sort_unstable();
    if used.is_empty() {
        return Err(empty(column));
    }
    let is_rare = |count: usize| count < options.min_count;
    let names = |rare: bool| -> Vec<String> {
        let kept = used.iter().filter(|(_, n)| is_rare(*n) == rare);
        kept.map(|(word, _)| (*word).to_owned()).collect()
    };
    let (categories, rare) = (names(false), names(true));
    let mut counts: Vec<usize> =
        used.iter().filter(|(_, n)| !is_rare(*n)).map(|(_, n)| *n).collect();
    if !rare.is_empty() {
        counts.push(used.iter().filter(|(_, n)| is_rare(*n)).map(|(_, n)| n).sum());
    }
    let largest = counts.iter().max().copied();
    let fill = counts.iter().position(|n| Some(*n) == largest);
    let reference = reference(column, &categories, counts.len(), options)?;
    Ok(Encoding::Categorical {
        fill: fill.filter(|_| options.missing.fills()),
        categories,
        rare,
        reference,
    })
}

/// The category without an indicator that `options` asks for.
fn reference(
    column: &str,
    categories: &[String],
    levels: usize,
    options: &EncoderOptions,
) -> Result<Option<usize>> {
    let wanted = options.reference.iter().find(|(name, _)| name == column);
    let Some((name, level)) = wanted else {
        return Ok((options.drop_first && levels > 1 && !categories.is_empty()).then_some(0));
    };
    if let Some(place) = categories.iter().position(|c| c == level) {
        return Ok((levels > 1).then_some(place));
    }
    let names: Vec<&str> = categories.iter().map(String::as_str).collect();
    let hint = suggest(level, &names, "categories");
    Err(Error::BadData(format!("column `{name}` has no category `{level}` to refer to; {hint}")))
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

pub(super) fn infinite(column: &Column, row: usize, value: f64) -> Error {
    column.bad_cell(row, format!("{value} is not a finite number; repair or drop it"))
}
