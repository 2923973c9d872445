//! mainstay-bench.
