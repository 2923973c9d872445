//! What keeps the numbers of a comparison from being believed.

use std::collections::BTreeSet;

use super::advice::SURE;
use super::outcome::Cell;
use super::session::LEFT_OUT;
use crate::stress::TOO_SLOW;

/// What keeps the numbers from being believed.
pub(super) fn doubts(cells: &[Cell], repeats: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    match repeats {
        1 => sentences.push(
            "With one split there are no intervals and nothing is sure: run more repeats.".into(),
        ),
        2..SURE => sentences.push(format!(
            "Only {repeats} splits: the intervals are rough and no gain is called sure. A larger budget, or {SURE} \
             repeats and more, settle it."
        )),
        _ => {}
    }
    let because = |why: &str| -> Vec<&Cell> {
        cells.iter().filter(|c| c.problem.as_deref() == Some(why)).collect()
    };
    let (slow, asked) = (because(TOO_SLOW), because(LEFT_OUT));
    if !slow.is_empty() {
        sentences.push(format!(
            "Left out, because their fits take longer than the time budget allows: {}. A larger budget includes them.",
            methods_of(&slow)
        ));
    }
    if !asked.is_empty() {
        sentences.push(format!("Left out on request: {}.", methods_of(&asked)));
    }
    let unknown = |c: &&Cell| c.problem.as_deref().is_some_and(|p| p != TOO_SLOW && p != LEFT_OUT);
    let empty: Vec<&Cell> = cells.iter().filter(unknown).collect();
    if let Some(first) = empty.first() {
        sentences.push(format!(
            "{} of {} cells are empty ({}); the first because: {}",
            empty.len(),
            cells.len(),
            methods_of(&empty),
            first.problem.as_deref().unwrap_or_default()
        ));
    }
    sentences
}

/// The methods of `cells`, each once.
fn methods_of(cells: &[&Cell]) -> String {
    let names: BTreeSet<&str> = cells.iter().map(|c| c.method.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
