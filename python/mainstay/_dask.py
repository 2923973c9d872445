"""Dask frames and arrays: fitted over their partitions, predicted lazily.

Nothing is scattered and no socket is opened: there are only tasks with a recipe, so that Dask can
do again what a lost worker had done. The current client is asked for at fit time and never stored.
``dask`` is imported only when its data arrive.
"""

from functools import partial

import numpy as np

from mainstay import _partitioned
from mainstay._dask_engine import _MANY, Engine
from mainstay._dask_parquet import parquet_rows
from mainstay._dask_recipes import Blocks, Recipe, lone_task, recipe

# Bytes of blocks in memory that travel with the tasks that look at them: a task for each would
# cost more.
_CARRIED = 32e6
_LABEL, _WEIGHT = "__mainstay_label__", "__mainstay_weight__"


def is_dask(data):
    """Whether ``data`` is a Dask collection, without importing dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "npartitions")


def refuse(*given):
    """Refuse Dask data: they become an array in memory only where the user says so."""
    if any(is_dask(data) for data in given):
        raise TypeError(
            "this takes no Dask data: pass X.compute() if the rows fit into memory; fit, predict, "
            "predict_proba and decision_function of the estimators listed under scale in the "
            "documentation take X and y as Dask data"
        )


def fit(model, X, y, sample_weight=None, uncertainty=None):
    """Fit ``model`` over the partitions of Dask collections.

    ``uncertainty`` of a frame names its columns of errors: one of radii, or a list with a column of
    semi-axes for every feature, in the order of the features. That of an array is a Dask array.
    """
    engine, columns, label_dtype = _opened(X, y, sample_weight, uncertainty)
    for name in ("feature_names_in_", "n_features_in_"):
        if hasattr(model, name):
            delattr(model, name)
    model.n_features_in_ = columns if isinstance(columns, int) else len(columns)
    if not isinstance(columns, int) and all(isinstance(name, str) for name in columns):
        model.feature_names_in_ = np.array(columns, dtype=object)
    _partitioned.fit(model, engine, label_dtype)
    model._warn()
    return model


def bounds(model, X, y, sample_weight=None):
    """Upper and lower bound of every problem of a fit, from one pass over the rows."""
    return _partitioned.bounds(model, _opened(X, y, sample_weight, None)[0])


def _opened(X, y, sample_weight, uncertainty):
    """Make an engine for these data; also returns their columns and the type of the labels."""
    read = _frame if _is_frame(X) else _array
    parts, columns, label_dtype = read(X, y, sample_weight, uncertainty)
    features = columns if isinstance(columns, int) else len(columns)
    # Errors are at most as many numbers as features.
    numbers = features * (1 if uncertainty is None else 2)
    engine = Engine(parts, numbers, None if _is_frame(X) else X.shape[0])
    return engine, columns, label_dtype


def lazy(model, method, X):
    """``model.method`` of every partition of ``X``, as a Dask collection."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if _is_frame(X):
        return _lazy_frame(model, method, X)
    meta = getattr(model, method)(np.zeros((1, X.shape[1])))
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    ask = _Ask(model, method)
    if meta.ndim == 1:
        return X.map_blocks(ask, dtype=meta.dtype, drop_axis=1, meta=meta[:0])
    chunks = (X.chunks[0], (meta.shape[1],))
    return X.map_blocks(ask, dtype=meta.dtype, chunks=chunks, meta=meta[:0])


def _lazy_frame(model, method, X):
    names = getattr(model, "feature_names_in_", None)
    if names is not None and set(names) <= set(X.columns):
        X = X[list(names)]
    ask = _FrameAsk(model, method)
    return X.map_partitions(ask, meta=ask(X._meta_nonempty).iloc[:0])


def certify(model, X, ids, **options):
    """Certificates of every partition of ``X``, as a Dask frame."""
    uncertainty = options["uncertainty"]
    if isinstance(uncertainty, tuple) or np.ndim(uncertainty) > 2:
        raise ValueError(
            "Dask data take one uncertainty for all rows: a radius, semi-axes of shape (p,) or a "
            "matrix (p, p); certify partitions by themselves for an uncertainty per row"
        )
    if ids is not None and not set(np.atleast_1d(ids).tolist()) <= set(getattr(X, "columns", ())):
        raise ValueError(f"`ids` = {ids!r}: for Dask data these are names of columns of X")
    if not _is_frame(X):
        import dask.dataframe as dd

        X = dd.from_dask_array(X.rechunk({1: -1}) if X.numblocks[1] > 1 else X)
    ask = _Certify(model, ids, options)
    return X.map_partitions(ask, meta=ask(X._meta_nonempty).iloc[:0])


class _Certify:
    """``certify`` for one partition of a frame, empty ones too."""

    def __init__(self, model, ids, options):
        self.model, self.ids, self.options = model, ids, options

    def __call__(self, X):
        import pandas as pd

        from mainstay import certify

        if not len(X):
            return self(_one_row(X)).iloc[:0]
        options, shape = dict(self.options), self.options["uncertainty"]
        if np.ndim(shape):
            options["uncertainty"] = (
                np.zeros(len(X), dtype=np.int64),
                [np.asarray(shape).tolist()],
            )
        names = getattr(self.model, "feature_names_in_", None)
        rows = X if names is None or not set(names) <= set(X.columns) else X[list(names)]
        named = all(isinstance(name, str) for name in rows.columns)
        found = certify(self.model, rows if named else rows.to_numpy(), **options)
        ids = [] if self.ids is None else np.atleast_1d(self.ids).tolist()
        return pd.concat([X[ids], found.set_axis(X.index)], axis=1)


def _one_row(X):
    """Make a row of zeros with the columns of ``X``."""
    import pandas as pd

    return pd.DataFrame(np.zeros((1, X.shape[1])), columns=X.columns)


class _Ask:
    """A method of a model, for one block; empty blocks have answers too."""

    def __init__(self, model, method):
        self.model, self.method = model, method

    def __call__(self, X):
        if len(X):
            return getattr(self.model, self.method)(X)
        rows = np.zeros((1, X.shape[1]))
        return getattr(self.model, self.method)(rows)[:0]


class _FrameAsk(_Ask):
    """The same for one partition of a frame, whose index stays."""

    def __call__(self, X):
        import pandas as pd

        if len(X):
            found = getattr(self.model, self.method)(X)
        else:
            found = getattr(self.model, self.method)(_one_row(X))[:0]
        if found.ndim == 1:
            return pd.Series(found, index=X.index)
        return pd.DataFrame(found, index=X.index, columns=self.model.classes_.tolist())


def _is_frame(X):
    return hasattr(X, "map_partitions") and hasattr(X, "columns")


def _frame(X, y, sample_weight, uncertainty):
    """Partitions, columns and the type of the labels of a frame."""
    columns = list(X.columns)
    errors = _error_columns(columns, uncertainty)
    # Joined before blocks are taken: apart, rows of X and y might be cut differently.
    added = {}
    for given, name in ((y, _LABEL), (sample_weight, _WEIGHT)):
        if isinstance(given, str):
            if given not in columns:
                raise ValueError(f"there is no column {given!r}; the columns are {columns}")
            columns.remove(given)
        elif given is not None:
            _check_series(given, "y" if name == _LABEL else "sample_weight")
            added[name] = given
    frame = X.assign(**added) if added else X
    label = y if isinstance(y, str) else _LABEL
    weight = sample_weight if isinstance(sample_weight, str) else _WEIGHT
    weight = None if sample_weight is None else weight
    if errors is not None and len(errors) not in (1, len(columns)):
        raise ValueError(
            f"`uncertainty` names {len(errors)} columns for {len(columns)} features: name one "
            "column of radii, or one of semi-axes for every feature, in the order of the features"
        )
    _check_columns(X, columns + (errors or []))
    dtype = frame._meta[label].dtype
    dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(object)
    names = columns, label, weight, errors
    arrays = frame.map_partitions(_arrays, *names, meta=(None, object), enforce_metadata=False)
    # The arrays of a partition come from the same task that reads it.
    quick = partial(parquet_rows, arrays=_arrays, names=names)
    return [recipe(part, quick) for part in arrays.to_delayed()], columns, dtype


def _arrays(part, columns, label, weight, errors):
    """Numbers, labels, weights and errors of one partition of a frame."""
    X = np.ascontiguousarray(_numbers(part, columns))
    y = part[label].to_numpy()
    weights = None if weight is None else _numbers(part, [weight]).ravel()
    return X, y, weights, None if errors is None else _numbers(part, errors)


def _numbers(part, columns):
    """Columns of a frame as one array, without a copy where they lie side by side."""
    at = part.columns.get_indexer_for(columns)
    if len(at) == len(columns) and np.array_equal(at, np.arange(at[0], at[0] + len(at))):
        part = part.iloc[:, at[0] : at[0] + len(at)]
    else:
        part = part[columns]
    if all(isinstance(dtype, np.dtype) for dtype in part.dtypes):
        return part.to_numpy(dtype=np.float64)
    return part.to_numpy(dtype=np.float64, na_value=np.nan)


def _error_columns(columns, uncertainty):
    """Names of the columns of errors, which are no features: they are taken out of ``columns``."""
    if uncertainty is None:
        return None
    names = [uncertainty] if isinstance(uncertainty, str) else uncertainty
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "X is a Dask frame: `uncertainty` names columns of X, one of radii or a list with one "
            "of semi-axes for every feature; a matrix per row has no fit over partitions"
        )
    for name in names:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; the columns are {columns}")
        columns.remove(name)
    return list(names)


def _check_series(given, name):
    if not is_dask(given) or not hasattr(given, "map_partitions"):
        raise TypeError(
            f"X is a Dask frame, but `{name}` is of type {type(given).__name__}: "
            "pass the name of a column or a Dask series with the same partitions"
        )


def _check_columns(X, columns):
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    for name in columns:
        dtype = X._meta[name].dtype
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)):
            raise ValueError(
                f"column {name!r} is of type {dtype}: encode it as numbers first, or leave it out"
            )


def _array(X, y, sample_weight, uncertainty):
    """Partitions, number of columns and the type of the labels of an array."""
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; rows and columns are needed")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    given = {"y": y, "sample_weight": sample_weight, "uncertainty": uncertainty}
    for name, other in given.items():
        if other is None:
            continue
        if not is_dask(other) or not hasattr(other, "numblocks"):
            kind = type(other).__name__
            raise TypeError(f"X is a Dask array, but `{name}` is of type {kind}: pass a Dask array")
        if name == "uncertainty" and len(other.chunks) == 2:
            other = uncertainty = other.rechunk({1: -1})
        elif len(other.chunks) != 1:
            raise ValueError(f"`{name}` has {len(other.chunks)} dimensions; 1 is needed")
        if not _same_blocks(X.chunks[0], other.chunks[0]):
            raise ValueError(
                f"X has blocks of {_shown(X.chunks[0])} rows, `{name}` of "
                f"{_shown(other.chunks[0])}: rechunk them alike, "
                f"say by {name}.rechunk(X.chunks[0])"
            )
    given = {"X": X, "y": y, "sample_weight": sample_weight, "uncertainty": uncertainty}
    blocks = [_array_blocks(name, array, X.numblocks[0]) for name, array in given.items()]
    return [_together(part) for part in zip(*blocks, strict=True)], X.shape[1], y.dtype


def _together(part):
    """Make the blocks of a partition one thing for Dask, where each needs one task at most.

    Made apart they might lie with different workers, and all of X would travel.
    """
    ready = [block is None or isinstance(block, np.ndarray) for block in part]
    pairs = zip(part, ready, strict=True)
    blocks = [block if known else lone_task(block) for block, known in pairs]
    lost = any(block is None and not known for block, known in zip(blocks, ready, strict=True))
    return part if lost else Recipe(Blocks(*blocks))


def _array_blocks(name, array, many):
    """Blocks of an array, or as many Nones."""
    if array is None:
        return [None] * many
    for optimized in (True, False):
        # Optimised, an array that lies with the workers (`persist`) has no blocks in this Dask.
        blocks = array.to_delayed(optimize_graph=optimized).ravel().tolist()
        graph = dict(blocks[0].dask)
        lost = any(block.key not in graph for block in blocks)
        if not lost:
            break
    if lost:
        raise ValueError(
            f"Dask has lost blocks of `{name}` (arrays made from columns of a frame that was read "
            'from files: dask#12193); fit the frame itself, as in fit(frame, "label"), or call '
            "frame.persist() before arrays are made of it"
        )
    if many > _MANY and array.nbytes <= _CARRIED:
        return [_in_memory(graph, block) for block in blocks]
    return blocks


def _in_memory(graph, block):
    """Replace a block that is an array already by that array."""
    node = graph[block.key]
    value = getattr(node, "value", node)
    return value if isinstance(value, np.ndarray) else block


def _same_blocks(a, b):
    """Whether two lists of block lengths agree as far as they are known; the rest shows later."""
    return len(a) == len(b) and all(m == n or m != m or n != n for m, n in zip(a, b, strict=True))


def _shown(lengths):
    text = ", ".join(str(length) for length in lengths[:4])
    return text if len(lengths) <= 4 else f"{text}, ..."
