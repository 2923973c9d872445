"""Weights: 2 is the row twice, 0 its absence, in every estimator; rare classes; constant fits."""

import warnings

import numpy as np
import pytest

import mainstay
from mainstay import (
    ConicSVC,
    ConicSVCCV,
    EllipsoidSVCCV,
    MissingFeatureCV,
    MissingFeaturePerceptron,
    MissingFeatureSVC,
    PenalizedClassifier,
    RolinClassifier,
    StableLogisticRegression,
    StableLogisticRegressionCV,
    StableSVC,
    StableSVCCV,
    TopPCsClassifier,
)

# What cross-validates or learns row by row: folds and rounds are where copies could tell.
SEARCHES = [
    ConicSVCCV(kappas=8, cv=3),
    ConicSVCCV(kappas=5, cv=3, kernel="rbf", scoring="roc_auc", class_weight="balanced"),
    StableSVCCV(ks=[0.5, 1.0], Cs=[0.1, 1.0], cv=3),
    StableLogisticRegressionCV(ks=[0.5, 1.0], alphas=[0.01, 0.1], cv=3),
    EllipsoidSVCCV(0.2, scales=[0.0, 0.5], Cs=[0.1, 1.0], cv=3),
    MissingFeatureCV(1.0, Cs=[1.0, 10.0], cv=3, damage="random", corrupt=True),
    PenalizedClassifier(alpha="cv", n_alphas=8, n_folds=3),
    RolinClassifier(n_folds=3, n_repeats=2),
    RolinClassifier(variant="paper", n_folds=3, n_repeats=1),
    TopPCsClassifier(n_folds=3, n_repeats=1, class_weight="balanced"),
    MissingFeaturePerceptron(n_passes=2),
    MissingFeaturePerceptron(shuffle=False, class_weight={0: 2, 1: 1}),
]


def rows(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.4).astype(int)
    return X, y, rng.integers(0, 4, size=n)


def rare(n=300, seed=0):
    """One row in twelve is of class 1, and the features have something to say about which."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 12 == 0).astype(int)
    return rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0]), y


@pytest.mark.parametrize("estimator", SEARCHES, ids=repr)
def test_a_weight_of_two_is_the_row_twice(estimator):
    X, y, weight = rows()
    weighted = estimator.fit(X, y, sample_weight=weight).decision_function(X)
    copies = np.repeat(np.arange(len(y)), weight)
    repeated = estimator.fit(X[copies], y[copies]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)
    alone = estimator.fit(X, y).decision_function(X)
    assert np.abs(alone - weighted).max() > 1e-3


@pytest.mark.parametrize("estimator", SEARCHES, ids=repr)
def test_balanced_weights_find_the_rare_class(estimator):
    X, y = rare()
    if getattr(estimator, "kernel", None) == "rbf":
        pytest.skip("weighed already")
    params = {"class_weight": "balanced"}
    model = estimator.set_params(**params).fit(X, y)
    estimator.set_params(class_weight=None)
    assert 0.1 < model.predict(X).mean() < 0.9
    assert model.predict(X)[y == 1].mean() > 0.5


@pytest.mark.parametrize(
    "estimator",
    [
        ConicSVC(),
        ConicSVCCV(kappas=8, cv=3),
        MissingFeatureSVC(),
        StableSVC(),
        StableLogisticRegression(),
        StableSVCCV(ks=[0.5, 1.0], Cs=[0.01], cv=3),
        PenalizedClassifier(alpha=1.0),
        RolinClassifier(n_repeats=1),
        MissingFeaturePerceptron(),
    ],
    ids=repr,
)
def test_a_constant_fit_is_told_with_a_remedy_that_works(estimator):
    X, y = rare()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        share = estimator.fit(X, y).predict(X).mean()
    said = " ".join(str(w.message) for w in told)
    assert "tell the classes apart" not in said
    if share * len(y) < 0.1 * y.sum():
        assert "one class" in said or "constant" in said, said
        assert "balanced" in said, said
        remedy = {"class_weight": "balanced", **({"k": 1.0} if hasattr(estimator, "k") else {})}
        if isinstance(estimator, RolinClassifier):
            remedy.pop("k")
        assert estimator.set_params(**remedy).fit(X, y).predict(X)[y == 1].mean() > 0.5
    else:
        assert "one class" not in said, said


def test_remedies_are_tried_unless_switched_off():
    X, y = rare()
    trying = "on these rows"

    def told(**settings):
        with mainstay.config(**settings), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = MissingFeatureSVC().fit(X, y)
        return " ".join(str(w.message) for w in caught), model.coef_

    tried, one = told()
    untried, other = told(remedies=False)
    assert trying in tried
    assert trying not in untried
    assert "balanced" in untried
    np.testing.assert_array_equal(one, other)


def test_streams_take_weights():
    X, y, weight = rows()
    kept = weight > 0
    one = MissingFeaturePerceptron().partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    copies = np.repeat(np.arange(len(y)), weight)
    other = MissingFeaturePerceptron().partial_fit(X[copies], y[copies], classes=[0, 1])
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert kept.any()
    with pytest.raises(ValueError, match="needs all rows"):
        MissingFeaturePerceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not negative"):
        one.partial_fit(X, y, sample_weight=-np.ones(len(y)))


def test_splits_may_be_given():
    X, y, _ = rows()
    half = np.arange(len(y)) < 30
    pairs = [(np.flatnonzero(half), np.flatnonzero(~half))]
    both = [*pairs, (pairs[0][1], pairs[0][0])]
    model = StableSVCCV(ks=[0.5, 1.0], Cs=[1.0], cv=pairs).fit(X, y)
    assert "split1_test_score" not in model.cv_results_
    assert RolinClassifier(cv=both).fit(X, y).n_iter_ == 2
    with pytest.raises(ValueError, match="every row"):
        RolinClassifier(cv=pairs).fit(X, y)
    with pytest.raises(ValueError, match="all of one class"):
        StableSVCCV(cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(X, y)
