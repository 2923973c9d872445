//! Messages about parameters, and the table of methods.

use super::*;
use serde_json::json;

fn message(params: &Value) -> String {
    find("l2").unwrap().estimator(params).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_bad_parameter_is_named_with_its_value() {
    assert!(message(&json!({"tol": "small"})).starts_with("`tol` = \"small\": must be a number"));
    assert!(message(&json!({"tol": 1e-3, "max_iter": -4})).starts_with("`max_iter` = -4: "));
    assert!(
        message(&json!({"tols": 1e-3}))
            .starts_with("`tols` is not a parameter of l2; nearest is `tol`")
    );
}

#[test]
fn the_front_page_lists_every_method() {
    let page = include_str!("../lib.rs");
    for method in METHODS {
        assert!(page.contains(&format!("`{}`", method.name)), "{}", method.name);
    }
}

#[test]
fn points_of_a_path_are_read_by_name_and_a_bad_one_is_named() {
    let points = path_points(&json!([{"k": 20}, {"k": 0.5, "C": 2.0}])).unwrap();
    assert_eq!(points[0], PathPoint::k(crate::uncertainty::K::Count(20)));
    assert_eq!(points[1].c, Some(2.0));
    let told = |values: Value| path_points(&values).unwrap_err().to_string();
    assert!(told(json!([{"kapa": 0.1}])).starts_with("`kapa` is not a parameter; it has: "));
    assert!(told(json!([{"alpha": "much"}])).starts_with("`alpha` = \"much\": "));
    assert!(told(json!({"k": [1]})).contains("list of its points"));
    assert!(told(json!([[0.1, 20]])).contains("by name"));
    assert!(told(json!([{"k": null}])).contains("a value for each"));
}

fn of(method: &str, params: &Value) -> String {
    find(method).unwrap().estimator(params).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_wrong_parameter_is_told_without_words_of_the_parser() {
    let name = of("conic", &json!({"kapa": 0.5}));
    assert!(
        name.starts_with("`kapa` is not a parameter of conic; nearest is `kappa`; it has: "),
        "{name}"
    );
    let far = message(&json!({"threshold": 1}));
    assert!(far.starts_with("`threshold` is not a parameter of l2; it has: "), "{far}");
    let loss = message(&json!({"loss": "hing"}));
    assert!(loss.starts_with("`loss` = \"hing\": must be one of `"), "{loss}");
    let kind = message(&json!({"max_iter": "many"}));
    assert_eq!(kind, "`max_iter` = \"many\": must be a whole number that is not negative");
}
