//! Times `ConicSVCCV` with default parameters on one thread:
//! `cargo run -p mainstay-bench --example conic_cv [ROUNDS] [FILE.csv ...]`.
//!
//! 200 x 60 with clustered and with spread outliers, and every given file (a header, numbers, the class last), standardised.
//! Prints the processor time, the best of the rounds, and what must not move: the chosen kappa, the objective, the proven
//! gap and a sum over all cross-validated scores.
#![expect(clippy::print_stdout, reason = "a program that times")]

use std::error::Error;

use mainstay::Control;
use mainstay::conic::ConicCvParams;
use mainstay::data::{Dataset, Outliers, Standardize, make_outliers};
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Estimator, Fitted, Output};

/// Processor time of this process so far, from Linux.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    // User time; the clock ticks a hundred times a second.
    after.split(' ').nth(11).and_then(|v| v.parse::<f64>().ok()).map_or(f64::NAN, |v| v / 100.0)
}

/// A header, numbers, the class last; features get unit deviation.
fn standardised(path: &str) -> Result<Dataset, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let (mut rows, mut labels, mut names) = (Vec::new(), Vec::new(), Vec::<String>::new());
    for line in text.lines().skip(1) {
        let (numbers, class) = line.rsplit_once(',').ok_or("one column only")?;
        for cell in numbers.split(',') {
            rows.push(cell.parse::<f64>()?);
        }
        let known = names.iter().position(|name| name == class);
        labels.push(known.unwrap_or(names.len()));
        if known.is_none() {
            names.push(class.to_owned());
        }
    }
    let x = Matrix::from(Dense::from_rows(labels.len(), rows.len() / labels.len(), rows));
    let scaled = Standardize::learn(&x, None).apply(&x);
    Ok(Dataset::new(scaled.into(), labels, names.len())?)
}

/// The sum of all scores on all folds, each times its position: changes if one of them does.
fn checksum(fitted: &Fitted) -> f64 {
    let Some(Output::Table(columns)) = fitted.outputs.get("cv_results") else { return f64::NAN };
    let scores = columns.iter().filter(|(name, _)| name.ends_with("_test_score"));
    let mut sum = 0.0;
    for (c, (_, column)) in scores.enumerate() {
        if let Output::Vector(values) = column {
            let terms = values.iter().enumerate();
            sum += terms.map(|(k, v)| ((k * 7 + c * 31) % 101) as f64 * v).sum::<f64>();
        }
    }
    sum
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let rounds = arguments.next().map_or(Ok(3), |v| v.parse::<usize>())?;
    let mut sets = vec![
        ("clustered, seed 1".to_owned(), make_outliers(200, 60, 0.5, Outliers::Clustered, 0.1, 1)?),
        ("spread, seed 0".to_owned(), make_outliers(200, 60, 0.5, Outliers::Spread, 0.1, 0)?),
    ];
    for path in arguments {
        let data = standardised(&path)?;
        sets.push((path, data));
    }
    let control = Control::new().with_threads(1);
    for (name, data) in sets {
        let mut best = f64::INFINITY;
        let mut last = None;
        for _ in 0..rounds.max(1) {
            let before = cpu_seconds();
            last = Some(ConicCvParams::default().check()?.fit(&data, &control)?);
            best = best.min(cpu_seconds() - before);
        }
        let Some(fitted) = last else { continue };
        let certificate = fitted.certificates.first().ok_or("a fit without a certificate")?;
        println!(
            "{name}: {best:.2} s, kappa {:?}, objective {:.12e}, gap {:.1e}, scores {:.9}",
            fitted.outputs.get("kappa"),
            certificate.primal,
            fitted.dual_gap().unwrap_or(f64::NAN),
            checksum(&fitted)
        );
    }
    Ok(())
}
