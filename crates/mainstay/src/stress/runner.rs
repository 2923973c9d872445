//! One repeat, fit by fit: what is known already, what is too slow, what breaks.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::clock::Clock;
use super::run::{Cell, Entrant, Plan, TOO_SLOW};
use super::scene::Scene;
use super::{DamagedRows, Threat};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::{Estimator, Retuning};

/// The fits of one method that share what it tunes.
struct Job {
    entrant: usize,
    /// Damage to the training rows, at all its levels; none serves the clean cell and all damage to test rows.
    threat: Option<Threat>,
}

/// What a fit chose by cross-validation.
#[derive(Default)]
pub(super) struct Chosen {
    /// The estimator with that, where it can be fixed.
    pub(super) settled: Option<Box<dyn Estimator>>,
    /// How fits to similar rows are tuned.
    pub(super) retuning: Retuning,
}

/// A fit judged, and what it chose; nothing is known of that where the fit failed.
pub(super) type Done = (Vec<Cell>, Option<Chosen>);

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
    /// Of every entrant the fit to the rows as they are, once somebody needs it.
    clean: Vec<OnceLock<Result<Done>>>,
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
        let clean = entrants.iter().map(|_| OnceLock::new()).collect();
        Self { plan, scene, entrants, repeat, known, clocks, clean, control, inner, done }
    }

    /// All cells, in order of methods and of the plan, whatever the number of threads.
    pub(super) fn cells(&self) -> Result<Vec<Cell>> {
        let trials = self.plan.trials.iter().filter(|t| t.threat.part() == DamagedRows::Training);
        let threats: Vec<Option<Threat>> =
            std::iter::once(None).chain(trials.map(|t| Some(t.threat))).collect();
        // The fits to the rows as they are come first: those to damaged rows begin where these ended.
        let jobs: Vec<Job> = threats
            .iter()
            .flat_map(|&threat| {
                (0..self.entrants.len()).map(move |entrant| Job { entrant, threat })
            })
            .collect();
        let found = on_threads(self.control.n_threads(), &jobs, |job| self.job(job))?;
        let of = |entrant: usize| found.iter().skip(entrant).step_by(self.entrants.len());
        Ok((0..self.entrants.len()).flat_map(of).flatten().cloned().collect())
    }

    fn job(&self, job: &Job) -> Result<Vec<Cell>> {
        let name = &self.entrants[job.entrant].name;
        let Some(threat) = job.threat else {
            if let Some(cells) = self.stored(&self.plan.blanks(name, None, self.repeat)) {
                return Ok(cells);
            }
            let done = self.clean(job.entrant).as_ref();
            return done.map(|done| done.0.clone()).map_err(Error::clone);
        };
        let levels = self.levels(threat);
        let blanks: Vec<Cell> = levels
            .iter()
            .flat_map(|&level| self.plan.blanks(name, Some((threat, level)), self.repeat))
            .collect();
        if let Some(cells) = self.stored(&blanks) {
            return Ok(cells);
        }
        self.tuned_together(job.entrant, threat)
    }

    /// The fits at all levels of a threat to the training rows.
    ///
    /// Where rows are left out and nothing else happens to them, a method tunes itself at the middle level and the other
    /// levels use what it chose. Wrong labels and outliers ask for another choice at every level: methods that say so look for
    /// it near that of the middle one, and there near that for the rows as they are.
    fn tuned_together(&self, entrant: usize, threat: Threat) -> Result<Vec<Cell>> {
        let own = self.entrants[entrant].estimator.as_ref();
        let levels = self.levels(threat);
        let kept = threat.only_leaves_out();
        let retunes = !kept && own.retunes();
        let known = if retunes {
            self.clean(entrant).as_ref().map_err(Error::clone)?.1.as_ref()
        } else {
            None
        };
        let clean = known.map_or_else(BTreeMap::new, |chosen| begin(&chosen.retuning));
        let (middle, at) = (levels.len() / 2, |level: f64| Some((threat, level)));
        let chooses = levels.len() > 1 && (kept || retunes);
        let (first, chosen) = self.fit(entrant, (own, clean), at(levels[middle]), chooses)?;
        let Chosen { settled, retuning } = chosen.unwrap_or_default();
        let settled = settled.filter(|_| kept);
        let estimator = settled.as_deref().unwrap_or(own);
        let mut cells = Vec::with_capacity(levels.len());
        for (k, &level) in levels.iter().enumerate() {
            if k == middle {
                cells.extend_from_slice(&first);
            } else {
                let near = (estimator, begin(&retuning));
                cells.extend(self.fit(entrant, near, at(level), false)?.0);
            }
        }
        Ok(cells)
    }

    /// The fit to the rows as they are, done once for all who ask.
    fn clean(&self, entrant: usize) -> &Result<Done> {
        let own = self.entrants[entrant].estimator.as_ref();
        self.clean[entrant].get_or_init(|| self.fit(entrant, (own, BTreeMap::new()), None, true))
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
        entrant: usize,
        (estimator, near): (&dyn Estimator, BTreeMap<String, f64>),
        damage: Option<(Threat, f64)>,
        chooses: bool,
    ) -> Result<Done> {
        let blanks = self.plan.blanks(&self.entrants[entrant].name, damage, self.repeat);
        let stored = self.stored(&blanks);
        if let Some(cells) = stored.as_ref().filter(|_| !chooses) {
            return Ok((cells.clone(), None));
        }
        self.control.check()?;
        let work = |limited: &Control| {
            let cells = || self.scene.cells(estimator, damage, blanks.clone(), limited);
            catch_unwind(AssertUnwindSafe(cells))
        };
        let Some(found) = self.clocks[entrant].time(&self.inner.near(near), work) else {
            return Ok((fail(&blanks, TOO_SLOW), None));
        };
        let (cells, chosen) = match found {
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
            return Ok((known, chosen));
        }
        (self.done)(&cells);
        Ok((cells, chosen))
    }
}

/// Where a search begins.
fn begin(retuning: &Retuning) -> BTreeMap<String, f64> {
    match retuning {
        Retuning::Near(known) => known.clone(),
        Retuning::Anew => BTreeMap::new(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::linalg::Dense;
    use crate::model::{Fitted, Linear, Link, Model, Output};
    use crate::stress::Trial;

    /// Begins at what is known, or at 1, and chooses twice that: what it was told shows in its weights.
    struct Doubles;

    impl Estimator for Doubles {
        fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
            let chosen = 2.0 * control.known("a").unwrap_or(1.0);
            let coef = vec![vec![chosen; data.n_features()]];
            let linear = Linear { coef, intercept: vec![0.1 * chosen], link: Link::Logistic };
            Ok(Fitted::new(Model::Linear(linear), 1).with("a", chosen))
        }

        fn retuning(&self, fitted: &Fitted) -> Retuning {
            match fitted.outputs.get("a") {
                Some(Output::Number(a)) => Retuning::Near(BTreeMap::from([("a".to_owned(), *a)])),
                _ => Retuning::Anew,
            }
        }

        fn retunes(&self) -> bool {
            true
        }
    }

    fn plan() -> Plan {
        let trials =
            [Threat::LabelNoise, Threat::FewSamples, Threat::MissingFeatures].map(Trial::usual);
        Plan { trials: trials.to_vec(), ..Plan::usual(3) }
    }

    fn data() -> Dataset {
        let x = Dense::from_fn(60, 2, |i, j| ((i * (5 + 2 * j) + j) % 11) as f64 / 5.0 - 1.0);
        let labels = (0..60).map(|i| usize::from((i * 5) % 11 > 4)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }

    fn run(known: &[Cell], threads: usize) -> (Vec<Cell>, Vec<Cell>) {
        let entrants = ["one", "other"]
            .map(|name| Entrant { name: name.into(), estimator: Box::new(Doubles) });
        let told = Mutex::new(Vec::new());
        let done = |cells: &[Cell]| told.lock().unwrap().extend_from_slice(cells);
        let control = Control::new().with_threads(threads);
        let cells = plan().run(&data(), &entrants, 0, known, &control, &done).unwrap();
        (cells, told.into_inner().unwrap())
    }

    /// The rows as they are from nowhere, the middle level from there, the others from the middle one: the log loss, which
    /// depends on the size of the weights, tells apart 2, 4 and 8.
    #[test]
    fn searches_begin_where_similar_rows_ended() {
        let (cells, _) = run(&[], 1);
        let of = |threat: &str| -> Vec<Option<f64>> {
            cells
                .iter()
                .filter(|c| c.method == "one" && c.threat == threat)
                .map(|c| c.log_loss)
                .collect()
        };
        let noise = of("label_noise");
        // The weights do not depend on the labels, so that equal starts give equal losses.
        assert_eq!(noise[0], noise[2]);
        assert!(noise[1] != noise[0] && noise[1] != of("clean")[0]);
    }

    /// Tunes itself anew wherever it is fitted.
    struct Counts<'a>(&'a AtomicUsize);

    impl Estimator for Counts<'_> {
        fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Doubles.fit(data, control)
        }
    }

    /// Nothing is fitted again that no other fit would learn from.
    #[test]
    fn an_interrupted_run_makes_the_missing_fits_alone() {
        static FITS: AtomicUsize = AtomicUsize::new(0);
        let entrants = [Entrant { name: "one".into(), estimator: Box::new(Counts(&FITS)) }];
        let control = Control::new().with_threads(1);
        let run =
            |known: &[Cell]| plan().run(&data(), &entrants, 0, known, &control, &|_| ()).unwrap();
        let all = run(&[]);
        assert_eq!(FITS.swap(0, Ordering::Relaxed), plan().fits_each());
        let noisiest = |c: &&Cell| c.threat == "label_noise" && c.level == 0.3;
        let known: Vec<Cell> = all.iter().filter(|c| !noisiest(c)).cloned().collect();
        assert_eq!(run(&known), all);
        assert_eq!(FITS.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn cells_of_an_interrupted_run_change_nothing() {
        let (all, _) = run(&[], 1);
        assert_eq!(run(&[], 2).0, all);
        for missing in &all {
            // One fit serves the rows as they are and all damage to rows to be judged.
            let fit = |c: &Cell| match c.threat.as_str() {
                "clean" | "missing_features" => None,
                threat => Some((threat.to_owned(), c.level.to_bits())),
            };
            let same = |c: &Cell| fit(c) == fit(missing);
            let known: Vec<Cell> =
                all.iter().filter(|c| c.method != missing.method || !same(c)).cloned().collect();
            let (again, told) = run(&known, 2);
            assert_eq!(again, all, "{missing:?}");
            assert!(!told.is_empty() && told.iter().all(|c| !known.contains(c)), "{missing:?}");
        }
    }
}
