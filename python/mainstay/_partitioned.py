"""Fits over partitions of rows: the driver is compiled, an engine looks at the partitions.

An engine has one method, ``run(ask, classes)``: it calls ``answer(ask, index, block, classes)`` for
every partition and merges the answers in partition order, ``FAN`` at a time. The tree is the same
for every engine, and so are the bits. Where ``in_sequence(ask)`` holds nothing is merged: every
partition goes on where the one before it was.
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
    """Answer ``ask`` from one partition; the first look knows no classes.

    A partition is ``(X, y, weights, errors)``, of which the last two may be None.
    """
    X, y, weights, errors = _aligned(block)
    names = None
    if classes is None:
        names, codes = _named(index, y)
    else:
        codes = _codes(index, y, classes)
    return _core.look(ask, index, X, codes, sample_weight=weights, names=names, errors=errors)


def _aligned(block):
    """Arrays that came through a network may begin at any byte."""
    return (part if part is None else np.require(part, requirements="CA") for part in block)


def follow(ask, index, block, classes):
    """Answer ``ask`` from one partition; also returns what the next partition is asked."""
    message = answer(ask, index, block, classes)
    return _core.ask_after(ask, message), message


def merge(messages):
    """At most ``FAN`` answers in partition order as one."""
    return messages[0] if len(messages) == 1 else _core.merge_messages(list(messages))


def in_sequence(ask):
    """Whether every partition needs the answer of the one before it."""
    return _core.in_sequence(ask)


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


def _params_without_classes(model):
    """Parameters as far as they can be checked before the classes are known."""
    if isinstance(getattr(model, "class_weight", None), dict):
        model = copy(model)
        model.class_weight = None
    return model._core_params()


def _tell(model, driver, start):
    if getattr(model, "verbose", 0):
        rate = driver.rows / max(time.perf_counter() - start, 1e-9)
        gap = f", dual gap {driver.gap:.1e}" if np.isfinite(driver.gap) else ""
        text = f"{type(model).__name__}: pass {driver.passes}{gap}, {rate:,.0f} rows a second"
        print(text, file=sys.stderr, flush=True)


def coded(y):
    """Sorted classes and the index of every label; small integers without sorting all rows."""
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < min(len(y), 65_536):
            wide = y.astype(np.int64, copy=False) if y.dtype.kind == "i" else y
            place = wide - wide.dtype.type(low) if low else wide
            place = place.astype(np.int64, copy=False)
            seen = np.flatnonzero(np.bincount(place))
            if low == 0 and len(seen) == high + 1:
                return seen.astype(y.dtype), place
            codes = np.zeros(high - low + 1, dtype=np.int64)
            codes[seen] = np.arange(len(seen))
            classes = seen.astype(wide.dtype) + wide.dtype.type(low)
            return classes.astype(y.dtype), codes[place]
    return np.unique(y, return_inverse=True)


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
    found, codes = coded(_plain(index, y))
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
    found, codes = coded(_plain(index, y))
    try:
        known = np.array([place[label] for label in found.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ValueError(
            f"partition {index}: label {error.args[0]!r} was not there in the first look; "
            "did the data change between passes?"
        ) from None
    return known[codes.ravel()] if len(known) else np.zeros(0, dtype=np.int64)
