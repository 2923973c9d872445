//! What an experiment found: rows that set our number beside the published one, charts and notes.

use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::stats;

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A share, in per cent.
    Percent,
    /// Three digits after the point.
    Plain,
    /// A quotient, two digits after the point.
    Ratio,
    /// Seconds.
    Seconds,
    /// A whole number.
    Count,
}

impl Unit {
    /// The number as text.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".into();
        }
        match self {
            Self::Percent => format!("{:.1} %", 100.0 * value),
            Self::Plain => format!("{value:.3}"),
            Self::Ratio if value.abs() >= 1000.0 => format!("{value:.1e}"),
            Self::Ratio => format!("{value:.2}"),
            Self::Seconds if value >= 10.0 => format!("{value:.0} s"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Count => format!("{value:.0}"),
        }
    }

    /// A difference of two such numbers as text.
    fn difference(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{:.1} points", 100.0 * value),
            _ => self.show(value),
        }
    }

    /// Half a unit of the last digit that papers print.
    fn resolution(self) -> f64 {
        match self {
            Self::Percent | Self::Plain => 0.0005,
            Self::Ratio | Self::Seconds => 0.005,
            Self::Count => 0.5,
        }
    }
}

/// A mean over repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The mean.
    #[serde(with = "number")]
    pub value: f64,
    /// Standard deviation over repetitions, where there is one.
    pub spread: Option<f64>,
    /// Number of repetitions; 0 where the paper does not say.
    pub count: usize,
}

impl Measured {
    /// A published mean and standard deviation.
    pub const fn published(value: f64, spread: f64) -> Self {
        Self { value, spread: Some(spread), count: 0 }
    }

    /// A published number without a spread.
    pub const fn plain(value: f64) -> Self {
        Self { value, spread: None, count: 0 }
    }

    /// Mean and standard deviation of repetitions; those that are not a number are left out.
    pub fn of(values: &[f64]) -> Self {
        let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let spread = (values.len() > 1).then(|| stats::deviation(&values));
        Self { value: stats::mean(&values), spread, count: values.len() }
    }

    fn show(&self, unit: Unit) -> String {
        match self.spread {
            Some(spread) => format!("{} ± {}", unit.show(self.value), unit.show(spread)),
            None => unit.show(self.value),
        }
    }
}

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Small numbers: errors, losses, times.
    Lower,
    /// Large numbers: accuracies.
    Higher,
}

/// What a comparison with the paper says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The difference is within the larger of both spreads; a claim holds.
    Agrees,
    /// Ours is better by more than that.
    Better,
    /// Ours is worse by more than that.
    Worse,
    /// A claim does not hold here.
    Fails,
    /// There is nothing to compare with, or it would mean nothing.
    NotComparable,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Fails => "does not reproduce",
            Self::NotComparable => "not comparable",
        }
    }

    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Agrees, Self::Better, Self::Worse, Self::Fails, Self::NotComparable];
}

/// One line of a comparison: a number or a claim of the paper, and what we found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// How numbers are written.
    pub unit: Unit,
    /// The published number.
    pub paper: Option<Measured>,
    /// The published sentence, in our words.
    pub claim: Option<String>,
    /// Our number.
    pub ours: Option<Measured>,
    /// Our finding about a claim.
    pub found: Option<String>,
    /// What follows.
    pub verdict: Verdict,
    /// Why, where it is not obvious.
    pub reason: String,
}

impl Row {
    /// A published number against ours.
    pub fn compare(
        what: impl Into<String>,
        unit: Unit,
        goal: Goal,
        paper: Measured,
        ours: Measured,
    ) -> Self {
        let (verdict, reason) = judge(unit, goal, paper, ours);
        Self {
            what: what.into(),
            unit,
            paper: Some(paper),
            claim: None,
            ours: Some(ours),
            found: None,
            verdict,
            reason,
        }
    }

    /// A published sentence and whether it holds here.
    pub fn claim(
        what: impl Into<String>,
        claim: impl Into<String>,
        holds: bool,
        found: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            unit: Unit::Plain,
            paper: None,
            claim: Some(claim.into()),
            ours: None,
            found: Some(found.into()),
            verdict: if holds { Verdict::Agrees } else { Verdict::Fails },
            reason: String::new(),
        }
    }

    /// A number of ours that the paper has no counterpart for.
    pub fn ours(
        what: impl Into<String>,
        unit: Unit,
        ours: Measured,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            unit,
            paper: None,
            claim: None,
            ours: Some(ours),
            found: None,
            verdict: Verdict::NotComparable,
            reason: reason.into(),
        }
    }

    /// The same, with a reason why the comparison means nothing.
    #[must_use]
    pub fn not_comparable(mut self, reason: impl Into<String>) -> Self {
        self.verdict = Verdict::NotComparable;
        self.reason = reason.into();
        self
    }

    /// The same, with a likely reason for the difference, if there is one.
    #[must_use]
    pub fn because(mut self, reason: impl AsRef<str>) -> Self {
        if matches!(self.verdict, Verdict::Better | Verdict::Worse | Verdict::Fails) {
            let gap = if self.reason.is_empty() { "" } else { "; " };
            self.reason = format!("{}{gap}probably: {}", self.reason, reason.as_ref());
        }
        self
    }

    /// The paper's side as text.
    pub fn paper_text(&self) -> String {
        match (&self.paper, &self.claim) {
            (Some(number), _) => number.show(self.unit),
            (None, Some(claim)) => claim.clone(),
            _ => "-".into(),
        }
    }

    /// Our side as text.
    pub fn ours_text(&self) -> String {
        match (&self.ours, &self.found) {
            (Some(number), _) => number.show(self.unit),
            (None, Some(found)) => found.clone(),
            _ => "-".into(),
        }
    }
}

/// The rule of all verdicts on numbers: they agree if they differ by no more than the larger of both spreads, or
/// by no more than the paper's last digit.
fn judge(unit: Unit, goal: Goal, paper: Measured, ours: Measured) -> (Verdict, String) {
    if !(paper.value.is_finite() && ours.value.is_finite()) {
        return (Verdict::NotComparable, "no number".into());
    }
    let spread = |m: Measured| m.spread.unwrap_or(0.0);
    let allowed = spread(paper).max(spread(ours)).max(unit.resolution());
    let difference = ours.value - paper.value;
    if difference.abs() <= allowed * (1.0 + 1e-9) {
        return (Verdict::Agrees, String::new());
    }
    let verdict =
        if (difference < 0.0) == (goal == Goal::Lower) { Verdict::Better } else { Verdict::Worse };
    (verdict, format!("by {}", unit.difference(difference.abs())))
}

/// Everything an experiment found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The comparison.
    pub rows: Vec<Row>,
    /// Panels of the plot.
    pub charts: Vec<Chart>,
    /// What the paper leaves open and we settled, and where we departed from it.
    pub choices: Vec<String>,
    /// Data that stand in for others.
    pub stand_ins: Vec<String>,
    /// What was not run, and why.
    pub not_run: Vec<String>,
    /// Sentences a reader should not miss.
    pub notes: Vec<String>,
}

impl Outcome {
    /// How many rows have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Adds a choice.
    pub fn choice(&mut self, text: impl Into<String>) {
        self.choices.push(text.into());
    }
}

/// Numbers in JSON; one that is not finite is null and comes back as NaN.
pub(crate) mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(goal: Goal, paper: Measured, ours: Measured) -> Verdict {
        Row::compare("", Unit::Plain, goal, paper, ours).verdict
    }

    #[test]
    fn numbers_within_the_larger_spread_agree() {
        let paper = Measured::published(0.20, 0.02);
        assert_eq!(verdict(Goal::Lower, paper, Measured::plain(0.219)), Verdict::Agrees);
        assert_eq!(verdict(Goal::Lower, paper, Measured::plain(0.221)), Verdict::Worse);
        assert_eq!(verdict(Goal::Higher, paper, Measured::plain(0.221)), Verdict::Better);
        assert_eq!(verdict(Goal::Lower, paper, Measured::plain(0.17)), Verdict::Better);
        assert_eq!(verdict(Goal::Lower, paper, Measured::published(0.3, 0.2)), Verdict::Agrees);
        let exact = Measured::plain(0.2);
        assert_eq!(verdict(Goal::Lower, exact, Measured::plain(0.2004)), Verdict::Agrees);
        assert_eq!(verdict(Goal::Lower, exact, Measured::plain(0.2016)), Verdict::Worse);
        assert_eq!(verdict(Goal::Lower, exact, Measured::plain(f64::NAN)), Verdict::NotComparable);
    }

    #[test]
    fn a_reason_is_given_only_for_a_difference() {
        let row = |ours: f64| {
            let paper = Measured::published(0.2, 0.01);
            Row::compare("", Unit::Percent, Goal::Lower, paper, Measured::plain(ours))
                .because("other data")
        };
        assert_eq!(row(0.2).reason, "");
        assert_eq!(row(0.25).reason, "by 5.0 points; probably: other data");
        assert_eq!(Row::claim("", "always", false, "once").verdict, Verdict::Fails);
    }

    #[test]
    fn numbers_survive_json_also_where_there_is_none() {
        let row = Row::ours("x", Unit::Ratio, Measured::of(&[0.1, 0.3]), "");
        let text = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
        let none = Measured::of(&[]);
        let text = serde_json::to_string(&none).unwrap();
        assert!(serde_json::from_str::<Measured>(&text).unwrap().value.is_nan());
    }
}
