//! From numbers to places on the page, with ticks at round numbers: the one axis layer of all charts.

use crate::text;

/// A scale from `low` to `high` of the data, drawn from one place of the page to another.
#[derive(Debug, Clone)]
pub struct Scale {
    low: f64,
    high: f64,
    spacing: Spacing,
    from: f64,
    to: f64,
}

/// How numbers are spread over the scale.
#[derive(Debug, Clone, Copy)]
enum Spacing {
    /// Evenly, with a tick at every multiple of this step.
    Even(f64),
    /// By their logarithm, with ticks at powers of ten and, over few decades, at 2 and 5 times them.
    Logarithmic,
}

impl Scale {
    /// Ends at round numbers: covers `low..high` with about `count` steps of 1, 2 or 5 times a power of ten.
    /// Numbers that are not finite count as 0.
    pub fn nice(low: f64, high: f64, count: usize) -> Self {
        let finite = |v: f64| if v.is_finite() { v.clamp(-1e300, 1e300) } else { 0.0 };
        let (low, high) = (finite(low), finite(high));
        let (low, high) = (low.min(high), low.max(high));
        let spread = high - low;
        let spread = if spread > 1e-12 * low.abs().max(high.abs()).max(1e-290) {
            spread
        } else {
            // A single number sits in the middle of a scale of its own size.
            low.abs().max(1.0)
        };
        let step = round_step(spread / count.max(1) as f64, &[1.0, 2.0, 5.0]);
        let (mut bottom, mut top) = ((low / step).floor() * step, (high / step).ceil() * step);
        if top <= bottom {
            (bottom, top) = (bottom - step, top + step);
        }
        Self { low: bottom, high: top, spacing: Spacing::Even(step), from: 0.0, to: 1.0 }
    }

    /// Ends beyond the data by the share `pad` of their spread; about five ticks. Numbers that are not finite are
    /// left out; without any the scale is 0 to 1.
    pub fn padded(values: impl Iterator<Item = f64>, pad: f64) -> Self {
        let (low, high) = ends(values.filter(|v| v.is_finite())).unwrap_or((0.0, 1.0));
        let room = if high > low { pad * (high - low) } else { 0.5 * high.abs().max(1.0) };
        let (low, high) = (low - room, high + room);
        let step = round_step((high - low) / 5.0, &[1.0, 2.0, 2.5, 5.0]);
        Self { low, high, spacing: Spacing::Even(step), from: 0.0, to: 1.0 }
    }

    /// Logarithmic, ending 15 % beyond the data. Numbers that are not positive and finite are left out; without any
    /// the scale is 0.1 to 1.
    pub fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let found = ends(values.filter(|v| v.is_finite() && *v > 0.0));
        let (low, high) = found.unwrap_or((0.1, 1.0));
        let (low, high) = (low / 1.15, high * 1.15);
        Self { low, high, spacing: Spacing::Logarithmic, from: 0.0, to: 1.0 }
    }

    /// The same numbers, cut off at the given ends where they reach beyond.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.low = self.low.max(low);
        self.high = self.high.min(high);
        self
    }

    /// The same scale drawn from one place to another.
    #[must_use]
    pub fn drawn(mut self, from: f64, to: f64) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// The smallest number on it.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The largest number on it.
    pub fn high(&self) -> f64 {
        self.high
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Where a number goes; what lies outside is put on the edge.
    pub fn place(&self, value: f64) -> f64 {
        let along = |v: f64| match self.spacing {
            Spacing::Even(_) => v,
            Spacing::Logarithmic => v.ln(),
        };
        let value = along(value.clamp(self.low, self.high));
        let share = (value - along(self.low)) / (along(self.high) - along(self.low));
        self.from + share * (self.to - self.from)
    }

    /// Round numbers from end to end.
    pub fn ticks(&self) -> Vec<f64> {
        match self.spacing {
            Spacing::Even(step) => self.even_ticks(step),
            Spacing::Logarithmic => self.decades(),
        }
    }

    fn even_ticks(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let mut ticks = Vec::new();
        let mut k = first;
        while k <= last && ticks.len() < 50 {
            ticks.push(k * step);
            k += 1.0;
        }
        ticks
    }

    fn decades(&self) -> Vec<f64> {
        let many = (self.high / self.low).log10() > 3.0;
        let leads: &[f64] = if many { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut ticks = Vec::new();
        let mut power = 10f64.powf(self.low.log10().floor());
        while power <= self.high {
            ticks.extend(leads.iter().map(|lead| lead * power).filter(|tick| self.holds(*tick)));
            power *= 10.0;
        }
        ticks
    }

    /// Between neighbouring ticks of an even scale.
    fn step(&self) -> f64 {
        match self.spacing {
            Spacing::Even(step) => step,
            Spacing::Logarithmic => self.low,
        }
    }

    /// A tick with as many decimals as its neighbours need.
    pub(crate) fn label(&self, tick: f64) -> String {
        let (step, largest) = (self.step(), self.low.abs().max(self.high.abs()));
        if !(1e-4..1e6).contains(&step) || largest >= 1e7 {
            return if tick == 0.0 {
                "0".into()
            } else {
                format!("{tick:.1e}").replace('-', "−")
            };
        }
        #[expect(clippy::cast_possible_truncation, reason = "the step is between 1e-4 and 1e6")]
        let leading = (step * 1.000_001).log10().floor() as i32;
        text::fixed(tick, usize::try_from(-leading).unwrap_or(0))
    }

    /// A tick as a share of one hundred.
    pub(crate) fn percent_label(&self, tick: f64) -> String {
        let hundred = Self {
            low: 100.0 * self.low,
            high: 100.0 * self.high,
            spacing: Spacing::Even(100.0 * self.step()),
            ..self.clone()
        };
        format!("{} %", hundred.label(100.0 * tick))
    }
}

/// The smallest and the largest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |found, v| {
        let (low, high) = found.unwrap_or((v, v));
        Some((v.min(low), v.max(high)))
    })
}

/// The smallest of `leads` times a power of ten that is at least `rough`.
fn round_step(rough: f64, leads: &[f64]) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let lead = rough / power;
    let round = leads.iter().copied().find(|r| lead <= r * (1.0 + 1e-9)).unwrap_or(10.0);
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
    fn marks_are_round_numbers_inside_the_axis() {
        let marks = Scale::padded([0.0, 0.97].into_iter(), 0.0).ticks();
        assert_eq!(marks.len(), 5);
        assert!((marks[1] - 0.2).abs() < 1e-12 && (marks[4] - 0.8).abs() < 1e-12);
        let scale = Scale::logarithmic([1.0, 90.0, -3.0, f64::NAN].into_iter()).drawn(0.0, 1.0);
        assert_eq!(scale.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        // Equal ratios are equal distances.
        let place = |v: f64| scale.place(v);
        assert!((place(10.0) - place(2.0) - (place(50.0) - place(10.0))).abs() < 1e-12);
        let nothing = Scale::padded(std::iter::empty(), 0.0);
        assert_eq!((nothing.low(), nothing.high()), (0.0, 1.0));
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
