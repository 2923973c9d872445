"""Metrics against scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression

import mainstay
from mainstay import _core


def case(classes, seed, n=120):
    """Labels, scores with ties, probabilities and weights."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(classes, size=n - classes)])
    columns = 1 if classes == 2 else classes
    scores = rng.normal(size=(n, columns))
    if classes == 2:
        scores[:, 0] += 1.2 * (2 * y - 1)
    else:
        scores[np.arange(n), y] += 1.2
    scores = np.round(2 * scores) / 2
    if classes == 2:
        positive = 1 / (1 + np.exp(-scores[:, 0]))
        probabilities = np.column_stack([1 - positive, positive])
        predicted = (scores[:, 0] > 0).astype(int)
    else:
        raised = np.exp(scores)
        probabilities = raised / raised.sum(axis=1, keepdims=True)
        predicted = scores.argmax(axis=1)
    weights = rng.integers(0, 4, size=n).astype(float)
    return y, predicted, scores, probabilities, weights


def measured(y, predicted, classes, **given):
    found = _core.measure([], y.astype(np.int64), predicted.astype(np.int64), classes, **given)
    return {name: value for name, value, _ in found}


def specificity(y, predicted, classes, weights):
    labels = range(classes)
    each = [
        sk.recall_score(y != k, predicted != k, sample_weight=weights)
        for k in (labels if classes > 2 else [1])
    ]
    return np.mean(each)


def npv(y, predicted, classes, weights):
    each = [
        sk.precision_score(y != k, predicted != k, sample_weight=weights)
        for k in (range(classes) if classes > 2 else [1])
    ]
    return np.mean(each)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_metrics_are_those_of_scikit_learn(classes, weighted, seed):
    y, predicted, scores, probabilities, weights = case(classes, seed)
    w = weights if weighted else None
    given = {"sample_weight": list(weights)} if weighted else {}
    found = measured(y, predicted, classes, scores=scores, probabilities=probabilities, **given)
    average = "binary" if classes == 2 else "macro"
    hot = np.eye(classes)[y]
    if classes == 2:
        auc = sk.roc_auc_score(y, scores[:, 0], sample_weight=w)
        pr = sk.average_precision_score(y, scores[:, 0], sample_weight=w)
    else:
        pairs = [(hot[:, k], scores[:, k]) for k in range(classes)]
        auc = np.mean([sk.roc_auc_score(*pair, sample_weight=w) for pair in pairs])
        pr = np.mean([sk.average_precision_score(*pair, sample_weight=w) for pair in pairs])
    squares = ((probabilities - hot) ** 2).sum(axis=1) / (2 if classes == 2 else 1)
    shares = np.average(hot, axis=0, weights=w)
    constant = np.average(((shares - hot) ** 2).sum(axis=1) / (2 if classes == 2 else 1), weights=w)
    expected = {
        "accuracy": sk.accuracy_score(y, predicted, sample_weight=w),
        "balanced_accuracy": sk.balanced_accuracy_score(y, predicted, sample_weight=w),
        "auc": auc,
        "pr_auc": pr,
        "log_loss": sk.log_loss(y, probabilities, sample_weight=w),
        "brier": np.average(squares, weights=w),
        "brier_skill": 1 - np.average(squares, weights=w) / constant,
        "sensitivity": sk.recall_score(y, predicted, average=average, sample_weight=w),
        "specificity": specificity(y, predicted, classes, w),
        "ppv": sk.precision_score(y, predicted, average=average, sample_weight=w),
        "npv": npv(y, predicted, classes, w),
        "f1": sk.f1_score(y, predicted, average=average, sample_weight=w),
        "mcc": sk.matthews_corrcoef(y, predicted, sample_weight=w),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    if classes == 2:
        brier = sk.brier_score_loss(y, probabilities[:, 1], sample_weight=w)
        assert found["brier"] == pytest.approx(brier)


@pytest.mark.parametrize("seed", range(3))
def test_the_calibration_slope_is_that_of_an_unpenalised_logistic_regression(seed):
    y, predicted, scores, probabilities, weights = case(2, seed, n=400)
    found = measured(y, predicted, 2, probabilities=probabilities, sample_weight=list(weights))
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    fit.fit(scores, y, sample_weight=weights)
    assert found["calibration_slope"] == pytest.approx(fit.coef_[0, 0], rel=1e-4)


def test_the_calibration_error_is_the_mean_distance_over_ten_bins():
    y, predicted, _, probabilities, _ = case(2, 1, n=500)
    p = probabilities[:, 1]
    bins = np.minimum((10 * p).astype(int), 9)
    off = [
        (bins == b).mean() * abs(p[bins == b].mean() - y[bins == b].mean()) for b in np.unique(bins)
    ]
    found = measured(y, predicted, 2, probabilities=probabilities)
    assert found["calibration_error"] == pytest.approx(sum(off))


def test_the_cost_and_the_net_benefit_follow_the_threshold():
    y, predicted, _, probabilities, _ = case(2, 2)
    called = probabilities[:, 1] >= 0.3
    hits, alarms = (called & (y == 1)).mean(), (called & (y == 0)).mean()
    misses = (~called & (y == 1)).mean()
    found = measured(y, predicted, 2, probabilities=probabilities, threshold=0.3, costs=(1.0, 5.0))
    assert found["net_benefit"] == pytest.approx(hits - alarms * 0.3 / 0.7)
    assert found["cost"] == pytest.approx(alarms + 5 * misses)


def test_what_is_undefined_says_why():
    y = np.zeros(5, dtype=np.int64)
    found = {name: (value, why) for name, value, why in _core.measure(["auc", "npv"], y, y, 2)}
    assert found["auc"] == (None, "the model gives no scores")
    assert found["npv"] == (1.0, None)
    with pytest.raises(ValueError, match="between 0 and 1"):
        measured(y, y, 2, probabilities=np.full((5, 2), 0.5), threshold=1.5)
    with pytest.raises(ValueError, match="at least 0"):
        measured(y, y, 2, costs=(-1.0, 1.0))
    with pytest.raises(ValueError, match="did you mean `accuracy`"):
        _core.measure(["acuracy"], y, y, 2)


def rare(n=160, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.5 * y
    return X, y


def test_an_imbalanced_comparison_is_judged_by_auc():
    X, y = rare()
    result = mainstay.compare(X, y, repeats=2, threats="few_samples", without=["missing-cv"])
    assert result.metric == "auc"
    assert "AUC" in result.recommend()
    assert [t["name"] for t in result.details["threats"]] == ["few_samples"]
    assert "Left out on request: missing-cv" in result.recommend()
    table = result.table
    aucs = [v for m, v in zip(table["metric"], table["value"], strict=True) if m == "auc"]
    assert aucs
    assert all(0 <= v <= 1 for v in aucs)
    again = mainstay.compare(
        X, y, repeats=2, threats=["few_samples"], metric="log_loss", without=["missing-cv"]
    )
    assert again.metric == "log_loss"
    assert "log loss" in again.recommend()
    with pytest.raises(ValueError, match="cannot be ranked"):
        mainstay.compare(X, y, repeats=1, metric="calibration_slope")


def test_nothing_is_advised_where_nothing_beats_a_constant_answer():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 2
    found = mainstay.compare(X, y, repeats=5, threats="few_samples", without=["missing-cv"])
    assert "enough" not in found.recommend()
    assert found.recommend().startswith("Nothing here beats a constant answer")


def test_groups_stay_on_one_side_and_equal_rows_too():
    X, y = rare(120)
    groups = np.repeat([f"p{k}" for k in range(40)], 3)
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            seen.append({tuple(row) for row in np.asarray(X)})
            return super().fit(X, y)

    mainstay.stress(
        Recorder(), X, y, threats="measurement_error", levels=[0.5], repeats=4, groups=groups
    )
    where = {tuple(row): group for row, group in zip(X, groups, strict=True)}
    for rows in seen:
        inside = {where[row] for row in rows}
        outside = {where[row] for row in where if row not in rows}
        assert not inside & outside
    with pytest.raises(ValueError, match="one group"):
        mainstay.stress(LogisticRegression(), X, y, repeats=1, groups=np.zeros(120))
    twice, labels = np.vstack([X[:80], X[:20]]), np.concatenate([y[:80], y[:20]])
    with pytest.warns(UserWarning, match="20 rows are the same as an earlier one"):
        mainstay.stress(LogisticRegression(), twice, labels, threats=[], repeats=1)


def test_stress_knows_the_metrics_of_the_command_line():
    X, y = rare()
    names = np.array(["well", "ill"])[y]
    table = mainstay.stress(
        LogisticRegression(), X, names, threats=[], repeats=1, metrics=["auc", "brier", "f1"]
    )
    values = dict(zip(table["metric"], table["value"], strict=True))
    assert 0.5 < values["auc"] <= 1
    assert 0 <= values["brier"] < 0.25
