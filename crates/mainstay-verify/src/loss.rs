//! Losses of a margin and what their conjugates allow a multiplier to gain, in intervals.

use crate::interval::Interval;

/// A convex loss of the margin that does not rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// ln(1 + e^-m)
    Logistic,
    /// max(0, 1 - m)
    Hinge,
    /// max(0, 1 - m)^2
    SquaredHinge,
    /// The same above -1, then -4m.
    ModifiedHuber,
}

impl Loss {
    /// By its name in model files.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "logistic" => Some(Self::Logistic),
            "hinge" => Some(Self::Hinge),
            "squared_hinge" => Some(Self::SquaredHinge),
            "modified_huber" => Some(Self::ModifiedHuber),
            _ => None,
        }
    }

    /// The loss of a margin.
    pub(crate) fn value(self, margin: Interval) -> Interval {
        let room = (Interval::point(1.0) - margin).positive_part();
        match self {
            Self::Logistic => margin.softplus_of_negative(),
            Self::Hinge => room,
            Self::SquaredHinge => room.square(),
            Self::ModifiedHuber => {
                let straight = Interval::point(-4.0) * margin;
                let (square, bent) = (room.square(), -1.0);
                // Falls in the margin: the low end belongs to the largest one.
                let low = if margin.high < bent { straight.low } else { square.low };
                let high = if margin.low < bent { straight.high } else { square.high };
                Interval::new(low, high)
            }
        }
    }

    /// The largest multiplier per unit of weight: the steepest slope.
    pub(crate) fn steepest(self) -> f64 {
        match self {
            Self::Logistic | Self::Hinge => 1.0,
            Self::SquaredHinge => f64::INFINITY,
            Self::ModifiedHuber => 4.0,
        }
    }

    /// `$-u\varphi^*(-\beta/u)$`: what a multiplier `$\beta$` of a row of weight `$u$` adds to the bound.
    pub(crate) fn gain(self, weight: Interval, multiplier: Interval) -> Interval {
        if multiplier == Interval::point(0.0) {
            return multiplier;
        }
        let share = multiplier / weight;
        match self {
            Self::Hinge => multiplier,
            Self::SquaredHinge | Self::ModifiedHuber => {
                multiplier - multiplier * share * Interval::point(0.25)
            }
            Self::Logistic => weight * (share.entropy() + (Interval::point(1.0) - share).entropy()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Loss; 4] = [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

    /// At margin -3: 3 + ln(1 + e^-3), 4, 16 and 12; at 0 a quarter of the slope 2 is lost to the square.
    #[test]
    fn values_by_hand() {
        let at = |loss: Loss, m: f64| loss.value(Interval::point(m)).high;
        assert!((at(Loss::Logistic, -3.0) - 3.048_587_351_573_742).abs() < 1e-14);
        assert!((at(Loss::Hinge, -3.0) - 4.0).abs() < 1e-14);
        assert!((at(Loss::SquaredHinge, -3.0) - 16.0).abs() < 1e-13);
        assert!((at(Loss::ModifiedHuber, -3.0) - 12.0).abs() < 1e-13);
        let gain = Loss::SquaredHinge.gain(Interval::point(1.0), Interval::point(2.0));
        assert!((gain.low - 1.0).abs() < 1e-14);
    }

    proptest! {
        /// Fenchel and Young: gain - multiplier times margin never exceeds weight times loss.
        #[test]
        fn no_multiplier_gains_more_than_the_loss(
            which in 0..4_usize, margin in -6.0..6.0_f64, share in 0.0..1.0_f64, weight in 0.01..9.0_f64,
        ) {
            let loss = ALL[which];
            let share = share * loss.steepest().min(6.0);
            let (u, m) = (Interval::point(weight), Interval::point(margin));
            let multiplier = Interval::point(share * weight);
            let bound = loss.gain(u, multiplier) - multiplier * m;
            let value = u * loss.value(m);
            prop_assert!(bound.low <= value.high, "{bound:?} {value:?}");
        }
    }
}
