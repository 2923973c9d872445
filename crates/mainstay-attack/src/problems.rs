//! Area a: problems of the nastiest kinds for every method, judged by the proof checker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mainstay::data::{Classes, Dataset, Label};
use mainstay::linalg::Dense;
use mainstay::model::Fitted;
use mainstay::{Control, Error, methods};
use mainstay_io::ModelFile;
use mainstay_testkit::hostile::Hostile;
use mainstay_testkit::nasty::problems;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use serde_json::Value;

use crate::{Limit, Tally};

/// A fit of a dozen rows that takes longer is called endless; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// Cases drawn from one seed.
const CASES: u32 = 16;
/// How far a claim may be from what the checker finds, relative to max(1, objective).
const ROUNDING: f64 = 1e-9;

/// Every method, with settings that differ in what is solved.
pub const METHODS: [(&str, &str); 30] = [
    ("l2", r#"{"alpha": 0.1}"#),
    ("l2", r#"{"alpha": 1e-9, "loss": "hinge"}"#),
    ("l2", r#"{"alpha": 1e-12, "loss": "squared_hinge"}"#),
    ("l2", r#"{"alpha": 1e6, "loss": "modified_huber", "normalize": true}"#),
    ("l1", r#"{"alpha": 0.1, "loss": "hinge"}"#),
    ("l1", r#"{"alpha": 1e-6}"#),
    ("l1", r#"{"alpha": 0.1, "loss": "squared_hinge", "normalize": true}"#),
    ("elasticnet", r#"{"alpha": 0.1}"#),
    ("elasticnet", r#"{"alpha": 1e-4, "loss": "modified_huber", "l1_ratio": 0.01}"#),
    ("rolin", r#"{"n_repeats": 1, "n_folds": 2}"#),
    ("rolin", r#"{"variant": "paper", "n_repeats": 1, "n_folds": 2}"#),
    ("top-pcs", r#"{"n_repeats": 1, "n_folds": 2}"#),
    ("conic", "{}"),
    ("conic", r#"{"kappa": null, "C": 1e6}"#),
    ("conic", r#"{"kernel": "rbf", "gamma": 0.5}"#),
    ("stable-svm", r#"{"k": 0.4}"#),
    ("stable-svm", r#"{"loss": "squared_hinge", "C": 1e8}"#),
    ("stable-svm", r#"{"k": 1, "fit_intercept": false}"#),
    ("stable-logistic", r#"{"k": 0.3}"#),
    ("stable-logistic", r#"{"multi_class": "joint", "alpha": 1e-8}"#),
    ("regec", "{}"),
    ("robust-regec", "{}"),
    ("norm-robust-regec", "{}"),
    ("ellipsoid-svm", "{}"),
    ("ellipsoid-svm", r#"{"uncertainty": 1e3, "C": 1e-6}"#),
    ("missing-lp", r#"{"budget": 0.5}"#),
    ("missing-lp", r#"{"budget": 0.0, "C": 1e3}"#),
    ("missing-perceptron", r#"{"budget": 0.5}"#),
    ("robust-logistic", r#"{"alpha": 0.1}"#),
    ("robust-logistic", r#"{"alpha": 0.1, "protect": "worst", "errors": 0.1}"#),
];

/// Goes on until the limit.
pub fn run(seed: u64, limit: Limit) -> Tally {
    let mut tally = Tally::default();
    let mut counts = Counts::default();
    for round in 0_u64.. {
        for (classes, decades) in [(2, 6.0), (3, 10.0), (2, 300.0), (3, 300.0)] {
            if !limit.allows(&tally) {
                tally.notes.push(counts.told());
                return tally;
            }
            let seed = seed.wrapping_add(round);
            tally.failures.extend(attack(seed, classes, decades, &mut counts));
            tally.tries += u64::from(CASES);
        }
    }
    tally
}

/// How the fits ended.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    refused: u64,
    checked: u64,
    confirmed: u64,
    certified: u64,
}

impl Counts {
    fn told(self) -> String {
        let Self { refused, checked, confirmed, certified } = self;
        format!(
            "{refused} fits refused with a reason; {checked} judged by the proof checker, {certified} of them certified \
             by the fit and {confirmed} of these proved by the checker, none contradicted unless listed"
        )
    }
}

/// Cases of one seed; the failure with its smallest case, if there is one.
fn attack(seed: u64, classes: usize, decades: f64, counts: &mut Counts) -> Option<String> {
    let config = Config {
        cases: CASES,
        max_shrink_iters: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = u8::try_from(classes).unwrap_or(0);
    bytes[9] = u8::from(decades > 100.0);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let counted = std::cell::Cell::new(*counts);
    let strategy = (problems(classes, decades), 0..METHODS.len());
    let end = TestRunner::new_with_rng(config, rng).run(&strategy, |(problem, which)| {
        let (method, params) = METHODS[which];
        match fault(method, params, &problem, &counted) {
            None => Ok(()),
            Some(text) => Err(TestCaseError::fail(text)),
        }
    });
    *counts = counted.get();
    match end {
        Ok(()) => None,
        Err(TestError::Fail(why, (problem, which))) => Some(format!(
            "seed {seed}: {why}\n  {:?}\n  smallest case: {problem:?}",
            METHODS[which]
        )),
        Err(TestError::Abort(why)) => Some(format!("seed {seed}: {why}")),
    }
}

fn dataset(problem: &Hostile) -> mainstay::Result<Dataset> {
    let x = Dense::from_rows(problem.n(), problem.columns, problem.x.clone());
    let classes = problem.labels.iter().max().map_or(1, |top| top + 1);
    Dataset::new(x.into(), problem.labels.clone(), classes)
}

/// What is wrong with the end of a fit, if anything.
fn fault(
    method: &str,
    params: &str,
    problem: &Hostile,
    counts: &std::cell::Cell<Counts>,
) -> Option<String> {
    let data = dataset(problem).ok()?;
    // Not every method takes weights.
    let weighted = data.clone().with_weights(problem.weights.clone()).unwrap_or(data);
    let params: Value = serde_json::from_str(params).ok()?;
    let begun = Instant::now();
    let end = catch_unwind(AssertUnwindSafe(|| {
        let control = Control::new().with_threads(1).with_proof(true);
        methods::find(method)?.estimator(&params)?.fit(&weighted, &control)
    }));
    if begun.elapsed() > PATIENCE {
        return Some(format!("{method}: {:.0} s", begun.elapsed().as_secs_f64()));
    }
    let mut now = counts.get();
    let found = match end {
        Err(_) => Some(format!("{method}: a panic")),
        Ok(Ok(fitted)) => fault_of(method, &params, fitted, &weighted, &mut now),
        Ok(Err(
            Error::BadData(_)
            | Error::BadParams(_)
            | Error::Numerical(_)
            | Error::InvalidParam { .. }
            | Error::Infeasible(_),
        )) => {
            now.refused += 1;
            None
        }
        Ok(Err(other)) => Some(format!("{method}: an error of the wrong kind: {other}")),
    };
    counts.set(now);
    found
}

fn fault_of(
    method: &str,
    params: &Value,
    fitted: Fitted,
    data: &Dataset,
    counts: &mut Counts,
) -> Option<String> {
    let certificates = fitted.certificates.clone();
    if let Err(problem) = fitted.model.validate() {
        return Some(format!("{method}: {problem}"));
    }
    if !certificates.iter().all(|claim| claim.gap() >= 0.0) {
        return Some(format!("{method}: {certificates:?}"));
    }
    fitted.proof.as_ref()?;
    // The deviation of a nearly constant column under weights of all sizes is rounding: fit and checker state different
    // problems there (docs/reliability.md).
    let certified = fitted.dual_gap().is_some_and(|gap| gap <= fitted.tol);
    let file = file(method, params, fitted, data)?;
    let found = match file.verify(data, None) {
        Ok(found) => found,
        Err(problem) => return Some(format!("{method}: verify: {problem}")),
    };
    counts.checked += 1;
    counts.certified += u64::from(certified);
    counts.confirmed += u64::from(certified && found.proved());
    for (one, claim) in found.problems.iter().zip(&certificates) {
        let room = ROUNDING * one.objective.abs().max(1.0);
        let inside = (one.objective_low - room..=one.objective + room).contains(&claim.primal);
        if one.objective.is_finite() && !(inside && claim.dual <= one.objective + room) {
            return Some(format!("{method}: the claim {claim:?} contradicts {one:?}"));
        }
    }
    None
}

fn file(method: &str, params: &Value, fitted: Fitted, data: &Dataset) -> Option<ModelFile> {
    let method = methods::find(method).ok()?;
    let names = (0..data.n_classes()).map(|k| Label::Text(k.to_string())).collect();
    Some(ModelFile {
        method: method.name.into(),
        params: method.all_params(params),
        classes: Classes::new(names).ok()?,
        target: None,
        feature_names: None,
        encoder: None,
        fitted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short run of area a.
    #[test]
    fn hostile_problems_are_withstood() {
        let found = run(1, Limit::tries(320));
        assert!(found.failures.is_empty(), "{}", found.failures.join("\n"));
        assert!(found.tries >= 320);
    }

    #[test]
    fn every_setting_of_the_attack_is_one_that_its_method_takes() {
        for (method, params) in METHODS {
            let params: Value = serde_json::from_str(params).unwrap();
            assert!(methods::find(method).unwrap().estimator(&params).is_ok(), "{method} {params}");
        }
    }
}
