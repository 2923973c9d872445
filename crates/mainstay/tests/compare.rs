//! Comparisons: intervals, advice that agrees with the numbers, and hostile data.
#![cfg(test)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mainstay::compare::{
    Bootstrap, Cell, Comparison, Extent, Interval, MAX_REPEATS, MIN_REPEATS, MethodInfo, Role,
    Session, Subject, another_repeat, roster, survey,
};
use mainstay::data::{Dataset, Handled, Outliers, make_label_noise, make_outliers};
use mainstay::linalg::Dense;
use mainstay::stress::{CLEAN, Entrant, Plan, Threat, Trial};
use mainstay::{Control, methods};
use mainstay_testkit::generate;
use serde_json::json;

fn subject(data: Dataset) -> Subject {
    let names = |letter: &str, count: usize| (0..count).map(|j| format!("{letter}{j}")).collect();
    Subject {
        name: "test".into(),
        features: names("f", data.n_features()),
        classes: names("c", data.n_classes()),
        rows: (1..=data.len()).collect(),
        handled: Handled::default(),
        data,
    }
}

fn pair(params: &serde_json::Value) -> (Vec<MethodInfo>, Vec<Entrant>) {
    let plain = ("plain", "l2", json!({"alpha": 0.01}), Role::Baseline);
    let robust = ("conic", "conic", params.clone(), Role::Robust);
    [plain, robust]
        .into_iter()
        .map(|(name, method, params, role)| {
            let estimator = methods::find(method).unwrap().estimator(&params).unwrap();
            let info =
                MethodInfo { name: name.into(), title: name.into(), role, tuning: "none".into() };
            (info, Entrant { name: name.into(), estimator })
        })
        .unzip()
}

fn compared(data: Dataset, trials: Vec<Trial>, repeats: usize, threads: usize) -> Comparison {
    let (methods, entrants) = pair(&json!({"kappa": 0.2}));
    let plan = Plan { trials, ..Plan::usual(1) };
    let mut session = Session::with(subject(data), methods, entrants, plan).unwrap();
    let control = Control::new().with_threads(threads);
    for _ in 0..repeats {
        session.next_repeat(repeats, &[], &control, &|_| ()).unwrap();
    }
    session.finish("again", &control).unwrap()
}

fn full(data: Dataset, repeats: usize) -> Comparison {
    let mut session = Session::new(subject(data), 0).unwrap();
    for _ in 0..repeats {
        session.next_repeat(repeats, &[], &Control::new(), &|_| ()).unwrap();
    }
    session.finish("again", &Control::new()).unwrap()
}

/// Accuracies of a method under a threat, by repeat, averaged over levels, straight from the cells.
fn by_repeat(found: &Comparison, method: &str, threat: &str) -> Vec<Option<f64>> {
    (0..found.settings.repeats)
        .map(|r| {
            let own: Vec<Option<f64>> = found
                .cells
                .iter()
                .filter(|c| c.method == method && c.threat == threat && c.repeat == r)
                .map(|c| c.accuracy)
                .collect();
            let all: Option<Vec<f64>> = own.into_iter().collect();
            all.map(|a| a.iter().sum::<f64>() / a.len() as f64)
        })
        .collect()
}

fn mean(values: &[Option<f64>]) -> f64 {
    values.iter().map(|v| v.unwrap()).sum::<f64>() / values.len() as f64
}

fn minus(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<Option<f64>> {
    a.iter().zip(b).map(|(a, b)| Some(a.as_ref()? - b.as_ref()?)).collect()
}

/// All 27 redraws of three repeats, each equally likely: their spread, widened, is that of the interval.
#[test]
fn the_bootstrap_interval_agrees_with_all_redraws() {
    let values = [0.1, 0.4, 0.7];
    let found = Bootstrap::new(3, 0.5, 9).interval(&values.map(Some)).unwrap();
    let mut means: Vec<f64> = Vec::new();
    for a in values {
        for b in values {
            means.extend(values.map(|c| (a + b + c) / 3.0));
        }
    }
    means.sort_by(f64::total_cmp);
    // The lowest and highest redraw have probability 1/27 > 2.5 %: they are the ends.
    let widen = (2.5_f64 * 1.5).sqrt() * 4.302_65 / 1.959_964;
    let expected = Interval { mean: 0.4, low: 0.4 - 0.3 * widen, high: 0.4 + 0.3 * widen };
    assert!((means[0] - 0.1).abs() < 1e-12 && (means[26] - 0.7).abs() < 1e-12);
    for (a, b) in
        [(found.mean, expected.mean), (found.low, expected.low), (found.high, expected.high)]
    {
        assert!((a - b).abs() < 1e-9, "{found:?} {expected:?}");
    }
}

/// Without any damage methods are exchangeable with themselves: a method against its copy has gain 0, never sure.
#[test]
fn clustered_outliers_make_the_conic_svm_the_advice_and_the_numbers_agree() {
    let data = make_outliers(240, 3, 0.2, Outliers::None, 0.0, 3).unwrap();
    let trials = vec![
        Trial { threat: Threat::Outliers, levels: vec![0.1, 0.15] },
        Trial { threat: Threat::MissingFeatures, levels: vec![0.3] },
    ];
    let found = compared(data, trials, 8, 2);
    let advice = &found.advice;
    assert_eq!(
        (advice.baseline.as_str(), advice.worst_threat.as_deref()),
        ("plain", Some("outliers"))
    );
    let (plain, conic) =
        (by_repeat(&found, "plain", "outliers"), by_repeat(&found, "conic", "outliers"));
    let gain = mean(&conic) - mean(&plain);
    assert!(gain > 0.1, "{gain}");
    assert_eq!(advice.method, "conic");
    assert!((advice.gain.unwrap().mean - gain).abs() < 1e-12);
    let price = mean(&by_repeat(&found, "plain", CLEAN)) - mean(&by_repeat(&found, "conic", CLEAN));
    assert!((advice.price.unwrap().mean - price).abs() < 1e-12);
    assert!(advice.headline.starts_with("Use conic"), "{}", advice.headline);
    let shown = format!("{:.1} %", 100.0 * mean(&conic));
    assert!(advice.headline.contains(&shown), "{} in {}", shown, advice.headline);
    // The worst threat is the one with the largest drop.
    let clean = mean(&by_repeat(&found, "plain", CLEAN));
    let drop = |threat: &str| clean - mean(&by_repeat(&found, "plain", threat));
    assert!(drop("outliers") > drop("missing_features"));
}

#[test]
fn plain_is_enough_where_nothing_hurts() {
    let data = make_outliers(200, 3, 0.05, Outliers::None, 0.0, 3).unwrap();
    let trials = vec![Trial { threat: Threat::FewSamples, levels: vec![0.3, 0.5] }];
    let found = compared(data, trials, 4, 2);
    assert_eq!(found.advice.method, "plain");
    assert!(found.advice.headline.contains("enough"), "{}", found.advice.headline);
    assert_eq!(found.advice.gain, None);
}

/// Labels that say nothing: whatever the repeats, no method may be called surely better.
#[test]
fn noise_gives_no_sure_winner() {
    for seed in 0..5 {
        let x = generate::normal(&mut generate::rng(seed), 120 * 4);
        let labels: Vec<usize> = (0..120).map(|i| i % 2).collect();
        let data = Dataset::new(Dense::from_rows(120, 4, x).into(), labels, 2).unwrap();
        let trials = vec![Trial::usual(Threat::LabelNoise), Trial::usual(Threat::MeasurementError)];
        let found = compared(data, trials, 5, 2);
        assert_eq!(found.advice.method, "plain", "seed {seed}: {:?}", found.advice);
    }
}

#[test]
fn curves_sum_up_the_cells_and_threads_do_not_matter() {
    let data = make_label_noise(150, 3, 0.1, 2).unwrap();
    let trials =
        || vec![Trial::usual(Threat::LabelNoise), Trial::usual(Threat::AdversarialDeletion)];
    let found = compared(data.clone(), trials(), 4, 1);
    assert_eq!(found, compared(data, trials(), 4, 3));
    assert_eq!(found.cells.len(), 2 * 4 * 7);
    assert_eq!(found.curves.len(), 2 * 3);
    for curve in &found.curves {
        for point in &curve.points {
            let own: Vec<f64> = found
                .cells
                .iter()
                .filter(|c| {
                    c.method == curve.method && c.threat == curve.threat && c.level == point.level
                })
                .map(|c| c.accuracy.unwrap())
                .collect();
            let interval = point.accuracy.unwrap();
            assert!((interval.mean - own.iter().sum::<f64>() / 4.0).abs() < 1e-12);
            assert!(interval.low <= interval.mean && interval.mean <= interval.high);
            assert!(interval.low >= 0.0 && interval.high <= 1.0);
            assert_eq!(point.log_loss.is_some(), curve.method == "plain");
        }
    }
    // A gain is paired: its interval comes from differences within repeats.
    let gain = minus(&by_repeat(&found, "conic", CLEAN), &by_repeat(&found, "plain", CLEAN));
    assert_eq!(gain.len(), 4);
    let back: Comparison = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    assert_eq!(back, found);
}

#[test]
fn the_roster_runs_on_real_data_and_fills_everything() {
    let text = mainstay::data::demo();
    let mut rows: Vec<f64> = Vec::new();
    let mut labels = Vec::new();
    for line in text.lines().skip(1).step_by(6) {
        let cells: Vec<&str> = line.split(',').collect();
        rows.extend(cells[..8].iter().map(|c| c.parse::<f64>().unwrap()));
        labels.push(usize::from(cells[30] == "M"));
    }
    let n = labels.len();
    let found = full(Dataset::new(Dense::from_rows(n, 8, rows).into(), labels, 2).unwrap(), 2);
    let (infos, entrants) = roster(8).unwrap();
    assert_eq!(infos.len(), entrants.len());
    assert_eq!(found.methods, infos);
    assert_eq!(found.threats.len(), 8);
    assert_eq!(found.settings.repeats, 2);
    assert!(found.cells.iter().all(|c| c.problem.is_none()));
    // Imputation changes what is made of missing cells and nothing else.
    for (threat, same) in [("label_noise", true), ("missing_features", false)] {
        let of = |method: &str| by_repeat(&found, method, threat);
        assert_eq!(of("l2") == of("l2-gaussian"), same, "{threat}");
    }
    assert!(found.chosen.as_ref().is_some_and(|c| c.method == found.advice.method && c.rows == n));
    assert!(found.audit.is_some() && found.suspects_not_run.is_none());
    assert_eq!(found.coefficients.len(), 1);
    assert_eq!(found.coefficients[0].baseline.len(), 8);
    assert!(
        !found.worst_rows.is_empty() && found.worst_rows.iter().all(|r| (1..=n).contains(&r.row))
    );
    assert!(found.worst_rows.is_sorted_by(|a, b| a.loss >= b.loss));
    assert!(found.suspects.iter().all(|r| r.score >= 0.5 && r.row <= n));
    assert_eq!(found.radii.len(), 2);
    assert!(found.radii[0].radius_l2.is_sorted());
}

#[test]
fn hostile_data_give_reasons_instead_of_crashes() {
    // Two rows per class; all features constant; one feature; more features than rows.
    let few = Dataset::new(Dense::from_fn(4, 3, |i, j| (i + j) as f64).into(), vec![0, 0, 1, 1], 2);
    let found = full(few.unwrap(), 2);
    assert!(!found.advice.headline.is_empty());
    assert!(
        found.data.warnings.iter().any(|w| w.contains("only 2 rows")),
        "{:?}",
        found.data.warnings
    );
    let labels: Vec<usize> = (0..30).map(|i| i % 2).collect();
    let constant = Dataset::new(Dense::from_fn(30, 2, |_, j| j as f64).into(), labels.clone(), 2);
    let found = full(constant.unwrap(), 2);
    assert!(found.data.warnings.iter().any(|w| w.contains("All features are constant")));
    let headline = &found.advice.headline;
    assert!(headline.contains("no method tells these classes apart"), "{headline}");
    let single =
        Dataset::new(Dense::from_fn(30, 1, |i, _| (i % 2 * 5 + i % 7) as f64).into(), labels, 2);
    assert!(full(single.unwrap(), 2).cells.iter().any(|c| c.accuracy.is_some()));
    for cell in &found.cells {
        assert_eq!(cell.accuracy.is_none(), cell.problem.is_some(), "{cell:?}");
    }
    assert!(
        Session::new(
            Subject { classes: Vec::new(), ..subject(make_label_noise(9, 2, 0.0, 0).unwrap()) },
            0
        )
        .is_err()
    );
    let session = Session::new(subject(make_label_noise(9, 2, 0.0, 0).unwrap()), 0).unwrap();
    assert!(session.finish("", &Control::new()).is_err());
}

#[test]
fn a_class_that_is_missing_from_a_split_does_not_stop_the_rest() {
    // Class 2 has one row: in some splits it is in the test set only.
    let x =
        Dense::from_fn(31, 2, |i, j| (i % 3) as f64 * 2.0 + ((i * 13 + j * 7) % 11) as f64 / 5.0);
    let labels: Vec<usize> = (0..31).map(|i| if i == 30 { 2 } else { i % 3 % 2 }).collect();
    let data = Dataset::new(x.into(), labels, 3).unwrap();
    let found = compared(data, vec![Trial::usual(Threat::AdversarialDeletion)], 6, 2);
    assert!(found.cells.iter().all(|c| c.accuracy.is_some()), "{:?}", found.cells);
}

#[test]
fn the_survey_names_what_is_odd() {
    let n = 60;
    let labels: Vec<usize> = (0..n).map(|i| usize::from(i % 6 == 0)).collect();
    let x = Dense::from_fn(n, 3, |i, j| match j {
        0 => labels[i] as f64 * 3.0 + (i % 2) as f64,
        1 => 7.0,
        _ => (i % 5) as f64,
    });
    let data = Dataset::new(x.into(), labels, 2).unwrap();
    let names: Vec<String> = ["leak", "flat", "fine"].map(String::from).to_vec();
    let found = survey(&data, &names, &["a".into(), "b".into()]);
    assert!(found.iter().any(|w| w.contains("`leak`") && w.contains("without error")), "{found:?}");
    assert!(found.iter().any(|w| w.contains("`flat`") && w.contains("same in every row")));
    assert!(found.iter().any(|w| w.contains("`a` is right for 83.3 %")));
    assert!(!found.iter().any(|w| w.contains("`fine`")));
}

#[test]
fn the_budget_decides_the_repeats() {
    assert!(another_repeat(1, 1e9, 1.0), "two repeats at least");
    assert!(!another_repeat(MIN_REPEATS, 100.0, 60.0));
    assert!(!another_repeat(MAX_REPEATS, 0.0, 60.0));
    assert!(another_repeat(4, 20.0, 60.0) && !another_repeat(4, 50.0, 60.0));
}

/// On this clock every fit takes a second. After k repeats of f fits another one and what follows it end within
/// 6 f seconds as long as k + 2 <= 6: five repeats. In 5 f seconds there would be four, too few to be sure: of the three
/// levels one is run, a repeat takes f / 2, and there are nine.
#[test]
fn a_run_on_a_budget_is_the_run_of_as_many_repeats_as_fit() {
    let session = || {
        let (methods, entrants) = pair(&json!({"kappa": 0.2}));
        let plan = Plan { trials: vec![Trial::usual(Threat::LabelNoise)], ..Plan::usual(1) };
        let data = make_label_noise(60, 3, 0.1, 5).unwrap();
        Session::with(subject(data), methods, entrants, plan).unwrap()
    };
    let (ticks, totals) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (clock, seen) = (Arc::clone(&ticks), Arc::clone(&totals));
    let control = Control::new()
        .with_threads(1)
        .with_clock(move || clock.load(Ordering::Relaxed) as f64)
        .with_progress(move |_, total| seen.lock().unwrap().push(total));
    let mut timed = session();
    let each = timed.fits_each();
    let tick = |_: &[Cell]| {
        ticks.fetch_add(1, Ordering::Relaxed);
    };
    let budget = 6.0 * each as f64;
    timed.run(Extent::Seconds { budget, spent: 0.0 }, &[], &control, &tick).unwrap();
    assert_eq!((timed.repeats(), timed.few_levels()), (5, false));
    let last = *totals.lock().unwrap().last().unwrap();
    assert_eq!(last, 5 * each as u64);
    let mut counted = session();
    counted.run(Extent::Repeats(5), &[], &Control::new(), &|_| ()).unwrap();
    assert_eq!(counted.cells(), timed.cells());
    let mut short = session();
    let budget = 5.0 * each as f64;
    short.run(Extent::Seconds { budget, spent: 0.0 }, &[], &control, &tick).unwrap();
    assert_eq!((short.repeats(), short.few_levels()), (9, true));
    let mut counted = session();
    counted.set_few_levels();
    counted.run(Extent::Repeats(9), &[], &Control::new(), &|_| ()).unwrap();
    assert_eq!(counted.cells(), short.cells());
    let mut late = session();
    late.run(Extent::Seconds { budget, spent: 1e9 }, &[], &control, &tick).unwrap();
    assert_eq!(late.repeats(), MIN_REPEATS);
    let no_clock = Control::new();
    assert!(late.run(Extent::Seconds { budget, spent: 0.0 }, &[], &no_clock, &tick).is_err());
}

/// Never ends on its own.
struct Endless;

impl mainstay::model::Estimator for Endless {
    fn fit(&self, _: &Dataset, control: &Control) -> mainstay::Result<mainstay::model::Fitted> {
        loop {
            control.check()?;
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what is tested is a time limit")]
fn a_method_too_slow_for_the_budget_is_left_out_and_the_rest_is_as_without_it() {
    let data = || make_label_noise(60, 3, 0.1, 5).unwrap();
    let session = |slow: bool| {
        let (methods, mut entrants) = pair(&json!({"kappa": 0.2}));
        if slow {
            entrants[1].estimator = Box::new(Endless);
        }
        let plan = Plan { trials: vec![Trial::usual(Threat::LabelNoise)], ..Plan::usual(1) };
        Session::with(subject(data()), methods, entrants, plan).unwrap()
    };
    let start = std::time::Instant::now();
    let control = Control::new().with_clock(move || start.elapsed().as_secs_f64());
    let run = |mut session: Session| {
        for _ in 0..2 {
            session.next_repeat(2, &[], &control, &|_| ()).unwrap();
        }
        assert_eq!(session.left_out(), ["conic"]);
        session.finish("again", &Control::new()).unwrap()
    };
    let mut hurried = session(true);
    hurried.set_budget(1.0);
    let hurried = run(hurried);
    for cell in &hurried.cells {
        let slow = cell.method == "conic";
        assert_eq!(cell.problem.as_deref(), slow.then_some(mainstay::stress::TOO_SLOW), "{cell:?}");
        assert_eq!(cell.accuracy.is_none(), slow, "{cell:?}");
    }
    let mut again = session(false);
    again.leave_out(&["conic".into()]).unwrap();
    // The same but for the reason: one was too slow, the other was not wanted.
    let mut again = run(again).cells;
    for cell in again.iter_mut().filter(|c| c.method == "conic") {
        assert_eq!(cell.problem.as_deref(), Some("left out on request"));
        cell.problem = Some(mainstay::stress::TOO_SLOW.into());
    }
    assert_eq!(again, hurried.cells);
    let message = session(false).leave_out(&["conic-cv".into()]).unwrap_err().to_string();
    assert!(message.contains("`conic-cv`") && message.contains("plain, conic"), "{message}");
}
