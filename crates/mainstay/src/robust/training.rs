//! What a fit knows about its rows: labels, shares, the stated damage, and parts of them where folds are dealt.

use std::borrow::Cow;

use super::average::Blurred;
use super::averaged::Averaged;
use super::certificate::certify;
use super::labels::{Correction, Rates, no_minimum};
use super::newton::{Hyperplane, minimise};
use super::params::RobustLogisticParams;
use super::problem::Problem;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::Result;
use crate::folds::Parts;
use crate::linalg::Compensated;
use crate::loss::{CERTAIN, expected_probability};
use crate::model::{BinaryFit, BinaryProblem};
use crate::optim::Budget;

/// Rows per unknown of the first fit of very many rows.
const START_ROWS: usize = 20;
/// How many times as many rows there have to be.
const LEAST_STRIDE: usize = 4;
/// Gap of that fit: far below what more rows change.
const START_TOL: f64 = 1e-3;

/// `b` plus `sign` times `$w^\top c$`, rounded once.
pub(super) fn moved(b: f64, w: &[f64], centre: &[f64], sign: f64) -> f64 {
    let mut sum = Compensated::new(b);
    w.iter().zip(centre).for_each(|(w, c)| sum.add_product(sign * w, *c));
    sum.value()
}

/// How often each merged row counts without class weights.
pub(super) fn counts(data: &Dataset, merged: &Merged) -> Vec<f64> {
    let mut counts = vec![0.0; merged.data.len()];
    for (i, position) in merged.position.iter().enumerate() {
        if let Some(k) = position {
            counts[k] += data.weights().map_or(1.0, |w| w[i]);
        }
    }
    // A class weight of 0 drops rows, a row weight of 0 is dropped before: all counts are positive.
    counts
}

/// Row weights as parts of 1.
pub(super) fn shares(data: &Dataset) -> Vec<f64> {
    let weights = data.weights().map_or_else(|| vec![1.0; data.len()].into(), Cow::Borrowed);
    let largest = weights.iter().fold(0.0, |m: f64, w| m.max(*w));
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    weights.iter().map(|w| w / largest / total).collect()
}

/// Everything a fit needs to know about its rows.
pub(super) struct Training<'a> {
    pub params: &'a RobustLogisticParams,
    pub rows: &'a Blurred,
    pub labels: &'a [usize],
    pub shares: &'a [f64],
    /// How many rows each of them stands for, class weights apart.
    pub copies: &'a [f64],
    pub rates: Rates,
    pub n_classes: usize,
}

/// Rows that are dealt to folds in parts.
pub(super) struct InParts {
    rows: Blurred,
    labels: Vec<usize>,
    shares: Vec<f64>,
    copies: Vec<f64>,
}

impl InParts {
    pub(super) fn new(whole: &Training<'_>, parts: &Parts, merged: &Merged) -> Self {
        Self {
            rows: whole.rows.select(&parts.rows),
            labels: parts.rows.iter().map(|&i| whole.labels[i]).collect(),
            shares: parts.divided(whole.shares, &merged.data),
            copies: parts.divided(whole.copies, &merged.data),
        }
    }

    pub(super) fn training<'a>(&'a self, whole: &Training<'a>) -> Training<'a> {
        let Self { rows, labels, shares, copies } = self;
        Training { rows, labels, shares, copies, ..*whole }
    }
}

/// As how many rows of equal weight rows with these `shares` count, each of which stands for so many `copies`.
pub(super) fn effective_rows(shares: &[f64], copies: &[f64]) -> f64 {
    1.0 / shares.iter().zip(copies).map(|(share, count)| share * share / count).sum::<f64>()
}

impl Training<'_> {
    /// The class that is +1 in each binary problem.
    pub(super) fn positives(&self) -> std::ops::Range<usize> {
        if self.n_classes == 2 { 1..2 } else { 0..self.n_classes }
    }

    /// Shares of some of the rows, as parts of 1.
    pub(super) fn shares_of(&self, rows: &[usize]) -> Vec<f64> {
        let total: f64 = rows.iter().map(|&i| self.shares[i]).sum();
        rows.iter().map(|&i| self.shares[i] / total).collect()
    }

    pub(super) fn problem<'b>(
        &self,
        rows: &'b Blurred,
        y: &'b [f64],
        shares: &'b [f64],
        alpha: f64,
        rates: Rates,
    ) -> Problem<'b> {
        let correction = self.params.correction.within(rates);
        let intercept = self.params.fit_intercept;
        Problem { rows, y, shares, alpha, rates, correction, intercept }
    }

    /// Refuses label rates with which the corrected loss has no minimum.
    pub(super) fn bounded(&self, problem: &Problem<'_>) -> Result<()> {
        let (up, down) = problem.growth();
        if !self.params.fit_intercept || (up > 0.0 && down > 0.0) {
            return Ok(());
        }
        let (positive, _) = problem.class_shares();
        Err(no_minimum(positive))
    }

    /// Zero weights; of very many rows the optimum of a few, evenly spread, which saves steps over all.
    fn start(&self, problem: &Problem<'_>, budget: &mut Budget<'_>) -> Result<Hyperplane> {
        let (n, p) = (problem.y.len(), self.rows.mean.ncols());
        let zero = Hyperplane { w: vec![0.0; p], b: 0.0 };
        let stride = n / (START_ROWS * (p + 1));
        if stride < LEAST_STRIDE {
            return Ok(zero);
        }
        let few: Vec<usize> = (0..n).step_by(stride).collect();
        let y: Vec<f64> = few.iter().map(|&i| problem.y[i]).collect();
        let (rows, shares) = (self.rows.select(&few), self.shares_of(&few));
        let correction = match problem.correction {
            Correction::Forward => Correction::After,
            other => other,
        };
        let part = Problem { rows: &rows, y: &y, shares: &shares, correction, ..*problem };
        if y.iter().all(|sign| *sign == y[0]) || self.bounded(&part).is_err() {
            return Ok(zero);
        }
        let most = budget.left();
        budget.stage(START_TOL, most, |budget| minimise(&part, &zero, budget))
    }

    /// The minimum.
    pub(super) fn solve(
        &self,
        problem: &Problem<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Hyperplane> {
        self.bounded(problem)?;
        let mut at = self.start(problem, budget)?;
        if problem.correction == Correction::Forward {
            // The convex problem first: a start from which the likelihood only rises.
            let convex = Problem { correction: Correction::After, ..*problem };
            at = minimise(&convex, &at, budget)?;
        }
        minimise(problem, &at, budget)
    }

    pub(super) fn fit(
        &self,
        binary: &BinaryProblem<'_>,
        alpha: f64,
        centre: &[f64],
        control: &Control,
    ) -> Result<BinaryFit> {
        let problem = self.problem(self.rows, &binary.y, self.shares, alpha, self.rates);
        let mut budget = Budget::new(self.params.tol, self.params.max_iter, control);
        let one_sign = binary.y.iter().all(|y| *y == binary.y[0]);
        let mut at =
            if one_sign { self.certain(binary.y[0]) } else { self.solve(&problem, &mut budget)? };
        let answer = self.answer(&problem, &mut at, centre, budget.spent());
        let certificate = if one_sign {
            Some(Certificate { primal: problem.value(&at.w, at.b), dual: 0.0 })
        } else {
            certify(&problem, &at.w, at.b)
        };
        Ok(BinaryFit { certificate, ..answer })
    }

    /// The answer to one problem of the average of several fits, which minimises nothing and has no certificate.
    pub(super) fn averaged(
        &self,
        binary: &BinaryProblem<'_>,
        found: &Averaged,
        centre: &[f64],
    ) -> BinaryFit {
        let problem = self.problem(self.rows, &binary.y, self.shares, found.alpha, self.rates);
        let own = found.planes.iter().find(|(positive, _)| *positive == binary.positive);
        let mut at = own.map_or_else(|| self.certain(binary.y[0]), |(_, plane)| plane.clone());
        self.answer(&problem, &mut at, centre, found.n_iter)
    }

    /// Where all rows have one sign.
    fn certain(&self, sign: f64) -> Hyperplane {
        let b = if self.params.fit_intercept { CERTAIN * sign } else { 0.0 };
        Hyperplane { w: vec![0.0; self.rows.mean.ncols()], b }
    }

    /// What is returned of `at`, which is rounded as that is; without a certificate.
    fn answer(
        &self,
        problem: &Problem<'_>,
        at: &mut Hyperplane,
        centre: &[f64],
        steps: usize,
    ) -> BinaryFit {
        // What is certified is the intercept as it is returned: far from zero it is rounded noticeably.
        let intercept = moved(at.b, &at.w, centre, -1.0);
        at.b = moved(intercept, &at.w, centre, 1.0);
        BinaryFit {
            intercept,
            weights: at.w.clone(),
            certificate: None,
            n_iter: steps.max(1),
            row_outputs: vec![("label_posterior", self.right(problem, at))],
            outputs: Vec::new(),
            warnings: Vec::new(),
            route: Vec::new(),
            proof: Vec::new(),
        }
    }

    /// The probability that each label is right.
    fn right(&self, problem: &Problem<'_>, at: &Hyperplane) -> Vec<f64> {
        let (margins, variances) = (problem.margins(&at.w, at.b), self.rows.variances(&at.w));
        (0..margins.len())
            .map(|i| {
                let p = expected_probability(margins[i], variances[i]);
                self.rates.trusted(problem.correction, problem.y[i], p)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::effective_rows;

    /// Four rows count as four, also where equal ones were merged; of unequal weights fewer count: (1 + 3)^2/(1 + 9).
    #[test]
    fn merged_copies_count_as_the_rows_they_stand_for() {
        assert_eq!(effective_rows(&[0.25; 4], &[1.0; 4]), 4.0);
        assert_eq!(effective_rows(&[0.5, 0.5], &[2.0, 2.0]), 4.0);
        assert_eq!(effective_rows(&[0.75, 0.25], &[3.0, 1.0]), 4.0);
        assert!((effective_rows(&[0.25, 0.75], &[1.0, 1.0]) - 1.6).abs() < 1e-15);
    }
}
