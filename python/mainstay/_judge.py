"""Metrics of any scikit-learn classifier on given rows, each prediction made once."""

import numpy as np
from sklearn.metrics import get_scorer

from mainstay import _core

OWN_METRICS = tuple(name for name, *_ in _core.metrics() if name not in ("net_benefit", "cost"))

# Not a metric of the user's choice: 1 where all rows are called the same, though they are not.
CONSTANT = "constant"


class Judge:
    """What a fitted model says of rows whose classes are known.

    Predictions, scores and probabilities are asked for once, whatever the number of metrics.
    """

    def __init__(self, model, X, y):
        self._model, self._X, self._y = model, X, np.asarray(y)
        self._known = {}

    def value(self, metric):
        """Give the metric and None, or NaN and why it has no value."""
        if metric == "accuracy":
            return float(np.mean(self._predicted() == self._y)), None
        if metric == CONSTANT:
            return float(_all_same(self._predicted()) and not _all_same(self._y)), None
        if metric == "log_loss":
            return self._log_loss()
        if metric not in OWN_METRICS:
            return float(get_scorer(metric)(self._model, self._X, self._y)), None
        codes, predicted, n_classes, made = self._once("made", self._made)
        [(_, value, why)] = _core.measure([metric], codes, predicted, n_classes, **made)
        if value is None:
            return float("nan"), f"{metric} is NaN where {why}"
        return float(value), None

    def _once(self, name, make):
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def _predicted(self):
        return self._once("predicted", lambda: np.asarray(self._model.predict(self._X)))

    def _probabilities(self):
        """Give one column for each of the model's classes; None if it gives no probabilities."""
        if not hasattr(self._model, "predict_proba"):
            return None

        def ask():
            return np.asarray(self._model.predict_proba(self._X), dtype=np.float64)

        return self._once("probabilities", ask)

    def _log_loss(self):
        probabilities = self._probabilities()
        if probabilities is None:
            return float("nan"), "log_loss is NaN: there is no predict_proba"
        places = {label: k for k, label in enumerate(np.asarray(self._model.classes_).tolist())}
        codes = np.array([places.get(label, -1) for label in self._y.tolist()])
        own = np.where(codes >= 0, probabilities[np.arange(len(codes)), codes], 0.0)
        return float(np.mean(-np.log(np.clip(own, np.finfo(float).eps, 1.0)))), None

    def _made(self):
        """Class indices, predictions, scores and probabilities, as the metrics take them."""
        model, known = self._model, np.asarray(self._model.classes_)
        classes = np.unique(np.concatenate([known, self._y]))
        codes = np.searchsorted(classes, self._y).astype(np.int64)
        predicted = np.searchsorted(classes, self._predicted()).astype(np.int64)
        made = {}
        if hasattr(model, "decision_function") and len(known) == len(classes):
            scores = np.asarray(model.decision_function(self._X), dtype=np.float64)
            made["scores"] = np.ascontiguousarray(scores.reshape(len(codes), -1))
        own = self._probabilities()
        if own is not None:
            probabilities = np.zeros((len(codes), len(classes)))
            probabilities[:, np.searchsorted(classes, known)] = own
            made["probabilities"] = probabilities
            if "scores" not in made:
                alone = len(classes) == 2
                made["scores"] = probabilities[:, 1:] if alone else probabilities
                made["scores"] = np.ascontiguousarray(made["scores"])
        return codes, predicted, len(classes), made


def _all_same(values):
    return bool((values == values[0]).all())
