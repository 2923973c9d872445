"""Training rows by how suspicious their label is: what every classifier can be asked."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mainstay import _core
from mainstay._tables import index_of


class SuspiciousLabels:
    """Adds ``suspicious_labels`` to a classifier with a ``decision_function``."""

    def _remember(self, X, y):
        # The caller's rows, not a copy; a pickled model does without them.
        self._training = (X, y)

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training"}

    def suspicious_labels(self, feature_names=None, *, X=None, y=None, ranking="posterior"):
        r"""Rank the training rows by how suspicious their label is.

        Uses the scores of the fitted model; nothing is fitted again. It is a ranking: a fit that
        has seen a label takes its side, so no probability is stated. :func:`mainstay.audit_labels`
        asks refits too, states probabilities and says how many labels to expect to be wrong.

        Parameters
        ----------
        feature_names : list of str, default=None
            Features whose values are shown beside each row: columns of the training frame, or,
            for an array, a name for every one of its columns.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to look at; None takes the training rows, which a model that was pickled or read
            from a file no longer has (a conic SVM then shows its indicators).
        y : array-like of shape (n_samples,), default=None
            Their labels; given together with ``X``.
        ranking : {"posterior", "margin"}, default="posterior"
            ``"posterior"``: the logarithm of the odds that the label is wrong when a row with
            score :math:`s` is labelled positive with probability :math:`r_0 + (1 - r_0 - r_1)\,
            \sigma(a s + b)`, rates and curve fitted to the scores; a model that was told
            ``wrong_labels`` takes these. ``"margin"``: the score against the label. For the conic
            SVM also ``"z"``, its indicators.

        Returns
        -------
        suspects : pandas.DataFrame (a dict of columns without pandas)
            The most suspicious row first: ``row`` (position in the data, from 0), ``label``,
            ``score`` (by the ranking; larger is more suspicious) and ``predicted``, what the model
            calls it. Rows of a pandas frame keep their index.
        """
        check_is_fitted(self)
        own = X is None and y is None
        if own:
            X, y = getattr(self, "_training", (None, None))
        if X is None or y is None:
            stored = self._stored_suspects(ranking) if own and feature_names is None else None
            if stored is not None:
                return _frame(stored)
            raise ValueError(
                "this model no longer has its training rows: pass X and y"
                if own
                else "pass both X and y, or neither"
            )
        codes = self._label_codes(y)
        score, predicted = self._suspicion(X, codes, ranking, own)
        order = np.argsort(-score, kind="stable")
        table = {
            "row": order,
            "label": self.classes_[codes][order],
            "score": score[order],
            "predicted": self.classes_[predicted][order],
        }
        if feature_names is not None:
            for name, values in _columns(X, list(feature_names)).items():
                table[name] = values[order]
        return _frame(table, index_of(X))

    def _stored_suspects(self, ranking):
        """Give what a model without its training rows still knows about them, if anything."""

    def _label_codes(self, y):
        y = np.asarray(y).ravel()
        codes = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
        if np.any(self.classes_[codes] != y):
            raise ValueError(f"`y` holds labels that are none of the classes {self.classes_!r}")
        return codes.astype(np.int64, copy=False)

    def _suspicion(self, X, codes, ranking, own):
        """How suspicious every label is, and the class index the model gives the row."""
        if ranking not in ("posterior", "margin"):
            raise ValueError(f'`ranking` = {ranking!r}: must be "posterior" or "margin"')
        scores = np.asarray(self.decision_function(X), dtype=np.float64)
        scores = scores.reshape(len(codes), -1)
        if scores.shape[1] == 1:
            predicted = (scores[:, 0] > 0).astype(int)
            margin = np.where(codes == 1, scores[:, 0], -scores[:, 0])
        else:
            predicted = scores.argmax(axis=1)
            others = scores.copy()
            others[np.arange(len(codes)), codes] = -np.inf
            margin = scores[np.arange(len(codes)), codes] - others.max(axis=1)
        if ranking == "margin":
            return -margin, predicted
        return _core.wrong_labels(np.ascontiguousarray(scores), codes), predicted


def _frame(table, index=None):
    """Columns as a frame where there is pandas; rows of a frame keep their index."""
    try:
        import pandas as pd
    except ImportError:
        return table
    return pd.DataFrame(table, index=None if index is None else index[table["row"]])


def _columns(rows, names):
    """Pick the columns called `names`."""
    if hasattr(rows, "columns"):
        known = [str(name) for name in rows.columns]
        unknown = [name for name in names if str(name) not in known]
        if unknown:
            raise ValueError(f"`feature_names`: the training data have no column {unknown[0]!r}")
        return {name: np.asarray(rows[name]) for name in names}
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    if len(names) != rows.shape[1]:
        raise ValueError(
            f"`feature_names`: {len(names)} names for the {rows.shape[1]} columns of the training "
            "data"
        )
    return dict(zip(names, rows.T, strict=True))
