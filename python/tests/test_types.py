"""The public names have types, which are those of the documentation."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "typed_program.py"


def run(*command):
    if not shutil.which(command[0]) and not (Path(sys.executable).parent / command[0]).exists():
        if os.environ.get("CI"):
            pytest.fail(f"continuous integration installs {command[0]}")
        pytest.skip(f"{command[0]} is not installed")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, capture_output=True, text=True, cwd=HERE, env={**os.environ, "PATH": path}
    )


def writer():
    spec = importlib.util.spec_from_file_location(
        "write_stubs", HERE.parent / "tools" / "write_stubs.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_say_what_signatures_and_documentation_say():
    for path, text in writer().stubs().items():
        assert path.read_text(encoding="utf-8") == text, "run: python python/tools/write_stubs.py"


def test_mypy_in_strict_mode_accepts_a_users_program():
    done = run("mypy", "--strict", "--python-executable", sys.executable, str(PROGRAM))
    assert done.returncode == 0, done.stdout


def test_pyright_accepts_a_users_program():
    done = run("pyright", "--pythonpath", sys.executable, str(PROGRAM))
    if not re.search(r"\d+ errors?, ", done.stdout):
        # The package fetches the program on first use; where it cannot, there is nothing to judge.
        pytest.skip(f"pyright did not run: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "wrong",
    ["ConicSVC(kapa=0.1)", "ConicSVC(tol='small')", "mainstay.compare(1, 2).recommended()"],
)
def test_mypy_finds_what_is_wrong(tmp_path, wrong):
    path = tmp_path / "program.py"
    path.write_text(f"import mainstay\nfrom mainstay import ConicSVC\n\n{wrong}\n")
    done = run("mypy", "--strict", "--python-executable", sys.executable, str(path))
    assert done.returncode == 1, done.stdout
