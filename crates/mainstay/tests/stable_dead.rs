//! Stable fits of many rows whose `k` is too small: zero weights are proven optimal, and what is said about the
//! smallest usable `k` agrees with linear programming.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Model};
use mainstay::stable::{K, StableLogisticParams, StableSvcParams, SvmLoss};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};

/// Overlapping classes.
struct Case {
    rows: Vec<Vec<f64>>,
    y: Vec<f64>,
    weights: Vec<f64>,
    intercept: bool,
}

impl Case {
    fn clouds(seed: u64, n: usize, p: usize) -> Self {
        let (x, y) = two_clouds(seed, n, p, 1.0);
        let rows = x.chunks(p).map(<[f64]>::to_vec).collect();
        let weights = vec![1.0; n];
        Self { rows, y, weights, intercept: true }
    }

    /// Two numbers in distant units and a category with frequent, rare and single values, one column each.
    fn categories(seed: u64, n: usize) -> Self {
        let mut case = Self::clouds(seed, n, 2);
        let count = 18;
        for (i, row) in case.rows.iter_mut().enumerate() {
            row[0] *= 1e5;
            // The classes take turns.
            let value = if i < 6 { 12 + i } else { (i / 2).trailing_zeros() as usize % 12 };
            row.extend((0..count).map(|j| f64::from(u8::from(j == value))));
        }
        case
    }

    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn data(&self) -> Dataset {
        let (n, p) = (self.rows.len(), self.rows[0].len());
        let x = Dense::from_rows(n, p, self.rows.concat());
        let labels = self.y.iter().map(|v| usize::from(*v > 0.0)).collect();
        Dataset::new(x.into(), labels, 2).unwrap().with_weights(self.weights.clone()).unwrap()
    }

    /// The smallest total hinge loss of any hyperplane.
    fn least_hinge(&self) -> f64 {
        let (n, p) = (self.rows.len(), self.rows[0].len());
        let mut program = Program::new(p + 1 + n);
        let top: Vec<f64> =
            (0..p).map(|j| self.rows.iter().map(|r| r[j].abs()).fold(1e-9, f64::max)).collect();
        for i in 0..n {
            program.add_linear(p + 1 + i, self.weights[i]);
            program.at_least_zero(vec![(p + 1 + i, 1.0)], 0.0);
            let mut terms = vec![(p + 1 + i, 1.0), (p, self.y[i])];
            terms.extend((0..p).map(|j| (j, self.y[i] * self.rows[i][j] / top[j])));
            program.at_least_zero(terms, -1.0);
        }
        if !self.intercept {
            program.equals_zero(vec![(p, 1.0)], 0.0);
        }
        program.solve().objective
    }

    fn svm(&self, k: f64, c: f64, loss: SvmLoss) -> Fitted {
        let k = K::Fraction(k / self.total());
        let params =
            StableSvcParams { k, c, loss, fit_intercept: self.intercept, ..Default::default() };
        params.check().unwrap().fit(&self.data(), &Control::new()).unwrap()
    }

    fn logistic(&self, k: f64, alpha: f64) -> Fitted {
        let k = K::Fraction(k / self.total());
        let fit_intercept = self.intercept;
        let params = StableLogisticParams { k, alpha, fit_intercept, ..Default::default() };
        params.check().unwrap().fit(&self.data(), &Control::new()).unwrap()
    }
}

fn cases() -> Vec<(&'static str, Case)> {
    let mut weighted = Case::clouds(3, 1500, 4);
    weighted.weights = normal(&mut rng(8), 1500).iter().map(|v| 0.1 + v.abs()).collect();
    let mut through_zero = Case::clouds(4, 1500, 3);
    through_zero.intercept = false;
    vec![
        ("few columns", Case::clouds(1, 1200, 3)),
        ("a sample first", Case::clouds(2, 6000, 5)),
        ("weights", weighted),
        ("no intercept", through_zero),
        ("categories", Case::categories(5, 3000)),
        ("other categories", Case::categories(6, 9000)),
    ]
}

fn coef(fitted: &Fitted) -> &[f64] {
    match &fitted.model {
        Model::Linear(m) => &m.coef[0],
        other => panic!("{other:?}"),
    }
}

/// The bounds that a warning names.
fn named(text: &str) -> (f64, f64) {
    let (_, rest) = text.split_once("the smallest usable k is ").unwrap();
    let numbers: Vec<f64> = rest.split([' ', '(']).filter_map(|word| word.parse().ok()).collect();
    if rest.starts_with("between") { (numbers[0], numbers[1]) } else { (numbers[0], numbers[0]) }
}

fn is_dead(fitted: &Fitted, what: &str) -> (f64, f64) {
    assert!(coef(fitted).iter().all(|w| *w == 0.0), "{what}: {fitted:?}");
    assert!(fitted.dual_gap().unwrap() <= 1e-6, "{what}: {:?}", fitted.dual_gap());
    assert_eq!(fitted.warnings.len(), 1, "{what}: {:?}", fitted.warnings);
    named(&fitted.warnings[0])
}

#[test]
fn what_is_said_of_the_smallest_usable_k_agrees_with_linear_programming() {
    for (what, case) in cases() {
        let least = case.least_hinge();
        let smallest = least.floor() + 1.0;
        let fits = [
            case.svm(0.6 * least, 1.0, SvmLoss::Hinge),
            case.svm(0.9 * least, 1e5, SvmLoss::Hinge),
            case.svm(0.6 * least, 1.0, SvmLoss::SquaredHinge),
            case.logistic(0.6 * least, 0.1),
            case.logistic(0.9 * least, 1e-6),
        ];
        for fitted in fits {
            let (low, high) = is_dead(&fitted, what);
            assert!(low <= smallest && smallest <= high, "{what}: {low} {high}, truly {least}");
            assert!(high - low <= 1.5e-3 * case.total() + 1.0, "{what}: {low} {high}");
        }
    }
}

#[test]
fn fits_close_to_the_smallest_usable_k_fall_on_the_right_side() {
    for (what, case) in cases() {
        let least = case.least_hinge();
        is_dead(&case.svm(least * (1.0 - 1e-4), 100.0, SvmLoss::Hinge), what);
        is_dead(&case.logistic(least * (1.0 - 1e-4), 1e-3), what);
        let usable = case.svm(least * 1.01, 100.0, SvmLoss::Hinge);
        assert!(usable.warnings.is_empty(), "{what}: {:?}", usable.warnings);
        assert!(usable.dual_gap().unwrap() <= 1e-6 && coef(&usable).iter().any(|w| *w != 0.0));
    }
}

#[test]
fn features_that_tell_nothing_are_named_whatever_the_number_of_rows() {
    let mut case = Case::clouds(7, 2000, 3);
    for i in (0..2000).step_by(2) {
        case.rows[i + 1] = case.rows[i].clone();
        (case.y[i], case.y[i + 1]) = (1.0, -1.0);
    }
    for k in [500.0, 2000.0] {
        let fitted = case.svm(k, 1.0, SvmLoss::Hinge);
        assert!(coef(&fitted).iter().all(|w| *w == 0.0));
        assert!(fitted.warnings[0].contains("no k helps"), "{:?}", fitted.warnings);
    }
}
