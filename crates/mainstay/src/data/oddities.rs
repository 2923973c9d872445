//! Cells that look like slips: words that differ in case or spaces alone, numbers far from all others.

use std::collections::BTreeMap;

use serde::Serialize;

/// With fewer numbers their middle half is too uncertain to judge others by.
const MIN_NUMBERS: usize = 20;
/// How far from the middle half a number must lie, in widths of that half. A tenfold or hundredfold value of a feature
/// whose spread is a tenth of its size lies farther, the largest of a million normal numbers (3.1) far less.
const FAR: f64 = 15.0;
/// The same for logarithms of positive numbers, so that a long right tail is no slip.
const FAR_IN_LOGARITHMS: f64 = 6.0;
/// Slips are rare: beyond this share of the numbers they are part of the data.
const MOST_SLIPS: f64 = 0.02;

/// Numbers far from all others of their column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FarNumbers {
    /// How many.
    pub count: usize,
    /// The farthest.
    pub farthest: f64,
    /// Where the middle half of the column begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// Distinct words that are the same but for case, spaces, and dashes inside; each group sorted.
pub(super) fn look_alikes<'a>(words: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for word in words {
        groups.entry(plain(word)).or_default().push(word.to_owned());
    }
    let mut found: Vec<Vec<String>> =
        groups.into_values().filter(|group| group.len() > 1).collect();
    for group in &mut found {
        group.sort();
    }
    found
}

/// Lower case, with one space for every run of spaces, underscores and inner dashes. A dash at the end may mean minus.
fn plain(word: &str) -> String {
    let end = word.trim_end_matches('-').len();
    let (inner, tail) = word.split_at(end);
    let spaced = inner.replace(['_', '-'], " ");
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.to_lowercase() + tail
}

/// The numbers far from all others, if they are few.
pub(super) fn far_numbers(mut numbers: Vec<f64>) -> Option<FarNumbers> {
    if numbers.len() < MIN_NUMBERS {
        return None;
    }
    numbers.sort_by(f64::total_cmp);
    let plain = Middle::of(&numbers, |v| v)?;
    // Numbers piled up at one end, as counts that are mostly zero, have a tail by nature.
    if plain.low == numbers[0] || plain.high == numbers[numbers.len() - 1] {
        return None;
    }
    let positive = numbers[0] > 0.0;
    let logarithms = if positive { Some(Middle::of(&numbers, f64::ln)?) } else { None };
    let is_far = |v: f64| {
        plain.distance(v) > FAR
            && logarithms.is_none_or(|middle| middle.distance(v.ln()) > FAR_IN_LOGARITHMS)
    };
    let far: Vec<f64> = numbers.iter().copied().filter(|v| is_far(*v)).collect();
    let few = far.len() as f64 <= (MOST_SLIPS * numbers.len() as f64).max(1.0);
    let farthest =
        far.iter().copied().max_by(|a, b| plain.distance(*a).total_cmp(&plain.distance(*b)))?;
    few.then_some(FarNumbers { count: far.len(), farthest, low: plain.low, high: plain.high })
}

/// The middle half of some numbers.
#[derive(Clone, Copy)]
struct Middle {
    low: f64,
    high: f64,
}

impl Middle {
    /// Of sorted numbers, seen through an increasing function; none if it has no width.
    fn of(sorted: &[f64], seen: impl Fn(f64) -> f64) -> Option<Self> {
        let quarter = sorted.len() / 4;
        let (low, high) = (seen(sorted[quarter]), seen(sorted[sorted.len() - 1 - quarter]));
        (high > low).then_some(Self { low, high })
    }

    /// How far a number lies outside, in widths.
    fn distance(self, v: f64) -> f64 {
        // Halves, so that no difference overflows.
        let outside = (0.5 * self.low - 0.5 * v).max(0.5 * v - 0.5 * self.high).max(0.0);
        outside / (0.5 * self.high - 0.5 * self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_in_case_or_spaces_alone_are_named_together() {
        let words =
            ["Medicine", "medicine ", "surgery", "non-smoker", "Non_Smoker", "A-", "a+", "A+"];
        let found = look_alikes(words.into_iter());
        assert_eq!(
            found,
            [vec!["A+", "a+"], vec!["Medicine", "medicine "], vec!["Non_Smoker", "non-smoker"]]
        );
    }

    /// Heights of 150 to 199 cm, one of them in millimetres: 1.5 m beyond a half of 25 cm.
    #[test]
    fn a_number_in_another_unit_is_far_from_the_others() {
        let mut heights: Vec<f64> = (150..200).map(f64::from).collect();
        assert_eq!(far_numbers(heights.clone()), None);
        heights[7] = 1570.0;
        let found = far_numbers(heights.clone()).unwrap();
        assert_eq!((found.count, found.farthest), (1, 1570.0));
        assert!(found.low > 150.0 && found.high < 200.0);
        heights.truncate(10);
        assert_eq!(far_numbers(heights), None);
    }

    /// Powers of two from 1 to 2^29 have a long tail, counts that are mostly zero too; two values have no middle half.
    #[test]
    fn a_long_tail_is_no_slip() {
        let mut counts = vec![0.0; 20];
        counts.extend([1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 60.0]);
        assert_eq!(far_numbers(counts), None);
        assert_eq!(far_numbers((0..30).map(|k| 2f64.powi(k)).collect()), None);
        let mut zeros = vec![0.0; 40];
        zeros[3] = 1.0;
        assert_eq!(far_numbers(zeros), None);
    }
}
