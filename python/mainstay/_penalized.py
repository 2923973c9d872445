"""Penalised empirical loss: the baseline every robust method is measured against."""

from mainstay._base import WeightedClassifier


class PenalizedClassifier(WeightedClassifier):
    r"""Linear classifier by penalised empirical loss, with a proven optimality gap.

    Solves, with :math:`m_i = y_i (w^\top x_i + b)`, weights :math:`c_i` and :math:`y_i = \pm 1`,

    .. math::

        \min_{w, b} \; \frac{1}{\sum_i c_i} \sum_i c_i \, \varphi(m_i) + \alpha \, R(w),

    where :math:`R(w)` is :math:`\|w\|_2^2 / 2` (``"l2"``), :math:`\|w\|_1` (``"l1"``) or
    :math:`\rho \|w\|_1 + (1 - \rho) \|w\|_2^2 / 2` (``"elasticnet"``, :math:`\rho` being
    ``l1_ratio``). The intercept :math:`b` is not penalised. More than two classes: one against
    the rest.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber"}, default="logistic"
        :math:`\varphi(m)`: :math:`\log(1 + e^{-m})`; :math:`\max(0, 1 - m)`; its square; or
        modified Huber, the square for :math:`m \ge -1` and :math:`-4m` below.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        :math:`R`.
    alpha : float or "cv", default=0.01
        Strength of the penalty, positive. ``"cv"`` chooses it by cross-validation along a path.
    l1_ratio : float, default=0.5
        Share of L1 in the elastic net, between 0 and 1.
    normalize : bool or "auto", default=False
        Standardise the features first, so that the penalty sees unit variances; the fitted
        ``coef_`` is in the original units all the same. ``"auto"`` lets cross-validation decide.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class. ``"balanced"`` makes all classes weigh the
        same.
    tol : float, default=1e-6
        Target for ``dual_gap_``.
    max_iter : int, default=1000
        Limit on iterations of the solver. Missing ``tol`` within it gives a
        ``ConvergenceWarning`` and a usable model.
    alphas : array-like or None, default=None
        Strengths that ``alpha="cv"`` tries; None is a grid of ``n_alphas`` that fits the data.
    n_alphas : int, default=30
        Length of that grid.
    n_folds : int, default=5
        Folds of the cross-validation of ``alpha="cv"`` and ``normalize="auto"``. A class with
        fewer rows than folds is missing from some folds; a warning says so. A fold does not count
        if its training rows lack a class that it holds out.
    n_repeats : int, default=1
        How often the rows are dealt anew into folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds. None is a fixed seed too: the same call gives the same model.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
        Only for a ``loss`` without probabilities of its own.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels; in a binary problem ``classes_[1]`` is the positive one.
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem above at the answer (on the standardised features where those were
        used).
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``), recomputed from the
        data and the answer through a dual feasible point. The largest over the classes.
    n_iter_ : int
        Iterations of the solver, the largest over the classes.
    alpha_ : float
        Strength of the penalty that was used.
    normalize_ : bool
        Whether the features were standardised.
    cv_results_ : dict
        One entry per candidate, in scikit-learn's words: ``params``, ``param_alpha``,
        ``param_normalize``, ``mean_test_score`` (minus the mean held-out loss),
        ``std_test_score``, ``split0_test_score``, ..., ``rank_test_score``; only after a
        cross-validation.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Eq. (15) of the ROLIN paper; losses of its Eq. (2), with the natural logarithm.

    Examples
    --------
    >>> from mainstay import PenalizedClassifier
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = PenalizedClassifier(penalty="l1", alpha=0.02, normalize=True).fit(X, y)
    >>> model.dual_gap_ <= 1e-6
    True
    >>> bool(model.score(X, y) > 0.96)
    True
    """

    _accepts_sparse = True

    def __init__(
        self,
        loss="logistic",
        penalty="l2",
        alpha=0.01,
        *,
        l1_ratio=0.5,
        normalize=False,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        alphas=None,
        n_alphas=30,
        n_folds=5,
        n_repeats=1,
        random_state=None,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.normalize = normalize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose

    def _method_name(self):
        return self.penalty if self.penalty in ("l1", "elasticnet") else "l2"

    @classmethod
    def _from_core_params(cls, method, params, classes):
        return super()._from_core_params(method, {"penalty": method, **params}, classes)

    def _gives_probabilities(self):
        return self.loss in ("logistic", "modified_huber") or super()._gives_probabilities()
