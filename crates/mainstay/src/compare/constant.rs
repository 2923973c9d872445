//! The answer that is always there: the same one for every row.

use super::advice::{Judge, WORTH};
use super::outcome::{Advice, Cell, Interval, MethodInfo};
use super::wording::{capital, named, sign};
use crate::linalg::Dense;
use crate::metrics::{Judged, Metric, Predictions};
use crate::stress::CLEAN;

/// How good a constant answer is: always the largest class, with the shares of the classes as probabilities. More is better.
pub(super) fn constant_answer(metric: Metric, labels: &[usize], n_classes: usize) -> Option<f64> {
    let n = labels.len();
    let mut shares = vec![0.0; n_classes];
    for &k in labels {
        shares[k] += 1.0 / n as f64;
    }
    let largest = (0..n_classes).fold(0, |best, k| if shares[k] > shares[best] { k } else { best });
    let columns = if n_classes == 2 { 1 } else { n_classes };
    let made = Predictions {
        predicted: vec![largest; n],
        scores: Some(Dense::zeros(n, columns)),
        probabilities: Some(Dense::from_fn(n, n_classes, |_, k| shares[k])),
    };
    let judged = Judged::new(labels, n_classes, &made).ok()?;
    metric.of(&judged).ok().map(|value| sign(metric) * value)
}

/// Methods that call all held-out rows the same in most splits of undamaged data.
pub(super) fn constant_methods(methods: &[MethodInfo], cells: &[Cell]) -> Vec<String> {
    let mostly = |m: &&MethodInfo| {
        let own = || {
            cells.iter().filter(|c| c.method == m.name && c.threat == CLEAN && c.accuracy.is_some())
        };
        let constant = own().filter(|c| c.constant).count();
        2 * constant > own().count()
    };
    methods.iter().filter(mostly).map(|m| m.name.clone()).collect()
}

impl Judge<'_> {
    /// What to say where the baseline does not beat a constant answer on clean data: then it is not "enough".
    pub(super) fn below_constant(&self, baseline: &MethodInfo) -> Option<Advice> {
        let constant = self.constant?;
        let own = self.clean(baseline)?;
        if own.mean >= constant + WORTH {
            return None;
        }
        let better = self.above_constant(constant);
        let (plain, words) = (named(baseline), self.words);
        let mut sentences = vec![format!(
            "Always answering `{}` with the same probability gives {} {}; {plain} {}.",
            self.majority,
            words.metric.title(),
            words.value(constant),
            words.told(own.mean)
        )];
        let headline = if let Some((m, found)) = &better {
            format!(
                "Use {}: on undamaged data it {}, where {plain} does not beat a constant answer.",
                named(m),
                words.told(found.mean)
            )
        } else {
            sentences.push(HELP.into());
            "Nothing here beats a constant answer: no method tells these classes apart from these features.".into()
        };
        sentences.extend(self.who_is_constant());
        Some(Advice {
            headline,
            sentences,
            worst_threat: None,
            baseline: baseline.name.clone(),
            method: better.as_ref().map_or(&baseline.name, |(m, _)| &m.name).clone(),
            gain: None,
            price: None,
            nothing_beats_constant: better.is_none(),
            unsettled: false,
            weak_answers: false,
        })
    }

    fn clean(&self, method: &MethodInfo) -> Option<Interval> {
        self.bootstrap.interval(&self.scores.under(&method.name, CLEAN))
    }

    /// The best method that surely beats a constant answer.
    fn above_constant(&self, constant: f64) -> Option<(&MethodInfo, Interval)> {
        let beats = |i: &Interval| i.mean >= constant + WORTH && i.low > constant;
        // The interval of a single repeat has no width.
        let repeated =
            |m: &MethodInfo| self.scores.under(&m.name, CLEAN).iter().flatten().count() > 1;
        let judged = self.methods.iter().filter_map(|m| Some((m, self.clean(m)?)));
        judged
            .filter(|(m, i)| !self.constants.contains(&m.name) && repeated(m) && beats(i))
            .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
    }

    fn who_is_constant(&self) -> Option<String> {
        let all = self.methods.iter().filter(|m| self.constants.contains(&m.name));
        let names: Vec<String> = all.map(named).collect();
        (!names.is_empty())
            .then(|| format!("{} gave every row the same answer.", capital(&names.join(", "))))
    }
}

/// What to try where nothing beats a constant answer.
const HELP: &str = "What might help: other features, more rows, or class weights (`--set class_weight=balanced`, \
                    `class_weight=\"balanced\"` in Python); no choice of a robust method will.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of four rows are of class 0.
    #[test]
    fn a_constant_answer_is_as_good_as_its_closed_form() {
        let labels = [0, 0, 0, 1];
        let value = |metric| constant_answer(metric, &labels, 2).unwrap();
        assert!((value(Metric::Accuracy) - 0.75).abs() < 1e-12);
        assert!((value(Metric::Auc) - 0.5).abs() < 1e-12);
        assert!((value(Metric::BalancedAccuracy) - 0.5).abs() < 1e-12);
        let entropy = -(0.75 * 0.75_f64.ln() + 0.25 * 0.25_f64.ln());
        assert!((value(Metric::LogLoss) + entropy).abs() < 1e-12);
        assert!((value(Metric::Brier) + 0.75 * 0.25).abs() < 1e-12);
    }
}
