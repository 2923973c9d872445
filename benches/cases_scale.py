"""Rows beyond memory and cores: passes, memory, threads, Dask, and what the curvature of all rows costs."""

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import harness
import mainstay
from harness import Bar, Case, Contender
from mainstay import PenalizedClassifier, StableLogisticRegression, StableSVC

TITLE = "More rows than memory, more cores than one (`n_jobs`, `mainstay.scan`, Dask)"
warnings.simplefilter("ignore", ConvergenceWarning)

ROWS, COLUMNS, GROUP = 2_000_000, 50, 50_000
#: (name, estimator, most passes, the first look included)
PASSES = [
    ("logistic, L2", PenalizedClassifier(alpha=1e-4), 5),
    ("squared hinge, L2", PenalizedClassifier("squared_hinge", alpha=1e-4), 8),
    ("modified Huber, L2", PenalizedClassifier("modified_huber", alpha=1e-4), 5),
    ("logistic, L1", PenalizedClassifier(penalty="l1", alpha=1e-3), 6),
    ("hinge, L2", PenalizedClassifier("hinge", alpha=1e-4), 8),
    ("StableSVC, k = 0.5", StableSVC(k=0.5, C=1e-4), 10),
    ("StableSVC, squared hinge, k = 0.5", StableSVC(k=0.5, C=1e-4, loss="squared_hinge"), 10),
    ("StableLogisticRegression, k = 0.7", StableLogisticRegression(k=0.7, alpha=1e-4), 10),
]


def rows(n, p, seed):
    """Two clouds that overlap, columns of different scales, a twentieth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.logspace(-1, 1, p)
    w = np.random.default_rng(7).normal(size=p) / np.logspace(-1, 1, p)
    y = (X @ w / np.sqrt(p) + 0.7 * rng.normal(size=n) > 0).astype(int)
    wrong = rng.random(n) < 0.05
    return X, np.where(wrong, 1 - y, y)


def write_parquet(path, n, p=COLUMNS, group=GROUP):
    """Rows in row groups, made and written one group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(p)]
    writer = None
    for first in range(0, n, group):
        X, y = rows(min(group, n - first), p, seed=first)
        table = pa.table({name: X[:, j] for j, name in enumerate(names)} | {"label": y})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table)
    writer.close()
    return path


def cases(_):
    yield from against_scikit_learn()
    yield curvature()


def newton_cholesky(X, y, alpha):
    model = LogisticRegression(C=1 / (alpha * len(y)), solver="newton-cholesky", tol=1e-6, max_iter=50)
    return model.fit(X, y)


def gap_of(X, y, alpha, bound):
    """Relative distance of scikit-learn's answer to our proven bound."""

    def gap(model):
        margin = (2 * y - 1) * model.decision_function(X)
        value = np.logaddexp(0, -margin).mean() + alpha / 2 * np.sum(model.coef_**2)
        return (value - bound()) / max(1, value)

    return gap


def against_scikit_learn():
    """One thread and two, at equal gap."""
    alpha, (X, y) = 1e-4, rows(500_000, COLUMNS, seed=1)

    def bound():
        model = PenalizedClassifier(alpha=alpha, tol=1e-9).fit(X, y)
        return model.objective_ - model.dual_gap_ * max(1, model.objective_)

    for jobs, ratio in ((1, 1.0), (2, 1.6)):
        ours = Contender(
            f"mainstay, n_jobs = {jobs}",
            lambda j=jobs: PenalizedClassifier(alpha=alpha, n_jobs=j).fit(X, y),
            lambda m: m.dual_gap_,
        )
        theirs = Contender(
            "LogisticRegression (newton-cholesky, one thread)",
            lambda: single_thread(newton_cholesky, X, y, alpha),
            gap_of(X, y, alpha, bound),
        )
        title = f"logistic, 500,000 x {COLUMNS}, in memory, {jobs} thread{'s'[: jobs - 1]}"
        yield Case(title, [ours, theirs], [Bar(theirs.name, ratio)], rounds=3)


def single_thread(work, *args):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work(*args)


def curvature():
    """A pass whose curvature comes from 100 rows per column."""
    X, y = rows(200_000, 200, seed=2)
    import dask.array as da

    blocks = da.from_array(X, chunks=(20_000, 200)), da.from_array(y, chunks=20_000)

    def fit(curvature_rows):
        with mainstay.config(curvature_rows=curvature_rows):
            return PenalizedClassifier(alpha=1e-4).fit(*blocks)

    some = Contender("100 rows per column", lambda: fit(100), lambda m: m.dual_gap_)
    every = Contender("all rows", lambda: fit(None), lambda m: m.dual_gap_)
    passes = {c.name: c.run().n_iter_ for c in (some, every)}
    note = f"passes: {passes[some.name]} and {passes[every.name]} (bar: at most 3 more)"
    return Case("logistic, 200,000 x 200, curvature of", [some, every], rounds=3, note=note)


def growth(_):
    """Passes, times and memory that are no ratio of two contenders."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder) / "rows.parquet", ROWS)
        yield ""
        yield from passes(path)
        yield ""
        yield from out_of_core(path)
        yield ""
        yield from memory(Path(folder))
    yield ""
    yield from tiny_partitions()


def passes(path):
    yield f"Passes at {ROWS:,} x {COLUMNS} to a proven gap of 1e-6, read from Parquet:"
    yield ""
    yield "| problem | passes | bar | gap | seconds |"
    yield "|---|---|---|---|---|"
    for name, model, most in PASSES:
        start = time.perf_counter()
        model.fit(mainstay.scan(path), "label")
        seconds = time.perf_counter() - start
        kept = "kept" if model.n_iter_ <= most else "MISSED"
        yield f"| {name} | {model.n_iter_} | <= {most}: {kept} | {model.dual_gap_:.1e} | {seconds:.1f} |"


def out_of_core(path):
    """Wall time from a cached file against the same rows in memory."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    y = table["label"].to_numpy()
    X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "label"])
    model, times = PenalizedClassifier(alpha=1e-4, n_jobs=2), {"memory": [], "file": []}
    for _ in range(3):
        for name, args in (("memory", (X, y)), ("file", (mainstay.scan(path), "label"))):
            start = time.perf_counter()
            model.fit(*args)
            times[name].append(time.perf_counter() - start)
    memory, file = median(times["memory"]), median(times["file"])
    kept = "kept" if file <= 2 * memory else "MISSED"
    yield f"Logistic, {ROWS:,} x {COLUMNS}: {file:.2f} s from the file, {memory:.2f} s in memory, ratio {file / memory:.2f} (bar <= 2: {kept})."


MEMORY = """
import subprocess, sys
import mainstay
from mainstay import PenalizedClassifier
PenalizedClassifier(alpha=1e-4).fit(mainstay.scan({path!r}, memory="200M"), "label")
"""


def memory(folder):
    """Peak memory at ten times the rows."""
    command = [sys.executable, "-m", "mainstay"]
    small, large = (write_parquet(folder / f"{n}.parquet", n) for n in (400_000, 4_000_000))
    model = str(folder / "model.json")
    subprocess.run([*command, "fit", small, "--target", "label", "--method", "l2", "--raw", "-o", model], check=True, capture_output=True)
    yield "Peak memory in MB at 400,000 and 4,000,000 rows:"
    yield ""
    yield "| what | 400,000 | 4,000,000 | ratio | bar |"
    yield "|---|---|---|---|---|"
    for what in ("fit", "predict", "certify"):
        found = []
        for path in (small, large):
            if what == "fit":
                found.append(harness.peak_memory(MEMORY.format(path=str(path))))
            else:
                found.append(peak_of([*command, what, model, str(path), "-o", os.devnull]))
        ratio = found[1] / found[0]
        yield f"| {what} | {found[0]:.0f} | {found[1]:.0f} | {ratio:.2f} | <= 1.5: {'kept' if ratio <= 1.5 else 'MISSED'} |"


def peak_of(command):
    """Peak memory of a command in MB, alone in a process that starts it."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def tiny_partitions():
    """What the scheduler costs: a thousand partitions of a hundred rows on two worker processes."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y = rows(100_000, 10, seed=3)
    blocks = da.from_array(X, chunks=(100, 10)), da.from_array(y, chunks=100)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster),
    ):
        PenalizedClassifier(alpha=1e-3).fit(*blocks)
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
        model = PenalizedClassifier(alpha=1e-3).fit(*blocks)
        seconds = (time.perf_counter() - start[1]) / model.n_iter_
    kept = "kept" if seconds <= 0.3 else "MISSED"
    yield f"1,000 partitions of 100 rows, two worker processes: {seconds:.2f} s per pass, the first look included (bar <= 0.3: {kept})."
