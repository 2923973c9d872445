//! The answer at the top of the page.

use mainstay::compare::{Interval, SURE};
use serde::Serialize;

use crate::story::Story;
use crate::text;

/// Headline, sentences and the numbers behind them.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    headline: Vec<text::Span>,
    sentences: Vec<Vec<text::Span>>,
    facts: Vec<Fact>,
}

/// One number with its meaning.
#[derive(Debug, Serialize)]
struct Fact {
    label: String,
    value: String,
    note: String,
}

impl Answer {
    pub(crate) fn new(story: Story<'_>) -> Self {
        let advice = &story.0.advice;
        Self {
            headline: text::spans(&advice.headline),
            sentences: advice.sentences.iter().map(|s| text::spans(s)).collect(),
            facts: facts(story),
        }
    }
}

/// What is advised, and how that is meant.
fn advised(story: Story<'_>) -> Fact {
    let advice = &story.0.advice;
    let nothing = story.nothing_advised();
    let label = if nothing {
        "Nothing is advised"
    } else if advice.weak_answers {
        "For the order of the rows"
    } else {
        "Use"
    };
    let note = if story.no_better_than_constant() {
        "no method beats a constant answer".into()
    } else if nothing {
        "no plain method could be fitted".into()
    } else if advice.weak_answers {
        "its answers are no better than a constant one".into()
    } else if story.plain_is_enough() && story.0.settings.repeats < SURE {
        "for now: too few splits to call a gain sure".into()
    } else if story.plain_is_enough() && advice.unsettled {
        "for now: a gain was seen that is not sure".into()
    } else if story.plain_is_enough() {
        "plain is enough here".into()
    } else {
        format!("instead of {}", story.method(&advice.baseline))
    };
    let value = if nothing { text::DASH.into() } else { story.method(&advice.method) };
    Fact { label: label.into(), value, note }
}

fn facts(story: Story<'_>) -> Vec<Fact> {
    let advice = &story.0.advice;
    let mut facts = vec![advised(story)];
    if let Some(threat) = &advice.worst_threat {
        let info = story.threat(threat);
        facts.push(Fact {
            label: "Hurts most".into(),
            value: story.threat_title(threat),
            note: info.map_or(String::new(), |t| text::paragraph(&t.explanation)),
        });
    }
    if let Some(gain) = advice.gain.filter(|_| !story.plain_is_enough()) {
        facts.push(difference(story, "Gain under it", gain, 1.0));
    }
    if let Some(price) = advice.price.filter(|_| !story.plain_is_enough()) {
        // A positive price is a loss.
        facts.push(difference(story, "Change on clean data", price, -1.0));
    }
    facts
}

fn difference(story: Story<'_>, label: &str, interval: Interval, sign: f64) -> Fact {
    let (mut low, mut high) = (sign * interval.low, sign * interval.high);
    if low > high {
        (low, high) = (high, low);
    }
    let note = if low == high && story.0.settings.repeats > 1 {
        "the same in every split".into()
    } else if low.is_finite() && high.is_finite() {
        format!("95 % sure: between {} and {}", story.difference(low), story.difference(high))
    } else {
        "too few repeats to say how sure".into()
    };
    Fact { label: label.into(), value: story.difference(sign * interval.mean), note }
}
