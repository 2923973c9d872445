"""What is said of a frame whose cells are not all finite numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest

import mainstay
from mainstay import MissingFeaturePerceptron, PenalizedClassifier, ReGEC


@pytest.fixture
def frame():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["x", "z"])


@pytest.fixture
def y(frame):
    return (frame["x"] > 0).astype(int).to_numpy()


def test_words_are_blamed_only_for_what_they_cause(frame, y):
    words = frame.assign(name="bob")
    with pytest.raises(ValueError, match=r"column 'name' holds 'bob'.*TableEncoder"):
        PenalizedClassifier().fit(words, y)
    model = PenalizedClassifier().fit(frame, y)
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*name") as caught:
        model.predict(words)
    assert "bob" not in str(caught.value)
    with pytest.raises(ValueError, match="y to be passed"):
        PenalizedClassifier().fit(words, None)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (-np.inf, "-inf")])
def test_a_bad_cell_is_named_wherever_a_frame_is_taken(frame, y, value, shown):
    model = PenalizedClassifier().fit(frame, y)
    bad = frame.copy()
    bad.loc[3, "z"] = value
    takes = [
        lambda: model.predict(bad),
        lambda: model.decision_function(bad),
        lambda: ReGEC().partial_fit(bad, y, classes=[0, 1]),
        lambda: mainstay.audit_labels(bad, y, repeats=1, planted=2),
    ]
    if np.isinf(value):
        takes.append(lambda: MissingFeaturePerceptron().partial_fit(bad, y, classes=[0, 1]))
    for take in takes:
        with pytest.raises(
            ValueError, match=f"row 3, column 'z': {str(value).replace('n', '[nN]')}"
        ):
            take()


def test_labels_that_are_none_are_not_blamed_on_the_frame(frame, y):
    gaps = np.where(y == 1, np.nan, 0.0)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        ReGEC().partial_fit(frame, gaps, classes=[0, 1])


def test_complex_columns_are_refused_without_a_warning(frame, y):
    for column in (1j, pd.Series([np.complex128(1j)] * 40, dtype=object)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="Complex data not supported"):
                PenalizedClassifier().fit(frame.assign(c=column), y)
