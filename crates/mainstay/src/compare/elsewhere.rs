//! What is said about the threats that do not decide, and about clean data.

use super::advice::{Finding, Judge, WORTH};
use super::outcome::{Advice, MethodInfo};
use super::scores::minus;
use super::wording::named;
use crate::stress::CLEAN;

impl Judge<'_> {
    /// Methods that are surely better without any damage.
    pub(super) fn on_clean_data(&self, baseline: &MethodInfo) -> Option<String> {
        let plain = self.scores.under(&baseline.name, CLEAN);
        let others: Vec<&MethodInfo> =
            self.methods.iter().filter(|m| m.name != baseline.name).collect();
        let gains: Vec<_> =
            others.iter().map(|m| minus(&self.scores.under(&m.name, CLEAN), &plain)).collect();
        let bounds = self.bootstrap.joint_lower(&gains);
        let sure =
            others.iter().zip(&gains).zip(bounds).filter(|(_, b)| b.is_some_and(|b| b > 0.0));
        let each = sure.filter_map(|((m, g), _)| Some((m, self.bootstrap.interval(g)?)));
        let (best, gain) = each
            .filter(|(_, gain)| gain.mean >= WORTH)
            .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
        Some(format!(
            "On clean data, too, {} is surely better than {}: {} ({}).",
            named(best),
            named(baseline),
            self.words.points(gain.mean),
            self.words.range(&gain)
        ))
    }

    /// Who is surely better under the other threats.
    pub(super) fn elsewhere(&self, advice: &Advice, findings: &[Finding<'_>]) -> Vec<String> {
        let words = self.words;
        let others = findings.iter().filter(|f| Some(f.threat) != advice.worst_threat.as_deref());
        let (helped, plain): (Vec<_>, Vec<_>) =
            others.filter(|f| f.drop.mean >= WORTH).partition(|f| !f.better.is_empty());
        let mut sentences: Vec<String> = helped.iter().map(|f| self.helped(f)).collect();
        if !plain.is_empty() {
            let each: Vec<String> = plain
                .iter()
                .map(|f| format!("{} ({})", f.title, words.points(f.drop.mean)))
                .collect();
            let useless = plain.iter().any(|f| f.useless);
            sentences.push(format!(
                "Also harmful, but no method is surely better there{} (what is lost): {}.",
                self.and_useful(useless),
                each.join(", ")
            ));
        }
        let harmless: Vec<&str> =
            findings.iter().filter(|f| f.drop.mean < WORTH).map(|f| f.title).collect();
        if !harmless.is_empty() && harmless.len() < findings.len() {
            sentences.push(format!(
                "Costing less than {}: {}.",
                words.one_point(),
                harmless.join(", ")
            ));
        }
        sentences
    }

    /// What `better` is limited by where others are surely better, but not than a constant answer: they help nobody, and must
    /// not be denied either.
    pub(super) fn and_useful(&self, useless: bool) -> String {
        if useless {
            format!(" and also better than always answering `{}`", self.majority)
        } else {
            String::new()
        }
    }

    /// Who surely helps against a threat.
    fn helped(&self, finding: &Finding<'_>) -> String {
        let (method, gain) = &finding.better[0];
        let beside = match finding.better.len() - 1 {
            0 => String::new(),
            1 => ", and so does one other method".into(),
            more => format!(", and so do {more} other methods"),
        };
        format!(
            "Against {} ({} lost) {} surely helps: {} ({}){beside}.",
            finding.title,
            self.words.points(finding.drop.mean),
            named(method),
            self.words.points(gain.mean),
            self.words.range(gain)
        )
    }
}
