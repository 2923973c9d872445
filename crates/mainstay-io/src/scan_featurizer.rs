//! How the rows of a scan become features, learned in one pass over its files or two.

use mainstay::Control;
use mainstay::data::{Classes, Column, Learned, Learner, Preparation};

use crate::error::{Error, Result};
use crate::libsvm::SparseRows;
use crate::reading::Input;
use crate::scan::Scan;
use crate::scan_errors::ErrorColumns;
use crate::scan_reader::Watch;

/// How rows become features.
pub(crate) enum Featurizer {
    /// Columns of a table.
    Table(Box<Learned>),
    /// LIBSVM rows, which are features already.
    Sparse { columns: usize, entries: usize, classes: Classes, rows: usize },
}

pub(crate) const MIXED: &str = "some files hold tables, others LIBSVM rows";

/// An error with the file it came from, for what only knows its rows.
pub(crate) fn located(error: Error, file: &str) -> Error {
    match error {
        Error::Core(source) => Error::Content { name: file.to_owned(), source },
        other => other,
    }
}

/// How rows become features, and the scan of the columns that this takes.
pub(crate) fn featurizer(
    scan: Scan,
    (wishes, errors): (&Preparation, &ErrorColumns),
    control: &Control,
    watch: Option<&Watch>,
    notes: &mut Vec<String>,
) -> Result<(Featurizer, Scan)> {
    let Some(learned) = learn_table(&scan, (wishes, errors), control, watch, notes)? else {
        if !errors.0.is_empty() {
            let text = "LIBSVM rows have no columns of errors; use CSV, Parquet or Arrow";
            return Err(mainstay::Error::BadData(text.into()).into());
        }
        return Ok((learn_sparse(&scan, wishes, control, watch)?, scan));
    };
    let mut options = scan.options().clone();
    options.columns = Some([learned.columns(), errors.0.clone()].concat());
    options.text.extend(learned.text());
    options.read.categorical.extend(learned.encoder.categorical().map(str::to_owned));
    let recipe = Featurizer::Table(Box::new(learned.for_columns_needed()));
    Ok((recipe, scan.with_options(options)))
}

/// Learns from tables; none if the files hold LIBSVM rows.
fn learn_table(
    scan: &Scan,
    (wishes, errors): (&Preparation, &ErrorColumns),
    control: &Control,
    watch: Option<&Watch>,
    notes: &mut Vec<String>,
) -> Result<Option<Learned>> {
    let mut learner = Learner::new(wishes.clone());
    loop {
        let mut options = scan.options().clone();
        options.text.extend(learner.text());
        let mut pass = scan.clone().with_options(options).pass();
        while let Some(chunk) = pass.next() {
            control.check()?;
            let Input::Table(mut table) = chunk?.rows else { return Ok(None) };
            errors.take(&mut table)?;
            learner.add(table).map_err(|e| located(e.into(), pass.file()))?;
            if let Some(watch) = watch {
                watch(pass.rows() as u64);
            }
        }
        let of_files = |e: mainstay::Error| located(e.into(), &scan.name());
        if !learner.needs_another_pass().map_err(of_files)? {
            notes.extend(pass.notes());
            let learned = learner.finish().map_err(of_files)?;
            notes.extend(learned.notes.iter().cloned());
            return Ok(Some(learned));
        }
    }
}

/// Width and classes of LIBSVM rows.
fn learn_sparse(
    scan: &Scan,
    wishes: &Preparation,
    control: &Control,
    watch: Option<&Watch>,
) -> Result<Featurizer> {
    let (mut columns, mut entries, mut count) = (0, 0, 0);
    let mut labels: Vec<f64> = Vec::new();
    let mut pass = scan.pass();
    while let Some(chunk) = pass.next() {
        control.check()?;
        let Input::Sparse(rows) = chunk?.rows else {
            return Err(mainstay::Error::BadData(MIXED.into()).into());
        };
        columns = columns.max(rows.features.ncols());
        entries += rows.features.values().len();
        count += rows.features.nrows();
        if let mainstay::data::Cells::Numbers(values) = &rows.labels.cells {
            for value in values {
                if !labels.contains(value) && labels.len() <= 1000 {
                    labels.push(*value);
                }
            }
        }
        if let Some(watch) = watch {
            watch(pass.rows() as u64);
        }
    }
    SparseRows::check_width(columns, entries)?;
    let classes = Classes::learn(&Column::numbers("label", labels));
    let mut classes = classes.map_err(|e| located(e.into(), &scan.name()))?;
    if let Some(positive) = &wishes.positive {
        classes = classes.with_positive(positive)?;
    }
    Ok(Featurizer::Sparse { columns, entries, classes, rows: count })
}
