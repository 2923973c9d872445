"""Turns data sets (gzipped CSV, last column `target`) into plain numbers for the few-samples study.

    python docs/methods/rolin_encode.py DATASETS OUT

Categories become indicator columns, missing numbers the column's median, and more than two classes
the largest one against the rest; at most 3,000 rows. One CSV without header a set, the label
(+1 or -1) last.
"""

import pathlib
import sys

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


def main(source, out):
    """Encode every set in `source`."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(pathlib.Path(source).glob("*.csv.gz")):
        table = encode(pd.read_csv(path))
        np.savetxt(out / path.name.removesuffix(".gz"), table, fmt="%.10g", delimiter=",")
        print(path.name, table.shape)


if __name__ == "__main__":
    main(*sys.argv[1:])
