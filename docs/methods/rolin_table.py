"""The table of `rolin.md`: test loss from few training rows, the extended ROLIN against its rivals.

    python docs/methods/rolin_table.py DATASETS [--group val] [--rows 15,30,50,100,200] [--draws 30]

DATASETS holds gzipped CSV files with a last column `target`. Categories become indicator columns,
missing numbers the column's median, and more than two classes the largest one against the rest; at
most 3,000 rows. Then the example `rolin_small_n` fits and prints.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd


def encode(frame):
    """Rows of numbers, the label last."""
    target = frame.pop("target").astype(str)
    positive = target.value_counts().sort_index().idxmax()
    features = pd.get_dummies(frame, dtype=float)
    features = features.fillna(features.median())
    labels = np.where(target == positive, 1, -1)
    keep = np.sort(np.random.default_rng(0).permutation(len(labels))[:3000])
    return np.column_stack([features.to_numpy(float), labels])[keep]


def prepare(source, out):
    """Encode every set in `source`: one CSV without header a set, the label (+1 or -1) last."""
    for path in sorted(pathlib.Path(source).glob("*.csv.gz")):
        table = encode(pd.read_csv(path))
        np.savetxt(out / path.name.removesuffix(".gz"), table, fmt="%.10g", delimiter=",")


def main():
    """Encode, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets")
    parser.add_argument("--group", choices=["dev", "val", "all"], default="val")
    parser.add_argument("--rows", default="15,30,50,100,200")
    parser.add_argument("--draws", default="30")
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("methods", nargs="*", default=["extended", "l2", "l1", "top-pcs"])
    given = parser.parse_args()
    example = ["cargo", "run", "--release", "-p", "mainstay-bench", "--example", "rolin_small_n", "--"]
    with tempfile.TemporaryDirectory() as folder:
        prepare(given.datasets, pathlib.Path(folder))
        study = [folder, given.group, given.rows, given.draws, given.loss, *given.methods]
        subprocess.run(example + study, check=True)


if __name__ == "__main__":
    main()
