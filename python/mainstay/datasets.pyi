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

def load_demo(*, return_X_y: bool = ..., as_frame: bool = ...) -> Any: ...
def make_label_noise(
    n: int = ...,
    p: int = ...,
    tau: float = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[_Floats, _Labels]: ...
def make_ndc(
    n_samples: int = ...,
    n_features: int = ...,
    *,
    n_centers: int = ...,
    expand_factor: float = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[_Floats, _Labels]: ...
def make_outliers(
    n: int = ...,
    p: int = ...,
    sigma: float = ...,
    kind: Literal["none", "clustered", "spread"] = ...,
    fraction: float = ...,
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[_Floats, _Labels]: ...
def make_separable_copies(
    random_state: int | np.random.RandomState | None = ...,
) -> tuple[_Floats, _Labels]: ...
