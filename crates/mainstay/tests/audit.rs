//! Audits of labels: planted flips are found, counted and ranked.
#![cfg(test)]

use std::collections::BTreeMap;

use mainstay::audit::{AuditPlan, flip_aware, tuned_logistic};
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, StandardizeFirst};
use mainstay::{Control, folds, methods};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Gaussian classes `apart` deviations from each other, a share of whose labels is wrong.
fn sample(n: usize, classes: usize, apart: f64, share: f64, seed: u64) -> (Dataset, Vec<bool>) {
    let mut rng = folds::generator(seed);
    let (mut rows, mut labels, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let class = i % classes;
        for j in 0..4 {
            let noise: f64 = StandardNormal.sample(&mut rng);
            rows.push(noise + if j == class { apart } else { 0.0 });
        }
        let flip = rng.random_range(0.0..1.0) < share;
        let other = (class + rng.random_range(1..classes)) % classes;
        labels.push(if flip { other } else { class });
        wrong.push(flip);
    }
    (Dataset::new(Dense::from_rows(n, 4, rows).into(), labels, classes).unwrap(), wrong)
}

fn audit(data: &Dataset) -> mainstay::audit::Audit {
    let control = Control::new();
    let tuned = tuned_logistic(data, &control).unwrap();
    let plan = AuditPlan { repeats: 3, planted: 4, ..AuditPlan::default() };
    plan.run(&StandardizeFirst(tuned.as_ref()), data, &control).unwrap()
}

#[test]
fn wrong_labels_are_counted_and_stand_at_the_top() {
    for (classes, share) in [(2, 0.1), (3, 0.1), (2, 0.2)] {
        let (data, wrong) = sample(600, classes, 4.0, share, 7);
        let found = audit(&data);
        let truth = wrong.iter().filter(|w| **w).count();
        let e = &found.estimate;
        // Flips that overlap could explain are not counted.
        let ratio = e.count / truth as f64;
        assert!((0.5..1.25).contains(&ratio), "{truth} {e:?}");
        assert!(e.low <= e.count && e.count <= e.high && e.low <= truth as f64, "{truth} {e:?}");
        let hits = found.rows[..truth].iter().filter(|r| wrong[r.row]).count();
        assert!(hits as f64 > 0.85 * truth as f64, "{hits} of {truth}");
        let sum: f64 = found.classes.iter().map(|c| c.expected_wrong).sum();
        assert!((sum - e.count).abs() < 1e-9 * e.count, "{sum} {e:?}");
        // What the audit says of its flags holds of the planted ones.
        let flagged: Vec<_> = found.rows.iter().filter(|r| r.flagged).collect();
        assert_eq!(flagged.len(), found.flagged);
        let right = flagged.iter().filter(|r| wrong[r.row]).count() as f64;
        assert!(right >= found.precision * flagged.len() as f64);
        assert!(found.rows.windows(2).all(|w| w[0].wrong >= w[1].wrong));
        // With many wrong labels already there, planted ones also make the rates of the curve jump.
        assert!(share > 0.1 || found.planted.found > 0.5, "{:?}", found.planted);
    }
}

/// One label in ten wrong, among so many rows that chance hardly moves the count: the interval has to hold what odd rows, of which there
/// are none here, would hide. It stays narrow enough to say something.
#[test]
fn the_interval_holds_the_wrong_labels_of_many_rows() {
    for classes in [2, 3] {
        for seed in [1, 2, 3] {
            let (data, wrong) = sample(1600, classes, 4.0, 0.1, seed);
            let audit = audit(&data);
            assert!(audit.notes.iter().any(|n| n.contains("lower end")), "{:?}", audit.notes);
            let found = audit.estimate;
            let truth = wrong.iter().filter(|w| **w).count() as f64;
            assert!(found.low <= truth && truth <= found.high, "{classes} {truth} {found:?}");
            assert!(0.4 * truth < found.low && found.high < 1.5 * truth, "{truth} {found:?}");
            assert!((0.75 * truth..1.1 * truth).contains(&found.count), "{truth} {found:?}");
        }
    }
}

#[test]
fn clean_labels_of_separate_classes_raise_no_alarm() {
    let (data, _) = sample(400, 2, 5.0, 0.0, 3);
    let found = audit(&data);
    assert!(found.estimate.count < 8.0, "{:?}", found.estimate);
    assert!(found.flagged <= 4, "{}", found.flagged);
    // Nothing is claimed, so nothing is said of what a claim rests on.
    assert!(found.estimate.low == 0.0 && !found.notes.iter().any(|n| n.contains("lower end")));
}

/// One sick row in ten, healthy ones labelled sick by mistake and never the other way round: a ranking that does not know
/// class rates puts the sick first whatever they look like.
#[test]
fn the_rates_of_the_classes_are_told_apart() {
    let (data, _) = sample(800, 2, 3.0, 0.0, 11);
    let mut labels: Vec<usize> = data.labels().to_vec();
    let mut rng = folds::generator(5);
    let wrong: Vec<bool> =
        labels.iter().map(|&l| l == 0 && rng.random_range(0.0..1.0) < 0.15).collect();
    for (label, flip) in labels.iter_mut().zip(&wrong) {
        *label |= usize::from(*flip);
    }
    let data = Dataset::new(data.features().clone(), labels, 2).unwrap();
    let found = audit(&data);
    let expected: Vec<f64> = found.classes.iter().map(|c| c.expected_wrong).collect();
    assert!(expected[1] > 4.0 * expected[0], "{expected:?}");
}

/// Looks at the rows of every fit: the first feature is the number of their group, of which there are three rows each.
struct Watched<'a>(&'a dyn Estimator);

impl Estimator for Watched<'_> {
    fn fit(&self, data: &Dataset, control: &Control) -> mainstay::Result<Fitted> {
        let mut seen = BTreeMap::new();
        for row in data.features().to_dense().column(0) {
            *seen.entry(row.to_bits()).or_insert(0) += 1;
        }
        assert!(seen.values().all(|rows| *rows == 3), "a group is on both sides");
        self.0.fit(data, control)
    }
}

#[test]
fn rows_of_one_group_are_held_out_together() {
    let (data, _) = sample(120, 2, 2.0, 0.1, 1);
    let x = data.features().to_dense();
    let x = Dense::from_fn(120, 5, |i, j| if j == 0 { (i / 3) as f64 } else { x[(i, j - 1)] });
    let data = Dataset::new(x.into(), data.labels().to_vec(), 2).unwrap();
    let groups: Vec<usize> = (0..120).map(|i| i / 3).collect();
    let estimator = methods::find("l2").unwrap().estimator(&serde_json::json!({})).unwrap();
    let run = |groups: Option<Vec<usize>>| {
        let plan = AuditPlan { repeats: 2, planted: 2, groups, ..AuditPlan::default() };
        plan.run(&Watched(estimator.as_ref()), &data, &Control::new())
    };
    assert_eq!(run(Some(groups.clone())).unwrap().rows.len(), 120);
    let told = |groups: Vec<usize>| run(Some(groups)).unwrap_err().to_string();
    assert!(told(groups[1..].to_vec()).contains("119 groups for 120 rows"));
    assert!(told((0..120).map(|i| i / 60).collect()).contains("only 2 groups"));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (data, _) = sample(120, 2, 2.0, 0.1, 1);
    let estimator = methods::find("l2").unwrap().estimator(&serde_json::json!({})).unwrap();
    let plan = AuditPlan { repeats: 2, planted: 3, ..AuditPlan::default() };
    let run = |threads: usize| {
        plan.run(estimator.as_ref(), &data, &Control::new().with_threads(threads)).unwrap()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_ranking_of_one_fit_finds_planted_labels() {
    let (data, wrong) = sample(500, 2, 4.0, 0.1, 2);
    let truth = wrong.iter().filter(|w| **w).count();
    for name in ["l2", "stable-svm", "regec", "rolin", "conic"] {
        let estimator = methods::find(name).unwrap().estimator(&serde_json::json!({})).unwrap();
        let fitted = estimator.fit(&data, &Control::new()).unwrap();
        let found = flip_aware(&fitted, &data).unwrap();
        let hits = found.row[..truth].iter().filter(|i| wrong[**i]).count();
        assert!(hits as f64 > 0.7 * truth as f64, "{name}: {hits} of {truth}");
    }
}

#[test]
fn plans_that_cannot_be_run_are_refused_by_name() {
    let (data, _) = sample(40, 2, 2.0, 0.1, 1);
    let estimator = methods::find("l2").unwrap().estimator(&serde_json::json!({})).unwrap();
    let told = |plan: AuditPlan| {
        plan.run(estimator.as_ref(), &data, &Control::new()).unwrap_err().to_string()
    };
    assert!(told(AuditPlan { precision: 1.5, ..AuditPlan::default() }).contains("`precision`"));
    assert!(told(AuditPlan { repeats: 0, ..AuditPlan::default() }).contains("`repeats`"));
    assert!(told(AuditPlan { planted: 1, ..AuditPlan::default() }).contains("`planted`"));
    assert!(told(AuditPlan { folds: 30, ..AuditPlan::default() }).contains("too few"));
}
