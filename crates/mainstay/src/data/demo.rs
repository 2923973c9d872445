//! The data set that comes with the library.

/// The embedded demo data as CSV text: a header, 569 rows of 30 features, and in the last column
/// `diagnosis`, `M` (malignant) or `B` (benign).
///
/// Wisconsin diagnostic breast cancer: features computed from digitised images of fine needle
/// aspirates of breast masses. W. Wolberg, O. Mangasarian, N. Street, W. Street (1993), UCI
/// Machine Learning Repository, doi:10.24432/C5DW2B, CC BY 4.0.
pub fn demo() -> &'static str {
    include_str!("../../data/wdbc.csv")
}
