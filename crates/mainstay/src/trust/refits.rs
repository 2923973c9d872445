//! The same fit on other samples: what would the model have been with other rows of the same kind?

use std::borrow::Cow;

use rand::RngExt as _;
use rayon::prelude::*;
use serde_json::Value;

use crate::control::Control;
use crate::data::{Dataset, NanRule};
use crate::error::{Error, Result};
use crate::folds::generator;
use crate::methods::Method;
use crate::model::{Estimator, Fitted, ImputeFirst, Model, StandardizeFirst};

/// How a model was fitted, to do it again.
#[derive(Debug, Clone, Copy)]
pub struct Refit<'a> {
    /// The method.
    pub method: &'a Method,
    /// Its parameters.
    pub params: &'a Value,
    /// Whether features are standardised first.
    pub standardized: bool,
    /// Whether cells are filled from the other features first.
    pub imputed: bool,
}

impl<'a> Refit<'a> {
    /// How `model` was fitted. A method that refuses missing cells and yet has a model that fills them was fitted to
    /// filled rows.
    pub fn of(model: &Model, method: &'a Method, params: &'a Value, standardized: bool) -> Self {
        let refuses = method.nan_rule(params) == NanRule::Refuse;
        let imputed = refuses && model.fills_cells();
        Self { method, params, standardized, imputed }
    }

    /// What becomes of missing cells.
    pub fn nan_rule(&self) -> NanRule {
        if self.imputed { NanRule::Keep } else { self.method.nan_rule(self.params) }
    }

    /// Fits to other rows.
    pub fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let plain = self.method.estimator(self.params)?;
        let filling = ImputeFirst(plain.as_ref());
        let inner: &dyn Estimator = if self.imputed { &filling } else { plain.as_ref() };
        if self.standardized {
            StandardizeFirst(inner).fit(data, control)
        } else {
            inner.fit(data, control)
        }
    }
}

/// The rows that count: one of weight 0 is as good as absent, so nobody draws or counts it.
pub(super) fn present(data: &Dataset) -> Cow<'_, Dataset> {
    if data.weights().is_none_or(|weights| weights.iter().all(|w| *w > 0.0)) {
        return Cow::Borrowed(data);
    }
    let rows: Vec<usize> = data.counting_rows().collect();
    Cow::Owned(data.select_rows(&rows))
}

/// Models fitted to `count` bootstrap samples: rows drawn with replacement, as many of every class as there are, each with
/// its weight.
///
/// Samples that cannot be fitted (all copies of one row, say) are left out; if more than half fail, the first error
/// is the answer.
pub fn bootstrap(
    refit: Refit<'_>,
    data: &Dataset,
    count: usize,
    seed: u64,
    control: &Control,
) -> Result<Vec<Model>> {
    let data = &*present(data);
    let mut classes = vec![Vec::new(); data.n_classes()];
    for (i, &k) in data.labels().iter().enumerate() {
        classes[k].push(i);
    }
    let quiet = control.without_progress();
    let done = std::sync::atomic::AtomicU64::new(0);
    let one = |index: usize| {
        control.check()?;
        let mut rng = generator(seed.wrapping_mul(0x9E37_79B9).wrapping_add(index as u64));
        let mut rows = Vec::with_capacity(data.len());
        for class in &classes {
            rows.extend((0..class.len()).map(|_| class[rng.random_range(0..class.len())]));
        }
        let fitted = refit.fit(&data.select_rows(&rows), &quiet);
        let finished = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        control.progress(finished, count as u64);
        fitted
    };
    most(control.install(|| (0..count).into_par_iter().map(one).collect()))
}

/// The fits that succeeded; the first error if they are less than half.
fn most(fits: Vec<Result<Fitted>>) -> Result<Vec<Model>> {
    let count = fits.len();
    let mut models = Vec::with_capacity(count);
    let mut first = None;
    for fit in fits {
        match fit {
            Ok(fitted) => models.push(fitted.model),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => first = first.or(Some(error)),
        }
    }
    match first {
        Some(error) if 2 * models.len() < count => Err(error),
        _ => Ok(models),
    }
}

/// The value below which a share of ascending values lies, interpolated.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 <= place <= last"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}
