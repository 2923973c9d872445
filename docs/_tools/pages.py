"""Pages that are made, not written: the command line, the API, reproductions, benchmarks, the map of methods."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import charts
import numbers_in_pages
import which

import mainstay

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
MADE = DOCS / "generated"
COLUMNS = 82

GROUPS = {
    "Against few samples": ["_rolin", "_robust_cv"],
    "Against wrong labels and outliers": ["_conic"],
    "Against features that go missing": ["_missing"],
    "Against unlucky subsets": ["_stable", "_stable_cv", "_stability"],
    "Against measurement error": ["_ellipsoid", "_eigen", "_uncertainty"],
    "Against several threats at once": ["_robust", "_imputer", "_drop_far"],
    "Baselines": ["_penalized"],
    "Workbench": [
        "_audit",
        "_compare",
        "_comparison",
        "_told",
        "_stress",
        "_validate",
        "_validation",
    ],
    "Raw tables": ["_encoder"],
    "Certificates and files": ["_certify", "_verify", "_files", "_onnx"],
    "Many rows": ["_scan", "_config"],
    "Can I trust it?": ["_summary", "_trust"],
}
PAPERS = {
    "rolin": "ROLIN: few samples",
    "conic": "Conic loss: wrong labels and outliers",
    "missing": "Missing and corrupted features",
    "stable": "Stable SVM and logistic regression",
    "regec": "ReGEC with ellipsoidal uncertainty",
}
# How the results spell a verdict, and how the pages do.
VERDICTS = {
    "agrees": "agrees",
    "better": "better",
    "worse": "worse",
    "fails": "does not reproduce",
    "not-comparable": "not comparable",
}


def write(app, config):
    """Write every made page; unchanged files keep their time, so that Sphinx rebuilds nothing for them."""
    put(MADE / "cli.md", command_line())
    put(MADE / "api.rst", api())
    put(MADE / "reproductions.md", reproductions())
    put(MADE / "benchmarks.md", charts.benchmarks(ROOT / "BENCHMARKS.md", MADE))
    put(MADE / "which.svg", which.picture())
    put(MADE / "mainstay.bib", bibliography())
    for name in ("CHANGELOG", "CONTRIBUTING", "DESIGN"):
        put(MADE / f"{name.lower()}.md", rooted(name))
    numbers_in_pages.check()
    fonts(config)


def put(path, text):
    """Write ``text`` unless it is there already."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def rooted(name):
    """A page that stands at the root of the repository, its links turned to pages of the site."""
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\(([A-Z]+\.md)\)", lambda found: f"]({found[1].lower()})", text)
    return text.replace("](docs/decisions)", "](../decisions/index.md)").replace("](docs/", "](../")


def fonts(config):
    """KaTeX's style sheet and fonts, for the site's own folder of static files."""
    source = Path(config.mainstay_node_modules) / "katex" / "dist"
    if not (source / "katex.min.css").exists():
        raise SystemExit("KaTeX is missing: build with `cargo xtask docs`, which installs it")
    target = MADE / "static" / "katex"
    shutil.copytree(source / "fonts", target / "fonts", dirs_exist_ok=True)
    shutil.copy(source / "katex.min.css", target)
    config.html_static_path.append(str(MADE / "static"))


def run(*args):
    """What the command prints."""
    command = [sys.executable, "-m", "mainstay", *args]
    # A page is narrower than a terminal.
    kept = {"check": True, "capture_output": True, "text": True, "encoding": "utf-8"}
    return subprocess.run(command, env=os.environ | {"COLUMNS": str(COLUMNS)}, **kept).stdout


def command_line():
    """The help of every command, as the program prints it."""
    top = run("--help")
    listed = re.search(r"Commands:\n(.*?)\n\n", top, re.DOTALL).group(1)
    names = [n for n in re.findall(r"^  (\S+)", listed, re.MULTILINE) if n != "help"]
    parts = [
        "# Command line",
        "Printed by the program itself when this page was built. The same text is in the manual pages: "
        "`mainstay manual FOLDER` writes them.",
        block(top),
    ]
    for name in names:
        parts += [f"## `mainstay {name}`", block(run(name, "--help"))]
    parts += ["## Methods and their parameters", block(folded(run("methods")))]
    return "\n\n".join(parts) + "\n"


def folded(text):
    """Lines as long as a page is wide; what goes on is indented like its beginning."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) or 21)
        lines += textwrap.wrap(line, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)


def bibliography():
    """An entry for the software, from the citation file."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    def field(name):
        return re.search(rf"^ *-? *{name}: *(.*)$", text, re.MULTILINE)[1].strip("\"'")

    entries = {
        "title": field("title"),
        "author": f"{{{field('name')}}}",
        "version": field("version"),
        "url": field("repository-code"),
    }
    lines = [f"  {name:7} = {{{value}}}," for name, value in entries.items()]
    return "\n".join(["@software{mainstay,", *lines, "}"]) + "\n"


def block(text):
    """A literal block."""
    return f"```text\n{text.rstrip()}\n```"


def api():
    """Every public name, grouped by what it is against."""
    homes = mainstay._HOMES
    grouped = {home for group in GROUPS.values() for home in group}
    groups = GROUPS | {"More": sorted(set(homes.values()) - grouped)}
    lines = ["API reference", "=============", "", ".. currentmodule:: mainstay", ""]
    for title, modules in groups.items():
        names = [name for name in mainstay.__all__ if homes.get(name) in modules]
        if names:
            lines += section(title, names)
    for module in mainstay._MODULES:
        inside = getattr(mainstay, module)
        names = [f"{module}.{name}" for name in getattr(inside, "__all__", public(inside))]
        lines += section(f"mainstay.{module}", names)
    return "\n".join(lines) + "\n"


def public(module):
    """Functions and classes that a module defines for others."""
    own = vars(module).items()
    return sorted(
        n for n, v in own if n[0] != "_" and getattr(v, "__module__", "") == module.__name__
    )


def section(title, names):
    """A heading and a table of names with pages of their own."""
    table = [".. autosummary::", "   :toctree: ../api", ""] + [f"   {name}" for name in names]
    return [title, "-" * len(title), "", *table, ""]


def reproductions():
    """Verdicts by paper, then every sentence of a paper beside what we found."""
    found = json.loads((DOCS / "papers" / "results.json").read_text(encoding="utf-8"))
    verdicts = {paper: Counter() for paper in PAPERS}
    claims = {paper: {} for paper in PAPERS}
    for experiment in found.values():
        for row in experiment["outcome"]["rows"]:
            verdict = VERDICTS[row["verdict"]]
            verdicts[experiment["paper"]][verdict] += 1
            if row["claim"] and verdict != "not comparable":
                key = (experiment["title"].split(":")[0], row["claim"])
                claims[experiment["paper"]].setdefault(key, []).append(row)
    kinds = list(VERDICTS.values())
    head = "| paper | " + " | ".join(kinds) + " |\n|---|" + "---:|" * len(kinds)
    rows = [
        f"| [{title}](../papers/{paper}.md) | "
        + " | ".join(str(verdicts[paper][k]) for k in kinds)
        + " |"
        for paper, title in PAPERS.items()
    ]
    text = (DOCS / "_tools" / "reproductions.md").read_text(encoding="utf-8")
    before, after = text.strip().split("<!-- verdicts -->")
    parts = [before + "\n".join([head, *rows]) + after]
    for paper, title in PAPERS.items():
        lines = ["| where | the paper says | we find | verdict |", "|---|---|---|---|"]
        lines += [claim(*key, rows) for key, rows in claims[paper].items()]
        parts += [f"### {title}", "\n".join(lines)]
        parts.append(f"Every number: [the paper, table by table](../papers/{paper}.md).")
    return "\n\n".join(parts) + "\n"


def claim(where, says, rows):
    """A line for one sentence of a paper, which may have been tested in several settings."""
    against = [row for row in rows if VERDICTS[row["verdict"]] == "does not reproduce"]
    shown = (against or rows)[0]
    cell = shown["found"] or ""
    if len(rows) > 1:
        cell = f"{shown['what']}: {cell}"
    else:
        says = f"{shown['what']}: {says}"
    if shown["reason"]:
        cell += f" ({shown['reason']})"
    verdict = VERDICTS[shown["verdict"]]
    if len(rows) > 1:
        verdict += f" in {len(against) or len(rows)} of {len(rows)} settings"
    cells = [where.replace(" ", "\N{NO-BREAK SPACE}"), says, cell, verdict]
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
