"""Interleaved timing of us and our peers in one process, and the tables they end up in.

A case runs every contender in turn, round after round, so that a busy moment of the machine hits all
of them alike; the median of the rounds counts. Every contender returns the fitted object; the case
turns it into the relative gap it reached, measured by the same yardstick for all.
"""

import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Contender:
    """A name, something to run, and how far its answer is from the optimum.

    ``scale`` is what the time is multiplied by where only some of many like problems are run.
    """

    name: str
    run: object
    gap: object = None
    scale: float = 1.0


@dataclass
class Bar:
    """A promise: ``peer time / our time`` is at least ``ratio``."""

    peer: str
    ratio: float


@dataclass
class Case:
    """One table row: us (the first contender) against the others."""

    title: str
    contenders: list
    bars: list = field(default_factory=list)
    rounds: int = 5
    note: str = ""
    #: A promise about our own time, where there is one.
    limit: float | None = None
    #: Wall time, or `time.process_time` where threads of others should not count.
    clock: object = time.perf_counter


@dataclass
class Result:
    case: Case
    seconds: dict
    gaps: dict

    def ratio(self, peer):
        ours = self.case.contenders[0].name
        return self.seconds[peer] / self.seconds[ours]

    def kept(self):
        return [(bar, self.ratio(bar.peer)) for bar in self.case.bars]


def settle():
    """Let scikit-learn look for plugins, as it does when it first checks an array in a process.

    That takes some 15 ms once, whoever comes first; it is part of no fit.
    """
    from sklearn.utils import check_array

    check_array([[0.0]])


def measure(case):
    """Median seconds and gap of every contender."""
    settle()
    times = {c.name: [] for c in case.contenders}
    answers = {}
    for _ in range(case.rounds):
        for contender in case.contenders:
            start = case.clock()
            answers[contender.name] = contender.run()
            times[contender.name].append(contender.scale * (case.clock() - start))
    gaps = {c.name: c.gap(answers[c.name]) for c in case.contenders if c.gap is not None}
    return Result(case, {name: median(t) for name, t in times.items()}, gaps)


def table(results):
    """The results as Markdown."""
    lines = ["| case | who | seconds | gap reached | their time / ours | bar |", "|---|---|---|---|---|---|"]
    for result in results:
        for k, contender in enumerate(result.case.contenders):
            name = contender.name
            gap = f"{result.gaps[name]:.1e}" if name in result.gaps else ""
            ratio = "" if k == 0 else f"{result.ratio(name):.2f}"
            bar = ""
            if k == 0 and result.case.limit is not None:
                limit, seconds = result.case.limit, result.seconds[name]
                bar = f"<= {limit:g} s: {'kept' if seconds <= limit else 'MISSED'} ({seconds / limit:.2f} of it)"
            for promise, value in result.kept():
                if promise.peer == name:
                    bar = f">= {promise.ratio:g}: {'kept' if value >= promise.ratio else 'MISSED'}"
            title = result.case.title if k == 0 else ""
            lines.append(f"| {title} | {name} | {result.seconds[name]:.4g} | {gap} | {ratio} | {bar} |")
        if result.case.note:
            lines.append(f"| | *{result.case.note}* | | | | |")
    return "\n".join(lines)


def growth(sizes, run):
    """Seconds at each size and the slope of log time against log size."""
    import numpy as np

    seconds = []
    for size in sizes:
        work = run(size)
        work()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        seconds.append(median(times))
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return seconds, float(slope)


def peak_memory(code, lines=False):
    """Peak memory in MB of a fresh interpreter that runs ``code``, and with ``lines`` what it printed.

    Read from /proc where there is one: ``ru_maxrss`` begins with what the parent held when it forked.
    """
    tail = """
from pathlib import Path
status = Path("/proc/self/status")
if status.exists():
    print(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1])
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code + "\n" + tail], capture_output=True, text=True, check=True)
    peak = int(done.stdout.split()[-1]) / 1024
    return (peak, done.stdout.splitlines()) if lines else peak


def own_peak():
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
