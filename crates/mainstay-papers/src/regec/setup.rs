//! Data, noise and classifiers of Figures 3 to 7.

use mainstay::Control;
use mainstay::data::generate::{Ndc, ndc};
use mainstay::data::{Dataset, Shape, Standardize};
use mainstay::ellipsoid::EllipsoidParams;
use mainstay::folds::generator;
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Estimator, Linear};
use mainstay::uncertainty::ellipsoid::Ellipsoid;
use rand::seq::SliceRandom;

use crate::context::Context;
use crate::error::Result;

/// Realisations of the test rows in a repetition.
pub(super) const DRAWS: usize = 5;

/// A data set with features of mean 0 and deviation 1; NDC is generated.
pub(super) fn standardised(context: &Context<'_>, name: &'static str) -> Result<Option<Dataset>> {
    let data = if name == "ndc" {
        let params = Ndc { n: 300, p: 7, centers: 20, expand: 10.0 };
        let (x, labels) = ndc(params, context.seed("regec/ndc"))?;
        Dataset::new(x.into(), labels, 2)?
    } else {
        match context.data(name)? {
            Some(set) => set.data.clone(),
            None => return Ok(None),
        }
    };
    let scaled = Standardize::learn(data.features(), None).apply(data.features());
    Ok(Some(data.replace_features(scaled.into())))
}

/// One hold-out split with its noise.
pub(super) struct Trial {
    pub(super) train: Dataset,
    test: Dataset,
    pub(super) shape: Shape,
    /// Realisations of the test rows.
    moved: Vec<Matrix>,
}

impl Trial {
    /// 90 % of the rows train; the feature with the large semi-axis changes from repetition to repetition.
    pub(super) fn new(data: &Dataset, alpha: f64, repetition: usize, seed: u64) -> Result<Self> {
        let (n, p) = (data.len(), data.n_features());
        let mut rng = generator(seed);
        let mut rows: Vec<usize> = (0..n).collect();
        rows.shuffle(&mut rng);
        let (test, train) = rows.split_at(n / 10);
        let (train, test) = (data.select_rows(train), data.select_rows(test));
        let mut axes = vec![0.1; p];
        axes[repetition % p] = alpha;
        let shape = Shape::Axes(axes);
        let moved =
            (0..DRAWS).map(|_| noisy(&test, &shape, &mut rng)).collect::<Result<Vec<_>>>()?;
        Ok(Self { train, test, shape, moved })
    }

    /// Accuracy on the moved test rows.
    pub(super) fn accuracy(
        &self,
        predict: impl Fn(&Matrix) -> mainstay::Result<Vec<usize>>,
    ) -> Result<f64> {
        let mut right = 0;
        for x in &self.moved {
            let predicted = predict(x)?;
            right += predicted.iter().zip(self.test.labels()).filter(|(a, b)| a == b).count();
        }
        Ok(right as f64 / (DRAWS * self.test.len()) as f64)
    }
}

/// The rows, each moved to a random place on its ellipsoid.
fn noisy(data: &Dataset, shape: &Shape, rng: &mut impl rand::Rng) -> Result<Matrix> {
    let p = data.n_features();
    let ellipsoid = Ellipsoid::new(shape, p)?;
    let mut x: Dense = data.features().to_dense();
    for i in 0..x.nrows() {
        let noise = ellipsoid.view().sample_surface(p, rng);
        x.row_mut(i).iter_mut().zip(&noise).for_each(|(x, d)| *x += d);
    }
    Ok(x.into())
}

/// Support vector machines, one for every pair of classes; each pair has one vote.
pub(super) struct Pairwise(Vec<(usize, usize, Linear)>, usize);

impl Pairwise {
    /// The robust SVM; a ball of radius 0 makes it the plain one.
    pub(super) fn fit(data: &Dataset, shape: &Shape, c: f64, control: &Control) -> Result<Self> {
        let svm = EllipsoidParams {
            uncertainty: shape.clone(),
            c,
            tol: 1e-4,
            ..EllipsoidParams::default()
        }
        .check()?;
        let classes = data.n_classes();
        let mut pairs = Vec::new();
        for a in 0..classes {
            for b in a + 1..classes {
                let rows: Vec<usize> = (0..data.len())
                    .filter(|&i| data.labels()[i] == a || data.labels()[i] == b)
                    .collect();
                let part = data.select_rows(&rows);
                let labels = part.labels().iter().map(|&l| usize::from(l == b)).collect();
                let part = Dataset::new(part.features().clone(), labels, 2)?;
                let fitted = svm.fit(&part, control)?;
                if let Some(model) = fitted.model.linear() {
                    pairs.push((a, b, model.clone()));
                }
            }
        }
        Ok(Self(pairs, classes))
    }

    /// Most votes; ties go to the larger sum of scores.
    pub(super) fn predict(&self, x: &Matrix) -> Vec<usize> {
        let mut votes = Dense::zeros(x.nrows(), self.1);
        for (a, b, model) in &self.0 {
            let scores = model.decision(x);
            for i in 0..x.nrows() {
                let score = scores[(i, 0)];
                // The score itself breaks ties: it counts for less than any vote.
                let part = 0.01 * score.tanh();
                votes[(i, if score > 0.0 { *b } else { *a })] += 1.0;
                votes[(i, *b)] += part;
                votes[(i, *a)] -= part;
            }
        }
        if self.1 == 2 {
            return (0..x.nrows()).map(|i| usize::from(votes[(i, 1)] > votes[(i, 0)])).collect();
        }
        mainstay::model::choose(&votes)
    }

    /// The constant of `grid` with the best accuracy on a fifth of the rows, held out and moved, then a fit to all.
    pub(super) fn tuned(
        data: &Dataset,
        noise: &Shape,
        shape: &Shape,
        seed: u64,
        control: &Control,
    ) -> Result<Self> {
        const GRID: [f64; 3] = [0.1, 1.0, 10.0];
        let split = mainstay::folds::stratified(data.labels(), 5, 1, seed).swap_remove(0);
        let (train, held) = (data.select_rows(&split.train), data.select_rows(&split.holdout));
        let moved = noisy(&held, noise, &mut generator(seed))?;
        let mut best = (0, GRID[1]);
        for c in GRID {
            let predicted = Self::fit(&train, shape, c, control)?.predict(&moved);
            let right = predicted.iter().zip(held.labels()).filter(|(a, b)| a == b).count();
            if right > best.0 {
                best = (right, c);
            }
        }
        Self::fit(data, shape, best.1, control)
    }
}
