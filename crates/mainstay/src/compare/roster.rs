//! Who takes part in a comparison, and how each is tuned.

use serde_json::{Value, json};

use super::outcome::{MethodInfo, Role};
use super::tuning::Tuned;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::methods;
use crate::model::{DropFarFirst, Estimator, Fitted, ImputeFirst, Retuning};
use crate::selection::Memo;
use crate::stress::{Entrant, spoiled};
use crate::uncertainty::far_rows::{Share, ShareRule};

/// Error that the uncertainty-aware methods allow for, in standard deviations of a feature.
const KNOWN_ERROR: f64 = 0.1;
/// Share of the features that the missing-feature methods expect to lose.
const LOST: f64 = 0.1;

/// What happens to the rows before a method is fitted to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// Nothing.
    Nothing,
    /// A Gaussian model of the features is learned: missing cells are filled from the other features.
    Gaussian,
    /// Rows far from their class are left out.
    DropFar,
}

/// A method with its settings.
struct Recipe {
    name: &'static str,
    title: &'static str,
    role: Role,
    tuning: String,
    method: &'static str,
    settings: Value,
    first: First,
    /// Whether the loss defines no probabilities.
    no_probabilities: bool,
    /// The recipe whose fits are part of this one's.
    same_fits_as: Option<&'static str>,
}

/// A method and what happens to the rows first.
struct Prepared {
    first: First,
    estimator: Box<dyn Estimator>,
}

impl Estimator for Prepared {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let estimator = self.estimator.as_ref();
        match self.first {
            First::Nothing => estimator.fit(data, control),
            First::Gaussian => ImputeFirst(estimator).fit(data, control),
            First::DropFar => {
                DropFarFirst { estimator, share: Share::Rule(ShareRule::Auto) }.fit(data, control)
            }
        }
    }

    fn settled(&self, fitted: &Fitted, rows: usize) -> Option<Box<dyn Estimator>> {
        let estimator = self.estimator.settled(fitted, rows)?;
        Some(Box::new(Self { first: self.first, estimator }))
    }

    fn retuning(&self, fitted: &Fitted) -> Retuning {
        self.estimator.retuning(fitted)
    }

    fn retunes(&self) -> bool {
        self.estimator.retunes()
    }
}

/// The three baselines and the robust families, for data with `p` features.
///
/// Every method is tuned inside the training rows alone, by cross-validation on them as they are (damaged, where
/// they are damaged). No method is told which threat it will meet, nor how strong it is: what the robust ones allow
/// for is fixed here. Methods that consist of another one's fit and something else share that fit.
///
/// Robust ReGEC does not take part unless asked for ([`on_request`]): it is 5 to 14 points behind on the data it was measured on.
pub fn roster(p: usize) -> Result<(Vec<MethodInfo>, Vec<Entrant>)> {
    let recipes = recipes(p);
    let mut shared: Vec<(&str, Memo)> = Vec::new();
    let mut entrants = Vec::new();
    for recipe in &recipes {
        let lent = recipe.same_fits_as.unwrap_or(recipe.name);
        let known = shared.iter().find(|(name, _)| *name == lent);
        let inner = if let Some((_, memo)) = known {
            memo.clone()
        } else {
            let settings = recipe.settings.clone();
            let memo = Memo::new(Box::new(Tuned::new(recipe.method, settings)?));
            shared.push((recipe.name, memo.clone()));
            memo
        };
        let inner = Box::new(inner);
        let estimator = Box::new(Prepared { first: recipe.first, estimator: inner });
        entrants.push(Entrant { name: recipe.name.into(), estimator });
    }
    Ok((recipes.into_iter().map(info).collect(), entrants))
}

/// A method that takes part only if the user names it.
pub fn on_request(name: &str) -> Result<(MethodInfo, Entrant)> {
    let Some(recipe) = guests().into_iter().find(|r| r.name == name) else {
        let names: Vec<&str> = guests().iter().map(|r| r.name).collect();
        return Err(Error::BadParams(format!(
            "no method `{name}` can be added; there is {}",
            names.join(", ")
        )));
    };
    let estimator = methods::find(recipe.method)?.estimator(&recipe.settings)?;
    let entrant = Entrant { name: recipe.name.into(), estimator };
    Ok((info(recipe), entrant))
}

/// The method called `name` with probabilities learned on held-out parts of its training rows; none for methods whose loss
/// defines them and for methods that are not in the roster.
pub(super) fn calibrated(name: &str, p: usize) -> Result<Option<Box<dyn Estimator>>> {
    let all = recipes(p).into_iter().chain(guests());
    let Some(recipe) = all.filter(|r| r.no_probabilities).find(|r| r.name == name) else {
        return Ok(None);
    };
    // Tuned once: the held-out parts are scored with what was chosen on all training rows.
    let tuned = Tuned::new(recipe.method, recipe.settings.clone())?;
    let estimator = methods::find(recipe.method)?.calibrated(&recipe.settings, Box::new(tuned))?;
    Ok(Some(Box::new(Prepared { first: recipe.first, estimator })))
}

fn info(recipe: Recipe) -> MethodInfo {
    MethodInfo {
        name: recipe.name.into(),
        title: recipe.title.into(),
        role: recipe.role,
        tuning: recipe.tuning,
    }
}

fn recipes(p: usize) -> Vec<Recipe> {
    let mut all = baselines();
    all.extend(few_rows_and_wrong_labels());
    all.extend(stable());
    all.extend(for_lost_features(p));
    all.extend(for_errors());
    all.extend(recipes_of_two());
    all
}

/// A robust method without anything special.
fn robust(
    name: &'static str,
    title: &'static str,
    tuning: impl Into<String>,
    settings: Value,
) -> Recipe {
    Recipe {
        name,
        title,
        role: Role::Robust,
        tuning: tuning.into(),
        method: name,
        settings,
        first: First::Nothing,
        no_probabilities: true,
        same_fits_as: None,
    }
}

fn plain_logistic() -> Value {
    json!({"loss": "logistic", "alpha": "cv", "n_alphas": 12, "tol": 1e-4})
}

fn conic() -> Value {
    json!({"kappas": [0.02, 0.05, 0.1, 0.2, 0.35], "cv": 3, "tol": 1e-3})
}

/// Where a search along penalties begins on rows that are damaged ([`crate::model::Retuning`]).
const NEAR: &str = "; under wrong labels and outliers first near the choice for less damage";

fn baselines() -> Vec<Recipe> {
    let penalised = |name, title, method, settings| Recipe {
        role: Role::Baseline,
        method,
        no_probabilities: name == "linear-svm",
        ..robust(
            name,
            title,
            format!(
                "strength of the penalty: 12 values, least loss in 5-fold cross-validation{NEAR}"
            ),
            settings,
        )
    };
    let hinge = json!({"loss": "hinge", "alpha": "cv", "n_alphas": 12, "tol": 1e-4});
    vec![
        penalised("l2", "plain logistic regression", "l2", plain_logistic()),
        penalised("l1", "L1 logistic regression", "l1", plain_logistic()),
        penalised("linear-svm", "linear SVM", "l2", hinge),
    ]
}

fn few_rows_and_wrong_labels() -> Vec<Recipe> {
    vec![
        Recipe {
            no_probabilities: false,
            ..robust(
                "rolin",
                "ROLIN",
                "calibrated average of its candidates, twice 5-fold cross-validation",
                json!({"n_repeats": 2, "normalize": true}),
            )
        },
        Recipe {
            ..robust(
                "conic-cv",
                "conic-loss SVM",
                "share of wrong labels: 5 values from 0.02 to 0.35, fewest errors in 3-fold cross-validation",
                conic(),
            )
        },
    ]
}

/// By what searches without probabilities choose.
const FEWEST: &str =
    "fewest errors (where one class has most of the rows: largest balanced accuracy)";

/// Methods that guard against unlucky subsets.
fn stable() -> Vec<Recipe> {
    let tuned = |what: &str, judged: &str| {
        format!(
            "worst 30 %, 60 % or all of the rows and 4 {what}, {judged} in 3-fold cross-validation"
        )
    };
    vec![
        Recipe {
            no_probabilities: false,
            ..robust(
                "stable-logistic-cv",
                "stable logistic regression",
                tuned("penalties", "least log loss"),
                json!({"ks": [0.3, 0.6, 1.0], "alphas": [1e-4, 1e-3, 1e-2, 1e-1], "cv": 3, "tol": 1e-3}),
            )
        },
        Recipe {
            ..robust(
                "stable-svm-cv",
                "stable SVM",
                tuned("values of C", FEWEST),
                json!({"ks": [0.3, 0.6, 1.0], "Cs": [1e-3, 1e-2, 1e-1, 1.0], "cv": 3, "tol": 1e-3}),
            )
        },
    ]
}

fn for_lost_features(p: usize) -> Vec<Recipe> {
    let lost = spoiled(LOST, p);
    // With one feature the budget must leave something of it.
    let budget = if lost < p { lost as f64 } else { 0.5 * p as f64 };
    let percent = 100.0 * LOST;
    vec![
        Recipe {
            ..robust(
                "missing-cv",
                "missing-feature SVM",
                format!(
                    "expects {budget} of {p} features to go missing in the worst way; 2 values of C, {FEWEST} on \
                     damaged rows in 3-fold cross-validation"
                ),
                json!({"budget": budget, "budgets": [budget], "Cs": [0.3, 3.0], "cv": 3, "tol": 1e-2}),
            )
        },
        Recipe {
            no_probabilities: false,
            ..robust(
                "robust-logistic",
                "robust logistic regression",
                format!(
                    "expects {percent} % of the features to be missing at random and fills them from the others; 12 \
                     penalties, least log loss in 5-fold cross-validation{NEAR}"
                ),
                json!({"missing": LOST, "n_alphas": 12, "tol": 1e-4}),
            )
        },
    ]
}

fn for_errors() -> Vec<Recipe> {
    vec![Recipe {
        ..robust(
            "ellipsoid-svm-cv",
            "ellipsoid SVM",
            format!(
                "allows for an error of {KNOWN_ERROR} standard deviations; 4 values of C, {FEWEST} on rows with \
                 that noise in 3-fold cross-validation"
            ),
            json!({"uncertainty": KNOWN_ERROR, "scales": [1.0], "Cs": [0.01, 0.1, 1.0, 10.0], "cv": 3, "tol": 1e-4,
                   "max_iter": 100}),
        )
    }]
}

/// What is done to the rows, then a method from above.
fn recipes_of_two() -> Vec<Recipe> {
    vec![
        Recipe {
            method: "l2",
            first: First::Gaussian,
            no_probabilities: false,
            same_fits_as: Some("l2"),
            ..robust(
                "l2-gaussian",
                "logistic regression with Gaussian imputation",
                "as plain logistic regression; missing cells are filled from the other features",
                plain_logistic(),
            )
        },
        Recipe {
            method: "conic-cv",
            first: First::DropFar,
            same_fits_as: Some("conic-cv"),
            ..robust(
                "far-conic-cv",
                "conic-loss SVM without far rows",
                "rows far from their class are left out, then as the conic-loss SVM",
                conic(),
            )
        },
    ]
}

fn guests() -> Vec<Recipe> {
    vec![robust(
        "robust-regec",
        "robust ReGEC",
        format!("allows for an error of {KNOWN_ERROR} standard deviations; nothing is tuned"),
        json!({"uncertainty": KNOWN_ERROR}),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    #[test]
    fn the_roster_has_the_recipes_of_two_and_not_regec() {
        let (infos, entrants) = roster(30).unwrap();
        let names: Vec<&str> = infos.iter().map(|m| m.name.as_str()).collect();
        for wanted in ["l2-gaussian", "robust-logistic", "far-conic-cv"] {
            assert!(names.contains(&wanted), "{names:?}");
        }
        assert!(!names.contains(&"robust-regec"));
        assert!(names.iter().zip(&entrants).all(|(name, entrant)| *name == entrant.name));
        assert_eq!(on_request("robust-regec").unwrap().0.name, "robust-regec");
        assert!(on_request("l3").is_err_and(|e| e.to_string().contains("robust-regec")));
        // Every method without probabilities can be given some.
        for name in names {
            let own = recipes(30).into_iter().find(|r| r.name == name).unwrap();
            assert_eq!(calibrated(name, 30).unwrap().is_some(), own.no_probabilities, "{name}");
        }
    }

    /// On complete rows imputation changes nothing: the fit is the plain one, done once.
    #[test]
    fn logistic_regression_with_imputation_is_the_plain_fit_on_complete_rows() {
        let rows = small();
        let (_, entrants) = roster(rows.n_features()).unwrap();
        let fit = |name: &str| {
            let own = entrants.iter().find(|e| e.name == name).unwrap();
            own.estimator.fit(&rows, &Control::new()).unwrap()
        };
        let (plain, filled) = (fit("l2"), fit("l2-gaussian"));
        assert_eq!(plain.model.linear(), filled.model.linear());
        assert!(filled.model.fills_cells() && !plain.model.fills_cells());
    }

    fn small() -> Dataset {
        let x = Dense::from_fn(60, 3, |i, j| ((i * (5 + 2 * j) + j) % 11) as f64 / 5.0 - 1.0);
        let labels = (0..60).map(|i| usize::from((i * 5) % 11 > 4)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }
}
