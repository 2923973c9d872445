"""Reading a large CSV file against pandas."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from harness import Bar, Case, Contender

TITLE = "Reading CSV"
READER = Path(__file__).resolve().parent.parent / "target" / "release" / "mainstay-bench"


def cases(_data):
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "million.csv"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((1_000_000, 20)), columns=[f"x{j}" for j in range(20)])
    frame.to_csv(path, index=False)

    def ours():
        subprocess.run([READER, "read", path], check=True, capture_output=True)

    yield Case(
        "1,000,000 x 20 numbers",
        [Contender("mainstay (a process of its own)", ours), Contender("pandas.read_csv", lambda: pd.read_csv(path))],
        [Bar("pandas.read_csv", 1)],
        rounds=11,
    )
    folder.cleanup()
