//! Parameters of the perceptron, passes over rows and streams, and its state.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::{ClassRule, ClassWeight, Dataset, check_weights, surely_once, weighted_rows};
use crate::error::{Error, Result, require};
use crate::folds::generator;
use crate::linalg::Matrix;
use crate::missing::values::{ValueRule, Values};
use crate::model::{Estimator, Fitted, Linear, Link, Model, Output};
use crate::optim::perceptron::{Learner, UpdateRule, learn_row};
use crate::uncertainty::Deletions;

/// Parameters of [`MissingPerceptron`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissingPerceptronParams {
    /// Total value of the features that may go missing, `$N$`.
    pub budget: f64,
    /// Value of every feature, `$v$`.
    pub values: Values,
    /// Margin asked for when nothing beyond the budget is missing, `$\gamma$`.
    pub margin: f64,
    /// Half the side of the box around the weights and the intercept.
    #[serde(rename = "C")]
    pub c: f64,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
    /// Weight of each class; a stream knows no "balanced".
    pub class_weight: ClassWeight,
    /// Passes over the rows.
    pub n_passes: usize,
    /// Whether every pass takes the rows in a new random order.
    pub shuffle: bool,
    /// Seed of the order; none is 0.
    pub random_state: Option<u64>,
}

impl Default for MissingPerceptronParams {
    fn default() -> Self {
        Self {
            budget: 1.0,
            values: Values::default(),
            margin: 1.0,
            c: 10.0,
            fit_intercept: true,
            class_weight: ClassWeight::None,
            n_passes: 1,
            shuffle: true,
            random_state: None,
        }
    }
}

impl MissingPerceptronParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<MissingPerceptron> {
        crate::missing::estimator::check_shared(self.budget, self.margin, self.c)?;
        require(self.n_passes > 0, "n_passes", self.n_passes, "at least 1")?;
        Ok(MissingPerceptron(self))
    }
}

/// The Perceptron on a cube, against an adversary that deletes features of every row (section 3).
///
/// Before row `$i$` the adversary deletes the set that maximises the loss (12),
/// ```math
/// \Big[\frac{\gamma V(J)}{P} - y\Big(b + \sum_{j\in J} w_jx_j\Big)\Big]_+,
/// ```
/// exactly ([`Deletions::exact`]). If it is positive, `$w_j \leftarrow [w_j + y\tau x_j]_{\pm C}$` for the features `$J$` that are
/// left and `$b \leftarrow [b + y\tau]_{\pm C}$`. The answer is the average of the hypotheses before each row, the first being 0.
///
/// **Step.** `fit` knows the number of rounds `$m$` (rows times passes) and takes the paper's
/// `$\tau = C\sqrt{(n+1)/(2m)}$`, which optimises Theorem 4. A stream has no `$m$`:
/// [`MissingPerceptron::partial_fit`] takes the same formula with the number of rounds so far, `$\tau_t = C\sqrt{(n+1)/(2t)}$`.
/// The plain average stays right: the cube has diameter `$2C\sqrt{n+1}$` and `$\|(x, 1)\|^2 \le 2$` for `$\|x\|_1 \le 1$`, so the
/// sum of losses exceeds that of any fixed hypothesis by at most `$3C\sqrt{2(n+1)t}$` at all times, three times
/// Theorem 4. Without an intercept `$n + 1$` is `$n$` and the 2 is 1.
///
/// **Weights.** A row of weight 3 has three rounds, as if it were there three times; what is left of a weight of 2.5 after
/// two rounds is half a round: half the step, and half the say in the average.
///
/// A row that causes no update costs one pass over its entries; memory is that of the weights, twice. More than two
/// classes: one learner per class, against the rest.
#[derive(Debug, Clone)]
pub struct MissingPerceptron(MissingPerceptronParams);

/// Everything a stream needs to go on: one learner per binary problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerceptronState {
    pub(super) values: Vec<f64>,
    pub(super) learners: Vec<Learner>,
    /// Rounds so far; parts of a round count as such.
    pub(super) rounds: f64,
}

/// Rows of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// One row per sample; 0 is a missing feature.
    pub x: &'a Matrix,
    /// Class index of every row.
    pub labels: &'a [usize],
    /// How many rounds every row has; one each if there are none.
    pub weights: Option<&'a [f64]>,
}

/// A row, and how much of a round it has: 1, or the rest of its weight.
type Round = (usize, f64);

impl MissingPerceptron {
    /// The parameters.
    pub fn params(&self) -> &MissingPerceptronParams {
        &self.0
    }

    /// An untrained state for a stream. The values must not depend on the rows: `mutual_info` is refused.
    pub fn start(&self, n_features: usize, n_classes: usize) -> Result<PerceptronState> {
        let values = match &self.0.values {
            Values::Rule(ValueRule::Uniform) => vec![1.0; n_features],
            Values::Given(values) if values.len() == n_features => values.clone(),
            Values::Given(values) => {
                return Err(Error::param(
                    "values",
                    format!("{} numbers", values.len()),
                    format!("one number for each of the {n_features} features"),
                ));
            }
            Values::Rule(ValueRule::MutualInfo) => {
                return Err(Error::param(
                    "values",
                    "mutual_info",
                    "uniform or an array with partial_fit: mutual information needs all rows, so call fit first",
                ));
            }
        };
        Deletions::leaving_something(values.clone(), self.0.budget)?;
        Ok(PerceptronState::new(values, n_classes))
    }

    /// Goes on with rows of a stream, in the order given, with the step for an unknown number of rounds.
    pub fn partial_fit(
        &self,
        state: &mut PerceptronState,
        batch: &Batch<'_>,
        control: &Control,
    ) -> Result<()> {
        state.fits(batch.x, batch.labels)?;
        let weights = self.stream_weights(state, batch)?;
        let rows: Vec<Round> = weights.into_iter().enumerate().collect();
        let order = rounds(&rows, control)?;
        let scale = self.step_scale(batch.x.ncols());
        self.pass(state, batch, &order, |round| scale / (round + 1.0).sqrt(), control)
    }

    /// What every row of a stream counts.
    fn stream_weights(&self, state: &PerceptronState, batch: &Batch<'_>) -> Result<Vec<f64>> {
        let n_classes = state.learners.len().max(2);
        let factors = match &self.0.class_weight {
            ClassWeight::Rule(ClassRule::Balanced) => {
                let rule =
                    "nothing or one factor per class with partial_fit: \"balanced\" needs all rows";
                return Err(Error::param("class_weight", "balanced", rule));
            }
            other => other.factors_of(&vec![0.0; n_classes])?,
        };
        if let Some(weights) = batch.weights {
            check_weights(weights, batch.labels.len())?;
        }
        let factor = |label: usize| factors.as_ref().map_or(1.0, |f| f[label]);
        let given = |i: usize| batch.weights.map_or(1.0, |w| w[i]);
        Ok(batch.labels.iter().enumerate().map(|(i, &label)| factor(label) * given(i)).collect())
    }

    /// `$\tau\sqrt m$`.
    pub(super) fn step_scale(&self, p: usize) -> f64 {
        let extra = usize::from(self.0.fit_intercept);
        self.0.c * ((p + extra) as f64 / (1 + extra) as f64).sqrt()
    }

    fn pass(
        &self,
        state: &mut PerceptronState,
        batch: &Batch<'_>,
        order: &[Round],
        step: impl Fn(f64) -> f64,
        control: &Control,
    ) -> Result<()> {
        /// Rounds between looks at the control.
        const STRIDE: usize = 4096;
        let set = Deletions::leaving_something(state.values.clone(), self.0.budget)?;
        let rule = UpdateRule::new(&set, self.0.margin, self.0.c, self.0.fit_intercept);
        let mut items = Vec::new();
        for (count, &(i, part)) in order.iter().enumerate() {
            if count.is_multiple_of(STRIDE) {
                control.check()?;
            }
            let (step, end) = (part * step(state.rounds), state.rounds + part);
            let row = (batch.x.row(i), batch.labels[i]);
            learn_row(&mut state.learners, row, (step, end), &rule, &mut items);
            state.rounds = end;
        }
        Ok(())
    }

    /// Trains on all rows and returns the state, from which a stream can go on.
    pub fn train(&self, data: &Dataset, control: &Control) -> Result<PerceptronState> {
        let data = &*self.0.class_weight.applied(data)?;
        let values = self.0.values.resolve(data)?;
        let mut state = PerceptronState::new(values, data.n_classes());
        let mut order = self.rounds_of(data, control)?;
        let total: f64 = order.iter().map(|(_, part)| part).sum();
        let step = self.step_scale(data.n_features()) / (total * self.0.n_passes as f64).sqrt();
        let mut rng = generator(self.0.random_state.unwrap_or(0));
        let batch = Batch { x: data.features(), labels: data.labels(), weights: None };
        for pass in 0..self.0.n_passes {
            if self.0.shuffle {
                order.shuffle(&mut rng);
            }
            self.pass(&mut state, &batch, &order, |_| step, control)?;
            control.progress(pass as u64 + 1, self.0.n_passes as u64);
        }
        Ok(state)
    }

    /// The rounds of one pass, as given unless they are shuffled and some row counts more or less than once: then in an
    /// order that does not tell a weight from copies.
    fn rounds_of(&self, data: &Dataset, control: &Control) -> Result<Vec<Round>> {
        let given = |i: usize| (i, data.weights().map_or(1.0, |w| w[i]));
        let mut rows: Vec<Round> = (0..data.len()).map(given).filter(|row| row.1 > 0.0).collect();
        if self.0.shuffle && !surely_once(data) {
            let distinct = weighted_rows(data);
            if distinct.iter().any(|(_, weight)| *weight != 1.0) {
                rows = distinct;
            }
        }
        rounds(&rows, control)
    }
}

/// Most rounds of a pass, unless there are more rows: seconds of work, and 160 MB. A weight beyond 2^53 would never be used
/// up.
const MOST_ROUNDS: f64 = 1e7;

/// Every row as often as its weight says, the last time for the rest of it.
fn rounds(rows: &[Round], control: &Control) -> Result<Vec<Round>> {
    let total: f64 = rows.iter().map(|(_, weight)| weight.ceil()).sum();
    if total > MOST_ROUNDS.max(rows.len() as f64) {
        return Err(Error::BadData(format!(
            "weights of {total:.1e} in all, each unit of which is a round of the perceptron: at most {MOST_ROUNDS:.0e} are \
             taken; divide all weights by the same number"
        )));
    }
    let bytes = total * size_of::<Round>() as f64;
    control.afford(bytes, &format!("{total:.0} rounds, one for every unit of weight,"))?;
    let mut order = Vec::with_capacity(rows.len());
    for &(row, weight) in rows {
        let mut left = weight;
        while left > 0.0 {
            order.push((row, left.min(1.0)));
            left -= 1.0;
        }
    }
    Ok(order)
}

impl Estimator for MissingPerceptron {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let state = self.train(data, control)?;
        state.fitted(self.0.n_passes)
    }
}

impl PerceptronState {
    fn new(values: Vec<f64>, n_classes: usize) -> Self {
        let learners = if n_classes == 2 { 1 } else { n_classes };
        Self { learners: vec![Learner::new(values.len()); learners], values, rounds: 0.0 }
    }

    /// The averaged hypothesis with the values of the features and what a stream needs to go on.
    pub fn fitted(&self, n_passes: usize) -> Result<Fitted> {
        let mut fitted = Fitted::new(self.model(), n_passes).with("state", self.to_output()?);
        fitted.values = Some(self.values.clone());
        Ok(fitted)
    }

    /// The averaged hypothesis.
    pub fn model(&self) -> Model {
        let (coef, intercept) =
            self.learners.iter().map(|learner| learner.average(self.rounds)).unzip();
        Model::Linear(Linear { coef, intercept, link: Link::None })
    }

    /// Rows seen so far, every pass counted.
    pub fn rounds(&self) -> f64 {
        self.rounds
    }

    /// Value of every feature.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The state as text that [`PerceptronState::from_text`] reads back to the same bits.
    pub fn to_output(&self) -> Result<Output> {
        serde_json::to_string(self).map(Output::Text).map_err(|e| Error::BadModel(e.to_string()))
    }

    /// Reads a state that [`PerceptronState::to_output`] wrote, and checks it.
    pub fn from_text(text: &str) -> Result<Self> {
        let state: Self = serde_json::from_str(text)
            .map_err(|e| Error::BadModel(format!("state of the perceptron: {e}")))?;
        let p = state.values.len();
        let sound = |l: &Learner| {
            let parts = [&l.weights, &l.changes];
            parts.iter().all(|v| v.len() == p && v.iter().all(|x| x.is_finite()))
                && l.intercept.is_finite()
                && l.intercept_changes.is_finite()
        };
        let counted = state.rounds.is_finite() && state.rounds >= 0.0;
        if p == 0 || !counted || state.learners.is_empty() || !state.learners.iter().all(sound) {
            return Err(Error::BadModel("the state of the perceptron is damaged".into()));
        }
        Ok(state)
    }

    fn fits(&self, x: &Matrix, labels: &[usize]) -> Result<()> {
        if x.ncols() != self.values.len() {
            return Err(Error::Mismatch(format!(
                "the data have {} features, the stream so far had {}",
                x.ncols(),
                self.values.len()
            )));
        }
        if labels.len() != x.nrows() {
            return Err(Error::BadData(format!("{} rows but {} labels", x.nrows(), labels.len())));
        }
        let classes = self.learners.len().max(2);
        if let Some(label) = labels.iter().find(|label| **label >= classes) {
            return Err(Error::BadData(format!(
                "class index {label}, but there are {classes} classes"
            )));
        }
        if let Some((row, column, value)) = x.first_not_finite() {
            return Err(Error::BadCell {
                row,
                column: column.to_string(),
                problem: format!("{value} is not a finite number; drop or impute it"),
            });
        }
        Ok(())
    }
}
