//! Writes a made-up report to look at: `cargo run --package mainstay-report --example sample > report.html`.
#![expect(clippy::print_stdout, reason = "the page is the output")]

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), mainstay_report::ReportError> {
    let comparison = match std::env::args().nth(1).as_deref() {
        Some("hostile") => fixture::hostile(),
        Some("empty") => fixture::empty(),
        _ => fixture::realistic(),
    };
    print!("{}", mainstay_report::html(&comparison)?);
    Ok(())
}
