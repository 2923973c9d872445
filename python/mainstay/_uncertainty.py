"""Ellipsoids of measurement error: as the compiled module takes them, and in other units."""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import _num_samples, check_is_fitted

from mainstay._base import WeightedClassifier
from mainstay._dask import is_dask
from mainstay._forward import Forwarding
from mainstay._scan import is_scan


class GroupedUncertainty:
    """Groups of rows that share an ellipsoid, in a form that cross-validation can split.

    The same as the tuple ``(group, shapes)``, but scikit-learn can take rows out of it: pass it as
    ``uncertainty`` to ``GridSearchCV``, ``cross_val_score`` or a ``Pipeline``.

    Parameters
    ----------
    group : array-like of int of shape (n_samples,)
        Index of every row's ellipsoid.
    shapes : list
        The ellipsoids: each a radius, semi-axis lengths of shape (p,) or a matrix P (p, p).

    Attributes
    ----------
    shape : tuple
        (n_samples,).

    Examples
    --------
    >>> from mainstay import GroupedUncertainty
    >>> instruments = GroupedUncertainty([0, 1, 1, 0], [0.1, [0.2, 0.5]])
    >>> instruments[[1, 3]]
    GroupedUncertainty([1, 0], 2 shapes)
    """

    def __init__(self, group, shapes):
        group = np.asarray(group)
        if group.ndim != 1:
            raise ValueError(f"group has shape {group.shape}, expected one index per row: (n,)")
        if not np.array_equal(group, group.astype(np.int64)):
            raise ValueError("group must hold integers: the index of every row's ellipsoid")
        self.group = group.astype(np.int64)
        self.shapes = list(shapes)
        self.shape = self.group.shape

    def __len__(self):
        return len(self.group)

    def __getitem__(self, rows):
        # scikit-learn asks for [rows] or [rows, ...].
        rows = rows[0] if isinstance(rows, tuple) else rows
        return GroupedUncertainty(np.atleast_1d(self.group[rows]), self.shapes)

    def __repr__(self):
        group = np.array2string(self.group, separator=", ", threshold=8)
        return f"GroupedUncertainty({group}, {len(self.shapes)} shapes)"


def _as_groups(uncertainty):
    if isinstance(uncertainty, GroupedUncertainty):
        return uncertainty
    if len(uncertainty) != 2:
        raise ValueError(
            "uncertainty as a tuple must be (group index of every row, list of uncertainties)"
        )
    return GroupedUncertainty(*uncertainty)


def core_uncertainty(uncertainty, X):
    """Row uncertainty as ``_core.fit`` takes it; shapes are checked there."""
    if uncertainty is None:
        return None
    if isinstance(uncertainty, (tuple, GroupedUncertainty)):
        groups = _as_groups(uncertainty)
        if isinstance(uncertainty, tuple) and len(groups) != _num_samples(X):
            raise ValueError(
                f"uncertainty: {len(groups)} group indices for {_num_samples(X)} rows; in "
                "cross-validation pass mainstay.GroupedUncertainty(group, shapes), which splits"
            )
        return groups.group, [np.asarray(s).tolist() for s in groups.shapes]
    array = np.asarray(uncertainty, dtype=np.float64)
    if array.ndim == 0:
        return np.full(_num_samples(X), float(array))
    if array.ndim > 3:
        raise ValueError(
            f"uncertainty has {array.ndim} dimensions, expected shape (n,), (n, p) or (n, p, p)"
        )
    return np.ascontiguousarray(array)


def scale_uncertainty(uncertainty, scale):
    """Express ellipsoids in the units of features divided by ``scale``.

    Parameters
    ----------
    uncertainty : float, array, tuple or GroupedUncertainty
        Per row, of shape (n,), (n, p) or (n, p, p), or by groups; or one for all rows: a radius.
    scale : array-like of shape (p,)
        What each feature was divided by, ``scale_`` of a ``StandardScaler``.

    Returns
    -------
    scaled : array or GroupedUncertainty
        Radii become semi-axes of shape (n, p), or (p,) for a single radius.

    Examples
    --------
    >>> from mainstay import scale_uncertainty
    >>> scale_uncertainty([0.2, 0.4], [1.0, 2.0]).tolist()
    [[0.2, 0.1], [0.4, 0.2]]
    """
    scale = np.asarray(scale, dtype=np.float64)
    if isinstance(uncertainty, (tuple, GroupedUncertainty)):
        groups = _as_groups(uncertainty)
        return GroupedUncertainty(groups.group, [_scale_shape(s, scale) for s in groups.shapes])
    array = np.asarray(uncertainty, dtype=np.float64)
    if array.ndim == 0:
        return array / scale
    if array.ndim == 1:
        return array[:, None] / scale
    return array / scale if array.ndim == 2 else array / np.outer(scale, scale)


def _scale_shape(shape, scale):
    """One ellipsoid: a radius, semi-axes or a matrix."""
    array = np.asarray(shape, dtype=np.float64)
    return array / (np.outer(scale, scale) if array.ndim == 2 else scale)


class UncertainClassifier(WeightedClassifier):
    """A classifier that takes the known error of every row."""

    def fit(self, X, y, sample_weight=None, uncertainty=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row; 2 is the row twice and 0 its absence, to the last digit.
        uncertainty : array-like, tuple or GroupedUncertainty, default=None
            The ellipsoid around every row: radii of shape (n_samples,), semi-axis lengths of shape
            (n_samples, n_features), or matrices P of shape (n_samples, n_features, n_features);
            or a tuple of the group index of every row and a list with one uncertainty per group
            (inside cross-validation a ``GroupedUncertainty``, which can be split). With a Dask
            frame or a scan it names columns of ``X``: one of radii, or a list with one of semi-axes
            for every feature, in the order of the features; with a Dask array it is one with the
            same blocks. None takes the parameter ``uncertainty`` for all rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        # Errors of rows that are not in memory are named or taken block by block.
        apart = is_dask(X) or is_scan(X)
        rows = uncertainty if apart else core_uncertainty(uncertainty, X)
        return self._fit(X, y, sample_weight, uncertainty=rows)


class ScaledUncertainty(Forwarding, BaseEstimator):
    """Scale the features and the ellipsoids around them together, then fit.

    Inside a ``Pipeline`` a scaler changes the features but not the ``uncertainty`` that is passed
    alongside. This wrapper holds both: use it as the last step instead of a scaler and a
    classifier. The uncertainty, per row or the classifier's parameter, is in the units of ``X``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A classifier with ``fit(X, y, sample_weight=None, uncertainty=None)``; None is
        ``EllipsoidSVC()``.
    scaler : transformer or None, default=None
        Anything with ``scale_`` that divides every feature by it; None is ``StandardScaler()``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier, on scaled features.
    scaler_ : transformer
        The fitted scaler.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from mainstay import RobustReGEC, ScaledUncertainty
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = ScaledUncertainty(RobustReGEC()).fit(X, y, uncertainty=0.05 * X)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _method = None
    _forwarded_tags = ("allow_nan",)

    def __init__(self, estimator=None, scaler=None):
        self.estimator = estimator
        self.scaler = scaler

    def fit(self, X, y, sample_weight=None, uncertainty=None):
        """Fit scaler and classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row, for the classifier.
        uncertainty : array-like, tuple or GroupedUncertainty, default=None
            The ellipsoid around every row, in the units of ``X``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.scaler_ = StandardScaler() if self.scaler is None else clone(self.scaler)
        scaled = self.scaler_.fit_transform(X)
        scale = getattr(self.scaler_, "scale_", None)
        if scale is None:
            scale = np.ones(np.shape(scaled)[1])
        model = clone(self._unfitted())
        if uncertainty is None and hasattr(model, "uncertainty"):
            model.set_params(uncertainty=_scale_shape(model.uncertainty, scale))
        elif uncertainty is not None:
            uncertainty = scale_uncertainty(core_uncertainty(uncertainty, X), scale)
        self.estimator_ = model.fit(scaled, y, sample_weight=sample_weight, uncertainty=uncertainty)
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = self.scaler_.n_features_in_
        if hasattr(self.scaler_, "feature_names_in_"):
            self.feature_names_in_ = self.scaler_.feature_names_in_
        return self

    def _rows(self, X):
        check_is_fitted(self)
        return self.scaler_.transform(X)

    def _inner(self):
        return getattr(self, "estimator_", None) or self._unfitted()

    def _unfitted(self):
        if self.estimator is not None:
            return self.estimator
        from mainstay._ellipsoid import EllipsoidSVC

        return EllipsoidSVC()
