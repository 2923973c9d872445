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

_Floats = npt.NDArray[np.float64]
_Labels = npt.NDArray[Any]
_Rows = Any  # array-like, scipy sparse matrix, or a pandas, polars or pyarrow frame

def adversarial_deletion(
    X: _Rows,
    y: npt.ArrayLike,
    model: Any,
    level: float,
    *,
    values: npt.ArrayLike | None = ...,
    attack: Literal["exact", "greedy"] = ...,
    reference: npt.ArrayLike | None = ...,
) -> _Floats: ...
def corrupted_features(
    X: _Rows,
    level: float,
    *,
    reference: npt.ArrayLike | None = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> _Floats: ...
def few_samples(
    X: _Rows,
    y: npt.ArrayLike,
    level: float,
    *,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[Any, _Labels]: ...
def label_noise(
    y: npt.ArrayLike, level: float, *, random_state: int | np.random.RandomState | None = ...
) -> _Labels: ...
def measurement_error(
    X: _Rows,
    level: float,
    *,
    reference: npt.ArrayLike | None = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> _Floats: ...
def missing_features(
    X: _Rows,
    level: float,
    *,
    reference: npt.ArrayLike | None = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> _Floats: ...
def outliers(
    X: _Rows,
    y: npt.ArrayLike,
    level: float,
    *,
    kind: Literal["both", "clustered", "spread"] = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[Any, _Labels]: ...
def unlucky_split(
    X: _Rows,
    y: npt.ArrayLike,
    level: float,
    *,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[Any, _Labels]: ...
