//! Lines 12-19 of Algorithm 2: fits on the top components alone, k = 1, 2, ..., in lock-step over the
//! splits; each starts from the last.

use rayon::prelude::*;

use super::problem::{signed_columns, top_weights};
use super::rules::Judgement;
use super::search::{Labels, Search};
use super::space::Prepared;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::Dense;
use crate::linalg::vector::{self, vectorized};
use crate::rolin::shared::ridge_newton::{self, Fit};
use crate::rolin::shared::spectrum::SplitSpectrum;
use crate::rolin::{CvRule, Scoring};

/// The top fits of one k on every split.
pub(super) struct TopFits {
    /// Margins of the training and the holdout rows of every split.
    pub(super) margins: Vec<(Vec<f64>, Vec<f64>)>,
    pub(super) judgement: Judgement,
    pub(super) losses: Vec<f64>,
    /// Every training row of every split is on its right side.
    separates: bool,
}

impl Search {
    /// The fits that lines 5-6 need: (first k, fits from there to `k_max`).
    ///
    /// The plain rules, which have no loss ratio, stop at the first k that separates the classes of
    /// every training split: from there on more components only fit noise.
    pub(super) fn scan_reliable(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        control: &Control,
    ) -> Result<(usize, Vec<TopFits>)> {
        let (first, last) = match self.k {
            Some(k) => (k, k),
            None => (1.min(prepared.limit), prepared.limit),
        };
        let none = |labels: &Labels| (Dense::zeros(0, labels.train.len()), Fit::default());
        let mut fits: Vec<(Dense, Fit)> = labels.iter().map(none).collect();
        let mut tops: Vec<TopFits> = Vec::new();
        for k in first..=last {
            control.check()?;
            let top = self.top_fits(prepared, labels, k, &mut fits)?;
            let overfits = self.cv == CvRule::Robust && top.judgement.loss_ratio > self.rules.ratio;
            if overfits && k > first {
                break;
            }
            let stop = overfits || (self.cv != CvRule::Robust && top.separates);
            tops.push(top);
            if stop {
                break;
            }
        }
        Ok((first, tops))
    }

    /// Replaces the signed columns and `fits` for a smaller k by those for `k`.
    fn top_fits(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        k: usize,
        fits: &mut [(Dense, Fit)],
    ) -> Result<TopFits> {
        let ridge = vec![self.ridge; k + 1];
        let one = |((split, labels), kept): ((&SplitSpectrum, &Labels), &mut (Dense, Fit))| {
            let (signed, fit) = kept;
            let known = std::mem::replace(signed, Dense::zeros(0, 0));
            *signed = signed_columns(known, &split.train, &labels.train, k);
            let start = std::mem::take(fit);
            let loss = labels.on_train(self.loss);
            *fit = ridge_newton::minimise(loss, signed, &ridge, start, ridge_newton::EXACT)?;
            let holdout = holdout_margins(split, &labels.holdout, &fit.theta);
            Ok((fit.margins.clone(), holdout))
        };
        let margins: Vec<(Vec<f64>, Vec<f64>)> =
            prepared.splits.par_iter().zip(labels).zip(fits).map(one).collect::<Result<_>>()?;
        let all = || margins.iter().zip(labels);
        let train: Vec<f64> =
            all().map(|((train, _), labels)| labels.on_train(self.loss).mean(train)).collect();
        let holdout: Vec<f64> =
            all().map(|((_, h), labels)| labels.on_holdout(self.loss).mean(h)).collect();
        let losses = match self.scoring {
            Scoring::Loss => holdout.clone(),
            Scoring::ZeroOne => all()
                .map(|((_, h), labels)| labels.on_holdout(self.loss).wrong_along(h, h, 0.0))
                .collect(),
        };
        let mut judgement = self.rules.judge(&losses, &train, &holdout);
        if self.cv != CvRule::Robust {
            judgement.cost = judgement.loss_avg;
        }
        let separates = margins.iter().all(|(train, _)| train.iter().all(|m| *m > 0.0));
        Ok(TopFits { margins, judgement, losses, separates })
    }
}

fn holdout_margins(split: &SplitSpectrum, y: &[f64], theta: &[f64]) -> Vec<f64> {
    let weights = top_weights(&split.train, theta);
    let score = |i: usize| theta[0] + vector::dot(&split.holdout.row(i)[..weights.len()], &weights);
    vectorized!(y.iter().enumerate().map(|(i, y)| y * score(i)).collect())
}
