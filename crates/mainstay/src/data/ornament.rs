//! What numbers carry in tables made for people: signs, units, separators.

const UNIT: &str = "has a unit";

/// Whether two findings of [`ornament`] may be of one column of badly written numbers. Numbers with different letters
/// after them are names.
pub(super) fn akin(a: &str, b: &str) -> bool {
    a == b || !(a.starts_with(UNIT) || b.starts_with(UNIT))
}

/// What a number carries that it should not.
pub(super) fn ornament(word: &str) -> Option<String> {
    if word.strip_suffix('%').is_some_and(is_number) {
        return Some("has a percent sign".into());
    }
    let limit = word.strip_prefix(['<', '>', '≤', '≥', '~']);
    if limit.is_some_and(|rest| is_number(rest.strip_prefix('=').unwrap_or(rest))) {
        return Some("is a limit, not a value".into());
    }
    let body = word.strip_prefix(['-', '+']).unwrap_or(word);
    if let Some(what) = separator(body) {
        return Some(what.into());
    }
    let counted = |text: &str| is_number(text) || separator(text).is_some();
    let of_a_unit = |c: char| c.is_alphabetic() || "/°²³µ$€£".contains(c);
    let number = body.trim_end_matches(of_a_unit).trim_end();
    let unit = body[number.len()..].trim_start();
    if number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !unit.is_empty()
        && counted(number)
    {
        return Some(format!("{UNIT} (`{unit}`)"));
    }
    let currency = body.strip_prefix(['$', '€', '£'])?;
    counted(currency.trim_start()).then(|| "has a currency sign".into())
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// Which separator stands between the digits of a number.
fn separator(body: &str) -> Option<&'static str> {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    // Digits, then groups of three.
    let grouped = |text: &str, mark: char| {
        let mut groups = text.split(mark);
        groups.next().is_some_and(digits) && groups.all(|g| digits(g) && g.len() == 3)
    };
    if let Some((head, tail)) = body.split_once(',') {
        let whole = body.split_once('.').map_or(body, |(whole, _)| whole);
        if whole.contains(',') && grouped(whole, ',') {
            return Some("has a thousands separator (or a decimal comma: --decimal ,)");
        }
        if digits(head) && digits(tail) {
            return Some("has a decimal comma (--decimal ,)");
        }
        if head.contains('.') && grouped(head, '.') && digits(tail) {
            return Some("has a thousands separator");
        }
    }
    let apart = |c: char| matches!(c, '\'' | ' ' | '\u{a0}' | '\u{202f}');
    let joined = body.replace(apart, "");
    (joined.len() < body.len() && is_number(&joined)).then_some("has a thousands separator")
}
