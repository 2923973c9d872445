//! Damage to the rows a classifier learns from.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::{Threat, share};
use crate::data::Standardize;
use crate::error::{Error, Result};
use crate::folds::generator;
use crate::linalg::{Dense, Matrix, vector};

/// The rows that stay, ascending: of every class's rows `level` are left out at random, never all of them.
///
/// The count left out is rounded, at least one row of a class stays, and a higher level leaves out more of
/// the same rows.
pub fn few_samples(labels: &[usize], level: f64, seed: u64) -> Result<Vec<usize>> {
    Threat::FewSamples.check_level(level)?;
    let mut rng = generator(seed);
    let order = |rows: &mut Vec<usize>| rows.shuffle(&mut rng);
    Ok(leave_out(labels, level, order))
}

/// Orders the rows of every class by `order` and leaves out the first share `level` of each.
fn leave_out(labels: &[usize], level: f64, mut order: impl FnMut(&mut Vec<usize>)) -> Vec<usize> {
    let classes = labels.iter().max().map_or(0, |m| m + 1);
    let mut kept = Vec::with_capacity(labels.len());
    for class in 0..classes {
        let mut rows: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == class).collect();
        order(&mut rows);
        let gone = share(level, rows.len()).min(rows.len().saturating_sub(1));
        kept.extend_from_slice(&rows[gone..]);
    }
    kept.sort_unstable();
    kept
}

/// The labels with `level` of them (rounded, at least one) replaced by another class, each other class being
/// equally likely. A higher level changes more of the same rows in the same way.
pub fn label_noise(
    labels: &[usize],
    n_classes: usize,
    level: f64,
    seed: u64,
) -> Result<Vec<usize>> {
    Threat::LabelNoise.check_level(level)?;
    check_labels(labels, n_classes)?;
    let mut rng = generator(seed);
    let mut rows: Vec<usize> = (0..labels.len()).collect();
    rows.shuffle(&mut rng);
    let mut noisy = labels.to_vec();
    for &i in &rows[..share(level, rows.len())] {
        noisy[i] = (labels[i] + rng.random_range(1..n_classes)) % n_classes;
    }
    Ok(noisy)
}

/// Where outliers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlierKind {
    /// Close together, ten times as far from the middle as a class, labelled as another class.
    Clustered,
    /// Around the centre of their own class, ten times as wide.
    Spread,
    /// By turns clustered and spread.
    #[default]
    Both,
}

/// Variance of clustered outliers, in pooled variances of the feature: the paper's.
const CLUSTER_VARIANCE: f64 = 0.001;
/// Width of spread outliers, in pooled deviations of the feature: the paper's.
const SPREAD_WIDTH: f64 = 10.0;

/// Where clustered outliers come from and what they are called: of two classes the first and the second, of more a pair drawn
/// at random.
fn outlier_pair(present: &[usize], rng: &mut ChaCha8Rng) -> (usize, usize) {
    let far = rng.random_range(0..present.len());
    let other = rng.random_range(1..present.len().max(2));
    if present.len() == 2 {
        (present[0], present[1])
    } else {
        (present[far], present[(far + other) % present.len()])
    }
}

/// Replaces `level` of the rows (rounded, at least one) by outliers as in section 5.1.1 of the conic SVM paper,
/// carried over to any data.
///
/// With class centres `$\mu_a$` and pooled deviations `$s_j$` within classes (both of the rows as given), a spread outlier
/// keeps its label `$a$` and lies at `$\mu_a + 10\,s \circ g$`, `$g$` standard normal. Clustered outliers lie at `$m + 10(\mu_a -
/// m) + \sqrt{0.001}\,s \circ g$` with `$m = (\mu_a + \mu_b)/2$` and have label `$b$`: for two classes `$a$` is class 0 and `$b$` class
/// 1 as in the paper, for more a pair drawn once. (The paper's centres are one unit apart and its `$s$` is `$\sigma$`.)
pub fn outliers(
    x: &Dense,
    labels: &[usize],
    n_classes: usize,
    level: f64,
    kind: OutlierKind,
    seed: u64,
) -> Result<(Dense, Vec<usize>)> {
    Threat::Outliers.check_level(level)?;
    check_labels(labels, n_classes)?;
    check_rows(x, labels.len())?;
    let (centres, spread) = centres(x, labels, n_classes);
    let mut rng = generator(seed);
    let present: Vec<usize> = (0..n_classes).filter(|&k| centres[k].is_some()).collect();
    let (mut damaged, mut found) = (x.clone(), labels.to_vec());
    let pair = outlier_pair(&present, &mut rng);
    let mut rows: Vec<usize> = (0..labels.len()).collect();
    rows.shuffle(&mut rng);
    for (turn, &i) in rows[..share(level, rows.len())].iter().enumerate() {
        let clustered = match kind {
            OutlierKind::Clustered => true,
            OutlierKind::Spread => false,
            OutlierKind::Both => turn % 2 == 0,
        };
        let (from, to) = if clustered { pair } else { (labels[i], labels[i]) };
        let (Some(near), Some(across)) = (&centres[from], &centres[to]) else { continue };
        let width = if clustered { CLUSTER_VARIANCE.sqrt() } else { SPREAD_WIDTH };
        for (j, v) in damaged.row_mut(i).iter_mut().enumerate() {
            let noise: f64 = StandardNormal.sample(&mut rng);
            // m + 10 (mu_a - m), which is mu_a itself where a = b.
            let centre = f64::midpoint(near[j], across[j]) + 5.0 * (near[j] - across[j]);
            *v = centre + width * spread[j] * noise;
        }
        found[i] = to;
    }
    Ok((damaged, found))
}

type Centres = (Vec<Option<Vec<f64>>>, Vec<f64>);

/// Mean of every class that occurs, and the deviation of every feature from the mean of its class.
fn centres(x: &Dense, labels: &[usize], n_classes: usize) -> Centres {
    let p = x.ncols();
    let mut sums = vec![vec![0.0; p]; n_classes];
    let mut counts = vec![0.0_f64; n_classes];
    for (i, &k) in labels.iter().enumerate() {
        vector::axpy(1.0, x.row(i), &mut sums[k]);
        counts[k] += 1.0;
    }
    for (sum, count) in sums.iter_mut().zip(&counts) {
        vector::scale(sum, 1.0 / count.max(1.0));
    }
    let within = Dense::from_fn(x.nrows(), p, |i, j| x[(i, j)] - sums[labels[i]][j]);
    let shares = vec![1.0 / x.nrows() as f64; x.nrows()];
    let constant = |j: usize| (0..within.nrows()).all(|i| within[(i, j)] == 0.0);
    let mut spread = crate::data::deviations(&Matrix::Dense(within.clone()), &shares);
    for (j, s) in spread.iter_mut().enumerate() {
        if constant(j) {
            *s = 0.0;
        }
    }
    let present = sums.into_iter().zip(counts).map(|(mean, n)| (n > 0.0).then_some(mean)).collect();
    (present, spread)
}

/// The rows that stay, ascending: a share `level` of every class is missing, all of it on one side.
///
/// A random direction is drawn as a combination `$d = Z^\top g$` of the standardised rows (`$g$` standard normal, one number a
/// row), so it follows the data's own spread; of every class the rows with the largest `$z_i^\top d$` are left out, never
/// all of them. The same count as [`few_samples`] leaves out, but biased: what differs between the two is bad luck.
pub fn unlucky_split(x: &Dense, labels: &[usize], level: f64, seed: u64) -> Result<Vec<usize>> {
    Threat::UnluckySplit.check_level(level)?;
    check_rows(x, labels.len())?;
    let x = Matrix::Dense(x.clone());
    let z = Standardize::learn(&x, None).apply(&x);
    let mut rng = generator(seed);
    let g: Vec<f64> = (0..z.nrows()).map(|_| StandardNormal.sample(&mut rng)).collect();
    let places = z.mul_vec(&z.tr_mul_vec(&g));
    let order = |rows: &mut Vec<usize>| {
        rows.sort_by(|&i, &j| places[j].total_cmp(&places[i]).then(i.cmp(&j)));
    };
    Ok(leave_out(labels, level, order))
}

fn check_labels(labels: &[usize], n_classes: usize) -> Result<()> {
    let present = (0..n_classes).filter(|k| labels.contains(k)).count();
    if n_classes < 2 || present < 1 || labels.iter().any(|&k| k >= n_classes) {
        return Err(Error::BadData(format!(
            "labels of {} rows must be class indices below {n_classes}, and there must be two classes",
            labels.len()
        )));
    }
    Ok(())
}

pub(super) fn check_rows(x: &Dense, labels: usize) -> Result<()> {
    if x.nrows() != labels {
        return Err(Error::BadData(format!("{} rows but {labels} labels", x.nrows())));
    }
    Ok(())
}
