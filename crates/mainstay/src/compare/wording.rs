//! Numbers, intervals and names as the advice says them.

use super::outcome::{Interval, MethodInfo};

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A difference of shares in percentage points.
pub(super) fn points(difference: f64) -> String {
    let shown = format!("{:.1}", 100.0 * difference);
    if shown == "-0.0" { "0.0".into() } else { shown }
}

/// An interval in words.
pub(super) fn range(interval: &Interval, show: fn(f64) -> String) -> String {
    let clip = |v: f64| v.clamp(-1.0, 1.0);
    if interval.low == interval.high {
        return "no interval".into();
    }
    format!("95 % interval {} to {}", show(clip(interval.low)), show(clip(interval.high)))
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
