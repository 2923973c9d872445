//! Model files: exact round trips, damage found, nothing half-written.
#![cfg(test)]

use std::fs;
use std::path::Path;

use mainstay::Certificate;
use mainstay::data::{Classes, Column, Encoder, Label, Missing, Table};
use mainstay::model::{Fitted, Linear, Link, Model, Output};
use mainstay_io::{Input, ModelFile, ReadOptions, Source, read, write_file};

fn table() -> Table {
    Table::new(vec![
        Column::numbers("age", vec![1.0, 2.0, f64::NAN, 4.0]),
        Column::words("colour", [Some("red"), Some("blue"), Some("red"), None]),
    ])
    .unwrap()
}

fn model() -> ModelFile {
    let encoder = Encoder::learn(&table(), Missing::Mean).unwrap();
    let weights = vec![0.1 + 0.2, f64::MIN_POSITIVE, -1.0 / 3.0];
    let model = Model::Linear(Linear::binary(weights, 5e-324, Link::Logistic));
    let mut fitted = Fitted::new(model, 3).with("z", vec![f64::INFINITY, 0.1, -0.0]);
    fitted.certificates = vec![Certificate { primal: 1.0, dual: f64::NEG_INFINITY }];
    fitted.outputs.insert("state".into(), Output::Text("é\"\n".into()));
    ModelFile {
        method: "l2".into(),
        params: serde_json::json!({"alpha": 0.1}),
        classes: Classes::new(vec![Label::Text("no".into()), Label::Text("yes".into())]).unwrap(),
        target: Some("y".into()),
        feature_names: Some(encoder.feature_names()),
        encoder: Some(encoder),
        fitted,
    }
}

fn refusal(bytes: &[u8]) -> String {
    ModelFile::from_bytes(bytes).unwrap_err().to_string()
}

/// The file with its checksum made right again after an edit.
fn edited(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(model().to_bytes().unwrap()).unwrap();
    let cut = text.find(",\"checksum\"").unwrap();
    let content = text[..cut].replacen(from, to, 1);
    assert_ne!(content, text[..cut], "`{from}` does not occur in {text}");
    let sum = crc32fast::hash(content.as_bytes());
    format!("{content},\"checksum\":\"crc32:{sum:08x}\"}}\n").into_bytes()
}

/// Overlapping classes on two features, so that every method has something to say.
fn two_clouds() -> Table {
    let wave = |i: usize, step: f64| (step * i as f64).sin();
    let side = |i: usize| if i.is_multiple_of(2) { -0.6 } else { 0.6 };
    Table::new(vec![
        Column::numbers("a", (0..40).map(|i| side(i) + wave(i, 1.7)).collect()),
        Column::numbers("b", (0..40).map(|i| 0.5 * side(i) + wave(i, 2.9)).collect()),
        Column::words("y", (0..40).map(|i| Some(if i % 2 == 0 { "no" } else { "yes" }))),
    ])
    .unwrap()
}

#[test]
fn the_fit_of_every_method_is_read_back_as_it_was_written() {
    for method in mainstay::methods::METHODS {
        let file = ModelFile::fit(&two_clouds(), "y", method.name).unwrap();
        let bytes = file.to_bytes().unwrap();
        let back = ModelFile::from_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", method.name));
        assert_eq!(back.to_bytes().unwrap(), bytes, "{}", method.name);
    }
}

#[test]
fn every_bit_survives_the_round_trip() {
    let bytes = model().to_bytes().unwrap();
    let back = ModelFile::from_bytes(&bytes).unwrap();
    assert_eq!(back, model());
    assert_eq!(back.to_bytes().unwrap(), bytes);
    let (Model::Linear(a), Model::Linear(b)) = (&back.fitted.model, &model().fitted.model) else {
        panic!()
    };
    let bits = |m: &Linear| m.coef[0].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(a), bits(b));
}

#[test]
fn random_weights_survive_bit_for_bit() {
    let mut state = 7_u64;
    for _ in 0..300 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = f64::from_bits(state);
        if !value.is_finite() {
            continue;
        }
        let mut file = model();
        file.fitted.model = Model::Linear(Linear::binary(vec![value, 1.0, 1.0], 0.0, Link::None));
        let back = ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap();
        let Model::Linear(linear) = back.fitted.model else { panic!() };
        assert_eq!(linear.coef[0][0].to_bits(), value.to_bits());
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let bytes = model().to_bytes().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(ModelFile::from_bytes(&damaged).is_err(), "byte {at}, bit {bit}");
        }
    }
    for cut in 0..bytes.len() {
        assert!(ModelFile::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    assert!(refusal(b"").contains("not a mainstay model"));
    assert!(refusal(b"a,b\n1,2\n").contains("not a mainstay model"));
    assert!(refusal(b"{\"format\":\"other\",\"version\":1}").contains("not a mainstay model"));
    let newer = refusal(&edited("\"version\":1", "\"version\":4"));
    assert!(newer.contains("version 4") && newer.contains("update mainstay"), "{newer}");
    let mut bytes = model().to_bytes().unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    assert!(refusal(&bytes).contains("checksum is wrong") || refusal(&bytes).contains("not a"));
    assert!(refusal(&edited("\"method\":\"l2\"", "\"method\":\"l9\"")).contains("no method `l9`"));
    assert!(refusal(&edited("\"alpha\":0.1", "\"beta\":0.1")).contains("beta"));
    assert!(refusal(&edited("\"alpha\":0.1", "\"alpha\":-1.0")).contains("alpha"));
    assert!(refusal(&edited("\"yes\"", "\"no\"")).contains("`no` occurs twice"));
    assert!(refusal(&edited("\"no\",\"yes\"", "\"no\",\"yes\",\"so\"")).contains("3 class names"));
    assert!(
        refusal(&edited("\"colour=red\"]", "\"colour=red\",\"x\"]")).contains("4 feature names")
    );
    assert!(refusal(&edited("\"target\"", "\"tarmac\"")).contains("tarmac"));
    assert!(!edited("\"coef\":[[", "\"coef\":[[1.0,").is_empty());
    assert!(refusal(&edited("\"coef\":[[", "\"coef\":[[1.0,")).contains("features"));
}

#[test]
fn a_model_that_could_not_be_read_back_is_not_written() {
    let mut file = model();
    file.fitted.model = Model::Linear(Linear::binary(vec![f64::NAN, 0.0, 0.0], 0.0, Link::None));
    assert!(file.to_bytes().is_err());
}

#[test]
fn saving_replaces_the_file_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    fs::write(&path, "old").unwrap();
    model().save(&path).unwrap();
    assert_eq!(ModelFile::load(&path).unwrap(), model());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let message = ModelFile::load(&folder.path().join("none.json")).unwrap_err().to_string();
    assert!(message.starts_with("cannot read"), "{message}");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    fs::write(&path, "old").unwrap();
    let full = |out: &mut dyn std::io::Write| {
        out.write_all(b"half")?;
        Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
    };
    let message = write_file(&path, full).unwrap_err().to_string();
    assert!(message.starts_with("cannot write") && message.contains("out.csv"), "{message}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("no/such/folder.csv");
    assert!(write_file(&missing, |out| out.write_all(b"x")).is_err());
    assert!(write_file(folder.path(), |out| out.write_all(b"x")).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_survive() {
    use std::os::unix::fs::FileTypeExt;
    let error =
        write_file(Path::new("/dev/full"), |out| out.write_all(&vec![0; 100_000])).unwrap_err();
    assert!(error.to_string().starts_with("cannot write `/dev/full`: No space left"), "{error}");
    write_file(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_modes_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "old").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    write_file(&link, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
    let message = write_file(&link, |out| out.write_all(b"x")).unwrap_err().to_string();
    assert!(message.contains("read-only"), "{message}");
}

#[test]
fn raw_rows_are_encoded_as_the_model_needs_them() {
    let text = "y,colour,extra,age\nyes,red,1,2\nno,pink,1,3\n";
    let source = |name: &str, text: &str| Source::Bytes(name.into(), text.as_bytes().into());
    let csv = |text: &str| read(&source("t.csv", text), &ReadOptions::default()).unwrap();
    let file = model();
    let encoded = file.encode(&csv(text)).unwrap();
    assert_eq!(encoded.features.to_dense().row(0), [2.0, 0.0, 1.0]);
    assert_eq!(encoded.unseen, [("colour".to_owned(), 1)]);
    assert_eq!(file.labels(&csv(text), None).unwrap(), [1, 0]);
    let message = file.encode(&csv("colour\nred\n")).unwrap_err().to_string();
    assert!(message.contains("`age`"), "{message}");

    let plain = ModelFile { encoder: None, feature_names: None, ..model() };
    let ordered = plain.encode(&csv("a,y,b,c\n1,no,2,3\n")).unwrap();
    assert_eq!(ordered.features.to_dense().row(0), [1.0, 2.0, 3.0]);
    let sparse = read(&source("t.svm", "1 1:4\n"), &ReadOptions::default()).unwrap();
    assert_eq!(plain.encode(&sparse).unwrap().features.to_dense().row(0), [4.0, 0.0, 0.0]);
    let wide = read(&source("t.svm", "1 9:4\n"), &ReadOptions::default()).unwrap();
    let message = plain.encode(&wide).unwrap_err().to_string();
    assert_eq!(message, "the data have 9 features, the model was fitted on 3");
    assert!(matches!(wide, Input::Sparse(_)));
    assert!(file.encode(&sparse).is_err());
}

#[test]
fn the_kept_file_is_read_and_written_byte_for_byte() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/model_file/small.json");
    // Written before files said which version made the fit.
    let mut file = model();
    file.fitted.fitted_by = None;
    let kept = fs::read(&path).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&file.to_bytes().unwrap()), String::from_utf8_lossy(&kept));
    assert_eq!(ModelFile::load(&path).unwrap(), file);
}
