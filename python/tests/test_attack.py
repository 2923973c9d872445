"""The short run of the attack on the Python package; ``cargo xtask attack`` is the long one."""

import importlib.util
import os
from pathlib import Path

import pytest


def tool():
    path = Path(__file__).parent.parent / "tools" / "attack.py"
    spec = importlib.util.spec_from_file_location("attack", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_threads_forks_and_copies_are_withstood():
    tries, failures = tool().attack(seconds=6, seed=1)
    assert not failures, "\n".join(failures)
    assert tries >= 4


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_fits_do_not_hold_on_to_memory():
    assert tool().growth(200) < 8 * 2**20
