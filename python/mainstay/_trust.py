"""May I believe this prediction? One answer for every row."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mainstay import _core
from mainstay._base import BaseClassifier, _seed
from mainstay._summary import described, training_rows


def trust(
    model,
    X,
    *,
    X_train=None,
    y_train=None,
    sample_weight=None,
    y=None,
    errors=None,
    n_refits=100,
    abstain=False,
    random_state=None,
    n_jobs=None,
):
    r"""Tell for every row how far its prediction can be trusted.

    A prediction *stands* unless something speaks against it. It is *unlike the training data* if
    the row lies farther from their mean than 99 % of the training rows (Mahalanobis distance
    :math:`\sqrt{(x - \mu)^\top \Sigma^{-1} (x - \mu)}` with a shrunk :math:`\Sigma`), if a feature
    lies outside their range by more than half its width, or if no class has a conformal p-value
    above 1 %. It is a *close call* if its probability is below 0.6, fewer than 90 % of the refits
    agree, a change of less than 0.2 standard deviations or of less than 2 measurement errors flips
    it, or a second class has a conformal p-value above 5 %.

    Parameters
    ----------
    model : fitted classifier of this package, or a Pipeline that ends in one
        What predicts. A pipeline is judged where its last step sees the rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to predict.
    X_train : array-like or sparse matrix, default=None
        The training rows: adds refits and conformal p-values.
    y_train : array-like, default=None
        Their classes.
    sample_weight : array-like of shape (n_train_samples,), default=None
        Their weights, as the fit had them: refits take them, and rows of weight 0 are absent.
    y : array-like of shape (n_samples,), default=None
        True classes of ``X``, where known: adds the accuracy to ``attrs``.
    errors : float or array-like of shape (n_features,), default=None
        Standard deviations of the measurement errors, in the units of the rows that the (last)
        classifier sees; 0 is exact.
    n_refits : int, default=100
        Refits to training rows drawn with replacement.
    abstain : bool, default=False
        Leave ``predicted`` empty (None) where it does not stand.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples. None is a fixed seed too.
    n_jobs : int or None, default=None
        Threads for the refits; None is 1, -1 all cores. Results do not depend on it.

    Returns
    -------
    trust : pandas.DataFrame (a dict of columns without pandas)
        ``predicted``, ``verdict``, ``probability`` of the predicted class, ``probability_low`` and
        ``probability_high`` (the middle 90 % of the refits), ``agreement`` (share of the refits
        that predict the same), ``flip_sd`` (certified: no smaller Euclidean change flips it, in
        standard deviations of the training rows), ``flip_error`` (in measurement errors),
        ``deletions`` (fewest features replaced by their means that flip it), ``distance`` and
        ``nearer`` (share of the training rows that lie nearer), ``outside`` (features beyond their
        range), ``p_<class>`` (conformal p-values) and ``reasons``. What the model cannot tell has
        no column. ``attrs`` holds ``coverage`` (share of the rows that stand), ``accuracy`` of
        those, the ``rule`` and ``notes``.

    Examples
    --------
    >>> import mainstay
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = mainstay.PenalizedClassifier(normalize=True).fit(X[:400], y[:400])
    >>> found = mainstay.trust(model, X[400:], y=y[400:])
    >>> sorted(set(found["verdict"]))
    ['close call', 'stands', 'unlike the training data']
    """
    index = getattr(X, "index", None)
    last, X, X_train = _last_step(model, X, X_train)
    rows = last._check_rows(X)
    training = training_rows(last, X_train, y_train, sample_weight)
    if training is not None and not 20 <= n_refits <= 100_000:
        raise ValueError(f"`n_refits` = {n_refits}: must be between 20 and 100000")
    found = _core.trust(
        *described(last),
        rows,
        training=training,
        n_refits=int(n_refits),
        errors=_errors(errors, last.n_features_in_),
        seed=0 if random_state is None else _seed(random_state),
        n_jobs=n_jobs,
    )
    return _table(found, last.classes_, y, abstain, index)


def _last_step(model, X, X_train):
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        if len(model) > 1:
            X = model[:-1].transform(X)
            X_train = None if X_train is None else model[:-1].transform(X_train)
        model = model.steps[-1][1]
    if not isinstance(model, BaseClassifier):
        raise ValueError(f"only classifiers of mainstay can be judged, not {type(model).__name__}")
    check_is_fitted(model)
    return model, X, X_train


def _errors(errors, p):
    if errors is None:
        return None
    errors = np.broadcast_to(np.asarray(errors, dtype=np.float64), (p,))
    if not (np.isfinite(errors).all() and (errors >= 0).all()):
        raise ValueError("`errors` must be finite and not negative")
    return errors.tolist()


def _table(found, classes, y, abstain, index):
    codes = found.pop("predicted")
    stands = np.array([word == "stands" for word in found["verdict"]])
    predicted = classes[codes]
    attrs = {"coverage": float(stands.mean()) if len(stands) else 0.0, "accuracy": None}
    if y is not None and stands.any():
        attrs["accuracy"] = float(np.mean((predicted == np.asarray(y))[stands]))
    attrs["rule"], attrs["notes"] = found.pop("rule"), found.pop("notes")
    if abstain:
        predicted = np.where(stands, predicted.astype(object), None)
    p_values, reasons = found.pop("p_values", None), found.pop("reasons")
    columns = {"predicted": predicted, "verdict": found.pop("verdict"), **found}
    if p_values is not None:
        columns.update({f"p_{name}": p_values[:, k] for k, name in enumerate(classes)})
    columns["reasons"] = reasons
    try:
        import pandas as pd
    except ImportError:
        return columns
    frame = pd.DataFrame(columns, index=index if isinstance(index, pd.Index) else None)
    frame.attrs.update(attrs)
    return frame
