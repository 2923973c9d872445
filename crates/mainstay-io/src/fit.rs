//! The short way: a table in, a model file out.

use mainstay::Control;
use mainstay::data::{Missing, NanRule, Preparation, Prepared, Table};
use mainstay::methods;
use mainstay::metrics::{Evaluation, Judged, Predictions};
use mainstay::model::{Estimator, Model, StandardizeFirst};
use serde_json::Value;

use crate::error::Result;
use crate::model_file::ModelFile;
use crate::reading::Input;

/// Results of a fit that say something about single training rows and that prediction does not need.
const ROW_OUTPUTS: [&str; 6] =
    ["suspects", "worst_rows", "support", "dual_coef", "z", "loss_shape"];

/// What stands in for missing cells if the user does not say: a method for which a missing feature counts as 0 gets
/// its mean, which is 0 once standardised, or NaN; one that makes its own sense of NaN keeps it; others refuse.
pub fn missing_rule(impute: Option<Missing>, nan: NanRule, standardize: bool) -> Missing {
    match (impute, nan) {
        (Some(rule), _) => rule,
        (None, NanRule::Zero) if standardize => Missing::Mean,
        (None, NanRule::Zero | NanRule::Keep) => Missing::Keep,
        (None, NanRule::Refuse) => Missing::Refuse,
    }
}

impl ModelFile {
    /// Fits `method` with its default parameters to standardised features, as `mainstay fit` does: all columns but
    /// `target` become features as their cells suggest.
    pub fn fit(table: &Table, target: &str, method: &str) -> Result<Self> {
        let found = methods::find(method)?;
        let mut wanted =
            Preparation { target: target.to_owned(), nan: found.nan, ..Preparation::default() };
        wanted.encoder.missing = missing_rule(None, found.nan, true);
        let prepared = wanted.apply(table.clone())?;
        let params = Value::Object(serde_json::Map::new());
        let estimator = found.estimator(&params)?;
        let fitted = StandardizeFirst(estimator.as_ref()).fit(&prepared.data, &Control::new())?;
        Ok(Self::new(method, params, target, prepared, fitted))
    }

    /// Puts the parts of a fit together.
    pub fn new(
        method: &str,
        params: Value,
        target: &str,
        prepared: Prepared,
        fitted: mainstay::model::Fitted,
    ) -> Self {
        Self {
            method: method.to_owned(),
            params,
            classes: prepared.classes,
            target: Some(target.to_owned()),
            feature_names: Some(prepared.encoder.feature_names()),
            encoder: Some(prepared.encoder),
            fitted,
        }
    }

    /// The class of every row by name; rows that the encoder leaves out have none.
    pub fn predict(&self, table: &Table) -> Result<Vec<Option<String>>> {
        let encoded = self.encode(&Input::Table(table.clone()))?;
        let classes = self.fitted.model.predict(&encoded.features)?;
        let mut names = vec![None; table.nrows()];
        for (i, class) in classes.into_iter().enumerate() {
            let row = encoded.kept.as_ref().map_or(i, |kept| kept[i]);
            names[row] = Some(self.classes.names()[class].to_string());
        }
        Ok(names)
    }

    /// Judges the model on labelled rows.
    pub fn evaluate(&self, table: &Table) -> Result<Evaluation> {
        let input = Input::Table(table.clone());
        let mut truth = self.labels(&input, None)?;
        let encoded = self.encode(&input)?;
        if let Some(kept) = &encoded.kept {
            truth = kept.iter().map(|&i| truth[i]).collect();
        }
        let made = Predictions::of(&self.fitted.model, &encoded.features)?;
        let classes = self.classes.names().len();
        Ok(Evaluation::of(&Judged::new(&truth, classes, &made)?))
    }

    /// Removes what the file says about single training rows, as far as prediction does not need it. Kernel models
    /// predict by their training rows, which therefore stay: [`ModelFile::holds_training_rows`] tells.
    pub fn forget_training_rows(&mut self) {
        self.fitted.outputs.retain(|name, _| !ROW_OUTPUTS.contains(&name.as_str()));
        (self.fitted.suspects, self.fitted.worst_rows) = (None, None);
    }

    /// Names of what the file holds about single training rows; `rows` are training rows themselves.
    pub fn training_rows(&self) -> Vec<String> {
        let outputs = self.fitted.named_results().into_keys();
        let kernel = holds_rows(&self.fitted.model).then(|| "rows".to_owned());
        outputs.filter(|name| ROW_OUTPUTS.contains(&name.as_str())).chain(kernel).collect()
    }

    /// Whether the model itself holds training rows.
    pub fn holds_training_rows(&self) -> bool {
        holds_rows(&self.fitted.model)
    }
}

fn holds_rows(model: &Model) -> bool {
    match model {
        Model::Kernel(_) => true,
        Model::Standardized(inner) => holds_rows(&inner.model),
        _ => false,
    }
}
