"""Penalised logistic regression and SVM against scikit-learn."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import harness
from harness import Bar, Case, Contender
from mainstay import PenalizedClassifier

TITLE = "Penalised baselines (`PenalizedClassifier`)"
warnings.simplefilter("ignore", ConvergenceWarning)


def clouds(n, p, seed=0):
    """Two overlapping normal clouds, about 15 % errors."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    direction = rng.standard_normal(p)
    direction /= np.linalg.norm(direction)
    return rng.standard_normal((n, p)) + np.outer(y, direction), y


def objective(model, X, y, loss, penalty, alpha):
    w = model.coef_.ravel()
    margin = y * (X @ w + model.intercept_[0])
    value = {
        "logistic": lambda m: np.logaddexp(0, -m),
        "hinge": lambda m: np.maximum(0, 1 - m),
        "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    }[loss](margin).mean()
    return value + alpha * (np.abs(w).sum() if penalty == "l1" else w @ w / 2)


def case(title, X, y, loss, penalty, alpha, peers, bars, rounds=5, note=""):
    lower = {}

    def ours():
        return PenalizedClassifier(loss, penalty, alpha).fit(X, y)

    def gap(model):
        if not lower:
            sharp = PenalizedClassifier(loss, penalty, alpha, tol=1e-10).fit(X, y)
            lower["value"] = sharp.objective_ - sharp.dual_gap_ * max(1, sharp.objective_)
        value = objective(model, X, y, loss, penalty, alpha)
        return max(0.0, (value - lower["value"]) / max(1, value))

    contenders = [Contender("mainstay, gap 1e-6", ours, gap)]
    contenders += [Contender(name, lambda make=make: make().fit(X, y), gap) for name, make in peers]
    return Case(title, contenders, bars, rounds, note)


def cases(_data):
    X, y = clouds(10_000, 50)
    n = len(y)
    alpha = 1 / n
    yield case(
        "logistic L2, 10,000 x 50", X, y, "logistic", "l2", alpha,
        [("LogisticRegression()", LogisticRegression),
         ("LogisticRegression(tol=1e-7)", lambda: LogisticRegression(tol=1e-7, max_iter=1000)),
         ("LogisticRegression(solver='newton-cholesky')", lambda: LogisticRegression(solver="newton-cholesky"))],
        [Bar("LogisticRegression()", 1 / 3), Bar("LogisticRegression(tol=1e-7)", 1)],
    )
    # LinearSVC: |w|^2/2 + C sum loss, and its intercept is part of w.
    yield case(
        "squared hinge L2, 10,000 x 50", X, y, "squared_hinge", "l2", alpha,
        [("LinearSVC()", LinearSVC), ("LinearSVC(tol=1e-7)", lambda: LinearSVC(tol=1e-7, max_iter=100_000))],
        [Bar("LinearSVC()", 1 / 3), Bar("LinearSVC(tol=1e-7)", 1)],
        note="LinearSVC penalises the intercept too: part of its gap",
    )
    yield case(
        "hinge L2, 10,000 x 50", X, y, "hinge", "l2", alpha,
        [("LinearSVC(loss='hinge')", lambda: LinearSVC(loss="hinge"))],
        [Bar("LinearSVC(loss='hinge')", 1 / 3)],
        rounds=3,
        note="LinearSVC stops at its iteration limit",
    )
    strong = 100 / n
    yield case(
        "logistic L1, 10,000 x 50", X, y, "logistic", "l1", strong,
        [("LogisticRegression(L1, liblinear)", lambda: LogisticRegression(
            C=1 / (strong * n), solver="liblinear", l1_ratio=1.0)),
         ("LogisticRegression(L1, saga)", lambda: LogisticRegression(
             C=1 / (strong * n), solver="saga", l1_ratio=1.0, max_iter=1000))],
        [Bar("LogisticRegression(L1, liblinear)", 1 / 3)],
        rounds=3,
    )
    X, y = clouds(200, 20_000)
    yield case(
        "logistic L2, 200 x 20,000", X, y, "logistic", "l2", 1 / 200,
        [("LogisticRegression()", LogisticRegression)], [Bar("LogisticRegression()", 1 / 3)], rounds=3,
    )


def growth(_data):
    """How time and memory grow."""
    def fit(n, p):
        X, y = clouds(n, p)
        return lambda: PenalizedClassifier(alpha=1 / n).fit(X, y)

    rows = [5_000, 10_000, 20_000, 40_000, 80_000]
    seconds, slope = harness.growth(rows, lambda n: fit(n, 20))
    yield f"\nTime against n (p = 20): {', '.join(f'{n}: {s:.3g} s' for n, s in zip(rows, seconds))}; slope {slope:.2f}."
    columns = [20, 40, 80, 160, 320]
    seconds, slope = harness.growth(columns, lambda p: fit(5_000, p))
    yield f"Time against p (n = 5,000): {', '.join(f'{p}: {s:.3g} s' for p, s in zip(columns, seconds))}; slope {slope:.2f}."
    code = (
        "import numpy as np; from mainstay import PenalizedClassifier\n"
        "rng = np.random.default_rng(0); X = rng.standard_normal(({n}, 20)); y = np.arange({n}) % 2\n"
    )
    base, peak = [], []
    for n in [100_000, 400_000]:
        base.append(harness.peak_memory(code.format(n=n)))
        peak.append(harness.peak_memory(code.format(n=n) + "PenalizedClassifier().fit(X, y)"))
    data = [n * 20 * 8 / 2**20 for n in (100_000, 400_000)]
    extra = ", ".join(f"{d:.0f} MB: {b - a:.0f} MB" for d, a, b in zip(data, base, peak))
    yield f"Memory beyond the data themselves (data: extra): {extra}."
