//! What a repeat of `compare` costs on the embedded demo, method by method:
//! `cargo run -p mainstay-bench --example compare_speed [REPEATS] [METHOD ...]`.
//!
//! Prints the processor time of every method (those of the roster, one after the other on one thread) and a sum over its cells
//! that changes if one of them does.
#![expect(clippy::print_stdout, reason = "a program that times")]

use std::error::Error;

use mainstay::Control;
use mainstay::compare::{roster, usual_rows};
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::stress::{Cell, Plan};

/// Processor time of this process so far, from Linux.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    // User time; the clock ticks a hundred times a second.
    after.split(' ').nth(11).and_then(|v| v.parse::<f64>().ok()).map_or(f64::NAN, |v| v / 100.0)
}

fn demo() -> Result<Dataset, Box<dyn Error>> {
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for line in mainstay::data::demo().lines().skip(1) {
        let (numbers, class) = line.rsplit_once(',').ok_or("one column only")?;
        for cell in numbers.split(',') {
            rows.push(cell.parse::<f64>()?);
        }
        labels.push(usize::from(class == "M"));
    }
    let x = Dense::from_rows(labels.len(), rows.len() / labels.len(), rows);
    Ok(Dataset::new(x.into(), labels, 2)?)
}

fn checksum(cells: &[Cell]) -> f64 {
    let value = |(k, cell): (usize, &Cell)| {
        let loss = cell.log_loss.unwrap_or(0.0);
        (k % 17 + 1) as f64 * (cell.accuracy.unwrap_or(-1.0) + loss)
    };
    cells.iter().enumerate().map(value).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let repeats = arguments.next().map_or(Ok(1), |v| v.parse::<usize>())?;
    let chosen: Vec<String> = arguments.collect();
    let data = demo()?;
    let p = data.n_features();
    let mut plan = Plan { max_training_rows: usual_rows(p), ..Plan::usual(0) };
    plan.merge_levels(p);
    let control = Control::new().with_threads(1);
    let (_, entrants) = roster(p)?;
    let mut total = 0.0;
    for entrant in entrants {
        if !chosen.is_empty() && !chosen.contains(&entrant.name) {
            continue;
        }
        let (one, mut cells) = ([entrant], Vec::new());
        let before = cpu_seconds();
        for repeat in 0..repeats {
            cells.extend(plan.run(&data, &one, repeat, &[], &control, &|_| {})?);
        }
        let each = (cpu_seconds() - before) / repeats as f64;
        total += each;
        println!("{:<20} {each:.3} s, cells {:.12}", one[0].name, checksum(&cells));
    }
    println!("{:<20} {total:.3} s", "a repeat");
    Ok(())
}
