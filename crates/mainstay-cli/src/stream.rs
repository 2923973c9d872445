//! Rows for a model that is there already, chunk by chunk: what every command that applies a model does with a file.

use std::path::Path;

use mainstay::Control;
use mainstay::data::{Encoded, Encoder};
use mainstay_io::{Chunk, ChunkOptions, Chunks, Input, ModelFile};

use crate::args::Reading;
use crate::console::{Console, RowBar};
use crate::failure::Outcome;
use crate::input;

/// Which rows of which file, and which of its columns.
pub(crate) struct Ask<'a> {
    /// The model.
    pub(crate) file: &'a ModelFile,
    /// The rows; none: the embedded data.
    pub(crate) data: Option<&'a Path>,
    /// How files are read.
    pub(crate) reading: &'a Reading,
    /// Columns that are copied or looked up as they are written.
    pub(crate) copied: Vec<&'a str>,
    /// Column of classes.
    pub(crate) target: Option<&'a str>,
}

impl Ask<'_> {
    fn options(&self, threads: usize) -> Outcome<ChunkOptions> {
        let mut read = input::options(self.reading)?;
        let encoder = self.file.encoder.as_ref();
        read.categorical.extend(encoder.iter().flat_map(|e| e.categorical()).map(str::to_owned));
        let mut text: Vec<String> =
            encoder.iter().flat_map(|e| e.dates()).map(str::to_owned).collect();
        // Without an encoder nothing reads numbers out of text: what is a feature too is copied as a number.
        let numbers = self.file.feature_names.as_ref().filter(|_| encoder.is_none());
        let as_written = |name: &str| numbers.is_none_or(|all| all.iter().all(|n| n != name));
        let copied = self.copied.iter().filter(|name| as_written(name));
        text.extend(copied.map(|&name| name.to_owned()));
        text.extend(self.target.filter(|_| self.file.classes.are_text()).map(str::to_owned));
        let features = match encoder {
            Some(encoder) => Some(encoder.columns().map(|(name, _)| name.to_owned()).collect()),
            None => self.file.feature_names.clone(),
        };
        let columns = features.map(|mut columns: Vec<String>| {
            let others = self.copied.iter().copied().chain(self.target);
            columns.extend(others.map(str::to_owned));
            columns.extend(self.reading.categorical.clone());
            columns
        });
        Ok(ChunkOptions { read, columns, text, size: input::chunk_size(), threads })
    }
}

/// A chunked file under way.
pub(crate) struct Stream {
    chunks: Chunks,
    categorical: Vec<String>,
    control: Control,
    bar: Option<RowBar>,
    unseen: Unseen,
}

impl Stream {
    /// Begins to read.
    pub(crate) fn open(ask: &Ask<'_>, console: &Console, what: &'static str) -> Outcome<Self> {
        let (control, bar) = (console.silent_control(), console.row_bar(what));
        let options = ask.options(control.n_threads())?;
        let chunks = Chunks::new(input::source(ask.data), options);
        let unseen = Unseen::new(ask.file.encoder.as_ref());
        let categorical = ask.reading.categorical.clone();
        Ok(Self { chunks, categorical, control, bar, unseen })
    }

    /// The next rows; none at the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<Chunk>> {
        self.control.check()?;
        if let Some(bar) = &self.bar {
            bar.show(self.chunks.rows() as u64, self.chunks.expected());
        }
        let Some(chunk) = self.chunks.next().transpose()? else { return Ok(None) };
        if let Input::Table(table) = &chunk.rows {
            for name in &self.categorical {
                table.column(name)?;
            }
        }
        Ok(Some(chunk))
    }

    /// The features of rows for the model.
    pub(crate) fn encode(&mut self, file: &ModelFile, rows: &Input) -> Outcome<Encoded> {
        let encoded = file.encode(rows)?;
        self.unseen.add(&encoded.unseen);
        Ok(encoded)
    }

    /// Rows taken so far.
    pub(crate) fn rows(&self) -> usize {
        self.chunks.rows()
    }

    /// What stops the work.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// What was noticed on the way.
    pub(crate) fn notes(self) -> Vec<String> {
        if let Some(bar) = self.bar {
            bar.clear();
        }
        let mut notes = self.chunks.notes();
        notes.extend(input::unseen(&self.unseen.0));
        notes
    }
}

/// Cells with a category that the model has never seen, by column in the order of the encoder.
struct Unseen(Vec<(String, usize)>);

impl Unseen {
    fn new(encoder: Option<&Encoder>) -> Self {
        let columns = encoder.iter().flat_map(|e| e.columns());
        Self(columns.map(|(name, _)| (name.to_owned(), 0)).collect())
    }

    fn add(&mut self, counts: &[(String, usize)]) {
        for (column, count) in counts {
            if let Some(own) = self.0.iter_mut().find(|(name, _)| name == column) {
                own.1 += count;
            }
        }
    }
}
