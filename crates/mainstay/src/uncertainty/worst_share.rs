//! How many rows an unlucky subset holds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result, require};

/// How much of the data the worst rows are: a count, or a fraction of the total weight.
///
/// In JSON the decimal point decides: `20` is a count, `0.2` and `1.0` are fractions; `"auto"` is a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum K {
    /// This many rows (units of weight).
    Count(u64),
    /// This share of the total weight, not rounded.
    Fraction(f64),
    /// The smallest fraction that costs nothing measurable on held-out rows; only a fit to rows at hand can find it.
    Auto,
}

impl K {
    /// Checks what can be checked without data.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Count(count) => require(count > 0, "k", count, "at least 1"),
            Self::Fraction(share) => require(
                share > 0.0 && share <= 1.0,
                "k",
                format!("{share:?}"),
                "a count (an integer) or a fraction in (0, 1] (a float)",
            ),
            Self::Auto => Ok(()),
        }
    }

    /// `k` in units of weight, given the total weight.
    pub fn resolve(self, total: f64) -> Result<f64> {
        self.check()?;
        match self {
            Self::Fraction(share) => Ok(share * total),
            Self::Auto => {
                let rule =
                    "a count or a fraction here: \"auto\" is found by fits to all rows at once";
                Err(Error::param("k", "auto", rule))
            }
            // Class weights that keep the total do so up to rounding.
            Self::Count(count) if count as f64 <= total * (1.0 + 1e-9) => {
                Ok((count as f64).min(total))
            }
            Self::Count(count) => Err(Error::param(
                "k",
                count,
                format!("at most the number of rows (total weight {total})"),
            )),
        }
    }
}

impl Serialize for K {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => out.serialize_u64(*count),
            Self::Fraction(share) => out.serialize_f64(*share),
            Self::Auto => out.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for K {
    fn deserialize<D: Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = K;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a count (an integer), a fraction in (0, 1] (a float) or \"auto\"")
            }

            fn visit_u64<E>(self, count: u64) -> std::result::Result<K, E> {
                Ok(K::Count(count))
            }

            fn visit_i64<E: serde::de::Error>(self, count: i64) -> std::result::Result<K, E> {
                u64::try_from(count).map(K::Count).map_err(|_| {
                    E::custom(format!(
                        "{count} is not a count of at least 1 (or a fraction in (0, 1])"
                    ))
                })
            }

            fn visit_f64<E>(self, share: f64) -> std::result::Result<K, E> {
                Ok(K::Fraction(share))
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> std::result::Result<K, E> {
                match word {
                    "auto" => Ok(K::Auto),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }
        input.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decimal_point_decides_between_count_and_fraction() {
        let parse = |text: &str| serde_json::from_str::<K>(text);
        assert_eq!(parse("1").unwrap(), K::Count(1));
        assert_eq!(parse("1.0").unwrap(), K::Fraction(1.0));
        assert_eq!(serde_json::to_string(&K::Fraction(1.0)).unwrap(), "1.0");
        assert_eq!(serde_json::to_string(&K::Count(3)).unwrap(), "3");
        for bad in ["-1", "\"half\"", "null", "true", "[1]"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for bad in [K::Count(0), K::Fraction(0.0), K::Fraction(1.5), K::Fraction(f64::NAN)] {
            assert!(bad.check().is_err());
        }
        assert!(K::Count(11).resolve(10.0).is_err());
        assert_eq!(K::Count(10).resolve(10.0).unwrap(), 10.0);
        assert_eq!(K::Fraction(0.25).resolve(10.0).unwrap(), 2.5);
    }
}
