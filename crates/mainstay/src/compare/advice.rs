//! From numbers to plain words.

use super::bootstrap::Bootstrap;
use super::doubts::doubts;
use super::outcome::{Advice, Cell, Interval, MethodInfo, Role};
use super::scores::{Scores, minus};
use super::wording::{Words, capital, named, splits};
use crate::stress::{CLEAN, Trial};

/// Differences in the metric below this are not worth a change of method.
pub(super) const WORTH: f64 = 0.01;

/// With fewer splits nothing is called sure, whatever the redraws say: they know no spread but that of a few numbers.
pub const SURE: usize = 5;

/// The scores and what is needed to judge them.
pub(super) struct Judge<'a> {
    pub(super) methods: &'a [MethodInfo],
    pub(super) trials: &'a [Trial],
    pub(super) scores: &'a Scores<'a>,
    pub(super) bootstrap: &'a Bootstrap,
    /// The largest class.
    pub(super) majority: &'a str,
    /// How good a constant answer is.
    pub(super) constant: Option<f64>,
    /// Methods that give one.
    pub(super) constants: &'a [String],
    /// How numbers are said.
    pub(super) words: Words,
}

/// What a threat does to the baseline, and who does surely better.
struct Finding<'a> {
    threat: &'static str,
    title: &'static str,
    levels: &'a [f64],
    /// What the baseline loses.
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
        let below = self.below_constant(baseline, repeats);
        let beaten = below.is_some();
        let mut advice = below.unwrap_or_else(|| self.decide(baseline, &findings, repeats));
        if baseline.role != Role::Baseline {
            let why = cells.iter().find_map(|c| c.problem.as_deref()).unwrap_or_default();
            advice.headline = format!(
                "No plain method could be fitted to this data, so nothing is advised: {why}"
            );
        }
        if !beaten {
            advice.sentences.extend(self.elsewhere(&advice, &findings));
        }
        advice.sentences.extend(self.on_clean_data(baseline).filter(|_| !beaten));
        if !beaten && self.constants.contains(&baseline.name) {
            advice.sentences.push(format!(
                "{} orders the rows but calls nearly all of them `{}`: for answers it needs class weights \
                 (`class_weight` = \"balanced\") or another threshold.",
                capital(&named(baseline)),
                self.majority
            ));
        }
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
                    && self.constant.is_none_or(|c| self.mean(method, threat) >= c + WORTH);
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

    /// What `method` gives up on clean data.
    fn price(&self, baseline: &MethodInfo, method: &MethodInfo) -> Option<Interval> {
        let plain = self.scores.under(&baseline.name, CLEAN);
        self.bootstrap.interval(&minus(&plain, &self.scores.under(&method.name, CLEAN)))
    }

    fn mean(&self, method: &MethodInfo, threat: &str) -> f64 {
        let found = self.bootstrap.interval(&self.scores.under(&method.name, threat));
        found.map_or(f64::NAN, |interval| interval.mean)
    }

    fn decide(&self, baseline: &MethodInfo, findings: &[Finding<'_>], repeats: usize) -> Advice {
        let (plain, words) = (&named(baseline), self.words);
        let clean = self.bootstrap.interval(&self.scores.under(&baseline.name, CLEAN));
        let mut sentences = Vec::new();
        if let Some(clean) = clean {
            sentences.push(format!(
                "On clean data {plain} {} ({}, {}).",
                words.told(clean.mean),
                words.value_range(&clean),
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
                nothing_beats_constant: false,
            };
        let Some(worst) = findings.first() else {
            let headline = format!("{} was run on clean data only.", capital(plain));
            return advice(headline, sentences, &baseline.name, None, None, None);
        };
        let fallen = self.mean(baseline, worst.threat);
        if worst.drop.mean < WORTH {
            let headline = format!(
                "{} is enough: no damage tried here costs it more than {}.",
                capital(plain),
                words.one_point()
            );
            return advice(headline, sentences, &baseline.name, Some(worst.threat), None, None);
        }
        sentences.push(format!(
            "What hurts most is {} ({}): on average over these levels {plain} {} {}, {} {} ({}).",
            worst.title,
            levels(worst),
            words.falls_to(),
            words.value(fallen),
            words.points(worst.drop.mean),
            if words.falls_to() == "falls to" { "less" } else { "more" },
            words.range(&worst.drop)
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
                    "{} is enough: under no threat is another method surely better by {} or more.",
                    capital(plain),
                    words.one_point()
                ),
            };
            return advice(headline, sentences, &baseline.name, Some(worst.threat), None, None);
        };
        let price = self.price(baseline, method);
        let kept = self.mean(method, worst.threat);
        let headline = format!(
            "Use {}: under {}, which hurts most here, {} where {plain} {} {}.",
            named(method),
            worst.title,
            words.kept(kept),
            words.falls_to(),
            words.value(fallen)
        );
        sentences.push(format!(
            "{} gains {} there ({}); that holds with 95 % confidence even when all methods and threats are judged \
             together.",
            capital(&named(method)),
            words.points(gain.mean),
            words.range(gain)
        ));
        sentences.extend(price.map(|price| priced(&named(method), &price, words)));
        advice(headline, sentences, &method.name, Some(worst.threat), Some(*gain), price)
    }

    /// Why nobody is advised against the worst threat.
    fn why_not(&self, baseline: &MethodInfo, worst: &Finding<'_>) -> Option<String> {
        let (leader, gain) = worst.leader.as_ref()?;
        let kept = self.mean(leader, worst.threat);
        let (class, words) = (self.majority, self.words);
        let constant = self.constant.unwrap_or(f64::NEG_INFINITY);
        let price = self.price(baseline, leader).map_or(0.0, |p| p.mean);
        let (title, range) = (named(leader), words.range(gain));
        Some(if gain.mean <= 0.0 {
            format!("No other method does better there (next: {title}).")
        } else if kept < constant + WORTH {
            format!(
                "The best there is {title} with {}, but always answering `{class}` gets {} and withstands any \
                 damage: no method tried here can be relied on under this threat.",
                words.value(kept),
                words.value(constant)
            )
        } else if gain.mean < WORTH {
            format!(
                "The best there is {title} with {}, {} better ({range}): too little to change the method for.",
                words.value(kept),
                words.points(gain.mean)
            )
        } else if gain.mean - price < WORTH {
            format!(
                "The best there is {title} with {}, {} better ({range}), but it gives up {} on clean data: \
                 not worth a change of method.",
                words.value(kept),
                words.points(gain.mean),
                words.points(price)
            )
        } else {
            format!(
                "The best there is {title} with {}, {} better ({range}): not sure enough to change the method for.",
                words.value(kept),
                words.points(gain.mean)
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
            "On clean data, too, {} is surely better than {}: {} ({}).",
            named(best),
            named(baseline),
            self.words.points(gain.mean),
            self.words.range(&gain)
        ))
    }

    /// Who is surely better under the other threats.
    fn elsewhere(&self, advice: &Advice, findings: &[Finding<'_>]) -> Vec<String> {
        let words = self.words;
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
                    "Against {} ({} lost) {} surely helps: {} ({}){beside}.",
                    f.title,
                    words.points(f.drop.mean),
                    named(method),
                    words.points(gain.mean),
                    words.range(gain)
                )
            })
            .collect();
        if !plain.is_empty() {
            let each: Vec<String> = plain
                .iter()
                .map(|f| format!("{} ({})", f.title, words.points(f.drop.mean)))
                .collect();
            sentences.push(format!(
                "Also harmful, but no method is surely better there (what is lost): {}.",
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
}

fn priced(title: &str, price: &Interval, words: Words) -> String {
    let (cost, range) = (words.points(price.mean.abs()), words.range(price));
    if price.mean.abs() < 0.000_5 {
        format!("On clean data {title} costs nothing ({range}).")
    } else if price.mean > 0.0 {
        let sure = if price.low > 0.0 { "" } else { ", which may be chance" };
        format!("The price on clean data is {cost} ({range}){sure}.")
    } else {
        format!("It costs nothing on clean data: {cost} better there (cost {range}).")
    }
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
        nothing_beats_constant: false,
    }
}

fn levels(finding: &Finding<'_>) -> String {
    let each: Vec<String> = finding.levels.iter().map(|l| format!("{l}")).collect();
    format!("levels {}", each.join(", "))
}
