//! The perturbed row itself.

use super::{Attack, Cover, Lead, Options, RowQuery};
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};
use crate::model::{Linear, choose};

impl RowQuery<'_> {
    /// A row under `attack` that the model classifies otherwise; `None` if there is none.
    ///
    /// Rounding may leave a point that lies exactly on the boundary on the wrong side, so the step is
    /// lengthened by a relative 1e-12, 1e-11, ... until `predict` agrees.
    pub(super) fn witness(
        &self,
        attack: Attack,
        options: &Options<'_>,
        model: &Linear,
    ) -> Result<Option<Vec<f64>>> {
        let mut x = vec![0.0; model.n_features()];
        self.x.add_scaled_to(1.0, &mut x);
        if matches!(attack, Attack::Deletions | Attack::DeletionValue) {
            return self.deleted(attack, options, x);
        }
        let mut candidates: Vec<(f64, Lead<'_>, usize)> = self
            .leads()
            .map(|(pair, lead)| (self.size(attack, pair, &lead, options), lead, pair))
            .filter(|(size, ..)| size.is_finite())
            .collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let found =
            candidates.iter().find_map(|(_, lead, _)| self.moved(attack, lead, options, model, &x));
        Ok(found)
    }

    fn size(&self, attack: Attack, pair: usize, lead: &Lead<'_>, options: &Options<'_>) -> f64 {
        match attack {
            Attack::L1 => lead.radius(self.pairs.norms[pair][1]),
            Attack::Linf => lead.radius(self.pairs.norms[pair][2]),
            Attack::Ellipsoid => options.ellipsoid.map_or(f64::INFINITY, |shape| {
                let squared = vector::dot(&shape(self.i, lead.direction), lead.direction);
                lead.radius(squared.max(0.0).sqrt())
            }),
            _ => lead.radius(self.pairs.norms[pair][0]),
        }
    }

    /// The row without the cheapest cover found for any other class.
    fn deleted(
        &self,
        attack: Attack,
        options: &Options<'_>,
        mut x: Vec<f64>,
    ) -> Result<Option<Vec<f64>>> {
        let mut best: Option<Cover> = None;
        for (_, lead) in self.leads() {
            let cover = self.cover(attack, &lead, options)?;
            if let Some(cover) = cover
                && best.as_ref().is_none_or(|b| cover.cost < b.cost)
            {
                best = Some(cover);
            }
        }
        Ok(best.map(|cover| {
            for j in cover.features {
                x[j] = 0.0;
            }
            x
        }))
    }

    fn cover(
        &self,
        attack: Attack,
        lead: &Lead<'_>,
        options: &Options<'_>,
    ) -> Result<Option<Cover>> {
        let gains = lead.contributions(self.x);
        match (attack, options.values) {
            (Attack::DeletionValue, Some(values)) => {
                let found = Cover::cheapest(&gains, values, lead.score, lead.strict, self.control)?;
                Ok(found.cover)
            }
            _ => Ok(Cover::fewest(&gains, lead.score, lead.strict)),
        }
    }

    fn moved(
        &self,
        attack: Attack,
        lead: &Lead<'_>,
        options: &Options<'_>,
        model: &Linear,
        x: &[f64],
    ) -> Option<Vec<f64>> {
        let step = lead.step(attack, options, self.i)?;
        // The lead falls by this much per unit step.
        let slope = vector::dot(lead.direction, &step);
        if slope.is_nan() || slope <= 0.0 {
            return None;
        }
        let needed = lead.score.max(0.0) / slope;
        (0..13).find_map(|k| {
            let length = if k == 0 {
                needed
            } else {
                let over = 1e-13 * 10f64.powi(k);
                needed * (1.0 + over) + over * (1.0 + vector::norm(x)) / vector::norm(&step)
            };
            let moved: Vec<f64> = x.iter().zip(&step).map(|(v, s)| v - length * s).collect();
            let row = Matrix::from(Dense::from_rows(1, moved.len(), moved.clone()));
            (choose(&model.decision(&row))[0] != self.predicted).then_some(moved)
        })
    }
}

impl Lead<'_> {
    /// The direction in which the attack uses up the lead fastest; subtracted from the row.
    pub(super) fn step(&self, attack: Attack, options: &Options<'_>, i: usize) -> Option<Vec<f64>> {
        let d = self.direction;
        let scale = vector::norm_inf(d);
        if scale == 0.0 {
            return None;
        }
        Some(match attack {
            Attack::L1 => {
                let largest =
                    (0..d.len()).fold(0, |m, j| if d[j].abs() > d[m].abs() { j } else { m });
                (0..d.len()).map(|j| if j == largest { d[j].signum() } else { 0.0 }).collect()
            }
            Attack::Linf => d.iter().map(|v| if *v == 0.0 { 0.0 } else { v.signum() }).collect(),
            Attack::Ellipsoid => options.ellipsoid.map(|shape| shape(i, d))?,
            // Scaled so that squares neither overflow nor vanish.
            _ => d.iter().map(|v| v / scale).collect(),
        })
    }
}
