//! What an experiment is given: data sets by name, seeds, and repetitions that are remembered between runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mainstay::Control;
use rayon::prelude::*;

use crate::data::{self, Named, Set};
use crate::error::{Error, Result};
use crate::journal::Journal;

/// Numbers of repetitions: one row per repetition.
pub(crate) type Repetitions = Vec<Vec<f64>>;

/// What an experiment may use: data sets by name, repetitions that are remembered, seeds.
pub struct Context<'a> {
    /// Fewer repetitions and coarser grids.
    pub quick: bool,
    seed: u64,
    data: Option<PathBuf>,
    cache: PathBuf,
    control: &'a Control,
    progress: &'a (dyn Fn(u64, u64) + Sync),
    journals: Mutex<BTreeMap<String, Arc<Journal>>>,
    sets: Mutex<BTreeMap<&'static str, Arc<Named>>>,
    missing: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Context<'a> {
    /// A context that remembers its work in the folder `cache`.
    pub(crate) fn new(
        settings: &crate::run::Settings,
        cache: &Path,
        control: &'a Control,
        progress: &'a (dyn Fn(u64, u64) + Sync),
    ) -> Self {
        Self {
            quick: settings.quick,
            seed: settings.seed,
            data: settings.data.clone(),
            cache: cache.to_owned(),
            control,
            progress,
            journals: Mutex::default(),
            sets: Mutex::default(),
            missing: Mutex::default(),
        }
    }

    /// `full`, or `quick` in a quick run.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// For fits inside a repetition: stops with the run, and uses the threads of the run.
    pub fn control(&self) -> Control {
        self.control.without_progress().with_threads(0)
    }

    /// A seed that depends on the run's seed and on `key` alone.
    pub fn seed(&self, key: &str) -> u64 {
        // FNV-1a, then one round of a mixer: nearby keys must not give nearby seeds.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in key.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        hash = (hash ^ (hash >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash ^ (hash >> 29)
    }

    /// The numbers of every repetition in `keys`, in that order: remembered ones from the journal `group`, the others by
    /// `work(index, seed)`, in parallel. Results do not depend on threads or on where an earlier run stopped.
    pub fn each(
        &self,
        group: &str,
        keys: &[String],
        work: impl Fn(usize, u64) -> Result<Vec<f64>> + Sync,
    ) -> Result<Vec<Vec<f64>>> {
        let journal = self.journal(group)?;
        let done = AtomicU64::new(0);
        let one = |i: usize| {
            let found = if let Some(values) = journal.get(&keys[i]) {
                values.clone()
            } else {
                self.control.check()?;
                journal.add(&keys[i], &work(i, self.seed(&keys[i]))?)?
            };
            (self.progress)(1 + done.fetch_add(1, Ordering::Relaxed), keys.len() as u64);
            Ok(found)
        };
        self.control.install(|| (0..keys.len()).into_par_iter().with_max_len(1).map(one).collect())
    }

    /// As [`Context::each`], one after the other on one thread: for work that is timed.
    pub fn each_alone(
        &self,
        group: &str,
        keys: &[String],
        work: impl Fn(usize, u64) -> Result<Vec<f64>> + Sync,
    ) -> Result<Vec<Vec<f64>>> {
        let journal = self.journal(group)?;
        self.control.clone().with_threads(1).install(|| {
            (0..keys.len())
                .map(|i| {
                    (self.progress)(i as u64, keys.len() as u64);
                    if let Some(values) = journal.get(&keys[i]) {
                        return Ok(values.clone());
                    }
                    self.control.check()?;
                    journal.add(&keys[i], &work(i, self.seed(&keys[i]))?)
                })
                .collect()
        })
    }

    fn journal(&self, group: &str) -> Result<Arc<Journal>> {
        let mut journals = lock(&self.journals);
        if let Some(journal) = journals.get(group) {
            return Ok(journal.clone());
        }
        std::fs::create_dir_all(&self.cache)
            .map_err(|source| Error::Folder { name: self.cache.display().to_string(), source })?;
        let kind = self.pick("full", "quick");
        let run = serde_json::json!({
            "group": group, "kind": kind, "seed": self.seed, "version": env!("CARGO_PKG_VERSION"),
        });
        let path = self.cache.join(format!("{group}.{kind}.jsonl"));
        let journal = Arc::new(Journal::open(&path, &run)?);
        // A journal is read once a run; what is added later is known to its caller only.
        journals.insert(group.to_owned(), journal.clone());
        Ok(journal)
    }

    /// Forgets open journals, so that the next experiment reads what this one added.
    pub(crate) fn close_journals(&self) {
        lock(&self.journals).clear();
    }

    /// The data set `name`; `None`, and a line under "not run", if its file is not there.
    pub fn data(&self, name: &'static str) -> Result<Option<Arc<Named>>> {
        if let Some(found) = lock(&self.sets).get(name) {
            return Ok(Some(found.clone()));
        }
        let set = Set::find(name);
        let Some(path) = self.data.as_deref().and_then(|folder| set.path(folder)) else {
            let place = match &self.data {
                Some(folder) => format!("no {name}.csv.gz or {name}.csv in `{}`", folder.display()),
                None => "no folder of data sets was given (--data DIR)".into(),
            };
            let line = format!("{name}: {place}; the original is {} ({})", set.title, set.source);
            let mut missing = lock(&self.missing);
            if !missing.contains(&line) {
                missing.push(line);
            }
            return Ok(None);
        };
        let loaded = Arc::new(data::load(set, &path)?);
        lock(&self.sets).insert(name, loaded.clone());
        Ok(Some(loaded))
    }

    /// The data sets of `names` that are there.
    pub fn all_data(&self, names: &[&'static str]) -> Result<Vec<Arc<Named>>> {
        names.iter().filter_map(|&name| self.data(name).transpose()).collect()
    }

    /// Data sets that were asked for in vain since the last call.
    pub(crate) fn take_missing(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.missing))
    }
}

/// Keys `name/0`, `name/1`, ... of repetitions.
pub(crate) fn repetitions(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|r| format!("{name}/{r}")).collect()
}
