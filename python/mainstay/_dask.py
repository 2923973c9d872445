"""Dask frames and arrays: fitted over their partitions, predicted lazily.

Nothing is scattered and no socket is opened: there are only tasks with a recipe, so that Dask can
do again what a lost worker had done. The current client is asked for at fit time and never stored.
``dask`` is imported only when its data arrive.
"""

# Longer than others: frames, arrays and the engine that both share belong together.

import os
import time

import numpy as np

from mainstay import _partitioned
from mainstay._partitioned import FAN

# Partitions beyond which several share a task before it is known how many rows they hold.
_MANY = 128
# Bytes of blocks in memory that travel with the tasks that look at them: a task for each would
# cost more.
_CARRIED = 32e6
# Tasks of a pass for each thread: more would only keep the scheduler busy.
_TASKS_PER_THREAD = 2
# Bytes of rows that a task may hold.
_TASK_BYTES = 256e6
# Part of the memory of all workers that the rows may take to be kept there between passes.
_KEEP = 0.3
# Seconds spent at most to find out which partition cannot be had.
_SEARCH = 30
# Errors of the cluster itself, which no partition explains.
_OF_DASK = ("KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError")
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
    read = _frame if _is_frame(X) else _array
    parts, columns, label_dtype = read(X, y, sample_weight, uncertainty)
    for name in ("feature_names_in_", "n_features_in_"):
        if hasattr(model, name):
            delattr(model, name)
    model.n_features_in_ = columns if isinstance(columns, int) else len(columns)
    if not isinstance(columns, int) and all(isinstance(name, str) for name in columns):
        model.feature_names_in_ = np.array(columns, dtype=object)
    # Errors are at most as many numbers as features.
    numbers = model.n_features_in_ * (1 if uncertainty is None else 2)
    engine = _Engine(parts, numbers, None if _is_frame(X) else X.shape[0])
    _partitioned.fit(model, engine, label_dtype)
    model._warn()
    return model


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
    parts = [(part, columns, label, weight, errors) for part in frame.to_delayed()]
    return parts, columns, dtype


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
    blocks = zip(*blocks, strict=True)
    return [(block, None, None, None, None) for block in blocks], X.shape[1], y.dtype


def _array_blocks(name, array, many):
    """Blocks of an array, or as many Nones."""
    if array is None:
        return [None] * many
    blocks = array.to_delayed().ravel().tolist()
    graph = blocks[0].dask
    if any(block.key not in graph for block in blocks):
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


class _Engine:
    """Puts asks to partitions that live in Dask.

    A task looks at neighbouring partitions and merges their answers as far up the tree as it holds
    whole branches. However partitions are shared out, the tree is the same, and so are the bits.
    """

    def __init__(self, parts, columns, rows=None):
        """``rows`` tells how many there are, where that is known before the first look."""
        import dask

        self.dask, self.columns, self.parts = dask, columns, parts
        self.known = rows is not None and rows == rows
        if self.known:
            self._settle(rows)
        else:
            self._share_out(1, 0) if len(parts) <= _MANY else self._share_out(FAN, 1)

    def _share_out(self, size, depth):
        """Give ``size`` partitions to each task, which merges ``depth`` levels of the tree."""
        self.size, self.depth = size, depth
        read, self.units = self.dask.delayed(_blocks, pure=False), []
        for first in range(0, len(self.parts), size):
            some = self.parts[first : first + size]
            self.units.append(read(first, [part[0] for part in some], some[0][1:]))

    def counted(self, rows):
        """Settle what depends on the number of rows, once."""
        if not self.known:
            self._settle(rows)

    def _settle(self, rows):
        """Share the partitions out; keep their rows with the workers, if they have the memory."""
        client = _client()
        total = rows * (self.columns + 2) * 8
        tasks = _TASKS_PER_THREAD * _threads(client)
        self._share_out(*_bundle(len(self.parts), tasks, total))
        if total > _KEEP * _memory(client):
            return
        if client is None:
            self.units = list(self.dask.persist(*self.units))
        else:
            self.units = client.persist(self.units, retries=3)

    def run(self, ask, classes):
        """Put ``ask`` to all partitions and merge their answers."""
        delayed = self.dask.delayed
        # A task of its own: it is sent once to every worker, not once for every partition.
        state = delayed(_keep, pure=False)(ask, classes)
        if _partitioned.in_sequence(ask):
            follow = delayed(_follow, pure=False)
            for unit in self.units:
                state = follow(unit, state)
            return self._result(delayed(_last, pure=False)(state))
        look, join = delayed(_look, pure=False), delayed(_join, pure=False)
        level = [look(unit, state, self.depth) for unit in self.units]
        branch, many = FAN**self.depth, len(self.parts)
        held = [-(-min(self.size, many - i) // branch) for i in range(0, many, self.size)]
        while sum(held) > 1:
            groups = _groups(held)
            level = [join([level[i] for i in some], cut) for some, cut in groups]
            held = [1] * len(level)
        return self._result(level[0])[0]

    def _result(self, task):
        client = _client()
        try:
            if client is None:
                return self.dask.compute(task)[0]
            return client.compute(task, retries=3).result()
        except Exception as error:
            if type(error).__name__ in _OF_DASK or str(error).startswith("partition "):
                raise
            index = self._failing(client)
            if index is None:
                raise
            text = f"partition {index}: {type(error).__name__}: {error}"
            raise RuntimeError(text) from error

    def _failing(self, client):
        """Find a partition that cannot be had; None if there is none, or not in time."""
        have, end = self.dask.delayed(_nothing, pure=False), time.monotonic() + _SEARCH
        tasks = [have(part[0]) for part in self.parts]
        if client is None:
            for index, task in enumerate(tasks):
                try:
                    self.dask.compute(task)
                except Exception:
                    return index
                if time.monotonic() > end:
                    break
            return None
        from distributed import wait

        futures = client.compute(tasks)
        try:
            wait(futures, timeout=_SEARCH, return_when="FIRST_COMPLETED")
            while any(future.status == "pending" for future in futures):
                if any(future.status == "error" for future in futures) or time.monotonic() > end:
                    break
                time.sleep(0.05)
            failed = (i for i, future in enumerate(futures) if future.status == "error")
            return next(failed, None)
        except TimeoutError:
            return None
        finally:
            client.cancel(futures)


def _bundle(many, tasks, total):
    """Partitions for each task, and how many levels of the tree lie within it.

    At most ``tasks`` tasks, unless their rows, ``total`` bytes in all, would be too many for one.
    """
    size = max(1, min(-(-many // tasks), int(_TASK_BYTES * many / max(total, 1))))
    depth = 0
    # Whole branches only where rounding makes a task a quarter larger at most.
    while 4 * FAN ** (depth + 1) <= size:
        depth += 1
    branch = FAN**depth
    return -(-size // branch) * branch, depth


def _groups(held):
    """Which lists hold each next ``FAN`` messages, and which of theirs these are."""
    ends = np.cumsum(held).tolist()
    for first in range(0, ends[-1], FAN):
        last = min(first + FAN, ends[-1])
        some = [i for i, end in enumerate(ends) if end > first and end - held[i] < last]
        skipped = ends[some[0]] - held[some[0]]
        yield some, slice(first - skipped, last - skipped)


def _nothing(part):
    """Forget a partition that could be had."""


def _keep(ask, classes):
    return ask, classes


def _blocks(first, parts, how):
    """Numbers, labels and weights of some partitions, with their index."""
    return [(first + i, _block(first + i, part, *how)) for i, part in enumerate(parts)]


def _block(index, part, columns, label, weight, names):
    if columns is None:
        X, y, weights, errors = part
        if len(X) != len(y):
            raise ValueError(f"partition {index}: {len(X)} rows but {len(y)} labels")
    else:
        X = part[columns].to_numpy(dtype=np.float64, na_value=np.nan)
        y = part[label].to_numpy()
        weights = None if weight is None else part[weight].to_numpy()
        errors = None if names is None else part[names].to_numpy(np.float64, na_value=np.nan)
    if errors is not None and np.ndim(errors) == 1:
        errors = np.asarray(errors)[:, None]
    X, weights, errors = (
        given if given is None else np.ascontiguousarray(given, dtype=np.float64)
        for given in (X, weights, errors)
    )
    return X, y, weights, errors


def _look(blocks, state, depth):
    """Answers of some partitions, each ``FAN**depth`` of them merged into one."""
    ask, classes = state

    def branch(blocks, depth):
        if depth == 0:
            index, block = blocks[0]
            return _partitioned.answer(ask, index, block, classes)
        size = FAN ** (depth - 1)
        parts = (blocks[i : i + size] for i in range(0, len(blocks), size))
        return _partitioned.merge([branch(part, depth - 1) for part in parts])

    size = FAN**depth
    return [branch(blocks[i : i + size], depth) for i in range(0, len(blocks), size)]


def _join(lists, cut):
    return [_partitioned.merge([message for some in lists for message in some][cut])]


def _follow(blocks, state):
    """Go on through some partitions: what the next is asked, the classes and the last answer."""
    ask, classes, *_ = state
    message = None
    for i, block in blocks:
        ask, message = _partitioned.follow(ask, i, block, classes)
    return ask, classes, message


def _last(state):
    return state[2]


def _client():
    """Find the current client of dask.distributed; None means that Dask's own scheduler works."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _threads(client):
    """Threads of all workers, or of this machine."""
    if client is None:
        return os.cpu_count() or 1
    return max(1, sum(client.nthreads().values()))


def _memory(client):
    """Bytes of memory of all workers, or of this machine."""
    if client is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:
        workers = client.scheduler_info()["workers"]
    return sum(worker.get("memory_limit") or 0 for worker in workers.values())
