"""Robust cross-validation: the selection rules of the ROLIN paper for any classifier."""

import numbers

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, RepeatedStratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from mainstay import _core
from mainstay._forward import Forwarding
from mainstay._suspects import SuspiciousLabels
from mainstay._weighted import (
    check_scoring_weights,
    first_of_equals,
    fit_weights,
    parts_of_kinds,
)


class RobustCV(SuspiciousLabels, Forwarding, BaseEstimator):
    """Choose the parameters of a classifier by Algorithm 2 of the ROLIN paper.

    Three signs of overfitting that a mean holdout loss hides: if holdout losses are more than
    ``theta_ratio`` times the training losses (on average over the splits), a setting is judged by
    its worst split instead of its mean; among settings within ``theta_slack`` of the cheapest,
    the one whose cost and worst split together are least is taken; and it replaces the best of
    ``baseline`` only if it is cheaper by ``theta_gain``.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted with every setting on every split.
    param_grid : dict or list of dicts
        Settings, as for scikit-learn's ``ParameterGrid``.
    cv : str, int, splitter or iterable, default="5x5"
        ``"5x5"`` is five times stratified 5-fold with a fixed seed; otherwise as for
        ``GridSearchCV``. Folds are dealt over distinct rows: copies of a row are on one side, and
        there are no more folds than the largest class has distinct rows. In tables of few
        categories, where rows with equal features have several classes, every row is its own.
    scoring : "loss" or callable, default="loss"
        ``"loss"``: log loss (base 2) of ``predict_proba``, or hinge loss of ``decision_function``
        where there are no probabilities. A callable ``scorer(estimator, X, y)``, the higher the
        better, judges the holdout rows instead; the ratio test stays on the loss. The rules compare
        costs by ratios: scores that are never positive (``neg_log_loss``) are taken as negated
        losses, others must be at most 1 and cost what they miss to 1.
    theta_ratio : float, default=5
        Largest ratio of held-out to training loss that is accepted.
    theta_slack : float, default=0.1
        How far above the best cost a candidate may be, as a share of it.
    theta_gain : float, default=0.05
        How much better than the baseline another candidate must be.
    baseline : dict or list of dicts, default=None
        Settings that play the part of the paper's simple candidates (line 9).
    refit : bool, default=True
        Fit the winner to all rows.
    n_jobs : int or None, default=None
        As in scikit-learn.

    Attributes
    ----------
    best_params_ : dict
        The winning setting.
    best_index_ : int
        Its row in ``cv_results_``.
    best_estimator_ : classifier
        The winner, fitted to all rows.
    cv_results_ : dict of columns
        As in ``GridSearchCV`` ``params``, ``param_*``, ``split*_test_score``,
        ``mean_test_score``, ``std_test_score`` and ``rank_test_score`` (a loss counts as a
        negative score); then ``baseline``, ``loss_avg``, ``loss_max``, ``loss_ratio``, ``cost``.
    classes_ : ndarray
        Class labels.

    References
    ----------
    D. Chakrabarti, *Robust Linear Classification from Limited Training Data*, Algorithm 2.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mainstay import RobustCV
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> search = RobustCV(LogisticRegression(), {"C": [0.01, 1.0]}, baseline={"C": [1e-4]})
    >>> search.fit(X[::10], y[::10]).best_params_["C"] >= 0.01
    True
    """

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        cv="5x5",
        scoring="loss",
        theta_ratio=5,
        theta_slack=0.1,
        theta_gain=0.05,
        baseline=None,
        refit=True,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.theta_ratio = theta_ratio
        self.theta_slack = theta_slack
        self.theta_gain = theta_gain
        self.baseline = baseline
        self.refit = refit
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Choose a setting, and fit it to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as ``estimator`` takes them.
        y : array-like of shape (n_samples,)
            Class of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits and where held-out rows are judged: 2 is the row twice,
            0 its absence. ``estimator`` must take them (in a pipeline every step that does gets
            them), and so must a callable ``scoring``. Class weights are parameters of
            ``estimator``.

        Returns
        -------
        self : object
            The fitted search.
        """
        thresholds = self._thresholds()
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError(f"`param_grid` = {self.param_grid!r}: must hold at least one setting")
        baseline = [] if self.baseline is None else list(ParameterGrid(self.baseline))
        settings = candidates + baseline
        weights = self._weights(X, sample_weight)
        judged, train, holdout = self._tables(settings, X, y, weights)
        scores = -judged
        if callable(self.scoring):
            scores, judged = judged, _costs(judged)
        self.best_index_, judgements = _core.robust_choice(
            judged,
            train,
            holdout,
            len(baseline),
            *thresholds,
        )
        self.cv_results_ = {
            "params": settings,
            **_param_columns(settings),
            **_score_columns(scores),
            "baseline": np.arange(len(settings)) >= len(candidates),
            **{name: np.asarray(values) for name, values in judgements.items()},
        }
        self.best_params_ = settings[self.best_index_]
        self.classes_ = np.unique(y)
        if self.refit:
            best = clone(self.estimator).set_params(**self.best_params_)
            self.best_estimator_ = best.fit(X, y, **fit_weights(best, weights))
        self._remember(X, y)
        return self

    def _weights(self, X, sample_weight):
        """Weights of the rows; refused where estimator or scoring takes none."""
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        fit_weights(self.estimator, weights)
        if callable(self.scoring):
            check_scoring_weights(self.scoring)
        return weights

    def _thresholds(self):
        if not (callable(self.scoring) or self.scoring == "loss"):
            raise ValueError(f'`scoring` = {self.scoring!r}: must be "loss" or a callable')
        thresholds = (float(self.theta_ratio), float(self.theta_slack), float(self.theta_gain))
        nothing = np.zeros((1, 1))
        _core.robust_choice(nothing, nothing, nothing, 0, *thresholds)  # refuses bad thresholds now
        return thresholds

    def _tables(self, settings, X, y, weights):
        """Judge all settings on all splits: what counts, training losses, held-out losses."""
        X, y, weights, splits = self._dealt(X, y, weights)
        jobs = (
            delayed(_losses)(self.estimator, setting, X, y, weights, split, self.scoring)
            for setting in settings
            for split in splits
        )
        losses = np.array(Parallel(n_jobs=self.n_jobs)(jobs), dtype=np.float64)
        tables = losses.reshape(len(settings), len(splits), 3)
        return [np.ascontiguousarray(tables[:, :, i]) for i in range(3)]

    def _dealt(self, X, y, weights):
        """Give the rows as they are dealt, with their splits."""
        own = isinstance(self.cv, (str, numbers.Integral))
        first = first_of_equals(X, y) if own else None
        parts = parts_of_kinds(X, y, first, weights) if own else None
        if parts is None:
            return X, y, weights, self._splits(X, y, weights, first)
        if weights is not None:
            rows, weights = parts
            X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        most = np.unique(y, return_counts=True)[1].max()
        splits = self._splitter(y, max(2, most)).split(np.zeros((len(y), 1)), y)
        return X, y, weights, [[np.asarray(p) for p in sides] for sides in splits]

    def _splits(self, X, y, weights, first):
        splitter = self._splitter(y)
        if first is not None:
            counted = slice(None) if weights is None else weights > 0
            kept = np.unique(first[counted])
            labels = np.asarray(_safe_indexing(y, kept))
            most = max(2, np.unique(labels, return_counts=True)[1].max())
            dealt = self._splitter(y, most).split(np.zeros((len(kept), 1)), labels)
            splits = [[np.flatnonzero(np.isin(first, kept[p])) for p in parts] for parts in dealt]
        else:
            splits = [[np.asarray(p) for p in parts] for parts in splitter.split(X, y)]
        if weights is None:
            return splits
        return [[p[weights[p] > 0] for p in parts] for parts in splits]

    @property
    def n_features_in_(self):
        """Number of features the winner was fitted on."""
        return self._winner().n_features_in_

    def _winner(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _inner(self):
        return getattr(self, "best_estimator_", self.estimator)

    def _rows(self, X):
        self._winner()
        return X

    def _splitter(self, y, most=None):
        """Give the splits of ``cv``, in at most ``most`` folds where it is their number."""
        if isinstance(self.cv, (list, tuple)) and not all(
            hasattr(split, "__len__") and len(split) == 2 for split in self.cv
        ):
            raise ValueError(
                "`cv`: a list must hold pairs of row indices, one per split: to fit on, to judge by"
            )
        if not isinstance(self.cv, str):
            lower = most is not None and self.cv > most
            return check_cv(most if lower else self.cv, y, classifier=True)
        parts = self.cv.split("x")
        if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
            raise ValueError(f'`cv` = {self.cv!r}: must look like "5x5" (repetitions x folds)')
        repeats, folds = map(int, parts)
        folds = folds if most is None else min(folds, most)
        return RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=0)


def _losses(estimator, setting, X, y, weights, split, scoring):
    """(score or loss that counts, training loss, holdout loss) of one setting on one split."""
    train, holdout = split
    model = clone(estimator).set_params(**setting)
    X_train, y_train = _safe_split(model, X, y, train)
    X_holdout, y_holdout = _safe_split(model, X, y, holdout, train)
    w_train, w_holdout = (None, None) if weights is None else (weights[train], weights[holdout])
    model.fit(X_train, y_train, **fit_weights(model, w_train))
    fit = _mean_loss(model, X_train, y_train, w_train)
    hold = _mean_loss(model, X_holdout, y_holdout, w_holdout)
    if not callable(scoring):
        return hold, fit, hold
    weighted = {} if weights is None else {"sample_weight": w_holdout}
    score = scoring(model, X_holdout, y_holdout, **weighted)
    if not isinstance(score, numbers.Number):
        raise ValueError(f"`scoring` must return a number, not {score!r}")
    return score, fit, hold


def _param_columns(settings):
    """One masked array per parameter, as in ``GridSearchCV``: settings may lack some."""
    columns = {}
    for i, setting in enumerate(settings):
        for name, value in setting.items():
            empty = np.ma.masked_all(len(settings), dtype=object)
            columns.setdefault(f"param_{name}", empty)[i] = value
    return columns


def _score_columns(scores):
    """Scores, one row per setting and one column per split, in scikit-learn's words."""
    means = scores.mean(axis=1)
    columns = {f"split{i}_test_score": scores[:, i] for i in range(scores.shape[1])}
    columns["mean_test_score"] = means
    columns["std_test_score"] = scores.std(axis=1)
    ranked = np.where(np.isnan(means), -np.inf, means)
    columns["rank_test_score"] = (ranked[None, :] > ranked[:, None]).sum(axis=1) + 1
    return columns


def _costs(scores):
    """Count scores down from the best one possible: 0 for negated losses, otherwise 1."""
    best = 1.0 if (scores > 0).any() else 0.0
    if (scores > best).any():
        largest = np.nanmax(scores)
        raise ValueError(f"`scoring` gave {largest}: must be at most 1, or a loss times -1")
    return best - scores


def _mean_loss(model, X, y, weights):
    """Mean log loss in bits; hinge loss where the model has no probabilities."""
    classes = list(model.classes_)
    codes = np.array([classes.index(label) if label in classes else -1 for label in np.asarray(y)])
    if hasattr(model, "predict_proba"):
        probabilities = np.asarray(model.predict_proba(X))
        own = probabilities[np.arange(len(codes)), codes]
        own = np.where(codes >= 0, own, 0.0)
        losses = -np.log2(np.clip(own, np.finfo(float).tiny, 1.0))
        return float(np.average(losses, weights=weights))
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        signs = np.where(codes == 1, 1.0, -1.0)
    else:
        signs = np.where(codes[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
    losses = np.maximum(0.0, 1.0 - signs * scores)
    losses = losses if losses.ndim == 1 else losses.mean(axis=1)
    return float(np.average(losses, weights=weights))
