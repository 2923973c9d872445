"""Rows for the benchmarks of scale, made and written a part at a time.

    python benches/scale_data.py FOLDER [ROWS [COLUMNS]]    a Parquet set without compression, 1,000,000 rows per file

50,000,000 x 50 is 20 GB. Delete the folder afterwards.
"""

import sys
from pathlib import Path

import numpy as np

#: Rows that are made and written at a time.
GROUP = 50_000
#: Rows of one file of a set.
FILE = 1_000_000


def rows(n, p, seed):
    """Two clouds that overlap, columns of different scales, a twentieth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.logspace(-1, 1, p)
    w = np.random.default_rng(7).normal(size=p) / np.logspace(-1, 1, p)
    y = (X @ w / np.sqrt(p) + 0.7 * rng.normal(size=n) > 0).astype(int)
    wrong = rng.random(n) < 0.05
    return X, np.where(wrong, 1 - y, y)


def table(X, y):
    """Columns x0, x1, ... and label."""
    import pyarrow as pa

    columns = np.asfortranarray(X)
    return pa.table({f"x{j}": columns[:, j] for j in range(X.shape[1])} | {"label": y})


def write_parquet(path, n, p=50, group=GROUP, compression="snappy", seed=0):
    """Write rows in row groups, made one group at a time."""
    import pyarrow.parquet as pq

    writer = None
    for first in range(0, n, group):
        part = table(*rows(min(group, n - first), p, seed=seed + first))
        writer = writer or pq.ParquetWriter(
            path, part.schema, compression=compression, use_dictionary=["label"], write_statistics=False
        )
        writer.write_table(part)
    writer.close()
    return path


def write_set(folder, n, p=50):
    """Write a folder of files of a million rows, without compression."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, n, FILE):
        path = folder / f"part-{first // FILE:04d}.parquet"
        write_parquet(path, min(FILE, n - first), p, group=100_000, compression="none", seed=first)
    return folder


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[2:]] or [50_000_000]
    write_set(sys.argv[1], *sizes)
