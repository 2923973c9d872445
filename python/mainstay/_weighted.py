"""Weights of rows in searches over any scikit-learn classifier: weight 2 is the row twice."""

import inspect

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def first_of_equals(X, y):
    """Position of the first row with the same features and label, for every row.

    Rows that cannot be told apart cell by cell (lists of texts, say) count as different.
    """
    if sparse.issparse(X):
        rows = sparse.csr_matrix(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = zip(rows.indptr, rows.indptr[1:], strict=False)
        keys = [(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in ends]
    else:
        cells = np.asarray(X)
        if cells.ndim != 2 or len(cells) != len(y) or cells.shape[1] == 0:
            return np.arange(len(y))
        plain = cells.dtype.kind in "fiub"
        # -0.0 and 0.0 are the same number.
        keys = [row.tobytes() for row in np.ascontiguousarray(cells + 0)] if plain else None
        keys = [tuple(map(str, row)) for row in cells] if keys is None else keys
    seen = {}
    labels = np.asarray(y).tolist()
    pairs = zip(keys, labels, strict=True)
    return np.array([seen.setdefault(pair, place) for place, pair in enumerate(pairs)])


#: Parts of a distinct row, at most, and the shares of the weight that tell kinds from copies.
MOST_PARTS, FEW, MIXED = 50, 0.5, 0.5


def parts_of_kinds(X, y, first, weights):
    """Parts of distinct rows where rows are of few kinds: (rows, their weights); None elsewhere.

    In a table of few categories equal rows are no copies. Of a kind that has both classes each
    class is one distinct row, and held out as one it would leave rows that say the opposite.
    """
    if len(first) == 0:
        return None
    weights = np.ones(len(first)) if weights is None else weights
    own = np.bincount(first, weights, minlength=len(first))
    kept = np.flatnonzero(own > 0)
    if len(kept) >= FEW * own.sum():
        return None
    kinds = first_of_equals(X, np.zeros(len(first)))[kept]
    several = np.bincount(kinds, minlength=len(first))[kinds] > 1
    if own[kept][several].sum() < MIXED * own.sum():
        return None
    counts = np.clip(np.ceil(own[kept]), 1, MOST_PARTS).astype(int)
    return np.repeat(kept, counts), np.repeat(own[kept] / counts, counts)


def check_scoring_weights(scoring):
    """Refuse a scorer that takes no weights."""
    known = inspect.signature(scoring).parameters.values()
    if not any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in known):
        raise ValueError(
            "`scoring` must take `sample_weight` where weights are given: "
            "scorer(estimator, X, y, sample_weight=None)"
        )


def fit_weights(model, weights):
    """Keyword arguments of a ``fit`` with weights; in a pipeline of every step that takes them.

    Raises
    ------
    ValueError
        If the classifier takes no weights.
    """
    if weights is None:
        return {}
    piped = isinstance(model, Pipeline) and not get_config().get("enable_metadata_routing")
    last = model.steps[-1][1] if piped else model
    if not isinstance(last, Pipeline) and not has_fit_parameter(last, "sample_weight"):
        name = type(last).__name__
        raise ValueError(f"`sample_weight`: {name} takes no weights of rows in its fit")
    if not piped:
        return {"sample_weight": weights}
    steps = [(name, step) for name, step in model.steps if step not in (None, "passthrough")]
    return {
        f"{name}__sample_weight": weights
        for name, step in steps
        if has_fit_parameter(step, "sample_weight")
    }
