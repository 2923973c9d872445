//! Cells of Arrow columns as numbers and words.
//!
//! The few conversions we need, written out: the crate `arrow-cast` has hundreds and compiles for longer than all of
//! our readers.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_datetime, date32_to_datetime, date64_to_datetime};
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use mainstay::data::WordList;

/// Appends the numbers of a column; a null is NaN.
pub(crate) fn numbers(array: &ArrayRef, into: &mut Vec<f64>) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::Null => into.resize(into.len() + array.len(), f64::NAN),
        DataType::Float64 if array.null_count() == 0 => {
            into.extend_from_slice(array.as_primitive::<Float64Type>().values());
        }
        DataType::Float64 => each::<Float64Type>(array, into, |v| v),
        DataType::Float32 => each::<Float32Type>(array, into, f64::from),
        DataType::Float16 => each::<Float16Type>(array, into, f64::from),
        DataType::Int8 => each::<Int8Type>(array, into, f64::from),
        DataType::Int16 => each::<Int16Type>(array, into, f64::from),
        DataType::Int32 => each::<Int32Type>(array, into, f64::from),
        DataType::Int64 => each::<Int64Type>(array, into, |v| v as f64),
        DataType::UInt8 => each::<UInt8Type>(array, into, f64::from),
        DataType::UInt16 => each::<UInt16Type>(array, into, f64::from),
        DataType::UInt32 => each::<UInt32Type>(array, into, f64::from),
        DataType::UInt64 => each::<UInt64Type>(array, into, |v| v as f64),
        DataType::Decimal128(_, scale) => {
            each::<Decimal128Type>(array, into, |v| decimal(v, *scale));
        }
        DataType::Decimal256(_, scale) => {
            each::<Decimal256Type>(array, into, |v| decimal(v, *scale));
        }
        DataType::Dictionary(..) => {
            let mut values = Vec::new();
            let entries = array.as_any_dictionary();
            numbers(entries.values(), &mut values)?;
            into.extend(places(array).map(|at| at.map_or(f64::NAN, |at| values[at])));
        }
        other => return Err(unexpected(other)),
    }
    Ok(())
}

fn each<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    into: &mut Vec<f64>,
    number: impl Fn(T::Native) -> f64,
) {
    into.extend(array.as_primitive::<T>().iter().map(|cell| cell.map_or(f64::NAN, &number)));
}

/// `digits` over ten to the power `scale`, rounded once: the text of a decimal is exact, and parsing rounds correctly.
fn decimal(digits: impl std::fmt::Display, scale: i8) -> f64 {
    format!("{digits}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

/// Where the value of every cell of a column of categories stands among its values; `None` for a null.
fn places(array: &ArrayRef) -> impl Iterator<Item = Option<usize>> {
    let entries = array.as_any_dictionary();
    // Without any value all keys are null, and Arrow has no answer to where they point.
    let keys =
        if entries.values().is_empty() { vec![0; array.len()] } else { entries.normalized_keys() };
    let absent = entries.keys().nulls().cloned();
    keys.into_iter().enumerate().map(move |(row, key)| {
        let null = absent.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (!null).then_some(key)
    })
}

/// Appends the words of a column: text as it is, truth values, and times in the order of the calendar.
pub(crate) fn words(array: &ArrayRef, into: &mut WordList) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().for_each(|cell| push(into, cell)),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().for_each(|cell| push(into, cell)),
        DataType::Utf8View => array.as_string_view().iter().for_each(|cell| push(into, cell)),
        DataType::Boolean => {
            let word = |value: bool| if value { "true" } else { "false" };
            array.as_boolean().iter().for_each(|cell| push(into, cell.map(word)));
        }
        DataType::Date32 => spelled::<Date32Type>(array, into, |v| {
            Some(format!("{:?}", date32_to_datetime(v)?.date()))
        })?,
        DataType::Date64 => {
            spelled::<Date64Type>(array, into, |v| Some(format!("{:?}", date64_to_datetime(v)?)))?;
        }
        DataType::Timestamp(unit, zone) => timestamps(array, *unit, zone.as_deref(), into)?,
        DataType::Dictionary(..) => {
            let mut values = WordList::default();
            words(array.as_any_dictionary().values(), &mut values)?;
            places(array).for_each(|at| push(into, at.and_then(|at| values.get(at))));
        }
        other => return Err(unexpected(other)),
    }
    Ok(())
}

fn push(into: &mut WordList, cell: Option<&str>) {
    into.push(cell.map(str::trim).filter(|word| !word.is_empty()));
}

/// Cells that are spelled out by `word`, which has no answer for times that no calendar holds.
fn spelled<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    into: &mut WordList,
    word: impl Fn(T::Native) -> Option<String>,
) -> Result<(), ArrowError> {
    for cell in array.as_primitive::<T>() {
        let Some(value) = cell else {
            into.push(None);
            continue;
        };
        let found = word(value).ok_or_else(|| {
            ArrowError::CastError(format!("{value:?} is no time of the calendar"))
        })?;
        into.push(Some(&found));
    }
    Ok(())
}

fn timestamps(
    array: &ArrayRef,
    unit: TimeUnit,
    zone: Option<&str>,
    into: &mut WordList,
) -> Result<(), ArrowError> {
    match unit {
        TimeUnit::Second => {
            spelled::<TimestampSecondType>(array, into, |v| moment::<TimestampSecondType>(v, zone))
        }
        TimeUnit::Millisecond => spelled::<TimestampMillisecondType>(array, into, |v| {
            moment::<TimestampMillisecondType>(v, zone)
        }),
        TimeUnit::Microsecond => spelled::<TimestampMicrosecondType>(array, into, |v| {
            moment::<TimestampMicrosecondType>(v, zone)
        }),
        TimeUnit::Nanosecond => spelled::<TimestampNanosecondType>(array, into, |v| {
            moment::<TimestampNanosecondType>(v, zone)
        }),
    }
}

/// A moment as ISO 8601 writes it: without a zone as it is; with an offset on the clock there; with a named zone, whose
/// rules we do not carry along, in UTC.
fn moment<T: ArrowPrimitiveType>(value: i64, zone: Option<&str>) -> Option<String> {
    let utc = as_datetime::<T>(value)?;
    let Some(zone) = zone else { return Some(format!("{utc:?}")) };
    match zone.parse::<Tz>() {
        Ok(offset) => {
            let there = utc.and_utc().with_timezone(&offset);
            let shift = there.offset().to_string();
            let shift = if shift == "+00:00" { "Z" } else { &shift };
            Some(format!("{:?}{shift}", there.naive_local()))
        }
        Err(_) => Some(format!("{utc:?}Z")),
    }
}

fn unexpected(kind: &DataType) -> ArrowError {
    ArrowError::CastError(format!("{kind} is neither numbers nor words"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray, Float32Array,
        Int64Array, NullArray, StringViewArray, TimestampMillisecondArray, UInt8Array,
    };

    use super::*;

    fn read_numbers(array: impl Array + 'static) -> Vec<f64> {
        let mut found = vec![7.0];
        numbers(&(Arc::new(array) as ArrayRef), &mut found).unwrap();
        assert_eq!(found.remove(0), 7.0);
        found
    }

    fn read_words(array: impl Array + 'static) -> Vec<Option<String>> {
        let mut found = WordList::default();
        let array: ArrayRef = Arc::new(array);
        words(&array, &mut found).unwrap();
        (0..array.len()).map(|row| found.get(row).map(str::to_owned)).collect()
    }

    #[test]
    fn numbers_of_every_size_are_read_and_a_null_is_nan() {
        let found = read_numbers(Int64Array::from(vec![Some(-3), None, Some(1 << 40)]));
        assert!(found[0] == -3.0 && found[1].is_nan() && found[2] == 1_099_511_627_776.0);
        assert_eq!(read_numbers(UInt8Array::from(vec![255])), [255.0]);
        assert_eq!(read_numbers(Float32Array::from(vec![0.1])), [f64::from(0.1_f32)]);
        assert!(read_numbers(NullArray::new(2)).iter().all(|v| v.is_nan()));
    }

    #[test]
    fn a_decimal_is_the_nearest_number_to_what_it_says() {
        let decimals = |digits: i128, scale: i8| {
            let array = Decimal128Array::from(vec![digits]);
            read_numbers(array.with_precision_and_scale(38, scale).unwrap())[0]
        };
        assert_eq!(decimals(1, 1), 0.1);
        assert_eq!(decimals(-123_456, 3), -123.456);
        assert_eq!(decimals(12, -2), 1200.0);
        // Twice rounded (to a float, then divided) the next ones come out a unit off.
        assert_eq!(decimals(12_345_678_901_234_567_890, 2), 123_456_789_012_345_680.0);
        assert_eq!(decimals(123_456_789_012_345_678_901, 20), 1.234_567_890_123_456_7);
    }

    #[test]
    fn text_truth_and_categories_are_words() {
        let found = read_words(StringViewArray::from(vec![Some(" a "), Some(""), None]));
        assert_eq!(found, [Some("a".into()), None, None]);
        let found = read_words(BooleanArray::from(vec![Some(true), Some(false), None]));
        assert_eq!(found, [Some("true".into()), Some("false".into()), None]);
        let categories: DictionaryArray<Int8Type> =
            [Some("u"), None, Some("v"), Some("u")].into_iter().collect();
        let found = read_words(categories);
        assert_eq!(found, [Some("u".into()), None, Some("v".into()), Some("u".into())]);
        let empty: DictionaryArray<Int8Type> = [None::<&str>, None].into_iter().collect();
        assert_eq!(read_words(empty), [None, None]);
    }

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        assert_eq!(read_words(Date32Array::from(vec![19_782])), [Some("2024-02-29".into())]);
        let noon = 19_782 * 86_400_000 + 43_200_000;
        assert_eq!(read_words(Date64Array::from(vec![noon])), [Some("2024-02-29T12:00:00".into())]);
        let at = |zone: Option<&str>| {
            let array = TimestampMillisecondArray::from(vec![Some(noon + 5), None]);
            read_words(array.with_timezone_opt(zone.map(str::to_owned)))
        };
        assert_eq!(at(None), [Some("2024-02-29T12:00:00.005".into()), None]);
        assert_eq!(at(Some("+02:00"))[0].as_deref(), Some("2024-02-29T14:00:00.005+02:00"));
        assert_eq!(at(Some("+00:00"))[0].as_deref(), Some("2024-02-29T12:00:00.005Z"));
        // As pandas writes times that know their zone.
        assert_eq!(at(Some("UTC"))[0].as_deref(), Some("2024-02-29T12:00:00.005Z"));
        assert_eq!(at(Some("Europe/Rome"))[0].as_deref(), Some("2024-02-29T12:00:00.005Z"));
    }

    #[test]
    fn a_time_that_no_calendar_holds_is_an_error() {
        let array: ArrayRef = Arc::new(Date64Array::from(vec![i64::MAX]));
        assert!(words(&array, &mut WordList::default()).is_err());
    }
}
