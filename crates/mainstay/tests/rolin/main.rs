//! ROLIN against its own words, its theorems, and awkward data.
#![cfg(test)]

mod algorithms;
mod behaviour;

use mainstay::data::Dataset;
use mainstay::folds::stratified;
use mainstay::linalg::Dense;
use mainstay::loss::Loss;
use mainstay::model::{Estimator, Fitted, Model, Output};
use mainstay::rolin::{CvRule, Normalize, RolinCv, RolinParams, Scoring, TopPcsParams, Variant};
use mainstay::{Control, Error};
use mainstay_testkit::generate::{normal, rng, two_clouds};
use mainstay_testkit::rolin as literal;

fn dataset(rows: &[f64], labels: &[f64]) -> Dataset {
    let p = rows.len() / labels.len();
    let classes = labels.iter().map(|&y| usize::from(y > 0.0)).collect();
    Dataset::new(Dense::from_rows(labels.len(), p, rows.to_vec()).into(), classes, 2).unwrap()
}

fn paper() -> RolinParams {
    RolinParams { variant: Variant::Paper, ..RolinParams::default() }
}

fn fit(params: RolinParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> (&[f64], f64) {
    let Model::Linear(m) = &fitted.model else { panic!("a linear model") };
    (&m.coef[0], m.intercept[0])
}

fn number(fitted: &Fitted, name: &str) -> f64 {
    match &fitted.outputs[name] {
        Output::Number(v) => *v,
        Output::Integer(v) => *v as f64,
        Output::Flag(v) => f64::from(u8::from(*v)),
        other => panic!("{name}: {other:?}"),
    }
}

fn column(fitted: &Fitted, table: &str, name: &str) -> Vec<f64> {
    let Output::Table(columns) = &fitted.outputs[table] else { panic!("a table") };
    match &columns.iter().find(|(n, _)| n == name).unwrap().1 {
        Output::Vector(v) => v.clone(),
        Output::Integers(v) => v.iter().map(|&v| v as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// Data whose columns have different scales, so that both normalisations matter.
fn uneven(seed: u64, n: usize, p: usize, distance: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, labels) = two_clouds(seed, n, p, distance);
    for (i, v) in rows.iter_mut().enumerate() {
        *v *= 3.0 / (1.0 + (i % p) as f64);
        *v += 0.3 * (i % p) as f64;
    }
    (rows, labels)
}
