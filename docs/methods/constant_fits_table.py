"""Which default fits are constant on data with a rare class, and whether the named remedy works.

    python docs/methods/constant_fits_table.py DATASETS [SET...]

DATASETS holds gzipped CSV files with a column `target`. All sets of two classes (`seizure`: the
seizures against the rest) with less than a quarter of the rows in the smaller class, at most 2,000
rows of each, features standardised. For every estimator with its default settings: how many fits
are constant or nearly so, how many of these warned, and how many warnings name a remedy that a
second fit with it confirms. Prints one line per set while it runs, then the table.
"""

import inspect
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import mainstay

SETS = [
    "climate_crashes",
    "bank_marketing",
    "musk2",
    "seizure",
    "immunotherapy",
    "credit_default",
    "occupancy",
    "wpbc",
    "adult",
    "parkinsons",
]
NAMES = [
    "PenalizedClassifier",
    "RolinClassifier",
    "TopPCsClassifier",
    "ConicSVC",
    "ConicSVCCV",
    "MissingFeatureSVC",
    "MissingFeatureCV",
    "MissingFeaturePerceptron",
    "StableSVC",
    "StableSVCCV",
    "StableLogisticRegression",
    "StableLogisticRegressionCV",
    "ReGEC",
    "RobustReGEC",
    "NormRobustReGEC",
    "EllipsoidSVC",
    "EllipsoidSVCCV",
    "RobustLogisticRegression",
]


def load(folder, name, most=2000):
    """Standardised features and labels, 1 for the smaller class."""
    table = pd.read_csv(Path(folder) / f"{name}.csv.gz")
    target = table.pop("target").astype(str)
    y = (target == ("1" if name == "seizure" else target.value_counts().index[-1])).to_numpy(int)
    numeric = table.select_dtypes("number").columns
    table[numeric] = table[numeric].fillna(table[numeric].median())
    X = pd.get_dummies(table).to_numpy(float)
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 1e-12]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def one_sided(model, X, y):
    """Whether all rows get one class, or all but a tenth of those that should get another."""
    called = model.predict(X)
    usual = max(set(called), key=lambda c: np.sum(called == c))
    return np.sum(called != usual) < max(1, 0.1 * np.sum(y != usual))


def named(text):
    """Give the parameters of the remedy that a warning says was tried with success."""
    found = re.search(r"try (`.*): on these rows that helps", text)
    if not found:
        return None
    pairs = re.findall(r"`(\w+)` = (\"[^\"]*\"|[-\d.e]+)", found[1])
    return {name: value.strip('"') if '"' in value else float(value) for name, value in pairs}


def judge(name, X, y):
    """(constant, warned, remedy named, remedy confirmed) of one default fit, and what it said."""
    kind = getattr(mainstay, name)
    model = kind(random_state=0) if "random_state" in inspect.signature(kind).parameters else kind()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    if not one_sided(model, X, y):
        return (0, 0, 0, 0), ""
    texts = [str(w.message) for w in caught]
    told = [t for t in texts if "one class" in t or "constant" in t]
    change = named(told[0]) if told else None
    confirmed = 0
    if change is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            confirmed = int(not one_sided(model.set_params(**change).fit(X, y), X, y))
    return (1, int(bool(told)), int(change is not None), confirmed), told[0] if told else ""


def main(folder, sets):
    """Fit everything to everything."""
    table = {name: np.zeros(5, int) for name in NAMES}
    for each in sets:
        X, y = load(folder, each)
        for name in NAMES:
            start = time.process_time()
            found, text = judge(name, X, y)
            table[name] += (1, *found)
            if found[0]:
                seconds = time.process_time() - start
                print(f"{each} {name} {found} {seconds:.1f} s: {text}", flush=True)
        print(f"{each} done, {len(y)} rows, {np.mean(y):.1%}", flush=True)
    print("| estimator | sets | constant | warned | remedy named | confirmed |")
    print("|---|---|---|---|---|---|")
    for name, counts in table.items():
        print(f"| `{name}` | " + " | ".join(map(str, counts)) + " |")
    total = np.sum(list(table.values()), axis=0)
    print("| all | " + " | ".join(map(str, total)) + " |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or SETS)
