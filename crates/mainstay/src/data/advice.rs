//! Names and cells in advice and tables: so that they can be typed as they stand, and stay on their line.

use std::borrow::Cow;

/// A word as a shell reads it: `'CRP (mg/l)'`.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Text on one line of a table: control characters and those that turn the direction of writing become visible, a line
/// break as `\n`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(shell_word("age_2"), "age_2");
        assert_eq!(shell_word("CRP (mg/l)"), "'CRP (mg/l)'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_cell_stays_on_its_line() {
        assert_eq!(visible("two\nlines\tand \u{1b}[31m"), "two\\nlines\\tand \\u{1b}[31m");
        assert_eq!(visible("caf\u{e9} \u{2603}"), "caf\u{e9} \u{2603}");
    }
}
