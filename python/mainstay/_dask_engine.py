"""Asks are put to partitions that live in Dask: which tasks there are, and what they do.

Workers import this module and the compiled one, not the estimators.
"""

import os
import time

import numpy as np

from mainstay import _partitioned
from mainstay._config import keeps
from mainstay._dask_recipes import Bundle, Recipe
from mainstay._partitioned import FAN

# Partitions beyond which several share a task before it is known how many rows they hold.
_MANY = 128
# Tasks of a pass for each thread: more would only keep the scheduler busy.
_TASKS_PER_THREAD = 2
# Bytes of rows that a task may hold.
_TASK_BYTES = 256e6
# Bytes of the answers of all tasks up to which the client merges them; workers merge larger ones.
_GATHERED = 32e6
# Bytes of a question to all tasks up to which every task brings its own.
_BROUGHT = 1e6
# Seconds spent at most to find out which partition cannot be had.
_SEARCH = 30
# Errors of the cluster itself, which no partition explains.
_OF_DASK = ("KilledWorker", "CancelledError", "FutureCancelledError", "FuturesCancelledError")


class Engine:
    """Puts asks to partitions that live in Dask.

    A task looks at neighbouring partitions and merges their answers as far up the tree as it holds
    whole branches. However partitions are shared out, the tree is the same, and so are the bits.
    """

    def __init__(self, parts, columns, rows=None):
        """``rows`` tells how many there are, where that is known before they are read."""
        import dask

        self.dask, self.columns, self.parts = dask, columns, parts
        self.client = _client()
        self.threads = _threads(self.client)
        self.rows = None if rows is None or rows != rows else int(rows)
        self.kept, self.units, self.depth = False, [], 0

    def _bytes(self):
        """Bytes of all rows."""
        return self.rows * (self.columns + 2) * 8

    def open(self):
        """Share the partitions out; keep their rows with the workers, if they have the memory."""
        first, seen = [], 0
        if self.rows is None:
            first, seen = self._first_units()
        self.kept = keeps(self._bytes() / _memory(self.client))
        many, total = len(self.parts) - seen, self._bytes()
        tasks = _TASKS_PER_THREAD * self.threads
        size, self.depth = _bundle(many, tasks, total * many / len(self.parts))
        # The first tasks hold fewer partitions: what the others merge is no larger a branch.
        while seen % FAN**self.depth or (first and FAN**self.depth > first[0][1]):
            self.depth -= 1
        rest = [self._unit(at, size) for at in range(seen, len(self.parts), size)]
        if self.kept:
            rest = self._persist(rest)
        else:
            first = [(at, count, None) for at, count, _ in first]
        self.units = first + rest

    def _first_units(self):
        """Read some partitions, one or a few for every thread, which tell how large all are."""
        size = 1 if len(self.parts) <= _MANY else FAN
        ends = range(0, min(len(self.parts), size * self.threads), size)
        first = self._persist([self._unit(at, size) for at in ends])
        count = self.dask.delayed(_count, pure=False)
        seen = sum(count for _, count, _ in first)
        rows = sum(self._results([count(task) for _, _, task in first]))
        self.rows = -(-rows * len(self.parts) // seen)
        return first, seen

    def _unit(self, first, size):
        """Partitions that share a task: where they begin, how many they are, and the task."""
        count = min(size, len(self.parts) - first)
        blocks = self.dask.delayed(_blocks, pure=False)(first, self._partitions(first, count))
        return first, count, blocks

    def _persist(self, units):
        """Have the rows of these tasks stay with the workers."""
        tasks = [task for _, _, task in units]
        if self.client is not None:
            tasks = self.client.persist(tasks, retries=3)
        elif tasks:
            # Done at once: what cannot be read is told here.
            tasks = self._told(lambda: self.dask.persist(*tasks))
        return [(*unit[:2], task) for unit, task in zip(units, tasks, strict=True)]

    def counted(self, rows):
        """Let the rows go if there are more of them than were expected."""
        self.rows = rows
        if self.kept and not keeps(self._bytes() / _memory(self.client)):
            self.kept = False
            self.units = [(at, count, None) for at, count, _ in self.units]

    def run(self, ask, names):
        """Put ``ask`` to all partitions and merge their answers."""
        delayed = self.dask.delayed
        state = ask, names
        if len(ask) * len(self.units) > _BROUGHT:
            # A task of its own: it is sent once to every worker, not once for every task.
            state = delayed(_state, pure=False)(ask, names)
        if _partitioned.in_sequence(ask):
            follow = delayed(_follow, pure=False)
            for at, count, task in self.units:
                state = follow(at, self._source(at, count, task), state)
            return self._results([delayed(_last, pure=False)(state)])[0]
        look, size = delayed(_look, pure=False), FAN**self.depth
        level = [look(at, self._source(at, n, task), state, size) for at, n, task in self.units]
        held = [-(-count // size) for _, count, _ in self.units]
        if sum(held) * self._message_bytes(names) > _GATHERED:
            return self._joined(level, held)
        lists = self._results(level)
        return _partitioned.merge([message for some in lists for message in some])

    def _source(self, at, count, task):
        """Rows of a unit: those that are kept, or the partitions themselves."""
        return self._partitions(at, count) if task is None or not self.kept else task

    def _partitions(self, first, count):
        some = self.parts[first : first + count]
        return Bundle(some) if all(isinstance(part, Recipe) for part in some) else some

    def _message_bytes(self, names):
        """Bytes of an answer, about: its part of the sample at first, then the curvature."""
        if names is None:
            return 1.2 * 20_000 * 8 * (self.columns + 4) / max(len(self.parts), 1)
        return 4 * (self.columns + 1) ** 2 * max(len(names) - 1, 1)

    def _joined(self, level, held):
        """Have workers merge the answers, so that the client sees one."""
        join = self.dask.delayed(_join, pure=False)
        while sum(held) > 1:
            groups = _groups(held)
            level = [join([level[i] for i in some], cut) for some, cut in groups]
            held = [1] * len(level)
        return self._results(level)[0][0]

    def _results(self, tasks):
        if self.client is None:
            return self._told(lambda: self.dask.compute(*tasks))
        return self._told(lambda: self.client.gather(self.client.compute(tasks, retries=3)))

    def _told(self, work):
        """Do something with partitions; an error names the one that cannot be had."""
        try:
            return work()
        except Exception as error:
            if type(error).__name__ in _OF_DASK or str(error).startswith("partition "):
                raise
            index = self._failing()
            if index is None:
                raise
            text = f"partition {index}: {type(error).__name__}: {error}"
            raise RuntimeError(text) from error

    def _failing(self):
        """Find a partition that cannot be had; None if there is none, or not in time."""
        have, end = self.dask.delayed(_nothing, pure=False), time.monotonic() + _SEARCH
        tasks = [have(part) for part in self.parts]
        if self.client is None:
            for index, task in enumerate(tasks):
                try:
                    self.dask.compute(task)
                except Exception:
                    return index
                if time.monotonic() > end:
                    break
            return None
        from distributed import wait

        futures = self.client.compute(tasks)
        try:
            wait(futures, timeout=_SEARCH, return_when="FIRST_COMPLETED")
            while any(future.status == "pending" for future in futures):
                if any(future.status == "error" for future in futures) or time.monotonic() > end:
                    break
                time.sleep(0.05)
            failed = (i for i, future in enumerate(futures) if future.status == "error")
            return next(failed, None)
        except TimeoutError:
            return None
        finally:
            self.client.cancel(futures)


def _bundle(many, tasks, total):
    """Partitions for each task, and how many levels of the tree lie within it.

    At most ``tasks`` tasks, unless their rows, ``total`` bytes in all, would be too many for one.
    """
    size = max(1, min(-(-many // tasks), int(_TASK_BYTES * many / max(total, 1))))
    depth = 0
    # Whole branches only where rounding makes a task a quarter larger at most.
    while 4 * FAN ** (depth + 1) <= size:
        depth += 1
    branch = FAN**depth
    return -(-size // branch) * branch, depth


def _groups(held):
    """Which lists hold each next ``FAN`` messages, and which of theirs these are."""
    ends = np.cumsum(held).tolist()
    for first in range(0, ends[-1], FAN):
        last = min(first + FAN, ends[-1])
        some = [i for i, end in enumerate(ends) if end > first and end - held[i] < last]
        skipped = ends[some[0]] - held[some[0]]
        yield some, slice(first - skipped, last - skipped)


def _nothing(part):
    """Forget a partition that could be had."""
    if isinstance(part, Recipe):
        part()


def _state(ask, names):
    return ask, names


def _blocks(first, parts):
    """Rows of some partitions as they are kept: pairs of an index and a block."""
    parts = parts.recipes if isinstance(parts, Bundle) else parts
    return [(first + i, _block(first + i, part)) for i, part in enumerate(parts)]


def _block(index, part):
    X, y, weights, errors = _made(index, part) if isinstance(part, Recipe) else part
    if len(X) != len(y):
        raise ValueError(f"partition {index}: {len(X)} rows but {len(y)} labels")
    if errors is not None and np.ndim(errors) == 1:
        errors = np.asarray(errors)[:, None]
    X, weights, errors = (
        given if given is None else np.ascontiguousarray(given, dtype=np.float64)
        for given in (X, weights, errors)
    )
    return _partitioned.block(index, X, y, weights, errors)


def _made(index, part):
    try:
        return part()
    except Exception as error:
        text = f"partition {index}: {type(error).__name__}: {error}"
        raise RuntimeError(text) from error


def _count(blocks):
    return sum(len(block[0]) for _, block in blocks)


def _is_kept(source):
    """Whether these are blocks already: partitions are no pairs."""
    return isinstance(source, list) and isinstance(source[0], tuple) and len(source[0]) == 2


def _look(first, source, state, size):
    """Answers of some partitions, each ``size`` of them merged into one.

    Partitions that are not kept are read ``size`` at a time.
    """
    ask, names = state
    if _is_kept(source):
        return _partitioned.look(ask, source, names, size)
    source = source.recipes if isinstance(source, Bundle) else source
    found = []
    for at in range(0, len(source), size):
        blocks = _blocks(first + at, source[at : at + size])
        found += _partitioned.look(ask, blocks, names, size)
        del blocks
    return found


def _join(lists, cut):
    return [_partitioned.merge([message for some in lists for message in some][cut])]


def _follow(first, source, state):
    """Go on through some partitions: what the next is asked, the names and the last answer."""
    ask, names, *_ = state
    message = None
    for i, block in source if _is_kept(source) else _blocks(first, source):
        ask, message = _partitioned.follow(ask, i, block, names)
    return ask, names, message


def _last(state):
    return state[2]


def _client():
    """Find the current client of dask.distributed; None means that Dask's own scheduler works."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _threads(client):
    """Threads of all workers, or of this machine."""
    if client is None:
        return os.cpu_count() or 1
    return max(1, sum(client.nthreads().values()))


def _memory(client):
    """Bytes of memory of all workers, or of this machine; at least one."""
    if client is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:
        workers = client.scheduler_info()["workers"]
    return max(1, sum(worker.get("memory_limit") or 0 for worker in workers.values()))
