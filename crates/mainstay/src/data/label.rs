//! What classes are called.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::table::number_word;
use super::{Cells, Column};
use crate::error::{Error, Result, suggest};

/// The name of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any finite number.
    Number(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => f.write_str(&number_word(*value)),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// Beyond this many classes, most of them seen once, the target is not a class label.
const MANY_CLASSES: usize = 1000;

/// Classes that a message about an unknown label names, at most.
const NAMED_CLASSES: usize = 8;

/// The classes of a problem; class `k` is the `k`-th name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Classes(Vec<Label>);

impl Classes {
    /// Takes over names in the order given: at least two, all different, numbers finite.
    pub fn new(names: Vec<Label>) -> Result<Self> {
        let bad = |what: String| Err(Error::BadModel(format!("classes: {what}")));
        if names.len() < 2 {
            return bad(format!("{} found, at least two are needed", names.len()));
        }
        let mut seen = BTreeSet::new();
        for name in &names {
            if matches!(name, Label::Number(value) if !value.is_finite()) {
                return bad(format!("{name} is not finite"));
            }
            if !seen.insert(name.to_string()) {
                return bad(format!("`{name}` occurs twice"));
            }
        }
        Ok(Self(names))
    }

    /// The distinct labels of a column, sorted: integers if all are whole numbers, booleans if all
    /// are true or false in any case, other numbers, or else text in the order of its bytes.
    pub fn learn(target: &Column) -> Result<Self> {
        let mut names = distinct(target)?;
        if names.len() > MANY_CLASSES && names.len() * 2 > target.len() {
            return Err(Error::BadData(format!(
                "target `{}` has {} different values in {} rows; a classifier needs classes",
                target.name,
                names.len(),
                target.len()
            )));
        }
        names.sort_by(|a, b| match (a, b) {
            (Label::Boolean(a), Label::Boolean(b)) => a.cmp(b),
            (Label::Integer(a), Label::Integer(b)) => a.cmp(b),
            (Label::Number(a), Label::Number(b)) => a.total_cmp(b),
            _ => a.to_string().cmp(&b.to_string()),
        });
        names.dedup();
        if let [only] = names.as_slice() {
            return Err(Error::BadData(format!(
                "target `{}` has one class only, `{only}`; a classifier needs two",
                target.name
            )));
        }
        if names.is_empty() {
            return Err(Error::BadData(format!("target `{}` has no rows", target.name)));
        }
        Ok(Self(names))
    }

    /// The same two classes with `positive` the second, whose probability and coefficients are told.
    pub fn with_positive(mut self, positive: &str) -> Result<Self> {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        let Some(place) = names.iter().position(|name| name == positive) else {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let hint = suggest(positive, &names, "classes");
            return Err(Error::BadData(format!("there is no class `{positive}`; {hint}")));
        };
        if names.len() != 2 {
            let count = names.len();
            let text = format!("a positive class needs two classes, there are {count}");
            return Err(Error::BadData(text));
        }
        if place == 0 {
            self.0.swap(0, 1);
        }
        Ok(self)
    }

    /// Whether they are words: then a reader should keep the target as text, even where it holds numbers only.
    pub fn are_text(&self) -> bool {
        self.0.iter().any(|name| matches!(name, Label::Text(_)))
    }

    /// The names, in class order.
    pub fn names(&self) -> &[Label] {
        &self.0
    }

    /// The class index of every row. Labels match by their text, so that `1`, `1.0` and a word `1`
    /// are one class, as are `true` and `True` among booleans.
    pub fn codes(&self, target: &Column) -> Result<Vec<usize>> {
        if let Some(row) = target.first_missing() {
            return Err(missing_label(target, row));
        }
        let places: HashMap<String, usize> =
            self.0.iter().enumerate().map(|(k, name)| (name.to_string(), k)).collect();
        let unknown = |row: usize, word: &str| self.unknown_label(target, row, word);
        match &target.cells {
            Cells::Numbers(values) => {
                let mut known: HashMap<u64, usize> = HashMap::new();
                let mut codes = Vec::with_capacity(values.len());
                for (row, value) in values.iter().enumerate() {
                    let code = if let Some(&code) = known.get(&value.to_bits()) {
                        code
                    } else {
                        let word = number_word(*value);
                        let code = *places.get(&word).ok_or_else(|| unknown(row, &word))?;
                        known.insert(value.to_bits(), code);
                        code
                    };
                    codes.push(code);
                }
                Ok(codes)
            }
            Cells::Words(list) => {
                let boolean = matches!(self.0.first(), Some(Label::Boolean(_)));
                let find = |word: &String| {
                    let by_value = || places.get(&number_word(word.parse().ok()?));
                    let lower = || places.get(&word.to_lowercase()).filter(|_| boolean);
                    places.get(word).or_else(lower).or_else(by_value).copied()
                };
                let of_word: Vec<Option<usize>> = list.words().iter().map(find).collect();
                let code = |(row, &code): (usize, &u32)| {
                    let word = code as usize;
                    of_word[word].ok_or_else(|| unknown(row, &list.words()[word]))
                };
                list.codes().iter().enumerate().map(code).collect()
            }
        }
    }

    fn unknown_label(&self, target: &Column, row: usize, word: &str) -> Error {
        let shown: Vec<String> =
            self.0.iter().take(NAMED_CLASSES).map(|n| format!("`{n}`")).collect();
        let more = if self.0.len() > NAMED_CLASSES { ", ..." } else { "" };
        target.bad_cell(
            row,
            format!("`{word}` is not among the model's classes {}{more}", shown.join(", ")),
        )
    }
}

fn missing_label(target: &Column, row: usize) -> Error {
    target.bad_cell(
        row,
        "the label is missing; fill it in, or leave such rows out with --drop-unlabelled",
    )
}

/// Labels of all cells, each at least once, in no order.
fn distinct(target: &Column) -> Result<Vec<Label>> {
    if let Some(row) = target.first_missing() {
        return Err(missing_label(target, row));
    }
    match &target.cells {
        Cells::Numbers(values) => {
            if let Some(row) = values.iter().position(|v| !v.is_finite()) {
                return Err(target.bad_cell(row, "the label is not a finite number"));
            }
            let mut numbers: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
            numbers.sort_by(f64::total_cmp);
            numbers.dedup();
            let whole = numbers.iter().all(|v| v.fract() == 0.0 && v.abs() < 2f64.powi(53));
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            let label = |v| if whole { Label::Integer(v as i64) } else { Label::Number(v) };
            Ok(numbers.into_iter().map(label).collect())
        }
        Cells::Words(list) => {
            let counts = list.counts();
            let used = || list.words().iter().zip(&counts).filter(|(_, n)| **n > 0).map(|(w, _)| w);
            let all = |f: fn(&str) -> Option<Label>| used().map(|w| f(w)).collect::<Option<_>>();
            let boolean = |w: &str| w.to_ascii_lowercase().parse().ok().map(Label::Boolean);
            let integer = |w: &str| w.parse().ok().map(Label::Integer);
            Ok(all(integer)
                .or_else(|| all(boolean))
                .unwrap_or_else(|| used().map(|w| Label::Text(w.clone())).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(cells: &[&str]) -> Column {
        Column::words("y", cells.iter().map(|w| Some(*w)))
    }

    #[test]
    fn labels_are_read_as_the_narrowest_kind() {
        let learn = |column: &Column| Classes::learn(column).unwrap().0;
        let integers = learn(&Column::numbers("y", vec![10.0, 9.0, -1.0, 9.0]));
        assert_eq!(integers, [Label::Integer(-1), Label::Integer(9), Label::Integer(10)]);
        assert_eq!(learn(&words(&["10", "9"])), [Label::Integer(9), Label::Integer(10)]);
        let booleans = [Label::Boolean(false), Label::Boolean(true)];
        assert_eq!(learn(&words(&["True", "false", "true"])), booleans);
        let numbers = learn(&Column::numbers("y", vec![0.5, 0.0, -0.0]));
        assert_eq!(numbers, [Label::Number(0.0), Label::Number(0.5)]);
        let text = [Label::Text("1".into()), Label::Text("no".into())];
        assert_eq!(learn(&words(&["no", "1"])), text);
    }

    #[test]
    fn codes_match_across_spellings() {
        let classes = Classes::learn(&words(&["no", "1"])).unwrap();
        assert_eq!(classes.codes(&Column::numbers("y", vec![1.0])).unwrap(), [0]);
        let classes = Classes::learn(&words(&["True", "False"])).unwrap();
        assert_eq!(classes.codes(&words(&["TRUE", "false"])).unwrap(), [1, 0]);
        let classes = Classes::new(vec![Label::Number(1.0), Label::Number(2.0)]).unwrap();
        assert_eq!(classes.codes(&Column::numbers("y", vec![2.0, 1.0])).unwrap(), [1, 0]);
        assert_eq!(classes.codes(&words(&["2.0", "1"])).unwrap(), [1, 0]);
    }

    #[test]
    fn bad_targets_are_named() {
        let message = |column: &Column| Classes::learn(column).unwrap_err().to_string();
        let gap = Column::words("y", [Some("a"), None]);
        assert!(message(&gap).starts_with("row 1, column `y`: the label is missing"));
        assert!(message(&words(&["a", "a"])).contains("one class only, `a`"));
        let many = Column::numbers("price", (0..3000).map(|i| f64::from(i) + 0.5).collect());
        assert!(message(&many).contains("3000 different values"));
        assert!(message(&Column::numbers("y", vec![f64::INFINITY])).contains("finite"));
        let classes = Classes::learn(&words(&["a", "b"])).unwrap();
        let unseen = classes.codes(&words(&["a", "c"])).unwrap_err().to_string();
        assert_eq!(unseen, "row 1, column `y`: `c` is not among the model's classes `a`, `b`");
    }

    #[test]
    fn every_kind_survives_json() {
        let kinds = [
            Label::Boolean(true),
            Label::Integer(1),
            Label::Number(1.0),
            Label::Number(0.1),
            Label::Text("1".into()),
        ];
        for label in kinds {
            let text = serde_json::to_string(&label).unwrap();
            assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label);
        }
    }
}
