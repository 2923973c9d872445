//! mainstay-papers.
