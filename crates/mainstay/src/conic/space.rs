//! The space a fit lives in: features, or the span of kernel functions; and the way back.

use super::certificate::{Claim, Geometry, Verdict, verdict};
use super::design::Design;
use super::problem::{Form, Hyperplane, Rows};
use super::strategy::{Solution, leading};
use crate::certificate::Certificate;
use crate::data::Merged;
use crate::error::{Error, Result};
use crate::linalg::{Dense, PivotedCholesky, vector};
use crate::model::{BinaryFit, Kernel, KernelFunction, Linear, Link, Model};

/// Directions of the kernel's span that carry less than this share of the largest diagonal entry
/// are left out; the certificate is computed on the whole matrix all the same. A matrix that came from
/// single precision is semidefinite only up to the second value.
const KERNEL_RANK: [f64; 2] = [1e-12, 1e-6];

/// Merged training rows in solver coordinates.
pub(super) struct Space {
    design: Design,
    kernel: Option<KernelSpace>,
}

struct KernelSpace {
    function: KernelFunction,
    /// Kernel matrix, the constant feature's 1 included, divided by the square of the design's unit.
    gram: Dense,
    factor: PivotedCholesky,
    constant: bool,
}

impl Space {
    /// Features as they are, with a constant one if `intercept`.
    pub(super) fn linear(merged: &Merged, intercept: bool) -> Self {
        Self { design: Design::new(merged.data.features(), intercept), kernel: None }
    }

    /// Appendix A: the kernel problem is the linear one on the rows of a factor of the kernel matrix.
    pub(super) fn kernel(
        merged: &Merged,
        function: KernelFunction,
        intercept: bool,
    ) -> Result<Self> {
        let x = merged.data.features();
        let mut gram = match function {
            KernelFunction::Precomputed => {
                let kept = first_rows(merged);
                let k = x.to_dense();
                Dense::from_fn(kept.len(), kept.len(), |i, j| {
                    f64::midpoint(k[(i, kept[j])], k[(j, kept[i])])
                })
            }
            _ => function.values(x, &x.to_dense()),
        };
        if gram.data().iter().any(|v| !v.is_finite()) {
            return Err(Error::Numerical("kernel values overflow: rescale the features".into()));
        }
        if intercept {
            for v in gram.data_mut() {
                *v += 1.0;
            }
        }
        let factor = PivotedCholesky::new(&gram, KERNEL_RANK[0])
            .or_else(|_| PivotedCholesky::new(&gram, KERNEL_RANK[1]))?;
        let design = Design::from_coordinates(factor.factor.clone());
        vector::scale(gram.data_mut(), 1.0 / design.unit / design.unit);
        let kernel = KernelSpace { function, gram, factor, constant: intercept };
        Ok(Self { design, kernel: Some(kernel) })
    }

    /// The binary problem with labels `y` and weights `c`.
    pub(super) fn rows<'a>(&'a self, y: &'a [f64], c: &'a [f64]) -> Rows<'a> {
        Rows { x: &self.design.x, y, c, damping: &self.design.damping }
    }

    /// `$\lambda$` in solver units.
    pub(super) fn price(&self, price: f64) -> Result<f64> {
        let scaled = price * self.design.unit * self.design.unit;
        if scaled.is_finite() && scaled > 0.0 {
            Ok(scaled)
        } else {
            Err(Error::Numerical("`C` times the squared features overflows: rescale them".into()))
        }
    }

    /// Objectives below this (in solver units) count as this in the relative gap: 1 in the user's
    /// units, or smaller, so that tiny features do not end the fit at once.
    pub(super) fn floor(&self) -> f64 {
        (self.design.unit * self.design.unit).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// An answer in the units of the features, for fits to other rows; none where there are no features, or more than rows.
    pub(super) fn portable(&self, plane: &Hyperplane) -> Option<Hyperplane> {
        let known = self.kernel.is_none() && self.design.is_narrow() && plane.factor.nrows() > 0;
        let plain = Hyperplane { w: plane.w.clone(), factor: leading(&plane.factor) };
        known.then(|| scaled(plain, 1.0 / self.design.unit))
    }

    /// What is [`Space::portable`] elsewhere, in solver coordinates.
    pub(super) fn import(&self, plane: &Hyperplane) -> Option<Hyperplane> {
        let fits = plane.w.len() == self.design.x.ncols();
        let known = self.kernel.is_none() && self.design.is_narrow() && fits;
        known.then(|| scaled(plane.clone(), self.design.unit))
    }

    /// Judges an answer and turns it into the user's units.
    pub(super) fn finish(
        &self,
        rows: &Rows<'_>,
        form: Form,
        found: &Solution,
    ) -> Result<BinaryFit> {
        let budget = match form {
            Form::Budget(budget) => Some(budget),
            Form::Price(_) => None,
        };
        let unit2 = |v: f64| v / self.design.unit / self.design.unit;
        let (w, verdict) = self.judge(rows, budget, found)?;
        let certificate = Certificate {
            primal: unit2(verdict.certificate.primal),
            dual: unit2(verdict.certificate.dual),
        };
        if !certificate.primal.is_finite() {
            return Err(Error::Numerical("the objective overflows: rescale the features".into()));
        }
        let (weights, intercept) = self.weights(&w)?;
        let shape = verdict.shape.iter().zip(rows.c).map(|(g, c)| unit2(*g) / c).collect();
        Ok(BinaryFit {
            weights,
            intercept,
            certificate: Some(certificate),
            n_iter: found.n_iter,
            row_outputs: vec![("z", verdict.z), ("loss_shape", shape)],
            outputs: vec![("zero_one_bound", certificate.dual), ("price", unit2(found.dual.price))],
            warnings: Vec::new(),
            route: found.route.clone(),
            proof: Vec::new(),
        })
    }

    /// Weights (of features, or of rows for kernels) and intercept in the user's units.
    fn weights(&self, w: &[f64]) -> Result<(Vec<f64>, f64)> {
        let Some(kernel) = &self.kernel else { return self.design.model(w) };
        let alpha: Vec<f64> = w.iter().map(|v| v / self.design.unit / self.design.unit).collect();
        let share = if kernel.constant { alpha.iter().sum() } else { 0.0 };
        Ok((alpha, share))
    }

    /// The model of an answer alone, for those who do not need to know how good it is.
    pub(super) fn unjudged(&self, found: &Solution) -> Result<BinaryFit> {
        let (weights, intercept) = self.weights(&self.to_user(&found.plane.w))?;
        Ok(BinaryFit {
            weights,
            intercept,
            certificate: None,
            n_iter: found.n_iter,
            row_outputs: Vec::new(),
            outputs: Vec::new(),
            warnings: Vec::new(),
            route: found.route.clone(),
            proof: Vec::new(),
        })
    }

    /// Solver coordinates of a vector as coordinates of the certificate.
    fn to_user(&self, v: &[f64]) -> Vec<f64> {
        let Some(kernel) = &self.kernel else { return self.design.lift(v) };
        let mut alpha = vec![0.0; kernel.gram.nrows()];
        // The factor is in the user's units, the answer in the solver's.
        let pivots = kernel.factor.to_pivots(&self.design.lift(v));
        for (&j, a) in kernel.factor.pivots.iter().zip(pivots) {
            alpha[j] = a * self.design.unit;
        }
        alpha
    }

    /// The answer in the coordinates of the certificate, and the verdict on it.
    fn judge(
        &self,
        rows: &Rows<'_>,
        budget: Option<f64>,
        found: &Solution,
    ) -> Result<(Vec<f64>, Verdict)> {
        let (plane, dual) = (&found.plane, &found.dual);
        let w = self.to_user(&plane.w);
        let data: Vec<f64> =
            (0..plane.factor.nrows()).flat_map(|k| self.to_user(plane.factor.row(k))).collect();
        let factor = Dense::from_rows(plane.factor.nrows(), w.len(), data);
        let geometry = match &self.kernel {
            None => Geometry::Rows(self.design.user_rows()),
            Some(kernel) => Geometry::Gram(&kernel.gram),
        };
        let claim = Claim { w: &w, factor: &factor, dual, budget };
        let judged = verdict(geometry, rows.y, rows.c, &claim)?;
        Ok((w, judged))
    }

    /// The model of these binary answers.
    pub(super) fn model(&self, merged: &Merged, fits: &[BinaryFit]) -> Model {
        let intercept = fits.iter().map(|f| f.intercept).collect();
        let Some(kernel) = &self.kernel else {
            let coef = fits.iter().map(|f| f.weights.clone()).collect();
            return Model::Linear(Linear { coef, intercept, link: Link::None });
        };
        let used: Vec<usize> =
            (0..merged.data.len()).filter(|&i| fits.iter().any(|f| f.weights[i] != 0.0)).collect();
        let precomputed = matches!(kernel.function, KernelFunction::Precomputed);
        let dense = merged.data.features().to_dense();
        let first = first_rows(merged);
        Model::Kernel(Kernel {
            function: kernel.function,
            n_features: merged.data.n_features(),
            indices: used.iter().map(|&i| first[i]).collect(),
            support: if precomputed {
                Vec::new()
            } else {
                used.iter().map(|&i| dense.row(i).to_vec()).collect()
            },
            dual_coef: fits.iter().map(|f| used.iter().map(|&i| f.weights[i]).collect()).collect(),
            intercept,
            link: Link::None,
        })
    }
}

fn scaled(mut plane: Hyperplane, by: f64) -> Hyperplane {
    vector::scale(&mut plane.w, by);
    vector::scale(plane.factor.data_mut(), by);
    plane
}

/// For every merged row the first given row it stands for.
pub(super) fn first_rows(merged: &Merged) -> Vec<usize> {
    let mut first = vec![usize::MAX; merged.data.len()];
    for (given, position) in merged.position.iter().enumerate().rev() {
        if let Some(k) = position {
            first[k] = given;
        }
    }
    first
}
