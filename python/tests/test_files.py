"""Models in files: the same model comes back, anything else is refused."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import mainstay
from mainstay import PenalizedClassifier


def public(model):
    return {k: v for k, v in vars(model).items() if k.endswith("_")}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "modified_huber", "alpha": 0.3, "normalize": True, "tol": 1e-4},
        {"class_weight": "balanced", "max_iter": 77},
        {"class_weight": {0: 2.0, 1: 0.1 + 0.2}},
    ],
    ids=str,
)
def test_a_model_comes_back_bit_for_bit(blobs, path, params):
    X, y = blobs
    if isinstance(params.get("class_weight"), dict):
        params = {"class_weight": {k: 1.1 + k / 3 for k in range(y.max() + 1)}}
    model = PenalizedClassifier(**params).fit(X, y)
    mainstay.save(model, path)
    copy = mainstay.load(path)
    assert type(copy) is type(model)
    assert copy.get_params() == model.get_params()
    assert public(copy).keys() == public(model).keys()
    for name, value in public(model).items():
        if name != "certificate_claimed_":  # the one thing that a file cannot vouch for
            assert_array_equal(getattr(copy, name), value)
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    first = path.read_bytes()
    mainstay.save(copy, str(path))
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "names",
    [["no", "yes", "zürich"], [-3, 5, 2**60], [1.0, 2.0, 3.0], [False, True]],
    ids=["text", "integers", "floats", "booleans"],
)
def test_labels_and_feature_names_come_back(blobs, path, names):
    X, y = blobs
    if y.max() >= len(names):
        pytest.skip("true and false cannot name three classes")
    frame = pd.DataFrame(X, columns=["a", "b b", "c,", '"', "é"])
    model = PenalizedClassifier().fit(frame, np.array(names)[y])
    mainstay.save(model, path)
    copy = mainstay.load(path)
    assert copy.classes_.dtype.kind == model.classes_.dtype.kind
    assert_array_equal(copy.predict(frame), model.predict(frame))
    assert_array_equal(copy.feature_names_in_, model.feature_names_in_)


def test_every_damaged_byte_is_noticed(blobs, path):
    mainstay.save(PenalizedClassifier().fit(*blobs), path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(good), size=min(len(good), 300), replace=False):
        bad = bytearray(good)
        bad[place] ^= 1 << rng.integers(8)
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"model"):
            mainstay.load(path)


def test_cut_foreign_and_newer_files_are_refused(blobs, path):
    mainstay.save(PenalizedClassifier().fit(*blobs), path)
    good = path.read_bytes()
    newer = good.replace(b'"version":1', b'"version":999')
    for bad in (b"", b"{}", b"[1, 2]", b"\x80\x04K*.", good[: len(good) // 2], good + good, newer):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"model.json: "):
            mainstay.load(path)


def test_the_file_system_keeps_its_own_errors(blobs, path):
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        mainstay.load(path)
    model = PenalizedClassifier().fit(*blobs)
    with pytest.raises(FileNotFoundError):
        mainstay.save(model, path.parent / "nowhere" / "model.json")
    with pytest.raises(OSError, match="cannot read"):
        mainstay.load(path.parent)
    assert os.listdir(path.parent) == []


def test_what_to_save_instead_of_an_imputer_is_said(blobs, path):
    model = make_pipeline(mainstay.GaussianImputer(), PenalizedClassifier()).fit(*blobs)
    with pytest.raises(ValueError, match=r"not GaussianImputer.*RobustLogisticRegression takes"):
        mainstay.save(model, path)


def test_only_fitted_models_of_ours_are_saved(blobs, path):
    with pytest.raises(NotFittedError):
        mainstay.save(PenalizedClassifier(), path)
    with pytest.raises(ValueError, match="LogisticRegression"):
        mainstay.save(LogisticRegression().fit(*blobs), path)
    assert not path.exists()


def test_the_file_is_json(blobs, path):
    mainstay.save(PenalizedClassifier().fit(*blobs), path)
    content = json.loads(path.read_text())
    assert content["format"] == "mainstay-model"
    assert content["model"]["method"] == "l2"


def test_a_pipeline_out_of_a_file_knows_what_its_columns_are_called(path):
    frame = pd.DataFrame({"age": np.arange(20.0), "site": ["north", "south"] * 10})
    y = np.repeat(["no", "yes"], 10)
    encoder = mainstay.TableEncoder(standardize=True)
    mainstay.save(make_pipeline(encoder, PenalizedClassifier()).fit(frame, y), path)
    loaded = mainstay.load(path)
    names = loaded[0].get_feature_names_out()
    assert list(loaded[-1].summary().coefficients["feature"]) == list(names)
    refitted = loaded[-1].fit(frame[["age"]].to_numpy(), y)
    assert list(refitted.summary().coefficients["feature"]) == ["x0"]
