"""Few samples: ROLIN and its part on the top principal components."""

import numbers

from mainstay._base import WeightedClassifier
from mainstay._splits import split_pairs


class _FewSamples(WeightedClassifier):
    def _before_fit(self, X, y):
        dealt = isinstance(self.cv, (str, numbers.Integral))
        self._splits = None if dealt else split_pairs(self.cv, X, y)

    def _core_params(self):
        params = super()._core_params()
        if isinstance(self.cv, numbers.Integral):
            del params["cv"]  # the default rule, on so many folds of distinct rows
            params["n_folds"], params["n_repeats"] = int(self.cv), 1
        elif getattr(self, "_splits", None) is not None:
            params["cv"] = self._splits
        elif not isinstance(self.cv, str):
            del params["cv"]
        return params

    def _gives_probabilities(self):
        return self.loss in ("logistic", "modified_huber") or super()._gives_probabilities()

    def _set_fitted(self, core):
        super()._set_fitted(core)
        if core.coef is None:
            self.intercept_ = core.intercept


class RolinClassifier(_FewSamples):
    r"""Robust linear classification from few samples.

    ``variant="paper"`` is Algorithms 1 and 2 of the paper: the training loss is minimised on the
    top ``k`` principal components, where data are reliable; in the rest, where only moments are
    believed, the direction is the best one against the most uncertain distribution with these
    moments (Theorem 1). With :math:`X = U D V^\top`, and :math:`V_1, D_1` what is left of
    :math:`V, D` without the top,

    .. math::

        \eta \propto V_1 (D_1^2 + \sigma I)^{-1} V_1^\top X^\top y, \qquad
        \sigma = \mathtt{sigma\_ratio} \cdot \max D_1^2,

    and its length in :math:`[0, \mathtt{b\_max}]` minimises the training loss. Robust
    cross-validation chooses the three numbers and whether to standardise.

    ``variant="extended"`` keeps the idea and averages instead of choosing: ridge directions (the
    paper's robust direction with ``k = 0``, Theorem 2) and penalised fits of the loss, under
    several scalings of the features, each calibrated on its out-of-fold scores and weighted by
    its calibrated out-of-fold loss. Under the logistic loss a fifth of the average is a logistic
    fit to standardised features with a fixed penalty (not with ``normalize=False`` or a kernel).
    The result is one linear function. It has no knobs: giving one of the paper's is an error.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber"}, default="logistic"
        Eq. (2) of the paper; the logistic loss has base 2 in ``cv_results_``.
    variant : {"extended", "paper"}, default="extended"
        The average, or the method as published.
    cv : {"robust", "standard", "one_sd"}, int, splitter or iterable, default="robust"
        Paper: Algorithm 2; least mean holdout loss; or the most regularised setting within one
        standard deviation of it. Anything else says how rows are split instead of ``n_folds`` and
        ``n_repeats``, under the default rule: a number of folds, a scikit-learn splitter, or pairs
        of row positions (extended: every row held out once).
    scoring : {"loss", "zero_one"}, default="loss"
        What holdout rows are judged by.
    normalize : bool or "auto", default="auto"
        Standardise the features (extended: scale them by their range or its root). ``"auto"``
        lets the cross-validation decide (extended: averages both).
    theta_ratio : float, default=5.0
        Paper: largest ratio of held-out to training loss that Algorithm 2 accepts.
    theta_slack : float, default=0.1
        Paper: how far above the best cost a candidate may be, as a share of it.
    theta_gain : float, default=0.05
        Paper: how much better than the top components alone the robust part must be.
    n_folds : int, default=5
        Folds of the stratified cross-validation. A class with fewer rows than folds is missing
        from some folds; a warning says so.
    n_repeats : int, default=5
        How often the cross-validation is repeated. Copies of a row are held out together,
        but rows of one kind in a table of few categories are rows of their own.
    sigma_ratios : sequence of float, default=None
        Paper: grid of bounds on the unreliable variance; None means 1, 2, ..., 10.
    b_maxs : sequence of float, default=None
        Paper: grid of step limits; None means ten points from 0.01 to 0.1 sqrt(n/15).
    k : int, default=None
        Paper: number of reliable components, instead of choosing it; 0 is the robust part alone.
    s0_ridge : float, default=1e-6
        Paper: ridge of the fit on the reliable components, which has no minimiser on separable
        rows otherwise.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Inner product; ``"rbf"`` and ``"poly"`` (degree 3) with scikit-learn's ``gamma="scale"``.
        Of a precomputed matrix with negative eigenvalues only the positive part counts.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the splits; None is 0.
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
        Weights (linear kernel).
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Weights of the training rows (other kernels).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels; in a binary problem ``classes_[1]`` is the positive one.
    candidates_ : dict of columns
        Extended: every candidate with its scaling, family, strength, calibrated scale and shift,
        out-of-fold loss (natural logarithm), share of wrong rows and weight in the average.
    k_, k_max_, sigma_ratio_, b_max_, normalize_ : int, int, float, float, bool
        Paper: what was chosen (arrays with more than two classes; both 0 in the middle means the
        reliable components alone).
    cv_results_ : dict of columns
        Paper: every candidate looked at: k, sigma_ratio, b_max, normalize, loss_avg, loss_max,
        loss_ratio, cost, and ``pruned``: 1 where it was given up because lower bounds of its
        holdout losses ruled it out; these bounds are then given, the ratio is NaN. Only
        ``cv="robust"`` needs ratios: with the others they are NaN beside a robust part. The same
        in scikit-learn's words: ``param_k``, ``param_sigma_ratio``, ``param_b_max``,
        ``param_normalize``, ``split*_test_score``, ``mean_test_score`` (``-loss_avg``),
        ``std_test_score``, ``rank_test_score`` (per class with more than two); NaN on splits that
        were not looked at.
    components_ : dict
        Paper: ``reliable`` and ``robust``, the two parts of ``coef_``, ``direction``, the unit
        direction of the second, and the dimensions of their subspaces.
    n_iter_ : int
        Number of cross-validation splits.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    D. Chakrabarti, *Robust Linear Classification from Limited Training Data*.

    Examples
    --------
    >>> from mainstay import RolinClassifier
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = RolinClassifier().fit(X[::20], y[::20])
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _method = "rolin"

    def __init__(
        self,
        loss="logistic",
        *,
        variant="extended",
        cv="robust",
        scoring="loss",
        normalize="auto",
        theta_ratio=5.0,
        theta_slack=0.1,
        theta_gain=0.05,
        n_folds=5,
        n_repeats=5,
        sigma_ratios=None,
        b_maxs=None,
        k=None,
        s0_ridge=1e-6,
        kernel="linear",
        class_weight=None,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.loss = loss
        self.variant = variant
        self.cv = cv
        self.scoring = scoring
        self.normalize = normalize
        self.theta_ratio = theta_ratio
        self.theta_slack = theta_slack
        self.theta_gain = theta_gain
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.sigma_ratios = sigma_ratios
        self.b_maxs = b_maxs
        self.k = k
        self.s0_ridge = s0_ridge
        self.kernel = kernel
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose


class TopPCsClassifier(_FewSamples):
    """Linear classification on the top principal components alone.

    ROLIN as published with its robust part off: the loss is minimised on the first ``k``
    principal components, and ``k`` is chosen by cross-validation.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber"}, default="logistic"
        Eq. (2) of the paper.
    cv : {"standard", "robust", "one_sd"}, int, splitter or iterable, default="standard"
        How ``k`` is chosen, or how rows are split, as in :class:`RolinClassifier`. Without the loss
        ratio of ``"robust"`` the scan ends at the first ``k`` that separates the classes of every
        training split.
    scoring : {"loss", "zero_one"}, default="loss"
        What the cross-validation counts.
    normalize : bool or "auto", default="auto"
        Whether features are standardised; "auto" lets both compete.
    theta_ratio : float, default=5.0
        Largest ratio of held-out to training loss that ``cv="robust"`` accepts.
    theta_slack : float, default=0.1
        How far above the best cost a candidate may be, as a share of it.
    n_folds : int, default=5
        Folds of the stratified cross-validation.
    n_repeats : int, default=5
        How often the cross-validation is repeated. Copies of a row are held out together,
        but rows of one kind in a table of few categories are rows of their own.
    k : int, default=None
        Number of components, instead of choosing it.
    s0_ridge : float, default=1e-6
        Ridge on the scaled scores, which makes the minimiser unique.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        As in :class:`RolinClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the folds.
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
    coef_, dual_coef_, intercept_, classes_, k_, k_max_, normalize_, cv_results_, components_, \
n_iter_, n_features_in_, feature_names_in_
        As in :class:`RolinClassifier`.

    References
    ----------
    D. Chakrabarti, *Robust Linear Classification from Limited Training Data*: Eq. (9), and the
    rival "Top PCs" of its experiments.

    Examples
    --------
    >>> from mainstay import TopPCsClassifier
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = TopPCsClassifier().fit(X[::15], y[::15])
    >>> model.k_ >= 1
    True
    """

    _method = "top-pcs"

    def __init__(
        self,
        loss="logistic",
        *,
        cv="standard",
        scoring="loss",
        normalize="auto",
        theta_ratio=5.0,
        theta_slack=0.1,
        n_folds=5,
        n_repeats=5,
        k=None,
        s0_ridge=1e-6,
        kernel="linear",
        class_weight=None,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.loss = loss
        self.cv = cv
        self.scoring = scoring
        self.normalize = normalize
        self.theta_ratio = theta_ratio
        self.theta_slack = theta_slack
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.k = k
        self.s0_ridge = s0_ridge
        self.kernel = kernel
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose
