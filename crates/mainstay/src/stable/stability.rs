//! How much coefficients move from one set of rows to another.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::generator;
use crate::model::{Estimator, Fitted, Model};

/// Which rows the compared fits see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Random subsets of one size. They depend on the seed only, so that every estimator asked with
    /// the same seed sees the same ones: the fair comparison.
    #[default]
    Paired,
    /// The paper's: one random subset of each size. Its stable models vary `k` on one training set
    /// instead, which is why its figures for both cannot be compared.
    Paper,
}

/// The paper's sizes: 0.2, 0.3, ..., 1 of the rows.
pub const PAPER_FRACTIONS: [f64; 9] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Spread of coefficients over several fits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// `$\bar\sigma$`: root mean square over features of the standard deviation over fits, averaged
    /// over hyperplanes. (The printed formula lacks the `$1/K$` of the first sum.)
    pub absolute: f64,
    /// `absolute` over the root mean square of the mean coefficients.
    pub relative: f64,
}

/// `$\bar\sigma$` of fits of the same shape; one entry per fit, hyperplane by hyperplane.
pub fn sigma_bar(fits: &[Vec<Vec<f64>>]) -> Result<Stability> {
    let shape = |fit: &[Vec<f64>]| fit.iter().map(Vec::len).collect::<Vec<_>>();
    let Some(first) = fits.first().filter(|fit| fit.iter().any(|row| !row.is_empty())) else {
        return Err(Error::BadData("the stability of no coefficients at all".into()));
    };
    if fits.iter().any(|fit| shape(fit) != shape(first)) {
        return Err(Error::BadData("the fits differ in their number of coefficients".into()));
    }
    let count = fits.len() as f64;
    let (mut absolute, mut size, mut entries) = (0.0, 0.0, 0.0);
    for (m, row) in first.iter().enumerate() {
        let mut variance = 0.0;
        for j in 0..row.len() {
            let mean = fits.iter().map(|fit| fit[m][j]).sum::<f64>() / count;
            variance += fits.iter().map(|fit| (fit[m][j] - mean).powi(2)).sum::<f64>() / count;
            size += mean * mean;
        }
        entries += row.len() as f64;
        absolute += (variance / row.len() as f64).sqrt();
    }
    absolute /= first.len() as f64;
    let size = (size / entries).sqrt();
    Ok(Stability { absolute, relative: if absolute == 0.0 { 0.0 } else { absolute / size } })
}

/// Rows of each subset: a share `fractions[r]` of every class, drawn without replacement, at least
/// one row of each class, in ascending order.
pub fn subsets(labels: &[usize], fractions: &[f64], seed: u64) -> Result<Vec<Vec<usize>>> {
    let classes = labels.iter().max().map_or(0, |m| m + 1);
    let mut rng = generator(seed);
    let mut all = Vec::with_capacity(fractions.len());
    for &fraction in fractions {
        require(fraction > 0.0 && fraction <= 1.0, "fraction", fraction, "in (0, 1]")?;
        let mut rows = Vec::new();
        for class in 0..classes {
            let mut of_class: Vec<usize> =
                (0..labels.len()).filter(|&i| labels[i] == class).collect();
            of_class.shuffle(&mut rng);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 1 and the number of rows"
            )]
            let kept = (fraction * of_class.len() as f64).round().max(1.0) as usize;
            rows.extend(of_class.into_iter().take(kept));
        }
        rows.sort_unstable();
        all.push(rows);
    }
    Ok(all)
}

/// Fits `estimator` to subsets of the rows and measures how much its coefficients move.
///
/// `paired`: `resamples` subsets of half the rows. `paper`: one subset of each of
/// [`PAPER_FRACTIONS`]; for the paper's figure of a stable model, fit it over `k` on all rows and
/// give the coefficients to [`sigma_bar`].
pub fn coefficient_stability(
    estimator: &dyn Estimator,
    data: &Dataset,
    protocol: Protocol,
    resamples: usize,
    seed: u64,
    control: &Control,
) -> Result<Stability> {
    require(resamples >= 2, "resamples", resamples, "at least 2")?;
    let fractions = match protocol {
        Protocol::Paired => vec![0.5; resamples],
        Protocol::Paper => PAPER_FRACTIONS.to_vec(),
    };
    let mut fits = Vec::with_capacity(fractions.len());
    for rows in subsets(data.labels(), &fractions, seed)? {
        fits.push(coefficients(&estimator.fit(&data.select_rows(&rows), control)?)?);
    }
    sigma_bar(&fits)
}

/// The hyperplanes of a linear model.
pub fn coefficients(fitted: &Fitted) -> Result<Vec<Vec<f64>>> {
    match &fitted.model {
        Model::Linear(linear) if linear.n_features() > 0 => Ok(linear.coef.clone()),
        _ => Err(Error::BadParams("the stability of coefficients needs a linear model".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fits at +-1 in one of two features: deviation 1 and 0, so sqrt(1/2).
    #[test]
    fn sigma_bar_matches_its_formula() {
        let fits = vec![vec![vec![1.0, 3.0]], vec![vec![-1.0, 3.0]]];
        let found = sigma_bar(&fits).unwrap();
        assert!((found.absolute - 0.5f64.sqrt()).abs() < 1e-15);
        assert!((found.relative - 0.5f64.sqrt() / 4.5f64.sqrt()).abs() < 1e-15);
        assert!(sigma_bar(&[]).is_err());
        assert!(sigma_bar(&[vec![vec![1.0]], vec![vec![1.0, 2.0]]]).is_err());
    }

    #[test]
    fn subsets_keep_every_class_and_depend_on_the_seed_only() {
        let labels: Vec<usize> =
            (0..50).map(|i| usize::from(i == 7) + 2 * usize::from(i > 30)).collect();
        let drawn = subsets(&labels, &[0.1, 0.5, 1.0], 3).unwrap();
        assert_eq!(drawn, subsets(&labels, &[0.1, 0.5, 1.0], 3).unwrap());
        for rows in &drawn {
            assert!((0..3).all(|class| rows.iter().any(|&i| labels[i] == class)));
            assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(drawn[2].len(), 50);
        assert!(subsets(&labels, &[1.5], 3).is_err());
    }
}
