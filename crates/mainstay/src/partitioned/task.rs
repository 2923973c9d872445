//! What every fit over partitions has in common: it is settled by the first look, asks, and takes answers in.

use std::fmt::Debug;

use super::continuation::Place;
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::proof::Proof;
use crate::data::ClassWeight;
use crate::error::{Error, Result};
use crate::model::Fitted;

/// More columns than this make messages of hundreds of megabytes.
const MOST_COLUMNS: usize = 4000;
/// Passes after which a fit ends with the gap it has.
pub(super) const MOST_PASSES: usize = 200;

/// The side of a method in a fit over partitions: what to ask next, and what the merged answer means.
/// [`Driver`](super::Driver) does what all methods share.
pub(crate) trait Task: Debug + Send {
    /// From the first look to the problem; `starts` is where an earlier fit of the same problem and data was, one place for
    /// every problem.
    fn settle(&mut self, look: &FirstLook, starts: Option<&[Place]>) -> Result<()>;
    /// What all rows are to be asked; `None` once the fit is done.
    fn ask(&self) -> Option<KernelAsk>;
    /// Takes the merged answer to [`Task::ask`] in.
    fn absorb(&mut self, answer: KernelSums) -> Result<()>;
    /// The largest proven gap; infinite before there is one.
    fn gap(&self) -> f64;
    /// Where the fit is, for a checkpoint.
    fn places(&self) -> Vec<Place>;
    /// What proves its bounds again from one more pass; none where the method has no such form.
    fn proof(&self) -> Option<Proof> {
        None
    }
    /// The model, once there is nothing left to ask; `passes` counts all looks.
    fn finish(&self, passes: usize) -> Result<Fitted>;
}

/// One class against the rest, as far as the first look knows it.
pub(super) struct ClassSide {
    /// Rows of this class are positive.
    pub positive: usize,
    /// Their weight, with the factors of the classes.
    pub own: f64,
    /// The weight of all rows.
    pub total: f64,
    /// The sign that all rows of positive weight have, if they have one.
    pub only: Option<f64>,
}

/// Factors of all classes, and the binary problems: one for two classes, otherwise one for each. Without an intercept no
/// class may be without weight.
pub(super) fn open_classes(
    look: &FirstLook,
    class_weight: &ClassWeight,
    intercept: bool,
) -> Result<(Vec<f64>, Vec<ClassSide>)> {
    let classes = look.names.len();
    let weights: Vec<f64> = look.classes.iter().map(|c| c.weight).collect();
    let factors = class_weight.factors_of(&weights)?.unwrap_or_else(|| vec![1.0; classes]);
    let totals: Vec<f64> = weights.iter().zip(&factors).map(|(w, f)| w * f).collect();
    let total: f64 = totals.iter().sum();
    let side = |positive: usize| {
        let own = totals[positive];
        let only = if own <= 0.0 { Some(-1.0) } else { (own >= total).then_some(1.0) };
        ClassSide { positive, own, total, only }
    };
    let sides: Vec<ClassSide> =
        if classes == 2 { vec![side(1)] } else { (0..classes).map(side).collect() };
    if let Some(side) = sides.iter().find(|side| side.only.is_some()).filter(|_| !intercept) {
        return Err(Error::BadData(format!(
            "class {} has no weight, and without an intercept nothing can say so: leave its rows out, or use \
             fit_intercept=True",
            side.positive
        )));
    }
    Ok((factors, sides))
}

/// Refuses data that no fit can use.
pub(super) fn check(look: &FirstLook) -> Result<()> {
    if let Some(bad) = &look.bad {
        return Err(Error::BadData(format!(
            "partition {}, row {}, column {}: {} is not a finite number; drop or impute it",
            bad.partition, bad.row, bad.column, bad.value
        )));
    }
    if look.rows() == 0 || look.columns == 0 {
        let text = format!(
            "{} rows and {} features: at least one of each is needed",
            look.rows(),
            look.columns
        );
        return Err(Error::BadData(text));
    }
    if look.columns > MOST_COLUMNS {
        return Err(Error::BadData(format!(
            "{} features: a fit over partitions takes at most {MOST_COLUMNS}, since every partition sends the curvature \
             of all pairs; leave columns out, or fit a sample of the rows in memory",
            look.columns
        )));
    }
    let present = look.classes.iter().filter(|c| c.weight > 0.0).count();
    if present < 2 {
        let text = "the labels contain only one class; a classifier needs two";
        return Err(Error::BadData(text.into()));
    }
    Ok(())
}

pub(super) fn misplaced() -> Error {
    Error::Mismatch("an answer to a question that was not asked".into())
}
