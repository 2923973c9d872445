//! How close to the optimum is my classifier? Fits a plain and a robust one to the demo data and prints the proof.
//!
//!     cargo run -p mainstay-io --example certified_fit [FILE.csv TARGET]
#![expect(clippy::print_stdout, reason = "a program that answers a question")]

use std::error::Error;

use mainstay::Control;
use mainstay::data::{Classes, Dataset, Encoder, Missing, demo};
use mainstay::methods::find;
use mainstay::model::{Estimator, StandardizeFirst};
use mainstay_io::{Input, ReadOptions, Source, read};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (source, target) = match args.as_slice() {
        [file, target] => (Source::new(file), target.as_str()),
        _ => (Source::Bytes("demo.csv".into(), demo().as_bytes().into()), "diagnosis"),
    };
    let Input::Table(mut table) = read(&source, &ReadOptions::default())? else {
        return Err("a table with named columns is needed".into());
    };
    let labels = table.take(target)?;
    let classes = Classes::learn(&labels)?;
    let features = Encoder::learn(&table, Missing::Refuse)?.encode(&table)?.features;
    let data = Dataset::new(features, classes.codes(&labels)?, classes.names().len())?;

    for (name, params) in [("l2", json!({"alpha": 0.01})), ("stable-svm", json!({"k": 0.5}))] {
        let estimator = find(name)?.estimator(&params)?;
        let fitted = StandardizeFirst(estimator.as_ref()).fit(&data, &Control::new())?;
        // The certificate is recomputed from the data and the answer; it does not trust the solver.
        let fitted = fitted.certified(1e-6)?;
        let right = fitted.model.predict(data.features())?;
        let right = right.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        for certificate in &fitted.certificates {
            println!(
                "{name}: objective {:.6}, optimum at least {:.6}, {right} of {} rows right",
                certificate.primal,
                certificate.dual,
                data.len()
            );
        }
    }
    Ok(())
}
