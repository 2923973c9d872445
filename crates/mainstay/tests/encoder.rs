//! Encoding of raw columns: one-hot, missing cells, unseen categories, names.
#![cfg(test)]
#![expect(clippy::float_cmp, reason = "encoding is exact")]

use mainstay::Error;
use mainstay::data::{Column, Encoder, Missing, Table};
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
    assert!(encoder.advice(40)[0].contains("`name` has 40 different words"));
    assert!(encoder.advice(400).is_empty());
}
