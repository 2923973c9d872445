"""Area d of the attack: threads, forks, copies and memory. ``python attack.py SECONDS SEED``.

Every round draws a seed, rows and an estimator and puts them to one of the trials below. A failure
prints the seed and the fewest rows with which the trial still fails.
"""

import copy
import multiprocessing
import os
import pickle
import random
import sys
import threading
import time
import warnings

import numpy as np

import mainstay

ESTIMATORS = (
    lambda: mainstay.PenalizedClassifier(alpha=0.1),
    lambda: mainstay.PenalizedClassifier(loss="hinge", penalty="l1", alpha=0.05),
    lambda: mainstay.StableSVC(k=0.5),
    lambda: mainstay.StableLogisticRegression(k=0.5),
    lambda: mainstay.EllipsoidSVC(),
    lambda: mainstay.MissingFeatureSVC(budget=0.5),
    lambda: mainstay.ConicSVC(),
    lambda: mainstay.RolinClassifier(n_repeats=1, n_folds=2, random_state=0),
    lambda: mainstay.RobustReGEC(random_state=0),
    lambda: mainstay.RobustLogisticRegression(alpha=0.1),
)
# Bytes by which 2,000 fits may grow the process: allocators keep some pages.
MOST_GROWTH = 32 * 2**20


def rows(seed, n):
    """Two classes that overlap, or three."""
    rng = np.random.default_rng(seed)
    classes = 2 + seed % 2
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 4)) + np.eye(4)[y]
    return X, y


def fitted(which, X, y):
    """A fit without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[which]().fit(X, y)


def threads(which, X, y):
    """The same fit in eight threads gives the same bits, eight times."""
    found = [None] * 8

    def work(k):
        found[k] = fitted(which, X, y).decision_function(X).tobytes()

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(found)) == 1, f"{len(set(found))} different answers"


def changed_rows(which, X, y):
    """Rows that another thread changes during the fit: a model, or a reason."""
    X = X.copy()
    stop = threading.Event()

    def meddle():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(len(X))] *= -1.0

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        fitted(which, X, y)
    except ValueError:
        pass
    finally:
        stop.set()
        meddler.join()


def _in_child(which, X, y, pipe):
    pipe.send(fitted(which, X, y).decision_function(X).tobytes())


def fork(which, X, y):
    """A forked child fits as its parent does."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    here = fitted(which, X, y).decision_function(X).tobytes()
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = context.Process(target=_in_child, args=(which, X, y, send))
        child.start()
    assert receive.poll(120), "the child hangs"
    there = receive.recv()
    child.join()
    assert here == there, "the child has another answer"


def copies(which, X, y):
    """Pickled, deeply copied and cloned models are the model."""
    model = fitted(which, X, y)
    scores = model.decision_function(X).tobytes()
    others = [
        pickle.loads(pickle.dumps(model, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)
    ]
    others += [copy.deepcopy(model), copy.copy(model)]
    for other in others:
        assert other.decision_function(X).tobytes() == scores, "a copy has other scores"
        assert other.get_params() == model.get_params(), "a copy has other parameters"


TRIALS = (threads, changed_rows, fork, copies)


def fault(trial, which, seed, n):
    """What is wrong, if anything."""
    try:
        trial(which, *rows(seed, n))
    except BaseException as problem:  # a panic of the compiled part is no Exception
        return f"{type(problem).__name__}: {problem}"
    return None


def attack(seconds, seed):
    """Rounds until the time is over: (tries, failures)."""
    tries, failures = 0, []
    begun = time.monotonic()
    while time.monotonic() - begun < seconds and len(failures) < 10:
        own = seed + tries
        chance = random.Random(own)
        trial, which = TRIALS[tries % len(TRIALS)], chance.randrange(len(ESTIMATORS))
        n = chance.randrange(12, 60)
        tries += 1
        if (found := fault(trial, which, own, n)) is None:
            continue
        for fewer in range(6, n):
            if (smaller := fault(trial, which, own, fewer)) is not None:
                n, found = fewer, smaller
                break
        name = type(ESTIMATORS[which]()).__name__
        failures.append(f"seed {own}: {trial.__name__} of {name}, {n} rows: {found}")
    return tries, failures


def resident():
    """Bytes of memory that the process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(fits):
    """By how many bytes the process grows over so many fits, all estimators in turn."""
    X, y = rows(0, 24)
    for k in range(max(2 * len(ESTIMATORS), fits // 10)):  # allocators settle first
        fitted(k % len(ESTIMATORS), X, y)
    before = resident()
    for k in range(fits):
        fitted(k % len(ESTIMATORS), X, y)
    return resident() - before


def main():
    """The long run."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    tries, failures = attack(seconds, seed)
    note = ""
    if os.path.exists("/proc/self/statm"):
        tries += 1
        grown = growth(2000)
        note = f"2000 fits grew the process by {grown / 2**20:.1f} MB"
        if grown > MOST_GROWTH:
            failures.append(note)
    print(f"python: {tries} tries, {len(failures)} failures")
    if note and note not in failures:
        print(f"  {note}")
    for failure in failures:
        print(f"  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
