//! mainstay-report.
