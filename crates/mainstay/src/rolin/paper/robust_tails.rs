//! Lines 20-23 of Algorithm 2: all candidates of one k.
//!
//! The cost of a candidate is never below its mean holdout loss, and that never below the mean over the
//! splits looked at so far and lower bounds for the others ([`super::tail_bounds`]). A candidate for which
//! this is above (1 + slack) times a cost already seen cannot enter line 25 and is given up; its training
//! losses are never computed.

use super::problem::{Psi, directions};
use super::reliable_scan::TopFits;
use super::rules::{self, Judgement};
use super::search::{Candidate, Labels, Scan, Search};
use super::tail_bounds::TailBounds;
use crate::linalg::Dense;
use crate::optim::grid::TIE;
use crate::rolin::shared::line_search::least_along_from;
use crate::rolin::shared::losses::{EvenGrid, PaperLoss};
use crate::rolin::shared::spectrum::SplitSpectrum;
use crate::rolin::{CvRule, Scoring};

/// One side of a split: margins are those of the top fit plus the length times a slope.
struct Side<'a> {
    /// Over the rows of this side.
    loss: PaperLoss<'a>,
    base: &'a [f64],
    /// One row for each sigma ratio.
    slopes: Dense,
}

/// Everything about the tail of one split at one k.
struct Tail<'a> {
    train: Side<'a>,
    holdout: Side<'a>,
    /// The unclipped (up to the largest bound) length for each sigma ratio.
    lengths: Vec<f64>,
}

/// The bounds on the length, in the units of the coordinates.
struct Bounds {
    values: Vec<f64>,
    even: Option<EvenGrid>,
}

impl Bounds {
    /// `b_maxs` in units of `unit`.
    fn new(b_maxs: &[f64], unit: f64) -> Self {
        let values: Vec<f64> = b_maxs.iter().map(|b| b * unit).collect();
        Self { even: EvenGrid::of(&values), values }
    }
}

/// All candidates of one k with their holdout losses, and the tails of the splits looked at.
pub(super) struct HoldoutTails<'a> {
    pub(super) candidates: Vec<Candidate>,
    tails: Vec<Tail<'a>>,
    bounds: Bounds,
}

impl Search {
    /// Holdout losses split by split, training losses where they can matter. `cheapest` is the least cost
    /// seen elsewhere.
    pub(super) fn judge_tails(
        &self,
        space: usize,
        scan: &Scan<'_>,
        t: usize,
        cheapest: f64,
    ) -> Vec<Candidate> {
        let limit = (1.0 + self.rules.slack) * cheapest;
        let HoldoutTails { mut candidates, tails, bounds } =
            self.holdout_tails(space, scan, t, limit);
        if self.cv == CvRule::Robust {
            self.add_costs(&tails, &bounds, cheapest, &mut candidates);
        }
        candidates
    }

    /// Lower bounds on the losses in splits not looked at yet, where candidates above `most` may be given up.
    fn bounds_ahead(&self, scan: &Scan<'_>, k: usize, top: &TopFits, most: f64) -> TailBounds {
        if self.cv == CvRule::Robust && most.is_finite() {
            self.tail_bounds(scan, k, top)
        } else {
            TailBounds::unknown(scan.prepared.splits.len(), self.sigma_ratios.len())
        }
    }

    /// Mean and largest holdout losses of all candidates of the `t`th k. Those whose cost is above `limit`
    /// are given up as soon as the splits looked at, and lower bounds for the others, say so; one that ties stays.
    pub(super) fn holdout_tails<'a>(
        &self,
        space: usize,
        scan: &'a Scan<'_>,
        t: usize,
        limit: f64,
    ) -> HoldoutTails<'a> {
        let (k, top, splits) = (scan.first + t, &scan.tops[t], &scan.prepared.splits);
        let bounds = Bounds::new(&self.b_maxs, scan.prepared.space.unit);
        let mut out = self.untried(space, k);
        let robust = self.cv == CvRule::Robust;
        let most = (1.0 + TIE) * limit * splits.len() as f64;
        let mut ahead = self.bounds_ahead(scan, k, top, most);
        let width = bounds.values.len();
        let mut sums: Vec<f64> =
            (0..out.len()).map(|i| ahead.least(i / width, bounds.values[i % width])).collect();
        out.iter_mut().zip(&sums).for_each(|(c, sum)| c.pruned = robust && *sum > most);
        let mut tails = Vec::new();
        for ((split, labels), margins) in splits.iter().zip(&scan.labels).zip(&top.margins) {
            if out.iter().all(|c| c.pruned) {
                break;
            }
            ahead.pop();
            let tail = self.tail(split, labels, k, margins, &bounds);
            let losses = self.holdout_losses(&tail, &bounds, &out);
            for (i, (c, loss)) in out.iter_mut().zip(losses).enumerate() {
                if !c.pruned {
                    c.losses.push(loss);
                    let known: f64 = c.losses.iter().sum();
                    sums[i] = known + ahead.least(i / width, bounds.values[i % width]);
                    c.pruned = robust && sums[i] > most;
                }
            }
            tails.push(tail);
        }
        for (c, sum) in out.iter_mut().zip(sums) {
            c.judge_by_holdout(sum / splits.len() as f64);
        }
        HoldoutTails { candidates: out, tails, bounds }
    }

    /// One candidate for each pair of ratio and bound.
    fn untried(&self, space: usize, k: usize) -> Vec<Candidate> {
        let nothing = Judgement { loss_avg: 0.0, loss_max: 0.0, loss_ratio: f64::NAN, cost: 0.0 };
        let new = |sigma_ratio: f64, b_max: f64| Candidate {
            space,
            psi: Psi { k, sigma_ratio, b_max },
            judgement: nothing,
            pruned: false,
            losses: Vec::new(),
        };
        let one_ratio = |&s: &f64| self.b_maxs.iter().map(move |&b| new(s, b));
        self.sigma_ratios.iter().flat_map(one_ratio).collect()
    }

    fn tail<'a>(
        &self,
        split: &SplitSpectrum,
        labels: &'a Labels,
        k: usize,
        (base_train, base_holdout): &'a (Vec<f64>, Vec<f64>),
        bounds: &Bounds,
    ) -> Tail<'a> {
        let spectrum = &split.train;
        let nu = directions(spectrum, &labels.uty, k, &self.sigma_ratios);
        let mut along = nu.clone();
        for r in 0..along.nrows() {
            along.row_mut(r).iter_mut().zip(&spectrum.d).for_each(|(v, d)| *v *= d);
        }
        let mut slope_train = along.mul_tr_beyond(&spectrum.u, k);
        let mut slope_holdout = nu.mul_tr_beyond(&split.holdout, k);
        for r in 0..nu.nrows() {
            spectrum.unscale(slope_train.row_mut(r));
            slope_train.row_mut(r).iter_mut().zip(&labels.train).for_each(|(v, y)| *v *= y);
            slope_holdout.row_mut(r).iter_mut().zip(&labels.holdout).for_each(|(v, y)| *v *= y);
        }
        let top = bounds.values.iter().copied().fold(0.0, f64::max);
        let loss = labels.on_train(self.loss);
        let weights = loss.weights(base_train);
        let least = |r| least_along_from(loss, base_train, slope_train.row(r), &weights, top);
        let lengths = (0..nu.nrows()).map(least).collect();
        let train = Side { loss, base: base_train, slopes: slope_train };
        let loss = labels.on_holdout(self.loss);
        Tail { train, holdout: Side { loss, base: base_holdout, slopes: slope_holdout }, lengths }
    }

    /// What every candidate loses on the holdout rows; anything for those given up.
    fn holdout_losses(&self, tail: &Tail<'_>, bounds: &Bounds, out: &[Candidate]) -> Vec<f64> {
        let side = &tail.holdout;
        let wanted = |cell: usize| !out[cell].pruned;
        match self.scoring {
            Scoring::Loss => fitting_losses(side, tail, bounds, wanted),
            Scoring::ZeroOne => {
                let value =
                    |r: usize, c: f64| self.judged(side.loss, side.base, side.slopes.row(r), c);
                clipped(tail, bounds, wanted, value)
            }
        }
    }

    /// Loss ratios and costs of the candidates still in the race: the most promising one alone, then all
    /// that its cost leaves.
    fn add_costs(
        &self,
        tails: &[Tail<'_>],
        bounds: &Bounds,
        mut cheapest: f64,
        out: &mut [Candidate],
    ) {
        let mut order: Vec<usize> = (0..out.len()).filter(|&i| !out[i].pruned).collect();
        order.sort_by(|&a, &b| out[a].judgement.loss_avg.total_cmp(&out[b].judgement.loss_avg));
        let (lead, rest) = order.split_at(1.min(order.len()));
        for batch in [lead, rest] {
            let limit = (1.0 + self.rules.slack) * cheapest;
            let mut live = vec![false; out.len()];
            for &i in batch {
                live[i] = out[i].judgement.loss_avg <= limit;
                out[i].pruned = !live[i];
            }
            self.add_ratios(tails, bounds, &live, out);
            for i in (0..out.len()).filter(|&i| live[i]) {
                cheapest = cheapest.min(out[i].judgement.cost);
            }
        }
    }

    fn add_ratios(
        &self,
        tails: &[Tail<'_>],
        bounds: &Bounds,
        live: &[bool],
        out: &mut [Candidate],
    ) {
        if !live.contains(&true) {
            return;
        }
        let wanted = |cell: usize| live[cell];
        let fitting = |tail: &Tail<'_>, side: &Side<'_>| fitting_losses(side, tail, bounds, wanted);
        let train: Vec<Vec<f64>> = tails.iter().map(|t| fitting(t, &t.train)).collect();
        let holdout: Vec<Vec<f64>> = match self.scoring {
            Scoring::Loss => Vec::new(),
            Scoring::ZeroOne => tails.iter().map(|t| fitting(t, &t.holdout)).collect(),
        };
        for i in (0..out.len()).filter(|&i| live[i]) {
            let of = |table: &[Vec<f64>]| table.iter().map(|row| row[i]).collect::<Vec<f64>>();
            let judged = &out[i].losses;
            out[i].judgement = match self.scoring {
                Scoring::Loss => self.rules.judge(judged, &of(&train), judged),
                Scoring::ZeroOne => self.rules.judge(judged, &of(&train), &of(&holdout)),
            };
        }
    }
}

/// The fitting loss for every cell; 0 where it is not wanted.
fn fitting_losses(
    side: &Side<'_>,
    tail: &Tail<'_>,
    bounds: &Bounds,
    wanted: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let value = |r: usize, c: f64| side.loss.mean_along(side.base, side.slopes.row(r), c);
    let Some(even) = bounds.even else { return clipped(tail, bounds, wanted, value) };
    let width = bounds.values.len();
    let mut out = vec![0.0; width * tail.lengths.len()];
    for (r, &length) in tail.lengths.iter().enumerate() {
        let Some(last) = (0..width).rev().find(|b| wanted(r * width + b)) else { continue };
        // The bounds ascend: those below the length bind, all others give the same answer.
        let below = bounds.values.partition_point(|b| *b < length).min(last + 1);
        let row = &mut out[r * width..(r + 1) * width];
        let binding = side.loss.mean_on_grid(side.base, side.slopes.row(r), even, below);
        row[..below].copy_from_slice(&binding);
        if below <= last {
            row[below..].fill(value(r, length));
        }
    }
    out
}

impl Candidate {
    /// What is known without training losses; lower bounds for a candidate given up.
    fn judge_by_holdout(&mut self, loss_avg: f64) {
        let (_, seen) = rules::average_and_largest(&self.losses);
        let loss_max = if self.pruned { seen.max(loss_avg) } else { seen };
        self.judgement = Judgement { loss_avg, loss_max, loss_ratio: f64::NAN, cost: loss_avg };
    }
}

/// `value(r, c)` for every wanted cell, with c the clipped length; equal lengths are evaluated once.
fn clipped(
    tail: &Tail<'_>,
    bounds: &Bounds,
    wanted: impl Fn(usize) -> bool,
    value: impl Fn(usize, f64) -> f64,
) -> Vec<f64> {
    let mut out = Vec::with_capacity(bounds.values.len() * tail.lengths.len());
    for (r, &length) in tail.lengths.iter().enumerate() {
        let mut full: Option<f64> = None;
        for &bound in &bounds.values {
            let loss = if !wanted(out.len()) {
                0.0
            } else if bound < length {
                value(r, bound)
            } else {
                *full.get_or_insert_with(|| value(r, length))
            };
            out.push(loss);
        }
    }
    out
}
