"""What a fitted model says, for people, programs and notebooks."""

import html

import numpy as np

from mainstay import _core
from mainstay._base import _seed
from mainstay._plot import axes


class ModelSummary:
    """What a model says, what it assumed and what is proven; made by ``model.summary()``.

    Attributes
    ----------
    coefficients : pandas.DataFrame (a dict of columns without pandas)
        One row for each class and feature: ``class``, ``feature``, ``weight`` (change of the score
        for one unit of the feature), ``per_sd`` (for one standard deviation of the training rows),
        ``odds_ratio`` and ``odds_ratio_per_sd`` (where scores are log odds), and after a bootstrap
        ``low``, ``high`` (the middle 95 % of the refits) and ``same_sign`` (the share of the refits
        that agree on the sign).

    Examples
    --------
    >>> from mainstay import PenalizedClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> summary = PenalizedClassifier().fit(X, y).summary()
    >>> [str(name) for name in summary.coefficients["feature"]]
    ['x0']
    >>> summary.to_dict()["log_odds"]
    True
    """

    def __init__(self, content, text, markdown):
        self._content, self._text, self._markdown = content, text, markdown

    def __str__(self):
        return self._text

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        """Show facts and weights as tables; the style is the notebook's own."""
        facts = [("method", self._content["method"]), ("certificate", self._content["certificate"])]
        facts.append(("probabilities", self._content["probabilities"]))
        training = self._content["training"]
        if training is not None:
            counts = zip(training["classes"], self._content["classes"], strict=True)
            rows = ", ".join(f"{count} {name}" for count, name in counts)
            facts.append(("training rows", f"{training['rows']} ({rows})"))
        chosen = [a for a in self._content["assumptions"] if a["how"] != "default"]
        facts.extend((a["name"], f"{a['value']} ({a['how']})") for a in chosen)
        facts.extend(("note", text) for text in self._content["warnings"])
        body = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in facts
        )
        return f"<table>{body}</table>" + "".join(self._class_tables())

    def _class_tables(self):
        names = ["weight", "per_sd", "odds_ratio", "odds_ratio_per_sd", "low", "high", "same_sign"]
        for entry in self._content["coefficients"]:
            rows = [_flat(feature) for feature in entry["features"]]
            rows.sort(key=lambda row: -abs(row["per_sd"] if "per_sd" in row else row["weight"]))
            rows.append({"feature": "(intercept)", "weight": entry["intercept"]})
            used = [name for name in names if any(name in row for row in rows)]
            head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ["feature", *used])
            body = ""
            for row in rows:
                cells = "".join(
                    f"<td>{row[name]:.4g}</td>" if name in row else "<td></td>" for name in used
                )
                body += f"<tr><th>{html.escape(row['feature'])}</th>{cells}</tr>"
            kind = "log odds" if self._content["log_odds"] else "score"
            caption = html.escape(f"{kind} of {entry['class']}")
            yield f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"

    @property
    def coefficients(self):
        rows = [
            {"class": entry["class"], **_flat(feature)}
            for entry in self._content["coefficients"]
            for feature in entry["features"]
        ]
        names = list(rows[0]) if rows else ["class", "feature", "weight"]
        columns = {name: [row.get(name, np.nan) for row in rows] for name in names}
        try:
            import pandas as pd
        except ImportError:
            return {name: np.array(values) for name, values in columns.items()}
        return pd.DataFrame(columns)

    def to_dict(self):
        """Everything as plain lists, dicts, numbers and text.

        Returns
        -------
        content : dict
        """
        return self._content

    def to_markdown(self):
        """Everything as Markdown.

        Returns
        -------
        text : str
        """
        return self._markdown

    def plot(self, ax=None, *, top=20):
        """Draw the weights, largest first, with their intervals after a bootstrap.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        top : int, default=20
            How many features to show.

        Returns
        -------
        ax : matplotlib axes
        """
        if not self._content["coefficients"]:
            raise ValueError("the model has no weights: its scores are not linear in the features")
        ax = axes(ax, figsize=(6, 0.3 * min(top, self._content["n_features"]) + 1))
        entries = self._content["coefficients"]
        deviations = (self._content["training"] or {}).get("features")
        scales = None if deviations is None else np.array(deviations["deviations"])
        for entry in entries:
            rows = [_flat(feature) for feature in entry["features"]]
            sizes = np.array([row["weight"] for row in rows])
            factor = np.ones_like(sizes) if scales is None else scales
            order = np.argsort(-np.abs(sizes * factor))[:top]
            places = np.arange(len(order))[::-1]
            label = str(entry["class"]) if len(entries) > 1 else None
            (dots,) = ax.plot((sizes * factor)[order], places, "o", label=label)
            if order.size and "low" in rows[0]:
                low = np.array([rows[j]["low"] for j in order]) * factor[order]
                high = np.array([rows[j]["high"] for j in order]) * factor[order]
                ax.hlines(places, low, high, color=dots.get_color())
            if entry is entries[0]:
                ax.set_yticks(places, [rows[j]["feature"] for j in order])
                first = order
            elif not np.array_equal(order, first):
                raise ValueError("plot one class at a time: their largest weights differ")
        ax.axvline(0.0, color="0.7", zorder=0)
        kind = "log odds" if self._content["log_odds"] else "score"
        unit = "unit" if scales is None else "standard deviation"
        ax.set_xlabel(f"change of the {kind} per {unit}")
        if len(entries) > 1:
            ax.legend()
        return ax


def _flat(feature):
    """One row of a table; what does not exist is left out."""
    row = {name: value for name, value in feature.items() if value is not None}
    row.update(row.pop("steadiness", {}))
    return row


def summarize(model, X, y, sample_weight, n_bootstrap, random_state):
    """Return the summary of one of our fitted classifiers."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    training = training_rows(model, X, y, sample_weight)
    if (n_bootstrap > 0) != (training is not None):
        raise ValueError("`n_bootstrap` and the training rows `X`, `y` go together")
    if training is not None and n_bootstrap < 20:
        raise ValueError(f"`n_bootstrap` = {n_bootstrap}: must be at least 20")
    content, text, markdown = _core.summary(
        *described(model),
        claimed=model.certificate_claimed_,
        training=training,
        n_bootstrap=int(n_bootstrap),
        seed=0 if random_state is None else _seed(random_state),
        n_jobs=model._n_jobs(),
    )
    return ModelSummary(content, text, markdown)


def described(model):
    """Return what ``_core`` needs to know of a fitted model."""
    names = getattr(model, "feature_names_in_", getattr(model, "_column_names", None))
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return (
        model._method_name(),
        model._core_params(),
        [str(label) for label in model.classes_],
        [str(name) for name in names],
        model._model,
    )


def training_rows(model, X, y, sample_weight=None):
    """Rows, class indices and weights of rows like those of the fit; None if there are none."""
    if (X is None) != (y is None):
        raise ValueError("rows and classes go together: give both or neither")
    if X is None:
        if sample_weight is not None:
            raise ValueError("`sample_weight` has no rows to weigh: give them and their classes")
        return None
    X = model._check_rows(X)
    y = np.asarray(y)
    codes = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    unknown = model.classes_[codes] != y
    if np.any(unknown):
        raise ValueError(f"y contains {y[unknown][0]!r}, which is not one of the classes")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return X, codes.astype(np.int64, copy=False), weights
