"""Stress tests of any scikit-learn classifier."""

import numbers
import sys
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed

from mainstay import _core
from mainstay._base import _seed
from mainstay._judge import OWN_METRICS, Judge
from mainstay._tables import encoded, is_frame, is_plain
from mainstay.threats import _codes, _labels, _matrix, delete_worst, hyperplanes

CLEAN = "clean"
COLUMNS = ("estimator", "threat", "level", "repeat", "metric", "value")


class StressInterrupted(KeyboardInterrupt):
    """A stress test or comparison that was stopped; ``partial`` holds what was finished.

    Attributes
    ----------
    partial : DataFrame, dict of columns, ComparisonResult or None
        What the call would have returned, for the finished cells (`stress`) or repeats (`compare`).
    """

    def __init__(self, partial=None):
        super().__init__("interrupted; finished results are in the attribute `partial`")
        self.partial = partial


def stress(
    estimators,
    X,
    y,
    *,
    threats=None,
    levels=None,
    repeats=10,
    metrics=("accuracy", "log_loss"),
    n_jobs=None,
    random_state=None,
    groups=None,
    verbose=0,
    encoder=None,
):
    """Damage data on purpose and see which classifiers hold.

    Every repeat is a new split, two thirds of every class to learn from; all classifiers see the
    same splits and the same damage. Only what a threat names is damaged: training rows or labels
    for ``few_samples``, ``label_noise``, ``outliers`` and ``unlucky_split``, test rows for
    ``missing_features``, ``corrupted_features``, ``adversarial_deletion`` and
    ``measurement_error``. Means and deviations used by the damage to test rows are those of the
    training rows. See `mainstay.threats` for each of them.

    Cells run through joblib, so any of its backends (Dask, Ray, Spark) takes them; the result does
    not depend on the backend or ``n_jobs``. A ``random_state=None`` inside an estimator is replaced
    by one derived from the seed.

    Parameters
    ----------
    estimators : classifier, list or dict of classifiers
        Cloned and fitted for every cell. A dict names them; otherwise they are called by class.
    X : array-like or frame of shape (n_samples, n_features)
        An array holds numbers only, none missing. A pandas frame reaches the estimators as a frame;
        frames (pandas, polars, pyarrow) with words, booleans, dates or gaps are encoded first: see
        ``encoder``.
    y : array-like of shape (n_samples,)
        Classes.
    threats : str or list of str, default=None
        Names of threats; None is all eight.
    levels : list of float or dict, default=None
        Levels for all threats, or by threat; None, and threats that are not named, have their
        usual levels.
    repeats : int, default=10
        Number of splits.
    metrics : str or list of str, default=("accuracy", "log_loss")
        ``"accuracy"``, ``"log_loss"`` (natural log; NaN without ``predict_proba``),
        ``"balanced_accuracy"``, ``"auc"``, ``"pr_auc"``, ``"brier"``, ``"brier_skill"``,
        ``"calibration_slope"``, ``"calibration_intercept"``, ``"calibration_error"``,
        ``"sensitivity"``, ``"specificity"``, ``"ppv"``, ``"npv"``, ``"f1"``, ``"mcc"`` (with more
        than two classes means over the classes), or the name of any scikit-learn scorer.
    n_jobs : int or None, default=None
        As in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Seed of splits and damage; None is a fixed one.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of the same group (several rows of a patient, say) stay on one side of every split, and
        so do rows that are exactly the same.
    verbose : int, default=0
        1 shows progress with the time left.
    encoder : TableEncoder or None, default=None
        How the columns of a frame become features, in front of all estimators; None is
        ``TableEncoder(impute="mean")``, with a warning that says how many cells were filled. A
        pandas frame of complete numbers is taken as it is, unless an encoder is given.

    Returns
    -------
    table : DataFrame (a dict of columns without pandas)
        ``estimator``, ``threat`` (``"clean"`` without damage), ``level``, ``repeat``, ``metric``,
        ``value``. A cell that could not be run is NaN, and a warning says why: a fit that failed,
        or ``adversarial_deletion`` against an estimator without ``coef_`` and ``intercept_``. In a
        pipeline the adversary deletes what reaches the last step.

    Raises
    ------
    StressInterrupted
        On Ctrl-C, a `KeyboardInterrupt` whose ``partial`` is the table of the finished cells.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> table = mainstay.stress({"plain": model}, X, y, threats="label_noise", levels=[0.2],
    ...                         repeats=2, metrics="accuracy")
    >>> sorted(set(table["threat"])), len(table["value"])
    (['clean', 'label_noise'], 4)
    """
    named = _named(estimators)
    trials = _trials(threats, levels)
    metrics = _metrics(metrics)
    if not isinstance(repeats, numbers.Integral) or repeats < 1:
        raise ValueError(f"`repeats` = {repeats!r}: must be an integer of at least 1")
    scene = _scene(X, y, encoder, groups)
    scene["seed"] = 0 if random_state is None else _seed(random_state)
    training = [(t, level) for t, part, own in trials if part == "training" for level in own]
    judged = [(t, level) for t, part, own in trials if part == "test" for level in own]
    scene |= {"judged": judged, "metrics": metrics}
    jobs = [
        (name, model, repeat, damage)
        for repeat in range(repeats)
        for name, model in named
        for damage in [None, *training]
    ]
    calls = (delayed(_cells)(scene, *job) for job in jobs)
    found, problems = [], {}
    bar = _Bar("stress", len(jobs), verbose)
    try:
        for cells, notes in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            found.extend(cells)
            for category, text in notes:
                problems.setdefault((category, text), None)
            bar.step()
    except KeyboardInterrupt:
        raise StressInterrupted(as_table(found)) from None
    finally:
        bar.close()
    for category, text in problems:
        warnings.warn(text, category, stacklevel=2)
    return as_table(found)


def as_table(rows):
    """Cells as a frame, or as a dict of columns without pandas."""
    columns = {name: [row[k] for row in rows] for k, name in enumerate(COLUMNS)}
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns, columns=list(COLUMNS))


def _metrics(metrics):
    """Names of metrics, all of them known."""
    metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for metric in metrics:
        if metric not in OWN_METRICS:
            get_scorer(metric)
    return metrics


def _scene(X, y, encoder, groups):
    """Rows, labels and groups, as every cell needs them."""
    columns = _columns(X)
    if is_frame(X) and (encoder is not None or columns is None or not is_plain(X)):
        X, names = encoded(X, encoder)
        columns = None if columns is None else names
    rows = _matrix(X.toarray() if hasattr(X, "toarray") else X)
    labels = _labels(y)
    check_classification_targets(labels)
    if len(labels) != len(rows):
        raise ValueError(f"X has {len(rows)} rows, y has {len(labels)}")
    classes, codes = _codes(labels)
    if len(classes) < 2:
        raise ValueError("the labels contain only one class; a classifier needs two")
    bound = _together(rows, codes, len(classes), groups)
    return {"X": rows, "y": labels, "codes": codes, "columns": columns, "groups": bound}


def _named(estimators):
    if isinstance(estimators, dict):
        named = [(str(name), model) for name, model in estimators.items()]
    else:
        models = list(estimators) if isinstance(estimators, (list, tuple)) else [estimators]
        named, seen = [], {}
        for model in models:
            name = type(model).__name__
            seen[name] = seen.get(name, 0) + 1
            named.append((name if seen[name] == 1 else f"{name}_{seen[name]}", model))
    if not named:
        raise ValueError("`estimators` is empty: there is nothing to put to the test")
    for name, model in named:
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise TypeError(f"estimator {name!r} has no fit and predict: {model!r}")
    return named


def _trials(threats, levels):
    """(name, "training" or "test", levels) of every threat asked for."""
    known = {name: (part, usual) for name, _, part, usual in _core.threats()}
    if threats is None:
        names = list(known)
    else:
        names = [threats] if isinstance(threats, str) else list(threats)
    by_threat = levels if isinstance(levels, dict) else {}
    unknown = [name for name in [*names, *by_threat] if name not in known]
    if unknown:
        raise ValueError(f"no threat {unknown[0]!r}; there are: {', '.join(known)}")
    if len(set(names)) < len(names):
        raise ValueError("a threat is given twice")
    trials = []
    for name in names:
        part, usual = known[name]
        own = by_threat.get(name, usual) if levels is None or by_threat else levels
        own = [float(level) for level in np.atleast_1d(own)]
        for level in own:
            _core.check_level(name, level)
        trials.append((name, part, own))
    return trials


def _columns(X):
    """Column names of a pandas frame, which estimators may rely on."""
    return list(X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else None


def _like(scene, X):
    if scene["columns"] is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=scene["columns"])


def _split(scene, repeat):
    if "splits" in scene:
        return scene["splits"][repeat]
    return _core.stress_split(scene["codes"], repeat, scene["seed"], scene["groups"])


def _cells(scene, name, model, repeat, damage):
    """Fit once; the rows of the table that this fit fills, and what went wrong."""
    train, test = _split(scene, repeat)
    X_train, y_train = scene["X"][train], scene["y"][train]
    X_test, y_test = scene["X"][test], scene["y"][test]
    cells, notes = [], []
    wanted = [(CLEAN, 0.0), *scene["judged"]] if damage is None else [damage]

    def fill(threat, level, judge=None):
        for metric in scene["metrics"]:
            number, why = (float("nan"), None) if judge is None else judge.value(metric)
            cells.append((name, threat, level, repeat, metric, number))
            if why is not None:
                notes.append((UserWarning, f"{name}: {why}"))

    try:
        if damage is not None:
            X_train, y_train = _damaged_training(scene, X_train, y_train, repeat, *damage)
        model = _fitted(scene, model, X_train, y_train)
    except Exception as error:
        where = "clean training rows" if damage is None else f"{damage[0]} at level {damage[1]}"
        notes.append((FitFailedWarning, f"{name} could not be fitted to {where}: {error}"))
        for threat, level in wanted:
            fill(threat, level)
        return cells, notes
    means, scales = _core.column_scaling(np.ascontiguousarray(X_train))
    for threat, level in wanted:
        try:
            if threat == "adversarial_deletion":
                judge, rows = _attacked(scene, model, X_train, X_test, y_test, level)
            else:
                judge, rows = model, X_test
                if damage is None and threat != CLEAN:
                    seed = _core.stress_seed(scene["seed"], repeat, threat)
                    rows = _core.damage_rows(threat, X_test, means, scales, level, seed)
                rows = _like(scene, rows)
            fill(threat, level, Judge(judge, rows, y_test))
        except Exception as error:
            notes.append((UserWarning, f"{name} under {threat}: {error}"))
            fill(threat, level)
    return cells, notes


def _fitted(scene, model, X, y):
    if len(np.unique(y)) < 2:
        raise ValueError("the training rows are all of one class")
    model = _seeded(clone(model), scene["seed"])
    model.fit(_like(scene, X), y)
    return model


def _damaged_training(scene, X, y, repeat, threat, level):
    classes = np.unique(scene["y"])
    codes = np.searchsorted(classes, y).astype(np.int64)
    seed = _core.stress_seed(scene["seed"], repeat, threat)
    if threat == "label_noise":
        return X, classes[_core.label_noise(codes, len(classes), level, seed)]
    if threat == "outliers":
        X, codes = _core.outliers(X, codes, len(classes), level, "both", seed)
        return X, classes[codes]
    if threat == "few_samples":
        kept = _core.few_samples(codes, level, seed)
    else:
        kept = _core.unlucky_split(X, codes, level, seed)
    return X[kept], y[kept]


def _attacked(scene, model, X_train, X_test, y_test, level):
    """Find the linear model inside, and its input rows after the worst deletion."""
    model = getattr(model, "best_estimator_", model)
    X_train, X_test = _like(scene, X_train), _like(scene, X_test)
    if isinstance(model, Pipeline):
        before, model = model[:-1], model[-1]
        if len(before):
            X_train, X_test = before.transform(X_train), before.transform(X_test)
        model = getattr(model, "best_estimator_", model)
    hyperplanes(model)  # refuses what is not linear
    rows = [_matrix(X.toarray() if hasattr(X, "toarray") else X) for X in (X_train, X_test)]
    p = rows[1].shape[1]
    means, _ = _core.column_scaling(rows[0])
    budget = float(_core.spoiled(level, p))
    damaged = delete_worst(rows[1], y_test, model, means, np.ones(p), budget, "exact")
    if hasattr(X_test, "iloc"):
        damaged = type(X_test)(damaged, columns=X_test.columns)
    return model, damaged


def _seeded(model, seed):
    """Give every open ``random_state`` inside an estimator a fixed value."""
    open_seeds = {
        key: seed % (2**31)
        for key, value in model.get_params(deep=True).items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    }
    return model.set_params(**open_seeds) if open_seeds else model


def _together(rows, codes, n_classes, groups):
    """Numbers of rows that stay on one side of every split, with a warning about equal rows."""
    bound, note = rows_together(rows, codes, n_classes, groups)
    if note is not None:
        warnings.warn(note, UserWarning, stacklevel=3)
    return bound


def rows_together(rows, codes, n_classes, groups):
    """Numbers of rows that stay together, groups and rows that are the same; and a note or None."""
    return _core.together(rows, codes, n_classes, group_codes(groups, len(codes)))


def group_codes(groups, n):
    """Return the number of each of ``n`` rows' group; None without groups."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"`groups` has shape {groups.shape}, y has {n} entries")
    names, grouped = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError("`groups`: all rows are of one group, nothing can be held out")
    return grouped.astype(np.int64)


class _Bar:
    """One line on standard error with the time left."""

    def __init__(self, name, total, verbose):
        self.name, self.total, self.verbose, self.done = name, total, verbose, 0
        self.start = self.shown = time.monotonic()

    def step(self):
        self.done += 1
        now = time.monotonic()
        if self.verbose and (now - self.shown > 0.2 or self.done == self.total):
            self.shown = now
            left = (now - self.start) / self.done * (self.total - self.done)
            text = f"\r{self.name}: {self.done}/{self.total} fits, {left:.0f} s left  "
            print(text, end="", file=sys.stderr, flush=True)

    def close(self):
        if self.verbose and self.done:
            print(file=sys.stderr)
