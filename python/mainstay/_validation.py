"""How good a classifier really is, in tables, words and charts."""

import html
import json

import numpy as np

from mainstay._plot import axes, metric_title
from mainstay._suspects import _frame


class ValidationResult:
    """What a validation found.

    Made by `validate`. Shows itself as rich text in notebooks.

    Attributes
    ----------
    details : dict
        Everything that was found, as the command line's ``--json`` has it: ``metrics``,
        ``shrinkage``, ``calibration``, ``instability``, ``learning``, ``notes``.
    """

    def __init__(self, details):
        self.details = details

    def to_frame(self):
        """Every metric: apparent, optimism, corrected and cross-validated with intervals.

        Returns
        -------
        metrics : DataFrame (a dict of columns without pandas)
            One row per metric: ``metric``, ``apparent``, ``optimism``, ``corrected``,
            ``corrected_low``, ``corrected_high``, ``cross_validated``, ``cross_validated_low``,
            ``cross_validated_high``, ``problem`` (why a value is missing).
        """
        columns = {"metric": [row["metric"] for row in self.details["metrics"]]}
        for name in ("apparent", "optimism", "corrected", "cross_validated"):
            columns[name] = _numbers(row[name] for row in self.details["metrics"])
            spans = [row.get(f"{name}_interval") or {} for row in self.details["metrics"]]
            if name in ("corrected", "cross_validated"):
                for end in ("low", "high"):
                    columns[f"{name}_{end}"] = _numbers(span.get(end) for span in spans)
        columns["problem"] = [row["problem"] for row in self.details["metrics"]]
        return _frame(columns)

    def rows(self):
        """How far the answer for every row moves between bootstrap refits.

        Returns
        -------
        rows : DataFrame (a dict of columns without pandas)
            ``row``, ``probability`` (of ``classes_[1]``; with more classes of the predicted one),
            ``low`` and ``high`` (95 % of the refits), ``mean_absolute_error``, ``flips`` (share of
            the refits that predict another class).
        """
        found = (self.details["instability"] or {"rows": []})["rows"]
        names = ("row", "probability", "low", "high", "mean_absolute_error", "flips")
        columns = {name: _numbers(row[name] for row in found) for name in names}
        columns["row"] = columns["row"].astype(int)
        return _frame(columns)

    def to_json(self):
        """Everything as JSON text.

        Returns
        -------
        text : str
        """
        return json.dumps(self.details)

    def summary(self):
        """Say what was found in a few lines.

        Returns
        -------
        text : str
        """
        details = self.details
        lines = [details["headline"]]
        if details["shrinkage"] is not None:
            lines.append(f"- shrinkage factor {details['shrinkage']:.3f}")
        unstable = details["instability"]
        if unstable and unstable["mean_absolute_error"] is not None:
            lines.append(
                f"- in a refit the probability of a row is off by "
                f"{unstable['mean_absolute_error']:.3f} on average; a refit changes "
                f"{unstable['flips']:.1%} of the predictions"
            )
        return "\n".join(lines + [f"- note: {note}" for note in details["notes"]])

    def plot_calibration(self, ax=None):
        """Draw held-out probabilities against what happened, with a 95 % band.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
        """
        curve = self.details["calibration"]
        if curve is None:
            raise ValueError("no calibration curve: it needs two classes and probabilities")
        ax = axes(ax)
        column = {name: [p[name] for p in curve["points"]] for name in curve["points"][0]}
        ax.plot([0, 1], [0, 1], ":", color="gray", label="ideal")
        ax.plot(column["predicted"], column["observed"], label="held out")
        ax.fill_between(column["predicted"], column["low"], column["high"], alpha=0.2)
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("observed share")
        ax.legend(frameon=False)
        return ax

    def plot_instability(self, ax=None, *, kind="error"):
        """Draw how far every row's probability moves between refits.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        kind : {"error", "range"}, default="error"
            The mean absolute error of every row (the MAPE plot), or 95 % of its refits.

        Returns
        -------
        ax : matplotlib axes
        """
        if kind not in ("error", "range"):
            raise ValueError(f'`kind` = {kind!r}: must be "error" or "range"')
        rows = self.rows()
        p = np.asarray(rows["probability"])
        if len(p) == 0 or np.isnan(p).all():
            raise ValueError("no instability of probabilities: the classifier gives none")
        ax = axes(ax)
        if kind == "error":
            ax.plot(p, rows["mean_absolute_error"], ".")
            ax.set_ylabel("mean absolute error over refits")
        else:
            ax.vlines(p, rows["low"], rows["high"], alpha=0.4)
            ax.plot([0, 1], [0, 1], ":", color="gray")
            ax.set_ylabel("95 % of the refits")
        ax.set_xlabel("probability by the fit to all rows")
        return ax

    def plot_learning_curve(self, ax=None):
        """Draw the metric over the number of training rows, and what twice as many would bring.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
        """
        curve = self.details["learning"]
        if curve is None:
            raise ValueError("no learning curve: none was asked for, or the metric is undefined")
        ax = axes(ax)
        rows, mean, low, high = (
            [p[name] for p in curve["points"]] for name in ("rows", "mean", "low", "high")
        )
        ax.plot(rows, mean, marker="o", label="held out, 95 % of repeats")
        ax.fill_between(rows, low, high, alpha=0.2)
        if curve["twice"] is not None:
            twice = curve["twice"]
            ax.errorbar(
                twice["rows"], twice["expected"], twice["plus_minus"], fmt="s", label="expected"
            )
        ax.set_xlabel("training rows")
        ax.set_ylabel(metric_title(curve["metric"]))
        # Above the axes: inside it would cover what is expected.
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
        return ax

    def __repr__(self):
        return f"ValidationResult({self.details['rows']} rows)\n{self.summary()}"

    def _repr_html_(self):
        first, *rest = self.summary().split("\n")
        items = "".join(f"<li>{html.escape(line.removeprefix('- '))}</li>" for line in rest)
        names = ("apparent", "optimism", "corrected", "cross_validated")
        head = "".join(f"<th>{name.replace('_', '-')}</th>" for name in names)
        body = "".join(
            f"<tr><th>{row['metric']}</th>"
            + "".join(f"<td>{_shown(row, name)}</td>" for name in names)
            + "</tr>"
            for row in self.details["metrics"]
        )
        return (
            f"<p><strong>{html.escape(first)}</strong></p><ul>{items}</ul>"
            f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def _shown(row, name):
    if row[name] is None:
        return "-"
    span = row.get(f"{name}_interval")
    text = f"{row[name]:.3f}"
    return f"{text} [{span['low']:.3f}, {span['high']:.3f}]" if span else text


def _numbers(values):
    return np.array([np.nan if value is None else value for value in values], dtype=float)
