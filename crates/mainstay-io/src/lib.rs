//! mainstay-io.
