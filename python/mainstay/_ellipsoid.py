"""Support vector machine whose rows are ellipsoids."""

import numpy as np

from mainstay._splits import CrossValidated
from mainstay._uncertainty import UncertainClassifier, core_uncertainty


class EllipsoidSVC(UncertainClassifier):
    r"""Linear SVM that keeps its margin on the error ellipsoid of every row, with a proven gap.

    Solves, with :math:`y_i = \pm 1` and the ellipsoid
    :math:`\{x_i + d : d^\top P_i^{-1} d \le 1\}` around row :math:`i`,

    .. math::

        \min_{w, b, v \ge 0} \; \tfrac12 \|w\|^2 + C \sum_i v_i
        \quad \text{with} \quad y_i (w^\top x_i + b) \ge 1 - v_i + \sqrt{w^\top P_i w}.

    The intercept is free. Without uncertainty it is the plain SVM. More than two classes: one
    against the rest.

    Parameters
    ----------
    uncertainty : float, array of shape (p,) or (p, p), default=0.1
        The ellipsoid around every row: a radius, semi-axis lengths along the features, or the
        matrix P. What is passed to ``fit`` replaces it.
    C : float, default=1.0
        Weight of the losses.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class.
    tol : float, default=1e-6
        Target for ``dual_gap_``.
    max_iter : int, default=100
        Limit on iterations of the interior point method, which takes about 15.
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
    objective_ : float or ndarray of shape (n_classes,)
        Value of the problem above at the answer.
    dual_gap_ : float
        Proven bound on (``objective_`` - optimum) / max(1, ``objective_``).
    n_iter_ : int
        Iterations, the largest over the classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    See Also
    --------
    ScaledUncertainty : Standardise features and ellipsoids together.

    References
    ----------
    Problem (34) of Xanthopoulos, Guarracino, Pardalos, "Robust generalized eigenvalue classifier
    with ellipsoidal uncertainty"; Shivaswamy, Bhattacharyya, Smola (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import EllipsoidSVC
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = EllipsoidSVC(C=100.0).fit(X, [0, 0, 1, 1], uncertainty=[0.1, 0.5, 0.5, 0.1])
    >>> round(float(model.coef_[0, 0]), 3)  # the inner intervals end at -1/2 and 1/2
    2.0
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _method = "ellipsoid-svm"

    def __init__(
        self,
        uncertainty=0.1,
        *,
        C=1.0,
        class_weight=None,
        tol=1e-6,
        max_iter=100,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.uncertainty = uncertainty
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose

    @staticmethod
    def path(X, y, Cs=None, scales=None, *, sample_weight=None, uncertainty=None, **params):
        """Fit at every pair of C and scale of the uncertainty; the data are prepared once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        Cs : array-like, default=None
            Values of ``C``; None is the one in ``params``.
        scales : array-like, default=None
            Factors on all ellipsoids (0: the plain SVM); None is 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row.
        uncertainty : array-like, tuple or GroupedUncertainty, default=None
            As in ``fit``.
        **params
            Parameters of the estimators.

        Returns
        -------
        models : list of EllipsoidSVC
            Fitted, all scales of the first C first.
        """
        base = EllipsoidSVC(**params)
        Cs = [base.C] if Cs is None else [float(C) for C in Cs]
        scales = [1.0] if scales is None else [float(scale) for scale in scales]
        points = [(C, scale) for C in Cs for scale in scales]
        rows = core_uncertainty(uncertainty, X)
        path = [{"C": C, "scale": scale} for C, scale in points]
        models = base._fit_path(X, y, path, sample_weight, uncertainty=rows)
        shared = np.asarray(base.uncertainty, dtype=np.float64)
        for model, (C, scale) in zip(models, points, strict=True):
            scaled = shared * (scale * scale if shared.ndim == 2 else scale)
            model.set_params(C=C, uncertainty=float(scaled) if shared.ndim == 0 else scaled)
        return models


class EllipsoidSVCCV(CrossValidated, UncertainClassifier):
    r"""`EllipsoidSVC` with the size of its ellipsoids and ``C`` chosen under the stated noise.

    ``uncertainty`` is one standard deviation of the noise. Guarding *every* row by that much, or by
    more, often leaves no weights at all, because random noise does not push all rows the same way:
    how much of the guard pays is asked of the data. Every pair of scale and ``C`` is fitted on
    every fold; the held-out rows get normal noise whose standard deviations are the half-axes of
    their ellipsoids, five times, and the highest mean score wins, of equals the smallest ``C`` and
    then the smallest scale. The final model is fitted to all rows, with a proven gap.

    Parameters
    ----------
    uncertainty : float, array of shape (p,) or (p, p), default=0.1
        One standard deviation of the noise of every row, as an ellipsoid: a radius, lengths along
        the features, or the matrix P. What is passed to ``fit`` replaces it.
    scales : array-like, default=(0.0, 0.1, 0.25, 0.5, 1.0)
        Factors on the ellipsoids to try; 0 is the plain SVM.
    Cs : array-like, default=(0.001, 0.01, 0.1, 1.0, 10.0)
        Weights of the losses to try.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified, a scikit-learn splitter, or pairs of (rows to fit on, rows to
        judge on). Folds are dealt over distinct rows: copies of a row are never on both sides,
        but rows of one kind in a table of few categories are rows of their own.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"} or None, default=None
        What is measured on the noisy held-out rows. None: the accuracy, but the balanced
        accuracy where one class has 65 % of the weight or more, since there a constant answer has
        an accuracy that is hard to beat.
    rule : {"min", "one_se"}, default="min"
        The best pair, or the simplest (smallest ``C``, then smallest scale) within one standard
        error of it.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    tol : float, default=1e-6
        Target for the proven gap of every fit.
    max_iter : int, default=100
        Limit on the iterations of every fit.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more searches.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the noise; None is a fixed one.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    scale_ : float
        The chosen factor on the ellipsoids.
    C_ : float
        The chosen ``C``.
    cv_results_ : dict of ndarray
        One row per pair, in scikit-learn's words: ``param_C``, ``param_scale``,
        ``split*_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; this and all further attributes are those of :class:`EllipsoidSVC`.

    See Also
    --------
    EllipsoidSVC : One candidate.

    Examples
    --------
    >>> from mainstay import EllipsoidSVCCV
    >>> from mainstay.datasets import load_demo
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_demo(return_X_y=True)
    >>> model = EllipsoidSVCCV(0.5, scales=[0, 0.5], Cs=[0.01, 0.1], cv=3).fit(scale(X), y)
    >>> model.scale_ in (0.0, 0.5)
    True
    """

    _method = "ellipsoid-svm-cv"

    def __init__(
        self,
        uncertainty=0.1,
        *,
        scales=(0.0, 0.1, 0.25, 0.5, 1.0),
        Cs=(0.001, 0.01, 0.1, 1.0, 10.0),
        cv=5,
        scoring=None,
        rule="min",
        class_weight=None,
        tol=1e-6,
        max_iter=100,
        calibrate=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.uncertainty = uncertainty
        self.scales = scales
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _core_params(self):
        params = super()._core_params()
        for name in ("scales", "Cs"):
            params[name] = np.asarray(params[name], dtype=np.float64).ravel().tolist()
        return params
