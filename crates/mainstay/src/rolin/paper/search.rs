//! Algorithm 2: choosing `$\psi$` by (robust) cross-validation, without looking at anything twice.
//!
//! One decomposition per split serves every candidate; the top fits for k = 1, 2, ... start from each
//! other ([`super::reliable_scan`]); one minimisation along the tail serves every `b_max`; and candidates are
//! given up as soon as they cannot be chosen any more ([`super::robust_tails`]).

use rayon::prelude::*;

use super::problem::Psi;
use super::reliable_scan::TopFits;
use super::rules::{self, Choice, Judgement, Thresholds};
use super::space::Prepared;
use crate::control::Control;
use crate::error::Result;
use crate::folds::Split;
use crate::rolin::shared::losses::PaperLoss;
use crate::rolin::shared::row_weights::RowWeights;
use crate::rolin::shared::spectrum::SplitSpectrum;
use crate::rolin::{CvRule, Scoring};

/// What is searched and how it is judged.
#[derive(Debug, Clone)]
pub(super) struct Search {
    pub(super) loss: PaperLoss<'static>,
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

/// The fits on the top components alone, as candidates.
fn baseline(scans: &[Scan<'_>]) -> Vec<Candidate> {
    let one = |space: usize, k: usize, top: &TopFits| Candidate {
        space,
        psi: Psi { k, sigma_ratio: 0.0, b_max: 0.0 },
        judgement: top.judgement,
        pruned: false,
        losses: top.losses.clone(),
    };
    let of = |(s, scan): (usize, &Scan<'_>)| {
        scan.tops.iter().zip(scan.first..).map(move |(top, k)| one(s, k, top)).collect::<Vec<_>>()
    };
    scans.iter().enumerate().flat_map(of).collect()
}

/// The labels of one split, what its rows count, and `$U^\top y$`.
pub(super) struct Labels {
    pub(super) train: Vec<f64>,
    pub(super) holdout: Vec<f64>,
    pub(super) uty: Vec<f64>,
    train_shares: Option<Vec<f64>>,
    holdout_shares: Option<Vec<f64>>,
}

impl Labels {
    pub(super) fn new(
        split: &Split,
        spectrum: &SplitSpectrum,
        y: &[f64],
        weights: &RowWeights,
    ) -> Self {
        let train: Vec<f64> = split.train.iter().map(|&i| y[i]).collect();
        Self {
            uty: spectrum.train.loads(&train),
            train,
            holdout: split.holdout.iter().map(|&i| y[i]).collect(),
            train_shares: weights.select(&split.train).shares(),
            holdout_shares: weights.select(&split.holdout).shares(),
        }
    }

    /// `loss` over the training rows.
    pub(super) fn on_train(&self, loss: PaperLoss<'_>) -> PaperLoss<'_> {
        loss.on(self.train_shares.as_deref())
    }

    /// `loss` over the holdout rows.
    pub(super) fn on_holdout(&self, loss: PaperLoss<'_>) -> PaperLoss<'_> {
        loss.on(self.holdout_shares.as_deref())
    }
}

/// One normalisation with its fits on the top components: k = `first`, `first` + 1, ...
pub(super) struct Scan<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) labels: Vec<Labels>,
    pub(super) first: usize,
    pub(super) tops: Vec<TopFits>,
}

impl Search {
    /// Nothing to choose but the normalisation.
    pub(super) fn is_single(&self) -> bool {
        let one_tail = self.sigma_ratios.len() * self.b_maxs.len() == 1;
        self.k.is_some() && (one_tail || self.sigma_ratios.is_empty())
    }

    /// The only setting there is.
    pub(super) fn only(&self) -> Found {
        let psi = Psi {
            k: self.k.unwrap_or(0),
            sigma_ratio: self.sigma_ratios.first().copied().unwrap_or(0.0),
            b_max: self.b_maxs.first().copied().unwrap_or(0.0),
        };
        Found { space: 0, psi, k_max: vec![psi.k], candidates: Vec::new() }
    }

    /// Runs the search over all normalisations for the labels `y`.
    pub(super) fn run(
        &self,
        spaces: &[Prepared],
        splits: &[Split],
        y: &[f64],
        control: &Control,
    ) -> Result<Found> {
        let mut scans = Vec::with_capacity(spaces.len());
        for (index, prepared) in spaces.iter().enumerate() {
            let labels: Vec<Labels> = splits
                .iter()
                .zip(&prepared.splits)
                .map(|(split, spectrum)| Labels::new(split, spectrum, y, &prepared.weights))
                .collect();
            let (first, tops) = self.scan_reliable(prepared, &labels, control)?;
            scans.push(Scan { prepared, labels, first, tops });
            control.progress(index as u64 + 1, spaces.len() as u64 + 1);
        }
        let mut candidates = if self.baseline { baseline(&scans) } else { Vec::new() };
        if !self.sigma_ratios.is_empty() {
            let tails = self.tails(&scans, &candidates, control)?;
            candidates.extend(tails);
        }
        control.progress(spaces.len() as u64 + 1, spaces.len() as u64 + 1);
        candidates.sort_by(|a, b| {
            (a.space, a.psi.k)
                .cmp(&(b.space, b.psi.k))
                .then(a.psi.b_max.total_cmp(&b.psi.b_max))
                .then(b.psi.sigma_ratio.total_cmp(&a.psi.sigma_ratio))
        });
        let k_max = scans.iter().map(|s| s.first + s.tops.len() - 1).collect();
        let best = &candidates[self.choose(&candidates)];
        Ok(Found { space: best.space, psi: best.psi, k_max, candidates })
    }

    /// All candidates with a tail. The most promising k goes first and alone, so that what it says prunes
    /// the others, whatever the number of threads.
    fn tails(
        &self,
        scans: &[Scan<'_>],
        baseline: &[Candidate],
        control: &Control,
    ) -> Result<Vec<Candidate>> {
        let mut order: Vec<(usize, usize)> =
            (0..scans.len()).flat_map(|s| (0..scans[s].tops.len()).map(move |t| (s, t))).collect();
        let cost = |&(s, t): &(usize, usize)| scans[s].tops[t].judgement.cost;
        order.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let Some((lead, rest)) = order.split_first() else { return Ok(Vec::new()) };
        if let Some(bar) = self.bar(baseline)
            && let Some(beaten) = self.all_above(bar, scans, (lead, rest), control)?
        {
            return Ok(beaten);
        }
        let judged = |&(s, t): &(usize, usize), cheapest: f64| {
            control.check()?;
            Ok(self.judge_tails(s, &scans[s], t, cheapest))
        };
        let mut out = judged(lead, f64::INFINITY)?;
        let live = out.iter().filter(|c| !c.pruned).map(|c| c.judgement.cost);
        let cheapest = live.fold(f64::INFINITY, f64::min);
        let others: Vec<Vec<Candidate>> =
            rest.par_iter().map(|at| judged(at, cheapest)).collect::<Result<_>>()?;
        out.extend(others.into_iter().flatten());
        Ok(out)
    }

    /// The cost that a tail has to stay below to replace the baseline (line 9), where there is one.
    fn bar(&self, baseline: &[Candidate]) -> Option<f64> {
        let all: Vec<Judgement> = baseline.iter().map(|c| c.judgement).collect();
        let chosen = self.rules.choose(&all).filter(|_| self.cv == CvRule::Robust)?;
        Some((1.0 - self.rules.gain) * all[chosen].cost).filter(|bar| bar.is_finite())
    }

    /// All tails, given up, if none of them stays below `bar`: then the baseline wins line 9, whichever
    /// of them lines 24-26 would choose.
    fn all_above(
        &self,
        bar: f64,
        scans: &[Scan<'_>],
        (lead, rest): (&(usize, usize), &[(usize, usize)]),
        control: &Control,
    ) -> Result<Option<Vec<Candidate>>> {
        let above = |&(s, t): &(usize, usize)| -> Result<Option<Vec<Candidate>>> {
            control.check()?;
            let found = self.holdout_tails(s, &scans[s], t, bar).candidates;
            Ok(found.iter().all(|c| c.pruned).then_some(found))
        };
        let Some(mut out) = above(lead)? else { return Ok(None) };
        // The first that is not ends the work of all others.
        let others: Option<Vec<Vec<Candidate>>> = rest
            .par_iter()
            .map(|at| above(at).transpose())
            .collect::<Option<Result<_>>>()
            .transpose()?;
        Ok(others.map(|others| {
            out.extend(others.into_iter().flatten());
            out
        }))
    }

    /// The loss candidates are judged by, at the margins `base + c * slope`.
    pub(super) fn judged(&self, loss: PaperLoss<'_>, base: &[f64], slope: &[f64], c: f64) -> f64 {
        match self.scoring {
            Scoring::Loss => loss.mean_along(base, slope, c),
            Scoring::ZeroOne => loss.wrong_along(base, slope, c),
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
