//! The proof in a model file, handed to the checker with the training rows.

use mainstay::data::{Dataset, Standardize};
use mainstay::linalg::Matrix;
use mainstay::{Error as CoreError, methods};
use mainstay_verify::{Data, Report, Rows, verify};

use crate::error::Result;
use crate::model_file::ModelFile;

impl ModelFile {
    /// Recomputes objective and lower bound of the model on its training rows, by code of its own
    /// ([`mainstay_verify`]), and says what they prove.
    ///
    /// `data` are the encoded rows, with their weights; if the fit standardised features, so does this. `tol` is the gap
    /// to be proved; none is the one that the fit was asked for.
    pub fn verify(&self, data: &Dataset, tol: Option<f64>) -> Result<Report> {
        let standardized = self.fitted.training.as_ref().is_some_and(|t| t.standardized);
        let scaling =
            standardized.then(|| Standardize::learn_stored(data.features(), data.weights()));
        let features = match &scaling {
            Some(scaling) => scaling.apply_stored(data.features()),
            None => data.features().clone(),
        };
        let features = methods::find(&self.method)?.nan.apply(features);
        let model = serde_json::to_value(self)
            .map_err(|e| CoreError::BadModel(format!("model file: {e}")))?;
        let stored = Stored::new(&features);
        let given = Data {
            rows: stored.rows(&features),
            labels: data.labels(),
            weights: data.weights(),
            scaling: scaling.as_ref().map(|s| (s.means.as_slice(), s.scales.as_slice())),
        };
        Ok(verify(&model, &given, tol)?)
    }
}

/// Places of the entries of sparse rows, as plain slices need them.
struct Stored {
    starts: Vec<usize>,
    indices: Vec<u32>,
}

impl Stored {
    fn new(features: &Matrix) -> Self {
        let (mut starts, mut indices) = (vec![0], Vec::new());
        if let Matrix::Sparse(rows) = features {
            for i in 0..rows.nrows() {
                indices.extend_from_slice(rows.row(i).0);
                starts.push(indices.len());
            }
        }
        Self { starts, indices }
    }

    fn rows<'a>(&'a self, features: &'a Matrix) -> Rows<'a> {
        let columns = features.ncols();
        match features {
            Matrix::Dense(dense) => Rows::Dense { values: dense.data(), columns },
            Matrix::Sparse(rows) => Rows::Sparse {
                starts: &self.starts,
                indices: &self.indices,
                values: rows.values(),
                columns,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay::data::Classes;
    use mainstay::linalg::{Csr, Dense};
    use mainstay::model::{Estimator as _, StandardizeFirst};
    use mainstay::{Control, data::Label};
    use serde_json::{Value, json};

    use super::*;

    /// Rows of clouds that overlap, one per class, the last column far from zero; some rows twice.
    fn rows(classes: usize, sparse: bool) -> Dataset {
        let (n, p) = (15 * classes, 4);
        let wave = |k: usize| (k as f64 * 12.9898).sin() * 43758.5453;
        let noise = |k: usize| wave(k) - wave(k).floor() - 0.5;
        let cell = |i: usize, j: usize| {
            let i = if i % 7 == 6 { i - 1 } else { i };
            let middle = if i % classes == j { 0.4 } else { 0.0 };
            let far = if j == 3 && !sparse { 1000.0 } else { 0.0 };
            let value = 2.0 * noise(i * p + j) + middle + far;
            if sparse && (i + j).is_multiple_of(3) { 0.0 } else { value }
        };
        let labels: Vec<usize> =
            (0..n).map(|i| (if i % 7 == 6 { i - 1 } else { i }) % classes).collect();
        let dense = Dense::from_fn(n, p, cell);
        let features = if sparse { Matrix::Sparse(compressed(&dense)) } else { dense.into() };
        Dataset::new(features, labels, classes).unwrap()
    }

    fn compressed(dense: &Dense) -> Csr {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..dense.nrows() {
            for (j, v) in dense.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(u32::try_from(j).unwrap());
                values.push(*v);
            }
            starts.push(indices.len());
        }
        Csr::new(dense.ncols(), starts, indices, values).unwrap()
    }

    fn fitted(method: &str, params: &Value, data: &Dataset, standardize: bool) -> ModelFile {
        let method = methods::find(method).unwrap();
        let plain = method.estimator(params).unwrap();
        let control = Control::new().with_proof(true);
        let fitted = if standardize {
            StandardizeFirst(plain.as_ref()).fit(data, &control)
        } else {
            plain.fit(data, &control)
        };
        let names = (0..data.n_classes()).map(|k| Label::Text(k.to_string())).collect();
        ModelFile {
            method: method.name.into(),
            params: method.all_params(params),
            classes: Classes::new(names).unwrap(),
            target: None,
            feature_names: None,
            encoder: None,
            fitted: fitted.unwrap().remember(data, standardize).unwrap(),
        }
    }

    const COVERED: [(&str, &str); 16] = [
        ("l2", r#"{"alpha": 0.1}"#),
        ("l2", r#"{"alpha": 0.01, "loss": "hinge", "class_weight": "balanced"}"#),
        ("l2", r#"{"alpha": 0.1, "loss": "squared_hinge", "normalize": true}"#),
        ("l2", r#"{"alpha": 0.1, "loss": "modified_huber"}"#),
        ("l1", r#"{"alpha": 0.02}"#),
        ("l1", r#"{"alpha": 0.02, "loss": "hinge", "normalize": true}"#),
        ("elasticnet", r#"{"alpha": 0.1, "loss": "squared_hinge"}"#),
        ("elasticnet", r#"{"alpha": "cv", "loss": "logistic"}"#),
        ("stable-svm", r#"{"k": 0.4}"#),
        ("stable-svm", r#"{"k": 7, "loss": "squared_hinge", "class_weight": "balanced"}"#),
        ("stable-svm", r#"{"k": 0.3, "fit_intercept": false}"#),
        ("stable-logistic", r#"{"k": 0.5}"#),
        ("stable-logistic", r#"{"k": 0.5, "multi_class": "joint"}"#),
        ("ellipsoid-svm", r#"{"uncertainty": 0.1}"#),
        ("missing-lp", r#"{"budget": 1.0}"#),
        ("missing-lp", r#"{"budget": 0.5, "fit_intercept": false, "C": 2.0}"#),
    ];

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_covered_method_is_proved_on_dense_and_sparse_rows_of_two_and_three_classes() {
        for (classes, sparse) in [(2, false), (3, false), (2, true), (3, true)] {
            let data = rows(classes, sparse);
            let weights = (0..data.len()).map(|i| (i % 4) as f64 * 0.5).collect();
            let weighted = data.clone().with_weights(weights).unwrap();
            for (method, params) in COVERED {
                for (data, standardize) in [(&data, false), (&data, true), (&weighted, false)] {
                    let file = fitted(method, &parsed(params), data, standardize);
                    let again = ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap();
                    let found = again.verify(data, None).unwrap();
                    let what =
                        format!("{method} {params} {classes} {sparse} {standardize}: {found:?}");
                    assert!(
                        file.fitted.dual_gap().unwrap() <= file.fitted.tol,
                        "not certified: {what}"
                    );
                    assert!(found.proved() && found.objectives_as_claimed(), "{what}");
                }
            }
        }
    }

    #[test]
    fn ellipsoids_with_axes_or_a_matrix_are_proved() {
        let data = rows(2, false);
        let shapes = [
            json!([0.1, 0.2, 0.0, 0.3]),
            json!([
                [0.04, 0.01, 0.0, 0.0],
                [0.01, 0.04, 0.0, 0.0],
                [0.0, 0.0, 0.01, 0.0],
                [0.0, 0.0, 0.0, 0.01]
            ]),
            json!(50.0),
        ];
        for shape in shapes {
            let file = fitted("ellipsoid-svm", &json!({"uncertainty": shape}), &data, false);
            let found = file.verify(&data, None).unwrap();
            assert!(found.proved(), "{shape}: {found:?}");
        }
    }

    /// Other multipliers, other weights, other rows: never proved, whatever the file claims.
    #[test]
    fn a_forged_file_is_not_proved() {
        let data = rows(2, false);
        let good = fitted("stable-svm", &json!({"k": 0.4}), &data, false);
        assert!(good.verify(&data, None).unwrap().proved());
        let mut worse = good.clone();
        if let mainstay::model::Model::Linear(linear) = &mut worse.fitted.model {
            linear.coef[0][0] += 0.5;
        }
        worse.fitted.certificates[0].dual = worse.fitted.certificates[0].primal;
        let found = worse.verify(&data, None).unwrap();
        assert!(!found.proved() && !found.objectives_as_claimed(), "{found:?}");
        let mut greedy = good.clone();
        for point in greedy.fitted.proof.iter_mut().flatten() {
            point.values_mut().flatten().for_each(|v| *v *= 1e6);
        }
        let bound = greedy.verify(&data, None).unwrap().problems[0].bound;
        assert!(bound <= good.verify(&data, None).unwrap().problems[0].objective);
        let other = data.replace_features(Dense::from_fn(30, 4, |i, j| (i * j) as f64).into());
        assert!(!good.verify(&other, None).unwrap().proved());
        let fewer = data.select_rows(&[0, 1, 2, 3]);
        assert!(good.verify(&fewer, None).unwrap_err().to_string().contains("training rows"));
    }

    #[test]
    fn what_has_no_checker_or_no_proof_says_so() {
        let data = rows(2, false);
        let conic = fitted("conic", &json!({}), &data, false);
        assert!(conic.fitted.proof.is_none());
        assert!(conic.verify(&data, None).unwrap_err().to_string().contains("no checker"));
        let mut plain = fitted("l2", &json!({}), &data, false);
        plain.fitted.proof = None;
        assert!(plain.verify(&data, None).unwrap_err().to_string().contains("--proof"));
        let regec = fitted("regec", &json!({}), &data, false);
        assert!(regec.verify(&data, None).unwrap_err().to_string().contains("no certificate"));
    }
}
