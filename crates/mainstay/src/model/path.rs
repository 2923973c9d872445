//! Places on a path: the parameters that change from fit to fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::uncertainty::K;

/// One place on a path of [`fit_path`](super::Estimator::fit_path). `None` keeps the estimator's own
/// value; a method refuses parameters that its path does not run over.
///
/// ```
/// use mainstay::model::PathPoint;
///
/// let budgets: Vec<PathPoint> = [0.05, 0.1].map(PathPoint::kappa).to_vec();
/// assert_eq!(budgets[1].kappa, Some(0.1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathPoint {
    /// Share of labels that may be disbelieved (conic).
    pub kappa: Option<f64>,
    /// How much of the data the worst rows are (stable).
    pub k: Option<K>,
    /// Weight of the losses (stable SVM, ellipsoid SVM).
    #[serde(rename = "C")]
    pub c: Option<f64>,
    /// Strength of the penalty (penalised classifiers, stable logistic regression).
    pub alpha: Option<f64>,
    /// Factor on the uncertainty; 0 is the plain SVM (ellipsoid SVM).
    pub scale: Option<f64>,
}

impl PathPoint {
    /// A share of labels that may be disbelieved.
    pub fn kappa(kappa: f64) -> Self {
        Self { kappa: Some(kappa), ..Self::default() }
    }

    /// A size of the worst case.
    pub fn k(k: K) -> Self {
        Self { k: Some(k), ..Self::default() }
    }

    /// A weight of the losses.
    pub fn c(c: f64) -> Self {
        Self { c: Some(c), ..Self::default() }
    }

    /// A strength of the penalty.
    pub fn alpha(alpha: f64) -> Self {
        Self { alpha: Some(alpha), ..Self::default() }
    }

    /// What a method makes of each of `points`, which may say something about the parameters `names` only.
    pub fn settings<T>(
        points: &[Self],
        names: &[&str],
        setting: impl Fn(&Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let one = |point: &Self| {
            point.runs_over(names)?;
            setting(point)
        };
        points.iter().map(one).collect()
    }

    /// Fails if a parameter is given that is not among `names`, those the method's path runs over.
    pub fn runs_over(&self, names: &[&str]) -> Result<()> {
        let given = [
            ("kappa", self.kappa.is_some()),
            ("k", self.k.is_some()),
            ("C", self.c.is_some()),
            ("alpha", self.alpha.is_some()),
            ("scale", self.scale.is_some()),
        ];
        match given.iter().find(|(name, given)| *given && !names.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Err(Error::BadParams(format!(
                "`{name}`: the path of this method runs over {}",
                names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" and ")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_beside_the_path_is_refused_by_name() {
        let both = PathPoint { c: Some(1.0), ..PathPoint::k(K::Count(3)) };
        assert!(both.runs_over(&["k", "C"]).is_ok());
        let error = both.runs_over(&["k", "alpha"]).unwrap_err().to_string();
        assert!(
            error.contains("`C`: the path of this method runs over `k` and `alpha`"),
            "{error}"
        );
        assert!(PathPoint::default().runs_over(&[]).is_ok());
    }
}
