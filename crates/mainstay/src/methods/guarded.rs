//! What every method does around its fit: ask for memory before, look at the model after.

use serde_json::Value;

use super::Method;
use super::one_sided::{self, Finding};
use super::remedies::checked;
use crate::control::Control;
use crate::data::{Dataset, NanRule};
use crate::error::{Error, Result};
use crate::model::{Estimator, Fitted, PathPoint};

/// Copies of a kernel matrix that a fit holds at a time: itself, a factor and what they are computed from.
const KERNEL_COPIES: f64 = 4.0;
/// Vectors of one number per feature that a fit holds at a time, for each hyperplane.
const VECTORS: f64 = 8.0;

/// A method's estimator with checks that are the same for all methods.
pub(super) struct Guarded {
    inner: Box<dyn Estimator>,
    kernel: bool,
    /// Folds times repeats of a cross-validation, as far as they were asked for.
    splits: f64,
    nan: NanRule,
    method: Method,
    params: Value,
}

impl Guarded {
    pub(super) fn new(method: &Method, params: &Value, inner: Box<dyn Estimator>) -> Self {
        let number = |name: &str| params.get(name).and_then(Value::as_f64);
        let kernel = params.get("kernel").and_then(Value::as_str);
        Self {
            inner,
            kernel: kernel.is_some_and(|kernel| kernel != "linear"),
            splits: number("n_repeats").unwrap_or(1.0) * number("n_folds").unwrap_or(10.0),
            nan: method.nan_rule(params),
            method: *method,
            params: params.clone(),
        }
    }

    /// An error if the fit would need more memory than there is.
    fn afford(&self, data: &Dataset, control: &Control) -> Result<()> {
        let (n, p) = (data.len() as f64, data.n_features() as f64);
        if self.kernel {
            let bytes = KERNEL_COPIES * 8.0 * n * n;
            control
                .afford(bytes, &format!("a kernel matrix of {n} rows, {KERNEL_COPIES} times,"))?;
        }
        control.afford(8.0 * n * self.splits, &format!("{} splits of {n} rows", self.splits))?;
        let planes = if data.n_classes() == 2 { 1 } else { data.n_classes() };
        let vectors = VECTORS * planes as f64;
        control.afford(8.0 * p * vectors, &format!("{vectors} vectors of {p} features"))
    }

    /// An error if the model has numbers that are none; adds the warning that all training rows get one class, unless the
    /// method has said so, with a remedy that was tried where that is asked for.
    fn completed(
        &self,
        mut fitted: Fitted,
        data: &Dataset,
        trying: Option<&Control>,
    ) -> Result<Fitted> {
        // Long because what was said, found and tried decide together what is told.
        if let Err(problem) = fitted.model.validate() {
            let text = format!("the fitted model: {problem}; rescale the features");
            return Err(Error::Numerical(text));
        }
        let said = fitted.warnings.iter().position(|text| says_constant(text));
        if said.is_some() && trying.is_none() {
            return Ok(fitted);
        }
        let Some(finding) = one_sided::finding(&fitted.model, data, self.nan)? else {
            return Ok(fitted);
        };
        let (finding, found) = match (finding, trying) {
            (Finding::OneSided(text), Some(control)) => {
                (text, checked(&self.method, &self.params, data, control)?)
            }
            // What is tried is held against a constant answer, which this model is better than already.
            (Finding::OneSided(text) | Finding::Overlooked(text), _) => (text, None),
        };
        match (said, found) {
            (Some(at), Some(found)) => {
                // A remedy that was tried takes the place of what the method advises untried.
                let said = fitted.warnings[at].as_str();
                let untried = said.find("; try ").or_else(|| said.find(": try "));
                let kept = match untried {
                    Some(end) if found.starts_with("try ") => &said[..end],
                    _ => said,
                };
                fitted.warnings[at] = format!("{kept}; {found}");
            }
            (Some(_), None) => {}
            (None, found) => {
                let remedy = found.unwrap_or_else(|| self.method.usual_remedy(&self.params));
                fitted.warnings.push(format!("{finding}; {remedy}"));
            }
        }
        Ok(fitted)
    }
}

impl Estimator for Guarded {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        self.afford(data, control)?;
        let trying = control.tries_remedies().then_some(control);
        self.completed(self.inner.fit(data, control)?, data, trying)
    }

    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        self.afford(data, control)?;
        let path = self.inner.fit_path(points, data, control)?;
        path.into_iter().map(|fitted| self.completed(fitted, data, None)).collect()
    }
}

impl Method {
    fn usual_remedy(&self, params: &Value) -> String {
        remedy(self.name, &self.defaults(), params)
    }

    /// What to say about a fit with these parameters that gives nearly all rows one class, or hardly any row one of
    /// several, by the confusion matrix of its rows (rows of class i called j): for fits to rows that were not in memory.
    /// Nothing where one of its `warnings` has said so.
    pub fn one_sided_note(
        &self,
        params: &Value,
        confusion: &[Vec<usize>],
        warnings: &[String],
    ) -> Option<String> {
        if warnings.iter().any(|text| says_constant(text)) {
            return None;
        }
        let (Finding::OneSided(text) | Finding::Overlooked(text)) =
            one_sided::of_confusion(confusion)?;
        Some(format!("{text}; {}", self.usual_remedy(params)))
    }
}

/// Whether a warning is about a constant model.
fn says_constant(text: &str) -> bool {
    text.contains("constant") || text.contains("one class")
}

/// What helps, among the parameters that the method has. Measured on ten data sets with a rare class (docs/faq.md):
/// weights for the classes help all methods but `regec`, the stable ones only with every row in their sum, those with a
/// budget sometimes only with a smaller one; a smaller `kappa` does not help.
fn remedy(method: &str, defaults: &Value, params: &Value) -> String {
    // Python states every parameter: what has its usual value was not chosen.
    let given = |name: &str| {
        let value = params.get(name).filter(|value| !value.is_null());
        value.is_some_and(|value| defaults.get(name) != Some(value))
    };
    let has = |name: &str| defaults.get(name).is_some();
    if method == "regec" && !given("regularization") {
        return "try `regularization` = \"tikhonov\"".into();
    }
    // With as many rows given up as one class has, no weights help.
    if params.get("kappa").and_then(Value::as_f64).is_some_and(|kappa| kappa >= 0.5) {
        return "try a smaller `kappa`".into();
    }
    if has("class_weight") && !given("class_weight") {
        let stable = method.starts_with("stable") && has("k");
        let more = match (stable, has("budget")) {
            (true, _) => " with `k` = 1.0",
            (false, true) => ", and a smaller `budget` if that does not help",
            (false, false) => "",
        };
        return format!("try `class_weight` = \"balanced\"{more}");
    }
    let strengths = [
        ("kappa", "another `kappa`"),
        ("k", "a larger `k`"),
        ("budget", "a smaller `budget`"),
        ("uncertainty", "a smaller `uncertainty`"),
        ("alpha", "a smaller `alpha`"),
    ];
    // The extended ROLIN has no use for `k`.
    let paper = params.get("variant").and_then(Value::as_str) == Some("paper");
    let applies = |name: &str| has(name) && (name != "k" || !has("variant") || paper);
    let tries: Vec<&str> =
        strengths.iter().filter(|(name, _)| applies(name)).map(|(_, text)| *text).collect();
    if tries.is_empty() {
        return "more rows of the rarer classes, or other features, may help".into();
    }
    format!("try {}", tries.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::error::Error;
    use crate::linalg::Dense;
    use serde_json::json;

    /// One row in ten is of class 1, in every one of four blocks that the features tell apart: they say nothing.
    fn unbalanced() -> Dataset {
        let features = |block: i32| [block % 2, block / 2, (block % 2) ^ (block / 2)];
        let x = (0..40).flat_map(|i| features(i / 10)).map(f64::from).collect();
        let y = (0..40).map(|i| usize::from(i % 10 == 0)).collect();
        Dataset::new(Dense::from_rows(40, 3, x).into(), y, 2).unwrap()
    }

    fn constant_warnings(method: &str, params: &Value) -> Vec<String> {
        let estimator = find(method).unwrap().estimator(params).unwrap();
        let fitted = estimator.fit(&unbalanced(), &Control::new()).unwrap();
        let told = |text: &String| text.contains("constant") || text.contains("one class");
        fitted.warnings.into_iter().filter(told).collect()
    }

    #[test]
    fn a_constant_model_is_told_once_with_the_remedy_of_its_method() {
        let cases = [
            ("l2", "`class_weight` = \"balanced\""),
            ("conic", "`class_weight` = \"balanced\""),
            // These two say it themselves, and better.
            ("stable-logistic", "no k helps, and no other linear fit"),
            ("missing-lp", "`budget`"),
        ];
        for (method, remedy) in cases {
            let warnings = constant_warnings(method, &json!({}));
            assert_eq!(warnings.len(), 1, "{method}: {warnings:?}");
            assert!(warnings[0].contains(remedy), "{method}: {warnings:?}");
        }
    }

    #[test]
    fn a_parameter_at_its_usual_value_is_a_remedy_though_it_was_stated() {
        let told = |method: &str, params: &Value| {
            remedy(method, &find(method).unwrap().defaults(), params)
        };
        let tikhonov = "try `regularization` = \"tikhonov\"";
        assert_eq!(told("regec", &json!({})), tikhonov);
        assert_eq!(told("regec", &json!({"regularization": "cross"})), tikhonov);
        assert_ne!(told("regec", &json!({"regularization": "tikhonov"})), tikhonov);
        assert!(told("missing-lp", &json!({"class_weight": null})).contains("smaller `budget`"));
    }

    #[test]
    fn a_model_of_two_classes_is_not_called_constant() {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i) - 19.5).collect();
        let y = (0..40).map(|i| usize::from(i > 19)).collect();
        let data = Dataset::new(Dense::from_rows(40, 1, x).into(), y, 2).unwrap();
        let estimator = find("l2").unwrap().estimator(&json!({})).unwrap();
        assert!(estimator.fit(&data, &Control::new()).unwrap().warnings.is_empty());
    }

    #[test]
    fn a_fit_that_needs_more_memory_than_there_is_says_so_before_it_begins() {
        let small = Control::new().with_memory(30_000);
        let refused = |method: &str, params: &Value| {
            let estimator = find(method).unwrap().estimator(params).unwrap();
            matches!(estimator.fit(&unbalanced(), &small), Err(Error::Memory(_)))
        };
        // 4 kernel matrices of 40 rows: 51,200 bytes.
        assert!(refused("conic", &json!({"kernel": "rbf"})));
        assert!(!refused("conic", &json!({})));
        assert!(refused("rolin", &json!({"n_repeats": 1_000_000_000})));
    }
}
