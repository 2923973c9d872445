"""How much the coefficients of a linear classifier move from fit to fit."""

from collections import namedtuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import column_or_1d

from mainstay import _core
from mainstay._base import _seed

Stability = namedtuple("Stability", ["absolute", "relative", "coefficients"])


def coefficient_stability(
    estimator, X, y, protocol="paired", *, n_resamples=9, fraction=0.5, random_state=0
):
    r"""Measure how much the coefficients of a linear classifier move from fit to fit.

    Parameters
    ----------
    estimator : classifier with ``coef_``
        Any linear scikit-learn classifier; it is cloned.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Class of every row.
    protocol : {"paired", "paper"}, default="paired"
        ``"paired"``: fits to ``n_resamples`` random subsets. They depend on ``random_state`` only,
        so that all estimators asked with the same one see the same subsets: the fair comparison.
        ``"paper"``: what the paper does. An estimator with a parameter ``k`` is fitted to all rows
        with ``k`` = 0.2, 0.3, ..., 1.0; any other to one random subset of each of these sizes. Its
        figures for the two kinds cannot be compared fairly.
    n_resamples : int, default=9
        Number of subsets of the paired protocol, at least 2.
    fraction : float, default=0.5
        Their share of every class.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsets. Keep it when comparing estimators.

    Returns
    -------
    stability : Stability
        Named tuple: ``absolute``, the paper's :math:`\bar\sigma` (with the :math:`1/K` its formula
        lacks): root mean square over features of the standard deviation over fits, averaged over
        hyperplanes; ``relative``, the same over the root mean square of the mean coefficients; and
        ``coefficients`` of shape (n_fits, n_hyperplanes, n_features).

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mainstay import StableLogisticRegression, coefficient_stability
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> plain = coefficient_stability(LogisticRegression(max_iter=1000), X, y)
    >>> stable = coefficient_stability(StableLogisticRegression(k=0.5), X, y)
    >>> plain.coefficients.shape == stable.coefficients.shape == (9, 1, 30)
    True
    """
    check_consistent_length(X, y)
    y = column_or_1d(y)
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64, copy=False)
    sizes = [step / 10 for step in range(2, 11)]
    if protocol == "paper" and "k" in estimator.get_params(deep=False):
        fits = [clone(estimator).set_params(k=size).fit(X, y) for size in sizes]
    elif protocol in ("paired", "paper"):
        if protocol == "paired":
            if n_resamples < 2:
                raise ValueError(f"`n_resamples` = {n_resamples}: must be at least 2")
            sizes = [float(fraction)] * n_resamples
        fits = []
        for rows in _core.subsets(codes, sizes, _seed(random_state)):
            fits.append(clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows)))
    else:
        raise ValueError(f'`protocol` = {protocol!r}: must be "paired" or "paper"')
    coefficients = np.stack([np.atleast_2d(np.asarray(fit.coef_, dtype=float)) for fit in fits])
    absolute, relative = _core.sigma_bar(coefficients)
    return Stability(absolute, relative, coefficients)
