//! The library's advice names flags of the command line; in Python the same things are parameters.

use std::fmt::Write as _;

/// Flags and the parameters of `TableEncoder` that stand for them.
const LISTS: [(&str, &str); 6] = [
    ("--keep-feature", "keep_features"),
    ("--categorical", "categorical"),
    ("--drop", "drop"),
    ("--id", "ids"),
    ("--na", "na"),
    ("--reference", "reference"),
];

/// The text as a user of Python reads it: `--drop age` becomes `TableEncoder(drop=["age"])`.
pub(crate) fn python(text: &str) -> String {
    if !text.contains("--") {
        return text.to_owned();
    }
    let mut text = text
        .replace("--impute (mean, median, most-frequent, gaussian, drop)", IMPUTE)
        .replace("with --impute mean for one", "TableEncoder(impute=\"mean\") for one")
        .replace("--decimal ,", "decimal=\",\" where the file is read")
        .replace("--memory", "`memory`");
    for (flag, parameter) in LISTS {
        text = replace_flag(&text, flag, parameter);
    }
    text
}

/// Rows cannot be left out inside a scikit-learn pipeline.
const IMPUTE: &str = "TableEncoder(impute=...): \"mean\", \"median\", \"most-frequent\", or \"keep\" for methods that take NaN and for GaussianImputer()";

/// `flag VALUE` as `TableEncoder(parameter=["VALUE"])`, a flag without a value as the parameter alone.
fn replace_flag(text: &str, flag: &str, parameter: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(flag) {
        let (before, after) = (&rest[..place], &rest[place + flag.len()..]);
        out.push_str(before);
        let ends = |c: char| matches!(c, ',' | ')' | ';' | ':') || c.is_whitespace();
        let value = match after.strip_prefix(' ') {
            Some(quoted) if quoted.starts_with('\'') => {
                quoted[1..].find('\'').map(|end| (&quoted[1..=end], end + 3))
            }
            Some(word) => {
                let end = word.find(ends).unwrap_or(word.len());
                (end > 0).then(|| (&word[..end], end + 1))
            }
            None => None,
        };
        // What follows a flag is its value where it ends the sentence or a part of it.
        let value = value.filter(|(_, used)| {
            after[*used..].is_empty() || after[*used..].starts_with([',', ')', ';', ' '])
        });
        if let Some((value, used)) = value {
            let _ = write!(out, "TableEncoder({parameter}=[{value:?}])");
            rest = &after[used..];
        } else {
            let _ = write!(out, "TableEncoder({parameter}=[...])");
            rest = after;
        }
    }
    out.push_str(rest);
    out
}
