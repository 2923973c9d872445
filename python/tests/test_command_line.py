"""Python and the command line read each other's model files.

Needs the binary: the path in ``MAINSTAY_CLI``, or where cargo puts it.
"""

import csv
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import mainstay
from mainstay import PenalizedClassifier, _core


def binary():
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    places = [target / profile / "mainstay" for profile in ("release", "debug")]
    if "MAINSTAY_CLI" in os.environ:
        places = [Path(os.environ["MAINSTAY_CLI"])]
    for place in places:
        if place.exists():
            return str(place)
    if os.environ.get("CI"):
        pytest.fail("continuous integration builds the command line before these tests")
    pytest.skip("the command line is not built")


def run(*args):
    return subprocess.run([binary(), *map(str, args)], check=True, capture_output=True, text=True)


@pytest.fixture
def demo(tmp_path):
    path = tmp_path / "demo.csv"
    path.write_text(_core.demo_csv())
    header, *rows = csv.reader(path.open())
    X = np.array([row[:-1] for row in rows], dtype=float)
    return path, header[:-1], X, np.array([row[-1] for row in rows])


def test_python_loads_what_the_command_line_fitted(demo, tmp_path):
    data, names, X, y = demo
    path = tmp_path / "model.json"
    run("fit", data, "--target", "diagnosis", "--raw", "--set", "alpha=0.05", "-o", path)
    loaded = mainstay.load(path)
    fitted = PenalizedClassifier(alpha=0.05).fit(X, y)
    assert list(loaded[0].get_feature_names_out()) == names
    loaded = loaded[-1]
    assert loaded.get_params() == fitted.get_params()
    assert_array_equal(loaded.classes_, fitted.classes_)
    assert_array_equal(loaded.coef_, fitted.coef_)
    assert_array_equal(loaded.intercept_, fitted.intercept_)
    assert loaded.dual_gap_ == fitted.dual_gap_


def test_the_command_line_predicts_with_what_python_saved(demo, tmp_path):
    data, names, X, y = demo
    path, out = tmp_path / "model.json", tmp_path / "out.csv"
    frame = pd.DataFrame(X, columns=names)
    model = PenalizedClassifier(loss="hinge", alpha=0.1, normalize=True).fit(frame, y)
    mainstay.save(model, path)
    run("predict", path, data, "-o", out)
    written = pd.read_csv(out)
    answers = [written[name] for name in written if set(written[name]) <= set(model.classes_)]
    assert answers
    assert_array_equal(answers[0], model.predict(frame))


def test_what_is_said_where_one_class_has_most_of_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(100) < 12
    table = pd.DataFrame({"a": rng.normal(size=100) + y, "b": rng.normal(size=100)})
    table["sick"] = np.where(y, "yes", "no")
    path = tmp_path / "rare.csv"
    table.to_csv(path, index=False)
    told = "always answering `no` is right for 88.0 % of the rows"
    rows = ("--target", "sick", "--method", "l2")
    assert told in run("fit", path, *rows, "--cv", "4", "-o", tmp_path / "m.json").stdout
    said = run("validate", path, *rows, "--bootstrap", "20", "--repeats", "2").stdout
    assert told in said
    assert "`yes` is the positive class" in said
    assert "l1_ratio" not in run("show", tmp_path / "m.json").stdout
    table.loc[3, "sick"] = ""
    table.to_csv(path, index=False)
    assert "1 row has no label" in run("check", path, "--target", "sick").stdout
