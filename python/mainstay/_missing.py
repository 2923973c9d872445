"""Classifiers that expect features to be missing at prediction time."""

# Longer than others: three classes around one idea, more than half of it their docstrings.

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mainstay import _core
from mainstay._base import BaseClassifier, WeightedClassifier, core_matrix
from mainstay._compat import validate_data
from mainstay._splits import CrossValidated


class _Missing(BaseClassifier):
    """What the classifiers for missing features share."""

    _accepts_sparse = True
    _allows_nan = True

    def worst_case_score(self, X, y, budget=None):
        """Accuracy under the exact adversary.

        A row counts as right if no deletion of features within the budget makes the model name
        another class. The adversary knows the model and the label and chooses anew for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN marks a missing feature.
        y : array-like of shape (n_samples,)
            Their classes.
        budget : float, default=None
            Total value of the features that may be deleted; None is the model's own.

        Returns
        -------
        score : float
            Share of rows that stay right.
        """
        X = self._zeroed(X)
        budget = self.budget if budget is None else budget
        return _core.missing_score(
            self._model, X, self._codes(y), self.values_, float(budget), n_jobs=self._n_jobs()
        )

    def missing_report(self, X, abstain=None):
        """List what is missing in every row, and what that leaves of the guarantee.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN marks a missing feature.
        abstain : object, default=None
            If given, the prediction of rows whose guarantee is gone: more is missing than the
            budget covers, or what remains of the budget could still change the prediction.

        Returns
        -------
        report : pandas.DataFrame, or dict of ndarray without pandas
            ``missing`` (number of missing features), ``missing_value`` (their total value),
            ``covered`` (whether the budget covers it), ``prediction``, ``margin`` (its lead over
            the runner-up) and ``worst_margin`` (the lead left after the worst deletion with what
            remains of the budget; positive means that the prediction stands).
        """
        X = self._rows_as_given(X)
        columns = _core.missing_report(
            self._model, core_matrix(X), self.values_, float(self.budget)
        )
        prediction = self.classes_[columns["prediction"]]
        if abstain is not None:
            stands = columns["covered"] & (columns["worst_margin"] > 0)
            prediction = np.where(stands, prediction.astype(object), abstain)
        columns["prediction"] = prediction
        try:
            import pandas as pd
        except ImportError:
            return columns
        return pd.DataFrame(columns)

    def risk_bound(self, X, y, delta=0.05):
        """Bound on the error under the adversary on new rows: Theorem 2 of the paper.

        Holds with probability ``1 - delta`` if the rows are an independent sample. An error says
        which assumption fails where one does: no intercept, features in [-1, 1], positive values,
        and ``values``, ``C`` and ``margin`` not chosen on these rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        delta : float, default=0.05
            Probability with which the bound may fail.

        Returns
        -------
        bound : float
            At most 1.
        """
        X = self._zeroed(X)
        chosen = self._chosen_on_the_rows()
        if chosen:
            raise ValueError(f"Theorem 2 does not apply: {chosen} chosen on the training rows")
        return _core.missing_risk_bound(
            self._model,
            X,
            self._codes(y),
            self.values_,
            budget=float(self.budget),
            margin=float(self.margin),
            c=float(self.C),
            fit_intercept=bool(self.fit_intercept),
            delta=float(delta),
        )

    def _chosen_on_the_rows(self):
        if getattr(self, "calibrate", False):
            return "`calibrate` scales the weights by a factor"
        rule = isinstance(self.values, str) and self.values == "mutual_info"
        return "`values` were" if rule else None

    def _check_rows(self, X):
        check_is_fitted(self)
        if self._fills_cells():
            return core_matrix(self._rows_as_given(X))
        return self._zeroed(X)

    def _zeroed(self, X):
        return core_matrix(_without_nan(self._rows_as_given(X)))

    def _rows_as_given(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._check_options())

    def _codes(self, y):
        y = np.asarray(y)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        unknown = self.classes_[codes] != y
        if np.any(unknown):
            raise ValueError(f"y contains {y[unknown][0]!r}, which is not one of the classes")
        return codes.astype(np.int64, copy=False)


def _without_nan(X):
    """Missing features contribute nothing: zeros in their place."""
    values = X.data if sparse.issparse(X) else X
    gaps = np.isnan(values)
    if not gaps.any():
        return X
    X = X.copy()
    (X.data if sparse.issparse(X) else X)[gaps] = 0.0
    return X


class MissingFeatureSVC(_Missing, WeightedClassifier):
    r"""Linear classifier for rows in which features will be missing at prediction time.

    Feature :math:`j` has a value :math:`v_j`; features of total value up to the budget :math:`N`
    may be missing from any row, whichever hurt most. With :math:`P = \sum_j v_j - N` this solves

    .. math::

        \min_{\|w\|_\infty \le C,\, b} \; \frac{1}{\gamma \sum_i c_i} \sum_i c_i
        \Big[\max_{\tau} \sum_j \tau_j \Big(\frac{\gamma v_j}{P} - y_i w_j x_{ij}\Big)
        - y_i b\Big]_+, \qquad 0 \le \tau \le 1, \; \sum_j v_j \tau_j \ge P,

    which is the linear program (4) of the paper on all rows at once, with a proven gap. A missing
    feature counts as 0 and may be given as NaN, in training too; centre the features (see the
    example) unless 0 is their natural "nothing". More than two classes: one against the rest.

    Parameters
    ----------
    budget : float, default=1.0
        Total value of the features that may be missing, :math:`N`; less than that of all.
    values : {"uniform", "mutual_info"} or array-like of shape (n_features,), default="uniform"
        :math:`v`. ``"uniform"`` is 1 each, so that ``budget`` is a number of features;
        ``"mutual_info"`` what the best threshold on a feature tells about the class, scaled to
        sum to the number of features; or numbers, not negative. Features of value 0 may always be
        missing.
    margin : float, default=1.0
        :math:`\gamma`. Only ``C / margin`` matters for predictions.
    C : float, default=10.0
        Half the side of the box around the weights; the intercept is free. Small values spread
        the weights, too small ones leave only the intercept.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    at_predict : {"zero", "gaussian"}, default="zero"
        What takes the place of a feature that is missing (NaN) from a row to predict: 0, as in the
        paper, or its mean given the features that are measured, by a Gaussian model of the training
        rows (:class:`GaussianImputer`). The second measured better where features are related,
        against an adversary too; the first needs nothing but the row. In the fit, in
        ``worst_case_score`` and in ``missing_report`` a missing feature counts as 0.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class.
    n_chunks : int, default=1
        Train on this many random parts of the rows and average the weights, as the paper did for
        lack of memory. ``dual_gap_`` then shows what that costs. 1 solves the whole problem.
    tol : float, default=0.0001
        Target for ``dual_gap_``.
    max_iter : int, default=300
        Limit on iterations of the solver. Missing ``tol`` within it gives a
        ``ConvergenceWarning`` and a usable model.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the parts of ``n_chunks``; None is a fixed one.
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
    values_ : ndarray of shape (n_features,)
        Value of every feature.
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
    MissingFeaturePerceptron : The same loss, online.
    MissingFeatureCV : Chooses ``C`` by how good it is on damaged rows.

    References
    ----------
    Dekel and Shamir (2008), *Learning to Classify with Missing and Corrupted Features*, ICML:
    problem (4), Theorems 1 and 2.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mainstay import MissingFeatureSVC
    >>> from mainstay.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MissingFeatureSVC(budget=3)).fit(X, y)
    >>> model[-1].dual_gap_ <= 1e-4
    True
    >>> X[:, :3] = float("nan")
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _method = "missing-lp"

    def __init__(
        self,
        budget=1.0,
        *,
        values="uniform",
        margin=1.0,
        C=10.0,
        fit_intercept=True,
        at_predict="zero",
        class_weight=None,
        n_chunks=1,
        tol=1e-4,
        max_iter=300,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.budget = budget
        self.values = values
        self.margin = margin
        self.C = C
        self.fit_intercept = fit_intercept
        self.at_predict = at_predict
        self.class_weight = class_weight
        self.n_chunks = n_chunks
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose


class MissingFeaturePerceptron(_Missing, WeightedClassifier):
    r"""Online classifier for rows in which features will be missing: the Perceptron on a cube.

    Before every row an adversary deletes the features that maximise the loss of
    :class:`MissingFeatureSVC`; if it is positive, the weights of the features that are left move
    by :math:`\tau y x_j`, are clipped to :math:`\pm C`, and the intercept moves alike. The model
    is the average of the weights before every row. One pass, memory for the weights only.

    ``fit`` knows the number :math:`m` of rounds and takes the paper's step
    :math:`\tau = C\sqrt{(n+1)/(2m)}`. ``partial_fit`` does not: it takes the same with the rounds
    so far, :math:`C\sqrt{(n+1)/(2t)}`, which keeps the loss within three times the paper's bound
    of the best fixed hypothesis at any time. Without intercept the steps are
    :math:`C\sqrt{n/m}` and :math:`C\sqrt{n/t}`.

    A row of weight 3 has three rounds, as if it were there three times; what is left of a weight
    of 2.5 after two rounds is half a round: half the step, and half the say in the average.

    Parameters
    ----------
    budget : float, default=1.0
        Total value of the features that may be missing; less than that of all.
    values : {"uniform", "mutual_info"} or array-like of shape (n_features,), default="uniform"
        Value of every feature, as in :class:`MissingFeatureSVC`. ``"mutual_info"`` needs all rows:
        ``partial_fit`` takes it only after ``fit``.
    margin : float, default=1.0
        Margin asked for when what the budget allows is missing.
    C : float, default=10.0
        Half the side of the cube around the weights and the intercept.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class. ``partial_fit`` takes no ``"balanced"``,
        which needs all rows.
    n_passes : int, default=1
        Passes over the rows in ``fit``.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order; None is a fixed one.
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
        Averaged weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Averaged intercepts.
    values_ : ndarray of shape (n_features,)
        Value of every feature.
    state_ : str
        Where ``partial_fit`` goes on.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the training data had names.

    References
    ----------
    Dekel and Shamir (2008), *Learning to Classify with Missing and Corrupted Features*, ICML:
    section 3, Theorem 4, Corollary 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mainstay import MissingFeaturePerceptron
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 10))
    >>> y = X.sum(axis=1) > 0
    >>> model = MissingFeaturePerceptron(budget=2)
    >>> for part in range(0, 1000, 100):
    ...     rows = slice(part, part + 100)
    ...     model = model.partial_fit(X[rows], y[rows], classes=[False, True])
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _method = "missing-perceptron"

    def __init__(
        self,
        budget=1.0,
        *,
        values="uniform",
        margin=1.0,
        C=10.0,
        fit_intercept=True,
        class_weight=None,
        n_passes=1,
        shuffle=True,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.budget = budget
        self.values = values
        self.margin = margin
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on with the rows of a stream, in the order given.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN marks a missing feature.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur; needed in the first call, unless ``fit`` came before.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row: its number of rounds.

        Returns
        -------
        self : object
            The estimator, trained on.
        """
        if self.calibrate:
            raise ValueError("`calibrate` = True: a stream has no held-out rows; use `fit`")
        first = not hasattr(self, "state_")
        X, y = validate_data(self, X, y, reset=first, **self._check_options())
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if first:
            if classes is None:
                raise ValueError("`classes`: the first call to partial_fit must name all classes")
            self.classes_ = np.unique(classes)
            if len(self.classes_) < 2:
                raise ValueError("`classes`: at least two classes are needed, there is one class")
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"`classes`: the stream so far had the classes {self.classes_}")
        core = _core.perceptron_partial_fit(
            self._core_params(),
            None if first else self.state_,
            core_matrix(X),
            self._codes(y),
            len(self.classes_),
            sample_weight=sample_weight,
        )
        self._set_fitted(core)
        return self


class MissingFeatureCV(CrossValidated, _Missing, WeightedClassifier):
    r"""Choose budget and box of :class:`MissingFeatureSVC` on damaged held-out rows.

    ``budget`` is the user's statement of what may go missing. Guarding every row against the worst
    of it costs much where it goes missing at random, so the budget of the fit is chosen too, 0
    (no guard) included: every candidate is trained on every split, the held-out rows are damaged
    as ``budget`` and ``damage`` say, and the highest mean score wins, of equals the smallest budget
    and then the smallest ``C``. ``C`` and ``margin`` matter through their ratio only, and often not
    at all: ``tied_Cs_`` lists those that did as well. Candidates that give one class to all
    held-out rows in half of the splits are taken only if all do. The final model is fitted to all
    rows, with a proven gap.

    Parameters
    ----------
    budget : float, default=1.0
        Total value of the features that may be missing; less than that of all.
    values : {"uniform", "mutual_info"} or array-like of shape (n_features,), default="uniform"
        Value of every feature.
    damage : {"greedy", "random", "exact"}, default="greedy"
        Which features of a held-out row go missing: the most harmful ones per value, random ones,
        or the most harmful set.
    corrupt : bool, default=False
        Replace them by noise of the feature's range instead of 0.
    Cs : array-like or None, default=None
        Candidates for ``C / margin``, positive; None is 0.3, 3, 30.
    budgets : array-like or None, default=None
        Candidates for the budget of the fit; None is 0, a quarter, half and all of ``budget``.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"} or None, default=None
        What is measured on the damaged held-out rows. None: the accuracy, but the balanced
        accuracy where one class has 65 % of the weight or more, since there a constant answer has
        an accuracy that is hard to beat. The model has no probabilities, so there
        is no log loss.
    rule : {"min", "one_se"}, default="min"
        The best candidate, or the simplest (smallest budget, then smallest ``C``) within one
        standard error of it.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, a scikit-learn splitter, or pairs of row positions. Folds are
        dealt over distinct rows: copies of a row are never on both sides,
        but rows of one kind in a table of few categories are rows of their own.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weight of every row of a class, in the fits and on held-out rows.
        ``"balanced"`` makes all classes weigh the same.
    tol : float, default=0.0001
        Target for the proven gap of every fit.
    max_iter : int, default=300
        Limit on iterations of every fit.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of random damage; None is a fixed one.
    calibrate : bool, default=False
        Give probabilities: a map from scores to ``predict_proba`` is learned on held-out fifths of
        the rows (Platt's sigmoid; isotonic from 1,000 distinct rows on). ``predict`` then follows
        the probabilities, and under a sigmoid ``coef_`` and ``intercept_`` are those of the log
        odds. Costs five more fits.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    budget_ : float
        The chosen budget.
    C_ : float
        The chosen ``C`` (``margin`` is 1).
    tied_Cs_ : ndarray
        All ``C`` with the same mean score at that budget.
    cv_results_ : dict of ndarray
        One row per candidate, in scikit-learn's words: ``param_budget``, ``param_C``,
        ``split*_test_score`` (on damaged rows), ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; this and all further attributes are those of :class:`MissingFeatureSVC`.

    See Also
    --------
    MissingFeatureSVC : One candidate.

    Examples
    --------
    >>> from mainstay import MissingFeatureCV
    >>> from mainstay.datasets import load_demo
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_demo(return_X_y=True)
    >>> model = MissingFeatureCV(budget=2, Cs=[0.01, 1, 10], cv=3).fit(scale(X), y)
    >>> model.C_ in (0.01, 1, 10)
    True
    """

    _method = "missing-cv"

    def __init__(
        self,
        budget=1.0,
        *,
        values="uniform",
        damage="greedy",
        corrupt=False,
        Cs=None,
        budgets=None,
        scoring=None,
        rule="min",
        cv=5,
        fit_intercept=True,
        class_weight=None,
        tol=1e-4,
        max_iter=300,
        n_jobs=None,
        random_state=None,
        calibrate=False,
        verbose=0,
    ):
        self.budget = budget
        self.values = values
        self.damage = damage
        self.corrupt = corrupt
        self.Cs = Cs
        self.budgets = budgets
        self.scoring = scoring
        self.rule = rule
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.calibrate = calibrate
        self.verbose = verbose

    def _chosen_on_the_rows(self):
        return "`C` was"

    def _core_params(self):
        params = super()._core_params()
        for name in ("Cs", "budgets"):
            if params[name] is not None:
                params[name] = np.asarray(params[name], dtype=np.float64).tolist()
        return params
