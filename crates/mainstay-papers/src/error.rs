//! Why an experiment, or the whole run, could not be done.

/// Shorthand used throughout the crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an experiment, or the whole run, could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused, or was told to stop.
    #[error(transparent)]
    Core(#[from] mainstay::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] mainstay_io::Error),
    /// There is no such experiment.
    #[error("no experiment `{name}`; there are: all, {}", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The file system refused.
    #[error("cannot use `{name}`: {source}")]
    Folder {
        /// The file or folder.
        name: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not one of the experiment's data sets is at hand.
    #[error("no data: {0}")]
    NoData(String),
}

impl Error {
    /// Whether the user asked to stop.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Core(mainstay::Error::Interrupted))
    }
}
