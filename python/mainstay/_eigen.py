"""Generalized eigenvalue classifiers: one plane per class."""

# Longer than others: most of it is docstrings of one method and its two robust forms.

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight

from mainstay import _core
from mainstay._base import WeightedClassifier
from mainstay._compat import validate_data
from mainstay._uncertainty import UncertainClassifier


class ReGEC(WeightedClassifier):
    r"""Regularised generalized eigenvalue classifier: a plane near each class, far from the others.

    The plane :math:`w^\top x = \gamma` of class A against class B minimises

    .. math::

        \frac{\sum_{a \in A} (w^\top a - \gamma)^2}{\sum_{b \in B} (w^\top b - \gamma)^2}
        = \frac{z^\top G z}{z^\top H z}, \qquad z = (w, \gamma),

    with a regularisation on top; it is an eigenvector, found without iteration. Two classes: a row
    belongs to the nearer plane. More: planes against every other class are merged by their leading
    singular vector, and ``rule`` decides.

    Parameters
    ----------
    regularization : {"cross", "tikhonov", "none"}, default="cross"
        "cross" adds ``delta`` times the diagonal of H to G and of G to H, Eq. (7) of the paper;
        "tikhonov" adds ``delta`` times the identity to the numerator only.
    delta : float, default=1e-4
        Strength of the regularisation.
    rule : {"points", "plane"}, default="points"
        With more than two classes: the class of the nearest training point after projecting every
        class on its plane (as published, and better on clean data), or of the nearest plane. With
        ``partial_fit``, which keeps no points, always "plane".
    class_weight : dict, "balanced" or None, default=None
        A factor on all rows of a class cancels in the quotient; it divides the squared distance to
        the class's plane when classes compete.
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
    planes_ : ndarray of shape (n_classes, n_features)
        Unit normals: class ``classes_[k]`` lies on ``planes_[k] @ x == offsets_[k]``.
    offsets_ : ndarray of shape (n_classes,)
        Offsets.
    eigenvalues_ : ndarray of shape (2,) or (n_classes, n_classes - 1)
        The regularised quotient of every plane, against every other class.
    worst_case_ratio_ : ndarray of shape (n_classes,)
        The quotient above for every plane against all other classes (after ``partial_fit`` only
        where sums hold enough digits for it).
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Always 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Guarracino, Cifarelli, Seref, Pardalos (2007); Mangasarian, Wild (2006); Eqs. (1)-(7) of
    Xanthopoulos, Guarracino, Pardalos, "Robust generalized eigenvalue classifier with ellipsoidal
    uncertainty".

    Examples
    --------
    >>> from mainstay import ReGEC
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> Z = (X - X.mean(0)) / X.std(0)
    >>> bool(ReGEC().fit(Z, y).score(Z, y) > 0.9)
    True
    """

    _method = "regec"

    def __init__(
        self,
        regularization="cross",
        *,
        delta=1e-4,
        rule="points",
        class_weight=None,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.regularization = regularization
        self.delta = delta
        self.rule = rule
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Fit on one more batch of rows; sums over batches equal sums over all rows.

        The model is there once every class has been seen. After ``fit`` it starts anew, with the
        classes of ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of this batch.
        y : array-like of shape (n_samples,)
            Class of every row.
        classes : array-like of shape (n_classes,), default=None
            All classes; needed in the first call unless ``fit`` has seen them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row.

        Returns
        -------
        self : object
            The estimator.
        """
        if self.calibrate:
            raise ValueError("`calibrate` = True: a stream has no held-out rows; use `fit`")
        first = getattr(self, "_moments", None) is None
        if first and classes is None:
            classes = getattr(self, "classes_", None)
        if first and classes is None:
            raise ValueError("the first call of partial_fit needs `classes`")
        X, y = validate_data(self, X, y, reset=first, **self._check_options())
        check_classification_targets(y)
        if classes is not None:
            classes = unique_labels(classes)
            if first:
                self.classes_ = classes
            elif not np.array_equal(classes, self.classes_):
                raise ValueError(f"`classes` = {classes}, but earlier calls had {self.classes_}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"`y` holds {unknown}, which are not among the classes")
        if self.class_weight == "balanced":
            raise ValueError(
                "`class_weight` = 'balanced' is not defined for batches: give factors as a dict"
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        codes = np.searchsorted(self.classes_, y).astype(np.int64)
        if first:
            self._moments = _core.Moments(X, codes, len(self.classes_), weights)
        else:
            self._moments.add(X, codes, len(self.classes_), weights)
        return self._fit_moments()

    def merge(self, *others):
        """Add the rows that other estimators saw in ``partial_fit``, on another machine say.

        Parameters
        ----------
        *others : ReGEC
            Estimators with the same classes and features.

        Returns
        -------
        self : object
            The estimator, with the planes of all rows together.
        """
        for other in (self, *others):
            if getattr(other, "_moments", None) is None:
                raise ValueError("merge adds up what partial_fit has seen; call it first")
        for other in others:
            if not np.array_equal(self.classes_, other.classes_):
                raise ValueError(f"classes {other.classes_} do not match {self.classes_}")
            self._moments.merge(other._moments)
        return self._fit_moments()

    def _fit_moments(self):
        if min(self._moments.counts) > 0:
            self._set_fitted(self._moments.fit(self._core_params()))
        return self

    def _fit(self, X, y, sample_weight=None, **extra):
        self._moments = None
        return super()._fit(X, y, sample_weight, **extra)


class NormRobustReGEC(WeightedClassifier):
    r"""ReGEC against errors of its matrices that are bounded in norm.

    For each plane, :math:`\min_z \max_{\|\Delta G\| \le \eta_a, \|\Delta H\| \le \eta_b}
    z^\top (G + \Delta G) z / z^\top (H + \Delta H) z`, with G of the plane's own class and H of the
    other. The answer is the smallest positive eigenvalue of
    :math:`(G + \eta_a I) z = \lambda (H - \eta_b I) z`; if there is none, no robust plane exists
    and ``fit`` says so.

    Parameters
    ----------
    eta_a : float, default=0.1
        Norm of the error of the plane's own class's matrix.
    eta_b : float, default=0.0
        Norm of the error of the other class's matrix.
    rule : {"points", "plane"}, default="points"
        With more than two classes: as in :class:`ReGEC`.
    class_weight : dict, "balanced" or None, default=None
        A factor on all rows of a class cancels in the quotient; it divides the squared distance to
        the class's plane when classes compete.
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
    planes_ : ndarray of shape (n_classes, n_features)
        Unit normals: class ``classes_[k]`` lies on ``planes_[k] @ x == offsets_[k]``.
    offsets_ : ndarray of shape (n_classes,)
        Offsets.
    eigenvalues_ : ndarray of shape (2,) or (n_classes, n_classes - 1)
        The worst quotient of every plane, against every other class.
    worst_case_ratio_ : ndarray of shape (n_classes,)
        Two classes: ``eigenvalues_``. More: the nominal quotient of the merged planes.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Always 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Theorem 1 of Xanthopoulos, Guarracino, Pardalos, which as printed needs ``eta_b`` below the
    smallest eigenvalue of H.

    Examples
    --------
    >>> from mainstay import NormRobustReGEC
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> bool(NormRobustReGEC(eta_a=0.5).fit(X, y).score(X, y) > 0.8)
    True
    """

    _method = "norm-robust-regec"

    def __init__(
        self,
        eta_a=0.1,
        eta_b=0.0,
        *,
        rule="points",
        class_weight=None,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.eta_a = eta_a
        self.eta_b = eta_b
        self.rule = rule
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose


class RobustReGEC(UncertainClassifier):
    r"""ReGEC against the worst place of every row inside its error ellipsoid.

    Kept for the paper's sake: one plane through the middle of each class is not the plane between
    them, and nearest-plane rules were well behind L2 logistic regression in all comparisons (the
    page on measurement error says by how much, and why). For predictions use
    :class:`RobustLogisticRegression` or :class:`EllipsoidSVCCV`.

    With :math:`\rho_i(w) = \sqrt{w^\top P_i w}` the plane of class A against B minimises, to a
    stationary point and with the regularisation of :class:`ReGEC`,

    .. math::

        R(w, \gamma) = \frac{\sum_A (|w^\top a - \gamma| + \rho_a)^2}
        {\sum_B \max(|w^\top b - \gamma| - \rho_b, 0)^2}.

    Both planes have their own problem. ``worst_case_ratio_`` is R of the planes returned,
    recomputed from the data with the whole ellipsoids, and never above that of the nominal planes.

    Parameters
    ----------
    uncertainty : float, array of shape (p,) or (p, p), default=0.1
        The ellipsoid around every row: a radius, semi-axis lengths along the features, or the
        matrix P. What is passed to ``fit`` replaces it.
    solver : {"monotone", "paper"}, default="monotone"
        "monotone" lowers R in every iteration. "paper" is Algorithm 1 as published, repaired; it
        rarely converges, and then the best plane it met is returned.
    xi : float, "auto" or "cv", default="auto"
        How much of the nominal rows is mixed in, Eq. (32): ellipsoids are shrunk by 1 - xi. "auto"
        takes the value with the lowest mean quotient over random realisations of the training rows,
        "cv" that with the best accuracy on held-out rows moved on their ellipsoids.
    tol : float or None, default=None
        Relative fall of R at which "monotone" stops (None: 1e-7), or change of the plane at which
        "paper" does (None: 1e-2).
    max_iter : int or None, default=None
        Limit on iterations (None: 300 for "monotone", 10 for "paper").
    regularization : {"cross", "tikhonov", "none"}, default="cross"
        As in :class:`ReGEC`.
    delta : float, default=1e-4
        Strength of the regularisation.
    rule : {"points", "plane"}, default="plane"
        With more than two classes: as in :class:`ReGEC`. Under measurement error the nearest plane
        is the better rule, since projected points keep the noisy coordinates.
    class_weight : dict, "balanced" or None, default=None
        A factor on all rows of a class cancels in the quotient; it divides the squared distance to
        the class's plane when classes compete.
    random_state : int, RandomState instance or None, default=None
        Seed of the realisations that choose ``xi``.
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
    planes_ : ndarray of shape (n_classes, n_features)
        Unit normals: class ``classes_[k]`` lies on ``planes_[k] @ x == offsets_[k]``.
    offsets_ : ndarray of shape (n_classes,)
        Offsets.
    worst_case_ratio_ : ndarray of shape (n_classes,)
        R of every plane against all other classes.
    eigenvalues_ : ndarray of shape (2,) or (n_classes, n_classes - 1)
        The regularised quotient the solver reached, against every other class.
    xi_ : float
        The ``xi`` in use.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Iterations, the largest over the planes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    See Also
    --------
    ScaledUncertainty : Standardise features and ellipsoids together.

    References
    ----------
    Section 3 of Xanthopoulos, Guarracino, Pardalos, "Robust generalized eigenvalue classifier with
    ellipsoidal uncertainty".

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import RobustReGEC
    >>> A = np.array([[5.0, 7.11], [4.0, 5.36], [4.63, 4.42]])
    >>> B = np.array([[2.82, 1.44], [2.0, 1.72], [1.0, -0.68]])
    >>> model = RobustReGEC(0.5, xi=0.0).fit(np.vstack([A, B]), [0, 0, 0, 1, 1, 1])
    >>> model.predict([[4.5, 6.0], [2.0, 1.0]]).tolist()
    [0, 1]
    """

    _method = "robust-regec"

    def __init__(
        self,
        uncertainty=0.1,
        *,
        solver="monotone",
        xi="auto",
        tol=None,
        max_iter=None,
        regularization="cross",
        delta=1e-4,
        rule="plane",
        class_weight=None,
        random_state=None,
        n_jobs=None,
        calibrate=False,
        verbose=0,
    ):
        self.uncertainty = uncertainty
        self.solver = solver
        self.xi = xi
        self.tol = tol
        self.max_iter = max_iter
        self.regularization = regularization
        self.delta = delta
        self.rule = rule
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.verbose = verbose
