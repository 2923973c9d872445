//! Algorithm 2: choosing $\psi$ by (robust) cross-validation, without looking at anything twice.
//!
//! One decomposition a split serves every candidate; the top fits for k = 1, 2, ... start from each
//! other ([`super::tops`]); one minimisation along the tail serves every `b_max`; and candidates are
//! given up as soon as they cannot be chosen any more ([`super::tails`]).

use rayon::prelude::*;

use super::losses::{PaperLoss, zero_one_along};
use super::problem::Psi;
use super::rules::{self, Choice, Judgement, Thresholds};
use super::space::Prepared;
use super::spectrum::SplitSpectrum;
use super::tops::TopFits;
use super::{CvRule, Scoring};
use crate::control::Control;
use crate::error::Result;
use crate::folds::Split;

/// What is searched and how it is judged.
#[derive(Debug, Clone)]
pub(super) struct Search {
    pub(super) loss: PaperLoss,
    pub(super) scoring: Scoring,
    pub(super) cv: CvRule,
    pub(super) rules: Thresholds,
    pub(super) ridge: f64,
    /// Empty: the top components alone.
    pub(super) sigma_ratios: Vec<f64>,
    pub(super) b_maxs: Vec<f64>,
    pub(super) k: Option<usize>,
    /// Whether fits on the top alone compete (line 9).
    pub(super) baseline: bool,
}

/// One row of `cv_results_`.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Index of the normalisation.
    pub(super) space: usize,
    pub(super) psi: Psi,
    pub(super) judgement: Judgement,
    /// Given up: `loss_avg`, which may be a lower bound, already rules the candidate out.
    pub(super) pruned: bool,
    /// On every split, or on those looked at.
    pub(super) losses: Vec<f64>,
}

/// The answer of Algorithm 2.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) space: usize,
    pub(super) psi: Psi,
    pub(super) k_max: Vec<usize>,
    pub(super) candidates: Vec<Candidate>,
}

/// The labels of one split, and $U^\top y$.
pub(super) struct Labels {
    pub(super) train: Vec<f64>,
    pub(super) holdout: Vec<f64>,
    pub(super) uty: Vec<f64>,
}

impl Labels {
    fn new(split: &Split, spectrum: &SplitSpectrum, y: &[f64]) -> Self {
        let train: Vec<f64> = split.train.iter().map(|&i| y[i]).collect();
        let uty = spectrum.train.u.tr_mul_vec(&train);
        Self { train, holdout: split.holdout.iter().map(|&i| y[i]).collect(), uty }
    }
}

impl Search {
    /// Runs the search over all normalisations for the labels `y`.
    pub(super) fn run(
        &self,
        spaces: &[Prepared],
        splits: &[Split],
        y: &[f64],
        control: &Control,
    ) -> Result<Found> {
        let mut candidates = Vec::new();
        let mut k_max = Vec::new();
        let mut cheapest = f64::INFINITY;
        for (index, prepared) in spaces.iter().enumerate() {
            let labels: Vec<Labels> = splits
                .iter()
                .zip(&prepared.splits)
                .map(|(split, spectrum)| Labels::new(split, spectrum, y))
                .collect();
            let (first, tops) = self.scan_tops(prepared, &labels, control)?;
            k_max.push(first + tops.len() - 1);
            control.progress(2 * index as u64 + 1, 2 * spaces.len() as u64);
            let mut found =
                self.candidates(prepared, &labels, (first, &tops), cheapest, control)?;
            for c in &mut found {
                c.space = index;
                if !c.pruned && c.psi.b_max > 0.0 {
                    cheapest = cheapest.min(c.judgement.cost);
                }
            }
            candidates.append(&mut found);
            control.progress(2 * index as u64 + 2, 2 * spaces.len() as u64);
        }
        candidates.sort_by(|a, b| {
            (a.space, a.psi.k)
                .cmp(&(b.space, b.psi.k))
                .then(a.psi.b_max.total_cmp(&b.psi.b_max))
                .then(b.psi.sigma_ratio.total_cmp(&a.psi.sigma_ratio))
        });
        let best = &candidates[self.choose(&candidates)];
        Ok(Found { space: best.space, psi: best.psi, k_max, candidates })
    }

    /// All candidates of one normalisation. The most promising k goes first and alone, so that its cost
    /// prunes the others, whatever the number of threads.
    fn candidates(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        (first, tops): (usize, &[TopFits]),
        cheapest: f64,
        control: &Control,
    ) -> Result<Vec<Candidate>> {
        let mut out: Vec<Candidate> = Vec::new();
        if self.baseline {
            out.extend(tops.iter().enumerate().map(|(t, top)| Candidate {
                space: 0,
                psi: Psi { k: first + t, sigma_ratio: 0.0, b_max: 0.0 },
                judgement: top.judgement,
                pruned: false,
                losses: top.losses.clone(),
            }));
        }
        if self.sigma_ratios.is_empty() {
            return Ok(out);
        }
        let mut order: Vec<usize> = (0..tops.len()).collect();
        order.sort_by(|&a, &b| tops[a].judgement.cost.total_cmp(&tops[b].judgement.cost));
        let tails = |&t: &usize, cheapest: f64| -> Result<Vec<Candidate>> {
            control.check()?;
            Ok(self.judge_tails(prepared, labels, (first + t, &tops[t]), cheapest))
        };
        let Some((lead, rest)) = order.split_first() else { return Ok(out) };
        let leading = tails(lead, cheapest)?;
        let live = leading.iter().filter(|c| !c.pruned).map(|c| c.judgement.cost);
        let cheapest = live.fold(cheapest, f64::min);
        out.extend(leading);
        let others: Vec<Vec<Candidate>> =
            rest.par_iter().map(|t| tails(t, cheapest)).collect::<Result<_>>()?;
        out.extend(others.into_iter().flatten());
        Ok(out)
    }

    /// The loss candidates are judged by, at the margins `base + c * slope`.
    pub(super) fn judged(&self, base: &[f64], slope: &[f64], c: f64) -> f64 {
        match self.scoring {
            Scoring::Loss => self.loss.mean_along(base, slope, c),
            Scoring::ZeroOne => zero_one_along(base, slope, c),
        }
    }

    /// Index of the winner; candidates are in the order of reading R8.
    fn choose(&self, candidates: &[Candidate]) -> usize {
        let judgement = |c: &Candidate| Judgement {
            cost: if c.pruned { f64::NAN } else { c.judgement.cost },
            ..c.judgement
        };
        let all: Vec<Judgement> = candidates.iter().map(judgement).collect();
        match self.cv {
            CvRule::Robust => {
                let is_top = |i: &usize| candidates[*i].psi.b_max == 0.0;
                let (tops, tails): (Vec<usize>, Vec<usize>) =
                    (0..candidates.len()).partition(is_top);
                let pick = |ids: &[usize]| ids.iter().map(|&i| all[i]).collect::<Vec<_>>();
                match self.rules.choose_against(&pick(&tails), &pick(&tops)) {
                    Some(Choice::Candidate(i)) => tails[i],
                    Some(Choice::Baseline(i)) => tops[i],
                    None => 0,
                }
            }
            CvRule::Standard => rules::choose_standard(&all).unwrap_or(0),
            CvRule::OneSd => {
                // From most to least regularised: few components, short tail, high ratio.
                let mut order: Vec<usize> = (0..candidates.len()).collect();
                order.sort_by_key(|&i| candidates[i].psi.k);
                let ordered: Vec<Judgement> = order.iter().map(|&i| all[i]).collect();
                let best = rules::choose_standard(&ordered).map_or(0, |i| order[i]);
                rules::choose_one_sd(&ordered, &candidates[best].losses).map_or(0, |i| order[i])
            }
        }
    }
}
