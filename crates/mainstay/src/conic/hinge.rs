//! The hinge-loss SVM (2) along the paper's grid: the baseline of its Tables 1 to 4.

use super::design::Design;
use super::problem::Rows;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::{Result, require};
use crate::linalg::{Dense, Matrix, vector};
use crate::loss::Loss;
use crate::model::{BinaryFit, Fitted, Linear, Link, Model, assemble, each_class};
use crate::optim::hinge_qp::{HARD_MARGIN, HingeQp, Shape};
use crate::optim::{Budget, Program};

/// Iterations of one fit; a healthy one needs twenty.
const MOST_ITERATIONS: usize = 100;
/// The gap that the solver aims at as a part of the one asked for: the recomputed one differs by rounding.
const AIM: f64 = 0.5;

/// The paper's grid of `$\beta$`, `count` values spread evenly inside (0, 1): `$\lambda = \beta/(1-\beta)$`.
pub fn hinge_grid(count: usize) -> Vec<f64> {
    (1..=count).map(|k| k as f64 / (count + 1) as f64).collect()
}

/// Problem (2), `$\min \|w\|^2 + \lambda\sum c_i \max(0, 1 - y_ix_i^\top w)$` with `$\lambda = \beta/(1-\beta)$`, for every
/// `$\beta$` in (0, 1), each certified to `tol`.
///
/// The constant feature, if any, is regularised as in the paper, so that the comparison with the
/// conic SVM differs in the loss alone.
pub fn hinge_path(
    data: &Dataset,
    betas: &[f64],
    fit_intercept: bool,
    tol: f64,
    control: &Control,
) -> Result<Vec<Fitted>> {
    for &beta in betas {
        require(beta > 0.0 && beta < 1.0, "beta", beta, "between 0 and 1")?;
    }
    let merged = Merged::new(data);
    merged.data.check_squares()?;
    let design = Design::new(merged.data.features(), fit_intercept);
    let paths: Vec<Vec<BinaryFit>> = each_class(&merged, control, |binary| {
        let rows = Rows { x: &design.x, y: &binary.y, c: binary.weights, damping: &design.damping };
        betas.iter().map(|beta| one(&design, &rows, beta / (1.0 - beta), tol, control)).collect()
    })?;
    let fits = |k: usize| paths.iter().map(|path| path[k].clone()).collect::<Vec<_>>();
    let fitted = |k: usize| {
        let fits = fits(k);
        let model = Model::Linear(Linear {
            coef: fits.iter().map(|f| f.weights.clone()).collect(),
            intercept: fits.iter().map(|f| f.intercept).collect(),
            link: Link::None,
        });
        assemble(&merged, model, tol, &fits)
    };
    Ok((0..betas.len()).map(fitted).collect())
}

fn one(
    design: &Design,
    rows: &Rows<'_>,
    price: f64,
    tol: f64,
    control: &Control,
) -> Result<BinaryFit> {
    let unit2 = design.unit * design.unit;
    let bounds: Vec<f64> = rows.c.iter().map(|c| 0.5 * price * unit2 * c).collect();
    let mut budget = Budget::new(AIM * tol, MOST_ITERATIONS, control);
    let (v, h) = soft_margin(rows, &bounds, &mut budget)?;
    let w = design.lift(&v);
    let (primal, dual) = interval(design.user_rows(), rows.y, &bounds, &w, &h);
    let certificate = Certificate { primal: primal / unit2, dual: dual / unit2 };
    let (weights, intercept) = design.model(&w)?;
    Ok(BinaryFit {
        weights,
        intercept,
        certificate: Some(certificate),
        n_iter: budget.spent(),
        row_outputs: Vec::new(),
        outputs: Vec::new(),
        warnings: Vec::new(),
        route: Vec::new(),
        proof: Vec::new(),
    })
}

/// Minimises `$\|w\|^2 + 2\sum_i u_i (1 - y_i x_i^\top w)_+$`: the hinge program with shares `$u/\sum u$` and the
/// penalty `$1/\sum u$`, whose duals are `$h/u$`. Returns `$w$` and `$h$`.
fn soft_margin(
    rows: &Rows<'_>,
    bounds: &[f64],
    budget: &mut Budget<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (z, p) = (Matrix::from(rows.x.clone()), rows.x.ncols());
    let total: f64 = bounds.iter().sum();
    let shares: Vec<f64> = bounds.iter().map(|u| u / total).collect();
    let program = Program {
        z: &z,
        y: rows.y,
        shares: &shares,
        loss: Loss::Hinge.get(),
        l1: vec![0.0; p],
        l2: vec![1.0 / total; p],
        intercept: false,
    };
    let shape = Shape::of(Loss::Hinge).unwrap_or(HARD_MARGIN);
    let qp = HingeQp { program, shape, floor: f64::MIN_POSITIVE, unbounded: f64::INFINITY };
    let found = qp.solve(budget)?;
    let h = found.duals.iter().zip(bounds).map(|(a, u)| a * u).collect();
    Ok((found.v, h))
}

/// Objective at `w`, and `$2\sum h_i - \|\sum h_iy_ix_i\|^2$` with `h` clipped to its box, from the rows alone.
fn interval(x: &Dense, y: &[f64], bounds: &[f64], w: &[f64], h: &[f64]) -> (f64, f64) {
    let margins = x.mul_vec(w);
    let losses =
        margins.iter().zip(y).zip(bounds).map(|((m, y), u)| 2.0 * u * (1.0 - y * m).max(0.0));
    let primal = vector::norm_sq(w) + losses.sum::<f64>();
    let h: Vec<f64> = h.iter().zip(bounds).map(|(h, u)| vector::clip(*h, *u)).collect();
    let signed: Vec<f64> = h.iter().zip(y).map(|(h, y)| h * y).collect();
    let image = x.tr_mul_vec(&signed);
    (primal, 2.0 * h.iter().sum::<f64>() - vector::norm_sq(&image))
}
