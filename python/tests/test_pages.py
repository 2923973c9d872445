"""The programs on the pages of the documentation run as they stand."""

import datetime
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import matplotlib as mpl
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page
    for folder in (".", "guide", "coming-from")
    for page in (DOCS / folder).glob("*.md")
    if "```python" in page.read_text(encoding="utf-8")
)
# Their programs are fragments about frames and results of the reader's own.
FRAGMENTS = {"scale.md", "tables.md", "workbench.md", "reliability.md"}
# Packages that a page compares with; whoever has them sees both sides run.
OTHERS = {"cleanlab", "dro"}


def blocks(page, language):
    """The programs of one page, in their order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(not PAGES, reason="the repository is not there")
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in FRAGMENTS], ids=lambda p: f"{p.parent.name}/{p.stem}"
)
@pytest.mark.filterwarnings("ignore")
def test_the_programs_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    names, absent = {}, set()
    for block in blocks(page, "python"):
        try:
            exec(compile(block, page.name, "exec"), names)
        except ModuleNotFoundError as error:
            absent.add(error.name.split(".")[0])
    assert absent <= OTHERS
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}; the other programs of the page ran")


def test_the_r_side_of_the_page_for_readers_of_glmnet_runs(tmp_path):
    rscript = shutil.which("Rscript")
    ask = 'stopifnot(requireNamespace("glmnet"), requireNamespace("robustbase"))'
    if rscript is None or subprocess.run([rscript, "-e", ask], capture_output=True).returncode:
        pytest.skip("R with glmnet and robustbase is not installed")
    program = tmp_path / "page.R"
    program.write_text("\n".join(blocks(DOCS / "coming-from" / "glmnet-robustbase.md", "r")))
    done = subprocess.run([rscript, str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def numbers():
    """The tool that puts measured figures into pages; it is not part of an installed package."""
    tools = DOCS / "_tools"
    if not tools.exists():
        pytest.skip("the repository is not there")
    spec = importlib.util.spec_from_file_location("numbers", tools / "numbers_in_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_figures_on_pages_are_those_that_were_measured(numbers):
    found = numbers.measured()
    pages = numbers.pages()
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert numbers.filled(text, found) == text, page.name


def test_no_line_within_a_paragraph_begins_with_a_figure(numbers):
    # Markdown would take the whole line for HTML and show its links as they are typed.
    begun = re.compile(r"(?<=[^\n|])\n<!--=\w+[^>]*-->[^\n]*\S")
    assert [p.name for p in numbers.pages() if begun.search(p.read_text(encoding="utf-8"))] == []


def test_a_figure_that_nothing_measures_is_refused(numbers):
    with pytest.raises(SystemExit, match="nothing has measured made_up"):
        numbers.filled("<!--=made_up-->.123<!--=-->", {})


def test_what_an_attack_printed_becomes_a_table():
    tool = DOCS / "_tools" / "attack_results.py"
    if not tool.exists():
        pytest.skip("the repository is not there")
    spec = importlib.util.spec_from_file_location("attack_results", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    areas = ["mainstay-attack problems", "mainstay-attack files", "mainstay-attack processes"]
    printed = [
        f"==> {area} 900 7 mainstay\n{area.split()[1]}: 1000 tries, 0 failures\n    900 s"
        for area in areas
    ]
    printed.append("==> python python/tools/attack.py 900 7\npython: 9 tries, 0 failures\n  a note")
    text = module.told("\n".join(printed), datetime.date(2026, 1, 2))
    assert "2 January 2026, 60 minutes, seed 7:" in text
    assert "| a, problems | 1,000 | 0 |" in text
    assert "| d, Python | 9 | 0; a note |" in text
    with pytest.raises(SystemExit, match="came to an end"):
        module.told("\n".join(printed[:3]), datetime.date(2026, 1, 2))


#: Where programs write: figures, and whole tables between comments.
WRITTEN = re.compile(
    r"<!--=\w.*?<!--=-->|<!-- (?!end of)[\w ]+ -->.*?<!-- end of [\w ]+ -->", re.DOTALL
)
#: Where numbers are settings and formulas: programs, commands, names, mathematics.
STATED = re.compile(
    r"^```.*?^```|^( {4,}|:: ).*?$|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", re.DOTALL | re.MULTILINE
)
#: How measurements look: shares with two digits or more, spreads, seconds, ratios.
MEASUREMENT = re.compile(
    r"(?<![\w.])[-+]?0?\.\d{2,}(?![\w.])|± ?[\d.]|(?<![\w.])\d[\d.,]* m?s\b"
    r"|(?<![\w.])\d[\d.,]* (?:times|seconds|minutes|hours|points)\b"
    r"|(?<![\w.])\d+\.\d+ ?%|\b\d+ of \d+\b"
)
#: What looks like one and is not: rules, orders of magnitude, arithmetic on paper.
KNOWN = {
    "scale.md": ["10 Gflop/s per thread 125 s", "are then about 15 minutes"],
    "workbench.md": ["the 97.5 % quantiles", "a point (0.01) better", "from 0.35 to 1"],
    "robust-logistic.md": ["by 0.1, 0.01,\n0.001, 10, 100 or 1000"],
    "rolin.md": ["exp(-0.35 n (loss - least loss))"],
    "rolin-tuning.md": ["C = 0.01, share 0.2"],
}


@pytest.mark.parametrize(
    "page",
    [
        p
        for f in (".", "guide", "methods", "coming-from", "research")
        for p in (DOCS / f).glob("*.md")
    ],
    ids=lambda p: f"{p.parent.name}/{p.stem}",
)
def test_no_measurement_is_typed_into_a_page(page):
    text = STATED.sub("", WRITTEN.sub("", page.read_text(encoding="utf-8")))
    for known in KNOWN.get(page.name, []):
        assert known in text
        text = text.replace(known, "")
    assert MEASUREMENT.findall(text) == []
