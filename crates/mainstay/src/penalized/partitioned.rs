//! Penalised classifiers over partitions of rows.

use super::params::{Alpha, PenalizedParams};
use crate::data::Normalize;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::model::Link;
use crate::partitioned::{Objective, Spec};

impl PenalizedParams {
    /// What a partitioned fit solves; cross-validated choices have no partitioned form.
    pub fn partitioned(self) -> Result<Spec> {
        let (Alpha::Fixed(alpha), Normalize::Fixed(normalize)) = (self.alpha, self.normalize)
        else {
            return Err(Error::BadParams(
                "`alpha` = \"cv\" and `normalize` = \"auto\" need all rows in memory; choose them on a sample of the rows \
                 and pass the numbers"
                    .into(),
            ));
        };
        let (l1, l2) = self.strengths(alpha);
        let link = link(self.loss);
        let spec = Spec {
            loss: self.loss,
            objective: Objective::Mean { l1, l2 },
            normalize,
            fit_intercept: true,
            class_weight: self.class_weight.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
            link,
            joint: false,
            outputs: vec![("alpha", alpha.into()), ("normalize", normalize.into())],
        };
        self.check()?;
        Ok(spec)
    }
}

/// How scores become probabilities.
pub(super) fn link(loss: Loss) -> Link {
    match loss {
        Loss::Logistic => Link::Logistic,
        Loss::ModifiedHuber => Link::Clip,
        Loss::Hinge | Loss::SquaredHinge => Link::None,
    }
}
