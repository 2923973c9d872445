"""Few samples: ROLIN's full search against scikit-learn's cross-validated ridge on as many splits."""

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import RepeatedStratifiedKFold

import harness
from harness import Bar, Case, Contender
from mainstay import RolinClassifier

TITLE = "Few samples (`RolinClassifier`)"


def data(n, p, seed=0):
    """scikit-learn's generator: 10 informative features, 10 that repeat them, the rest noise."""
    return make_classification(n, p, n_informative=10, n_redundant=10, flip_y=0.1, random_state=seed)


def case(p, ratio, rounds):
    X, y = data(200, p)
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    ours = Contender(
        "mainstay, paper's 10 x 10 grid, both normalisations",
        lambda: RolinClassifier(variant="paper", random_state=0).fit(X, y),
    )
    average = Contender("mainstay, extended", lambda: RolinClassifier(random_state=0).fit(X, y))
    peer = Contender(
        "LogisticRegressionCV, 25 splits, 10 C",
        lambda: LogisticRegressionCV(Cs=10, cv=splits, max_iter=100).fit(X, y),
    )
    return Case(f"200 x {p:,}", [ours, average, peer], [Bar(peer.name, ratio)], rounds)


def extended(n, p):
    X, y = data(n, p)
    return lambda: RolinClassifier(random_state=0).fit(X, y)


def cases(_data):
    yield case(50, 5, 5)
    yield case(5000, 20, 3)
    yield Case("200 x 5,000", [Contender("mainstay, extended", extended(200, 5000))], limit=0.5)
    yield case(40_000, 50, 3)


def growth(_data):
    """How time and memory grow."""
    rows = [50, 100, 200, 400]
    seconds, slope = harness.growth(rows, lambda n: extended(n, 50))
    yield f"\nExtended against n (p = 50): {', '.join(f'{n}: {s:.3g} s' for n, s in zip(rows, seconds))}; slope {slope:.2f}."
    columns = [50, 500, 5000, 50_000]
    seconds, slope = harness.growth(columns, lambda p: extended(200, p))
    yield f"Extended against p (n = 200): {', '.join(f'{p}: {s:.3g} s' for p, s in zip(columns, seconds))}; slope {slope:.2f}."
    code = "import numpy as np; from mainstay import RolinClassifier\nX = np.random.default_rng(0).standard_normal((200, 40_000)); y = (X[:, 0] > 0).astype(int)\n"
    whole = harness.peak_memory(code + "RolinClassifier(variant='paper').fit(X, y)")
    extra = whole - harness.peak_memory(code)
    yield (
        f"Memory of the paper's search at 200 x 40,000: {whole:.0f} MB with interpreter and data, {extra:.0f} MB beyond them "
        f"(bar: under 1 GB: {'kept' if whole < 1000 else 'MISSED'})."
    )
