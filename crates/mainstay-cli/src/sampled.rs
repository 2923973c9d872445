//! Labelled rows drawn from files of any size in one pass.

use std::path::Path;

use mainstay::data::{Dataset, Handled};
use mainstay_io::{ChunkOptions, Scan, ScanRows};

use crate::args::Labels;
use crate::commands::{fit_stream, stress};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Labelled};

/// Rows that are drawn if the user does not say how many.
const USUAL: usize = 50_000;

/// Rows of `path`: all of them where they fit into memory, a sample where that is asked for, where the path
/// stands for several files, and where the file is larger than a third of the free memory. With groups, if asked for.
pub(crate) fn read(
    path: Option<&Path>,
    from: &Labels,
    count: Option<usize>,
    console: &Console,
) -> Outcome<(Labelled, Option<Vec<usize>>)> {
    match path {
        Some(path)
            if count.is_some() || fit_stream::is_several(path) || fit_stream::is_large(path) =>
        {
            if from.groups.is_some() {
                return Err(Failure::say(
                    "--groups: not with rows drawn from a large file (--sample)",
                ));
            }
            stress::refuse_gaussian(from)?;
            Ok((draw(path, from, count.unwrap_or(USUAL), console)?, None))
        }
        path => stress::read(path, from),
    }
}

fn draw(path: &Path, from: &Labels, count: usize, console: &Console) -> Outcome<Labelled> {
    let options = ChunkOptions {
        read: input::options(&from.reading)?,
        size: input::chunk_size(),
        ..ChunkOptions::default()
    };
    let scan = Scan::new(&[path], options)?;
    let wishes =
        input::wishes(&fit_stream::first_names(&scan)?, &stress::wanted(from, &from.encoding))?;
    let control = console.silent_control();
    let rows = ScanRows::learn(scan, &wishes, None, &control, None)?;
    let drawn = rows.sample(count, console.seed.unwrap_or(0))?;
    let mut notes = rows.notes().to_vec();
    let taken = drawn.labels.len();
    if taken < rows.rows() {
        notes.push(format!(
            "{taken} of {} rows were drawn at random (--sample, --seed)",
            rows.rows()
        ));
    }
    let data = Dataset::new(drawn.features, drawn.labels, rows.classes().names().len())?;
    Ok(Labelled {
        data,
        classes: rows.classes().clone(),
        encoder: rows.encoder().cloned(),
        target: rows.encoder().and(from.target.clone()),
        notes,
        kept: Some(drawn.places),
        ids: Vec::new(),
        handled: handled(rows.rows(), taken),
    })
}

/// Rows that were seen, and those that were not drawn.
fn handled(seen: usize, taken: usize) -> Handled {
    let rest = seen - taken.min(seen);
    let rows_left_out =
        if rest > 0 { vec![("not drawn (--sample)".into(), rest)] } else { Vec::new() };
    Handled { rows_read: Some(seen), rows_left_out, ..Handled::default() }
}
