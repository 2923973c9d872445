//! mainstay-py.
