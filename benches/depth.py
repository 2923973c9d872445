"""The figures on the pages in depth (``docs/methods``, ``docs/scale.md``): one function for each.

    cargo xtask bench depth --data DIR               all of them
    python benches/depth.py DIR few_rows planes      some of them

Sets and splits are those of ``docs/methods/robust_logistic_table.py`` where nothing else is said. Results go to
``benches/results/depth.json``, and from there into the pages (``docs/_tools/numbers_in_pages.py``).
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs" / "methods"), str(ROOT / "docs" / "_tools"), str(ROOT / "benches")]

import numbers_in_pages  # noqa: E402
import robust_logistic_table as told  # noqa: E402
from rolin_table import encode  # noqa: E402
from scale_data import rows, table, write_parquet  # noqa: E402

import mainstay  # noqa: E402
from mainstay import threats  # noqa: E402

RESULTS = ROOT / "benches" / "results" / "depth.json"
REPEATS = 4
#: Sizes of the few-rows table, draws of each set, and most columns of one.
FEW_ROWS, FEW_DRAWS, FEW_COLUMNS = (15, 30, 50, 100, 200), 8, 1_000
#: Rows and columns of the file whose passes are counted.
PASS_ROWS, PASS_COLUMNS = 60_000, 20


def write(data, parts=None):
    """Measure all parts, or those named, and put what was found into the pages."""
    warnings.simplefilter("ignore")
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in parts or PARTS:
        start = time.perf_counter()
        found |= PARTS[name](data)
        RESULTS.write_text(json.dumps(found, indent=1, default=float) + "\n", encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    numbers_in_pages.fill(numbers_in_pages.measured())


def over_sets(data, rows, measure):
    """Means over sets of means over draws of what ``measure`` yields, with standard errors."""
    every = {}
    for name in told.HALVES["report"]:
        X, y = told.load(data, name)
        for seed in range(REPEATS):
            for key, value in measure(*told.split(X, y, rows, seed)):
                every.setdefault(key, {}).setdefault(name, []).append(value)
    found = {}
    for key, sets in every.items():
        means = np.array([np.mean(values) for values in sets.values()])
        found[key] = means.mean()
        found[f"{key}_se"] = means.std(ddof=1) / np.sqrt(len(means))
    return found


def share_right(model, T, t):
    """Accuracy on the test rows."""
    return float(np.mean(model.predict(T) == t))


def automatic_k(data):
    """StableLogisticRegression with half of the rows and with a k that is chosen."""

    def measure(X, y, T, t, rng):
        for key, k in (("half", 0.5), ("auto", "auto")):
            predicted = mainstay.StableLogisticRegression(k=k).fit(X, y).predict(T)
            yield f"k_{key}_constant", float(len(np.unique(predicted)) == 1)
            yield f"k_{key}_accuracy", np.mean(predicted == t)

    return over_sets(data, 200, measure) | {"depth_sets": len(told.HALVES["report"]), "depth_repeats": REPEATS}


def at_predict(data):
    """MissingFeatureSVC with 0 or a conditional mean in place of what is missing."""

    def measure(X, y, T, t, rng):
        p = X.shape[1]
        fit = mainstay.MissingFeatureSVC(budget=max(1, round(0.2 * p))).fit(X, y)
        other = mainstay.MissingFeatureSVC(budget=max(1, round(0.2 * p)), at_predict="gaussian").fit(X, y)
        hit = threats.adversarial_deletion(T, t, fit, max(0.2, 1 / p), reference=X)
        gone = np.where(hit != T, np.nan, T)
        for key, rows in (("worst", gone), ("random", np.where(rng.random(T.shape) < 0.3, np.nan, T))):
            zero, gaussian = share_right(fit, rows, t), share_right(other, rows, t)
            yield f"at_predict_{key}_zero", zero
            yield f"at_predict_{key}_gaussian", gaussian
            yield f"at_predict_{key}_gain", gaussian - zero

    return over_sets(data, 200, measure)


def distances(model, X):
    """Signed distances to both planes and their absolute values."""
    signed = X @ model.planes_.T - model.offsets_
    return np.hstack([signed, np.abs(signed)])


def planes(data):
    """What the nearest plane loses to a tuned L2 penalty, and what a better rule on the same planes loses."""

    def measure(X, y, T, t, rng):
        best = share_right(mainstay.PenalizedClassifier(alpha="cv").fit(X, y), T, t)
        for key, settings in (("", {}), ("_tenth", {"delta": 0.1}), ("_one", {"delta": 1.0})):
            model = mainstay.ReGEC(**settings).fit(X, y)
            yield f"planes_nearest{key}", 100 * (best - share_right(model, T, t))
            four = LogisticRegressionCV(cv=5, max_iter=1000).fit(distances(model, X), y)
            yield f"planes_four{key}", 100 * (best - np.mean(four.predict(distances(model, T)) == t))

    return over_sets(data, 200, measure)


def plane_rules(data):
    """Accuracy of five folds of both rules on sets of several classes, clean and with one inexact feature."""
    found = {}
    for name in ("glass", "gas_drift", "wine", "iris"):
        frame = pd.read_csv(Path(data) / f"{name}.csv.gz")
        y = pd.factorize(frame.pop("target"), sort=True)[0]
        X = pd.get_dummies(frame, dtype=float).to_numpy()
        rows = np.random.default_rng(0).permutation(len(y))[:1000]
        X, y = X[rows], y[rows]
        Z = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for rule in ("points", "plane"):
            called = cross_val_predict(mainstay.ReGEC(rule=rule), Z, y, cv=folds)
            found[f"rule_{name}_{rule}"] = np.mean(called == y)
        if name not in ("wine", "iris"):
            continue
        found |= {f"rule_noisy_{name}_{rule}": share for rule, share in noisy_feature(Z, y, folds).items()}
    return found


def noisy_feature(Z, y, folds):
    """The same where one feature, each in turn, has a known error of two standard deviations."""
    right = {"points": [], "plane": []}
    for feature in range(Z.shape[1]):
        axes = np.zeros(Z.shape[1])
        axes[feature] = 2.0
        noisy = Z + axes * np.random.default_rng(feature).normal(size=Z.shape)
        for train, test in folds.split(noisy, y):
            for rule, found in right.items():
                model = mainstay.RobustReGEC(axes, rule=rule).fit(noisy[train], y[train])
                found.append(np.mean(model.predict(noisy[test]) == y[test]))
    return {rule: np.mean(found) for rule, found in right.items()}


def averaged_cost(_):
    """Processor time of ``correction="averaged"`` over that of the forward fit with ``alpha="cv"``."""
    found = {}
    for n, p in ((200, 8), (200, 57), (3000, 10)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
        seconds = {}
        for correction in ("forward", "averaged"):
            model = mainstay.RobustLogisticRegression(wrong_labels=0.2, alpha="cv", correction=correction)
            times = []
            for _ in range(3):
                start = time.process_time()
                model.fit(X, y)
                times.append(time.process_time() - start)
            seconds[correction] = median(times)
        found[f"averaged_{n}_{p}"] = seconds["averaged"]
        found[f"averaged_{n}_{p}_ratio"] = seconds["averaged"] / seconds["forward"]
    return found


def test_loss(model, T, t):
    """Log loss in bits, with scikit-learn's bound on what one row can cost."""
    p = model.predict_proba(T)[:, 1]
    p = np.where(t == 1, p, 1 - p)
    return -np.mean(np.log2(np.clip(p, np.finfo(float).eps, 1)))


def trimmed(values):
    """Mean without a tenth of the values at either end."""
    values = np.sort(values)
    cut = len(values) // 10
    return values[cut : len(values) - cut].mean()


def few_rows(data):
    """The table of ``rolin.md``: every second set by name, which chose no constant of the method."""
    penalized = {"alpha": "cv", "normalize": "auto", "n_alphas": 17, "n_repeats": 5, "tol": 1e-4}
    rivals = {
        "L2": lambda: mainstay.PenalizedClassifier(**penalized),
        "L1": lambda: mainstay.PenalizedClassifier(penalty="l1", **penalized),
        "Top PCs": mainstay.TopPCsClassifier,
    }
    names = sorted(path.name.removesuffix(".csv.gz") for path in Path(data).glob("*.csv.gz"))[1::2]
    tables = {name: encode(pd.read_csv(Path(data) / f"{name}.csv.gz")) for name in names}
    lines = ["", "| n (sets, draws) | " + " | ".join(rivals) + " |", "|---" * (len(rivals) + 1) + "|"]
    found = {"few_rows_draws": FEW_DRAWS, "few_rows_columns": FEW_COLUMNS}
    for n in FEW_ROWS:
        losses = {who: {} for who in ("ours", *rivals)}
        for name, known in tables.items():
            if len(known) < n + 30 or known.shape[1] > FEW_COLUMNS:
                continue
            X, y = known[:, :-1], (known[:, -1] > 0).astype(int)
            for seed in range(FEW_DRAWS):
                train, test = drawn(y, n, np.random.default_rng(seed))
                kept = X[train].std(0) > 0
                A, a, T, t = X[train][:, kept], y[train], X[test][:, kept], y[test]
                makers = {"ours": mainstay.RolinClassifier, **rivals}
                for who, make in makers.items():
                    losses[who].setdefault(name, []).append(test_loss(make().fit(A, a), T, t))
            print(f"few_rows {n} {name}", flush=True)
        means = {who: np.array([trimmed(v) for v in own.values()]) for who, own in losses.items()}
        cells = [f"{n} ({len(means['ours'])}, {FEW_DRAWS})"]
        for who in rivals:
            ratio = means[who] / means["ours"]
            key = who.lower().replace(" ", "_")
            found[f"few_rows_{key}_{n}"] = np.median(ratio)
            cells.append(f"{ratio.mean():.2f} / {np.median(ratio):.2f} [{np.sum(ratio > 1)}]")
        lines.append("| " + " | ".join(cells) + " |")
    return found | {"few_rows_table": "\n".join([*lines, ""])}


def drawn(y, n, rng):
    """Training rows with at least two of each class, and up to 1,000 others with both."""
    while True:
        order = rng.permutation(len(y))
        train, test = order[:n], order[n:][:1000]
        if min(np.bincount(y[train], minlength=2)) >= 2 and len(np.unique(y[test])) == 2:
            return train, test


def counted_passes(_):
    """Passes over a Parquet file, the first look included, by estimator."""
    penalized, svc = mainstay.PenalizedClassifier, mainstay.StableSVC
    robust = mainstay.RobustLogisticRegression
    fits = {
        "l2": penalized(alpha=1e-4),
        "l2_hinge": penalized("hinge", alpha=1e-4),
        "l1": penalized(penalty="l1", alpha=1e-3),
        "l1_hinge": penalized("hinge", penalty="l1", alpha=1e-3),
        "svc": svc(k=0.7, C=1e-5),
        "svc_squared": svc(k=0.7, C=1e-5, loss="squared_hinge"),
        "logistic": mainstay.StableLogisticRegression(k=0.7, alpha=1e-4),
        "missing": mainstay.MissingFeatureSVC(budget=2),
        "ellipsoid": mainstay.EllipsoidSVC(uncertainty=0.1, C=1e-5),
        "regec": mainstay.ReGEC(),
        "norm_regec": mainstay.NormRobustReGEC(),
        "robust_regec": mainstay.RobustReGEC(uncertainty=0.1),
        "conic_kappa": mainstay.ConicSVC(kappa=0.3),
        "conic_price": mainstay.ConicSVC(C=1e-5),
        "robust": robust(alpha=1e-3),
        "robust_missing": robust(alpha=1e-3, missing=0.2, feature_model=False),
    }
    found = {"pass_rows": PASS_ROWS, "pass_columns": PASS_COLUMNS}
    with tempfile.TemporaryDirectory() as folder:
        path = str(write_parquet(Path(folder) / "rows.parquet", PASS_ROWS, PASS_COLUMNS))
        for key, model in fits.items():
            try:
                found[f"passes_{key}"] = int(model.fit(mainstay.scan(path), "label").n_iter_)
                print(f"passes_{key} {found[f'passes_{key}']} {getattr(model, 'dual_gap_', None)}", flush=True)
            except Exception as error:
                print(key, repr(error), flush=True)
        found["passes_ellipsoid_rows"] = int(with_axes(Path(folder)).n_iter_)
    return found


def with_axes(folder):
    """EllipsoidSVC over a file in which every row has semi-axes of its own."""
    import pyarrow.parquet as pq

    X, y = rows(PASS_ROWS, PASS_COLUMNS, seed=0)
    axes = np.random.default_rng(3).uniform(0, 0.2, X.shape) * X.std(0)
    both = table(X, y)
    for j in range(PASS_COLUMNS):
        both = both.append_column(f"e{j}", [axes[:, j]])
    path = folder / "axes.parquet"
    pq.write_table(both, path)
    names = [f"e{j}" for j in range(PASS_COLUMNS)]
    return mainstay.EllipsoidSVC(C=1e-5).fit(mainstay.scan(str(path)), "label", uncertainty=names)


PARTS = {
    "automatic_k": automatic_k,
    "at_predict": at_predict,
    "planes": planes,
    "plane_rules": plane_rules,
    "averaged_cost": averaged_cost,
    "few_rows": few_rows,
    "counted_passes": counted_passes,
}

if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
