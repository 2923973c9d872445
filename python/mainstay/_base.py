"""What all classifiers share: checks, label coding, the one call into Rust, prediction.

A class built on this is a docstring, a signature and the name of its method::

    class MyClassifier(WeightedClassifier):
        _method = "my-method"  # the name in the compiled table of methods
        _accepts_sparse = True

        def __init__(self, C=1.0, *, tol=1e-6): ...

All parameters of ``__init__`` that the method knows go to Rust under their own names, where they
are checked; ``n_jobs``, ``verbose`` and what a subclass adds stay here. Results come back by name
and become attributes with a trailing underscore. Hooks, for what does not fit this:
``_before_fit`` (what parameters mean for these rows), ``_method_name`` (when a parameter chooses
the method), ``_core_params``, ``_gives_probabilities``, and ``_fit``'s ``extra`` for inputs other
than ``X``, ``y`` and weights (a keyword argument of ``_core.fit``). Functions that need no fit
(certificates of predictions, damage done on purpose) are functions of ``_core`` of their own; they
take ``_core.Fitted``, or ``coef`` and ``intercept`` of any linear model, and ``core_matrix(X)``.
"""

# Longer than others: checks, fit and prediction of one class, which are read together.

import functools
import sys
import warnings
from copy import copy

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_random_state

from mainstay import _core, _dask, _scan
from mainstay._compat import SKLEARN_HAS_TAG_OBJECTS, validate_data
from mainstay._config import tries_remedies, wants_proof
from mainstay._dask import is_dask
from mainstay._partitioned import coded, refuse_missing_labels
from mainstay._scan import is_scan
from mainstay._state import PlainState
from mainstay._suspects import SuspiciousLabels
from mainstay._tables import cells_by_name


class BaseClassifier(SuspiciousLabels, PlainState, ClassifierMixin, BaseEstimator):
    """A classifier fitted by the compiled method ``_method``, without sample weights."""

    _method = None
    _accepts_sparse = False
    _allows_nan = False

    def fit(self, X, y):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y)

    def decision_function(self, X):
        """Score rows: positive means ``classes_[1]``; with more classes, one score per class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if is_dask(X):
            return _dask.lazy(self, "decision_function", X)
        X = self._check_rows(X)
        return self._model.decision(X, self._n_jobs())

    def predict(self, X):
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        if is_dask(X):
            return _dask.lazy(self, "predict", X)
        X = self._check_rows(X)
        return self.classes_[self._model.predict(X, self._n_jobs())]

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, X):
        """Probability of every class, columns in the order of ``classes_``.

        Exists where the loss defines probabilities, and elsewhere with ``calibrate=True``: there
        they come from a map of the scores that was learned on held-out parts of the rows. Rows sum
        to 1 and the largest entry of a row belongs to the class ``predict`` names.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        if is_dask(X):
            return _dask.lazy(self, "predict_proba", X)
        X = self._check_rows(X)
        return self._model.probabilities(X, self._n_jobs())

    def summary(self, X=None, y=None, *, sample_weight=None, n_bootstrap=0, random_state=None):
        """Tell what the fitted model says, what it assumed and what is proven.

        Weights are in the units of ``X`` and per standard deviation of the training rows; where
        scores are log odds, ``exp`` of a weight is the factor on the odds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            The training rows, for ``n_bootstrap``.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        n_bootstrap : int, default=0
            Refits to rows drawn with replacement: adds the interval that holds the middle 95 % of
            every weight, and how often it kept its sign.
        random_state : int, RandomState instance or None, default=None
            Seed of the samples. None is a fixed seed too.

        Returns
        -------
        summary : ModelSummary
            Prints as text and shows as a table in notebooks; ``coefficients`` is a DataFrame,
            ``to_dict()``, ``to_markdown()`` and ``plot()`` are there too.

        Examples
        --------
        >>> from mainstay import PenalizedClassifier
        >>> from mainstay.datasets import load_demo
        >>> X, y = load_demo(return_X_y=True, as_frame=True)
        >>> summary = PenalizedClassifier(normalize=True).fit(X, y).summary()
        >>> summary.to_dict()["training"]["rows"]
        569
        """
        from mainstay._summary import summarize

        return summarize(self, X, y, sample_weight, n_bootstrap, random_state)

    # Hooks

    def _before_fit(self, X, y):
        """Prepare what parameters mean for these rows."""

    def _method_name(self):
        return self._method

    def _gives_probabilities(self):
        return bool(getattr(self, "calibrate", False))

    def _has_probabilities(self):
        """Say why ``predict_proba`` is not there, below scikit-learn's own line."""
        if self._gives_probabilities():
            return True
        if "calibrate" in self.get_params(deep=False):
            remedy = "pass calibrate=True"
        else:
            remedy = "wrap it in sklearn.calibration.CalibratedClassifierCV"
        raise AttributeError(f"{type(self).__name__} defines no probabilities; {remedy}")

    def _core_params(self):
        """Parameters as Rust knows them; needs ``classes_``."""
        # What a subclass adds for itself is no parameter of the method.
        known = _known_params(self._method_name())
        params = {k: v for k, v in self.get_params(deep=False).items() if k in known}
        if not params.get("calibrate", True):
            del params["calibrate"]
        if isinstance(params.get("class_weight"), dict):
            params["class_weight"] = _class_factors(params["class_weight"], self.classes_)
        if params.get("random_state", 0) is None:
            # The compiled default is a fixed seed: nothing is random unless asked for.
            del params["random_state"]
        elif "random_state" in params:
            params["random_state"] = _seed(params["random_state"])
        return params

    @classmethod
    def _from_core_params(cls, method, params, classes):
        """Undo ``_method_name`` and ``_core_params``: an unfitted estimator from a model file."""
        if isinstance(params.get("class_weight"), list):
            factors = zip(classes.tolist(), params["class_weight"], strict=True)
            params["class_weight"] = dict(factors)
        return cls(**params)

    # The one fit

    def _fit(self, X, y, sample_weight=None, **extra):
        if is_dask(X):
            return _dask.fit(self, X, y, sample_weight, **extra)
        if is_scan(X):
            return _scan.fit(self, X, y, sample_weight, **extra)
        given = X, y
        self._before_fit(X, y)
        X, codes, sample_weight = self._check_training(X, y, sample_weight)
        show = _Progress(type(self).__name__, getattr(self, "verbose", 0))
        with show as progress, cells_by_name(given[0]):
            core = _core.fit(
                self._method_name(),
                self._core_params(),
                core_matrix(X),
                codes,
                len(self.classes_),
                sample_weight=sample_weight,
                n_jobs=self._n_jobs(),
                progress=progress,
                proof=wants_proof(),
                remedies=tries_remedies(),
                **extra,
            )
        self._set_fitted(core)
        self._remember(*given)
        if getattr(self, "verbose", 0):
            proof = f", dual gap {core.dual_gap:.1e}" if core.dual_gap is not None else ""
            steps = f"{self.n_iter_} iteration" + ("" if self.n_iter_ == 1 else "s")
            route = f" ({', '.join(core.route)})" if core.route else ""
            print(f"{type(self).__name__}: done, {steps}{proof}{route}", file=sys.stderr)
        self._warn()
        return self

    def _fit_path(self, X, y, points, sample_weight=None, **extra):
        """One fitted copy for each of ``points``, dicts of the parameters that change."""
        given = X, y
        X, codes, sample_weight = self._check_training(X, y, sample_weight)
        show = _Progress(type(self).__name__, getattr(self, "verbose", 0))
        with show as progress, cells_by_name(given[0]):
            path = _core.fit_path(
                self._method_name(),
                self._core_params(),
                points,
                core_matrix(X),
                codes,
                len(self.classes_),
                sample_weight=sample_weight,
                n_jobs=self._n_jobs(),
                progress=progress,
                **extra,
            )
        models = []
        for core in path:
            model = copy(self)
            model._set_fitted(core)
            model._remember(*given)
            model._warn()
            models.append(model)
        return models

    def _set_fitted(self, core):
        """Make the results of a fit public, and only its own: nothing stays of an earlier one."""
        # Its rows, its proof over partitions, and the columns of a file that was loaded, too.
        for name in [*self.__dict__.get("_found", ()), "_training", "_pass_proof", "_column_names"]:
            self.__dict__.pop(name, None)
        self._model = core
        self.certificate_claimed_ = False
        self.n_iter_ = core.n_iter
        found = {}
        if core.coef is not None:
            found |= {"coef_": core.coef, "intercept_": core.intercept}
        if core.dual_gap is not None:
            objectives = core.objectives
            found["objective_"] = float(objectives[0]) if len(objectives) == 1 else objectives
            found["dual_gap_"] = core.dual_gap
        for name, value in core.outputs().items():
            found[f"{name}_"] = _with_params(value) if name == "cv_results" else value
        for name, value in found.items():
            setattr(self, name, value)
        self._found = list(found)

    @classmethod
    def _restore(cls, method, params, classes, feature_names, fitted):
        """Rebuild a fitted estimator from the content of a model file."""
        classes = np.array(classes)
        model = cls._from_core_params(method, params, classes)
        model.classes_ = classes
        model.n_features_in_ = fitted.n_features
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        model._set_fitted(fitted)
        # Nobody has recomputed it: whoever wrote the file may have written any number.
        model.certificate_claimed_ = fitted.dual_gap is not None
        return model

    def _warn(self):
        for sentence in self._model.warnings:
            warnings.warn(sentence, UserWarning, stacklevel=4)
        if self._model.status == "not-certified":
            warnings.warn(
                f"the proven relative gap is {self._model.dual_gap:.1e}, above tol="
                f"{self._model.tol:.1e}: raise max_iter, relax tol or rescale the features",
                ConvergenceWarning,
                stacklevel=4,
            )

    # Data

    def _check_options(self):
        return {
            "accept_sparse": "csr" if self._accepts_sparse else False,
            "dtype": np.float64,
            "ensure_all_finite": "allow-nan" if self._allows_nan else True,
        }

    def _check_training(self, X, y, sample_weight):
        """Rows, class indices and weights for ``_core``, which refuses NaN and infinity."""
        _dask.refuse(X, y, sample_weight)
        _scan.refuse(X, self)
        refuse_missing_labels(y)
        options = {**self._check_options(), "ensure_all_finite": False}
        X, y = validate_data(self, X, y, **options)
        if y.dtype.kind not in "biu":  # integers are classes, which takes a while to find out
            _check_labels(y)
            check_classification_targets(y)
        self.classes_, codes = coded(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, codes.astype(np.int64, copy=False), sample_weight

    def _check_rows(self, X):
        _dask.refuse(X)
        _scan.refuse(X, self)
        check_is_fitted(self)
        options = self._check_options()
        if self._fills_cells():
            options["ensure_all_finite"] = "allow-nan"
        return core_matrix(validate_data(self, X, reset=False, **options))

    def _fills_cells(self):
        """Whether the fitted model makes its own sense of missing cells."""
        return _core.fills_cells(self._model)

    def _n_jobs(self):
        n_jobs = getattr(self, "n_jobs", None)
        if n_jobs is None:
            return None
        if not isinstance(n_jobs, (int, np.integer)) or abs(int(n_jobs)) >= 2**31:
            raise ValueError(
                f"`n_jobs` = {_shown(n_jobs)}: must be None or a whole number, -1 for all cores"
            )
        return int(n_jobs)

    def _is_pairwise(self):
        return getattr(self, "kernel", None) == "precomputed"

    if SKLEARN_HAS_TAG_OBJECTS:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = self._accepts_sparse
            tags.input_tags.allow_nan = self._allows_nan
            tags.input_tags.pairwise = self._is_pairwise()
            return tags

    else:

        def _more_tags(self):
            return {"allow_nan": self._allows_nan, "pairwise": self._is_pairwise()}


class WeightedClassifier(BaseClassifier):
    """A classifier whose rows may carry weights."""

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row; 2 is the row twice and 0 its absence, to the last digit.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)


class _Progress:
    """One line on standard error while a fit runs, where ``verbose`` asks for it."""

    def __init__(self, name, verbose):
        self.name, self.verbose, self.shown = name, verbose, False

    def __enter__(self):
        return self._show if self.verbose else None

    def __exit__(self, *_):
        if self.shown:
            print(file=sys.stderr)

    def _show(self, done, total):
        share = f" ({done / total:.0%})" if total else ""
        print(f"\r{self.name}: {done}/{total}{share}", end="", file=sys.stderr, flush=True)
        self.shown = True


def core_matrix(X):
    """Features as the compiled module takes them: a float64 array, or the parts of a CSR matrix."""
    if not sparse.issparse(X):
        # Arrays that came through a network may begin at any byte.
        return X if X.flags.aligned else X.copy()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indptr = X.indptr.astype(np.int64, copy=False)
    return indptr, X.indices.astype(np.int64, copy=False), X.data, X.shape[1]


@functools.cache
def _known_params(method):
    """Names of the parameters of a method, which the compiled module lists anew for each call."""
    return frozenset(_core.defaults(method))


def _with_params(results):
    """Add ``params``, one dict per candidate as scikit-learn has it, to a table of candidates."""
    names = [name for name in results if name.startswith("param_")]
    columns = [np.asarray(results[name]).tolist() for name in names]
    keys = [name.removeprefix("param_") for name in names]
    params = [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]
    return {**results, "params": params} if names else results


def _class_factors(class_weight, classes):
    """One factor per class; a class that is not named counts once."""
    labels = classes.tolist()
    unknown = [key for key in class_weight if key not in labels]
    if unknown and len(class_weight) - len(unknown) < len(labels):
        raise ValueError(f"`class_weight` names {unknown}, but the classes are {labels}")
    factors = [class_weight.get(label, 1.0) for label in labels]
    for label, factor in zip(labels, factors, strict=True):
        try:
            float(factor)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"`class_weight` of class {label!r} = {_shown(factor)}: must be a finite number"
            ) from None
    return [float(factor) for factor in factors]


def _shown(value):
    """Text of a value for an error message, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a whole number of more than 40 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_labels(y):
    """Refuse labels that would become other labels without a word."""
    kind = y.dtype.kind
    if kind == "S" or (kind == "O" and any(isinstance(label, bytes) for label in y)):
        raise ValueError("class labels are bytes: decode them to text first")
    if kind == "f" and np.any(np.abs(y) >= 2.0**53):
        raise ValueError(
            "class labels are floating-point numbers of 2**53 or more, where whole numbers are no "
            "longer told apart: pass them as integers or as text"
        )


def _seed(random_state):
    """Seed of the compiled generator."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
