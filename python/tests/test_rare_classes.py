"""Searches where one class is rare."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from mainstay import ConicSVCCV, EllipsoidSVCCV, MissingFeatureCV, StableSVC, StableSVCCV

# Constant models are what is asked about here; each says so.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def rare(n=200, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < share * n).astype(int)
    return rng.normal(size=(n, 4)) + 0.9 * y[:, None] * np.eye(4)[0], y


@pytest.mark.parametrize(
    ("share", "metric"), [(0.2, balanced_accuracy_score), (0.45, accuracy_score)]
)
def test_balanced_accuracy_decides_where_one_class_has_most_of_the_rows(share, metric):
    X, y = rare(share=share)
    rows = np.random.default_rng(1).permutation(len(y))
    train, test = rows[:120], rows[120:]
    Cs = [0.01, 0.1, 1.0]
    search = StableSVCCV(ks=[1.0], Cs=Cs, cv=[(train, test)], tol=1e-8).fit(X, y)
    for C, score in zip(
        search.cv_results_["param_C"], search.cv_results_["mean_test_score"], strict=True
    ):
        scores = StableSVC(1.0, C=C, tol=1e-8).fit(X[train], y[train]).decision_function(X[test])
        assert score == pytest.approx(metric(y[test], (scores > 0).astype(int)), abs=1e-12)


@pytest.mark.parametrize("kind", [MissingFeatureCV, EllipsoidSVCCV])
def test_the_usual_scoring_is_balanced_where_a_class_is_rare(kind):
    X, y = rare()
    usual, stated = kind().fit(X, y), kind(scoring="balanced_accuracy").fit(X, y)
    np.testing.assert_array_equal(
        usual.cv_results_["mean_test_score"], stated.cv_results_["mean_test_score"]
    )
    X, y = rare(share=0.45)
    usual, stated = kind().fit(X, y), kind(scoring="accuracy").fit(X, y)
    np.testing.assert_array_equal(
        usual.cv_results_["mean_test_score"], stated.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("kind", [MissingFeatureCV, EllipsoidSVCCV, StableSVCCV, ConicSVCCV])
def test_folds_without_the_rare_class_have_no_say(kind):
    X, y = rare(60, share=0.05)
    scores = kind().fit(X, y).cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    # A single row: no held-out rows can be ranked, so the accuracy decides.
    y = (np.arange(60) == 0).astype(int)
    assert np.isfinite(kind().fit(X, y).cv_results_["mean_test_score"]).all()
    if kind is not StableSVCCV:
        with pytest.raises(ValueError, match="use fewer folds or another scoring"):
            kind(scoring="roc_auc").fit(X, y)


def test_a_remedy_that_was_tried_replaces_untried_advice():
    X, y = rare(300, share=0.08)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        StableSVC().fit(X, y)
    told = [str(w.message) for w in caught if "constant" in str(w.message)]
    assert len(told) == 1
    assert "on these rows that helps" in told[0]
    assert told[0].count("try ") == 1


def test_a_k_of_all_rows_is_not_called_small():
    X, y = rare(60, share=0.05)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        StableSVC(1.0).fit(X, y)
    told = " ".join(str(w.message) for w in caught)
    assert "even with every row in the sum zero weights are optimal" in told
    assert "so small" not in told
