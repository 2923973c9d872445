//! A convex quadratic in a box, by projected Newton steps.

use crate::linalg::{Cholesky, Dense, vector};

/// `$\min_d\ g^\top d + \frac12 d^\top H d$` with `$l \le d \le u$`, which holds 0.
pub(super) struct BoxProgram<'a> {
    /// `$H$`, positive semidefinite up to rounding.
    pub matrix: &'a Dense,
    /// `$g$`.
    pub slope: &'a [f64],
    /// `$l$`.
    pub low: &'a [f64],
    /// `$u$`.
    pub high: &'a [f64],
}

/// Steps at most; a few are the rule.
const STEPS: usize = 60;
/// What is left to gain, beside what was gained, at which to stop.
const SMALL: f64 = 1e-10;
/// The first shift of the diagonal, beside its largest entry.
const SHIFT: f64 = 1e-11;
/// By how much a shift that did not make the matrix regular grows.
const SHIFT_GROWTH: f64 = 100.0;
/// Shifts tried at most.
const SHIFTS: usize = 12;
/// Halvings of a step at most.
const HALVINGS: usize = 40;
/// The part of the fall that the slope promises which a step must reach at least.
const SUFFICIENT: f64 = 0.1;

impl BoxProgram<'_> {
    /// Variables that are not held at a bound by their slope.
    fn free(&self, at: &[f64], slope: &[f64]) -> Vec<usize> {
        let held = |i: usize| {
            (at[i] <= self.low[i] && slope[i] >= 0.0) || (at[i] >= self.high[i] && slope[i] <= 0.0)
        };
        (0..at.len()).filter(|&i| !held(i)).collect()
    }

    /// The Newton step of the free variables; those held do not move.
    fn newton(&self, free: &[usize], slope: &[f64]) -> Option<Vec<f64>> {
        let part = |i: usize, j: usize| self.matrix[(free[i], free[j])];
        let mut system = Dense::from_fn(free.len(), free.len(), part);
        let largest = (0..free.len()).fold(0.0, |m: f64, i| m.max(system[(i, i)]));
        let mut shift = SHIFT * largest + f64::MIN_POSITIVE;
        let target: Vec<f64> = free.iter().map(|&i| -slope[i]).collect();
        for _ in 0..SHIFTS {
            system.add_diagonal(shift);
            if let Some(factor) = Cholesky::new(&system) {
                let found = factor.solve(&target);
                if vector::all_finite(&found) {
                    let mut step = vec![0.0; slope.len()];
                    free.iter().zip(found).for_each(|(&i, d)| step[i] = d);
                    return Some(step);
                }
            }
            shift *= SHIFT_GROWTH;
        }
        None
    }

    /// `$g + Hd$`.
    fn slope_at(&self, at: &[f64]) -> Vec<f64> {
        let mut slope = self.matrix.mul_vec(at);
        vector::axpy(1.0, self.slope, &mut slope);
        slope
    }
}

/// The minimiser, or a point well below 0 on the way to it.
pub(super) fn minimise(program: &BoxProgram<'_>) -> Vec<f64> {
    let mut at = vec![0.0; program.slope.len()];
    let mut slope = program.slope.to_vec();
    let mut gained = 0.0_f64;
    for _ in 0..STEPS {
        let free = program.free(&at, &slope);
        if free.is_empty() {
            break;
        }
        let Some(step) = program.newton(&free, &slope) else { break };
        let Some((next, fall)) = descend(program, &at, &slope, &step) else { break };
        at = next;
        slope = program.slope_at(&at);
        gained += fall;
        if fall <= SMALL * gained {
            break;
        }
    }
    at
}

/// The first of the point one step on, half a step on, ..., moved into the box, that is low enough; and by how much.
fn descend(
    program: &BoxProgram<'_>,
    at: &[f64],
    slope: &[f64],
    step: &[f64],
) -> Option<(Vec<f64>, f64)> {
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let inside = |i: usize| (at[i] + length * step[i]).max(program.low[i]).min(program.high[i]);
        let next: Vec<f64> = (0..at.len()).map(inside).collect();
        let moved: Vec<f64> = next.iter().zip(at).map(|(a, b)| a - b).collect();
        let promised = -vector::dot(slope, &moved);
        let fall = promised - 0.5 * vector::dot(&moved, &program.matrix.mul_vec(&moved));
        if promised > 0.0 && fall >= SUFFICIENT * promised {
            return Some((next, fall));
        }
        length *= 0.5;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// At the answer every variable is at a minimum of its own: its slope is zero, or holds it at a bound.
        #[test]
        fn no_variable_can_do_better(
            entries in prop::collection::vec(-1.0..1.0_f64, 24),
            slope in prop::collection::vec(-3.0..3.0_f64, 4),
            low in prop::collection::vec(-2.0..=0.0_f64, 4),
            high in prop::collection::vec(0.0..=2.0_f64, 4),
        ) {
            let rows = Dense::from_rows(6, 4, entries);
            let mut matrix = rows.weighted_gram(&[1.0; 6]);
            matrix.add_diagonal(0.01);
            let program = BoxProgram { matrix: &matrix, slope: &slope, low: &low, high: &high };
            let at = minimise(&program);
            let end = program.slope_at(&at);
            for i in 0..4 {
                prop_assert!((low[i]..=high[i]).contains(&at[i]));
                let at_low = at[i] == low[i] && end[i] >= -1e-6;
                let at_high = at[i] == high[i] && end[i] <= 1e-6;
                prop_assert!(at_low || at_high || end[i].abs() <= 1e-5, "{at:?} {end:?}");
            }
        }
    }
}
