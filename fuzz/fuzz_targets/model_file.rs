//! Arbitrary bytes read as a model file end in a model that survives writing and reading, or in an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_io::ModelFile;

fuzz_target!(|bytes: &[u8]| {
    // What is accepted can be written and read again.
    if let Ok(model) = ModelFile::from_bytes(bytes) {
        let written = model.to_bytes().expect("a model that was read can be written");
        let again = ModelFile::from_bytes(&written).expect("and read");
        assert_eq!(format!("{again:?}"), format!("{model:?}"));
    }
});
