//! Which labels look wrong? Flips five labels of the demo data and lists the rows the conic SVM believes least.
//!
//!     cargo run -p mainstay-io --example wrong_labels
#![expect(clippy::print_stdout, reason = "a program that answers a question")]

use std::error::Error;

use mainstay::Control;
use mainstay::conic::ConicParams;
use mainstay::data::{Classes, Dataset, Encoder, Missing, demo};
use mainstay::model::{Estimator, StandardizeFirst};
use mainstay_io::{Input, ReadOptions, Source, read};

fn main() -> Result<(), Box<dyn Error>> {
    let source = Source::Bytes("demo.csv".into(), demo().as_bytes().into());
    let Input::Table(mut table) = read(&source, &ReadOptions::default())? else {
        return Err("a table with named columns is needed".into());
    };
    let target = table.take("diagnosis")?;
    let classes = Classes::learn(&target)?;
    let mut labels = classes.codes(&target)?;
    let flipped = [10, 110, 210, 310, 410];
    for row in flipped {
        labels[row] = 1 - labels[row];
    }
    let features = Encoder::learn(&table, Missing::Refuse)?.encode(&table)?.features;
    let data = Dataset::new(features, labels, 2)?;

    // A twentieth of the labels may be disbelieved.
    let svm = ConicParams { kappa: Some(0.05), ..Default::default() }.check()?;
    let fitted = StandardizeFirst(&svm).fit(&data, &Control::new())?;
    println!("proven relative gap {:.1e}", fitted.dual_gap().unwrap_or(f64::NAN));
    let suspects = fitted.suspects.ok_or("the conic SVM judges labels")?;
    let columns = suspects.row.iter().zip(&suspects.score).zip(&suspects.label);
    for ((row, score), label) in columns.take(10) {
        let mark = if flipped.contains(row) { "flipped by this program" } else { "" };
        println!("row {row:3}  {}  suspicion {score:.2}  {mark}", classes.names()[*label]);
    }
    Ok(())
}
