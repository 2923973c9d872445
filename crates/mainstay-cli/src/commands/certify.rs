//! `mainstay certify`: how much it takes to flip each prediction.

use mainstay::certify::{Attack, Options, RowCertificates, certify_columns};
use mainstay::data::{Column, Table};
use mainstay_io::ModelFile;

use crate::args::{Certify, WitnessKind};
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::{input, rows, table, units};

pub(crate) fn run(args: &Certify, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let (loaded, notes) = input::read_for(&file, Some(&args.data), &args.reading)?;
    let loaded = rows::choose(loaded, &args.rows)?;
    let rows = input::encode(&file, &loaded)?;
    for note in notes.iter().chain(&input::unseen(&rows.unseen)) {
        console.note(note);
    }
    let features = file.names_of_features();
    let units = units::choose(&file, args.units, &args.errors, console)?;
    let values = values(&args.values, &units.columns)?;
    let options = Options {
        ellipsoid: None,
        values: values.as_deref(),
        witness: args.witness.map(|kind| match kind {
            WitnessKind::L2 => Attack::L2,
            WitnessKind::L1 => Attack::L1,
            WitnessKind::Linf => Attack::Linf,
            WitnessKind::Deletions => Attack::Deletions,
            WitnessKind::DeletionValue => Attack::DeletionValue,
        }),
    };
    let control = console.control("certifying");
    let (found, flips) =
        certify_columns(&file.fitted.model, &rows.features, &units.units, &options, &control)
            .map_err(|e| {
                Failure::say(format!("{} ({}): {e}", args.model.display(), file.method))
            })?;
    enclosed(&found, console);
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let mut columns = rows::names(&loaded, &rows, !args.rows.row.is_empty(), &[])?;
    let flips = units.categorical.then_some(flips);
    columns.extend(columns_of(found, flips, &names, &features));
    table::write(&Table::new(columns)?, args.output.as_deref(), console)?;
    Ok(Ending::Done)
}

/// Says where least values are intervals.
fn enclosed(found: &RowCertificates, console: &Console) {
    let Some(upper) = &found.deletion_value_upper else { return };
    let rows = found.deletion_value.iter().zip(upper).filter(|(low, high)| low < high).count();
    if rows > 0 {
        console.note(&format!(
            "{rows} of {} rows: the least value of a deletion lies between deletion_value and deletion_value_upper; \
             finding it exactly would take too long",
            upper.len()
        ));
    }
}

/// `COL=COST` settings as one cost a column; none if there are no settings.
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
