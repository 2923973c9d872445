//! What an average of fits must not depend on, and its priors against the penalty written out.

use super::*;
use crate::linalg::{Cholesky, Dense};
use crate::robust::RobustLogisticParams;
use crate::robust::labels::{Rates, WrongLabels};

const ROWS: usize = 60;

/// Centred rows of a few waves, and classes that follow them roughly.
fn rows(n: usize, p: usize) -> (Dense, Vec<usize>) {
    let wave = |i: usize, j: usize| ((i * 37 + j * 11 + i * i * (j + 1)) % 29) as f64 / 7.0;
    let mut x = Dense::from_fn(n, p, |i, j| wave(i, j) * (j + 1) as f64);
    let means: Vec<f64> = (0..p).map(|j| x.column(j).iter().sum::<f64>() / n as f64).collect();
    for i in 0..n {
        x.row_mut(i).iter_mut().zip(&means).for_each(|(v, m)| *v -= m);
    }
    let class = |i: usize| usize::from(x[(i, 0)] + 0.4 * x[(i, 1)] + ((i * 13) % 7) as f64 > 3.0);
    let labels = (0..n).map(class).collect();
    (x, labels)
}

fn params() -> RobustLogisticParams {
    RobustLogisticParams {
        wrong_labels: WrongLabels::Pair([0.1, 0.2]),
        correction: Correction::Averaged,
        tol: 1e-10,
        ..Default::default()
    }
}

/// The average on given splits and strengths.
fn averaged(x: &Dense, labels: &[usize], rates: Rates, splits: &[Split]) -> Averaged {
    let (params, rows) = (params(), Blurred::known(x.clone()));
    let shares = vec![1.0 / labels.len() as f64; labels.len()];
    let copies = vec![1.0; labels.len()];
    let training = Training {
        params: &params,
        rows: &rows,
        labels,
        shares: &shares,
        copies: &copies,
        rates,
        n_classes: 2,
    };
    let grid = [10.0, 1.0, 0.1, 0.02];
    along_splits(&training, &grid, splits, &Control::new()).unwrap()
}

fn assert_close(a: &Hyperplane, b: &Hyperplane, sign: f64) {
    for (a, b) in a.w.iter().zip(&b.w).chain([(&a.b, &b.b)]) {
        assert!((a - sign * b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let (x, labels) = rows(ROWS, 4);
    let splits = stratified(&labels, 5, 3, 0);
    let rates = Rates { negative: 0.1, positive: 0.2 };
    let own = averaged(&x, &labels, rates, &splits);
    // Row i goes to place 7 i + 3 modulo 60.
    let place = |i: usize| (7 * i + 3) % ROWS;
    let mut from = vec![0; ROWS];
    (0..ROWS).for_each(|i| from[place(i)] = i);
    let moved = |part: &[usize]| {
        let mut part: Vec<usize> = part.iter().map(|&i| place(i)).collect();
        part.sort_unstable();
        part
    };
    let there =
        |split: &Split| Split { train: moved(&split.train), holdout: moved(&split.holdout) };
    let splits: Vec<Split> = splits.iter().map(there).collect();
    let labels: Vec<usize> = from.iter().map(|&i| labels[i]).collect();
    let other = averaged(&x.select_rows(&from), &labels, rates, &splits);
    assert_close(&own.planes[0].1, &other.planes[0].1, 1.0);
    assert_eq!(own.alpha, other.alpha);
}

#[test]
fn swapped_classes_give_the_opposite_plane() {
    let (x, labels) = rows(ROWS, 4);
    let splits = stratified(&labels, 5, 3, 0);
    let own = averaged(&x, &labels, Rates { negative: 0.1, positive: 0.2 }, &splits);
    let swapped: Vec<usize> = labels.iter().map(|l| 1 - l).collect();
    let other = averaged(&x, &swapped, Rates { negative: 0.2, positive: 0.1 }, &splits);
    assert_close(&own.planes[0].1, &other.planes[0].1, -1.0);
}

/// Constant features make the table wide, so that it is solved in the space of its rows, and say nothing.
#[test]
fn more_features_than_rows_change_the_way_and_not_the_answer() {
    let (x, labels) = rows(ROWS, 4);
    let splits = stratified(&labels, 5, 3, 0);
    let rates = Rates { negative: 0.1, positive: 0.1 };
    let own = averaged(&x, &labels, rates, &splits);
    let wide = Dense::from_fn(ROWS, ROWS + 5, |i, j| if j < 4 { x[(i, j)] } else { 0.0 });
    let other = averaged(&wide, &labels, rates, &splits);
    assert_close(
        &own.planes[0].1,
        &Hyperplane { w: other.planes[0].1.w[..4].to_vec(), ..other.planes[0].1 },
        1.0,
    );
    assert!(other.planes[0].1.w[4..].iter().all(|w| w.abs() < 1e-12));
}

/// Newton's method for the mean logistic loss plus `$\frac{c}{2} w^\top P w$`, without anything of the solver.
fn by_newton(x: &Dense, y: &[f64], shares: &[f64], penalty: &Dense) -> Hyperplane {
    let p = x.ncols();
    let mut at = vec![0.0; p + 1];
    for _ in 0..60 {
        let mut gradient = vec![0.0; p + 1];
        let mut hessian = Dense::zeros(p + 1, p + 1);
        for i in 0..y.len() {
            let mut row = x.row(i).to_vec();
            row.push(1.0);
            let sigma = 1.0 / (1.0 + (y[i] * vector::dot(&row, &at)).exp());
            for j in 0..=p {
                gradient[j] -= shares[i] * sigma * y[i] * row[j];
                for k in 0..=p {
                    hessian[(j, k)] += shares[i] * sigma * (1.0 - sigma) * row[j] * row[k];
                }
            }
        }
        for j in 0..p {
            for k in 0..p {
                gradient[j] += penalty[(j, k)] * at[k];
                hessian[(j, k)] += penalty[(j, k)];
            }
        }
        let step = Cholesky::new(&hessian).unwrap().solve(&gradient);
        vector::axpy(-1.0, &step, &mut at);
    }
    Hyperplane { b: at[p], w: at[..p].to_vec() }
}

#[test]
fn the_covariance_prior_is_the_penalty_by_its_inverse() {
    let (x, labels) = rows(ROWS, 3);
    let shares = vec![1.0 / ROWS as f64; ROWS];
    let y: Vec<f64> = labels.iter().map(|l| 2.0 * *l as f64 - 1.0).collect();
    let sigma = x.weighted_gram(&shares);
    let (mut trace, mut squares) = (0.0, 0.0);
    for j in 0..3 {
        trace += sigma[(j, j)];
        squares += vector::norm_sq(sigma.row(j));
    }
    let factor = Cholesky::new(&sigma).unwrap();
    let alpha = 0.3;
    let unit = |k: usize| (0..3).map(|j| f64::from(u8::from(j == k))).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..3).map(|k| factor.solve(&unit(k))).collect();
    let penalty = Dense::from_fn(3, 3, |j, k| alpha * columns[k][j] * squares / trace);
    let wanted = by_newton(&x, &y, &shares, &penalty);

    let directions = Directions::new(&x, &shares).unwrap().unwrap();
    let coordinates = directions.coordinates(&x, Prior::Covariance);
    let rows = Blurred::known(coordinates.rows.clone());
    let params = RobustLogisticParams { wrong_labels: WrongLabels::Share(0.0), ..params() };
    let rates = Rates::default();
    let training = Training {
        params: &params,
        rows: &rows,
        labels: &labels,
        shares: &shares,
        copies: &vec![1.0; labels.len()],
        rates,
        n_classes: 2,
    };
    let problem = training.problem(&rows, &y, &shares, alpha, rates);
    let control = Control::new();
    let found = training.solve(&problem, &mut Budget::new(1e-14, 100, &control)).unwrap();
    let found = Hyperplane { w: coordinates.weights(&found.w), b: found.b };
    assert_close(&found, &wanted, 1.0);
}
