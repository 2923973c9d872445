"""Certificates of predictions: exact, and the witness flips."""

import builtins
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import mainstay
from mainstay import (
    ConicSVC,
    EllipsoidSVC,
    PenalizedClassifier,
    ReGEC,
    RobustLogisticRegression,
    RobustReGEC,
    ScaledUncertainty,
    StableSVC,
)

MODELS = [
    LogisticRegression(),
    LinearSVC(),
    RidgeClassifier(),
    PenalizedClassifier(),
    StableSVC(),
    ConicSVC(),
]
ATTACKS = ["l2", "l1", "linf", "ellipsoid", "deletions", "deletion_value"]


def witness_of(found):
    return found.filter(like="witness_").to_numpy()


def size(attack, change):
    if attack == "l1":
        return np.abs(change).sum(axis=1)
    if attack == "linf":
        return np.abs(change).max(axis=1)
    return np.linalg.norm(change, axis=1)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_the_witness_flips_and_less_does_not(model, attack, blobs):
    X, y = blobs
    model.fit(X, y)
    values = np.arange(1.0, 6.0)
    found = mainstay.certify(model, X, uncertainty=2.0, values=values, witness=attack)
    flipped = witness_of(found)
    before = model.predict(X)
    possible = np.isfinite(flipped).all(axis=1)
    assert possible.any()
    assert (model.predict(flipped[possible]) != before[possible]).all()
    if attack.startswith("deletion"):
        gone = (flipped == 0) & (X != 0)
        cost = gone @ (values if attack == "deletion_value" else np.ones(5))
        np.testing.assert_allclose(cost[possible], found[attack][possible])
        assert np.isinf(found[attack][~possible]).all()
        return
    radius = found[f"radius_{attack}"].to_numpy()
    unit = 2.0 if attack == "ellipsoid" else 1.0
    np.testing.assert_allclose(size(attack, flipped - X), radius * unit, rtol=1e-6, atol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.normal(size=X.shape)
        step *= (0.999 * radius * unit / size(attack, step))[:, None]
        assert (model.predict(X + step) == before).all()


def test_columns_index_and_margin():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.index = [f"flower {i}" for i in range(len(X))]
    model = LogisticRegression(max_iter=1000).fit(X, y)
    found = mainstay.certify(model, X, witness="l1")
    plain = ["margin", "radius_l2", "radius_l1", "radius_linf", "deletions", "deletion_value"]
    assert list(found.columns) == plain + [f"witness_{name}" for name in X.columns]
    assert (found.index == X.index).all()
    assert found.attrs["space"] == "the features of X"
    scores = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(found["margin"], scores[:, -1] - scores[:, -2])
    two = LogisticRegression().fit(X[:100], y[:100])
    found = mainstay.certify(two, X[:100], uncertainty=0.1)
    np.testing.assert_allclose(found["margin"], two.decision_function(X[:100]))
    np.testing.assert_allclose(found["radius_ellipsoid"], found["radius_l2"] / 0.1)


@pytest.mark.parametrize("model", [ReGEC(), RobustReGEC(uncertainty=0.2)], ids=["plain", "robust"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_two_planes(model, attack):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:] - X[50:].mean(axis=0), y[50:]
    model.fit(X, y)
    found = mainstay.certify(model, X, uncertainty=0.5, witness=attack)
    flipped = witness_of(found)
    possible = np.isfinite(flipped).all(axis=1)
    assert (model.predict(flipped[possible]) != model.predict(X)[possible]).all()
    np.testing.assert_allclose(found["margin"], model.decision_function(X))
    subsets = [np.array([s >> j & 1 == 0 for j in range(4)]) for s in range(16)]
    fewest = np.full(len(X), np.inf)
    for kept in subsets:
        flips = model.predict(X * kept) != model.predict(X)
        fewest[flips] = np.minimum(fewest[flips], 4 - kept.sum())
    np.testing.assert_array_equal(found["deletions"], fewest)


def test_a_knapsack_that_is_too_hard_gives_an_interval_and_says_so():
    rng = np.random.default_rng(0)
    X = 1 + rng.random((1, 60))
    values = X[0] + 1e-3 * rng.random(60)
    model = LogisticRegression().fit(np.vstack([X, -X]), [1, 0])
    model.coef_, model.intercept_ = np.ones((1, 60)), np.array([-X.sum() / 2])
    found = mainstay.certify(model, X, values=values, witness="deletion_value").iloc[0]
    assert found["deletion_value"] < found["deletion_value_upper"]
    # Every value is at least its gain, so half of the sum is a lower bound.
    assert X.sum() / 2 <= found["deletion_value"] + 1e-9
    gone = found.filter(like="witness_").to_numpy(dtype=float) == 0
    np.testing.assert_allclose(values @ gone, found["deletion_value_upper"])


def test_a_pipeline_is_certified_where_its_last_step_sees_the_rows():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    found = mainstay.certify(model, X, witness="l2")
    assert "logisticregression" in found.attrs["space"]
    inner = mainstay.certify(model[-1], model[:-1].transform(X))
    np.testing.assert_array_equal(found["radius_l2"], inner["radius_l2"])
    assert (model[-1].predict(witness_of(found)) != model.predict(X)).all()
    assert f"witness_{X.columns[0]}" in found
    search = GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}).fit(X, y)
    assert "logisticregression" in mainstay.certify(search, X).attrs["space"]


def test_scaled_uncertainty_and_searches_are_looked_through(blobs):
    X, y = blobs
    model = ScaledUncertainty(EllipsoidSVC()).fit(X, y)
    found = mainstay.certify(model, X, witness="l2")
    assert (model.estimator_.predict(witness_of(found)) != model.predict(X)).all()


def test_sparse_rows_and_shared_shapes(blobs):
    X, y = blobs
    model = StableSVC().fit(X, y)
    dense = mainstay.certify(model, X, uncertainty=np.arange(1.0, 6.0))
    rows = mainstay.certify(model, X, uncertainty=np.tile(np.arange(1.0, 6.0), (len(X), 1)))
    full = mainstay.certify(model, X, uncertainty=np.diag(np.arange(1.0, 6.0) ** 2))
    np.testing.assert_allclose(dense, rows)
    np.testing.assert_allclose(dense, full)
    thin = mainstay.certify(model, sparse.csr_matrix(X))
    np.testing.assert_allclose(thin, dense.drop(columns="radius_ellipsoid"))
    with pytest.raises(ValueError, match="rows or features"):
        mainstay.certify(model, X[:5], uncertainty=np.ones(5))


def test_bad_input_is_named(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LogisticRegression().fit(frame, y)
    with pytest.raises(NotFittedError):
        mainstay.certify(LogisticRegression(), X)
    with pytest.raises(NotFittedError):
        mainstay.certify(ReGEC(), X)
    with pytest.raises(ValueError, match=r"4 features.*expects 5"):
        mainstay.certify(model, X[:, :4])
    with pytest.raises(ValueError, match="column 0 is 'b', expected 'a'"):
        mainstay.certify(model, frame[list("bacde")])
    with pytest.raises(ValueError, match="'e' missing from X; 'z' in X but unknown"):
        mainstay.certify(model, frame.rename(columns={"e": "z"}))
    broken = frame.copy()
    broken.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match="row 3, column 'c' is nan"):
        mainstay.certify(model, broken)
    with pytest.raises(ValueError, match='`witness` = "l3"'):
        mainstay.certify(model, frame, witness="l3")
    with pytest.raises(ValueError, match="used together with `uncertainty`"):
        mainstay.certify(model, frame, witness="ellipsoid")
    with pytest.raises(ValueError, match="one for each of the 5 features"):
        mainstay.certify(model, frame, values=[1.0])
    with pytest.raises(ValueError, match="not negative"):
        mainstay.certify(model, frame, values=[-1.0] * 5)
    with pytest.raises(ValueError, match="rbf"):
        mainstay.certify(SVC().fit(X, y), X)
    with pytest.raises(ValueError, match="RandomForestClassifier has no coef_"):
        mainstay.certify(RandomForestClassifier(n_estimators=2).fit(X, y), X)
    with pytest.raises(ValueError, match="not a classifier"):
        mainstay.certify(LinearRegression().fit(X, y), X)
    with pytest.raises(ValueError, match="kernel model"):
        mainstay.certify(ConicSVC(kernel="rbf").fit(X, y), X)


def test_other_ways_to_use_weights_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="three or more classes"):
        mainstay.certify(ReGEC().fit(X, y), X)
    # One against one: as many rows as classes here, but of another meaning.
    with pytest.raises(ValueError, match="SVC"):
        mainstay.certify(SVC(kernel="linear").fit(X, y), X)
    two = SVC(kernel="linear").fit(X[:100], y[:100])
    np.testing.assert_allclose(
        mainstay.certify(two, X[:100])["margin"], two.decision_function(X[:100])
    )


def test_without_pandas_the_columns_are_a_dict(blobs, monkeypatch):
    X, y = blobs
    real = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    found = mainstay.certify(LogisticRegression().fit(X, y), X, witness="l2")
    assert isinstance(found, dict)
    assert found["witness_x0"].shape == (120,)


def test_many_rows_take_little_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    model = LogisticRegression().fit(X[:2000], X[:2000, 0] + rng.normal(size=2000) > 0)
    start = time.process_time()
    found = mainstay.certify(model, X)
    # Half a second on an idle core; the limit allows for a busy one.
    assert time.process_time() - start < 3.0
    assert len(found) == 100_000


def test_models_that_fill_gaps_are_certified_on_completed_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    X[:, 2] = X[:, 0] + 0.3 * X[:, 2]
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    gaps = X.copy()
    gaps[::9, 2] = np.nan
    model = RobustLogisticRegression(alpha=0.1).fit(gaps, y)
    with pytest.warns(UserWarning, match="9 rows have a missing cell"):
        found = mainstay.certify(model, gaps, witness="l2")
    weights, intercept = model.coef_[0], model.intercept_[0]
    whole = np.isfinite(gaps).all(axis=1)
    np.testing.assert_allclose(found["margin"][whole], gaps[whole] @ weights + intercept)
    moved = found[["witness_x0", "witness_x1", "witness_x2"]].to_numpy()
    # A witness is as far from its completed row as the radius says, and on the other side.
    steps = found["radius_l2"].to_numpy() * np.linalg.norm(weights)
    np.testing.assert_allclose(np.abs(found["margin"]), steps, rtol=1e-9)
    assert (model.predict(moved) != (found["margin"] > 0)).all()
    np.testing.assert_allclose(moved @ weights + intercept, 0, atol=1e-6)
    bad = gaps.copy()
    bad[4, 1] = np.inf
    with pytest.raises(ValueError, match="row 4, column 'x1' is inf"):
        mainstay.certify(model, bad)
