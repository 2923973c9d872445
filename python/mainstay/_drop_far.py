"""Fits without rows that are far from their class."""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from mainstay import _core
from mainstay._compat import validate_data
from mainstay._forward import Forwarding
from mainstay._partitioned import refuse_missing_labels
from mainstay._state import PlainState
from mainstay._suspects import SuspiciousLabels
from mainstay._tables import index_of
from mainstay._uncertainty import GroupedUncertainty


class DropFarRows(SuspiciousLabels, PlainState, Forwarding, BaseEstimator):
    """Fit a classifier without the rows that robust distances put far from their class.

    For gross errors: units mixed up (x10, x100, x1000), decimal points lost, rows of another
    population. Within every class of at least 10 rows, features are scaled by median and median
    deviation. With more than five rows per feature the distance of a row is its Mahalanobis
    distance from the deterministic minimum covariance determinant estimate, otherwise the larger
    of its distances along and beside spherical principal components. Neither can be moved by a
    third of the rows, however far they are.

    With ``share="auto"`` a row is far if the logarithm of its distance exceeds the median of the
    class by more than four times the way from the median to the upper quartile: heavy tails move
    the cut-off out, so that little is dropped from clean data.

    Does not help against wrong labels (use :class:`RobustLogisticRegression` or
    :class:`ConicSVC`), nor where outliers lie within the range of the others. Far rows of new data
    are predicted like all others. Training rows of weight 0 (``sample_weight``) are not looked at:
    they have the distance 0. Features of which more than half of the values are equal (rare
    indicators) say nothing about distance.

    Parameters
    ----------
    estimator : estimator
        A classifier; it is cloned and fitted to the rows that are kept.
    share : float or "auto", default="auto"
        Share of the rows of every class to drop, below 0.5, or ``"auto"``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    far_rows_ : pandas.DataFrame, or dict of ndarray without pandas
        The rows left out, farthest first: ``row`` (position), ``distance`` (in units of the
        cut-off), ``feature`` (name, or position where there are no names) that puts them there,
        and ``unit``, the power of ten that would make that cell an ordinary one (NaN where none
        does): 0.01 means that the value is 100 times too large. Rows of a pandas frame keep their
        index.
    distances_ : ndarray of shape (n_samples,)
        Distance of every training row in units of the cut-off of its class; above 1 is far.
    kept_ : ndarray of bool of shape (n_samples,)
        The rows that were fitted.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Hubert, Rousseeuw, Verdonck (2012), "A deterministic algorithm for robust location and
    scatter"; Locantore et al. (1999), "Robust principal component analysis for functional data".

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import DropFarRows, PenalizedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(5, 1, size=(200, 3))
    >>> y = (X[:, 0] + rng.normal(size=200) > 5).astype(int)
    >>> X[7, 1] *= 100
    >>> model = DropFarRows(PenalizedClassifier()).fit(X, y)
    >>> int(model.far_rows_["row"][0]), int(model.far_rows_["feature"][0])
    (7, 1)
    >>> float(model.far_rows_["unit"][0])
    0.01
    """

    # Distances need dense rows of features.
    _forwarded_tags = ("allow_nan",)

    def __init__(self, estimator, share="auto"):
        self.estimator = estimator
        self.share = share

    def fit(self, X, y, **fit_params):
        """Find far rows and fit the classifier to the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        **fit_params
            Passed to the classifier's ``fit``; what has one entry for each row is cut to the rows
            that are kept.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        given = X, y
        index = index_of(X)
        refuse_missing_labels(y)
        X, y = validate_data(self, X, y, **self._options())
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = fit_params.get("sample_weight")
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=np.float64)
            if len(np.unique(y[weight > 0])) < 2:
                raise ValueError(
                    "sample_weight: after dropping rows of weight 0 only one class is left"
                )
        self.distances_, far = _core.far_rows(
            X, codes.astype(np.int64), len(self.classes_), self.share, weight
        )
        self.kept_ = self.distances_ <= 1.0
        self.far_rows_ = self._listed(far, index)
        cut = {name: _cut(value, self.kept_) for name, value in fit_params.items()}
        self.estimator_ = clone(self.estimator).fit(X[self.kept_], y[self.kept_], **cut)
        self._remember(*given)
        return self

    def _inner(self):
        return getattr(self, "estimator_", self.estimator)

    def _rows(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._options())

    def _options(self):
        nan = "allow-nan" if self._inner_tags()["allow_nan"] else True
        return {"dtype": np.float64, "ensure_all_finite": nan}

    def _listed(self, far, index):
        features = np.array([f for _, _, f, _ in far], dtype=np.int64)
        if hasattr(self, "feature_names_in_"):
            features = self.feature_names_in_[features]
        columns = {
            "row": np.array([row for row, _, _, _ in far], dtype=np.int64),
            "distance": np.array([distance for _, distance, _, _ in far], dtype=np.float64),
            "feature": features,
            "unit": np.array([np.nan if u is None else u for _, _, _, u in far], dtype=np.float64),
        }
        try:
            import pandas as pd
        except ImportError:
            return columns
        return pd.DataFrame(columns, index=None if index is None else index[columns["row"]])


def _cut(value, kept):
    """Entries of the rows that are kept, of what has one for each row; all else as it is."""
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
        value = GroupedUncertainty(*value)
    if isinstance(value, GroupedUncertainty):
        return value[kept]
    if value is None or np.ndim(value) == 0 or _num_samples(value) != len(kept):
        return value
    return np.asarray(value)[kept]
