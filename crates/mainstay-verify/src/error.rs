//! Why nothing could be checked.

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no checker for this model.
    #[error("nothing to verify: {0}")]
    Unavailable(String),
    /// The file holds no dual point.
    #[error(
        "the model file holds no proof; fit with --proof (in Python: with mainstay.config(proof=True), then save(..., proof=True))"
    )]
    NoProof,
    /// The file contradicts itself.
    #[error("model file: {0}")]
    File(String),
    /// The rows are not those of the fit.
    #[error("{0}")]
    Rows(String),
}

/// What a check comes to.
pub type Result<T> = std::result::Result<T, Error>;
