"""Estimators of the user's own in a comparison: same splits, same damage, same metrics."""

import json
import math
import warnings

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from mainstay import _core
from mainstay._stress import OWN_METRICS, _cells, _named

# Metrics without a better and a worse are not in the cells of a comparison.
_METRICS = tuple(m for m in OWN_METRICS if m not in ("calibration_slope", "calibration_intercept"))


def checked(estimators):
    """Names and estimators; names that our methods have are refused by the session."""
    return _named(estimators)


def add_guests(session, named, rows, labels, codes, columns, seed, n_jobs):
    """Fit the estimators in every finished repeat and hand their cells to the session."""
    parts = {name: part for name, _, part, _ in _core.threats()}
    trials = session.trials
    training = [(t, level) for t, levels in trials if parts[t] == "training" for level in levels]
    judged = [(t, level) for t, levels in trials if parts[t] == "test" for level in levels]
    scene = {"X": rows, "y": labels, "codes": codes, "columns": columns, "seed": seed}
    scene |= {"groups": None, "judged": judged, "metrics": _METRICS}
    scene["splits"] = [
        tuple(np.asarray(part, dtype=np.intp) for part in session.rows(repeat))
        for repeat in range(session.repeats)
    ]
    for name, model in named:
        jobs = (
            delayed(_cells)(scene, name, model, repeat, damage)
            for repeat in range(session.repeats)
            for damage in [None, *training]
        )
        found, reasons = [], []
        for cells, notes in Parallel(n_jobs=n_jobs)(jobs):
            found.extend(cells)
            reasons.extend(text for _, text in notes)
        for text in dict.fromkeys(reasons):
            warnings.warn(text, UserWarning, stacklevel=4)
        session.add_guest(name, name, json.dumps(_as_cells(found, reasons, len(np.unique(codes)))))


def _as_cells(rows, reasons, n_classes):
    """One dict for each fit judged once, as the comparison keeps them."""
    table = {}
    for name, threat, level, repeat, metric, value in rows:
        cell = table.setdefault((name, threat, level, repeat), {})
        if math.isfinite(value):
            cell[metric] = value
    return [
        {
            "method": name,
            "threat": threat,
            "level": level,
            "repeat": repeat,
            "accuracy": cell.get("accuracy"),
            "log_loss": cell.get("log_loss"),
            "metrics": {m: v for m, v in cell.items() if m not in ("accuracy", "log_loss")},
            "constant": _constant(cell, n_classes),
            "problem": None if "accuracy" in cell else _why(threat, reasons),
        }
        for (name, threat, level, repeat), cell in table.items()
    ]


def _constant(cell, n_classes):
    """Whether all rows got one answer: then no class but one is found, and that one completely."""
    found = cell.get("balanced_accuracy")
    alone = found is not None and abs(found * n_classes - 1) < 1e-12
    return bool(alone and cell.get("mcc") == 0)


def _why(threat, reasons):
    own = [text for text in reasons if threat in text] or reasons
    return own[0] if own else "it could not be run"
