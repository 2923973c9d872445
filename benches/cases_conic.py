"""Certified 100-value paths of the conic SVM against Clarabel on the same semidefinite programs."""

from pathlib import Path

import clarabel
import numpy as np
import pandas as pd
from scipy import sparse

import harness
from harness import Bar, Case, Contender
from mainstay import ConicSVC, ConicSVCCV
from mainstay.datasets import make_label_noise, make_outliers

TITLE = "Conic SVM (`ConicSVC.path` with 100 values of kappa, `ConicSVCCV`, kernels)"
KAPPAS = np.linspace(0.005, 0.5, 100)


def semidefinite(X, y, kappa):
    """Optimal value of the kappa form by Clarabel.

    The smallest formulation we know: Z = (1, w'; w, W) is the variable, packed with its off-diagonal
    entries times sqrt(2); per row one cone of order 3 for q z >= a^2 with a >= 1 - y x'w.
    """
    n, p = X.shape
    xt = np.c_[np.ones(n), -(2.0 * y - 1)[:, None] * np.c_[X, np.ones(n)]]
    order = p + 2
    column, row = np.triu_indices(order)[::-1]
    packed = np.array(sorted(range(len(row)), key=lambda k: (column[k], row[k])))
    row, column = row[packed], column[packed]
    weight = np.where(row == column, 1.0, np.sqrt(2))
    size = len(row)
    q = sparse.csr_matrix(xt[:, row] * xt[:, column] * weight)
    border = np.flatnonzero(row == 0)
    a = sparse.csr_matrix(
        (np.ravel(xt * np.where(np.arange(order) == 0, 1.0, 1 / np.sqrt(2))),
         (np.repeat(np.arange(n), order), np.tile(border, n))),
        shape=(n, size),
    )
    one, none = sparse.identity(n, format="csr"), sparse.csr_matrix((n, n))
    # Variables: Z, z, a. Cones: Z_00 = 1; budget, slack of a, a >= 0; (q + z, q - z, 2a); Z.
    corner = sparse.csr_matrix(([1.0], ([0], [0])), shape=(1, size + 2 * n))
    budget = sparse.hstack([sparse.csr_matrix((1, size)), np.ones((1, n)), sparse.csr_matrix((1, n))])
    above = sparse.hstack([a, none, -one])
    positive = sparse.hstack([sparse.csr_matrix((n, size)), none, -one])
    zero = sparse.csr_matrix((n, size))
    cone = sparse.vstack(
        [sparse.hstack([-q, -one, none]), sparse.hstack([-q, one, none]), sparse.hstack([zero, none, -2 * one])]
    ).tocsr()[np.arange(3 * n).reshape(3, n).T.ravel()]
    matrix = sparse.hstack([-sparse.identity(size), sparse.csr_matrix((size, 2 * n))])
    A = sparse.vstack([corner, budget, above, positive, cone, matrix]).tocsc()
    b = np.r_[1.0, kappa * n, np.zeros(5 * n + size)]
    cost = np.r_[np.where((row == column) & (row > 0), 1.0, 0.0), np.zeros(2 * n)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(1 + 2 * n)]
    cones += [clarabel.SecondOrderConeT(3)] * n + [clarabel.PSDTriangleConeT(order)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    P = sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(P, cost, A, b, cones, settings).solve().obj_val


def case(n, p, sigma, kind, sample, ratio, rounds=3):
    X, y = make_outliers(n, p, sigma, kind, random_state=1)
    few = np.linspace(0.02, 0.35, sample) if sample > 1 else np.array([0.1])

    def peer():
        return [semidefinite(X, y, kappa) for kappa in few]

    def peer_gap(values):
        path = ConicSVC.path(X, y, few, tol=1e-8)
        return max(
            abs(value - m.zero_one_bound_) / max(1, value) for value, m in zip(values, path, strict=True)
        )

    ours = Contender(
        "mainstay", lambda: ConicSVC.path(X, y, KAPPAS), lambda path: max(m.dual_gap_ for m in path)
    )
    name = f"Clarabel ({sample} of the values, scaled)"
    theirs = Contender(name, peer, peer_gap, scale=100 / sample)
    title = f"{n:,} x {p}, {kind}, sigma = {sigma}"
    return Case(title, [ours, theirs], [Bar(name, ratio)], rounds)


def cases(data):
    yield case(100, 3, 0.5, "clustered", 5, 10)
    yield case(1000, 10, 0.5, "clustered", 3, 300, rounds=2)
    yield case(1000, 30, 0.5, "clustered", 1, 1000, rounds=1)
    yield case(1000, 30, 1.0, "none", 1, 80, rounds=1)
    for n, p in ((10_000, 30), (2000, 60)):
        X, y = make_outliers(n, p, 0.5, "clustered", random_state=1)
        yield Case(
            f"{n:,} x {p}, clustered, sigma = 0.5",
            [Contender("mainstay", lambda X=X, y=y: ConicSVC.path(X, y, KAPPAS),
                       lambda path: max(m.dual_gap_ for m in path))],
            rounds=1,
            limit=10,
        )


    yield from promised(data)


def standardised(folder, name, rows=None):
    """Features of a file with unit deviation (constant ones left out), and labels from the last column."""
    table = pd.read_csv(Path(folder) / f"{name}.csv.gz")
    if rows is not None:
        table = table.sample(rows, random_state=0)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def alone(title, run, gap, limit, rounds=3):
    """A case without a peer: how long we take, and what was promised."""
    return Case(title, [Contender("mainstay", run, gap)], rounds=rounds, limit=limit)


def promised(folder):
    """Fits whose time on one thread has a limit; on real data too where there are files."""
    few = {
        "clustered, sigma = 0.5": make_outliers(200, 60, 0.5, "clustered", random_state=1),
        "spread, sigma = 0.5": make_outliers(200, 60, 0.5, "spread", random_state=0),
    }
    kernel = {"wrong labels, 10 features": make_label_noise(1000, 10, 0.1, random_state=1)}
    if folder is not None:
        few["sonar, standardised"] = standardised(folder, "sonar")
        kernel |= {name: standardised(folder, name, 1000) for name in ("magic", "spambase")}
    for name, (X, y) in few.items():
        yield alone(
            f"`ConicSVCCV`, 100 kappas, 5 folds, {X.shape[0]} x {X.shape[1]}, {name}",
            lambda X=X, y=y: ConicSVCCV().fit(X, y),
            lambda model: model.dual_gap_,
            limit=1,
        )
    for name, (X, y) in kernel.items():
        for params in ({"kappa": 0.1}, {"C": 1.0}):
            said = ", ".join(f"{key}={value}" for key, value in params.items())
            yield alone(
                f'`ConicSVC(kernel="rbf", {said})`, {len(y):,} rows: {name}',
                lambda X=X, y=y, params=params: ConicSVC(kernel="rbf", **params).fit(X, y),
                lambda model: model.dual_gap_,
                limit=5,
            )
    X, y = make_outliers(100_000, 30, 0.5, "clustered", random_state=1)
    yield alone(
        "100,000 x 30, clustered, sigma = 0.5",
        lambda: ConicSVC.path(X, y, KAPPAS),
        lambda path: max(m.dual_gap_ for m in path),
        limit=30,
        rounds=1,
    )


def growth(_data):
    """How time and memory grow."""
    def path(n, p):
        X, y = make_outliers(n, p, 0.5, "clustered", random_state=1)
        return lambda: ConicSVC.path(X, y, KAPPAS)

    rows = [500, 1000, 2000, 4000, 8000]
    seconds, slope = harness.growth(rows, lambda n: path(n, 10))
    yield f"\nPath against n (p = 10): {', '.join(f'{n}: {s:.3g} s' for n, s in zip(rows, seconds))}; slope {slope:.2f}."
    columns = [5, 10, 20, 40]
    seconds, slope = harness.growth(columns, lambda p: path(1000, p))
    yield f"Path against p (n = 1,000): {', '.join(f'{p}: {s:.3g} s' for p, s in zip(columns, seconds))}; slope {slope:.2f}."
    code = (
        "from mainstay import ConicSVC; from mainstay.datasets import make_outliers\n"
        "X, y = make_outliers(100_000, 30, 0.5, 'clustered', random_state=1)\n"
    )
    extra = harness.peak_memory(code + "ConicSVC().fit(X, y)") - harness.peak_memory(code)
    yield f"Memory of one fit at 100,000 x 30 beyond the data (23 MB) themselves: {extra:.0f} MB."
