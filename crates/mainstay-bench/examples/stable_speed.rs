//! How long a stable fit takes: `stable_speed FILE [k] [C] [alpha] [repeats]` prints CPU seconds of a
//! stable SVM, its squared-hinge form and a stable logistic regression.
//!
//! FILE holds little-endian 64-bit floats: n, p, the n labels (0 or 1) and the n x p features.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the file holds its sizes as floats"
)]
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::error::Error;

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted};
use mainstay::stable::{K, StableLogisticParams, StableSvcParams, SvmLoss};

/// CPU seconds of all threads of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn read(path: &str) -> Result<Dataset, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let numbers: Vec<f64> =
        bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect();
    let (n, p) = (numbers[0] as usize, numbers[1] as usize);
    let labels = numbers[2..2 + n].iter().map(|v| usize::from(*v > 0.0)).collect();
    let x = Dense::from_rows(n, p, numbers[2 + n..].to_vec());
    Ok(Dataset::new(x.into(), labels, 2)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: f64| {
        arguments.get(at).and_then(|v| v.parse::<f64>().ok()).unwrap_or(default)
    };
    let data = read(arguments.get(1).ok_or("which file?")?)?;
    let (k, c, alpha) = (K::Fraction(number(2, 0.5)), number(3, 1.0), number(4, 0.1));
    let repeats = number(5, 3.0) as usize;
    let svm = |loss| StableSvcParams { k, c, loss, ..Default::default() }.check();
    let logistic = StableLogisticParams { k, alpha, ..Default::default() }.check()?;
    let methods: [(&str, Box<dyn Estimator>); 3] = [
        ("hinge", Box::new(svm(SvmLoss::Hinge)?)),
        ("squared hinge", Box::new(svm(SvmLoss::SquaredHinge)?)),
        ("logistic", Box::new(logistic)),
    ];
    println!("{} x {}, k = {k:?}, C = {c}, alpha = {alpha}", data.len(), data.n_features());
    for (name, method) in methods {
        let start = cpu_seconds();
        let mut last: Option<Fitted> = None;
        for _ in 0..repeats {
            last = Some(method.fit(&data, &Control::new())?);
        }
        let seconds = (cpu_seconds() - start) / repeats as f64;
        if let Some(fitted) = last {
            let gap = fitted.dual_gap().unwrap_or(f64::INFINITY);
            let primal = fitted.certificates[0].primal;
            println!(
                "{name}: {seconds:.3} CPU s, {} steps, gap {gap:.1e}, objective {primal:.9}, \
                 classical {:?} {:?}",
                fitted.n_iter, fitted.outputs["equals_classical"], fitted.warnings
            );
        }
    }
    Ok(())
}
