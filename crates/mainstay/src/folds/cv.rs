//! The splits of a cross-validated fit: dealt out, or as the user gives them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::parts::{Dealt, FEW};
use super::{Split, stratified};
use crate::data::{Dataset, Merged, distinct_rows};
use crate::error::{Error, Result, require};

/// How rows are split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cv {
    /// Stratified folds of the distinct rows, or of parts of them ([`super::Parts`]).
    Folds(usize),
    /// Pairs of (rows to fit on, rows to judge on).
    Splits(Vec<(Vec<usize>, Vec<usize>)>),
}

impl Cv {
    /// At least two folds, or pairs of row lists that are not empty.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Folds(folds) => require(*folds >= 2, "cv", folds, "at least 2 folds"),
            Self::Splits(splits) => {
                let full = splits.iter().all(|(fit, judge)| !fit.is_empty() && !judge.is_empty());
                let rule = "pairs of row lists that are not empty";
                require(full && !splits.is_empty(), "cv", "splits", rule)
            }
        }
    }

    /// The rows as they are dealt, and their splits: those of [`Cv::splits`], or, where rows are of few kinds, folds of their
    /// parts ([`super::Parts`]).
    pub fn deal<'d>(&self, data: &'d Dataset, seed: u64) -> Result<Dealt<'d>> {
        if let Self::Folds(folds) = self
            && let Some(Dealt { data, mut splits }) = in_parts(data, *folds, 1, seed)
        {
            splits.retain(|split| two_classes(&data, split));
            return Ok(Dealt { data, splits });
        }
        Ok(Dealt { data: Cow::Borrowed(data), splits: self.splits(data, seed)? })
    }

    /// The splits of `data`; rows of weight 0 are in none of them.
    ///
    /// Folds whose training rows are all of one class are left out. Of splits that were given such a one is an error.
    pub fn splits(&self, data: &Dataset, seed: u64) -> Result<Vec<Split>> {
        let two_classes = |split: &Split| two_classes(data, split);
        let bad = |what: &str| Err(Error::BadData(format!("cv: {what}")));
        match self {
            Self::Folds(folds) => {
                let mut splits = stratified_distinct(data, *folds, 1, seed);
                splits.retain(|split| !split.holdout.is_empty() && two_classes(split));
                if splits.is_empty() { bad(why_no_fold(data)) } else { Ok(splits) }
            }
            Self::Splits(given) => {
                let splits: Vec<Split> =
                    given.iter().map(|pair| chosen(pair, data)).collect::<Result<_>>()?;
                if splits.iter().any(|s| s.train.is_empty() || s.holdout.is_empty()) {
                    return bad("a split has no rows of positive weight on one of its sides");
                }
                if !splits.iter().all(two_classes) {
                    return bad("the rows to fit on in one split are all of one class");
                }
                Ok(splits)
            }
        }
    }
}

/// Whether a split's training rows are of more than one class.
fn two_classes(data: &Dataset, split: &Split) -> bool {
    let mut labels = split.train.iter().map(|&i| data.labels()[i]);
    let first = labels.next();
    labels.any(|label| Some(label) != first)
}

/// Folds of parts of the distinct rows; none where rows are not of few kinds.
fn in_parts(data: &Dataset, folds: usize, repeats: usize, seed: u64) -> Option<Dealt<'static>> {
    let total = data.weights().map_or(data.len() as f64, |weights| weights.iter().sum());
    let distinct = distinct_rows(data).into_iter().flatten().max().map_or(0, |last| last + 1);
    if distinct as f64 >= FEW * total {
        return None;
    }
    let distinct = Merged::new(data).data;
    let Dealt { data, splits } = Dealt::new(&distinct, folds, repeats, seed);
    match data {
        Cow::Owned(parts) => Some(Dealt { data: Cow::Owned(parts), splits }),
        Cow::Borrowed(_) => None,
    }
}

/// [`stratified_distinct`] folds of the rows, or of their parts where rows are of few kinds.
pub fn deal_distinct(data: &Dataset, folds: usize, repeats: usize, seed: u64) -> Dealt<'_> {
    in_parts(data, folds, repeats, seed).unwrap_or_else(|| Dealt {
        data: Cow::Borrowed(data),
        splits: stratified_distinct(data, folds, repeats, seed),
    })
}

/// Why no fold leaves two classes to fit on. Fewer folds never help: they leave fewer rows to fit on.
fn why_no_fold(data: &Dataset) -> &'static str {
    if data.class_counts().into_iter().filter(|count| *count > 0).count() < 2 {
        "all rows that count are of one class"
    } else {
        "there are only two different rows, one of each class: whichever is held out, the other is all there is to fit on; \
         set the parameter instead of searching for it, or give more rows"
    }
}

/// A split that was given, without rows of weight 0.
fn chosen((train, holdout): &(Vec<usize>, Vec<usize>), data: &Dataset) -> Result<Split> {
    let n = data.len();
    if let Some(row) = train.iter().chain(holdout).find(|row| **row >= n) {
        return Err(Error::param("cv", row, format!("row positions below {n}")));
    }
    let part = |rows: &[usize]| rows.iter().copied().filter(|&i| data.row_counts(i)).collect();
    Ok(Split { train: part(train), holdout: part(holdout) })
}

/// [`stratified`] folds of the distinct rows: copies of a row are on one side of every split, rows of weight 0 on none,
/// so that a weight of 2 and the row twice give the same folds.
///
/// Distinct rows are dealt out in the order in which they first appear.
pub fn stratified_distinct(data: &Dataset, folds: usize, repeats: usize, seed: u64) -> Vec<Split> {
    let position = distinct_rows(data);
    let mut labels = Vec::new();
    for (place, &label) in position.iter().zip(data.labels()) {
        if *place == Some(labels.len()) {
            labels.push(label);
        }
    }
    let given = |split: Split| {
        let mut held = vec![false; labels.len()];
        for &k in &split.holdout {
            held[k] = true;
        }
        let side = |wanted: bool| {
            let here = |i: &usize| position[*i].is_some_and(|k| held[k] == wanted);
            (0..position.len()).filter(here).collect()
        };
        Split { train: side(false), holdout: side(true) }
    };
    stratified(&labels, folds, repeats, seed).into_iter().map(given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    fn data(values: &[f64], weights: Option<Vec<f64>>) -> Dataset {
        let x = Dense::from_rows(values.len(), 1, values.to_vec());
        let labels = values.iter().map(|v| usize::from(*v > 4.5)).collect();
        let data = Dataset::new(Matrix::from(x), labels, 2).unwrap();
        match weights {
            Some(weights) => data.with_weights(weights).unwrap(),
            None => data,
        }
    }

    /// The values on both sides of every split, copies once.
    fn sides(data: &Dataset, splits: &[Split]) -> Vec<[Vec<u64>; 2]> {
        let values = |rows: &[usize]| {
            let mut found: Vec<u64> =
                rows.iter().map(|&i| data.features().values()[i].to_bits()).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        splits.iter().map(|s| [values(&s.train), values(&s.holdout)]).collect()
    }

    #[test]
    fn a_weight_of_two_and_the_row_twice_give_the_same_folds() {
        let once: Vec<f64> = (0..10).map(f64::from).collect();
        let weighted = data(&once, Some(vec![1.0, 2.0, 1.0, 0.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0]));
        let repeated = data(&[0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 9.0, 7.0, 7.0], None);
        for seed in 0..5 {
            let (a, b) = (
                stratified_distinct(&weighted, 3, 2, seed),
                stratified_distinct(&repeated, 3, 2, seed),
            );
            assert_eq!(sides(&weighted, &a), sides(&repeated, &b));
            for split in sides(&repeated, &b) {
                assert!(split[0].iter().all(|value| !split[1].contains(value)));
            }
        }
        let plain = data(&once, None);
        assert_eq!(stratified_distinct(&plain, 3, 2, 4), stratified(plain.labels(), 3, 2, 4));
    }

    #[test]
    fn folds_that_cannot_be_fitted_are_left_out_and_splits_that_cannot_are_refused() {
        let lone = data(&[0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 9.0], None);
        let splits = Cv::Folds(4).splits(&lone, 0).unwrap();
        assert!(splits.len() == 3 && splits.iter().all(|s| s.train.contains(&5)));
        let given = |train: Vec<usize>, holdout: Vec<usize>| Cv::Splits(vec![(train, holdout)]);
        assert!(given(vec![0, 4], vec![1]).splits(&lone, 0).is_ok());
        assert!(given(vec![0, 1], vec![4]).splits(&lone, 0).is_err());
        assert!(given(vec![0, 7], vec![4]).splits(&lone, 0).is_err());
        let weighted = data(&[0.0, 1.0, 9.0], Some(vec![0.0, 1.0, 1.0]));
        assert!(given(vec![1, 2], vec![0]).splits(&weighted, 0).is_err());
        assert!(Cv::Folds(1).check().is_err() && Cv::Splits(Vec::new()).check().is_err());
    }

    /// Three different rows leave two to fit on; with two, or with one class, no number of folds does.
    #[test]
    fn two_different_rows_are_named_as_what_leaves_nothing_to_fit_on() {
        let why = |data: &Dataset, folds| Cv::Folds(folds).splits(data, 0).unwrap_err().to_string();
        for folds in [2, 5] {
            assert!(Cv::Folds(folds).splits(&data(&[0.0, 1.0, 9.0], None), 0).is_ok());
            let text = why(&data(&[0.0, 9.0, 0.0, 9.0, 9.0, 0.0], None), folds);
            assert!(text.contains("only two different rows") && !text.contains("fewer"), "{text}");
            // Only a part of a data set can be of one class.
            let part = data(&[0.0, 1.0, 2.0, 9.0], None).select_rows(&[0, 1, 2]);
            assert!(why(&part, folds).contains("all rows that count"));
        }
    }
}
