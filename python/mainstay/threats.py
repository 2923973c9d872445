"""Damage done to data on purpose, one function per threat.

Four damage the rows a classifier learns from: `few_samples`, `label_noise`, `outliers`,
`unlucky_split`. Four damage the rows it is judged on: `missing_features`, `corrupted_features`,
`adversarial_deletion`, `measurement_error`. Each is a pure function of (data, level, seed): level
0 changes nothing, and with one seed a higher level damages more of the same rows or features. The
compiled code behind them is what `mainstay.stress` and the command line use.
"""

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mainstay import _core
from mainstay._base import _seed
from mainstay._partitioned import refuse_missing_labels

__all__ = [
    "adversarial_deletion",
    "corrupted_features",
    "few_samples",
    "label_noise",
    "measurement_error",
    "missing_features",
    "outliers",
    "unlucky_split",
]


def few_samples(X, y, level, *, random_state=None):
    """Leave out a share of the rows of every class, at random, never a whole class.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their classes.
    level : float
        Share of every class that is left out, at least 0 and below 1.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X, y : ndarrays
        The rows that stay, in their order, and their classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import few_samples
    >>> X, y = few_samples(np.eye(10), [0, 1] * 5, 0.6)
    >>> X.shape, y.tolist()
    ((4, 10), [0, 1, 0, 1])
    """
    X, y = _rows(X, y)
    kept = _core.few_samples(_codes(y)[1], float(level), _fixed(random_state))
    return X[kept], y[kept]


def label_noise(y, level, *, random_state=None):
    """Replace a share of the labels by another class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes, at least two different ones.
    level : float
        Share of the labels that become wrong, between 0 and 1; the count is rounded.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    y : ndarray of shape (n_samples,)
        Labels, that many of them wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import label_noise
    >>> y = np.array(["no", "yes"] * 50)
    >>> int((label_noise(y, 0.2, random_state=1) != y).sum())
    20
    """
    y = _labels(y)
    classes, codes = _codes(y)
    return classes[_core.label_noise(codes, len(classes), float(level), _fixed(random_state))]


def outliers(X, y, level, *, kind="both", random_state=None):
    """Replace a share of the rows by outliers, as in section 5.1.1 of the conic SVM paper.

    Spread outliers keep their class and lie around its centre, ten times as wide as the classes
    are. Clustered outliers lie close together, ten times as far from the middle between two
    classes as the centre of the first, and carry the label of the second (two classes: at class
    0, labelled 1).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their classes.
    level : float
        Share of the rows that are replaced, between 0 and 1.
    kind : {"both", "clustered", "spread"}, default="both"
        Where they lie; ``"both"`` takes turns.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X, y : ndarrays
        Rows and classes after the damage.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import outliers
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> damaged, _ = outliers(X, [0, 1] * 50, 0.1, random_state=0)
    >>> int((damaged != X).any(axis=1).sum())
    10
    """
    X, y = _rows(X, y)
    classes, codes = _codes(y)
    X, codes = _core.outliers(X, codes, len(classes), float(level), kind, _fixed(random_state))
    return X, classes[codes]


def unlucky_split(X, y, level, *, random_state=None):
    """Leave out a share of every class, all of it on one side.

    A random direction of the data's own spread is drawn; of every class the rows farthest out in
    this direction are missing. As many as `few_samples` leaves out, but biased.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their classes.
    level : float
        Share of every class that is missing, at least 0 and below 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the direction; None is a fixed one.

    Returns
    -------
    X, y : ndarrays
        The rows that stay, in their order, and their classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import unlucky_split
    >>> X, _ = unlucky_split(np.arange(10.0)[:, None], [0] * 5 + [1] * 5, 0.4, random_state=0)
    >>> len(X)
    6
    """
    X, y = _rows(X, y)
    kept = _core.unlucky_split(X, _codes(y)[1], float(level), _fixed(random_state))
    return X[kept], y[kept]


def missing_features(X, level, *, reference=None, random_state=None):
    """Replace a share of the features of every row, chosen at random, by their means.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to be judged.
    level : float
        Share of the features, between 0 and 1; the count is rounded and at least 1. Features that
        are at their mean already do not count.
    reference : array-like of shape (n_reference, n_features), default=None
        Training rows, whose means take the place of what is missing; None takes ``X`` itself.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows after the damage.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import missing_features
    >>> X = np.random.default_rng(0).normal(size=(5, 10))
    >>> (missing_features(X, 0.3) != X).sum(axis=1).tolist()
    [3, 3, 3, 3, 3]
    """
    return _damage("missing_features", X, level, reference, random_state)


def corrupted_features(X, level, *, reference=None, random_state=None):
    """Replace a share of the features of every row, chosen at random, by noise.

    The noise is uniform, with the mean and deviation that the feature has in the reference.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to be judged.
    level : float
        Share of the features, between 0 and 1; the count is rounded and at least 1.
    reference : array-like of shape (n_reference, n_features), default=None
        Training rows; None takes ``X`` itself.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows after the damage.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import corrupted_features
    >>> X = np.random.default_rng(0).normal(size=(5, 10))
    >>> (corrupted_features(X, 0.5) != X).sum(axis=1).tolist()
    [5, 5, 5, 5, 5]
    """
    return _damage("corrupted_features", X, level, reference, random_state)


def measurement_error(X, level, *, reference=None, random_state=None):
    """Move every row to a random point of an ellipsoid around it.

    Uniform in the ellipsoid whose semi-axes are ``level * sqrt(n_features + 2)`` times the
    deviations of the features in the reference: the error of every feature then has ``level``
    times its deviation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to be judged.
    level : float
        Size of the error in standard deviations of a feature, not negative.
    reference : array-like of shape (n_reference, n_features), default=None
        Training rows; None takes ``X`` itself.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows as they were measured.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay.threats import measurement_error
    >>> X = np.random.default_rng(0).normal(size=(2000, 4))
    >>> (measurement_error(X, 0.5) - X).std(axis=0).round(1).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return _damage("measurement_error", X, level, reference, random_state)


def adversarial_deletion(X, y, model, level, *, values=None, attack="exact", reference=None):
    """Replace the features that hurt a fitted linear model most by their means.

    For every row anew, by an adversary that knows the model and the row's class.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to be judged.
    y : array-like of shape (n_samples,)
        Their classes; rows of a class that the model does not know stay as they are.
    model : fitted linear classifier
        With ``coef_``, ``intercept_`` and ``classes_``.
    level : float
        Share of the features (of their total value, with ``values``) that may be deleted, between
        0 and 1.
    values : array-like of shape (n_features,), default=None
        What deleting each feature costs; None is 1 each.
    attack : {"exact", "greedy"}, default="exact"
        ``"exact"`` leaves the true class the smallest lead; with equal values both agree.
    reference : array-like of shape (n_reference, n_features), default=None
        Training rows, whose means take the place of what is deleted; None takes ``X`` itself.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows after the damage.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mainstay.datasets import load_demo
    >>> from mainstay.threats import adversarial_deletion
    >>> X, y = load_demo(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = LogisticRegression().fit(X, y)
    >>> bool(model.score(adversarial_deletion(X, y, model, 0.1), y) < model.score(X, y))
    True
    """
    X, y = _rows(X, y)
    _core.check_level("adversarial_deletion", float(level))
    p = X.shape[1]
    means = _core.column_scaling(X if reference is None else _reference(reference, p))[0]
    if values is None:
        values, budget = np.ones(p), float(_core.spoiled(float(level), p))
    else:
        values = check_array(values, ensure_2d=False, dtype=np.float64)
        budget = float(level) * float(values.sum())
    return delete_worst(X, y, model, means, values, budget, attack)


def delete_worst(X, y, model, means, values, budget, attack):
    """Delete within a budget; ``ValueError`` where ``model`` is not linear."""
    coef, intercept = hyperplanes(model)
    classes = np.asarray(model.classes_).tolist()
    places = {label: k for k, label in enumerate(classes)}
    codes = np.array([places.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.int64)
    if budget == 0.0:
        return X.copy()
    return _core.adversarial_deletion(
        X, codes, coef, intercept, list(means), list(values), budget, attack
    )


def hyperplanes(model):
    """Return ``coef_`` and ``intercept_`` as float64 arrays, one row of weights per score."""
    coef = getattr(model, "coef_", None)
    if coef is None or not hasattr(model, "classes_"):
        name = type(model).__name__
        raise ValueError(f"the adversary needs `coef_` and `intercept_`; {name} has none")
    if hasattr(coef, "toarray"):
        coef = coef.toarray()
    coef = np.ascontiguousarray(np.atleast_2d(np.asarray(coef, dtype=np.float64)))
    scores = 1 if len(model.classes_) == 2 else len(model.classes_)
    if coef.shape[0] != scores:
        raise ValueError(
            f"the adversary needs one score for two classes and one per class for more; "
            f"{type(model).__name__} has {coef.shape[0]} for {len(model.classes_)} classes"
        )
    intercept = np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64)
    return coef, np.broadcast_to(intercept.ravel(), (scores,)).tolist()


def _damage(threat, X, level, reference, random_state):
    X = _matrix(X)
    means, scales = _core.column_scaling(
        X if reference is None else _reference(reference, X.shape[1])
    )
    seed = _fixed(random_state)
    return _core.damage_rows(threat, X, means, scales, float(level), seed)


def _matrix(X):
    return np.ascontiguousarray(check_array(X, dtype=np.float64))


def _reference(reference, p):
    reference = _matrix(reference)
    if reference.shape[1] != p:
        raise ValueError(f"`reference` has {reference.shape[1]} features, the rows have {p}")
    return reference


def _rows(X, y):
    X, y = _matrix(X), _labels(y)
    check_consistent_length(X, y)
    return X, y


def _labels(y):
    refuse_missing_labels(y)
    y = column_or_1d(y)
    check_classification_targets(y)
    return y


def _codes(y):
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)


def _fixed(random_state):
    return 0 if random_state is None else _seed(random_state)
