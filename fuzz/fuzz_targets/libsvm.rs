//! Arbitrary bytes read as a LIBSVM file end in rows or in an error, never in a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_io::{Format, ReadOptions, Source, read};

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::default() };
    let _ = read(&Source::Bytes("fuzz".into(), bytes.into()), &options);
});
