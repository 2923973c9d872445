//! Rows of a file that stay themselves: which were asked for, and the columns that name them in a result.

use mainstay::data::{Column, Encoded, Table};
use mainstay::linalg::Matrix;
use mainstay_io::Input;

use crate::args::Rows;
use crate::failure::{Failure, Outcome};

/// The rows that `--row` asks for, with the identifiers of `--id`; all rows if none is asked for.
pub(crate) fn choose(input: Input, wanted: &Rows) -> Outcome<Input> {
    match input {
        Input::Table(mut table) => {
            let rows = places(&wanted.row, table.nrows(), |column, cell| {
                Ok(table.find_rows(column, cell)?)
            })?;
            table.set_ids(&wanted.id)?;
            Ok(Input::Table(rows.map_or(table.clone(), |rows| table.select_rows(&rows))))
        }
        Input::Sparse(mut found) => {
            if !wanted.id.is_empty() {
                return Err(Failure::say("--id names a column; a LIBSVM file has none"));
            }
            let rows = places(&wanted.row, found.features.nrows(), |column, cell| {
                Err(Failure::say(format!(
                    "--row {column}={cell} names a column; a LIBSVM file has none"
                )))
            })?;
            if let Some(rows) = rows {
                found.labels = found.labels.select_rows(&rows);
                if let Matrix::Sparse(features) = Matrix::Sparse(found.features).select_rows(&rows)
                {
                    return Ok(Input::Sparse(mainstay_io::SparseRows { features, ..found }));
                }
                return Err(Failure::say("--row: sparse rows became dense"));
            }
            Ok(Input::Sparse(found))
        }
    }
}

/// Places counted from 0, in the order asked for; none if nothing was.
fn places(
    wanted: &[String],
    nrows: usize,
    find: impl Fn(&str, &str) -> Outcome<Vec<usize>>,
) -> Outcome<Option<Vec<usize>>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for spec in wanted {
        match (spec.parse::<usize>(), spec.split_once('=')) {
            (Ok(number), _) if (1..=nrows).contains(&number) => rows.push(number - 1),
            (Ok(_), _) => {
                return Err(Failure::say(format!(
                    "--row {spec}: rows are counted from 1 to {nrows}"
                )));
            }
            (Err(_), Some((column, cell))) => rows.extend(find(column, cell)?),
            (Err(_), None) => {
                return Err(Failure::say(format!("--row {spec}: must be a number or COL=VALUE")));
            }
        }
    }
    Ok(Some(rows))
}

/// The columns that name the rows of a result: `row` where some rows of the file are not in it, identifiers, and
/// columns that were asked for.
pub(crate) fn names(
    input: &Input,
    encoded: &Encoded,
    chosen: bool,
    keep: &[String],
) -> Outcome<Vec<Column>> {
    let count = encoded.features.nrows();
    let rows: Vec<usize> = encoded.kept.clone().unwrap_or_else(|| (0..count).collect());
    let mut columns = Vec::new();
    let place = |i: usize| match input {
        Input::Table(table) => table.place(i),
        Input::Sparse(_) => i,
    };
    if encoded.kept.is_some() || chosen {
        let numbers = rows.iter().map(|&i| (place(i) + 1) as f64).collect();
        columns.push(Column::numbers("row", numbers));
    }
    if let Input::Table(table) = input {
        columns.extend(table.ids().iter().map(|id| id.select_rows(&rows)));
        for name in keep {
            columns.push(kept(table, name)?.select_rows(&rows));
        }
    } else if !keep.is_empty() {
        return Err(Failure::say("--keep names a column; a LIBSVM file has none"));
    }
    Ok(columns)
}

fn kept<'a>(table: &'a Table, name: &str) -> Outcome<&'a Column> {
    Ok(match table.ids().iter().find(|id| id.name == name) {
        Some(id) => id,
        None => table.column(name)?,
    })
}
