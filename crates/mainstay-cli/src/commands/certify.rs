//! `mainstay certify`: how much it takes to flip each prediction.

use std::borrow::Cow;

use mainstay::certify::{Attack, Options, RowCertificates, certify_columns};
use mainstay::data::{Column, Encoded, Table};
use mainstay::linalg::Matrix;
use mainstay::model::Model;
use mainstay_io::ModelFile;

use crate::args::{Certify, WitnessKind};
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome, said};
use crate::rows::{self, Chosen, SelectedRows};
use crate::stream::{Ask, Stream};
use crate::table::Sink;
use crate::units;

pub(crate) fn run(args: &Certify, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let units = units::choose(&file, args.units, &args.errors, console)?;
    let values = values(&args.values, &units.columns)?;
    let witness = args.witness.map(attack);
    let options = Options { ellipsoid: None, values: values.as_deref(), witness };
    let mut chosen = Chosen::new(&args.rows)?;
    let copied: Vec<String> = chosen.columns().map(str::to_owned).collect();
    let ask = Ask {
        file: &file,
        data: Some(&args.data),
        reading: &args.reading,
        copied: copied.iter().map(String::as_str).collect(),
        target: None,
    };
    let mut stream = Stream::open(&ask, console, "certifying")?;
    let (mut sink, mut enclosed, mut filled) = (None, Enclosed::default(), Filled::default());
    while let Some(chunk) = stream.next()? {
        for (list, part) in chosen.of(chunk)? {
            let rows = stream.encode(&file, &part.rows)?;
            let (model, control) = (&file.fitted.model, stream.control());
            let x = filled.complete(model, &rows.features)?;
            let (found, flips) = certify_columns(model, &x, &units.units, &options, control)
                .map_err(|e| refused(args, &file, &part, &rows, e))?;
            enclosed.add(&found);
            let flips = units.categorical.then_some(flips);
            let table = table(&file, args, (&part, &rows), (found, flips))?;
            if sink.is_none() {
                sink = Some(Sink::new(args.output.as_deref(), args.rows.row.len(), console)?);
            }
            sink.iter_mut().try_for_each(|sink| sink.take(list, &table))?;
        }
        if chosen.complete() {
            break;
        }
    }
    chosen.check_found(stream.rows())?;
    let notes = [filled.note(), enclosed.note()];
    stream.notes().iter().chain(notes.iter().flatten()).for_each(|note| console.note(note));
    sink.map_or(Ok(()), |sink| sink.finish(console)).map(|()| Ending::Done)
}

fn attack(kind: WitnessKind) -> Attack {
    match kind {
        WitnessKind::L2 => Attack::L2,
        WitnessKind::L1 => Attack::L1,
        WitnessKind::Linf => Attack::Linf,
        WitnessKind::Deletions => Attack::Deletions,
        WitnessKind::DeletionValue => Attack::DeletionValue,
    }
}

/// Why the model cannot be certified; a cell is named by its row in the file and its feature.
fn refused(
    args: &Certify,
    file: &ModelFile,
    part: &SelectedRows,
    rows: &Encoded,
    mut error: mainstay::Error,
) -> Failure {
    if let mainstay::Error::BadCell { row, column, .. } = &mut error {
        *row = part.place(rows.kept.as_ref().map_or(*row, |kept| kept[*row]));
        let feature =
            column.parse().ok().and_then(|j: usize| file.names_of_features().get(j).cloned());
        if let Some(feature) = feature {
            *column = format!("`{feature}`");
        }
    }
    Failure::say(format!("{} ({}): {}", args.model.display(), file.method, said(&error)))
}

/// What is written about some rows.
fn table(
    file: &ModelFile,
    args: &Certify,
    (part, rows): (&SelectedRows, &Encoded),
    (found, flips): (RowCertificates, Option<Vec<f64>>),
) -> Outcome<Table> {
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let numbered = rows::drops(file) || !args.rows.row.is_empty();
    let mut columns = rows::names(part, rows, numbered, &[])?;
    columns.extend(columns_of(found, flips, &names, &file.names_of_features()));
    Ok(Table::new(columns)?)
}

/// Rows of which a cell was missing.
#[derive(Default)]
struct Filled {
    rows: usize,
    /// Those that `predict` calls otherwise than their completed row.
    otherwise: usize,
}

impl Filled {
    /// The rows as they are certified.
    fn complete<'a>(&mut self, model: &Model, x: &'a Matrix) -> Outcome<Cow<'a, Matrix>> {
        let Some(completed) = model.filled(x)?.map(Matrix::from) else {
            return Ok(Cow::Borrowed(x));
        };
        let gaps = |i: &usize| x.row(*i).entries().any(|(_, v)| v.is_nan());
        let rows: Vec<usize> = (0..x.nrows()).filter(gaps).collect();
        let (given, whole) = (model.predict(x)?, model.predict(&completed)?);
        self.otherwise += rows.iter().filter(|&&i| given[i] != whole[i]).count();
        self.rows += rows.len();
        Ok(Cow::Owned(completed))
    }

    fn note(&self) -> Option<String> {
        (self.rows > 0).then(|| {
            let otherwise = match self.otherwise {
                0 => String::new(),
                count => format!(
                    "; {count} of them `predict`, which averages over what such cells may be, calls otherwise"
                ),
            };
            let (rows, have) = if self.rows == 1 { ("row", "has") } else { ("rows", "have") };
            format!(
                "{} {rows} {have} a missing cell, which is filled with its mean given the other cells: the row so \
                 completed is certified{otherwise}",
                self.rows
            )
        })
    }
}

/// Rows whose least value of a deletion is an interval.
#[derive(Default)]
struct Enclosed {
    rows: usize,
    all: usize,
}

impl Enclosed {
    fn add(&mut self, found: &RowCertificates) {
        let Some(upper) = &found.deletion_value_upper else { return };
        self.rows +=
            found.deletion_value.iter().zip(upper).filter(|(low, high)| low < high).count();
        self.all += upper.len();
    }

    fn note(&self) -> Option<String> {
        (self.rows > 0).then(|| {
            format!(
                "{} of {} rows: the least value of a deletion lies between deletion_value and deletion_value_upper; \
                 finding it exactly would take too long",
                self.rows, self.all
            )
        })
    }
}

/// `COL=COST` settings as one cost per column; none if there are no settings.
fn values(settings: &[String], features: &[String]) -> Outcome<Option<Vec<f64>>> {
    if settings.is_empty() {
        return Ok(None);
    }
    let mut values = vec![1.0; features.len()];
    for setting in settings {
        // A name may hold a `=`.
        let (name, cost) = setting.rsplit_once('=').unwrap_or((setting, ""));
        let Some(j) = features.iter().position(|f| f == name) else {
            return Err(Failure::say(format!(
                "--value {setting}: the model has no column `{name}`"
            )));
        };
        values[j] = cost
            .parse()
            .map_err(|_| Failure::say(format!("--value {setting}: must be COL=COST")))?;
    }
    Ok(Some(values))
}

fn columns_of(
    found: RowCertificates,
    flips: Option<Vec<f64>>,
    names: &[String],
    features: &[String],
) -> Vec<Column> {
    let predicted = found.predicted.iter().map(|&k| Some(names[k].as_str()));
    let mut columns = vec![
        Column::words("predicted", predicted),
        Column::numbers("margin", found.margin),
        Column::numbers("radius_l2", found.radius_l2),
        Column::numbers("radius_l1", found.radius_l1),
        Column::numbers("radius_linf", found.radius_linf),
        Column::numbers("deletions", found.deletions),
        Column::numbers("deletion_value", found.deletion_value),
    ];
    columns.extend(flips.map(|flips| Column::numbers("category_flips", flips)));
    if let Some(upper) = found.deletion_value_upper {
        columns.push(Column::numbers("deletion_value_upper", upper));
    }
    if let Some(witness) = found.witness {
        for (j, name) in features.iter().enumerate() {
            columns.push(Column::numbers(format!("witness_{name}"), witness.column(j)));
        }
    }
    columns
}
