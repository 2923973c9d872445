"""What a comparison found: its table, advice, charts and report."""

import html
import json
import os

import numpy as np

from mainstay import _core
from mainstay._plot import axes, metric_title
from mainstay._stress import CLEAN, as_table


class ComparisonResult:
    """What a comparison found.

    Made by `compare`. Shows itself as rich text in notebooks.

    Attributes
    ----------
    table : DataFrame (a dict of columns without pandas)
        ``estimator``, ``threat``, ``level``, ``repeat``, ``metric``, ``value``; NaN where a cell is
        empty. Metrics other than accuracy and log loss have rows only where they are defined.
    details : dict
        Everything that was found, as the command line's ``--json`` has it: ``data``,
        ``settings``, ``methods``, ``threats``, ``cells`` (with the ``problem`` of empty ones),
        ``curves``, ``advice``, ``chosen`` (the advised model on held-out rows: metrics, curves,
        thresholds, confusion, weights with intervals), ``audit`` (of the labels), ``coefficients``,
        ``suspects``, ``worst_rows``, ``radii``.
    """

    def __init__(self, comparison):
        self._comparison = comparison
        self.details = json.loads(comparison.to_json())
        nan = float("nan")
        self.table = as_table(
            [
                (c["method"], c["threat"], c["level"], c["repeat"], metric, number)
                for c in self.details["cells"]
                for metric, number in [
                    ("accuracy", nan if c["accuracy"] is None else c["accuracy"]),
                    ("log_loss", nan if c["log_loss"] is None else c["log_loss"]),
                    *c.get("metrics", {}).items(),
                ]
            ]
        )

    @property
    def metric(self):
        """Name of the metric that methods are judged by."""
        return self.details["settings"]["metric"]

    def recommend(self):
        """Say what was found: what hurts most, what holds, what it costs, how sure that is.

        Returns
        -------
        text : str
            One sentence as the answer, then the reasons, one per line.
        """
        advice = self.details["advice"]
        return "\n".join([advice["headline"], *(f"- {s}" for s in advice["sentences"])])

    def plot(self, threat, *, metric=None, ax=None):
        """Draw what a threat does to every method, by level.

        The band is the 95 % interval of the first method, plain logistic regression unless it was
        left out; ``details["curves"]`` has the others.

        Parameters
        ----------
        threat : str
            One of the eight threats.
        metric : str or None, default=None
            What is drawn: any metric of the cells, nothing is run again. None is the metric of the
            comparison. Metrics other than that, accuracy and log loss are drawn without intervals.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
        """
        known = {t["name"]: t for t in self.details["threats"]}
        if threat not in known:
            raise ValueError(f"no threat {threat!r}; there are: {', '.join(known)}")
        own = self.metric
        metric = own if metric is None else metric
        if metric not in self._metrics():
            names = ", ".join(self._metrics())
            raise ValueError(f"`metric` = {metric!r}: must be one of {names}")
        ax = axes(ax, figsize=(8, 4.5), layout="constrained")
        levels = set()
        for k, method in enumerate(self.details["methods"]):
            points = self._points(method["name"], threat, metric)
            if not points:
                continue
            level, mean, low, high = zip(*points, strict=True)
            levels.update(level)
            # Colours come again after ten methods, markers after thirteen.
            style = "--" if method["role"] == "baseline" else "-" if k < 10 else ":"
            look = {"color": f"C{k % 10}", "marker": "osD^v<>ph*XPd"[k % 13], "ms": 5, "lw": 1.2}
            ax.plot(level, mean, style, label=method["title"], **look)
            if k == 0:  # a dozen bands on top of each other would hide the lines
                ax.fill_between(level, low, high, alpha=0.15, color="C0", lw=0)
        ax.set_xticks(sorted(levels))  # what was run, and nothing between
        ax.set_xlabel(known[threat]["unit"])
        ax.set_ylabel(metric_title(metric))
        ax.set_title(known[threat]["title"])
        # Beside the curves: with a dozen methods it would cover them.
        ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        return ax

    def _metrics(self):
        """Name every metric that some cell holds."""
        named = (m for cell in self.details["cells"] for m in cell.get("metrics", {}))
        return list(dict.fromkeys(["accuracy", "log_loss", *named]))

    def _points(self, method, threat, metric):
        """Level, mean and the ends of its interval, undamaged first."""
        found = []
        for curve in self.details["curves"]:
            if curve["method"] != method or curve["threat"] not in (CLEAN, threat):
                continue
            for point in curve["points"]:
                at = (curve["threat"], point["level"])
                shown = self._shown(point, (method, *at), metric)
                found += [] if shown is None else [(point["level"], *shown)]
        return sorted(found)

    def _shown(self, point, place, metric):
        field = {self.metric: "value", "accuracy": "accuracy", "log_loss": "log_loss"}.get(metric)
        if field is not None:
            shown = point[field]
            return None if shown is None else [shown[e] for e in ("mean", "low", "high")]
        values = [
            cell["metrics"][metric]
            for cell in self.details["cells"]
            if (cell["method"], cell["threat"], cell["level"]) == place
            and metric in cell.get("metrics", {})
        ]
        return [float(np.mean(values))] * 3 if values else None

    def to_html(self, path, *, tripod=False):
        """Write the report: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or path
            Where to write it; an existing file is replaced in one step.
        tripod : bool, default=False
            Add a checklist along TRIPOD+AI: what the program knows is filled in, what only the
            authors can say is left open by name.
        """
        _core.write_text(os.fspath(path), self._comparison.html(tripod=bool(tripod)))

    def scoreboard(self):
        """Mean of the metric by method and threat, averaged over the levels of a threat.

        Returns
        -------
        scores : dict of dict
            ``scores[method][threat]``; NaN where a level could not be run.
        """
        scores = {}
        for curve in self.details["curves"]:
            means = [p["value"]["mean"] if p["value"] else np.nan for p in curve["points"]]
            scores.setdefault(curve["method"], {})[curve["threat"]] = float(np.mean(means))
        return scores

    def __repr__(self):
        data, settings = self.details["data"], self.details["settings"]
        return (
            f"ComparisonResult({data['rows']} rows, {len(data['features'])} features, "
            f"{settings['repeats']} repeats)\n{self.recommend()}"
        )

    def _repr_html_(self):
        advice = self.details["advice"]
        scores = self.scoreboard()
        threats = list(next(iter(scores.values())))
        head = "".join(f"<th>{html.escape(t)}</th>" for t in ["", *threats])
        percent = self.metric == "accuracy"
        caption = "Accuracy in %" if percent else metric_title(self.metric)

        def show(value):
            if value != value:
                return "-"
            return f"{100 * value:.1f}" if percent else f"{value:.3f}"

        body = "".join(
            f"<tr><th>{html.escape(method)}</th>"
            + "".join(f"<td>{show(v)}</td>" for v in row.values())
            + "</tr>"
            for method, row in scores.items()
        )
        reasons = "".join(f"<li>{html.escape(s)}</li>" for s in advice["sentences"])
        return (
            f"<p><strong>{html.escape(advice['headline'])}</strong></p><ul>{reasons}</ul>"
            f"<table><caption>{caption}, mean over splits and levels</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
