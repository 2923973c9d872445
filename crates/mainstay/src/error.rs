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
