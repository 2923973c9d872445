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
    /// Share of the largest class.
    pub(super) largest: f64,
    /// Balanced accuracy of a constant answer.
    pub(super) chance: f64,
    /// How numbers are said.
    pub(super) words: Words,
}

/// What a threat does to the baseline, and who does surely better.
pub(super) struct Finding<'a> {
    pub(super) threat: &'static str,
    pub(super) title: &'static str,
    levels: &'a [f64],
    /// What the baseline loses.
    pub(super) drop: Interval,
    /// Methods that are surely better and by enough, with their gains; the best first.
    pub(super) better: Vec<(&'a MethodInfo, Interval)>,
    /// The largest gain, sure or not.
    leader: Option<(&'a MethodInfo, Interval)>,
    /// Whether others are surely better by enough, but no better than a constant answer.
    pub(super) useless: bool,
    /// The largest gain worth having that is sure by itself, but not when all methods and threats are judged together.
    promising: Option<(&'a MethodInfo, Interval)>,
}

/// What a method gains on the baseline under a threat, by repeat.
struct Gain<'a> {
    trial: usize,
    method: &'a MethodInfo,
    values: Vec<Option<f64>>,
}

impl<'a> Judge<'a> {
    pub(super) fn advise(&self, cells: &[Cell], repeats: usize) -> Advice {
        let clean = |m: &&MethodInfo| self.scores.under(&m.name, CLEAN).iter().any(Option::is_some);
        let baselines = self.methods.iter().filter(|m| m.role == Role::Baseline);
        let Some(baseline) = baselines.chain(self.methods).find(clean) else {
            return nothing(cells);
        };
        let findings = self.findings(baseline, repeats);
        let below = self.below_constant(baseline);
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
        if !beaten && baseline.role == Role::Baseline {
            self.doubt_answers(&mut advice);
        }
        if !beaten && !advice.weak_answers && self.constants.contains(&baseline.name) {
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
        let gains = self.gains(baseline);
        let every: Vec<Vec<Option<f64>>> = gains.iter().map(|g| g.values.clone()).collect();
        let bounds = self.bootstrap.joint_lower(&every);
        let mut found = Vec::new();
        for (t, trial) in self.trials.iter().enumerate() {
            let own = gains.iter().zip(&bounds).filter(|(gain, _)| gain.trial == t);
            let own: Vec<(&Gain<'a>, Option<f64>)> = own.map(|(g, bound)| (g, *bound)).collect();
            found.extend(self.finding(baseline, trial, &own, repeats));
        }
        found.sort_by(|a, b| b.drop.mean.total_cmp(&a.drop.mean));
        found
    }

    /// What every other method gains on the baseline under every threat, by repeat.
    fn gains(&self, baseline: &MethodInfo) -> Vec<Gain<'a>> {
        let mut gains = Vec::new();
        for (t, trial) in self.trials.iter().enumerate() {
            let threat = trial.threat.name();
            let here = self.scores.under(&baseline.name, threat);
            for method in self.methods.iter().filter(|m| m.name != baseline.name) {
                let values = minus(&self.scores.under(&method.name, threat), &here);
                gains.push(Gain { trial: t, method, values });
            }
        }
        gains
    }

    /// One threat, with the gains under it and their lower bounds; none if the baseline has no score there.
    fn finding(
        &self,
        baseline: &MethodInfo,
        trial: &'a Trial,
        gains: &[(&Gain<'a>, Option<f64>)],
        repeats: usize,
    ) -> Option<Finding<'a>> {
        let threat = trial.threat.name();
        let plain = self.scores.under(&baseline.name, CLEAN);
        let lost = minus(&plain, &self.scores.under(&baseline.name, threat));
        let drop = self.bootstrap.interval(&lost)?;
        let mut better = Vec::new();
        let mut promising = Vec::new();
        let mut useless = false;
        let mut leader: Option<(&MethodInfo, Interval)> = None;
        for (Gain { method, values, .. }, bound) in gains {
            let Some(gain) = self.bootstrap.interval(values) else { continue };
            if leader.is_none_or(|(_, best)| gain.mean > best.mean) {
                leader = Some((method, gain));
            }
            let price = self.price(baseline, method).map_or(0.0, |p| p.mean.max(0.0));
            let large = repeats >= SURE && gain.mean - price >= WORTH;
            let useful = self.constant.is_none_or(|c| self.mean(method, threat) >= c + WORTH);
            let worth = large && useful;
            let sure = bound.is_some_and(|low| low > 0.0);
            useless |= sure && large && !useful;
            match (worth, sure, gain.low > 0.0) {
                (true, true, _) => better.push((*method, gain, gain.mean - price)),
                (true, false, true) => promising.push((*method, gain, gain.mean - price)),
                _ => {}
            }
        }
        let better = best_first(better);
        let promising = best_first(promising).into_iter().next();
        let (title, levels) = (trial.threat.title(), trial.levels.as_slice());
        Some(Finding { threat, title, levels, drop, better, leader, useless, promising })
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
        let plain = named(baseline);
        let mut advice = self.plain_advice(baseline, repeats);
        let Some(worst) = findings.first() else {
            advice.headline = format!("{} was run on clean data only.", capital(&plain));
            return advice;
        };
        advice.worst_threat = Some(worst.threat.into());
        if worst.drop.mean < WORTH {
            advice.headline = format!(
                "{} is enough: no damage tried here costs it more than {}.",
                capital(&plain),
                self.words.one_point()
            );
            return advice;
        }
        advice.sentences.push(self.what_hurts(baseline, worst));
        if let Some((method, gain)) = worst.better.first() {
            return self.use_instead(advice, (baseline, method), worst, *gain);
        }
        advice.sentences.extend(self.why_not(baseline, worst));
        let settled = findings.iter().any(|f| !f.better.is_empty() && f.drop.mean >= WORTH);
        advice.unsettled = !settled && promising(findings).is_some();
        advice.headline = self.stay(&plain, findings, repeats);
        advice
    }

    /// The baseline, with its score on clean data.
    fn plain_advice(&self, baseline: &MethodInfo, repeats: usize) -> Advice {
        let clean = self.bootstrap.interval(&self.scores.under(&baseline.name, CLEAN));
        let sentence = clean.map(|clean| {
            format!(
                "On clean data {} {} ({}, {}).",
                named(baseline),
                self.words.told(clean.mean),
                self.words.value_range(&clean),
                splits(repeats)
            )
        });
        Advice {
            headline: String::new(),
            sentences: sentence.into_iter().collect(),
            worst_threat: None,
            baseline: baseline.name.clone(),
            method: baseline.name.clone(),
            gain: None,
            price: None,
            nothing_beats_constant: false,
            unsettled: false,
            weak_answers: false,
        }
    }

    fn what_hurts(&self, baseline: &MethodInfo, worst: &Finding<'_>) -> String {
        let words = self.words;
        let several = if worst.levels.len() > 1 { "on average over these levels " } else { "" };
        format!(
            "What hurts most is {} ({}): {several}{} {} {}, {} {} ({}).",
            worst.title,
            levels(worst),
            named(baseline),
            words.falls_to(),
            words.value(self.mean(baseline, worst.threat)),
            words.points(worst.drop.mean),
            if words.falls_to() == "falls to" { "less" } else { "more" },
            words.range(&worst.drop)
        )
    }

    /// The headline where no method is surely better under the worst threat.
    fn stay(&self, plain: &str, findings: &[Finding<'_>], repeats: usize) -> String {
        if let Some(f) = findings.iter().find(|f| !f.better.is_empty() && f.drop.mean >= WORTH) {
            return format!(
                "{} is enough, unless it is {} that you fear: there {} is surely better.",
                capital(plain),
                f.title,
                named(f.better[0].0)
            );
        }
        if repeats < SURE {
            return format!(
                "Stay with {plain} for now: {} are too few to call any method surely better.",
                splits(repeats)
            );
        }
        if let Some((f, method, gain)) = promising(findings) {
            return format!(
                "Stay with {plain} for now: against {} {} gained {} ({}), which is not sure when all methods and threats \
                 are judged together. More splits would tell.",
                f.title,
                named(method),
                self.words.points(gain.mean),
                self.words.range(&gain)
            );
        }
        let useless = findings.iter().any(|f| f.useless);
        format!(
            "{} is enough: under no threat is another method surely better by {} or more{}.",
            capital(plain),
            self.words.one_point(),
            self.and_useful(useless)
        )
    }

    /// Advises `method`, which is surely better under the worst threat.
    fn use_instead(
        &self,
        mut advice: Advice,
        (baseline, method): (&MethodInfo, &MethodInfo),
        worst: &Finding<'_>,
        gain: Interval,
    ) -> Advice {
        let (words, title) = (self.words, named(method));
        advice.headline = format!(
            "Use {title}: under {}, which hurts most here, {} where {} {} {}.",
            worst.title,
            words.kept(self.mean(method, worst.threat)),
            named(baseline),
            words.falls_to(),
            words.value(self.mean(baseline, worst.threat))
        );
        advice.sentences.push(format!(
            "{} gains {} there ({}); that holds with 95 % confidence even when all methods and threats are judged \
             together.",
            capital(&title),
            words.points(gain.mean),
            words.range(&gain)
        ));
        let price = self.price(baseline, method);
        advice.sentences.extend(price.map(|price| priced(&title, &price, words)));
        Advice { method: method.name.clone(), gain: Some(gain), price, ..advice }
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
}

/// Methods with what they gain, the one that gains most for its price first.
fn best_first(mut found: Vec<(&MethodInfo, Interval, f64)>) -> Vec<(&MethodInfo, Interval)> {
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found.into_iter().map(|(method, gain, _)| (method, gain)).collect()
}

/// Among threats that hurt, the largest gain that is sure only by itself.
fn promising<'a, 'b>(
    findings: &'b [Finding<'a>],
) -> Option<(&'b Finding<'a>, &'a MethodInfo, Interval)> {
    let harmful = findings.iter().filter(|f| f.drop.mean >= WORTH);
    let found = harmful.filter_map(|f| f.promising.map(|(method, gain)| (f, method, gain)));
    found.max_by(|a, b| a.2.mean.total_cmp(&b.2.mean))
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
        unsettled: false,
        weak_answers: false,
    }
}

fn levels(finding: &Finding<'_>) -> String {
    let each: Vec<String> = finding.levels.iter().map(|l| format!("{l}")).collect();
    let word = if each.len() == 1 { "level" } else { "levels" };
    format!("{word} {}", each.join(", "))
}
