//! The linear program for missing features against conic solvers and enumeration.
//!
//! Longer than other files: a list of tests; the printed program and the enumeration that judge them are stated once.
#![cfg(test)]
#![expect(
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    reason = "what must be equal is compared exactly"
)]

use mainstay::data::Dataset;
use mainstay::folds::Cv;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::missing::{
    Damage, MissingFeatureCvParams, MissingFeatureSvcParams, Replacement, RobustHinge, ValueRule,
    Values, certify, interior_point, missing_report, mutual_info,
};
use mainstay::model::{Estimator, Fitted, Linear, Model, Output};
use mainstay::uncertainty::{Attack, Deletions};
use mainstay::{Control, Status};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};
use rand::RngExt;

struct Instance {
    x: Dense,
    y: Vec<f64>,
    weights: Vec<f64>,
    set: Deletions,
    margin: f64,
    c: f64,
    intercept: bool,
}

impl Instance {
    fn problem<'a>(&'a self, x: &'a Matrix) -> RobustHinge<'a> {
        RobustHinge {
            x,
            y: &self.y,
            weights: &self.weights,
            deletions: &self.set,
            margin: self.margin,
            c: self.c,
            fit_intercept: self.intercept,
        }
    }

    /// Value kinds, budgets (0 included), boxes from 0.01 to 100 and sparsity all vary with the seed.
    fn random(seed: u64) -> Self {
        let mut rng = rng(seed);
        let n = 4 + (seed as usize * 7) % 23;
        let p = 2 + (seed as usize * 5) % 9;
        let (mut rows, y) = two_clouds(seed + 100, n, p, 2.0);
        if seed.is_multiple_of(3) {
            for v in &mut rows {
                *v = if rng.random::<f64>() < 0.4 { 0.0 } else { *v };
            }
        }
        let mut values: Vec<f64> = match seed % 4 {
            0 => vec![1.0; p],
            1 => (0..p).map(|j| f64::from(u8::from(j % 3 != 1))).collect(),
            2 => (0..p).map(|_| rng.random::<f64>() * 3.0).collect(),
            _ => (0..p).map(|j| (j % 4) as f64).collect(),
        };
        values[0] = values[0].max(0.5);
        let total: f64 = values.iter().sum();
        let budget = match seed % 5 {
            0 => 0.0,
            1 => 1.0f64.min(0.6 * total),
            2 => 0.95 * total,
            3 => (0.5 * total).floor(),
            _ => rng.random::<f64>() * 0.8 * total,
        };
        let weights = match seed % 2 {
            0 => vec![1.0; n],
            _ => (0..n).map(|_| 0.1 + 3.0 * rng.random::<f64>()).collect(),
        };
        Self {
            x: Dense::from_rows(n, p, rows),
            y,
            weights,
            set: Deletions::leaving_something(values, budget).unwrap(),
            margin: [1.0, 0.2, 7.0][seed as usize % 3],
            c: [0.01, 0.3, 1.0, 10.0, 100.0][(seed as usize / 2) % 5],
            intercept: !seed.is_multiple_of(7),
        }
    }

    /// Variables of the programs below: w, b, xi, and more.
    fn program(&self, extra: usize) -> (Program, usize, usize) {
        let (n, p) = (self.x.nrows(), self.x.ncols());
        let mut program = Program::new(p + 1 + n + extra);
        let total: f64 = self.weights.iter().sum();
        for j in 0..p {
            program.at_least_zero(vec![(j, 1.0)], self.c);
            program.at_least_zero(vec![(j, -1.0)], self.c);
        }
        if !self.intercept {
            program.equals_zero(vec![(p, 1.0)], 0.0);
        }
        for i in 0..n {
            program.add_linear(p + 1 + i, self.weights[i] / (total * self.margin));
            program.at_least_zero(vec![(p + 1 + i, 1.0)], 0.0);
        }
        (program, p, p + 1)
    }

    /// Problem (4), variable by variable as printed.
    fn literal(&self) -> f64 {
        let (n, p) = (self.x.nrows(), self.x.ncols());
        let (mut program, b, xi) = self.program(n + n * p);
        let lambda = xi + n;
        let alpha = lambda + n;
        let kept = self.set.kept();
        for i in 0..n {
            let y = self.y[i];
            program.at_least_zero(vec![(lambda + i, 1.0)], 0.0);
            let mut row = vec![(lambda + i, kept), (b, y), (xi + i, 1.0)];
            for j in 0..p {
                let v = self.set.values()[j];
                let a = alpha + i * p + j;
                row.push((a, -1.0));
                program.at_least_zero(vec![(a, 1.0)], 0.0);
                program.at_least_zero(
                    vec![(j, y * self.x[(i, j)]), (lambda + i, -v), (a, 1.0)],
                    -self.margin * v / kept,
                );
            }
            program.at_least_zero(row, 0.0);
        }
        let answer = program.solve();
        assert!(answer.solved);
        answer.objective
    }

    /// Problem (3): one constraint for every row and every set of features that may be left.
    fn enumerated(&self) -> f64 {
        let (n, p) = (self.x.nrows(), self.x.ncols());
        let (mut program, b, xi) = self.program(0);
        for left in 0..1usize << p {
            let inside = |j: &usize| left >> j & 1 == 1;
            let value: f64 = (0..p).filter(inside).map(|j| self.set.values()[j]).sum();
            if self.set.total() - value > self.set.budget() * (1.0 + 1e-12) {
                continue;
            }
            for i in 0..n {
                let mut terms: Vec<(usize, f64)> =
                    (0..p).filter(inside).map(|j| (j, self.y[i] * self.x[(i, j)])).collect();
                terms.extend([(b, self.y[i]), (xi + i, 1.0)]);
                program.at_least_zero(terms, -self.margin * value / self.set.kept());
            }
        }
        let answer = program.solve();
        assert!(answer.solved);
        answer.objective
    }

    fn solve(&self, tol: f64) -> mainstay::Certificate {
        let x = Matrix::from(self.x.clone());
        let problem = self.problem(&x);
        let found = interior_point(&problem, tol, 300, &Control::new()).unwrap();
        assert!(found.weights.iter().all(|w| w.abs() <= self.c * (1.0 + 1e-12)));
        certify(&problem, &found.weights, found.intercept, &found.dual)
    }
}

#[test]
fn the_optimum_is_that_of_the_printed_linear_program() {
    for seed in 0..60 {
        let instance = Instance::random(seed);
        let wanted = instance.literal();
        let found = instance.solve(1e-8);
        let scale = wanted.abs().max(1.0);
        assert!(found.gap() <= 1e-8, "seed {seed}: {found:?}, wanted {wanted}");
        // Clarabel's own accuracy is 1e-8 or so.
        assert!((found.primal - wanted).abs() <= 1e-7 * scale, "seed {seed}: {found:?}, {wanted}");
        assert!(found.dual <= wanted + 1e-7 * scale);
    }
}

/// Theorem 1: equality for values in {0, 1} and whole budgets, an upper bound otherwise.
#[test]
fn the_polynomial_program_bounds_the_exponential_one() {
    let mut equal = 0;
    for seed in 0..40 {
        let mut instance = Instance::random(seed);
        if instance.x.ncols() > 7 {
            continue;
        }
        let exact = seed % 2 == 0;
        if exact {
            let values: Vec<f64> =
                instance.set.values().iter().map(|v| f64::from(u8::from(*v > 0.3))).collect();
            let total: f64 = values.iter().sum();
            let budget = instance.set.budget().floor().min(total - 1.0);
            instance.set = Deletions::leaving_something(values, budget).unwrap();
            equal += 1;
        }
        let brute = instance.enumerated();
        let found = instance.solve(1e-8);
        let slack = 1e-7 * brute.abs().max(1.0);
        assert!(found.primal >= brute - slack, "seed {seed}");
        assert!(!exact || (found.primal - brute).abs() <= slack, "seed {seed}: {found:?} {brute}");
    }
    assert!(equal >= 10);
}

#[test]
fn wide_data_have_the_same_optimum() {
    // The last ones are wide enough for the low-rank solver.
    for seed in 0..20 {
        let (n, p) = if seed < 8 { (6, 30) } else { (5, 320) };
        let (rows, y) = two_clouds(seed, n, p, 1.0);
        let instance = Instance {
            x: Dense::from_rows(n, p, rows),
            y,
            weights: vec![1.0; n],
            set: Deletions::new(
                (0..p).map(|j| if seed % 2 == 0 { 1.0 } else { (j % 3) as f64 }).collect(),
                [0.0, 3.0, 12.5, 28.0][seed as usize % 4],
            )
            .unwrap(),
            margin: 1.0,
            c: [0.02, 0.1, 1.0][seed as usize % 3],
            intercept: seed % 3 != 0,
        };
        let wanted = instance.literal();
        let found = instance.solve(1e-8);
        assert!(found.gap() <= 1e-8, "seed {seed}: {found:?}, wanted {wanted}");
        assert!((found.primal - wanted).abs() <= 1e-7 * wanted.abs().max(1.0));
    }
}

/// The bound, from its formula: every term written out, on a dual point that is feasible by construction.
#[test]
fn the_bound_is_the_dual_objective_and_holds_for_arbitrary_points() {
    for seed in 0..30 {
        let instance = Instance::random(seed);
        let x = Matrix::from(instance.x.clone());
        let problem = instance.problem(&x);
        let wanted = instance.literal();
        let (n, p) = (x.nrows(), x.ncols());
        let mut rng = rng(seed);
        // Unrepaired garbage still gives a valid bound.
        let entries = instance.x.data().iter().filter(|v| **v != 0.0).count();
        for _ in 0..20 {
            let dual = mainstay::missing::Dual {
                sigma: normal(&mut rng, n).iter().map(|v| v.abs()).collect(),
                tau: normal(&mut rng, entries),
            };
            let bound = certify(&problem, &vec![0.0; p], 0.0, &dual).dual;
            assert!(bound <= wanted + 1e-7 * wanted.abs().max(1.0), "seed {seed}");
        }
        // tau = sigma = c / class weight: nothing to repair.
        let class = |s: f64| -> f64 {
            instance.y.iter().zip(&instance.weights).filter(|(y, _)| **y == s).map(|(_, w)| w).sum()
        };
        let least = class(1.0).min(class(-1.0));
        let sigma: Vec<f64> =
            (0..n).map(|i| 0.8 * instance.weights[i] * least / class(instance.y[i])).collect();
        let mut tau = Vec::new();
        let mut sum = 0.0;
        let mut gradient = vec![0.0; p];
        for (i, s) in sigma.iter().enumerate() {
            sum += instance.margin / instance.set.kept() * instance.set.total() * s;
            for j in (0..p).filter(|&j| instance.x[(i, j)] != 0.0) {
                tau.push(*s);
                gradient[j] += instance.y[i] * instance.x[(i, j)] * s;
            }
        }
        sum -= instance.c * gradient.iter().map(|g| g.abs()).sum::<f64>();
        let by_hand = sum / instance.weights.iter().sum::<f64>() / instance.margin;
        let dual = mainstay::missing::Dual { sigma, tau };
        let bound = certify(&problem, &vec![0.0; p], 0.0, &dual).dual;
        assert!((bound - by_hand.max(0.0)).abs() <= 1e-9 * by_hand.abs().max(1.0), "seed {seed}");
    }
}

fn clouds(seed: u64, n: usize, p: usize) -> Dataset {
    let (rows, y) = two_clouds(seed, n, p, 2.0);
    let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
    Dataset::new(Dense::from_rows(n, p, rows).into(), labels, 2).unwrap()
}

fn fit(params: MissingFeatureSvcParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> &Linear {
    fitted.model.linear().unwrap()
}

#[test]
fn sparse_and_dense_rows_give_the_same_bits() {
    let data = clouds(3, 60, 5);
    let mut dense = data.features().to_dense();
    for i in 0..60 {
        dense[(i, i % 5)] = 0.0;
    }
    let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
    for i in 0..60 {
        for (j, &v) in dense.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).unwrap());
            values.push(v);
        }
        starts.push(indices.len());
    }
    let csr = Csr::new(5, starts, indices, values).unwrap();
    let a = fit(MissingFeatureSvcParams::default(), &data.replace_features(dense.into()));
    let b = fit(MissingFeatureSvcParams::default(), &data.replace_features(csr.into()));
    assert_eq!(a.model, b.model);
}

#[test]
fn a_weight_of_two_is_the_row_twice_to_the_last_bit() {
    let data = clouds(5, 40, 4);
    let rows: Vec<usize> = (0..40).chain(0..40).filter(|&i| i != 7).collect();
    let repeated = data.select_rows(&rows);
    let weights = (0..40).map(|i| if i == 7 { 0.0 } else { 2.0 }).collect();
    let weighted = data.with_weights(weights).unwrap();
    let params = MissingFeatureSvcParams::default();
    assert_eq!(fit(params.clone(), &repeated).model, fit(params, &weighted).model);
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = clouds(6, 3000, 12);
    let estimator = MissingFeatureSvcParams { budget: 2.0, ..Default::default() }.check().unwrap();
    let one = estimator.fit(&data, &Control::new().with_threads(1)).unwrap();
    let three = estimator.fit(&data, &Control::new().with_threads(3)).unwrap();
    assert_eq!(one, three);
    assert_eq!(one.status(), Status::Certified);
}

#[test]
fn more_than_two_classes_are_told_apart() {
    let (mut rows, _) = two_clouds(1, 90, 4, 0.0);
    let labels: Vec<usize> = (0..90).map(|i| i % 3).collect();
    for (i, &label) in labels.iter().enumerate() {
        rows[4 * i + label] += 6.0;
        rows[4 * i + 3] += 3.0 * label as f64;
    }
    let data = Dataset::new(Dense::from_rows(90, 4, rows).into(), labels, 3).unwrap();
    let fitted = fit(MissingFeatureSvcParams::default(), &data);
    assert_eq!(fitted.certificates.len(), 3);
    assert_eq!(fitted.status(), Status::Certified);
    let right = fitted.model.predict(data.features()).unwrap();
    let hits = right.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
    assert!(hits >= 80, "{hits}");
}

/// Only C / margin matters for the direction.
#[test]
fn margin_and_box_scale_together() {
    let data = clouds(8, 50, 4);
    let at = |margin: f64, c: f64| {
        fit(MissingFeatureSvcParams { margin, c, tol: 1e-9, ..Default::default() }, &data)
    };
    let (a, b) = (at(1.0, 3.0), at(16.0, 48.0));
    assert!((a.certificates[0].primal - b.certificates[0].primal).abs() < 1e-12);
    for (u, v) in linear(&a).coef[0].iter().zip(&linear(&b).coef[0]) {
        assert!((16.0 * u - v).abs() <= 1e-9 * v.abs().max(1.0));
    }
}

#[test]
fn difficult_data_end_well() {
    let certified = |x: Dense, labels: Vec<usize>, params: MissingFeatureSvcParams| {
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let fitted = fit(params, &data);
        assert!(fitted.model.validate().is_ok());
        assert_eq!(fitted.status(), Status::Certified, "{:?}", fitted.certificates);
        fitted
    };
    let labels = |n: usize| (0..n).map(|i| i % 2).collect::<Vec<_>>();
    let base = |n, p| Dense::from_rows(n, p, two_clouds(2, n, p, 2.0).0);
    let defaults = MissingFeatureSvcParams::default;
    // Two rows; one row per class thrice; constant, zero and repeated columns; tiny features.
    certified(base(2, 2), labels(2), defaults());
    certified(base(3, 40), labels(3), defaults());
    let columns = base(30, 6);
    let odd = Dense::from_fn(30, 6, |i, j| [columns[(i, 0)], 7.0, 0.0][j % 3]);
    certified(odd, labels(30), defaults());
    certified(Dense::from_fn(20, 3, |_, _| 1.0), labels(20), defaults());
    certified(Dense::zeros(4, 3), labels(4), defaults());
    let tiny = Dense::from_fn(20, 3, |i, j| 1e-150 * columns[(i, j)]);
    certified(tiny, labels(20), defaults());
    // Huge features with a box to match.
    let huge = Dense::from_fn(20, 3, |i, j| 1e150 * columns[(i, j)]);
    let params = MissingFeatureSvcParams { c: 1e-149, ..defaults() };
    let scaled = certified(huge, labels(20), params);
    let plain = certified(Dense::from_fn(20, 3, |i, j| columns[(i, j)]), labels(20), defaults());
    let (a, b) = (scaled.certificates[0].primal, plain.certificates[0].primal);
    assert!((a - b).abs() <= 2e-4 * a.max(1.0), "{a} {b}");
    // A box of nothing leaves the intercept, and no budget the plain hinge loss.
    let nothing =
        certified(base(9, 3), labels(9), MissingFeatureSvcParams { c: 0.0, ..defaults() });
    assert_eq!(linear(&nothing).coef[0], vec![0.0; 3]);
    assert!(linear(&nothing).intercept[0] < 0.0, "class 0 has one row more");
    certified(base(30, 4), labels(30), MissingFeatureSvcParams { budget: 0.0, ..defaults() });
    certified(base(30, 4), labels(30), MissingFeatureSvcParams { budget: 1e-14, ..defaults() });
    certified(base(30, 4), labels(30), MissingFeatureSvcParams { budget: 1e-8, ..defaults() });
    certified(base(30, 4), labels(30), MissingFeatureSvcParams { budget: 3.999_999, ..defaults() });
}

/// A box 1e150 times too wide cannot be certified, but the model is usable and the reason given.
/// Shapes of data on which some rules for the steps never arrive: labels by one of many normal features, features
/// with long tails, and a box that hardly binds or binds everywhere.
#[test]
fn few_steps_lead_to_the_optimum() {
    let (n, p) = (1500, 40);
    let noise = normal(&mut rng(0), n * p);
    let plain = Dense::from_fn(n, p, |i, j| noise[i * p + j]);
    let tailed = Dense::from_fn(n, p, |i, j| (2.0 * noise[i * p + j]).exp());
    let labels: Vec<usize> = (0..n).map(|i| usize::from(noise[i * p] > 0.0)).collect();
    for (name, x) in [("normal", plain), ("long tails", tailed)] {
        let data = Dataset::new(x.into(), labels.clone(), 2).unwrap();
        for (budget, c) in [(5.0, 1.0), (20.0, 1.0), (1.0, 0.01), (5.0, 100.0)] {
            let fitted = fit(MissingFeatureSvcParams { budget, c, ..Default::default() }, &data);
            let (gap, steps) = (fitted.dual_gap().unwrap(), fitted.n_iter);
            assert!(gap <= 1e-4 && steps <= 120, "{name} {budget} {c}: {steps} steps, {gap}");
        }
    }
}

#[test]
fn a_box_beyond_floating_point_is_reported() {
    let columns = Dense::from_rows(20, 3, two_clouds(2, 20, 3, 4.0).0);
    let huge = Dense::from_fn(20, 3, |i, j| 1e150 * columns[(i, j)]);
    let labels: Vec<usize> = (0..20).map(|i| usize::from(i % 2 == 0)).collect();
    let data = Dataset::new(huge.into(), labels.clone(), 2).unwrap();
    let fitted = fit(MissingFeatureSvcParams::default(), &data);
    assert!(fitted.model.validate().is_ok());
    if fitted.status() == Status::NotCertified {
        assert!(fitted.warnings.iter().any(|w| w.contains("scale the features")));
    }
    let right = fitted.model.predict(data.features()).unwrap();
    assert!(right.iter().zip(&labels).filter(|(a, b)| a == b).count() >= 17);
}

#[test]
fn bad_parameters_are_named() {
    let data = clouds(1, 10, 2);
    let message = |params: MissingFeatureSvcParams| {
        params.check().and_then(|e| e.fit(&data, &Control::new())).unwrap_err().to_string()
    };
    let with = MissingFeatureSvcParams::default;
    assert!(message(MissingFeatureSvcParams { budget: 2.0, ..with() }).contains("n_features=2"));
    assert!(message(MissingFeatureSvcParams { budget: -1.0, ..with() }).contains("`budget` = -1"));
    assert!(message(MissingFeatureSvcParams { margin: 0.0, ..with() }).contains("`margin` = 0"));
    assert!(message(MissingFeatureSvcParams { c: -1.0, ..with() }).contains("`C` = -1"));
    let values = Values::Given(vec![1.0; 3]);
    let text = message(MissingFeatureSvcParams { values, ..with() });
    assert!(text.contains("3 numbers") && text.contains("2 features"), "{text}");
    let values = Values::Given(vec![0.0; 2]);
    assert!(message(MissingFeatureSvcParams { values, ..with() }).contains("all 0"));
}

#[test]
fn missing_values_count_as_zero_and_infinities_are_refused() {
    let rows = vec![f64::NAN, 1.0, 2.0, f64::NAN];
    let data = Dataset::with_missing(Dense::from_rows(2, 2, rows).into(), vec![0, 1], 2).unwrap();
    assert_eq!(data.features().to_dense().data(), &[0.0, 1.0, 2.0, 0.0]);
    let rows = vec![f64::INFINITY, 1.0, 2.0, f64::NAN];
    assert!(Dataset::with_missing(Dense::from_rows(2, 2, rows).into(), vec![0, 1], 2).is_err());
}

/// `$I([x > c]; y)$` by counting the four cells for every threshold.
#[test]
fn mutual_information_is_that_of_a_direct_count() {
    for seed in 0..20 {
        let mut rng = rng(seed);
        let (n, p) = (25, 4);
        let x = Dense::from_fn(n, p, |_, _| f64::from(rng.random_range(-3i32..4)) / 2.0);
        let labels: Vec<usize> = (0..n).map(|i| (i + usize::from(x[(i, 0)] > 0.0)) % 3).collect();
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let data = Dataset::new(x.clone().into(), labels.clone(), 3).unwrap();
        let data = data.with_weights(weights.clone()).unwrap();
        let total: f64 = weights.iter().sum();
        let share = |keep: &dyn Fn(usize) -> bool| -> f64 {
            (0..n).filter(|&i| keep(i)).map(|i| weights[i]).sum::<f64>() / total
        };
        let count = |j: usize| {
            let mut best: f64 = 0.0;
            for k in 0..n {
                let c = x[(k, j)];
                let mut sum = 0.0;
                for above in [false, true] {
                    for label in 0..3 {
                        let side = |i: usize| (x[(i, j)] > c) == above;
                        let joint = share(&|i| side(i) && labels[i] == label);
                        if joint > 0.0 {
                            sum += joint
                                * (joint / share(&side) / share(&|i| labels[i] == label)).ln();
                        }
                    }
                }
                best = best.max(sum);
            }
            best
        };
        let counted: Vec<f64> = (0..p).map(count).collect();
        let scale = p as f64 / counted.iter().sum::<f64>();
        for (found, wanted) in mutual_info(&data).unwrap().iter().zip(&counted) {
            assert!((found - wanted * scale).abs() <= 1e-10, "seed {seed}");
        }
    }
}

/// Section 4's sanity check: 20 normal features with noisy labels, and the label itself twice; two halves.
fn separable_copies(seed: u64) -> (Dataset, Dataset) {
    let all = mainstay::data::make_separable_copies(seed).unwrap();
    let half = |from: usize| all.select_rows(&(from..from + 500).collect::<Vec<_>>());
    (half(0), half(500))
}

#[test]
fn the_papers_sanity_check_is_passed() {
    let mut values = vec![1.0; 20];
    values.extend([10.0, 10.0]);
    let mut errors = [0.0; 3];
    let repeats = 8;
    for seed in 0..repeats {
        let (train, test) = separable_copies(seed);
        for (k, deleted) in [(0, 1), (1, 2)] {
            let params = MissingFeatureSvcParams {
                budget: 20.0,
                values: Values::Given(values.clone()),
                ..Default::default()
            };
            let fitted = fit(params, &train);
            assert_eq!(fitted.status(), Status::Certified);
            let mut x = test.features().to_dense();
            for i in 0..x.nrows() {
                for j in 22 - deleted..22 {
                    x[(i, j)] = 0.0;
                }
            }
            let found = fitted.model.predict(&x.into()).unwrap();
            let wrong = found.iter().zip(test.labels()).filter(|(a, b)| a != b).count();
            errors[k] += wrong as f64 / 500.0 / repeats as f64;
        }
        // N = 0 is the plain hinge loss: it leans on the copies.
        let plain = MissingFeatureSvcParams { budget: 0.0, ..Default::default() };
        let w = linear(&fit(plain, &train)).coef[0].clone();
        let copies = w[20].abs() + w[21].abs();
        let largest = w[..20].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        errors[2] += f64::from(u8::from(copies > largest)) / repeats as f64;
    }
    // One copy left: no error. Both gone: .257 +- .02 a repetition is what was measured at C/margin = 10.
    assert!(errors[0] <= 0.02, "{errors:?}");
    assert!((0.22..0.29).contains(&errors[1]), "{errors:?}");
    assert!(errors[2] >= 0.99, "{errors:?}");
}

/// What survives is what enumeration of all deletions says.
#[test]
fn worst_case_accuracy_is_that_of_enumeration() {
    for seed in 0..10 {
        let mut rng = rng(seed);
        let (n, p, classes) = (30, 5, 2 + seed as usize % 2);
        let x = Dense::from_rows(n, p, normal(&mut rng, n * p));
        let rows = if classes == 2 { 1 } else { classes };
        let model = Linear {
            coef: (0..rows).map(|_| normal(&mut rng, p)).collect(),
            intercept: normal(&mut rng, rows),
            link: mainstay::model::Link::None,
        };
        let values = vec![1.0, 0.0, 2.0, 0.7, 1.3];
        let set = Deletions::new(values.clone(), 2.0).unwrap();
        let labels: Vec<usize> = (0..n).map(|i| i % classes).collect();
        let damage =
            |attack| Damage { deletions: &set, attack, replacement: Replacement::Zero, seed };
        let matrix = Matrix::from(x.clone());
        let found = damage(Attack::Exact).survivors(&model, &matrix, &labels).unwrap();
        let wrapped = Model::Linear(model.clone());
        for i in 0..n {
            let survives = (0..1usize << p).all(|mask| {
                let gone = |j: usize| mask >> j & 1 == 1;
                let cost: f64 = (0..p).filter(|j| gone(*j)).map(|j| values[j]).sum();
                let row = Dense::from_fn(1, p, |_, j| if gone(j) { 0.0 } else { x[(i, j)] });
                cost > 2.0 + 1e-9 || wrapped.predict(&row.into()).unwrap()[0] == labels[i]
            });
            assert_eq!(found[i], survives, "seed {seed}, row {i}");
        }
        let score = |attack| damage(attack).accuracy(&model, &matrix, &labels).unwrap();
        assert!(score(Attack::Exact) <= score(Attack::Greedy));
        let free = set.with_budget(0.0).unwrap();
        let report = missing_report(&model, &matrix, &free).unwrap();
        assert!(report.missing.iter().all(|m| *m == 0) && report.covered.iter().all(|c| *c));
    }
}

#[test]
fn the_report_counts_what_is_missing() {
    let model = Linear::binary(vec![1.0, 2.0, 0.5], 0.25, mainstay::model::Link::None);
    let set = Deletions::new(vec![1.0, 1.0, 1.0], 1.0).unwrap();
    let rows = vec![1.0, 1.0, 1.0, f64::NAN, 1.0, 1.0, f64::NAN, f64::NAN, 1.0];
    let report = missing_report(&model, &Dense::from_rows(3, 3, rows).into(), &set).unwrap();
    assert_eq!(report.missing, vec![0, 1, 2]);
    assert_eq!(report.covered, vec![true, true, false]);
    assert_eq!(report.margin, vec![3.75, 2.75, 0.75]);
    // The first row can still lose its second feature; the budget of the others is spent.
    assert_eq!(report.worst_margin, vec![1.75, 2.75, 0.75]);
}

#[test]
fn corruption_replaces_what_is_deleted_by_noise() {
    let data = clouds(4, 40, 3);
    let fitted = fit(MissingFeatureSvcParams::default(), &data);
    let set = Deletions::new(vec![1.0; 3], 1.0).unwrap();
    let ranges = [2.0, 2.0, 2.0];
    let damage =
        |replacement| Damage { deletions: &set, attack: Attack::Greedy, replacement, seed: 3 };
    let apply = |replacement| {
        damage(replacement).apply(linear(&fitted), data.features(), data.labels()).unwrap()
    };
    let (zeros, noise) = (apply(Replacement::Zero), apply(Replacement::Noise(&ranges)));
    let before = data.features().to_dense();
    let mut changed = 0;
    for ((a, z), n) in before.data().iter().zip(zeros.data()).zip(noise.data()) {
        if a == z {
            assert_eq!(a, n);
        } else {
            assert_eq!(*z, 0.0);
            assert!(n.abs() <= 2.0 && *n != 0.0);
            changed += 1;
        }
    }
    assert!(changed > 20 && changed <= 40);
}

/// Averaging over parts is feasible for the whole and no better; its certificate says by how much.
#[test]
fn chunked_training_carries_a_true_certificate() {
    let data = clouds(9, 200, 6);
    let with = |n_chunks| {
        fit(MissingFeatureSvcParams { n_chunks, c: 1.0, tol: 1e-6, ..Default::default() }, &data)
    };
    let (whole, parts) = (with(1).certificates[0], with(4).certificates[0]);
    assert!(whole.gap() <= 1e-6);
    assert!(parts.primal >= whole.dual && parts.dual <= whole.primal);
    assert!(parts.gap() > 1e-6 && parts.dual > 0.5 * whole.dual);
}

/// Three rows of one class to two of the other: in a tiny box nothing outweighs the intercept.
#[test]
fn tuning_avoids_a_box_that_is_too_small() {
    let (rows, y) = two_clouds(21, 300, 6, 5.0);
    let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
    let all = Dataset::new(Dense::from_rows(300, 6, rows).into(), labels, 2).unwrap();
    let keep: Vec<usize> = (0..300).filter(|i| i % 2 == 0 || i % 3 != 0).collect();
    let data = all.select_rows(&keep);
    for damage in [Attack::Greedy, Attack::Random, Attack::Exact] {
        for corrupt in [false, true] {
            let cs = Some(vec![10.0, 1e-4]);
            let params = MissingFeatureCvParams {
                damage,
                corrupt,
                cs,
                budgets: Some(vec![1.0]),
                cv: Cv::Folds(3),
                ..Default::default()
            };
            let fitted = params.check().unwrap().fit(&data, &Control::new()).unwrap();
            assert_eq!(fitted.outputs["C"], Output::Number(10.0));
            let Output::Table(columns) = &fitted.outputs["cv_results"] else { panic!("a table") };
            assert_eq!(columns[1].1, Output::Vector(vec![1e-4, 10.0]));
            let mean = columns.iter().find(|(name, _)| name == "mean_test_score").map(|(_, v)| v);
            let Some(Output::Vector(accuracy)) = mean else { panic!("numbers") };
            assert!((accuracy[0] - 0.6).abs() < 0.05 && accuracy[1] > 0.65, "{accuracy:?}");
        }
    }
    let one = MissingFeatureCvParams { cs: Some(vec![]), ..Default::default() };
    assert!(one.check().unwrap_err().to_string().contains("`Cs`"));
}

#[test]
fn the_rule_for_values_is_read_by_name() {
    let values: Values = serde_json::from_str("\"mutual_info\"").unwrap();
    assert_eq!(values, Values::Rule(ValueRule::MutualInfo));
    let values: Values = serde_json::from_str("[1, 2.5]").unwrap();
    assert_eq!(values, Values::Given(vec![1.0, 2.5]));
}
