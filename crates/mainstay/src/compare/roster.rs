//! Who takes part in a comparison, and how each is tuned.

use serde_json::{Value, json};

use super::outcome::{MethodInfo, Role};
use crate::error::Result;
use crate::methods;
use crate::model::Estimator;
use crate::selection::GridCv;
use crate::stress::{Entrant, spoiled};

/// Error that the uncertainty-aware methods allow for, in standard deviations of a feature.
const KNOWN_ERROR: f64 = 0.1;
/// Share of the features that the missing-feature method expects to lose.
const LOST: f64 = 0.1;

/// A method with the settings among which it chooses.
struct Recipe {
    name: &'static str,
    title: &'static str,
    role: Role,
    tuning: String,
    method: &'static str,
    /// One setting is used as it is; of several the best by 3-fold cross-validation.
    settings: Vec<Value>,
}

/// The three baselines and the robust families, for data with `p` features.
///
/// Every method is tuned inside the training rows alone, by cross-validation on them as they are (damaged, where
/// they are damaged). No method is told which threat it will meet, nor how strong it is: what the robust ones allow
/// for is fixed here.
pub fn roster(p: usize) -> Result<(Vec<MethodInfo>, Vec<Entrant>)> {
    let recipes = baselines().into_iter().chain(robust(p));
    let mut infos = Vec::new();
    let mut entrants = Vec::new();
    for recipe in recipes {
        let method = methods::find(recipe.method)?;
        let mut candidates = Vec::with_capacity(recipe.settings.len());
        for setting in &recipe.settings {
            candidates.push(method.estimator(setting)?);
        }
        let estimator: Box<dyn Estimator> = if candidates.len() == 1 {
            candidates.swap_remove(0)
        } else {
            Box::new(GridCv { candidates, folds: 3, random_state: 0 })
        };
        entrants.push(Entrant { name: recipe.name.into(), estimator });
        infos.push(MethodInfo {
            name: recipe.name.into(),
            title: recipe.title.into(),
            role: recipe.role,
            tuning: recipe.tuning,
        });
    }
    Ok((infos, entrants))
}

fn baselines() -> Vec<Recipe> {
    let penalised = |name, title, method, loss: &str| Recipe {
        name,
        title,
        role: Role::Baseline,
        tuning: "strength of the penalty: 12 values, least loss in 5-fold cross-validation".into(),
        method,
        settings: vec![json!({"loss": loss, "alpha": "cv", "n_alphas": 12, "tol": 1e-4})],
    };
    vec![
        penalised("l2", "plain logistic regression", "l2", "logistic"),
        penalised("l1", "L1 logistic regression", "l1", "logistic"),
        penalised("linear-svm", "linear SVM", "l2", "hinge"),
    ]
}

fn robust(p: usize) -> Vec<Recipe> {
    let lost = spoiled(LOST, p);
    // With one feature the budget must leave something of it.
    let budget = if lost < p { lost as f64 } else { 0.5 * p as f64 };
    let recipe = |name, title, tuning: String, method, settings: Vec<Value>| Recipe {
        name,
        title,
        role: Role::Robust,
        tuning,
        method,
        settings,
    };
    let ellipsoid =
        |c: f64| json!({"C": c, "uncertainty": KNOWN_ERROR, "tol": 1e-4, "max_iter": 100});
    vec![
        recipe(
            "rolin",
            "ROLIN",
            "calibrated average of its candidates, twice 5-fold cross-validation".into(),
            "rolin",
            vec![json!({"n_repeats": 2, "normalize": true})],
        ),
        recipe(
            "conic-cv",
            "conic-loss SVM",
            "share of wrong labels: 5 values from 0.02 to 0.35, fewest errors in 3-fold cross-validation".into(),
            "conic-cv",
            vec![json!({"kappas": [0.02, 0.05, 0.1, 0.2, 0.35], "cv": 3, "tol": 1e-3})],
        ),
        recipe(
            "stable-logistic-cv",
            "stable logistic regression",
            "worst 30 %, 60 % or all of the rows and 4 penalties, least log loss in 3-fold cross-validation".into(),
            "stable-logistic-cv",
            vec![json!({"ks": [0.3, 0.6, 1.0], "alphas": [1e-4, 1e-3, 1e-2, 1e-1], "cv": 3, "tol": 1e-3})],
        ),
        recipe(
            "stable-svm-cv",
            "stable SVM",
            "worst 30 %, 60 % or all of the rows and 4 values of C, fewest errors in 3-fold cross-validation".into(),
            "stable-svm-cv",
            vec![json!({"ks": [0.3, 0.6, 1.0], "Cs": [1e-3, 1e-2, 1e-1, 1.0], "cv": 3, "tol": 1e-3})],
        ),
        recipe(
            "missing-cv",
            "missing-feature SVM",
            format!(
                "expects {budget} of {p} features to go missing in the worst way; 2 values of C, fewest errors on \
                 damaged rows in 3-fold cross-validation"
            ),
            "missing-cv",
            vec![json!({"budget": budget, "budgets": [budget], "Cs": [0.3, 3.0], "cv": 3, "tol": 1e-2})],
        ),
        recipe(
            "ellipsoid-svm",
            "ellipsoid SVM",
            format!(
                "allows for an error of {KNOWN_ERROR} standard deviations; 4 values of C, fewest errors in 3-fold \
                 cross-validation"
            ),
            "ellipsoid-svm",
            [0.01, 0.1, 1.0, 10.0].map(ellipsoid).to_vec(),
        ),
        recipe(
            "robust-regec",
            "robust ReGEC",
            format!("allows for an error of {KNOWN_ERROR} standard deviations; nothing is tuned"),
            "robust-regec",
            vec![json!({"uncertainty": KNOWN_ERROR})],
        ),
    ]
}
