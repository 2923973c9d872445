"""Missing features: linear program (4) against HiGHS, the Perceptron against scikit-learn's."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import Perceptron

import harness
from harness import Bar, Case, Contender
from mainstay import MissingFeaturePerceptron, MissingFeatureSVC

TITLE = "Features missing at prediction time (`MissingFeatureSVC`, `MissingFeaturePerceptron`)"
# N = 5 of 57 features, N = 100 of 784; margin 1.
SPAM = {"budget": 5.0, "C": 1.0}
DIGITS = {"budget": 100.0, "C": 1.0}
LABEL_OF_ONE = {"spambase": 1, "mnist_4v7": 7}


def load(folder, name):
    """Features to mean 0 and deviation 1 (spambase) or to [0, 1] (mnist), and labels 0 and 1."""
    frame = pd.read_csv(Path(folder) / f"{name}.csv.gz")
    X = frame.drop(columns="target").to_numpy(float)
    X = X / 255 if name == "mnist_4v7" else (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (frame["target"] == LABEL_OF_ONE[name]).to_numpy(int)


def subset(X, y, rows, seed=0):
    chosen = np.random.default_rng(seed).permutation(len(y))[:rows]
    return X[chosen], y[chosen]


def program(X, y, budget, C, margin=1.0):
    """Problem (4) with values 1 as printed: variables w, b, xi, lambda, alpha."""
    (m, n), sign = X.shape, 2.0 * y - 1
    P = n - budget
    one = sparse.identity(m, format="csr")
    spread = sparse.kron(one, np.ones((n, 1)), format="csr")
    worst = sparse.hstack([sparse.csr_matrix((m, n)), -sign[:, None], -one, -P * one, spread.T])
    per_feature = sparse.csr_matrix(
        (-(sign[:, None] * X).ravel(), (np.arange(m * n), np.tile(np.arange(n), m))), shape=(m * n, n)
    )
    nothing = sparse.csr_matrix((m * n, 1 + m))
    shares = sparse.hstack([per_feature, nothing, spread, -sparse.identity(m * n)])
    A = sparse.vstack([worst, shares]).tocsr()
    b = np.r_[np.zeros(m), np.full(m * n, -margin / P)]
    cost = np.r_[np.zeros(n + 1), np.full(m, 1 / (m * margin)), np.zeros(m + m * n)]
    bounds = [(-C, C)] * n + [(None, None)] + [(0, None)] * (2 * m + m * n)
    return {"c": cost, "A_ub": A, "b_ub": b, "bounds": bounds}


#: Rows and columns of the very wide problems, and seconds that a fit may take on one thread.
WIDE, WIDE_LIMIT = (200, 10_000), 10


def wide(data):
    """Very wide rows, standardised: generated ones, and arcene where there is a folder of data."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(WIDE)
    yield "normal features", X, (X[:, :5].sum(axis=1) + rng.standard_normal(len(X)) > 0).astype(int)
    if data is not None:
        frame = pd.read_csv(Path(data) / "arcene.csv.gz")
        X = frame.drop(columns="target").to_numpy(float)
        spread = X.std(axis=0)
        yield "arcene", (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), (frame["target"] > 0).to_numpy(int)


def wide_cases(data):
    """Budgets 10, 100 and 500 with the default box, gap 1e-4, one thread."""
    for name, X, y in wide(data):
        for budget in (10.0, 100.0, 500.0):
            ours = Contender("mainstay", fit(X, y, budget=budget, n_jobs=1), lambda model: model.dual_gap_)
            yield Case(f"{name}, {WIDE[0]} x {WIDE[1]:,}, budget {budget:.0f}", [ours], rounds=1, limit=WIDE_LIMIT)


def hypothesis(learner):
    """The present weights of a stream, not their average."""
    return json.loads(learner.state_)["learners"][0]["weights"]


def fit(X, y, **setting):
    return lambda: MissingFeatureSVC(**setting).fit(X, y)


def highs(X, y, setting):
    """HiGHS' interior point without crossover is the faster of its two; building the program is not timed."""
    lp = program(X, y, **setting)
    return lambda: linprog(**lp, method="highs-ipm").fun


def against_highs(title, rows, small, setting, ratio, rounds, limit=None):
    """Us on ``rows``, HiGHS on the rows ``small``."""
    ours = fit(*rows, **setting)
    bound = {}

    def optimum():
        if "value" not in bound:
            bound["value"] = fit(*small, tol=1e-8, **setting)().objective_
        return bound["value"]

    peer = Contender(
        f"HiGHS, interior point ({len(small[1])} rows)",
        highs(*small, setting),
        lambda value: abs(value - optimum()) / max(1, value),
    )
    contenders = [Contender("mainstay", ours, lambda model: model.dual_gap_), peer]
    return Case(title, contenders, [Bar(peer.name, ratio)], rounds, limit=limit)


def cases(data):
    if data is not None:
        spam, mnist = load(data, "spambase"), load(data, "mnist_4v7")
        few = subset(*spam, 500)
        yield against_highs("spambase, 500 rows, standardised", few, few, SPAM, 30, 3)
        few = subset(*mnist, 200)
        yield against_highs("mnist_4v7, 200 rows", few, few, DIGITS, 15, 1)
        yield against_highs(
            "spambase, all 4,601 rows, standardised", spam, subset(*spam, 300), SPAM, 1, 3, limit=1
        )
        yield Case(
            "spambase, all 4,601 rows, standardised, 2 threads",
            [Contender("mainstay", fit(*spam, n_jobs=2, **SPAM), lambda model: model.dual_gap_)],
            rounds=3,
            limit=1,
        )
        raw = pd.read_csv(Path(data) / "spambase.csv.gz").drop(columns="target").to_numpy(float)
        yield Case(
            "spambase, all 4,601 rows, as they are",
            [Contender("mainstay", fit(raw, spam[1], **SPAM), lambda model: model.dual_gap_)],
            rounds=3,
            limit=1,
        )
        train = mnist[0][:12_107], mnist[1][:12_107]
        yield Case(
            "mnist_4v7, all 12,107 training rows, 2 threads",
            [Contender("mainstay", fit(*train, n_jobs=2, **DIGITS), lambda model: model.dual_gap_)],
            rounds=1,
            limit=90,
        )
    yield from wide_cases(data)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 50))
    y = (X @ rng.standard_normal(50) > 0).astype(int)
    ours = Contender(
        "mainstay, one pass", lambda: MissingFeaturePerceptron(budget=5, random_state=0).fit(X, y)
    )
    peer = Contender(
        "Perceptron, one pass", lambda: Perceptron(max_iter=1, tol=None, random_state=0).fit(X, y)
    )
    yield Case("Perceptron, 1,000,000 x 50, every row an update or nearly", [ours, peer], [Bar(peer.name, 1 / 3)], 3)
    sign = 2 * y - 1
    far = sign[:, None] * np.abs(X + 1.5)
    learner = MissingFeaturePerceptron(budget=5).partial_fit(far[:2000], y[:2000], classes=[0, 1])
    before = hypothesis(learner)
    quiet = Contender("mainstay, one pass of a stream", lambda: learner.partial_fit(far, y))
    yield Case("Perceptron, 1,000,000 x 50, no row an update", [quiet], rounds=3, limit=1)
    assert hypothesis(learner) == before, "these rows were to cause no update"


#: Reads the digits, fits them, and leaves the peak memory to be read off.
WHOLE_DIGITS = """
import sys
sys.path.insert(0, {folder!r})
import cases_missing as cases
X, y = cases.load({data!r}, "mnist_4v7")
cases.fit(X[:12107], y[:12107], n_jobs=2, **cases.DIGITS)()
"""


def growth(data):
    """How time and memory grow."""
    if data is not None:
        code = WHOLE_DIGITS.format(folder=str(Path(__file__).parent), data=str(data))
        yield f"\nPeak memory of reading and fitting all training rows of mnist_4v7: {harness.peak_memory(code):.0f} MB (bar: 4096)."
    def problem(m, n):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((m, n))
        y = (X[:, :5].sum(axis=1) + rng.standard_normal(m) > 0).astype(int)
        return fit(X, y, **SPAM)

    rows = [500, 1000, 2000, 4000]
    seconds, slope = harness.growth(rows, lambda m: problem(m, 50))
    yield f"\nLP against rows (50 features): {', '.join(f'{m}: {s:.3g} s' for m, s in zip(rows, seconds))}; slope {slope:.2f}."
    columns = [25, 50, 100, 200]
    seconds, slope = harness.growth(columns, lambda n: problem(1000, n))
    yield f"LP against features (1,000 rows): {', '.join(f'{n}: {s:.3g} s' for n, s in zip(columns, seconds))}; slope {slope:.2f}."
    code = "import numpy as np; from mainstay import MissingFeatureSVC\nX = np.random.default_rng(0).standard_normal((20_000, 50)); y = (X[:, 0] > 0).astype(int)\n"
    extra = harness.peak_memory(code + "MissingFeatureSVC().fit(X, y)") - harness.peak_memory(code)
    yield f"Memory of one LP fit at 20,000 x 50 beyond the data (8 MB) themselves: {extra:.0f} MB."
