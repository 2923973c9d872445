//! Parameters of ROLIN and Top PCs, their defaults and checks, and which method each fit goes to.

use serde::{Deserialize, Serialize};

use super::extended::constants::ExtendedConstants;
use super::extended::fit::Extended;
use super::paper::fit::Paper;
use super::paper::rules::Thresholds;
use super::shared::kernel::KernelKind;
use super::shared::losses::PaperLoss;
use super::shared::row_weights::{GivenSplits, Plan};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Normalize, NormalizeRule};
use crate::error::{Error, Result, require};
use crate::folds::Cv;
use crate::loss::Loss;
use crate::model::{Estimator, Fitted};

/// Which ROLIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// A weighted average of calibrated candidates.
    #[default]
    Extended,
    /// Algorithms 1 and 2 as published, under the settled readings.
    Paper,
}

/// How candidates are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CvRule {
    /// Algorithm 2.
    #[default]
    Robust,
    /// Least mean holdout loss.
    Standard,
    /// The most regularised within one standard deviation of the least mean holdout loss.
    OneSd,
}

/// How candidates are chosen, or on which splits, by the usual rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected `robust`, `standard`, `one_sd` or pairs of row lists")]
pub enum RolinCv {
    /// By this rule, on stratified folds.
    Rule(CvRule),
    /// On these pairs of (rows to fit on, rows to judge on).
    Splits(GivenSplits),
}

impl From<CvRule> for RolinCv {
    fn from(rule: CvRule) -> Self {
        Self::Rule(rule)
    }
}

impl RolinCv {
    /// The rule; `usual` for splits.
    fn rule(&self, usual: CvRule) -> CvRule {
        if let Self::Rule(rule) = self { *rule } else { usual }
    }

    fn splits(&self) -> Option<GivenSplits> {
        if let Self::Splits(splits) = self { Some(splits.clone()) } else { None }
    }
}

/// What holdout rows are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    /// The fitting loss.
    #[default]
    Loss,
    /// Share of misclassified rows (Appendix B).
    ZeroOne,
}

/// Parameters of [`Rolin`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolinParams {
    /// Margin loss of Eq. (2).
    pub loss: Loss,
    /// The paper's method or ours.
    pub variant: Variant,
    /// How candidates are chosen (paper), or the splits.
    pub cv: RolinCv,
    /// What holdout rows are judged by.
    pub scoring: Scoring,
    /// Standardise the features?
    pub normalize: Normalize,
    /// `$\Theta_{ratio}$` (paper).
    pub theta_ratio: f64,
    /// `$\Theta_{slack}$` (paper).
    pub theta_slack: f64,
    /// `$\Theta_{gain}$` (paper).
    pub theta_gain: f64,
    /// Folds of one cross-validation.
    pub n_folds: usize,
    /// How often it is repeated.
    pub n_repeats: usize,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
    /// Grid of `$\sigma_{ratio}$`; default 1, 2, ..., 10 (paper).
    pub sigma_ratios: Option<Vec<f64>>,
    /// Grid of `$b_{max}$`; default ten points from 0.01 to 0.1 sqrt(n/15) (paper).
    pub b_maxs: Option<Vec<f64>>,
    /// Number of reliable components; default chosen (paper).
    pub k: Option<usize>,
    /// Ridge `$\epsilon$` of the fit on the reliable components (paper).
    pub s0_ridge: f64,
    /// Inner product.
    pub kernel: KernelKind,
    /// Seed of the splits.
    pub random_state: Option<u64>,
}

impl Default for RolinParams {
    fn default() -> Self {
        Self {
            loss: Loss::Logistic,
            variant: Variant::Extended,
            cv: CvRule::Robust.into(),
            scoring: Scoring::Loss,
            normalize: Normalize::Rule(NormalizeRule::Auto),
            theta_ratio: 5.0,
            theta_slack: 0.1,
            theta_gain: 0.05,
            n_folds: 5,
            n_repeats: 5,
            class_weight: ClassWeight::None,
            sigma_ratios: None,
            b_maxs: None,
            k: None,
            s0_ridge: 1e-6,
            kernel: KernelKind::Linear,
            random_state: None,
        }
    }
}

impl RolinParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<Rolin> {
        check_folds(&self.folds())?;
        let grid = |name: &'static str, values: &Option<Vec<f64>>| match values {
            Some(values) => {
                require(!values.is_empty(), name, "[]", "a grid with at least one value")?;
                values.iter().try_for_each(|&v| {
                    require(v > 0.0 && v.is_finite(), name, v, "positive and finite")
                })
            }
            None => Ok(()),
        };
        grid("sigma_ratios", &self.sigma_ratios)?;
        grid("b_maxs", &self.b_maxs)?;
        check_ridge(self.s0_ridge)?;
        check_normalize(self.normalize, self.kernel)?;
        self.thresholds().check()?;
        if self.variant == Variant::Extended {
            self.check_no_paper_knob()?;
        }
        Ok(Rolin(self))
    }

    fn folds(&self) -> Plan {
        Plan {
            given: self.cv.splits(),
            folds: self.n_folds,
            repeats: self.n_repeats,
            seed: self.random_state.unwrap_or(0),
            in_parts: false,
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds { ratio: self.theta_ratio, slack: self.theta_slack, gain: self.theta_gain }
    }

    /// The extended variant has no use for the paper's knobs: turning one is a mistake.
    fn check_no_paper_knob(&self) -> Result<()> {
        let usual = Self::default();
        let turned = [
            ("cv", self.cv.rule(CvRule::Robust) != CvRule::Robust),
            ("theta_ratio", self.theta_ratio != usual.theta_ratio),
            ("theta_slack", self.theta_slack != usual.theta_slack),
            ("theta_gain", self.theta_gain != usual.theta_gain),
            ("sigma_ratios", self.sigma_ratios.is_some()),
            ("b_maxs", self.b_maxs.is_some()),
            ("k", self.k.is_some()),
            ("s0_ridge", self.s0_ridge != usual.s0_ridge),
        ];
        match turned.iter().find(|(_, turned)| *turned) {
            Some((name, _)) => Err(Error::BadParams(format!(
                "`{name}` belongs to variant=\"paper\"; the extended variant does not use it"
            ))),
            None => Ok(()),
        }
    }
}

/// Parameters of [`TopPcs`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopPcsParams {
    /// Margin loss of Eq. (2).
    pub loss: Loss,
    /// How the number of components is chosen, or the splits.
    pub cv: RolinCv,
    /// What holdout rows are judged by.
    pub scoring: Scoring,
    /// Standardise the features?
    pub normalize: Normalize,
    /// `$\Theta_{ratio}$`, with `cv = "robust"`.
    pub theta_ratio: f64,
    /// `$\Theta_{slack}$`, with `cv = "robust"`.
    pub theta_slack: f64,
    /// Folds of one cross-validation.
    pub n_folds: usize,
    /// How often it is repeated.
    pub n_repeats: usize,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
    /// Number of components; default chosen.
    pub k: Option<usize>,
    /// Ridge `$\epsilon$` of the fit.
    pub s0_ridge: f64,
    /// Inner product.
    pub kernel: KernelKind,
    /// Seed of the splits.
    pub random_state: Option<u64>,
}

impl Default for TopPcsParams {
    fn default() -> Self {
        let rolin = RolinParams::default();
        Self {
            loss: rolin.loss,
            cv: CvRule::Standard.into(),
            scoring: rolin.scoring,
            normalize: rolin.normalize,
            theta_ratio: rolin.theta_ratio,
            theta_slack: rolin.theta_slack,
            n_folds: rolin.n_folds,
            n_repeats: rolin.n_repeats,
            class_weight: rolin.class_weight,
            k: None,
            s0_ridge: rolin.s0_ridge,
            kernel: rolin.kernel,
            random_state: None,
        }
    }
}

impl TopPcsParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<TopPcs> {
        check_folds(&self.folds())?;
        check_ridge(self.s0_ridge)?;
        check_normalize(self.normalize, self.kernel)?;
        self.thresholds().check()?;
        Ok(TopPcs(self))
    }

    fn folds(&self) -> Plan {
        Plan {
            given: self.cv.splits(),
            folds: self.n_folds,
            repeats: self.n_repeats,
            seed: self.random_state.unwrap_or(0),
            in_parts: false,
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds { ratio: self.theta_ratio, slack: self.theta_slack, gain: 0.0 }
    }
}

fn check_folds(plan: &Plan) -> Result<()> {
    require(plan.folds >= 2, "n_folds", plan.folds, "at least 2")?;
    require(plan.repeats >= 1, "n_repeats", plan.repeats, "at least 1")?;
    plan.given.as_ref().map_or(Ok(()), |given| Cv::Splits(given.clone()).check())
}

fn check_ridge(ridge: f64) -> Result<()> {
    require(ridge > 0.0 && ridge.is_finite(), "s0_ridge", ridge, "positive and finite")
}

/// A kernel sees the features as they are.
fn check_normalize(normalize: Normalize, kernel: KernelKind) -> Result<()> {
    let fits = kernel == KernelKind::Linear || normalize != Normalize::Fixed(true);
    require(fits, "normalize", "true", "false or \"auto\" with a kernel: scale the features first")
}

/// Robust linear classification from few samples: checked parameters.
#[derive(Debug, Clone)]
pub struct Rolin(RolinParams);

/// Classification on the top principal components alone: checked parameters.
#[derive(Debug, Clone)]
pub struct TopPcs(TopPcsParams);

impl Rolin {
    fn extended(&self, constants: ExtendedConstants) -> Extended {
        let p = &self.0;
        Extended {
            loss: p.loss,
            scoring: p.scoring,
            normalize: p.normalize,
            class_weight: p.class_weight.clone(),
            splits: p.folds(),
            kernel: p.kernel,
            constants,
        }
    }

    /// The extended variant with other constants than the frozen ones: for research.
    pub fn fit_with_constants(
        &self,
        constants: ExtendedConstants,
        data: &Dataset,
        control: &Control,
    ) -> Result<Fitted> {
        self.extended(constants).fit(data, control)
    }
}

impl Estimator for Rolin {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let p = &self.0;
        match p.variant {
            Variant::Paper => Paper {
                loss: PaperLoss::of(p.loss),
                cv: p.cv.rule(CvRule::Robust),
                scoring: p.scoring,
                normalize: p.normalize,
                rules: p.thresholds(),
                class_weight: p.class_weight.clone(),
                splits: p.folds(),
                sigma_ratios: p.sigma_ratios.clone(),
                b_maxs: p.b_maxs.clone(),
                k: p.k,
                ridge: p.s0_ridge,
                kernel: p.kernel,
                tail: true,
            }
            .fit(data, control),
            Variant::Extended => self.extended(ExtendedConstants::default()).fit(data, control),
        }
    }
}

impl Estimator for TopPcs {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let p = &self.0;
        Paper {
            loss: PaperLoss::of(p.loss),
            cv: p.cv.rule(CvRule::Standard),
            scoring: p.scoring,
            normalize: p.normalize,
            rules: p.thresholds(),
            class_weight: p.class_weight.clone(),
            splits: p.folds(),
            sigma_ratios: None,
            b_maxs: None,
            k: p.k,
            ridge: p.s0_ridge,
            kernel: p.kernel,
            tail: false,
        }
        .fit(data, control)
    }
}
