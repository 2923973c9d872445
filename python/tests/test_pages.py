"""The programs on the pages of the documentation run as they stand."""

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
