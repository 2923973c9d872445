//! Sums as if in twice the precision, for numbers that must be right where terms cancel.
//!
//! T. Ogita, S. M. Rump, S. Oishi (2005), *Accurate sum and dot product*, SIAM J. Sci. Comput. 26(6),
//! Algorithms 4.3 and 5.3.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

/// A sum and the rounding errors made on the way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compensated {
    sum: f64,
    errors: f64,
}

/// Splits a number into two of half the digits each (Veltkamp).
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    /// 2^27 + 1: half of the 53 digits, rounded up.
    const HALF: f64 = 134_217_729.0;
    let scaled = HALF * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

impl Compensated {
    /// A sum that starts with `value`.
    pub fn new(value: f64) -> Self {
        Self { sum: value, errors: 0.0 }
    }

    /// A sum from what [`Compensated::parts`] gave.
    #[inline(always)]
    pub(super) fn from_parts(sum: f64, errors: f64) -> Self {
        Self { sum, errors }
    }

    /// The sum as rounded, and the rounding errors.
    #[inline(always)]
    pub(super) fn parts(self) -> (f64, f64) {
        (self.sum, self.errors)
    }

    /// Adds `value`.
    #[inline(always)]
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let part = sum - self.sum;
        self.errors += (self.sum - (sum - part)) + (value - part);
        self.sum = sum;
    }

    /// Adds `a * b`.
    #[inline(always)]
    pub fn add_product(&mut self, a: f64, b: f64) {
        self.add_product_by::<false>(a, b);
    }

    /// Adds `a * b`, its rounding error by one fused operation where `FUSED`, otherwise by halves of the factors. Both
    /// are exact, so that the bits are the same unless the error itself underflows.
    ///
    /// Fused only in code for processors that have the instruction: elsewhere it is a slow function.
    #[inline(always)]
    pub(super) fn add_product_by<const FUSED: bool>(&mut self, a: f64, b: f64) {
        let product = a * b;
        let error = if FUSED {
            a.mul_add(b, -product)
        } else {
            let ((a1, a2), (b1, b2)) = (split(a), split(b));
            a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
        };
        self.add(product);
        self.errors += error;
    }

    /// Adds another sum.
    #[inline]
    pub fn join(&mut self, other: Self) {
        self.add(other.sum);
        self.errors += other.errors;
    }

    /// The sum, rounded once. Where an error term left the range of numbers it is the plain sum.
    #[inline]
    pub fn value(self) -> f64 {
        let value = self.sum + self.errors;
        if value.is_nan() { self.sum } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_cancel_leave_what_is_small() {
        let mut sum = Compensated::new(1e100);
        sum.add(3.0);
        sum.add(-1e100);
        assert_eq!(sum.value(), 3.0);
    }

    /// (2^51 + 3)(1 + 2^-52) = 2^51 + 3.5 + 3 * 2^-52: the last term is below what one number can hold.
    #[test]
    fn products_keep_the_digits_that_rounding_takes() {
        let (a, b) = (2f64.powi(51) + 3.0, 1.0 + 2f64.powi(-52));
        let mut sum = Compensated::default();
        sum.add_product(a, b);
        sum.add(-a);
        assert_eq!(sum.value(), 0.5 + 3.0 * 2f64.powi(-52));
    }

    #[test]
    fn fused_products_have_the_bits_of_split_ones() {
        let (mut fused, mut split) = (Compensated::default(), Compensated::default());
        for i in 1..500 {
            let (a, b) = (f64::from(i).sqrt() * 1e7, (f64::from(i) * 0.7).sin() / 3.0);
            fused.add_product_by::<true>(a, b);
            split.add_product_by::<false>(a, b);
            assert_eq!(fused.parts(), split.parts());
        }
    }

    #[test]
    fn sums_out_of_range_are_plain_sums() {
        let mut sum = Compensated::new(1.0);
        sum.add_product(1e300, 1e3);
        assert_eq!(sum.value(), 1e303);
        sum.add(f64::INFINITY);
        assert_eq!(sum.value(), f64::INFINITY);
    }
}
