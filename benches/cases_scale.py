"""Rows beyond memory and cores: passes, memory, threads, Dask, and what the curvature of all rows costs.

    cargo xtask bench scale             a few minutes
    cargo xtask bench scale --long      2,000,000 rows, ten times the rows, dask-ml if `MAINSTAY_DASK_ML` names a Python that has it
    cargo xtask bench scale --huge      also 20 GB of Parquet, written to the folder for temporary files and deleted
"""

import json
import os
import shutil
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
import scale_limits
from harness import Bar, Case, Contender
from mainstay import PenalizedClassifier, StableLogisticRegression, StableSVC
from scale_data import rows, write_parquet, write_set
from scale_limits import verdict

TITLE = "More rows than memory, more cores than one (`n_jobs`, `mainstay.scan`, Dask)"
warnings.simplefilter("ignore", ConvergenceWarning)

COLUMNS = 50
#: Fresh clusters for each of the contenders against dask-ml, in turn; medians count.
DASK_ML_ROUNDS = 3
#: (name, estimator, most passes, the first look included)
PASSES = [
    ("logistic, L2", PenalizedClassifier(alpha=1e-4), 5),
    ("squared hinge, L2", PenalizedClassifier("squared_hinge", alpha=1e-4), 8),
    ("modified Huber, L2", PenalizedClassifier("modified_huber", alpha=1e-4), 5),
    ("logistic, L1", PenalizedClassifier(penalty="l1", alpha=1e-3), 6),
    ("hinge, L2", PenalizedClassifier("hinge", alpha=1e-4), 8),
    ("StableSVC, k = 0.7", StableSVC(k=0.7, C=1e-5), 10),
    ("StableSVC, squared hinge, k = 0.7", StableSVC(k=0.7, C=1e-5, loss="squared_hinge"), 8),
    ("StableLogisticRegression, k = 0.7", StableLogisticRegression(k=0.7, alpha=1e-4), 10),
]


def wanted(length):
    """Whether runs of this length ("long", "huge") were asked for."""
    return os.environ.get("MAINSTAY_BENCH_LENGTH", "") in {"long": ("long", "huge"), "huge": ("huge",)}[length]


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
    """One thread by processor time, two by wall time, at equal gap."""
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
        clock = time.process_time if jobs == 1 else time.perf_counter
        word = "processor time" if jobs == 1 else "wall time"
        title = f"logistic, 500,000 x {COLUMNS}, in memory, {jobs} thread{'s'[: jobs - 1]}, {word}"
        yield Case(title, [ours, theirs], [Bar(theirs.name, ratio)], rounds=5, clock=clock)


def single_thread(work, *args):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work(*args)


def curvature():
    """A pass whose curvature comes from 100 rows per column."""
    import dask
    import dask.array as da

    X, y = rows(200_000, 200, seed=2)
    blocks = da.from_array(X, chunks=(20_000, 200)), da.from_array(y, chunks=20_000)

    def fit(curvature_rows):
        with mainstay.config(curvature_rows=curvature_rows), dask.config.set(scheduler="sync"):
            return PenalizedClassifier(alpha=1e-4).fit(*blocks)

    some = Contender("100 rows per column", lambda: fit(100), lambda m: m.dual_gap_)
    every = Contender("all rows", lambda: fit(None), lambda m: m.dual_gap_)
    passes = {c.name: c.run().n_iter_ for c in (some, every)}
    # Per pass: the rows are the same, and so is the first look.
    some.scale, every.scale = 1 / passes[some.name], 1 / passes[every.name]
    more = passes[some.name] - passes[every.name]
    note = f"seconds of a pass; {passes[some.name]} and {passes[every.name]} passes (bar <= 3 more: {verdict(more <= 3)})"
    title = "logistic, 200,000 x 200, curvature of"
    bar = Bar(every.name, 1 / 0.6)
    return Case(title, [some, every], [bar], rounds=3, note=note, clock=time.process_time)


def growth(_):
    """Passes, times and memory that are no ratio of two contenders."""
    n = 2_000_000 if wanted("long") else 400_000
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder) / "rows.parquet", n)
        yield ""
        yield from passes(path, n)
        yield ""
        yield from out_of_core(path, n)
        yield ""
        yield from scale_limits.memory(Path(folder), 400_000 if wanted("long") else 100_000)
    yield ""
    yield from scale_limits.beyond_the_data()
    yield from scale_limits.tiny_partitions()
    yield from scale_limits.one_hash()
    yield from scale_limits.proved_again()
    yield from scale_limits.checkpoints()
    yield from scale_limits.lost_worker()
    yield from scale_limits.fatal_failure()
    python = os.environ.get("MAINSTAY_DASK_ML")
    if python and wanted("long"):
        yield ""
        yield from against_dask_ml(python)
    if wanted("huge"):
        yield ""
        yield from twenty_gigabytes()


def passes(path, n):
    yield f"Passes at {n:,} x {COLUMNS} to a proven gap of 1e-6, read from Parquet:"
    yield ""
    yield "| problem | passes | bar | gap | seconds |"
    yield "|---|---|---|---|---|"
    for name, model, most in PASSES:
        start = time.perf_counter()
        model.fit(mainstay.scan(path), "label")
        seconds = time.perf_counter() - start
        kept = verdict(model.n_iter_ <= most)
        yield f"| {name} | {model.n_iter_} | <= {most}: {kept} | {model.dual_gap_:.1e} | {seconds:.1f} |"


def out_of_core(path, n):
    """Wall time from a cached file against the same rows in memory."""
    import pyarrow.parquet as pq

    read = pq.read_table(path)
    y = read["label"].to_numpy()
    X = np.column_stack([read[name].to_numpy() for name in read.column_names if name != "label"])
    del read
    model, times = PenalizedClassifier(alpha=1e-4, n_jobs=2), {"memory": [], "file": []}
    for _ in range(3):
        for name, args in (("memory", (X, y)), ("file", (mainstay.scan(path), "label"))):
            start = time.perf_counter()
            model.fit(*args)
            times[name].append(time.perf_counter() - start)
    memory, file = median(times["memory"]), median(times["file"])
    kept = verdict(file <= 2 * memory)
    yield f"Logistic, {n:,} x {COLUMNS}, two threads: {file:.2f} s from the file, {memory:.2f} s in memory, ratio {file / memory:.2f} (bar <= 2: {kept})."


def against_dask_ml(python):
    """Processor time of workers and client, each in a fresh cluster of its own (see `scale_dask_ml`)."""
    import scale_dask_ml as peer

    script = str(Path(peer.__file__))
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, peer.ROWS, peer.BLOCK):
            path = Path(folder) / f"{first // peer.BLOCK:03d}.parquet"
            write_parquet(path, peer.BLOCK, peer.COLUMNS, seed=first)
        runs = {"mainstay": [], "newton": [], "lbfgs": []}
        for _ in range(DASK_ML_ROUNDS):
            for who, seen in runs.items():
                own = [sys.executable if who == "mainstay" else python, script, who, folder]
                done = subprocess.run(own, capture_output=True, text=True, check=True)
                seen.append(json.loads(done.stdout.splitlines()[-1]))
        found = {who: {name: median(run[name] for run in seen) for name in seen[0]} for who, seen in runs.items()}
    ours = found["mainstay"]
    best = min(part["objective"] for part in found.values())
    yield f"Logistic, {peer.ROWS:,} x {peer.COLUMNS}, Dask with two worker processes, against dask-ml:"
    yield ""
    yield "| who | processor seconds | ratio | bar | a second fit in the same cluster | ratio | peak of a worker in MB | objective less the best |"
    yield "|---|---|---|---|---|---|---|---|"
    for who, bar in (("mainstay", None), ("newton", 4), ("lbfgs", 8)):
        part = found[who]
        ratio = part["cpu"] / ours["cpu"]
        shown = "" if bar is None else f">= {bar}: {verdict(ratio >= bar)}"
        above = part["objective"] - best
        beside = part["again"] / ours["again"]
        yield (
            f"| {who} | {part['cpu']:.2f} | {ratio:.1f} | {shown} | {part['again']:.2f} | {beside:.1f} | "
            f"{part['peak']:.0f} | {above:.1e} |"
        )
    part = ours["peak"] / found["newton"]["peak"]
    yield ""
    yield f"Peak of a worker: {part:.2f} of that of dask-ml's newton (bar <= 0.6: {verdict(part <= 0.6)})."


HUGE = """
import time, json, sys
import mainstay
from mainstay import PenalizedClassifier
start = time.perf_counter()
model = PenalizedClassifier(alpha=1e-4, n_jobs=2, verbose=1).fit(mainstay.scan({path!r}, memory="500M"), "label")
print(json.dumps([time.perf_counter() - start, model.n_iter_, model.dual_gap_]), flush=True)
"""


def twenty_gigabytes(n=50_000_000):
    """A set larger than most laptops' memory, within 2 GB."""
    folder = Path(tempfile.mkdtemp(prefix="mainstay-huge-"))
    try:
        write_set(folder, n, COLUMNS)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        peak, lines = harness.peak_memory(HUGE.format(path=str(folder)), lines=True)
    finally:
        shutil.rmtree(folder)
    seconds, passes, gap = json.loads(lines[-2])
    yield (
        f"Logistic, {n:,} x {COLUMNS}, {size:.1f} GB of Parquet: {seconds:.0f} s, {passes} passes, gap {gap:.1e}, "
        f"peak memory {peak:.0f} MB (bar <= 2000: {verdict(peak <= 2000)})."
    )
