//! Encoding of raw columns: one-hot, missing cells, unseen categories, names.
#![cfg(test)]
#![expect(clippy::float_cmp, reason = "encoding is exact")]

use mainstay::Error;
use mainstay::data::{
    Column, Encoder, EncoderOptions, Missing, Preparation, Survey, Table, Treatment,
};
use mainstay::linalg::Matrix;

fn table() -> Table {
    Table::new(vec![
        Column::numbers("age", vec![3.0, 1.0, 8.0, 1.0]),
        Column::words("colour", [Some("red"), Some("blue"), Some("red"), Some("green")]),
    ])
    .unwrap()
}

fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
    let dense = matrix.to_dense();
    (0..dense.nrows()).map(|i| dense.row(i).to_vec()).collect()
}

#[test]
fn words_become_indicators_in_the_order_of_their_names() {
    let encoder = Encoder::learn(&table(), Missing::Refuse).unwrap();
    assert_eq!(encoder.feature_names(), ["age", "colour=blue", "colour=green", "colour=red"]);
    assert_eq!(encoder.categorical().collect::<Vec<_>>(), ["colour"]);
    let encoded = encoder.encode(&table()).unwrap();
    assert_eq!(rows(&encoded.features)[0], [3.0, 0.0, 0.0, 1.0]);
    assert_eq!(rows(&encoded.features)[3], [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(encoded.kept, None);
}

#[test]
fn columns_are_found_by_name_and_extra_ones_are_ignored() {
    let encoder = Encoder::learn(&table(), Missing::Refuse).unwrap();
    let mut columns = table().columns().to_vec();
    columns.reverse();
    columns.insert(0, Column::numbers("id", vec![1.0; 4]));
    let shuffled = encoder.encode(&Table::new(columns).unwrap()).unwrap();
    assert_eq!(shuffled, encoder.encode(&table()).unwrap());
    let less = Table::new(vec![Column::numbers("age", vec![1.0])]).unwrap();
    let message = encoder.encode(&less).unwrap_err().to_string();
    assert!(message.contains("missing: there is no column `colour`"), "{message}");
}

#[test]
fn an_unseen_category_has_all_indicators_zero_and_is_counted() {
    let encoder = Encoder::learn(&table(), Missing::Refuse).unwrap();
    let new = Table::new(vec![
        Column::words("colour", [Some("pink"), Some("red"), Some("pink")]),
        Column::numbers("age", vec![1.0, 2.0, 3.0]),
    ])
    .unwrap();
    let encoded = encoder.encode(&new).unwrap();
    assert_eq!(rows(&encoded.features)[0], [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(encoded.unseen, [("colour".to_owned(), 2)]);
}

fn gaps() -> Table {
    Table::new(vec![
        Column::numbers("a", vec![1.0, 2.0, f64::NAN, 2.0, 9.0]),
        Column::words("b", [Some("x"), None, Some("y"), Some("y"), Some("y")]),
    ])
    .unwrap()
}

#[test]
fn missing_cells_are_refused_by_row_and_column() {
    let encoder = Encoder::learn(&gaps(), Missing::Refuse).unwrap();
    let Error::BadCell { row, column, .. } = encoder.encode(&gaps()).unwrap_err() else { panic!() };
    assert_eq!((row, column.as_str()), (1, "`b`"));
}

#[test]
fn missing_cells_are_filled_by_rule() {
    let filled =
        |rule| rows(&Encoder::learn(&gaps(), rule).unwrap().encode(&gaps()).unwrap().features);
    assert_eq!(filled(Missing::Mean)[2], [3.5, 0.0, 1.0]);
    assert_eq!(filled(Missing::Median)[2], [2.0, 0.0, 1.0]);
    assert_eq!(filled(Missing::MostFrequent)[2], [2.0, 0.0, 1.0]);
    assert_eq!(filled(Missing::Mean)[1], [2.0, 0.0, 1.0]);
    let kept = filled(Missing::Keep);
    assert!(kept[2][0].is_nan());
    assert_eq!(kept[1][1..], [0.0, 0.0]);
}

#[test]
fn dropping_tells_which_rows_are_kept() {
    let encoder = Encoder::learn(&gaps(), Missing::Drop).unwrap();
    let encoded = encoder.encode(&gaps()).unwrap();
    assert_eq!(encoded.kept.as_deref(), Some(&[0, 3, 4][..]));
    assert_eq!(encoded.features.nrows(), 3);
    assert_eq!(encoded.dropped(&gaps()), 2);
    let nothing = Table::new(vec![Column::numbers("a", vec![f64::NAN])]).unwrap();
    assert!(Encoder::learn(&nothing, Missing::Drop).is_err());
    assert!(Encoder::learn(&nothing, Missing::Mean).is_err());
}

#[test]
fn infinities_and_words_among_numbers_are_named() {
    let encoder = Encoder::learn(&table(), Missing::Refuse).unwrap();
    let bad = |age: Column| {
        let colour = Column::words("colour", vec![Some("red"); age.len()]);
        encoder.encode(&Table::new(vec![age, colour]).unwrap()).unwrap_err().to_string()
    };
    let message = bad(Column::numbers("age", vec![1.0, f64::INFINITY]));
    assert!(message.starts_with("row 1, column `age`: inf is not a finite number"), "{message}");
    let message = bad(Column::words("age", [Some("4"), Some("old")]));
    assert!(message.starts_with("row 1, column `age`: `old` is not a number"), "{message}");
}

#[test]
fn numbers_in_a_categorical_column_match_by_value() {
    let mut table = table();
    table.make_categorical("age").unwrap();
    let encoder = Encoder::learn(&table, Missing::Refuse).unwrap();
    let encoded = encoder.encode(&self::table()).unwrap();
    assert_eq!(encoded, encoder.encode(&table).unwrap());
    assert!(encoded.unseen.is_empty());
}

#[test]
fn many_categories_are_stored_sparsely_with_the_same_values() {
    let words: Vec<String> = (0..200).map(|i| format!("w{}", i % 90)).collect();
    let long = |name: &str| Column::words(name, words.iter().map(|w| Some(w.as_str())));
    let number = Column::numbers("x", (0..200).map(f64::from).collect());
    let table = Table::new(vec![number, long("w")]).unwrap();
    let encoder = Encoder::learn(&table, Missing::Refuse).unwrap();
    let encoded = encoder.encode(&table).unwrap();
    assert!(matches!(encoded.features, Matrix::Sparse(_)));
    let dense = rows(&encoded.features);
    let names = encoder.feature_names();
    for (i, row) in dense.iter().enumerate() {
        assert_eq!(row[0], f64::from(u32::try_from(i).unwrap()));
        let hot = names.iter().position(|n| n == &format!("w={}", words[i])).unwrap();
        assert_eq!(row[hot], 1.0);
        assert_eq!(row[1..].iter().sum::<f64>(), 1.0);
    }
    // One row alone is stored as the many were, so that its score does not depend on company.
    let one = encoder.encode(&table.select_rows(&[7])).unwrap();
    assert!(matches!(one.features, Matrix::Sparse(_)));
}

#[test]
fn an_encoder_survives_json_and_damage_is_found() {
    let encoder = Encoder::learn(&gaps(), Missing::Mean).unwrap();
    let text = serde_json::to_string(&encoder).unwrap();
    assert_eq!(serde_json::from_str::<Encoder>(&text).unwrap(), encoder);
    for (good, bad) in [("\"x\",\"y\"", "\"y\",\"x\""), ("\"fill\":1", "\"fill\":2")] {
        let damaged = text.replacen(good, bad, 1);
        assert_ne!(damaged, text, "{text}");
        let parsed: Encoder = serde_json::from_str(&damaged).unwrap();
        assert!(parsed.validate().is_err(), "{damaged}");
    }
}

#[test]
fn features_that_would_share_a_name_are_refused() {
    let table =
        Table::new(vec![Column::numbers("c=red", vec![1.0]), Column::words("c", [Some("red")])])
            .unwrap();
    let message = Encoder::learn(&table, Missing::Refuse).unwrap_err().to_string();
    assert!(message.contains("two features would be called `c=red`"), "{message}");
}

#[test]
fn the_mean_of_the_largest_numbers_does_not_overflow() {
    let table = Table::new(vec![Column::numbers("a", vec![1e308, 1e308, f64::NAN])]).unwrap();
    let encoder = Encoder::learn(&table, Missing::Mean).unwrap();
    assert_eq!(rows(&encoder.encode(&table).unwrap().features)[2], [1e308]);
}

#[test]
fn a_column_of_names_draws_advice() {
    let words: Vec<String> = (0..40).map(|i| format!("person {i}")).collect();
    let table =
        Table::new(vec![Column::words("name", words.iter().map(|w| Some(w.as_str())))]).unwrap();
    let encoder = Encoder::learn(&table, Missing::Refuse).unwrap();
    assert!(encoder.notes(40)[0].contains("`name` has 40 different words"));
    assert!(encoder.notes(400).is_empty());
}

/// Thirty rows: an identifier, a saved index, a measurement, a date and a colour of which one is rare.
fn patients() -> Table {
    let text = |of: &dyn Fn(usize) -> String| -> Vec<String> { (0..30).map(of).collect() };
    let words = |name: &str, cells: &[String]| {
        Column::words(name, cells.iter().map(|cell| Some(cell.as_str())))
    };
    let ids = text(&|i| format!("P-{i}"));
    let dates = text(&|i| format!("2024-03-{:02}", i % 28 + 1));
    let colours = text(&|i| ["red", "blue", "green"][if i == 7 { 2 } else { i % 2 }].into());
    Table::new(vec![
        Column::numbers("Unnamed: 0", (0..30).map(f64::from).collect()),
        words("patient", &ids),
        Column::numbers("age", (0..30).map(|i| 40.5 + f64::from(i % 9)).collect()),
        words("visit", &dates),
        words("colour", &colours),
    ])
    .unwrap()
}

#[test]
fn identifiers_are_left_out_with_a_reason_and_kept_when_asked() {
    let options = EncoderOptions::default();
    let encoder = Encoder::learn_with(&patients(), &options).unwrap();
    let left: Vec<&str> = encoder.left_out().iter().map(|l| l.column.as_str()).collect();
    assert_eq!(left, ["Unnamed: 0", "patient"]);
    let notes = encoder.notes(30);
    assert!(notes.iter().any(|n| n.contains("--keep-feature patient")), "{notes:?}");
    assert!(
        notes
            .iter()
            .any(|n| n.contains("`visit` holds dates (year-month-day) as days since 2024-03-01"))
    );
    let names = encoder.feature_names();
    assert_eq!(names, ["age", "visit", "colour=blue", "colour=green", "colour=red"]);
    let encoded = rows(&encoder.encode(&patients()).unwrap().features);
    assert_eq!(encoded[29], [42.5, 1.0, 1.0, 0.0, 0.0]);
    let options = EncoderOptions { keep: vec!["Unnamed: 0".into()], ..options };
    let encoder = Encoder::learn_with(&patients(), &options).unwrap();
    assert_eq!(encoder.feature_names()[0], "Unnamed: 0");
    assert_eq!(encoder.plan().last().unwrap().treatment, Treatment::LeftOut);
}

#[test]
fn rare_categories_share_an_indicator_and_a_reference_has_none() {
    let options = EncoderOptions { min_count: 2, drop_first: true, ..EncoderOptions::default() };
    let encoder = Encoder::learn_with(&patients(), &options).unwrap();
    assert_eq!(encoder.feature_names(), ["age", "visit", "colour=red", "colour=(rare)"]);
    let found = encoder.encode(&patients()).unwrap();
    assert!(found.unseen.is_empty());
    let tail = |i: usize| rows(&found.features)[i][2..].to_vec();
    assert_eq!((tail(0), tail(1), tail(7)), (vec![1.0, 0.0], vec![0.0, 0.0], vec![0.0, 1.0]));
    let reference = vec![("colour".to_owned(), "red".to_owned())];
    let options = EncoderOptions { reference, ..EncoderOptions::default() };
    let encoder = Encoder::learn_with(&patients(), &options).unwrap();
    assert_eq!(encoder.feature_names()[2..], ["colour=blue", "colour=green"]);
    let text = serde_json::to_string(&encoder).unwrap();
    assert_eq!(serde_json::from_str::<Encoder>(&text).unwrap(), encoder);
    let wrong = vec![("colour".to_owned(), "rad".to_owned())];
    let options = EncoderOptions { reference: wrong, ..EncoderOptions::default() };
    let message = Encoder::learn_with(&patients(), &options).unwrap_err().to_string();
    assert!(message.contains("did you mean `red`?"), "{message}");
    let number = vec![("age".to_owned(), "34".to_owned())];
    let options = EncoderOptions { reference: number, ..EncoderOptions::default() };
    let message = Encoder::learn_with(&patients(), &options).unwrap_err().to_string();
    assert!(message.contains("--categorical age"), "{message}");
}

#[test]
fn rows_keep_their_place_and_identifier_through_every_loss() {
    let mut columns = patients().columns().to_vec();
    let label = |i: usize| match i {
        3 => None,
        i if i % 2 == 0 => Some("u"),
        _ => Some("v"),
    };
    columns.push(Column::words("kind", (0..30).map(label)));
    columns[2] = Column::numbers(
        "age",
        (0..30).map(|i| if i == 10 { f64::NAN } else { 40.0 + f64::from(i) / 7.0 }).collect(),
    );
    let mut wanted = Preparation {
        target: "kind".into(),
        ids: vec!["patient".into()],
        positive: Some("u".into()),
        ..Preparation::default()
    };
    wanted.encoder.missing = Missing::Drop;
    let found = wanted.apply(Table::new(columns).unwrap()).unwrap();
    let places: Vec<usize> = (0..30).filter(|i| *i != 3 && *i != 10).collect();
    assert_eq!(found.places, places);
    for (row, place) in places.iter().enumerate() {
        assert_eq!(found.ids[0].text(row), Some(format!("P-{place}")));
        // The positive class is the second.
        assert_eq!(found.data.labels()[row], usize::from(place % 2 == 0));
    }
}

#[test]
fn a_survey_names_leaks_constants_and_equal_rows() {
    let class: Vec<&str> = (0..30).map(|i| if i < 15 { "a" } else { "b" }).collect();
    let words = |name: &str, cells: &[&'static str]| {
        Column::words(name, cells.iter().map(|c| Some(*c)).collect::<Vec<_>>())
    };
    let code: Vec<&str> = (0..30).map(|i| if i < 15 { "I10" } else { "E11" }).collect();
    let table = Table::new(vec![
        Column::numbers("late", (0..30).map(|i| f64::from(i / 15) + 0.5).collect()),
        Column::numbers("x", (0..30).map(|i| f64::from(i % 5) / 2.0).collect()),
        Column::numbers("same", vec![1.0; 30]),
        words("code", &code),
        words("kind", &class),
    ])
    .unwrap();
    let survey = Survey::new(&table, Some("kind"), &EncoderOptions::default()).unwrap();
    let named = |of: fn(&mainstay::data::ColumnSurvey) -> bool| -> Vec<&str> {
        survey.columns.iter().filter(|c| of(c)).map(|c| c.name.as_str()).collect()
    };
    assert_eq!(named(|c| c.leak), ["late", "code"]);
    assert_eq!(named(|c| c.constant), ["same"]);
    // Five values of x in each half.
    assert_eq!(survey.duplicate_rows, 20);
    assert_eq!(survey.columns[1].range, Some((0.0, 2.0)));
    assert_eq!(survey.columns[3].top, [("E11".to_owned(), 15), ("I10".to_owned(), 15)]);
    let classes = &survey.target.as_ref().unwrap().classes;
    assert_eq!((classes[0].label.as_str(), classes[0].rows), ("a", 15));
}

/// Counts of thirty samples: no value repeats, and yet they are measurements.
#[test]
fn a_table_full_of_distinct_counts_is_not_a_table_of_identifiers() {
    let counts = |j: u32| (0..30).map(|i| f64::from((i * 37 + j * 11) % 101 + 1000 * j)).collect();
    let columns = |p: u32| (0..p).map(|j| Column::numbers(format!("g{j}"), counts(j))).collect();
    let options = EncoderOptions::default();
    let many = Encoder::learn_with(&Table::new(columns(12)).unwrap(), &options).unwrap();
    assert_eq!(many.n_features(), 12);
    let mut few: Vec<Column> = columns(1);
    few.push(Column::numbers("x", (0..30).map(|i| f64::from(i % 4)).collect()));
    let few = Encoder::learn_with(&Table::new(few).unwrap(), &options).unwrap();
    assert_eq!(few.feature_names(), ["x"]);
}
