"""The command that comes with the package: the same as the binary, from the same install."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

import pytest

import mainstay
from mainstay import _core

COMMAND = [sys.executable, "-m", "mainstay"]


def run(*args, **options):
    return subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, **options)


def test_the_package_installs_a_command_of_its_name():
    scripts = {e.name: e.value for e in distribution("mainstay").entry_points}
    assert scripts == {"mainstay": "mainstay.__main__:main"}


def test_the_command_tells_the_version_of_the_package():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"mainstay {mainstay.__version__}\n")


def test_help_goes_to_standard_output_and_mistakes_to_standard_error():
    assert "Usage: mainstay" in run("--help").stdout
    wrong = run("fit", "--nonsense")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--nonsense" in wrong.stderr


def test_exit_codes_are_those_of_the_binary(tmp_path):
    assert run("fit", tmp_path / "absent.csv", "--target", "y").returncode == 2
    hasty = ("fit", "--method", "l1", "--set", "alpha=0.0001", "--set", "max_iter=1")
    assert run(*hasty).returncode == 1
    assert run("fit", "--set", "alpha=0.1").returncode == 0


def test_a_closed_pipe_is_no_failure():
    command = " ".join(f"'{part}'" for part in [*COMMAND, "methods"])
    done = subprocess.run(["sh", "-c", f"{command} | head -n 1"], capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_fit_and_predict_work_on_files(tmp_path):
    data, model, out = tmp_path / "demo.csv", tmp_path / "m.json", tmp_path / "out.csv"
    data.write_text(_core.demo_csv())
    assert run("fit", data, "--target", "diagnosis", "-o", model).returncode == 0
    assert run("predict", model, data, "-o", out).returncode == 0
    assert len(out.read_text().splitlines()) == 570


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_ends_the_command():
    slow = [*COMMAND, "compare", "--repeats", "20", "--quiet"]
    with subprocess.Popen(slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        time.sleep(2)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        child.wait(timeout=20)
        assert time.monotonic() - start < 5
    assert child.returncode == 2


def test_the_manual_has_a_page_for_every_command(tmp_path):
    assert run("manual", tmp_path).returncode == 0
    commands = re.search(r"Commands:\n(.*?)\n\n", run("--help").stdout, re.DOTALL).group(1)
    names = set(re.findall(r"^  (\S+)", commands, re.MULTILINE)) - {"help"}
    assert {f"mainstay-{name}.1" for name in names} <= {p.name for p in tmp_path.iterdir()}
    assert ".TH mainstay" in (tmp_path / "mainstay.1").read_text()


def test_the_citation_states_the_version():
    citation = Path(__file__).parents[2] / "CITATION.cff"
    assert f"version: {mainstay.__version__}\n" in citation.read_text()


@pytest.mark.parametrize("how", [["--impute", "gaussian"], ["--set", "at_predict=gaussian"]])
def test_missing_cells_are_filled_from_the_others_where_that_was_asked_for(tmp_path, how):
    rows = [(i % 7 - 3 + 0.1 * (i % 3), i % 7 - 3, int(i % 7 > 1)) for i in range(70)]
    data = tmp_path / "rows.csv"
    data.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    model, off = tmp_path / "model.json", {}
    # The second feature says nearly all of the first.
    frame = pytest.importorskip("pandas", reason="pandas is optional").DataFrame(
        {"a": [float("nan"), 2.1], "b": [2.0, 2.0]}
    )
    for name, more in {"zero": [], "gaussian": how}.items():
        run("fit", data, "-t", "y", "-m", "missing-lp", *more, "-o", model, check=True)
        scores = mainstay.load(model).decision_function(frame)
        off[name] = abs(scores[0] - scores[1])
    assert off["gaussian"] < 0.2 * off["zero"]
