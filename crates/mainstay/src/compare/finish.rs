//! From finished repeats to the outcome.

use super::advice::Judge;
use super::bootstrap::Bootstrap;
use super::constant::{constant_answer, constant_methods};
use super::details::Fits;
use super::outcome::{Advice, Comparison, MethodInfo, Settings};
use super::scores::Scores;
use super::session::Session;
use super::summary::{curves, describe, majority, summary};
use super::wording::{Words, sign};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::stress::{seed_of, usual_metric};

/// What all parts of the outcome are made with.
struct Basis {
    metric: Metric,
    /// Ours and the user's.
    methods: Vec<MethodInfo>,
    /// Methods that call all rows the same.
    constant: Vec<String>,
    /// How good a constant answer is.
    floor: Option<f64>,
    /// The same redraws of the repeats for all intervals.
    bootstrap: Bootstrap,
}

impl Session {
    /// Sums up the finished repeats.
    pub fn finish(&self, command: &str, control: &Control) -> Result<Comparison> {
        if self.repeats == 0 {
            let text = "no repeat has been run: there is nothing to sum up";
            return Err(Error::BadParams(text.into()));
        }
        let basis = self.basis();
        let trials = &self.plan.trials;
        let scores = Scores::new(&self.cells, trials, self.repeats, basis.metric);
        let advice = self.advice(&basis, &scores);
        let details = self.fits(control).details(&advice)?;
        control.progress(1, 1);
        Ok(Comparison {
            data: summary(&self.subject, &self.plan),
            settings: self.settings(basis.metric, command),
            threats: trials.iter().map(describe).collect(),
            curves: curves(&basis.methods, trials, &scores, &basis.bootstrap),
            methods: basis.methods,
            constant: basis.constant,
            constant_answer: basis.floor.map(|good| sign(basis.metric) * good),
            cells: self.cells.clone(),
            advice,
            coefficients: details.coefficients,
            suspects: details.suspects,
            suspects_not_run: details.suspects_not_run,
            audit: details.audit,
            chosen: details.chosen,
            chosen_not_run: details.chosen_not_run,
            worst_rows: details.worst_rows,
            radii: details.radii,
        })
    }

    fn basis(&self) -> Basis {
        let data = &self.subject.data;
        let metric = self.metric.unwrap_or_else(|| usual_metric(data.labels(), &self.cells));
        let methods: Vec<MethodInfo> = self.methods.iter().chain(&self.guests).cloned().collect();
        let n = data.len();
        let test = n.div_ceil(3).min(self.plan.max_test_rows) as f64;
        let train = (n - n / 3).min(self.plan.max_training_rows) as f64;
        let seed = seed_of(self.plan.seed, usize::MAX, None);
        Basis {
            metric,
            constant: constant_methods(&methods, &self.cells),
            methods,
            floor: constant_answer(metric, data.labels(), data.n_classes()),
            bootstrap: Bootstrap::new(self.repeats, test / train, seed),
        }
    }

    fn advice(&self, basis: &Basis, scores: &Scores<'_>) -> Advice {
        let (labels, classes) = (self.subject.data.labels(), self.subject.data.n_classes());
        let judge = Judge {
            methods: &basis.methods,
            trials: &self.plan.trials,
            scores,
            bootstrap: &basis.bootstrap,
            majority: majority(&self.subject),
            constant: basis.floor,
            constants: &basis.constant,
            largest: constant_answer(Metric::Accuracy, labels, classes).unwrap_or(1.0),
            chance: 1.0 / classes as f64,
            words: Words { metric: basis.metric, repeats: self.repeats },
        };
        let mut advice = judge.advise(&self.cells, self.repeats);
        if self.few_levels {
            advice.sentences.push(
                "Of every threat to the training rows one level was run, which leaves time for more splits.".into(),
            );
        }
        advice
    }

    fn settings(&self, metric: Metric, command: &str) -> Settings {
        Settings {
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.plan.seed,
            repeats: self.repeats,
            budget_seconds: self.budget,
            metric,
            command: command.into(),
        }
    }

    fn fits(&self, control: &Control) -> Fits<'_> {
        Fits {
            subject: &self.subject,
            entrants: &self.entrants,
            methods: &self.methods,
            plan: &self.plan,
            own_roster: self.own_roster,
            control: control.without_progress(),
        }
    }
}
