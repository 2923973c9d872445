"""What a fit over partitions may cost beside its work: many partitions, memory, checkpoints, lost workers, failures.

Each function yields lines of Markdown with the bar they are held to.
"""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import harness
import mainstay
from mainstay import PenalizedClassifier, StableSVC
from mainstay._config import Checkpoint
from scale_data import rows, table, write_parquet


def verdict(kept):
    return "kept" if kept else "MISSED"


def cluster(workers=2, **options):
    """Worker processes of one thread each; closes with the client."""
    from distributed import Client, LocalCluster

    made = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50, **options
    )
    return made, Client(made)


def seconds_per_pass(fit):
    """Mean wall time of a pass, the first look included, once all is warm."""
    fit()
    start = time.perf_counter()
    model = fit()
    return (time.perf_counter() - start) / model.n_iter_, model.n_iter_


def tiny_partitions():
    """A thousand partitions of a hundred rows."""
    import dask.array as da
    import pyarrow.parquet as pq

    model = PenalizedClassifier(alpha=1e-3)
    X, y = rows(100_000, 10, seed=3)
    blocks = da.from_array(X, chunks=(100, 10)), da.from_array(y, chunks=100)
    made, client = cluster()
    with made, client:
        seconds, passes = seconds_per_pass(lambda: model.fit(*blocks))
    yield f"- Dask, 1,000 blocks of 100 rows, two worker processes: {seconds:.2f} s per pass, {passes} passes (bar <= 0.3: {verdict(seconds <= 0.3)})"
    with tempfile.TemporaryDirectory() as folder:
        for i in range(1000):
            some = slice(100 * i, 100 * i + 100)
            pq.write_table(table(X[some], y[some]), Path(folder) / f"{i:04d}.parquet")
        seconds, passes = seconds_per_pass(lambda: model.fit(mainstay.scan(f"{folder}/*.parquet"), "label"))
    yield f"- `scan`, 1,000 Parquet files of 100 rows: {seconds:.2f} s per pass, {passes} passes (bar <= 0.3: {verdict(seconds <= 0.3)})"


SCAN = """
import mainstay
from mainstay import PenalizedClassifier
PenalizedClassifier(alpha=1e-4).fit(mainstay.scan({path!r}, memory="200M"), "label")
"""


def memory(folder, small=400_000):
    """Peak memory at ten times the rows."""
    command = [sys.executable, "-m", "mainstay"]
    sizes = (small, 10 * small)
    files = [write_parquet(folder / f"{n}.parquet", n) for n in sizes]
    model = str(folder / "model.json")
    fit = [*command, "fit", files[0], "--target", "label", "--method", "l2", "--raw", "--stream", "-o", model]
    subprocess.run(fit, check=True, capture_output=True)
    yield f"| peak memory in MB | {sizes[0]:,} rows | {sizes[1]:,} rows | ratio | bar |"
    yield "|---|---|---|---|---|"
    for what in ("fit", "predict", "certify"):
        found = []
        for path in files:
            if what == "fit":
                found.append(harness.peak_memory(SCAN.format(path=str(path))))
            else:
                found.append(peak_of([*command, what, model, str(path), "-o", os.devnull]))
        ratio = found[1] / found[0]
        yield f"| {what} | {found[0]:.0f} | {found[1]:.0f} | {ratio:.2f} | <= 1.5: {verdict(ratio <= 1.5)} |"
    for path in files:
        path.unlink()


def peak_of(command):
    """Peak memory of a command in MB, alone in a process that starts it."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


STABLE = """
import sys
from pathlib import Path
sys.path.insert(0, {benches!r})
from scale_data import rows
from mainstay import {name}
def held(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) / 1024
X, y = rows(1_000_000, 20, seed=4)
Path("/proc/self/clear_refs").write_text("5")
before = held("VmRSS")
model = {name}({options}).fit(X, y)
print(held("VmHWM") - before, model.dual_gap_)
"""


def beyond_the_data():
    """Memory of fits in memory beside the rows; Linux only."""
    if not Path("/proc/self/clear_refs").exists():
        return
    for name, options in (("StableSVC", "k=0.7, C=1e-5"), ("PenalizedClassifier", "alpha=1e-4")):
        code = STABLE.format(benches=str(Path(__file__).parent), name=name, options=options)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peak, gap = map(float, done.stdout.split())
        bar = f" (bar <= 80: {verdict(peak <= 80)})" if name == "StableSVC" else ""
        yield f"- `{name}`, 1,000,000 x 20 (160 MB): {peak:.0f} MB beside the data{bar}, gap {gap:.1e}"


#: Rows of a block of files and of rows in memory.
BLOCK = 16_384


def add_one(model, seen, where, *args):
    model.fit(*args)
    content = model.coef_.tobytes() + model.intercept_.tobytes()
    seen[where] = hashlib.sha256(content).hexdigest()[:12], model.objective_, model.dual_gap_


def one_hash(n=200_000, p=20):
    """The bits of one fit from everywhere, and how far objectives are apart."""
    import dask.array as da
    import pyarrow.parquet as pq

    X, y = rows(n, p, seed=8)
    blocks = da.from_array(X, chunks=(BLOCK, p)), da.from_array(y, chunks=BLOCK)
    models = PenalizedClassifier(alpha=1e-4), PenalizedClassifier("hinge", alpha=1e-4), StableSVC(k=0.7, C=1e-4)
    found = [{} for _ in models]

    def add(where, *args):
        for model, seen in zip(models, found, strict=True):
            add_one(model, seen, where, *args)

    add("memory", X, y)
    add("Dask, no cluster", *blocks)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table(X, y), Path(folder) / "rows.parquet")
        add("file", mainstay.scan(folder), "label")
    for workers in (1, 2, 4):
        made, client = cluster(workers)
        with made, client:
            add(f"Dask, {workers} workers", *blocks)
    made, client = cluster(2)
    with made, client:
        for model, seen in zip(models, found, strict=True):
            start = time.perf_counter()
            model.fit(*blocks)
            client.wait_for_workers(2)
            victim = next(iter(made.workers.values())).pid
            timer = threading.Timer(0.4 * (time.perf_counter() - start), os.kill, (victim, signal.SIGKILL))
            timer.start()
            add_one(model, seen, "Dask, a worker killed", *blocks)
            timer.join()
    for model, seen in zip(models, found, strict=True):
        (own, objective, gap), *others = seen.values()
        same = {bits for bits, _, _ in others} == {own}
        apart = max(abs(value - objective) - (gap + other) * max(1, objective) for _, value, other in others)
        yield (
            f"- `{model}`, {n:,} x {p}: {', '.join(seen)}: {'one hash' if same else 'SEVERAL HASHES'} "
            f"({own}: {verdict(same)}); objectives within the sum of both gaps: {verdict(apart <= 0)}"
        )


class StopError(Exception):
    """Stands for a crash."""


def checkpoints(p=50):
    """Size of a checkpoint, and the passes that going on from it costs."""
    import dask.array as da

    X, y = rows(100_000, p, seed=5)
    blocks = da.from_array(X, chunks=(10_000, p)), da.from_array(y, chunks=10_000)
    write = Checkpoint.write
    for model in (PenalizedClassifier(alpha=1e-5), StableSVC(k=0.7, C=1e-4)):
        whole = model.fit(*blocks).n_iter_
        worst, size = 0, 0
        for stop in range(1, whole - 1):
            done = []

            def broken(self, content, done=done, stop=stop):
                write(self, content)
                done.append(len(content))
                if len(done) == stop:
                    raise StopError

            with tempfile.TemporaryDirectory() as folder, mainstay.config(checkpoint=f"{folder}/fit.ckpt"):
                Checkpoint.write = broken
                try:
                    model.fit(*blocks)
                except StopError:
                    pass
                finally:
                    Checkpoint.write = write
                resumed = model.fit(*blocks).n_iter_
            # The first look and `stop` passes were made before.
            worst, size = max(worst, 1 + stop + resumed - whole), max(size, *done)
        most = 50 * p + 2000
        yield (
            f"- `{type(model).__name__}`, p = {p}: checkpoint of {size} bytes (bar <= {most}: {verdict(size <= most)}), "
            f"going on costs at most {worst} passes more of {whole} (bar <= 2: {verdict(worst <= 2)})"
        )


def slow_blocks(n=400_000, p=50, parts=8):
    """Blocks that every pass makes anew, so that a lost one costs what it cost."""
    import dask.array as da

    def make(block_info=None):
        at = block_info[None]["array-location"][0][0]
        return rows(n // parts, p, seed=at)[0]

    def label(block_info=None):
        at = block_info[None]["array-location"][0][0]
        return rows(n // parts, p, seed=at)[1]

    chunks = ((n // parts,) * parts,)
    X = da.map_blocks(make, chunks=(*chunks, (p,)), dtype=float)
    return X, da.map_blocks(label, chunks=chunks, dtype=int)


def calm_fit(n, keep, workers):
    """Seconds and passes of a warm fit that nothing disturbs."""
    made, client = cluster(workers)
    with made, client, mainstay.config(keep=keep):
        blocks, model = slow_blocks(n, parts=n // 50_000), PenalizedClassifier(alpha=1e-4)
        model.fit(*blocks)
        start = time.perf_counter()
        passes = model.fit(*blocks).n_iter_
        return time.perf_counter() - start, passes


#: When a worker is killed, as a share of the undisturbed fit.
KILLED_AT = 0.4


def lost_worker():
    """A worker that is killed in the middle of a pass, with rows that are read anew in every pass and rows that are kept.

    Until another process has started, a second or two, half of the threads are gone: in fits as short as the first three
    that is most of their passes. What one worker takes for the rest of the fit, measured, is what no engine could avoid where
    no other worker comes in time. The last fit is long enough to tell what the rows that are read again cost.
    """
    for n, keep in ((400_000, False), (400_000, True), (2_000_000, True), (8_000_000, True)):
        alone, _ = calm_fit(n, keep, 1)
        made, client = cluster()
        with made, client, mainstay.config(keep=keep):
            blocks, model = slow_blocks(n, parts=n // 50_000), PenalizedClassifier(alpha=1e-4)
            model.fit(*blocks)
            start = time.perf_counter()
            passes, coef = model.fit(*blocks).n_iter_, model.coef_
            calm = time.perf_counter() - start
            victim = next(iter(made.workers.values())).pid
            timer = threading.Timer(KILLED_AT * calm, os.kill, (victim, signal.SIGKILL))
            timer.start()
            start = time.perf_counter()
            model.fit(*blocks)
            more = time.perf_counter() - start - calm
        same = "the same bits" if np.array_equal(coef, model.coef_) else "OTHER BITS"
        lost = more / (calm / passes)
        half = (1 - KILLED_AT) * (alone - calm) / (calm / passes)
        rows = "rows kept in the workers" if keep else "rows read in every pass"
        yield (
            f"- a worker of two killed in mid-pass, {n:,} x 50, {rows}: {lost:.1f} passes' time more (bar <= 2: {verdict(lost <= 2)}), "
            f"{more:.1f} s of a fit of {calm:.1f} s; the rest of the fit on the other worker alone takes {half:.1f} passes' time more; {same}"
        )


def proved_again(n=400_000, p=50):
    """Both bounds of a fit from one more pass over its rows, by the points that the model keeps alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder) / "rows.parquet", n, p)
        for model in (
            PenalizedClassifier(alpha=1e-4),
            PenalizedClassifier("hinge", alpha=1e-4),
            StableSVC(k=0.7, C=1e-5),
        ):
            with mainstay.config(proof=True):
                model.fit(mainstay.scan(path), "label")
            start = time.perf_counter()
            found = mainstay.verify(model, mainstay.scan(path), "label")
            seconds = time.perf_counter() - start
            kept = found.proved and found.objectives_as_claimed and found.gap <= model.dual_gap_ * (1 + 1e-6)
            yield (
                f"- `{model}`, {n:,} x {p}: gap {model.dual_gap_:.2e}, proved again from the file in one pass: "
                f"{found.gap:.2e}, the objective to nine digits ({verdict(kept)}; {seconds:.1f} s with the pass that learns the columns)"
            )


def fatal_failure():
    """A partition that cannot be read."""
    import dask.array as da

    X, y = rows(100_000, 10, seed=6)

    def broken(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 7:
            raise OSError("the disk is gone")
        return block

    X = da.from_array(X, chunks=(10_000, 10)).map_blocks(broken, dtype=float)
    y = da.from_array(y, chunks=10_000)
    made, client = cluster()
    with made, client:
        start = time.perf_counter()
        try:
            PenalizedClassifier().fit(X, y)
            text = "no error"
        except Exception as error:
            text = str(error)
        seconds = time.perf_counter() - start
    named = "partition 7" in text and "the disk is gone" in text
    yield f"- a partition that cannot be read ends the fit after {seconds:.1f} s (bar <= 60: {verdict(seconds <= 60)}): {'it is named' if named else 'NOT named: ' + text[:80]}"
