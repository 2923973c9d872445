"""How far to believe the probabilities of a label audit: flips planted in small real sets.

    python docs/methods/audit_reliability_table.py run DATASETS RESULTS.json [--half report] [--seeds 3]
    python docs/methods/audit_reliability_table.py write RESULTS.json

DATASETS holds gzipped CSV files with a column `target`. Draws of 60, 100 and 140 rows of each set
(all rows where there are fewer), labels as they are or with 5, 10 or 20 % flipped, or 20 % of one
class. Every label has the probability that `audit_labels` states; the table of
docs/guide/wrong-labels.md compares these with the share that was flipped. Labels that were wrong
before count as right, so that the shares are lower bounds. The averaging was chosen on `dev`.
"""

import argparse
import itertools
import json
import pathlib
import warnings

import numpy as np
import pandas as pd

import mainstay

HALVES = {
    "dev": [
        "australian",
        "heart_statlog",
        "ionosphere",
        "wdbc",
        "sonar",
        "german_numeric",
        "climate_crashes",
    ],
    "report": [
        "immunotherapy",
        "pima",
        "parkinsons",
        "qsar_biodeg",
        "breast_cancer_ljubljana",
        "spambase",
        "banknote",
        "ilpd",
        "musk1",
        "wpbc",
    ],
}
ROWS = (60, 100, 140)
# Shares of class 0 and of class 1 that are flipped.
NOISES = ((0.0, 0.0), (0.05, 0.05), (0.1, 0.1), (0.2, 0.2), (0.0, 0.2))
EDGES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 1.0)


def load(folder, name, rng, most):
    """Standardised features and 0/1 labels of at most `most` rows, 1 for the largest class."""
    table = pd.read_csv(pathlib.Path(folder) / f"{name}.csv.gz")
    target = table.pop("target").astype(str)
    y = (target == target.value_counts().sort_index().idxmax()).to_numpy(int)
    numeric = table.select_dtypes("number").columns
    table[numeric] = table[numeric].fillna(table[numeric].median())
    X = pd.get_dummies(table).to_numpy(float)
    rows = rng.permutation(len(y))[:most]
    X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 1e-9]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def run(args):
    """Audit everything; [stated probability, planted] of every label, by set."""
    path = pathlib.Path(args.results)
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in HALVES[args.half]:
        if name in found:
            continue
        own, counts = [], []
        for most in ROWS:
            for seed in range(args.seeds):
                for number, rates in enumerate(NOISES):
                    rng = np.random.default_rng([seed, most, number])
                    X, y = load(args.datasets, name, rng, most)
                    planted = rng.random(len(y)) < np.where(y == 1, rates[1], rates[0])
                    labels = np.where(planted, 1 - y, y)
                    if min(labels.sum(), len(y) - labels.sum()) < 5:
                        continue
                    audit = mainstay.audit_labels(X, labels, random_state=seed, planted=2)
                    stated, rows = np.asarray(audit.table["wrong"]), np.asarray(audit.table["row"])
                    own += [[float(q), bool(planted[i])] for q, i in zip(stated, rows, strict=True)]
                    counts.append([int(planted.sum()), audit.count, *audit.interval])
        found[name] = {"labels": own, "counts": counts}
        path.write_text(json.dumps(found))
        print(f"{name} done", flush=True)


def lines(found):
    """Give the table: labels by stated probability, what was stated and what was planted."""
    all_labels = np.array([pair for own in found.values() for pair in own["labels"]], float)
    stated, planted = all_labels[:, 0], all_labels[:, 1]
    out = ["| stated probability | labels | stated on average | planted |", "|---|---|---|---|"]
    for low, high in itertools.pairwise(EDGES):
        here = (stated >= low) & ((stated < high) | (high == 1.0))
        if here.any():
            mean, share = f"{stated[here].mean():.2f}", f"{planted[here].mean():.2f}"
            out.append(f"| {low:g} to {high:g} | {here.sum():,} | {mean} | {share} |")
    flagged = stated >= 0.5
    said, share = stated[flagged].mean(), planted[flagged].mean()
    out.append(f"| at least 0.5 | {flagged.sum():,} | {said:.2f} | {share:.2f} |")
    counts = np.array([row for own in found.values() for row in own["counts"]])
    inside = np.mean((counts[:, 2] <= counts[:, 0]) & (counts[:, 0] <= counts[:, 3]))
    out.append("")
    out.append(
        f"{len(found)} sets, {len(counts)} audits: {counts[:, 0].sum():,.0f} labels planted, "
        f"{counts[:, 1].sum():,.0f} counted; the planted number lies in the stated interval in {inside:.0%} of them."
    )
    return out


def write(args):
    """Put the table into the guide, between its marks."""
    page = pathlib.Path(__file__).parents[1] / "guide" / "wrong-labels.md"
    text = page.read_text()
    made = lines(json.loads(pathlib.Path(args.results).read_text()))
    start, end = "<!-- reliability -->\n", "<!-- end of reliability -->"
    head, rest = text.split(start)
    page.write_text(head + start + "\n".join(made) + "\n" + end + rest.split(end)[1])
    print("\n".join(made))


def main():
    """Run or write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("datasets")
    runner.add_argument("results")
    runner.add_argument("--half", choices=HALVES, default="report")
    runner.add_argument("--seeds", type=int, default=3)
    runner.set_defaults(call=run)
    writer = commands.add_parser("write")
    writer.add_argument("results")
    writer.set_defaults(call=write)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.call(args)


if __name__ == "__main__":
    main()
