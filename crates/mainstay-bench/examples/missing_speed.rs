//! Times the methods for missing features on a file or on made-up rows.
//!
//! `missing_speed lp FILE [key=value]...`: the linear program, on a file of little-endian 64-bit floats: number of rows,
//! number of columns, then for every row its label (0 or 1) and its features. Keys: `budget`, `C`, `tol`, `rows` (evenly
//! spaced), `threads`, `sparse` (0 or 1), `mutual_info` (0 or 1).
//!
//! `missing_speed perceptron [key=value]...`: one pass over made-up rows. Keys: `rows`, `columns`, `budget`.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::missing::{MissingFeatureSvcParams, MissingPerceptronParams, ValueRule, Values};
use mainstay::model::Estimator;
use rand::{RngExt, SeedableRng};

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Keys(BTreeMap<String, f64>);

impl Keys {
    fn read(words: impl Iterator<Item = String>) -> Outcome<Self> {
        let pairs = words.map(|word| {
            let (key, value) = word.split_once('=').ok_or("key=value expected")?;
            Ok((key.to_owned(), value.parse()?))
        });
        pairs.collect::<Outcome<_>>().map(Self)
    }

    fn get(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).copied().unwrap_or(default)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts typed on a command line"
    )]
    fn count(&self, key: &str, default: usize) -> usize {
        self.0.get(key).map_or(default, |v| *v as usize)
    }
}

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("lp") => {
            let path = words.next().ok_or("a file is needed")?;
            lp(&path, &Keys::read(words)?)
        }
        Some("perceptron") => perceptron(&Keys::read(words)?),
        _ => Err("first word: lp or perceptron".into()),
    }
}

#[expect(clippy::print_stdout, reason = "a program, not the library")]
fn lp(path: &str, keys: &Keys) -> Outcome<()> {
    let (x, labels) = read(&std::fs::read(path)?, keys)?;
    let data = Dataset::new(x, labels, 2)?;
    let rule =
        if keys.count("mutual_info", 0) == 1 { ValueRule::MutualInfo } else { ValueRule::Uniform };
    let params = MissingFeatureSvcParams {
        budget: keys.get("budget", 1.0),
        c: keys.get("C", 10.0),
        tol: keys.get("tol", 1e-4),
        values: Values::Rule(rule),
        ..MissingFeatureSvcParams::default()
    };
    let control = Control::new().with_threads(keys.count("threads", 1));
    let start = Instant::now();
    let fitted = params.check()?.fit(&data, &control)?;
    let seconds = start.elapsed().as_secs_f64();
    let found = fitted.certificates.first().ok_or("no certificate")?;
    println!(
        "{} x {}: {} iterations, {seconds:.3} s, objective {:.8}, bound {:.8}, gap {:.1e}",
        data.len(),
        data.n_features(),
        fitted.n_iter,
        found.primal,
        found.dual,
        found.gap()
    );
    for warning in fitted.warnings {
        println!("  {warning}");
    }
    Ok(())
}

fn read(bytes: &[u8], keys: &Keys) -> Outcome<(Matrix, Vec<usize>)> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let shape = Keys(BTreeMap::from([("n".into(), numbers[0]), ("p".into(), numbers[1])]));
    let (n, p) = (shape.count("n", 0), shape.count("p", 0));
    let rows = keys.count("rows", n).min(n);
    let pick: Vec<&[f64]> =
        (0..rows).map(|i| &numbers[2 + (i * n / rows) * (p + 1)..][..=p]).collect();
    let labels = pick.iter().map(|row| usize::from(row[0] > 0.5)).collect();
    if keys.count("sparse", 0) == 0 {
        return Ok((Dense::from_fn(rows, p, |i, j| pick[i][j + 1]).into(), labels));
    }
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in pick {
        for (j, v) in row[1..].iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j)?);
            values.push(*v);
        }
        starts.push(indices.len());
    }
    Ok((Csr::new(p, starts, indices, values)?.into(), labels))
}

/// Rows far on the right side of the plane that the first few teach: hardly any causes an update.
#[expect(clippy::print_stdout, reason = "a program, not the library")]
fn perceptron(keys: &Keys) -> Outcome<()> {
    let (rows, columns) = (keys.count("rows", 1_000_000), keys.count("columns", 50));
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let labels: Vec<usize> = (0..rows).map(|i| i % 2).collect();
    let x = Dense::from_fn(rows, columns, |i, _| {
        (2.0 * labels[i] as f64 - 1.0) + 0.1 * (rng.random::<f64>() - 0.5)
    });
    let x = Matrix::from(x);
    let learner = MissingPerceptronParams { budget: keys.get("budget", 1.0), ..Default::default() }
        .check()?;
    let mut state = learner.start(columns, 2)?;
    let start = Instant::now();
    let batch = mainstay::missing::Batch { x: &x, labels: &labels, weights: None };
    learner.partial_fit(&mut state, &batch, &Control::new())?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{rows} x {columns}: {seconds:.3} s, {:.2e} rows a second", rows as f64 / seconds);
    Ok(())
}
