"""Missing and inexact cells filled from the other features."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mainstay import _core
from mainstay._compat import SKLEARN_HAS_TAG_OBJECTS, validate_data
from mainstay._state import PlainState


def core_errors(errors, n, p):
    """Give standard deviations the shape the compiled module takes: one row, or one per sample."""
    if errors is None:
        return None
    errors = np.asarray(errors, dtype=np.float64)
    if errors.ndim == 0:
        errors = np.full((1, p), float(errors))
    elif errors.ndim == 1:
        errors = errors[None, :]
    if errors.ndim != 2 or errors.shape[1] != p or errors.shape[0] not in (1, n):
        raise ValueError(
            f"errors has shape {errors.shape}, expected a number, ({p},) or ({n}, {p}): "
            "standard deviations, one for each feature or one for each cell"
        )
    if not np.all(np.isfinite(errors)) or np.any(errors < 0):
        raise ValueError("errors must be finite and not negative")
    return np.ascontiguousarray(errors)


class GaussianImputer(PlainState, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Fill missing and inexact cells with their conditional mean given the other features.

    The features are modelled as :math:`x \sim N(\mu, \Sigma)` with a covariance shrunk towards its
    diagonal, learned by the EM algorithm from rows that may themselves have missing cells and
    known errors. For a row with measured cells :math:`o`, measured with independent errors of
    variance :math:`E`,

    .. math::

        m = \mu + \Sigma_{\cdot o} (\Sigma_{oo} + E)^{-1} (x_o - \mu_o), \qquad
        V = \Sigma - \Sigma_{\cdot o} (\Sigma_{oo} + E)^{-1} \Sigma_{o \cdot}.

    ``transform`` gives :math:`m`; ``posterior`` also a factor of :math:`V`. With more than 500
    features the covariance is a diagonal plus up to 64 common factors.

    Does not help where features are unrelated (it then fills with means), and extrapolates
    linearly where relations are curved. Categories coded as 0/1 are filled with numbers between.

    Parameters
    ----------
    shrinkage : float or "auto", default="auto"
        Weight of the diagonal in the covariance, between 0 and 1; ``"auto"`` is the estimate of
        Ledoit and Wolf. 1 treats features as unrelated: missing cells get the mean.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        :math:`\mu`.
    covariance_ : ndarray of shape (n_features, n_features)
        :math:`\Sigma`, computed when asked for.
    shrinkage_ : float
        The weight of the diagonal.
    n_iter_ : int
        Steps of the EM algorithm, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Dempster, Laird, Rubin (1977), "Maximum likelihood from incomplete data via the EM algorithm";
    Ledoit, Wolf (2004), "A well-conditioned estimator for large-dimensional covariance matrices".

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import GaussianImputer
    >>> x = np.linspace(-1, 1, 50)
    >>> imputer = GaussianImputer(shrinkage=0.0).fit(np.c_[x, 2 * x])
    >>> imputer.transform([[0.5, np.nan]]).round(6)
    array([[0.5, 1. ]])
    """

    def __init__(self, shrinkage="auto", *, n_jobs=None):
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None, errors=None):
        """Learn mean and covariance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing cell.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often every row counts.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the measurement errors of the cells.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        X = self._check(X, reset=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
            kept = sample_weight > 0
            X, sample_weight = X[kept], sample_weight[kept]
            if errors is not None and np.ndim(errors) == 2 and len(errors) == len(kept):
                errors = np.asarray(errors)[kept]
        self._model = _core.FeatureModel(
            X,
            self.shrinkage,
            errors=core_errors(errors, *X.shape),
            sample_weight=sample_weight,
            n_jobs=self.n_jobs,
        )
        self.mean_ = self._model.means
        self.shrinkage_ = self._model.shrinkage
        self.n_iter_ = max(1, self._model.n_iter)
        return self

    @property
    def covariance_(self):
        check_is_fitted(self)
        return self._model.covariance()

    def transform(self, X, errors=None):
        """Replace missing and inexact cells by their conditional means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the measurement errors of the cells; None is exact cells.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Without NaN.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return self._model.posterior(X, core_errors(errors, *X.shape), self.n_jobs)[0]

    def posterior(self, X, errors=None):
        r"""Conditional mean and a factor of the conditional covariance of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the measurement errors of the cells; None is exact cells.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_features)
            :math:`m`.
        factors : list of ndarray of shape (n_features, rank)
            :math:`F` with :math:`V = F F^\top`, one for each row; rows with the same missing
            cells and errors share one array.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        mean, group, parts = self._model.posterior(X, core_errors(errors, *X.shape), self.n_jobs)
        whole = []
        for features, factor in parts:
            full = np.zeros((X.shape[1], factor.shape[1]))
            full[features] = factor
            whole.append(full)
        return mean, [whole[g] for g in group]

    def averaged_proba(self, model, X, errors=None, base_rate=None):
        r"""Class probabilities of a logistic model, averaged over what is not known of a row.

        The probability at the conditional mean is too sure of itself where much is missing. With
        :math:`(m, V)` from ``posterior`` this is :math:`E\,\sigma(w^\top x + b)` over
        :math:`x \sim N(m, V)`, to 1e-9 by a mixture of normals. The model's score of such a row is
        ``model.decision_function(imputer.transform(X, errors))``.

        Parameters
        ----------
        model : estimator
            A fitted linear classifier with logistic probabilities, trained on rows without missing
            cells (or filled by this imputer): :class:`PenalizedClassifier`,
            :class:`StableLogisticRegression`, :class:`RolinClassifier` or scikit-learn's
            ``LogisticRegression``.
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the measurement errors of the cells; None is exact cells.
        base_rate : float or array-like of shape (n_classes,), default=None
            Share of ``classes_[1]``, or of every class, which a row of which nothing is measured
            gets; others move in proportion to what is open. None: what the normal distribution
            says, which differs where features are skewed.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of the model's ``classes_``.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        rates = None if base_rate is None else np.atleast_1d(np.asarray(base_rate, np.float64))
        coef = np.ascontiguousarray(np.atleast_2d(model.coef_), dtype=np.float64)
        intercept = np.ascontiguousarray(np.atleast_1d(model.intercept_), dtype=np.float64)
        if rates is not None:
            rates = rates[1:] if len(coef) == 1 and len(rates) == 2 else rates
            if len(rates) != len(coef) or not np.all((rates > 0) & (rates < 1)):
                raise ValueError("base_rate must be shares between 0 and 1, one for every class")
            rates = rates.tolist()

        def averaged(rows, errors, rates=None):
            return self._model.averaged(
                coef, intercept, rows, errors=errors, base_rates=rates, n_jobs=self.n_jobs
            )

        known = np.broadcast_to(self.mean_, (1, len(self.mean_)))
        if not np.allclose(averaged(known, None), model.predict_proba(known), atol=1e-8):
            raise ValueError(
                f"the probabilities of {type(model).__name__} are not logistic in its scores, one "
                "class against the rest: they cannot be averaged in closed form"
            )
        return averaged(X, core_errors(errors, *X.shape), rates)

    def _check(self, X, reset):
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")

    if SKLEARN_HAS_TAG_OBJECTS:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.allow_nan = True
            return tags

    else:

        def _more_tags(self):
            return {"allow_nan": True}
