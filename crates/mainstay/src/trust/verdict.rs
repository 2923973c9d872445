//! The rule that turns evidence about one prediction into a word.

use serde::Serialize;

/// What to make of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing speaks against it.
    Stands,
    /// Little would have changed it.
    CloseCall,
    /// The model has seen nothing of the kind.
    Unlike,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stands => "stands",
            Self::CloseCall => "close call",
            Self::Unlike => "unlike the training data",
        }
    }
}

/// The rule in words, for help and reports.
pub const RULE: &str = "unlike the training data: farther from their mean than 99 % of the training rows, or a feature \
outside their range by more than half its width, or no class has a conformal p-value above 1 %. close call: a probability \
below 0.6, or fewer than 90 % of the refits agree, or a change of less than 0.2 standard deviations or of less than 2 \
measurement errors flips it, or a second class has a conformal p-value above 5 %. stands: none of these";

/// The reason that most often keeps predictions from standing.
pub(super) const NOT_RULED_OUT: &str = "another class is not ruled out";

/// Share of the training rows that are nearer to their mean than a row unlike them.
const FAR: f64 = 0.99;
/// Widths of its range by which a feature may lie outside it.
const BEYOND: f64 = 0.5;
/// No class fits a row whose conformal p-values are all at most this.
const STRANGE: f64 = 0.01;
/// A smaller probability is a close call.
const SURE: f64 = 0.6;
/// A smaller share of refits that agree is a close call.
const AGREE: f64 = 0.9;
/// A prediction that a smaller change flips is a close call, in standard deviations.
const NEAR_SD: f64 = 0.2;
/// A prediction that a smaller change flips is a close call, in measurement errors.
const NEAR_ERRORS: f64 = 2.0;
/// A second class with a larger conformal p-value is a close call.
const SECOND: f64 = 0.05;

/// What is known about one prediction.
pub(super) struct Evidence<'a> {
    pub(super) probability: Option<f64>,
    pub(super) agreement: Option<f64>,
    pub(super) flip_sd: Option<f64>,
    pub(super) flip_error: Option<f64>,
    pub(super) nearer: Option<f64>,
    /// Features outside their range and how far, in widths of the range.
    pub(super) outside: &'a [(usize, f64)],
    pub(super) features: &'a [String],
    pub(super) own_p: Option<f64>,
    /// Largest p-value of another class.
    pub(super) other_p: Option<f64>,
}

impl Evidence<'_> {
    /// The word and the reasons.
    pub(super) fn judge(&self) -> (Verdict, String) {
        let strange = self.strange();
        if !strange.is_empty() {
            return (Verdict::Unlike, strange.join("; "));
        }
        let close = self.close();
        if close.is_empty() {
            return (Verdict::Stands, String::new());
        }
        (Verdict::CloseCall, close.join("; "))
    }

    fn strange(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.nearer.is_some_and(|share| share >= FAR) {
            reasons.push("farther out than 99 % of the training rows".into());
        }
        let far: Vec<&str> = self
            .outside
            .iter()
            .filter(|(_, over)| *over > BEYOND)
            .map(|(j, _)| self.features.get(*j).map_or("?", String::as_str))
            .collect();
        if !far.is_empty() {
            reasons.push(format!("far outside the training range: {}", far.join(", ")));
        }
        if let (Some(own), Some(other)) = (self.own_p, self.other_p)
            && own.max(other) <= STRANGE
        {
            reasons.push("like the training rows of no class".into());
        }
        reasons
    }

    fn close(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(p) = self.probability.filter(|p| *p < SURE) {
            reasons.push(format!("probability {p:.2}"));
        }
        if let Some(share) = self.agreement.filter(|share| *share < AGREE) {
            reasons.push(format!("{:.0} % of the refits agree", 100.0 * share));
        }
        if let Some(sd) = self.flip_sd.filter(|sd| *sd < NEAR_SD) {
            reasons.push(format!("a change of {sd:.2} sd flips it"));
        }
        if let Some(errors) = self.flip_error.filter(|e| *e < NEAR_ERRORS) {
            reasons.push(format!("{errors:.2} measurement errors flip it"));
        }
        if let Some(p) = self.other_p.filter(|p| *p > SECOND) {
            reasons.push(format!("{NOT_RULED_OUT}, p = {p:.2}"));
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm() -> Evidence<'static> {
        Evidence {
            probability: Some(0.97),
            agreement: Some(1.0),
            flip_sd: Some(2.0),
            flip_error: Some(9.0),
            nearer: Some(0.5),
            outside: &[(0, 0.1)],
            features: &[],
            own_p: Some(0.6),
            other_p: Some(0.01),
        }
    }

    #[test]
    fn each_part_of_the_rule_changes_the_word_alone() {
        assert_eq!(calm().judge(), (Verdict::Stands, String::new()));
        let word = |evidence: Evidence<'_>| evidence.judge().0;
        assert_eq!(word(Evidence { probability: Some(0.59), ..calm() }), Verdict::CloseCall);
        assert_eq!(word(Evidence { agreement: Some(0.89), ..calm() }), Verdict::CloseCall);
        assert_eq!(word(Evidence { flip_sd: Some(0.19), ..calm() }), Verdict::CloseCall);
        assert_eq!(word(Evidence { flip_error: Some(1.9), ..calm() }), Verdict::CloseCall);
        assert_eq!(word(Evidence { other_p: Some(0.06), ..calm() }), Verdict::CloseCall);
        assert_eq!(word(Evidence { nearer: Some(0.99), ..calm() }), Verdict::Unlike);
        assert_eq!(word(Evidence { own_p: Some(0.01), ..calm() }), Verdict::Unlike);
        let beyond = Evidence { outside: &[(0, 0.6)], probability: Some(0.5), ..calm() };
        assert_eq!(word(beyond), Verdict::Unlike);
    }

    #[test]
    fn what_is_not_known_speaks_neither_for_nor_against() {
        let nothing = Evidence {
            probability: None,
            agreement: None,
            flip_sd: None,
            flip_error: None,
            nearer: None,
            outside: &[],
            own_p: None,
            other_p: None,
            ..calm()
        };
        assert_eq!(nothing.judge().0, Verdict::Stands);
    }
}
