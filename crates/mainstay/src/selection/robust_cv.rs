//! The best of several estimators by cross-validation that distrusts low averages.

use rayon::prelude::*;

use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::folds::{Dealt, Split, deal_distinct};
use crate::loss::Loss;
use crate::model::{Estimator, Fitted, Model};
use crate::rolin::rules::{Choice, Judgement, Thresholds};

/// What holdout rows are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobustScoring {
    /// A margin loss of the scores, over all one-versus-rest problems.
    Loss(Loss),
    /// Share of misclassified rows; the ratio test stays on this margin loss.
    ZeroOne(Loss),
}

/// Algorithm 2 of the ROLIN paper for any estimators: repeated cross-validation that distrusts low
/// averages.
#[derive(Debug, Clone, Copy)]
pub struct RobustCv {
    /// Loss ratio, slack and gain.
    pub rules: Thresholds,
    /// Folds of one cross-validation.
    pub n_folds: usize,
    /// How often it is repeated.
    pub n_repeats: usize,
    /// What holdout rows are judged by.
    pub scoring: RobustScoring,
    /// Seed of the splits.
    pub random_state: u64,
}

/// Who won, why, and the winner fitted to all rows.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The winner.
    pub choice: Choice,
    /// One per candidate.
    pub candidates: Vec<Judgement>,
    /// One per baseline setting.
    pub baseline: Vec<Judgement>,
    /// The winner on all rows.
    pub fitted: Fitted,
}

impl RobustCv {
    /// Judges all `candidates` and the `baseline` settings (which stay unless beaten by the gain, line
    /// 9) on the same splits, and fits the winner to all rows. Rows count by their weights: 2 is the row twice.
    pub fn select(
        &self,
        candidates: &[&dyn Estimator],
        baseline: &[&dyn Estimator],
        data: &Dataset,
        control: &Control,
    ) -> Result<Selection> {
        let rules = self.rules.check()?;
        let Dealt { data: rows, splits } =
            deal_distinct(data, self.n_folds, self.n_repeats, self.random_state);
        let judge = |estimators: &[&dyn Estimator]| -> Result<Vec<Judgement>> {
            estimators.iter().map(|e| self.judge(*e, &splits, &rows, control)).collect()
        };
        let (judged, base) = (judge(candidates)?, judge(baseline)?);
        let choice = rules.choose_against(&judged, &base).ok_or_else(|| {
            Error::BadParams("there is no candidate whose loss is a number".into())
        })?;
        let winner = match choice {
            Choice::Candidate(i) => candidates[i],
            Choice::Baseline(i) => baseline[i],
        };
        let fitted = winner.fit(data, control)?;
        Ok(Selection { choice, candidates: judged, baseline: base, fitted })
    }

    fn judge(
        &self,
        estimator: &dyn Estimator,
        splits: &[Split],
        data: &Dataset,
        control: &Control,
    ) -> Result<Judgement> {
        let losses: Vec<(f64, f64, f64)> = control.install(|| {
            splits
                .par_iter()
                .map(|split| {
                    control.check()?;
                    let (train, holdout) =
                        (data.select_rows(&split.train), data.select_rows(&split.holdout));
                    let model = estimator.fit(&train, control)?.model;
                    let loss = match self.scoring {
                        RobustScoring::Loss(loss) | RobustScoring::ZeroOne(loss) => loss,
                    };
                    let (fit, hold) =
                        (mean_loss(&model, loss, &train)?, mean_loss(&model, loss, &holdout)?);
                    let judged = match self.scoring {
                        RobustScoring::Loss(_) => hold,
                        RobustScoring::ZeroOne(_) => error_rate(&model, &holdout)?,
                    };
                    Ok((judged, fit, hold))
                })
                .collect::<Result<_>>()
        })?;
        let pick = |of: fn(&(f64, f64, f64)) -> f64| losses.iter().map(of).collect::<Vec<f64>>();
        Ok(self.rules.judge(&pick(|l| l.0), &pick(|l| l.1), &pick(|l| l.2)))
    }
}

fn mean_loss(model: &Model, loss: Loss, data: &Dataset) -> Result<f64> {
    let scores = model.decision(data.features())?;
    let classes: Vec<usize> =
        if scores.ncols() == 1 { vec![1] } else { (0..scores.ncols()).collect() };
    let mut sum = 0.0;
    for (column, &class) in classes.iter().enumerate() {
        for (i, y) in data.signs(class).into_iter().enumerate() {
            sum += weight(data, i) * loss.get().value(y * scores[(i, column)]);
        }
    }
    Ok(sum / (total_weight(data) * classes.len() as f64))
}

fn error_rate(model: &Model, data: &Dataset) -> Result<f64> {
    let predicted = model.predict(data.features())?;
    let wrong = (0..data.len()).filter(|&i| predicted[i] != data.labels()[i]);
    Ok(wrong.map(|i| weight(data, i)).sum::<f64>() / total_weight(data))
}

fn weight(data: &Dataset, row: usize) -> f64 {
    data.weights().map_or(1.0, |weights| weights[row])
}

fn total_weight(data: &Dataset) -> f64 {
    (0..data.len()).map(|i| weight(data, i)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Threshold, data};
    use super::*;

    /// At shift 0.5 the margins are |x| + y/2: the hinge losses are 0 except at -1, where the margin is 1/2.
    #[test]
    fn losses_and_errors_of_a_model_match_the_hand_count() {
        let model = |shift: f64| Threshold(shift).fit(&data(), &Control::new()).map(|f| f.model);
        let loss = model(0.5).and_then(|m| mean_loss(&m, Loss::Hinge, &data()));
        assert!(loss.is_ok_and(|l| (l - 0.05).abs() < 1e-15));
        // Positive above -2.5: -1 and -2 are wrong.
        let errors = model(2.5).and_then(|m| error_rate(&m, &data()));
        assert!(errors.is_ok_and(|e| (e - 0.2).abs() < 1e-15));
    }

    /// The row at -1, which alone has a loss and one of the two errors, counts three times and -2 not at all.
    #[test]
    fn losses_and_errors_count_rows_by_their_weights() {
        let plain = data();
        let value = |i: usize| plain.features().row(i).entries().map(|(_, v)| v).sum::<f64>();
        let own = |i: usize| match value(i) {
            -1.0 => 3.0,
            -2.0 => 0.0,
            _ => 1.0,
        };
        let n = plain.len();
        let weighted = plain.clone().with_weights((0..n).map(own).collect()).unwrap();
        let model =
            |shift: f64| Threshold(shift).fit(&plain, &Control::new()).map(|f| f.model).unwrap();
        let total = n as f64 + 1.0;
        let loss = mean_loss(&model(0.5), Loss::Hinge, &weighted).unwrap();
        assert!((loss - 3.0 * 0.5 / total).abs() < 1e-15, "{loss}");
        let errors = error_rate(&model(2.5), &weighted).unwrap();
        assert!((errors - 3.0 / total).abs() < 1e-15, "{errors}");
    }

    #[test]
    fn a_candidate_must_beat_the_baseline_by_the_gain() {
        let select = |candidate: f64| {
            let cv = RobustCv {
                rules: Thresholds::default(),
                n_folds: 5,
                n_repeats: 1,
                scoring: RobustScoring::ZeroOne(Loss::Hinge),
                random_state: 0,
            };
            let (candidate, baseline) = (Threshold(candidate), Threshold(4.5));
            cv.select(&[&candidate], &[&baseline], &data(), &Control::new()).map(|s| s.choice)
        };
        assert!(matches!(select(0.5), Ok(Choice::Candidate(0))));
        assert!(matches!(select(4.5), Ok(Choice::Baseline(0))));
    }
}
