//! Numbers and names as people read them. Numbers that are not finite become a dash.

use mainstay::metrics::Metric;

/// Stands for a number that does not exist.
pub(crate) const DASH: &str = "–";

/// Longest name shown anywhere in full.
const LONGEST: usize = 80;

/// A user's words without control characters and without the invisible ones that change the direction of
/// what follows; at most 80 characters wide.
pub(crate) fn name(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_direction_mark(*c))
        .collect();
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if clean.is_empty() { "(no name)".into() } else { shorten(&clean, LONGEST) }
}

/// A paragraph or a command: cleaned like [`name`], but of any length and with its line breaks.
pub(crate) fn paragraph(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !(c.is_control() || is_direction_mark(*c))).collect()
}

/// A part of a sentence.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Span {
    text: String,
    /// Whether it stood between backticks: a name of the data or something to type.
    code: bool,
}

/// A paragraph in which what stands between backticks is told apart; a backtick without a partner stays one.
pub(crate) fn spans(text: &str) -> Vec<Span> {
    let clean = paragraph(text);
    let parts: Vec<&str> = clean.split('`').collect();
    let paired = parts.len() - 1 + parts.len() % 2;
    let mut found: Vec<Span> = Vec::new();
    for (k, part) in parts.iter().enumerate() {
        match found.last_mut() {
            Some(last) if k >= paired => {
                last.text.push('`');
                last.text.push_str(part);
            }
            _ => found.push(Span { text: (*part).to_owned(), code: k % 2 == 1 }),
        }
    }
    found.retain(|span| !span.text.is_empty());
    found
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Roughly how many Latin letters a character is wide.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xff00..=0xff60
        | 0x1f000.. => 2,
        _ => 1,
    }
}

/// The beginning of `text`, at most `limit` letters wide, with an ellipsis if something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().map(width).sum::<usize>() <= limit {
        return text.to_owned();
    }
    let mut used = 1;
    let mut out = String::new();
    for c in text.chars() {
        used += width(c);
        if used > limit {
            break;
        }
        out.push(c);
    }
    // Half an emoji is not one: no joiner is left dangling.
    let out = out.trim_end_matches(|c: char| c == '\u{200d}' || c.is_whitespace());
    format!("{out}…")
}

/// 0.934 as "93.4 %".
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{} %", fixed(100.0 * share, 1)) } else { DASH.into() }
}

/// 0.034 as "+3.4 points".
pub(crate) fn points(difference: f64) -> String {
    if !difference.is_finite() {
        return DASH.into();
    }
    let text = fixed(100.0 * difference, 1);
    let sign = if text.starts_with('−') || text == "0.0" { "" } else { "+" };
    format!("{sign}{text} points")
}

/// Three or so leading digits.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return DASH.into();
    }
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if !(1e-4..1e6).contains(&size) {
        format!("{value:.2e}").replace('-', "−")
    } else if value.fract() == 0.0 {
        fixed(value, 0)
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "the size is between 1e-4 and 1e6")]
        let leading = size.log10().floor() as i32;
        let text = fixed(value, usize::try_from(2 - leading).unwrap_or(0));
        match text.split_once('.') {
            Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            None => text,
        }
    }
}

/// With so many decimals, and a true minus sign; never minus zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// Whether values of the metric are shares that read best in per cent.
pub(crate) fn in_percent(metric: Metric) -> bool {
    use Metric::{Accuracy, BalancedAccuracy, F1, Npv, Ppv, Sensitivity, Specificity};
    matches!(metric, Accuracy | BalancedAccuracy | Sensitivity | Specificity | Ppv | Npv | F1)
}

/// A value of a metric: "93.4 %" or "0.934".
pub(crate) fn measured(metric: Metric, value: f64) -> String {
    if in_percent(metric) {
        percent(value)
    } else if value.is_finite() {
        fixed(value, 3)
    } else {
        DASH.into()
    }
}

/// A difference with its sign, three decimals.
pub(crate) fn signed(difference: f64) -> String {
    if !difference.is_finite() {
        return DASH.into();
    }
    let text = fixed(difference, 3);
    if text.starts_with('−') || text == "0.000" { text } else { format!("+{text}") }
}

/// The same words with a capital letter.
pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

/// "1 row", "3 rows".
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// "once", "twice", "5 times".
pub(crate) fn times(number: usize) -> String {
    match number {
        1 => "once".into(),
        2 => "twice".into(),
        more => format!("{more} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_told_apart() {
        let span = |text: &str, code| Span { text: text.into(), code };
        assert_eq!(
            spans("saying `no` is right"),
            [span("saying ", false), span("no", true), span(" is right", false)]
        );
        assert_eq!(spans("`a`: 5`"), [span("a", true), span(": 5`", false)]);
        assert_eq!(spans("plain"), [span("plain", false)]);
    }

    #[test]
    fn numbers_keep_three_digits_and_never_say_nan() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-0.25, "−0.25"),
            (1234.0, "1234"),
            (0.012_345, "0.0123"),
            (12.345, "12.3"),
            (1e9, "1.00e9"),
            (f64::NAN, DASH),
            (f64::INFINITY, DASH),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(percent(f64::NAN), DASH);
        assert_eq!(points(0.0), "0.0 points");
        assert_eq!(points(0.034), "+3.4 points");
        assert_eq!(points(-0.0001), "0.0 points");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcde…");
        assert_eq!(shorten("日本語の名前", 6), "日本…");
        assert_eq!(shorten("👩\u{200d}🔬👩\u{200d}🔬", 5), "👩\u{200d}🔬…");
        assert_eq!(name(&"x".repeat(300)).chars().count(), 80);
    }

    #[test]
    fn names_lose_what_cannot_be_seen() {
        assert_eq!(name("a\u{202e}b\u{0}c\n d"), "abc d");
        assert_eq!(name(" \t"), "(no name)");
    }
}
