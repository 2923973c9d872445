"""Estimators of the user's own in a comparison: same splits, same damage, same metrics."""

import json
import math
import warnings

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from mainstay import _core
from mainstay._judge import CONSTANT, OWN_METRICS
from mainstay._stress import _Bar, _cells, _named

# Metrics without a better and a worse are not in the cells of a comparison.
_METRICS = tuple(m for m in OWN_METRICS if m not in ("calibration_slope", "calibration_intercept"))
# Repeats below which a method that was stopped says nothing.
_FEWEST = 2
_STOPPED = "stopped before this cell was run"


def checked(estimators):
    """Names and estimators; names that our methods have are refused by the session."""
    return _named(estimators)


def add_guests(session, named, data, seed, n_jobs, verbose):
    """Fit the estimators in every finished repeat and hand their cells to the session.

    Repeat by repeat, so that all have the same ones when the run is stopped: `KeyboardInterrupt`
    goes on to the caller after what is finished has been handed over, the rest as empty cells.
    """
    parts = {name: part for name, _, part, _ in _core.threats()}
    trials = session.trials
    training = [(t, level) for t, levels in trials if parts[t] == "training" for level in levels]
    judged = [(t, level) for t, levels in trials if parts[t] == "test" for level in levels]
    scene = data | {"seed": seed, "groups": None, "judged": judged}
    scene["metrics"] = (*_METRICS, CONSTANT)
    scene["splits"] = [
        tuple(np.asarray(part, dtype=np.intp) for part in session.rows(repeat))
        for repeat in range(session.repeats)
    ]
    jobs = [
        (name, model, repeat, damage)
        for repeat in range(session.repeats)
        for name, model in named
        for damage in [None, *training]
    ]
    calls = (delayed(_cells)(scene, *job) for job in jobs)
    found, reasons, bar = [], [], _Bar("your estimators", len(jobs), verbose)
    stopped = None
    try:
        for cells, notes in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            found.extend(cells)
            reasons.extend(text for _, text in notes)
            bar.step()
    except KeyboardInterrupt as error:
        stopped = error
        found, named = _whole_repeats(found, named, jobs, judged)
    finally:
        bar.close()
    for text in dict.fromkeys(reasons):
        warnings.warn(text, UserWarning, stacklevel=4)
    for name, _ in named:
        own = [row for row in found if row[0] == name]
        session.add_guest(name, name, json.dumps(_as_cells(own, reasons)))
    if stopped is not None:
        raise stopped


def _whole_repeats(found, named, jobs, judged):
    """Cells of the repeats in which every estimator was finished; the others are empty.

    Estimators have no part in the outcome where those repeats are too few to say anything.
    """
    clean = [("clean", 0.0), *judged]
    wanted = {
        (name, threat, level, repeat)
        for name, _, repeat, damage in jobs
        for threat, level in ([damage] if damage else clean)
    }
    missing = wanted - {row[:4] for row in found}
    if not missing:
        return found, named
    done = min(repeat for *_, repeat in missing)
    if done < _FEWEST:
        return [], []
    kept = [row for row in found if row[3] < done]
    nan = float("nan")
    late = sorted(cell for cell in wanted if cell[3] >= done)
    return kept + [(*cell, _STOPPED, nan) for cell in late], named


def _as_cells(rows, reasons):
    """One dict for each fit judged once, as the comparison keeps them."""
    table = {}
    for name, threat, level, repeat, metric, value in rows:
        table.setdefault((name, threat, level, repeat), {})[metric] = value
    return [
        _cell(place, {m: v for m, v in values.items() if math.isfinite(v)}, values, reasons)
        for place, values in table.items()
    ]


def _cell(place, known, asked, reasons):
    name, threat, level, repeat = place
    apart = ("accuracy", "log_loss", CONSTANT)
    why = None
    if "accuracy" not in known:
        why = _STOPPED if _STOPPED in asked else _why(threat, reasons)
    return {
        "method": name,
        "threat": threat,
        "level": level,
        "repeat": repeat,
        "accuracy": known.get("accuracy"),
        "log_loss": known.get("log_loss"),
        "metrics": {m: v for m, v in known.items() if m not in apart},
        "constant": known.get(CONSTANT) == 1.0,
        "problem": why,
    }


def _why(threat, reasons):
    own = [text for text in reasons if threat in text] or reasons
    return own[0] if own else "it could not be run"
