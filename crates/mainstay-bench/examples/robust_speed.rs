//! Times the worst case of the robust logistic regression on made-up rows.
//!
//! `robust_speed [key=value]...`: normal features, labels by the first five of them with noise. Keys: `rows`, `columns`, `hinge`
//! (0 or 1), `errors` (half-axes that all rows share), `own` (0 or 1: half-axes of single rows instead), `budget` (features that
//! may be deleted), `share` (worst share of the rows), `alpha`, `tol`, `seed`.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use mainstay::Control;
use mainstay::data::{Dataset, RowUncertainty};
use mainstay::linalg::Dense;
use mainstay::model::Estimator;
use mainstay::robust::{PerFeature, Protect, RobustLogisticParams, Strength, WorstLoss};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn keys() -> Outcome<BTreeMap<String, f64>> {
    let pair = |word: String| {
        let (key, value) = word.split_once('=').ok_or("key=value expected")?;
        Ok((key.to_owned(), value.parse()?))
    };
    std::env::args().skip(1).map(pair).collect()
}

#[expect(clippy::print_stdout, reason = "a program, not the library")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts typed on a command line"
)]
fn main() -> Outcome<()> {
    let keys = keys()?;
    let get = |key: &str, default: f64| keys.get(key).copied().unwrap_or(default);
    let (n, p) = (get("rows", 5000.0) as usize, get("columns", 50.0) as usize);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(get("seed", 0.0) as u64);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Dense::from_fn(n, p, |_, _| normal());
    let score = |i: usize| x.row(i).iter().take(5).sum::<f64>();
    let labels = (0..n).map(|i| usize::from(score(i) + normal() > 0.0)).collect();
    let (errors, own) = (get("errors", 0.1), get("own", 0.0) > 0.0);
    let mut data = Dataset::new(x.clone().into(), labels, 2)?;
    if own {
        let axes = Dense::from_fn(n, p, |i, j| errors * f64::from(1 + u8::from((i + j) % 2 == 0)));
        data = data.with_uncertainty(RowUncertainty::Axes(axes))?;
    }
    let params = RobustLogisticParams {
        alpha: Strength::Fixed(get("alpha", 1e-2)),
        errors: (!own && errors > 0.0).then_some(PerFeature::Same(errors)),
        missing: PerFeature::Same(get("budget", 1.0) / p as f64),
        protect: Protect::Worst,
        worst_share: get("share", 1.0),
        loss: if get("hinge", 0.0) > 0.0 { WorstLoss::Hinge } else { WorstLoss::Logistic },
        tol: get("tol", 1e-6),
        ..RobustLogisticParams::default()
    };
    let estimator = params.check()?;
    let start = Instant::now();
    let fitted = estimator.fit(&data, &Control::new().with_threads(1))?;
    let seconds = start.elapsed().as_secs_f64();
    let found = fitted.certificates.first().ok_or("no certificate")?;
    println!(
        "{n} x {p}: {} iterations, {seconds:.3} s, objective {:.8}, gap {:.1e}",
        fitted.n_iter,
        found.primal,
        found.gap()
    );
    Ok(())
}
