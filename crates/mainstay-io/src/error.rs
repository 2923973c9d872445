//! The one error type of the crate; every message is one line.

use std::io;

/// Shorthand used throughout the crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What could not be read or written, where, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused to give the bytes.
    #[error("cannot read `{name}`: {source}")]
    Read {
        /// The file.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The file system refused to take the bytes; nothing was left behind.
    #[error("cannot write `{name}`: {source}")]
    Write {
        /// The file.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The bytes are not what they should be.
    #[error("{name}, line {line}: {problem}")]
    BadLine {
        /// The file.
        name: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A cell is not UTF-8.
    #[error("{name}, line {line}: not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The file.
        name: String,
        /// Counted from 1.
        line: u64,
    },
    /// The proof in a model file could not be checked.
    #[error(transparent)]
    Proof(#[from] mainstay_verify::Error),
    /// The file as a whole cannot be used.
    #[error("{name}: {problem}")]
    BadFile {
        /// The file.
        name: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The file was read, but its content was refused.
    #[error("{name}: {source}")]
    Content {
        /// The file.
        name: String,
        /// Why.
        source: mainstay::Error,
    },
    /// The library refused.
    #[error(transparent)]
    Core(#[from] mainstay::Error),
}

impl Error {
    /// The library's own error; what went wrong with a file becomes its text.
    pub fn into_core(self) -> mainstay::Error {
        match self {
            Self::Core(error) => error,
            // Rows of a file are counted from 1.
            Self::Content { name, source: mainstay::Error::BadCell { row, column, problem } } => {
                let text =
                    format!("{name}: row {} of the data, column {column}: {problem}", row + 1);
                mainstay::Error::BadData(text)
            }
            other => mainstay::Error::BadData(other.to_string()),
        }
    }

    pub(crate) fn line(name: &str, line: u64, problem: impl Into<String>) -> Self {
        Self::BadLine { name: name.to_owned(), line, problem: problem.into() }
    }

    pub(crate) fn file(name: &str, problem: impl Into<String>) -> Self {
        Self::BadFile { name: name.to_owned(), problem: problem.into() }
    }

    pub(crate) fn content(name: &str) -> impl FnOnce(mainstay::Error) -> Self {
        let name = name.to_owned();
        |source| Self::Content { name, source }
    }

    /// A failed read; decoders report damage as an input/output error too.
    pub(crate) fn read(name: &str, source: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match source.kind() {
            InvalidData | InvalidInput | UnexpectedEof => {
                Self::file(name, "the gzip data are damaged or cut short; get the file again")
            }
            _ => Self::Read { name: name.to_owned(), source },
        }
    }
}
