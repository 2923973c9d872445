//! Artificial data of the papers: distributions, not files.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::error::{Error, Result, require};
use crate::linalg::{Dense, vector};

/// Rows and the class (0 or 1) of each.
pub type Generated = (Dense, Vec<usize>);

/// How NDC data are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ndc {
    /// Rows.
    pub n: usize,
    /// Features.
    pub p: usize,
    /// Clusters.
    pub centers: usize,
    /// Width of the clusters; larger is less separable.
    pub expand: f64,
}

/// Normally distributed clusters (Musicant 1998): centres uniform on the integers of [-50, 50]^p, each
/// with the class of its side of a random plane; a row picks a centre by random mixture weights, is normal
/// around it with covariance R'R, R uniform on [0, 2 `expand`], and is rounded to integers. Rows take
/// the class of their centre. Draws that leave a class empty are repeated.
pub fn ndc(params: Ndc, seed: u64) -> Result<Generated> {
    require(params.n >= 2, "n_samples", params.n, "at least 2")?;
    require(params.p >= 1, "n_features", params.p, "at least 1")?;
    require(params.centers >= 2, "n_centers", params.centers, "at least 2")?;
    let good = params.expand >= 0.0 && params.expand.is_finite();
    require(good, "expand_factor", params.expand, "finite and not negative")?;
    room(params.n, params.p)?;
    room(params.centers.saturating_mul(params.p), params.p)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..1000 {
        let (x, y) = draw_ndc(params, &mut rng);
        if y.contains(&0) && y.contains(&1) {
            return Ok((x, y));
        }
    }
    Err(Error::BadData("1000 draws left one class empty: ask for more rows or centres".into()))
}

/// An error if there is no memory for so many rows, their labels and a copy of them.
pub(super) fn room(rows: usize, columns: usize) -> Result<()> {
    let width = columns.checked_add(1).and_then(|width| width.checked_mul(2));
    let entries = width.and_then(|width| rows.checked_mul(width));
    let fits = |entries: usize| Vec::<f64>::new().try_reserve_exact(entries).is_ok();
    if entries.is_some_and(fits) {
        return Ok(());
    }
    Err(Error::Memory(format!("there is no memory for {rows} rows of {columns} features")))
}

fn draw_ndc(params: Ndc, rng: &mut impl Rng) -> Generated {
    let Ndc { n, p, centers, expand } = params;
    let mut uniform = |low: f64, high: f64| rng.random_range(0.0..1.0) * (high - low) + low;
    let places = Dense::from_fn(centers, p, |_, _| uniform(-50.0, 50.0).round());
    let spread = 2.0 * expand;
    let roots: Vec<Dense> =
        (0..centers).map(|_| Dense::from_fn(p, p, |_, _| spread * uniform(0.0, 1.0))).collect();
    let mut shares: Vec<f64> = (0..centers).map(|_| uniform(0.0, 1.0)).collect();
    let w: Vec<f64> = (0..p).map(|_| uniform(-2.0, 2.0)).collect();
    let gamma = uniform(-5.0, 5.0);
    let side = |k: usize| usize::from(vector::dot(places.row(k), &w) >= gamma);
    let total: f64 = shares.iter().sum();
    vector::scale(&mut shares, 1.0 / total);

    let (mut rows, mut labels) = (Vec::with_capacity(n * p), Vec::with_capacity(n));
    for _ in 0..n {
        let mut left: f64 = rng.random_range(0.0..1.0);
        let within = |share: &f64| {
            left -= share;
            left < 0.0
        };
        let k = shares.iter().position(within).unwrap_or(centers - 1);
        let g: Vec<f64> = (0..p).map(|_| StandardNormal.sample(rng)).collect();
        let shift = roots[k].tr_mul_vec(&g);
        rows.extend(places.row(k).iter().zip(&shift).map(|(c, d)| (c + d).round()));
        labels.push(side(k));
    }
    (Dense::from_rows(n, p, rows), labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ndc_rows_are_integers_around_their_centres_and_depend_on_the_seed_only() {
        let params = Ndc { n: 400, p: 7, centers: 20, expand: 10.0 };
        let (x, y) = ndc(params, 4).unwrap();
        assert!(x.data().iter().all(|v| v.fract() == 0.0 && v.is_finite()));
        assert!(y.contains(&0) && y.contains(&1));
        assert_eq!(ndc(params, 4).unwrap(), (x.clone(), y));
        assert_ne!(ndc(params, 5).unwrap().0, x);
        // Without spread every row is one of the centres.
        let (x, _) = ndc(Ndc { expand: 0.0, ..params }, 4).unwrap();
        let mut rows: Vec<Vec<f64>> = (0..400).map(|i| x.row(i).to_vec()).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows.dedup();
        assert!(rows.len() <= 20 && rows.iter().flatten().all(|v| v.abs() <= 50.0));
        assert!(ndc(Ndc { centers: 1, ..params }, 0).is_err());
    }

    #[test]
    fn more_rows_than_fit_into_memory_are_refused() {
        let params = Ndc { n: 10_000_000_000_000, p: 10, centers: 20, expand: 10.0 };
        for params in [params, Ndc { n: 1 << 62, ..params }, Ndc { n: 9, p: 1 << 40, ..params }] {
            assert!(matches!(ndc(params, 0), Err(Error::Memory(_))), "{params:?}");
        }
    }
}
