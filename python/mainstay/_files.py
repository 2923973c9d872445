"""Models in files: the versioned JSON format that the command line reads and writes too."""

import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

import mainstay
from mainstay import _core
from mainstay._base import BaseClassifier

__all__ = ["load", "save"]


def save(model, path):
    """Write a fitted model to a file.

    The file is written completely or not at all. It holds the method, its parameters, the class
    labels, the feature names and everything the fit gave; not ``n_jobs`` and ``verbose``, which
    belong to the machine and not to the model.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or path-like
        Where to write.

    See Also
    --------
    load : Read it back.

    Examples
    --------
    >>> import mainstay, os, tempfile
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> model = mainstay.PenalizedClassifier(normalize=True).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.json")
    ...     mainstay.save(model, path)
    ...     copy = mainstay.load(path)
    >>> bool((copy.decision_function(X) == model.decision_function(X)).all())
    True
    """
    if not isinstance(model, BaseClassifier):
        raise ValueError(f"only estimators of mainstay can be saved, not {type(model).__name__}")
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    _core.save(
        os.fspath(path),
        model._method_name(),
        model._core_params(),
        _labels(model.classes_),
        None if names is None else [str(name) for name in names],
        model._model,
    )


def _labels(classes):
    """Class labels as a file can hold them: those that would come back changed are refused."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "mM":
        raise ValueError(
            "class labels are dates or times, which a model file cannot hold: fit on their text, "
            "y.astype(str)"
        )
    if classes.dtype.kind == "u" and classes.max() >= 2**63:
        raise ValueError(
            "class labels of 2**63 or more do not fit into a model file: fit on their text, "
            "y.astype(str)"
        )
    return classes.tolist()


def load(path):
    """Read a model from a file written by :func:`save` or by the command line.

    The file is checked throughout (format, version, checksum, lengths, finiteness) and nothing in
    it is run. A model that the command line fitted on raw columns takes the encoded features here,
    in the order of ``feature_names_in_``: numbers as they are, and one column per category named
    ``column=category``.

    Parameters
    ----------
    path : str or path-like
        What to read.

    Returns
    -------
    model : estimator
        Of the same class, with the same parameters, predictions and fitted attributes. Where it has
        a certificate, ``certificate_claimed_`` is True: ``objective_`` and ``dual_gap_`` are what
        the file says, recomputed by nobody. Only a fit of one's own proves them.

    See Also
    --------
    save : Write such a file.
    """
    content = _core.load(os.fspath(path))
    return getattr(mainstay, content.pop("class"))._restore(**content)
