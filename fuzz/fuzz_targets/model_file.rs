#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_io::ModelFile;

fuzz_target!(|bytes: &[u8]| {
    // What is accepted is written back as it was.
    if let Ok(model) = ModelFile::from_bytes(bytes) {
        assert_eq!(model.to_bytes().expect("a model that was read can be written"), bytes);
    }
});
