"""Probabilities put on scores, against scikit-learn's calibration."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

import mainstay
from mainstay import (
    ConicSVC,
    ConicSVCCV,
    EllipsoidSVC,
    MissingFeaturePerceptron,
    MissingFeatureSVC,
    NormRobustReGEC,
    PenalizedClassifier,
    ReGEC,
    RobustReGEC,
    StableSVC,
    _core,
)

WITHOUT = [
    ConicSVC(),
    ConicSVC(kernel="rbf"),
    StableSVC(),
    MissingFeatureSVC(),
    MissingFeaturePerceptron(),
    EllipsoidSVC(),
    ReGEC(),
    RobustReGEC(),
    NormRobustReGEC(),
    PenalizedClassifier(loss="hinge"),
]


def scored(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(float)
    return y * 1.5 + rng.normal(size=n), y, rng.integers(1, 4, n).astype(float)


def reference(n, seed, kind):
    """Probabilities of scikit-learn's calibrator on the same scores."""
    from sklearn.calibration import _SigmoidCalibration

    scores, y, weights = scored(n, seed)
    if kind == "isotonic":
        other = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0)
    else:
        other = _SigmoidCalibration()
    return other.fit(scores, y, sample_weight=weights)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("seed", range(5))
def test_the_maps_are_those_of_scikit_learn(kind, seed):
    scores, y, weights = scored(80, seed)
    new = np.linspace(-5.0, 6.0, 101)
    ours = _core.calibration_map(kind, scores, y, weights, new)
    theirs = reference(80, seed, kind).predict(new)
    # Their sigmoid is found by a quasi-Newton method that stops at gradients of 1e-5 or so.
    np.testing.assert_allclose(ours, theirs, atol=1e-12 if kind == "isotonic" else 1e-4)


@pytest.mark.parametrize("n", [300, 1500])
def test_probabilities_are_as_good_as_those_of_calibrated_classifier_cv(n):
    X, y = make_classification(n + 4000, 8, n_informative=5, weights=[0.7], random_state=3)
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    ours = PenalizedClassifier("squared_hinge", alpha=0.01, calibrate=True).fit(*train)
    method = "isotonic" if n >= 1000 else "sigmoid"
    same = LinearSVC(C=1 / (0.01 * n) / 2)
    theirs = CalibratedClassifierCV(same, method=method, ensemble=False, cv=5).fit(*train)
    p, q = ours.predict_proba(test[0]), theirs.predict_proba(test[0])
    # Folds differ, the maps therefore a little; isotonic maps have steps.
    assert np.mean(np.abs(p - q)) < 0.03
    assert abs(log_loss(test[1], p) - log_loss(test[1], q)) < 0.03
    assert ours.calibration_["kind"] == method


@pytest.mark.parametrize("estimator", WITHOUT, ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_machine_has_probabilities_that_agree_with_predict(estimator, classes):
    assert not hasattr(estimator, "predict_proba")
    X, y = make_blobs(90, 3, centers=classes, cluster_std=3.0, random_state=1)
    names = np.array(["a", "b", "c"])[y]
    model = clone(estimator).set_params(calibrate=True).fit(X, names)
    p = model.predict_proba(X)
    assert p.shape == (90, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    scores = model.decision_function(X)
    chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[chosen], model.predict(X))


def test_a_calibrated_model_survives_its_file(tmp_path):
    X, y = make_blobs(1200, 3, centers=2, cluster_std=4.0, random_state=2)
    for model in (EllipsoidSVC(calibrate=True), ReGEC(calibrate=True)):
        model.fit(X, y)
        path = tmp_path / "model.json"
        mainstay.save(model, path)
        back = mainstay.load(path)
        assert back.calibrate is True
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_what_cannot_be_calibrated_says_so():
    X, y = make_blobs(60, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match="of its own"):
        PenalizedClassifier(calibrate=True).fit(X, y)
    with pytest.raises(ValueError, match="stream"):
        ReGEC(calibrate=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="stream"):
        MissingFeaturePerceptron(calibrate=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="path"):
        ConicSVC.path(X, y, [0.1, 0.2], calibrate=True)
    with pytest.raises(ValueError, match="two different rows"):
        StableSVC(calibrate=True).fit(X[:5], [0, 0, 0, 0, 1])


class FixedSVC(StableSVC):
    """A user's own, which has no ``calibrate``."""

    def __init__(self, C=1.0):
        super().__init__(C=C)


@pytest.mark.parametrize(
    ("estimator", "remedy"),
    [
        (StableSVC(), "StableSVC defines no probabilities; pass calibrate=True"),
        (ReGEC(), "ReGEC defines no probabilities; pass calibrate=True"),
        (ConicSVCCV(), "ConicSVCCV defines no probabilities; pass calibrate=True"),
        (
            FixedSVC(),
            "FixedSVC defines no probabilities; wrap it in sklearn.calibration.",
        ),
    ],
    ids=repr,
)
def test_who_asks_for_probabilities_that_are_not_there_reads_what_to_do(estimator, remedy):
    """scikit-learn's own line comes first; the reason and the remedy stand below it."""
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        estimator.predict_proba([[0.0]])
    assert str(caught.value.__cause__).startswith(remedy)
    assert not hasattr(estimator, "predict_proba")
