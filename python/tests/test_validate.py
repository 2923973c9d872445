"""Validation against an independent implementation in plain Python."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import mainstay
from mainstay import PenalizedClassifier, StressInterrupted, _core, validate
from mainstay._validate import _alike


def sample(n=80, p=6, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, :classes] + rng.gumbel(size=(n, classes))
    return X, score.argmax(axis=1)


SMALL = {"bootstrap": 30, "repeats": 2, "curve_repeats": 3}


def jobs(y, classes=2, **settings):
    plan = {"bootstrap": 30, "folds": 5, "repeats": 2, "curve_repeats": 3, "metric": "auc"}
    return _core.Validation(y.astype(np.int64), classes, **{**plan, **settings}, seed=0).open_jobs()


def entry(result, metric):
    return next(row for row in result.details["metrics"] if row["metric"] == metric)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        PenalizedClassifier(alpha=0.01),
        RandomForestClassifier(20, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_optimism_agrees_with_plain_python(model):
    """Harrell's recipe by hand: fit to each sample, judge on it and on the original rows."""
    X, y = sample()
    result = validate(model, X, y, **SMALL)
    by_hand = {
        "auc": lambda m, X, y: roc_auc_score(y, m.predict_proba(X)[:, 1]),
        "brier": lambda m, X, y: brier_score_loss(y, m.predict_proba(X)[:, 1]),
        "accuracy": lambda m, X, y: m.score(X, y),
    }
    samples = [train for _, train, judged in jobs(y) if len(train) == len(judged) == len(y)][1:]
    assert len(samples) == 30
    fits = [type(model)(**model.get_params()).fit(X[rows], y[rows]) for rows in samples]
    whole = type(model)(**model.get_params()).fit(X, y)
    for metric, score in by_hand.items():
        gaps = [
            score(m, X[rows], y[rows]) - score(m, X, y)
            for m, rows in zip(fits, samples, strict=True)
        ]
        found = entry(result, metric)
        assert found["apparent"] == pytest.approx(score(whole, X, y), abs=1e-6)
        assert found["optimism"] == pytest.approx(np.mean(gaps), abs=2e-4)
        assert found["corrected"] == pytest.approx(score(whole, X, y) - np.mean(gaps), abs=2e-4)
        span = found["corrected_interval"]
        assert span["low"] < found["corrected"] <= span["high"]


def test_cross_validation_pools_held_out_predictions():
    X, y = sample()
    result = validate(LogisticRegression(), X, y, **SMALL)
    folds = [(train, judged) for _, train, judged in jobs(y) if len(judged) == 16]
    assert len(folds) == 10
    # Folds of a repeat come one after the other, and each repeat holds every row out once.
    aucs, losses = [], []
    for repeat in (folds[:5], folds[5:]):
        p = np.full(len(y), np.nan)
        for train, judged in repeat:
            p[judged] = LogisticRegression().fit(X[train], y[train]).predict_proba(X[judged])[:, 1]
        aucs.append(roc_auc_score(y, logits(p)))
        losses.append(log_loss(y, p))
    assert entry(result, "log_loss")["cross_validated"] == pytest.approx(np.mean(losses), abs=1e-9)
    assert entry(result, "auc")["cross_validated"] == pytest.approx(np.mean(aucs), abs=1e-9)


def logits(p):
    """Scores of a logistic regression order rows as their probabilities do."""
    return np.log(p / (1 - p))


def test_instability_is_the_spread_over_bootstrap_refits():
    X, y = sample()
    result = validate(LogisticRegression(), X, y, **SMALL)
    samples = [train for _, train, judged in jobs(y) if len(train) == len(judged) == len(y)][1:]
    p = np.array([LogisticRegression().fit(X[r], y[r]).predict_proba(X)[:, 1] for r in samples])
    whole = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    rows = result.rows()
    np.testing.assert_allclose(rows["probability"], whole, atol=1e-9)
    np.testing.assert_allclose(
        rows["mean_absolute_error"], np.abs(p - whole).mean(axis=0), atol=1e-9
    )
    np.testing.assert_allclose(rows["low"], np.quantile(p, 0.025, axis=0), atol=1e-9)
    np.testing.assert_allclose(rows["flips"], ((p > 0.5) != (whole > 0.5)).mean(axis=0), atol=1e-9)


def test_compiled_refits_say_what_refits_in_python_say():
    X, y = sample()
    model = PenalizedClassifier(alpha=0.02)
    compiled = validate(model, X, y, **SMALL, n_jobs=2)
    wrapped = validate(make_pipeline(model), X, y, **SMALL)
    a, b = compiled.to_frame(), wrapped.to_frame()
    for column in ("apparent", "optimism", "corrected", "cross_validated"):
        np.testing.assert_allclose(a[column], b[column], atol=1e-9)
    assert compiled.to_json() == validate(model, X, y, **SMALL).to_json()


def test_the_interval_holds_what_new_rows_show():
    """200 rows to learn from, 20000 new ones: corrected is nearer to theirs than apparent."""
    X, y = sample(20200, 20)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e3))
    result = validate(model, X[:200], y[:200], bootstrap=60, repeats=2, curve_repeats=2)
    auc = entry(result, "auc")
    model.fit(X[:200], y[:200])
    truth = roc_auc_score(y[200:], model.decision_function(X[200:]))
    assert abs(auc["corrected"] - truth) < abs(auc["apparent"] - truth)
    assert auc["corrected_interval"]["low"] < truth < auc["corrected_interval"]["high"]
    assert 0 < result.details["shrinkage"] < 1


def test_the_slope_of_a_fit_that_shrinks_is_not_corrected():
    """A strong penalty has a slope far above 1 on its own rows; folds show that of new rows."""
    X, y = sample(200, 20)
    strong = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3))
    result = validate(strong, X, y, bootstrap=20, repeats=1, curve_repeats=1)
    slope = entry(result, "calibration_slope")
    assert slope["apparent"] > 1.1
    assert slope["corrected"] is None
    assert "shrinks" in slope["problem"]
    assert result.details["shrinkage"] == min(1.0, slope["cross_validated"])
    weak = make_pipeline(StandardScaler(), LogisticRegression(C=1e3))
    result = validate(weak, X, y, bootstrap=20, repeats=1, curve_repeats=1)
    assert entry(result, "calibration_slope")["corrected"] is not None


def test_more_classes_and_no_probabilities():
    X, y = sample(150, classes=3)
    names = np.array(["u", "v", "w"])
    result = validate(LogisticRegression(), X, names[y], **SMALL)
    assert entry(result, "auc")["corrected"] is not None
    assert result.details["calibration"] is None
    with pytest.raises(ValueError, match="two classes"):
        result.plot_calibration()
    X, y = sample()
    result = validate(LinearSVC(), X, y, **SMALL)
    assert entry(result, "auc")["corrected"] is not None
    assert entry(result, "brier")["corrected"] is None
    assert "probabilities" in entry(result, "brier")["problem"]
    with pytest.raises(ValueError, match="gives none"):
        result.plot_instability()


def test_results_can_be_read_and_drawn():
    pytest.importorskip("matplotlib", reason="matplotlib is optional").use("agg")
    X, y = sample()
    result = validate(PenalizedClassifier(), X, y, **SMALL)
    frame = result.to_frame()
    assert {"metric", "apparent", "corrected_low", "cross_validated_high", "problem"} <= set(frame)
    assert json.loads(result.to_json())["rows"] == 80
    assert "to expect on new rows" in repr(result)
    assert "<table>" in result._repr_html_()
    for draw in (result.plot_calibration, result.plot_instability, result.plot_learning_curve):
        assert draw().get_xlabel()
    assert result.plot_instability(kind="range").get_ylabel()
    twice = result.details["learning"]["twice"]
    assert twice["rows"] == 160
    assert twice["plus_minus"] >= twice["gain_plus_minus"]


class Stops(LogisticRegression):
    """Ctrl-C after 25 fits."""

    count = 0

    def fit(self, X, y, sample_weight=None):
        Stops.count += 1
        if Stops.count > 25:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_what_is_done_survives_ctrl_c():
    X, y = sample()
    Stops.count = 0
    with pytest.raises(StressInterrupted) as caught:
        validate(Stops(), X, y, **SMALL)
    partial = caught.value.partial
    assert entry(partial, "auc")["corrected"] is not None
    assert any("were not done" in note for note in partial.details["notes"])


class FailsSometimes(LogisticRegression):
    """Refuses small training sets."""

    def fit(self, X, y, sample_weight=None):
        if len(y) < 60:
            raise ValueError("too few rows for me")
        return super().fit(X, y)


def test_refits_that_fail_are_counted_and_named():
    X, y = sample()
    result = validate(FailsSometimes(), X, y, **SMALL)
    assert any("too few rows for me" in note for note in result.details["notes"])
    assert result.details["learning"] is None
    with pytest.raises(ValueError, match="too few rows for me"):
        validate(FailsSometimes(), X[:40], y[:40], **SMALL)


def test_bad_calls_are_named():
    X, y = sample()
    with pytest.raises(ValueError, match="`cv`"):
        validate(LogisticRegression(), X, y, cv=-1)
    with pytest.raises(ValueError, match="bootstrap"):
        validate(LogisticRegression(), X, y, bootstrap=3)
    with pytest.raises(ValueError, match="no metric `acu`"):
        validate(LogisticRegression(), X, y, metric="acu")
    with pytest.raises(ValueError, match="one class"):
        validate(LogisticRegression(), X, np.zeros(80))
    with pytest.raises(ValueError, match="fewer than the 5 folds"):
        validate(LogisticRegression(), X, np.arange(80) < 3)
    assert mainstay.validate is validate


def test_groups_and_equal_rows_stay_together():
    """Every row twice, once with a tiny change: held-out rows are known unless groups bind them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = rng.integers(0, 2, size=60)
    twice, again = np.r_[X, X + 1e-9], np.r_[y, y]
    model = KNeighborsClassifier(1)
    few = {"bootstrap": 10, "repeats": 2, "curve_repeats": 0, "metric": "accuracy"}

    def accuracy(found):
        return found.to_frame().set_index("metric").cross_validated["accuracy"]

    leaking = mainstay.validate(model, twice, again, **few)
    assert accuracy(leaking) > 0.7
    groups = np.r_[np.arange(60), np.arange(60)]
    bound = mainstay.validate(model, twice, again, groups=groups, **few)
    assert accuracy(bound) < 0.7
    equal = mainstay.validate(model, np.r_[X, X], again, **few)
    assert accuracy(equal) < 0.7
    assert any("60 rows are the same" in note for note in equal.details["notes"])
    with pytest.raises(ValueError, match="all its rows in groups of one fold"):
        mainstay.validate(model, X, y, groups=np.where(y == 1, -1, np.arange(60)), **few)


def test_warnings_that_differ_only_in_their_numbers_are_one_note():
    warned = {"all but 1 of 90 rows": 1, "all but 2 of 58 rows": 2, "another": 1}
    assert list(_alike(warned)) == [
        "3 refits warned, for example: all but 2 of 58 rows",
        "1 refit warned: another",
    ]


def test_the_table_holds_the_metrics_that_were_asked_for():
    X, y = sample()
    model = PenalizedClassifier(alpha=0.01)
    everything = validate(model, X, y, **SMALL)
    found = validate(model, X, y, metrics=["brier", "roc_auc", "mcc"], **SMALL)
    assert [row["metric"] for row in found.details["metrics"]] == ["brier", "auc", "mcc"]
    assert all(row in everything.details["metrics"] for row in found.details["metrics"])
    # The first of them is the headline, unless `metric` says otherwise.
    assert found.details["headline"].startswith("Brier")
    assert found.details["learning"]["metric"] == "brier"
    two = validate(model, X, y, metrics=["brier", "mcc"], metric="auc", **SMALL)
    assert two.details["headline"].startswith("AUC")
    assert len(two.details["metrics"]) == 2
    for wrong in (["bier"], ["cost"], [], [3]):
        with pytest.raises(ValueError, match="metric"):
            validate(model, X, y, metrics=wrong, **SMALL)
