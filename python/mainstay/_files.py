"""Models in files: the versioned JSON format that the command line reads and writes too."""

import os

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import mainstay
from mainstay import _core
from mainstay._base import BaseClassifier
from mainstay._encoder import TableEncoder
from mainstay._imputer import GaussianImputer

__all__ = ["load", "save"]


def save(model, path, *, proof=False):
    """Write a fitted model to a file.

    The file is written completely or not at all. It holds the method, its parameters, the class
    labels, the feature names and everything the fit gave; not ``n_jobs`` and ``verbose``, which
    belong to the machine and not to the model.

    A pipeline becomes the file that ``mainstay fit`` would write for the same table: with the
    encoder in it, and the model in raw units where features were standardised.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a pipeline of a `TableEncoder`, a scikit-learn
        ``StandardScaler`` (each may be absent) and such an estimator.
    path : str or path-like
        Where to write.
    proof : bool, default=False
        Whether the file holds the dual point behind the certificate, so that :func:`verify` and
        ``mainstay verify`` can check it. The model must have been fitted inside
        ``with mainstay.config(proof=True)``.

    See Also
    --------
    load : Read it back.
    verify : Check the proof.

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
    encoder, scaling, last = _parts(model)
    check_is_fitted(last)
    if proof and not last._model.has_proof:
        raise ValueError(
            f"this {type(last).__name__} keeps no proof: fit it inside `with "
            "mainstay.config(proof=True)` (see mainstay.verify for the methods that have one)"
        )
    if encoder is None:
        first = model[0] if isinstance(model, Pipeline) else model
        names = getattr(first, "feature_names_in_", None)
    else:
        names = encoder.get_feature_names_out()
    _core.save(
        os.fspath(path),
        last._method_name(),
        last._core_params(),
        _labels(last.classes_),
        None if names is None else [str(name) for name in names],
        last._model,
        encoder=None if encoder is None else encoder._encoder,
        target=None if encoder is None else encoder.target_name_,
        scaling=scaling,
        proof=proof,
    )


def _parts(model):
    """Take a model apart: encoder or None, means and scales or None, classifier."""
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    encoder = steps.pop(0) if isinstance(steps[0], TableEncoder) else None
    scaling = None
    if encoder is not None:
        check_is_fitted(encoder)
        if encoder.scale_ is not None:
            scaling = encoder.mean_, encoder.scale_
    if len(steps) > 1 and isinstance(steps[0], StandardScaler):
        scaler = steps.pop(0)
        check_is_fitted(scaler)
        if scaling is not None:
            raise ValueError(
                "the features are standardised twice, by TableEncoder and StandardScaler: a model "
                "file holds one of them"
            )
        p = scaler.n_features_in_
        scaling = (
            np.zeros(p) if scaler.mean_ is None or not scaler.with_mean else scaler.mean_,
            np.ones(p) if scaler.scale_ is None else scaler.scale_,
        )
    if len(steps) != 1 or not isinstance(steps[0], BaseClassifier):
        odd = next((s for s in steps if not isinstance(s, BaseClassifier)), model)
        instead = (
            ". RobustLogisticRegression takes empty cells itself, `mainstay fit --impute gaussian` "
            "writes a file that fills them, and joblib keeps any pipeline"
            if isinstance(odd, GaussianImputer)
            else ""
        )
        raise ValueError(
            f"only estimators of mainstay can be saved, not {type(odd).__name__}; in a pipeline "
            f"after TableEncoder and StandardScaler, each of which may be absent{instead}"
        )
    return encoder, scaling, steps[0]


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
    it is run. A model that was fitted on raw columns comes back as a pipeline of its encoder and
    the classifier, which predicts raw frames as the command line does, bit for bit. Where features
    were standardised, the classifier of the file is in raw units; to fit it again, put
    ``TableEncoder(standardize=True)`` in front.

    Parameters
    ----------
    path : str or path-like
        What to read.

    Returns
    -------
    model : estimator or Pipeline
        Of the same class (the last step, behind a `TableEncoder`, where the file holds one), with
        the same parameters, predictions and fitted attributes. Where it has a certificate,
        ``certificate_claimed_`` is True: ``objective_`` and ``dual_gap_`` are what
        the file says, recomputed by nobody. A fit of one's own proves them, or :func:`verify`
        where the file holds a proof.

    See Also
    --------
    save : Write such a file.
    """
    content = _core.load(os.fspath(path))
    encoder, target = content.pop("encoder"), content.pop("target")
    model = getattr(mainstay, content.pop("class"))._restore(**content)
    if encoder is None:
        return model
    if hasattr(model, "feature_names_in_"):
        # The encoder hands over arrays; what their columns are called is for the summary.
        model._column_names = model.feature_names_in_
        del model.feature_names_in_
    step = type(model).__name__.lower()
    return Pipeline([("tableencoder", TableEncoder._restore(encoder, target)), (step, model)])
