"""Measured figures in the text of pages, between ``<!--=key-->`` and ``<!--=-->``.

They stand in the Markdown itself, so that a page reads the same wherever it is shown; what is there is compared with the
measurements whenever the site is built.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches" / "results"
# What measures it.
MEASURED = {
    "guide.json": "cargo xtask bench guide --data DIR",
    "depth.json": "cargo xtask bench depth --data DIR",
    "labels.json": "python docs/methods/label_audit_table.py DIR",
}
# Figures of benchmarks that pages mention: file, beginning of the case, beginning of the contender, column.
SECONDS, RATIO = 2, 4
BENCHMARKS = {
    "bench_conic_10": ("conic", "1,000 x 10,", "mainstay", SECONDS),
    "bench_conic_30": ("conic", "1,000 x 30, none", "mainstay", SECONDS),
    "bench_conic_many": ("conic", "10,000 x 30,", "mainstay", SECONDS),
    "bench_missing_spambase": (
        "missing",
        "spambase, all 4,601 rows, standardised",
        "mainstay",
        SECONDS,
    ),
    "bench_missing_mnist": ("missing", "mnist_4v7, all", "mainstay", SECONDS),
    "bench_average": ("robust", "average, 10,000 x 50", "mainstay", SECONDS),
    "bench_average_ratio": ("robust", "average, 10,000 x 50", "scikit-learn", RATIO),
    "bench_worst_ratio": ("robust", "worst, hinge, 5,000 x 50", "Clarabel", RATIO),
    "bench_worst_logistic": ("robust", "worst, logistic, 5,000 x 50", "mainstay", SECONDS),
    "bench_worst_logistic_ratio": ("robust", "worst, logistic, 5,000 x 50", "Clarabel", RATIO),
    "bench_worst_reduced": ("robust", "worst, hinge, 5,000 x 50", "Clarabel, without", RATIO),
    "bench_worst_logistic_reduced": (
        "robust",
        "worst, logistic, 5,000 x 50",
        "Clarabel, without",
        RATIO,
    ),
    "bench_stable_svc": ("stable", "SVM, 10,000 x 50", "LinearSVC", RATIO),
    "bench_stable_svm": ("stable", "SVM, 5,000 x 100", "Clarabel", RATIO),
    "bench_stable_logistic": ("stable", "logistic, 5,000 x 100", "Clarabel", RATIO),
    "bench_stable_lr": (
        "stable",
        "logistic, 10,000 x 50, alpha = 0.1, k = 0.5",
        "LogisticRegression",
        RATIO,
    ),
    "bench_paper_50": ("rolin", "200 x 50", "LogisticRegressionCV", RATIO),
    "bench_paper_5000": ("rolin", "200 x 5,000", "LogisticRegressionCV", RATIO),
    "bench_paper_40000": ("rolin", "200 x 40,000", "LogisticRegressionCV", RATIO),
    "bench_worst": ("robust", "worst, hinge, 5,000 x 50", "mainstay", SECONDS),
    "bench_dro": ("stable", "SVM, 10,000 x 50", "dro, CVaR", RATIO),
    "bench_rolin": ("rolin", "200 x 5,000", "mainstay, extended", SECONDS),
    "bench_rolin_cv": ("rolin", "200 x 5,000", "LogisticRegressionCV", SECONDS),
}
FOLDERS = (".", "guide", "methods", "coming-from")
PLACE = re.compile(r"<!--=(\w+)(?::([^\s-]+))?-->(.*?)<!--=-->", re.DOTALL)


def measured():
    """Every figure by its key."""
    found = {}
    for name in MEASURED:
        own = json.loads((RESULTS / name).read_text(encoding="utf-8"))
        assert not own.keys() & found.keys(), "a key of two figures"
        found |= own
    found |= {key: benchmark(*place) for key, place in BENCHMARKS.items()}
    return found | {"bench_rolin_ratio": found["bench_rolin_cv"] / found["bench_rolin"]}


def benchmark(file, case, who, column):
    """The cell of a table of benchmarks."""
    at = ""
    for line in (RESULTS / f"{file}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6:
            at = cells[0] or at
            if at.startswith(case) and cells[1].startswith(who):
                return float(cells[column])
    raise SystemExit(f"{file}.md has no {who!r} under {case!r}")


def shown(value, form):
    """A figure as pages write it: three digits without the zero in front unless ``form`` says otherwise."""
    if isinstance(value, str):
        return value
    if form == "percent":
        return f"{100 * value:.0f} %"
    if form == "seconds":  # two digits: more depend on the machine
        return f"{float(f'{value:.2g}'):g}"
    text = format(value, form or ".3f")
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def filled(text, found):
    """The text with every figure as measured."""

    def put(place):
        start = place[0][: place.start(3) - place.start()]
        if place[1] not in found:
            raise SystemExit(f"nothing has measured {place[1]}: {', '.join(MEASURED.values())}")
        return f"{start}{shown(found[place[1]], place[2])}<!--=-->"

    return PLACE.sub(put, text)


def pages():
    """Every page that holds a figure."""
    every = [page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
    return [page for page in every if PLACE.search(page.read_text(encoding="utf-8"))]


def fill(found):
    """Write the measured figures into the pages."""
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8"), found), encoding="utf-8")


def check():
    """Stop where a page does not say what was measured."""
    found = measured()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text, found) != text:
            raise SystemExit(
                f"{page.name}: figures differ from what was measured (benches/results); "
                "`numbers_in_pages.fill(numbers_in_pages.measured())` writes them"
            )
