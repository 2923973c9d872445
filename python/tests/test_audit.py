"""Which labels are wrong, as users ask it."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import mainstay
from mainstay import (
    ConicSVC,
    DropFarRows,
    MissingFeatureSVC,
    PenalizedClassifier,
    ReGEC,
    RobustCV,
    RobustLogisticRegression,
    StableSVC,
    _core,
    audit_labels,
)


def planted(n=400, share=0.1, classes=2, seed=0, apart=3.0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    X = rng.normal(size=(n, 4)) + apart * np.eye(4)[truth]
    wrong = rng.random(n) < share
    other = (truth + rng.integers(1, classes, n)) % classes
    return X, np.where(wrong, other, truth), wrong


@pytest.mark.parametrize(
    "model",
    [
        PenalizedClassifier(),
        StableSVC(),
        ReGEC(),
        ConicSVC(0.1),
        MissingFeatureSVC(budget=1),
        RobustLogisticRegression(),
        RobustLogisticRegression(wrong_labels=0.1),
        DropFarRows(LogisticRegression()),
        RobustCV(PenalizedClassifier(), {"alpha": [0.01, 0.1]}, cv=3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_classifier_ranks_wrong_labels_first(model):
    X, y, wrong = planted()
    names = np.array(["no", "yes"])
    suspects = model.fit(X, names[y]).suspicious_labels()
    assert list(suspects) == ["row", "label", "score", "predicted"]
    assert wrong[suspects["row"][: wrong.sum()]].mean() > 0.7
    assert (np.diff(suspects["score"]) <= 0).all()
    assert (suspects["label"] == names[y][suspects["row"]]).all()
    assert (suspects["predicted"] == model.predict(X)[suspects["row"]]).all()


def test_suspicion_is_the_log_odds_by_the_mode_of_the_same_model_found_by_scipy():
    X, y, _ = planted(share=0.15)
    s = X[:, 1] - X[:, 0]
    unit = s.std()

    def objective(t):
        r = 0.49 * expit(t[:2])
        p = expit(np.exp(t[2]) * s / unit + t[3])
        q = r[0] + (1 - r.sum()) * p
        prior = (0.2 * np.log(r) + 7 * np.log(1 - r)).sum() - 0.5 * ((t[2] - 0.7) / 1.5) ** 2
        return -np.log(np.where(y == 1, q, 1 - q)).sum() - prior

    t = minimize(objective, [-1.0, -1.0, 0.7, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    r, p = 0.49 * expit(t[:2]), expit(np.exp(t[2]) * s / unit + t[3])
    wrong = np.where(
        y == 1,
        r[0] * (1 - p) / (r[0] * (1 - p) + (1 - r[1]) * p),
        r[1] * p / (r[1] * p + (1 - r[0]) * (1 - p)),
    )
    odds = _core.wrong_labels(s.reshape(-1, 1), y.astype(np.int64))
    np.testing.assert_allclose(expit(odds), wrong, atol=2e-3)


def test_rankings_other_than_the_posterior_can_be_asked_for():
    X, y, _ = planted()
    model = ConicSVC(0.1).fit(X, y)
    by_z = model.suspicious_labels(ranking="z")
    np.testing.assert_array_equal(by_z["score"], model.z_[by_z["row"]])
    by_margin = model.suspicious_labels(ranking="margin")
    margin = np.where(y == 1, 1, -1) * model.decision_function(X)
    np.testing.assert_array_equal(by_margin["row"], np.argsort(margin, kind="stable"))
    with pytest.raises(ValueError, match="ranking"):
        PenalizedClassifier().fit(X, y).suspicious_labels(ranking="z")


def test_other_rows_and_models_without_training_rows():
    X, y, wrong = planted()
    model = PenalizedClassifier().fit(X[:200], y[:200])
    other = model.suspicious_labels(X=X[200:], y=y[200:])
    assert len(other["row"]) == 200
    assert wrong[200:][other["row"][:10]].mean() > 0.7
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="pass X and y"):
        copy.suspicious_labels()
    assert (copy.suspicious_labels(X=X[200:], y=y[200:])["row"] == other["row"]).all()
    with pytest.raises(ValueError, match="both X and y"):
        model.suspicious_labels(X=X)
    with pytest.raises(ValueError, match="none of the classes"):
        model.suspicious_labels(X=X, y=np.full(400, 7))


@pytest.mark.parametrize("classes", [2, 3])
def test_an_audit_counts_wrong_labels(classes):
    X, y, wrong = planted(600, classes=classes)
    names = np.array(["a", "b", "c"])
    audit = audit_labels(X, names[y], repeats=3, planted=4)
    low, high = audit.interval
    # Flips that overlap could explain are not counted.
    assert 0.5 * wrong.sum() < audit.count < 1.25 * wrong.sum()
    assert low <= audit.count <= high
    assert low <= wrong.sum() <= high
    # Halfway between the stated probabilities, which allow for odd rows, and those without.
    assert np.sum(audit.table["wrong"]) < audit.count
    assert sum(c["expected_wrong"] for c in audit.details["classes"]) == pytest.approx(audit.count)
    assert any("lower end of the interval" in n for n in audit.details["notes"]) == (low > 0)
    flagged = audit.flagged()
    assert len(flagged["row"]) == audit.n_flagged > 0
    assert wrong[flagged["row"]].mean() >= 0.5
    assert set(flagged["label"]) <= set(names)
    assert json.loads(audit.to_json())["estimate"]["count"] == audit.count
    assert "labels look wrong" in repr(audit)
    assert "<strong>" in audit._repr_html_()


def test_an_audit_takes_an_estimator_and_leaves_it_alone():
    X, y, wrong = planted()
    model = StableSVC(k=0.7)
    audit = audit_labels(X, y, estimator=model, repeats=2, planted=2, n_jobs=2)
    assert wrong[audit.table["row"][:20]].mean() > 0.8
    assert not hasattr(model, "classes_")
    same = audit_labels(X, y, estimator=model, repeats=2, planted=2)
    assert same.to_json() == audit.to_json()


def test_rows_of_a_group_are_held_out_together():
    X, y, _ = planted(n=150)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    names = np.repeat([f"p{i}" for i in range(150)], 2)
    quick = {"repeats": 1, "planted": 2}
    grouped = audit_labels(X, y, groups=names, **quick)
    plain = audit_labels(X, y, **quick)
    assert grouped.to_json() != plain.to_json()
    # What groups are called does not matter.
    codes = np.unique(names, return_inverse=True)[1]
    assert grouped.to_json() == audit_labels(X, y, groups=codes, **quick).to_json()
    with pytest.raises(ValueError, match="only 2 groups"):
        audit_labels(X, y, groups=np.arange(300) % 2, **quick)
    with pytest.raises(ValueError, match="`groups` has shape"):
        audit_labels(X, y, groups=names[1:])


def test_bad_calls_are_named():
    X, y, _ = planted()
    with pytest.raises(ValueError, match="`estimator`"):
        audit_labels(X, y, estimator=LogisticRegression())
    with pytest.raises(ValueError, match="`repeats`"):
        audit_labels(X, y, repeats=0)
    with pytest.raises(ValueError, match="`planted` = 1: must be an integer of at least 2"):
        audit_labels(X, y, planted=1)
    with pytest.raises(ValueError, match="precision"):
        audit_labels(X, y, precision=2.0)
    with pytest.raises(ValueError, match="one class"):
        audit_labels(X, np.zeros(400))


def test_the_plot_shows_the_cut_off():
    pytest.importorskip("matplotlib", reason="matplotlib is optional").use("agg")
    X, y, _ = planted()
    ax = mainstay.audit_labels(X, y, repeats=2, planted=2).plot()
    assert any("cut-off" in line.get_label() for line in ax.get_lines())


def test_an_audit_that_flags_says_how_far_to_believe_it():
    X, y, _ = planted(300)
    audit = audit_labels(X, y, repeats=2, planted=2)
    assert audit.n_flagged > 0
    assert any("on average over data sets" in note for note in audit.details["notes"])


def test_the_interval_of_few_rows_begins_at_none():
    X, y, _ = planted(60, share=0.05, apart=1.5)
    low, high = audit_labels(X, y, repeats=2, planted=2).interval
    assert low == 0.0
    assert high > 3


def test_suspicion_is_no_probability():
    X, y, _ = planted(300)
    suspects = PenalizedClassifier().fit(X, y).suspicious_labels()
    assert suspects["score"].max() > 1
    assert suspects["score"].min() < 0
    told = RobustLogisticRegression(wrong_labels=0.1).fit(X, y)
    odds = told.suspicious_labels()
    right = told.label_posterior_[odds["row"]]
    np.testing.assert_allclose(odds["score"], np.log((1 - right) / right), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["words", "objects", "series", "categories", "truth", "integers"])
def test_labels_of_every_kind_are_audited(kind):
    X, y, _ = planted(n=60)
    words = np.where(y == 1, "sick", "well")
    labels = {
        "words": words,
        "objects": words.astype(object),
        "series": pd.Series(words),
        "categories": pd.Series(pd.Categorical(words)),
        "truth": y == 1,
        "integers": pd.Series(y, dtype="Int64"),
    }[kind]
    found = audit_labels(X, labels)
    expected = sorted(set(np.asarray(labels).tolist()))
    assert [entry["class"] for entry in found.details["classes"]] == expected
    assert set(found.table["label"]) == set(expected)
    assert str(expected[0]) in repr(found)
    json.dumps(found.details)


@pytest.mark.parametrize("classes", [2, 5, 10])
def test_flips_between_classes_far_apart_are_found_however_many_classes_there_are(classes):
    rng = np.random.default_rng(classes)
    truth = np.arange(500) % classes
    X = 4.0 * rng.normal(size=(classes, 6))[truth] + rng.normal(size=(500, 6))
    wrong = rng.random(500) < 0.1
    labels = np.where(wrong, (truth + rng.integers(1, classes, 500)) % classes, truth)
    flagged = np.asarray(audit_labels(X, labels).flagged()["row"])
    assert wrong[flagged].mean() > 0.9
    assert len(flagged) > 0.6 * wrong.sum()
    assert len(audit_labels(X, truth).flagged()["row"]) == 0


def test_a_rare_class_that_overlaps_is_not_held_wrong_as_a_whole():
    """One row in ten, a third of whose rows look like the others: labels as they are."""
    rng = np.random.default_rng(1)
    y = (rng.random(800) < 0.1).astype(int)
    X = rng.normal(size=(800, 4)) + 1.5 * np.outer(y, np.eye(4)[0])
    audit = audit_labels(X, y)
    assert np.mean(np.asarray(audit.table["wrong"])[np.asarray(audit.table["label"]) == 1]) < 0.3
    assert audit.n_flagged < 8
