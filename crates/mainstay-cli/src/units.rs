//! What a change of a row is measured in, from what a model file knows and the user says.

use mainstay::certify::{Column, Units};
use mainstay::data::NanRule;
use mainstay::methods;
use mainstay_io::ModelFile;

use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::trust_args::UnitKind;

/// Units, and what the columns they speak of are called.
pub(crate) struct Chosen {
    /// What the library takes.
    pub(crate) units: Units,
    /// Names of the columns.
    pub(crate) columns: Vec<String>,
    /// Whether there are categorical columns.
    pub(crate) categorical: bool,
}

/// The units that `--units` and `--error` ask for; without either, standard deviations where the file knows them.
pub(crate) fn choose(
    file: &ModelFile,
    kind: Option<UnitKind>,
    errors: &[String],
    console: &Console,
) -> Outcome<Chosen> {
    let p = file.fitted.model.n_features();
    let (columns, groups) = columns(file);
    let ranges = file.fitted.training.as_ref().and_then(|t| t.features.as_ref());
    if (kind == Some(UnitKind::Error)) == errors.is_empty() {
        return Err(Failure::say("--units error and --error COL=SIZE go together"));
    }
    let sizes = match (kind, ranges) {
        (Some(UnitKind::Error), _) => {
            let sizes = error_sizes(&columns, &groups, errors, p)?;
            // What is exact does not move: its unit is so small that no weight is left.
            sizes.into_iter().map(|e| if e > 0.0 { e } else { f64::MIN_POSITIVE }).collect()
        }
        (Some(UnitKind::Sd) | None, Some(ranges)) => ranges.deviations.clone(),
        (Some(UnitKind::Sd), None) => {
            return Err(Failure::say(
                "--units sd: this file knows no standard deviations; fit the model again, or use --units raw",
            ));
        }
        (None, None) => {
            console.note("this file knows no standard deviations: radii are in raw units");
            vec![1.0; p]
        }
        (Some(UnitKind::Raw), _) => vec![1.0; p],
    };
    let units = Units { means: stand_ins(file)?, sizes, columns: groups };
    let categorical = units.columns.iter().any(|c| matches!(c, Column::Category { .. }));
    Ok(Chosen { units, columns, categorical })
}

/// The columns of the table that the model takes, by name.
pub(crate) fn columns(file: &ModelFile) -> (Vec<String>, Vec<Column>) {
    if let Some(encoder) = &file.encoder {
        return Column::of(encoder).into_iter().unzip();
    }
    let names = file.names_of_features();
    let groups = (0..names.len()).map(Column::Number).collect();
    (names, groups)
}

/// What stands in for a deleted cell: the mean, or 0 where the method itself counts a missing cell so.
pub(crate) fn stand_ins(file: &ModelFile) -> Outcome<Vec<f64>> {
    let zero = vec![0.0; file.fitted.model.n_features()];
    let training = file.fitted.training.as_ref();
    let raw = training.is_some_and(|t| !t.standardized);
    if methods::find(&file.method)?.nan == NanRule::Zero && raw {
        return Ok(zero);
    }
    Ok(training.and_then(|t| t.features.as_ref()).map_or(zero, |f| f.means.clone()))
}

/// One size per feature, 0 for columns that are not named.
pub(crate) fn error_sizes(
    names: &[String],
    columns: &[Column],
    settings: &[String],
    p: usize,
) -> Outcome<Vec<f64>> {
    let mut sizes = vec![0.0; p];
    for setting in settings {
        let (name, size) = setting.rsplit_once('=').unwrap_or((setting, ""));
        let found = names.iter().position(|n| n == name).map(|k| columns[k]);
        let Some(Column::Number(j)) = found else {
            let what = if found.is_some() { "is not a column of numbers" } else { "is no column" };
            return Err(Failure::say(format!("--error {setting}: `{name}` {what} of the model")));
        };
        sizes[j] =
            size.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0).ok_or_else(|| {
                Failure::say(format!("--error {setting}: must be COL=SIZE, not negative"))
            })?;
    }
    Ok(sizes)
}
