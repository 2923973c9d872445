//! From numbers to plain words.

use std::collections::BTreeSet;

use super::bootstrap::Bootstrap;
use super::outcome::{Advice, Cell, Interval, MethodInfo, Role};
use super::scores::{Scores, minus};
use super::wording::{capital, named, percent, points, range, splits};
use crate::stress::{CLEAN, TOO_SLOW, Trial};

/// Differences in accuracy below this are not worth a change of method.
const WORTH: f64 = 0.01;

/// With fewer splits nothing is called sure, whatever the redraws say: they know no spread but that of a few numbers.
pub const SURE: usize = 5;

/// The scores and what is needed to judge them.
pub(super) struct Judge<'a> {
    pub(super) methods: &'a [MethodInfo],
    pub(super) trials: &'a [Trial],
    pub(super) scores: &'a Scores<'a>,
    pub(super) bootstrap: &'a Bootstrap,
    /// The largest class and its share of the rows: what a constant answer gets.
    pub(super) majority: (&'a str, f64),
}

/// What a threat does to the baseline, and who does surely better.
struct Finding<'a> {
    threat: &'static str,
    title: &'static str,
    levels: &'a [f64],
    /// Accuracy lost by the baseline.
    drop: Interval,
    /// Methods that are surely better and by enough, with their gains; the best first.
    better: Vec<(&'a MethodInfo, Interval)>,
    /// The largest gain, sure or not.
    leader: Option<(&'a MethodInfo, Interval)>,
}

impl<'a> Judge<'a> {
    pub(super) fn advise(&self, cells: &[Cell], repeats: usize) -> Advice {
        let clean = |m: &&MethodInfo| self.scores.under(&m.name, CLEAN).iter().any(Option::is_some);
        let baselines = self.methods.iter().filter(|m| m.role == Role::Baseline);
        let Some(baseline) = baselines.chain(self.methods).find(clean) else {
            return nothing(cells);
        };
        let findings = self.findings(baseline, repeats);
        let mut advice = self.decide(baseline, &findings, repeats);
        if baseline.role != Role::Baseline {
            let why = cells.iter().find_map(|c| c.problem.as_deref()).unwrap_or_default();
            advice.headline = format!(
                "No plain method could be fitted to this data, so nothing is advised: {why}"
            );
        }
        advice.sentences.extend(elsewhere(&advice, &findings));
        advice.sentences.extend(self.on_clean_data(baseline));
        advice.sentences.extend(doubts(cells, repeats));
        advice
    }

    /// Every threat, the most harmful first. All gains of all methods are judged together.
    fn findings(&self, baseline: &MethodInfo, repeats: usize) -> Vec<Finding<'a>> {
        let plain = self.scores.under(&baseline.name, CLEAN);
        let mut pairs = Vec::new();
        let mut gains = Vec::new();
        for (t, trial) in self.trials.iter().enumerate() {
            let here = self.scores.under(&baseline.name, trial.threat.name());
            for method in self.methods.iter().filter(|m| m.name != baseline.name) {
                gains.push(minus(&self.scores.under(&method.name, trial.threat.name()), &here));
                pairs.push((t, method));
            }
        }
        let bounds = self.bootstrap.joint_lower(&gains);
        let mut found = Vec::new();
        for (t, trial) in self.trials.iter().enumerate() {
            let threat = trial.threat.name();
            let lost = minus(&plain, &self.scores.under(&baseline.name, threat));
            let Some(drop) = self.bootstrap.interval(&lost) else { continue };
            let mut better = Vec::new();
            let mut leader: Option<(&MethodInfo, Interval)> = None;
            for (k, (_, method)) in pairs.iter().enumerate().filter(|(_, (own, _))| *own == t) {
                let Some(gain) = self.bootstrap.interval(&gains[k]) else { continue };
                if leader.is_none_or(|(_, best)| gain.mean > best.mean) {
                    leader = Some((method, gain));
                }
                let price = self.price(baseline, method).map_or(0.0, |p| p.mean.max(0.0));
                let worth = repeats >= SURE
                    && gain.mean - price >= WORTH
                    && self.mean(method, threat) >= self.majority.1 + WORTH;
                if worth && bounds[k].is_some_and(|low| low > 0.0) {
                    better.push((*method, gain, gain.mean - price));
                }
            }
            better.sort_by(|a, b| b.2.total_cmp(&a.2));
            found.push(Finding {
                threat,
                title: trial.threat.title(),
                levels: &trial.levels,
                drop,
                better: better.into_iter().map(|(m, gain, _)| (m, gain)).collect(),
                leader,
            });
        }
        found.sort_by(|a, b| b.drop.mean.total_cmp(&a.drop.mean));
        found
    }

    /// Accuracy on clean data that `method` gives up.
    fn price(&self, baseline: &MethodInfo, method: &MethodInfo) -> Option<Interval> {
        let plain = self.scores.under(&baseline.name, CLEAN);
        self.bootstrap.interval(&minus(&plain, &self.scores.under(&method.name, CLEAN)))
    }

    fn mean(&self, method: &MethodInfo, threat: &str) -> f64 {
        let found = self.bootstrap.interval(&self.scores.under(&method.name, threat));
        found.map_or(f64::NAN, |interval| interval.mean)
    }

    fn decide(&self, baseline: &MethodInfo, findings: &[Finding<'_>], repeats: usize) -> Advice {
        let plain = &named(baseline);
        let clean = self.bootstrap.interval(&self.scores.under(&baseline.name, CLEAN));
        let mut sentences = Vec::new();
        if let Some(clean) = clean {
            sentences.push(format!(
                "On clean data {plain} is right on {} of the held-out rows ({}, {}).",
                percent(clean.mean),
                range(&clean, percent),
                splits(repeats)
            ));
        }
        let advice =
            |headline: String, sentences, method: &str, worst: Option<&str>, gain, price| Advice {
                headline,
                sentences,
                worst_threat: worst.map(Into::into),
                baseline: baseline.name.clone(),
                method: method.into(),
                gain,
                price,
            };
        let Some(worst) = findings.first() else {
            let headline = format!("{} was run on clean data only.", capital(plain));
            return advice(headline, sentences, &baseline.name, None, None, None);
        };
        let fallen = self.mean(baseline, worst.threat);
        if worst.drop.mean < WORTH {
            let headline = format!(
                "{} is enough: no damage tried here costs it more than one point of accuracy.",
                capital(plain)
            );
            return advice(headline, sentences, &baseline.name, Some(worst.threat), None, None);
        }
        sentences.push(format!(
            "What hurts most is {} ({}): on average over these levels {plain} falls to {}, {} points less ({}).",
            worst.title,
            levels(worst),
            percent(fallen),
            points(worst.drop.mean),
            range(&worst.drop, points)
        ));
        let Some((method, gain)) = worst.better.first() else {
            sentences.extend(self.why_not(baseline, worst));
            let other = findings.iter().find(|f| !f.better.is_empty() && f.drop.mean >= WORTH);
            let headline = match other {
                Some(f) => format!(
                    "{} is enough, unless it is {} that you fear: there {} is surely better.",
                    capital(plain),
                    f.title,
                    named(f.better[0].0)
                ),
                None if repeats < SURE => format!(
                    "Stay with {plain} for now: {} are too few to call any method surely better.",
                    splits(repeats)
                ),
                None => format!(
                    "{} is enough: under no threat is another method surely better by a point or more.",
                    capital(plain)
                ),
            };
            return advice(headline, sentences, &baseline.name, Some(worst.threat), None, None);
        };
        let price = self.price(baseline, method);
        let kept = self.mean(method, worst.threat);
        let headline = format!(
            "Use {}: under {}, which hurts most here, it is right on {} where {plain} falls to {}.",
            named(method),
            worst.title,
            percent(kept),
            percent(fallen)
        );
        sentences.push(format!(
            "{} gains {} points there ({}); that holds with 95 % confidence even when all methods and threats are judged \
             together.",
            capital(&named(method)),
            points(gain.mean),
            range(gain, points)
        ));
        sentences.extend(price.map(|price| priced(&named(method), &price)));
        advice(headline, sentences, &method.name, Some(worst.threat), Some(*gain), price)
    }

    /// Why nobody is advised against the worst threat.
    fn why_not(&self, baseline: &MethodInfo, worst: &Finding<'_>) -> Option<String> {
        let (leader, gain) = worst.leader.as_ref()?;
        let kept = self.mean(leader, worst.threat);
        let (class, share) = self.majority;
        let price = self.price(baseline, leader).map_or(0.0, |p| p.mean);
        let (title, range) = (named(leader), range(gain, points));
        Some(if gain.mean <= 0.0 {
            format!("No other method does better there (next: {title}).")
        } else if kept < share + WORTH {
            format!(
                "The best there is {title} with {}, but always answering `{class}` is right on {} and withstands any \
                 damage: no method tried here can be relied on under this threat.",
                percent(kept),
                percent(share)
            )
        } else if gain.mean < WORTH {
            format!(
                "The best there is {title} with {}, {} points more ({range}): too little to change the method for.",
                percent(kept),
                points(gain.mean)
            )
        } else if gain.mean - price < WORTH {
            format!(
                "The best there is {title} with {}, {} points more ({range}), but it gives up {} points on clean data: \
                 not worth a change of method.",
                percent(kept),
                points(gain.mean),
                points(price)
            )
        } else {
            format!(
                "The best there is {title} with {}, {} points more ({range}): not sure enough to change the method for.",
                percent(kept),
                points(gain.mean)
            )
        })
    }

    /// Methods that are surely better without any damage.
    fn on_clean_data(&self, baseline: &MethodInfo) -> Option<String> {
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
            "On clean data, too, {} is surely better than {}: {} points ({}).",
            named(best),
            named(baseline),
            points(gain.mean),
            range(&gain, points)
        ))
    }
}

/// Who is surely better under the other threats.
fn elsewhere(advice: &Advice, findings: &[Finding<'_>]) -> Vec<String> {
    let others = findings.iter().filter(|f| Some(f.threat) != advice.worst_threat.as_deref());
    let (helped, plain): (Vec<_>, Vec<_>) =
        others.filter(|f| f.drop.mean >= WORTH).partition(|f| !f.better.is_empty());
    let mut sentences: Vec<String> = helped
        .iter()
        .map(|f| {
            let (method, gain) = &f.better[0];
            let more = f.better.len() - 1;
            let beside = match more {
                0 => String::new(),
                1 => ", and so does one other method".into(),
                _ => format!(", and so do {more} other methods"),
            };
            format!(
                "Against {} ({} points lost) {} surely helps: {} points ({}){beside}.",
                f.title,
                points(f.drop.mean),
                named(method),
                points(gain.mean),
                range(gain, points)
            )
        })
        .collect();
    if !plain.is_empty() {
        let each: Vec<String> =
            plain.iter().map(|f| format!("{} ({})", f.title, points(f.drop.mean))).collect();
        sentences.push(format!(
            "Also harmful, but no method is surely better there (points lost): {}.",
            each.join(", ")
        ));
    }
    let harmless: Vec<&str> =
        findings.iter().filter(|f| f.drop.mean < WORTH).map(|f| f.title).collect();
    if !harmless.is_empty() && harmless.len() < findings.len() {
        sentences.push(format!("Costing less than a point: {}.", harmless.join(", ")));
    }
    sentences
}

fn priced(title: &str, price: &Interval) -> String {
    let (cost, range) = (points(price.mean.abs()), range(price, points));
    if price.mean.abs() < 0.000_5 {
        format!("On clean data {title} costs nothing ({range}).")
    } else if price.mean > 0.0 {
        let sure = if price.low > 0.0 { "" } else { ", which may be chance" };
        format!("The price on clean data is {cost} points ({range}){sure}.")
    } else {
        format!("It costs nothing on clean data: {cost} points better there (cost {range}).")
    }
}

/// What keeps the numbers from being believed.
fn doubts(cells: &[Cell], repeats: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    match repeats {
        1 => sentences.push(
            "With one split there are no intervals and nothing is sure: run more repeats.".into(),
        ),
        2..SURE => sentences.push(format!(
            "Only {repeats} splits: the intervals are rough and no gain is called sure. A larger budget, or {SURE} \
             repeats and more, settle it."
        )),
        _ => {}
    }
    let (slow, empty): (Vec<&Cell>, Vec<&Cell>) = cells
        .iter()
        .filter(|c| c.problem.is_some())
        .partition(|c| c.problem.as_deref() == Some(TOO_SLOW));
    if !slow.is_empty() {
        sentences.push(format!(
            "Left out, because their fits take longer than the time budget allows: {}. A larger budget includes them.",
            methods_of(&slow)
        ));
    }
    if let Some(first) = empty.first() {
        sentences.push(format!(
            "{} of {} cells are empty ({}); the first because: {}",
            empty.len(),
            cells.len(),
            methods_of(&empty),
            first.problem.as_deref().unwrap_or_default()
        ));
    }
    sentences
}

/// The methods of `cells`, each once.
fn methods_of(cells: &[&Cell]) -> String {
    let names: BTreeSet<&str> = cells.iter().map(|c| c.method.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn nothing(cells: &[Cell]) -> Advice {
    let why = cells.iter().find_map(|c| c.problem.clone()).unwrap_or_default();
    Advice {
        headline: format!("No method could be fitted to this data: {why}"),
        sentences: Vec::new(),
        worst_threat: None,
        baseline: String::new(),
        method: String::new(),
        gain: None,
        price: None,
    }
}

fn levels(finding: &Finding<'_>) -> String {
    let each: Vec<String> = finding.levels.iter().map(|l| format!("{l}")).collect();
    format!("levels {}", each.join(", "))
}
