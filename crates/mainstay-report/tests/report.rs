//! The page as a whole: well-formed, self-contained, escaped, and with every number a number.
#![cfg(test)]

mod fixture;

use fixture::{HOSTILE, empty, hostile, realistic};
use mainstay::compare::Comparison;
use mainstay_report::{Options, html, html_with};

/// One tag of the page: name, attributes as written, whether it ends an element.
#[derive(Debug)]
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    ends: bool,
}

/// Every tag, in order. Style is skipped: it is not markup.
fn tags(page: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let inside = &rest[start + 1..];
        let end = inside.find('>').expect("a tag is closed");
        let text = &inside[..end];
        rest = &inside[end + 1..];
        let ends = text.starts_with('/');
        let text = text.trim_start_matches('/');
        let (name, attributes) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'),
            "`{name}` is not the name of an element"
        );
        found.push(Tag { name, attributes, ends });
        if name == "style" && !ends {
            rest = &rest[rest.find("</style>").expect("the style ends")..];
        }
    }
    found
}

fn attribute<'a>(tag: &Tag<'a>, name: &str) -> Option<&'a str> {
    let start = tag.attributes.find(&format!("{name}=\""))? + name.len() + 2;
    tag.attributes[start..].split('"').next()
}

fn pages() -> Vec<(&'static str, Comparison)> {
    vec![("realistic", realistic()), ("hostile", hostile()), ("empty", empty())]
}

#[test]
fn elements_are_nested_and_closed() {
    const VOID: [&str; 3] = ["meta", "link", "!DOCTYPE"];
    for (kind, comparison) in pages() {
        let page = html(&comparison).unwrap();
        let mut open: Vec<&str> = Vec::new();
        for tag in tags(&page).iter().filter(|t| !VOID.contains(&t.name)) {
            if tag.ends {
                assert_eq!(open.pop(), Some(tag.name), "{kind}: {open:?}");
            } else {
                open.push(tag.name);
            }
            // An attribute's value ends with its quote.
            assert_eq!(tag.attributes.matches('"').count() % 2, 0, "{kind}: {tag:?}");
        }
        assert!(open.is_empty(), "{kind}: {open:?}");
    }
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    for (kind, comparison) in pages() {
        let page = html(&comparison).unwrap();
        assert!(!page.contains("http://") && !page.contains("https://"), "{kind}");
        assert!(page.contains("default-src 'none'"), "{kind}");
        for tag in tags(&page) {
            assert!(
                !["script", "img", "iframe", "object", "base", "form"].contains(&tag.name),
                "{kind}"
            );
            for word in tag.attributes.split('"').step_by(2) {
                assert!(!word.trim_start().starts_with("on"), "{kind}: {tag:?}");
            }
            let target = attribute(&tag, "href").or(attribute(&tag, "src"));
            assert!(target.is_none_or(|t| t.starts_with('#') || t == "data:,"), "{kind}: {tag:?}");
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = html(&hostile()).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains("<script"));
    assert!(!page.contains("onerror=alert(1)>"));
    assert!(page.contains("&lt;&#x2f;title&gt;") || page.contains("&lt;/title&gt;"));
    // Characters that turn the rest of a line around are gone, the words are not.
    assert!(!page.contains('\u{202e}') && page.contains("مرحبا"));
    assert!(page.contains("{{ name }}"));
    assert!(!page.contains('\u{0}'));
    assert_eq!(page.matches("</title>").count(), page.matches("<title").count());
    // Long names are cut.
    assert!(!page.contains(&"x".repeat(200)));
    assert!(HOSTILE.iter().all(|h| !h.contains('<') || !page.contains(h)));
}

#[test]
fn no_number_is_not_a_number() {
    for (kind, comparison) in pages() {
        let page = html(&comparison).unwrap();
        for tag in tags(&page) {
            for value in tag.attributes.split('"').skip(1).step_by(2) {
                let words = value.split(|c: char| !c.is_alphanumeric());
                assert!(!words.clone().any(|w| w == "NaN" || w == "inf"), "{kind}: {tag:?}");
            }
        }
        let text: String = page.split('<').filter_map(|s| s.split_once('>')).map(|s| s.1).collect();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        assert!(
            !words.any(|w| w == "NaN" || w == "inf" || w == "None" || w == "undefined"),
            "{kind}"
        );
    }
}

#[test]
fn every_chart_has_a_text_alternative_and_a_table() {
    let page = html(&realistic()).unwrap();
    let tags = tags(&page);
    let charts = tags.iter().filter(|t| attribute(t, "class") == Some("chart")).count();
    // Eight threats, the cost, one score, two certificates; of the advised model ROC, precision-recall, calibration,
    // net benefit, weights, steadiness.
    assert_eq!(charts, 18);
    assert_eq!(page.matches("<summary>The numbers as a table</summary>").count(), charts);
    let pictures: Vec<&str> = tags.iter().filter_map(|t| attribute(t, "aria-labelledby")).collect();
    assert_eq!(pictures.len(), charts);
    let ids: Vec<&str> = tags.iter().filter_map(|t| attribute(t, "id")).collect();
    for id in pictures.iter().flat_map(|p| p.split(' ')) {
        assert_eq!(ids.iter().filter(|i| **i == id).count(), 1, "{id}");
    }
    let places: Vec<&Tag<'_>> =
        tags.iter().filter(|t| attribute(t, "class") == Some("place") && !t.ends).collect();
    assert!(places.len() > 40);
    for place in places {
        assert_eq!(attribute(place, "tabindex"), Some("0"));
        assert!(attribute(place, "aria-label").unwrap().len() > 8);
    }
}

#[test]
fn empty_charts_say_why() {
    let page = html(&hostile()).unwrap();
    assert!(page.contains("No method could be judged here: class &lt;script&gt;"));
    assert!(page.contains("This threat was not run."));
    assert!(page.contains("Why some numbers are missing"));
    let untested = Comparison { audit: None, ..empty() };
    let page = html(&untested).unwrap();
    assert!(!page.contains("No label stands out"), "nothing was tested");
    assert!(page.contains("Not run: this comparison was made without looking at labels."));
    let tested = Comparison { audit: realistic().audit, ..empty() };
    assert!(html(&tested).unwrap().contains("No label stands out among 569 rows"));
    let skipped = Comparison { suspects_not_run: Some("no <time>".into()), ..empty() };
    let page = html(&skipped).unwrap();
    assert!(page.contains("Not run: no &lt;time&gt;."));
    assert!(!page.contains("No label stands out"));
    let page = html(&empty()).unwrap();
    assert!(page.contains("plain is enough here"));
}

#[test]
fn weights_beyond_the_largest_twenty_are_counted() {
    assert!(html(&realistic()).unwrap().contains("10 features with smaller weights left out"));
    assert!(html(&hostile()).unwrap().contains("180 features with smaller weights left out"));
}

#[test]
fn the_advised_model_is_shown_with_thresholds_confusion_and_what_became_of_the_table() {
    let page = html(&realistic()).unwrap();
    for told in [
        "The advised model: Conic-loss SVM",
        "200 (94.3 %)",
        "0.970 to 0.990",
        "calibrated on held-out parts",
        "rows left out: the label is missing",
        "&lt;b&gt;age&lt;&#x2f;b&gt;",
        "rows equal to an earlier one",
    ] {
        assert!(page.contains(told), "{told}");
    }
    // A PPV without anybody called has no number.
    assert!(page.contains("<td>–</td>"));
    let none = Comparison { chosen: None, chosen_not_run: Some("no <time>".into()), ..realistic() };
    let page = html(&none).unwrap();
    assert!(page.contains("Not run: no &lt;time&gt;.") && !page.contains("Confusion matrix"));
}

/// What gets no more than a constant answer is not the best of anything.
#[test]
fn no_method_is_best_that_a_constant_answer_equals() {
    let page =
        |answer: f64| html(&Comparison { constant_answer: Some(answer), ..realistic() }).unwrap();
    assert!(page(0.0).contains("best here"));
    assert!(!page(1.0).contains("best here"));
}

#[test]
fn a_constant_baseline_is_still_called_the_baseline() {
    let base = realistic();
    let constant = base.methods.iter().map(|m| m.name.clone()).collect();
    let page = html(&Comparison { constant, ..base }).unwrap();
    assert!(page.contains("baseline, constant") && page.contains("advised, constant"));
}

#[test]
fn the_checklist_is_there_only_if_asked_for() {
    assert!(!html(&realistic()).unwrap().contains("id=\"tripod\""));
    for (kind, comparison) in pages() {
        let page = html_with(&comparison, Options { tripod: true }).unwrap();
        assert!(page.contains("id=\"tripod\""), "{kind}");
        for name in ["Fairness", "Ethical approval", "Missing data", "Sample size", "Funding"] {
            assert!(page.contains(name), "{kind}: {name}");
        }
    }
    let page = html_with(&realistic(), Options { tripod: true }).unwrap();
    assert!(page.contains("7 cells in 1 column filled with the mean of the column."));
}

#[test]
fn the_same_comparison_gives_the_same_bytes() {
    assert_eq!(html(&hostile()).unwrap(), html(&hostile()).unwrap());
}

/// Headings and charts in order: what a reader meets on the way down.
#[test]
fn the_page_tells_its_story_in_order() {
    let page = html(&realistic()).unwrap();
    let mut lines = Vec::new();
    for (start, _) in page.match_indices('<') {
        let rest = &page[start..];
        let level = ["<h1", "<h2", "<h3"].iter().position(|h| rest.starts_with(h));
        if let Some(level) = level {
            let inner = &rest[rest.find('>').unwrap() + 1..rest.find("</h").unwrap()];
            let text: String = inner.replace("<bdi>", "").replace("</bdi>", "");
            lines.push(format!("{}{}", "  ".repeat(level), text.split('<').next().unwrap().trim()));
        } else if rest.starts_with("<svg class=\"chart\"") {
            lines.push("      chart".into());
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}
