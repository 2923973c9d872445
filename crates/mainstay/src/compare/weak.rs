//! Answers that are no better than always the same one, from a model that hardly orders the rows.

use super::advice::{Judge, WORTH};
use super::outcome::{Advice, Interval, MethodInfo};
use super::wording::{capital, named};
use crate::metrics::Metric;

/// An AUC whose interval begins below this may be chance for all that is known: 0.5 is chance.
const BARELY: f64 = 0.6;

impl Judge<'_> {
    /// Says so in the headline where the advised method answers no better than a constant and hardly orders the rows. The
    /// metric of the comparison may hide it: an AUC of 0.6 is more than 0.5, and every row is called the same.
    pub(super) fn doubt_answers(&self, advice: &mut Advice) {
        let Some(method) = self.methods.iter().find(|m| m.name == advice.method) else { return };
        let Some(auc) = self.in_metric(method, Metric::Auc).filter(|auc| auc.low < BARELY) else {
            return;
        };
        if self.answers(method) {
            return;
        }
        advice.weak_answers = true;
        let (title, class) = (capital(&named(method)), self.majority);
        let order =
            format!("AUC {:.3}, {}", auc.mean, self.words.of(Metric::Auc).value_range(&auc));
        let better = self.methods.iter().filter(|m| self.answers(m));
        let better = better.filter_map(|m| Some((m, self.in_metric(m, Metric::BalancedAccuracy)?)));
        let best = better.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let was = std::mem::take(&mut advice.headline);
        advice.headline = match best {
            Some((m, balanced)) => format!(
                "{title} answers no better than always saying `{class}`, and hardly orders the rows ({order}; 0.5 is \
                 chance). Better answers come from {}: balanced accuracy {:.1} % where a constant has {:.1} %.",
                named(m),
                100.0 * balanced.mean,
                100.0 * self.chance
            ),
            None => format!(
                "No method here answers better than always saying `{class}`, and {} hardly orders the rows ({order}; \
                 0.5 is chance).",
                named(method)
            ),
        };
        advice.sentences.insert(0, of_the_order(&was, &named(method)));
        advice.sentences.push(WEAK_HELP.into());
    }

    /// Whether a method answers better than a constant: more rows right, or surely a better balance of the classes.
    fn answers(&self, method: &MethodInfo) -> bool {
        let right = self.in_metric(method, Metric::Accuracy);
        let balanced = self.in_metric(method, Metric::BalancedAccuracy);
        let more = right.is_some_and(|i| i.mean >= self.largest + WORTH);
        // A constant method has no spread that could speak for it.
        let constant = self.constants.contains(&method.name);
        more || (!constant && balanced.is_none_or(|i| i.low > self.chance + WORTH))
    }

    fn in_metric(&self, method: &MethodInfo, metric: Metric) -> Option<Interval> {
        self.bootstrap.interval(&self.scores.clean_in(&method.name, metric))
    }
}

/// What the headline said of `plain`, said of the order of the rows: a model whose answers are no better than a constant is
/// not "enough".
fn of_the_order(headline: &str, plain: &str) -> String {
    let order = "As to the order of the rows alone";
    let start = format!("{} is enough", capital(plain));
    match headline.strip_prefix(&start).and_then(|rest| rest.split_at_checked(2)) {
        Some((": ", rest)) => {
            let rest = rest.replacen("surely better", &format!("surely better than {plain}"), 1);
            format!("{order}, {}", rest.replacen("costs it", &format!("costs {plain}"), 1))
        }
        Some((", ", rest)) => format!("{order}, {plain} may be kept, {rest}"),
        _ => format!("{order}: {headline}"),
    }
}

/// What to do with a model that hardly tells the classes apart.
const WEAK_HELP: &str = "Before answers are used rather than the order: class weights (`mainstay fit --set class_weight=balanced`, \
                         `class_weight=\"balanced\"` in Python) or another threshold make a model call the rarer class at \
                         all; \
                         whether that is more than chance takes more rows or other features.";
