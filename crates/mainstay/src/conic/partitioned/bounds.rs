//! What the sums of one pass say of a point: slope, a feasible multiple of `$V$`, and the dual point of the bound.

use crate::conic::problem::{Form, Hyperplane};
use crate::conic::spectrum::DualSums;
use crate::linalg::vector;
use crate::partitioned::kernels::conic::{ConicSums, LADDER};

/// First-order information at a point.
pub(super) struct Slope {
    pub gradient: Vec<f64>,
    /// Unit normal of the budget, and how far along it the budget lies.
    pub normal: Option<(Vec<f64>, f64)>,
    pub price: f64,
}

impl Slope {
    pub(super) fn new(point: &Hyperplane, sums: &ConicSums, form: Form) -> Self {
        let mut gradient: Vec<f64> =
            point.w.iter().chain(point.factor.data()).map(|v| 2.0 * v).collect();
        let (price, normal) = match form {
            Form::Price(price) => (price, None),
            Form::Budget(target) => {
                let length = vector::norm(&sums.slope).max(f64::MIN_POSITIVE);
                let normal: Vec<f64> = sums.slope.iter().map(|v| v / length).collect();
                let price = (-vector::dot(&normal, &gradient) / length).max(0.0);
                (price, Some((normal, (target - sums.paid[UNIT]) / length)))
            }
        };
        vector::axpy(price, &sums.slope, &mut gradient);
        Self { gradient, normal, price }
    }
}

/// Place of 1 in the ladder.
pub(super) const UNIT: usize = 12;

/// The least multiple of `$V$` that chords of the ladder prove to meet the budget.
pub(super) fn multiple(paid: &[f64], target: f64) -> Option<f64> {
    let within = paid.iter().position(|sum| *sum <= target)?;
    if within == 0 {
        return Some(LADDER[0]);
    }
    let (above, below) = (paid[within - 1], paid[within]);
    let part = (above - target) / (above - below);
    Some(LADDER[within - 1] + part * (LADDER[within] - LADDER[within - 1]))
}

/// The dual point `$h = \lambda c t$`, `$g = \lambda c t^2$`.
pub(super) fn dual_sums(sums: &ConicSums, price: f64) -> DualSums {
    let times = |v: &[f64]| v.iter().map(|v| price * v).collect::<Vec<f64>>();
    let mut gram = sums.gram.0.clone();
    vector::scale(gram.data_mut(), price);
    DualSums {
        h: price * sums.totals[0],
        g: price * sums.totals[1],
        hx: times(&sums.pulls[0]),
        gx: times(&sums.pulls[1]),
        gram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conic::problem::retraction;
    use crate::conic::spectrum::Spectrum;
    use crate::linalg::Dense;
    use crate::partitioned::kernels::conic::{ConicAsk, ConicQuestion};
    use crate::partitioned::{Block, KernelAsk, KernelSums, RowUnits, look_alone};
    use proptest::prelude::*;

    const ROWS: usize = 6;

    fn sums(x: &[f64], c: &[f64], w: &[f64], factor: &[f64]) -> ConicSums {
        let units = RowUnits {
            means: Vec::new(),
            factors: vec![1.0; 2],
            constant: None,
            class_factors: vec![1.0; 2],
        };
        let question = ConicQuestion { positive: 1, w: w.to_vec(), factor: factor.to_vec() };
        let ask = KernelAsk::Conic(ConicAsk { units, questions: vec![question] });
        let labels = (0..ROWS).map(|i| i % 2).collect();
        let x = Dense::from_rows(ROWS, 2, x.to_vec());
        let block = Block::new(0, x.into(), labels, Some(c.to_vec()));
        match look_alone(&block, &ask) {
            Ok(KernelSums::Conic(mut sums)) => sums.remove(0),
            other => unreachable!("{other:?}"),
        }
    }

    /// The objective straight from its definition, with the multiple of V that meets the budget.
    fn objective(x: &[f64], c: &[f64], w: &[f64], factor: &[f64], form: Form) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a[0] * b[0] + a[1] * b[1];
        let row = |i: usize| &x[2 * i..2 * i + 2];
        let y = |i: usize| if i % 2 == 1 { 1.0 } else { -1.0 };
        let a: Vec<f64> = (0..ROWS).map(|i| (1.0 - y(i) * dot(row(i), w)).max(0.0)).collect();
        let s: Vec<f64> = (0..ROWS).map(|i| dot(row(i), factor).powi(2)).collect();
        let (norm, trace) = (dot(w, w), dot(factor, factor));
        match form {
            Form::Price(price) => {
                let z =
                    |i: usize| if a[i] > 0.0 { a[i] * a[i] / (s[i] + a[i] * a[i]) } else { 0.0 };
                norm + trace + price * (0..ROWS).map(|i| c[i] * z(i)).sum::<f64>()
            }
            Form::Budget(target) => norm + retraction(&a, &s, c, target) * trace,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        /// Weak duality at whatever point the sums were taken, whatever the price; and the multiple of V that chords
        /// prove is no smaller than the exact one.
        #[test]
        fn no_bound_lies_above_any_objective(
            x in prop::collection::vec(-2.0..2.0_f64, 2 * ROWS),
            c in prop::collection::vec(0.1..2.0_f64, ROWS),
            w in prop::collection::vec(-2.0..2.0_f64, 2),
            factor in prop::collection::vec(-2.0..2.0_f64, 2),
            other in prop::collection::vec(-2.0..2.0_f64, 4),
            price in 0.01..10.0_f64,
            share in prop::option::of(0.05..0.95_f64),
        ) {
            let total: f64 = c.iter().sum();
            let form = share.map_or(Form::Price(price), |share| Form::Budget(share * total));
            let sums = sums(&x, &c, &w, &factor);
            let Ok(found) = Spectrum::of_sums(&dual_sums(&sums, price), price, form) else {
                return Ok(());
            };
            for (w, factor) in [(&w[..], &factor[..]), (&other[..2], &other[2..])] {
                let value = objective(&x, &c, w, factor, form);
                prop_assert!(found.lower <= value + 1e-9 * value.abs().max(1.0), "{} {value}", found.lower);
            }
            if let Form::Budget(target) = form
                && let Some(k) = multiple(&sums.paid, target)
            {
                let own = w[0] * w[0] + w[1] * w[1] + k * (factor[0].powi(2) + factor[1].powi(2));
                prop_assert!(own >= objective(&x, &c, &w, &factor, form) - 1e-9 * own);
            }
        }
    }
}
