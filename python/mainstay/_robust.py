"""Logistic regression that is told what may be wrong with labels and features."""

import numpy as np
from sklearn.utils.metaestimators import available_if

from mainstay import _core
from mainstay._base import WeightedClassifier
from mainstay._dask import is_dask, lazy
from mainstay._imputer import core_errors
from mainstay._scan import is_scan


def _has_probabilities(estimator):
    if estimator.loss == "hinge":
        raise AttributeError("loss='hinge' gives no probabilities; use loss='logistic'")
    return True


class RobustLogisticRegression(WeightedClassifier):
    r"""Logistic regression for several kinds of damage at once, random or worst, with a proven gap.

    State what is wrong and how much of it: labels wrong at known rates, cells measured with error,
    features that will be missing. With :math:`\varphi(m) = \log(1 + e^{-m})` this solves

    .. math::

        \min_{w, b} \; \frac{\alpha}{2} \|w\|^2 + \frac{1}{\sum_i c_i} \sum_i c_i \,
        E \, \varphi\big(y_i (w^\top x_i + b)\big)

    over rows :math:`x_i` damaged as stated. A Gaussian model of the features, learned from the
    rows (:class:`GaussianImputer`), puts missing (NaN) and inexact cells where the others expect
    them: training rows, rows with the ``errors`` stated, and features lost with probability
    ``missing``, which are predicted from those that are left. The expected loss has a closed form
    in the mean and the variance of the margin, is convex, and ``dual_gap_`` is a proven bound (but
    for ``correction="forward"`` and ``"averaged"``). Nothing stated and nothing missing, this is
    the L2-penalised logistic regression.

    Predictions average over what is open of a row beyond what the fit has met (errors and missing
    features as stated, or those of the training rows); a row without any measured feature gets the
    base rate.
    More than two classes: one against the rest.

    **The worst case.** ``protect="worst"`` guards against an adversary within what is stated
    instead. The margin of every row is taken at its worst,

    .. math::

        m_i = y_i (w^\top x_i + b) - \|L_i w\| - \max_{\delta} \sum_j \delta_j y_i w_j
        (x_{ij} - \bar x_j), \quad 0 \le \delta \le 1, \; \sum_j \delta_j \le N,

    with ``errors`` as the half-axes :math:`L_i` of an ellipsoid around it and :math:`N` the sum
    of ``missing`` over the features (only those with a positive share can go), and the mean loss
    of the ``worst_share`` of the rows with the largest losses is minimised. Convex, and proven
    like the average; one threat alone is :class:`EllipsoidSVC` or
    :class:`StableLogisticRegression`.

    **When it does not help.** What is stated but absent costs (see the table in the documentation),
    so all defaults are "nothing wrong". An estimate of the share of wrong labels
    (``wrong_labels="auto"``) is not offered: on clean sets it cost more than it gained elsewhere;
    :func:`audit_labels` estimates it for you to judge. ``protect="worst"`` is for an adversary:
    where damage is random it costs accuracy.

    Parameters
    ----------
    alpha : float or "cv", default="cv"
        Strength of the penalty; ``"cv"`` chooses among 20 along a warm-started path by the held-out
        loss that is minimised, with wrong labels on three draws of the folds and down to one logit
        per standard deviation only.
    wrong_labels : float or pair of floats, default=0.0
        Share of wrong labels: of all rows, or of those that truly are ``classes_[0]`` and
        ``classes_[1]``. The shares of both classes must add up to less than 1.
    errors : float, array-like of shape (n_features,) or None, default=None
        Standard deviations of the measurement errors of rows to predict, in the units of ``X``;
        what is passed to ``predict`` replaces them. Errors of the training rows are passed to
        ``fit``. With ``protect="worst"``: half-axes of the ellipsoid around every row, unless
        ``fit`` is given some.
    missing : float or array-like of shape (n_features,), default=0.0
        Expected share of rows in which a feature will be missing at prediction.
    protect : {"average", "worst"}, default="average"
        Random damage: the expected loss is minimised. Or an adversary: the loss under the worst
        damage within what is stated.
    worst_share : float, default=1.0
        With ``protect="worst"``: the share of the rows, those with the largest losses, whose mean
        loss is minimised.
    loss : {"logistic", "hinge"}, default="logistic"
        With ``protect="worst"``: the loss of a margin. The hinge loss gives no probabilities and
        takes no ``wrong_labels``.
    correction : {"forward", "backward", "after", "averaged"}, default="forward"
        What is done about wrong labels. ``"forward"`` maximises the likelihood of the observed
        labels, which is not convex: no certificate (start: the convex fit; steps only uphill);
        ``"after"`` fits the labels as they are and corrects the probabilities,
        :math:`P = (Q - r_0) / (1 - r_0 - r_1)`, clipped; ``"backward"`` minimises an unbiased
        estimate of the loss on true labels (Natarajan et al. 2013). Without wrong labels these
        three are the same. ``protect="worst"`` takes the last two. ``"averaged"`` fits
        ``"forward"`` under four priors (weights alike in all directions or as the features vary,
        all rows alike or far ones counting less), calibrates each on held-out rows and averages
        the log odds by held-out likelihood. Where labels alone are wrong its probabilities are the
        best, unless the signal lies in directions of little variance. It takes several times
        as long; minimises no single problem (no ``objective_``, no ``dual_gap_``); and needs
        ``alpha="cv"``, no ``errors`` and no ``missing``. Without wrong labels it is the same
        average of plain fits.
    feature_model : bool, default=True
        Whether features are predicted from each other; otherwise a missing one is at its mean.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    tol : float, default=1e-6
        Target for ``dual_gap_``.
    max_iter : int, default=200
        Limit on Newton steps of a fit.
    n_alphas : int, default=20
        Strengths that compete where ``alpha="cv"``.
    n_folds : int, default=5
        Folds of that cross-validation.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is a fixed one.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts. With ``correction="after"`` and unequal rates they are moved so that a score of
        0 is where both true classes are equally probable.
    classes_ : ndarray of shape (n_classes,)
        Class labels; in a binary problem ``classes_[1]`` is the positive one.
    label_posterior_ : ndarray of shape (n_samples,)
        Probability that each training label is right; 1 where no labels are wrong.
    worst_rows_ : dict of ndarray
        Where ``protect="worst"``: the rows that count, heaviest loss first: ``row``, ``weight``
        (how much of the row counts), ``loss``, and ``class`` with more than two classes.
    feature_model_ : GaussianImputer
        The model of the features, fitted.
    alpha_ : float
        The strength of the penalty; with ``correction="averaged"`` that of the fit that counts
        most.
    cv_results_ : dict of ndarray
        Where ``alpha="cv"``: the candidates and their held-out scores (minus the loss). With
        ``correction="averaged"`` every strength under every prior (``param_prior``,
        ``param_row_weights``, ``param_alpha``), with ``calibrated_test_score`` (all held-out rows
        together, once calibrated) and its ``weight`` in the average.
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem above at the answer.
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``).
    n_iter_ : int
        Newton steps, the largest over the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Natarajan, Dhillon, Ravikumar, Tewari (2013), "Learning with noisy labels"; Patrini, Rozza,
    Menon, Nock, Qu (2017), "Making deep neural networks robust to label noise: a loss correction
    approach"; van der Maaten, Chen, Tyree, Weinberger (2013), "Learning with marginalized corrupted
    features".

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import RobustLogisticRegression
    >>> from mainstay.datasets import load_demo
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_demo(return_X_y=True)
    >>> model = RobustLogisticRegression(alpha=0.01, missing=0.2).fit(scale(X), y)
    >>> model.dual_gap_ <= 1e-6
    True
    >>> gaps = scale(X)
    >>> gaps[::3, ::4] = np.nan
    >>> bool(model.score(gaps, y) > 0.9)
    True

    Against an adversary who deletes three features of every row, whichever hurt most:

    >>> guarded = RobustLogisticRegression(alpha=0.01, missing=0.1, protect="worst")
    >>> guarded.fit(scale(X), y).dual_gap_ <= 1e-6
    True
    """

    _method = "robust-logistic"
    _allows_nan = True

    def __init__(
        self,
        alpha="cv",
        *,
        wrong_labels=0.0,
        errors=None,
        missing=0.0,
        protect="average",
        worst_share=1.0,
        loss="logistic",
        correction="forward",
        feature_model=True,
        class_weight=None,
        fit_intercept=True,
        tol=1e-6,
        max_iter=200,
        n_alphas=20,
        n_folds=5,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.wrong_labels = wrong_labels
        self.errors = errors
        self.missing = missing
        self.protect = protect
        self.worst_share = worst_share
        self.loss = loss
        self.correction = correction
        self.feature_model = feature_model
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_alphas = n_alphas
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, errors=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; NaN is a missing cell.
        y : array-like of shape (n_samples,)
            Class of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row; 2 is the row twice and 0 its absence.
        errors : array-like of shape (n_samples, n_features), default=None
            Standard deviations of the measurement errors of the cells of these rows; a number or
            one per feature holds for all rows. None: the training rows are exact.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if errors is not None:
            if is_dask(X) or is_scan(X):
                raise ValueError(
                    "`errors` of rows have no fit over partitions; fit a sample of the rows"
                )
            n, p = np.shape(X)
            errors = core_errors(errors, n, p)
            errors = np.ascontiguousarray(np.broadcast_to(errors, (n, p)))
        return self._fit(X, y, sample_weight, uncertainty=errors)

    def decision_function(self, X, errors=None):
        """Score rows: positive means ``classes_[1]``; with more classes, one score per class.

        The log odds of the averaged probability of the observed label, less those at which both
        true classes are equally probable; for complete exact rows the linear score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the errors of these rows; None takes the parameter ``errors``.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if errors is None:
            return super().decision_function(X)
        rows = self._check_rows(X)
        errors = core_errors(errors, *rows.shape)
        scores = _core.inexact_scores(self._model, rows, errors, False, self._n_jobs())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, errors=None):
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the errors of these rows; None takes the parameter ``errors``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        if errors is None and is_dask(X):
            return lazy(self, "predict", X)
        scores = self.decision_function(X, errors)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_has_probabilities)
    def predict_proba(self, X, errors=None):
        """Probability of every true class, averaged over what is not known of a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score; NaN is a missing cell.
        errors : float or array-like of shape (n_features,) or (n_samples, n_features), default=None
            Standard deviations of the errors of these rows; None takes the parameter ``errors``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        if errors is None and is_dask(X):
            return lazy(self, "predict_proba", X)
        rows = self._check_rows(X)
        if errors is None:
            return self._model.probabilities(rows, self._n_jobs())
        errors = core_errors(errors, *rows.shape)
        return _core.inexact_scores(self._model, rows, errors, True, self._n_jobs())

    @property
    def feature_model_(self):
        """The model of the features, as a fitted :class:`GaussianImputer`."""
        from sklearn.utils.validation import check_is_fitted

        from mainstay._imputer import GaussianImputer

        check_is_fitted(self)
        imputer = GaussianImputer("auto" if self.feature_model else 1.0, n_jobs=self.n_jobs)
        imputer._model = _core.fitted_features(self._model)
        imputer.mean_ = imputer._model.means
        imputer.shrinkage_ = imputer._model.shrinkage
        imputer.n_iter_ = max(1, imputer._model.n_iter)
        imputer.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            imputer.feature_names_in_ = self.feature_names_in_
        return imputer

    def _suspicion(self, X, codes, ranking, own):
        if ranking == "posterior" and own and np.any(self.label_posterior_ < 1):
            right = np.reshape(self.label_posterior_, (len(codes), -1))
            column = codes if right.shape[1] > 1 else 0
            right = right[np.arange(len(codes)), column]
            least = np.finfo(float).tiny
            odds = np.log(np.maximum(1.0 - right, least)) - np.log(np.maximum(right, least))
            return odds, self._model.predict(self._check_rows(X), self._n_jobs())
        return super()._suspicion(X, codes, ranking, own)

    def _core_params(self):
        params = super()._core_params()
        for name in ("errors", "missing", "wrong_labels"):
            value = params[name]
            if value is not None and not np.isscalar(value):
                params[name] = np.asarray(value, dtype=np.float64).tolist()
        return params
