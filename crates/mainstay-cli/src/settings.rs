//! `--set key=value`.

use mainstay::data::Classes;
use mainstay::methods::Method;
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

/// Parses the settings: a value is JSON if it reads as JSON (`0.1`, `true`, `[1,2]`), otherwise a word.
/// A seed given with `--seed` becomes `random_state` where the method has one.
pub(crate) fn parse(
    method: &Method,
    settings: &[String],
    seed: Option<u64>,
) -> Outcome<Map<String, Value>> {
    let mut params = Map::new();
    let takes_seed = method.defaults().get("random_state").is_some();
    if let (Some(seed), true) = (seed, takes_seed) {
        params.insert("random_state".into(), seed.into());
    }
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Failure::say(format!("--set {setting}: must be KEY=VALUE")));
        };
        let value = match value {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            word => serde_json::from_str(word).unwrap_or_else(|_| Value::String(word.into())),
        };
        if params.insert(key.trim().into(), value).is_some() && key.trim() != "random_state" {
            return Err(Failure::say(format!("--set {key}: given twice")));
        }
    }
    Ok(params)
}

/// Turns `class_weight={"M": 2, "B": 1}` into one factor per class, in class order.
pub(crate) fn name_classes(
    mut params: Map<String, Value>,
    classes: &Classes,
) -> Outcome<Map<String, Value>> {
    let Some(Value::Object(by_name)) = params.get("class_weight") else { return Ok(params) };
    let names: Vec<String> = classes.names().iter().map(ToString::to_string).collect();
    if let Some(unknown) = by_name.keys().find(|k| !names.contains(k)) {
        let known = names.join(", ");
        return Err(Failure::say(format!(
            "`class_weight` names `{unknown}`, but the classes are {known}"
        )));
    }
    // As Python writes them: numbers with a point, so that both give the same file.
    let factor = |n: &String| match by_name.get(n) {
        None => Value::from(1.0),
        Some(value) => value.as_f64().map_or_else(|| value.clone(), Value::from),
    };
    let factors: Vec<Value> = names.iter().map(factor).collect();
    params.insert("class_weight".into(), factors.into());
    Ok(params)
}
