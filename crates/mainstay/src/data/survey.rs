//! A look at a raw table before it is fitted: what its columns hold, what will become of them, what is odd.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::encoder::COUNTS;
use super::leaks::{leak_note, tells_class};
use super::no_classes::unlike_classes;
use super::oddities::{FarNumbers, far_numbers, look_alikes};
use super::typing::{self, ColumnType, Verdict};
use super::{
    Cells, Classes, Column, ColumnPlan, Encoder, EncoderOptions, LeftOut, Missing, Table, Treatment,
};
use crate::error::{Error, Result};

/// How many categories are listed.
const TOP: usize = 3;

/// What a table holds.
#[derive(Debug, Clone, Serialize)]
pub struct Survey {
    /// Number of rows.
    pub rows: usize,
    /// Rows that are equal to an earlier one in every column, a saved index and columns named as identifiers aside.
    pub duplicate_rows: usize,
    /// The classes, if a target was named.
    pub target: Option<TargetSurvey>,
    /// All other columns, in the order of the table.
    pub columns: Vec<ColumnSurvey>,
    /// What the owner should look at.
    pub remarks: Vec<String>,
}

/// What a target column holds.
#[derive(Debug, Clone, Serialize)]
pub struct TargetSurvey {
    /// The column.
    pub name: String,
    /// Rows without a label.
    pub missing: usize,
    /// The classes in order.
    pub classes: Vec<ClassCount>,
    /// Why its values do not look like classes.
    pub doubt: Option<String>,
}

/// A class and how many rows it has.
#[derive(Debug, Clone, Serialize)]
pub struct ClassCount {
    /// Its name.
    pub label: String,
    /// Its rows.
    pub rows: usize,
}

/// What a column holds and what becomes of it.
#[derive(Debug, Clone, Serialize)]
pub struct ColumnSurvey {
    /// The column.
    pub name: String,
    /// `number`, `date`, `category`, or `unclear` where `problem` says why.
    pub kind: &'static str,
    /// Cells without a value.
    pub missing: usize,
    /// Number of different values.
    pub distinct: usize,
    /// Smallest and largest number.
    pub range: Option<(f64, f64)>,
    /// The most frequent categories.
    pub top: Vec<(String, usize)>,
    /// Categories that are the same but for case, spaces and dashes.
    pub look_alikes: Vec<Vec<String>>,
    /// Numbers far from all others: slips of the unit or of the pen.
    pub far: Option<FarNumbers>,
    /// What `fit` does with it; none where it would stop.
    pub plan: Option<ColumnPlan>,
    /// Why `fit` would stop at it.
    pub problem: Option<String>,
    /// The one word that stands in a column of numbers, as for "not measured": where it counts as missing there is no problem.
    pub stray_word: Option<String>,
    /// Whether all present values are equal.
    pub constant: bool,
    /// Whether the column alone tells the class of every row.
    pub leak: bool,
}

impl ColumnSurvey {
    /// Cells that look like slips, in words.
    fn slips(&self) -> Vec<String> {
        let name = &self.name;
        let alike = self.look_alikes.iter().take(TOP).map(|group| {
            let words: Vec<String> = group.iter().map(|word| format!("`{word}`")).collect();
            format!("column `{name}`: {} are taken for different categories", words.join(" and "))
        });
        let far = self.far.map(|FarNumbers { count, farthest, low, high }| {
            let (cells, lie) = if count == 1 { ("one number", "lies") } else { ("numbers", "lie") };
            let count = if count == 1 { String::new() } else { format!("{count} ") };
            format!(
                "column `{name}`: {count}{cells} {lie} far from the rest (the farthest is {farthest}, the middle half is \
                 {low} to {high}): another unit, or a slip? --drop-far auto leaves rows like that out of the fit"
            )
        });
        alike.chain(far).collect()
    }
}

impl Survey {
    /// Looks at `table`; `options` as they would be given for fitting, missing cells never stop it.
    pub fn new(table: &Table, target: Option<&str>, options: &EncoderOptions) -> Result<Self> {
        let mut features = table.clone();
        let labels = target.map(|name| features.take(name)).transpose()?;
        let options = EncoderOptions { missing: Missing::Keep, ..options.clone() };
        let left_out = super::encoder::left_out(&features, &options);
        let known = labels.as_ref().map(known_classes).transpose()?;
        let columns: Vec<ColumnSurvey> = features
            .columns()
            .iter()
            .map(|column| {
                let why = left_out.iter().find(|l| l.column == column.name).map(|l| l.why.as_str());
                survey_column(&features, column, why, known.as_ref(), &options)
            })
            .collect();
        let target =
            labels.as_ref().zip(known.as_ref()).map(|(labels, known)| known.survey(labels));
        let mut survey = Self {
            rows: table.nrows(),
            duplicate_rows: duplicates(table, &left_out),
            target,
            columns,
            remarks: Vec::new(),
        };
        survey.remarks = survey.remarks();
        Ok(survey)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for column in &self.columns {
            let name = &column.name;
            remarks.extend(column.problem.clone());
            if column.constant {
                remarks.push(format!("column `{name}` has one value only: it cannot help"));
            }
            if column.leak {
                remarks.push(leak_note(name));
            }
            remarks.extend(column.slips());
        }
        if self.duplicate_rows > 0 {
            remarks.push(match self.duplicate_rows {
                1 => "1 row is equal to an earlier one".into(),
                n => format!("{n} rows are equal to an earlier one"),
            });
        }
        remarks.extend(self.target.as_ref().and_then(|t| t.doubt.clone()));
        if let Some(target) = &self.target
            && target.missing > 0
        {
            remarks.push(match target.missing {
                1 => "1 row has no label (--drop-unlabelled)".into(),
                n => format!("{n} rows have no label (--drop-unlabelled)"),
            });
        }
        remarks
    }
}

/// The class of every row that has one.
struct Known {
    classes: Classes,
    codes: Vec<Option<usize>>,
}

fn known_classes(labels: &Column) -> Result<Known> {
    let rows: Vec<usize> = (0..labels.len()).filter(|&i| !labels.is_missing(i)).collect();
    let present = labels.select_rows(&rows);
    let classes = Classes::learn(&present)?;
    let mut codes = vec![None; labels.len()];
    for (&i, code) in rows.iter().zip(classes.codes(&present)?) {
        codes[i] = Some(code);
    }
    Ok(Known { classes, codes })
}

impl Known {
    fn survey(&self, labels: &Column) -> TargetSurvey {
        let mut rows = vec![0; self.classes.names().len()];
        self.codes.iter().flatten().for_each(|&k| rows[k] += 1);
        let names = self.classes.names().iter().zip(&rows);
        TargetSurvey {
            name: labels.name.clone(),
            missing: self.codes.iter().filter(|code| code.is_none()).count(),
            classes: names
                .map(|(name, &rows)| ClassCount { label: name.to_string(), rows })
                .collect(),
            doubt: unlike_classes(&labels.name, &self.classes, &rows),
        }
    }
}

/// The only word without digits, in a column of numbers otherwise.
fn stray_word(column: &Column, options: &EncoderOptions) -> Option<String> {
    let Cells::Words(list) = &column.cells else { return None };
    let used: Vec<(&str, usize)> =
        list.used().filter(|(word, _)| !options.gaps.in_numbers(word)).collect();
    if !matches!(typing::decide(&column.name, &used), Verdict::Type(ColumnType::Number)) {
        return None;
    }
    let mut odd =
        used.iter().map(|(word, _)| *word).filter(|word| !typing::fits(word, ColumnType::Number));
    // A list of words is written with commas between them.
    let plain = |word: &&str| !word.contains(|c: char| c.is_ascii_digit() || c == ',');
    odd.next().filter(plain).filter(|_| odd.next().is_none()).map(str::to_owned)
}

/// How the column would be encoded, or why it cannot be.
fn plan_or_problem(
    table: &Table,
    column: &Column,
    options: &EncoderOptions,
) -> (Option<ColumnPlan>, Option<String>) {
    match plan_alone(table, column, options) {
        Ok(plan) => (Some(plan), None),
        Err(Error::BadCell { row, column, problem }) => {
            (None, Some(format!("row {}, column {column}: {problem}", row + 1)))
        }
        Err(error) => (None, Some(error.to_string())),
    }
}

/// What the column holds, in one word.
fn kind(plan: Option<&ColumnPlan>, column: &Column) -> &'static str {
    match (plan.map(|p| p.treatment), &column.cells) {
        (Some(Treatment::Number), _) | (Some(Treatment::LeftOut), Cells::Numbers(_)) => "number",
        (Some(Treatment::Days), _) => "date",
        (Some(_), _) => "category",
        (None, _) => "unclear",
    }
}

fn survey_column(
    table: &Table,
    column: &Column,
    left_out: Option<&str>,
    known: Option<&Known>,
    options: &EncoderOptions,
) -> ColumnSurvey {
    let (plan, problem) = match left_out {
        Some(why) => {
            let column = column.name.clone();
            (Some(ColumnPlan { column, treatment: Treatment::LeftOut, why: why.into() }), None)
        }
        None => plan_or_problem(table, column, options),
    };
    let kind = kind(plan.as_ref(), column);
    let values = values(column, options);
    let missing = values.iter().filter(|v| v.is_none()).count();
    let distinct: HashSet<&Value<'_>> = values.iter().flatten().collect();
    let leak = left_out.is_none()
        && known.is_some_and(|known| {
            tells_class(column, &known.codes, known.classes.names().len(), options)
        });
    ColumnSurvey {
        name: column.name.clone(),
        kind,
        missing,
        distinct: distinct.len(),
        range: (kind == "number").then(|| range(&values)).flatten(),
        top: if kind == "category" { top(&values) } else { Vec::new() },
        look_alikes: if kind == "category" { look_alikes(words(&distinct)) } else { Vec::new() },
        far: (kind == "number").then(|| far_numbers(numbers(&values).collect())).flatten(),
        constant: distinct.len() == 1 && column.len() > 1,
        plan,
        stray_word: problem.as_ref().and_then(|_| stray_word(column, options)),
        problem,
        leak,
    }
}

fn plan_alone(table: &Table, column: &Column, options: &EncoderOptions) -> Result<ColumnPlan> {
    let alone = table.only(column.clone());
    let named = |list: &[String]| -> Vec<String> {
        list.iter().filter(|name| **name == column.name).cloned().collect()
    };
    let options = EncoderOptions {
        categorical: named(&options.categorical),
        keep: vec![column.name.clone()],
        reference: options.reference.iter().filter(|(c, _)| *c == column.name).cloned().collect(),
        ..options.clone()
    };
    let encoder = Encoder::learn_with(&alone, &options)?;
    let plan = encoder.plan().pop().ok_or_else(|| Error::BadData("no column".into()))?;
    if plan.treatment == Treatment::Number {
        // Infinities are learned from without a word, and refused as features.
        encoder.encode(&alone)?;
    }
    Ok(plan)
}

/// A cell to compare by.
#[derive(PartialEq, Eq, Hash)]
enum Value<'a> {
    Number(u64),
    Word(&'a str),
}

fn values<'a>(column: &'a Column, options: &EncoderOptions) -> Vec<Option<Value<'a>>> {
    match &column.cells {
        Cells::Numbers(values) => {
            let value = |v: &f64| (!v.is_nan()).then(|| Value::Number((v + 0.0).to_bits()));
            values.iter().map(value).collect()
        }
        Cells::Words(list) => {
            let word = |i| list.get(i).filter(|w| !options.gaps.in_words(w)).map(Value::Word);
            (0..list.len()).map(word).collect()
        }
    }
}

/// The numbers among the cells.
fn numbers<'a>(values: &'a [Option<Value<'_>>]) -> impl Iterator<Item = f64> + 'a {
    values.iter().flatten().filter_map(|value| match value {
        Value::Number(bits) => Some(f64::from_bits(*bits)),
        Value::Word(word) => word.parse().ok(),
    })
}

/// The words among distinct cells.
fn words<'a>(distinct: &'a HashSet<&Value<'a>>) -> impl Iterator<Item = &'a str> {
    distinct.iter().filter_map(|value| match value {
        Value::Word(word) => Some(*word),
        Value::Number(_) => None,
    })
}

fn range(values: &[Option<Value<'_>>]) -> Option<(f64, f64)> {
    numbers(values).fold(None, |found, v| {
        let (low, high) = found.unwrap_or((v, v));
        Some((low.min(v), high.max(v)))
    })
}

fn top(values: &[Option<Value<'_>>]) -> Vec<(String, usize)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for value in values.iter().flatten() {
        let word = match value {
            Value::Word(word) => (*word).to_owned(),
            Value::Number(bits) => super::table::number_word(f64::from_bits(*bits)),
        };
        *counts.entry(word).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(TOP);
    counts
}

/// Rows that are equal to an earlier one.
fn duplicates(table: &Table, left_out: &[LeftOut]) -> usize {
    let index = |c: &&Column| left_out.iter().any(|l| l.why == COUNTS && l.column == c.name);
    let columns: Vec<&Column> = table.columns().iter().filter(|c| !index(c)).collect();
    let row = |i: usize| -> Vec<u64> {
        let cell = |column: &Column| match &column.cells {
            Cells::Numbers(values) => (values[i] + 0.0).to_bits(),
            Cells::Words(list) => u64::from(list.codes()[i]),
        };
        columns.iter().copied().map(cell).collect()
    };
    let mut seen = HashSet::new();
    (0..table.nrows()).filter(|&i| !seen.insert(row(i))).count()
}
