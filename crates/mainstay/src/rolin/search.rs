//! Algorithm 2: choosing $\psi$ by (robust) cross-validation, without looking at anything twice.
//!
//! One decomposition a split serves every candidate; the top fits for k = 1, 2, ... start from each
//! other; one minimisation along the tail serves every `b_max`; and a training loss is only computed
//! for candidates that can still be chosen: the cost is never below the mean holdout loss, so a
//! candidate whose mean is above (1 + slack) times a cost already seen cannot enter line 25.

use rayon::prelude::*;

use super::line::least_along;
use super::losses::{PaperLoss, zero_one_along};
use super::problem::{Psi, directions, top_weights};
use super::rules::{self, Choice, Judgement, Thresholds};
use super::space::{Prepared, SplitSpectrum};
use super::top_fit;
use super::{CvRule, Scoring};
use crate::control::Control;
use crate::error::Result;
use crate::folds::Split;
use crate::linalg::{Dense, vector};

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
    /// The training loss was not needed: `loss_avg` already rules the candidate out.
    pub(super) pruned: bool,
    losses: Vec<f64>,
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
struct Labels {
    train: Vec<f64>,
    holdout: Vec<f64>,
    uty: Vec<f64>,
}

/// The top fits of one k on every split.
struct TopFits {
    thetas: Vec<Vec<f64>>,
    judgement: Judgement,
    losses: Vec<f64>,
    /// Every training row of every split is on its right side.
    separates: bool,
}

/// Everything about the tail of one split at one k.
struct Tail {
    base_train: Vec<f64>,
    base_holdout: Vec<f64>,
    /// One row for each sigma ratio.
    slope_train: Dense,
    slope_holdout: Dense,
    /// The unclipped (up to the largest bound) length for each sigma ratio.
    lengths: Vec<f64>,
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
                .map(|(split, s)| {
                    let train: Vec<f64> = split.train.iter().map(|&i| y[i]).collect();
                    let uty = s.train.u.tr_mul_vec(&train);
                    Labels { train, holdout: split.holdout.iter().map(|&i| y[i]).collect(), uty }
                })
                .collect();
            let (first, tops) = self.scan_tops(prepared, &labels, control)?;
            k_max.push(first + tops.len() - 1);
            // The best k first: a low cost early prunes more. The order of results is restored below.
            let mut order: Vec<usize> = (0..tops.len()).collect();
            order.sort_by(|&a, &b| tops[a].judgement.cost.total_cmp(&tops[b].judgement.cost));
            for t in order {
                control.check()?;
                let k = first + t;
                if self.baseline {
                    candidates.push(Candidate {
                        space: index,
                        psi: Psi { k, sigma_ratio: 0.0, b_max: 0.0 },
                        judgement: tops[t].judgement,
                        pruned: false,
                        losses: tops[t].losses.clone(),
                    });
                }
                if !self.sigma_ratios.is_empty() {
                    let tails = self.tails(prepared, &labels, &tops[t].thetas, k);
                    let judged = self.judge_tails(&tails, k, prepared.space.unit, &mut cheapest);
                    candidates.extend(judged.into_iter().map(|c| Candidate { space: index, ..c }));
                }
                control.progress((index * 100 + 100 * (t + 1) / tops.len()) as u64, {
                    100 * spaces.len() as u64
                });
            }
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

    /// Lines 12-19 with the fits that lines 5-6 need: (first k, fits from there to `k_max`).
    ///
    /// The plain rules, which have no loss ratio, stop at the first k that separates the classes of
    /// every training split: from there on more components only fit noise.
    fn scan_tops(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        control: &Control,
    ) -> Result<(usize, Vec<TopFits>)> {
        let (first, last) = match self.k {
            Some(k) => (k, k),
            None => (1.min(prepared.limit), prepared.limit),
        };
        let mut tops: Vec<TopFits> = Vec::new();
        for k in first..=last {
            control.check()?;
            let fits = self.top_fits(prepared, labels, k, tops.last())?;
            if k > first
                && self.cv == CvRule::Robust
                && fits.judgement.loss_ratio > self.rules.ratio
            {
                break;
            }
            let stop = if self.cv == CvRule::Robust {
                fits.judgement.loss_ratio > self.rules.ratio
            } else {
                fits.separates
            };
            tops.push(fits);
            if stop {
                break;
            }
        }
        Ok((first, tops))
    }

    fn top_fits(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        k: usize,
        before: Option<&TopFits>,
    ) -> Result<TopFits> {
        let one = |(j, (split, labels)): (usize, (&SplitSpectrum, &Labels))| {
            let start = before.map_or(&[][..], |b| &b.thetas[j]);
            let signed = top_fit::signed_rows(&split.train.u, &labels.train, k);
            let theta = top_fit::minimise(
                self.loss,
                &signed,
                &vec![self.ridge; k + 1],
                start,
                top_fit::EXACT,
            )?;
            let train = signed.mul_vec(&theta);
            let holdout = holdout_margins(split, &labels.holdout, &theta);
            let separates = train.iter().all(|m| *m > 0.0);
            let judged = self.judged(&holdout, &holdout, 0.0);
            let fitting = (self.loss.mean(&train), self.loss.mean(&holdout));
            Ok((theta, judged, fitting, separates))
        };
        let parts: Vec<_> =
            prepared.splits.par_iter().zip(labels).enumerate().map(one).collect::<Result<_>>()?;
        let losses: Vec<f64> = parts.iter().map(|p| p.1).collect();
        let (train, holdout): (Vec<f64>, Vec<f64>) = parts.iter().map(|p| p.2).unzip();
        let judgement = self.finish(&losses, &train, &holdout);
        let separates = parts.iter().all(|p| p.3);
        let thetas = parts.into_iter().map(|p| p.0).collect();
        Ok(TopFits { thetas, judgement, losses, separates })
    }

    fn finish(&self, judged: &[f64], train: &[f64], holdout: &[f64]) -> Judgement {
        let judgement = self.rules.judge(judged, train, holdout);
        match self.cv {
            CvRule::Robust => judgement,
            CvRule::Standard | CvRule::OneSd => Judgement { cost: judgement.loss_avg, ..judgement },
        }
    }

    /// The loss candidates are judged by, at the margins `base + c * slope`.
    fn judged(&self, base: &[f64], slope: &[f64], c: f64) -> f64 {
        match self.scoring {
            Scoring::Loss => self.loss.mean_along(base, slope, c),
            Scoring::ZeroOne => zero_one_along(base, slope, c),
        }
    }

    fn tails(
        &self,
        prepared: &Prepared,
        labels: &[Labels],
        thetas: &[Vec<f64>],
        k: usize,
    ) -> Vec<Tail> {
        let top = self.b_maxs.iter().copied().fold(0.0, f64::max) * prepared.space.unit;
        let one = |((split, labels), theta): ((&SplitSpectrum, &Labels), &Vec<f64>)| {
            let spectrum = &split.train;
            let nu = directions(spectrum, &labels.uty, k, &self.sigma_ratios);
            let mut along = nu.clone();
            for r in 0..along.nrows() {
                along.row_mut(r).iter_mut().zip(&spectrum.d).for_each(|(v, d)| *v *= d);
            }
            let mut slope_train = along.mul_tr(&spectrum.u);
            let mut slope_holdout = nu.mul_tr(&split.holdout);
            for r in 0..nu.nrows() {
                slope_train.row_mut(r).iter_mut().zip(&labels.train).for_each(|(v, y)| *v *= y);
                slope_holdout.row_mut(r).iter_mut().zip(&labels.holdout).for_each(|(v, y)| *v *= y);
            }
            let base_train = top_fit::signed_rows(&spectrum.u, &labels.train, k).mul_vec(theta);
            let lengths = (0..nu.nrows())
                .map(|r| least_along(self.loss, &base_train, slope_train.row(r), top))
                .collect();
            let base_holdout = holdout_margins(split, &labels.holdout, theta);
            Tail { base_train, base_holdout, slope_train, slope_holdout, lengths }
        };
        prepared.splits.par_iter().zip(labels).zip(thetas).map(one).collect()
    }

    /// All candidates of one k: holdout losses first, training losses where they can matter.
    fn judge_tails(
        &self,
        tails: &[Tail],
        k: usize,
        unit: f64,
        cheapest: &mut f64,
    ) -> Vec<Candidate> {
        let grid =
            || (0..self.sigma_ratios.len()).flat_map(|r| self.b_maxs.iter().map(move |&b| (r, b)));
        let cells: Vec<(usize, f64)> = grid().map(|(r, b)| (r, b * unit)).collect();
        let table: Vec<Vec<f64>> = tails
            .par_iter()
            .map(|tail| {
                tail.at_distinct(&cells, |r, c| {
                    self.judged(&tail.base_holdout, tail.slope_holdout.row(r), c)
                })
            })
            .collect();
        let mut out: Vec<Candidate> = grid()
            .enumerate()
            .map(|(cell, (r, b_max))| {
                let losses: Vec<f64> = table.iter().map(|split| split[cell]).collect();
                let (loss_avg, loss_max) = rules::average_and_largest(&losses);
                Candidate {
                    space: 0,
                    psi: Psi { k, sigma_ratio: self.sigma_ratios[r], b_max },
                    judgement: Judgement {
                        loss_avg,
                        loss_max,
                        loss_ratio: f64::NAN,
                        cost: loss_avg,
                    },
                    pruned: false,
                    losses,
                }
            })
            .collect();
        if self.cv != CvRule::Robust {
            return out;
        }
        let mut order: Vec<usize> = (0..out.len()).collect();
        order.sort_by(|&a, &b| out[a].judgement.loss_avg.total_cmp(&out[b].judgement.loss_avg));
        // The most promising one alone, then all that its cost leaves in the race.
        let (lead, rest) = order.split_at(1.min(order.len()));
        for batch in [lead, rest] {
            let limit = (1.0 + self.rules.slack) * *cheapest;
            let (live, dead): (Vec<usize>, Vec<usize>) =
                batch.iter().partition(|&&i| out[i].judgement.loss_avg <= limit);
            for i in dead {
                out[i].pruned = true;
            }
            self.add_ratios(tails, &cells, &live, &mut out);
            *cheapest = live.iter().map(|&i| out[i].judgement.cost).fold(*cheapest, f64::min);
        }
        out
    }

    fn add_ratios(
        &self,
        tails: &[Tail],
        cells: &[(usize, f64)],
        live: &[usize],
        out: &mut [Candidate],
    ) {
        let wanted: Vec<(usize, f64)> = live.iter().map(|&i| cells[i]).collect();
        let pairs: Vec<(Vec<f64>, Vec<f64>)> = tails
            .par_iter()
            .map(|tail| {
                let train = tail.at_distinct(&wanted, |r, c| {
                    self.loss.mean_along(&tail.base_train, tail.slope_train.row(r), c)
                });
                let holdout = match self.scoring {
                    Scoring::Loss => Vec::new(),
                    Scoring::ZeroOne => tail.at_distinct(&wanted, |r, c| {
                        self.loss.mean_along(&tail.base_holdout, tail.slope_holdout.row(r), c)
                    }),
                };
                (train, holdout)
            })
            .collect();
        for (w, &i) in live.iter().enumerate() {
            let train: Vec<f64> = pairs.iter().map(|(train, _)| train[w]).collect();
            let judged = &out[i].losses;
            let judgement = match self.scoring {
                Scoring::Loss => self.rules.judge(judged, &train, judged),
                Scoring::ZeroOne => {
                    let holdout: Vec<f64> = pairs.iter().map(|(_, holdout)| holdout[w]).collect();
                    self.rules.judge(judged, &train, &holdout)
                }
            };
            out[i].judgement = judgement;
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

impl Tail {
    /// `value(r, c)` for every cell (r, bound) with c the clipped length; equal lengths are evaluated
    /// once.
    fn at_distinct(&self, cells: &[(usize, f64)], value: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut full: Vec<Option<f64>> = vec![None; self.lengths.len()];
        cells
            .iter()
            .map(|&(r, bound)| {
                if bound < self.lengths[r] {
                    value(r, bound)
                } else {
                    *full[r].get_or_insert_with(|| value(r, self.lengths[r]))
                }
            })
            .collect()
    }
}

fn holdout_margins(split: &SplitSpectrum, y: &[f64], theta: &[f64]) -> Vec<f64> {
    let weights = top_weights(&split.train, theta);
    let score = |i: usize| theta[0] + vector::dot(&split.holdout.row(i)[..weights.len()], &weights);
    y.iter().enumerate().map(|(i, y)| y * score(i)).collect()
}
