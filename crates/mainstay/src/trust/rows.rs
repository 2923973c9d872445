//! May I believe this prediction? One answer per row, in numbers and in a word.

use super::conformal;
use super::refits::{Refit, bootstrap, quantile};
use super::verdict::{Evidence, NOT_RULED_OUT, Verdict};
use crate::certify::{Options, RowCertificates, Units, certify_columns};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Dense, Matrix};
use crate::model::{Fitted, Model, mahalanobis};

/// What else is known beside the model and the rows.
pub struct Known<'a> {
    /// The training rows and how the model was fitted to them.
    pub training: Option<(Refit<'a>, &'a Dataset)>,
    /// Bootstrap refits, where training rows are given.
    pub refits: usize,
    /// Seed of samples and folds.
    pub seed: u64,
    /// Standard deviations of the measurement errors, one per feature; 0 where it is exact.
    pub errors: Option<&'a [f64]>,
    /// Standard deviations of the training rows, their means, and the columns that features belong to.
    pub units: Option<&'a Units>,
}

/// The answers, one entry per row; an entry that cannot be given is NaN, a list that cannot is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct RowTrust {
    /// The predicted class index.
    pub predicted: Vec<usize>,
    /// Probability of the predicted class.
    pub probability: Option<Vec<f64>>,
    /// 5 % of the refits give that class a smaller probability.
    pub probability_low: Option<Vec<f64>>,
    /// 5 % of the refits give that class a larger probability.
    pub probability_high: Option<Vec<f64>>,
    /// Share of the refits that predict the same class.
    pub agreement: Option<Vec<f64>>,
    /// Least Euclidean change that flips, in standard deviations of the training rows.
    pub flip_sd: Option<Vec<f64>>,
    /// The same in standard deviations of the measurement errors.
    pub flip_error: Option<Vec<f64>>,
    /// Fewest columns replaced by their means that flip; infinite if none do.
    pub deletions: Option<Vec<f64>>,
    /// Mahalanobis distance from the mean of the training rows.
    pub distance: Option<Vec<f64>>,
    /// Share of the training rows that lie nearer.
    pub nearer: Option<Vec<f64>>,
    /// Features outside the range of the training rows.
    pub outside: Vec<Vec<usize>>,
    /// Conformal p-value of every class (row, class).
    pub p_values: Option<Dense>,
    /// The word.
    pub verdict: Vec<Verdict>,
    /// Why, where it does not stand.
    pub reasons: Vec<String>,
    /// What the user should know about all of it.
    pub notes: Vec<String>,
}

impl RowTrust {
    /// The lists with one number for each row that could be given, by their public names.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        let lists = [
            ("probability", &self.probability),
            ("probability_low", &self.probability_low),
            ("probability_high", &self.probability_high),
            ("agreement", &self.agreement),
            ("flip_sd", &self.flip_sd),
            ("flip_error", &self.flip_error),
            ("deletions", &self.deletions),
            ("distance", &self.distance),
            ("nearer", &self.nearer),
        ];
        lists.into_iter().filter_map(|(name, list)| Some((name, list.as_deref()?)))
    }
}

/// Rows of a class needed for a p-value of 5 %.
const ROWS_FOR_LEVEL: usize = 19;

/// Judges the prediction of every row of `x`.
pub fn trust(
    fitted: &Fitted,
    features: &[String],
    classes: &[String],
    x: &Matrix,
    known: &Known<'_>,
    control: &Control,
) -> Result<RowTrust> {
    let model = &fitted.model;
    let predicted = model.predict(x)?;
    let mut notes = Vec::new();
    let probability = model.probabilities(x)?.map(|p| picked(&p, &predicted));
    let (flip, error) = distances(model, x, known, control, &mut notes)?;
    let (distance, nearer, outside) = among(fitted, x, &mut notes);
    let (steady, p_values) = by_refits(known, classes, (x, &predicted), control, &mut notes)?;
    let mut found = RowTrust {
        probability,
        probability_low: steady.low,
        probability_high: steady.high,
        agreement: steady.agreement,
        flip_sd: flip.as_ref().map(|f| f.radius_l2.clone()),
        flip_error: error,
        deletions: flip.map(|f| f.deletions),
        distance,
        nearer,
        outside: outside.iter().map(|row| row.iter().map(|(j, _)| *j).collect()).collect(),
        p_values,
        verdict: Vec::new(),
        reasons: Vec::new(),
        notes,
        predicted,
    };
    for (i, outside) in outside.iter().enumerate() {
        let (verdict, reason) = found.evidence(i, outside, features).judge();
        found.verdict.push(verdict);
        found.reasons.push(reason);
    }
    let note = found.none_stands();
    found.notes.extend(note);
    Ok(found)
}

/// What fits to other training rows say: how steady the answers are, and conformal p-values.
fn by_refits(
    known: &Known<'_>,
    classes: &[String],
    (x, predicted): (&Matrix, &[usize]),
    control: &Control,
    notes: &mut Vec<String>,
) -> Result<(Steady, Option<Dense>)> {
    let Some((refit, data)) = known.training else {
        notes
            .push("without the training rows there are no refits and no conformal p-values".into());
        return Ok((Steady::default(), None));
    };
    let mut steady = Steady::default();
    if known.refits > 0 {
        let refits = bootstrap(refit, data, known.refits, known.seed, control)?;
        steady = Steady::new(&refits, x, predicted)?;
    }
    let (found, rows) = conformal::p_values(refit, data, x, known.seed, control)?;
    notes.extend(few(&rows, classes));
    Ok((steady, Some(found)))
}

impl RowTrust {
    /// What keeps predictions from standing, where none does and one reason explains most: else it reads like a fault.
    fn none_stands(&self) -> Option<String> {
        let rows = self.verdict.len();
        let stands = self.verdict.contains(&Verdict::Stands);
        let open = self.reasons.iter().filter(|r| r.contains(NOT_RULED_OUT)).count();
        (!stands && 2 * open > rows).then(|| {
            format!(
                "no prediction stands: for {open} of {rows} rows {NOT_RULED_OUT}, since training rows of it look like them to \
                 the model; the classes overlap too much for an answer that is wrong in one of twenty rows of a class"
            )
        })
    }

    fn evidence<'a>(
        &self,
        i: usize,
        outside: &'a [(usize, f64)],
        features: &'a [String],
    ) -> Evidence<'a> {
        let at = |list: &Option<Vec<f64>>| list.as_ref().map(|v| v[i]).filter(|v| !v.is_nan());
        let predicted = self.predicted[i];
        let other = self.p_values.as_ref().map(|p| {
            let others = p.row(i).iter().enumerate().filter(|(k, _)| *k != predicted);
            others.fold(0.0, |m: f64, (_, v)| m.max(*v))
        });
        Evidence {
            probability: at(&self.probability),
            agreement: at(&self.agreement),
            flip_sd: at(&self.flip_sd),
            flip_error: at(&self.flip_error),
            nearer: at(&self.nearer),
            outside,
            features,
            own_p: self.p_values.as_ref().map(|p| p[(i, predicted)]),
            other_p: other,
        }
    }

    /// Share of the rows that stand, and the accuracy of those where `truth` is known.
    pub fn coverage(&self, truth: Option<&[usize]>) -> (f64, Option<f64>) {
        let rows = self.verdict.len().max(1) as f64;
        let stands: Vec<usize> =
            (0..self.verdict.len()).filter(|&i| self.verdict[i] == Verdict::Stands).collect();
        let accuracy = truth.filter(|_| !stands.is_empty()).map(|truth| {
            let right = stands.iter().filter(|&&i| truth[i] == self.predicted[i]).count();
            right as f64 / stands.len() as f64
        });
        (stands.len() as f64 / rows, accuracy)
    }
}

fn picked(p: &Dense, predicted: &[usize]) -> Vec<f64> {
    predicted.iter().enumerate().map(|(i, &k)| p[(i, k)]).collect()
}

/// What refits make of every row.
#[derive(Default)]
struct Steady {
    low: Option<Vec<f64>>,
    high: Option<Vec<f64>>,
    agreement: Option<Vec<f64>>,
}

impl Steady {
    fn new(refits: &[Model], x: &Matrix, predicted: &[usize]) -> Result<Self> {
        let mut same = vec![0.0; predicted.len()];
        let mut probabilities: Vec<Vec<f64>> = vec![Vec::new(); predicted.len()];
        for model in refits {
            for (i, class) in model.predict(x)?.into_iter().enumerate() {
                same[i] += f64::from(u8::from(class == predicted[i]));
            }
            if let Some(p) = model.probabilities(x)? {
                for (i, value) in picked(&p, predicted).into_iter().enumerate() {
                    probabilities[i].push(value);
                }
            }
        }
        let count = refits.len() as f64;
        let agreement = Some(same.into_iter().map(|s| s / count).collect());
        if probabilities.iter().any(Vec::is_empty) {
            return Ok(Self { agreement, ..Self::default() });
        }
        for p in &mut probabilities {
            p.sort_by(f64::total_cmp);
        }
        let at = |share: f64| probabilities.iter().map(|p| quantile(p, share)).collect();
        Ok(Self { low: Some(at(0.05)), high: Some(at(0.95)), agreement })
    }
}

type Flips = (Option<RowCertificates>, Option<Vec<f64>>);

/// Distances to a flip, where the model allows exact ones.
fn distances(
    model: &Model,
    x: &Matrix,
    known: &Known<'_>,
    control: &Control,
    notes: &mut Vec<String>,
) -> Result<Flips> {
    let Some(units) = known.units else {
        notes.push(
            "the model knows no deviations of its training rows: no distances to a flip".into(),
        );
        return Ok((None, None));
    };
    let filled = filled(x, &units.means);
    let options = Options::default();
    let found = match certify_columns(model, &filled, units, &options, control) {
        Ok((found, _)) => found,
        Err(crate::error::Error::Mismatch(text)) => {
            notes.push(format!("no distances to a flip: {text}"));
            return Ok((None, None));
        }
        Err(error) => return Err(error),
    };
    let Some(errors) = known.errors else { return Ok((Some(found), None)) };
    // What is exact does not move: its unit is so small that no weight is left.
    let sizes = errors.iter().map(|e| if *e > 0.0 { *e } else { f64::MIN_POSITIVE }).collect();
    let inexact = Units { sizes, ..units.clone() };
    let (moved, _) = certify_columns(model, &filled, &inexact, &options, control)?;
    Ok((Some(found), Some(moved.radius_l2)))
}

/// Missing cells at their means.
fn filled(x: &Matrix, means: &[f64]) -> Matrix {
    if x.values().iter().all(|v| !v.is_nan()) {
        return x.clone();
    }
    let mut dense = x.to_dense();
    for i in 0..dense.nrows() {
        for (v, m) in dense.row_mut(i).iter_mut().zip(means).filter(|(v, _)| v.is_nan()) {
            *v = *m;
        }
    }
    dense.into()
}

/// Features outside their range, with how far in widths of the range.
type Outside = Vec<Vec<(usize, f64)>>;

fn among(
    fitted: &Fitted,
    x: &Matrix,
    notes: &mut Vec<String>,
) -> (Option<Vec<f64>>, Option<Vec<f64>>, Outside) {
    let training = fitted.training.as_ref();
    let Some(ranges) = training.and_then(|t| t.features.as_ref()) else {
        return (None, None, vec![Vec::new(); x.nrows()]);
    };
    let row = |i: usize| {
        let mut row = vec![0.0; x.ncols()];
        x.row(i).add_scaled_to(1.0, &mut row);
        row
    };
    let beyond = |row: &[f64]| {
        let cells = row.iter().zip(ranges.minima.iter().zip(&ranges.maxima)).enumerate();
        let far = cells.filter_map(|(j, (v, (low, high)))| {
            let over = (low - v).max(v - high);
            let width = if high > low { high - low } else { ranges.deviations[j] };
            (over > 1e-9 * width).then_some((j, over / width))
        });
        far.collect::<Vec<_>>()
    };
    let outside = (0..x.nrows()).map(|i| beyond(&row(i))).collect();
    let spread = training.and_then(|t| t.spread.get());
    let Some((spread, factor)) = spread.and_then(|s| Some((s, s.factor(x.ncols())?))) else {
        notes.push(
            "correlations of the training rows are not kept: rows are compared with ranges only"
                .into(),
        );
        return (None, None, outside);
    };
    let far: Vec<f64> =
        (0..x.nrows()).map(|i| mahalanobis(&factor, &ranges.standard(&row(i)))).collect();
    let nearer = far.iter().map(|d| spread.nearer(*d)).collect();
    (Some(far), Some(nearer), outside)
}

/// Classes with too few rows for a p-value of 5 %.
fn few(rows: &[usize], classes: &[String]) -> Option<String> {
    let small: Vec<String> = rows
        .iter()
        .zip(classes)
        .filter(|(n, _)| **n < ROWS_FOR_LEVEL)
        .map(|(n, class)| {
            format!("`{class}` ({n} rows, smallest p-value {:.2})", 1.0 / (*n as f64 + 1.0))
        })
        .collect();
    (!small.is_empty()).then(|| {
        let list = small.join(", ");
        format!("too few rows to rule a class out at 5 %, which takes {ROWS_FOR_LEVEL}: {list}")
    })
}
