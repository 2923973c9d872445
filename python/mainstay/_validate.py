"""How good a classifier really is on few rows."""

import json
import numbers
import re
import warnings

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mainstay import _core
from mainstay._base import BaseClassifier, _check_labels, _Progress, _seed, core_matrix
from mainstay._partitioned import refuse_missing_labels
from mainstay._stress import StressInterrupted, rows_together
from mainstay._validation import ValidationResult


def validate(
    estimator,
    X,
    y,
    *,
    bootstrap=200,
    cv=5,
    repeats=10,
    curve_repeats=20,
    metric=None,
    metrics=None,
    groups=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    r"""Find out how good a classifier really is, with every figure's interval.

    With a metric :math:`m(f, D)` of a fit :math:`f` on rows :math:`D`, and fits :math:`f_b` to
    bootstrap samples :math:`D_b`, the optimism of Harrell is

    .. math:: o = \frac{1}{B} \sum_b \big(m(f_b, D_b) - m(f_b, D)\big),

    and the corrected value is :math:`m(f, D) - o`. Its interval is that of :math:`m(f, D)` over
    redraws of the rows, shifted by the optimism, and no narrower than that of held-out predictions
    over redraws. Repeated stratified cross-validation stands beside
    it; its interval is the wider one of redraws of the rows and of the folds with the correction of
    Nadeau and Bengio. What the classifier chooses by itself it chooses anew in every refit.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline; it is cloned. Classifiers of mainstay are refitted
        without Python.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as ``estimator`` takes them.
    y : array-like of shape (n_samples,)
        Class of every row.
    bootstrap : int, default=200
        Bootstrap refits, for optimism and instability.
    cv : int, default=5
        Folds of the cross-validation.
    repeats : int, default=10
        Its repeats.
    curve_repeats : int, default=20
        Training sets of each of four sizes of the learning curve; 0 leaves it out.
    metric : str or None, default=None
        Metric of the headline and the learning curve; None is the first of ``metrics``, or "auc".
    metrics : list of str or None, default=None
        What the table holds, in this order; None is every metric that needs no costs.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows with the same entry (several rows of a patient, say) are drawn, fitted to and held out
        together. Rows that are the same in features and class stay together in any case, with a
        note, unless most of them are.
    n_jobs : int or None, default=None
        As in scikit-learn; does not change the result.
    random_state : int, RandomState instance or None, default=None
        Seed of samples and splits; None is a fixed one.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    result : ValidationResult
        ``.to_frame()``, ``.rows()``, ``.summary()``, ``.plot_calibration()``,
        ``.plot_instability()``, ``.plot_learning_curve()``, ``.to_json()``.

    Raises
    ------
    StressInterrupted
        On Ctrl-C, a `KeyboardInterrupt` whose ``partial`` is the result of the finished refits
        (None if they are too few).

    Examples
    --------
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> model = mainstay.PenalizedClassifier(normalize=True)
    >>> result = mainstay.validate(model, X[::8], y[::8], bootstrap=20, repeats=2, curve_repeats=2)
    >>> auc = result.to_frame().set_index("metric").loc["auc"]
    >>> bool(auc.corrected <= auc.apparent)
    True
    """
    settings = {
        "bootstrap": bootstrap,
        "folds": cv,
        "repeats": repeats,
        "curve_repeats": curve_repeats,
    }
    _check_counts(settings)
    shown = None if metrics is None else _shown(metrics)
    metric = (shown[0] if shown else "auc") if metric is None else metric
    X, y = indexable(X, y)
    refuse_missing_labels(y)
    y = column_or_1d(y)
    classes, codes = _coded(y)
    bound, note = _bound(X, codes, len(classes), groups)
    validation = _core.Validation(
        codes,
        len(classes),
        **{name: int(value) for name, value in settings.items()},
        metric=metric,
        seed=0 if random_state is None else _seed(random_state),
        groups=bound,
    )
    notes = [note] if note else []
    with _Progress("validate", verbose) as progress:
        try:
            if _is_ours(estimator):
                _run_compiled(validation, estimator, X, y, codes, n_jobs, progress)
            else:
                _run(validation, estimator, X, y, classes, n_jobs, progress, notes)
        except KeyboardInterrupt:
            try:
                partial = _finish(validation, n_jobs, notes, shown)
            except ValueError:
                partial = None
            raise StressInterrupted(partial) from None
    return _finish(validation, n_jobs, notes, shown)


def _check_counts(settings):
    for name, value in settings.items():
        if not isinstance(value, numbers.Integral) or value < 0:
            name = "cv" if name == "folds" else name
            raise ValueError(f"`{name}` = {value!r}: must be a whole number")


def _shown(metrics):
    """Metrics of the table by the names it gives them, checked before a refit is made."""
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"`metrics` = {metrics!r}: must be a list of names of metrics, or None")
    rows = np.array([0, 1])
    # Other names of a metric (roc_auc, recall) are known here, and what is none is refused.
    shown = [_core.measure([name], rows, rows, 2)[0][0] for name in names]
    if "cost" in shown:
        raise ValueError(f"`metrics` = {metrics!r}: cost needs the prices of errors")
    return list(dict.fromkeys(shown))


def _coded(y):
    """Classes, and the number of each row's."""
    _check_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("the labels contain only one class; a classifier needs two")
    return classes, codes.astype(np.int64, copy=False)


def _bound(X, codes, n_classes, groups):
    """As ``rows_together``, for whatever the classifier takes as rows."""
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        # Text, or cells of several kinds: rows are the same if all their cells are.
        cells = np.asarray(X, dtype=object).reshape(len(codes), -1)
        kinds = np.unique([repr(row.tolist()) for row in cells], return_inverse=True)[1]
        rows = kinds.reshape(-1, 1)
    rows = rows.astype(np.float64)
    # Only equality counts: cells that are missing alike are alike.
    if sparse.issparse(rows):
        rows.data = _known(rows.data)
    else:
        rows = _known(rows)
    return rows_together(core_matrix(rows), codes, n_classes, groups)


def _known(cells):
    return np.nan_to_num(cells, nan=1e300, posinf=1e301, neginf=-1e301)


def _finish(validation, n_jobs, notes, shown):
    details = json.loads(validation.finish(n_jobs=n_jobs))
    details["notes"] += notes
    if shown is not None:
        rows = {row["metric"]: row for row in details["metrics"]}
        details["metrics"] = [rows[name] for name in shown]
    return ValidationResult(details)


def _is_ours(estimator):
    """Whether the compiled method alone does what ``fit`` does, on any part of the rows."""
    folds = isinstance(getattr(estimator, "cv", 0), (numbers.Integral, str))
    plain = isinstance(estimator, BaseClassifier) and type(estimator)._fit is BaseClassifier._fit
    return plain and folds


def _run_compiled(validation, estimator, X, y, codes, n_jobs, progress):
    copy = clone(estimator)
    X, codes, _ = copy._check_training(X, y, None)
    validation.run(
        copy._method_name(),
        copy._core_params(),
        core_matrix(X),
        codes,
        len(copy.classes_),
        n_jobs=n_jobs,
        progress=progress,
    )


def _run(validation, estimator, X, y, classes, n_jobs, progress, notes):
    open_jobs = validation.open_jobs()
    # The fit to all rows first and alone: what is wrong there is wrong with the call.
    batch = max(1, 4 * effective_n_jobs(n_jobs))
    warned = {}
    for start in [0, *range(1, len(open_jobs), batch)]:
        stop = 1 if start == 0 else start + batch
        tasks = (
            delayed(_refit)(estimator, X, y, train, judged, classes, job == 0)
            for job, train, judged in open_jobs[start:stop]
        )
        found = Parallel(n_jobs=n_jobs)(tasks)
        for (job, _, _), (made, problem, said) in zip(open_jobs[start:stop], found, strict=True):
            for text in said:
                warned[text] = warned.get(text, 0) + 1
            if made is None:
                validation.add_failure(job, problem)
            else:
                validation.add(job, *made)
        if progress is not None:
            progress(*validation.progress)
    notes += _alike(warned)


def _alike(warned):
    """One note for all warnings that differ in their numbers only, as those of refits do."""
    kinds = {}
    for text, count in warned.items():
        kinds.setdefault(re.sub(r"\d[\d.e+-]*", "#", text), []).append((count, text))
    for found in kinds.values():
        count = sum(times for times, _ in found)
        example = "for example" if len(found) > 1 else "each"
        word = f"{count} refits warned, {example}" if count > 1 else "1 refit warned"
        yield f"{word}: {max(found)[1]}"


def _refit(estimator, X, y, train, judged, classes, must):
    """Predictions of one refit, or why there are none, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train))
            made, problem = _predictions(model, _safe_indexing(X, judged), classes), None
        except Exception as error:
            if must:
                raise
            made, problem = None, f"{type(error).__name__}: {error}"
    return made, problem, sorted({str(w.message).split("\n")[0] for w in caught})


def _predictions(model, X, classes):
    predicted = np.searchsorted(classes, model.predict(X)).astype(np.int64)
    probabilities = scores = None
    if hasattr(model, "predict_proba"):
        probabilities = np.ascontiguousarray(model.predict_proba(X), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        scores = np.ascontiguousarray(scores.reshape(len(predicted), -1))
    elif probabilities is not None:
        scores = probabilities if len(classes) > 2 else np.ascontiguousarray(probabilities[:, 1:])
    wanted = 1 if len(classes) == 2 else len(classes)
    if scores is not None and scores.shape[1] != wanted:
        # One score per pair of classes, say: nothing to rank the rows of a class by.
        scores = probabilities if len(classes) > 2 else None
    return predicted, scores, probabilities
