//! Two-class solvers for any number of classes: one problem per class, against the rest.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::{DualPoint, Fitted, Linear, Link, Model, RowLists, dual_point};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::Result;
use crate::linalg::{Dense, Matrix};

/// Two classes, told apart by sign; weights are positive.
#[derive(Debug)]
pub struct BinaryProblem<'a> {
    /// One row per sample.
    pub x: &'a Matrix,
    /// +1 or -1.
    pub y: Vec<f64>,
    /// Positive weight of every row.
    pub weights: &'a [f64],
    /// The class whose rows have the sign +1.
    pub positive: usize,
}

/// A linear answer to a [`BinaryProblem`].
#[derive(Debug, Clone)]
pub struct BinaryFit {
    /// Weight of every feature.
    pub weights: Vec<f64>,
    /// Added to every score.
    pub intercept: f64,
    /// The proof, where there is one.
    pub certificate: Option<Certificate>,
    /// Iterations used.
    pub n_iter: usize,
    /// Named results with one number per row.
    pub row_outputs: Vec<(&'static str, Vec<f64>)>,
    /// Named results with one number per problem.
    pub outputs: Vec<(&'static str, f64)>,
    /// Plain sentences the user should read.
    pub warnings: Vec<String>,
    /// The stages of the strategy that worked on it, in order.
    pub route: Vec<&'static str>,
    /// The dual point behind the certificate; empty unless it was asked for and can be checked.
    pub proof: RowLists,
}

/// Solves one binary problem for two classes, and one per class (that class against the rest) for
/// more, in parallel, and puts the answers together. Per-row results go back to the rows as given.
pub fn one_versus_rest(
    merged: &Merged,
    link: Link,
    tol: f64,
    control: &Control,
    solve: impl Fn(&BinaryProblem<'_>) -> Result<BinaryFit> + Sync,
) -> Result<Fitted> {
    let fits = each_class(merged, control, solve)?;
    let model = Model::Linear(Linear {
        coef: fits.iter().map(|f| f.weights.clone()).collect(),
        intercept: fits.iter().map(|f| f.intercept).collect(),
        link,
    });
    Ok(assemble(merged, model, tol, &fits))
}

/// Solves one binary problem for two classes, and one per class for more, in parallel.
pub fn each_class<T: Send>(
    merged: &Merged,
    control: &Control,
    solve: impl Fn(&BinaryProblem<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let data = &merged.data;
    let unit = vec![1.0; data.len()];
    let weights = data.weights().unwrap_or(&unit);
    let one = |positive: usize| {
        solve(&BinaryProblem { x: data.features(), y: data.signs(positive), weights, positive })
    };
    if data.n_classes() == 2 {
        return Ok(vec![one(1)?]);
    }
    let done = AtomicU64::new(0);
    let counted = |positive: usize| {
        let fit = one(positive)?;
        control.progress(1 + done.fetch_add(1, Ordering::Relaxed), data.n_classes() as u64);
        Ok(fit)
    };
    control.install(|| (0..data.n_classes()).into_par_iter().map(counted).collect())
}

/// The binary problems of merged data: one for two classes, otherwise one per class, against the rest.
/// For solvers that want them one at a time.
pub fn binary_problems(data: &Dataset) -> Vec<BinaryProblem<'_>> {
    // Merged data always carry weights.
    let weights = data.weights().unwrap_or_default();
    let one = |positive: usize| {
        let y = data.signs(positive);
        BinaryProblem { x: data.features(), y, weights, positive }
    };
    if data.n_classes() == 2 { vec![one(1)] } else { (0..data.n_classes()).map(one).collect() }
}

/// One fit from the answers to its binary problems; per-row results go back to the rows as given.
pub fn assemble(merged: &Merged, model: Model, tol: f64, fits: &[BinaryFit]) -> Fitted {
    let mut fitted = Fitted::new(model, fits.iter().map(|f| f.n_iter).max().unwrap_or(1));
    fitted.tol = tol;
    fitted.certificates = fits.iter().filter_map(|f| f.certificate).collect();
    fitted.route = joint_route(fits);
    let points: Vec<DualPoint> =
        fits.iter().filter(|f| !f.proof.is_empty()).map(|f| dual_point(merged, &f.proof)).collect();
    fitted.proof = (points.len() == fits.len()).then_some(points);
    for f in fits {
        for warning in &f.warnings {
            if !fitted.warnings.contains(warning) {
                fitted.warnings.push(warning.clone());
            }
        }
    }
    for (k, (name, _)) in fits[0].outputs.iter().enumerate() {
        let values: Vec<f64> = fits.iter().map(|f| f.outputs[k].1).collect();
        fitted = match values.as_slice() {
            [value] => fitted.with(name, *value),
            _ => fitted.with(name, values),
        };
    }
    for (k, (name, _)) in fits[0].row_outputs.iter().enumerate() {
        let columns: Vec<Vec<f64>> =
            fits.iter().map(|f| merged.spread(&f.row_outputs[k].1, 0.0)).collect();
        fitted = if let [column] = columns.as_slice() {
            fitted.with(name, column.clone())
        } else {
            let rows = merged.position.len();
            fitted.with(name, &Dense::from_fn(rows, columns.len(), |i, j| columns[j][i]))
        };
    }
    fitted
}

/// The routes of all problems after each other; a route that several problems took stands once.
fn joint_route(fits: &[BinaryFit]) -> Vec<String> {
    let mut routes: Vec<&[&'static str]> = Vec::new();
    for f in fits {
        if !routes.contains(&f.route.as_slice()) {
            routes.push(&f.route);
        }
    }
    routes.concat().into_iter().map(str::to_owned).collect()
}
