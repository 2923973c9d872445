"""Print the tables of `robust-logistic.md`: told methods under each threat, wrong statements.

    python docs/methods/robust_logistic_table.py DATASETS [--half report] [--repeats 4] [--rows 200]

DATASETS holds gzipped CSV files with a column `target`. The two lists below were fixed before the
first run; `robust-logistic.md` says which sets had been seen by an earlier sketch.
Features are standardised on the training rows and clipped at 10 deviations. Numbers are means over
sets of means over repeats, as differences to (accuracy) or ratios of (log loss) L2-penalised
logistic regression with the strength chosen by cross-validation, fitted to the damaged rows with
means in place of missing cells.
"""

import argparse
import pathlib
import warnings

import numpy as np
import pandas as pd

from mainstay import (
    ConicSVCCV,
    DropFarRows,
    GaussianImputer,
    PenalizedClassifier,
    RobustLogisticRegression,
)

HALVES = {
    "dev": ["pima", "sonar", "wdbc", "ionosphere", "spambase", "magic", "heart_statlog"],
    "report": [
        "australian",
        "parkinsons",
        "qsar_biodeg",
        "climate_crashes",
        "german_numeric",
        "banknote",
        "occupancy",
        "eeg_eye_state",
    ],
}


def load(folder, name):
    """Features as numbers and labels 0 and 1, the rarer class as 1."""
    frame = pd.read_csv(pathlib.Path(folder) / f"{name}.csv.gz")
    target = frame.pop("target").astype(str)
    y = (target != target.value_counts().index[0]).astype(int).to_numpy()
    return pd.get_dummies(frame, dtype=float).to_numpy(float), y


def split(X, y, rows, seed):
    """Standardised training rows, about as many as asked for, and up to 1,000 others."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: min(rows, len(y) // 2)], order[min(rows, len(y) // 2) :][:1000]
    mean, sd = np.nanmean(X[train], 0), np.nanstd(X[train], 0)
    Z = np.clip((X[:, sd > 1e-9] - mean[sd > 1e-9]) / sd[sd > 1e-9], -10, 10)
    return np.nan_to_num(Z[train]), y[train], np.nan_to_num(Z[test]), y[test], rng


def judge(y, p):
    """Accuracy and log loss of the probabilities of class 1."""
    q = np.clip(np.where(y == 1, p, 1 - p), 1e-6, 1)
    return np.mean((p > 0.5) == (y == 1)), -np.mean(np.log(q))


def l2(X, y, T):
    """Fit the reference, means in place of what is missing."""
    model = PenalizedClassifier(alpha="cv").fit(np.nan_to_num(X), y)
    return model.predict_proba(np.nan_to_num(T))[:, 1]


def told(X, y, T, fit=None, at=None, **params):
    """Fit the told estimator; `fit` and `at` are errors of the training and of the test rows."""
    model = RobustLogisticRegression(**params).fit(X, y, errors=fit)
    return model.predict_proba(T, errors=at)[:, 1]


def filled(X, y, T, fit=None, at=None):
    """Fit L2 to conditional means of missing and inexact cells."""
    imputer = GaussianImputer().fit(X, errors=fit)
    model = PenalizedClassifier(alpha="cv").fit(imputer.transform(X, errors=fit), y)
    return model.predict_proba(imputer.transform(T, errors=at))[:, 1]


def holes(T, rng, share):
    """Cells that go missing at random."""
    return np.where(rng.random(T.shape) < share, np.nan, T)


def flipped(y, rng, rates):
    """Labels of which a share of each class is wrong."""
    return np.where(rng.random(len(y)) < np.where(y == 1, rates[1], rates[0]), 1 - y, y)


def scenes(X, y, T, t, rng):
    """Yield (threat, method, probabilities of class 1) for every threat and method."""
    p = X.shape[1]
    clean = l2(X, y, T)
    yield "clean", "L2", clean
    yield "clean", "told nothing", told(X, y, T)
    yield "clean", "DropFarRows(L2)", dropped(X, y, T)
    yield "clean", "stated but absent: missing 30 %", told(X, y, T, missing=0.3)
    yield "clean", "stated but absent: errors 1 sd", told(X, y, T, errors=1.0)
    yield "clean", "stated but absent: labels 10 %", told(X, y, T, wrong_labels=0.1)

    damaged = holes(T, rng, 0.3)
    yield "missing 30 % at random", "L2", l2(X, y, damaged)
    yield "missing 30 % at random", "told", told(X, y, damaged, missing=0.3)
    yield "missing 30 % at random", "told half", told(X, y, damaged, missing=0.15)
    yield "missing 30 % at random", "told nothing", told(X, y, damaged)
    yield "missing 30 % at random", "GaussianImputer + L2", filled(X, y, damaged)

    block = np.where(rng.permutation(p) < 0.3 * p, np.nan, T)
    yield "the same 30 % missing", "L2", l2(X, y, block)
    yield "the same 30 % missing", "told", told(X, y, block, missing=0.3)
    yield "the same 30 % missing", "GaussianImputer + L2", filled(X, y, block)

    noisy = T + rng.normal(size=T.shape)
    yield "errors 1 sd at prediction", "L2", l2(X, y, noisy)
    yield "errors 1 sd at prediction", "told", told(X, y, noisy, errors=1.0)
    yield "errors 1 sd at prediction", "told at predict only", told(X, y, noisy, at=1.0)
    yield "errors 1 sd at prediction", "told half", told(X, y, noisy, errors=0.5)

    sx, st = rng.uniform(0, 2, X.shape), rng.uniform(0, 2, T.shape)
    ax, at = X + sx * rng.normal(size=X.shape), T + st * rng.normal(size=T.shape)
    yield "known errors per cell", "L2", l2(ax, y, at)
    yield "known errors per cell", "told", told(ax, y, at, fit=sx, at=st)
    yield "known errors per cell", "GaussianImputer + L2", filled(ax, y, at, sx, st)

    for name, rates in (
        ("labels 20 % symmetric", (0.2, 0.2)),
        ("labels 20 % of class 1", (0.0, 0.2)),
        ("labels 30 % of class 1", (0.0, 0.3)),
    ):
        wrong = flipped(y, rng, rates)
        if len(np.unique(wrong)) < 2:
            continue
        yield name, "L2", l2(X, wrong, T)
        for correction in ("after", "backward", "forward"):
            try:
                found = told(X, wrong, T, wrong_labels=rates, correction=correction)
            except ValueError:  # the sample contradicts the rates
                found = told(X, wrong, T, wrong_labels=rates)
            yield name, correction, found
        half = tuple(r / 2 for r in rates)
        yield name, "after, told half", told(X, wrong, T, wrong_labels=half)

    bad = rng.permutation(p) < 0.3 * p
    wrong = flipped(y, rng, (0.1, 0.1))
    hit = np.where(bad & (rng.random(T.shape) < 0.5), np.nan, T + bad * rng.normal(size=T.shape))
    if len(np.unique(wrong)) > 1:
        stated = {"missing": 0.5 * bad, "wrong_labels": 0.1}
        yield "all at once", "L2", l2(X, wrong, hit)
        yield "all at once", "told", told(X, wrong, hit, errors=1.0 * bad, **stated)
        yield "all at once", "told, errors at predict", told(X, wrong, hit, at=1.0 * bad, **stated)

    for name, rows in outlying(X, y, rng):
        yield name, "L2", l2(*rows, T)
        yield name, "DropFarRows(L2)", dropped(*rows, T)
        yield name, "DropFarRows(ConicSVCCV)", dropped(*rows, T, ConicSVCCV(kappas=10))


def dropped(X, y, T, estimator=None):
    """Fit without far rows; scores stand for probabilities where there are none."""
    model = DropFarRows(estimator or PenalizedClassifier(alpha="cv")).fit(X, y)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(T)[:, 1]
    return 1 / (1 + np.exp(-model.decision_function(T)))


def outlying(X, y, rng):
    """Yield training rows with outliers: a cluster of one label, spread rows, wrong units."""
    n, p = X.shape
    k = max(1, n // 20)
    centre = rng.normal(size=p)
    cluster = 10 * centre / np.linalg.norm(centre) * np.sqrt(p) / 2 + rng.normal(size=(k, p))
    side = np.full(k, int(np.mean(X[y == 1] @ centre) < np.mean(X[y == 0] @ centre)))
    yield "outliers clustered 5 %", (np.vstack([X, cluster]), np.r_[y, side])
    k = max(1, n // 10)
    spread = 8 * rng.normal(size=(k, p))
    yield "outliers spread 10 %", (np.vstack([X, spread]), np.r_[y, rng.integers(0, 2, k)])
    units = X.copy()
    rows = rng.permutation(n)[: n // 10]
    units[rows, rng.integers(0, p, len(rows))] *= 100
    yield "units x100 in 10 %", (units, y)


def main():
    """Run and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--rows", type=int, default=200)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in HALVES[args.half]:
        X, y = load(args.datasets, name)
        for seed in range(args.repeats):
            A, a, T, t, rng = split(X, y, args.rows, seed)
            reference = {}
            for threat, method, p in scenes(A, a, T, t, rng):
                accuracy, loss = judge(t, p)
                base = reference.setdefault(threat, (accuracy, loss))
                row = (accuracy - base[0], loss / base[1], accuracy)
                results.setdefault((threat, method), {}).setdefault(name, []).append(row)
        print(f"{name} done", flush=True)
    print("\n| threat | method | accuracy | over L2 | sets better / worse | log loss of L2's |")
    print("|---|---|---|---|---|---|")
    for (threat, method), sets in results.items():
        means = np.array([np.mean(rows, 0) for rows in sets.values()])
        error = means[:, 0].std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
        better, worse = np.sum(means[:, 0] > 1e-9), np.sum(means[:, 0] < -1e-9)
        gain = f"{means[:, 0].mean():+.3f} ± {error:.3f} | {better} / {worse}"
        ratio = np.exp(np.log(means[:, 1]).mean())
        print(f"| {threat} | {method} | {means[:, 2].mean():.3f} | {gain} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
