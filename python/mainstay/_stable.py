"""Unlucky subsets: fits that count the worst rows instead of all of them."""

from mainstay._base import WeightedClassifier


def _path(cls, X, y, ks, strength, values, sample_weight, params):
    """Fitted models along ``ks``, or along the ``values`` of the parameter named ``strength``."""
    if (ks is None) == (values is None):
        raise ValueError(f"give either `ks` or `{strength}s`, the parameter the path runs over")
    name, values = ("k", list(ks)) if values is None else (strength, list(values))
    points = [{name: value if name == "k" else float(value)} for value in values]
    models = cls(**params)._fit_path(X, y, points, sample_weight)
    for model, value in zip(models, values, strict=True):
        setattr(model, name, value)
    return models


class StableSVC(WeightedClassifier):
    r"""Support vector machine on the worst ``k`` rows, with a proven optimality gap.

    Solves, with losses :math:`L_i` of rows of weight :math:`c_i`,

    .. math::

        \min_{w, b} \; \|w\|^2 + C \max_{0 \le a \le c, \; \sum_i a_i \le k} \sum_i a_i L_i,

    where the maximum is the sum of the ``k`` largest losses. Two classes:
    :math:`L_i = \max(0, 1 - y_i (w^\top x_i + b))` or its square. More classes: one joint problem
    with one hyperplane and one intercept per class, :math:`L_i` being the sum of the losses of row
    :math:`i` over all classes. Intercepts are not penalised.

    Parameters
    ----------
    k : int or float, default=0.5
        How many rows the worst case holds: an int is a count, a float in (0, 1] a fraction of the
        total weight, not rounded. 1.0 is the classical SVM.
    C : float, default=1.0
        Multiplies the sum of the worst losses; positive. (The usual SVM has half of it.)
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of a row.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class.
    solver : {"interior-point", "cutting-plane"}, default="interior-point"
        The default is fast whatever the data (many rows of two classes are handled by multipliers
        and Newton steps first). ``"cutting-plane"`` is the paper's Algorithm 1, repaired: a
        reference, slow to the last digits.
    tol : float, default=1e-6
        Target for ``dual_gap_``.
    max_iter : int, default=1000
        Limit on the iterations of a fit, over all stages of the solver.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
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
    worst_rows_ : dict of ndarray
        The rows that carry the loss: ``row``, ``weight`` (how much of the row's weight counts) and
        ``loss``, largest loss first.
    equals_classical_ : bool
        Whether the answer also solves the classical problem, in which every row counts. Always so
        for ``k`` of at least twice the smaller class.
    objective_ : float
        Value of the problem above at the answer.
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``), recomputed from the
        data and the answer through a dual feasible point.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    Notes
    -----
    Where ``k`` is so small that zero weights are optimal for every ``C``, the fit says so in a
    warning that names the smallest ``k`` with a usable model.

    References
    ----------
    Tazi Bouardi and Ramirez, *An extension of Stable Regression to Support Vector Machines and
    Logistic Regression*: problems (8) and (10).

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mainstay import StableSVC
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = StableSVC(k=0.2).fit(StandardScaler().fit_transform(X), y)
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _method = "stable-svm"
    _accepts_sparse = True

    def __init__(
        self,
        k=0.5,
        *,
        C=1.0,
        loss="hinge",
        fit_intercept=True,
        class_weight=None,
        solver="interior-point",
        tol=1e-6,
        max_iter=1000,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.k = k
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose

    @classmethod
    def path(cls, X, y, ks=None, *, Cs=None, sample_weight=None, **params):
        """Fit one model for each of ``ks`` or of ``Cs``, each started from the one before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        ks : sequence of int or float, default=None
            Values of ``k``, as in the constructor.
        Cs : sequence of float, default=None
            Values of ``C``, instead of ``ks``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row.
        **params : dict
            Other parameters of the constructor.

        Returns
        -------
        models : list
            Fitted models, in the order given.
        """
        return _path(cls, X, y, ks, "C", Cs, sample_weight, params)


class StableLogisticRegression(WeightedClassifier):
    r"""Logistic regression on the worst ``k`` rows, with a proven optimality gap.

    Solves, with losses :math:`L_i = \log(1 + e^{-y_i (w^\top x_i + b)})` of rows of weight
    :math:`c_i`,

    .. math::

        \min_{w, b} \; \frac1k \max_{0 \le a \le c, \; \sum_i a_i \le k} \sum_i a_i L_i
        + \alpha \|w\|^2,

    where the maximum is the sum of the ``k`` largest losses. The intercept is not penalised.

    Parameters
    ----------
    k : int or float, default=0.5
        How many rows the worst case holds: an int is a count, a float in (0, 1] a fraction of the
        total weight, not rounded. 1.0 is the classical logistic regression.
    alpha : float, default=0.1
        Multiplies the squared norm of the weights; positive.
    multi_class : {"ovr", "joint"}, default="ovr"
        More than two classes: one problem per class against the rest, each with its own worst rows,
        or one problem with the softmax loss.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class.
    solver : {"interior-point", "cutting-plane"}, default="interior-point"
        The default is fast whatever the data (many rows of two classes are handled by multipliers
        and Newton steps first). ``"cutting-plane"`` is the paper's Algorithm 1, repaired: a
        reference, slow to the last digits.
    tol : float, default=1e-6
        Target for ``dual_gap_``.
    max_iter : int, default=1000
        Limit on the iterations of a fit, over all stages of the solver.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
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
    worst_rows_ : dict of ndarray
        The rows that carry the loss: ``row``, ``weight`` (how much of the row's weight counts) and
        ``loss``, largest loss first; ``class`` too where every class has its own problem.
    equals_classical_ : bool
        Whether the answer is the classical fit: only where every row counts.
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem above at the answer.
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``). The largest over the
        classes.
    n_iter_ : int
        Iterations of the solver, the largest over the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Tazi Bouardi and Ramirez, *An extension of Stable Regression to Support Vector Machines and
    Logistic Regression*: problem (12), with an intercept.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mainstay import StableLogisticRegression
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = StableLogisticRegression(k=0.5).fit(StandardScaler().fit_transform(X), y)
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _method = "stable-logistic"
    _accepts_sparse = True

    def __init__(
        self,
        k=0.5,
        *,
        alpha=0.1,
        multi_class="ovr",
        fit_intercept=True,
        class_weight=None,
        solver="interior-point",
        tol=1e-6,
        max_iter=1000,
        n_jobs=None,
        verbose=0,
    ):
        self.k = k
        self.alpha = alpha
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _gives_probabilities(self):
        return True

    @classmethod
    def path(cls, X, y, ks=None, *, alphas=None, sample_weight=None, **params):
        """Fit one model for each of ``ks`` or of ``alphas``, each started from the one before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        ks : sequence of int or float, default=None
            Values of ``k``, as in the constructor.
        alphas : sequence of float, default=None
            Values of ``alpha``, instead of ``ks``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row.
        **params : dict
            Other parameters of the constructor.

        Returns
        -------
        models : list
            Fitted models, in the order given.
        """
        return _path(cls, X, y, ks, "alpha", alphas, sample_weight, params)
