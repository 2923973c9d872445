//! An encoder learned chunk by chunk is the one that the whole table teaches.
#![cfg(test)]

use mainstay::Error;
use mainstay::data::{
    Column, Encoder, EncoderLearner, EncoderOptions, Gaps, Learner, Missing, Preparation, Table,
};

/// The cell of every row.
type Cells<'a> = &'a dyn Fn(usize) -> Option<String>;

/// Words from a pattern that repeats.
fn words(name: &str, rows: usize, word: impl Fn(usize) -> Option<String>) -> Column {
    let cells: Vec<Option<String>> = (0..rows).map(word).collect();
    Column::words(name, cells.iter().map(Option::as_deref))
}

fn wave(i: usize, k: usize) -> f64 {
    ((i * k + 1) as f64 * 0.731).sin()
}

const ROWS: usize = 120;

/// Numbers with gaps, numbers among words, categories, dates, identifiers, an index.
fn table() -> Table {
    let some = |text: String| Some(text);
    Table::new(vec![
        Column::numbers("column1", (0..ROWS).map(|i| i as f64).collect()),
        Column::numbers(
            "x",
            (0..ROWS).map(|i| if i % 9 == 4 { f64::NAN } else { wave(i, 3) / 3.0 }).collect(),
        ),
        Column::numbers("zeros", (0..ROWS).map(|i| ((i % 5) / 4) as f64).collect()),
        Column::numbers(
            "code",
            (0..ROWS).map(|i| if i % 7 == 0 { -999.0 } else { wave(i, 5) }).collect(),
        ),
        words("stray", ROWS, |i| {
            some(if i % 11 == 3 { "none".into() } else { format!("{:.2}", wave(i, 2)) })
        }),
        words("day", ROWS, |i| (i % 13 > 0).then(|| format!("{}.{}.2024", 1 + i % 28, 1 + i % 12))),
        words("ward", ROWS, |i| {
            (i % 17 > 0).then(|| ["north", "south", "?", "\u{e9}st"][i * i % 4].into())
        }),
        words("name", ROWS, |i| some(format!("P-{}", (i * 7919) % 1000))),
        Column::numbers("number", (0..ROWS).map(|i| ((i * 7919) % 1009) as f64).collect()),
    ])
    .unwrap()
}

fn chunks(table: &Table, size: usize) -> Vec<Table> {
    let n = table.nrows();
    let part = |start: usize| table.select_rows(&(start..n.min(start + size)).collect::<Vec<_>>());
    (0..n).step_by(size).map(part).collect()
}

fn learned(
    table: &Table,
    size: usize,
    options: &EncoderOptions,
) -> Result<(Encoder, usize), Error> {
    let mut learner = EncoderLearner::new(options.clone());
    let mut passes = 0;
    loop {
        passes += 1;
        for part in chunks(table, size) {
            learner.add(&part)?;
        }
        if !learner.needs_another_pass()? {
            return Ok((learner.finish()?, passes));
        }
    }
}

fn options(missing: Missing) -> EncoderOptions {
    EncoderOptions { missing, min_count: 1, ..EncoderOptions::default() }
}

/// Numbers that differ in the first 270,000 rows and come again in the last 30,000 are no identifier, however they are read;
/// those that differ in all rows are one.
#[test]
fn numbers_that_repeat_far_down_a_file_are_a_feature_in_chunks_too() {
    let rows = 300_000;
    let table = Table::new(vec![
        Column::numbers("visit", (0..rows).map(|i| ((i % 270_000) * 7) as f64).collect()),
        Column::numbers("number", (0..rows).map(|i| (3 * i) as f64).collect()),
        Column::numbers("x", (0..rows).map(|i| wave(i, 3)).collect()),
    ])
    .unwrap();
    let whole = Encoder::learn_with(&table, &options(Missing::Refuse)).unwrap();
    assert_eq!(whole.feature_names(), ["visit", "x"]);
    assert_eq!(learned(&table, 65_536, &options(Missing::Refuse)).unwrap().0, whole);
}

#[test]
fn chunks_teach_the_same_encoder() {
    let table = table();
    let rules =
        [Missing::Refuse, Missing::Keep, Missing::Mean, Missing::MostFrequent, Missing::Drop];
    for missing in rules {
        let all = [
            options(missing),
            EncoderOptions { categorical: vec!["zeros".into()], ..options(missing) },
            EncoderOptions { keep: vec!["name".into()], min_count: 30, ..options(missing) },
            EncoderOptions { gaps: Gaps::new(["none".into(), "-999".into()]), ..options(missing) },
            EncoderOptions { reference: vec![("ward".into(), "south".into())], ..options(missing) },
        ];
        for options in all {
            let expected = Encoder::learn_with(&table, &options).unwrap();
            assert!(expected.left_out().iter().any(|l| l.column == "column1"));
            for size in [1, 7, 50, ROWS] {
                let (found, passes) = learned(&table, size, &options).unwrap();
                let mean_of_dates = missing == Missing::Mean;
                if mean_of_dates {
                    // Rounded differently: see the learner's own words.
                    assert_eq!(found.feature_names(), expected.feature_names());
                    let (a, b) = (found.encode(&table).unwrap(), expected.encode(&table).unwrap());
                    let (a, b) = (a.features.to_dense(), b.features.to_dense());
                    for (a, b) in a.data().iter().zip(b.data()) {
                        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} {b}");
                    }
                } else {
                    assert_eq!(found, expected, "{missing:?}, chunks of {size}");
                }
                assert_eq!(passes, if missing == Missing::Drop { 2 } else { 1 });
            }
        }
    }
}

#[test]
fn the_mean_of_numbers_is_the_same_to_the_last_bit() {
    let mut table = table();
    table.take("day").unwrap();
    let options = options(Missing::Mean);
    let expected = Encoder::learn_with(&table, &options).unwrap();
    for size in [1, 7, ROWS] {
        assert_eq!(learned(&table, size, &options).unwrap().0, expected);
    }
}

#[test]
fn columns_that_cannot_be_used_get_the_same_message() {
    let good = |i: usize| Some(format!("{}", i % 17));
    let bad: [(&str, Cells<'_>); 5] = [
        ("stray", &|i| if i % 37 == 30 { Some("old".into()) } else { good(i) }),
        ("percent", &|i| Some(format!("{}%", i % 17))),
        ("unclear", &|i| Some(format!("{}/{}/2020", 1 + i % 9, 1 + i % 7))),
        ("mixed", &|i| Some(if i == 50 { "1/31/2020".into() } else { "31/1/2020".into() })),
        ("empty", &|_| None),
    ];
    for (name, cell) in bad {
        let x = Column::numbers("x", (0..ROWS).map(|i| wave(i, 3)).collect());
        let table = Table::new(vec![x, words(name, ROWS, cell)]).unwrap();
        let message = |error: Error| error.to_string();
        let expected = message(Encoder::learn_with(&table, &options(Missing::Mean)).unwrap_err());
        for size in [1, 7, ROWS] {
            let found = message(learned(&table, size, &options(Missing::Mean)).unwrap_err());
            assert_eq!(found, expected, "chunks of {size}");
        }
    }
}

#[test]
fn a_column_of_too_many_words_and_the_median_are_refused_by_name() {
    let rows = 210_000;
    let pairs = words("note", rows, |i| Some(format!("w{}", i / 2)));
    let x = Column::numbers("x", vec![0.5; rows]);
    let table = Table::new(vec![x, pairs]).unwrap();
    let message = learned(&table, 50_000, &options(Missing::Keep)).unwrap_err().to_string();
    assert!(message.contains("column `note` has more than 100000 different words"), "{message}");
    let few = table.select_rows(&(0..50).collect::<Vec<_>>());
    let message = learned(&few, 7, &options(Missing::Median)).unwrap_err().to_string();
    assert!(message.contains("column `x`: the median needs all rows in memory"), "{message}");
}

#[test]
fn prepared_chunks_are_the_rows_of_the_prepared_table() {
    let mut columns = table().columns().to_vec();
    columns.push(words("y", ROWS, |i| (i % 19 > 0).then(|| ["no", "yes"][i % 2].into())));
    columns.push(Column::numbers("w", (0..ROWS).map(|i| (i % 3) as f64).collect()));
    let table = Table::new(columns).unwrap();
    for missing in [Missing::Drop, Missing::MostFrequent] {
        let wishes = Preparation {
            target: "y".into(),
            weights: Some("w".into()),
            ids: vec!["name".into()],
            drop: vec!["number".into()],
            drop_unlabelled: true,
            positive: Some("no".into()),
            encoder: options(missing),
            ..Preparation::default()
        };
        let expected = wishes.apply(table.clone()).unwrap();
        for size in [1, 7, ROWS] {
            let mut learner = Learner::new(wishes.clone());
            loop {
                for part in chunks(&table, size) {
                    learner.add(part).unwrap();
                }
                if !learner.needs_another_pass().unwrap() {
                    break;
                }
            }
            let learned = learner.finish().unwrap();
            assert_eq!(
                (&learned.encoder, &learned.classes),
                (&expected.encoder, &expected.classes)
            );
            assert_eq!(learned.rows, expected.data.len());
            let mut first = 0;
            for part in chunks(&table, size) {
                let rows = learned.rows_of(part).unwrap();
                let own: Vec<usize> = (first..first + rows.labels.len()).collect();
                first += own.len();
                let same = expected.data.select_rows(&own);
                assert_eq!(rows.features, *same.features());
                assert_eq!(rows.labels, same.labels());
                assert_eq!(rows.weights.as_deref(), same.weights());
            }
            assert_eq!(first, expected.data.len());
            for note in ["without a label", "column `column1` is left out"] {
                assert!(learned.notes.iter().any(|n| n.contains(note)), "{:?}", learned.notes);
            }
        }
    }
}
