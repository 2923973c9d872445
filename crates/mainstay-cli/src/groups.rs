//! `--groups COL`: rows that must stay on one side of every split.

use std::collections::BTreeMap;

use crate::args::Encoding;
use crate::failure::{Failure, Outcome};
use crate::input::Labelled;

/// The encoding with the column of groups set aside as an identifier: it is never a feature.
pub(crate) fn set_aside(encoding: &Encoding, groups: Option<&str>) -> Encoding {
    let mut encoding = encoding.clone();
    encoding
        .id
        .extend(groups.filter(|name| !encoding.id.iter().any(|id| id == name)).map(Into::into));
    encoding
}

/// The group of every row, numbered in order of appearance. `asked` are the identifiers that the user wants to keep.
pub(crate) fn take(
    labelled: &mut Labelled,
    groups: Option<&str>,
    asked: &Encoding,
) -> Outcome<Option<Vec<usize>>> {
    let Some(name) = groups else { return Ok(None) };
    let Some(place) = labelled.ids.iter().position(|column| column.name == name) else {
        return Err(Failure::say(format!(
            "--groups {name}: a LIBSVM file has no columns that could name groups"
        )));
    };
    let column = &labelled.ids[place];
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut codes = Vec::with_capacity(column.len());
    for i in 0..column.len() {
        let Some(group) = column.text(i) else {
            let row = labelled.row_number(i);
            return Err(Failure::say(format!("--groups {name}: row {row} names no group")));
        };
        let next = numbers.len();
        codes.push(*numbers.entry(group).or_insert(next));
    }
    if numbers.len() < 2 {
        return Err(Failure::say(format!(
            "--groups {name}: all rows are of one group, nothing can be held out"
        )));
    }
    if !asked.id.iter().any(|id| id == name) {
        labelled.ids.remove(place);
    }
    Ok(Some(codes))
}
