//! Dates in text: how a column writes them, and days since 1 January 1970.

use serde::{Deserialize, Serialize};

/// The order of day, month and year in a column of dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// `2024-03-01`, also with a time behind.
    Iso,
    /// `1.3.2024` or `01/03/2024`.
    DayFirst,
    /// `03/01/2024`.
    MonthFirst,
}

impl DateOrder {
    /// In words, for notes.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Iso => "year-month-day",
            Self::DayFirst => "day, month, year",
            Self::MonthFirst => "month, day, year",
        }
    }
}

/// What the cells of a column say about its dates.
#[derive(Debug, PartialEq)]
pub(super) enum Finding<'a> {
    /// Not a column of dates.
    None,
    /// Dates in this order.
    Order(DateOrder),
    /// All cells can be read two ways; this is one that differs.
    Ambiguous(&'a str),
    /// The first cell has the day in front, the second the month.
    Mixed(&'a str, &'a str),
}

/// Looks at the words of a column, each with its number of cells; `share` of the cells must be dates.
pub(super) fn look<'a>(words: &[(&'a str, usize)], share: f64) -> Finding<'a> {
    let all: usize = words.iter().map(|(_, n)| n).sum();
    let enough = |count: usize| count > 0 && count as f64 >= share * all as f64;
    let count = |is: &dyn Fn(&str) -> bool| -> usize {
        words.iter().filter(|(word, _)| is(word)).map(|(_, n)| n).sum()
    };
    if enough(count(&|word| parse(word, DateOrder::Iso).is_some())) {
        return Finding::Order(DateOrder::Iso);
    }
    let day = |word: &str| parse(word, DateOrder::DayFirst);
    let month = |word: &str| parse(word, DateOrder::MonthFirst);
    if !enough(count(&|word| day(word).is_some() || month(word).is_some())) {
        return Finding::None;
    }
    let find = |is: &dyn Fn(&str) -> bool| words.iter().map(|(w, _)| *w).find(|w| is(w));
    let day_first = find(&|w| day(w).is_some() && month(w).is_none());
    let month_first = find(&|w| month(w).is_some() && day(w).is_none());
    match (day_first, month_first) {
        (Some(a), Some(b)) => Finding::Mixed(a, b),
        (Some(_), None) => Finding::Order(DateOrder::DayFirst),
        (None, Some(_)) => Finding::Order(DateOrder::MonthFirst),
        (None, None) => match find(&|w| day(w) != month(w)) {
            Some(word) => Finding::Ambiguous(word),
            None => Finding::Order(DateOrder::DayFirst),
        },
    }
}

/// Days since 1 January 1970, with the time of day as a fraction.
pub(super) fn parse(word: &str, order: DateOrder) -> Option<f64> {
    let word = word.trim();
    let (date, time) = match word.split_once(['T', ' ']) {
        Some((date, time)) => (date, time_of_day(time)?),
        None => (word, 0.0),
    };
    let separator = date.chars().find(|c| !c.is_ascii_digit())?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [a, b, c] = parts.as_slice() else { return None };
    let (year, month, day) = match (separator, order) {
        ('-' | '/', DateOrder::Iso) if a.len() == 4 => (a, b, c),
        ('-' | '/' | '.', DateOrder::DayFirst) if c.len() == 4 => (c, b, a),
        // A date with points has the day in front wherever it is used.
        ('-' | '/', DateOrder::MonthFirst) if c.len() == 4 => (c, a, b),
        _ => return None,
    };
    let number = |text: &str| {
        let digits = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| digits)
    };
    Some(days(number(year)?, number(month)?, number(day)?)? as f64 + time)
}

/// `12:30`, `12:30:05.25`, each perhaps with `Z`, as a fraction of a day.
fn time_of_day(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let parts: Vec<f64> = text.split(':').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match parts.as_slice() {
        [h, m] => (*h, *m, 0.0),
        [h, m, s] => (*h, *m, *s),
        _ => return None,
    };
    let valid = (0.0..24.0).contains(&hours)
        && (0.0..60.0).contains(&minutes)
        && (0.0..61.0).contains(&seconds);
    valid.then_some((hours * 3600.0 + minutes * 60.0 + seconds) / 86400.0)
}

const MONTH_DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Leap years before `year`, counted from year 0 of the Gregorian calendar.
fn leaps(year: i64) -> i64 {
    (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; none if there is no such day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let index = usize::try_from(month - 1).ok().filter(|m| *m < 12)?;
    let leap_day = i64::from(is_leap(year));
    let length = MONTH_DAYS[index] + if index == 1 { leap_day } else { 0 };
    if !(1..=length).contains(&day) {
        return None;
    }
    let before: i64 =
        MONTH_DAYS[..index].iter().sum::<i64>() + if index > 1 { leap_day } else { 0 };
    Some(365 * (year - 1970) + leaps(year) - leaps(1970) + before + day - 1)
}

/// The date `count` days after 1970-01-01, as `2024-03-01`.
pub(super) fn iso(count: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "dates of four-digit years")]
    let mut rest = count.floor() as i64;
    let mut year = 1970;
    let length = |year| 365 + i64::from(is_leap(year));
    while rest < 0 {
        year -= 1;
        rest += length(year);
    }
    while rest >= length(year) {
        rest -= length(year);
        year += 1;
    }
    let mut month = 0;
    loop {
        let length = MONTH_DAYS[month] + i64::from(month == 1 && is_leap(year));
        if rest < length {
            return format!("{year:04}-{:02}-{:02}", month + 1, rest + 1);
        }
        rest -= length;
        month += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        // Known from the Unix clock: 951782400 s is 2000-02-29, 1709251200 s is 2024-03-01.
        assert_eq!(days(2000, 2, 29), Some(951_782_400 / 86_400));
        assert_eq!(days(2024, 3, 1), Some(1_709_251_200 / 86_400));
        assert_eq!((days(1970, 1, 1), days(1969, 12, 31)), (Some(0), Some(-1)));
        assert_eq!((days(1900, 2, 29), days(2023, 4, 31), days(2023, 13, 1)), (None, None, None));
        for day in [-30_000.0, -1.0, 0.0, 11_016.0, 19_783.0] {
            assert_eq!(parse(&iso(day), DateOrder::Iso), Some(day));
        }
        let noon = parse("2024-03-01T12:00:00Z", DateOrder::Iso);
        assert_eq!(noon, Some(f64::from(1_709_251_200 / 86_400) + 0.5));
    }

    #[test]
    fn the_order_is_found_where_the_cells_tell() {
        let look = |words: &[&'static str]| {
            let counted: Vec<_> = words.iter().map(|w| (*w, 1)).collect();
            look(&counted, 0.9)
        };
        assert_eq!(look(&["2024-03-01", "2024-12-31 10:30"]), Finding::Order(DateOrder::Iso));
        assert_eq!(look(&["03/04/2020", "13/04/2020"]), Finding::Order(DateOrder::DayFirst));
        assert_eq!(look(&["03/04/2020", "03/14/2020"]), Finding::Order(DateOrder::MonthFirst));
        assert_eq!(look(&["3.4.2020", "5.6.2020"]), Finding::Order(DateOrder::DayFirst));
        assert_eq!(look(&["03/04/2020", "05/06/2020"]), Finding::Ambiguous("03/04/2020"));
        assert_eq!(look(&["13/04/2020", "03/14/2020"]), Finding::Mixed("13/04/2020", "03/14/2020"));
        assert_eq!(look(&["red", "1-2-3", "10-19"]), Finding::None);
    }
}
