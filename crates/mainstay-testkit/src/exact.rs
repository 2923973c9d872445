//! Scores without rounding: sums of products in twice the precision and a few digits more.

/// A number as the sum of two floats, the second below the rounding of the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Double {
    high: f64,
    low: f64,
}

impl Double {
    /// Adds a float: Knuth's exact sum of two, then the low parts.
    #[must_use]
    pub fn plus(self, value: f64) -> Self {
        let sum = self.high + value;
        let part = sum - self.high;
        let error = (self.high - (sum - part)) + (value - part);
        let low = self.low + error;
        let high = sum + low;
        Self { high, low: low - (high - sum) }
    }

    /// Adds a product: its rounding error is a float too, which a fused multiplication gives.
    #[must_use]
    pub fn plus_product(self, a: f64, b: f64) -> Self {
        let product = a * b;
        self.plus(product).plus(a.mul_add(b, -product))
    }

    /// The nearest float.
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

/// `$w^\top x + b$`.
pub fn score(w: &[f64], b: f64, x: &[f64]) -> f64 {
    w.iter().zip(x).fold(Double::default().plus(b), |sum, (w, x)| sum.plus_product(*w, *x)).value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (2^51 + 3)(1 + 2^-52) - 2^51 = 3.5 + 3 * 2^-52.
    #[test]
    fn products_of_far_numbers_keep_every_digit() {
        let x = 2f64.powi(51);
        let found = score(&[1.0 + f64::EPSILON], -x, &[x + 3.0]);
        assert_eq!(found, 3.5 + 3.0 * f64::EPSILON);
    }
}
