//! Xanthopoulos, Guarracino and Pardalos, Section 4.1 and Figure 2: three points per class under ellipsoidal noise.

use mainstay::data::{Dataset, Shape};
use mainstay::eigen::{RegecParams, RobustRegecParams, RobustSolver, Xi};
use mainstay::folds::generator;
use mainstay::linalg::{Dense, vector};
use mainstay::model::{Estimator, Fitted, Model, Planes};
use mainstay::uncertainty::ellipsoid::Ellipsoid;

use crate::chart::{Chart, Series};
use crate::context::Context;
use crate::error::Result;
use crate::outcome::{Measured, Outcome, Row, Unit};
use crate::stats::{deviation, mean, quantile};

/// Eq. (33), with the second point of the second class as in Figure 1.
const POINTS: [[f64; 2]; 6] =
    [[5.0, 7.11], [4.0, 5.36], [4.63, 4.42], [2.82, 1.44], [2.0, 1.72], [1.0, -0.68]];
const REALISATIONS: usize = 1000;
const METHODS: [&str; 3] = ["nominal", "Algorithm 1", "monotone"];

pub(super) fn figure_2(context: &Context<'_>) -> Result<Outcome> {
    let alphas: Vec<f64> = (1..=8).map(|k| 0.25 * f64::from(k)).collect();
    let keys: Vec<String> = alphas.iter().map(|a| format!("alpha={a}")).collect();
    let found = context.each("regec-case", &keys, |i, seed| objective(alphas[i], seed, context))?;
    // Per method: mean, deviation, 95 % quantile.
    let at = |i: usize, m: usize, s: usize| found[i][3 * m + s];
    let mut out = Outcome::default();
    for (i, alpha) in alphas.iter().enumerate().filter(|(i, _)| i % 2 == 1) {
        for (m, method) in METHODS.into_iter().enumerate() {
            let ours =
                Measured { value: at(i, m, 0), spread: Some(at(i, m, 1)), count: REALISATIONS };
            out.rows.push(Row::ours(
                format!("alpha = beta = {alpha}, {method}: objective"),
                Unit::Plain,
                ours,
                "only drawn in the paper",
            ));
        }
    }
    claims(&alphas, &at, &mut out);
    let series = |s: usize| {
        METHODS
            .into_iter()
            .enumerate()
            .map(|(m, name)| {
                Series::new(name, alphas.iter().enumerate().map(|(i, &a)| (a, at(i, m, s))))
            })
            .collect::<Vec<_>>()
    };
    out.charts = vec![
        Chart::lines("Mean objective", "alpha = beta", "objective", series(0)),
        Chart::lines("95 % quantile", "alpha = beta", "objective", series(2)),
    ];
    choices(&mut out);
    Ok(out)
}

fn choices(out: &mut Outcome) {
    out.choice("The second point of class B is (2, 1.72) as in the caption of Figure 1; Eq. (33) prints (2, 7.11).");
    out.choice("alpha = beta from 0.25 to 2; the figure's range is not in the text. At larger values the ellipses of both classes meet.");
    out.choice("The objective is the ratio (1), averaged over the planes of both classes; realisations lie on the ellipses.");
    out.choice(
        "xi = 0 for the robust planes; no regularisation is stated: Eq. (7) with delta = 1e-4.",
    );
}

/// What the paper says about small and large ellipses; `at` gives a number of a method at an alpha: mean, deviation, 95 % quantile.
fn claims(alphas: &[f64], at: &dyn Fn(usize, usize, usize) -> f64, out: &mut Outcome) {
    let (first, last) = (0, alphas.len() - 1);
    out.rows.push(Row::claim(
        "small ellipses",
        "the robust solution is very conservative: worse on average",
        at(first, 1, 0) > at(first, 0, 0),
        format!(
            "at {}: nominal {:.4}, Algorithm 1 {:.4}, monotone {:.4}",
            alphas[first],
            at(first, 0, 0),
            at(first, 1, 0),
            at(first, 2, 0)
        ),
    ));
    out.rows.push(Row::claim(
        "large ellipses",
        "the robust solution behaves alike in every realisation",
        at(last, 1, 1) < 0.8 * at(last, 0, 1) && at(last, 1, 2) < at(last, 0, 2),
        format!(
            "at {}: deviation {:.3} nominal, {:.3} Algorithm 1, {:.3} monotone; 95 % quantile {:.3}, {:.3}, {:.3}",
            alphas[last],
            at(last, 0, 1),
            at(last, 1, 1),
            at(last, 2, 1),
            at(last, 0, 2),
            at(last, 1, 2),
            at(last, 2, 2)
        ),
    ));
}

/// Mean, deviation and 95 % quantile of the objective for every method.
fn objective(alpha: f64, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let control = context.control();
    let x = Dense::from_rows(6, 2, POINTS.concat());
    let data = Dataset::new(x.into(), vec![0, 0, 0, 1, 1, 1], 2)?;
    let shape = Shape::Axes(vec![alpha; 2]);
    let robust = |solver| {
        let params = RobustRegecParams {
            uncertainty: shape.clone(),
            solver,
            xi: Xi::Fixed(0.0),
            ..RobustRegecParams::default()
        };
        params.check()?.fit(&data, &control)
    };
    let fits = [
        RegecParams::default().check()?.fit(&data, &control)?,
        robust(RobustSolver::Paper)?,
        robust(RobustSolver::Monotone)?,
    ];
    let ellipse = Ellipsoid::new(&shape, 2)?;
    let mut rng = generator(seed);
    let mut values = vec![Vec::with_capacity(REALISATIONS); fits.len()];
    for _ in 0..REALISATIONS {
        let moved: Vec<Vec<f64>> = POINTS
            .iter()
            .map(|point| {
                let noise = ellipse.view().sample_surface(2, &mut rng);
                point.iter().zip(&noise).map(|(a, b)| a + b).collect()
            })
            .collect();
        for (list, fitted) in values.iter_mut().zip(&fits) {
            list.push(ratio(fitted, &moved));
        }
    }
    let three = |v: &Vec<f64>| [mean(v), deviation(v), quantile(v, 0.95)];
    Ok(values.iter().flat_map(three).collect())
}

/// The objective (1) on six points, averaged over both planes.
fn ratio(fitted: &Fitted, points: &[Vec<f64>]) -> f64 {
    let Model::Planes(Planes { planes, offsets, .. }) = &fitted.model else { return f64::NAN };
    let of = |k: usize| {
        let sum = |range: std::ops::Range<usize>| -> f64 {
            points[range].iter().map(|x| (vector::dot(&planes[k], x) - offsets[k]).powi(2)).sum()
        };
        let (a, b) = (sum(0..3), sum(3..6));
        if k == 0 { a / b } else { b / a }
    };
    f64::midpoint(of(0), of(1))
}
