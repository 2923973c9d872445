"""Unlucky subsets: how many rows to count and how strongly to regularise, by cross-validation."""

from mainstay._base import WeightedClassifier
from mainstay._splits import CrossValidated


class StableSVCCV(CrossValidated, WeightedClassifier):
    """`StableSVC` with ``k`` and ``C`` chosen by cross-validated accuracy.

    Where one class has 65 % of the weight or more, the balanced accuracy decides instead, since
    there a constant answer has an accuracy that is hard to beat. Among equal scores the largest
    ``k`` wins (closest to the classical fit), then the smallest ``C``. Fits are started one from
    another along the grid and run in parallel over folds.

    Parameters
    ----------
    ks : sequence of float, default=(0.2, 0.4, 0.6, 0.8, 1.0)
        Values of ``k`` to try, as fractions.
    Cs : sequence of float, default=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
        Values of ``C`` to try.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified, a scikit-learn splitter, or pairs of (rows to fit on, rows to
        judge on). Folds are dealt over distinct rows: copies of a row are never on both sides,
        but rows of one kind in a table of few categories are rows of their own.
    rule : {"min", "one_se"}, default="min"
        The best setting, or the simplest (largest ``k``, then most regularised) within one standard
        error of it.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of a row.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    tol : float, default=1e-6
        Target for the proven gap of every fit.
    max_iter : int, default=1000
        Limit on the iterations of every fit, over all stages of its solver.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    k_ : float
        The chosen fraction.
    C_ : float
        The chosen ``C``.
    cv_results_ : dict of columns
        One entry per setting, named as by `GridSearchCV`: ``params``, ``param_k``,
        ``param_C``, ``split0_test_score`` ... (accuracy, where one class has most of the rows
        balanced accuracy), ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    coef_, intercept_, worst_rows_, equals_classical_, objective_, dual_gap_
        Those of the fit to all rows, as in `StableSVC`.

    Examples
    --------
    >>> from mainstay import StableSVCCV
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = StableSVCCV(ks=[0.5, 1.0], Cs=[1.0]).fit(X[:, :5], y)
    >>> model.k_ in (0.5, 1.0)
    True
    """

    _method = "stable-svm-cv"
    _accepts_sparse = True

    def __init__(
        self,
        ks=(0.2, 0.4, 0.6, 0.8, 1.0),
        Cs=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0),
        *,
        cv=5,
        rule="min",
        loss="hinge",
        fit_intercept=True,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.ks = ks
        self.Cs = Cs
        self.cv = cv
        self.rule = rule
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose


class StableLogisticRegressionCV(CrossValidated, WeightedClassifier):
    """`StableLogisticRegression` with ``k`` and ``alpha`` chosen by cross-validated log loss.

    Among equal scores the largest ``k`` wins (closest to the classical fit), then the largest
    ``alpha``. Fits are started one from another along the grid and run in parallel over folds.

    Parameters
    ----------
    ks : sequence of float, default=(0.2, 0.4, 0.6, 0.8, 1.0)
        Values of ``k`` to try, as fractions.
    alphas : sequence of float, default=(0.0001, 0.001, 0.01, 0.1, 1.0)
        Values of ``alpha`` to try.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified, a scikit-learn splitter, or pairs of (rows to fit on, rows to
        judge on). Folds are dealt over distinct rows: copies of a row are never on both sides,
        but rows of one kind in a table of few categories are rows of their own.
    rule : {"min", "one_se"}, default="min"
        The best setting, or the simplest (largest ``k``, then most regularised) within one standard
        error of it.
    multi_class : {"ovr", "joint"}, default="ovr"
        As in `StableLogisticRegression`.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    tol : float, default=1e-6
        Target for the proven gap of every fit.
    max_iter : int, default=1000
        Limit on the iterations of every fit, over all stages of its solver.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    k_ : float
        The chosen fraction.
    alpha_ : float
        The chosen ``alpha``.
    cv_results_ : dict of columns
        One entry per setting, named as by `GridSearchCV`: ``params``, ``param_k``,
        ``param_alpha``, ``split0_test_score`` ... (minus the log loss),
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    coef_, intercept_, worst_rows_, equals_classical_, objective_, dual_gap_
        Those of the fit to all rows, as in `StableLogisticRegression`.

    Examples
    --------
    >>> from mainstay import StableLogisticRegressionCV
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = StableLogisticRegressionCV(ks=[0.5, 1.0], alphas=[0.1]).fit(X[:, :5], y)
    >>> model.k_ in (0.5, 1.0)
    True
    """

    _method = "stable-logistic-cv"
    _accepts_sparse = True

    def __init__(
        self,
        ks=(0.2, 0.4, 0.6, 0.8, 1.0),
        alphas=(0.0001, 0.001, 0.01, 0.1, 1.0),
        *,
        cv=5,
        rule="min",
        multi_class="ovr",
        fit_intercept=True,
        class_weight=None,
        tol=1e-6,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.ks = ks
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _gives_probabilities(self):
        return True
