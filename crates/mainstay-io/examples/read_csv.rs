//! Reads a file and says how long that took, for comparison with other readers.
//!
//! `cargo run --release -p mainstay-io --example read_csv -- data.csv`

use std::time::Instant;

use mainstay_io::{Input, ReadOptions, Source, read};

#[expect(clippy::print_stdout, reason = "a program for people")]
fn main() -> Result<(), mainstay_io::Error> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "-".into());
    let start = Instant::now();
    let input = read(&Source::new(path), &ReadOptions::default())?;
    let columns = match &input {
        Input::Table(table) => table.columns().len(),
        Input::Sparse(rows) => rows.features.ncols(),
    };
    println!("{} x {columns} in {:.3} s", input.nrows(), start.elapsed().as_secs_f64());
    Ok(())
}
