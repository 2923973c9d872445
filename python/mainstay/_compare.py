"""Which threat hurts this data, which method holds, and what that costs."""

import numbers

import numpy as np

from mainstay import _core
from mainstay._base import _Progress, _seed
from mainstay._comparison import ComparisonResult
from mainstay._guests import add_guests, checked
from mainstay._stress import StressInterrupted, _together
from mainstay._tables import (
    drop_columns,
    encoded,
    frame_names,
    index_of,
    is_frame,
    is_plain,
    row_names,
    table_of,
)
from mainstay._told import told
from mainstay.threats import _codes, _labels, _matrix

# Methods of ours in a comparison, for sharing out the time.
_OURS = 12


def compare(
    X,
    y,
    *,
    repeats=None,
    budget_seconds=60,
    n_jobs=None,
    random_state=None,
    without=(),
    max_rows=None,
    expect=None,
    metric=None,
    threats=None,
    groups=None,
    few_levels=False,
    estimators=None,
    include=(),
    verbose=0,
    ids=None,
    encoder=None,
):
    """Find out which threat hurts this data, which method holds, and what that costs.

    Three baselines (L2 and L1 logistic regression, linear SVM) and the robust methods, each tuned
    inside the training rows, on clean data and under all eight threats at their usual levels, and
    your own estimators beside them if you give any.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        An array holds numbers only, none missing. A frame (pandas, polars, pyarrow) may hold words,
        booleans, dates and gaps: see ``encoder``.
    y : array-like of shape (n_samples,)
        Classes.
    repeats : int or None, default=None
        Number of splits; None lets the budget decide.
    budget_seconds : float, default=60
        As long as a repeat of the mean length so far fits in, another one is run: at least 2, at
        most 20. A method is left out whose fits would take far more than its share of the time; its
        cells say so. The call that gives the same result to the last bit, with ``repeats`` and
        ``without``, is in ``details["settings"]``. No limit if ``repeats`` is given.
    n_jobs : int or None, default=None
        As in scikit-learn; does not change the result.
    random_state : int, RandomState instance or None, default=None
        Seed of splits and damage; None is a fixed one.
    without : sequence of str, default=()
        Names of methods to leave out.
    max_rows : int or None, default=None
        Training sets are cut to this many rows, every class by its share; None is 200 to 1000, the
        fewer the more features there are.
    expect : dict or None, default=None
        What you expect, ``{"wrong_labels": 0.1, "missing": 0.2, "errors": 0.3}`` or a part of it
        (shares, and standard deviations of every feature): the *told* comparison. Every method is
        configured for it and judged where it comes true, is absent, half or double; ``repeats``
        (8 if None) splits.
    metric : str or None, default=None
        What methods are judged by, in the advice, the intervals, the table and the charts:
        "accuracy", "balanced_accuracy", "auc", "pr_auc", "log_loss", "brier", "brier_skill",
        "calibration_error", "sensitivity", "specificity", "ppv", "npv", "f1" or "mcc". None is
        accuracy while the largest class holds less than 65 % of the rows, otherwise log loss if
        every method gives probabilities, otherwise AUC.
    threats : str, list of str or None, default=None
        Names of threats; None is all eight.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of the same group (several rows of a patient, say) stay on one side of every split, and
        so do rows that are exactly the same.
    few_levels : bool, default=False
        Run one level of every threat to the training rows. A budget too short for five splits of
        all levels does the same.
    estimators : classifier, list or dict of classifiers, default=None
        Your own: any scikit-learn classifier. They are fitted to the splits and the damage that our
        methods had, after these and to raw features (scaling is the business of your pipeline), and
        judged, charted and advised alike. The budget is shared out by the number of methods; yours
        are never left out for want of time.
    include : sequence of str, default=()
        Methods of ours that do not take part by themselves: "robust-regec".
    verbose : int, default=0
        1 shows progress.
    ids : str, list of str or array-like of shape (n_samples,), default=None
        What identifies the rows, shown where the report lists rows: columns of ``X``, which are
        then no features, or one entry for each row. None is the index of a pandas frame, unless it
        just counts the rows.
    encoder : TableEncoder or None, default=None
        How the columns of a frame become features; None is ``TableEncoder(impute="mean")``, with a
        warning that says how many cells were filled.

    Returns
    -------
    result : ComparisonResult
        ``.table``, ``.recommend()``, ``.plot(threat)``, ``.to_html(path)``; with ``expect`` a
        `ToldResult` with ``.table`` and ``.recommend()``.

    Raises
    ------
    StressInterrupted
        On Ctrl-C, a `KeyboardInterrupt` whose ``partial`` is the result of the finished repeats
        (None if there is none). While your own estimators run, our methods keep all their repeats
        and yours those they finished, if these are at least two.

    Examples
    --------
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> result = mainstay.compare(X[::8, :5], y[::8], repeats=2)
    >>> "plain logistic regression" in result.recommend().lower()
    True
    >>> list(result.table)
    ['estimator', 'threat', 'level', 'repeat', 'metric', 'value']
    """
    _check_limits(repeats, budget_seconds, max_rows, without)
    seed = 0 if random_state is None else _seed(random_state)
    named = row_names(X, ids) or _index_names(X)
    if named and is_frame(X):
        X = drop_columns(X, [name for name in named if name in frame_names(X)])
    names = [", ".join(map(str, row)) for row in zip(*named.values(), strict=True)] or None
    if expect is not None:
        given = {"metric": metric, "threats": threats, "groups": groups, "ids": ids}
        given |= {"estimators": estimators, "max_rows": max_rows}
        lists = {"include": include, "without": without, "few_levels": few_levels}
        _refuse_with_expect(given, lists)
        rows, codes, classes = _rows(X, y, encoder)[:3]
        return told(rows, codes, len(classes), expect, repeats, seed, n_jobs, verbose)
    guests = [] if estimators is None else checked(estimators)
    filled = _filled(X, encoder)
    rows, codes, classes, features = _rows(X, y, encoder)
    names_of_classes = [str(c) for c in classes.tolist()]
    session = _core.Session(rows, codes, features, names_of_classes, "data", seed)
    bound = _together(rows, codes, len(classes), groups)
    session.add(list(include), filled)
    session.limit(list(without), max_rows)
    chosen = [threats] if isinstance(threats, str) else threats
    session.choose(metric, None if chosen is None else list(chosen), bound, bool(few_levels))
    repeats = None if repeats is None else int(repeats)
    asked = _asked({"max_rows": max_rows, "metric": metric, "threats": threats}, include)
    asked += ["groups=groups"] if groups is not None else []
    asked += ["estimators=estimators"] if guests else []
    share = _OURS / (_OURS + len(guests))
    try:
        with _Progress("compare", verbose) as progress:
            session.run(repeats, share * budget_seconds, n_jobs=n_jobs, progress=progress)
        if guests and session.repeats:
            data = {"X": rows, "y": _labels(y), "codes": codes, "columns": _columns(X)}
            add_guests(session, guests, data, seed, n_jobs, verbose)
    except KeyboardInterrupt:
        raise StressInterrupted(_finish(session, seed, n_jobs, asked, names)) from None
    return _finish(session, seed, n_jobs, asked, names)


def _check_limits(repeats, budget_seconds, max_rows, without):
    if repeats is not None and (not isinstance(repeats, numbers.Integral) or repeats < 1):
        raise ValueError(f"`repeats` = {repeats!r}: must be an integer of at least 1, or None")
    if not (isinstance(budget_seconds, numbers.Real) and budget_seconds > 0):
        raise ValueError(f"`budget_seconds` = {budget_seconds!r}: must be a positive number")
    if max_rows is not None and not (isinstance(max_rows, numbers.Integral) and max_rows >= 4):
        raise ValueError(f"`max_rows` = {max_rows!r}: must be an integer of at least 4, or None")
    if isinstance(without, str):
        raise ValueError(f"`without` = {without!r}: must be a list of names")


def _refuse_with_expect(given, lists):
    """Refuse what a told comparison would ignore."""
    idle = [name for name, value in given.items() if value is not None]
    idle += [name for name, value in lists.items() if value]
    if idle:
        raise ValueError(f"expect: {', '.join(idle)} are for comparisons without it")


def _asked(settings, include):
    """Give the arguments that the call which repeats a comparison needs."""
    asked = [f"{key}={value!r}" for key, value in settings.items() if value is not None]
    return asked + ([f"include={list(include)!r}"] if include else [])


def _index_names(X):
    """Give the index of a pandas frame by name, unless it just counts the rows."""
    index = index_of(X)
    if index is None or np.array_equal(np.asarray(index), np.arange(len(index))):
        return {}
    return {"index": np.asarray(index)}


def _rows(X, y, encoder):
    X, features = encoded(X, encoder)
    rows = _matrix(X.toarray() if hasattr(X, "toarray") else X)
    labels = _labels(y)
    if len(labels) != len(rows):
        raise ValueError(f"X has {len(rows)} rows, y has {len(labels)}")
    classes, codes = _codes(labels)
    if features is None:
        features = [f"x{j}" for j in range(rows.shape[1])]
    return rows, codes, classes, features


def _columns(X):
    """Column names of a pandas frame of numbers, which the user's estimators may rely on."""
    return list(X.columns) if hasattr(X, "iloc") and is_plain(X) else None


def _filled(X, encoder):
    """Cells of a frame that will be filled, by column, and with what."""
    if not is_frame(X):
        return None
    rule = "mean" if encoder is None else getattr(encoder, "impute", None)
    if rule not in ("mean", "median", "most_frequent", "most-frequent"):
        return None
    gone = zip(frame_names(X), table_of(X).gaps(), strict=True)
    with_what = f"the {str(rule).replace('_', ' ')} of the column (its most frequent category)"
    return [(str(name), count) for name, count in gone if count], with_what


def _finish(session, seed, n_jobs, asked, ids):
    if session.repeats == 0:
        return None
    gone = session.left_out
    more = f", without={gone!r}" if gone else ""
    more += ", few_levels=True" if session.few_levels else ""
    more += "".join(f", {word}" for word in asked)
    call = f"mainstay.compare(X, y, repeats={session.repeats}, random_state={seed}{more})"
    return ComparisonResult(session.finish(call, ids=ids, n_jobs=n_jobs))
