//! The probability that a label is wrong, averaged over all curves of labels that the rows leave possible.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::flips::{Flips, Parameters, RateRule, Rows, deviation, rate, sigmoid};
use super::slope::SlopePrior;
use crate::error::Result;
use crate::folds::generator;
use crate::linalg::{Dense, SymmetricEigen};

/// Rows beyond which the most likely curve stands for all: what else is possible differs little from it.
const MANY_ROWS: usize = 2_000;
/// Curves drawn.
const DRAWS: usize = 200;
/// Degrees of freedom of the drawing distribution, whose tails must be heavier than those of the posterior.
const FREEDOM: usize = 4;
/// It is wider than the curvature at the mode says by this factor: rates near zero have a long tail upwards.
const WIDER: f64 = 1.2;
/// Keeps directions of which the rows say nothing within reach.
const LIFT: f64 = 1e-6;
/// Share of the rows of each class that are odd without being labelled wrongly: all that is known of them speaks for the
/// other class. So no score is proof of a wrong label. Chosen by reliability on planted flips in seven small sets
/// (docs/decisions/0090-how-sure-an-audit-is.md).
pub(super) const ODD: f64 = 0.05;

/// What may be held of rows far on the wrong side. Labels alone do not tell which is true, so that what is said of their number
/// has to hold by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Story {
    /// Some are odd without being labelled wrongly ([`ODD`]).
    SomeOdd,
    /// None is odd: where all speaks for the other class, the label is wrong.
    NoneOdd,
}

impl Story {
    pub(super) const BOTH: [Self; 2] = [Self::SomeOdd, Self::NoneOdd];
}

/// What odd rows make of the two far ends of the scores, by Bayes: the share of positive rows at the negative end and of
/// negative rows at the positive end. Where one class is rare, rows that look like it are often odd rows of the other; some
/// room is left between the ends, so that a higher score never speaks for the lower class.
///
/// Of two classes, at least one row in twenty is odd at either end. More classes have a column each, where only labels of that
/// class are judged: among the many rows that look like another class, few are odd ones of it.
pub(super) fn odd_ends(positive: &[bool], columns: usize) -> [f64; 2] {
    let count = positive.iter().filter(|p| **p).count() as f64;
    let share = count / positive.len().max(1) as f64;
    let strangers = |own: f64| {
        let odd = ODD * (1.0 - own);
        odd / (odd + (1.0 - ODD) * own)
    };
    let least = if columns == 1 { ODD } else { 0.0 };
    [strangers(1.0 - share), strangers(share)].map(|end| end.clamp(least, 1.0 - 2.0 * ODD))
}

/// Curves with their weights, in scores of unit deviation.
pub(super) struct Posterior {
    unit: f64,
    odd: [f64; 2],
    draws: Vec<Draw>,
}

struct Draw {
    rates: [f64; 2],
    slope: f64,
    offset: f64,
    weight: f64,
}

impl Posterior {
    /// Curves around the most likely one `mode`; of many rows that one alone.
    pub(super) fn new(
        mode: &Flips,
        slope: SlopePrior,
        scores: &[f64],
        (positive, columns): (&[bool], usize),
    ) -> Result<Self> {
        if scores.len() > MANY_ROWS {
            let (unit, odd) = (deviation(scores), odd_ends(positive, columns));
            return Ok(Self { unit, odd, draws: vec![Draw::new(mode.point(unit), 1.0)] });
        }
        Self::all(mode, slope, scores, (positive, columns))
    }

    /// Curves around the most likely one, weighted by likelihood and prior over the density they were drawn from.
    pub(super) fn all(
        mode: &Flips,
        slope: SlopePrior,
        scores: &[f64],
        (positive, columns): (&[bool], usize),
    ) -> Result<Self> {
        let unit = deviation(scores);
        let at = mode.point(unit);
        let scores = scores.iter().map(|s| s / unit).collect();
        let rows =
            Rows { scores, positive, counts: None, slope, rates: RateRule::Few, odd: [0.0; 2] };
        let (_, _, mut information) = rows.expand(&at);
        information.add_diagonal(LIFT);
        let eigen = SymmetricEigen::new(&information)?;
        // The same draws for the same rows, whoever asks.
        let mut rng = generator(0);
        let drawn: Vec<(Parameters, f64)> = (0..DRAWS)
            .map(|_| {
                let (point, density) = far_tailed(&at, &eigen.values, &eigen.vectors, &mut rng);
                (point, -rows.expand(&point).0 + of_logits(&point) - density)
            })
            .collect();
        let most = drawn.iter().map(|(_, l)| *l).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = drawn.iter().map(|(_, l)| (l - most).exp()).sum();
        let draws = drawn.iter().map(|(at, l)| Draw::new(*at, (l - most).exp() / total)).collect();
        Ok(Self { unit, odd: odd_ends(positive, columns), draws })
    }

    /// The probability that the label of a row with this score is wrong, by one of the stories.
    pub(super) fn wrong(&self, story: Story, score: f64, positive: bool) -> f64 {
        let (at, odd) = (score / self.unit, self.ends(story));
        self.draws.iter().map(|d| d.weight * d.wrong(at, positive, odd)).sum()
    }

    fn ends(&self, story: Story) -> [f64; 2] {
        match story {
            Story::SomeOdd => self.odd,
            Story::NoneOdd => [0.0; 2],
        }
    }

    /// By one of the curves, the one at the quantile `at` of their weights, the probability that a label is wrong.
    pub(super) fn one_curve(&self, story: Story, at: f64) -> impl Fn(f64, bool) -> f64 + '_ {
        let mut left = at;
        let drawn = self.draws.iter().find(|d| {
            left -= d.weight;
            left < 0.0
        });
        let drawn = drawn.or(self.draws.last());
        let odd = self.ends(story);
        move |score, positive| drawn.map_or(0.0, |d| d.wrong(score / self.unit, positive, odd))
    }
}

/// A draw of Student's distribution around `at`, and the logarithm of its density up to a constant.
fn far_tailed(
    at: &Parameters,
    values: &[f64],
    vectors: &Dense,
    rng: &mut impl Rng,
) -> (Parameters, f64) {
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let z: [f64; 4] = std::array::from_fn(|_| normal());
    let spread: f64 = (0..FREEDOM).map(|_| normal().powi(2)).sum::<f64>() / FREEDOM as f64;
    let stretch = WIDER / spread.max(f64::MIN_POSITIVE).sqrt();
    let mut point = *at;
    for (j, p) in point.iter_mut().enumerate() {
        let along = |k: usize| vectors[(j, k)] * z[k] / values[k].max(LIFT).sqrt();
        *p = (*p + stretch * (0..4).map(along).sum::<f64>()).clamp(-30.0, 30.0);
    }
    let far = z.iter().map(|z| z * z).sum::<f64>() / spread.max(f64::MIN_POSITIVE);
    let freedom = FREEDOM as f64;
    (point, -0.5 * (freedom + 4.0) * (far / freedom).ln_1p())
}

/// The prior is one of the rates; what is drawn are their logits.
fn of_logits(point: &Parameters) -> f64 {
    point[..2].iter().map(|t| (rate(*t) * (1.0 - sigmoid(*t))).max(f64::MIN_POSITIVE).ln()).sum()
}

impl Draw {
    fn new(at: Parameters, weight: f64) -> Self {
        let slope = at[2].min(60.0).exp();
        Self { rates: [rate(at[0]), rate(at[1])], slope, offset: at[3], weight }
    }

    fn wrong(&self, score: f64, positive: bool, odd: [f64; 2]) -> f64 {
        let p = odd[0] + (1.0 - odd[0] - odd[1]) * sigmoid(self.slope * score + self.offset);
        let [r0, r1] = self.rates;
        let (wrong, right) = if positive {
            (r0 * (1.0 - p), (1.0 - r1) * p)
        } else {
            (r1 * p, (1.0 - r0) * (1.0 - p))
        };
        wrong / (wrong + right)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slope::USUAL;
    use super::*;
    use rand::RngExt;

    /// Of 1,000 rows, 100 are of the rare class and 45 of the larger one look like it, beside 95 of its own.
    #[test]
    fn odd_rows_are_many_among_those_that_look_like_a_rare_class() {
        let labels = |rare: usize| -> Vec<bool> { (0..1000).map(|i| i < rare).collect() };
        assert_eq!(odd_ends(&labels(500), 1), [ODD, ODD]);
        let [low, high] = odd_ends(&labels(100), 1);
        assert_eq!(low, ODD);
        assert!((high - 45.0 / 140.0).abs() < 1e-12);
        // The other class rare: the same, from the other end.
        let [other_low, other_high] = odd_ends(&labels(900), 1);
        assert!((other_low - high).abs() < 1e-12 && other_high == ODD);
        for rare in [0, 1, 2, 5, 998, 999, 1000] {
            for columns in [1, 3] {
                let ends = odd_ends(&labels(rare), columns);
                assert!(ends.iter().sum::<f64>() < 1.0, "{rare} rows: {ends:?}");
            }
        }
        // One class of ten: 5 of its rows are odd, among 860 that look like the others.
        assert!((odd_ends(&labels(100), 10)[0] - 5.0 / 860.0).abs() < 1e-12);
    }

    /// Rows drawn from the curve itself with odd rows among them, many small samples: of the labels that are said to be wrong
    /// with some probability about that share is. The most likely curve alone is too sure of the labels that it believes.
    #[test]
    fn what_is_said_of_few_rows_holds_of_about_as_many() {
        let (mut said, mut plain, mut truth) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        for seed in 0..60 {
            let mut rng = generator(seed);
            let (mut scores, mut labels, mut flipped) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..70 {
                let s = rng.random_range(-4.0..4.0);
                let p = ODD + (1.0 - 2.0 * ODD) * sigmoid(2.0 * s);
                let class = rng.random_range(0.0..1.0) < p;
                let wrong = rng.random_range(0.0..1.0) < 0.1;
                scores.push(s);
                labels.push(class != wrong);
                flipped.push(wrong);
            }
            let mode = Flips::fit(&scores, &labels, None).unwrap();
            let all = Posterior::new(&mode, USUAL, &scores, (&labels, 1)).unwrap();
            for i in 0..70 {
                let q = all.wrong(Story::SomeOdd, scores[i], labels[i]);
                let bin = usize::from(q >= 0.5);
                said[bin] += q;
                plain[bin] += mode.wrong(scores[i], labels[i]);
                truth[bin] += f64::from(u8::from(flipped[i]));
            }
        }
        // A hundred and more wrong labels in each bin: a standard error is below a tenth of them.
        for bin in 0..2 {
            let off = (said[bin] - truth[bin]).abs();
            assert!(off <= 0.35 * truth[bin], "{said:?} {truth:?}");
        }
        assert!(plain[0] < 0.6 * truth[0], "{plain:?} {truth:?}");
    }

    /// No score is proof: at the far end the odds are those of a wrong label on a usual row and a right one on an odd row.
    #[test]
    fn the_odds_of_the_farthest_row_are_bounded() {
        let scores: Vec<f64> = (0..400).map(|i| f64::from(i % 40) - 19.5).collect();
        let labels: Vec<bool> = scores.iter().map(|s| *s > 0.0).collect();
        let mode = Flips::fit(&scores, &labels, None).unwrap();
        let all = Posterior::new(&mode, USUAL, &scores, (&labels, 1)).unwrap();
        let worst = all.draws.iter().map(|d| d.rates[0]).fold(0.0, f64::max);
        let most = worst * (1.0 - ODD) / (worst * (1.0 - ODD) + (1.0 - 0.49) * ODD);
        let farthest = all.wrong(Story::SomeOdd, -1e6, true);
        assert!(farthest <= most, "{farthest} {most}");
        assert!(all.wrong(Story::SomeOdd, 1e6, true) < 0.05);
        // Without odd rows it is.
        assert!(all.wrong(Story::NoneOdd, -1e6, true) > 1.0 - 1e-9);
    }
}
