//! Times certified 100-kappa paths of the conic SVM on the paper's data:
//! `cargo run --release -p mainstay-bench --example conic_path`.
//!
//! Reports for every shape the time of the path, the worst proven gap and the Newton iterations.
#![expect(clippy::print_stdout, reason = "a program that times")]

use std::time::Instant;

use mainstay::conic::{ConicParams, hinge_grid, hinge_path};
use mainstay::data::{Outliers, make_outliers};
use mainstay::folds::linear_grid;
use mainstay::model::Estimator;
use mainstay::{Control, Result};

fn main() -> Result<()> {
    let kappas = linear_grid(0.005, 0.5, 100);
    let control = Control::new().with_threads(1);
    let quick = std::env::args().any(|a| a == "--quick");
    let shapes = [
        (100, 3, 0.5, Outliers::Clustered),
        (1000, 10, 0.5, Outliers::Clustered),
        (1000, 30, 0.5, Outliers::Clustered),
        (1000, 30, 1.0, Outliers::None),
        (1000, 30, 0.5, Outliers::Spread),
        (2000, 60, 0.5, Outliers::Clustered),
        (10_000, 30, 0.5, Outliers::Clustered),
    ];
    for (n, p, sigma, kind) in shapes.into_iter().take(if quick { 4 } else { 7 }) {
        let data = make_outliers(n, p, sigma, kind, 0.1, 1)?;
        let start = Instant::now();
        let path = ConicParams::default().check()?.path(&data, &kappas, &control)?;
        let seconds = start.elapsed().as_secs_f64();
        let worst = path.iter().filter_map(mainstay::model::Fitted::dual_gap).fold(0.0, f64::max);
        let steps: usize = path.iter().map(|f| f.n_iter).sum();
        println!(
            "conic path {n:>6} x {p:<3} sigma {sigma} {kind:?}: {seconds:.3} s, worst gap {worst:.1e}, {steps} steps"
        );
    }
    let data = make_outliers(1000, 30, 0.5, Outliers::Clustered, 0.1, 1)?;
    let start = Instant::now();
    let path = hinge_path(&data, &hinge_grid(100), true, 1e-6, &control)?;
    let worst = path.iter().filter_map(mainstay::model::Fitted::dual_gap).fold(0.0, f64::max);
    println!("hinge path 1000 x 30: {:.3} s, worst gap {worst:.1e}", start.elapsed().as_secs_f64());
    if !quick {
        let data = make_outliers(100_000, 30, 0.5, Outliers::Clustered, 0.1, 1)?;
        let start = Instant::now();
        let fit = ConicParams::default().check()?.fit(&data, &control)?;
        let gap = fit.dual_gap().unwrap_or(f64::NAN);
        println!("conic fit 100000 x 30: {:.3} s, gap {gap:.1e}", start.elapsed().as_secs_f64());
    }
    Ok(())
}
