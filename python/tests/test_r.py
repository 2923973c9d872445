"""The R example runs where R and a reticulate that speaks this NumPy are installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "from_r.R"


def reticulate_version() -> tuple[int, ...] | None:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    ask = 'cat(as.character(packageVersion("reticulate")))'
    found = subprocess.run([rscript, "-e", ask], capture_output=True, text=True, check=False)
    return tuple(int(v) for v in found.stdout.split(".")[:2]) if found.returncode == 0 else None


def test_the_r_example_fits_predicts_and_saves():
    version = reticulate_version()
    if version is None:
        pytest.skip("R with reticulate is not installed")
    if version < (1, 38) and int(np.__version__.split(".")[0]) >= 2:
        pytest.skip(f"reticulate {version[0]}.{version[1]} cannot exchange arrays with NumPy 2")
    env = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    run = subprocess.run(
        ["Rscript", str(EXAMPLE)], env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert "proven gap" in run.stdout
    assert "saved and read again: same predictions" in run.stdout
