"""Measurement error: ellipsoids around rows, in Python."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mainstay
from mainstay import (
    EllipsoidSVC,
    EllipsoidSVCCV,
    GroupedUncertainty,
    NormRobustReGEC,
    ReGEC,
    RobustReGEC,
    ScaledUncertainty,
    scale_uncertainty,
)

UNCERTAIN = [EllipsoidSVC(), RobustReGEC(xi=0.0)]
names = pytest.mark.parametrize("model", UNCERTAIN, ids=lambda m: type(m).__name__)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + 1.5 * y[:, None]
    return X, y, 0.3 * np.abs(rng.normal(size=(80, 3)))


def answer(model):
    return model.coef_ if hasattr(model, "coef_") else model.planes_


@names
def test_every_way_to_give_the_same_ellipsoids_gives_the_same_model(rows, model):
    X, y, axes = rows
    matrices = np.array([np.diag(a**2) for a in axes])
    groups = (np.arange(80), list(axes))
    by_axes = clone(model).fit(X, y, uncertainty=axes)
    for other in (matrices, groups):
        found = clone(model).fit(X, y, uncertainty=other)
        np.testing.assert_allclose(abs(answer(found)), abs(answer(by_axes)), atol=2e-3)
    shared = clone(model).set_params(uncertainty=0.2).fit(X, y)
    for other in (np.full(80, 0.2), 0.2, np.full((80, 3), 0.2)):
        found = clone(model).fit(X, y, uncertainty=other)
        np.testing.assert_allclose(abs(answer(found)), abs(answer(shared)), atol=2e-3)
    for other in ([0.2] * 3, 0.04 * np.eye(3)):
        found = clone(model).set_params(uncertainty=other).fit(X, y)
        np.testing.assert_allclose(abs(answer(found)), abs(answer(shared)), atol=2e-3)


@names
@pytest.mark.parametrize(
    ("uncertainty", "text"),
    [
        (np.ones(79), r"\(79,\), expected \(80,\), \(80, 3\) or \(80, 3, 3\)"),
        (np.ones((80, 2)), r"\(80, 2\), expected"),
        (-np.ones(80), r"radius\[0\] = -1"),
        (np.full((80, 3), np.nan), "NaN"),
        (np.ones((80, 3, 2)), "expected square"),
        (np.ones((80, 3, 3)) - 3 * np.eye(3), "not positive semidefinite"),
        (np.ones((80, 3, 3)) + np.triu(np.ones((3, 3)), 1), "not symmetric"),
        (np.ones((2, 2, 2, 2)), "4 dimensions"),
        ((np.zeros(80), [0.1], 3), "tuple"),
        ((np.ones(80), [0.1]), "there are 1 groups"),
    ],
)
def test_bad_uncertainty_is_refused(rows, model, uncertainty, text):
    X, y, _ = rows
    with pytest.raises(ValueError, match=text):
        clone(model).fit(X, y, uncertainty=uncertainty)


@names
@pytest.mark.parametrize("uncertainty", [-1.0, [0.1], np.ones((2, 2)), "large", [[1, 2], [2, 1]]])
def test_bad_shared_uncertainty_is_refused(rows, model, uncertainty):
    X, y, _ = rows
    with pytest.raises(ValueError, match="uncertainty"):
        clone(model).set_params(uncertainty=uncertainty).fit(X, y)


def test_the_svm_is_scikit_learns_without_uncertainty(rows):
    from sklearn.svm import SVC

    X, y, _ = rows
    ours = EllipsoidSVC(0.0, tol=1e-8).fit(X, y)
    theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.dual_gap_ <= 1e-8


def test_the_path_equals_single_fits(rows):
    X, y, axes = rows
    models = EllipsoidSVC.path(X, y, [0.1, 1.0], [0.0, 0.5, 1.0], uncertainty=axes)
    assert [m.C for m in models] == [0.1] * 3 + [1.0] * 3
    for model, scale in zip(models, [0.0, 0.5, 1.0] * 2, strict=True):
        single = EllipsoidSVC(C=model.C).fit(X, y, uncertainty=scale * axes)
        assert model.objective_ == pytest.approx(single.objective_, rel=3e-6)
        assert model.predict(X).tolist() == single.predict(X).tolist()


@names
def test_metadata_routing_through_search_and_pipeline(rows, model):
    X, y, axes = rows
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(uncertainty=True, sample_weight=True)
        routed.set_score_request(sample_weight=False)
        pipe = make_pipeline(FunctionTransformer(), routed)
        pipe.fit(X, y, uncertainty=axes, sample_weight=np.ones(80))
        direct = clone(model).fit(X, y, uncertainty=axes)
        np.testing.assert_array_equal(answer(pipe[-1]), answer(direct))
        wrapped = ScaledUncertainty(clone(model)).set_fit_request(uncertainty=True)
        scores = cross_val_score(wrapped, X, y, params={"uncertainty": axes}, cv=3)
        assert scores.min() > 0.6
        search = GridSearchCV(routed, {"class_weight": [None, "balanced"]}, cv=3)
        search.fit(X, y, uncertainty=axes, sample_weight=np.ones(80))
        assert search.best_score_ > 0.6


@names
def test_groups_are_split_by_cross_validation(rows, model):
    X, y, axes = rows
    group = np.arange(80) % 3
    shapes = [0.1, axes[0], np.diag(axes[1] ** 2)]
    grouped = GroupedUncertainty(group, shapes)
    direct = clone(model).fit(X, y, uncertainty=(group, shapes))
    np.testing.assert_array_equal(
        answer(clone(model).fit(X, y, uncertainty=grouped)), answer(direct)
    )
    part = grouped[np.arange(80) > 9]
    assert (part.shape, len(part), part.group.tolist()) == ((70,), 70, group[10:].tolist())
    full = [np.diag(np.full(3, 0.01)), np.diag(axes[0] ** 2), shapes[2]]
    matrices = np.array([full[g] for g in group])
    with sklearn.config_context(enable_metadata_routing=True):
        wrapped = ScaledUncertainty(clone(model)).set_fit_request(uncertainty=True)
        pipe = make_pipeline(FunctionTransformer(), wrapped)
        for estimator in (wrapped, pipe):
            scores = [
                cross_val_score(estimator, X, y, params={"uncertainty": u}, cv=3)
                for u in (grouped, matrices)
            ]
            np.testing.assert_allclose(*scores, atol=0.05)
        grid = {"scaleduncertainty__estimator__class_weight": [None, "balanced"]}
        search = GridSearchCV(pipe, grid, cv=3, error_score="raise")
        assert search.fit(X, y, uncertainty=grouped).best_score_ > 0.6
        routed = clone(model).set_fit_request(uncertainty=True)
        search = GridSearchCV(routed, {"class_weight": [None, "balanced"]}, error_score="raise")
        assert search.fit(X, y, uncertainty=grouped).best_score_ > 0.6
        params = {"uncertainty": (group, shapes)}
        with pytest.raises(ValueError, match="GroupedUncertainty"):
            cross_val_score(routed, X, y, params=params, cv=3, error_score="raise")
    for bad, text in (([0.5] * 80, "integers"), (np.zeros((80, 2)), "one index per row")):
        with pytest.raises(ValueError, match=text):
            GroupedUncertainty(bad, shapes)


BIG_FITS = {
    "ReGEC": "X = rng.standard_normal((100_000, 200)); y = np.arange(100_000) % 2\n"
    "fit = lambda: ReGEC().fit(X, y)",
    "RobustReGEC": "X = rng.standard_normal((50_000, 100)); y = np.arange(50_000) % 2\n"
    "fit = lambda: RobustReGEC(xi=0.0).fit(X, y, uncertainty=0.1 * abs(X))",
    "EllipsoidSVC": "X = rng.standard_normal((20_000, 50)); y = np.arange(20_000) % 2\n"
    "fit = lambda: EllipsoidSVC().fit(X, y, uncertainty=0.1 * abs(X))",
}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", BIG_FITS)
def test_ctrl_c_stops_a_large_fit_within_a_second(name):
    code = f"""
import os, signal, threading, time
import numpy as np
from mainstay import EllipsoidSVC, ReGEC, RobustReGEC
rng = np.random.default_rng(0)
{BIG_FITS[name]}

def interrupt():
    global sent
    time.sleep(0.3)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    while True:
        fit()
except KeyboardInterrupt:
    print(time.monotonic() - sent, flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert float(done.stdout) < 1.0


@names
def test_scaled_ellipsoids_follow_the_features(rows, model):
    X, y, axes = rows
    units = np.array([1.0, 1000.0, 0.01])
    plain = ScaledUncertainty(clone(model)).fit(X, y, uncertainty=axes)
    other = ScaledUncertainty(clone(model)).fit(X * units, y, uncertainty=axes * units)
    np.testing.assert_allclose(
        plain.decision_function(X), other.decision_function(X * units), atol=1e-6
    )
    scaler = StandardScaler().fit(X)
    direct = clone(model).fit(
        scaler.transform(X), y, uncertainty=scale_uncertainty(axes, scaler.scale_)
    )
    np.testing.assert_array_equal(answer(plain.estimator_), answer(direct))
    # The parameter is in the units of X too.
    shared = ScaledUncertainty(clone(model).set_params(uncertainty=0.3)).fit(X, y)
    each = ScaledUncertainty(clone(model)).fit(X, y, uncertainty=np.full((80, 3), 0.3))
    np.testing.assert_allclose(shared.decision_function(X), each.decision_function(X), atol=1e-4)


def test_batches_equal_the_whole():
    X, y = load_iris(return_X_y=True)
    whole = ReGEC(rule="plane").fit(X, y)
    parts = ReGEC()
    for k in range(3):
        parts.partial_fit(X[k * 50 : (k + 1) * 50], y[k * 50 : (k + 1) * 50], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.planes_, whole.planes_, atol=1e-8)
    assert (parts.predict(X) == whole.predict(X)).all()
    later = pickle.loads(pickle.dumps(parts)).partial_fit(X, y)
    np.testing.assert_allclose(abs(later.planes_), abs(whole.planes_), atol=1e-8)
    workers = [ReGEC().partial_fit(X[k::3], y[k::3], classes=[0, 1, 2]) for k in range(3)]
    merged = workers[0].merge(*workers[1:])
    np.testing.assert_allclose(merged.planes_, whole.planes_, atol=1e-8)
    with pytest.raises(ValueError, match="partial_fit"):
        merged.merge(whole)
    with pytest.raises(ValueError, match="3 features"):
        merged.merge(ReGEC().partial_fit(X[:, :3], y, classes=[0, 1, 2]))
    with pytest.raises(ValueError, match="needs `classes`"):
        ReGEC().partial_fit(X, y)
    with pytest.raises(ValueError, match="not among"):
        parts.partial_fit(X, y + 1)


def test_fitted_attributes_have_the_shapes_of_the_contract():
    X, y = load_iris(return_X_y=True)
    for model in (ReGEC(), NormRobustReGEC(), RobustReGEC(0.2)):
        three = clone(model).fit(X, y)
        assert three.planes_.shape == (3, 4)
        assert three.eigenvalues_.shape == (3, 2)
        assert three.offsets_.shape == three.worst_case_ratio_.shape == (3,)
        np.testing.assert_allclose(np.linalg.norm(three.planes_, axis=1), 1.0)
        two = clone(model).fit(X[:100], y[:100])
        assert two.eigenvalues_.shape == two.worst_case_ratio_.shape == (2,)
        assert two.score(X[:100], y[:100]) > 0.9
    assert 0 <= RobustReGEC(0.2).fit(X, y).xi_ <= 1


def test_the_worst_case_ratio_is_that_of_the_definition(rows):
    X, y, axes = rows
    model = RobustReGEC(xi="cv", random_state=1).fit(X, y, uncertainty=axes)
    for k in range(2):
        w = model.planes_[k]
        d = abs(X @ w - model.offsets_[k])
        rho = np.sqrt(((axes * w) ** 2).sum(1))
        ratio = ((d + rho)[y == k] ** 2).sum() / (np.maximum(d - rho, 0)[y != k] ** 2).sum()
        assert model.worst_case_ratio_[k] == pytest.approx(ratio, rel=1e-9)


def test_models_survive_files_and_pickles(rows, tmp_path):
    X, y, axes = rows
    for model in (*UNCERTAIN, ReGEC(), NormRobustReGEC()):
        extra = {"uncertainty": axes} if model in UNCERTAIN else {}
        fitted = clone(model).fit(X, y, **extra)
        path = tmp_path / "model.json"
        mainstay.save(fitted, path)
        for copy in (mainstay.load(path), pickle.loads(pickle.dumps(fitted))):
            np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))


def test_a_single_row_in_one_of_two_classes_is_refused():
    with pytest.raises(ValueError, match="needs at least 2"):
        ReGEC().fit([[0.0], [1.0], [3.0]], [0, 0, 1])


def test_uncertainty_that_is_too_large_is_said_with_a_scale_that_works(rows):
    X, y, _ = rows
    with pytest.warns(UserWarning, match="too large"):
        RobustReGEC(30.0, xi=0.0).fit(X, y)
    with pytest.warns(UserWarning, match="w = 0"):
        EllipsoidSVC(30.0).fit(X, y)


def test_ndc_data_are_integers_with_both_classes():
    X, y = mainstay.datasets.make_ndc(500, 5, random_state=3)
    assert X.shape == (500, 5)
    assert (np.round(X) == X).all()
    assert set(y) == {0, 1}
    again, _ = mainstay.datasets.make_ndc(500, 5, random_state=3)
    np.testing.assert_array_equal(X, again)


def test_the_size_of_the_ellipsoids_is_chosen_under_the_stated_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
    model = EllipsoidSVCCV(0.5, scales=[0.0, 0.5, 5.0], Cs=[0.1, 1.0], cv=3).fit(X, y)
    # Ellipsoids of two and a half standard deviations leave no weights.
    assert model.scale_ in (0.0, 0.5)
    assert len(model.cv_results_["mean_test_score"]) == 6
    single = EllipsoidSVC(0.5 * model.scale_, C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-4)
    simple = EllipsoidSVCCV(0.5, scales=[0.0, 0.5], Cs=[0.1, 1.0], cv=3, rule="one_se").fit(X, y)
    scores = np.asarray(simple.cv_results_["mean_test_score"])
    chosen = (np.asarray(simple.cv_results_["param_C"]) == simple.C_) & (
        np.asarray(simple.cv_results_["param_scale"]) == simple.scale_
    )
    best = scores.argmax()
    error = np.asarray(simple.cv_results_["std_test_score"])[best] / np.sqrt(2)
    assert scores[chosen][0] >= scores[best] - error - 1e-12
