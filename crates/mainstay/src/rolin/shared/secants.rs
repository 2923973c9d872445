//! What steps and changes of the gradient tell about a curvature that is not quite right.

use crate::linalg::vector;

/// Steps that are remembered.
const MEMORY: usize = 6;

/// The update of Broyden, Fletcher, Goldfarb and Shanno, in products (Nocedal 1980).
#[derive(Debug, Clone, Default)]
pub(in crate::rolin) struct Secants {
    /// Step s, change of the gradient g, and 1/(s'g).
    pairs: Vec<(Vec<f64>, Vec<f64>, f64)>,
}

impl Secants {
    /// Remembers a step; one along which the gradient does not grow is worthless.
    pub(in crate::rolin) fn learn(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let along = vector::dot(&step, &change);
        if along > 0.0 && along.is_normal() {
            self.pairs.truncate(MEMORY - 1);
            self.pairs.insert(0, (step, change, along.recip()));
        }
    }

    /// The corrected inverse curvature times `gradient`, where `solve` is the one to correct.
    pub(in crate::rolin) fn apply(
        &self,
        gradient: &[f64],
        solve: impl FnOnce(&[f64]) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut left = gradient.to_vec();
        let mut parts = Vec::with_capacity(self.pairs.len());
        for (step, change, inverse) in &self.pairs {
            let part = inverse * vector::dot(step, &left);
            vector::axpy(-part, change, &mut left);
            parts.push(part);
        }
        let mut answer = solve(&left);
        for ((step, change, inverse), part) in self.pairs.iter().zip(parts).rev() {
            let back = inverse * vector::dot(change, &answer);
            vector::axpy(part - back, step, &mut answer);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secant equation, and the exact inverse once every direction is known (conjugate ones here).
    #[test]
    fn what_was_learned_holds() {
        let curvatures = [2.0, 5.0, 0.5];
        let mut secants = Secants::default();
        for j in 0..3 {
            let mut step = vec![0.0; 3];
            step[j] = 0.3 + j as f64;
            let change: Vec<f64> = step.iter().zip(&curvatures).map(|(s, c)| s * c).collect();
            secants.learn(step.clone(), change.clone());
            let found = secants.apply(&change, <[f64]>::to_vec);
            assert!(found.iter().zip(&step).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        }
        let found = secants.apply(&[2.0, 5.0, 0.5], <[f64]>::to_vec);
        assert!(found.iter().all(|v| (v - 1.0).abs() < 1e-12), "{found:?}");
    }
}
