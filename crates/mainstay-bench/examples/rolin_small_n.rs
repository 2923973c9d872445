//! Test losses from few training rows: the extended ROLIN against its rivals on real sets.
//!
//!     cargo run --release -p mainstay-bench --example rolin_small_n -- DIR GROUP N REPEATS LOSS METHOD...
//!
//! `docs/methods/rolin_table.py` prepares the data and calls this. DIR holds plain CSV files, the label
//! (+1 or -1) last; GROUP is `dev`, `val` (every second set by name) or `all`; N is one or more numbers of
//! training rows, with commas between. A METHOD is one of the names in [`method`] or the path of a JSON
//! file with a `ExtendedConstants`. Prints, for every n and set, the trimmed mean test loss of every method, and at
//! the end a table of the ratios of all methods to the first.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an experiment, run by hand")]

use std::fs;

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::folds::generator;
use mainstay::linalg::Dense;
use mainstay::loss::Loss;
use mainstay::methods::find;
use mainstay::model::Fitted;
use mainstay::rolin::{ExtendedConstants, RolinParams};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde_json::json;

struct Set {
    name: String,
    rows: Vec<Vec<f64>>,
    labels: Vec<usize>,
}

fn read(path: &std::path::Path) -> Set {
    let text = fs::read_to_string(path).unwrap();
    let mut rows: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let labels =
        rows.iter_mut().map(|r: &mut Vec<f64>| usize::from(r.pop().unwrap() > 0.0)).collect();
    Set { name: path.file_stem().unwrap().to_string_lossy().into_owned(), rows, labels }
}

fn pick(set: &Set, rows: &[usize]) -> Dataset {
    let data = rows.iter().flat_map(|&i| set.rows[i].iter().copied()).collect();
    let x = Dense::from_rows(rows.len(), set.rows[0].len(), data);
    Dataset::new(x.into(), rows.iter().map(|&i| set.labels[i]).collect(), 2).unwrap()
}

fn method(name: &str, loss: Loss, data: &Dataset) -> Fitted {
    let control = Control::new();
    let fit = |method: &str, params: serde_json::Value| {
        let mut params = params;
        params["loss"] = serde_json::to_value(loss).unwrap();
        find(method).unwrap().estimator(&params).unwrap().fit(data, &control).unwrap()
    };
    let penalized =
        json!({"alpha": "cv", "normalize": "auto", "n_alphas": 17, "n_repeats": 5, "tol": 1e-4});
    match name {
        "extended" => fit("rolin", json!({})),
        "paper" => fit("rolin", json!({"variant": "paper"})),
        "top-pcs" => fit("top-pcs", json!({})),
        "l2" => fit("l2", penalized),
        "l1" => fit("l1", penalized),
        path => {
            let constants: ExtendedConstants =
                serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
            let params = RolinParams { loss, ..RolinParams::default() };
            params.check().unwrap().fit_with_constants(constants, data, &control).unwrap()
        }
    }
}

fn test_loss(fitted: &Fitted, loss: Loss, test: &Dataset) -> f64 {
    let scores = fitted.model.decision(test.features()).unwrap();
    let y = test.signs(1);
    let sum: f64 = (0..y.len()).map(|i| loss.get().value(y[i] * scores[(i, 0)])).sum();
    let unit = if loss == Loss::Logistic { std::f64::consts::LN_2 } else { 1.0 };
    sum / unit / y.len() as f64
}

/// The mean without a tenth of the values at either end.
fn trimmed(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 10;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

/// What is compared.
struct Study {
    repeats: u64,
    loss: Loss,
    methods: Vec<String>,
}

impl Study {
    /// Test loss of every method for one random choice of n training rows.
    fn draw(&self, set: &Set, n: usize, seed: u64) -> Vec<f64> {
        let mut rng = generator(seed);
        let mut order: Vec<usize> = (0..set.rows.len()).collect();
        let both = |rows: &[usize]| rows.iter().any(|&i| set.labels[i] != set.labels[rows[0]]);
        order.shuffle(&mut rng);
        while !both(&order[..n]) || !both(&order[n..]) {
            order.shuffle(&mut rng);
        }
        let (train, test) = order.split_at(n);
        let (train, test) = (pick(set, train), pick(set, test));
        let one = |name: &String| test_loss(&method(name, self.loss, &train), self.loss, &test);
        self.methods.iter().map(one).collect()
    }

    /// Trimmed mean test losses: one row per set, one column per method.
    fn losses(&self, sets: &[Set], n: usize) -> Vec<Vec<f64>> {
        let mut table = Vec::new();
        for set in sets.iter().filter(|set| set.rows.len() >= n + 30) {
            let draws: Vec<Vec<f64>> =
                (0..self.repeats).into_par_iter().map(|seed| self.draw(set, n, seed)).collect();
            let column = |m: usize| trimmed(draws.iter().map(|draw| draw[m]).collect());
            let row: Vec<f64> = (0..self.methods.len()).map(column).collect();
            let cells: Vec<String> = row.iter().map(|v| format!("{v:.4}")).collect();
            println!("{n},{},{}", set.name, cells.join(","));
            table.push(row);
        }
        table
    }

    /// One line of the final table.
    fn summary(&self, n: usize, table: &[Vec<f64>]) -> String {
        let mut cells = vec![format!("{n} ({}, {})", table.len(), self.repeats)];
        for m in 1..self.methods.len() {
            let ratios: Vec<f64> = table.iter().map(|row| row[m] / row[0]).collect();
            let better = ratios.iter().filter(|r| **r > 1.0).count();
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            cells.push(format!("{mean:.3} / {:.3} [{better}]", median(ratios)));
        }
        let best = |m: usize| table.iter().filter(|row| row.iter().all(|v| row[m] <= *v)).count();
        let wins: Vec<String> = (0..self.methods.len()).map(|m| best(m).to_string()).collect();
        cells.push(wins.join(", "));
        format!("| {} |", cells.join(" | "))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, group, ns, repeats, loss, methods @ ..] = args.as_slice() else {
        panic!("DIR GROUP N REPEATS LOSS METHOD...")
    };
    let study = Study {
        repeats: repeats.parse().unwrap(),
        loss: serde_json::from_value(json!(loss)).unwrap(),
        methods: methods.to_vec(),
    };
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let chosen = paths.iter().enumerate().filter(|(i, _)| match group.as_str() {
        "dev" => i % 2 == 0,
        "val" => i % 2 == 1,
        _ => true,
    });
    let sets: Vec<Set> = chosen.map(|(_, path)| read(path)).collect();
    println!("n,set,{}", methods.join(","));
    let one = |n: &str| {
        let n = n.parse().unwrap();
        study.summary(n, &study.losses(&sets, n))
    };
    let lines: Vec<String> = ns.split(',').map(one).collect();
    println!("\n| n (sets, draws) | {} | best on |", methods[1..].join(" | "));
    println!("|{}", "---|".repeat(methods.len() + 1));
    println!("{}", lines.join("\n"));
}
