//! What a fit says about single training rows, and how to make it forget.

use super::{Fitted, Model};

/// Results that say something about single training rows and that prediction does not need.
const ROW_RESULTS: [&str; 9] = [
    "dual_coef",
    "far_rows",
    "kept_rows",
    "label_posterior",
    "loss_shape",
    "support",
    "suspects",
    "worst_rows",
    "z",
];

impl Model {
    /// Whether the model predicts by training rows, or by their projections, and therefore holds them.
    pub fn holds_rows(&self) -> bool {
        match self {
            Self::Kernel(_) => true,
            Self::Planes(planes) => planes.points.is_some(),
            Self::Standardized(outer) => outer.model.holds_rows(),
            Self::Calibrated(outer) => outer.model.holds_rows(),
            Self::Linear(_) | Self::GaussianLinear(_) => false,
        }
    }
}

impl Fitted {
    /// Names of the results about single training rows; `rows` are training rows themselves, `ranges` the
    /// smallest and largest value of every feature, `proof` the dual points.
    pub fn row_results(&self) -> Vec<String> {
        let named = self.named_results().into_keys();
        let ranges = self.training.as_ref().and_then(|t| t.features.as_ref());
        let ranges = ranges.is_some_and(|f| !f.minima.is_empty()).then(|| "ranges".to_owned());
        let rows = self.model.holds_rows().then(|| "rows".to_owned());
        let proof = self.proof.is_some().then(|| "proof".to_owned());
        named
            .filter(|name| ROW_RESULTS.contains(&name.as_str()))
            .chain(ranges)
            .chain(rows)
            .chain(proof)
            .collect()
    }

    /// Removes what is said about single training rows, as far as prediction does not need it.
    pub fn forget_rows(&mut self) {
        self.outputs.retain(|name, _| !ROW_RESULTS.contains(&name.as_str()));
        (self.suspects, self.worst_rows, self.proof) = (None, None, None);
        if let Some(ranges) = self.training.as_mut().and_then(|t| t.features.as_mut()) {
            ranges.minima.clear();
            ranges.maxima.clear();
        }
    }
}
