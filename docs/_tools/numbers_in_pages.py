"""Measured figures in the text of pages, between ``<!--=key-->`` and ``<!--=-->``.

They stand in the Markdown itself, so that a page reads the same wherever it is shown; what is there is compared with the
measurements whenever the site is built.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "benches" / "results" / "guide.json"
FOLDERS = (".", "guide", "coming-from")
PLACE = re.compile(r"<!--=(\w+)(?::([^\s-]+))?-->(.*?)<!--=-->", re.DOTALL)


def shown(value, form):
    """A figure as pages write it: three digits without the zero in front unless ``form`` says otherwise."""
    if isinstance(value, str):
        return value
    if form == "percent":
        return f"{100 * value:.0f} %"
    text = format(value, form or ".3f")
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def filled(text, found):
    """The text with every figure as measured."""

    def put(place):
        start = place[0][: place.start(3) - place.start()]
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
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text, found) != text:
            raise SystemExit(
                f"{page.name}: figures differ from {MEASURED.name}: cargo xtask bench guide"
            )
