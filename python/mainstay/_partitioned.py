"""Fits over partitions of rows: the driver is compiled, an engine looks at the partitions.

An engine has one method, ``run(ask, classes)``: it calls ``answer(ask, index, block, classes)`` for
every partition and merges the answers in partition order, ``FAN`` at a time. The tree is the same
for every engine, and so are the bits.
"""

import sys
import time
from copy import copy

import numpy as np

from mainstay import _core
from mainstay._config import Checkpoint, curvature_rows

FAN = 8

_PREFIX = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def answer(ask, index, block, classes):
    """Answer ``ask`` from one partition, ``(X, y, weights)``; the first look knows no classes."""
    # Arrays that came through a network may begin at any byte.
    X, y, weights = (
        part if part is None else np.require(part, requirements="CA") for part in block
    )
    if classes is None:
        names, codes = _named(index, y)
        return _core.look(ask, index, X, codes, sample_weight=weights, names=names)
    return _core.look(ask, index, X, _codes(index, y, classes), sample_weight=weights)


def merge(messages):
    """At most ``FAN`` answers in partition order as one."""
    return messages[0] if len(messages) == 1 else _core.merge_messages(list(messages))


def fit(model, engine, label_dtype):
    """Fit ``model`` through ``engine``; sets ``classes_`` and the results."""
    method, checkpoint = model._method_name(), Checkpoint()
    ask, _ = _core.Driver(method, _params_without_classes(model)).next()
    start = time.perf_counter()
    first = _first_look(model, engine, ask, label_dtype)
    driver = _core.Driver(method, model._core_params(), checkpoint.read(), curvature_rows())
    driver.next()
    ask, core = driver.next(first)
    _tell(model, driver, start)
    engine.counted(driver.rows)
    while core is None:
        start = time.perf_counter()
        ask, core = driver.next(engine.run(ask, model.classes_))
        checkpoint.write(driver.checkpoint())
        _tell(model, driver, start)
    checkpoint.remove()
    model._set_fitted(core)


def _first_look(model, engine, ask, label_dtype):
    """Settle the classes, in sorted order."""
    first = engine.run(ask, None)
    labels = _labels(_core.message_classes(first), label_dtype)
    model.classes_, order = np.unique(labels, return_index=True)
    return _core.reorder_classes(first, order.tolist())


def fit_sums(model, engine, label_dtype):
    """Fit a method that needs nothing but sums over the rows of every class, in two passes."""
    if model.class_weight == "balanced":
        raise ValueError(
            "`class_weight` = 'balanced' is not defined for partitions: give factors as a dict"
        )
    # The first look is the same for every method, and refuses what is not finite.
    known = _core.Driver("l2", {})
    ask, _ = known.next()
    known.next(_first_look(model, engine, ask, label_dtype))
    if len(model.classes_) > 2 and model.rule != "plane":
        raise ValueError(
            f"{len(model.classes_)} classes in partitions: `rule` = 'plane' is needed, since "
            "'points' keeps all rows"
        )
    engine.counted(known.rows)
    model._moments = engine.run(None, model.classes_, sums, merge_sums)
    model._fit_moments()


def sums(_, index, block, classes):
    """Sum over the rows of every class of one partition; None if it is empty."""
    X, y, weights = (
        part if part is None else np.require(part, requirements="CA") for part in block
    )
    if len(X) == 0:
        return None
    return _core.Moments(X, _codes(index, y, classes), len(classes), weights)


def merge_sums(parts):
    """Add sums in partition order."""
    parts = [part for part in parts if part is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    total = _core.Moments.from_json(parts[0].to_json())  # a task may not change what it is given
    for part in parts[1:]:
        total.merge(part)
    return total


def _params_without_classes(model):
    """Parameters as far as they can be checked before the classes are known."""
    if isinstance(getattr(model, "class_weight", None), dict):
        model = copy(model)
        model.class_weight = None
    return model._core_params()


def _tell(model, driver, start):
    if getattr(model, "verbose", 0):
        rate = driver.rows / max(time.perf_counter() - start, 1e-9)
        gap = f", dual gap {driver.gap:.1e}" if driver.passes > 1 else ""
        text = f"{type(model).__name__}: pass {driver.passes}{gap}, {rate:,.0f} rows a second"
        print(text, file=sys.stderr, flush=True)


def _plain(index, y):
    """Labels as an array of numbers, bools or text."""
    y = np.asarray(y)
    if y.dtype.kind in "biu":
        return y
    if y.dtype.kind == "f":
        missing = np.flatnonzero(~np.isfinite(y))
    else:
        y = y.astype(object)
        missing = [row for row, label in enumerate(y) if _is_missing(label)]
    if len(missing):
        raise ValueError(f"partition {index}, row {missing[0]}: the label is missing")
    return y


def _is_missing(label):
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA
        return True


def _named(index, y):
    """Names of the labels that occur, and for every row which of them it has."""
    y = _plain(index, y)
    found, codes = np.unique(y, return_inverse=True)
    names = []
    for label in found.tolist():
        if isinstance(label, bool):
            names.append(f"bool:{label}")
        elif isinstance(label, int):
            names.append(f"int:{label}")
        elif isinstance(label, float):
            names.append(f"float:{label!r}")
        elif isinstance(label, str):
            names.append(f"text:{label}")
        else:
            kind = type(label).__name__
            raise ValueError(f"partition {index}: a label is of type {kind}; use text or numbers")
    return names, codes.astype(np.int64).ravel()


def _labels(names, dtype):
    """Turn such names back into labels, of ``dtype`` where that holds them."""
    kinds = {name.split(":", 1)[0] for name in names}
    if len(kinds) > 1 and kinds != {"int", "float"}:
        raise ValueError(f"labels of different kinds in the partitions: {', '.join(sorted(kinds))}")
    read = {"bool": lambda t: t == "True", "int": int, "float": float, "text": str}
    values = [read[kind](text) for kind, text in (name.split(":", 1) for name in names)]
    if kinds == {"text"}:
        return np.array(values, dtype=object if dtype.kind == "O" else None)
    same = kinds == {_PREFIX.get(dtype.kind)}
    return np.array(values, dtype=dtype if same else None)


def _codes(index, y, classes):
    """Position of every label in ``classes``."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    found, codes = np.unique(_plain(index, y), return_inverse=True)
    try:
        known = np.array([place[label] for label in found.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ValueError(
            f"partition {index}: label {error.args[0]!r} was not there in the first look; "
            "did the data change between passes?"
        ) from None
    return known[codes.ravel()] if len(known) else np.zeros(0, dtype=np.int64)
