//! Targets that are no classes: quantities to be measured and names of rows.

use super::{Classes, Label};

/// Fewer different values are classes, whatever they look like: there are tables of twenty species and of ten digits.
const MANY: usize = 20;
/// A class of so few rows cannot be told from the others: nothing is left of it where rows are held out.
const FEW_ROWS: usize = 2;

/// Why the values of a target do not look like classes: many, and most of them in very few rows, or numbers with
/// fractions. `rows` are the rows of every class. Whole numbers and words that come again are classes, however many.
pub fn unlike_classes(target: &str, classes: &Classes, rows: &[usize]) -> Option<String> {
    let names = classes.names();
    let (count, all) = (names.len(), rows.iter().sum::<usize>());
    let fractions = names.iter().any(|name| matches!(name, Label::Number(_)));
    let rare = rows.iter().filter(|n| **n <= FEW_ROWS).count();
    if count < MANY || (!fractions && 2 * rare <= count) {
        return None;
    }
    let seen = if 2 * rare > count { ", most of them in one row or two" } else { "" };
    let (what, looks, instead) = if classes.are_text() {
        ("words", "an identifier", "name a column of classes as the target")
    } else if count == all && !fractions {
        ("numbers", "an identifier or a quantity", "name a column of classes as the target")
    } else {
        let instead = "cut it into a few ranges (`low` below a limit that matters and `high` above it, say) and fit \
                       that column";
        ("numbers", "a quantity", instead)
    };
    Some(format!(
        "target `{target}` has {count} different {what} in {all} rows{seen}: it looks like {looks}, not like a class, and \
         every one of them would be fitted against the rest; {instead}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;

    fn doubt(target: &Column) -> Option<String> {
        let classes = Classes::learn(target).unwrap();
        let mut rows = vec![0; classes.names().len()];
        classes.codes(target).unwrap().into_iter().for_each(|k| rows[k] += 1);
        unlike_classes(&target.name, &classes, &rows)
    }

    fn numbers(values: impl Iterator<Item = u32>) -> Column {
        Column::numbers("y", values.map(f64::from).collect())
    }

    #[test]
    fn a_quantity_is_no_class() {
        // 100 weights, of which 50 come twice.
        let text = doubt(&numbers((0..150).map(|i| 2500 + i % 100))).unwrap();
        assert!(text.contains("`y` has 100 different numbers in 150 rows"), "{text}");
        assert!(text.contains("a quantity, not like a class"), "{text}");
        // Concentrations of which every one was measured ten times.
        let levels = Column::numbers("y", (0..300).map(|i| f64::from(i % 30) / 7.0).collect());
        assert!(doubt(&levels).unwrap().contains("quantity"));
    }

    #[test]
    fn what_names_rows_is_no_class() {
        let names: Vec<String> = (0..40).map(|i| format!("patient {i}")).collect();
        let target = Column::words("who", names.iter().map(|name| Some(name.as_str())));
        assert!(doubt(&target).unwrap().contains("an identifier, not like a class"));
        assert!(doubt(&numbers(0..40)).unwrap().contains("an identifier or a quantity"));
    }

    /// Digits, grades with a rare end, forty faces ten times each.
    #[test]
    fn classes_that_are_numbers_are_classes() {
        assert_eq!(doubt(&numbers((0..50).map(|i| i % 10))), None);
        assert_eq!(doubt(&numbers((0..30).chain([3; 60]).map(|i| i % 19))), None);
        assert_eq!(doubt(&numbers((0..400).map(|i| i % 40))), None);
        let halves = Column::numbers("y", (0..30).map(|i| f64::from(i % 6) / 2.0).collect());
        assert_eq!(doubt(&halves), None);
    }
}
