//! Rows of few kinds are dealt to folds in parts.
//!
//! Copies of a row are on one side of a split, so that nothing is judged by what it was fitted to, and so that a weight of 2 is
//! the row twice. In a table of few categories equal rows are no copies but patients of the same kind. Of a kind that has both
//! classes each class is one distinct row, and held out as one it leaves a training set in which all of that kind
//! have the *other* class: what is learned there is wrong, and the search prefers to learn nothing. There every kind is cut
//! into parts of equal weight, which are dealt like rows of their own.

use super::{Split, stratified};
use crate::data::{Dataset, Merged};

/// Parts of a distinct row, at most: enough for every fold of the usual numbers to get its share.
const MOST_PARTS: usize = 50;
/// Rows are of few kinds where less than this share of their weight is that of distinct rows counted once,
pub(super) const FEW: f64 = 0.5;
/// and where at least this share of it belongs to rows whose features are also those of rows of another class. Copies agree in
/// their labels, patients of a kind seldom do.
const MIXED: f64 = 0.5;

/// Distinct rows cut into parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// For every part the distinct row that it belongs to.
    pub rows: Vec<usize>,
    /// What every part weighs.
    pub weights: Vec<f64>,
}

impl Parts {
    /// Of distinct rows with their weights, as [`Merged`] has them; none where every row is dealt as a whole.
    ///
    /// The parts depend on nothing but these, so a weight of 2 and the row twice give the same ones.
    pub fn of(distinct: &Dataset) -> Option<Self> {
        let own = distinct.weights()?;
        let total: f64 = own.iter().sum();
        if distinct.len() as f64 >= FEW * total || mixed_weight(distinct, own) < MIXED * total {
            return None;
        }
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for (i, weight) in own.iter().enumerate() {
            let parts = weight.ceil().clamp(1.0, MOST_PARTS as f64);
            // At most fifty: the conversion is exact.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 50")]
            let count = parts as usize;
            rows.extend(std::iter::repeat_n(i, count));
            weights.extend(std::iter::repeat_n(weight / parts, count));
        }
        Some(Self { rows, weights })
    }

    /// [`Parts::of`], or every row as one part.
    pub fn or_whole(distinct: &Dataset) -> Self {
        Self::of(distinct).unwrap_or_else(|| Self {
            rows: (0..distinct.len()).collect(),
            weights: distinct.weights().map_or_else(|| vec![1.0; distinct.len()], <[f64]>::to_vec),
        })
    }

    /// What belongs to a distinct row, divided among its parts by weight.
    pub fn divided(&self, values: &[f64], distinct: &Dataset) -> Vec<f64> {
        let whole = |i: usize| distinct.weights().map_or(1.0, |weights| weights[i]);
        let of = |(&i, weight): (&usize, &f64)| values[i] * (weight / whole(i));
        self.rows.iter().zip(&self.weights).map(of).collect()
    }

    /// The parts as rows of a data set.
    pub fn dataset(&self, distinct: &Dataset) -> Dataset {
        distinct.select_rows(&self.rows).replace_weights(self.weights.clone())
    }
}

/// The weight of the rows whose features are also those of rows of another class.
fn mixed_weight(distinct: &Dataset, weights: &[f64]) -> f64 {
    let kinds = Merged::new(&distinct.replace_labels(vec![0; distinct.len()])).position;
    let mut label_of: Vec<Option<usize>> = vec![None; distinct.len()];
    let mut mixed = vec![false; distinct.len()];
    for (kind, &label) in kinds.iter().zip(distinct.labels()) {
        if let Some(kind) = kind {
            mixed[kind] |= *label_of[kind].get_or_insert(label) != label;
        }
    }
    let of = |(kind, weight): (Option<usize>, &f64)| {
        if kind.is_some_and(|kind| mixed[kind]) { *weight } else { 0.0 }
    };
    kinds.iter().zip(weights).map(of).sum()
}

/// Rows as folds deal them, with the folds.
#[derive(Debug, Clone)]
pub struct Dealt<'d> {
    /// The distinct rows, or their parts.
    pub data: std::borrow::Cow<'d, Dataset>,
    /// Folds of these.
    pub splits: Vec<Split>,
}

impl<'d> Dealt<'d> {
    /// Stratified folds of distinct rows with their weights, as [`Merged`] has them.
    pub fn new(distinct: &'d Dataset, folds: usize, repeats: usize, seed: u64) -> Self {
        use std::borrow::Cow::{Borrowed, Owned};
        let parts = Parts::of(distinct);
        let data = parts.map_or(Borrowed(distinct), |parts| Owned(parts.dataset(distinct)));
        let splits = stratified(data.labels(), folds, repeats, seed);
        Self { data, splits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    /// Two binary columns; of every hundred rows of a kind so many are of class 1.
    fn kinds(ones: [usize; 4]) -> Dataset {
        let x = Dense::from_fn(400, 2, |i, j| ((i / 100) >> j & 1) as f64);
        let labels = (0..400).map(|i| usize::from(i % 100 < ones[i / 100])).collect();
        Dataset::new(Matrix::from(x), labels, 2).unwrap()
    }

    #[test]
    fn kinds_of_both_classes_are_cut_and_keep_their_weight() {
        let merged = Merged::new(&kinds([10, 40, 60, 97])).data;
        let parts = Parts::of(&merged).unwrap();
        let weights = merged.weights().unwrap();
        for (i, weight) in weights.iter().enumerate() {
            let own: Vec<f64> = (0..parts.rows.len())
                .filter(|&k| parts.rows[k] == i)
                .map(|k| parts.weights[k])
                .collect();
            assert!((own.iter().sum::<f64>() - weight).abs() < 1e-12);
            assert_eq!(own.len() as f64, weight.min(50.0));
        }
        let dealt = Dealt::new(&merged, 5, 1, 3);
        assert_eq!(dealt.data.len(), parts.rows.len());
        // Every training set knows every kind in about its share.
        for split in &dealt.splits {
            for i in (0..merged.len()).filter(|&i| weights[i] >= 40.0) {
                let kept: f64 = (split.train.iter())
                    .filter(|&&k| parts.rows[k] == i)
                    .map(|&k| parts.weights[k])
                    .sum();
                assert!((kept / weights[i] - 0.8).abs() < 0.2, "{}", kept / weights[i]);
            }
        }
    }

    #[test]
    fn weights_and_repetition_give_the_same_parts() {
        let rows = kinds([30, 50, 70, 20]);
        let merged = Merged::new(&rows).data;
        assert_eq!(Parts::of(&Merged::new(&merged).data), Parts::of(&merged));
        assert!(Parts::of(&merged).is_some());
    }

    #[test]
    fn copies_and_rows_with_survey_weights_are_dealt_whole() {
        // Every row three times, with one label: copies.
        let x = Dense::from_fn(90, 2, |i, j| ((i / 3) as f64 * 0.7 + j as f64).sin());
        let labels: Vec<usize> = (0..90).map(|i| i / 3 % 2).collect();
        let copies = Dataset::new(x.clone().into(), labels.clone(), 2).unwrap();
        assert_eq!(Parts::of(&Merged::new(&copies).data), None);
        // Distinct rows that stand for a thousand each.
        let x = Dense::from_fn(90, 2, |i, j| (i as f64 * 0.7 + j as f64).sin());
        let survey = Dataset::new(x.into(), labels, 2).unwrap().with_weights(vec![1e3; 90]);
        assert_eq!(Parts::of(&Merged::new(&survey.unwrap()).data), None);
        // All rows of a kind have one label: a kind held out says nothing wrong about it.
        assert_eq!(Parts::of(&Merged::new(&kinds([0, 100, 100, 0])).data), None);
    }
}
