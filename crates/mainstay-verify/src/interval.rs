//! Intervals of floats that hold the true number, whatever was rounded on the way.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::exact::Exact;

/// How many units in the last place the exponential and the logarithm of the system's library may be off. Glibc, musl
/// and the libraries of macOS and Windows document less than two.
const LIBRARY_UNITS: u32 = 4;

/// All numbers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Not above the number meant.
    pub low: f64,
    /// Not below it.
    pub high: f64,
}

impl Interval {
    /// Nothing is known.
    pub(crate) const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// A float.
    pub(crate) fn point(value: f64) -> Self {
        Self::new(value, value)
    }

    /// From `low` to `high`; what is not a number tells nothing.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        if low.is_nan() || high.is_nan() { Self::ALL } else { Self { low, high } }
    }

    /// Both ends rounded outwards.
    fn outward(low: f64, high: f64) -> Self {
        Self::new(low.next_down(), high.next_up())
    }

    /// A value of one of the system's functions, which rises and is never negative.
    fn of_library(low: f64, high: f64) -> Self {
        let wide = (0..LIBRARY_UNITS)
            .fold((low, high), |(low, high), _| (low.next_down(), high.next_up()));
        Self::new(wide.0.max(0.0), wide.1)
    }

    /// The larger of the number and zero.
    pub(crate) fn positive_part(self) -> Self {
        Self::new(self.low.max(0.0), self.high.max(0.0))
    }

    /// The size of the number.
    pub(crate) fn abs(self) -> Self {
        let high = self.high.abs().max(self.low.abs());
        let low = if self.low <= 0.0 && self.high >= 0.0 {
            0.0
        } else {
            self.low.abs().min(self.high.abs())
        };
        Self::new(low, high)
    }

    /// Its square.
    pub(crate) fn square(self) -> Self {
        let size = self.abs();
        let found = Self::outward(size.low * size.low, size.high * size.high);
        Self::new(found.low.max(0.0), found.high)
    }

    /// The root of its positive part.
    pub(crate) fn sqrt(self) -> Self {
        let part = self.positive_part();
        let found = Self::outward(part.low.sqrt(), part.high.sqrt());
        Self::new(found.low.max(0.0), found.high)
    }

    /// ln(1 + e^-t): falls in t.
    pub(crate) fn softplus_of_negative(self) -> Self {
        let value = |t: f64, up: bool| {
            let tail = Self::of_library((-t.abs()).exp(), (-t.abs()).exp());
            let tail = Self::of_library(tail.low.ln_1p(), tail.high.ln_1p());
            let straight = Self::point((-t).max(0.0));
            let sum = straight + tail;
            if up { sum.high } else { sum.low.max(0.0) }
        };
        Self::new(value(self.high, false), value(self.low, true))
    }

    /// -t ln t for a number from 0 to 1.
    pub(crate) fn entropy(self) -> Self {
        let (low, high) = (self.low.clamp(0.0, 1.0), self.high.clamp(0.0, 1.0));
        let at = |t: f64| {
            if t <= 0.0 {
                return Self::point(0.0);
            }
            let size = Self::of_library(-t.ln(), -t.ln());
            size * Self::point(t)
        };
        let (a, b) = (at(low), at(high));
        // Rises to 1/e, where it is 1/e, and falls from there.
        let peak = 0.367_879_441_171_442_4_f64;
        let most = if low <= peak && peak <= high { peak } else { 0.0 };
        Self::new(a.low.min(b.low).max(0.0), a.high.max(b.high).max(most.next_up()))
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::outward(self.low + other.low, self.high + other.high)
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        // Zero times infinity: an end that is infinite is not reached, and zero times any number is zero.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let ends = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if ends.iter().any(|end| end.is_nan()) {
            return Self::ALL;
        }
        // A product with exact zeros needs no widening below zero.
        if low == 0.0 && high == 0.0 && (self == Self::point(0.0) || other == Self::point(0.0)) {
            return Self::point(0.0);
        }
        Self::outward(low, high)
    }
}

impl Div for Interval {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        if other.low <= 0.0 && other.high >= 0.0 {
            return Self::ALL;
        }
        let inverse = Self::outward(1.0 / other.high, 1.0 / other.low);
        self * inverse
    }
}

impl From<f64> for Interval {
    fn from(value: f64) -> Self {
        Self::point(value)
    }
}

/// A sum of intervals, each end added up exactly.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    low: Exact,
    high: Exact,
}

impl Sum {
    pub(crate) fn add(&mut self, term: Interval) {
        self.low.add(term.low);
        self.high.add(term.high);
    }

    pub(crate) fn value(&self) -> Interval {
        Interval::new(self.low.enclosed().low, self.high.enclosed().high)
    }
}

/// The sum of intervals.
pub(crate) fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
    let mut all = Sum::default();
    terms.for_each(|term| all.add(term));
    all.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn around(value: f64) -> Interval {
        Interval::outward(value, value)
    }

    #[test]
    fn entropy_at_its_ends_and_peak() {
        assert_eq!(Interval::point(0.0).entropy().low, 0.0);
        assert!(Interval::new(0.0, 1.0).entropy().high >= 1.0 / std::f64::consts::E);
        assert!(Interval::point(0.5).entropy().low <= 0.5 * 2f64.ln());
        assert!(Interval::point(0.5).entropy().high >= 0.5 * 2f64.ln());
    }

    #[test]
    fn dividing_by_what_may_be_zero_tells_nothing() {
        assert_eq!(Interval::point(1.0) / Interval::new(-1.0, 1.0), Interval::ALL);
        assert_eq!(sum([Interval::point(f64::NAN)].into_iter()), Interval::ALL);
    }

    proptest! {
        /// Rational arithmetic on whole numbers, exact in i128, lies within.
        #[test]
        fn operations_hold_the_exact_result(a in -1000_i32..1000, b in -1000_i32..1000, c in 1_i32..1000) {
            let (x, y, z) = (f64::from(a), f64::from(b), f64::from(c));
            let found = (around(x) * around(y) + around(z)) / around(z);
            let exact_numerator = i64::from(a) * i64::from(b) + i64::from(c);
            let scaled = found * Interval::point(z);
            prop_assert!(scaled.low <= exact_numerator as f64 && exact_numerator as f64 <= scaled.high);
            let square = around(x).square();
            prop_assert!(square.low <= x * x && x * x <= square.high);
            prop_assert!(around(z).square().sqrt().low <= z && z <= around(z).square().sqrt().high);
        }

        /// ln(1 + e^-t) at both ends, by the other of two formulas.
        #[test]
        fn softplus_holds_the_plain_formula(t in -700.0..700.0_f64) {
            let found = Interval::point(t).softplus_of_negative();
            let plain = if t > 0.0 { (-t).exp().ln_1p() } else { -t + t.exp().ln_1p() };
            prop_assert!(found.low <= plain && plain <= found.high, "{found:?} {plain}");
            prop_assert!(found.high - found.low <= 1e-14 * plain.max(1e-300));
        }
    }
}
