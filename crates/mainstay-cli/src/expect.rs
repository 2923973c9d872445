//! `--expect THREAT=LEVEL`: what the user fears, in the parameters of whichever method is fitted; `--drop-far`.

use clap::Args as ClapArgs;
use mainstay::compare::Expectation;
use mainstay::methods::Method;
use mainstay::uncertainty::far_rows::{Share, ShareRule};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};

/// What the user says may be wrong with the data.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Threats {
    /// What to expect: wrong-labels=SHARE, missing=SHARE of the features at prediction, errors=DEVIATIONS; sets the
    /// parameter of the method that is for it, and says so where there is none; robust-logistic meets wrong labels alone
    /// by correction=averaged (may be repeated)
    #[arg(long, value_name = "THREAT=LEVEL")]
    pub(crate) expect: Vec<String>,
    /// Leave rows far from their class out of the fit: those beyond a cut-off that the others set, or a share of each class
    #[arg(long, value_name = "auto|SHARE")]
    pub(crate) drop_far: Option<String>,
}

/// A threat that can be expected, and the parameters that are for it, the most direct first.
struct Known {
    name: &'static str,
    params: &'static [&'static str],
    /// Methods that find out for themselves.
    tuned: &'static [&'static str],
}

const KNOWN: [Known; 3] = [
    Known { name: "wrong-labels", params: &["wrong_labels", "kappa"], tuned: &["conic-cv"] },
    Known { name: "missing", params: &["missing", "budget"], tuned: &[] },
    Known { name: "errors", params: &["errors", "uncertainty"], tuned: &[] },
];

impl Threats {
    /// Adds what is expected to the parameters of `method`; `features` is their number, once it is known. Returns
    /// what the user should read.
    pub(crate) fn apply(
        &self,
        method: &Method,
        params: &mut Map<String, Value>,
        features: Option<usize>,
    ) -> Outcome<Vec<String>> {
        let defaults = method.defaults();
        let mut notes = Vec::new();
        for text in &self.expect {
            let (known, level) = parse(text)?;
            let Some(name) = known.params.iter().find(|name| defaults.get(**name).is_some()) else {
                notes.push(useless(known, method));
                continue;
            };
            if params.contains_key(*name) {
                let already = format!("--expect {text}: `{name}` is set already");
                return Err(Failure::say(already));
            }
            if *name == "budget" {
                // A share of the features; how many they are is known once the data are read.
                if let Some(count) = features {
                    params.insert((*name).into(), json!(level * count as f64));
                }
            } else {
                params.insert((*name).into(), json!(level));
            }
            if features.is_some() {
                let value = params.get(*name).map(ToString::to_string).unwrap_or_default();
                notes.push(format!("--expect {text}: `{name}` = {value}"));
            }
        }
        if self.averages(&defaults, params) {
            params.insert("correction".into(), json!("averaged"));
            if features.is_some() {
                notes.push("wrong labels alone: `correction` = \"averaged\"".into());
            }
        }
        Ok(notes)
    }

    /// Whether wrong labels are expected and nothing is set that the average of several fits does not go with.
    fn averages(&self, defaults: &Value, params: &Map<String, Value>) -> bool {
        let wrong = |text: &String| {
            parse(text).is_ok_and(|(known, level)| known.name == "wrong-labels" && level > 0.0)
        };
        let changed = |name: &str| params.get(name).is_some_and(|v| defaults.get(name) != Some(v));
        defaults.get("correction").is_some()
            && !params.contains_key("correction")
            && self.expect.iter().any(wrong)
            && !["alpha", "errors", "missing", "protect"].into_iter().any(changed)
    }

    /// Which rows are left out, if any are.
    pub(crate) fn far(&self) -> Outcome<Option<Share>> {
        let Some(text) = &self.drop_far else { return Ok(None) };
        let share = match text.as_str() {
            "auto" => Share::Rule(ShareRule::Auto),
            number => Share::Fixed(number.parse().map_err(|_| {
                Failure::say(format!("--drop-far {text}: must be `auto` or a share below 0.5"))
            })?),
        };
        share.check()?;
        Ok(Some(share))
    }
}

/// What is expected of a comparison.
pub(crate) fn levels(texts: &[String]) -> Outcome<Expectation> {
    let mut expected = Expectation::default();
    for text in texts {
        let (known, level) = parse(text)?;
        match known.name {
            "wrong-labels" => expected.wrong_labels = level,
            "missing" => expected.missing = level,
            _ => expected.errors = level,
        }
    }
    Ok(expected)
}

fn parse(text: &str) -> Outcome<(&'static Known, f64)> {
    let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    let bad = |what: &str| {
        let all = names.join(", ");
        Failure::say(format!("--expect {text}: {what}; THREAT=LEVEL with one of {all}"))
    };
    let (name, level) = text.split_once('=').ok_or_else(|| bad("has no level"))?;
    let known = KNOWN.iter().find(|known| known.name == name.trim());
    let known = known.ok_or_else(|| bad("no such threat"))?;
    let level: f64 = level.trim().parse().map_err(|_| bad("the level is not a number"))?;
    Ok((known, level))
}

fn useless(known: &Known, method: &Method) -> String {
    if known.tuned.contains(&method.name) {
        return format!("{} has no use for `{}`: it finds out for itself", method.name, known.name);
    }
    format!(
        "{} has no use for `{}`: it is fitted as if that were not expected; robust-logistic has",
        method.name, known.name
    )
}
