"""Comparisons: the answer, the table behind it, and what becomes of both."""

import json
import pickle
import sys
import warnings
from typing import ClassVar

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mainstay
from mainstay import _compare, _core
from mainstay._judge import CONSTANT, Judge
from mainstay.datasets import load_demo

# All but L2 and L1 logistic regression.
_SLOW = [
    "linear-svm",
    "rolin",
    "conic-cv",
    "stable-logistic-cv",
    "stable-svm-cv",
    "missing-cv",
    "robust-logistic",
    "ellipsoid-svm-cv",
    "l2-gaussian",
    "far-conic-cv",
]


@pytest.fixture(scope="module")
def data():
    X, y = mainstay.datasets.load_demo(return_X_y=True)
    return X[::5, :6], y[::5]


@pytest.fixture(scope="module")
def result(data):
    return mainstay.compare(*data, repeats=2, random_state=1)


def test_the_table_has_every_cell(result):
    table = result.table
    assert list(table.columns) == ["estimator", "threat", "level", "repeat", "metric", "value"]
    methods = [m["name"] for m in result.details["methods"]]
    cells = result.details["cells"]
    levels = {(cell["threat"], cell["level"]) for cell in cells}
    assert {threat for threat, _ in levels} == {"clean"} | {row[0] for row in _core.threats()}
    assert len(cells) == len(methods) * len(levels) * 2
    assert (table.metric == "accuracy").sum() == len(cells)
    assert set(table["estimator"]) == set(methods)
    accuracy = table[(table.metric == "accuracy") & (table.threat == "clean")]
    assert accuracy["value"].between(0.5, 1).all()


def test_the_advice_agrees_with_the_table(result):
    advice = result.details["advice"]
    text = result.recommend()
    assert text.splitlines()[0] == advice["headline"]
    accuracy = result.table[result.table.metric == "accuracy"]
    own = accuracy[accuracy.estimator == advice["baseline"]]
    means = own.groupby("threat")["value"].mean()
    assert means.drop("clean").idxmin() == advice["worst_threat"]
    assert f"{100 * means['clean']:.1f} %" in text
    scores = result.scoreboard()
    assert scores[advice["baseline"]]["clean"] == pytest.approx(means["clean"])


def test_repeats_and_seed_give_the_same_bits_for_any_number_of_jobs(data, result):
    again = mainstay.compare(*data, repeats=2, random_state=1, n_jobs=2)
    assert again.details == result.details
    other = mainstay.compare(*data, repeats=2, random_state=2)
    assert other.details["cells"] != result.details["cells"]


def test_the_budget_decides_the_repeats_and_says_so(data, result):
    found = mainstay.compare(*data, budget_seconds=0.01, random_state=1)
    settings = found.details["settings"]
    assert settings["repeats"] == 2
    assert settings["budget_seconds"] == 0.01
    # So short a time is spent on one level of every threat to the training rows.
    assert all(cell in result.details["cells"] for cell in found.details["cells"])
    assert len(found.details["cells"]) < len(result.details["cells"])
    call = "mainstay.compare(X, y, repeats=2, random_state=1, few_levels=True)"
    assert settings["command"] == call


def test_names_of_columns_and_classes_are_kept(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["<script>", "b", "c", "d", "e", "f"])
    found = mainstay.compare(frame, np.where(y == 1, "ill", "well"), repeats=1)
    assert found.details["data"]["features"][0] == "<script>"
    assert [c["label"] for c in found.details["data"]["classes"]] == ["ill", "well"]
    assert "<script>" not in found._repr_html_()


def test_the_report_is_one_file(result, tmp_path):
    path = tmp_path / "out.html"
    result.to_html(path)
    text = path.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert result.details["advice"]["headline"].split(":")[0] in text
    with pytest.raises(OSError, match="nowhere"):
        result.to_html(tmp_path / "nowhere" / "out.html")


def test_notebooks_show_a_table(result):
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + len(result.details["methods"])
    assert "<strong>" in page
    assert "repeats" in repr(result)


def test_plots_have_one_line_a_method(result):
    matplotlib.use("Agg")
    ax = result.plot("label_noise")
    assert len(ax.lines) == len(result.details["methods"])
    assert list(ax.lines[0].get_xdata()) == [0.0, 0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="there are"):
        result.plot("nonsense")
    with pytest.raises(ValueError, match="metric"):
        result.plot("label_noise", metric="nonsense")


def test_without_matplotlib_the_error_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"mainstay\[plot\]"):
        result.plot("label_noise")


def test_without_pandas_the_table_is_a_dict_of_columns(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = _compare.ComparisonResult(result._comparison)
    assert list(plain.table) == list(result.table.columns)
    assert plain.table["repeat"] == result.table["repeat"].tolist()


def test_an_interruption_keeps_the_finished_repeats(data, monkeypatch):
    def stop_in_the_third(done, total):
        if done > 2 * total / 5:
            raise KeyboardInterrupt

    class Stopping(_compare._Progress):
        def __enter__(self):
            return stop_in_the_third

    with monkeypatch.context() as patch:
        patch.setattr(_compare, "_Progress", Stopping)
        with pytest.raises(mainstay.StressInterrupted) as caught:
            mainstay.compare(*data, repeats=5, random_state=1)
    kept = caught.value.partial.details
    # Progress is looked at now and then: a later repeat may have ended in between.
    assert 2 <= kept["settings"]["repeats"] < 5
    whole = mainstay.compare(*data, repeats=kept["settings"]["repeats"], random_state=1)
    assert kept["cells"] == whole.details["cells"]


def test_a_pickled_result_gives_the_same_report(result, tmp_path):
    copy = pickle.loads(pickle.dumps(result))
    assert copy.details == result.details
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for found, path in zip([result, copy], pages, strict=True):
        found.to_html(path)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_three_classes_and_odd_data():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    found = mainstay.compare(X, y, repeats=2)
    assert len(found.details["data"]["classes"]) == 3
    assert len(found.details["coefficients"]) == 3
    few = mainstay.compare(np.arange(12.0).reshape(4, 3), [0, 0, 1, 1], repeats=2)
    problems = {c["problem"] for c in few.details["cells"]} - {None}
    assert problems
    assert all(isinstance(p, str) for p in problems)
    json.dumps(few.details)


def test_bad_calls_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="repeats"):
        mainstay.compare(X, y, repeats=0)
    with pytest.raises(ValueError, match="budget_seconds"):
        mainstay.compare(X, y, budget_seconds=0)
    with pytest.raises(ValueError, match="rows"):
        mainstay.compare(X, y[1:])
    with pytest.raises(ValueError, match="one class"):
        mainstay.compare(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        mainstay.compare(np.where(X.mean() < X, np.nan, X), y)


def test_a_comparison_whose_text_was_altered_gives_a_page_or_a_value_error(result):
    text = result._comparison.to_json()
    for part in json.loads(text):
        altered = json.loads(text)
        if not isinstance(altered[part], list):
            continue
        altered[part] = altered[part][:1]
        try:
            page = _core.Comparison.from_json(json.dumps(altered)).html()
        except ValueError:
            continue
        assert page.startswith("<!DOCTYPE html>")


def test_a_told_comparison_says_what_being_wrong_costs():
    X, y = mainstay.datasets.load_demo(return_X_y=True)
    result = mainstay.compare(X[::3, :6], y[::3], expect={"missing": 0.4}, repeats=2)
    assert result.recommend().startswith("If you expect missing=0.4")
    table = result.table
    assert set(table["truth"]) == {0.0, 0.5, 1.0, 2.0}
    plain = table[table["method"] == "l2"]
    assert (plain["gain"] == 0).all()
    # More missing cells never help the untold fit much.
    assert plain["accuracy"].iloc[3] < plain["accuracy"].iloc[0]
    again = mainstay.compare(X[::3, :6], y[::3], expect={"missing": 0.4}, repeats=2, n_jobs=2)
    assert again.details == result.details
    with pytest.raises(ValueError, match="rain"):
        mainstay.compare(X, y, expect={"rain": 0.1})
    with pytest.raises(ValueError, match="above 0"):
        mainstay.compare(X, y, expect={})


def test_estimators_of_ones_own_take_part():
    X, y = load_demo(return_X_y=True)
    X, y = X[::8, :4], y[::8]
    mine = make_pipeline(StandardScaler(), LogisticRegression())
    kind = {"threats": ["few_samples", "adversarial_deletion"], "without": _SLOW}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mainstay.compare(X, y, repeats=2, estimators={"mine": mine}, **kind)
        with pytest.raises(ValueError, match="taken"):
            mainstay.compare(X, y, repeats=1, estimators={"l2": mine}, **kind)
    own = [c for c in result.details["cells"] if c["method"] == "mine"]
    ours = [c for c in result.details["cells"] if c["method"] == "l2"]
    assert sorted((c["threat"], c["level"], c["repeat"]) for c in own) == sorted(
        (c["threat"], c["level"], c["repeat"]) for c in ours
    )
    assert all(c["problem"] is None for c in own)
    # The same splits: two logistic regressions that differ in their penalty hardly differ.
    gap = [abs(a["accuracy"] - b["accuracy"]) for a, b in zip(own, ours, strict=True)]
    assert np.mean(gap) < 0.1
    assert (
        result.details["methods"][-1] | {"name": "mine", "role": "guest"}
        == (result.details["methods"][-1])
    )
    assert "estimators=estimators" in result.details["settings"]["command"]


class Given:
    """Says of every row what its first feature says."""

    classes_ = np.array([0, 1, 2])

    def predict(self, X):
        return X[:, 0].astype(int)


def test_a_model_is_constant_by_its_predictions():
    def constant(truth, predicted):
        rows = np.array(predicted, dtype=float)[:, None]
        return Judge(Given(), rows, np.array(truth)).value(CONSTANT)[0]

    # No better than chance, but not one answer: balanced accuracy 1/2 and correlation 0.
    assert constant([0, 0, 1, 1], [0, 1, 0, 1]) == 0
    assert constant([0, 0, 1, 1], [1, 1, 1, 1]) == 1
    # Of three classes two are there.
    assert constant([0, 2, 2], [2, 2, 2]) == 1
    assert constant([2, 2, 2], [2, 2, 2]) == 0


def test_estimators_of_ones_own_that_give_one_answer_are_marked():
    X, y = load_demo(return_X_y=True)
    X, y = X[::8, :4], y[::8]
    kind = {"threats": "few_samples", "without": _SLOW, "repeats": 2}
    own = {"one answer": DummyClassifier(), "tree": DecisionTreeClassifier(max_depth=2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mainstay.compare(X, y, estimators=own, **kind)
    assert result.details["constant"] == ["one answer"]


class PressesCtrlC(LogisticRegression):
    """After so many fits the user has seen enough."""

    fits: ClassVar[int] = 0
    last: ClassVar[int] = 0

    def fit(self, X, y):
        PressesCtrlC.fits += 1
        if PressesCtrlC.fits > PressesCtrlC.last:
            raise KeyboardInterrupt
        return super().fit(X, y)


# A clean fit and three levels: four fits in every repeat. One repeat is too few to say anything.
@pytest.mark.parametrize(("last", "repeats"), [(0, 0), (5, 0), (10, 2), (12, 3)])
def test_estimators_of_ones_own_that_are_stopped_keep_their_finished_repeats(last, repeats):
    X, y = load_demo(return_X_y=True)
    kind = {"threats": "few_samples", "without": _SLOW, "repeats": 4}
    PressesCtrlC.fits, PressesCtrlC.last = 0, last
    mine = make_pipeline(StandardScaler(), PressesCtrlC())
    with pytest.raises(mainstay.StressInterrupted) as stopped:
        mainstay.compare(X[::8, :4], y[::8], estimators={"mine": mine}, **kind)
    cells = stopped.value.partial.details["cells"]
    ours = [c for c in cells if c["method"] == "l2" and c["accuracy"] is not None]
    assert len(ours) == 16
    found = [c for c in cells if c["method"] == "mine"]
    assert len(found) == (16 if repeats else 0)
    assert {c["repeat"] for c in found if c["accuracy"] is not None} == set(range(repeats))
    why = {c["problem"] for c in found if c["accuracy"] is None}
    assert why <= {"stopped before this cell was run"}


def test_the_legend_is_beside_the_curves():
    pytest.importorskip("matplotlib", reason="matplotlib is optional").use("Agg")
    X, y = load_demo(return_X_y=True)
    kind = {"threats": "few_samples", "without": _SLOW, "repeats": 1}
    ax = mainstay.compare(X[::8, :4], y[::8], **kind).plot("few_samples")
    ax.figure.canvas.draw()
    legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= inside.x1
    assert legend.x1 <= ax.figure.bbox.x1


def test_the_report_shows_the_advised_model_and_the_checklist(tmp_path):
    X, y = load_demo(return_X_y=True)
    X, y = X[::8, :4], y[::8]
    result = mainstay.compare(X, y, repeats=1, threats="few_samples", without=_SLOW)
    chosen = result.details["chosen"]
    assert chosen["method"] == result.details["advice"]["method"]
    assert sum(map(sum, chosen["confusion"])) == len(y)
    assert len(chosen["thresholds"]) == 12
    assert {m["metric"] for m in chosen["metrics"]} >= {"auc", "log_loss", "calibration_slope"}
    assert len(chosen["coefficients"][0]["features"]) == 4
    path = tmp_path / "report.html"
    result.to_html(path)
    assert 'id="tripod"' not in path.read_text(encoding="utf-8")
    result.to_html(path, tripod=True)
    page = path.read_text(encoding="utf-8")
    assert 'id="tripod"' in page
    assert "Confusion matrix" in page
    pytest.importorskip("matplotlib", reason="matplotlib is optional").use("Agg")
    assert len(result.plot("few_samples", metric="mcc").lines) == 2
    with pytest.raises(ValueError, match="mcc"):
        result.plot("few_samples", metric="beauty")
