"""How much it takes to flip a prediction, for any linear classifier."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from mainstay import _core, _dask
from mainstay._base import BaseClassifier, core_matrix
from mainstay._encoder import TableEncoder
from mainstay._tables import frame_names, index_of, is_frame, row_names
from mainstay._uncertainty import ScaledUncertainty, core_uncertainty


def certify(model, X, *, uncertainty=None, values=None, witness=None, ids=None):
    """Tell for every row exactly how much it takes to flip its prediction.

    A radius is the size of the least change of the row, measured in the named norm, after which
    ``predict`` may answer otherwise; nothing smaller does. A deletion sets features to 0. All
    numbers are exact, not sampled, and ``inf`` where nothing of the kind flips the prediction; only
    the deletion of least value may be an interval instead (see Returns).

    Parameters
    ----------
    model : fitted classifier
        A linear classifier of this package, a ReGEC with two classes, anything of scikit-learn's
        kind with ``coef_`` and ``intercept_``, or a search or a ``Pipeline`` around one. A
        pipeline is certified where its last step sees the rows: perturbations, ``uncertainty``,
        ``values`` and witnesses then speak of the transformed features
        (``result.attrs["space"]`` says so).
    X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        Rows, as for ``predict``: raw frames where the model is a pipeline with a `TableEncoder`.
        Dask data give a lazy Dask frame. Missing cells, for models that fill them
        (`RobustLogisticRegression`, files of ``mainstay fit --impute gaussian``), are put at their
        means given the other cells, with a warning: the row so completed is certified.
    uncertainty : float, array-like or tuple, default=None
        An ellipsoid around every row, for ``radius_ellipsoid``: the factor by which it must grow
        until it reaches a row with another prediction (below 1: the ellipsoid itself holds one).
        A radius; per row of shape (n,), (n, p) or (n, p, p) as in ``EllipsoidSVC.fit``; a tuple of
        group indices and a list of uncertainties; or, if n and p differ, semi-axes of shape (p,)
        or a matrix (p, p) for all rows.
    values : array-like of shape (n_features,), default=None
        What deleting each feature costs, not negative; None is 1 each.
    witness : {"l2", "l1", "linf", "ellipsoid", "deletions", "deletion_value"}, default=None
        Adds the flipped rows themselves, one column ``witness_<feature>`` per feature: feed them
        to ``predict`` (of the last step) and see. They lie on the boundary or, where it must be
        crossed, a rounding error beyond. NaN where nothing flips.
    ids : str, list of str or array-like of shape (n_samples,), default=None
        What identifies the rows: columns of ``X``, or one entry for each row. They come first in
        the result, as do the columns called ``ids`` in the pipeline's `TableEncoder`.

    Returns
    -------
    certificates : DataFrame, or dict of arrays without pandas
        ``margin`` (two classes: the decision value; more: the lead over the runner-up),
        ``radius_l2``, ``radius_l1``, ``radius_linf``, ``radius_ellipsoid`` (with ``uncertainty``),
        ``deletions`` (fewest features), ``deletion_value`` (least total value), and the witness.
        With ``values`` also ``deletion_value_upper``. Where the two differ, finding the least value
        would take too long: no deletion of less than ``deletion_value`` flips, one of
        ``deletion_value_upper`` does. Where they are equal the value is exact. A frame has the
        index of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import mainstay
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> found = mainstay.certify(model, X, witness="l2")
    >>> flipped = np.column_stack([found["witness_x0"], found["witness_x1"]])
    >>> model.predict(flipped).tolist()
    [1, 1, 0, 0]
    """
    if _dask.is_dask(X):
        options = {"uncertainty": uncertainty, "values": values, "witness": witness}
        return _dask.certify(model, X, ids, **options)
    names, index = _names(X), index_of(X)
    listed = {**_encoder_ids(model, X), **row_names(X, ids)}
    last, X, names, space = _last_step(model, X, names)
    X, names = _check_rows(last, X, names)
    foreign = not isinstance(last, BaseClassifier)
    X = X if foreign else _completed(last, X)
    core = _core.certify(
        _linear(last, X) if foreign else last._model,
        core_matrix(X),
        uncertainty=_shared_or_rows(uncertainty, X),
        values=None if values is None else np.asarray(values, dtype=np.float64),
        witness=witness,
    )
    predicted = core.pop("predicted")
    flipped = core.pop("witness", None)
    if flipped is not None:
        if foreign and not witness.startswith("deletion"):
            flipped = _settle(last, X, flipped, predicted)
        core.update({f"witness_{name}": flipped[:, j] for j, name in enumerate(names)})
    core = {**listed, **core}
    try:
        import pandas as pd
    except ImportError:
        return core
    frame = pd.DataFrame(core, index=index, copy=False)
    frame.attrs["space"] = space
    return frame


def _last_step(model, X, names):
    """Return the classifier that scores, the rows as it sees them, their names, and which."""
    space = "the features of X"
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            check_is_fitted(model)
            _check_names(model, names)
            X, names = _transform(model[:-1], X, names) if len(model) > 1 else (X, names)
            space = f"the input of the pipeline's last step, {model.steps[-1][0]!r}"
            model = model.steps[-1][1]
        elif isinstance(model, ScaledUncertainty):
            check_is_fitted(model)
            _check_names(model, names)
            X, names = _transform(model.scaler_, X, names)
            space = "the scaled features"
            model = model.estimator_
        else:
            return model, X, names, space


def _encoder_ids(model, X):
    """Cells of the columns that the encoder of a pipeline holds for names of rows."""
    model = getattr(model, "best_estimator_", model)
    first = model[0] if isinstance(model, Pipeline) else None
    return first.row_ids(X) if isinstance(first, TableEncoder) and is_frame(X) else {}


def _transform(steps, X, names):
    moved = steps.transform(X)
    own = _names(moved)
    if own is None:
        try:
            own = [str(name) for name in steps.get_feature_names_out(names)]
        except (AttributeError, ValueError):
            own = None
    return moved, own


def _names(X):
    """Column names where all are text, as scikit-learn counts them."""
    if not hasattr(X, "columns"):
        return None
    names = list(X.columns) if hasattr(X, "iloc") else frame_names(X)
    return names if names and all(isinstance(name, str) for name in names) else None


def _check_names(model, names):
    if isinstance(model, Pipeline) and isinstance(model[0], TableEncoder):
        return  # finds columns by name itself
    trained = getattr(model, "feature_names_in_", None)
    if trained is None or names is None or list(trained) == names:
        return
    trained = [str(name) for name in trained]
    absent = [name for name in trained if name not in names]
    unknown = [name for name in names if name not in trained]
    if absent or unknown:
        parts = []
        if absent:
            parts.append(f"{_few(absent)} missing from X")
        if unknown:
            parts.append(f"{_few(unknown)} in X but unknown to the model")
        raise ValueError(f"the model was trained on other columns: {'; '.join(parts)}")
    if len(names) == len(trained):
        place = next(j for j, (a, b) in enumerate(zip(trained, names, strict=True)) if a != b)
        raise ValueError(
            f"the columns of X are in another order than the model was trained on: column {place} "
            f"is {names[place]!r}, expected {trained[place]!r}; use X[model.feature_names_in_]"
        )
    raise ValueError(f"X has {len(names)} columns, the model was trained on {len(trained)}")


def _few(names):
    shown = ", ".join(repr(name) for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _check_rows(model, X, names):
    """Rows as float64, finite, with as many columns as the model has features; their names."""
    if not is_classifier(model):
        raise ValueError(f"{type(model).__name__} is not a classifier: there is nothing to flip")
    check_is_fitted(model)
    _check_names(model, names)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    p = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != p:
        raise ValueError(f"X has {X.shape[1]} features, {type(model).__name__} expects {p}")
    if names is None:
        trained = getattr(model, "feature_names_in_", None)
        names = [f"x{j}" for j in range(p)] if trained is None else [str(name) for name in trained]
    cells = X.data if sparse.issparse(X) else X
    fills = isinstance(model, BaseClassifier) and model._fills_cells()
    bad = np.isinf(cells) if fills else ~np.isfinite(cells)
    if bad.any():
        if sparse.issparse(X):
            entries = X.tocoo()
            k = int(np.flatnonzero(bad)[0])
            row, column, value = entries.row[k], entries.col[k], entries.data[k]
        else:
            row, column = np.argwhere(bad)[0]
            value = X[row, column]
        raise ValueError(
            f"row {row}, column {names[column]!r} is {value}: only complete rows can be certified"
        )
    return X, names


def _completed(model, X):
    """Rows with missing cells at their means given the others, as the model has them."""
    rows = X.toarray() if sparse.issparse(X) else X
    gaps = np.isnan(rows).any(axis=1)
    if not gaps.any():
        return X
    filled = _core.filled(model._model, core_matrix(rows))
    count, verb = gaps.sum(), "row has" if gaps.sum() == 1 else "rows have"
    text = (
        f"{count} {verb} a missing cell, which is filled with its mean given the other cells: the "
        "row so completed is certified"
    )
    otherwise = (_predict(model, X) != _predict(model, filled)).sum()
    if otherwise:
        text += f"; {otherwise} of them predict, which averages over such cells, calls otherwise"
    warnings.warn(text, UserWarning, stacklevel=3)
    return filled


def _linear(model, X):
    """Weights and intercepts of a classifier that is not ours, checked."""
    name = type(model).__name__
    if getattr(model, "kernel", "linear") != "linear":
        raise ValueError(f"{name} with kernel={model.kernel!r} is not linear: it has no weights")
    if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
        raise ValueError(
            f"{name} has no coef_ and intercept_: only linear classifiers can be certified"
        )
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).astype(np.float64)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    intercept = np.array(np.broadcast_to(intercept, (coef.shape[0],)))
    if coef.shape == (2, X.shape[1]):
        # One score per class: with two classes their difference decides.
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    classes = getattr(model, "classes_", None)
    rows = 1 if classes is None or len(classes) == 2 else len(classes)
    if isinstance(classes, list) or coef.shape != (rows, X.shape[1]):
        raise ValueError(
            f"{name}: coef_ of shape {np.shape(model.coef_)} is not one row of weights "
            f"{'for two classes' if rows == 1 else 'per class'}"
        )
    _check_agreement(model, coef, intercept, X)
    return coef, intercept


def _check_agreement(model, coef, intercept, X):
    """Refuse a model whose ``predict`` does something else with its weights (one against one)."""
    if getattr(model, "classes_", None) is None:
        return
    scores = np.asarray(X @ coef.T) + intercept
    if scores.shape[1] == 1:
        codes, lead = (scores[:, 0] > 0).astype(int), np.abs(scores[:, 0])
    else:
        codes = scores.argmax(axis=1)
        two = np.partition(scores, -2, axis=1)
        lead = two[:, -1] - two[:, -2]
    clear = lead > 1e-6 * (np.abs(scores).max() + np.abs(intercept).max())
    wrong = np.flatnonzero(clear & (_predict(model, X) != codes))
    if len(wrong):
        raise ValueError(
            f"{type(model).__name__}: predict does not follow the largest score of coef_ and "
            f"intercept_ (row {wrong[0]}), so that flips cannot be certified from them"
        )


def _predict(model, X):
    """Class indices."""
    with warnings.catch_warnings():
        # The rows have lost their column names; those were compared before.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels = np.asarray(model.predict(X))
    order = np.argsort(model.classes_)
    return order[np.searchsorted(model.classes_, labels, sorter=order)]


def _settle(model, X, flipped, predicted):
    """Push witnesses over the boundary where other arithmetic puts them just before it."""
    if getattr(model, "classes_", None) is None:
        return flipped
    X = X.toarray() if sparse.issparse(X) else X
    rows = np.flatnonzero(np.isfinite(flipped).all(axis=1))
    change = flipped - X
    for power in range(-15, -5):
        if len(rows):
            rows = rows[_predict(model, flipped[rows]) == predicted[rows]]
        if not len(rows):
            break
        length = np.linalg.norm(change[rows], axis=1)
        room = (1 + np.linalg.norm(X[rows], axis=1)) / np.where(length > 0, length, 1)
        flipped[rows] = X[rows] + change[rows] * (1 + 10.0**power * (1 + room))[:, None]
    return flipped


def _shared_or_rows(uncertainty, X):
    """Row uncertainty as the compiled module takes it; one shape for all rows is a group."""
    if uncertainty is None or isinstance(uncertainty, tuple):
        return core_uncertainty(uncertainty, X)
    array = np.asarray(uncertainty, dtype=np.float64)
    n, p = X.shape
    shared = {1: (p,), 2: (p, p)}.get(array.ndim)
    if array.shape == shared:
        if n == p:
            raise ValueError(
                f"uncertainty of shape {array.shape} may mean rows or features, as X has {n} of "
                "both: pass (np.zeros(n, int), [uncertainty]) for one shape around all rows, or "
                "repeat rows as (np.arange(n), list(uncertainty))"
            )
        return np.zeros(n, dtype=np.int64), [array.tolist()]
    return core_uncertainty(array, X)
