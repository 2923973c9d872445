//! The paper's ROLIN and Top PCs, from data to a fitted model.

use rayon::prelude::*;

use super::problem::{Psi, calc_beta};
use super::report::BinaryResult;
use super::rules::Thresholds;
use super::search::{Found, Search};
use super::space::{Prepared, Space};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Error, Result};
use crate::folds::{fold_warning, linear_grid};
use crate::model::Fitted;
use crate::rolin::shared::kernel::{Gram, KernelKind};
use crate::rolin::shared::losses::PaperLoss;
use crate::rolin::shared::row_weights::{Counted, Plan, RowWeights};
use crate::rolin::{CvRule, Normalize, Scoring};

/// Checked settings.
#[derive(Debug, Clone)]
pub(in crate::rolin) struct Paper {
    pub(in crate::rolin) loss: PaperLoss<'static>,
    pub(in crate::rolin) cv: CvRule,
    pub(in crate::rolin) scoring: Scoring,
    pub(in crate::rolin) normalize: Normalize,
    pub(in crate::rolin) rules: Thresholds,
    pub(in crate::rolin) class_weight: ClassWeight,
    pub(in crate::rolin) splits: Plan,
    pub(in crate::rolin) sigma_ratios: Option<Vec<f64>>,
    pub(in crate::rolin) b_maxs: Option<Vec<f64>>,
    pub(in crate::rolin) k: Option<usize>,
    pub(in crate::rolin) ridge: f64,
    pub(in crate::rolin) kernel: KernelKind,
    /// Whether the robust part is on.
    pub(in crate::rolin) tail: bool,
}

impl Paper {
    pub(in crate::rolin) fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let rows = Counted::new(data, &self.class_weight, &self.splits, self.kernel)?;
        let fitted = control.install(|| self.fit_here(&rows.data, &rows.plan, control))?;
        Ok(rows.restored(fitted))
    }

    fn fit_here(&self, data: &Dataset, folds: &Plan, control: &Control) -> Result<Fitted> {
        let weights = RowWeights::of(data);
        let gram = Gram::new(self.kernel, data)?;
        let normalizations = match self.normalize {
            _ if gram.is_some() => vec![false],
            Normalize::Fixed(flag) => vec![flag],
            Normalize::Rule(_) => vec![false, true],
        };
        let plan = self.plan(weights.total());
        let search_needed = !plan.is_single() || normalizations.len() > 1;
        let splits = if search_needed { folds.splits(data)? } else { Vec::new() };
        let prepare = |flag: bool| {
            control.check()?;
            let space = match &gram {
                Some(gram) => Space::from_kernel(&gram.values)?,
                None => Space::new(data.features(), flag, data.weights())?,
            };
            Prepared::new(space, &splits, weights.clone(), control)
        };
        let spaces: Vec<Prepared> =
            normalizations.into_par_iter().map(prepare).collect::<Result<_>>()?;
        self.check_k(&spaces)?;
        let classes = if data.n_classes() == 2 { 1..2 } else { 0..data.n_classes() };
        let mut chosen = Vec::new();
        for class in classes {
            let y = data.signs(class);
            let found =
                if search_needed { plan.run(&spaces, &splits, &y, control)? } else { plan.only() };
            chosen.push(self.refit(found, &spaces, &y)?);
        }
        let mut fitted = self.report(&chosen, &spaces, splits.len(), data, gram.as_ref());
        if search_needed && folds.given.is_none() {
            fitted.warnings.extend(fold_warning(data, folds.folds));
        }
        Ok(fitted)
    }

    fn plan(&self, rows: f64) -> Search {
        let grid = |given: &Option<Vec<f64>>, usual: Vec<f64>| {
            if self.tail { given.clone().unwrap_or(usual) } else { Vec::new() }
        };
        let widest = 0.1 * (rows / 15.0).sqrt();
        let search = Search {
            loss: self.loss,
            scoring: self.scoring,
            cv: self.cv,
            rules: self.rules,
            ridge: self.ridge,
            sigma_ratios: grid(&self.sigma_ratios, linear_grid(1.0, 10.0, 10)),
            b_maxs: grid(&self.b_maxs, linear_grid(0.01, widest, 10)),
            k: self.k,
            baseline: true,
        };
        let only_tail = self.tail && search.is_single();
        Search { baseline: !only_tail, ..search }
    }

    fn check_k(&self, spaces: &[Prepared]) -> Result<()> {
        let Some(k) = self.k else { return Ok(()) };
        let supported =
            |s: &Prepared| if s.splits.is_empty() { s.full.supports() } else { s.limit };
        let largest = spaces.iter().map(supported).min().unwrap_or(0);
        if k <= largest {
            return Ok(());
        }
        let rule = format!("at most {largest}, what these rows (in every training split) support");
        Err(Error::param("k", k, rule))
    }

    /// Algorithm 1 on all rows, for what the search has chosen.
    fn refit(&self, found: Found, spaces: &[Prepared], y: &[f64]) -> Result<BinaryResult> {
        let prepared = &spaces[found.space];
        let scaled = Psi { b_max: found.psi.b_max * prepared.space.unit, ..found.psi };
        let shares = prepared.weights.shares();
        let loss = self.loss.on(shares.as_deref());
        let beta = calc_beta(loss, &prepared.full, y, scaled, self.ridge)?;
        Ok(BinaryResult {
            space: found.space,
            psi: found.psi,
            k_max: found.k_max[found.space],
            candidates: found.candidates,
            beta,
            rank: prepared.full.rank,
        })
    }
}
