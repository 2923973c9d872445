"""Types of the public names, written by `python python/tools/write_stubs.py`."""

# ruff: noqa
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from typing_extensions import Self

from mainstay import datasets as datasets, threats as threats

_Floats = npt.NDArray[np.float64]
_Labels = npt.NDArray[Any]
_Rows = Any  # array-like, scipy sparse matrix, or a pandas, polars or pyarrow frame

__version__: str

class ComparisonResult:
    table: Any
    details: dict[str, Any]
    @property
    def metric(self) -> Any: ...
    def plot(self, threat: str, *, metric: str | None = ..., ax: Any = ...) -> Any: ...
    def recommend(self) -> str: ...
    def scoreboard(self) -> dict[str, dict[str, float]]: ...
    def to_html(self, path: str | os.PathLike[str], *, tripod: bool = ...) -> None: ...

class ConicSVC(ClassifierMixin, BaseEstimator):
    kappa: float | None
    C: float | None
    kernel: Literal["linear", "rbf", "poly", "precomputed"]
    gamma: Literal["scale", "auto"] | float
    degree: int
    coef0: float
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    calibrate: bool
    verbose: int
    z_: _Floats
    loss_shape_: _Floats
    price_: float | _Floats
    zero_one_bound_: float | _Floats
    coef_: _Floats
    intercept_: _Floats
    dual_coef_: _Floats
    support_: npt.NDArray[np.int64]
    suspects_: dict[str, Any]
    classes_: _Labels
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        kappa: float | None = ...,
        *,
        C: float | None = ...,
        kernel: Literal["linear", "rbf", "poly", "precomputed"] = ...,
        gamma: Literal["scale", "auto"] | float = ...,
        degree: int = ...,
        coef0: float = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class ConicSVCCV(ClassifierMixin, BaseEstimator):
    kappas: int | npt.ArrayLike
    cv: Any
    scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"]
    rule: Literal["min", "one_se"]
    kernel: Literal["linear", "rbf", "poly", "precomputed"]
    gamma: Literal["scale", "auto"] | float
    degree: int
    coef0: float
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    kappa_: float
    cv_results_: dict[str, Any]
    z_: _Floats
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        kappas: int | npt.ArrayLike = ...,
        cv: Any = ...,
        *,
        scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"] = ...,
        rule: Literal["min", "one_se"] = ...,
        kernel: Literal["linear", "rbf", "poly", "precomputed"] = ...,
        gamma: Literal["scale", "auto"] | float = ...,
        degree: int = ...,
        coef0: float = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class DropFarRows(ClassifierMixin, BaseEstimator):
    estimator: Any
    share: Literal["auto"] | float
    estimator_: Any
    far_rows_: Any
    distances_: _Floats
    kept_: npt.NDArray[np.bool_]
    classes_: _Labels
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(self, estimator: Any, share: Literal["auto"] | float = ...) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(self, X: _Rows, y: npt.ArrayLike, **fit_params: Any) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class EllipsoidSVC(ClassifierMixin, BaseEstimator):
    uncertainty: float | npt.ArrayLike
    C: float
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        uncertainty: float | npt.ArrayLike = ...,
        *,
        C: float = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = ...,
        uncertainty: npt.ArrayLike | tuple[Any, ...] | GroupedUncertainty | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class EllipsoidSVCCV(ClassifierMixin, BaseEstimator):
    uncertainty: float | npt.ArrayLike
    scales: npt.ArrayLike
    Cs: npt.ArrayLike
    cv: Any
    scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"] | None
    rule: Literal["min", "one_se"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    calibrate: bool
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    scale_: float
    C_: float
    cv_results_: dict[str, Any]
    coef_: _Floats
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        uncertainty: float | npt.ArrayLike = ...,
        *,
        scales: npt.ArrayLike = ...,
        Cs: npt.ArrayLike = ...,
        cv: Any = ...,
        scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"] | None = ...,
        rule: Literal["min", "one_se"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        calibrate: bool = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = ...,
        uncertainty: npt.ArrayLike | tuple[Any, ...] | GroupedUncertainty | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class GaussianImputer(TransformerMixin, BaseEstimator):
    shrinkage: Literal["auto"] | float
    n_jobs: int | None
    mean_: _Floats
    shrinkage_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self, shrinkage: Literal["auto"] | float = ..., *, n_jobs: int | None = ...
    ) -> None: ...
    def averaged_proba(
        self,
        model: Any,
        X: _Rows,
        errors: float | npt.ArrayLike | None = ...,
        base_rate: float | npt.ArrayLike | None = ...,
    ) -> _Floats: ...
    @property
    def covariance_(self) -> _Floats: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike | None = ...,
        sample_weight: npt.ArrayLike | None = ...,
        errors: float | npt.ArrayLike | None = ...,
    ) -> Self: ...
    def posterior(
        self, X: _Rows, errors: float | npt.ArrayLike | None = ...
    ) -> tuple[_Floats, list[_Floats]]: ...
    def transform(self, X: _Rows, errors: float | npt.ArrayLike | None = ...) -> _Floats: ...

class GroupedUncertainty:
    group: npt.ArrayLike
    shapes: Sequence[Any]
    shape: tuple[Any, ...]
    def __init__(self, group: npt.ArrayLike, shapes: Sequence[Any]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any) -> GroupedUncertainty: ...

class LabelAudit:
    table: Any
    count: float
    interval: tuple[Any, ...]
    n_flagged: int
    details: dict[str, Any]
    def __init__(self, details: Any, classes: Any) -> None: ...
    def flagged(self) -> Any: ...
    def plot(self, ax: Any = ...) -> Any: ...
    def summary(self) -> str: ...
    def to_json(self) -> str: ...

class MissingFeatureCV(ClassifierMixin, BaseEstimator):
    budget: float
    values: Literal["uniform", "mutual_info"] | npt.ArrayLike
    damage: Literal["greedy", "random", "exact"]
    corrupt: bool
    Cs: npt.ArrayLike | None
    budgets: npt.ArrayLike | None
    scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"] | None
    rule: Literal["min", "one_se"]
    cv: Any
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    budget_: float
    C_: float
    tied_Cs_: _Floats
    cv_results_: dict[str, Any]
    coef_: _Floats
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        budget: float = ...,
        *,
        values: Literal["uniform", "mutual_info"] | npt.ArrayLike = ...,
        damage: Literal["greedy", "random", "exact"] = ...,
        corrupt: bool = ...,
        Cs: npt.ArrayLike | None = ...,
        budgets: npt.ArrayLike | None = ...,
        scoring: Literal["accuracy", "balanced_accuracy", "roc_auc"] | None = ...,
        rule: Literal["min", "one_se"] = ...,
        cv: Any = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def missing_report(self, X: _Rows, abstain: Any = ...) -> Any: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def risk_bound(self, X: _Rows, y: npt.ArrayLike, delta: float = ...) -> float: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...
    def worst_case_score(self, X: _Rows, y: npt.ArrayLike, budget: float | None = ...) -> float: ...

class MissingFeaturePerceptron(ClassifierMixin, BaseEstimator):
    budget: float
    values: Literal["uniform", "mutual_info"] | npt.ArrayLike
    margin: float
    C: float
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_passes: int
    shuffle: bool
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    values_: _Floats
    state_: str
    classes_: _Labels
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        budget: float = ...,
        *,
        values: Literal["uniform", "mutual_info"] | npt.ArrayLike = ...,
        margin: float = ...,
        C: float = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_passes: int = ...,
        shuffle: bool = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def missing_report(self, X: _Rows, abstain: Any = ...) -> Any: ...
    def partial_fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = ...,
        sample_weight: npt.ArrayLike | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def risk_bound(self, X: _Rows, y: npt.ArrayLike, delta: float = ...) -> float: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...
    def worst_case_score(self, X: _Rows, y: npt.ArrayLike, budget: float | None = ...) -> float: ...

class MissingFeatureSVC(ClassifierMixin, BaseEstimator):
    budget: float
    values: Literal["uniform", "mutual_info"] | npt.ArrayLike
    margin: float
    C: float
    fit_intercept: bool
    at_predict: Literal["zero", "gaussian"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_chunks: int
    tol: float
    max_iter: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    values_: _Floats
    classes_: _Labels
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        budget: float = ...,
        *,
        values: Literal["uniform", "mutual_info"] | npt.ArrayLike = ...,
        margin: float = ...,
        C: float = ...,
        fit_intercept: bool = ...,
        at_predict: Literal["zero", "gaussian"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_chunks: int = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def missing_report(self, X: _Rows, abstain: Any = ...) -> Any: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def risk_bound(self, X: _Rows, y: npt.ArrayLike, delta: float = ...) -> float: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...
    def worst_case_score(self, X: _Rows, y: npt.ArrayLike, budget: float | None = ...) -> float: ...

class ModelSummary:
    def __init__(self, content: Any, text: Any, markdown: Any) -> None: ...
    @property
    def coefficients(self) -> Any: ...
    def plot(self, ax: Any = ..., *, top: int = ...) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_markdown(self) -> str: ...

class NormRobustReGEC(ClassifierMixin, BaseEstimator):
    eta_a: float
    eta_b: float
    rule: Literal["points", "plane"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_jobs: int | None
    calibrate: bool
    verbose: int
    planes_: _Floats
    offsets_: _Floats
    eigenvalues_: _Floats
    worst_case_ratio_: _Floats
    classes_: _Labels
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        eta_a: float = ...,
        eta_b: float = ...,
        *,
        rule: Literal["points", "plane"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class PenalizedClassifier(ClassifierMixin, BaseEstimator):
    loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"]
    penalty: Literal["l2", "l1", "elasticnet"]
    alpha: Literal["cv"] | float
    l1_ratio: float
    normalize: Literal["auto"] | bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    alphas: npt.ArrayLike | None
    n_alphas: int
    n_folds: int
    n_repeats: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    alpha_: float
    normalize_: bool
    cv_results_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"] = ...,
        penalty: Literal["l2", "l1", "elasticnet"] = ...,
        alpha: Literal["cv"] | float = ...,
        *,
        l1_ratio: float = ...,
        normalize: Literal["auto"] | bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        alphas: npt.ArrayLike | None = ...,
        n_alphas: int = ...,
        n_folds: int = ...,
        n_repeats: int = ...,
        random_state: int | np.random.RandomState | None = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class ReGEC(ClassifierMixin, BaseEstimator):
    regularization: Literal["cross", "tikhonov", "none"]
    delta: float
    rule: Literal["points", "plane"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_jobs: int | None
    calibrate: bool
    verbose: int
    planes_: _Floats
    offsets_: _Floats
    eigenvalues_: _Floats
    worst_case_ratio_: _Floats
    classes_: _Labels
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        regularization: Literal["cross", "tikhonov", "none"] = ...,
        *,
        delta: float = ...,
        rule: Literal["points", "plane"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def merge(self, *others: Any) -> Self: ...
    def partial_fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = ...,
        sample_weight: npt.ArrayLike | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class RobustCV(ClassifierMixin, BaseEstimator):
    estimator: Any
    param_grid: Mapping[str, Any] | Sequence[Any]
    cv: Any
    scoring: Literal["loss"] | Callable[..., Any]
    theta_ratio: float
    theta_slack: float
    theta_gain: float
    baseline: Mapping[str, Any] | Sequence[Any] | None
    refit: bool
    n_jobs: int | None
    best_params_: dict[str, Any]
    best_index_: int
    best_estimator_: Any
    cv_results_: dict[str, Any]
    classes_: _Labels
    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Any] | Sequence[Any],
        *,
        cv: Any = ...,
        scoring: Literal["loss"] | Callable[..., Any] = ...,
        theta_ratio: float = ...,
        theta_slack: float = ...,
        theta_gain: float = ...,
        baseline: Mapping[str, Any] | Sequence[Any] | None = ...,
        refit: bool = ...,
        n_jobs: int | None = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    @property
    def n_features_in_(self) -> Any: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class RobustLogisticRegression(ClassifierMixin, BaseEstimator):
    alpha: Literal["cv"] | float
    wrong_labels: Any
    errors: float | npt.ArrayLike | None
    missing: float | npt.ArrayLike
    protect: Literal["average", "worst"]
    worst_share: float
    loss: Literal["logistic", "hinge"]
    correction: Literal["forward", "backward", "after", "averaged"]
    feature_model: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    fit_intercept: bool
    tol: float
    max_iter: int
    n_alphas: int
    n_folds: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    label_posterior_: _Floats
    worst_rows_: dict[str, Any]
    alpha_: float
    cv_results_: dict[str, Any]
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        alpha: Literal["cv"] | float = ...,
        *,
        wrong_labels: Any = ...,
        errors: float | npt.ArrayLike | None = ...,
        missing: float | npt.ArrayLike = ...,
        protect: Literal["average", "worst"] = ...,
        worst_share: float = ...,
        loss: Literal["logistic", "hinge"] = ...,
        correction: Literal["forward", "backward", "after", "averaged"] = ...,
        feature_model: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        fit_intercept: bool = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_alphas: int = ...,
        n_folds: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(
        self, X: _Rows, errors: float | npt.ArrayLike | None = ...
    ) -> _Floats: ...
    @property
    def feature_model_(self) -> Any: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = ...,
        errors: npt.ArrayLike | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows, errors: float | npt.ArrayLike | None = ...) -> _Labels: ...
    def predict_proba(self, X: _Rows, errors: float | npt.ArrayLike | None = ...) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class RobustReGEC(ClassifierMixin, BaseEstimator):
    uncertainty: float | npt.ArrayLike
    solver: Literal["monotone", "paper"]
    xi: Literal["auto", "cv"] | float
    tol: float | None
    max_iter: int | None
    regularization: Literal["cross", "tikhonov", "none"]
    delta: float
    rule: Literal["points", "plane"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    calibrate: bool
    verbose: int
    planes_: _Floats
    offsets_: _Floats
    worst_case_ratio_: _Floats
    eigenvalues_: _Floats
    xi_: float
    classes_: _Labels
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        uncertainty: float | npt.ArrayLike = ...,
        *,
        solver: Literal["monotone", "paper"] = ...,
        xi: Literal["auto", "cv"] | float = ...,
        tol: float | None = ...,
        max_iter: int | None = ...,
        regularization: Literal["cross", "tikhonov", "none"] = ...,
        delta: float = ...,
        rule: Literal["points", "plane"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = ...,
        uncertainty: npt.ArrayLike | tuple[Any, ...] | GroupedUncertainty | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class RolinClassifier(ClassifierMixin, BaseEstimator):
    loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"]
    variant: Literal["extended", "paper"]
    cv: Any
    scoring: Literal["loss", "zero_one"]
    normalize: Literal["auto"] | bool
    theta_ratio: float
    theta_slack: float
    theta_gain: float
    n_folds: int
    n_repeats: int
    sigma_ratios: Any
    b_maxs: Any
    k: int | None
    s0_ridge: float
    kernel: Literal["linear", "rbf", "poly", "precomputed"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    dual_coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    candidates_: dict[str, Any]
    k_: int | float | bool
    k_max_: int | float | bool
    sigma_ratio_: int | float | bool
    b_max_: int | float | bool
    normalize_: int | float | bool
    cv_results_: dict[str, Any]
    components_: dict[str, Any]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"] = ...,
        *,
        variant: Literal["extended", "paper"] = ...,
        cv: Any = ...,
        scoring: Literal["loss", "zero_one"] = ...,
        normalize: Literal["auto"] | bool = ...,
        theta_ratio: float = ...,
        theta_slack: float = ...,
        theta_gain: float = ...,
        n_folds: int = ...,
        n_repeats: int = ...,
        sigma_ratios: Any = ...,
        b_maxs: Any = ...,
        k: int | None = ...,
        s0_ridge: float = ...,
        kernel: Literal["linear", "rbf", "poly", "precomputed"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class ScaledUncertainty(ClassifierMixin, BaseEstimator):
    estimator: Any
    scaler: Any
    estimator_: Any
    scaler_: Any
    classes_: _Labels
    n_features_in_: int
    def __init__(self, estimator: Any = ..., scaler: Any = ...) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self,
        X: _Rows,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = ...,
        uncertainty: npt.ArrayLike | tuple[Any, ...] | GroupedUncertainty | None = ...,
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...

class StableLogisticRegression(ClassifierMixin, BaseEstimator):
    k: Literal["auto"] | int | float
    alpha: float
    multi_class: Literal["ovr", "joint"]
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    solver: Literal["interior-point", "cutting-plane"]
    tol: float
    max_iter: int
    n_jobs: int | None
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    worst_rows_: dict[str, Any]
    equals_classical_: bool
    objective_: float | _Floats
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        k: Literal["auto"] | int | float = ...,
        *,
        alpha: float = ...,
        multi_class: Literal["ovr", "joint"] = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        solver: Literal["interior-point", "cutting-plane"] = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class StableLogisticRegressionCV(ClassifierMixin, BaseEstimator):
    ks: Any
    alphas: Any
    cv: Any
    rule: Literal["min", "one_se"]
    multi_class: Literal["ovr", "joint"]
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    k_: float
    alpha_: float
    cv_results_: dict[str, Any]
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        ks: Any = ...,
        alphas: Any = ...,
        *,
        cv: Any = ...,
        rule: Literal["min", "one_se"] = ...,
        multi_class: Literal["ovr", "joint"] = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class StableSVC(ClassifierMixin, BaseEstimator):
    k: Literal["auto"] | int | float
    C: float
    loss: Literal["hinge", "squared_hinge"]
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    solver: Literal["interior-point", "cutting-plane"]
    tol: float
    max_iter: int
    n_jobs: int | None
    calibrate: bool
    verbose: int
    coef_: _Floats
    intercept_: _Floats
    classes_: _Labels
    worst_rows_: dict[str, Any]
    equals_classical_: bool
    objective_: float
    dual_gap_: float
    n_iter_: int
    n_features_in_: int
    feature_names_in_: _Labels
    def __init__(
        self,
        k: Literal["auto"] | int | float = ...,
        *,
        C: float = ...,
        loss: Literal["hinge", "squared_hinge"] = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        solver: Literal["interior-point", "cutting-plane"] = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class StableSVCCV(ClassifierMixin, BaseEstimator):
    ks: Any
    Cs: Any
    cv: Any
    rule: Literal["min", "one_se"]
    loss: Literal["hinge", "squared_hinge"]
    fit_intercept: bool
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    tol: float
    max_iter: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    k_: float
    C_: float
    cv_results_: dict[str, Any]
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        ks: Any = ...,
        Cs: Any = ...,
        *,
        cv: Any = ...,
        rule: Literal["min", "one_se"] = ...,
        loss: Literal["hinge", "squared_hinge"] = ...,
        fit_intercept: bool = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        tol: float = ...,
        max_iter: int = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class StressInterrupted(KeyboardInterrupt):
    partial: Any
    def __init__(self, partial: Any = ...) -> None: ...

class TableEncoder(TransformerMixin, BaseEstimator):
    impute: Literal["keep", "mean", "median", "most-frequent"] | None
    standardize: bool
    categorical: Sequence[str]
    keep_features: Sequence[str]
    drop: Sequence[str]
    ids: str | Sequence[str]
    min_count: int
    reference: Mapping[str, Any] | None
    drop_first: bool
    na: Sequence[str] | None
    keep_default_na: bool
    sparse_output: Literal["auto"] | bool
    feature_names_in_: _Labels
    n_features_in_: int
    columns_: dict[str, Any]
    left_out_: dict[str, Any]
    notes_: list[str]
    mean_: _Floats
    scale_: _Floats
    target_name_: str | None
    def __init__(
        self,
        *,
        impute: Literal["keep", "mean", "median", "most-frequent"] | None = ...,
        standardize: bool = ...,
        categorical: Sequence[str] = ...,
        keep_features: Sequence[str] = ...,
        drop: Sequence[str] = ...,
        ids: str | Sequence[str] = ...,
        min_count: int = ...,
        reference: Mapping[str, Any] | None = ...,
        drop_first: bool = ...,
        na: Sequence[str] | None = ...,
        keep_default_na: bool = ...,
        sparse_output: Literal["auto"] | bool = ...,
    ) -> None: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike | None = ..., sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def fit_transform(
        self, X: _Rows, y: npt.ArrayLike | None = ..., sample_weight: npt.ArrayLike | None = ...
    ) -> Any: ...
    def get_feature_names_out(self, input_features: npt.ArrayLike | None = ...) -> _Labels: ...
    def row_ids(self, X: _Rows) -> dict[str, Any]: ...
    def transform(self, X: _Rows) -> Any: ...

class ToldResult:
    details: dict[str, Any]
    def __init__(self, details: Any) -> None: ...
    def recommend(self) -> str: ...
    @property
    def table(self) -> Any: ...

class TopPCsClassifier(ClassifierMixin, BaseEstimator):
    loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"]
    cv: Any
    scoring: Literal["loss", "zero_one"]
    normalize: Literal["auto"] | bool
    theta_ratio: float
    theta_slack: float
    n_folds: int
    n_repeats: int
    k: int | None
    s0_ridge: float
    kernel: Literal["linear", "rbf", "poly", "precomputed"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    calibrate: bool
    verbose: int
    classes_: _Labels
    n_features_in_: int
    n_iter_: int
    def __init__(
        self,
        loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber"] = ...,
        *,
        cv: Any = ...,
        scoring: Literal["loss", "zero_one"] = ...,
        normalize: Literal["auto"] | bool = ...,
        theta_ratio: float = ...,
        theta_slack: float = ...,
        n_folds: int = ...,
        n_repeats: int = ...,
        k: int | None = ...,
        s0_ridge: float = ...,
        kernel: Literal["linear", "rbf", "poly", "precomputed"] = ...,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = ...,
        n_jobs: int | None = ...,
        random_state: int | np.random.RandomState | None = ...,
        calibrate: bool = ...,
        verbose: int = ...,
    ) -> None: ...
    def decision_function(self, X: _Rows) -> _Floats: ...
    def fit(
        self, X: _Rows, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = ...
    ) -> Self: ...
    def predict(self, X: _Rows) -> _Labels: ...
    def predict_proba(self, X: _Rows) -> _Floats: ...
    def summary(
        self,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        n_bootstrap: int = ...,
        random_state: int | np.random.RandomState | None = ...,
    ) -> Any: ...
    def suspicious_labels(
        self,
        feature_names: Sequence[str] | None = ...,
        *,
        X: _Rows | None = ...,
        y: npt.ArrayLike | None = ...,
        ranking: Literal["posterior", "margin"] = ...,
    ) -> Any: ...

class ValidationResult:
    details: dict[str, Any]
    def __init__(self, details: Any) -> None: ...
    def plot_calibration(self, ax: Any = ...) -> Any: ...
    def plot_instability(self, ax: Any = ..., *, kind: Literal["error", "range"] = ...) -> Any: ...
    def plot_learning_curve(self, ax: Any = ...) -> Any: ...
    def rows(self) -> Any: ...
    def summary(self) -> str: ...
    def to_frame(self) -> Any: ...
    def to_json(self) -> str: ...

class Verification:
    proved: bool
    gap: float
    tol: float
    objectives_as_claimed: bool
    problems: list[Any]
    def __init__(
        self, proved: Any, gap: Any, tol: Any, objectives_as_claimed: Any, problems: Any
    ) -> None: ...

def audit_labels(
    X: _Rows,
    y: npt.ArrayLike,
    *,
    estimator: Any = ...,
    groups: npt.ArrayLike | None = ...,
    repeats: int = ...,
    planted: int = ...,
    precision: float = ...,
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    verbose: int = ...,
) -> Any: ...
def certify(
    model: Any,
    X: _Rows,
    *,
    uncertainty: float | npt.ArrayLike | tuple[Any, ...] | None = ...,
    values: npt.ArrayLike | None = ...,
    witness: Literal["l2", "l1", "linf", "ellipsoid", "deletions", "deletion_value"] | None = ...,
    ids: str | Sequence[str] | npt.ArrayLike | None = ...,
) -> Any: ...
def coefficient_stability(
    estimator: Any,
    X: _Rows,
    y: npt.ArrayLike,
    protocol: Literal["paired", "paper"] = ...,
    *,
    n_resamples: int = ...,
    fraction: float = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> Any: ...
def compare(
    X: _Rows,
    y: npt.ArrayLike,
    *,
    repeats: int | None = ...,
    budget_seconds: float = ...,
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    without: Sequence[str] = ...,
    max_rows: int | None = ...,
    expect: Mapping[str, Any] | None = ...,
    metric: str | None = ...,
    threats: str | Sequence[str] | None = ...,
    groups: npt.ArrayLike | None = ...,
    few_levels: bool = ...,
    estimators: Any = ...,
    include: Sequence[str] = ...,
    verbose: int = ...,
    ids: str | Sequence[str] | npt.ArrayLike | None = ...,
    encoder: TableEncoder | None = ...,
) -> ComparisonResult: ...
def config(
    *,
    checkpoint: str | os.PathLike[str] | None = ...,
    curvature_rows: int | None = ...,
    keep: Literal["auto"] | bool = ...,
    proof: bool = ...,
    remedies: bool = ...,
) -> AbstractContextManager[None]: ...
def load(path: str | os.PathLike[str]) -> Any: ...
def save(model: Any, path: str | os.PathLike[str], *, proof: bool = ...) -> None: ...
def scale_uncertainty(
    uncertainty: float | npt.ArrayLike | tuple[Any, ...] | GroupedUncertainty, scale: npt.ArrayLike
) -> _Floats | GroupedUncertainty: ...
def scan(
    paths: str | os.PathLike[str] | Sequence[Any],
    *,
    columns: Sequence[str] | None = ...,
    categorical: Sequence[str] = ...,
    impute: Literal["mean", "most-frequent", "drop"] | None = ...,
    memory: int | str | None = ...,
) -> Any: ...
def stress(
    estimators: Any,
    X: _Rows,
    y: npt.ArrayLike,
    *,
    threats: str | Sequence[str] | None = ...,
    levels: Sequence[float] | Mapping[str, Any] | None = ...,
    repeats: int = ...,
    metrics: str | Sequence[str] = ...,
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    groups: npt.ArrayLike | None = ...,
    verbose: int = ...,
    encoder: TableEncoder | None = ...,
) -> Any: ...
def to_onnx(model: Any) -> Any: ...
def trust(
    model: Any,
    X: _Rows,
    *,
    X_train: Any = ...,
    y_train: npt.ArrayLike | None = ...,
    sample_weight: npt.ArrayLike | None = ...,
    y: npt.ArrayLike | None = ...,
    errors: float | npt.ArrayLike | None = ...,
    n_refits: int = ...,
    abstain: bool = ...,
    random_state: int | np.random.RandomState | None = ...,
    n_jobs: int | None = ...,
) -> Any: ...
def validate(
    estimator: Any,
    X: _Rows,
    y: npt.ArrayLike,
    *,
    bootstrap: int = ...,
    cv: int = ...,
    repeats: int = ...,
    curve_repeats: int = ...,
    metric: str | None = ...,
    metrics: Sequence[str] | None = ...,
    groups: npt.ArrayLike | None = ...,
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    verbose: int = ...,
) -> Any: ...
def verify(
    model: Any,
    X: _Rows,
    y: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = ...,
    tol: float | None = ...,
) -> Any: ...

__all__ = [
    "ComparisonResult",
    "ConicSVC",
    "ConicSVCCV",
    "DropFarRows",
    "EllipsoidSVC",
    "EllipsoidSVCCV",
    "GaussianImputer",
    "GroupedUncertainty",
    "LabelAudit",
    "MissingFeatureCV",
    "MissingFeaturePerceptron",
    "MissingFeatureSVC",
    "ModelSummary",
    "NormRobustReGEC",
    "PenalizedClassifier",
    "ReGEC",
    "RobustCV",
    "RobustLogisticRegression",
    "RobustReGEC",
    "RolinClassifier",
    "ScaledUncertainty",
    "StableLogisticRegression",
    "StableLogisticRegressionCV",
    "StableSVC",
    "StableSVCCV",
    "StressInterrupted",
    "TableEncoder",
    "ToldResult",
    "TopPCsClassifier",
    "ValidationResult",
    "Verification",
    "audit_labels",
    "certify",
    "coefficient_stability",
    "compare",
    "config",
    "datasets",
    "load",
    "save",
    "scale_uncertainty",
    "scan",
    "stress",
    "threats",
    "to_onnx",
    "trust",
    "validate",
    "verify",
]
