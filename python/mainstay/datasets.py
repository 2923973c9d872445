"""Data sets that need no download."""

import csv
import io

import numpy as np
from sklearn.utils import Bunch

from mainstay import _core
from mainstay._base import _seed

__all__ = [
    "load_demo",
    "make_label_noise",
    "make_ndc",
    "make_outliers",
    "make_separable_copies",
]


def load_demo(*, return_X_y=False, as_frame=False):
    """Load the Wisconsin diagnostic breast cancer data (569 rows, 30 features, 2 classes).

    The classes are ``"B"`` (benign, code 0) and ``"M"`` (malignant, code 1). The command line uses
    the same data where none are given.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give ``data`` and ``target`` as pandas objects.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With ``data``, ``target``, ``target_names``, ``feature_names``, ``frame`` and ``DESCR``.

    Examples
    --------
    >>> from mainstay.datasets import load_demo
    >>> load_demo().data.shape
    (569, 30)
    """
    header, *rows = csv.reader(io.StringIO(_core.demo_csv()))
    names = np.array(["B", "M"])
    data = np.array([row[:-1] for row in rows], dtype=np.float64)
    target = np.array([row[-1] for row in rows]) == names[1]
    target = target.astype(np.int64)
    frame = None
    if as_frame:
        import pandas as pd

        data = pd.DataFrame(data, columns=header[:-1])
        target = pd.Series(target, name=header[-1])
        frame = data.assign(**{header[-1]: target})
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=names,
        feature_names=header[:-1],
        frame=frame,
        DESCR="Wisconsin diagnostic breast cancer: features of cell nuclei in digitised images of "
        "fine needle aspirates. Wolberg, Mangasarian, Street, Street (1993), UCI Machine Learning "
        "Repository, doi:10.24432/C5DW2B, CC BY 4.0.",
    )


def make_outliers(n=100, p=3, sigma=0.5, kind="clustered", fraction=0.1, random_state=None):
    """Draw two normal classes one unit apart, with outliers.

    The conic SVM paper's section 5.1.1. The best classifier is the plane half-way between the two
    centres, whatever the outliers.

    Parameters
    ----------
    n : int, default=100
        Rows.
    p : int, default=3
        Features.
    sigma : float, default=0.5
        Standard deviation of both classes.
    kind : {"none", "clustered", "spread"}, default="clustered"
        Outliers: none; close together at ten times the negative centre, labelled 1; or around
        both centres with ten times the deviation.
    fraction : float, default=0.1
        Expected share of outliers.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n, p)
        Rows, without a constant column.
    y : ndarray of shape (n,)
        Classes 0 and 1.

    Examples
    --------
    >>> from mainstay.datasets import make_outliers
    >>> X, y = make_outliers(50, 2, 0.2, "spread", random_state=7)
    >>> X.shape, y.shape
    ((50, 2), (50,))
    """
    seed = 0 if random_state is None else _seed(random_state)
    return _core.make_outliers(int(n), int(p), float(sigma), kind, float(fraction), seed)


def make_label_noise(n=100, p=3, tau=0.1, random_state=None):
    """Draw linearly separable rows and flip a share of their labels.

    The conic SVM paper's Appendix B: rows uniform in the cube [-1, 1]^p, classes by a random plane.

    Parameters
    ----------
    n : int, default=100
        Rows.
    p : int, default=3
        Features.
    tau : float, default=0.1
        Probability of a flip, at most 0.5. The rows do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n, p)
        Rows, without a constant column.
    y : ndarray of shape (n,)
        Classes 0 and 1.

    Examples
    --------
    >>> from mainstay.datasets import make_label_noise
    >>> _, clean = make_label_noise(1000, 4, 0.0, random_state=1)
    >>> _, noisy = make_label_noise(1000, 4, 0.2, random_state=1)
    >>> bool(150 < (clean != noisy).sum() < 250)
    True
    """
    seed = 0 if random_state is None else _seed(random_state)
    return _core.make_label_noise(int(n), int(p), float(tau), seed)


def make_ndc(n_samples=300, n_features=7, *, n_centers=20, expand_factor=10.0, random_state=None):
    """Draw normally distributed clusters (NDC, Musicant 1998).

    Centres are uniform on the integers of [-50, 50] and take the class of their side of a random
    plane; rows are normal around a random centre, rounded to integers, and take its class.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=7
        Features.
    n_centers : int, default=20
        Clusters.
    expand_factor : float, default=10.0
        Width of the clusters; larger makes the classes less separable.
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1, both present.

    Examples
    --------
    >>> from mainstay.datasets import make_ndc
    >>> X, y = make_ndc(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 7), [0, 1])
    """
    seed = 0 if random_state is None else _seed(random_state)
    X, codes = _core.make_ndc(n_samples, n_features, n_centers, float(expand_factor), seed)
    return X, np.asarray(codes, dtype=np.int64)


def make_separable_copies(random_state=None):
    """Draw the sanity check of the missing-features paper (section 4).

    1000 standard normal rows of 20 features, labelled by a random plane, every label then flipped
    with probability 0.2; the resulting label, as -1 or 1, is features 20 and 21. With both of
    these missing the best possible error is about 0.2.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed; None is a fixed one.

    Returns
    -------
    X : ndarray of shape (1000, 22)
        Rows, without a constant column.
    y : ndarray of shape (1000,)
        Classes 0 and 1.

    Examples
    --------
    >>> from mainstay.datasets import make_separable_copies
    >>> X, y = make_separable_copies(random_state=0)
    >>> bool(((X[:, 21] > 0) == y).all())
    True
    """
    seed = 0 if random_state is None else _seed(random_state)
    return _core.make_separable_copies(seed)
