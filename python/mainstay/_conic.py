"""The conic-loss support vector machine: classifiers that survive wrong labels and outliers."""

import numbers

import numpy as np

from mainstay._base import WeightedClassifier
from mainstay._splits import CrossValidated


class _Suspicious:
    """What both classes do after a fit."""

    def _set_fitted(self, core):
        super()._set_fitted(core)
        if core.coef is None:
            self.intercept_ = core.intercept

    def _stored_suspects(self, ranking):
        if ranking == "margin" or not hasattr(self, "suspects_"):
            return None
        found = self.suspects_
        return {
            "row": found["row"],
            "label": self.classes_[found["label"]],
            "score": found["score"],
            "predicted": self.classes_[found["predicted"]],
        }

    def _suspicion(self, X, codes, ranking, own):
        if ranking != "z":
            return super()._suspicion(X, codes, ranking, own)
        if not own:
            raise ValueError('`ranking` = "z": the indicators belong to the training rows')
        score, predicted = np.empty(len(codes)), np.empty(len(codes), dtype=int)
        score[self.suspects_["row"]] = self.suspects_["score"]
        predicted[self.suspects_["row"]] = self.suspects_["predicted"]
        return score, predicted


class ConicSVC(_Suspicious, WeightedClassifier):
    r"""Support vector machine that holds against wrong labels and outliers, with proof.

    Every training row gets an indicator :math:`z_i \in [0, 1]` of how much its label is
    disbelieved. The fit pays for disbelief and not for distance: an outlier far on the wrong side
    costs no more than any other error. With weights :math:`c_i` and labels :math:`y_i = \pm 1` it
    solves the semidefinite program

    .. math::

        \begin{aligned}
        &\min_{w, W, z} \; \mathrm{tr}\, W \;(+\; C \textstyle\sum_i c_i z_i)
        \quad \text{subject to} \quad W \succeq w w^\top, \\
        &x_i^\top W x_i - 2 y_i x_i^\top w + 1
            \ge \frac{(1 - y_i x_i^\top w)_+^2}{z_i} + \frac{(1 - y_i x_i^\top w)_-^2}{1 - z_i},
        \end{aligned}

    either with the price ``C`` in the objective or with the budget :math:`\sum_i c_i z_i \le
    \kappa \sum_i c_i` as a constraint. It is convex and its value bounds the value with the 0-1
    loss from below. The answer comes with a proven optimality gap, from a method that takes
    milliseconds where a general solver takes minutes. More than two classes: one against the rest.

    Parameters
    ----------
    kappa : float, default=None
        Share of labels that may be disbelieved, between 0 and 1. 0 is the hard-margin machine,
        which exists for separable labels only. At most one of ``kappa`` and ``C``; neither means
        0.1.
    C : float, default=None
        Price of disbelieving one label, positive (the paper's :math:`\lambda`).
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Kernel; ``"precomputed"`` takes kernel matrices for ``X``. Meant for up to a thousand rows
        or so unless linear.
    gamma : float, "scale" or "auto", default="scale"
        Width of ``"rbf"`` and ``"poly"``: ``"scale"`` is 1 / (features * variance of all entries),
        ``"auto"`` is 1 / features.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Constant of ``"poly"``, not negative.
    fit_intercept : bool, default=True
        Add a constant feature. It is regularised like any other, as in the paper; for kernels it
        adds 1 to the kernel.
    class_weight : dict, "balanced" or None, default=None
        How much a unit of disbelief in a class's labels counts: a factor on :math:`c_i` in
        :math:`\sum_i c_i z_i`. The budget stays ``kappa`` times the total ``sample_weight``.
    tol : float, default=1e-06
        Target for ``dual_gap_``.
    max_iter : int, default=200
        Limit on iterations of the solver. Missing ``tol`` within it gives a
        ``ConvergenceWarning`` and a usable model.
    n_jobs : int or None, default=None
        Threads for more than two classes; None is 1, -1 all cores. Results do not depend on it.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    z_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        How suspicious each training label is, between 0 and 1.
    loss_shape_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The paper's :math:`\gamma_i`, per unit of weight: at the answer row i is judged by the loss
        :math:`\min(C,\, 2\sqrt{C \gamma_i}\,a - \gamma_i a^2)` of :math:`a = (1 - y_i x_i^\top
        w)_+`, which is flat from :math:`a = \sqrt{C / \gamma_i}` on.
    price_ : float or ndarray of shape (n_classes,)
        ``C``, or the multiplier of the budget: a fit with this ``C`` has the same answer.
    zero_one_bound_ : float or ndarray of shape (n_classes,)
        Proven lower bound on the best value with z in {0, 1}, that is, with the 0-1 loss.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights (linear kernel).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; for kernels the share of the constant.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Kernels: the score of a row x is the sum of ``dual_coef_[j] * k(x_j, x)`` over the training
        rows plus ``intercept_``. Zero outside ``support_``.
    support_ : ndarray of shape (n_support,)
        Kernels: the training rows that predicting needs.
    suspects_ : dict of ndarray
        What :meth:`suspicious_labels` shows with ``ranking="z"``, with class indices.
    classes_ : ndarray of shape (n_classes,)
        Class labels; in a binary problem ``classes_[1]`` is the positive one.
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem above at the answer.
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``), recomputed from the
        data and the answer through a dual feasible point. The largest over the classes.
    n_iter_ : int
        Iterations of the solver, the largest over the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    See Also
    --------
    ConicSVCCV : Chooses ``kappa`` by cross-validation.

    References
    ----------
    Cepeda, Gomez, Han (2024), *Robust support vector machines via conic optimization*: problem
    (17), Proposition 1 (the loss), Appendix A (kernels), Appendix C (``kappa``).

    Examples
    --------
    >>> from mainstay import ConicSVC
    >>> from mainstay.datasets import make_outliers
    >>> X, y = make_outliers(200, 5, 0.2, "clustered", random_state=0)
    >>> model = ConicSVC(kappa=0.15).fit(X, y)
    >>> model.dual_gap_ <= 1e-6
    True
    >>> worst = int(model.suspicious_labels()["row"][0])
    >>> bool(model.predict(X[[worst]])[0] == y[worst])
    False
    """

    _method = "conic"

    def __init__(
        self,
        kappa=None,
        *,
        C=None,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        class_weight=None,
        tol=1e-6,
        max_iter=200,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.kappa = kappa
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose

    @staticmethod
    def path(X, y, kappas, *, sample_weight=None, **params):
        """Fit one model for every budget, each warm-started from the next larger one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        kappas : array-like of shape (n_kappas,)
            Budgets, in any order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row.
        **params : dict
            Other parameters of :class:`ConicSVC`.

        Returns
        -------
        models : list of ConicSVC
            Fitted, in the order of ``kappas``.

        Examples
        --------
        >>> from mainstay import ConicSVC
        >>> from mainstay.datasets import make_outliers
        >>> X, y = make_outliers(100, 3, 0.5, "spread", random_state=1)
        >>> path = ConicSVC.path(X, y, [0.05, 0.1, 0.2])
        >>> [m.kappa for m in path]
        [0.05, 0.1, 0.2]
        >>> path[0].objective_ > path[1].objective_ > path[2].objective_
        True
        """
        for name in ("kappa", "C"):
            if name in params:
                raise ValueError(f"`{name}`: a path is over `kappas`; leave it out")
        kappas = np.asarray(kappas, dtype=np.float64)
        if kappas.ndim != 1:
            raise ValueError(f"`kappas`: must be one-dimensional, not of shape {kappas.shape}")
        model = ConicSVC(**params)
        points = [{"kappa": kappa} for kappa in kappas.tolist()]
        models = model._fit_path(X, y, points, sample_weight)
        for one, kappa in zip(models, kappas.tolist(), strict=True):
            one.kappa = kappa
        return models


class ConicSVCCV(CrossValidated, _Suspicious, WeightedClassifier):
    r"""Conic-loss support vector machine with its budget chosen by cross-validation.

    Solves :class:`ConicSVC`'s problem for every budget on every split, each certified and
    warm-started from the last, and chooses the ``kappa`` with the best mean score on the held-out
    rows. Ties are common, because errors are counts: of all tied values, in ascending
    order, the middle one wins (the lower middle of an even number). The final model is fitted to
    all rows.

    Parameters
    ----------
    kappas : int or array-like, default=100
        How many budgets to try, equally spaced from 0.005 to 0.5, or the budgets themselves.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, a scikit-learn splitter (``PredefinedSplit``, say), or pairs
        of (rows to fit on, rows to judge on). Folds are dealt over distinct rows: copies of a row
        are never on both sides, but rows of one kind in a table of few categories are rows of
        their own.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        What is measured on held-out rows.
    rule : {"min", "one_se"}, default="min"
        The best budget, or the largest within one standard error of it.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Kernel.
    gamma : float, "scale" or "auto", default="scale"
        Width of ``"rbf"`` and ``"poly"``.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Constant of ``"poly"``, not negative.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like any other.
    class_weight : dict, "balanced" or None, default=None
        How much a unit of disbelief in a class's labels counts, as in :class:`ConicSVC`; held-out
        rows are weighed by it too.
    tol : float, default=1e-06
        Target for the proven gap of every fit.
    max_iter : int, default=200
        Limit on iterations of every fit.
    n_jobs : int or None, default=None
        Threads, used for the splits; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is a fixed one.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    kappa_ : float
        The chosen budget.
    cv_results_ : dict
        One entry per budget, in scikit-learn's words: ``params``, ``param_kappa``,
        ``mean_test_score`` (the mean of ``scoring``), ``std_test_score``,
        ``split0_test_score``, ..., ``rank_test_score``.
    z_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        How suspicious each training label is; this and all further attributes are those of
        :class:`ConicSVC` with ``kappa_``.

    See Also
    --------
    ConicSVC : One budget.

    References
    ----------
    Cepeda, Gomez, Han (2024), *Robust support vector machines via conic optimization*,
    section 5.1.2 and Appendix C.

    Examples
    --------
    >>> from mainstay import ConicSVCCV
    >>> from mainstay.datasets import make_outliers
    >>> X, y = make_outliers(100, 3, 0.2, "clustered", random_state=3)
    >>> model = ConicSVCCV(kappas=20).fit(X, y)
    >>> 0.005 <= model.kappa_ <= 0.5
    True
    """

    _method = "conic-cv"

    def __init__(
        self,
        kappas=100,
        cv=5,
        *,
        scoring="accuracy",
        rule="min",
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        class_weight=None,
        tol=1e-6,
        max_iter=200,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.kappas = kappas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose

    def _core_params(self):
        params = super()._core_params()
        if not isinstance(self.kappas, numbers.Integral):
            params["kappas"] = np.asarray(self.kappas, dtype=np.float64).tolist()
        return params
