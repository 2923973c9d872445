//! Stable fits of columns that are nearly combinations of a few: the classes differ only in what little is left, so that the
//! weights that tell them apart are large and help next to nothing.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Model};
use mainstay::stable::{K, StableSvcParams, SvmLoss};
use mainstay_testkit::generate::{normal, rng};

/// Six factors and a little noise, which alone decides about the class.
struct Columns {
    n: usize,
    p: usize,
    noise: f64,
    unit: f64,
    /// Column `j` is centred between this and twice this.
    centre: f64,
}

impl Columns {
    fn data(&self, seed: u64) -> Dataset {
        const FACTORS: usize = 6;
        let &Self { n, p, noise, unit, centre } = self;
        let mut rng = rng(seed);
        let (left, right) = (normal(&mut rng, n * FACTORS), normal(&mut rng, FACTORS * p));
        let (own, weights) = (normal(&mut rng, n * p), normal(&mut rng, p));
        let x = Dense::from_fn(n, p, |i, j| {
            let common: f64 = (0..FACTORS).map(|l| left[i * FACTORS + l] * right[l * p + j]).sum();
            unit * (common + noise * own[i * p + j]) + centre * (1.0 + (j % 7) as f64 / 7.0)
        });
        let score = |row: &[f64]| row.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
        let labels = own.chunks(p).map(|row| usize::from(score(row) > 0.0)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }
}

fn fit(data: &Dataset, c: f64) -> Fitted {
    let loss = SvmLoss::SquaredHinge;
    let params = StableSvcParams { k: K::Fraction(0.1), c, loss, ..Default::default() };
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

#[test]
fn weights_that_help_little_are_not_mistaken_for_useless_ones() {
    let columns = Columns { n: 400, p: 100, noise: 2e-4, unit: 1.0, centre: 0.0 };
    for seed in 0..4 {
        let data = columns.data(seed);
        for c in [1e-2, 100.0] {
            let fitted = fit(&data, c);
            assert!(fitted.dual_gap().unwrap() <= 1e-6, "{seed} {c}: {:?}", fitted.dual_gap());
            assert!(fitted.warnings.is_empty(), "{seed} {c}: {:?}", fitted.warnings);
            let Model::Linear(linear) = &fitted.model else { panic!("not linear") };
            assert!(linear.coef[0].iter().any(|w| *w != 0.0));
        }
    }
}

/// What tells the rows apart must not drown in the means of the columns, nor in a barrier narrower than asked.
#[test]
fn large_numbers_far_from_zero_are_certified() {
    for (noise, unit) in [(1e-4, 10.0), (3e-5, 30.0)] {
        let columns = Columns { n: 1000, p: 250, noise, unit, centre: 300.0 };
        for seed in 0..3 {
            let gap = fit(&columns.data(seed), 100.0).dual_gap().unwrap();
            assert!(gap <= 1e-6, "{noise} {unit} {seed}: {gap}");
        }
    }
}

/// Separable by a wide margin, in large numbers far from zero: the objective is small, the weights are tiny.
#[test]
fn small_objectives_of_large_numbers_are_certified() {
    for seed in 0..4 {
        let columns = Columns { n: 400, p: 80, noise: 0.03, unit: 100.0, centre: 300.0 };
        let gap = fit(&columns.data(seed), 100.0).dual_gap().unwrap();
        assert!(gap <= 1e-6, "{seed}: {gap}");
    }
}
