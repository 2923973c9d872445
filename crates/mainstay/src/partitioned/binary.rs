//! One binary problem on its way to a proven gap: what to ask next, and what the answer means.

use super::ask::{BACKTRACK, Backtrack, Counting, Point, Question};
use super::certificate::certify;
use super::message::Sums;
use super::near_rows::finish;
use super::newton_step::{Damping, Expansion, Step, newton_step};
use super::problem::Problem;
use super::wire::wire;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::linalg::{Dense, vector};
use crate::loss::Loss;

/// Near rows that a driver takes, per column and at least.
const NEAR_PER_COLUMN: usize = 200;
const NEAR_LEAST: usize = 20_000;
/// Rows on the threshold per column below which they are sent as they are.
const FEW_PER_COLUMN: f64 = 30.0;
/// How often the threshold may come back to zero before its smoothing stays.
const MOST_RETURNS: usize = 3;

/// What is known before the problem is solved.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub problem: Problem,
    /// Rows of this class are positive.
    pub positive: usize,
    /// Proven gap to reach.
    pub tol: f64,
    /// Most passes.
    pub passes: usize,
}

/// The point before a step, as far as the step is judged by it.
#[derive(Debug, Clone)]
struct Before {
    value: f64,
    fall: f64,
    width: f64,
    step: Point,
}

/// Where a fit is: all that a checkpoint must hold of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub point: Point,
    pub width: f64,
    pub positive_only: bool,
}

wire!(Place { point, width, positive_only });

impl Place {
    /// A place that is a point alone.
    pub(crate) fn at(v: Vec<f64>, b: f64) -> Self {
        Self { point: Point { v, b, theta: 0.0 }, width: 1.0, positive_only: false }
    }
}

/// One binary problem under way.
#[derive(Debug, Clone)]
pub(super) struct Binary {
    setting: Setting,
    place: Place,
    before: Option<Before>,
    near: Option<f64>,
    best: Option<Point>,
    /// Point and width whose shares prove the bound.
    proof: Option<(Point, f64)>,
    certificate: Certificate,
    returns: usize,
    spent: usize,
    fixed_width: bool,
    done: bool,
}

impl Binary {
    /// Starts at `place`.
    pub(super) fn new(setting: Setting, place: Place) -> Self {
        Self {
            setting,
            place,
            before: None,
            near: None,
            best: None,
            proof: None,
            certificate: Certificate { primal: f64::INFINITY, dual: 0.0 },
            returns: 0,
            spent: 0,
            fixed_width: false,
            done: false,
        }
    }

    /// The same for the smoothed problem itself: its width stays.
    pub(super) fn with_fixed_width(setting: Setting, place: Place) -> Self {
        Self { fixed_width: true, ..Self::new(setting, place) }
    }

    /// Zero weights, and a smoothing so wide that every row bends.
    pub(super) fn zero(p: usize) -> Place {
        let point = Point { v: vec![0.0; p], ..Point::default() };
        Place { point, width: 4.0, positive_only: false }
    }

    /// Whether nothing is left to ask.
    pub(super) fn done(&self) -> bool {
        self.done
    }

    /// The best point so far; zero before the first pass.
    pub(super) fn point(&self) -> &Point {
        self.best.as_ref().unwrap_or(&self.place.point)
    }

    /// Point and width of the smoothing whose shares prove the best bound; none before the first pass.
    pub(super) fn proof(&self) -> Option<&(Point, f64)> {
        self.proof.as_ref()
    }

    /// The best bounds so far.
    pub(super) fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// Where a fit that starts again would go on.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// How rows count at the present point.
    pub(super) fn counting(&self) -> Counting {
        let usual = self.setting.problem.counting();
        let positive = usual == Counting::Above && self.place.positive_only;
        if positive { Counting::Positive } else { usual }
    }

    /// What to ask in the next pass.
    pub(super) fn question(&self) -> Question {
        let back = self.before.as_ref();
        Question {
            positive: self.setting.positive,
            loss: self.setting.problem.loss,
            counting: self.counting(),
            point: self.place.point.clone(),
            width: self.place.width,
            back: back.map(|b| Backtrack { step: b.step.clone(), width: b.width }),
            near: self.near,
        }
    }

    /// Takes the answer to [`Binary::question`] in; `gram` is the mean of $(z, 1)(z, 1)^\top$.
    pub(super) fn absorb(&mut self, sums: &Sums, gram: &Dense) -> Result<()> {
        self.spent += 1;
        let found = certify(&self.setting.problem, &self.place.point, sums);
        if !found.primal.is_finite() {
            let text = "a partitioned fit left the range of floating point; rescale the features";
            return Err(Error::Numerical(text.into()));
        }
        // A bound once proven stays proven.
        if found.dual > self.certificate.dual {
            self.certificate.dual = found.dual;
            self.proof = Some((self.place.point.clone(), self.place.width));
        }
        if found.primal < self.certificate.primal {
            self.certificate.primal = found.primal;
            self.best = Some(self.place.point.clone());
        }
        if self.certificate.gap() <= self.setting.tol || self.spent >= self.setting.passes {
            self.done = true;
            return Ok(());
        }
        if !self.step_back(sums) {
            self.advance(sums, gram);
        }
        Ok(())
    }

    /// Undoes part of a step that was too long; whether it was.
    fn step_back(&mut self, sums: &Sums) -> bool {
        let problem = &self.setting.problem;
        let Some(before) = self.before.take() else { return false };
        let here = problem.apart(&self.place.point) + problem.scale * sums.value_before;
        let enough = before.value - 1e-4 * before.fall + 1e-12 * before.value.abs();
        if here <= enough {
            return false;
        }
        let value = |i: usize| {
            let point = self.place.point.moved(&before.step, -BACKTRACK[i]);
            problem.apart(&point) + problem.scale * sums.back[i]
        };
        let values: [f64; BACKTRACK.len()] = std::array::from_fn(value);
        let lowest = (0..BACKTRACK.len()).fold(0, |a, b| if values[b] < values[a] { b } else { a });
        let part = if values[lowest] < before.value { BACKTRACK[lowest] } else { 0.99 };
        if values[lowest] >= here && here <= before.value {
            return false;
        }
        self.place.point = self.place.point.moved(&before.step, -part);
        self.place.width = before.width;
        let left = |d: f64| (1.0 - part) * d;
        let step = Point {
            v: before.step.v.iter().map(|d| left(*d)).collect(),
            b: left(before.step.b),
            theta: left(before.step.theta),
        };
        self.before = Some(Before { step, ..before });
        self.near = None;
        true
    }

    /// The next point.
    fn advance(&mut self, sums: &Sums, gram: &Dense) {
        let scale = self.certificate.primal.abs().max(1.0);
        if self.leave_zero(sums) {
            return;
        }
        if let Some(rows) = &sums.near {
            let goal = (self.place.width, self.setting.tol, scale);
            let end = finish(&self.setting.problem, &self.place.point, rows, gram, goal);
            let mut moved: Vec<f64> =
                end.point.v.iter().zip(&self.place.point.v).map(|(a, b)| a - b).collect();
            moved.push(end.point.b - self.place.point.b);
            let still = moved.iter().all(|d| *d == 0.0) && end.width == self.place.width;
            // The next pass both checks this answer and collects anew.
            self.near = (!still).then(|| (4.0 * rms(&moved, gram)).max(3.0 * end.width));
            self.place = Place { point: end.point, width: end.width, positive_only: false };
            return;
        }
        let step = self.newton(sums, gram);
        self.take(sums, &step, gram, scale);
    }

    /// A squared hinge whose threshold is zero needs no smoothing, unless more than `k` rows have a loss.
    fn leave_zero(&mut self, sums: &Sums) -> bool {
        let problem = &self.setting.problem;
        if self.counting() == Counting::Positive && sums.share > problem.k * (1.0 + 1e-12) {
            self.place.positive_only = false;
            self.returns += 1;
            self.near = None;
            return true;
        }
        false
    }

    fn newton(&self, sums: &Sums, gram: &Dense) -> Step {
        let problem = &self.setting.problem;
        let [plus, minus] = &sums.sides;
        let mut slope: Vec<f64> =
            plus.pulled.iter().zip(&minus.pulled).map(|(a, b)| a + b).collect();
        slope.push(minus.pull - plus.pull);
        let p = self.place.point.v.len();
        let none = (Dense::zeros(p + 1, p + 1), vec![0.0; p + 1]);
        let (curvature, cross, threshold) = match &sums.curvature {
            Some(c) => (&c.matrix.0, &c.cross, c.threshold),
            None => (&none.0, &none.1, 0.0),
        };
        // Nothing holds the weights where no row is on the threshold: hold them as if some were.
        let loose = problem.loss == Loss::Hinge && sums.band < 2.0 * p as f64;
        let strength =
            if loose { 0.25 * problem.scale * problem.total / self.place.width } else { 0.0 };
        let expansion = Expansion { curvature, cross, threshold, slope, share: sums.share };
        newton_step(problem, &self.place.point, &expansion, Damping { strength, gram })
    }

    /// Goes a step on and chooses the next width, and whether near rows are worth asking for.
    fn take(&mut self, sums: &Sums, step: &Step, gram: &Dense, scale: f64) {
        let problem = &self.setting.problem;
        let width = self.place.width;
        let mut moved = step.to.v.clone();
        moved.push(step.to.b);
        let reach = rms(&moved, gram);
        let value = problem.apart(&self.place.point) + problem.scale * sums.value;
        let next = self.place.point.moved(&step.to, 1.0);
        let mut narrow = width;
        self.near = None;
        if self.counting() == Counting::Above && !self.fixed_width {
            let open = problem.scale * sums.open;
            let tol = self.setting.tol;
            // What smoothing leaves open falls with the square of its width.
            let wanted = width * (0.25 * tol * scale / open.max(f64::MIN_POSITIVE)).sqrt();
            if step.fall <= 4.0 * open {
                narrow = width.min(wanted.max(0.2 * width).max(0.5 * reach));
            }
            let p = self.place.point.v.len();
            let within = (4.0 * reach).max(2.0 * narrow);
            let count = sums.band * 2.0 * within / width;
            let cap = NEAR_LEAST.max(NEAR_PER_COLUMN * p) as f64;
            let few = sums.band * narrow / width < FEW_PER_COLUMN * p as f64;
            self.near = (count <= cap && few && reach < 4.0 * width).then_some(within);
        }
        let still = moved.iter().all(|d| *d == 0.0) && step.to.theta == 0.0 && narrow == width;
        let on_bound = problem.worst
            && problem.loss == Loss::SquaredHinge
            && next.theta == 0.0
            && self.returns < MOST_RETURNS;
        let changes = on_bound != self.place.positive_only;
        self.done = still && !changes && self.near.is_none();
        self.before =
            (!changes).then(|| Before { value, fall: step.fall, width, step: step.to.clone() });
        if changes {
            self.near = None;
        }
        self.place = Place { point: next, width: narrow, positive_only: on_bound };
    }
}

/// Root mean square change of a score for a change of weights and intercept.
fn rms(moved: &[f64], gram: &Dense) -> f64 {
    vector::dot(moved, &gram.mul_vec(moved)).max(0.0).sqrt()
}
