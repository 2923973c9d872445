//! Sums of floats and of products of floats without any rounding.

use crate::interval::Interval;

/// The unit of the lowest digit is 2 to this power: below the product of the two smallest floats.
const LOWEST: i32 = -2176;
/// Digits of 32 bits, up to 2^2176: above any sum of products that memory can hold.
const DIGITS: usize = 136;
/// Additions after which digits are carried; a digit holds 2^31 more.
const CARRY_AFTER: u32 = 1 << 28;

/// A fixed-point number as wide as all floats (a long accumulator, after Kulisch): every product of two floats is
/// added exactly.
#[derive(Debug, Clone)]
pub(crate) struct Exact {
    /// Signed digits of 32 bits, lowest first; carried now and then.
    digits: Box<[i64; DIGITS]>,
    additions: u32,
    /// Whether something was added that is no number.
    broken: bool,
}

impl Default for Exact {
    fn default() -> Self {
        Self { digits: Box::new([0; DIGITS]), additions: 0, broken: false }
    }
}

/// Sign, whole significand and power of two of a finite float.
fn parts(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    let significand = if exponent == 0 { fraction } else { fraction | (1 << 52) };
    (value.is_sign_negative(), significand, exponent.max(1) - 1075)
}

/// 2 to the power of `exponent`, which is that of a float.
fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(u64::try_from(exponent + 1023).unwrap_or(0) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074).max(0))
    }
}

impl Exact {
    /// Adds a float.
    pub(crate) fn add(&mut self, value: f64) {
        self.add_product(value, 1.0);
    }

    /// Adds the product of two floats.
    pub(crate) fn add_product(&mut self, a: f64, b: f64) {
        if !(a.is_finite() && b.is_finite()) {
            self.broken = true;
            return;
        }
        let ((a_negative, a, a_power), (b_negative, b, b_power)) = (parts(a), parts(b));
        let product = u128::from(a) * u128::from(b);
        if product == 0 {
            return;
        }
        let place = usize::try_from(a_power + b_power - LOWEST).unwrap_or(0);
        let (first, shift) = (place / 32, place % 32);
        let sign = if a_negative == b_negative { 1 } else { -1 };
        // 106 bits, shifted by up to 31: in two halves, so that none leaves its 128 bits.
        let halves = [(first, product & u128::from(u64::MAX)), (first + 2, product >> 64)];
        for (at, half) in halves {
            let shifted = half << shift;
            for k in 0..3 {
                let digit = u32::try_from((shifted >> (32 * k)) & 0xffff_ffff).unwrap_or(0);
                self.digits[at + k] += sign * i64::from(digit);
            }
        }
        self.additions += 1;
        if self.additions >= CARRY_AFTER {
            self.carry();
        }
    }

    /// Brings every digit but the last into 0..2^32.
    fn carry(&mut self) {
        let mut over = 0_i64;
        for digit in self.digits.iter_mut().take(DIGITS - 1) {
            let sum = *digit + over;
            *digit = sum & 0xffff_ffff;
            over = sum >> 32;
        }
        self.digits[DIGITS - 1] += over;
        self.additions = 0;
    }

    /// The number rounded towards zero, and whether anything was cut off.
    fn truncated(&self) -> (f64, bool) {
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.digits[DIGITS - 1] < 0;
        if negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let Some(top) = sum.digits.iter().rposition(|digit| *digit != 0) else {
            return (0.0, false);
        };
        let digit = |at: usize| u128::from(u32::try_from(sum.digits[at]).unwrap_or(u32::MAX));
        let bottom = top.saturating_sub(2);
        let leading = (bottom..=top).rev().fold(0, |all, at| (all << 32) | digit(at));
        let mut cut = sum.digits[..bottom].iter().any(|digit| *digit != 0);
        let power = LOWEST + 32 * i32::try_from(bottom).unwrap_or(0);
        let length = 128 - i32::try_from(leading.leading_zeros()).unwrap_or(0);
        // 53 bits, or fewer where the float would be denormal.
        let drop = (length - 53).max(-1074 - power).max(0);
        let (kept, lost) = if drop >= 128 {
            (0, leading)
        } else {
            (leading >> drop, leading & ((1_u128 << drop) - 1))
        };
        cut |= lost != 0;
        let power = power + drop;
        let size = if length - drop + power > 1024 {
            cut = true;
            f64::MAX
        } else {
            // Exact, as 53 bits fit; in two steps, as the power alone may be beyond all floats.
            let kept = u64::try_from(kept).unwrap_or(0) as f64;
            let half = power / 2;
            kept * power_of_two(half) * power_of_two(power - half)
        };
        (if negative { -size } else { size }, cut)
    }

    /// The smallest interval of floats around the number.
    pub(crate) fn enclosed(&self) -> Interval {
        if self.broken {
            return Interval::ALL;
        }
        match self.truncated() {
            (value, false) => Interval::point(value),
            (value, true) => {
                let sum = self.sign();
                if sum < 0 {
                    Interval::new(value.next_down(), value)
                } else {
                    Interval::new(value, value.next_up())
                }
            }
        }
    }

    /// -1, 0 or 1.
    fn sign(&self) -> i32 {
        let mut sum = self.clone();
        sum.carry();
        match sum.digits.iter().rev().find(|digit| **digit != 0) {
            None => 0,
            Some(_) if sum.digits[DIGITS - 1] < 0 => -1,
            Some(_) => 1,
        }
    }

    /// Floats whose sum is the number, largest first.
    pub(crate) fn floats(&self) -> Vec<f64> {
        let mut rest = self.clone();
        let mut all = Vec::new();
        loop {
            let (value, more) = rest.truncated();
            if value != 0.0 {
                all.push(value);
                rest.add(-value);
            }
            // Below the smallest float there may be a rest, which `enclosed` of the sum accounts for.
            if !more || value == 0.0 {
                return all;
            }
        }
    }

    /// Whether a part of the number lies below all floats.
    pub(crate) fn has_rest_below(&self) -> bool {
        let mut rest = self.clone();
        for value in self.floats() {
            rest.add(-value);
        }
        rest.sign() != 0
    }
}

/// The inner product of pairs.
pub(crate) fn dot(pairs: impl Iterator<Item = (f64, f64)>) -> Interval {
    let mut sum = Exact::default();
    for (a, b) in pairs {
        sum.add_product(a, b);
    }
    sum.enclosed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cancels_leaves_the_smallest_number() {
        let tiny = f64::from_bits(1);
        let mut sum = Exact::default();
        for value in [1e308, 1e308, tiny, -1e308, -1e308] {
            sum.add(value);
        }
        assert_eq!(sum.enclosed(), Interval::point(tiny));
        sum.add(-tiny);
        assert_eq!(sum.enclosed(), Interval::point(0.0));
    }

    /// (1 + e)(1 - e) = 1 - e^2 lies between the float below 1 and 1.
    #[test]
    fn what_is_no_float_lies_between_two() {
        let e = f64::EPSILON;
        let found = dot([(1.0 + e, 1.0 - e)].into_iter());
        assert_eq!(found, Interval::new(1.0_f64.next_down(), 1.0));
        let below = dot([(1.0 + e, e - 1.0)].into_iter());
        assert_eq!(below, Interval::new(-1.0, (-1.0_f64).next_up()));
    }

    #[test]
    fn sums_beyond_all_floats_and_what_is_no_number_are_said_to_be() {
        let large = dot([(1e200, 1e200)].into_iter());
        assert_eq!(large, Interval::new(f64::MAX, f64::INFINITY));
        assert_eq!(dot([(f64::NAN, 1.0)].into_iter()), Interval::ALL);
    }

    fn floats() -> impl Strategy<Value = f64> {
        (any::<bool>(), 0_u64..(1 << 52), 1_u64..2046).prop_map(|(sign, fraction, exponent)| {
            let size = f64::from_bits((exponent << 52) | fraction);
            if sign { -size } else { size }
        })
    }

    proptest! {
        /// A product and a sum of two floats are the float that the machine rounds to, or its neighbours.
        #[test]
        fn single_operations_enclose_the_rounded_one(a in floats(), b in floats()) {
            let product = dot([(a, b)].into_iter());
            prop_assert!(product.low <= a * b && a * b <= product.high, "{product:?}");
            let sum = dot([(a, 1.0), (b, 1.0)].into_iter());
            prop_assert!(sum.low <= a + b && a + b <= sum.high, "{sum:?}");
            let width = (sum.high - sum.low) / (a + b).abs();
            prop_assert!(!width.is_finite() || width <= 2.0 * f64::EPSILON);
        }

        /// The floats of a sum add up to it.
        #[test]
        fn a_sum_is_the_sum_of_its_floats(values in prop::collection::vec(floats(), 1..6)) {
            let mut sum = Exact::default();
            for v in &values {
                sum.add(*v);
            }
            prop_assert!(!sum.has_rest_below());
            for value in sum.floats() {
                sum.add(-value);
            }
            prop_assert_eq!(sum.enclosed(), Interval::point(0.0));
        }
    }
}
