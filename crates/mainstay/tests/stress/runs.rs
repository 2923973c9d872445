//! A run of many cells: pairs, threads, failures, interruption.

use super::*;

fn entrant(name: &str, method: &str, params: &serde_json::Value) -> Entrant {
    let estimator = methods::find(method).unwrap().estimator(params).unwrap();
    Entrant { name: name.into(), estimator }
}

fn run(plan: &Plan, data: &Dataset, entrants: &[Entrant], threads: usize) -> Vec<Cell> {
    let control = Control::new().with_threads(threads);
    plan.run(data, entrants, 0, &[], &control, &|_| ()).unwrap()
}

#[test]
fn the_cells_do_not_depend_on_the_number_of_threads() {
    let data = make_outliers(90, 3, 0.6, mainstay::data::Outliers::None, 0.0, 2).unwrap();
    let entrants =
        [entrant("plain", "l2", &json!({"alpha": 0.1})), entrant("conic", "conic", &json!({}))];
    let plan = Plan::usual(3);
    let one = run(&plan, &data, &entrants, 1);
    assert_eq!(one.len(), 2 * plan.cells_each());
    assert_eq!(one, run(&plan, &data, &entrants, 3));
    assert!(one.iter().all(|c| c.accuracy.is_some() && c.problem.is_none()));
    assert!(one.iter().filter(|c| c.method == "plain").all(|c| c.log_loss.is_some()));
}

/// Remembers what it was given to learn from.
struct Spy(&'static Mutex<Vec<Dataset>>, Box<dyn Estimator>);

impl Estimator for Spy {
    fn fit(&self, data: &Dataset, control: &Control) -> mainstay::Result<Fitted> {
        self.0.lock().unwrap().push(data.clone());
        self.1.fit(data, control)
    }
}

/// Training damage reaches the estimator; damage to test rows does not. Methods see the same rows.
#[test]
fn only_the_named_part_is_damaged_and_methods_are_paired() {
    static SEEN: Mutex<Vec<Dataset>> = Mutex::new(Vec::new());
    let data = make_outliers(120, 3, 0.4, mainstay::data::Outliers::None, 0.0, 5).unwrap();
    let spy = |name: &str| {
        let inner = methods::find("l2").unwrap().estimator(&json!({})).unwrap();
        Entrant { name: name.into(), estimator: Box::new(Spy(&SEEN, inner)) }
    };
    let entrants = [spy("a"), spy("b")];
    let trial = |threat, level| Trial { threat, levels: vec![level] };
    let plan = Plan { trials: Threat::ALL.map(|t| trial(t, 0.3)).to_vec(), ..Plan::usual(11) };
    let cells = run(&plan, &data, &entrants, 1);
    let seen = SEEN.lock().unwrap();
    // One clean fit and one for each of the four threats to training rows, for two methods.
    assert_eq!(seen.len(), 10);
    let key = |d: &Dataset| (d.features().clone(), d.labels().to_vec());
    for k in 0..5 {
        assert_eq!(key(&seen[2 * k]), key(&seen[2 * k + 1]), "methods see the same rows");
    }
    for (a, b) in cells.iter().zip(&cells[cells.len() / 2..]) {
        assert_eq!((&a.threat, a.accuracy, a.log_loss), (&b.threat, b.accuracy, b.log_loss));
    }
    let split = split_of(data.labels(), 0, 11);
    assert_eq!((split.train.len(), split.holdout.len()), (80, 40));
    let train = data.features().select_rows(&split.train);
    let clean = Standardize::learn(&train, None).apply(&train);
    assert_eq!(seen[0].features().to_dense(), clean, "scaled by the training rows alone");
    // Each for both methods, in the order of the contract: few samples, label noise, outliers, unlucky split.
    assert_eq!(seen[2].len(), 56);
    assert_eq!(seen[4].features().to_dense(), clean);
    let flips = seen[4].labels().iter().zip(seen[0].labels()).filter(|(a, b)| a != b).count();
    assert_eq!(flips, 24);
    assert_eq!(seen[6].len(), 80);
    // Scaling is learned on the rows as they are seen, outliers included.
    let again = Standardize::learn(seen[6].features(), None);
    assert!(
        again.means.iter().all(|m| m.abs() < 1e-9)
            && again.scales.iter().all(|s| (s - 1.0).abs() < 1e-9)
    );
    assert_eq!(seen[8].len(), 56);
}

/// The clean cell by hand: split, scale, fit, predict.
#[test]
fn a_clean_cell_is_an_ordinary_held_out_accuracy() {
    let data = make_outliers(100, 4, 0.7, mainstay::data::Outliers::None, 0.0, 8).unwrap();
    let plan = Plan { trials: Vec::new(), ..Plan::usual(4) };
    let entrants = [entrant("plain", "l2", &json!({}))];
    for repeat in 0..3 {
        let cells = plan.run(&data, &entrants, repeat, &[], &Control::new(), &|_| ()).unwrap();
        let split = split_of(data.labels(), repeat, 4);
        let (train, test) = (data.select_rows(&split.train), data.select_rows(&split.holdout));
        let s = Standardize::learn(train.features(), None);
        let scaled = train.replace_features(s.apply(train.features()).into());
        let model = entrants[0].estimator.fit(&scaled, &Control::new()).unwrap().model;
        let predicted = model.predict(&s.apply(test.features()).into()).unwrap();
        let right = predicted.iter().zip(test.labels()).filter(|(a, b)| a == b).count();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].threat, CLEAN);
        assert_eq!(cells[0].accuracy, Some(right as f64 / test.len() as f64));
    }
}

#[test]
fn a_cell_that_cannot_be_run_says_why_and_the_others_go_on() {
    // Two rows per class: the split leaves one of each to learn from, all noise leaves one class.
    let x = Dense::from_fn(4, 2, |i, j| (i * 3 + j) as f64);
    let data = Dataset::new(x.into(), vec![0, 0, 1, 1], 2).unwrap();
    let trials = vec![Trial { threat: Threat::LabelNoise, levels: vec![0.5] }];
    let plan = Plan { trials, ..Plan::usual(0) };
    let cells = run(&plan, &data, &[entrant("plain", "l2", &json!({}))], 1);
    assert!(cells[0].accuracy.is_some());
    assert!(cells[1].accuracy.is_none());
    assert!(cells[1].problem.as_ref().unwrap().contains("one class"), "{cells:?}");
    // Planes have no weights to attack.
    let data = make_outliers(60, 3, 0.5, mainstay::data::Outliers::None, 0.0, 1).unwrap();
    let trials =
        vec![Trial::usual(Threat::AdversarialDeletion), Trial::usual(Threat::MissingFeatures)];
    let cells = run(
        &Plan { trials, ..Plan::usual(0) },
        &data,
        &[entrant("planes", "regec", &json!({}))],
        1,
    );
    for cell in &cells {
        assert_eq!(cell.problem.is_some(), cell.threat == "adversarial_deletion", "{cell:?}");
        assert_eq!(cell.accuracy.is_none(), cell.problem.is_some());
    }
}

struct Broken;

impl Estimator for Broken {
    fn fit(&self, _: &Dataset, _: &Control) -> mainstay::Result<Fitted> {
        panic!("on purpose");
    }
}

#[test]
fn a_fit_that_panics_loses_its_own_cells_only() {
    let data = make_outliers(60, 3, 0.5, mainstay::data::Outliers::None, 0.0, 1).unwrap();
    let plan = Plan { trials: vec![Trial::usual(Threat::FewSamples)], ..Plan::usual(0) };
    let broken = Entrant { name: "broken".into(), estimator: Box::new(Broken) };
    let cells = run(&plan, &data, &[broken, entrant("plain", "l2", &json!({}))], 1);
    assert!(cells.iter().all(|c| c.problem.is_some() == (c.method == "broken")));
}

#[test]
fn an_interrupted_run_hands_over_what_is_finished_and_goes_on_from_there() {
    let data = make_outliers(80, 3, 0.5, mainstay::data::Outliers::None, 0.0, 1).unwrap();
    let plan = Plan::usual(6);
    let entrants = [entrant("plain", "l2", &json!({})), entrant("conic", "conic", &json!({}))];
    let control = Control::new().with_threads(1);
    let kept = Mutex::new(Vec::new());
    let stop = control.clone();
    let done = |cells: &[Cell]| {
        kept.lock().unwrap().extend_from_slice(cells);
        if kept.lock().unwrap().len() > 20 {
            stop.cancel();
        }
    };
    let outcome = plan.run(&data, &entrants, 0, &[], &control, &done);
    assert_eq!(outcome.unwrap_err(), Error::Interrupted);
    let known = kept.lock().unwrap().clone();
    assert!(known.len() > 20 && known.len() < 2 * plan.cells_each());
    let fresh = Mutex::new(0);
    let count = |cells: &[Cell]| *fresh.lock().unwrap() += cells.len();
    let resumed = plan.run(&data, &entrants, 0, &known, &Control::new(), &count).unwrap();
    assert_eq!(resumed, run(&plan, &data, &entrants, 1));
    assert_eq!(
        *fresh.lock().unwrap(),
        resumed.len() - known.len(),
        "finished cells are not run again"
    );
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let data = make_outliers(60, 3, 0.5, mainstay::data::Outliers::None, 0.0, 1).unwrap();
    let one = || entrant("plain", "l2", &json!({}));
    let twice = Plan { trials: vec![Trial::usual(Threat::FewSamples); 2], ..Plan::usual(0) };
    assert!(twice.check(&[one()], &data).unwrap_err().to_string().contains("twice"));
    assert!(Plan::usual(0).check(&[one(), one()], &data).is_err());
    assert!(Plan::usual(0).check(&[], &data).is_err());
    let bad = Plan {
        trials: vec![Trial { threat: Threat::Outliers, levels: vec![2.0] }],
        ..Plan::usual(0)
    };
    assert!(bad.check(&[one()], &data).is_err());
    // Groups that hold a whole class, and others that hold two rows of each.
    let class = |i: usize| data.labels()[i];
    let whole = Plan { groups: Some((0..60).map(class).collect()), ..Plan::usual(0) };
    assert!(whole.check(&[one()], &data).unwrap_err().to_string().contains("in one group"));
    let mixed = Plan { groups: Some((0..60).map(|i| i % 15).collect()), ..Plan::usual(0) };
    assert!(mixed.check(&[one()], &data).is_ok());
}

#[test]
fn seeds_differ_by_repeat_and_threat() {
    let mut seeds: Vec<u64> = Vec::new();
    for repeat in 0..50 {
        seeds.push(seed_of(1, repeat, None));
        seeds.extend(Threat::ALL.map(|t| seed_of(1, repeat, Some(t))));
    }
    let count = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
    let labels: Vec<usize> = (0..30).map(|i| i % 2).collect();
    assert_ne!(split_of(&labels, 0, 1), split_of(&labels, 1, 1));
}

#[test]
fn long_sets_are_cut_by_class_shares() {
    static SEEN: Mutex<Vec<Dataset>> = Mutex::new(Vec::new());
    let x = generate::normal(&mut generate::rng(1), 1200);
    let labels: Vec<usize> = (0..600).map(|i| usize::from(i % 4 == 0)).collect();
    let data = Dataset::new(Dense::from_rows(600, 2, x).into(), labels, 2).unwrap();
    let inner = methods::find("l2").unwrap().estimator(&json!({})).unwrap();
    let spy = Entrant { name: "spy".into(), estimator: Box::new(Spy(&SEEN, inner)) };
    let plan =
        Plan { trials: Vec::new(), max_training_rows: 100, max_test_rows: 40, ..Plan::usual(0) };
    run(&plan, &data, &[spy], 1);
    let seen = SEEN.lock().unwrap();
    assert_eq!(seen[0].len(), 100);
    assert_eq!(seen[0].labels().iter().filter(|k| **k == 1).count(), 25);
}
