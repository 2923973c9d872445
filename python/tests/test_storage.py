"""Models in the formats of others: skops, pickle, joblib, MLflow, ONNX."""

import copy
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import (
    ConicSVC,
    ConicSVCCV,
    DropFarRows,
    EllipsoidSVC,
    GaussianImputer,
    MissingFeaturePerceptron,
    MissingFeatureSVC,
    PenalizedClassifier,
    ReGEC,
    RobustCV,
    RobustLogisticRegression,
    RobustReGEC,
    RolinClassifier,
    ScaledUncertainty,
    StableLogisticRegression,
    StableSVC,
    TableEncoder,
)

MODELS = [
    PenalizedClassifier(),
    PenalizedClassifier(alpha="cv", n_alphas=3),
    ConicSVC(),
    ConicSVC(kernel="rbf"),
    ConicSVCCV(kappas=3, cv=3),
    StableSVC(),
    StableLogisticRegression(),
    RolinClassifier(n_repeats=1),
    MissingFeatureSVC(),
    MissingFeaturePerceptron(),
    ReGEC(),
    RobustReGEC(),
    EllipsoidSVC(),
    RobustLogisticRegression(),
    DropFarRows(PenalizedClassifier()),
    RobustCV(PenalizedClassifier(), {"alpha": [0.01, 0.1]}, cv="1x3"),
    ScaledUncertainty(RobustReGEC()),
    make_pipeline(TableEncoder(standardize=True), GaussianImputer(), PenalizedClassifier()),
]


def by_skops(model):
    skops = pytest.importorskip("skops.io", reason="skops is optional")
    text = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=text)
    # Nothing but our own classes has to be trusted: no compiled type, no function.
    assert all(name.startswith("mainstay._") and "._core." not in name for name in unknown), unknown
    return skops.loads(text, trusted=unknown)


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "skops": by_skops,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": by_joblib,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 3))
    X[:, 0] += 1.5 * y
    return X, y


@pytest.fixture(scope="module", params=MODELS, ids=lambda m: repr(m)[:40])
def fitted(request, rows):
    return copy.deepcopy(request.param).fit(*rows)


@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_predicts_the_same_bits(fitted, rows, way):
    again = WAYS[way](fitted)
    X, _ = rows
    assert type(again) is type(fitted)
    assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.get_params().keys() == fitted.get_params().keys()


def test_a_copied_fit_goes_on_learning(rows):
    X, y = rows
    model = ReGEC().partial_fit(X[:40], y[:40], classes=[0, 1])
    again = by_skops(model)
    assert_array_equal(
        again.partial_fit(X[40:], y[40:]).decision_function(X),
        model.partial_fit(X[40:], y[40:]).decision_function(X),
    )


def test_an_altered_state_is_refused(rows):
    model = PenalizedClassifier().fit(*rows)
    state = model.__getstate__()
    state["_compiled"] = {"_model": ["Session", "{}"]}
    with pytest.raises(ValueError, match="unknown 'Session'"):
        PenalizedClassifier().__setstate__(state)


def test_mlflow_stores_a_pipeline(rows, tmp_path):
    # MLflow brings a web server and a database along, more packages than all other tests
    # together: it is no dependency of the tests, and this one runs where it is installed.
    mlflow = pytest.importorskip("mlflow.sklearn", reason="MLflow is not installed")
    X, y = rows
    model = make_pipeline(TableEncoder(), ConicSVC()).fit(X, y)
    mlflow.save_model(model, str(tmp_path / "model"))
    again = mlflow.load_model(str(tmp_path / "model"))
    assert_array_equal(again.decision_function(X), model.decision_function(X))


class Named(PenalizedClassifier):
    """A subclass with a parameter of its own."""

    def __init__(self, name="plain", alpha=0.01):
        super().__init__(alpha=alpha)
        self.name = name


def test_a_subclass_with_a_parameter_of_its_own_fits(rows):
    X, y = rows
    model = Named(name="mine", alpha=0.1).fit(X, y)
    assert_array_equal(model.coef_, PenalizedClassifier(alpha=0.1).fit(X, y).coef_)
    assert pickle.loads(pickle.dumps(model)).name == "mine"


# ONNX


def onnx_run(model, inputs):
    pytest.importorskip("onnx", reason="onnx is optional")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is optional")
    graph = mainstay.to_onnx(model)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def agree(model, X, found):
    assert_array_equal(found["label"], model.predict(X))
    scores = model.decision_function(X)
    assert_allclose(found["scores"].reshape(scores.shape), scores, rtol=1e-6, atol=1e-6)
    if hasattr(model, "predict_proba"):
        assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-6)
    else:
        assert "probabilities" not in found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        PenalizedClassifier(),
        PenalizedClassifier(loss="modified_huber", normalize=True),
        PenalizedClassifier(loss="hinge"),
        ConicSVC(),
        StableLogisticRegression(multi_class="joint"),
        MissingFeatureSVC(),
        make_pipeline(StandardScaler(), PenalizedClassifier()),
    ],
    ids=lambda m: repr(m)[:50],
)
@pytest.mark.parametrize("labels", ["text", "integers"])
def test_onnx_predicts_the_same(model, classes, labels):
    rng = np.random.default_rng(2)
    y = rng.integers(classes, size=90)
    X = rng.normal(size=(90, 4))
    X[:, 0] += y
    X[:, 1] -= y == 1
    y = np.array(["a", "b", "ü"])[y] if labels == "text" else y + 5
    model = model.fit(X, y)
    agree(model, X, onnx_run(model, {"X": X}))


def test_onnx_reads_raw_columns():
    rng = np.random.default_rng(4)
    n = 80
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 80, n)),
            "stage": rng.choice(["I", "II", "III", None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    y = np.where(frame["age"].fillna(50) + rng.normal(0, 9, n) > 50, "ill", "well")
    for options in ({}, {"standardize": True}, {"reference": {"stage": "I"}}, {"min_count": 20}):
        model = make_pipeline(TableEncoder(impute="mean", **options), PenalizedClassifier())
        model.fit(frame, y)
        inputs = {
            "age": frame[["age"]].to_numpy(float),
            "stage": frame[["stage"]].fillna("").to_numpy(str).astype(object),
            "seen": ((frame["seen"] - pd.Timestamp(0)).dt.days).to_numpy(float)[:, None],
        }
        agree(model, frame, onnx_run(model, inputs))


def test_what_is_not_linear_has_no_graph(rows):
    pytest.importorskip("onnx", reason="onnx is optional")
    for model in (ConicSVC(kernel="rbf"), ReGEC()):
        with pytest.raises(ValueError, match="only linear ones"):
            mainstay.to_onnx(model.fit(*rows))
