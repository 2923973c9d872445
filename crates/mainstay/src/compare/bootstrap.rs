//! Intervals over repeated splits by the paired bootstrap.

use rand::RngExt;

use super::outcome::Interval;
use crate::folds::generator;
use crate::metrics::{NORMAL, quantile, student};

/// How many times the repeats are drawn anew.
const DRAWS: usize = 2000;

/// The same redraws of the repeats for every quantity: differences of methods stay paired.
///
/// Repeats split the same rows over and over, so they agree more than new data would. Deviations of a redrawn mean
/// from the mean are therefore widened by `$\sqrt{(1 + R\rho)\,R/(R-1)}\;t_{R-1}/z$` for `$R$` repeats, `$\rho$` being the size of a test
/// set over that of a training set: the correction of Nadeau and Bengio (2003, *Inference for the generalization
/// error*, Machine Learning 52) for the variance of overlapping splits, the bias of a bootstrap variance, and the
/// quantile of Student's distribution over the normal one: two repeats prove little.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    draws: Vec<Vec<usize>>,
    widen: f64,
}

impl Bootstrap {
    /// For `repeats` splits; `ratio` is the size of a test set over that of a training set.
    pub fn new(repeats: usize, ratio: f64, seed: u64) -> Self {
        let mut rng = generator(seed);
        let mut draw = || (0..repeats).map(|_| rng.random_range(0..repeats)).collect();
        let draws = if repeats > 1 { (0..DRAWS).map(|_| draw()).collect() } else { Vec::new() };
        let r = repeats as f64;
        let variance = (1.0 + r * ratio) * r / (r - 1.0);
        let widen = if repeats > 1 { variance.sqrt() * student(repeats - 1) / NORMAL } else { 1.0 };
        Self { draws, widen }
    }

    /// Deviations of the redrawn means from the mean, widened. Repeats without a number are left out.
    pub fn deviations(&self, values: &[Option<f64>]) -> Option<(f64, Vec<f64>)> {
        let centre = mean(values.iter().copied())?;
        let deviation = |draw: &Vec<usize>| {
            let redrawn = mean(draw.iter().map(|&r| values[r]));
            redrawn.map_or(0.0, |m| self.widen * (m - centre))
        };
        Some((centre, self.draws.iter().map(deviation).collect()))
    }

    /// Mean and 95 % interval; a single repeat gives no width.
    pub fn interval(&self, values: &[Option<f64>]) -> Option<Interval> {
        let (mean, mut deviations) = self.deviations(values)?;
        if deviations.is_empty() {
            return Some(Interval { mean, low: mean, high: mean });
        }
        deviations.sort_by(f64::total_cmp);
        let low = mean + quantile(&deviations, 0.025)?;
        Some(Interval { mean, low, high: mean + quantile(&deviations, 0.975)? })
    }

    /// Lower bounds that hold for all of `gains` together with 95 % confidence: the largest standardised
    /// deviation over all of them decides how far each is lowered. One repeat alone proves nothing.
    pub fn joint_lower(&self, gains: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
        let found: Vec<Option<(f64, Vec<f64>, f64)>> = gains
            .iter()
            .map(|values| {
                let (mean, deviations) = self.deviations(values)?;
                let squares: f64 = deviations.iter().map(|d| d * d).sum();
                let spread = (squares / deviations.len().max(1) as f64).sqrt();
                Some((mean, deviations, spread))
            })
            .collect();
        let mut largest: Vec<f64> = (0..self.draws.len())
            .map(|b| {
                let each = found.iter().flatten().filter(|(_, _, spread)| *spread > 0.0);
                each.map(|(_, d, spread)| d[b] / spread).fold(0.0, f64::max)
            })
            .collect();
        largest.sort_by(f64::total_cmp);
        let reach = quantile(&largest, 0.95).unwrap_or(0.0);
        let lower = |values: &[Option<f64>], mean: f64, spread: f64| {
            let repeated = values.iter().flatten().count() > 1;
            if repeated { mean - reach * spread } else { f64::NEG_INFINITY }
        };
        let both = gains.iter().zip(&found);
        both.map(|(values, f)| f.as_ref().map(|(mean, _, spread)| lower(values, *mean, *spread)))
            .collect()
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values.flatten() {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the normal approximation: 200 repeats of 0 and 1, ratio 0, have a mean of 1/2 with deviation
    /// 1/2 / sqrt(199).
    #[test]
    fn many_repeats_give_the_normal_interval() {
        let values: Vec<Option<f64>> = (0..200).map(|i| Some(f64::from(i % 2))).collect();
        let found = Bootstrap::new(200, 0.0, 3).interval(&values).unwrap();
        let half = 1.96 * 0.5 / 199.0_f64.sqrt();
        assert_eq!(found.mean, 0.5);
        // 2000 draws: the quantiles themselves are uncertain by a few per cent.
        assert!((found.high - 0.5 - half).abs() < 0.15 * half, "{found:?}");
        assert!((0.5 - found.low - half).abs() < 0.15 * half, "{found:?}");
        let wide = Bootstrap::new(200, 0.5, 3).interval(&values).unwrap();
        let factor = (wide.high - 0.5) / (found.high - 0.5);
        assert!((factor - 101.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn absent_repeats_are_left_out_and_one_repeat_has_no_width() {
        let few = [Some(0.2), None, Some(0.4), None];
        let found = Bootstrap::new(4, 0.5, 0).interval(&few).unwrap();
        assert!((found.mean - 0.3).abs() < 1e-15 && found.low < 0.3 && found.high > 0.3);
        assert_eq!(Bootstrap::new(4, 0.5, 0).interval(&[None; 4]), None);
        let one = Bootstrap::new(1, 0.5, 0).interval(&[Some(0.7)]).unwrap();
        assert_eq!((one.low, one.high), (0.7, 0.7));
    }

    #[test]
    fn joint_bounds_are_lower_than_single_ones() {
        let gains: Vec<Vec<Option<f64>>> = (0..6_u64)
            .map(|k| {
                let mut rng = generator(k);
                (0..12).map(|_| Some(0.1 + 0.05 * rng.random_range(-1.0..1.0))).collect()
            })
            .collect();
        let bootstrap = Bootstrap::new(12, 0.5, 1);
        let joint = bootstrap.joint_lower(&gains);
        for (values, bound) in gains.iter().zip(&joint) {
            let single = bootstrap.joint_lower(std::slice::from_ref(values))[0].unwrap();
            assert!(bound.unwrap() < single);
        }
        // A gain without any spread is as sure as it can be.
        assert_eq!(bootstrap.joint_lower(&[vec![Some(0.125); 12]]), [Some(0.125)]);
        // One that was seen in a single repeat is not.
        let mut once = vec![None; 12];
        once[3] = Some(0.125);
        assert_eq!(bootstrap.joint_lower(&[once]), [Some(f64::NEG_INFINITY)]);
    }
}
