"""Frames and arrays as raw columns for the compiled encoder."""

import numbers
import re
import warnings
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from mainstay import _core


def is_frame(X):
    """Whether X has named columns: pandas, or anything with Arrow's C stream interface."""
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "iloc") and hasattr(X, "columns"))


def index_of(X):
    """Row labels of a pandas frame, otherwise None."""
    index = getattr(X, "index", None)
    return index if hasattr(X, "iloc") and hasattr(index, "get_indexer") else None


def frame_names(X):
    """Column names of a frame, in order."""
    names = getattr(X, "columns", None)
    if names is None or (len(names) and not isinstance(names[0], (str, numbers.Number, tuple))):
        names = getattr(X, "column_names", None)  # pyarrow: `columns` are the columns themselves
    if names is None:
        names = table_of(X).names
    return [str(name) for name in names]


@contextmanager
def cells_by_name(X):
    """Call the column of a cell that stops a fit by its name, where X has names."""
    try:
        yield
    except ValueError as error:
        found = re.match(r"row (\d+), column (\d+): (NaN|inf|-inf) ", str(error))
        if found is None or not is_frame(X):
            raise
        row, column, value = found.groups()
        raise ValueError(_bad_cell(X, row, int(column), value)) from error


def _bad_cell(X, row, column, value):
    name = frame_names(X)[column]
    fill = " (mainstay.GaussianImputer())" if value == "NaN" else ""
    return f"row {row}, column {name!r}: {value} is not a finite number; drop or impute it{fill}"


def not_finite(X, values, allow_nan):
    """Name the first cell of a frame whose ``values`` are not all finite."""
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    row, column = np.argwhere(bad)[0]
    value = values[row, column]
    return _bad_cell(X, row, column, "NaN" if np.isnan(value) else str(value))


def not_numbers(X):
    """Name the first column of a frame that holds something else than numbers."""
    if not is_frame(X) or len(getattr(X, "shape", ())) != 2:
        return None
    names = frame_names(X)
    if len(set(names)) < len(names):
        return None
    for j, name in enumerate(names):
        values = np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[name])
        if values.dtype.kind in "iufb":
            continue
        strange = next((cell for cell in values if not _converts(cell)), None)
        if strange is not None:
            return (
                f"column {name!r} holds {str(strange)!r}, which is not a number: "
                "mainstay.TableEncoder() as the first step of a pipeline makes features of words, "
                "dates and categories"
            )
    return None


def _converts(cell):
    """Whether numpy takes a cell as a number: words that are written as one, too, but no times."""
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return False
    if isinstance(cell, numbers.Complex):
        return True  # scikit-learn refuses complex numbers, and says so
    try:
        float(cell)
    except (TypeError, ValueError):
        return _is_gap(cell)
    return True


def table_of(X, names=None):
    """Raw columns of a frame, or of an array whose columns are called ``names``."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return _pandas_table(X)
    if hasattr(X, "__arrow_c_stream__"):
        return _core.Table.from_arrow(X.__arrow_c_stream__())
    return _array_table(X, names)


def _pandas_table(X):
    names, columns, categorical = [], [], []
    for j, label in enumerate(X.columns):
        name, series = str(label), X.iloc[:, j]
        if getattr(series.dtype, "name", "") == "category":
            categorical.append(name)
        names.append(name)
        columns.append(_pandas_column(name, series))
    if not names:
        raise ValueError("X has no columns")
    return _core.Table.from_columns(names, columns, categorical)


def _pandas_column(name, series):
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    text = str(dtype)
    if text != "category":
        if kind in "iuf":
            return np.ascontiguousarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind == "M":
            return _coded(series.isna().to_numpy(), series.map(_iso, na_action="ignore").to_numpy())
        if kind in "cm":
            raise ValueError(
                f"column `{name}` has type {dtype}: Complex data not supported, nor are durations; "
                "convert it to numbers"
            )
    try:
        codes, values = series.factorize()
    except TypeError:  # cells that cannot be told apart by hashing: the message names one
        return _object_column(name, series.to_numpy(dtype=object))
    return _words(name, np.asarray(codes, dtype=np.int64), list(values))


def _iso(moment):
    """Write a moment as a clock on the wall shows it."""
    return moment.replace(tzinfo=None).isoformat()


def _coded(gone, cells):
    places = {}
    codes = [
        -1 if g else places.setdefault(c, len(places)) for g, c in zip(gone, cells, strict=True)
    ]
    return np.array(codes, dtype=np.int64), list(places)


def _words(name, codes, values):
    """Codes into distinct values, as numbers where all of them are, otherwise as words."""
    plain = [v for v in values if not _is_gap(v)]
    if plain and all(_is_number(v) for v in plain):
        cells = np.array([np.nan if _is_gap(v) else float(v) for v in values] + [np.nan])
        return np.ascontiguousarray(cells[codes])
    words, places, moved = [], {}, []
    for value in values:
        word = None if _is_gap(value) else _word(name, value)
        if not word:
            moved.append(-1)
            continue
        if word not in places:
            places[word] = len(words)
            words.append(word)
        moved.append(places[word])
    return np.array([*moved, -1], dtype=np.int64)[codes], words


def _is_gap(value):
    return value is None or _is_nan(value)


def _is_nan(value):
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA says neither yes nor no
        return type(value).__name__ == "NAType"


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _word(name, value):
    """Write a cell as a CSV file would hold it."""
    if isinstance(value, bytes):
        raise ValueError(f"column `{name}` holds bytes: decode them to text first")
    if isinstance(value, (list, dict, set, tuple, np.ndarray)):
        raise ValueError(
            f"column `{name}` holds a {type(value).__name__}; numbers, booleans, text and dates "
            "can be encoded"
        )
    if isinstance(value, numbers.Real) and float(value).is_integer():
        return str(value) if isinstance(value, (bool, np.bool_)) else str(int(value))
    if hasattr(value, "isoformat"):
        return _iso(value) if hasattr(value, "tzinfo") else value.isoformat()
    return str(value).strip()


def _array_table(X, names):
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but TableEncoder encodes tables; sparse rows need no encoding"
        )
    X = as_array(X)
    if np.iscomplexobj(X):
        raise ValueError("Complex data not supported: X holds complex numbers")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}. Reshape your "
            "data: one row per sample, one column per feature"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    if X.dtype.kind in "iuf":
        numbers_ = np.asarray(X, dtype=np.float64)
        columns = [np.ascontiguousarray(numbers_[:, j]) for j in range(X.shape[1])]
    else:
        columns = [_object_column(name, X[:, j]) for j, name in enumerate(names)]
    return _core.Table.from_columns(list(names), columns)


def as_array(X):
    """Make an array of lists that keeps what every cell was."""
    if hasattr(X, "dtype"):
        return X
    plain = np.asarray(X)
    return plain if plain.dtype.kind in "biufcO" else np.array(X, dtype=object)


def _object_column(name, cells):
    cells = cells.tolist()
    places = {}
    try:
        # The type is part of the key: 1, 1.0 and True are equal but not the same cell.
        codes = [places.setdefault((type(c), c), len(places)) for c in cells]
    except TypeError:
        odd = next(c for c in cells if getattr(c, "__hash__", None) is None)
        _word(name, odd)
        raise TypeError(
            f"column `{name}` holds a {type(odd).__name__}: argument must be a string or a number"
        ) from None
    return _words(name, np.array(codes, dtype=np.int64), [value for _, value in places])


def encoded(X, encoder=None):
    """Rows of numbers and the names of their columns, from whatever a user calls a table.

    Frames go through ``encoder``, by default one that fills missing numbers with their mean and
    says how many; arrays are as they are.
    """
    if not is_frame(X):
        return X, None
    from sklearn.base import clone

    from mainstay._encoder import TableEncoder

    if encoder is None:
        encoder = TableEncoder(impute="mean")
        gone = table_of(X).gaps()
        if any(gone):
            columns = sum(1 for count in gone if count)
            warnings.warn(
                f"{sum(gone)} cells in {columns} columns have no value and were filled with the "
                "mean, or the most frequent category, of their column; pass "
                "encoder=mainstay.TableEncoder(impute=...) for another rule",
                UserWarning,
                stacklevel=4,
            )
    else:
        encoder = clone(encoder)
    encoder.set_output(transform="default")
    rows = encoder.fit_transform(X)
    return rows, [str(name) for name in encoder.get_feature_names_out()]


def is_plain(X):
    """Whether every column of a pandas frame holds numbers and none is missing."""
    kinds = all(getattr(dtype, "kind", "O") in "iuf" for dtype in X.dtypes)
    return kinds and not X.isna().to_numpy().any()


def row_names(X, ids):
    """Find what identifies every row: columns of ``X`` called ``ids``, or one entry per row."""
    if ids is None:
        return {}
    if isinstance(ids, str) or (len(ids) and all(isinstance(name, str) for name in ids)):
        names = [ids] if isinstance(ids, str) else list(ids)
        if is_frame(X) and set(names) <= set(frame_names(X)):
            table = table_of(X)
            return {name: np.array(table.texts(name), dtype=object) for name in names}
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(ids, str) or len(ids) != n:
        what = repr(ids) if isinstance(ids, str) else f"{len(ids)} entries"
        raise ValueError(
            f"`ids` = {what}: must name columns of X or have one entry for each of {n} rows"
        )
    return {"id": np.asarray(ids)}


def drop_columns(X, names):
    """Leave the columns called ``names`` out of a frame."""
    if not names:
        return X
    if hasattr(X, "iloc"):
        return X.drop(columns=[c for c in X.columns if str(c) in names])
    kept = [name for name in frame_names(X) if name not in names]
    return X.select(kept)
