"""Proofs of training optimality, checked by code that shares nothing with the fits."""

import os
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mainstay import _core, _dask, _scan
from mainstay._base import BaseClassifier
from mainstay._dask import is_dask
from mainstay._files import load
from mainstay._scan import is_scan

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` found.

    Attributes
    ----------
    proved : bool
        Whether the gap of every problem is at most ``tol``.
    gap : float
        The largest proven gap: no weights lower the objective by more, relative to
        max(1, objective).
    tol : float
        The gap that had to be proved.
    objectives_as_claimed : bool
        Whether every objective is the model's ``objective_`` to nine digits.
    problems : list of dict
        For two classes or a joint problem one, otherwise one per class: ``objective`` (an upper
        bound on that of the returned numbers), ``objective_low``, ``bound`` (no weights are
        below), ``gap``, ``claimed_objective`` and ``claimed_gap``.
    """

    proved: bool
    gap: float
    tol: float
    objectives_as_claimed: bool
    problems: list

    def __str__(self):
        verdict = "proved" if self.proved else "not proved"
        return f"{verdict}: gap {self.gap:.1e}, asked for {self.tol:.1e}"


def verify(model, X, y, *, sample_weight=None, tol=None):
    """Check that a fit is optimal, from the model and its training rows alone.

    A fit ends with a claim: no weights lower ``objective_`` by more than ``dual_gap_``. Its proof
    is a dual point, which a model keeps when it is fitted inside ``with
    mainstay.config(proof=True)`` and a file when it is saved with ``proof=True``. This function
    recomputes the objective and the lower bound from them and the rows. The checker is a crate of
    its own that shares no code with the fits: inner products are exact, the rest is interval
    arithmetic rounded outwards (the system's ``exp`` and ``log`` are taken to be right to four
    units in the last place). A forged file can fail to prove something; it cannot prove what is
    false.

    Parameters
    ----------
    model : estimator, Pipeline, str or path-like
        A fitted model, or the path of a file.
    X : array-like, frame or sparse matrix
        The rows that the model was fitted on, as ``fit`` got them. Dask data and scans are read in
        one pass, whose sums prove both bounds again: from the rows and the points that the model
        keeps, but in plain arithmetic and by the code of the fit.
    y : array-like of shape (n_samples,)
        Their classes, or the name of their column.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights, if the fit had any.
    tol : float, default=None
        The gap to be proved; None is the ``tol`` of the fit.

    Returns
    -------
    found : Verification
        Also clears ``certificate_claimed_`` of the model if its claim was proved.

    Notes
    -----
    Covered: `PenalizedClassifier` with all losses and penalties, `StableSVC`,
    `StableLogisticRegression` and their ``CV`` forms, `EllipsoidSVC` with one ellipsoid for all
    rows, `MissingFeatureSVC`. There is no checker yet for `ConicSVC`, `RobustLogisticRegression`,
    rows with ellipsoids of their own and calibrated models; other methods have no certificate.

    Examples
    --------
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> with mainstay.config(proof=True):
    ...     model = mainstay.PenalizedClassifier(normalize=True, alpha=0.1).fit(X, y)
    >>> mainstay.verify(model, X, y).proved
    True
    """
    if isinstance(model, (str, os.PathLike)):
        model = load(model)
    last = model
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X)
        last = model[-1]
    if not isinstance(last, BaseClassifier):
        raise ValueError(f"only models of mainstay can be verified, not {type(last).__name__}")
    check_is_fitted(last)
    if is_dask(X) or is_scan(X):
        return _in_one_pass(last, X, y, sample_weight, tol)
    X = last._check_rows(X)
    codes = _codes(last.classes_, y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, codes, dtype=np.float64)
    found = _core.verify(
        last._method_name(),
        last._core_params(),
        last._model,
        X,
        codes,
        sample_weight=sample_weight,
        tol=tol,
    )
    # Numbers beyond all floats are none in the text between the languages.
    for part in (found, *found["problems"]):
        part.update({k: float("inf") for k in ("gap", "tol") if part.get(k, 0.0) is None})
    found = Verification(**found)
    # A looser `tol` proves less than the model claims.
    if found.proved and found.objectives_as_claimed and found.gap <= 10 * max(last.dual_gap_, 1e-9):
        last.certificate_claimed_ = False
    return found


def _codes(classes, y):
    """Class indices of labels."""
    y = np.asarray(y)
    unknown = np.setdiff1d(y, classes)
    if y.ndim != 1 or unknown.size:
        raise ValueError("`y` must hold one of the model's classes for every row")
    return np.searchsorted(classes, y).astype(np.int64)


def _in_one_pass(model, X, y, sample_weight, tol):
    """Bounds of a fit over partitions, proved again from one pass over them."""
    find = _dask.bounds if is_dask(X) else _scan.bounds
    tol = model.tol if tol is None else tol
    claimed = np.atleast_1d(model.objective_)
    problems = []
    for (primal, dual), claim in zip(find(model, X, y, sample_weight), claimed, strict=True):
        gap = max(0.0, primal - dual) / max(1.0, abs(primal))
        problems.append(
            {
                "objective": primal,
                "objective_low": primal,
                "bound": dual,
                "gap": gap,
                "claimed_objective": float(claim),
                "claimed_gap": model.dual_gap_,
            }
        )
    gap = max(part["gap"] for part in problems)
    same = all(
        abs(part["objective"] - part["claimed_objective"])
        <= 1e-9 * max(1.0, abs(part["objective"]))
        for part in problems
    )
    return Verification(gap <= tol, gap, tol, same, problems)
