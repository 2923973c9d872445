"""One data contract: the command line and Python write the same files and predict the same bits."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from test_command_line import run

import mainstay
from mainstay import (
    ConicSVC,
    MissingFeatureSVC,
    PenalizedClassifier,
    ReGEC,
    RobustLogisticRegression,
    StableSVC,
    TableEncoder,
)


@pytest.fixture
def data(tmp_path):
    """A table with every kind of column, as a file and as pandas reads it."""
    rng = np.random.default_rng(5)
    n = 80
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "stage": rng.choice(["I", "II", "III"], n),
            "smoker": rng.random(n) < 0.4,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "pressure": rng.normal(120, 15, n).round(1),
        }
    )
    noise = rng.normal(0, 8, n)
    late = 15 * (frame["stage"] == "III")
    frame["outcome"] = np.where(frame["age"] + late + noise > 55, "ill", "well")
    path = tmp_path / "patients.csv"
    frame.to_csv(path, index=False)
    return path, pd.read_csv(path)


METHODS = {
    "l2": PenalizedClassifier(),
    "l1": PenalizedClassifier(penalty="l1", alpha=0.02),
    "conic": ConicSVC(),
    "stable-svm": StableSVC(),
    "regec": ReGEC(),
}
SETTINGS = {"l1": ["--set", "alpha=0.02"]}


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "standardised"])
@pytest.mark.parametrize("method", METHODS)
def test_both_languages_write_the_same_file(data, tmp_path, method, raw):
    path, frame = data
    ours, theirs, again = (tmp_path / f"{name}.json" for name in ("python", "cli", "again"))
    flags = [*(["--raw"] if raw else []), *SETTINGS.get(method, [])]
    run("fit", path, "--target", "outcome", "--method", method, *flags, "-o", theirs)
    encoder = TableEncoder(standardize=not raw)
    model = make_pipeline(encoder, METHODS[method])
    model.fit(frame.drop(columns="outcome"), frame["outcome"])
    mainstay.save(model, ours)
    assert ours.read_bytes() == theirs.read_bytes()
    # There and back again: the encoder stays.
    mainstay.save(mainstay.load(theirs), again)
    assert again.read_bytes() == theirs.read_bytes()


def scores(model, path, out):
    run("predict", model, path, "--scores", "-o", out)
    written = pd.read_csv(out, dtype=str)
    return written["predicted"].to_numpy(), np.array([float(s) for s in written["score"]])


@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_the_same_bits_in_both_languages(data, tmp_path, method):
    path, frame = data
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    file, out = tmp_path / "model.json", tmp_path / "out.csv"
    model = make_pipeline(TableEncoder(standardize=True), METHODS[method]).fit(X, y)
    mainstay.save(model, file)
    labels, numbers = scores(file, path, out)
    loaded = mainstay.load(file)
    for rows in (X, pl.from_pandas(X), frame[frame.columns[::-1]]):
        assert_array_equal(loaded.decision_function(rows), numbers)
        assert_array_equal(loaded.predict(rows), labels)
    # The pipeline itself works in standardised units: the same up to rounding.
    assert_allclose(model.decision_function(X), numbers, rtol=1e-9, atol=1e-12)
    assert_array_equal(model.predict(X), labels)


def test_a_standard_scaler_of_scikit_learn_is_saved_as_ours(data, tmp_path):
    path, frame = data
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    file, out = tmp_path / "model.json", tmp_path / "out.csv"
    model = make_pipeline(TableEncoder(), StandardScaler(), ConicSVC()).fit(X, y)
    mainstay.save(model, file)
    labels, numbers = scores(file, path, out)
    assert_array_equal(labels, model.predict(X))
    assert_allclose(numbers, model.decision_function(X), rtol=1e-9)
    plain = make_pipeline(StandardScaler(), PenalizedClassifier()).fit(X[["age", "pressure"]], y)
    mainstay.save(plain, file)
    labels, numbers = scores(file, path, out)
    assert_array_equal(labels, plain.predict(X[["age", "pressure"]]))
    assert_allclose(numbers, plain.decision_function(X[["age", "pressure"]]), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "flags", "encoder"),
    [
        (MissingFeatureSVC(), ["--method", "missing-lp"], {"impute": "mean"}),
        (RobustLogisticRegression(), ["--method", "robust-logistic"], {"impute": "keep"}),
        (PenalizedClassifier(), ["--impute", "median"], {"impute": "median"}),
    ],
    ids=["missing", "robust", "median"],
)
def test_missing_cells_are_one_matter_in_both_languages(data, tmp_path, model, flags, encoder):
    _, frame = data
    frame = frame.astype({"age": float})
    frame.loc[[2, 9], "age"] = np.nan
    frame.loc[[5], "stage"] = np.nan
    path, ours, theirs = (tmp_path / n for n in ("gaps.csv", "python.json", "cli.json"))
    frame.to_csv(path, index=False)
    run("fit", path, "--target", "outcome", *flags, "-o", theirs)
    X = pd.read_csv(path).drop(columns="outcome")
    pipe = make_pipeline(TableEncoder(standardize=True, **encoder), model)
    mainstay.save(pipe.fit(X, frame["outcome"]), ours)
    assert ours.read_bytes() == theirs.read_bytes()
    labels, _ = scores(ours, path, tmp_path / "out.csv")
    assert_array_equal(mainstay.load(theirs).predict(X), labels)


def test_what_a_file_cannot_hold_is_refused(data, tmp_path):
    _, frame = data
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    file = tmp_path / "model.json"
    for steps, message in [
        ([TableEncoder(standardize=True), StandardScaler(), ConicSVC()], "standardised twice"),
        ([TableEncoder(), MinMaxScaler(), ConicSVC()], "not MinMaxScaler"),
        ([TableEncoder(), LogisticRegression()], "not LogisticRegression"),
    ]:
        with pytest.raises(ValueError, match=message):
            mainstay.save(make_pipeline(*steps).fit(X, y), file)
    assert not file.exists()


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (["a", "b"] * 5, "'a'"),
        (pd.Categorical(["a", "b"] * 5), "'a'"),
        (["1,5", "2"] * 5, "'1,5'"),
        (pd.date_range("2020-01-01", periods=10), "'2020-01-01"),
        ([pd.Timedelta(days=1)] * 10, "second"),
    ],
    ids=["words", "categories", "decimal comma", "dates", "durations"],
)
def test_the_column_that_holds_no_numbers_is_named(column, shown):
    X = pd.DataFrame({"x": np.arange(10.0), "odd one": column})
    with pytest.raises(ValueError, match=r"column 'odd one' holds .*TableEncoder") as error:
        mainstay.PenalizedClassifier().fit(X, [0, 1] * 5)
    assert shown in str(error.value)
    fitted = mainstay.PenalizedClassifier().fit(X.assign(**{"odd one": 1.0}), [0, 1] * 5)
    with pytest.raises(ValueError, match="column 'odd one' holds"):
        fitted.predict(X)


def test_an_empty_cell_of_a_frame_is_called_by_its_column():
    X = pd.DataFrame({"x": np.arange(10.0), "lab value": [1.0, np.nan] * 5})
    with pytest.raises(ValueError, match=r"row 1, column 'lab value': NaN .*GaussianImputer"):
        mainstay.PenalizedClassifier().fit(X, [0, 1] * 5)
    with pytest.raises(ValueError, match="row 1, column 1: NaN is not"):
        mainstay.PenalizedClassifier().fit(X.to_numpy(), [0, 1] * 5)
