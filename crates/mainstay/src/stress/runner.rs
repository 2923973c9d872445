//! One repeat, fit by fit: what is known already, what is too slow, what breaks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::clock::Clock;
use super::run::{Cell, Entrant, Plan, TOO_SLOW};
use super::scene::Scene;
use super::{DamagedRows, Threat};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::Estimator;

/// The fits of one method that share what it tunes.
struct Job {
    entrant: usize,
    /// Damage to the training rows, at all its levels; none serves the clean cell and all damage to test rows.
    threat: Option<Threat>,
}

/// A fit judged, and the estimator with what the fit chose by cross-validation.
pub(super) type Done = (Vec<Cell>, Option<Box<dyn Estimator>>);

/// Who is told of the cells of every fit.
type Told<'a> = &'a (dyn Fn(&[Cell]) + Sync);

/// What all fits of a repeat have in common.
pub(super) struct Runner<'a> {
    plan: &'a Plan,
    scene: &'a Scene,
    entrants: &'a [Entrant],
    repeat: usize,
    known: Vec<&'a Cell>,
    clocks: Vec<Clock>,
    control: &'a Control,
    inner: Control,
    done: Told<'a>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        scene: &'a Scene,
        entrants: &'a [Entrant],
        (repeat, known): (usize, &'a [Cell]),
        (control, done): (&'a Control, Told<'a>),
    ) -> Self {
        let inner = control.without_progress().with_threads(0);
        let clocks = entrants.iter().map(|_| Clock::new(plan.seconds_each)).collect();
        let known = known.iter().filter(|c| c.repeat == repeat).collect();
        Self { plan, scene, entrants, repeat, known, clocks, control, inner, done }
    }

    /// All cells, in order of methods and of the plan, whatever the number of threads.
    pub(super) fn cells(&self) -> Result<Vec<Cell>> {
        let trials = self.plan.trials.iter().filter(|t| t.threat.part() == DamagedRows::Training);
        let threats: Vec<Option<Threat>> =
            std::iter::once(None).chain(trials.map(|t| Some(t.threat))).collect();
        let jobs: Vec<Job> = (0..self.entrants.len())
            .flat_map(|entrant| threats.iter().map(move |&threat| Job { entrant, threat }))
            .collect();
        Ok(on_threads(self.control.n_threads(), &jobs, |job| self.job(job))?.concat())
    }

    fn job(&self, job: &Job) -> Result<Vec<Cell>> {
        let own = self.entrants[job.entrant].estimator.as_ref();
        let Some(threat) = job.threat else { return Ok(self.fit(job, own, None)?.0) };
        let levels = self.levels(threat);
        let name = &self.entrants[job.entrant].name;
        let blanks: Vec<Cell> = levels
            .iter()
            .flat_map(|&level| self.plan.blanks(name, Some((threat, level)), self.repeat))
            .collect();
        if let Some(cells) = self.stored(&blanks) {
            return Ok(cells);
        }
        // Where rows are left out and nothing else happens to them, a method tunes itself at the middle level and the other
        // levels use what it chose. Wrong labels and outliers ask for another choice at every level.
        let middle = levels.len() / 2;
        let (first, settled) = self.fit(job, own, Some((threat, levels[middle])))?;
        let settled = settled.filter(|_| threat.only_leaves_out());
        let mut cells = Vec::with_capacity(blanks.len());
        for (k, &level) in levels.iter().enumerate() {
            if k == middle {
                cells.extend_from_slice(&first);
            } else {
                let estimator = settled.as_deref().unwrap_or(own);
                cells.extend(self.fit(job, estimator, Some((threat, level)))?.0);
            }
        }
        Ok(cells)
    }

    fn levels(&self, threat: Threat) -> &[f64] {
        let own = self.plan.trials.iter().find(|t| t.threat == threat);
        own.map_or(&[], |t| &t.levels)
    }

    /// The known cells in place of `blanks`, if all of them are known.
    fn stored(&self, blanks: &[Cell]) -> Option<Vec<Cell>> {
        let one = |blank: &Cell| {
            let same = |c: &&&Cell| {
                c.method == blank.method && c.threat == blank.threat && c.level == blank.level
            };
            self.known.iter().find(same).map(|c| (*c).clone())
        };
        blanks.iter().map(one).collect()
    }

    /// One fit and its cells: known ones, where the fit is not needed for what it would choose.
    fn fit(
        &self,
        job: &Job,
        estimator: &dyn Estimator,
        damage: Option<(Threat, f64)>,
    ) -> Result<Done> {
        let blanks = self.plan.blanks(&self.entrants[job.entrant].name, damage, self.repeat);
        let stored = self.stored(&blanks);
        let chooses = damage.is_some_and(|(t, level)| self.is_middle(t, level));
        if let Some(cells) = stored.as_ref().filter(|_| !chooses) {
            return Ok((cells.clone(), None));
        }
        self.control.check()?;
        let work = |limited: &Control| {
            let cells = || self.scene.cells(estimator, damage, blanks.clone(), limited);
            catch_unwind(AssertUnwindSafe(cells))
        };
        let Some(found) = self.clocks[job.entrant].time(&self.inner, work) else {
            return Ok((fail(&blanks, TOO_SLOW), None));
        };
        let (cells, settled) = match found {
            Ok(Err(Error::Interrupted)) => {
                self.control.check()?;
                return Ok((fail(&blanks, TOO_SLOW), None));
            }
            Ok(Ok(done)) => done,
            Ok(Err(error)) => (fail(&blanks, &error.to_string()), None),
            Err(_) => {
                (fail(&blanks, "the fit stopped with an internal error; please report it"), None)
            }
        };
        if let Some(known) = stored {
            return Ok((known, settled));
        }
        (self.done)(&cells);
        Ok((cells, settled))
    }

    fn is_middle(&self, threat: Threat, level: f64) -> bool {
        let levels = self.levels(threat);
        threat.only_leaves_out() && levels.len() > 1 && levels[levels.len() / 2] == level
    }
}

fn fail(blanks: &[Cell], why: &str) -> Vec<Cell> {
    blanks.iter().map(|c| Cell { problem: Some(why.into()), ..c.clone() }).collect()
}

/// What `work` makes of every job, in order; every job stays on one of `threads` threads. There are many more fits than
/// threads, and on threads that help each other out in between, the time of a fit would mean nothing.
fn on_threads<J: Sync, T: Send>(
    threads: usize,
    jobs: &[J],
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<T>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        while let Some(k) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|k| *k < jobs.len()) {
            let result = work(&jobs[k]);
            if let Ok(mut place) = results[k].lock() {
                *place = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| Control::new().with_threads(1).install(take));
        }
    });
    // A job without a result broke a rule of its own (a panic is caught before it gets here).
    let found = |place: Mutex<Option<Result<T>>>| {
        place.into_inner().ok().flatten().unwrap_or(Err(Error::Interrupted))
    };
    results.into_iter().map(found).collect()
}
