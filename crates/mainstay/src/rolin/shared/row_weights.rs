//! What every row counts, and which rows are held out together.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::data::{ClassWeight, Dataset, Merged, Positions};
use crate::error::{Error, Result};
use crate::folds::{Cv, Parts, Split, stratified, stratified_distinct};
use crate::linalg::Dense;
use crate::model::{Fitted, Model};
use crate::rolin::KernelKind;

/// Pairs of (rows to fit on, rows to judge on), as a user gives them.
pub(in crate::rolin) type GivenSplits = Vec<(Vec<usize>, Vec<usize>)>;

/// What every row counts; a weight of 2 is the row twice.
#[derive(Debug, Clone, Default)]
pub(in crate::rolin) struct RowWeights {
    /// None: once each, which keeps the sums of plain rows as they are, to the last digit.
    values: Option<Vec<f64>>,
    rows: usize,
}

impl RowWeights {
    pub(in crate::rolin) fn of(data: &Dataset) -> Self {
        let values = data.weights().filter(|w| w.iter().any(|w| *w != 1.0));
        Self { values: values.map(<[f64]>::to_vec), rows: data.len() }
    }

    /// Every one of `rows` counts once.
    #[cfg(test)]
    pub(in crate::rolin) fn equal(rows: usize) -> Self {
        Self { values: None, rows }
    }

    /// The number of rows, copies counted.
    pub(in crate::rolin) fn total(&self) -> f64 {
        self.values.as_ref().map_or(self.rows as f64, |values| values.iter().sum())
    }

    pub(in crate::rolin) fn get(&self, row: usize) -> f64 {
        self.values.as_ref().map_or(1.0, |values| values[row])
    }

    /// Shares that add up to 1, where they differ.
    pub(in crate::rolin) fn shares(&self) -> Option<Vec<f64>> {
        let total = self.total();
        self.values.as_ref().map(|values| values.iter().map(|w| w / total).collect())
    }

    /// The sum of `values`, each as often as its row counts.
    pub(in crate::rolin) fn sum(&self, values: &[f64]) -> f64 {
        match &self.values {
            Some(weights) => weights.iter().zip(values).map(|(w, v)| w * v).sum(),
            None => values.iter().sum(),
        }
    }

    /// Square roots: rows times these have the inner products of all copies.
    pub(in crate::rolin) fn roots(&self) -> Option<Vec<f64>> {
        self.values.as_ref().map(|values| values.iter().map(|w| w.sqrt()).collect())
    }

    pub(in crate::rolin) fn select(&self, rows: &[usize]) -> Self {
        let values = self.values.as_ref().map(|values| rows.iter().map(|&i| values[i]).collect());
        Self { values, rows: rows.len() }
    }
}

/// How the rows of a cross-validation are split.
#[derive(Debug, Clone)]
pub(in crate::rolin) struct Plan {
    pub(in crate::rolin) given: Option<GivenSplits>,
    pub(in crate::rolin) folds: usize,
    pub(in crate::rolin) repeats: usize,
    pub(in crate::rolin) seed: u64,
    /// Whether rows are parts of rows ([`Parts`]), each dealt for itself.
    pub(in crate::rolin) in_parts: bool,
}

impl Plan {
    /// The splits of `data`, all of whose rows count; copies of a row are on one side of each.
    pub(in crate::rolin) fn splits(&self, data: &Dataset) -> Result<Vec<Split>> {
        let Self { given, folds, repeats, seed, in_parts } = self;
        match given {
            Some(given) => Cv::Splits(given.clone()).splits(data, *seed),
            None if *in_parts => Ok(stratified(data.labels(), *folds, *repeats, *seed)),
            None => Ok(stratified_distinct(data, *folds, *repeats, *seed)),
        }
    }
}

/// The rows that count, each once with its weight, and how they are split.
pub(in crate::rolin) struct Counted<'a> {
    pub(in crate::rolin) data: Cow<'a, Dataset>,
    pub(in crate::rolin) plan: Plan,
    /// The first given row of each, where rows were merged.
    first: Option<Vec<usize>>,
    given: usize,
}

impl<'a> Counted<'a> {
    /// Merges copies, so that these and a weight give the same bits; rows that are on different sides of a given split stay
    /// apart. Distinct rows that count once stay as they are, in the order given, and those of weight 0 go.
    pub(in crate::rolin) fn new(
        data: &'a Dataset,
        class_weight: &ClassWeight,
        plan: &Plan,
        kernel: KernelKind,
    ) -> Result<Self> {
        let (given, data) = (data.len(), class_weight.applied(data)?);
        let absent = data.weights().is_some_and(|weights| weights.contains(&0.0));
        if kernel == KernelKind::Precomputed && absent {
            let text =
                "a precomputed kernel takes no weights of 0: leave these rows and columns out";
            return Err(Error::BadData(text.into()));
        }
        let position = Merged::new(&data).position;
        let kinds: BTreeSet<usize> = position.iter().flatten().collect();
        let distinct = each_once(&data).filter(|rows| rows.len() == kinds.len());
        match distinct {
            Some(rows) if absent => Self::present(&data, plan, rows),
            None if kernel != KernelKind::Precomputed => Self::in_parts(&data, plan, kernel)
                .map_or_else(|| Self::merged(&data, plan, &position), Ok),
            _ => Ok(Self { data, plan: plan.clone(), first: None, given }),
        }
    }

    /// The rows `rows` in their order, without those of weight 0: what a fit to a table without these does.
    fn present(data: &Dataset, plan: &Plan, rows: Vec<usize>) -> Result<Self> {
        let given = data.len();
        sides(plan, given)?;
        let mut place = vec![None; given];
        rows.iter().enumerate().for_each(|(new, &i)| place[i] = Some(new));
        let part = |list: &Vec<usize>| list.iter().filter_map(|&i| place[i]).collect();
        let splits = |all: &GivenSplits| all.iter().map(|(a, b)| (part(a), part(b))).collect();
        let plan = Plan { given: plan.given.as_ref().map(splits), ..plan.clone() };
        let data = Cow::Owned(data.select_rows(&rows).without_weights());
        Ok(Self { data, plan, first: Some(rows), given })
    }

    /// Copies as one row with their weight.
    fn merged(data: &Dataset, plan: &Plan, position: &Positions) -> Result<Self> {
        let given = data.len();
        let mut alike: Alike = BTreeMap::new();
        for (i, sides) in sides(plan, given)?.into_iter().enumerate() {
            if let Some(kind) = position.at(i) {
                alike.entry((kind, sides)).or_default().push(i);
            }
        }
        let first: Vec<usize> = alike.values().map(|rows| rows[0]).collect();
        let weight = |rows: &Vec<usize>| {
            let mut parts: Vec<f64> =
                rows.iter().map(|&i| data.weights().map_or(1.0, |w| w[i])).collect();
            // Sorted before adding, so the sum does not depend on the order of the rows.
            parts.sort_by(f64::total_cmp);
            parts.iter().sum()
        };
        let weights = alike.values().map(weight).collect();
        let plan =
            Plan { given: plan.given.as_ref().map(|g| regrouped(&alike, g.len())), ..plan.clone() };
        let data = Cow::Owned(data.select_rows(&first).with_weights(weights)?);
        Ok(Self { data, plan, first: Some(first), given })
    }

    /// Rows of few kinds in parts, where folds are dealt and no weights of rows are asked for.
    fn in_parts(data: &Dataset, plan: &Plan, kernel: KernelKind) -> Option<Self> {
        if plan.given.is_some() || kernel != KernelKind::Linear {
            return None;
        }
        let distinct = Merged::new(data).data;
        let parts = Parts::of(&distinct)?.dataset(&distinct);
        let plan = Plan { in_parts: true, ..plan.clone() };
        Some(Self { given: data.len(), data: Cow::Owned(parts), plan, first: None })
    }

    /// Weights of the training rows as results of the given rows: the first copy holds them.
    pub(in crate::rolin) fn restored(&self, mut fitted: Fitted) -> Fitted {
        let Model::Kernel(model) = &mut fitted.model else { return fitted };
        let place: Vec<usize> = match &self.first {
            Some(first) => first.clone(),
            None => (0..self.given).collect(),
        };
        let mut rows = Dense::zeros(model.dual_coef.len(), self.given);
        for (k, dual) in model.dual_coef.iter().enumerate() {
            for (&i, value) in place.iter().zip(dual) {
                rows[(k, i)] = *value;
            }
        }
        model.indices = place;
        fitted.with("dual_coef", &rows)
    }
}

/// The rows that count, in order, where every one of them counts once.
fn each_once(data: &Dataset) -> Option<Vec<usize>> {
    let once = data.weights().is_none_or(|all| all.iter().all(|w| [0.0, 1.0].contains(w)));
    once.then(|| data.counting_rows().collect())
}

/// Rows by content and by the splits they are in, with the side of each.
type Alike = BTreeMap<(usize, Vec<(usize, bool)>), Vec<usize>>;

/// In which of the given splits a row is, and on which side; nothing where splits are dealt.
fn sides(plan: &Plan, rows: usize) -> Result<Vec<Vec<(usize, bool)>>> {
    let mut sides = vec![Vec::new(); rows];
    for (k, (train, holdout)) in plan.given.iter().flatten().enumerate() {
        for (&i, side) in train.iter().map(|i| (i, false)).chain(holdout.iter().map(|i| (i, true)))
        {
            match sides.get_mut(i) {
                Some(own) => own.push((k, side)),
                None => return Err(Error::param("cv", i, format!("row positions below {rows}"))),
            }
        }
    }
    Ok(sides)
}

/// The given splits in terms of merged rows.
fn regrouped(alike: &Alike, splits: usize) -> GivenSplits {
    let mut out = vec![(Vec::new(), Vec::new()); splits];
    for (new, (_, sides)) in alike.keys().enumerate() {
        for &(k, holdout) in sides {
            let (train, judged) = &mut out[k];
            if holdout { judged.push(new) } else { train.push(new) }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::linalg::Matrix;
    use crate::loss::Loss;
    use crate::model::Estimator;
    use crate::rolin::{RolinCv, RolinParams, TopPcsParams, Variant};

    /// Overlapping classes in `p` features; the labels of three classes where asked for.
    fn rows(n: usize, p: usize, classes: usize) -> (Dense, Vec<usize>) {
        let x = Dense::from_fn(n, p, |i, j| ((i * 7 + j * 5 + i * j) as f64 * 0.9).sin());
        let y = (0..n).map(|i| usize::from(x[(i, 0)] + 0.8 * x[(i, 1)] > 0.1) + i % (classes - 1));
        let labels = y.collect();
        (x, labels)
    }

    /// Scores of the first rows by fits to weighted and to repeated rows.
    fn both(estimator: &dyn Estimator, p: usize, classes: usize) -> (Dense, Dense) {
        let (x, labels) = rows(24, p, classes);
        let weights: Vec<f64> =
            (0..24).map(|i| f64::from(u8::try_from(i * 5 % 4).unwrap())).collect();
        let weight = |i: usize| i * 5 % 4;
        let repeated: Vec<usize> =
            (1..4).flat_map(|times| (0..24).filter(move |&i| weight(i) >= times)).collect();
        let x = Matrix::from(x);
        let given = Dataset::new(x.clone(), labels.clone(), classes).unwrap();
        let weighted = given.with_weights(weights).unwrap();
        let labels = repeated.iter().map(|&i| labels[i]).collect();
        let copies = Dataset::new(x.select_rows(&repeated), labels, classes).unwrap();
        let scores = |data: &Dataset| {
            let fitted = estimator.fit(data, &Control::new()).unwrap();
            fitted.model.decision(&x).unwrap()
        };
        (scores(&weighted), scores(&copies))
    }

    fn assert_equal((weighted, copies): (Dense, Dense), what: &str) {
        for (a, b) in weighted.data().iter().zip(copies.data()) {
            assert!((a - b).abs() <= 1e-7 * (1.0 + b.abs()), "{what}: {a} {b}");
        }
    }

    /// Copies come in another order than the rows, more features than rows and fewer, two classes and three.
    #[test]
    fn a_weight_of_two_is_the_row_twice() {
        for (p, classes) in [(4, 2), (40, 2), (4, 3)] {
            for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
                for variant in [Variant::Extended, Variant::Paper] {
                    let params = RolinParams {
                        loss,
                        variant,
                        n_repeats: 1,
                        n_folds: 3,
                        ..Default::default()
                    };
                    let found = both(&params.check().unwrap(), p, classes);
                    assert_equal(found, &format!("{loss:?} {variant:?} {p} {classes}"));
                }
            }
        }
        let top = TopPcsParams { n_repeats: 2, ..Default::default() };
        assert_equal(both(&top.check().unwrap(), 5, 2), "top PCs");
    }

    /// The folds depend on the order of the rows, so this holds only where the order stays.
    #[test]
    fn a_weight_of_zero_is_absence_to_the_last_bit() {
        let (x, labels) = rows(24, 4, 2);
        let x = Matrix::from(x);
        let kept: Vec<usize> = (0..24).filter(|i| i % 5 != 3).collect();
        let weights = (0..24).map(|i| if i % 5 == 3 { 0.0 } else { 1.0 }).collect();
        let given = Dataset::new(x.clone(), labels, 2).unwrap();
        let (without, weighted) = (given.select_rows(&kept), given.with_weights(weights).unwrap());
        let alike = |estimator: &dyn Estimator, what: &str| {
            let scores = |data: &Dataset| {
                let fitted = estimator.fit(data, &Control::new()).unwrap();
                fitted.model.decision(&x).unwrap()
            };
            assert_eq!(scores(&weighted), scores(&without), "{what}");
        };
        for variant in [Variant::Extended, Variant::Paper] {
            for kernel in [KernelKind::Linear, KernelKind::Rbf] {
                let params =
                    RolinParams { variant, kernel, n_repeats: 2, n_folds: 3, ..Default::default() };
                alike(&params.check().unwrap(), &format!("{variant:?} {kernel:?}"));
            }
        }
        alike(&TopPcsParams { n_repeats: 2, ..Default::default() }.check().unwrap(), "top PCs");
    }

    /// Given splits name rows as given; without the absent ones they name the same rows.
    #[test]
    fn given_splits_follow_the_rows_that_count() {
        let (x, labels) = rows(10, 3, 2);
        let weights = vec![1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let data = Dataset::new(x.into(), labels, 2).unwrap().with_weights(weights).unwrap();
        let halves = vec![((0..5).collect(), (5..10).collect())];
        let plan = Plan { given: Some(halves), folds: 2, repeats: 1, seed: 0, in_parts: false };
        let found = Counted::new(&data, &ClassWeight::None, &plan, KernelKind::Linear).unwrap();
        assert_eq!(found.first, Some(vec![0, 2, 3, 4, 6, 7, 8, 9]));
        assert_eq!(found.plan.given, Some(vec![((0..4).collect(), (4..8).collect())]));
        assert!(found.data.weights().is_none());
    }

    #[test]
    fn weights_count_under_a_kernel_too() {
        for variant in [Variant::Extended, Variant::Paper] {
            let kernel = KernelKind::Rbf;
            let params =
                RolinParams { variant, kernel, n_repeats: 1, n_folds: 3, ..Default::default() };
            assert_equal(both(&params.check().unwrap(), 3, 2), &format!("{variant:?}"));
        }
    }

    #[test]
    fn splits_that_miss_a_row_are_refused_by_the_average() {
        let (x, labels) = rows(12, 3, 2);
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let halves = |last: usize| {
            let (a, b): (Vec<usize>, Vec<usize>) = ((0..6).collect(), (6..last).collect());
            RolinCv::Splits(vec![(a.clone(), b.clone()), (b, a)])
        };
        let fit = |cv| {
            let params = RolinParams { cv, ..Default::default() };
            params.check().unwrap().fit(&data, &Control::new())
        };
        assert!(fit(halves(12)).is_ok());
        assert!(fit(halves(11)).unwrap_err().to_string().contains("every row"));
    }
}
