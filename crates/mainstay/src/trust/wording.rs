//! A model for people to read: plain text and Markdown.

use std::fmt::Write as _;

use super::coefficients::{ClassCoefficients, Coefficient, Steadiness};
use super::summary::{Assumption, ModelSummary};
use crate::data::visible;
use crate::model::TrainingSummary;

/// Features listed in text; all are in the data.
const LISTED: usize = 60;

impl ModelSummary {
    /// Plain text for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.facts() {
            let _ = writeln!(text, "{name:<14} {}", visible(&value));
        }
        for class in &self.coefficients {
            let _ = write!(text, "\n{}\n", visible(&self.heading(class)));
            let seen = |row: Vec<String>| row.iter().map(|cell| visible(cell).into()).collect();
            let table: Vec<Vec<String>> = self.table(class).into_iter().map(seen).collect();
            text.push_str(&aligned(&table));
        }
        for line in self.remarks() {
            let _ = writeln!(text, "{}", visible(&line));
        }
        text
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n| | |\n|---|---|\n", self.method);
        for (name, value) in self.facts() {
            let _ = writeln!(text, "| {name} | {} |", escaped(&value));
        }
        for class in &self.coefficients {
            let table = self.table(class);
            let _ = write!(text, "\n## {}\n\n", escaped(&self.heading(class)));
            for (i, row) in table.iter().enumerate() {
                let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
                if i == 0 {
                    let _ = writeln!(text, "|---|{}", "---:|".repeat(row.len() - 1));
                }
            }
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            text.push('\n');
        }
        for line in remarks {
            let _ = writeln!(text, "- {}", escaped(&line));
        }
        text
    }

    /// Names and values of everything but the weights.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("method", format!("{} ({})", self.method, self.purpose))];
        let classes = match self.classes.as_slice() {
            [negative, positive] => format!("`{positive}` (positive) against `{negative}`"),
            classes => classes.join(", "),
        };
        let target = self.target.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        facts.push(("target", target + &classes));
        facts.push(("training data", self.training_words()));
        for how in ["given", "found by the fit", "default"] {
            let of = self.assumptions.iter().filter(|a| a.how == how && !self.is_denied(a));
            let values: Vec<String> = of.map(|a| format!("{} {}", a.name, a.value)).collect();
            if !values.is_empty() {
                let name = if how == "found by the fit" { "found" } else { how };
                facts.push((name, values.join(", ")));
            }
        }
        facts.push(("certificate", self.certificate.clone()));
        facts.push(("probabilities", self.probabilities.clone()));
        if let Some(version) = &self.fitted_by {
            facts.push(("fitted by", format!("mainstay {version}")));
        }
        for (column, level) in &self.references {
            let words = match level {
                Some(level) => format!("{column}: weights are relative to `{level}`"),
                None => format!("{column}: none; compare its weights with each other"),
            };
            facts.push(("reference", words));
        }
        facts.push(("about rows", self.privacy_words()));
        facts
    }

    /// `normalize` = false beside rows that were standardised before the fit reads as if they had not been.
    fn is_denied(&self, assumption: &Assumption) -> bool {
        let standardized = self.training.as_ref().is_some_and(|t| t.standardized);
        standardized && assumption.name == "normalize" && assumption.value == "false"
    }

    fn training_words(&self) -> String {
        let Some(TrainingSummary { rows, classes, standardized, .. }) = &self.training else {
            return format!("{} features; the file says no more", self.n_features);
        };
        let counts: Vec<String> = self
            .classes
            .iter()
            .zip(classes)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let scale = if *standardized { "standardised before the fit" } else { "taken as they are" };
        format!("{rows} rows ({}), {} features, {scale}", counts.join(", "), self.n_features)
    }

    fn privacy_words(&self) -> String {
        let means = match &self.training {
            Some(training) if training.features.is_some() => "means, deviations and correlations",
            Some(_) => "counts of the classes",
            None => "class names and categories",
        };
        if self.training_rows.is_empty() {
            return format!("holds {means} of the training rows, nothing about single ones");
        }
        let list = self.training_rows.join(", ");
        let rest = if self.training_rows.iter().any(|name| name == "rows") {
            "; `rows` are training rows, which it predicts by"
        } else {
            "; `mainstay fit --no-training-rows` leaves these out"
        };
        format!("holds {means}, and about single training rows: {list}{rest}")
    }

    /// What the table of a class is about.
    pub fn heading(&self, class: &ClassCoefficients) -> String {
        let against = if self.classes.len() == 2 { "" } else { " against the rest" };
        let kind = if self.log_odds { "log odds" } else { "score" };
        let order = if self.training.is_some() { ", largest per sd first" } else { "" };
        format!("{kind} of `{}`{against}{order}", class.class)
    }

    /// The table of a class as text, header first.
    pub fn table(&self, class: &ClassCoefficients) -> Vec<Vec<String>> {
        let with_sd = self.training.as_ref().is_some_and(|t| t.features.is_some());
        let mut header = vec!["feature", "weight"];
        header.extend(with_sd.then_some("per sd"));
        header.extend(self.log_odds.then_some("odds ratio"));
        header.extend((with_sd && self.log_odds).then_some("odds ratio per sd"));
        if self.refits > 0 {
            header.extend(["95 % of refits", "same sign"]);
        }
        let mut table = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        let mut order: Vec<&Coefficient> = class.features.iter().collect();
        let size = |c: &Coefficient| c.per_sd.unwrap_or(c.weight).abs();
        order.sort_by(|a, b| size(b).total_cmp(&size(a)));
        for feature in order.iter().take(LISTED) {
            let mut row = vec![feature.feature.clone(), number(feature.weight)];
            row.extend(feature.per_sd.filter(|_| with_sd).map(number));
            row.extend(feature.odds_ratio.map(number));
            row.extend(feature.odds_ratio_per_sd.filter(|_| with_sd).map(number));
            row.extend(feature.steadiness.iter().flat_map(steadiness));
            table.push(row);
        }
        let width = table[0].len();
        let mut last = vec!["(intercept)".to_owned(), number(class.intercept)];
        let blanks = width - 2 - if self.refits > 0 { 2 } else { 0 };
        last.extend(std::iter::repeat_n(String::new(), blanks));
        last.extend(class.intercept_steadiness.iter().flat_map(steadiness));
        table.push(last);
        table
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.coefficients.is_empty() {
            remarks
                .push("the model has no weights: its scores are not linear in the features".into());
        } else if self.n_features > LISTED {
            remarks.push(format!(
                "{} smaller weights are not shown; JSON has all",
                self.n_features - LISTED
            ));
        }
        if self.refits > 0 {
            remarks.push(format!(
                "intervals: the middle 95 % of {} refits to rows drawn with replacement",
                self.refits
            ));
        }
        remarks.extend(self.warnings.iter().map(|text| format!("note: {text}")));
        remarks
    }
}

fn steadiness(found: &Steadiness) -> [String; 2] {
    let range = format!("{} to {}", number(found.low), number(found.high));
    [range, format!("{:.0} %", 100.0 * found.same_sign)]
}

/// Four digits.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs();
    if !(1e-3..1e5).contains(&size) {
        return format!("{value:.3e}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 6")]
    let decimals = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Columns of equal width: the first to the left, numbers to the right.
fn aligned(table: &[Vec<String>]) -> String {
    let length = |text: &String| text.chars().count();
    let columns = table.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|j| table.iter().filter_map(|row| row.get(j)).map(length).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in table {
        let mut line = String::new();
        for (j, cell) in row.iter().enumerate() {
            let gap = " ".repeat(widths[j] - length(cell));
            let _ =
                if j == 0 { write!(line, "{cell}{gap}") } else { write!(line, "  {gap}{cell}") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_in_any_size() {
        let shown: Vec<String> =
            [0.0, 1.0, -0.012_345, 1234.56, 2.5e-7, 3.0e9].into_iter().map(number).collect();
        assert_eq!(shown, ["0", "1.000", "-0.01235", "1235", "2.500e-7", "3.000e9"]);
    }

    #[test]
    fn a_cell_cannot_break_a_markdown_table() {
        assert_eq!(escaped("a|b\nc"), "a\\|b c");
    }
}
