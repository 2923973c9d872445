//! The monotone descent of all pairs of planes, one step per pass.

use super::task::{Known, misplaced, ratio};
use crate::control::Control;
use crate::data::Dataset;
use crate::eigen::class_pairs::{Accuracy, ClassPairs, MONOTONE_ITERATIONS, MONOTONE_TOL, PairFit};
use crate::eigen::estimator::prepare;
use crate::eigen::majoriser::Majoriser;
use crate::eigen::moments::Moments;
use crate::eigen::monotone::minimise;
use crate::eigen::nominal::Plane;
use crate::eigen::problem::{Penalty, ScaledDiagonal};
use crate::eigen::robust::{RobustRegecParams, Xi, XiRule};
use crate::eigen::strategy::{self, NO_BETTER, PairPlanes, too_large};
use crate::eigen::units::PlaneUnits;
use crate::error::{Error, Result};
use crate::linalg::{Dense, TINY};
use crate::partitioned::Place;
use crate::partitioned::kernels::planes::{DistanceSums, PlaneQuestion, StepSums};
use crate::uncertainty::ellipsoid::{Ellipsoid, Ellipsoids};

/// How often ellipsoids that turn out too large for all rows are made smaller, and to what part.
const MOST_SHRINKS: usize = 8;
const SHRINK: f64 = 0.8;

/// All pairs of classes on their way to robust planes.
#[derive(Debug)]
pub(super) struct Descents {
    /// One scale for all columns, so that balls stay balls.
    units: PlaneUnits,
    /// The ellipsoid of every row, in the user's units and in these.
    outside: Ellipsoids,
    inside: Ellipsoids,
    xi: f64,
    tol: f64,
    max_iter: usize,
    pairs: Vec<Pair>,
    /// Worst-case ratios of the robust and the nominal plane of every pair, once all have come to rest.
    judged: Option<Vec<[f64; 2]>>,
}

/// The plane of one class against another.
#[derive(Debug)]
struct Pair {
    classes: (usize, usize),
    nominal: Plane,
    numerator: ScaledDiagonal,
    denominator: ScaledDiagonal,
    /// Part of the ellipsoids that counts.
    share: f64,
    /// What makes `share` less than 1 - xi.
    size: f64,
    shrinks: usize,
    /// Where the next pass looks.
    z: Vec<f64>,
    start: Vec<f64>,
    best: Option<Best>,
    steps: usize,
    rests: bool,
    stage: &'static str,
}

impl Pair {
    /// A pair that starts its descent at `z`, robust against whole ellipsoids.
    fn new(
        classes: (usize, usize),
        nominal: Plane,
        z: Vec<f64>,
        (penalty, units): (&Penalty, &PlaneUnits),
    ) -> Self {
        Self {
            classes,
            nominal,
            numerator: ScaledDiagonal::new(&penalty.numerator, units),
            denominator: ScaledDiagonal::new(&penalty.denominator, units),
            share: 1.0,
            size: 1.0,
            shrinks: 0,
            start: z.clone(),
            z,
            best: None,
            steps: 0,
            rests: false,
            stage: strategy::DESCENT,
        }
    }
}

/// The best plane so far.
#[derive(Debug)]
struct Best {
    z: Vec<f64>,
    ratio: f64,
    /// Whether it is better than the plane at infinity.
    useful: bool,
}

/// The planes that were chosen.
pub(super) struct Chosen {
    pairs: Vec<((usize, usize), Plane)>,
    pub ratios: Vec<f64>,
    pub warnings: Vec<String>,
    pub stages: Vec<String>,
}

impl Chosen {
    /// Planes of every class against every other, in the order of the other classes.
    pub(super) fn planes(&self, classes: usize) -> PairPlanes {
        let mut planes = vec![Vec::new(); classes];
        for ((own, _), plane) in &self.pairs {
            planes[*own].push(plane.clone());
        }
        planes
    }
}

/// What the sample says: xi, and for every pair a plane and the part of the ellipsoids that it is robust against.
fn learn(
    params: &RobustRegecParams,
    sample: Option<&Dataset>,
    reach: &[f64],
) -> Result<(f64, Option<Vec<PairFit>>)> {
    let control = Control::new();
    let sample = sample.and_then(|data| prepare(data).ok());
    let Some(data) = sample else {
        return match params.xi {
            Xi::Fixed(xi) => Ok((xi, None)),
            Xi::Rule(_) => Err(Error::BadData(
                "a class has fewer than two rows in the sample on which `xi` is chosen; give `xi` as a number".into(),
            )),
        };
    };
    let field = ClassPairs::new(params, &data, &data, &control)?;
    let at = |xi: f64| Ok((xi, Some(field.planes(xi, None, Accuracy::Final, &control)?)));
    match params.xi {
        Xi::Fixed(xi) => at(xi),
        Xi::Rule(XiRule::Auto) => field.auto(&control).map(|(xi, fits)| (xi, Some(fits))),
        Xi::Rule(XiRule::Cv) => {
            at(params.clone().check()?.cross_validate(&data, reach, &control)?)
        }
    }
}

/// Where the pair number `at` begins: where an interrupted fit was, or else at `plane`.
fn start(known: &Known, at: usize, units: &PlaneUnits, plane: &Plane) -> Vec<f64> {
    match known.resume.as_ref().and_then(|places| places.get(at)) {
        Some(place) => place.point.v.iter().copied().chain([place.point.b]).collect(),
        None => units.inside(&plane.w, plane.gamma),
    }
}

impl Descents {
    /// Starts every pair at the plane of the sample, or else at the nominal one.
    pub(super) fn new(
        params: &RobustRegecParams,
        known: &Known,
        moments: &Moments,
        planes: PairPlanes,
    ) -> Result<Self> {
        let p = moments.n_features();
        let outside = Ellipsoids::shared(Ellipsoid::new(&params.uncertainty, p)?, p);
        let (xi, fits) = learn(params, known.sample.as_ref(), &known.reach)?;
        let units = known.units.clone().isotropic();
        let inside = outside.clone().scaled(1.0 / units.scale[0]);
        let classes = planes.len();
        let order =
            (0..classes).flat_map(|a| (0..classes).filter(move |b| *b != a).map(move |b| (a, b)));
        let certain = outside.row(0).is_zero() || xi >= 1.0;
        let mut pairs = Vec::with_capacity(classes * (classes - 1));
        for (at, (classes, nominal)) in order.zip(planes.into_iter().flatten()).enumerate() {
            let fit = fits.as_ref().map(|fits| &fits[at]);
            let size = fit.and_then(|fit| fit.works).unwrap_or(1.0);
            let z = start(known, at, &units, fit.map_or(&nominal, |fit| &fit.plane));
            let (own, other) = (moments.diagonal(classes.0), moments.diagonal(classes.1));
            let penalty = Penalty::new(params.regularization, params.delta, &own, &other);
            let mut pair = Pair::new(classes, nominal, z, (&penalty, &units));
            pair.size = size;
            pair.share = (1.0 - xi) * size;
            if certain {
                pair.stage = strategy::NOMINAL;
            }
            pair.rests = certain || size == 0.0;
            pairs.push(pair);
        }
        let tol = params.tol.unwrap_or(MONOTONE_TOL);
        let max_iter = params.max_iter.unwrap_or(MONOTONE_ITERATIONS);
        Ok(Self { units, outside, inside, xi, tol, max_iter, pairs, judged: None })
    }

    pub(super) fn units(&self) -> &PlaneUnits {
        &self.units
    }

    pub(super) fn xi(&self) -> f64 {
        self.xi
    }

    /// `$\rho(w)$` in the user's units.
    pub(super) fn support(&self, w: &[f64]) -> f64 {
        self.outside.row(0).support(w)
    }

    /// Where every pair is.
    pub(super) fn places(&self) -> Vec<Place> {
        let place = |pair: &Pair| {
            let z = pair.best.as_ref().map_or(&pair.z, |best| &best.z);
            let (b, v) = z.split_last().map_or((0.0, Vec::new()), |(b, v)| (*b, v.to_vec()));
            Place::at(v, b)
        };
        self.pairs.iter().map(place).collect()
    }

    fn settled(&self) -> bool {
        self.pairs.iter().all(|pair| pair.rests)
    }

    /// What the next pass should look at: steps while any pair moves, then the planes that compete.
    pub(super) fn questions(&self) -> Vec<PlaneQuestion> {
        let ask = |pair: &Pair, plane: Vec<f64>, share: f64, step: bool| PlaneQuestion {
            reach: share * self.inside.row(0).support(&plane[..plane.len() - 1]),
            plane,
            own: pair.classes.0,
            other: Some(pair.classes.1),
            step,
        };
        if !self.settled() {
            let open = self.pairs.iter().filter(|pair| !pair.rests);
            return open.map(|pair| ask(pair, pair.z.clone(), pair.share, true)).collect();
        }
        let both = |pair: &Pair| {
            let nominal = self.units.inside(&pair.nominal.w, pair.nominal.gamma);
            let robust = pair.best.as_ref().map_or_else(|| nominal.clone(), |best| best.z.clone());
            [robust, nominal].map(|plane| ask(pair, plane, 1.0, false))
        };
        self.pairs.iter().flat_map(both).collect()
    }

    pub(super) fn absorb(&mut self, sums: &[DistanceSums]) -> Result<()> {
        if self.settled() {
            let pairs = sums.chunks_exact(2).map(|both| Ok([ratio(&both[0])?, ratio(&both[1])?]));
            self.judged = Some(pairs.collect::<Result<_>>()?);
            return Ok(());
        }
        let (tol, max_iter) = (self.tol, self.max_iter);
        let mut sums = sums.iter();
        for pair in self.pairs.iter_mut().filter(|pair| !pair.rests) {
            let sums = sums.next().ok_or_else(misplaced)?;
            pair.absorb(sums, &self.inside, (tol, max_iter));
        }
        Ok(())
    }

    /// The better of the robust and the nominal plane of every pair; `None` until both were judged.
    pub(super) fn chosen(&self) -> Option<Chosen> {
        let judged = self.judged.as_ref()?;
        let mut chosen = Chosen {
            pairs: Vec::new(),
            ratios: Vec::new(),
            warnings: Vec::new(),
            stages: Vec::new(),
        };
        for (pair, [robust, nominal]) in self.pairs.iter().zip(judged) {
            let found = pair.best.as_ref().and_then(|best| {
                let (w, gamma) = self.units.outside(&best.z)?;
                Some(Plane { w, gamma, quotient: best.ratio })
            });
            let (plane, ratio) = match found {
                Some(plane) if robust <= nominal => (plane, *robust),
                _ => (pair.nominal.clone(), *nominal),
            };
            if pair.size < 1.0 {
                chosen.warnings.push(too_large(pair.classes, pair.size));
            }
            if !chosen.stages.iter().any(|stage| stage == pair.stage) {
                chosen.stages.push(pair.stage.into());
            }
            chosen.pairs.push((pair.classes, plane));
            chosen.ratios.push(ratio);
        }
        Some(chosen)
    }
}

impl Pair {
    /// Takes the sums at `z` in: the ratio there, and the next plane.
    fn absorb(&mut self, sums: &DistanceSums, inside: &Ellipsoids, (tol, max_iter): (f64, usize)) {
        self.steps += 1;
        let bottom = sums.bottom + self.denominator.value(&self.z);
        let found = (sums.top + self.numerator.value(&self.z)) / bottom;
        let last = self.best.as_ref().map_or(f64::INFINITY, |best| best.ratio);
        let better = bottom > 0.0 && found < last;
        if better {
            let infinity = sums.weights[0] / sums.weights[1];
            let useful = sums.bottom > 0.0 && sums.top / sums.bottom < infinity * (1.0 - NO_BETTER);
            self.best = Some(Best { z: self.z.clone(), ratio: found, useful });
        }
        let fell = better && found <= last * (1.0 - tol) && self.steps < max_iter;
        let next = sums.step.as_ref().filter(|_| fell).and_then(|s| self.step(s, bottom, inside));
        match next {
            Some(next) => self.z = next,
            None if self.best.as_ref().is_some_and(|best| best.useful) => self.rests = true,
            None => self.shrink(),
        }
    }

    /// Where the plane at infinity is best, ellipsoids that are smaller; at last none.
    fn shrink(&mut self) {
        self.shrinks += 1;
        self.best = None;
        self.stage = strategy::SMALLER_ELLIPSOIDS;
        self.steps = 0;
        if self.shrinks > MOST_SHRINKS {
            (self.size, self.share, self.rests) = (0.0, 0.0, true);
            return;
        }
        self.size *= SHRINK;
        self.share *= SHRINK;
        self.z.clone_from(&self.start);
    }

    /// The minimiser of the majorised problem, as in memory but from sums.
    fn step(&self, sums: &StepSums, bottom: f64, inside: &Ellipsoids) -> Option<Vec<f64>> {
        let scale = bottom.sqrt();
        let z: Vec<f64> = self.z.iter().map(|v| v / scale).collect();
        let share = self.share * self.share;
        let spread = |weight: f64, out: &mut Dense| {
            inside.weighted_sum(&[0], &[share * weight]).add_to(1.0, out);
        };
        let mut numerator = sums.gram.0.clone();
        spread(sums.own_spread, &mut numerator);
        self.numerator.add_to(&mut numerator);
        let mut curvature = Dense::zeros(z.len(), z.len());
        spread(sums.other_spread, &mut curvature);
        let mut slope: Vec<f64> = sums.slope.iter().map(|v| v / scale).collect();
        self.denominator.add_product(1.0, &z, &mut slope);
        let form = Majoriser::Tall { numerator, curvature };
        let start = 1.0 / form.numerator(&z).max(TINY);
        minimise(&form, &slope, sums.constant / bottom, start)
    }
}
