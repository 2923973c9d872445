"""Which labels are wrong, how many, and how far to believe that."""

import html
import json
import numbers

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mainstay import _core
from mainstay._base import BaseClassifier, _check_labels, _Progress, _seed, core_matrix
from mainstay._compat import validate_data
from mainstay._partitioned import refuse_missing_labels
from mainstay._plot import axes
from mainstay._stress import group_codes
from mainstay._suspects import _frame
from mainstay._tables import cells_by_name


class LabelAudit:
    """What an audit of labels found.

    Made by `audit_labels`. Shows itself as rich text in notebooks.

    Attributes
    ----------
    table : DataFrame (a dict of columns without pandas)
        All rows, the most suspicious first: ``row`` (position in the data, from 0), ``label``,
        ``looks_like``, ``wrong`` (probability that the label is wrong), ``stability`` (share of
        the refits that would flag the row alone) and ``flagged``.
    count : float
        How many labels are wrong: halfway between the sum of ``wrong``, which takes some rows for
        odd ones with right labels, and what it were if none is odd.
    interval : tuple of float
        95 % interval of the number of wrong labels. It holds both; where more than one row in
        twenty of a class is odd its lower end is too high.
    n_flagged : int
        Rows that are worth a look.
    details : dict
        Everything that was found: ``estimate``, ``planted`` (what became of labels flipped on
        purpose), ``top`` (what to expect of the first rows), ``classes``, ``notes``.
    """

    def __init__(self, details, classes):
        rows, plain = details.pop("rows"), classes.tolist()
        for entry in details["classes"]:
            entry["class"] = plain[entry["class"]]
        self.details = details
        column = {name: np.array([r[name] for r in rows]) for name in rows[0]}
        for name in ("label", "looks_like"):
            column[name] = classes[column[name]]
        self.table = _frame(column)
        estimate = details["estimate"]
        self.count = estimate["count"]
        self.interval = (estimate["low"], estimate["high"])
        self.n_flagged = details["flagged"]

    def flagged(self):
        """Rows that are worth a look, the most suspicious first.

        Returns
        -------
        rows : DataFrame (a dict of columns without pandas)
            The first ``n_flagged`` rows of ``table``.
        """
        if isinstance(self.table, dict):
            return {name: values[: self.n_flagged] for name, values in self.table.items()}
        return self.table.iloc[: self.n_flagged]

    def summary(self):
        """Say what was found in a few lines.

        Returns
        -------
        text : str
        """
        planted = self.details["planted"]
        lines = [
            self.details["headline"],
            f"- of {planted['rows']} labels flipped on purpose, {planted['rounds']} times, "
            f"{planted['found']:.0%} were found; the estimate rose by "
            f"{max(planted['response'], 0):.0%} of their number",
        ]
        lines += [
            f"- among the first {t['rows']} rows {t['expected_wrong']:.1f} are expected to be "
            f"wrong ({t['precision']:.0%})"
            for t in self.details["top"]
        ]
        lines += [
            f"- labelled {c['class']}: {c['expected_wrong']:.1f} of {c['rows']} expected wrong, "
            f"{c['flagged']} flagged"
            for c in self.details["classes"]
        ]
        return "\n".join(lines + [f"- note: {note}" for note in self.details["notes"]])

    def to_json(self):
        """Everything as JSON text.

        Returns
        -------
        text : str
        """
        rows = {name: np.asarray(self.table[name]).tolist() for name in self.table}
        return json.dumps({**self.details, "rows": rows})

    def plot(self, ax=None):
        """Draw how many of the first k rows are expected to be wrong.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
        """
        ax = axes(ax)
        wrong = np.cumsum(np.asarray(self.table["wrong"]))
        rows = np.arange(1, len(wrong) + 1)
        ax.plot(rows, wrong, label="expected wrong labels")
        ax.plot(rows, np.minimum(rows, wrong[-1]), ":", label="if all first rows were wrong")
        ax.axvline(self.n_flagged, linestyle="--", label=f"cut-off: {self.n_flagged} rows")
        ax.set_xlabel("rows looked at, most suspicious first")
        ax.set_ylabel("wrong labels found")
        ax.set_xlim(0, min(len(rows), max(20, 4 * int(np.ceil(self.interval[1])))))
        ax.legend()
        return ax

    def __repr__(self):
        return f"LabelAudit({len(self.table['row'])} rows)\n{self.summary()}"

    def _repr_html_(self):
        first, *rest = self.summary().split("\n")
        items = "".join(f"<li>{html.escape(line.removeprefix('- '))}</li>" for line in rest)
        return f"<p><strong>{html.escape(first)}</strong></p><ul>{items}</ul>"


def audit_labels(
    X,
    y,
    *,
    estimator=None,
    groups=None,
    repeats=10,
    planted=10,
    precision=0.5,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    r"""Find out how many labels are wrong, and which.

    Every row is scored by a fit that saw it and by fits that did not. Along the mean score
    :math:`s` a row is labelled positive with probability

    .. math:: r_0 + (1 - r_0 - r_1)\, \sigma(a s + b),

    where :math:`r_0` and :math:`r_1` are the rates of wrong labels of the two classes (with more
    classes, of each against the rest): overlap bends the curve, wrong labels keep its ends away
    from 0 and 1. Fitted to the labels, it gives each of them a probability of being wrong. Labels
    are then flipped on purpose, and the upper end of the interval is raised by what the estimate
    misses of them; the lower end is 0 where labels without a single wrong one could look the same.
    A row far on the wrong side has a wrong label, or is an odd one of its class. Its label does not
    tell, however many rows there are: the probabilities take one row in twenty of each class for
    odd, the count stands halfway between that and none, and the interval reaches from one to the
    other. If more rows are odd its lower end is too high.
    Where no row is sure to belong to its class, overlap and wrong labels cannot be told apart; a
    note says so.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their labels.
    estimator : classifier of mainstay, default=None
        What scores the rows; it is not changed. None is logistic regression on standardised
        features, its penalty chosen by cross-validation.
    groups : array-like of shape (n_samples,) or None, default=None
        Rows of one group (several of a patient, say) are held out together.
    repeats : int, default=10
        Repeats of the five-fold cross-validation behind the held-out scores.
    planted : int, default=10
        How many times 5 % of the labels are flipped on purpose; at least 2.
    precision : float, default=0.5
        Rows are flagged while at least this share of them is expected to be wrong.
    n_jobs : int or None, default=None
        As in scikit-learn; does not change the result.
    random_state : int, RandomState instance or None, default=None
        Seed of splits and flips; None is a fixed one.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    audit : LabelAudit
        ``.table``, ``.count``, ``.interval``, ``.flagged()``, ``.summary()``, ``.plot()``.

    Examples
    --------
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> y = y.copy()
    >>> wrong = [3, 100, 200, 300, 400]
    >>> y[wrong] = 1 - y[wrong]
    >>> audit = mainstay.audit_labels(X, y, repeats=2, planted=2)
    >>> set(wrong) <= set(audit.table["row"][:20])
    True
    """
    if estimator is not None and not isinstance(estimator, BaseClassifier):
        raise ValueError(
            f"`estimator` = {type(estimator).__name__}: must be a classifier of mainstay, or None"
        )
    for name, value, least in (("repeats", repeats, 1), ("planted", planted, 2)):
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(f"`{name}` = {value!r}: must be an integer of at least {least}")
    refuse_missing_labels(y)
    holder, given = _Holder(), X
    X, y = validate_data(
        holder, X, y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
    )
    _check_labels(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    method, params = _method(estimator, classes)
    with _Progress("audit_labels", verbose) as progress, cells_by_name(given):
        text = _core.audit(
            method,
            params,
            core_matrix(X),
            codes.astype(np.int64, copy=False),
            len(classes),
            repeats=int(repeats),
            planted=int(planted),
            precision=float(precision),
            seed=0 if random_state is None else _seed(random_state),
            groups=group_codes(groups, len(codes)),
            n_jobs=n_jobs,
            progress=progress,
        )
    return LabelAudit(json.loads(text), classes)


def _method(estimator, classes):
    """Name and parameters of the method behind an estimator."""
    if estimator is None:
        return None, {}
    # Parameters may name classes; the estimator itself stays as it was.
    copy = estimator.__class__(**estimator.get_params(deep=False))
    copy.classes_ = classes
    return copy._method_name(), copy._core_params()


class _Holder(BaseClassifier):
    """Takes what scikit-learn's checks write down about the data."""
