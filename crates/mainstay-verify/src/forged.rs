//! Files that try to be proved: each would be, if the checker believed the file instead of the problem it states.

use serde_json::{Value, json};

use crate::{Data, Report, Result, Rows, verify};

/// One point at 1 and one at -1, hinge, alpha = 1: w = 1 and b = 0 cost 1/2, and multipliers of 1 prove it.
fn honest() -> Value {
    json!({
        "method": "l2",
        "params": {"alpha": 1.0, "loss": "hinge", "normalize": false, "class_weight": null},
        "classes": ["no", "yes"],
        "fitted": {
            "model": {"kind": "linear", "coef": [[1.0]], "intercept": [0.0]},
            "certificates": [{"primal": 0.5, "dual": 0.5}],
            "outputs": {},
            "tol": 1e-6,
            "proof": [{"multipliers": [1.0, 1.0]}],
        },
    })
}

fn check(model: &Value, tol: Option<f64>) -> Result<Report> {
    let data = Data {
        rows: Rows::Dense { values: &[1.0, -1.0], columns: 1 },
        labels: &[1, 0],
        weights: None,
        scaling: None,
    };
    verify(model, &data, tol)
}

#[test]
fn an_honest_file_is_proved() {
    assert!(check(&honest(), None).unwrap().proved());
}

/// Weights of zero cost 1, but nothing if a result could make alpha huge or the parameter be forgotten.
#[test]
fn a_result_does_not_replace_a_parameter() {
    let mut forged = honest();
    forged["fitted"]["model"]["coef"] = json!([[0.0]]);
    forged["fitted"]["outputs"] = json!({"alpha": {"number": 1e12}});
    assert!(!check(&forged, None).unwrap().proved());
}

#[test]
fn a_negative_strength_is_refused() {
    let mut forged = honest();
    forged["params"]["alpha"] = json!(-1.0);
    assert!(check(&forged, None).is_err());
}

#[test]
fn no_tolerance_proves_an_infinite_gap() {
    let mut forged = honest();
    forged["fitted"]["model"]["coef"] = json!([[1e308]]);
    forged["fitted"]["tol"] = json!("inf");
    assert!(!check(&forged, None).unwrap().proved());
    assert!(!check(&forged, Some(f64::INFINITY)).unwrap().proved());
}

#[test]
fn a_file_has_as_many_hyperplanes_as_its_classes_ask_for() {
    let mut forged = honest();
    forged["classes"] = json!(["no", "yes", "perhaps"]);
    let told = check(&forged, None).unwrap_err().to_string();
    assert!(told.contains("1 hyperplanes for 3 classes"), "{told}");
}
