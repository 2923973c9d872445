//! Readers on hostile input: the fuzzing corpus, and thousands of mutations of it. Every answer is
//! a value or a typed error of one line; none is a panic.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use mainstay_io::{Format, ModelFile, ReadOptions, Source, read};

/// A small generator: the mutations must be the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    /// One to four changes: a bit flipped, a byte replaced, bytes removed, repeated or cut off.
    fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        const TELLING: &[u8] = b"\",;\n\r\t|:#?-+.e019\0\xff{}[] ";
        let mut out = bytes.to_vec();
        for _ in 0..=self.below(4) {
            if out.is_empty() {
                break;
            }
            let at = self.below(out.len());
            let end = (at + 1 + self.below(16)).min(out.len());
            match self.below(6) {
                0 => out[at] ^= 1 << self.below(8),
                1 => out[at] = TELLING[self.below(TELLING.len())],
                2 => out.insert(at, TELLING[self.below(TELLING.len())]),
                3 => drop(out.drain(at..end)),
                4 => {
                    let repeated = out[at..end].repeat(1 + self.below(8));
                    out.splice(at..at, repeated);
                }
                _ => out.truncate(at),
            }
        }
        out
    }
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Feeds the corpus and `count` mutations of every file to `reader`.
fn attack(target: &str, count: usize, reader: impl Fn(&[u8]) -> Result<(), mainstay_io::Error>) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for (path, seed) in corpus(target) {
        for round in 0..=count {
            let bytes = if round == 0 { seed.clone() } else { random.mutate(&seed) };
            if let Err(error) = reader(&bytes) {
                let message = error.to_string();
                let one_line = !message.is_empty() && !message.contains('\n');
                assert!(one_line, "{}, round {round}: {message:?}", path.display());
            }
        }
    }
}

fn reading(format: Option<Format>) -> impl Fn(&[u8]) -> Result<(), mainstay_io::Error> {
    let options = ReadOptions { format, ..ReadOptions::default() };
    move |bytes| read(&Source::Bytes("input".into(), bytes.into()), &options).map(|_| ())
}

#[test]
fn hostile_csv_gets_an_answer() {
    attack("csv", 1500, reading(Some(Format::Csv)));
}

#[test]
fn hostile_sparse_rows_get_an_answer() {
    attack("libsvm", 1500, reading(Some(Format::Libsvm)));
}

#[test]
fn hostile_bytes_of_unknown_format_get_an_answer() {
    for target in ["csv", "libsvm", "parquet", "model_file"] {
        attack(target, 300, reading(None));
    }
}

#[cfg(feature = "parquet")]
#[test]
fn hostile_parquet_gets_an_answer() {
    // The decoder's own panics are caught and told as damage; they should not fill the log.
    std::panic::set_hook(Box::new(|_| {}));
    attack("parquet", 1000, reading(Some(Format::Parquet)));
    let _ = std::panic::take_hook();
}

#[test]
fn hostile_model_files_get_an_answer() {
    attack("model_file", 3000, |bytes| ModelFile::from_bytes(bytes).map(|_| ()));
}

#[test]
fn hostile_model_files_with_a_right_checksum_get_an_answer() {
    attack("model_file", 3000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let content = text.rsplit_once(",\"checksum\"").map_or(&*text, |(content, _)| content);
        let sum = crc32fast::hash(content.as_bytes());
        let signed = format!("{content},\"checksum\":\"crc32:{sum:08x}\"}}\n");
        let model = ModelFile::from_bytes(signed.as_bytes())?;
        // What is accepted can be written and read again.
        let again = ModelFile::from_bytes(&model.to_bytes()?)?;
        assert_eq!(format!("{again:?}"), format!("{model:?}"));
        Ok(())
    });
}

/// Looking every column up by name in a list took more than a minute here.
#[test]
fn a_hundred_thousand_columns_are_read_in_seconds() {
    let row = |cell: &dyn Fn(usize) -> String| {
        (0..100_000).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    let text = row(&|j| format!("c{j}")) + &row(&|j| j.to_string()) + &row(&|_| "2".into());
    let begun = std::time::Instant::now();
    reading(Some(Format::Csv))(text.as_bytes()).unwrap();
    assert!(begun.elapsed().as_secs() < 40, "{:?}", begun.elapsed());
}
