//! Other ways to state the same problem give the same answer.

use super::*;

fn csr(x: &[f64], n: usize) -> Matrix {
    let p = x.len() / n;
    let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
    for i in 0..n {
        for j in 0..p {
            if x[i * p + j] != 0.0 {
                indices.push(u32::try_from(j).unwrap());
                values.push(x[i * p + j]);
            }
        }
        starts.push(indices.len());
    }
    Csr::new(p, starts, indices, values).unwrap().into()
}

/// Clouds with a third of the entries zero.
fn holey(seed: u64, n: usize, p: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut x, y) = two_clouds(seed, n, p, 2.0);
    for (k, v) in x.iter_mut().enumerate() {
        if (k * 7 + k / 5) % 3 == 0 {
            *v = 0.0;
        }
    }
    (x, y)
}

#[test]
fn sparse_and_dense_rows_give_the_same_objective() {
    for (n, p) in [(50, 6), (15, 60)] {
        let (x, y) = holey(3, n, p);
        let labels: Vec<usize> = y.iter().map(|y| usize::from(*y > 0.0)).collect();
        let sparse = Dataset::new(csr(&x, n), labels, 2).unwrap();
        let dense = dataset(&x, &y);
        for (loss, penalty) in everything() {
            for normalize in [false, true] {
                let params = json!({"loss": loss, "alpha": 0.05, "tol": 1e-10,
                    "normalize": normalize});
                let (a, b) = (fit(penalty, &params, &dense), fit(penalty, &params, &sparse));
                let apart = (a.certificates[0].primal - b.certificates[0].primal).abs();
                assert!(apart < 1e-9, "{loss:?} {penalty} {normalize}: {apart:e}");
                assert!(b.dual_gap().unwrap() < 1e-8, "{loss:?} {penalty}: {:?}", b.dual_gap());
            }
        }
    }
}

#[test]
fn weights_repetition_and_row_order_do_not_change_a_bit() {
    let (x, y) = two_clouds(5, 30, 4, 1.5);
    let p = 4;
    let times = |i: usize| i % 4;
    let weights: Vec<f64> = (0..30).map(|i| times(i) as f64).collect();
    let weighted = dataset(&x, &y).with_weights(weights).unwrap();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for i in (0..30).rev() {
        for _ in 0..times(i) {
            rows.extend_from_slice(&x[i * p..(i + 1) * p]);
            labels.push(y[i]);
        }
    }
    let repeated = dataset(&rows, &labels);
    for (loss, penalty) in everything() {
        for alpha in [json!(0.02), json!("cv")] {
            let params = json!({"loss": loss, "alpha": alpha, "normalize": "auto", "n_alphas": 4});
            let (a, b) = (fit(penalty, &params, &weighted), fit(penalty, &params, &repeated));
            assert_eq!(a, b, "{loss:?} {penalty}");
        }
    }
}

#[test]
fn swapping_the_labels_swaps_the_signs() {
    let (x, y) = two_clouds(6, 40, 5, 1.0);
    let swapped: Vec<f64> = y.iter().map(|y| -y).collect();
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": 0.05, "tol": 1e-11});
        let (w, b) = linear(&fit(penalty, &params, &dataset(&x, &y)));
        let (v, c) = linear(&fit(penalty, &params, &dataset(&x, &swapped)));
        // An objective to 1e-11 pins the weights to its square root.
        let apart = w.iter().zip(&v).fold(0.0_f64, |m, (w, v)| m.max((w + v).abs()));
        assert!(apart < 1e-4, "{loss:?} {penalty}: {apart:e}");
        // Without curvature (hinge with L1) the intercept may be one of many.
        if loss != Loss::Hinge {
            assert!((b + c).abs() < 1e-4, "{loss:?} {penalty}: {b} and {c}");
        }
    }
}
