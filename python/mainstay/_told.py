"""Every method told what to expect, and what it costs to be wrong about that."""

import json

from mainstay import _core
from mainstay._base import _Progress

_THREATS = ("wrong_labels", "missing", "errors")


class ToldResult:
    """What a comparison with ``expect`` found.

    Attributes
    ----------
    details : dict
        ``expected``, ``repeats``, ``truths`` (how much of what was expected came true: nothing,
        half, all, double), ``rows`` (one for each method: ``method``, ``parameters``, and
        ``accuracy``, ``gain`` over plain L2, its standard ``error`` and ``log_loss`` for each of
        ``truths``; ``constant``, the share of fits that give one class to all rows) and ``advice``.
    """

    def __init__(self, details):
        self.details = details

    @property
    def table(self):
        """One row for each method and truth, a DataFrame (a dict of columns without pandas)."""
        columns = {
            name: []
            for name in ("method", "truth", "accuracy", "gain", "error", "log_loss", "constant")
        }
        for row in self.details["rows"]:
            for k, truth in enumerate(self.details["truths"]):
                columns["method"].append(row["method"])
                columns["truth"].append(truth)
                for name in ("accuracy", "gain", "error"):
                    columns[name].append(row[name][k])
                losses = row["log_loss"]
                columns["log_loss"].append(float("nan") if losses is None else losses[k])
                columns["constant"].append(row["constant"])
        try:
            import pandas as pd
        except ImportError:
            return columns
        return pd.DataFrame(columns)

    def recommend(self):
        """Say what to use, what it gains, and what it costs if the expectation is wrong.

        Returns
        -------
        advice : str
        """
        return self.details["advice"]

    def __repr__(self):
        return f"ToldResult({self.details['repeats']} repeats)\n{self.recommend()}"


def told(rows, codes, n_classes, expect, repeats, seed, n_jobs, verbose):
    """Run the told comparison on checked rows."""
    unknown = [name for name in expect if name not in _THREATS]
    if unknown:
        raise ValueError(f"`expect` names {unknown[0]!r}; it may name {', '.join(_THREATS)}")
    levels = tuple(float(expect.get(name, 0.0)) for name in _THREATS)
    with _Progress("compare", verbose) as progress:
        text = _core.told(
            rows, codes, n_classes, levels, repeats or 8, seed, n_jobs=n_jobs, progress=progress
        )
    return ToldResult(json.loads(text))
