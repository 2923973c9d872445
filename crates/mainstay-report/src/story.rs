//! The comparison with its names looked up: who plays which part, and where the numbers are.

use mainstay::compare::{Comparison, CurvePoint, Interval, MethodInfo, Role, ThreatInfo};
use mainstay::metrics::Metric;

use crate::scale::Scale;
use crate::text;

/// The part a method plays in a chart; decides colour, dash and marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emphasis {
    /// What everything is judged against.
    Baseline,
    /// What the report advises.
    Advised,
    /// What holds best under one threat, if that is neither of the two.
    Best,
    /// All others, in the background.
    Other,
}

impl Emphasis {
    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Advised => "advised",
            Self::Best => "best",
            Self::Other => "other",
        }
    }

    /// Word at the end of its line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Advised => "advised",
            Self::Best => "best here",
            Self::Other => "others",
        }
    }
}

/// Questions that several sections ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story<'a>(pub(crate) &'a Comparison);

impl<'a> Story<'a> {
    /// A method's name for people.
    pub(crate) fn method(self, name: &str) -> String {
        let known = self.0.methods.iter().find(|m| m.name == name);
        text::name(known.map_or(name, |m| if m.title.is_empty() { &m.name } else { &m.title }))
    }

    pub(crate) fn threat(self, name: &str) -> Option<&'a ThreatInfo> {
        self.0.threats.iter().find(|t| t.name == name)
    }

    /// A threat's name for people.
    pub(crate) fn threat_title(self, name: &str) -> String {
        text::name(
            self.threat(name).map_or(name, |t| if t.title.is_empty() { &t.name } else { &t.title }),
        )
    }

    pub(crate) fn plain_is_enough(self) -> bool {
        self.0.advice.method == self.0.advice.baseline
    }

    /// Whether the comparison found nothing better than always answering the same.
    pub(crate) fn no_better_than_constant(self) -> bool {
        self.plain_is_enough() && self.0.advice.nothing_beats_constant
    }

    /// Whether no method is advised: nothing beats a constant answer, or no plain method could be fitted to compare with.
    pub(crate) fn nothing_advised(self) -> bool {
        let baseline = |m: &MethodInfo| m.name == self.0.advice.baseline;
        let known = self.0.methods.iter().any(|m| baseline(m) && m.role == Role::Baseline);
        self.no_better_than_constant() || !known
    }

    /// The part a method plays everywhere.
    pub(crate) fn part(self, method: &str) -> Emphasis {
        let advice = &self.0.advice;
        if method == advice.baseline {
            Emphasis::Baseline
        } else if method == advice.method {
            Emphasis::Advised
        } else {
            Emphasis::Other
        }
    }

    /// The points of a method under a threat, by level.
    pub(crate) fn points(self, method: &str, threat: &str) -> &'a [CurvePoint] {
        let curve = self.0.curves.iter().find(|c| c.method == method && c.threat == threat);
        curve.map_or(&[], |c| &c.points)
    }

    /// What methods are judged by.
    pub(crate) fn metric(self) -> Metric {
        self.0.settings.metric
    }

    /// 1 if more is better, -1 if less is.
    pub(crate) fn sign(self) -> f64 {
        if self.metric().higher_is_better() == Some(false) { -1.0 } else { 1.0 }
    }

    /// A value of the metric.
    pub(crate) fn show(self, value: f64) -> String {
        text::measured(self.metric(), value)
    }

    /// A difference of two values.
    pub(crate) fn difference(self, value: f64) -> String {
        if text::in_percent(self.metric()) { text::points(value) } else { text::signed(value) }
    }

    /// "92.1 % to 94.0 %", "0.812 to 0.874", or nothing where the ends are unknown.
    pub(crate) fn range(self, interval: &Interval) -> String {
        if interval.low.is_finite() && interval.high.is_finite() {
            format!("{} to {}", self.show(interval.low), self.show(interval.high))
        } else {
            String::new()
        }
    }

    /// A number on the axis of the metric.
    pub(crate) fn tick(self, scale: &Scale, tick: f64) -> String {
        if text::in_percent(self.metric()) { scale.percent_label(tick) } else { scale.label(tick) }
    }

    /// The metric of a point, if it has one.
    pub(crate) fn point_value(self, point: &CurvePoint) -> Option<Interval> {
        // Comparisons from before there was a choice hold accuracies alone.
        let old = point.accuracy.filter(|_| self.metric() == Metric::Accuracy);
        point.value.or(old).filter(|a| a.mean.is_finite())
    }

    /// A method's value at one level of a threat.
    pub(crate) fn value(self, method: &str, threat: &str, level: f64) -> Option<Interval> {
        let point = self.points(method, threat).iter().find(|p| p.level == level)?;
        self.point_value(point)
    }

    /// A method's value on undamaged data.
    pub(crate) fn clean(self, method: &str) -> Option<Interval> {
        let point = self.points(method, "clean").first()?;
        self.point_value(point)
    }

    /// The level of a threat at which the baseline is worst; without a baseline there, the last level.
    pub(crate) fn hardest(self, threat: &ThreatInfo) -> Option<f64> {
        let baseline = &self.0.advice.baseline;
        let judged = threat
            .levels
            .iter()
            .filter_map(|level| Some((*level, self.value(baseline, &threat.name, *level)?.mean)));
        let worst = judged
            .min_by(|a, b| (self.sign() * a.1).total_cmp(&(self.sign() * b.1)))
            .map(|(level, _)| level);
        worst.or(threat.levels.last().copied())
    }

    /// The method with the best mean over the levels of a threat; none where none beats a constant answer.
    pub(crate) fn best_under(self, threat: &ThreatInfo) -> Option<&'a str> {
        let floor = self.0.constant_answer.map_or(f64::NEG_INFINITY, |value| self.sign() * value);
        let judged = self.0.methods.iter().filter_map(|m| {
            let means: Vec<f64> = (threat.levels.iter())
                .filter_map(|level| Some(self.value(&m.name, &threat.name, *level)?.mean))
                .collect();
            let whole = !means.is_empty() && means.len() == threat.levels.len();
            whole.then(|| {
                (m.name.as_str(), self.sign() * means.iter().sum::<f64>() / means.len() as f64)
            })
        });
        let mut best: Option<(&str, f64)> = None;
        for (name, mean) in judged.filter(|(_, mean)| *mean > floor) {
            if best.is_none_or(|b| mean > b.1) {
                best = Some((name, mean));
            }
        }
        best.map(|(name, _)| name)
    }

    /// Every distinct reason why cells are empty, with how often and where.
    pub(crate) fn problems(self) -> Vec<(String, usize, String)> {
        let mut found: Vec<(String, usize, Vec<String>)> = Vec::new();
        for cell in self.0.cells.iter().filter(|c| c.accuracy.is_none()) {
            let why = cell.problem.as_deref().unwrap_or("no reason was given");
            let place = format!("{} under {}", self.method(&cell.method), self.place(&cell.threat));
            if let Some(entry) = found.iter_mut().find(|e| e.0 == why) {
                entry.1 += 1;
                if !entry.2.contains(&place) {
                    entry.2.push(place);
                }
            } else {
                found.push((why.to_owned(), 1, vec![place]));
            }
        }
        found.sort_by_key(|entry| std::cmp::Reverse(entry.1));
        let few = |places: Vec<String>| match places.len() {
            0..=4 => places.join("; "),
            more => format!("{}; and {} more", places[..4].join("; "), more - 4),
        };
        found.into_iter().map(|(why, n, places)| (text::paragraph(&why), n, few(places))).collect()
    }

    fn place(self, threat: &str) -> String {
        if threat == "clean" { "no damage".into() } else { self.threat_title(threat) }
    }
}
