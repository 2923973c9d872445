//! The told comparison: every method configured for what the user expects, judged where that comes true, is absent, half
//! or double.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::Serialize;
use serde_json::{Value, json};

use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result, require};
use crate::folds::{generator, stratified};
use crate::linalg::{Dense, Matrix};
use crate::methods;
use crate::metrics::{accuracy, log_loss};
use crate::model::{Estimator, Fitted, ImputeFirst, Model};
use crate::stress::label_noise;

/// How much of what is expected comes true.
pub const TRUTHS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Training rows of a split.
const MAX_TRAIN: usize = 300;
/// Test rows of a split.
const MAX_TEST: usize = 1000;

/// What the user expects.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Expectation {
    /// Share of the training labels that are wrong.
    pub wrong_labels: f64,
    /// Share of the features that are missing in a row to predict, at random.
    pub missing: f64,
    /// Error of every feature of a row to predict, in standard deviations.
    pub errors: f64,
}

/// One method, told what to expect.
#[derive(Debug, Clone, Serialize)]
pub struct ToldRow {
    /// Its name.
    pub method: String,
    /// The parameters it was given; features are standardised.
    pub parameters: Value,
    /// Mean accuracy for each of [`TRUTHS`].
    pub accuracy: Vec<f64>,
    /// Mean accuracy over that of the untold L2 fit, for each of [`TRUTHS`].
    pub gain: Vec<f64>,
    /// Standard error of the gain over the splits.
    pub error: Vec<f64>,
    /// Mean log loss, where there are probabilities.
    pub log_loss: Option<Vec<f64>>,
    /// Share of the fits that give one class to all test rows where the expectation comes true.
    pub constant: f64,
}

/// What the told comparison found.
#[derive(Debug, Clone, Serialize)]
pub struct Told {
    /// What was expected.
    pub expected: Expectation,
    /// Number of splits.
    pub repeats: usize,
    /// How much of it came true, for the columns of the rows.
    pub truths: Vec<f64>,
    /// The methods, in the order in which they were run; the first is the untold L2 fit.
    pub rows: Vec<ToldRow>,
    /// The answer in words.
    pub advice: String,
}

/// A method as it takes part.
struct Entrant {
    name: &'static str,
    parameters: Value,
    estimator: Box<dyn Estimator>,
    /// Whether missing cells are filled from the other features, at the fit and at prediction.
    gaussian: bool,
}

impl Expectation {
    /// Whether labels alone are expected to be wrong: what is expected of features goes with a single fit only.
    fn labels_alone(&self) -> bool {
        self.wrong_labels > 0.0 && self.missing + self.errors <= 0.0
    }

    fn check(&self) -> Result<()> {
        let share = |v: f64| (0.0..1.0).contains(&v);
        require(
            share(self.wrong_labels),
            "wrong-labels",
            self.wrong_labels,
            "at least 0 and below 1",
        )?;
        require(share(self.missing), "missing", self.missing, "at least 0 and below 1")?;
        let good = self.errors >= 0.0 && self.errors.is_finite();
        require(good, "errors", self.errors, "finite and not negative")?;
        let any = self.wrong_labels + self.missing + self.errors > 0.0;
        require(any, "expect", "nothing", "at least one threat above 0")
    }
}

fn entrants(expected: &Expectation, p: usize) -> Result<Vec<Entrant>> {
    let one = |name, method: &str, parameters: Value, gaussian| {
        let estimator = methods::find(method)?.estimator(&parameters)?;
        Ok(Entrant { name, parameters, estimator, gaussian })
    };
    let plain = || json!({"alpha": "cv", "n_alphas": 12, "tol": 1e-4});
    let mut list = vec![one("l2", "l2", plain(), false)?];
    if expected.missing > 0.0 || expected.errors > 0.0 {
        list.push(one("l2 + gaussian imputation", "l2", plain(), true)?);
    }
    let mut told = json!({"wrong_labels": expected.wrong_labels, "missing": expected.missing,
                          "n_alphas": 12, "tol": 1e-4});
    if expected.errors > 0.0 {
        told["errors"] = json!(expected.errors);
    }
    if expected.labels_alone() {
        told["correction"] = json!("averaged");
    }
    list.push(one("robust-logistic", "robust-logistic", told, false)?);
    if expected.wrong_labels > 0.0 {
        list.push(one(
            "conic",
            "conic",
            json!({"kappa": expected.wrong_labels, "tol": 1e-3}),
            false,
        )?);
    }
    if expected.missing > 0.0 {
        let budget = expected.missing * p as f64;
        let parameters = json!({"budget": budget, "damage": "random", "cv": 3, "tol": 1e-2});
        list.push(one("missing-cv", "missing-cv", parameters, false)?);
    }
    if expected.errors > 0.0 {
        let parameters = json!({"uncertainty": expected.errors, "cv": 3, "tol": 1e-3});
        list.push(one("ellipsoid-svm-cv", "ellipsoid-svm-cv", parameters, false)?);
    }
    Ok(list)
}

/// Rows of one split, standardised by what the training rows say.
struct Scene {
    train: Dataset,
    test: Dense,
    truth: Vec<usize>,
}

fn scene(data: &Dataset, repeat: usize, seed: u64) -> Result<Scene> {
    let splits = stratified(data.labels(), 3, 1, seed.wrapping_add(repeat as u64));
    let split = splits.first().ok_or_else(|| Error::BadData("no rows to split".into()))?;
    let thinned = |rows: &[usize], most: usize| -> Vec<usize> {
        let step = rows.len().div_ceil(most).max(1);
        rows.iter().copied().step_by(step).collect()
    };
    let train = data.select_rows(&thinned(&split.train, MAX_TRAIN));
    let test = data.select_rows(&thinned(&split.holdout, MAX_TEST));
    let scaling = Standardize::learn(train.features(), None);
    let rows = scaling.apply(test.features());
    let train = train.replace_features(scaling.apply(train.features()).into());
    Ok(Scene { train, test: rows, truth: test.labels().to_vec() })
}

/// Test rows with errors and missing cells (NaN).
fn damaged(test: &Dense, expected: &Expectation, much: f64, seed: u64) -> Dense {
    let (mut cells, mut noise) = (generator(seed), generator(seed ^ 0x5eed));
    let missing = (much * expected.missing).min(0.95);
    Dense::from_fn(test.nrows(), test.ncols(), |i, j| {
        let error: f64 = StandardNormal.sample(&mut noise);
        let lost = cells.random::<f64>() < missing;
        if lost { f64::NAN } else { test[(i, j)] + much * expected.errors * error }
    })
}

/// Accuracy, log loss and whether all rows get one class, each method handling missing cells its own way.
fn judge(
    fitted: &Fitted,
    rows: &Dense,
    truth: &[usize],
    errors: f64,
) -> Result<(f64, Option<f64>, bool)> {
    let matrix = Matrix::Dense(rows.clone());
    let (predicted, probabilities) = if let Model::GaussianLinear(model) = &fitted.model {
        let known =
            (errors > 0.0).then(|| Dense::from_rows(1, rows.ncols(), vec![errors; rows.ncols()]));
        let scores = model.decision(&matrix, known.as_ref())?;
        let probabilities = model.probabilities(&matrix, known.as_ref())?;
        (crate::model::choose(&scores), Some(probabilities))
    } else {
        // Standardised features: a missing one is at its mean.
        let filled = matrix.nan_to_zero();
        (fitted.model.predict(&filled)?, fitted.model.probabilities(&filled)?)
    };
    let constant = predicted.iter().all(|class| *class == predicted[0]);
    let loss = probabilities.map(|p| log_loss(truth, &p));
    Ok((accuracy(truth, &predicted), loss, constant))
}

/// Runs the told comparison on `repeats` splits.
pub fn told(
    data: &Dataset,
    expected: Expectation,
    repeats: usize,
    seed: u64,
    control: &Control,
) -> Result<Told> {
    expected.check()?;
    require(repeats > 0, "repeats", repeats, "at least 1")?;
    let list = entrants(&expected, data.n_features())?;
    // For every method and truth: accuracy, log loss, constant, one for each split.
    let mut found = vec![vec![Vec::new(); TRUTHS.len()]; list.len()];
    for repeat in 0..repeats {
        let scene = scene(data, repeat, seed)?;
        let damage = seed.wrapping_mul(31).wrapping_add(repeat as u64);
        one_split(&scene, &expected, &list, damage, control, &mut found)?;
        control.progress(repeat as u64 + 1, repeats as u64);
    }
    let rows: Vec<ToldRow> =
        list.iter().enumerate().map(|(m, entrant)| row(entrant, &found[m], &found[0])).collect();
    let advice = advice(&expected, &rows);
    Ok(Told { expected, repeats, truths: TRUTHS.to_vec(), rows, advice })
}

type Judged = (f64, Option<f64>, bool);

/// Adds what every method makes of one split for every truth.
fn one_split(
    scene: &Scene,
    expected: &Expectation,
    list: &[Entrant],
    seed: u64,
    control: &Control,
    found: &mut [Vec<Vec<Judged>>],
) -> Result<()> {
    let mut fits: Vec<Option<Fitted>> = list.iter().map(|_| None).collect();
    let classes = scene.train.n_classes();
    for (t, &much) in TRUTHS.iter().enumerate() {
        let wrong = (much * expected.wrong_labels).min(0.9);
        let labels = label_noise(scene.train.labels(), classes, wrong, seed)?;
        let train = Dataset::new(scene.train.features().clone(), labels, classes)?;
        let rows = damaged(&scene.test, expected, much, seed);
        for (m, entrant) in list.iter().enumerate() {
            // Without wrong labels the training rows are the same whatever comes true.
            if fits[m].is_none() || expected.wrong_labels > 0.0 {
                let filling = ImputeFirst(entrant.estimator.as_ref());
                let used: &dyn Estimator =
                    if entrant.gaussian { &filling } else { entrant.estimator.as_ref() };
                fits[m] = Some(used.fit(&train, &control.without_progress())?);
            }
            if let Some(fitted) = &fits[m] {
                found[m][t].push(judge(fitted, &rows, &scene.truth, expected.errors)?);
            }
        }
        control.check()?;
    }
    Ok(())
}

fn row(entrant: &Entrant, own: &[Vec<Judged>], plain: &[Vec<Judged>]) -> ToldRow {
    let count = own[0].len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
    let gains: Vec<Vec<f64>> = own
        .iter()
        .zip(plain)
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.0 - b.0).collect())
        .collect();
    let gain: Vec<f64> = gains.iter().map(|g| mean(&mut g.iter().copied())).collect();
    let error = gains.iter().zip(&gain).map(|(values, centre)| {
        let squares = mean(&mut values.iter().map(|v| (v - centre).powi(2)));
        (squares / (count - 1.0).max(1.0)).sqrt()
    });
    let losses: Option<Vec<f64>> = own
        .iter()
        .map(|all| {
            let losses: Option<Vec<f64>> = all.iter().map(|judged| judged.1).collect();
            losses.map(|losses| mean(&mut losses.into_iter()))
        })
        .collect();
    let constant = own[2].iter().filter(|judged| judged.2).count() as f64 / count;
    ToldRow {
        method: entrant.name.into(),
        parameters: entrant.parameters.clone(),
        accuracy: own.iter().map(|all| mean(&mut all.iter().map(|judged| judged.0))).collect(),
        error: error.collect(),
        gain,
        log_loss: losses,
        constant,
    }
}

fn advice(expected: &Expectation, rows: &[ToldRow]) -> String {
    let threats = [
        ("wrong-labels", expected.wrong_labels),
        ("missing", expected.missing),
        ("errors", expected.errors),
    ];
    let named: Vec<String> = threats
        .iter()
        .filter(|(_, level)| *level > 0.0)
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    let named = named.join(", ");
    // Of equals the first: it needs the least.
    let best = rows.iter().reduce(|a, b| if b.gain[2] > a.gain[2] { b } else { a });
    let Some(best) = best.filter(|best| best.gain[2] > best.error[2] && best.gain[2] > 0.0) else {
        return format!("If you expect {named}: plain L2 is as good as anything here.");
    };
    let gaussian = best.method.contains("gaussian") || best.method == "robust-logistic";
    let told = if expected.errors > 0.0 && gaussian {
        format!(", and tell it errors={} when predicting", expected.errors)
    } else {
        String::new()
    };
    let points = |gain: f64| format!("{:+.1} points", 100.0 * gain);
    format!(
        "If you expect {named}: use {} with {}{told}. Over plain L2 it makes {} of accuracy (standard error {:.1}); {} if \
         nothing of it comes true, {} if half, {} if twice as much.",
        best.method,
        best.parameters,
        points(best.gain[2]),
        100.0 * best.error[2],
        points(best.gain[0]),
        points(best.gain[1]),
        points(best.gain[3]),
    )
}
