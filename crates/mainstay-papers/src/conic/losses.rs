//! Cepeda, Gomez and Han, Figure 1: the conic loss beside other approximations of the 0-1 loss.

use mainstay::loss::robust::{ConicLoss, psi, ramp, sigmoid, zero_one};

use crate::chart::{Chart, Series};
use crate::context::Context;
use crate::error::Result;
use crate::outcome::{Outcome, Row};

const SHAPES: [f64; 4] = [0.1, 0.25, 1.0, 4.0];

fn conic(shape: f64) -> ConicLoss {
    ConicLoss { price: 1.0, shape }
}

/// What the paper says of the losses, checked at these margins.
fn claims(margins: &[f64]) -> [Row; 3] {
    let below = |f: &dyn Fn(f64) -> f64| margins.iter().all(|&u| f(u) <= zero_one(u) + 1e-12);
    let gain = |u: f64| conic(1.0).value(u) - ramp(u);
    let tighter = margins.iter().all(|&u| gain(u) >= -1e-12);
    let most = margins.iter().map(|&u| gain(u)).fold(0.0, f64::max);
    [
        Row::claim(
            "underestimates the 0-1 loss",
            "the conic loss does, for every shape",
            SHAPES.iter().all(|&s| below(&|u| conic(s).value(u))),
            format!("checked at {} margins for shapes {SHAPES:?}", margins.len()),
        ),
        Row::claim(
            "the sigmoid loss",
            "is not an underestimator",
            !below(&sigmoid),
            format!("it is {:.3} at margin 1, where the 0-1 loss is 0", sigmoid(1.0)),
        ),
        Row::claim(
            "closer to the 0-1 loss than the ramp",
            "the conic loss is a better approximation than those of the literature",
            tighter,
            format!(
                "with shape 1 it is nowhere below the ramp and up to {most:.2} above; with shapes below 1 it is not"
            ),
        ),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "experiments share one signature")]
pub(super) fn figure_1(_: &Context<'_>) -> Result<Outcome> {
    let margins: Vec<f64> = (-80..=60).map(|k| f64::from(k) / 20.0).collect();
    let curve =
        |name: &str, f: &dyn Fn(f64) -> f64| Series::new(name, margins.iter().map(|&u| (u, f(u))));
    let known = vec![
        curve("0-1", &zero_one),
        curve("normalised sigmoid", &sigmoid),
        curve("psi-learning", &psi),
        curve("ramp", &ramp),
    ];
    let ours = SHAPES.iter().map(|&s| curve(&format!("shape {s}"), &|u| conic(s).value(u)));
    let mut out = Outcome::default();
    out.rows.extend(claims(&margins));
    out.charts = vec![
        Chart::lines("Losses of the literature", "margin u", "loss", known),
        Chart::lines("Conic loss, lambda = 1", "margin u", "loss", ours.collect()),
    ];
    out.choice(
        "The figure's shapes gamma are not legible in the text; we draw 0.1, 0.25, 1 and 4.",
    );
    Ok(out)
}
