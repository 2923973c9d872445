//! `--error-columns`: the known error of every measurement, from columns or a file.

use std::collections::HashSet;
use std::path::Path;

use mainstay::data::{Cells, Column, Encoder, Encoding, RowUncertainty, Table};
use mainstay::linalg::Dense;
use mainstay::methods::Method;
use mainstay_io::Input;

use crate::args::Reading;
use crate::failure::{Failure, Outcome};
use crate::input;

/// What `fit` was told about measurement errors.
pub(crate) struct Wanted<'a> {
    /// `SUFFIX`, `FEATURE=COLUMN` or a file, each as typed.
    pub(crate) columns: &'a [String],
    /// Semi-axes are this many times the errors.
    pub(crate) scale: f64,
}

/// Errors by the column they belong to.
pub(crate) struct Errors(Vec<(String, Column)>);

fn say(what: impl std::fmt::Display) -> Failure {
    Failure::say(format!("--error-columns: {what}"))
}

impl Wanted<'_> {
    /// Refuses methods that have no use for errors, before a large file is read.
    pub(crate) fn check(&self, method: &Method) -> Outcome<()> {
        if !(self.scale.is_finite() && self.scale >= 0.0) {
            let scale = self.scale;
            return Err(Failure::say(format!("--error-scale {scale}: must not be negative")));
        }
        let defaults = method.defaults();
        let takes = ["uncertainty", "errors"].iter().any(|name| defaults.get(*name).is_some());
        if !self.columns.is_empty() && !takes {
            return Err(say(format!(
                "method `{}` does not use measurement errors; use robust-regec or ellipsoid-svm, or robust-logistic",
                method.name
            )));
        }
        Ok(())
    }

    /// Takes the columns of errors out of `table`, so that they do not become features.
    ///
    /// `aside` are columns that are no features themselves: errors of theirs are taken out and dropped.
    pub(crate) fn take(
        &self,
        table: &mut Table,
        aside: &[&str],
        reading: &Reading,
    ) -> Outcome<Option<Errors>> {
        let mut found: Vec<(String, Column)> = Vec::new();
        for spec in self.columns {
            let more = match spec.split_once('=') {
                Some((feature, column)) => vec![(feature.to_owned(), table.take(column)?)],
                None => match by_suffix(table, spec, aside)? {
                    taken if !taken.is_empty() => taken,
                    _ if Path::new(spec).is_file() => from_file(table, Path::new(spec), reading)?,
                    _ => {
                        return Err(say(format!(
                            "`{spec}` is neither the ending of columns (x1 beside x1{spec}), nor \
                             FEATURE=COLUMN, nor a file"
                        )));
                    }
                },
            };
            for (feature, column) in more {
                if found.iter().any(|(other, _)| *other == feature) {
                    return Err(say(format!("the errors of `{feature}` are given twice")));
                }
                found.push((feature, column));
            }
        }
        found.retain(|(feature, _)| !aside.contains(&feature.as_str()));
        for (feature, column) in &found {
            if table.column(feature).is_err() {
                return Err(say(format!(
                    "`{}` would be the errors of `{feature}`, but there is no such feature",
                    column.name
                )));
            }
        }
        Ok((!self.columns.is_empty()).then_some(Errors(found)))
    }
}

/// Columns called like another one and `suffix`.
fn by_suffix(table: &mut Table, suffix: &str, aside: &[&str]) -> Outcome<Vec<(String, Column)>> {
    let base = |name: &str| name.strip_suffix(suffix).filter(|b| !b.is_empty()).map(str::to_owned);
    let all: HashSet<String> = table.names().map(str::to_owned).collect();
    let names: Vec<String> =
        table.names().filter(|name| !aside.contains(name)).map(str::to_owned).collect();
    if suffix.is_empty() || !names.iter().any(|n| base(n).is_some_and(|b| all.contains(&b))) {
        return Ok(Vec::new());
    }
    let ends = names.iter().filter_map(|name| Some((base(name)?, name)));
    ends.map(|(feature, name)| Ok((feature, table.take(name)?))).collect()
}

/// A table of the same rows, its columns called like the features.
fn from_file(table: &Table, path: &Path, reading: &Reading) -> Outcome<Vec<(String, Column)>> {
    let plain = Reading { categorical: Vec::new(), ..reading.clone() };
    let (Input::Table(errors), _) = input::read(Some(path), &plain, std::iter::empty())? else {
        return Err(say(format!("{}: errors must be a table with columns", path.display())));
    };
    let (rows, expected) = (errors.nrows(), table.nrows());
    if rows != expected {
        let name = path.display();
        return Err(say(format!("{name} has {rows} rows, the data have {expected}")));
    }
    Ok(errors.columns().iter().map(|c| (c.name.clone(), c.clone())).collect())
}

impl Errors {
    /// Semi-axes of every row, in the order of the encoder's features; a feature without errors is exact.
    /// `places` are the rows of the file that the data set holds.
    pub(crate) fn axes(
        &self,
        encoder: &Encoder,
        places: Option<&[usize]>,
        rows: usize,
        scale: f64,
    ) -> Outcome<RowUncertainty> {
        let mut axes = Dense::zeros(rows, encoder.n_features());
        let mut place = 0;
        for (name, encoding) in encoder.columns() {
            let width = encoding.width();
            if let Some((_, column)) = self.0.iter().find(|(feature, _)| feature == name) {
                if matches!(encoding, Encoding::Categorical { .. }) {
                    return Err(say(format!("`{name}` holds categories, which have no errors")));
                }
                let Cells::Numbers(errors) = &column.cells else {
                    return Err(say(format!("column `{}` must hold numbers", column.name)));
                };
                for i in 0..rows {
                    let row = places.map_or(i, |places| places[i]);
                    axes[(i, place)] = scale * length(&column.name, row, errors[row])?;
                }
            }
            place += width;
        }
        Ok(RowUncertainty::Axes(axes))
    }
}

fn length(column: &str, row: usize, error: f64) -> Outcome<f64> {
    if error.is_finite() && error >= 0.0 {
        return Ok(error);
    }
    let problem = if error.is_nan() {
        "the error is missing; write 0 where a value is exact".into()
    } else {
        format!("an error of {error}: errors must be finite and not negative")
    };
    Err(mainstay::Error::BadCell { row, column: column.into(), problem }.into())
}
