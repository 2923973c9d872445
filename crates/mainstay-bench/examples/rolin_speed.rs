//! Seconds of the paper's full search and of the extended variant: n = 200 rows, 25 splits.
//!
//!     cargo run --release -p mainstay-bench --example rolin_speed -- [paper] [extended] P...
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::needless_range_loop,
    reason = "an experiment, run by hand"
)]

use std::time::Instant;

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::folds::generator;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Output};
use mainstay::rolin::{RolinParams, Variant};
use rand_distr::{Distribution, StandardNormal};

fn main() {
    let (sizes, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.parse::<usize>().is_ok());
    let mut variants = vec![Variant::Paper, Variant::Extended];
    variants.retain(|v| names.is_empty() || names.contains(&format!("{v:?}").to_lowercase()));
    for p in sizes {
        let (n, p): (usize, usize) = (200, p.parse().unwrap());
        let mut rng = generator(0);
        let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let mut x = Dense::from_fn(n, p, |_, _| StandardNormal.sample(&mut rng));
        // A few strong directions, and a class difference along the first features.
        for i in 0..n {
            let factor: f64 = StandardNormal.sample(&mut rng);
            let sign = if labels[i] == 1 { 1.0 } else { -1.0 };
            for (j, v) in x.row_mut(i).iter_mut().enumerate() {
                *v += factor * (1.0 + (j % 7) as f64) / 7.0;
                if j < 10 {
                    *v += 0.3 * sign;
                }
            }
        }
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let control = Control::new().with_threads(1);
        for &variant in &variants {
            let params = RolinParams { variant, ..RolinParams::default() };
            let start = Instant::now();
            let fitted = params.check().unwrap().fit(&data, &control).unwrap();
            let k_max = match fitted.outputs.get("k_max") {
                Some(Output::Integer(k)) => format!(", k_max {k}"),
                _ => String::new(),
            };
            println!("p = {p}: {variant:?} {:.3} s{k_max}", start.elapsed().as_secs_f64());
        }
    }
}
