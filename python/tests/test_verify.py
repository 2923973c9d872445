"""Proofs are checked by code of their own, and a claim stays a claim until then."""

import numpy as np
import pytest

import mainstay
from mainstay import (
    ConicSVC,
    EllipsoidSVC,
    MissingFeatureSVC,
    PenalizedClassifier,
    StableLogisticRegression,
    StableSVC,
)

MODELS = [
    PenalizedClassifier(alpha=0.1),
    PenalizedClassifier(loss="hinge", penalty="l1", alpha=0.02, normalize=True),
    StableSVC(k=0.5),
    StableLogisticRegression(k=10, multi_class="joint"),
    EllipsoidSVC(),
    MissingFeatureSVC(budget=0.5),
]


def named(value):
    return type(value).__name__


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_fit_that_kept_its_proof_is_proved(blobs, model):
    X, y = blobs
    weights = np.arange(len(y)) % 3
    with mainstay.config(proof=True):
        model.fit(X, y, sample_weight=weights)
    found = mainstay.verify(model, X, y, sample_weight=weights)
    assert found.proved, found
    assert found.objectives_as_claimed
    assert str(found).startswith("proved")
    # Other weights are another problem.
    other = weights * (1 + 9 * (np.arange(len(y)) < 60))
    assert not mainstay.verify(model, X, y, sample_weight=other).proved


def test_a_loaded_certificate_is_claimed_until_it_is_verified(blobs, tmp_path):
    X, y = blobs
    with mainstay.config(proof=True):
        model = StableSVC(k=0.5).fit(X, y)
    mainstay.save(model, tmp_path / "model.json", proof=True)
    assert mainstay.verify(tmp_path / "model.json", X, y).proved
    loaded = mainstay.load(tmp_path / "model.json")
    assert loaded.certificate_claimed_
    assert not mainstay.verify(loaded, -X, y).proved
    assert loaded.certificate_claimed_
    assert mainstay.verify(loaded, X, y).proved
    assert not loaded.certificate_claimed_


def test_a_model_without_proof_says_what_to_do(blobs, tmp_path):
    X, y = blobs
    model = PenalizedClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"mainstay.config\(proof=True\)"):
        mainstay.save(model, tmp_path / "model.json", proof=True)
    with pytest.raises(ValueError, match="holds no proof"):
        mainstay.verify(model, X, y)
    with pytest.raises(ValueError, match="no checker for `conic`"):
        mainstay.verify(ConicSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="one of the model's classes"):
        mainstay.verify(model, X, y + 7)


def test_the_proof_stays_out_of_files_unless_asked_for(blobs, tmp_path):
    X, y = blobs
    with mainstay.config(proof=True):
        model = PenalizedClassifier().fit(X, y)
    mainstay.save(model, tmp_path / "model.json")
    assert b'"proof"' not in (tmp_path / "model.json").read_bytes()
