//! What the tails can gain at most, from the top fits alone.
//!
//! Along a tail the mean holdout loss is convex in the length c: never below
//! `$L + c\,g^\top t$`, where L is the loss of the top fit, g its slopes and t the direction at the holdout
//! rows. With c in `$[0, b]$` that is `$L + b \min(0, g^\top t)$`, and `$g^\top t = (V^\top X_{hold}^\top g)^\top \nu$`
//! needs neither training rows nor a single loss.

use super::problem::directions;
use super::reliable_scan::TopFits;
use super::search::{Labels, Scan, Search};
use crate::linalg::vector;
use crate::rolin::Scoring;
use crate::rolin::shared::spectrum::SplitSpectrum;

/// Lower bounds for the sums of holdout losses over the splits not looked at yet.
pub(super) struct TailBounds {
    /// Sums from every split to the last: of the losses at c = 0, and of their negative slopes for every
    /// ratio. The last split comes first.
    sums: Vec<(f64, Vec<f64>)>,
}

impl TailBounds {
    /// Losses are not negative, and nothing else is known.
    pub(super) fn unknown(splits: usize, ratios: usize) -> Self {
        Self { sums: vec![(0.0, vec![0.0; ratios]); splits] }
    }

    /// One split was looked at.
    pub(super) fn pop(&mut self) {
        self.sums.pop();
    }

    /// The least that the sum can be for a ratio and a bound on the length.
    pub(super) fn least(&self, ratio: usize, bound: f64) -> f64 {
        self.sums.last().map_or(0.0, |(at_zero, slopes)| (at_zero + bound * slopes[ratio]).max(0.0))
    }
}

impl Search {
    /// For all splits of one k.
    pub(super) fn tail_bounds(&self, scan: &Scan<'_>, k: usize, top: &TopFits) -> TailBounds {
        let (splits, ratios) = (scan.prepared.splits.len(), self.sigma_ratios.len());
        if self.scoring == Scoring::ZeroOne {
            return TailBounds::unknown(splits, ratios);
        }
        let mut sums = Vec::with_capacity(splits);
        let mut total = (0.0, vec![0.0; ratios]);
        for s in (0..splits).rev() {
            let (split, labels) = (&scan.prepared.splits[s], &scan.labels[s]);
            total.0 += top.losses[s];
            let slopes = self.first_slopes(split, labels, k, &top.margins[s].1);
            total.1.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope.min(0.0));
            sums.push(total.clone());
        }
        TailBounds { sums }
    }

    /// Slope in c, at 0, of the mean holdout loss along the tail of every ratio.
    fn first_slopes(
        &self,
        split: &SplitSpectrum,
        labels: &Labels,
        k: usize,
        margins: &[f64],
    ) -> Vec<f64> {
        let (mut slopes, _) = labels.on_holdout(self.loss).weights(margins);
        slopes.iter_mut().zip(&labels.holdout).for_each(|(g, y)| *g *= y);
        let gradient = split.holdout.tr_mul_vec(&slopes);
        let nu = directions(&split.train, &labels.uty, k, &self.sigma_ratios);
        (0..nu.nrows()).map(|r| vector::dot(nu.row(r), &gradient)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::folds::stratified;
    use crate::linalg::Dense;
    use crate::loss::Loss;
    use crate::rolin::CvRule;
    use crate::rolin::paper::rules::Thresholds;
    use crate::rolin::paper::space::{Prepared, Space};
    use crate::rolin::shared::losses::PaperLoss;
    use crate::rolin::shared::row_weights::RowWeights;

    fn search(loss: Loss) -> Search {
        Search {
            loss: PaperLoss::of(loss),
            scoring: Scoring::Loss,
            cv: CvRule::Robust,
            rules: Thresholds { ratio: 1e9, ..Thresholds::default() },
            ridge: 1e-3,
            sigma_ratios: vec![1.0, 10.0],
            b_maxs: vec![0.01, 0.3, 4.0],
            k: None,
            baseline: true,
        }
    }

    /// Both on all splits and on those that are left after some were looked at.
    #[test]
    fn no_tail_loses_less_than_its_bound() {
        let (n, p) = (30, 6);
        let x = Dense::from_fn(n, p, |i, j| ((i * 7 + j * 5 + i * j) as f64 * 0.37).sin());
        let y: Vec<f64> =
            (0..n).map(|i| if x[(i, 3)] + x[(i, 5)] > 0.2 { 1.0 } else { -1.0 }).collect();
        let classes: Vec<usize> = y.iter().map(|v| usize::from(*v > 0.0)).collect();
        let splits = stratified(&classes, 5, 1, 0);
        let (control, space) = (Control::new(), Space::new(&x.into(), false, None).unwrap());
        let prepared = Prepared::new(space, &splits, RowWeights::equal(n), &control).unwrap();
        for loss in [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
            let search = search(loss);
            let new = |(s, d)| Labels::new(s, d, &y, &prepared.weights);
            let labels: Vec<Labels> = splits.iter().zip(&prepared.splits).map(new).collect();
            let (first, tops) = search.scan_reliable(&prepared, &labels, &control).unwrap();
            let scan = Scan { prepared: &prepared, labels, first, tops };
            for (t, top) in scan.tops.iter().enumerate() {
                let mut tail_bounds = search.tail_bounds(&scan, first + t, top);
                let exact = search.holdout_tails(0, &scan, t, f64::INFINITY).candidates;
                for seen in 0..splits.len() {
                    for (i, c) in exact.iter().enumerate() {
                        let left: f64 = c.losses[seen..].iter().sum();
                        assert!(
                            tail_bounds.least(i / 3, search.b_maxs[i % 3]) <= left + 1e-12,
                            "{loss:?}"
                        );
                    }
                    tail_bounds.pop();
                }
            }
        }
    }
}
