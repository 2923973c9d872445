//! How fast the methods for measurement error are: CPU seconds of one thread, each line one comparison made
//! in the same run. `cargo run -p mainstay --example measurement_error [-- large]`
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program to measure with: it stops at the first surprise"
)]

use clarabel::solver::SupportedConeT;
use mainstay::Control;
use mainstay::data::{Dataset, RowUncertainty, Shape};
use mainstay::eigen::{RegecParams, RobustRegecParams, Xi};
use mainstay::ellipsoid::EllipsoidParams;
use mainstay::linalg::{Dense, psd_factor};
use mainstay::model::Estimator;
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};

/// CPU seconds of all threads on Linux (in steps of 0.01), wall clock elsewhere.
fn cpu() -> f64 {
    let ticks = |text: String| -> Option<f64> {
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    };
    std::fs::read_to_string("/proc/self/stat").ok().and_then(ticks).map_or_else(
        || std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |d| d.as_secs_f64()),
        |ticks| 0.01 * ticks,
    )
}

/// The result and the CPU seconds of one run, the mean of enough runs to be measurable.
fn timed<T>(work: impl Fn() -> T) -> (T, f64) {
    let start = cpu();
    let mut out = work();
    let mut runs = 1.0;
    while cpu() - start < 0.5 {
        out = work();
        runs += 1.0;
    }
    (out, (cpu() - start) / runs)
}

fn data(n: usize, p: usize) -> (Dataset, Vec<f64>) {
    let (rows, y) = two_clouds(1, n, p, 2.0);
    let labels = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    (Dataset::new(Dense::from_rows(n, p, rows).into(), labels, 2).unwrap(), y)
}

fn axes(n: usize, p: usize) -> Dense {
    Dense::from_rows(n, p, normal(&mut rng(2), n * p).iter().map(|v| 0.1 * v.abs()).collect())
}

fn matrices(n: usize, p: usize) -> Dense {
    let mut rng = rng(3);
    let one = |values: Vec<f64>| {
        let f = Dense::from_rows(p, p, values);
        f.mul_tr(&f).into_data().into_iter().map(move |v| 0.01 * v / p as f64)
    };
    let all = (0..n).flat_map(|_| one(normal(&mut rng, p * p))).collect();
    Dense::from_rows(n, p * p, all)
}

/// (34) as a conic program; `factor(i, k)` is column k of the root of row i's P, shared if `shared`.
fn program(
    set: &Dataset,
    y: &[f64],
    shared: bool,
    factor: &dyn Fn(usize) -> Vec<Vec<(usize, f64)>>,
) -> Program {
    let (n, p) = (set.len(), set.n_features());
    let x = set.features().to_dense();
    let cones = if shared { 1 } else { n };
    let mut program = Program::new(p + 1 + n + cones);
    (0..p).for_each(|j| program.add_product(j, j, 0.5));
    for i in 0..n {
        let (v, u) = (p + 1 + i, p + 1 + n + if shared { 0 } else { i });
        program.add_linear(v, 1.0);
        let mut margin: Vec<(usize, f64)> = (0..p).map(|j| (j, y[i] * x[(i, j)])).collect();
        margin.extend([(p, y[i]), (v, 1.0), (u, -1.0)]);
        program.at_least_zero(margin, -1.0);
        program.at_least_zero(vec![(v, 1.0)], 0.0);
    }
    for j in 0..cones {
        let mut rows = vec![(vec![(p + 1 + n + j, 1.0)], 0.0)];
        rows.extend(factor(j).into_iter().map(|terms| (terms, 0.0)));
        let size = rows.len();
        program.constrain(SupportedConeT::SecondOrderConeT(size), &rows);
    }
    program
}

fn svm(name: &str, set: &Dataset, uncertainty: Shape, reference: Option<Program>) {
    let params = EllipsoidParams { uncertainty, ..Default::default() };
    let control = Control::new().with_threads(1);
    let (fitted, ours) = timed(|| params.clone().check().unwrap().fit(set, &control).unwrap());
    let gap = fitted.dual_gap().unwrap();
    print!("ellipsoid-svm {name}: {ours:.3} s, {} iterations, gap {gap:.1e}", fitted.n_iter);
    if let Some(program) = reference {
        let (answer, theirs) = timed(|| program.solve_to(1e-6));
        let difference =
            (answer.objective - fitted.certificates[0].primal).abs() / answer.objective;
        print!("; Clarabel {theirs:.3} s ({:.0}x), difference {difference:.1e}", theirs / ours);
    }
    println!();
}

fn main() {
    let large = std::env::args().any(|a| a == "large");
    let control = Control::new().with_threads(1);

    let (set, _) = data(100_000, 50);
    let (_, seconds) =
        timed(|| RegecParams::default().check().unwrap().fit(&set, &control).unwrap());
    println!("regec 100000 x 50: {seconds:.3} s");

    if std::env::args().any(|a| a == "gram") {
        let x = set.features().to_dense();
        let (_, a) = timed(|| {
            let mut sum = mainstay::linalg::GramSum::new(50);
            (0..x.nrows()).for_each(|i| sum.push(|out| out.extend_from_slice(x.row(i))));
            sum.finish()
        });
        let (_, b) = timed(|| x.tr_mul(&x));
        let (_, c) = timed(|| x.clone());
        println!("gram {a:.4} product {b:.4} copy {c:.4}");
    }
    let (set, _) = data(10_000, 50);
    let set = set.with_uncertainty(RowUncertainty::Axes(axes(10_000, 50))).unwrap();
    let unit = vec![1.0; 10_000];
    let (_, grams) =
        timed(|| (0..30).map(|_| set.features().weighted_gram(&unit)[(0, 0)]).sum::<f64>());
    let params = RobustRegecParams { xi: Xi::Fixed(0.0), ..Default::default() };
    let (fitted, seconds) = timed(|| params.clone().check().unwrap().fit(&set, &control).unwrap());
    println!(
        "robust-regec 10000 x 50, xi = 0: {seconds:.3} s, {} iterations; 30 Gram passes {grams:.3} s ({:.1}x)",
        fitted.n_iter,
        seconds / grams
    );

    let (n, p) = (2000, 50);
    let (set, y) = data(n, p);
    let l: Vec<f64> = axes(1, p).into_data();
    let shared = |_: usize| (0..p).map(|j| vec![(j, l[j])]).collect();
    svm("2000 x 50 shared", &set, Shape::Axes(l.clone()), Some(program(&set, &y, true, &shared)));
    let each = axes(n, p);
    let diagonal = |i: usize| (0..p).map(|j| vec![(j, each[(i, j)])]).collect();
    let reference = program(&set, &y, false, &diagonal);
    let own = set.clone().with_uncertainty(RowUncertainty::Axes(each.clone())).unwrap();
    svm("2000 x 50 diagonal per row", &own, Shape::Ball(0.0), Some(reference));
    let full = matrices(n, p);
    let reference = large.then(|| {
        let columns = |i: usize| {
            let root = psd_factor(&Dense::from_rows(p, p, full.row(i).to_vec())).unwrap();
            (0..p).map(|k| (k..p).map(|j| (j, root[(j, k)])).collect()).collect()
        };
        program(&set, &y, false, &columns)
    });
    let own = set.with_uncertainty(RowUncertainty::Matrices(full)).unwrap();
    svm("2000 x 50 full per row", &own, Shape::Ball(0.0), reference);
    let (set, _) = data(20_000, p);
    let set = set.with_uncertainty(RowUncertainty::Axes(axes(20_000, p))).unwrap();
    svm("20000 x 50 diagonal per row", &set, Shape::Ball(0.0), None);
}
