//! The one error type of the library, cut by what the caller can do about it.

/// Shorthand used throughout the crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyper-parameter is outside its domain: change the call.
    #[error("`{name}` = {value}: must be {rule}")]
    InvalidParam {
        /// The parameter, by its public name.
        name: &'static str,
        /// The value that was given, as the user wrote it.
        value: String,
        /// What the value must be.
        rule: String,
    },
    /// The parameters do not parse: an unknown name or a value of the wrong kind.
    #[error("{0}")]
    BadParams(String),
    /// The data cannot be used as given: repair the data.
    #[error("{0}")]
    BadData(String),
    /// A cell is missing, infinite or not a number.
    #[error("row {row}, column {column}: {problem}")]
    BadCell {
        /// Zero-based row of the first offending cell.
        row: usize,
        /// The column, by name where it has one.
        column: String,
        /// What is wrong with it and what to do.
        problem: String,
    },
    /// The data a model is asked about does not fit the model.
    #[error("{0}")]
    Mismatch(String),
    /// No proof of the asked quality was reached: raise `max_iter` or relax `tol`.
    #[error("relative gap {gap:.1e} is above the requested {tol:.1e}")]
    NotCertified {
        /// The proven relative gap.
        gap: f64,
        /// The gap that was asked for.
        tol: f64,
    },
    /// The problem has no solution with these parameters; the text says which would work.
    #[error("{0}")]
    Infeasible(String),
    /// Arithmetic broke down; the text says where. Rescaling the data usually helps.
    #[error("numerical breakdown: {0}")]
    Numerical(String),
    /// A model file or message is damaged, of another version or not ours.
    #[error("{0}")]
    BadModel(String),
    /// More memory is needed than there is: the text says for what.
    #[error("{0}")]
    Memory(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Parameter `name` was given `value`, which must be `rule`.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and words alike")]
    pub fn param(name: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        Self::InvalidParam { name, value: value.to_string(), rule: rule.into() }
    }
}

/// `Ok` if `holds`, otherwise the error that parameter `name` must be `rule`.
pub fn require(holds: bool, name: &'static str, value: impl ToString, rule: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::param(name, value, rule)) }
}

/// As many names are listed in full.
const FEW_NAMES: usize = 20;

/// What to say after "there is no such name": the nearest name, and all of them where they are few.
pub(crate) fn suggest(wanted: &str, names: &[&str], what: &str) -> String {
    const SHOWN: usize = 8;
    let quoted = |names: &[&str]| {
        let shown: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
        shown.join(", ")
    };
    let near = nearest(wanted, names);
    let all = format!("the {} {what} are {}", names.len(), quoted(names));
    match near.as_slice() {
        [] if names.len() <= FEW_NAMES => all,
        [] => format!("the {} {what} begin with {}", names.len(), quoted(&names[..SHOWN])),
        near => {
            let near = quoted(&near[..near.len().min(SHOWN)]);
            let rest = if names.len() <= FEW_NAMES { format!(" {all}") } else { String::new() };
            format!("did you mean {near}?{rest}")
        }
    }
}

/// The names that differ from `wanted` in a few letters, or not but for their case; nearest first.
pub(crate) fn nearest<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let limit = 1 + wanted.chars().count() / 4;
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (distance(&wanted, &name.to_lowercase()), *name))
        .filter(|(steps, _)| *steps <= limit)
        .collect();
    near.sort_by_key(|(steps, _)| *steps);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Levenshtein distance; names longer than 64 characters only match themselves.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > 64 {
        return if a == b { 0 } else { usize::MAX };
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        assert_eq!(nearest("kapa", &["tol", "kappa_max", "Kappa"]), ["Kappa"]);
        assert_eq!(nearest("ages", &["aged", "age", "ages"]), ["ages", "aged", "age"]);
    }

    #[test]
    fn distances_match_hand_counts() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
