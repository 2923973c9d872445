"""Which estimate of `mainstay.validate` is nearest to what thousands of new rows say.

    python docs/methods/validation_table.py DATASETS [REPEATS]

DATASETS is a folder of NAME.csv.gz with a column ``target``. A few rows of a large set are
validated, the fit to them is judged on the others. Writes the table of docs/guide/validation.md:
mean difference to the truth and, behind the sign ±, its root mean square.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import mainstay

SETS = [
    "magic",
    "spambase",
    "credit_default",
    "qsar_biodeg",
    "german_numeric",
    "bank_marketing",
    "musk2",
    "adult",
    "eeg_eye_state",
    "dota2",
]
SIZES = (60, 120, 240)
ESTIMATES = ("apparent", "corrected", "cross_validated")
JUDGES = {"auc": roc_auc_score, "log_loss": log_loss}
# Rows of the smaller class that a draw must have, and rows that judge.
FEWEST, JUDGED = 8, 4000
PAGE = Path(__file__).parents[1] / "guide" / "validation.md"
BEGIN, END = "<!-- validation table -->", "<!-- end of validation table -->"


def load(folder, name):
    """Features as numbers, gaps filled with the median, and 0/1 labels."""
    table = pd.read_csv(Path(folder) / f"{name}.csv.gz")
    target = table.pop("target")
    y = (target == sorted(target.unique())[-1]).to_numpy(int)
    X = pd.get_dummies(table).astype(float)
    X = X.fillna(X.median()).to_numpy()
    return X[:, X.std(axis=0) > 0], y


def draws(folder, repeats):
    """Training and judging rows of every set, size and repeat."""
    for name in SETS:
        X, y = load(folder, name)
        rng = np.random.default_rng(0)
        for size in SIZES:
            for repeat in range(repeats):
                order = rng.permutation(len(y))
                train, test = order[:size], order[size : size + JUDGED]
                if min(y[train].sum(), size - y[train].sum()) >= FEWEST:
                    yield size, repeat, (X[train], y[train]), (X[test], y[test])


def differences(folder, repeats):
    """Estimate less truth, for every size, metric and estimate."""
    found = {}
    for size, repeat, (X, y), (X_new, y_new) in draws(folder, repeats):
        model = mainstay.PenalizedClassifier(alpha="cv", normalize=True)
        new = model.fit(X, y).predict_proba(X_new)[:, 1]
        result = mainstay.validate(
            model, X, y, bootstrap=100, repeats=4, curve_repeats=0, random_state=repeat
        )
        metrics = {row["metric"]: row for row in result.details["metrics"]}
        for metric, judge in JUDGES.items():
            for estimate in ESTIMATES:
                gap = metrics[metric][estimate] - judge(y_new, new)
                found.setdefault((size, metric, estimate), []).append(gap)
    return found


def lines(found):
    """The table in Markdown."""
    head = [f"{metric}, {estimate}" for metric in ("AUC", "log loss") for estimate in ESTIMATES]
    head = [text.replace("_", "-") for text in head]
    yield "| rows (draws) | " + " | ".join(head) + " |"
    yield "|---" * (len(head) + 1) + "|"
    for size in SIZES:
        cells = []
        for metric in JUDGES:
            for estimate in ESTIMATES:
                gaps = np.array(found[size, metric, estimate])
                cells.append(f"{gaps.mean():+.3f} ± {np.sqrt((gaps**2).mean()):.3f}")
        yield f"| {size} ({len(gaps)}) | " + " | ".join(cells) + " |"


def main():
    """Measure and write the table into the page."""
    warnings.filterwarnings("ignore")
    folder, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    table = "\n".join(lines(differences(folder, repeats)))
    print(table)
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
