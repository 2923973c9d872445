"""Fits over partitions of rows: the driver is compiled, an engine looks at the partitions.

An engine is opened, then has ``rows``, about how many there are, or None, and
``run(ask, names)``: it puts blocks (``block``) to ``look`` and merges the answers in partition
order, ``FAN`` at a time. The tree is the same for every engine, and so are the bits. Where
``in_sequence(ask)`` holds nothing is merged: every partition goes on where the one before it was.
"""

import sys
import time
from copy import copy

import numpy as np

from mainstay import _core
from mainstay._config import Checkpoint, curvature_rows, wants_proof

FAN = 8

_PREFIX = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def block(index, X, y, weights=None, errors=None):
    """Prepare one partition for all looks: its labels are coded once, as few bytes."""
    names, codes = _named(index, y)
    return X, names, codes.astype(np.min_scalar_type(len(names))), weights, errors


def look(ask, blocks, names, size=1):
    """Answer ``ask`` from neighbouring partitions, each ``size`` of them merged into one.

    ``blocks`` are pairs of an index and a block; ``names`` are those of all classes, in their
    order, and None in the first look.
    """
    place = None if names is None else {name: code for code, name in enumerate(names)}
    return _core.look(ask, [_part(index, block, place) for index, block in blocks], size)


def _part(index, block, place):
    """Turn a block into an argument of the compiled look."""
    X, names, codes, weights, errors = block
    # Arrays that came through a network may begin at any byte.
    X, weights, errors = (
        part if part is None else np.require(part, requirements="CA")
        for part in (X, weights, errors)
    )
    if place is None:
        return index, X, codes.astype(np.int64), weights, names, errors
    try:
        known = np.array([place[name] for name in names], dtype=np.int64)
    except KeyError as error:
        label = _labels([error.args[0]], np.dtype(object)).tolist()[0]
        raise ValueError(
            f"partition {index}: label {label!r} was not there in the first look; "
            "did the data change between passes?"
        ) from None
    codes = known[codes] if len(known) else np.zeros(0, dtype=np.int64)
    return index, X, codes, weights, None, errors


def follow(ask, index, block, names):
    """Answer ``ask`` from one partition; also returns what the next partition is asked."""
    message = look(ask, [(index, block)], names)[0]
    return _core.ask_after(ask, message), message


def merge(messages):
    """Answers in partition order as one."""
    return messages[0] if len(messages) == 1 else _core.merge_messages(list(messages))


def in_sequence(ask):
    """Whether every partition needs the answer of the one before it."""
    return _core.in_sequence(ask)


def fit(model, engine, label_dtype):
    """Fit ``model`` through ``engine``; sets ``classes_`` and the results."""
    method, checkpoint = model._method_name(), Checkpoint()
    params, start = _params_without_classes(model), time.perf_counter()
    # Wrong parameters and methods that need all rows are told before anything is read.
    _core.Driver(method, params)
    engine.open()
    ask, _ = _core.Driver(method, params, rows=engine.rows).next()
    first, names = _first_look(model, engine, ask, label_dtype)
    options = checkpoint.read(), curvature_rows(), engine.rows
    driver = _core.Driver(method, model._core_params(), *options)
    driver.next()
    ask, core = driver.next(first)
    if driver.rows is None:
        # There are far fewer rows than were expected, so that the sample lacks some.
        first, names = _first_look(model, engine, ask, label_dtype)
        ask, core = driver.next(first)
    _tell(model, driver, start)
    engine.counted(driver.rows)
    while core is None:
        start = time.perf_counter()
        ask, core = driver.next(engine.run(ask, names))
        checkpoint.write(driver.checkpoint())
        _tell(model, driver, start)
    checkpoint.remove()
    model._set_fitted(core)
    keep_proof(model, driver.proof(), names)


def _first_look(model, engine, ask, label_dtype):
    """Settle the classes, in sorted order; also returns what partitions call them."""
    first = engine.run(ask, None)
    names = _core.message_classes(first)
    model.classes_, order = np.unique(_labels(names, label_dtype), return_index=True)
    return _core.reorder_classes(first, order.tolist()), [names[i] for i in order]


def keep_proof(model, proof, names):
    """Remember what proves the bounds again in one pass, where that is wanted."""
    if proof is not None and wants_proof():
        model._pass_proof = proof, names


def kept_proof(model):
    """Recall what `keep_proof` remembered."""
    kept = getattr(model, "_pass_proof", None)
    if kept is None:
        raise ValueError(
            "the model keeps no proof that a pass over its rows could check: fit it over "
            "partitions inside `with mainstay.config(proof=True)`; only PenalizedClassifier, "
            "StableSVC and StableLogisticRegression have such a proof, and models of zero weights "
            "have none"
        )
    return kept


def bounds(model, engine):
    """Upper and lower bound of every problem of a fit, from one pass over all rows."""
    proof, names = kept_proof(model)
    if names is None:
        raise ValueError("the model was fitted to a scan: its bounds are proved from a scan, too")
    engine.open()
    return _core.proof_bounds(proof, engine.run(_core.proof_ask(proof), names))


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


def refuse_missing_labels(y):
    """Name the first row without a label, which scikit-learn tells in words about types."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if y is None or (isinstance(kind, str) and kind in "biuSU"):
        return
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError):
        return
    if labels.dtype.kind in "fM":
        missing = np.isnan(labels) if labels.dtype.kind == "f" else np.isnat(labels)
    elif labels.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, labels.ravel()), dtype=bool, count=labels.size)
    else:
        return
    if labels.ndim == 1 and missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"y has a missing label at row {row}: fill it in, or leave rows without a label out"
        )


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
