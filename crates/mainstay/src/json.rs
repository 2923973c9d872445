//! Numbers in JSON, which has no infinities: those that are not finite travel as words.

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

/// For `#[serde(with = "number")]` on an `f64`.
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

/// For `#[serde(with = "numbers")]` on a `Vec<f64>`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair {
        #[serde(with = "number")]
        one: f64,
        #[serde(with = "numbers")]
        many: Vec<f64>,
    }

    #[test]
    fn every_number_but_nan_payloads_survives_the_way_through_json() {
        let pair = Pair {
            one: f64::NEG_INFINITY,
            many: vec![0.1 + 0.2, -0.0, f64::MAX, f64::MIN_POSITIVE / 3.0, f64::INFINITY],
        };
        let text = serde_json::to_string(&pair).unwrap();
        let back: Pair = serde_json::from_str(&text).unwrap();
        assert_eq!(back, pair);
        assert!(back.many[1].is_sign_negative());
        assert!(
            serde_json::from_str::<Pair>(r#"{"one": "NaN", "many": []}"#).unwrap().one.is_nan()
        );
        assert!(serde_json::from_str::<Pair>(r#"{"one": "many", "many": []}"#).is_err());
    }
}
