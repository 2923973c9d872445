"""Stress tests: the threats as functions, any classifier, any backend."""

import warnings
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import mainstay
from mainstay import _core, threats

NAMES = [name for name, *_ in _core.threats()]


def plain():
    return make_pipeline(StandardScaler(), LogisticRegression())


def small(models, X, y, **options):
    options = {"repeats": 2, "random_state": 3, **options}
    return mainstay.stress(models, X, y, **options)


def test_every_threat_is_a_function_that_leaves_its_input_alone(blobs):
    X, y = blobs
    before = X.copy(), y.copy()
    model = LogisticRegression().fit(X, y)
    results = {
        "few_samples": lambda level: threats.few_samples(X, y, level),
        "label_noise": lambda level: (X, threats.label_noise(y, level)),
        "outliers": lambda level: threats.outliers(X, y, level),
        "unlucky_split": lambda level: threats.unlucky_split(X, y, level),
        "missing_features": lambda level: (threats.missing_features(X, level), y),
        "corrupted_features": lambda level: (threats.corrupted_features(X, level), y),
        "measurement_error": lambda level: (threats.measurement_error(X, level), y),
        "adversarial_deletion": lambda level: (threats.adversarial_deletion(X, y, model, level), y),
    }
    assert sorted(results) == sorted(NAMES) == sorted(threats.__all__)
    for name, damage in results.items():
        for array, same in zip(damage(0.0), (X, y), strict=True):
            np.testing.assert_array_equal(array, same, err_msg=name)
        once, again = damage(0.4), damage(0.4)
        assert len(once[0]) != len(X) or (once[0] != X).any() or (once[1] != y).any(), name
        for a, b in zip(once, again, strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_labels_of_any_kind_stay_what_they_are(blobs):
    X, y = blobs
    words = np.array(["b", "a", "c"])[y]
    noisy = threats.label_noise(words, 0.25, random_state=2)
    assert (noisy != words).sum() == 30
    assert set(noisy) <= set(words)
    _, kept = threats.few_samples(X, words, 0.5)
    assert kept.dtype == words.dtype
    _, outlying = threats.outliers(X, words, 0.3, kind="spread")
    np.testing.assert_array_equal(outlying, words)


def test_the_reference_gives_means_and_deviations():
    X, train = np.full((50, 4), 5.0), np.random.default_rng(1).normal(size=(80, 4))
    damaged = threats.missing_features(X, 0.5, reference=train)
    lost = damaged != X
    assert (lost.sum(axis=1) == 2).all()
    means = np.broadcast_to(train.mean(axis=0), X.shape)
    np.testing.assert_allclose(damaged[lost], means[lost], rtol=1e-12)
    error = threats.measurement_error(np.zeros((4000, 4)), 2.0, reference=train)
    np.testing.assert_allclose(error.std(axis=0), 2 * train.std(axis=0), rtol=0.05)


def test_the_adversary_finds_the_worst_deletion_of_any_linear_model():
    X, y = mainstay.datasets.load_demo(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for model in (LogisticRegression(), LinearSVC(), mainstay.PenalizedClassifier()):
        model.fit(X, y)
        damaged = threats.adversarial_deletion(X, y, model, 0.1)
        gains = np.where(y[:, None] == 1, 1, -1) * X * model.coef_[0]
        worst = np.sort(np.maximum(gains, 0), axis=1)[:, -3:].sum(axis=1)
        signs = np.where(y == 1, 1, -1)
        lead = signs * (X @ model.coef_[0] + model.intercept_[0]) - worst
        np.testing.assert_allclose(
            signs * (damaged @ model.coef_[0] + model.intercept_[0]), lead, atol=1e-9
        )
    values = np.arange(1.0, 31.0)
    costly = threats.adversarial_deletion(X, y, model, 0.1, values=values)
    assert (((costly != X) * values).sum(axis=1) <= 0.1 * values.sum() * (1 + 1e-9)).all()


def test_bad_input_of_a_threat_is_named(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="level"):
        threats.few_samples(X, y, 1.0)
    with pytest.raises(ValueError, match="level"):
        threats.measurement_error(X, -1)
    with pytest.raises(ValueError, match="kind"):
        threats.outliers(X, y, 0.1, kind="odd")
    with pytest.raises(ValueError, match="reference"):
        threats.missing_features(X, 0.1, reference=X[:, :2])
    with pytest.raises(ValueError, match="coef_"):
        threats.adversarial_deletion(X, y, RandomForestClassifier().fit(X, y), 0.2)
    with pytest.raises(ValueError, match="attack"):
        threats.adversarial_deletion(X, y, LogisticRegression().fit(X, y), 0.2, attack="odd")


def test_the_table_is_tidy_and_complete(blobs):
    X, y = blobs
    table = small({"plain": plain(), "svm": LinearSVC()}, X, y, levels=[0.2])
    assert list(table.columns) == ["estimator", "threat", "level", "repeat", "metric", "value"]
    assert len(table) == 2 * 9 * 2 * 2
    assert set(table["threat"]) == {"clean", *NAMES}
    accuracy = table[table.metric == "accuracy"]
    assert accuracy["value"].between(0, 1).all()
    loss = table[table.metric == "log_loss"]
    assert loss[loss.estimator == "svm"]["value"].isna().all()
    assert loss[loss.estimator == "plain"]["value"].notna().all()


def test_methods_are_paired_and_repeats_differ(blobs):
    X, y = blobs
    table = small([plain(), plain()], X, y, threats=["label_noise", "missing_features"])
    first, second = (g["value"].to_numpy() for _, g in table.groupby("estimator"))
    np.testing.assert_array_equal(first, second)
    assert set(table["estimator"]) == {"Pipeline", "Pipeline_2"}
    losses = table[(table.threat == "clean") & (table.metric == "log_loss")]
    assert losses.groupby("repeat")["value"].first().nunique() == 2


def test_the_clean_cell_is_an_ordinary_held_out_score(blobs):
    X, y = blobs
    table = small(plain(), X, y, threats=[], metrics=("accuracy", "balanced_accuracy"))
    codes = y.astype(np.int64)
    for repeat in range(2):
        train, test = _core.stress_split(codes, repeat, 3)
        assert not set(train) & set(test)
        model = plain().fit(X[train], y[train])
        cell = table[(table.repeat == repeat) & (table.metric == "accuracy")]
        assert cell["value"].item() == model.score(X[test], y[test])


class Witness(LogisticRegression):
    """Notes the rows it is fitted to and asked about."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        Witness.seen.append(("fit", np.array(X), np.array(y)))
        return super().fit(X, y)

    def predict(self, X):
        Witness.seen.append(("predict", np.array(X), None))
        return super().predict(X)


@pytest.mark.parametrize("threat", NAMES)
def test_only_the_named_part_is_damaged(blobs, threat):
    X, y = blobs
    Witness.seen = []
    small(Witness(), X, y, threats=threat, levels=[0.3], repeats=1, metrics="accuracy")
    train, test = _core.stress_split(y.astype(np.int64), 0, 3)
    fits = [s for s in Witness.seen if s[0] == "fit"]
    asked = [s[1] for s in Witness.seen if s[0] == "predict"]
    np.testing.assert_array_equal(fits[0][1], X[train])
    np.testing.assert_array_equal(asked[0], X[test])
    part = {name: part for name, _, part, _ in _core.threats()}[threat]
    if part == "test":
        assert len(fits) == 1
        assert asked[1].shape == X[test].shape
        assert (asked[1] != X[test]).any()
    else:
        assert len(fits) == 2
        np.testing.assert_array_equal(asked[1], X[test])
        same = fits[1][1].shape == X[train].shape and (fits[1][1] == X[train]).all()
        assert not (same and (fits[1][2] == y[train]).all())


def test_jobs_and_backends_do_not_change_the_table():
    X, y = mainstay.datasets.make_ndc(90, 3, random_state=1)
    models = {"plain": plain(), "forest": RandomForestClassifier(n_estimators=5)}
    options = {"levels": [0.2], "metrics": "accuracy"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        alone = small(models, X, y, **options)
        pd.testing.assert_frame_equal(alone, small(models, X, y, n_jobs=2, **options))
        with joblib.parallel_backend("threading", n_jobs=3):
            pd.testing.assert_frame_equal(alone, small(models, X, y, **options))
    assert not alone.equals(small(models, X, y, **{**options, "random_state": 4}))


def test_a_dask_cluster_takes_the_cells():
    distributed = pytest.importorskip("distributed", reason="distributed is optional")
    X, y = mainstay.datasets.make_ndc(90, 3, random_state=1)
    options = {"threats": ["label_noise", "adversarial_deletion"], "metrics": "accuracy"}
    alone = small(plain(), X, y, **options)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_backend("dask"),
    ):
        found = small(plain(), X, y, **options)
    pd.testing.assert_frame_equal(alone, found, check_exact=True)


def test_what_cannot_be_run_is_nan_with_a_reason(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="RandomForestClassifier has none"):
        table = small(
            RandomForestClassifier(n_estimators=3), X, y, threats=["adversarial_deletion"]
        )
    attacked = table.threat == "adversarial_deletion"
    assert table[attacked]["value"].isna().all()
    assert table[~attacked]["value"].notna().all()
    with pytest.warns(FitFailedWarning, match="could not be fitted"):
        table = small(LogisticRegression(C=-1.0), X, y, threats=[])
    assert table["value"].isna().all()


def test_one_class_after_the_damage_is_said():
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1])
    with pytest.warns(FitFailedWarning, match="one class"):
        table = small(plain(), X, y, threats="label_noise", levels=[0.5], metrics="accuracy")
    assert table[table.threat == "label_noise"]["value"].isna().any()


def test_frames_reach_the_estimators_as_frames(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])

    class Named(LogisticRegression):
        def fit(self, X, y):
            assert list(X.columns) == list(frame.columns)
            return super().fit(X, y)

    table = small(Named(), frame, y, levels=[0.2])
    same = small(LogisticRegression(), X, y, levels=[0.2])
    # A frame may lie in memory the other way round: sums differ in the last bit.
    np.testing.assert_allclose(table["value"], same["value"], rtol=1e-12)


def test_bad_calls_are_refused(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="there are: few_samples"):
        small(plain(), X, y, threats="nonsense")
    with pytest.raises(ValueError, match="twice"):
        small(plain(), X, y, threats=["outliers", "outliers"])
    with pytest.raises(ValueError, match="level"):
        small(plain(), X, y, levels={"label_noise": [2.0]})
    with pytest.raises(ValueError, match="repeats"):
        small(plain(), X, y, repeats=0)
    with pytest.raises(ValueError, match="empty"):
        small([], X, y)
    with pytest.raises(TypeError, match="fit and predict"):
        small({"odd": 3}, X, y)
    with pytest.raises(ValueError, match="one class"):
        small(plain(), X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        small(plain(), np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="rows"):
        small(plain(), X, y[:-1])
    with pytest.raises(ValueError, match="nonsense"):
        small(plain(), X, y, metrics="nonsense")


class Stopping(LogisticRegression):
    """Presses Ctrl-C at its fourth fit."""

    fits = 0

    def fit(self, X, y):
        Stopping.fits += 1
        if Stopping.fits == 4:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_finished_cells_survive_an_interruption(blobs):
    X, y = blobs
    Stopping.fits = 0
    with pytest.raises(mainstay.StressInterrupted) as caught:
        small(Stopping(), X, y, threats="label_noise", metrics="accuracy", repeats=5)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert len(caught.value.partial) == 3
    whole = small(LogisticRegression(), X, y, threats="label_noise", metrics="accuracy")
    np.testing.assert_array_equal(caught.value.partial["value"], whole["value"][:3])


def test_progress_is_shown_on_request(blobs, capsys):
    X, y = blobs
    small(plain(), X, y, threats="label_noise", verbose=1)
    assert "8/8 fits" in capsys.readouterr().err
