//! What a careful reader should know about a table before believing any number.

use crate::data::Dataset;
use crate::metrics::auc;

/// Classes with fewer rows are called small.
const SMALL: usize = 10;
/// How many names a warning lists.
const LISTED: usize = 5;

/// Plain sentences on small and dominant classes, constant columns, and features that give the class away.
pub fn survey(data: &Dataset, features: &[String], classes: &[String]) -> Vec<String> {
    let mut found = class_sizes(data, classes);
    let n = data.len();
    let x = data.features().transpose().to_dense();
    let constant: Vec<usize> =
        (0..x.nrows()).filter(|&j| x.row(j).iter().all(|v| *v == x.row(j)[0])).collect();
    if constant.len() == features.len() {
        found.push("All features are constant: nothing can be learned from them.".into());
    } else if !constant.is_empty() {
        let (names, verb) =
            (listed(&constant, features), if constant.len() == 1 { "is" } else { "are" });
        found.push(format!(
            "{} {verb} the same in every row and cannot help: {names}.",
            count(constant.len(), "column")
        ));
    }
    let telling: Vec<usize> =
        (0..x.nrows()).filter(|&j| !constant.contains(&j) && gives_away(x.row(j), data)).collect();
    if !telling.is_empty() {
        let names = listed(&telling, features);
        let verb = if telling.len() == 1 { "tells" } else { "tell" };
        found.push(format!(
            "{} alone {verb} a class from the rest without error: {names}. Make sure that this is known before the class \
             is (no leak).",
            count(telling.len(), "feature")
        ));
    }
    if data.n_features() > n {
        found.push(format!(
            "There are more features ({}) than rows ({n}): many models fit the training rows perfectly.",
            data.n_features()
        ));
    }
    found
}

fn class_sizes(data: &Dataset, classes: &[String]) -> Vec<String> {
    let mut counts = vec![0_usize; data.n_classes()];
    data.labels().iter().for_each(|&k| counts[k] += 1);
    let mut found: Vec<String> = Vec::new();
    for (k, &rows) in counts.iter().enumerate().filter(|(_, c)| **c < SMALL) {
        found.push(format!(
            "Class `{}` has only {}: results for it depend on luck.",
            classes[k],
            count(rows, "row")
        ));
    }
    let Some((largest, &rows)) = counts.iter().enumerate().max_by_key(|(_, c)| **c) else {
        return found;
    };
    let share = rows as f64 / data.len() as f64;
    if share >= 0.8 {
        found.push(format!(
            "Always answering `{}` is right for {:.1} % of the rows: read every accuracy against that.",
            classes[largest],
            100.0 * share
        ));
    }
    found
}

/// Whether one threshold on the feature separates a class from the rest.
fn gives_away(column: &[f64], data: &Dataset) -> bool {
    let classes = if data.n_classes() == 2 { 1..2 } else { 0..data.n_classes() };
    classes.into_iter().any(|k| {
        let positive: Vec<bool> = data.labels().iter().map(|&label| label == k).collect();
        // With a handful of rows a clean cut is no surprise.
        let enough = positive.iter().filter(|p| **p).count() >= SMALL;
        enough && auc(column, &positive).is_some_and(|a| a == 0.0 || a == 1.0)
    })
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn listed(which: &[usize], names: &[String]) -> String {
    let mut shown: Vec<String> =
        which.iter().take(LISTED).map(|&j| format!("`{}`", names[j])).collect();
    if which.len() > LISTED {
        shown.push("...".into());
    }
    shown.join(", ")
}
