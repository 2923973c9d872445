//! The best of several estimators by plain cross-validation.

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

#[cfg(test)]
mod tests {
    use super::super::fixture::{Threshold, data};
    use super::*;
    use crate::model::Model;

    fn winner(shifts: &[f64]) -> Result<f64> {
        let candidates =
            shifts.iter().map(|s| Box::new(Threshold(*s)) as Box<dyn Estimator>).collect();
        let fitted =
            GridCv { candidates, folds: 5, random_state: 0 }.fit(&data(), &Control::new())?;
        match fitted.model {
            Model::Linear(model) => Ok(model.intercept[0]),
            _ => unreachable!("linear models only"),
        }
    }

    #[test]
    fn the_fewest_errors_win_and_the_first_of_equals() {
        assert_eq!(winner(&[3.5, -2.5, 0.5, 0.25]).ok(), Some(0.5));
    }

    #[test]
    fn a_candidate_that_cannot_be_fitted_does_not_compete() {
        assert_eq!(winner(&[f64::NAN, 4.5]).ok(), Some(4.5));
        assert!(winner(&[f64::NAN]).is_err_and(|e| e.to_string().contains("shift")));
    }
}
