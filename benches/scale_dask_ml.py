"""Penalised logistic regression at 500,000 x 50 on two worker processes: ours, or one of dask-ml's solvers.

    python benches/scale_dask_ml.py mainstay|newton|lbfgs FOLDER

prints processor seconds, user and system, of both workers and of the client (in whose process Dask's scheduler runs), the largest peak memory
of a worker in MB, and the objective. The first fit is counted from when the workers of a fresh cluster have started and the client has imported
what it needs and opened the frame, until the model is there: what workers import for their tasks is part of it. `again` is a second fit in the same
cluster, which imports nothing. The folder holds the rows as Parquet (`scale_data.write_parquet`); both sides read them with `dask.dataframe` and keep
them in the workers' memory. Workers import this file too: it imports nothing heavy by itself.
"""

import json
import os
import resource
import sys
import time

import numpy as np

ROWS, COLUMNS, BLOCK, ALPHA = 500_000, 50, 25_000, 1e-4


def used():
    """Processor seconds and peak memory in MB of this process."""
    with open("/proc/self/status") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    times = resource.getrusage(resource.RUSAGE_SELF)
    return times.ru_utime + times.ru_stime, peak / 1024


def estimator(who):
    """Importing it is no part of the fit."""
    if who == "mainstay":
        from mainstay import PenalizedClassifier

        return PenalizedClassifier(alpha=ALPHA)
    from dask_ml.linear_model import LogisticRegression

    # Theirs is a sum of losses with lamduh = 1 / C times half the squared weights, the intercept among them.
    return LogisticRegression(solver=who, C=1 / (ALPHA * ROWS), tol=1e-6, max_iter=50, penalty="l2")


def fit(who, model, frame):
    if who == "mainstay":
        model.fit(frame, "label")
        return model.coef_.ravel(), float(model.intercept_[0])
    # Kept before arrays are made of it: Dask loses blocks of arrays made from single columns of files (dask#12193).
    frame = frame.persist()
    lengths = (BLOCK,) * (ROWS // BLOCK)
    X = frame.drop(columns="label").to_dask_array(lengths=lengths).persist()
    y = frame["label"].to_dask_array(lengths=lengths).persist()
    del frame
    model.fit(X, y)
    return model.coef_.ravel(), float(np.ravel(model.intercept_)[0])


def counted(client, work):
    """What `work` returns, the processor seconds it takes here and in the workers, and the peak of a worker so far."""
    before, here = client.run(used), used()
    found = work()
    after, now = client.run(used), used()
    cpu = now[0] - here[0] + sum(after[k][0] - before[k][0] for k in after)
    return found, cpu, max(value[1] for value in after.values())


def main(who, folder):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        frame, model = dd.read_parquet(folder), estimator(who)
        start = time.perf_counter()
        (w, b), cpu, peak = counted(client, lambda: fit(who, model, frame))
        seconds = time.perf_counter() - start
        _, again, _ = counted(client, lambda: fit(who, model, frame))
    margins = []
    for name in sorted(os.listdir(folder)):
        import pyarrow.parquet as pq

        frame = pq.read_table(os.path.join(folder, name)).to_pandas()
        margins.append((2 * frame.pop("label").to_numpy() - 1) * (frame.to_numpy() @ w + b))
    value = np.logaddexp(0, -np.concatenate(margins)).mean() + ALPHA / 2 * w @ w
    print(json.dumps({"cpu": cpu, "again": again, "peak": peak, "seconds": seconds, "objective": value}))


if __name__ == "__main__":
    main(*sys.argv[1:])
