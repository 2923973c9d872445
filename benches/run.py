"""Measure mainstay and its peers in one run and rewrite BENCHMARKS.md.

    cargo xtask bench                 everything
    cargo xtask bench penalized       one group
    cargo xtask bench --data DIR      also the cases on real data (files as docs/reproduce.md describes them)
    cargo xtask bench guide --data DIR    the figures on the guide's pages
    cargo xtask bench depth --data DIR    the figures on the pages in depth
    cargo xtask bench scale --long    also what takes an hour; --huge: also 20 GB of rows

Run it on an otherwise idle machine.
"""

import argparse
import importlib
import os
import platform
from pathlib import Path

import numpy
import scipy
import sklearn

import harness
import mainstay

ROOT = Path(__file__).resolve().parent.parent
GROUPS = [
    "penalized",
    "rolin",
    "conic",
    "missing",
    "stable",
    "measurement",
    "robust",
    "reading",
    "scale",
]
#: Programs that measure what pages say, not times beside peers.
PAGES = ["guide", "depth"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=GROUPS, help=f"guide, depth, or of {', '.join(GROUPS)}")
    parser.add_argument("--data", type=Path, default=os.environ.get("MAINSTAY_DATA"))
    parser.add_argument("--long", action="store_const", const="long", dest="length", help="also long runs")
    parser.add_argument("--huge", action="store_const", const="huge", dest="length", help="also huge data")
    args = parser.parse_args()
    if args.length:
        os.environ["MAINSTAY_BENCH_LENGTH"] = args.length
    groups = args.groups or GROUPS
    pages = [group for group in groups if group in PAGES]
    for group in pages:
        if args.data is None:
            parser.error(f"{group} needs --data DIR")
        importlib.import_module(group).write(args.data)
    for group in (group for group in groups if group not in PAGES):
        module = importlib.import_module(f"cases_{group}")
        print(f"== {group}", flush=True)
        section = ROOT / "benches" / "results" / f"{group}.md"
        section.parent.mkdir(exist_ok=True)
        # What a long run has so far outlives it.
        part = section.with_suffix(".part")
        results = []
        for case in module.cases(args.data):
            results.append(harness.measure(case))
            print(harness.table(results[-1:]), flush=True)
            part.write_text(harness.table(results) + "\n")
        text = [f"## {module.TITLE}", "", harness.table(results), ""]
        for line in getattr(module, "growth", lambda data: [])(args.data):
            print(line, flush=True)
            text.append(line)
            part.write_text("\n".join(text).rstrip() + "\n")
        section.write_text("\n".join(text).rstrip() + "\n")
        part.unlink(missing_ok=True)
    write_report()


def write_report():
    """Join the sections of all groups that were ever measured."""
    head = f"""# Benchmarks

Written by `cargo xtask bench`; every table comes from one process that runs us and the peers in turn and takes
medians. Ratios compare; seconds depend on the machine ({os.cpu_count()} cores, {platform.machine()}, Python
{platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__},
mainstay {mainstay.__version__}). "Gap reached" is (objective - certified lower bound) / max(1, objective) for every
contender alike, evaluated on our problem definition with our certificate's lower bound.

"""
    sections = [ROOT / "benches" / "results" / f"{group}.md" for group in GROUPS]
    body = "\n".join(s.read_text() for s in sections if s.exists())
    (ROOT / "BENCHMARKS.md").write_text(head + body)


if __name__ == "__main__":
    main()
