//! Flips in the terms of a table: changes measured in units of the features (standard deviations of the training rows,
//! measurement errors), a deleted column replaced by its mean, a categorical column changed as a whole.
//!
//! In the coordinates `$z_j = (x_j - m_j)/u_j$` a change of size 1 is one unit and a deletion is `$z_j = 0$`. Norms move columns
//! of numbers only: between two categories there is nothing. A deletion sets all indicators of a column to their means
//! at once; a category flip moves the 1 to another category.

use super::{
    Attack, Cover, Lead, Options, RowCertificates, RowResult, certify_model, check, gather,
};
use crate::control::Control;
use crate::data::{Encoder, Encoding, Standardize};
use crate::error::{Result, require};
use crate::linalg::{Dense, Matrix, vector};
use crate::model::{Linear, Model, choose};

/// Features that make one column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// A number, the feature of this index.
    Number(usize),
    /// Indicators.
    Category {
        /// The first of them.
        first: usize,
        /// How many.
        width: usize,
        /// Whether a category without indicator exists: all of them 0.
        reference: bool,
    },
}

impl Column {
    /// The features of the column.
    fn features(self) -> std::ops::Range<usize> {
        match self {
            Self::Number(j) => j..j + 1,
            Self::Category { first, width, .. } => first..first + width,
        }
    }

    /// The columns that an encoder makes features of, with their names.
    pub fn of(encoder: &Encoder) -> Vec<(String, Self)> {
        let mut first = 0;
        let columns = encoder.columns().map(|(name, encoding)| {
            let width = encoding.width();
            let column = match encoding {
                Encoding::Categorical { reference, .. } => {
                    Self::Category { first, width, reference: reference.is_some() }
                }
                Encoding::Numeric { .. } | Encoding::Date { .. } => Self::Number(first),
            };
            first += width;
            (name.to_owned(), column)
        });
        columns.collect()
    }
}

/// What a change is measured in, and what stands in for a deleted cell.
#[derive(Debug, Clone)]
pub struct Units {
    /// Stand-ins, one per feature.
    pub means: Vec<f64>,
    /// Units, one per feature, positive.
    pub sizes: Vec<f64>,
    /// The columns, in the order of the features.
    pub columns: Vec<Column>,
}

/// Values of deletions: one for every column.
fn check_values(values: Option<&[f64]>, columns: usize) -> Result<()> {
    let Some(values) = values else { return Ok(()) };
    let good = values.iter().all(|v| v.is_finite() && *v >= 0.0);
    let rule = format!("{columns} finite numbers, one per column, none negative");
    require(good && values.len() == columns, "values", values.len(), &rule)
}

/// Certifies every row in the given units. `options.values` are one per column, witnesses are in raw units. Besides the
/// certificates: the fewest categorical columns that flip the prediction by other categories.
///
/// Two classes of planes are certified with indicators that move as numbers do; there `values` are one per feature.
pub fn certify_columns(
    model: &Model,
    x: &Matrix,
    units: &Units,
    options: &Options<'_>,
    control: &Control,
) -> Result<(RowCertificates, Vec<f64>)> {
    let Some(linear) = model.hyperplanes() else {
        let found = certify_scaled(model, x, units, options, control)?;
        let never = vec![f64::INFINITY; x.nrows()];
        return Ok((found, never));
    };
    check(model.n_features(), x, &Options { values: None, ..*options })?;
    check_values(options.values, units.columns.len())?;
    let scaling = Standardize { means: units.means.clone(), scales: units.sizes.clone() };
    let scaled = scaled(&linear, units);
    let numbers = numbers(units, scaled.n_features());
    let scores = linear.decision(x);
    let predicted = choose(&scores);
    let flips = std::sync::Mutex::new(vec![f64::INFINITY; x.nrows()]);
    let found = gather(x, options, control, predicted.clone(), |i| {
        let mut raw = vec![0.0; x.ncols()];
        x.row(i).add_scaled_to(1.0, &mut raw);
        let z = scaling.apply(&Dense::from_rows(1, raw.len(), raw.clone()).into()).into_data();
        let (model, scaled, numbers) = (&linear, &scaled, &numbers[..]);
        let (scores, predicted) = (scores.row(i), predicted[i]);
        let query = Query { model, scaled, units, numbers, scores, predicted, raw, z };
        let (result, flipped) = query.answer(options, control)?;
        if let Ok(mut all) = flips.lock() {
            all[i] = flipped;
        }
        Ok(result)
    })?;
    Ok((found, flips.into_inner().unwrap_or_default()))
}

/// The same hyperplanes on features in units from the stand-ins.
fn scaled(linear: &Linear, units: &Units) -> Linear {
    let rows = linear.coef.iter().zip(&linear.intercept);
    let (coef, intercept) = rows
        .map(|(w, b)| {
            let moved = w.iter().zip(&units.sizes).map(|(w, u)| w * u).collect::<Vec<f64>>();
            (moved, b + vector::dot(w, &units.means))
        })
        .unzip();
    Linear { coef, intercept, link: linear.link }
}

/// 1 for features that are numbers, 0 for indicators.
fn numbers(units: &Units, p: usize) -> Vec<f64> {
    let mut mask = vec![0.0; p];
    for column in &units.columns {
        if let Column::Number(j) = column {
            mask[*j] = 1.0;
        }
    }
    mask
}

/// Planes: every feature is a number.
fn certify_scaled(
    model: &Model,
    x: &Matrix,
    units: &Units,
    options: &Options<'_>,
    control: &Control,
) -> Result<RowCertificates> {
    use crate::model::Standardized;
    check(model.n_features(), x, options)?;
    let (means, scales) = (units.means.clone(), units.sizes.clone());
    let scaling = Standardize { means: means.clone(), scales: scales.clone() };
    // z in, raw features out: x = m + u z.
    let inverse = Standardized {
        means: means.iter().zip(&scales).map(|(m, u)| -m / u).collect(),
        scales: scales.iter().map(|u| 1.0 / u).collect(),
        model: Box::new(model.clone()),
    };
    let inner = match model {
        Model::Standardized(m) => Standardized {
            means: (0..means.len()).map(|j| (m.means[j] - means[j]) / scales[j]).collect(),
            scales: (0..means.len()).map(|j| m.scales[j] / scales[j]).collect(),
            model: m.model.clone(),
        },
        _ => inverse,
    };
    let z = Matrix::from(scaling.apply(x));
    let mut found = certify_model(&Model::Standardized(inner), &z, options, control)?;
    if let Some(witness) = &mut found.witness {
        for i in 0..witness.nrows() {
            let row = witness.row_mut(i);
            (0..row.len()).for_each(|j| row[j] = row[j] * scales[j] + means[j]);
        }
        let deleted = matches!(options.witness, Some(Attack::Deletions | Attack::DeletionValue));
        if !deleted {
            settle(model, x, witness, &found.predicted)?;
        }
    }
    Ok(found)
}

/// Pushes witnesses over the boundary where the way back to raw units has put them just before it.
fn settle(model: &Model, x: &Matrix, witness: &mut Dense, predicted: &[usize]) -> Result<()> {
    let start = x.to_dense();
    for i in (0..witness.nrows()).filter(|&i| vector::all_finite(start.row(i))) {
        let own = start.row(i);
        let found = witness.row(i).to_vec();
        for power in -15..-5 {
            let row = witness.row(i);
            let one = Matrix::from(Dense::from_rows(1, row.len(), row.to_vec()));
            if !vector::all_finite(row) || model.predict(&one)?[0] != predicted[i] {
                break;
            }
            let change: Vec<f64> = found.iter().zip(own).map(|(a, b)| a - b).collect();
            let length = vector::norm(&change);
            let room = (1.0 + vector::norm(own)) / if length > 0.0 { length } else { 1.0 };
            let over = 1.0 + 10f64.powi(power) * (1.0 + room);
            let row = witness.row_mut(i);
            row.iter_mut().zip(own.iter().zip(&change)).for_each(|(v, (x, c))| *v = x + c * over);
        }
    }
    Ok(())
}

struct Query<'a> {
    model: &'a Linear,
    scaled: &'a Linear,
    units: &'a Units,
    numbers: &'a [f64],
    scores: &'a [f64],
    predicted: usize,
    raw: Vec<f64>,
    z: Vec<f64>,
}

impl Query<'_> {
    /// Direction and lead over every other class.
    fn leads(&self) -> Vec<(Vec<f64>, f64, bool)> {
        let k = self.predicted;
        let weights = &self.scaled.coef;
        let others = (0..self.scaled.n_classes()).filter(|&j| j != k);
        let lead = |j: usize| match (weights.as_slice(), self.scores) {
            ([w], [s]) => {
                let sign = if k == 1 { 1.0 } else { -1.0 };
                (w.iter().map(|v| sign * v).collect(), sign * s, k < j)
            }
            (rows, scores) => {
                let d = rows[k].iter().zip(&rows[j]).map(|(a, b)| a - b).collect();
                (d, scores[k] - scores[j], k < j)
            }
        };
        others.map(lead).collect()
    }

    fn answer(&self, options: &Options<'_>, control: &Control) -> Result<(RowResult, f64)> {
        let mut result = RowResult::never();
        let mut flips = f64::INFINITY;
        for (direction, score, strict) in self.leads() {
            let free: Vec<f64> = direction.iter().zip(self.numbers).map(|(d, n)| d * n).collect();
            let lead = Lead { direction: &free, score, strict };
            result.margin = result.margin.min(score);
            let norms = [vector::norm(&free), vector::norm_inf(&free), vector::norm_1(&free)];
            for (radius, norm) in result.norms.iter_mut().zip(norms) {
                *radius = radius.min(lead.radius(norm));
            }
            let gains = self.deletions(&direction);
            let fewest = Cover::fewest(&gains, score, strict);
            result.deletions = result.deletions.min(fewest.map_or(f64::INFINITY, |c| c.cost));
            if let Some(values) = options.values {
                let found = Cover::cheapest(&gains, values, score, strict, control)?;
                result.deletion_value = result.deletion_value.min(found.lower);
                result.deletion_value_upper = result.deletion_value_upper.min(found.upper());
            }
            let other = Cover::fewest(&self.category_gains(&direction), score, strict);
            flips = flips.min(other.map_or(f64::INFINITY, |c| c.cost));
        }
        if options.values.is_none() {
            result.deletion_value = result.deletions;
        }
        if let [score] = self.scores {
            result.margin = *score;
        }
        if let Some(attack) = options.witness {
            result.witness = self.witness(attack, options, control)?;
        }
        Ok((result, flips))
    }

    /// What replacing each column by its means takes of a lead, where it takes some.
    fn deletions(&self, direction: &[f64]) -> Vec<(usize, f64)> {
        let columns = self.units.columns.iter().enumerate();
        let taken = |(c, column): (usize, &Column)| {
            (c, column.features().map(|j| direction[j] * self.z[j]).sum::<f64>())
        };
        columns.map(taken).filter(|(_, gain)| *gain > 0.0).collect()
    }

    /// What the worst other category of each categorical column takes of a lead.
    fn category_gains(&self, direction: &[f64]) -> Vec<(usize, f64)> {
        let worst = |column: &Column| match *column {
            Column::Number(_) => 0.0,
            Column::Category { first, width, reference } => {
                let share = |j: usize, cell: f64| {
                    direction[j] * (cell - self.units.means[j]) / self.units.sizes[j]
                };
                let features = first..first + width;
                let now: f64 = features.clone().map(|j| direction[j] * self.z[j]).sum();
                let none: f64 = features.clone().map(|j| share(j, 0.0)).sum();
                let levels = features.map(|j| none - share(j, 0.0) + share(j, 1.0));
                let least = levels.fold(f64::INFINITY, f64::min);
                now - if reference { least.min(none) } else { least }
            }
        };
        let columns = self.units.columns.iter().enumerate().map(|(c, column)| (c, worst(column)));
        columns.filter(|(_, gain)| *gain > 0.0).collect()
    }

    /// The flipped row in raw units.
    fn witness(
        &self,
        attack: Attack,
        options: &Options<'_>,
        control: &Control,
    ) -> Result<Option<Vec<f64>>> {
        let mut best: Option<(f64, Vec<f64>)> = None;
        for (direction, score, strict) in self.leads() {
            let found = match attack {
                Attack::Deletions | Attack::DeletionValue => {
                    let gains = self.deletions(&direction);
                    let cover = match (attack, options.values) {
                        (Attack::DeletionValue, Some(values)) => {
                            Cover::cheapest(&gains, values, score, strict, control)?.cover
                        }
                        _ => Cover::fewest(&gains, score, strict),
                    };
                    cover.map(|cover| (cover.cost, self.without(&cover)))
                }
                _ => self.moved(attack, &direction, score, strict),
            };
            if let Some(found) = found
                && best.as_ref().is_none_or(|(size, _)| found.0 < *size)
            {
                best = Some(found);
            }
        }
        Ok(best.map(|(_, row)| row))
    }

    fn without(&self, cover: &Cover) -> Vec<f64> {
        let mut row = self.raw.clone();
        for &c in &cover.features {
            self.units.columns[c].features().for_each(|j| row[j] = self.units.means[j]);
        }
        row
    }

    fn moved(
        &self,
        attack: Attack,
        direction: &[f64],
        score: f64,
        strict: bool,
    ) -> Option<(f64, Vec<f64>)> {
        let free: Vec<f64> = direction.iter().zip(self.numbers).map(|(d, n)| d * n).collect();
        let lead = Lead { direction: &free, score, strict };
        let step = lead.step(attack, &Options::default(), 0)?;
        let slope = vector::dot(&free, &step);
        if slope.is_nan() || slope <= 0.0 {
            return None;
        }
        let needed = score.max(0.0) / slope;
        // Rounding may leave a point on the boundary on the wrong side: a little farther then.
        let row = (0..13).find_map(|k| {
            let over = if k == 0 { 0.0 } else { 1e-13 * 10f64.powi(k) };
            let length = needed * (1.0 + over) + over * (1.0 + vector::norm(&self.z));
            let cell = |j: usize| self.raw[j] - length * step[j] * self.units.sizes[j];
            let row: Vec<f64> = (0..self.raw.len()).map(cell).collect();
            let one = Matrix::from(Dense::from_rows(1, row.len(), row.clone()));
            (choose(&self.model.decision(&one))[0] != self.predicted).then_some(row)
        })?;
        Some((needed, row))
    }
}
