//! Nominal planes against generalised eigenvalues.

use super::*;

#[test]
fn planes_minimise_the_quotient_for_every_regularisation() {
    for seed in 0..10 {
        // More features than rows from the seventh on.
        let (n, p) = if seed < 7 { (30, 1 + seed as usize) } else { (14, 25) };
        let mut set = random(seed, n, p);
        if seed % 2 == 1 {
            let w = normal(&mut rng(seed), n).iter().map(|v| v.abs() + 0.1).collect();
            set = set.with_weights(w).unwrap();
        }
        let kinds = [Regularization::Cross, Regularization::Tikhonov, Regularization::None];
        for kind in kinds.into_iter().filter(|k| p < n || *k != Regularization::None) {
            let delta = 1e-3;
            let estimator = RegecParams { regularization: kind, delta, ..Default::default() };
            let fitted = fit(&estimator.check().unwrap(), &set);
            let values = vector_of(&fitted, "eigenvalues");
            for k in 0..2 {
                let (top, bottom) = pencil(&set, k, kind, delta);
                let best = smallest_quotient(&top, &bottom);
                let found = quotient(&top, &bottom, planes(&fitted), k);
                let close = |v: f64| (v - best).abs() <= 1e-9 * best + 1e-12;
                assert!(
                    close(found) && close(values[k]),
                    "seed {seed} {kind:?}: {found} {} {best}",
                    values[k]
                );
                assert!((vector::norm(&planes(&fitted).planes[k]) - 1.0).abs() < 1e-12);
            }
        }
    }
}

/// On a line the rows 0, 2 and 5, 7: (g - 0)^2 + (g - 2)^2 over (g - 5)^2 + (g - 7)^2 with c = g - 1 is
/// (2 c^2 + 2)/(2 (c - 5)^2 + 2), stationary where c^2 - 5 c - 1 = 0: c = (5 - sqrt 29)/2.
#[test]
fn four_points_on_a_line_match_the_closed_form() {
    let set = data(&[0.0, 2.0, 5.0, 7.0], &[-1.0, -1.0, 1.0, 1.0]);
    let params = RegecParams { regularization: Regularization::None, ..Default::default() };
    let fitted = fit(&params.check().unwrap(), &set);
    let c = (5.0 - 29.0_f64.sqrt()) / 2.0;
    assert!((planes(&fitted).offsets[0] - (1.0 + c)).abs() < 1e-12);
    assert!((planes(&fitted).offsets[1] - (6.0 - c)).abs() < 1e-12);
    let ratio = (c * c + 1.0) / ((c - 5.0).powi(2) + 1.0);
    for name in ["worst_case_ratio", "eigenvalues"] {
        assert!(vector_of(&fitted, name).iter().all(|r| (r - ratio).abs() < 1e-12));
    }
}

#[test]
fn batches_and_merged_parts_give_the_planes_of_the_whole() {
    for (n, p) in [(60, 4), (9, 30), (40, 30)] {
        let set = random(3, n, p);
        let regec = RegecParams::default().check().unwrap();
        let whole = fit(&regec, &set);
        let part = |from: usize, to: usize| set.select_rows(&(from..to).collect::<Vec<_>>());
        let (a, b) = (n / 3, 2 * n / 3);
        let mut batches = Moments::new(&part(0, a), &Control::new()).unwrap();
        batches.add(&part(a, b), &Control::new()).unwrap();
        batches.add(&part(b, n), &Control::new()).unwrap();
        let mut merged = Moments::new(&part(0, b), &Control::new()).unwrap();
        merged.merge(&Moments::new(&part(b, n), &Control::new()).unwrap()).unwrap();
        for moments in [batches, merged] {
            let fitted = regec.fit_moments(&moments, &Control::new()).unwrap();
            for k in 0..2 {
                let (x, y) = (&planes(&fitted).planes[k], &planes(&whole).planes[k]);
                assert!((vector::dot(x, y).abs() - 1.0).abs() < 1e-8, "{n} x {p}");
            }
        }
    }
    let mut moments = Moments::new(&random(1, 10, 3), &Control::new()).unwrap();
    assert!(moments.add(&random(1, 10, 4), &Control::new()).is_err());
}
