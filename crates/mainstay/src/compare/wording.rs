//! Numbers, intervals and names as the advice says them.

use super::outcome::{Interval, MethodInfo};
use crate::metrics::Metric;

/// How the numbers of a metric are said. They come in as "how good": a loss with its sign turned, so that more is better.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) metric: Metric,
    pub(super) repeats: usize,
}

/// 1 if more is better, -1 if less is.
pub(super) fn sign(metric: Metric) -> f64 {
    if metric.higher_is_better() == Some(false) { -1.0 } else { 1.0 }
}

/// Where the values of a metric lie: an interval by a normal distribution may reach beyond.
fn ends(metric: Metric) -> (f64, f64) {
    use Metric::{
        BrierSkill, CalibrationIntercept, CalibrationSlope, Cost, LogLoss, Mcc, NetBenefit,
    };
    match metric {
        LogLoss | Cost => (0.0, f64::INFINITY),
        Mcc => (-1.0, 1.0),
        BrierSkill | NetBenefit => (f64::NEG_INFINITY, 1.0),
        CalibrationSlope | CalibrationIntercept => (f64::NEG_INFINITY, f64::INFINITY),
        // The sum over the classes of squares of differences of probabilities, with more than two of them.
        Metric::Brier => (0.0, 2.0),
        _ => (0.0, 1.0),
    }
}

impl Words {
    /// The same for another metric.
    pub(super) fn of(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    fn in_percent(self) -> bool {
        use Metric::{Accuracy, BalancedAccuracy, F1, Npv, Ppv, Sensitivity, Specificity};
        matches!(
            self.metric,
            Accuracy | BalancedAccuracy | Sensitivity | Specificity | Ppv | Npv | F1
        )
    }

    /// A value of the metric.
    pub(super) fn value(self, good: f64) -> String {
        let value = sign(self.metric) * good;
        if self.in_percent() { format!("{:.1} %", 100.0 * value) } else { format!("{value:.3}") }
    }

    /// A value with the name of the metric: "right on 93.4 % of the held-out rows", "AUC 0.871 on held-out rows".
    pub(super) fn told(self, good: f64) -> String {
        let value = self.value(good);
        match self.metric {
            Metric::Accuracy => format!("is right on {value} of the held-out rows"),
            metric => format!("reaches {} {value} on held-out rows", metric.title()),
        }
    }

    /// The same in a headline.
    pub(super) fn kept(self, good: f64) -> String {
        let value = self.value(good);
        match self.metric {
            Metric::Accuracy => format!("it is right on {value}"),
            metric => format!("it keeps {} {value}", metric.title()),
        }
    }

    /// "falls to" or, for a loss, "rises to".
    pub(super) fn falls_to(self) -> &'static str {
        if sign(self.metric) > 0.0 { "falls to" } else { "rises to" }
    }

    /// A difference without its unit.
    fn bare(self, difference: f64) -> String {
        let shown = if self.in_percent() {
            format!("{:.1}", 100.0 * difference)
        } else {
            format!("{difference:.3}")
        };
        let zero = shown.strip_prefix('-').filter(|s| s.chars().all(|c| matches!(c, '0' | '.')));
        zero.map_or(shown.clone(), Into::into)
    }

    /// A difference: "3.4 points" or "0.034".
    pub(super) fn points(self, difference: f64) -> String {
        let unit = if self.in_percent() { " points" } else { "" };
        format!("{}{unit}", self.bare(difference))
    }

    /// The difference below which nothing is worth a change.
    pub(super) fn one_point(self) -> String {
        match self.metric {
            metric if self.in_percent() => format!("one point of {}", metric.title()),
            metric => format!("0.01 in {}", metric.title()),
        }
    }

    /// The interval of a value.
    pub(super) fn value_range(self, interval: &Interval) -> String {
        let (a, b) = (interval.low, interval.high);
        let (low, high) = if sign(self.metric) > 0.0 { (a, b) } else { (b, a) };
        let (least, most) = ends(self.metric);
        // Both are "how good": the ends of a loss change places with their sign.
        let of = sign(self.metric);
        let clip = |v: f64| of * (of * v).clamp(least, most);
        self.between(interval, &self.value(clip(low)), &self.value(clip(high)))
    }

    /// The interval of a difference.
    pub(super) fn range(self, interval: &Interval) -> String {
        let (least, most) = ends(self.metric);
        let clip = |v: f64| v.clamp(least - most, most - least);
        self.between(interval, &self.bare(clip(interval.low)), &self.bare(clip(interval.high)))
    }

    fn between(self, interval: &Interval, low: &str, high: &str) -> String {
        if interval.low < interval.high {
            format!("95 % interval {low} to {high}")
        } else if self.repeats > 1 {
            "the same in every split".into()
        } else {
            "no interval".into()
        }
    }
}

/// The name of a method inside a sentence.
pub(super) fn named(method: &MethodInfo) -> String {
    let thing = ["SVM", "ReGEC"].iter().any(|end| method.title.ends_with(end));
    if thing { format!("the {}", method.title) } else { method.title.clone() }
}

/// A number of splits in words.
pub(super) fn splits(repeats: usize) -> String {
    if repeats == 1 { "1 split".into() } else { format!("{repeats} splits") }
}

/// The same sentence with a capital letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_where_the_metric_does() {
        let told = |metric, low, high| {
            Words { metric, repeats: 5 }.value_range(&Interval { mean: low, low, high })
        };
        assert_eq!(told(Metric::Auc, 0.62, 1.043), "95 % interval 0.620 to 1.000");
        assert_eq!(told(Metric::Accuracy, 0.9, 1.2), "95 % interval 90.0 % to 100.0 %");
        assert_eq!(told(Metric::Mcc, -0.2, 1.1), "95 % interval -0.200 to 1.000");
        // Losses come in with their sign turned: 0 is the best there is, and nothing is the worst.
        assert_eq!(told(Metric::LogLoss, -1.7, 0.1), "95 % interval 0.000 to 1.700");
        let words = Words { metric: Metric::Auc, repeats: 5 };
        let gain = words.range(&Interval { mean: 0.5, low: -0.2, high: 1.2 });
        assert_eq!(gain, "95 % interval -0.200 to 1.000");
    }
}
