//! Sources as chunks of whole rows, in order, in bounded memory: a thread reads ahead of whoever takes them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use mainstay::data::Table;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::blocks::Limits;
use crate::error::{Error, Result};
use crate::reading::{Input, ReadOptions, each_chunk};
use crate::source::Source;

/// How large chunks are. Where they are cut depends on nothing else but the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize {
    /// Text: bytes in a chunk, unless one record is longer.
    pub bytes: usize,
    /// Columns in a binary format: cells in a chunk, unless one row has more.
    pub cells: usize,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { bytes: 1 << 20, cells: 1 << 19 }
    }
}

/// Chunks that the memory allowed should hold at least: those parsed at a time, as text and as cells, and those on their way.
const CHUNKS_IN_MEMORY: u64 = 512;
/// Bytes and cells of a chunk at least: below, handing chunks over costs more than parsing them.
const LEAST: ChunkSize = ChunkSize { bytes: 1 << 14, cells: 1 << 12 };
/// Chunks of text that are parsed at a time, at most: on many cores memory is dearer than idleness.
const BATCH: usize = 32;
/// Cells of small files that are handed over together: waking whoever takes them costs more than they do.
const HELD_CELLS: usize = 1 << 16;

impl ChunkSize {
    /// Small enough that what is read ahead takes a small part of the memory, in bytes; as large as it is where that is not
    /// told.
    #[must_use]
    pub fn within(self, memory: Option<u64>) -> Self {
        let Some(memory) = memory else { return self };
        let most = usize::try_from(memory / CHUNKS_IN_MEMORY).unwrap_or(usize::MAX);
        Self {
            bytes: self.bytes.min(most.max(LEAST.bytes)),
            cells: self.cells.min(most.max(LEAST.cells)),
        }
    }

    pub(crate) fn limits(self) -> Limits {
        Limits { block: self.bytes.max(1), batch: BATCH, ..Limits::default() }
    }

    /// Rows in a chunk of so many columns.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "for binary formats"))]
    pub(crate) fn rows(self, columns: usize) -> usize {
        (self.cells / columns.max(1)).clamp(1, 1 << 16)
    }
}

/// How to read a source in chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkOptions {
    /// How the source is read.
    pub read: ReadOptions,
    /// The columns that are needed; `None`: all. If one of them does not occur, all are read, so that whoever
    /// misses it can say what there is instead.
    pub columns: Option<Vec<String>>,
    /// CSV: columns kept as they are written, like [`ReadOptions::categorical`] but without effect on formats
    /// that know the type of a column.
    pub text: Vec<String>,
    /// How large chunks are.
    pub size: ChunkSize,
    /// Threads that parse; 0: as many as there are where the chunks are asked for.
    pub threads: usize,
}

impl ChunkOptions {
    /// For each of the columns `names` whether it is read.
    pub(crate) fn selected<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Vec<bool> {
        let wanted = |name: &str| self.columns.as_ref().is_none_or(|c| c.iter().any(|w| w == name));
        let all_there = self.columns.iter().flatten().all(|w| names.clone().any(|name| w == name));
        let selected: Vec<bool> = names.map(|name| !all_there || wanted(name)).collect();
        // Rows without a column could not be counted.
        if selected.contains(&true) { selected } else { vec![true; selected.len()] }
    }

    /// Makes the columns text that are to be categories.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "for binary formats"))]
    pub(crate) fn make_text(&self, table: &mut Table) -> Result<()> {
        for column in &self.read.categorical {
            if table.names().any(|name| name == column) {
                table.make_categorical(column)?;
            }
        }
        Ok(())
    }
}

/// Rows that follow each other in a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The rows; a table knows their numbers in the source.
    pub rows: Input,
    /// Rows of the source before them.
    pub first: usize,
}

/// What a reader says to whoever takes the chunks.
enum Message {
    /// Chunks in order, each with the number of its source.
    Rows(Vec<(usize, Input)>),
    End(Result<()>),
}

/// The reader's end: takes chunks and notes.
pub(crate) struct Outlet<'a> {
    sender: &'a SyncSender<Message>,
    shared: &'a Shared,
    /// The number of the source that is read.
    source: usize,
    /// Chunks that wait for others, and their cells.
    held: (Vec<(usize, Input)>, usize),
    /// Cells from which on nothing waits.
    most: usize,
}

#[derive(Default)]
struct Shared {
    notes: Mutex<Vec<String>>,
    /// One more than the rows that will come; 0: unknown.
    expected: AtomicU64,
}

impl Outlet<'_> {
    /// Hands over a chunk, as soon as the one before was taken.
    pub(crate) fn give(&mut self, rows: Input) -> Result<()> {
        self.held.1 += rows.cells();
        self.held.0.push((self.source, rows));
        if self.held.1 >= self.most { self.send_held() } else { Ok(()) }
    }

    fn send_held(&mut self) -> Result<()> {
        let (rows, _) = std::mem::take(&mut self.held);
        if rows.is_empty() {
            return Ok(());
        }
        // Nobody listens any more: any error ends the reader, and nobody will see it.
        self.sender.send(Message::Rows(rows)).map_err(|_| Error::file("", "no more is wanted"))
    }

    /// Tells what was noticed and decided.
    pub(crate) fn note(&mut self, note: String) {
        self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Tells how many rows there will be.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "for binary formats"))]
    pub(crate) fn expect(&mut self, rows: u64) {
        self.shared.expected.store(rows.saturating_add(1), Ordering::Relaxed);
    }
}

/// The chunks of a source, or of one source after the other, in order. One is read ahead.
///
/// Files, gzip included, and standard input are read as they come: CSV, LIBSVM, Arrow and, from a file, Parquet. Other
/// sources (spreadsheets; Parquet and Arrow files through a pipe or gzip) are taken into memory first.
pub struct Chunks {
    receiver: Receiver<Message>,
    shared: Arc<Shared>,
    names: Vec<String>,
    /// Taken over, but not yet handed out.
    waiting: VecDeque<(usize, Input)>,
    /// The source of the last chunk, and the rows of it so far.
    source: usize,
    first: usize,
    ended: bool,
}

impl Chunks {
    /// Begins to read.
    pub fn new(source: Source, options: ChunkOptions) -> Self {
        // Standard input may pause: nothing waits for more.
        Self::start(vec![source], options, 0, reading_thread())
    }

    /// Begins to read several sources, one after the other.
    pub(crate) fn of_all(sources: Vec<Source>, options: ChunkOptions) -> Self {
        Self::start(sources, options, HELD_CELLS, reading_thread())
    }

    fn start(
        sources: Vec<Source>,
        options: ChunkOptions,
        most: usize,
        thread: thread::Builder,
    ) -> Self {
        let (sender, receiver) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let names: Vec<String> = sources.iter().map(Source::name).collect();
        let (theirs, ours) = (shared.clone(), sender.clone());
        let threads =
            if options.threads == 0 { rayon::current_num_threads() } else { options.threads };
        // A thread of its own that nobody waits for: it may be waiting for standard input when the work is done.
        let started = thread.spawn(move || {
            let held = (Vec::new(), 0);
            let mut outlet = Outlet { sender: &sender, shared: &theirs, source: 0, held, most };
            // It parses on threads of its own, too: whoever takes the chunks waits for them on a thread of a pool, and such a
            // thread must not be one that the parser waits for.
            let end = install(pool(threads), || {
                let read = sources.iter().enumerate().try_for_each(|(number, source)| {
                    outlet.source = number;
                    each_chunk(source, &options, &mut outlet)
                });
                // What was read before an error comes before it.
                outlet.send_held().and(read)
            });
            // Nobody listens any more: then nobody needs to know.
            let _ = sender.send(Message::End(end));
        });
        if let Err(e) = started {
            let name = names.first().map_or("", String::as_str);
            let problem = format!("cannot start a thread to read it: {e}");
            // There is room for one message, and nobody else sends.
            let _ = ours.send(Message::End(Err(Error::file(name, problem))));
        }
        let waiting = VecDeque::new();
        Self { receiver, shared, names, waiting, source: 0, first: 0, ended: false }
    }

    /// Rows handed over so far, of the source that the last chunk came from.
    pub fn rows(&self) -> usize {
        self.first
    }

    /// The source that the last chunk came from.
    pub(crate) fn name(&self) -> &str {
        &self.names[self.source]
    }

    /// Rows there will be in all of the source that is read, if the format tells.
    pub fn expected(&self) -> Option<u64> {
        self.shared.expected.load(Ordering::Relaxed).checked_sub(1)
    }

    /// What was noticed and decided on the way; complete after the last chunk.
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn numbered(&mut self, (source, rows): (usize, Input)) -> Chunk {
        if source != self.source {
            (self.source, self.first) = (source, 0);
        }
        let first = self.first;
        self.first += rows.nrows();
        let rows = match rows {
            Input::Table(table) => Input::Table(table.starting_at(first)),
            sparse @ Input::Sparse(_) => sparse,
        };
        Chunk { rows, first }
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                return Some(Ok(self.numbered(next)));
            }
            if self.ended {
                return None;
            }
            match self.receiver.recv() {
                Ok(Message::Rows(rows)) => self.waiting = rows.into(),
                Ok(Message::End(end)) => {
                    self.ended = true;
                    return end.err().map(Err);
                }
                Err(_) => {
                    self.ended = true;
                    let problem = "the reader ended before the data did";
                    return Some(Err(Error::file(self.name(), problem)));
                }
            }
        }
    }
}

/// The thread that reads ahead.
fn reading_thread() -> thread::Builder {
    thread::Builder::new().name("rows-ahead".into())
}

/// The threads that parse.
fn pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "rows-parse".into()).build()
}

/// Does `work` on the threads of a pool, or on this one where the system has no others to give.
fn install<T: Send>(
    pool: Result<ThreadPool, ThreadPoolBuildError>,
    work: impl FnOnce() -> T + Send,
) -> T {
    // The shared pool would not do: whoever waits for the chunks may be one of its threads.
    let alone = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    match pool.or_else(|_| alone()) {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn chunks_fit_into_little_memory_and_are_never_larger_than_wished() {
        let size = |bytes, cells| ChunkSize { bytes, cells };
        let usual = ChunkSize::default();
        assert_eq!(usual.within(None), usual);
        assert_eq!(usual.within(Some(1 << 40)), usual);
        assert_eq!(usual.within(Some(512 * 100_000)), size(100_000, 100_000));
        assert_eq!(usual.within(Some(1)), LEAST);
        assert_eq!(size(40, 40).within(Some(1)), size(40, 40));
    }

    #[test]
    fn rows_are_parsed_on_the_reading_thread_where_no_other_starts() {
        let refused = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|_| Err(std::io::Error::other("no thread is left")))
            .build();
        assert!(refused.is_err());
        let done = thread::spawn(|| {
            let here = thread::current().id();
            install(refused, || {
                let threads = (0..100_usize).into_par_iter().map(|_| thread::current().id());
                threads.collect::<Vec<_>>().iter().all(|id| *id == here)
            })
        });
        assert!(done.join().unwrap());
        assert_eq!(install(pool(3), rayon::current_num_threads), 3);
    }

    /// No machine has the memory for this stack.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_reading_thread_that_does_not_start_is_an_error_with_the_name_of_the_file() {
        let source = Source::Bytes("t.csv".into(), b"x\n1\n".as_slice().into());
        let thread = reading_thread().stack_size(1 << 60);
        let mut chunks = Chunks::start(vec![source], ChunkOptions::default(), 0, thread);
        let message = chunks.next().unwrap().unwrap_err().to_string();
        assert!(message.starts_with("t.csv: cannot start a thread to read it: "), "{message}");
        assert!(chunks.next().is_none());
    }
}
