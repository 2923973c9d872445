"""The worst k rows at nearly the price of all of them: against scikit-learn, Clarabel and `dro`."""

import warnings
from pathlib import Path

import clarabel
import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import harness
from cases_penalized import clouds
from harness import Bar, Case, Contender
from mainstay import StableLogisticRegression, StableSVC

try:
    from dro.linear_model.cvar_dro import CVaRDRO
except ImportError:
    CVaRDRO = None

TITLE = "Unlucky subsets (`StableSVC`, `StableLogisticRegression`, k = half of the rows unless said otherwise)"
warnings.simplefilter("ignore", ConvergenceWarning)
OURS = "mainstay, gap 1e-6"


def gap(model):
    return model.dual_gap_


def conic(X, y, k, *, C=None, alpha=None):
    """Clarabel on (8) with C, or on (13) with alpha; returns the optimal value.

    Variables: w, b, theta, u, and for (13) two exponentials per row with log(1 + exp(-m)) <= u + theta:
    exp(-u - theta) <= p, exp(-m - u - theta) <= q, p + q <= 1.
    """
    n, p = X.shape
    rows = y[:, None] * np.c_[X, np.ones(n)]
    one, zero = sparse.identity(n, format="csc"), sparse.csc_matrix((n, n))
    margin, wide = sparse.csc_matrix(rows), sparse.csc_matrix((n, p + 1))
    ones, none = sparse.csc_matrix(np.ones((n, 1))), sparse.csc_matrix((n, 1))
    first = sparse.csc_matrix(([-1.0], ([0], [p + 1])), shape=(1, p + 2 + n))
    positive = sparse.vstack([first, sparse.hstack([wide, none, -one])])
    if alpha is None:
        A = sparse.vstack([positive, sparse.hstack([-margin, -ones, -one])]).tocsc()
        b = np.r_[np.zeros(n + 1), -np.ones(n)]
        cones = [clarabel.NonnegativeConeT(2 * n + 1)]
        ridge, linear = 2.0, np.r_[C * k, np.full(n, C)]
    else:
        blank = sparse.csc_matrix((n + 1, 2 * n))
        simplex = sparse.hstack([wide, none, zero, one, one])
        # (x, 1, z) with exp(x) <= z, one after another.
        exponent = [sparse.hstack([wide, ones, one, zero, zero]), sparse.hstack([margin, ones, one, zero, zero])]
        bound = [sparse.hstack([wide, none, zero, -one, zero]), sparse.hstack([wide, none, zero, zero, -one])]
        empty = sparse.csc_matrix((n, p + 2 + 3 * n))
        order = np.arange(3 * n).reshape(3, n).T.ravel()
        blocks = [sparse.vstack([e, empty, z]).tocsr()[order] for e, z in zip(exponent, bound, strict=True)]
        A = sparse.vstack([sparse.hstack([positive, blank]), simplex, *blocks]).tocsc()
        b = np.r_[np.zeros(n + 1), np.ones(n), np.tile([0.0, 1.0, 0.0], 2 * n)]
        cones = [clarabel.NonnegativeConeT(2 * n + 1)] + [clarabel.ExponentialConeT()] * (2 * n)
        ridge, linear = 2 * alpha, np.r_[1.0, np.full(n, 1 / k), np.zeros(2 * n)]
    size = A.shape[1]
    P = sparse.diags(np.r_[np.full(p, ridge), np.zeros(size - p)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    return clarabel.DefaultSolver(P, np.r_[np.zeros(p + 1), linear], A, b, cones, settings).solve().obj_val


def svm_case(title, X, y, peers, bars, rounds=5, **params):
    ours = Contender(OURS, lambda: StableSVC(**params).fit(X, y), gap)
    return Case(title, [ours, *peers], bars, rounds)


def logistic_case(title, X, y, peers, bars, rounds=5, **params):
    ours = Contender(OURS, lambda: StableLogisticRegression(**params).fit(X, y), gap)
    return Case(title, [ours, *peers], bars, rounds)


def peer(name, make, X, y):
    return Contender(name, lambda: make().fit(X, y))


def against_scikit_learn():
    X, y = clouds(10_000, 50)
    peers = [peer("LinearSVC", LinearSVC, X, y)]
    bars = [Bar("LinearSVC", 1 / 8)]
    if CVaRDRO is None:
        peers.append(Contender("Clarabel on (8)", lambda: conic(X, y, 5000, C=1.0)))
        bars.append(Bar("Clarabel on (8)", 50))
    else:
        peers.append(Contender("dro, CVaR", lambda: CVaRDRO(50, "svm", alpha=0.5).fit(X, y)))
        bars.append(Bar("dro, CVaR", 50))
    yield svm_case("SVM, 10,000 x 50, C = 1", X, y, peers, bars, rounds=3)
    squared = [peer("LinearSVC", LinearSVC, X, y)]
    yield svm_case("squared hinge, the same", X, y, squared, [], loss="squared_hinge")
    for alpha, k in ((0.1, 0.5), (0.1, 0.1), (0.1, 0.9), (1e-4, 0.5)):
        plain = peer("LogisticRegression", lambda a=alpha: LogisticRegression(C=1 / (2 * a * len(y))), X, y)
        title = f"logistic, 10,000 x 50, alpha = {alpha:g}, k = {k:g}"
        yield logistic_case(title, X, y, [plain], [Bar(plain.name, 1 / 8)], alpha=alpha, k=k)


def against_clarabel():
    X, y = clouds(5000, 100)

    def distance(lower):
        return lambda value: abs(value - lower()) / max(1, abs(value))

    svm = Contender(
        "Clarabel on (8)",
        lambda: conic(X, y, 2500, C=1.0),
        distance(lambda: StableSVC(tol=1e-8).fit(X, y).objective_),
    )
    yield svm_case("SVM, 5,000 x 100, C = 1", X, y, [svm], [Bar("Clarabel on (8)", 60)], rounds=3)
    logistic = Contender(
        "Clarabel on (13)",
        lambda: conic(X, y, 2500, alpha=0.1),
        distance(lambda: StableLogisticRegression(tol=1e-8).fit(X, y).objective_),
    )
    title = "logistic, 5,000 x 100, alpha = 0.1"
    yield logistic_case(title, X, y, [logistic], [Bar("Clarabel on (13)", 200)], rounds=3)


def adult(folder):
    """Complete rows, numbers standardised, categories one-hot: 45,222 x 104."""
    import pandas as pd

    table = pd.read_csv(Path(folder) / "adult.csv.gz").dropna()
    y = np.where(table.pop("target") == ">50K", 1, -1)
    numbers = table.select_dtypes("number")
    one_hot = pd.get_dummies(table.drop(columns=numbers.columns))
    scaled = (numbers - numbers.mean()) / numbers.std(ddof=0)
    return np.ascontiguousarray(np.c_[scaled, one_hot], dtype=float), y


def on_adult(folder):
    X, y = adult(folder)
    n = len(y)
    for C in (1.0, 0.02):
        for k in (0.3, 0.5, 0.9, 1.0):
            plain = peer("LinearSVC, hinge", lambda c=C: LinearSVC(C=c / 2, loss="hinge"), X, y)
            title = f"SVM, adult {n:,} x {X.shape[1]}, C = {C:g}, k = {k:g}"
            yield svm_case(title, X, y, [plain], [Bar(plain.name, 1 / 3)], rounds=3, C=C, k=k)
    for alpha in (0.1, 1e-4):
        for k in (0.3, 0.5, 0.9, 1.0):
            make = lambda a=alpha: LogisticRegression(C=1 / (2 * a * n), max_iter=1000)  # noqa: E731
            plain = peer("LogisticRegression (lbfgs)", make, X, y)
            title = f"logistic, adult {n:,} x {X.shape[1]}, alpha = {alpha:g}, k = {k:g}"
            yield logistic_case(title, X, y, [plain], [Bar(plain.name, 1 / 3)], rounds=3, alpha=alpha, k=k)


def cases(data):
    yield from against_scikit_learn()
    yield from against_clarabel()
    if data is not None:
        yield from on_adult(data)
    X, y = clouds(1_000_000, 20)
    for title, model in (("SVM", StableSVC()), ("logistic", StableLogisticRegression())):
        run = lambda model=model: model.fit(X, y)  # noqa: E731
        yield Case(f"{title}, 1,000,000 x 20", [Contender(OURS, run, gap)], rounds=1)


def growth(_data):
    """How time and memory grow."""

    def fit(model, n, p):
        X, y = clouds(n, p)
        return lambda: model.fit(X, y)

    rows, columns = [5000, 10_000, 20_000, 40_000, 80_000], [10, 20, 40, 80, 160]
    for name, model in (("SVM", StableSVC()), ("Logistic", StableLogisticRegression())):
        seconds, slope = harness.growth(rows, lambda n, m=model: fit(m, n, 20))
        yield f"\n{name} against n (p = 20): {', '.join(f'{n}: {s:.3g} s' for n, s in zip(rows, seconds))}; slope {slope:.2f}."
        seconds, slope = harness.growth(columns, lambda p, m=model: fit(m, 5000, p))
        yield f"{name} against p (n = 5,000): {', '.join(f'{p}: {s:.3g} s' for p, s in zip(columns, seconds))}; slope {slope:.2f}."
    code = (
        "import numpy as np; from mainstay import StableLogisticRegression, StableSVC\n"
        "rng = np.random.default_rng(0); y = np.arange(1_000_000) % 2\n"
        "X = rng.standard_normal((1_000_000, 20)); X += (y - 0.5)[:, None]\n"
    )
    for name in ("StableSVC", "StableLogisticRegression"):
        extra = harness.peak_memory(f"{code}{name}().fit(X, y)") - harness.peak_memory(code)
        yield f"Memory of one {name} fit at 1,000,000 x 20 beyond the data (160 MB) themselves: {extra:.0f} MB."
