//! Numbers in JSON, which has no infinities: those that are not finite travel as words.
//!
//! For `#[serde(with = "crate::json::number")]` and its plural.

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum JsonNumber {
    Finite(f64),
    Word(String),
}

impl JsonNumber {
    fn new(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Word(value.to_string()) }
    }

    fn get<E: serde::de::Error>(&self) -> Result<f64, E> {
        match self {
            Self::Finite(value) => Ok(*value),
            Self::Word(word) => word.parse().map_err(E::custom),
        }
    }
}

/// One number.
pub(crate) mod number {
    use super::JsonNumber;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        JsonNumber::new(*value).serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
        JsonNumber::deserialize(input)?.get()
    }
}

/// A list of numbers.
pub(crate) mod numbers {
    use super::JsonNumber;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[f64], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(values.iter().map(|v| JsonNumber::new(*v)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
        Vec::<JsonNumber>::deserialize(input)?.iter().map(JsonNumber::get).collect()
    }
}
