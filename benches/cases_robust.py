"""Several threats at once: the average against scikit-learn's plain fit, the worst case against Clarabel on the same program."""

import clarabel
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from harness import Bar, Case, Contender
from mainstay import RobustLogisticRegression

TITLE = "Several threats at once (`RobustLogisticRegression`)"
ALPHA = 0.01


def data(n, p, seed=1, signal=1.0):
    """Correlated features and a logistic truth, the clearer the larger ``signal``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    y = (signal * X @ rng.standard_normal(p) / np.sqrt(p) + rng.logistic(size=n) > 0).astype(int)
    return X, y


def exponential_program(X, y, errors, budget):
    """The worst case with the logistic loss as Clarabel takes it.

    Variables w, b, s (loss), f and g (the two parts of it), u (reach of the errors), l (price of the budget), h (excess
    of every cell). Worst margin m = y(w'x + b) - u - N l - sum_j h_j; s >= log(1 + e^-m) is f + g <= 1, f >= e^(-m - s),
    g >= e^-s; l + h_j >= y w_j (x_j - mean_j), h >= 0, l >= 0; (u, errors w) in the second-order cone.
    """
    (n, p), sign = X.shape, 2.0 * y - 1
    at = np.cumsum([0, p, 1, n, n, n, 1, n, n * p])
    size, one = at[-1], sparse.identity(n)

    def rows(count, **blocks):
        """Rows of -A with the named blocks filled."""
        names = ["w", "b", "s", "f", "g", "u", "l", "h"]
        widths = np.diff(at)
        parts = [blocks.get(k, sparse.csr_matrix((count, m))) for k, m in zip(names, widths, strict=True)]
        return sparse.hstack(parts)

    cells = sparse.coo_matrix(
        ((-(sign[:, None] * (X - X.mean(0)))).ravel(), (np.arange(n * p), np.tile(np.arange(p), n))), (n * p, p)
    )
    per_row = sparse.kron(one, np.ones((p, 1)))
    excess = rows(n * p, w=cells, l=per_row, h=sparse.identity(n * p))
    positive = rows(n * p, h=sparse.identity(n * p))
    prices = rows(n, l=one)
    parts = rows(n, f=-one, g=-one)
    margin = rows(
        n,
        w=sparse.csr_matrix(-sign[:, None] * X),
        b=sparse.csr_matrix(-sign[:, None]),
        u=sparse.csr_matrix(np.ones((n, 1))),
        l=budget * one,
        h=sparse.kron(one, np.ones((1, p))),
        s=-one,
    )
    reach = sparse.vstack([rows(1, u=sparse.csr_matrix([[1.0]])), rows(p, w=sparse.diags(np.full(p, errors)))])
    # An exponential cone is (a, 1, c) with c >= e^a: its rows are interleaved.
    first = sparse.vstack([margin, rows(n), rows(n, f=one)]).tocsr()
    second = sparse.vstack([rows(n, s=-one), rows(n), rows(n, g=one)]).tocsr()
    order = np.arange(3 * n).reshape(3, n).T.ravel()
    middle = np.tile([0.0, 1.0, 0.0], n)
    A = -sparse.vstack([excess, positive, prices, parts, reach, first[order], second[order]]).tocsc()
    b = np.r_[np.zeros(2 * n * p + n), np.ones(n), np.zeros(p + 1), middle, middle]
    P = sparse.diags(np.r_[np.full(p, ALPHA), np.zeros(size - p)]).tocsc()
    cost = np.zeros(size)
    cost[at[2] : at[3]] = 1 / n
    kinds = [clarabel.NonnegativeConeT(2 * n * p + 2 * n), clarabel.SecondOrderConeT(p + 1)]
    kinds += [clarabel.ExponentialConeT()] * (2 * n)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-6
    return P, cost, A, b, kinds, settings


def average_case(n, p):
    """Errors and missing features against a plain fit of the same strength to the same gap."""
    X, y = data(n, p)
    ours = RobustLogisticRegression(ALPHA, errors=0.3, missing=0.2, tol=1e-6)
    peer = LogisticRegression(C=1 / (ALPHA * n), tol=1e-4, max_iter=1000)
    return Case(
        f"average, {n:,} x {p}, errors and missing features",
        [
            Contender("mainstay", lambda: ours.fit(X, y), lambda m: m.dual_gap_),
            Contender("scikit-learn, no damage", lambda: peer.fit(X, y)),
        ],
        [Bar("scikit-learn, no damage", 0.1)],
    )


def worst_case(n, p, errors=0.05, budget=0.25):
    """The peer's time is that of the solver alone; building its sparse matrix is not counted. It may stop short of its tolerance."""
    X, y = data(n, p, signal=6.0)
    ours = RobustLogisticRegression(ALPHA, errors=errors, missing=budget / p, protect="worst", tol=1e-6)
    program = exponential_program(X, y, errors, budget)
    bound = []

    def fit():
        model = ours.fit(X, y)
        bound[:] = [model.objective_ - model.dual_gap_ * max(1, model.objective_)]
        return model

    return Case(
        f"worst, {n:,} x {p}, errors and a budget of {budget}",
        [
            Contender("mainstay", fit, lambda m: m.dual_gap_),
            Contender(
                "Clarabel",
                lambda: clarabel.DefaultSolver(*program).solve(),
                lambda found: (found.obj_val - bound[0]) / max(1, found.obj_val),
            ),
        ],
        [Bar("Clarabel", 50)],
        rounds=1,
    )


def cases(folder):
    yield average_case(10_000, 50)
    yield worst_case(5_000, 50)
