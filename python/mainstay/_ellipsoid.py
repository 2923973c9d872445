"""Support vector machine whose rows are ellipsoids."""

import numpy as np

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
