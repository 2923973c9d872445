use rayon::prelude::*;

use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::folds::stratified;
use crate::model::{Estimator, Fitted};

/// An estimator that is the best of several by plain cross-validation: fewest rows called wrong on the
/// held-out folds, the first on a tie. A candidate that cannot be fitted to some fold does not compete.
pub struct GridCv {
    /// Who competes; the simplest first, as it wins ties.
    pub candidates: Vec<Box<dyn Estimator>>,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the folds.
    pub random_state: u64,
}

impl Estimator for GridCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let splits = stratified(data.labels(), self.folds, 1, self.random_state);
        let errors = |estimator: &dyn Estimator| -> Result<usize> {
            let mut wrong = 0;
            for split in &splits {
                control.check()?;
                let fitted = estimator.fit(&data.select_rows(&split.train), control)?;
                let held_out = data.select_rows(&split.holdout);
                let predicted = fitted.model.predict(held_out.features())?;
                wrong += predicted.iter().zip(held_out.labels()).filter(|(p, t)| p != t).count();
            }
            Ok(wrong)
        };
        let judged: Vec<Result<usize>> =
            self.candidates.par_iter().map(|c| errors(c.as_ref())).collect();
        if judged.contains(&Err(Error::Interrupted)) {
            return Err(Error::Interrupted);
        }
        let able = judged.iter().enumerate().filter_map(|(k, j)| j.as_ref().ok().map(|e| (*e, k)));
        let Some((_, best)) = able.min() else {
            let first = judged.into_iter().find_map(Result::err);
            return Err(first.unwrap_or_else(|| Error::BadParams("no candidates".into())));
        };
        self.candidates[best].fit(data, control)
    }
}
