//! A fit that several estimators need is done once.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::model::{Estimator, Fitted, Retuning};

/// Fits that are remembered; beyond that all are forgotten.
const REMEMBERED: usize = 64;

/// Remembers what an estimator made of data sets: the same rows, labels and weights again get the same fit back, if a search among
/// candidates begins at the same one.
///
/// The estimator must be a function of the data (as all of ours are). Data sets with uncertainties are fitted
/// every time. Fits that fail or are interrupted are not remembered.
#[derive(Clone)]
pub struct Memo {
    estimator: Arc<dyn Estimator>,
    known: Arc<Mutex<BTreeMap<[u64; 2], Fitted>>>,
}

impl Memo {
    /// Nothing is known yet.
    pub fn new(estimator: Box<dyn Estimator>) -> Self {
        Self { estimator: estimator.into(), known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<[u64; 2], Fitted>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Estimator for Memo {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        if data.uncertainty().is_some() {
            return self.estimator.fit(data, control);
        }
        let key = [fingerprint(data, control, 0), fingerprint(data, control, 1)];
        let found = self.known().get(&key).cloned();
        if let Some(fitted) = found {
            return Ok(fitted);
        }
        // Not under the lock: a fit that helps out with other fits meanwhile may come by here again.
        let fitted = self.estimator.fit(data, control)?;
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, fitted.clone());
        Ok(fitted)
    }

    fn settled(&self, fitted: &Fitted, rows: usize) -> Option<Box<dyn Estimator>> {
        self.estimator.settled(fitted, rows)
    }

    fn retuning(&self, fitted: &Fitted) -> Retuning {
        self.estimator.retuning(fitted)
    }

    fn retunes(&self) -> bool {
        self.estimator.retunes()
    }
}

/// A number that data sets which differ in a bit, or in where a search begins, share by chance alone; `part` makes another one.
fn fingerprint(data: &Dataset, control: &Control, part: u64) -> u64 {
    let mut hash = DefaultHasher::new();
    part.hash(&mut hash);
    control.all_known().for_each(|(name, value)| (name, value.to_bits()).hash(&mut hash));
    (data.len(), data.n_features(), data.n_classes()).hash(&mut hash);
    data.labels().hash(&mut hash);
    for weight in data.weights().into_iter().flatten() {
        weight.to_bits().hash(&mut hash);
    }
    let x = data.features();
    for i in 0..data.len() {
        x.row(i).entries().for_each(|(j, value)| (j, value.to_bits()).hash(&mut hash));
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;
    use crate::linalg::Dense;
    use crate::model::{Linear, Link, Model};

    /// Counts its fits; the weight is the number of rows. Refuses data of four rows.
    struct Counting(Arc<AtomicUsize>);

    impl Estimator for Counting {
        fn fit(&self, data: &Dataset, _: &Control) -> Result<Fitted> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if data.len() == 4 {
                return Err(Error::BadData("four rows".into()));
            }
            let coef = vec![vec![data.len() as f64]];
            let linear = Linear { coef, intercept: vec![0.0], link: Link::None };
            Ok(Fitted::new(Model::Linear(linear), 1))
        }
    }

    fn rows(values: &[f64]) -> Dataset {
        let x = Dense::from_rows(values.len(), 1, values.to_vec());
        Dataset::new(x.into(), values.iter().map(|v| usize::from(*v > 0.0)).collect(), 2).unwrap()
    }

    #[test]
    fn the_same_rows_are_fitted_once_and_others_are_not_mistaken_for_them() {
        let count = Arc::new(AtomicUsize::new(0));
        let memo = Memo::new(Box::new(Counting(Arc::clone(&count))));
        let (copy, control) = (memo.clone(), Control::new());
        let first = memo.fit(&rows(&[1.0, -1.0]), &control).unwrap();
        let again = copy.fit(&rows(&[1.0, -1.0]), &control).unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert_eq!(first.model, again.model);
        let other = memo.fit(&rows(&[1.0, -1.0, 2.0]), &control).unwrap();
        assert_ne!(other.model, first.model);
        memo.fit(&rows(&[1.0, -1.5]), &control).unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_fit_that_failed_is_tried_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let memo = Memo::new(Box::new(Counting(Arc::clone(&count))));
        for _ in 0..2 {
            assert!(memo.fit(&rows(&[1.0, -1.0, 2.0, -2.0]), &Control::new()).is_err());
        }
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
