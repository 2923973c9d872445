//! What helps against a constant model, tried on the rows at hand.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Value, json};

use super::one_sided::{one_sided, predicted};
use super::{Method, calibrate};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};

/// Entries of the features up to which remedies are tried: beyond, a few more fits would take too long unasked.
const MOST_ENTRIES: f64 = 2e6;
/// Changes of parameters tried, at most; each is a fit, and standardised features are one more.
const MOST_TRIES: usize = 6;
/// A remedy helps if the mean share of right answers over the classes exceeds a constant model's by this.
const BETTER: f64 = 0.05;
/// Parameters that hold errors in the units of the features.
const ERRORS: [&str; 4] = ["uncertainty", "errors", "eta_a", "eta_b"];
/// Deviation of a column from which on its unit may be why a fit is constant, and one over it.
const ODD_UNIT: f64 = 10.0;
/// Gap up to which a remedy is fitted: answers to training rows are the same long before the last digits of the weights.
const ROUGH_TOLERANCE: f64 = 1e-2;

/// What to change.
enum Remedy {
    /// Every column gets unit deviation, and mean 0 where rows are dense.
    UnitDeviations,
    /// Some parameters.
    Parameters(Vec<(&'static str, Value)>),
}

impl Remedy {
    /// The rows for the fit.
    fn rows<'d>(&self, data: &'d Dataset) -> Cow<'d, Dataset> {
        match self {
            Self::UnitDeviations => {
                let scaling = Standardize::learn_stored(data.features(), data.weights());
                Cow::Owned(data.replace_features(scaling.apply_stored(data.features())))
            }
            Self::Parameters(_) => Cow::Borrowed(data),
        }
    }

    fn parameters(&self) -> &[(&'static str, Value)] {
        match self {
            Self::UnitDeviations => &[],
            Self::Parameters(changed) => changed,
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self, Self::UnitDeviations) {
            return f.write_str("standardised features");
        }
        for (k, (name, value)) in self.parameters().iter().enumerate() {
            let join = if k == 0 { "" } else { " with " };
            write!(f, "{join}`{name}` = {value}")?;
        }
        Ok(())
    }
}

/// The first remedy that helps on these rows, in words, or what was tried in vain; nothing where the rows are too many to
/// try or the method has nothing to change.
pub(super) fn checked(
    method: &Method,
    params: &Value,
    data: &Dataset,
    control: &Control,
) -> Result<Option<String>> {
    let entries = data.len() as f64 * data.n_features() as f64;
    if entries > MOST_ENTRIES {
        return Ok(None);
    }
    let mut tries = remedies(method, params);
    if may_change_units(method, params, data) && odd_units(data) {
        tries.insert(0, Remedy::UnitDeviations);
    }
    if tries.is_empty() {
        return Ok(None);
    }
    let quiet = control.without_progress();
    let mut failed = Vec::new();
    for remedy in tries {
        if helps(&remedy, method, params, data, &quiet)? {
            return Ok(Some(format!("try {remedy}: on these rows that helps")));
        }
        failed.push(remedy.to_string());
    }
    Ok(Some(format!(
        "tried on these rows, without help: {}; more rows of the rarer classes, or other features, may help",
        failed.join("; ")
    )))
}

/// Whether the changed fit is not constant and answers better than a constant would.
fn helps(
    remedy: &Remedy,
    method: &Method,
    params: &Value,
    data: &Dataset,
    control: &Control,
) -> Result<bool> {
    let mut changed = params.clone();
    let Some(object) = changed.as_object_mut() else { return Ok(false) };
    for (name, value) in remedy.parameters() {
        object.insert((*name).to_owned(), value.clone());
    }
    if method.defaults().get("tol").is_some() {
        let asked = params.get("tol").and_then(Value::as_f64).unwrap_or(0.0);
        object.insert("tol".to_owned(), json!(asked.max(ROUGH_TOLERANCE)));
    }
    calibrate::asked_for(&mut changed)?;
    let Ok(estimator) = (method.build)(&changed) else { return Ok(false) };
    let rows = remedy.rows(data);
    let fitted = match estimator.fit(&rows, control) {
        Ok(fitted) => fitted,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(_) => return Ok(false),
    };
    let found = predicted(&fitted.model, &rows, method.nan_rule(&changed))?;
    let (right, constant) = balance(&found, data);
    Ok(one_sided(&found, data).is_none() && right >= constant + BETTER)
}

/// Whether standardised features are another fit of the same problem. They are not where errors are stated: these are in the
/// units of the features. They are the same fit where the method standardises, and none where the columns are a kernel.
fn may_change_units(method: &Method, params: &Value, data: &Dataset) -> bool {
    let defaults = method.defaults();
    let now = |name: &str| params.get(name).or_else(|| defaults.get(name));
    let errors = ERRORS.iter().any(|name| now(name).is_some_and(any_number));
    let standardised = now("normalize") == Some(&json!(true));
    let kernel = now("kernel") == Some(&json!("precomputed"));
    data.uncertainty().is_none() && !errors && !standardised && !kernel
}

/// Whether a number that is not zero is in `value`.
fn any_number(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(any_number),
        Value::Object(fields) => fields.values().any(any_number),
        value => value.as_f64().is_some_and(|number| number != 0.0),
    }
}

/// Whether a penalty in the units of the columns weighs some of them very differently from others, or all of them much or
/// little.
fn odd_units(data: &Dataset) -> bool {
    let usual = 1.0 / ODD_UNIT..=ODD_UNIT;
    let scales = Standardize::learn_stored(data.features(), data.weights()).scales;
    scales.iter().any(|scale| !usual.contains(scale))
}

/// The mean share of right answers over the classes, and that of a constant answer.
fn balance(predicted: &[usize], data: &Dataset) -> (f64, f64) {
    let (mut rows, mut right) = (vec![0.0; data.n_classes()], vec![0.0; data.n_classes()]);
    for (&found, &truth) in predicted.iter().zip(data.labels()) {
        rows[truth] += 1.0;
        right[truth] += f64::from(u8::from(found == truth));
    }
    let present: Vec<usize> = (0..rows.len()).filter(|&k| rows[k] > 0.0).collect();
    let count = present.len().max(1) as f64;
    (present.iter().map(|&k| right[k] / rows[k]).sum::<f64>() / count, 1.0 / count)
}

/// Changes to try, the gentlest first: weights for the classes, then with them less of what makes the model careful.
fn remedies(method: &Method, params: &Value) -> Vec<Remedy> {
    let defaults = method.defaults();
    let stated = |name: &str| params.get(name).filter(|value| !value.is_null());
    // Python states every parameter: what has its usual value was not chosen.
    let chosen = |name: &str| stated(name).is_some_and(|v| defaults.get(name) != Some(v));
    let has = |name: &str| defaults.get(name).is_some();
    let number = |name: &str| stated(name).or_else(|| defaults.get(name))?.as_f64();
    let mut all = Vec::new();
    if method.name == "regec" && !chosen("regularization") {
        all.push(Remedy::Parameters(vec![("regularization", json!("tikhonov"))]));
    }
    let stable = method.name.starts_with("stable");
    let part_of_rows =
        stable && has("k") && stated("k").or_else(|| defaults.get("k")) != Some(&json!(1.0));
    let mut base = Vec::new();
    if has("class_weight") && !chosen("class_weight") {
        base.push(("class_weight", json!("balanced")));
        // Weights alone did not help a fit to the worst rows on any set that was measured (docs/faq.md).
        if !part_of_rows {
            all.push(Remedy::Parameters(base.clone()));
        }
    }
    if number("kappa").is_some_and(|kappa| kappa >= 0.5) {
        base.push(("kappa", json!(0.1)));
        all.push(Remedy::Parameters(base.clone()));
    }
    if part_of_rows {
        base.push(("k", json!(1.0)));
        all.push(Remedy::Parameters(base.clone()));
    }
    all.extend(less_care(method, &base, number));
    all.truncate(MOST_TRIES);
    all
}

/// What makes the model careful, by less and less of it, together with `base`; C multiplies the loss, or is the largest
/// weight.
fn less_care(
    method: &Method,
    base: &[(&'static str, Value)],
    number: impl Fn(&str) -> Option<f64>,
) -> Vec<Remedy> {
    let less: [(&'static str, &[f64]); 4] = [
        ("budget", &[0.5, 0.1, 0.0]),
        ("uncertainty", &[0.1, 0.01]),
        ("alpha", &[0.01, 1e-4]),
        ("C", &[100.0]),
    ];
    let conic = method.name.starts_with("conic");
    let mut all = Vec::new();
    for (name, factors) in less.into_iter().filter(|(name, _)| !(conic && *name == "C")) {
        let Some(now) = number(name).filter(|now| *now != 0.0) else { continue };
        let changed = |factor: &f64| [base, &[(name, json!(now * factor))]].concat();
        all.extend(factors.iter().map(|factor| Remedy::Parameters(changed(factor))));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::linalg::Dense;

    /// One row in ten is of class 1, and lies apart from most others: a plain fit with a strong penalty calls all rows 0.
    fn rare() -> Dataset {
        let x = (0..60).map(|i| if i % 10 == 0 { 2.0 } else { f64::from(i % 3) - 1.0 }).collect();
        let y = (0..60).map(|i| usize::from(i % 10 == 0)).collect();
        Dataset::new(Dense::from_rows(60, 1, x).into(), y, 2).unwrap()
    }

    fn told(control: &Control, data: &Dataset) -> String {
        let estimator = find("l2").unwrap().estimator(&json!({"alpha": 5.0})).unwrap();
        let fitted = estimator.fit(data, control).unwrap();
        assert_eq!(fitted.warnings.len(), 1, "{:?}", fitted.warnings);
        fitted.warnings[0].clone()
    }

    #[test]
    fn a_remedy_is_said_to_help_only_where_it_was_tried_and_did() {
        let control = Control::new().with_checked_remedies(true);
        let text = told(&control, &rare());
        assert!(
            text.ends_with("try `class_weight` = \"balanced\": on these rows that helps"),
            "{text}"
        );
        assert!(!told(&Control::new(), &rare()).contains("on these rows"), "not asked for");
        // What the ellipsoid machine advises untried makes room for it.
        let ellipsoid = find("ellipsoid-svm").unwrap().estimator(&json!({"uncertainty": 1.5}));
        let fitted = ellipsoid.unwrap().fit(&rare(), &control).unwrap();
        assert_eq!(fitted.warnings.len(), 1, "{:?}", fitted.warnings);
        assert_eq!(fitted.warnings[0].matches("try ").count(), 1, "{:?}", fitted.warnings);
        assert!(fitted.warnings[0].ends_with("that helps"), "{:?}", fitted.warnings);
        // The same share of class 1 at every value: nothing can help.
        let x = (0..60).map(|i| f64::from(i / 10)).collect();
        let y = (0..60).map(|i| usize::from(i % 10 == 0)).collect();
        let flat = Dataset::new(Dense::from_rows(60, 1, x).into(), y, 2).unwrap();
        let text = told(&control, &flat);
        assert!(text.contains("without help: `class_weight` = \"balanced\"; "), "{text}");
    }

    /// Two columns, the one that tells the classes apart a thousandth of the other: a penalty sees the other alone.
    #[test]
    fn units_that_make_a_fit_constant_are_named_before_weights_are() {
        let control = Control::new().with_checked_remedies(true);
        let column = |unit: f64| {
            let x = (0..60).flat_map(|i| [f64::from(i % 7), unit * (f64::from(i % 3) - 1.0)]);
            let y = (0..60).map(|i| usize::from(i % 3 == 2)).collect();
            Dataset::new(Dense::from_rows(60, 2, x.collect()).into(), y, 2).unwrap()
        };
        let estimator = find("l2").unwrap().estimator(&json!({"alpha": 0.1})).unwrap();
        let fitted = estimator.fit(&column(1e-3), &control).unwrap();
        assert_eq!(fitted.warnings.len(), 1, "{:?}", fitted.warnings);
        assert!(
            fitted.warnings[0].ends_with("try standardised features: on these rows that helps"),
            "{:?}",
            fitted.warnings
        );
        assert!(estimator.fit(&column(1.0), &control).unwrap().warnings.is_empty());
    }

    /// Two columns of deviation 0.01: a stated error is in their units, and would be a hundredth of itself in others.
    #[test]
    fn units_stay_where_errors_are_stated_and_where_others_would_change_nothing() {
        let small = |i: usize, j: usize| 0.02 * (((i * 7 + j * 5 + i * j) as f64 * 0.37).sin());
        let y: Vec<usize> = (0..60).map(|i| usize::from(small(i, 0) > 0.0)).collect();
        let data = Dataset::new(Dense::from_fn(60, 2, small).into(), y, 2).unwrap();
        let asked =
            |name: &str, params: &Value| may_change_units(find(name).unwrap(), params, &data);
        for (name, params, may) in [
            ("ellipsoid-svm", json!({"uncertainty": 0.05}), false),
            ("ellipsoid-svm", json!({}), false),
            ("ellipsoid-svm", json!({"uncertainty": [0.0, 0.05]}), false),
            ("ellipsoid-svm", json!({"uncertainty": 0.0}), true),
            ("robust-logistic", json!({"errors": 0.5}), false),
            ("robust-logistic", json!({"errors": null}), true),
            ("norm-robust-regec", json!({"eta_a": 0.0, "eta_b": 1.0}), false),
            ("l2", json!({"normalize": true}), false),
            ("l2", json!({"normalize": false}), true),
            ("conic", json!({"kernel": "precomputed"}), false),
            ("conic", json!({"kernel": "rbf"}), true),
        ] {
            assert_eq!(asked(name, &params), may, "{name} {params}");
        }
        let control = Control::new().with_checked_remedies(true);
        let worst = json!({"errors": 0.5, "protect": "worst", "correction": "after"});
        for (name, params) in
            [("ellipsoid-svm", json!({"uncertainty": 0.05})), ("robust-logistic", worst)]
        {
            let fitted = find(name).unwrap().estimator(&params).unwrap().fit(&data, &control);
            let warnings = fitted.unwrap().warnings.join(" ");
            assert!(warnings.contains("on these rows"), "{name}: {warnings}");
            assert!(!warnings.contains("standardised"), "{name}: {warnings}");
        }
    }

    /// Three of four rows of class 0 and one of two of class 1 right: (3/4 + 1/2)/2.
    #[test]
    fn the_balance_of_answers_is_the_mean_over_classes() {
        let x = Dense::from_rows(6, 1, vec![0.0; 6]);
        let data = Dataset::new(x.into(), vec![0, 0, 0, 0, 1, 1], 2).unwrap();
        assert_eq!(balance(&[0, 0, 0, 1, 1, 0], &data), (0.625, 0.5));
    }
}
