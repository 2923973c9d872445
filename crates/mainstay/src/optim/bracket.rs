//! The best primal and the best dual point so far, and the stages by which they were found.

use crate::certificate::Certificate;

/// An interval around the optimum that only ever shrinks.
///
/// The two ends need not come from the same iterate, nor from the same stage: every feasible primal
/// point is an upper bound and every feasible dual point a lower one.
#[derive(Debug, Clone)]
pub struct Bracket<P, D> {
    primal: End<P>,
    dual: End<D>,
    route: Vec<&'static str>,
}

/// One end of the interval: a value, the point that has it, and the stage that found it.
#[derive(Debug, Clone)]
struct End<T> {
    value: f64,
    point: Option<T>,
    stage: &'static str,
}

impl<P, D> Default for Bracket<P, D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P, D> Bracket<P, D> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self {
            primal: End { value: f64::INFINITY, point: None, stage: "" },
            dual: End { value: f64::NEG_INFINITY, point: None, stage: "" },
            route: Vec::new(),
        }
    }

    /// What follows is the work of the stage `name`.
    pub fn enter(&mut self, name: &'static str) {
        self.route.push(name);
    }

    /// Keeps a primal point if its objective is the smallest so far; says whether it was.
    pub fn offer_primal(&mut self, value: f64, point: impl FnOnce() -> P) -> bool {
        let better = value < self.primal.value;
        if better {
            self.primal = End { value, point: Some(point()), stage: self.stage() };
        }
        better
    }

    /// Keeps a dual point if its bound is the largest so far; says whether it was.
    pub fn offer_dual(&mut self, value: f64, point: impl FnOnce() -> D) -> bool {
        let better = value > self.dual.value;
        if better {
            self.dual = End { value, point: Some(point()), stage: self.stage() };
        }
        better
    }

    /// Takes over what another bracket of the same problem knows better, and its route.
    pub fn absorb(&mut self, other: Self) {
        if other.primal.value < self.primal.value {
            self.primal = other.primal;
        }
        if other.dual.value > self.dual.value {
            self.dual = other.dual;
        }
        self.route.extend(other.route);
    }

    /// [`Bracket::absorb`], but what is taken over counts as found by the present stage, and no route is added.
    pub fn take_over(&mut self, other: Self) {
        let End { value, point, .. } = other.primal;
        if let Some(point) = point {
            self.offer_primal(value, || point);
        }
        let End { value, point, .. } = other.dual;
        if let Some(point) = point {
            self.offer_dual(value, || point);
        }
    }

    /// Objective of the best primal point; infinite where there is none.
    pub fn upper(&self) -> f64 {
        self.primal.value
    }

    /// The best bound; minus infinity where there is none.
    pub fn lower(&self) -> f64 {
        self.dual.value
    }

    /// The best primal point.
    pub fn point(&self) -> Option<&P> {
        self.primal.point.as_ref()
    }

    /// The best dual point.
    pub fn proof(&self) -> Option<&D> {
        self.dual.point.as_ref()
    }

    /// Both points, for those who are done with the bracket.
    pub fn into_points(self) -> (Option<P>, Option<D>) {
        (self.primal.point, self.dual.point)
    }

    /// Both ends as a solver sees them.
    pub fn certificate(&self) -> Certificate {
        Certificate { primal: self.primal.value, dual: self.dual.value }
    }

    /// Relative gap, with the objective counted as at least `floor`; infinite while an end is open.
    pub fn gap(&self, floor: f64) -> f64 {
        let gap = (self.primal.value - self.dual.value) / self.primal.value.abs().max(floor);
        if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
    }

    /// The stages that worked on it, in order.
    pub fn route(&self) -> &[&'static str] {
        &self.route
    }

    /// The stages that found the best primal and the best dual point.
    pub fn delivered_by(&self) -> (&'static str, &'static str) {
        (self.primal.stage, self.dual.stage)
    }

    fn stage(&self) -> &'static str {
        self.route.last().copied().unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_remembers_the_stage_that_found_it() {
        let mut bracket = Bracket::new();
        bracket.enter("newton");
        assert!(bracket.offer_primal(3.0, || "a"));
        assert!(bracket.offer_dual(1.0, || "u"));
        bracket.enter("interior point");
        assert!(!bracket.offer_primal(3.5, || "b"));
        assert!(bracket.offer_dual(2.0, || "v"));
        assert_eq!((bracket.point(), bracket.proof()), (Some(&"a"), Some(&"v")));
        assert_eq!(bracket.delivered_by(), ("newton", "interior point"));
        assert_eq!(bracket.route(), ["newton", "interior point"]);
        assert!((bracket.gap(1.0) - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn a_value_that_is_not_a_number_is_never_kept() {
        let mut bracket: Bracket<(), ()> = Bracket::new();
        assert!(!bracket.offer_primal(f64::NAN, || ()));
        assert!(!bracket.offer_dual(f64::NAN, || ()));
        assert!(bracket.gap(1.0).is_infinite());
    }

    #[test]
    fn two_brackets_of_one_problem_share_their_better_ends() {
        let (mut one, mut other) = (Bracket::new(), Bracket::new());
        one.offer_primal(2.0, || 1);
        one.offer_dual(0.0, || 1);
        other.offer_primal(3.0, || 2);
        other.offer_dual(1.5, || 2);
        one.absorb(other);
        assert_eq!((one.upper(), one.lower()), (2.0, 1.5));
        assert_eq!(one.into_points(), (Some(1), Some(2)));
    }

    #[test]
    fn what_is_taken_over_counts_as_found_by_the_present_stage() {
        let (mut one, mut other) = (Bracket::new(), Bracket::new());
        one.enter("newton");
        other.enter("sample");
        other.offer_primal(3.0, || 2);
        other.offer_dual(1.5, || 2);
        one.take_over(other);
        assert_eq!((one.upper(), one.lower()), (3.0, 1.5));
        assert_eq!(
            (one.delivered_by(), one.route()),
            (("newton", "newton"), ["newton"].as_slice())
        );
    }
}
