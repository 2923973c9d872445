//! Random problems of the nastiest kinds: numbers of all sizes, rows and columns that repeat, hardly any rows. As
//! strategies of proptest, so that what fails shrinks to few rows, plain numbers and plain columns.

use proptest::prelude::*;

use super::hostile::Hostile;

/// What a column is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Plain,
    Whole,
    Constant,
    CopyOfFirst,
    NearCopy,
    /// Whole numbers plus this power of two.
    Far(i32),
}

/// What a row is.
#[derive(Debug, Clone, Copy)]
enum Spoilt {
    No,
    SameAsFirst,
    NearFirst,
    FarOut,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        5 => Just(Kind::Plain),
        1 => Just(Kind::Whole),
        1 => Just(Kind::Constant),
        1 => Just(Kind::CopyOfFirst),
        1 => Just(Kind::NearCopy),
        1 => (10..50_i32).prop_map(Kind::Far),
    ]
}

fn spoilt() -> impl Strategy<Value = Spoilt> {
    prop_oneof![
        5 => Just(Spoilt::No),
        1 => Just(Spoilt::SameAsFirst),
        1 => Just(Spoilt::NearFirst),
        1 => Just(Spoilt::FarOut),
    ]
}

/// Powers of ten for `count` things: none, one for all, or one each.
fn powers(count: usize, decades: f64) -> impl Strategy<Value = Vec<f64>> {
    let one = move || (-decades..decades).prop_map(|power| 10f64.powf(power));
    prop_oneof![
        3 => Just(vec![1.0; count]),
        1 => one().prop_map(move |unit| vec![unit; count]),
        2 => prop::collection::vec(one(), count),
    ]
}

/// Problems of `classes` classes with numbers and weights at most `decades` decades from 1 (weights at most 100).
pub fn problems(classes: usize, decades: f64) -> impl Strategy<Value = Hostile> {
    let columns = prop_oneof![Just(1_usize), Just(2), Just(3), Just(5), Just(30)];
    (classes..classes + 12, columns).prop_flat_map(move |(n, p)| {
        (
            prop::collection::vec(-3.0..3.0_f64, n * p),
            prop::collection::vec(kinds(), p),
            prop::collection::vec(spoilt(), n),
            powers(p, decades),
            powers(n, decades.min(100.0)),
            prop::collection::vec(0..classes, n),
        )
            .prop_map(move |(cells, kinds, rows, units, weights, labels)| {
                let x = assembled(cells, &kinds, &rows, &units);
                // The first rows make sure that all classes occur.
                let label = |(i, label): (usize, &usize)| if i < classes { i } else { *label };
                let labels = labels.iter().enumerate().map(label).collect();
                Hostile { x, columns: p, labels, weights }
            })
    })
}

fn assembled(mut x: Vec<f64>, kinds: &[Kind], rows: &[Spoilt], units: &[f64]) -> Vec<f64> {
    let p = kinds.len();
    let first = x[..p].to_vec();
    for (row, spoilt) in x.chunks_exact_mut(p).zip(rows) {
        for (v, f) in row.iter_mut().zip(&first) {
            *v = match spoilt {
                Spoilt::No => *v,
                Spoilt::SameAsFirst => *f,
                Spoilt::NearFirst => f * (1.0 + 1e-14),
                Spoilt::FarOut => *v * 1e5,
            };
        }
        for j in 0..p {
            row[j] = match kinds[j] {
                Kind::Plain => row[j],
                Kind::Whole => row[j].round(),
                Kind::Constant => 1.0,
                Kind::CopyOfFirst => row[0],
                Kind::NearCopy => row[0] * (1.0 + 1e-13) + 1e-13 * row[j],
                Kind::Far(power) => row[j].round() + 2f64.powi(power),
            };
        }
        // A far number in a large unit may be beyond all floats: it stays at 1e300.
        row.iter_mut().zip(units).for_each(|(v, u)| *v = (*v * u).clamp(-1e300, 1e300));
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn every_problem_is_finite_and_has_all_classes(problem in problems(3, 300.0)) {
            prop_assert_eq!(problem.x.len(), problem.n() * problem.columns);
            prop_assert!(problem.x.iter().all(|v| v.is_finite()));
            prop_assert!((0..3).all(|class| problem.labels.contains(&class)));
            prop_assert!(problem.weights.iter().all(|w| *w > 0.0));
        }
    }
}
