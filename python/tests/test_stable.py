"""Stable SVM and stable logistic regression: what the compiled fits mean in Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from mainstay import (
    StableLogisticRegression,
    StableLogisticRegressionCV,
    StableSVC,
    StableSVCCV,
    coefficient_stability,
)


def top_mean(losses, k):
    return np.sort(losses)[::-1][:k].mean()


def test_the_objective_is_that_of_the_written_problem(blobs):
    X, y = blobs
    if len(np.unique(y)) > 2:
        pytest.skip("problem (10), for three classes, is compared with Clarabel in the Rust tests")
    sign = np.where(y == 1, 1.0, -1.0)
    model = StableSVC(k=60, C=0.7).fit(X, y)
    hinge = np.maximum(0, 1 - sign * model.decision_function(X))
    assert_allclose(
        model.objective_, np.sum(model.coef_**2) + 0.7 * 60 * top_mean(hinge, 60), rtol=1e-10
    )
    model = StableLogisticRegression(k=60, alpha=0.05).fit(X, y)
    log = np.logaddexp(0, -sign * model.decision_function(X))
    assert_allclose(model.objective_, top_mean(log, 60) + 0.05 * np.sum(model.coef_**2), rtol=1e-10)
    assert model.dual_gap_ <= 1e-6


def test_one_and_one_point_zero_differ(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="smallest usable k"):
        one = StableSVC(k=1).fit(X, y)
    assert_array_equal(one.coef_, 0)
    everything = StableSVC(k=1.0).fit(X, y)
    assert everything.equals_classical_
    assert np.any(everything.coef_ != 0)
    assert_array_equal(everything.coef_, StableSVC(k=np.int64(len(y))).fit(X, y).coef_)


def test_k_of_everything_is_scikit_learns_logistic_regression():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + rng.normal(size=200) > 0
    ours = StableLogisticRegression(k=1.0, alpha=0.02, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=1 / (2 * 0.02 * 200), tol=1e-10, max_iter=10000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_joint_probabilities_are_a_softmax():
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=90)
    X = rng.normal(size=(90, 3)) + 2 * np.eye(3)[y]
    model = StableLogisticRegression(k=0.8, multi_class="joint").fit(X, y)
    scores = model.decision_function(X)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    assert np.isscalar(model.objective_)
    assert StableLogisticRegression(k=0.8).fit(X, y).objective_.shape == (3,)


def test_worst_rows_are_rows_of_the_training_data(blobs):
    X, y = blobs
    model = StableSVC(k=0.4, C=0.1).fit(X, y)
    worst = model.worst_rows_
    assert set(worst) == {"row", "weight", "loss"}
    assert len(np.unique(worst["row"])) == len(worst["row"])
    assert worst["weight"].sum() <= 0.4 * len(y) + 1e-2
    assert np.all(np.diff(worst["loss"]) <= 0)


@pytest.mark.parametrize("estimator", [StableSVC, StableLogisticRegression])
def test_a_path_gives_fitted_models_in_order(blobs, estimator):
    X, y = blobs
    ks = [1.0, 0.7, 60]
    models = estimator.path(X, y, ks, tol=1e-8)
    assert [m.k for m in models] == ks
    for model, k in zip(models, ks, strict=True):
        alone = estimator(k=k, tol=1e-8).fit(X, y)
        assert_allclose(model.objective_, alone.objective_, rtol=1e-6)
        assert_array_equal(model.classes_, alone.classes_)
        assert model.predict(X).shape == y.shape


def test_a_path_runs_over_the_regularisation_too(blobs):
    X, y = blobs
    values = [0.01, 0.1, 1]
    for model, C in zip(StableSVC.path(X, y, Cs=values, k=0.9), values, strict=True):
        assert (model.k, model.C) == (0.9, C)
        assert_allclose(model.objective_, StableSVC(k=0.9, C=C).fit(X, y).objective_, rtol=1e-5)
    models = StableLogisticRegression.path(X, y, alphas=values, k=0.9)
    assert [model.alpha for model in models] == values
    for wrong in ({}, {"ks": [1.0], "Cs": [1.0]}):
        with pytest.raises(ValueError, match="either `ks` or `Cs`"):
            StableSVC.path(X, y, **wrong)
    with pytest.raises(ValueError, match="alpha"):
        StableLogisticRegression.path(X, y, alphas=[-1.0])


def test_cross_validation_names_its_choice(blobs):
    X, y = blobs
    svc = StableSVCCV(ks=[0.5, 1.0], Cs=[0.1, 1.0], random_state=1).fit(X, y)
    assert svc.k_ in (0.5, 1.0)
    assert svc.C_ in (0.1, 1.0)
    results = svc.cv_results_
    assert len(results["mean_test_score"]) == 4
    best = np.flatnonzero(results["rank_test_score"] == 1)
    means = results["mean_test_score"]
    assert_array_equal(best, np.flatnonzero(means == means.max()))
    assert svc.k_ == results["param_k"][best].max()
    assert {"k": svc.k_, "C": svc.C_} in [results["params"][at] for at in best]
    folds = np.array([results[f"split{fold}_test_score"] for fold in range(5)])
    assert_allclose(folds.mean(axis=0), results["mean_test_score"])
    assert_allclose(folds.std(axis=0), results["std_test_score"], atol=1e-15)
    again = StableSVCCV(ks=[0.5, 1.0], Cs=[0.1, 1.0], random_state=1, n_jobs=2).fit(X, y)
    assert_array_equal(svc.coef_, again.coef_)
    logistic = StableLogisticRegressionCV(ks=[1.0], alphas=[1e-3, 10.0]).fit(X, y)
    assert logistic.alpha_ == 1e-3
    assert logistic.predict_proba(X).shape == (len(y), len(np.unique(y)))


@pytest.mark.parametrize("solver", ["interior-point", "cutting-plane"])
def test_max_iter_limits_the_whole_fit(blobs, solver):
    X, y = blobs
    for max_iter in (1, 2, 3, 7):
        for model in (StableSVC(), StableSVC(loss="squared_hinge"), StableLogisticRegression()):
            model.set_params(max_iter=max_iter, solver=solver, tol=1e-12)
            with pytest.warns(ConvergenceWarning):
                model.fit(X, y)
            assert 1 <= model.n_iter_ <= max_iter


def test_verbose_names_the_stages(blobs, capsys):
    X, y = blobs
    StableSVC(verbose=1).fit(X, y)
    assert "(interior point)" in capsys.readouterr().err


def test_cutting_planes_agree(blobs):
    X, y = blobs
    params = {"k": 0.8, "C": 0.01, "tol": 1e-4}
    inner = StableSVC(**params).fit(X, y)
    planes = StableSVC(solver="cutting-plane", **params).fit(X, y)
    assert planes.dual_gap_ <= 1e-4
    assert_allclose(inner.objective_, planes.objective_, rtol=2e-4, atol=2e-4)


def test_stability_is_paired_and_works_for_any_linear_classifier(blobs):
    X, y = blobs
    for estimator in (LinearSVC(), StableSVC(k=0.9), StableLogisticRegression(k=0.9)):
        paired = coefficient_stability(estimator, X, y, n_resamples=4)
        again = coefficient_stability(estimator, X, y, n_resamples=4)
        assert paired.absolute == again.absolute > 0
        spread = paired.coefficients.std(axis=0)
        assert_allclose(paired.absolute, np.sqrt((spread**2).mean(axis=1)).mean())
        paper = coefficient_stability(estimator, X, y, "paper")
        assert paper.coefficients.shape[0] == 9
    with pytest.raises(ValueError, match="protocol"):
        coefficient_stability(StableSVC(), X, y, "fair")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (StableSVC(k=0), "`k` = 0"),
        (StableSVC(k=1.5), "`k` = 1.5"),
        (StableSVC(k="half"), "`k` = "),
        (StableSVC(k=float("nan")), "`k` = nan"),
        (StableSVC(k=1000), "`k` = 1000"),
        (StableSVC(C=0.0), "`C` = 0"),
        (StableLogisticRegression(alpha=-1.0), "`alpha` = -1"),
        (StableLogisticRegression(multi_class="all"), "`multi_class`"),
        (StableSVCCV(ks=[]), "`ks`"),
    ],
)
def test_bad_parameters_are_named(blobs, estimator, message):
    X, y = blobs
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)


def test_k_auto_is_the_smallest_that_costs_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + 0.8 * rng.logistic(size=150) > 0).astype(int)
    for estimator in (StableLogisticRegression(k="auto"), StableSVC(k="auto")):
        model = estimator.fit(X, y)
        results = model.cv_results_
        scores = results["mean_test_score"]
        best = np.nanargmax(scores)
        error = results["std_test_score"][best] / 2  # five folds: sqrt(5 - 1)
        near = results["param_k"][scores >= scores[best] - error]
        assert model.k_ == near.min()
        assert len(np.unique(model.predict(X))) == 2
        fixed = type(estimator)(k=float(model.k_)).fit(X, y)
        assert_array_equal(fixed.coef_, model.coef_)
        heavy = type(estimator)(k="auto").fit(X, y, sample_weight=np.full(150, 2.0))
        twice = type(estimator)(k="auto").fit(np.vstack([X, X]), np.append(y, y))
        assert heavy.k_ == twice.k_
    with pytest.raises(ValueError, match="auto"):
        StableSVC(k="all").fit(X, y)
