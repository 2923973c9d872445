"""Types of the compiled half of the package."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Csr = tuple[_Integers, _Integers, _Floats, int]

__version__: str

class Fitted:
    """A fitted model and everything its fit has to say."""

    @property
    def coef(self) -> _Floats | None: ...
    @property
    def intercept(self) -> _Floats | None: ...
    @property
    def objectives(self) -> _Floats: ...
    @property
    def dual_gap(self) -> float | None: ...
    @property
    def tol(self) -> float: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def route(self) -> list[str]: ...
    @property
    def has_proof(self) -> bool: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def status(self) -> str: ...
    def decision(self, x: _Floats | _Csr, n_jobs: int | None = None) -> _Floats: ...
    def predict(self, x: _Floats | _Csr, n_jobs: int | None = None) -> _Integers: ...
    def probabilities(self, x: _Floats | _Csr, n_jobs: int | None = None) -> _Floats | None: ...
    def outputs(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Fitted: ...

class Table:
    """Named raw columns."""

    @staticmethod
    def from_columns(
        names: list[str],
        columns: Sequence[_Floats | tuple[_Integers, list[str]]],
        categorical: list[str] = ...,
    ) -> Table: ...
    @staticmethod
    def from_arrow(capsule: object) -> Table: ...
    @property
    def nrows(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def categorical(self) -> list[str]: ...
    def texts(self, name: str) -> list[str | None]: ...
    def gaps(self) -> list[int]: ...

class Encoder:
    """How raw columns become features."""

    @staticmethod
    def learn(
        table: Table,
        *,
        missing: str,
        aside: list[str],
        gaps: list[str] | None = None,
        usual_gaps: bool = True,
        categorical: list[str] = ...,
        keep: list[str] = ...,
        min_count: int = 1,
        reference: list[tuple[str, str]] = ...,
        drop_first: bool = False,
    ) -> Encoder: ...
    def encode(
        self, table: Table, *, scaling: tuple[_Floats, _Floats] | None = None, dense: bool = True
    ) -> tuple[_Floats | _Csr, list[tuple[str, int]]]: ...
    def scaling(self, table: Table, weights: _Floats | None = None) -> tuple[_Floats, _Floats]: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def columns(self) -> list[tuple[str, str]]: ...
    @property
    def left_out(self) -> list[tuple[str, str]]: ...
    @property
    def missing(self) -> str: ...
    @property
    def gaps(self) -> list[str] | None: ...
    def notes(self, nrows: int) -> list[tuple[bool, str]]: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Encoder: ...

class FeatureModel:
    """Mean and shrunk covariance of the features."""

    def __init__(
        self,
        x: _Floats,
        shrinkage: float | str,
        *,
        errors: _Floats | None = None,
        sample_weight: _Floats | None = None,
        n_jobs: int | None = None,
    ) -> None: ...
    @property
    def means(self) -> _Floats: ...
    @property
    def shrinkage(self) -> float: ...
    @property
    def n_iter(self) -> int: ...
    def covariance(self) -> _Floats: ...
    def posterior(
        self, x: _Floats, errors: _Floats | None = None, n_jobs: int | None = None
    ) -> tuple[_Floats, _Integers, list[tuple[list[int], _Floats]]]: ...
    def averaged(
        self,
        coef: _Floats,
        intercept: _Floats,
        x: _Floats,
        *,
        errors: _Floats | None = None,
        base_rates: list[float] | None = None,
        n_jobs: int | None = None,
    ) -> _Floats: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> FeatureModel: ...

def far_rows(
    x: _Floats,
    y: _Integers,
    n_classes: int,
    share: float | str,
    weights: _Floats | None = None,
) -> tuple[_Floats, list[tuple[int, float, int, float | None]]]: ...
def fills_cells(fitted: Fitted) -> bool: ...
def filled(fitted: Fitted, x: _Floats | _Csr) -> _Floats: ...
def fitted_features(fitted: Fitted) -> FeatureModel | None: ...
def inexact_scores(
    fitted: Fitted,
    x: _Floats | _Csr,
    errors: _Floats,
    probabilities: bool,
    n_jobs: int | None = None,
) -> _Floats: ...

class Moments:
    """What ReGEC needs to know about the rows seen so far."""

    def __init__(
        self, x: _Floats, y: _Integers, n_classes: int, sample_weight: _Floats | None = None
    ) -> None: ...
    @property
    def counts(self) -> list[int]: ...
    def merge(self, other: Moments) -> None: ...
    def add(
        self, x: _Floats, y: _Integers, n_classes: int, sample_weight: _Floats | None = None
    ) -> None: ...
    def fit(self, params: Mapping[str, Any]) -> Fitted: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Moments: ...

def fit(
    method: str,
    params: Mapping[str, Any],
    x: _Floats | _Csr,
    y: _Integers,
    n_classes: int,
    *,
    sample_weight: _Floats | None = None,
    uncertainty: _Floats | tuple[_Integers, list[Any]] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    proof: bool = False,
    remedies: bool = True,
) -> Fitted: ...
def fit_path(
    method: str,
    params: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],
    x: _Floats | _Csr,
    y: _Integers,
    n_classes: int,
    *,
    sample_weight: _Floats | None = None,
    uncertainty: _Floats | tuple[_Integers, list[Any]] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Fitted]: ...
def make_outliers(
    n: int, p: int, sigma: float, kind: str, fraction: float, seed: int
) -> tuple[_Floats, _Integers]: ...
def make_label_noise(n: int, p: int, tau: float, seed: int) -> tuple[_Floats, _Integers]: ...
def make_separable_copies(seed: int) -> tuple[_Floats, _Integers]: ...
def perceptron_partial_fit(
    params: Mapping[str, Any],
    state: str | None,
    x: _Floats | _Csr,
    y: _Integers,
    n_classes: int,
    sample_weight: Sequence[float] | _Floats | None = None,
) -> Fitted: ...
def missing_score(
    fitted: Fitted,
    x: _Floats | _Csr,
    y: _Integers,
    values: Sequence[float] | _Floats,
    budget: float,
    *,
    attack: str = "exact",
    seed: int = 0,
    n_jobs: int | None = None,
) -> float: ...
def missing_report(
    fitted: Fitted, x: _Floats | _Csr, values: Sequence[float] | _Floats, budget: float
) -> dict[str, Any]: ...
def missing_risk_bound(
    fitted: Fitted,
    x: _Floats | _Csr,
    y: _Integers,
    values: Sequence[float] | _Floats,
    *,
    budget: float,
    margin: float,
    c: float,
    fit_intercept: bool,
    delta: float,
) -> float: ...
def certify(
    model: Fitted | tuple[_Floats, _Floats],
    x: _Floats | _Csr,
    *,
    uncertainty: _Floats | tuple[_Integers, list[Any]] | None = None,
    values: _Floats | None = None,
    witness: str | None = None,
    n_jobs: int | None = None,
) -> dict[str, Any]: ...

class Validation:
    """A validation under way."""

    def __init__(
        self,
        y: _Integers,
        n_classes: int,
        *,
        bootstrap: int,
        folds: int,
        repeats: int,
        curve_repeats: int,
        metric: str,
        seed: int,
        groups: Sequence[int] | None = None,
    ) -> None: ...
    @property
    def progress(self) -> tuple[int, int]: ...
    def open_jobs(self) -> list[tuple[int, list[int], list[int]]]: ...
    def add(
        self,
        job: int,
        predicted: _Integers,
        scores: _Floats | None = None,
        probabilities: _Floats | None = None,
    ) -> None: ...
    def add_failure(self, job: int, why: str) -> None: ...
    def run(
        self,
        method: str,
        params: Mapping[str, Any],
        x: _Floats | _Csr,
        y: _Integers,
        n_classes: int,
        *,
        n_jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None: ...
    def finish(self, *, n_jobs: int | None = None) -> str: ...

def wrong_labels(scores: _Floats, y: _Integers) -> _Floats: ...
def audit(
    method: str | None,
    params: Mapping[str, Any],
    x: _Floats | _Csr,
    y: _Integers,
    n_classes: int,
    *,
    repeats: int,
    planted: int,
    precision: float,
    seed: int,
    groups: _Integers | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> str: ...
def subsets(y: _Integers, fractions: Sequence[float], seed: int) -> list[list[int]]: ...
def sigma_bar(coefficients: _Floats) -> tuple[float, float]: ...
def make_ndc(
    n: int, p: int, centers: int, expand: float, seed: int
) -> tuple[_Floats, list[int]]: ...
def summary(
    method: str,
    params: Mapping[str, Any],
    classes: list[str],
    features: list[str],
    fitted: Fitted,
    *,
    claimed: bool = False,
    training: tuple[_Floats | _Csr, _Integers, _Floats | None] | None = None,
    n_bootstrap: int = 0,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[dict[str, Any], str, str]: ...
def trust(
    method: str,
    params: Mapping[str, Any],
    classes: list[str],
    features: list[str],
    fitted: Fitted,
    x: _Floats | _Csr,
    *,
    training: tuple[_Floats | _Csr, _Integers, _Floats | None] | None = None,
    n_refits: int = 0,
    errors: list[float] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> dict[str, Any]: ...
def calibration_map(
    kind: str, scores: _Floats, positive: _Floats, weights: _Floats, new: _Floats
) -> _Floats: ...
def check_params(method: str, params: Mapping[str, Any]) -> None: ...
def defaults(method: str) -> dict[str, Any]: ...
def methods() -> list[tuple[str, str, str, bool]]: ...
def demo_csv() -> str: ...
def command_line(args: list[str]) -> int: ...
def save(
    path: str,
    method: str,
    params: Mapping[str, Any],
    classes: list[str | bool | int | float],
    feature_names: list[str] | None,
    fitted: Fitted,
    *,
    encoder: Encoder | None = None,
    target: str | None = None,
    scaling: tuple[_Floats, _Floats] | None = None,
    proof: bool = False,
) -> None: ...
def load(path: str) -> dict[str, Any]: ...
def verify(
    method: str,
    params: Mapping[str, Any],
    fitted: Fitted,
    x: _Floats | _Csr,
    y: _Integers,
    *,
    sample_weight: _Floats | None = None,
    tol: float | None = None,
) -> dict[str, Any]: ...
def robust_choice(
    judged: _Floats,
    train: _Floats,
    holdout: _Floats,
    n_baseline: int,
    theta_ratio: float,
    theta_slack: float,
    theta_gain: float,
) -> tuple[int, dict[str, list[float]]]: ...

class Session:
    """A comparison under way."""

    def __init__(
        self,
        x: _Floats | _Csr,
        y: _Integers,
        features: list[str],
        classes: list[str],
        name: str,
        seed: int,
    ) -> None: ...
    @property
    def repeats(self) -> int: ...
    def run(
        self,
        repeats: int | None,
        budget: float,
        *,
        n_jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None: ...
    def limit(self, without: list[str], max_rows: int | None = None) -> None: ...
    def add(
        self,
        include: list[str],
        filled: tuple[list[tuple[str, int]], str] | None = None,
    ) -> None: ...
    def add_guest(self, name: str, title: str, cells: str) -> None: ...
    @property
    def trials(self) -> list[tuple[str, list[float]]]: ...
    def rows(self, repeat: int) -> tuple[list[int], list[int]]: ...
    def choose(
        self,
        metric: str | None = None,
        threats: list[str] | None = None,
        groups: list[int] | None = None,
        few_levels: bool = False,
    ) -> None: ...
    @property
    def few_levels(self) -> bool: ...
    @property
    def left_out(self) -> list[str]: ...
    def finish(
        self, command: str, *, ids: list[str] | None = None, n_jobs: int | None = None
    ) -> Comparison: ...

class Comparison:
    def html(self, tripod: bool = False) -> str: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Comparison: ...

def write_text(path: str, text: str) -> None: ...
def told(
    x: Any,
    y: Any,
    n_classes: int,
    expected: tuple[float, float, float],
    repeats: int,
    seed: int,
    *,
    n_jobs: int | None = None,
    progress: Any = None,
) -> str: ...
def threats() -> list[tuple[str, str, str, list[float]]]: ...
def check_level(threat: str, level: float) -> None: ...
def stress_split(
    y: _Integers, repeat: int, seed: int, groups: list[int] | None = None
) -> tuple[_Integers, _Integers]: ...
def metrics() -> list[tuple[str, str, bool | None, str]]: ...
def measure(
    names: list[str],
    y: _Integers,
    predicted: _Integers,
    n_classes: int,
    *,
    scores: _Floats | None = None,
    probabilities: _Floats | None = None,
    sample_weight: list[float] | None = None,
    threshold: float | None = None,
    costs: tuple[float, float] | None = None,
) -> list[tuple[str, float | None, str | None]]: ...
def together(
    x: _Floats | _Csr, y: _Integers, n_classes: int, groups: _Integers | None = None
) -> tuple[list[int] | None, str | None]: ...
def stress_seed(seed: int, repeat: int, threat: str) -> int: ...
def column_scaling(x: _Floats) -> tuple[list[float], list[float]]: ...
def few_samples(y: _Integers, level: float, seed: int) -> _Integers: ...
def label_noise(y: _Integers, n_classes: int, level: float, seed: int) -> _Integers: ...
def outliers(
    x: _Floats, y: _Integers, n_classes: int, level: float, kind: str, seed: int
) -> tuple[_Floats, _Integers]: ...
def unlucky_split(x: _Floats, y: _Integers, level: float, seed: int) -> _Integers: ...
def damage_rows(
    threat: str,
    x: _Floats,
    means: Sequence[float],
    scales: Sequence[float],
    level: float,
    seed: int,
) -> _Floats: ...
def spoiled(level: float, p: int) -> int: ...
def adversarial_deletion(
    x: _Floats,
    y: _Integers,
    coef: _Floats,
    intercept: Sequence[float],
    means: Sequence[float],
    values: Sequence[float],
    budget: float,
    attack: str,
) -> _Floats: ...

class Driver:
    """A fit over partitions: asks, and takes the merged answers of all partitions in."""

    def __init__(
        self,
        method: str,
        params: Mapping[str, Any],
        checkpoint: bytes | None = None,
        curvature_rows: int | None = None,
        rows: int | None = None,
    ) -> None: ...
    @property
    def passes(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def rows(self) -> int | None: ...
    def next(self, message: bytes | None = None) -> tuple[bytes | None, Fitted | None]: ...
    def checkpoint(self) -> bytes | None: ...
    def proof(self) -> bytes | None: ...

class ScanRows:
    """The rows of files as features and classes, read in passes."""

    def __init__(
        self,
        paths: Sequence[str],
        method: str,
        target: str,
        *,
        columns: Sequence[str] | None = None,
        categorical: Sequence[str] = ...,
        sample_weight: str | None = None,
        errors: Sequence[str] = ...,
        impute: str | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        keep: bool = True,
    ) -> None: ...
    @property
    def classes(self) -> list[Any]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...
    def look(self, ask: bytes) -> bytes: ...

def look(
    ask: bytes,
    parts: Sequence[
        tuple[int, _Floats | _Csr, _Integers, _Floats | None, Sequence[str] | None, _Floats | None]
    ],
    size: int,
) -> list[bytes]: ...
def proof_ask(proof: bytes) -> bytes: ...
def proof_bounds(proof: bytes, message: bytes) -> list[tuple[float, float]]: ...
def in_sequence(ask: bytes) -> bool: ...
def ask_after(ask: bytes, message: bytes) -> bytes: ...
def merge_messages(messages: Sequence[bytes]) -> bytes: ...
def message_classes(message: bytes) -> list[str]: ...
def reorder_classes(message: bytes, order: Sequence[int]) -> bytes: ...
