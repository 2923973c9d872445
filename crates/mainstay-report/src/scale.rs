//! From numbers to places on the page, with ticks at round numbers.

use crate::text;

/// A linear scale whose ends and ticks are round numbers.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Covers `low..high` with about `count` steps of 1, 2 or 5 times a power of ten. Numbers that are not
    /// finite count as 0.
    pub(crate) fn nice(low: f64, high: f64, count: usize) -> Self {
        let finite = |v: f64| if v.is_finite() { v.clamp(-1e300, 1e300) } else { 0.0 };
        let (low, high) = (finite(low.min(high)), finite(low.max(high)));
        let spread = high - low;
        let spread = if spread > 1e-12 * low.abs().max(high.abs()).max(1e-290) {
            spread
        } else {
            // A single number sits in the middle of a scale of its own size.
            low.abs().max(1.0)
        };
        let step = round_step(spread / count.max(1) as f64);
        let (mut bottom, mut top) = ((low / step).floor() * step, (high / step).ceil() * step);
        if top <= bottom {
            (bottom, top) = (bottom - step, top + step);
        }
        Self { low: bottom, high: top, step, from: 0.0, to: 1.0 }
    }

    /// The same numbers, cut off at the given ends where they reach beyond.
    pub(crate) fn within(mut self, low: f64, high: f64) -> Self {
        self.low = self.low.max(low);
        self.high = self.high.min(high);
        self
    }

    /// The same scale drawn from one place to another.
    pub(crate) fn drawn(mut self, from: f64, to: f64) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Where a number goes; what lies outside is put on the edge.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = (value - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Round numbers from end to end.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-9).ceil();
        let last = (self.high / self.step + 1e-9).floor();
        let mut ticks = Vec::new();
        let mut k = first;
        while k <= last && ticks.len() < 50 {
            ticks.push(k * self.step);
            k += 1.0;
        }
        ticks
    }

    /// A tick with as many decimals as its neighbours need.
    pub(crate) fn label(&self, tick: f64) -> String {
        let largest = self.low.abs().max(self.high.abs());
        if !(1e-4..1e6).contains(&self.step) || largest >= 1e7 {
            return if tick == 0.0 {
                "0".into()
            } else {
                format!("{tick:.1e}").replace('-', "−")
            };
        }
        #[expect(clippy::cast_possible_truncation, reason = "the step is between 1e-4 and 1e6")]
        let leading = (self.step * 1.000_001).log10().floor() as i32;
        text::fixed(tick, usize::try_from(-leading).unwrap_or(0))
    }

    /// A tick as a share of one hundred.
    pub(crate) fn percent_label(&self, tick: f64) -> String {
        let hundred = Self {
            low: 100.0 * self.low,
            high: 100.0 * self.high,
            step: 100.0 * self.step,
            ..self.clone()
        };
        format!("{} %", hundred.label(100.0 * tick))
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let lead = rough / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| lead <= r * (1.0 + 1e-9)).unwrap_or(10.0);
    round * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_numbers() {
        let scale = Scale::nice(0.612, 0.973, 4);
        let labels: Vec<String> = scale.ticks().iter().map(|t| scale.percent_label(*t)).collect();
        assert_eq!(labels, ["60 %", "70 %", "80 %", "90 %", "100 %"]);
        let scale = Scale::nice(-1.3, 2.2, 5);
        let labels: Vec<String> = scale.ticks().iter().map(|t| scale.label(*t)).collect();
        assert_eq!(labels, ["−2", "−1", "0", "1", "2", "3"]);
    }

    #[test]
    fn any_two_numbers_make_a_finite_scale() {
        let odd =
            [0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, f64::MAX, f64::NAN, f64::INFINITY, 5e-324];
        for low in odd {
            for high in odd {
                let scale = Scale::nice(low, high, 5).drawn(10.0, 90.0);
                assert!(scale.low() < scale.high(), "{low} {high}");
                assert!(!scale.ticks().is_empty() && scale.ticks().len() < 50, "{low} {high}");
                for value in odd.into_iter().filter(|v| !v.is_nan()) {
                    assert!((10.0..=90.0).contains(&scale.place(value)), "{low} {high} {value}");
                }
                assert!(scale.ticks().iter().all(|t| !scale.label(*t).contains("NaN")));
            }
        }
    }
}
