"""Files larger than memory as training rows."""

import os
import time

import numpy as np

from mainstay import _core
from mainstay._config import Checkpoint, curvature_rows
from mainstay._partitioned import _tell, keep_proof, kept_proof

_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


class Scan:
    """Rows of files that a fit reads in passes; made by :func:`scan`."""

    def __init__(self, paths, columns, categorical, impute, memory):
        self.paths = paths
        self.columns = columns
        self.categorical = categorical
        self.impute = impute
        self.memory = memory

    def __repr__(self):
        shown = ", ".join(repr(path) for path in self.paths[:3])
        return f"scan({shown}{', ...' if len(self.paths) > 3 else ''})"


def scan(paths, *, columns=None, categorical=(), impute=None, memory=None):
    """Name files whose rows are read in passes, so that they may be larger than memory.

    The result goes where ``X`` goes in ``fit``, with the name of the column of classes as ``y``:
    ``StableSVC(k=0.7).fit(mainstay.scan("rows/*.parquet"), "label")``. The estimators that can be
    fitted so are those of :doc:`/scale`; the others say what to do instead. Rows are read ahead by
    a thread of their own. Those that take at most half of ``memory`` stay there during the fit:
    the files are read to learn the columns and once more. They must not change meanwhile: a fit
    that finds one with another size, time of change or number of rows ends with an error.

    Nothing is read before a fit. Its first pass learns how columns become features as the command
    line does: numbers as they are, one 0/1 feature per category called ``column=category``, days
    since the first date; columns of which all values differ, as those of an identifier do, are left
    out. Categories, classes and missing cells are settled over all files. ``feature_names_in_`` of
    the model names the features, and rows to predict must have them in that order.

    Parameters
    ----------
    paths : str, path-like or list of them
        Files (CSV, also gzip; Parquet; Arrow; LIBSVM), folders of such files, and patterns with
        ``*`` and ``?``. The rows of all files, one after the other, are one table.
    columns : list of str, default=None
        The columns to learn from; None is all but the target and the weights. Others are not read.
    categorical : list of str, default=()
        Columns of numbers that are categories.
    impute : {"mean", "most-frequent", "drop"}, default=None
        What to do about missing cells; None refuses them and names the first. The median would need
        all rows in memory.
    memory : int or str, default=None
        Bytes that rows may take at a time, or ``"500M"``, ``"2G"``; None is a third of what is
        free. Half of it is for rows that stay between passes.

    Returns
    -------
    rows : Scan

    Examples
    --------
    >>> import mainstay, os, tempfile
    >>> X, y = mainstay.datasets.make_ndc(300, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.csv")
    ...     with open(path, "w") as file:
    ...         print("a,b,label", file=file)
    ...         for (a, b), label in zip(X, y):
    ...             print(a, b, label, sep=",", file=file)
    ...     model = mainstay.PenalizedClassifier(alpha=0.1).fit(mainstay.scan(path), "label")
    >>> list(model.feature_names_in_), model.dual_gap_ <= 1e-6
    (['a', 'b'], True)
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    paths = [os.fspath(path) for path in paths]
    if not paths:
        raise ValueError("`paths` is empty; name a file, a folder or a pattern")
    columns = None if columns is None else [str(name) for name in columns]
    return Scan(paths, columns, [str(name) for name in categorical], impute, _bytes(memory))


def _bytes(memory):
    """Turn a size such as "2G" into a number of bytes."""
    if memory is None:
        return None
    text = str(memory).strip().upper().removesuffix("B")
    factor = _UNITS.get(text[-1:], 1)
    try:
        size = int(float(text[:-1] if factor > 1 else text) * factor)
    except ValueError:
        size = 0
    if size < 1:
        raise ValueError(f'`memory` = {memory!r}: must be a size such as 500_000_000 or "2G"')
    return size


def is_scan(X):
    """Tell whether ``X`` stands for files."""
    return isinstance(X, Scan)


def refuse(X, model):
    """Say what to do with a scan where rows in memory are needed."""
    if is_scan(X):
        raise ValueError(
            f"{type(model).__name__} needs rows in memory here, not a scan: read a part of them, "
            "or save the model and use `mainstay predict`, which reads files of any size"
        )


def fit(model, rows, target, sample_weight, uncertainty=None):
    """Fit ``model`` to the rows of a scan; sets ``classes_`` and the results."""
    if not isinstance(target, str):
        raise ValueError('with a scan `y` names the column of classes: fit(scan, "label")')
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise ValueError("with a scan `sample_weight` names a column of weights")
    method, checkpoint = model._method_name(), Checkpoint()
    # Wrong parameters and methods that need all rows should be told before a large file is read.
    if not isinstance(getattr(model, "class_weight", None), dict):
        _core.Driver(method, model._core_params())
    read = _read(model, rows, target, sample_weight, _error_columns(uncertainty))
    model.classes_ = np.array(read.classes)
    model.n_features_in_ = read.n_features
    if read.feature_names is not None:
        model.feature_names_in_ = np.array(read.feature_names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    options = checkpoint.read(), curvature_rows(), read.n_rows
    driver = _core.Driver(method, model._core_params(), *options)
    ask, core = driver.next()
    try:
        while core is None:
            start = time.perf_counter()
            ask, core = driver.next(read.look(ask))
            checkpoint.write(driver.checkpoint())
            _tell(model, driver, start)
    finally:
        # A traceback would hold on to the rows that are kept.
        del read
    checkpoint.remove()
    model._set_fitted(core)
    keep_proof(model, driver.proof(), None)
    model._warn()
    return model


def _error_columns(uncertainty):
    """Names of the columns of errors."""
    names = [uncertainty] if isinstance(uncertainty, str) else uncertainty
    if names is None:
        return []
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "X is a scan: `uncertainty` names columns of it, one of radii or a list with one of "
            "semi-axes for every feature; a matrix per row has no fit over partitions"
        )
    return list(names)


def _read(model, rows, target, sample_weight, errors=(), keep=True):
    """Learn how the rows become features; ``keep=False`` where one pass is all."""
    return _core.ScanRows(
        rows.paths,
        model._method_name(),
        target,
        columns=rows.columns,
        categorical=rows.categorical,
        sample_weight=sample_weight,
        errors=list(errors),
        impute=rows.impute,
        memory=rows.memory,
        n_jobs=model._n_jobs(),
        keep=keep,
    )


def bounds(model, rows, target, sample_weight):
    """Upper and lower bound of every problem of a fit, from one pass over the rows."""
    read = _read(model, rows, target, sample_weight, keep=False)
    proof, _ = kept_proof(model)
    return _core.proof_bounds(proof, read.look(_core.proof_ask(proof)))
