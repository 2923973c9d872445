"""The figures on the guide's pages: what each method does under its threat and where it does not help.

Every method is told the threat and judged on rows it has not seen. Sets, damage and splits are those of
``docs/methods/robust_logistic_table.py``; the few rows of ROLIN come from sets that did not choose its constants. Results go to
``benches/results/guide.json``, and from there into the pages (``docs/_tools/numbers_in_pages.py``).
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs" / "methods"), str(ROOT / "docs" / "_tools")]

import numbers_in_pages  # noqa: E402
import robust_logistic_table as told  # noqa: E402

import mainstay  # noqa: E402
from mainstay import threats  # noqa: E402

RESULTS = ROOT / "benches" / "results" / "guide.json"
FEW = [
    "bank_marketing",
    "breast_cancer_ljubljana",
    "eeg_eye_state",
    "german_numeric",
    "heart_statlog",
    "ilpd",
    "ionosphere",
    "magic",
    "parkinsons",
    "qsar_biodeg",
    "sonar",
]
#: Tables of at most 110 features with less than a quarter of their rows in the smaller class.
RARE = [
    "adult",
    "bank_marketing",
    "climate_crashes",
    "credit_default",
    "immunotherapy",
    "occupancy",
    "parkinsons",
    "wpbc",
]
REPEATS = 4


def write(data):
    """Measure everything and put it into the pages."""
    warnings.simplefilter("ignore")
    found = {"sets": len(told.HALVES["report"]), "few_sets": len(FEW), "repeats": REPEATS}
    found |= few(data)
    rows = {}
    for name in told.HALVES["report"]:
        X, y = told.load(data, name)
        for seed in range(REPEATS):
            A, a, T, t, rng = told.split(X, y, 200, seed)
            for key, value in measured(A, a, T, t, rng):
                rows.setdefault(key, {}).setdefault(name, []).append(value)
        print(f"{name} done", flush=True)
    for key, sets in rows.items():
        means = np.array([np.mean(values) for values in sets.values()])
        found[key] = means.mean()
        found[f"{key}_se"] = means.std(ddof=1) / np.sqrt(len(means))
    found |= constants(data)
    RESULTS.write_text(json.dumps(found, indent=1, default=float) + "\n")
    numbers_in_pages.fill(numbers_in_pages.measured())


def draw(X, y, rows, rng):
    """At least three of each class among the training rows: fewer cannot be cross-validated."""
    while True:
        order = rng.permutation(len(y))
        if min(np.bincount(y[order[:rows]], minlength=2)) >= 3:
            return order[:rows], order[rows:][:1000]


def few(data):
    """Log loss at few rows, ROLIN beside a tuned L2 penalty."""
    found = {}
    for name in FEW:
        X, y = told.load(data, name)
        for rows in (20, 40):
            for seed in range(2 * REPEATS):
                train, test = draw(X, y, rows, np.random.default_rng(seed))
                mean, sd = np.nanmean(X[train], 0), np.nanstd(X[train], 0)
                Z = np.nan_to_num(
                    np.clip((X[:, sd > 1e-9] - mean[sd > 1e-9]) / sd[sd > 1e-9], -10, 10)
                )
                fits = {
                    "rolin": mainstay.RolinClassifier(),
                    "l2": mainstay.PenalizedClassifier(alpha="cv"),
                }
                for method, model in fits.items():
                    p = model.fit(Z[train], y[train]).predict_proba(Z[test])[:, 1]
                    loss = told.judge(y[test], p)[1]
                    found.setdefault(f"few_{method}_{rows}", {}).setdefault(name, []).append(loss)
    return {key: np.mean([np.mean(v) for v in sets.values()]) for key, sets in found.items()}


def accuracy(model, T, t):
    """Share of right answers, and whether all are the same."""
    predicted = model.predict(T)
    return np.mean(predicted == t), float(len(np.unique(predicted)) == 1)


def plain():
    """The reference."""
    return mainstay.PenalizedClassifier(alpha="cv")


def measured(X, y, T, t, rng):
    """Yield (key, value) for one split."""
    yield from wrong_labels(X, y, T, t, rng)
    yield from outlying(X, y, T, t, rng)
    yield from missing(X, y, T, t, rng)
    yield from inexact(X, y, T, t, rng)
    yield from unlucky(X, y, T, t)


def wrong_labels(X, y, T, t, rng):
    """Flips of both classes at a rate that is told."""
    for rate in (0.2, 0.3):
        wrong = told.flipped(y, rng, (rate, rate))
        base = told.judge(t, told.l2(X, wrong, T))[0]
        conic = mainstay.ConicSVC(kappa=rate).fit(X, wrong)
        yield f"labels_conic_{100 * rate:.0f}", accuracy(conic, T, t)[0] - base
        p = told.told(X, wrong, T, wrong_labels=rate)
        yield f"labels_corrected_{100 * rate:.0f}", told.judge(t, p)[0] - base


def outlying(X, y, T, t, rng):
    """Accuracy among outliers of three kinds."""
    keys = {"outliers clustered 5 %": "cluster", "outliers spread 10 %": "spread"}
    for name, rows in told.outlying(X, y, rng):
        key = keys.get(name, "units")
        conic = mainstay.ConicSVCCV(kappas=10)
        yield f"outliers_{key}_l2", accuracy(plain().fit(*rows), T, t)[0]
        yield f"outliers_{key}_conic", accuracy(conic.fit(*rows), T, t)[0]
        for other, estimator in (("l2", plain()), ("conic", conic)):
            far = mainstay.DropFarRows(estimator).fit(*rows)
            yield f"outliers_{key}_far_{other}", accuracy(far, T, t)[0]


def missing(X, y, T, t, rng):
    """Features that go missing at random, and those that an adversary deletes."""
    p = X.shape[1]
    damaged = np.where(rng.random(T.shape) < 0.3, np.nan, T)
    base = told.judge(t, told.l2(X, y, damaged))[0]
    worst = mainstay.MissingFeatureSVC(budget=max(1, round(0.3 * p))).fit(X, y)
    score, constant = accuracy(worst, np.nan_to_num(damaged), t)
    yield "missing_random_svc", score - base
    yield "missing_random_constant", constant
    yield "missing_random_filled", told.judge(t, told.filled(X, y, damaged))[0] - base
    # What 10 % of the features can be is at least one.
    share = max(0.1, 1.0 / p)
    guarded = mainstay.MissingFeatureSVC(budget=max(1, int(share * p + 1e-9))).fit(X, y)
    for key, model in (("svc", guarded), ("l2", plain().fit(X, y))):
        hit = threats.adversarial_deletion(T, t, model, share, reference=X)
        yield f"missing_adversary_{key}", accuracy(model, hit, t)[0]


def inexact(X, y, T, t, rng):
    """Errors of one standard deviation in test rows, and known errors of every cell."""
    noisy = T + rng.normal(size=T.shape)
    base = told.judge(t, told.l2(X, y, noisy))[0]
    score, constant = accuracy(mainstay.EllipsoidSVC(1.0).fit(X, y), noisy, t)
    yield "errors_ellipsoid", score - base
    yield "errors_constant", constant
    sx, st = rng.uniform(0, 2, X.shape), rng.uniform(0, 2, T.shape)
    ax, at = X + sx * rng.normal(size=X.shape), T + st * rng.normal(size=T.shape)
    base = told.judge(t, told.l2(ax, y, at))[0]
    yield "errors_cleaned", told.judge(t, told.filled(ax, y, at, sx, st))[0] - base


def one_se(model):
    """The strongest penalty whose held-out loss is within one standard error of the least."""
    table = model.cv_results_
    mean, splits = table["mean_test_score"], sum(key.startswith("split") for key in table)
    best = np.argmax(mean)
    within = mean >= mean[best] - table["std_test_score"][best] / np.sqrt(splits)
    return float(np.max(table["param_alpha"][within]))


def unlucky(X, y, T, t):
    """Accuracy, and the mean loss of the worst tenth of the test rows."""
    found = {}
    fits = {
        "l2": plain(),
        "one_se": mainstay.PenalizedClassifier(alpha=one_se(plain().fit(X, y))),
        "stable": mainstay.StableLogisticRegression(k=0.5),
    }
    for key, model in fits.items():
        p = model.fit(X, y).predict_proba(T)[:, 1]
        losses = -np.log(np.clip(np.where(t == 1, p, 1 - p), 1e-6, 1))
        found[key] = np.mean((p > 0.5) == t), np.sort(losses)[-max(1, len(t) // 10) :].mean()
        yield f"unlucky_{key}_worst", found[key][1]
    for key in ("one_se", "stable"):
        yield f"unlucky_{key}_accuracy", found[key][0] - found["l2"][0]


def constants(data):
    """How many of the tables with a rare class each classifier answers with one class only."""
    names = [
        "PenalizedClassifier RolinClassifier TopPCsClassifier ConicSVC ConicSVCCV MissingFeatureSVC",
        "MissingFeatureCV MissingFeaturePerceptron StableSVC StableSVCCV StableLogisticRegression",
        "StableLogisticRegressionCV EllipsoidSVC ReGEC RobustReGEC NormRobustReGEC",
        "RobustLogisticRegression",
    ]
    names = " ".join(names).split()
    counts = dict.fromkeys(names, 0)
    for table in RARE:
        X, y = told.load(data, table)
        A, a, *_ = told.split(X, y, 400, 0)
        for name in names:
            counts[name] += int(accuracy(getattr(mainstay, name)().fit(A, a), A, a)[1])
        print(f"{table} done", flush=True)
    groups = {n: [c for c in names if counts[c] == n] for n in sorted(set(counts.values()))}
    told_in_words = [
        f"{n} of {len(RARE)}: " + ", ".join(f"`{c}`" for c in group) for n, group in groups.items()
    ]
    return {"rare_tables": len(RARE), "rare_constants": "; ".join(told_in_words)}
