"""Few samples: what the Python classes add to the compiled methods."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import mainstay
from mainstay import PenalizedClassifier, RobustCV, RolinClassifier, TopPCsClassifier
from mainstay.datasets import load_demo

X, Y = load_demo(return_X_y=True)
FEW = np.arange(0, len(Y), 19)
REST = np.setdiff1d(np.arange(len(Y)), FEW)


def test_the_paper_tells_what_it_chose():
    model = RolinClassifier(variant="paper").fit(X[FEW], Y[FEW])
    assert 1 <= model.k_ <= model.k_max_
    results = model.cv_results_
    names = ["k", "sigma_ratio", "b_max", "normalize", "pruned"]
    names += ["loss_avg", "loss_max", "loss_ratio", "cost"]
    assert set(names) <= set(results)
    for name in ["k", "sigma_ratio", "b_max", "normalize"]:
        assert np.array_equal(results[f"param_{name}"], results[name])
    assert np.array_equal(results["mean_test_score"], -results["loss_avg"])
    scores = np.array([results[f"split{i}_test_score"] for i in range(25)])
    whole = results["pruned"] == 0
    assert np.allclose(scores[:, whole].mean(axis=0), results["mean_test_score"][whole])
    assert np.allclose(scores[:, whole].std(axis=0), results["std_test_score"][whole])
    assert results["rank_test_score"][np.argmin(results["loss_avg"])] == 1
    parts = model.components_
    assert np.allclose(np.add(parts["reliable"], parts["robust"]), model.coef_)


def test_plain_calc_beta_needs_no_cross_validation():
    fixed = {"variant": "paper", "k": 2, "sigma_ratios": [2.0], "b_maxs": [0.05]}
    model = RolinClassifier(normalize=True, **fixed).fit(X[FEW], Y[FEW])
    assert (model.k_, model.sigma_ratio_, model.b_max_) == (2, 2.0, 0.05)
    assert len(model.cv_results_["k"]) == 0


def test_the_average_is_made_of_its_candidates():
    model = RolinClassifier().fit(X[FEW], Y[FEW])
    table = model.candidates_
    assert np.isclose(np.sum(table["weight"]), 1.0)
    assert set(table["scaling"]) == {"none", "range", "root-range", "z-score"}
    losses = log_loss(Y[REST], model.predict_proba(X[REST]))
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[FEW], Y[FEW])
    assert losses < 1.5 * log_loss(Y[REST], plain.predict_proba(X[REST]))


@pytest.mark.parametrize("knob", [{"k": 3}, {"cv": "standard"}, {"b_maxs": [0.1]}])
def test_a_knob_of_the_paper_is_an_error_in_the_extended_variant(knob):
    with pytest.raises(ValueError, match="paper"):
        RolinClassifier(**knob).fit(X[FEW], Y[FEW])


def test_threads_do_not_change_a_bit():
    for model in (RolinClassifier(), RolinClassifier(variant="paper"), TopPCsClassifier()):
        one = clone(model).set_params(n_jobs=1).fit(X[FEW], Y[FEW])
        two = clone(model).set_params(n_jobs=2).fit(X[FEW], Y[FEW])
        assert np.array_equal(one.coef_, two.coef_)


def test_a_kernel_has_dual_weights_and_survives_a_file(tmp_path):
    model = RolinClassifier(kernel="rbf").fit(X[FEW], Y[FEW])
    assert model.dual_coef_.shape == (1, len(FEW))
    assert not hasattr(model, "coef_")
    mainstay.save(model, tmp_path / "model.json")
    loaded = mainstay.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("model", [RolinClassifier(), PenalizedClassifier(alpha="cv")])
def test_a_small_class_is_mentioned(model):
    rows = np.r_[np.flatnonzero(Y[0] == Y)[:12], np.flatnonzero(Y[0] != Y)[:3]]
    with pytest.warns(UserWarning, match="smallest class has 3 rows"):
        model.fit(X[rows], Y[rows])


@pytest.mark.parametrize("model", [RolinClassifier, PenalizedClassifier])
def test_a_wrong_normalisation_is_told_the_right_ones(model):
    with pytest.raises(ValueError, match='must be true, false or "auto"'):
        model(normalize="maybe").fit(X[FEW], Y[FEW])


def test_robust_cv_refuses_what_overfits():
    Z = StandardScaler().fit_transform(X)
    search = RobustCV(
        LogisticRegression(max_iter=5000), {"C": [1e6]}, baseline={"C": [0.1]}, cv="2x5"
    ).fit(Z[FEW], Y[FEW])
    assert search.best_params_ == {"C": 0.1}
    assert search.cv_results_["loss_ratio"][0] > 5
    assert search.cv_results_["baseline"].tolist() == [False, True]
    grid = GridSearchCV(
        LogisticRegression(max_iter=5000),
        [{"C": [1e6]}, {"C": [0.1]}],
        cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0),
        scoring="neg_log_loss",
    ).fit(Z[FEW], Y[FEW])
    shared = [name for name in grid.cv_results_ if not name.endswith("_time")]
    assert set(shared) <= set(search.cv_results_)
    for name in shared:
        if "rank" in name or "param" in name:
            assert list(grid.cv_results_[name]) == list(search.cv_results_[name]), name
        else:
            bits = search.cv_results_[name] * np.log(2)
            assert np.allclose(grid.cv_results_[name], bits), name
    assert search.predict_proba(Z[REST]).shape == (len(Z[REST]), 2)


def test_robust_cv_takes_any_classifier_and_scorer():
    Z = StandardScaler().fit_transform(X)
    search = RobustCV(LinearSVC(), {"C": [0.01, 1.0]}, cv=3, scoring=get_scorer("accuracy"))
    assert search.fit(Z[FEW], Y[FEW]).score(Z[REST], Y[REST]) > 0.85
    assert not hasattr(search, "predict_proba")
    own = RobustCV(RolinClassifier(), {"normalize": [False, True]}, cv="1x3")
    assert own.fit(X[FEW], Y[FEW]).score(X[REST], Y[REST]) > 0.85


def test_robust_cv_takes_a_negated_loss_for_a_loss():
    Z = StandardScaler().fit_transform(X)
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    search = RobustCV(LogisticRegression(), grid, cv=3).fit(Z[FEW], Y[FEW])
    scored = clone(search).set_params(scoring=get_scorer("neg_log_loss")).fit(Z[FEW], Y[FEW])
    assert np.allclose(scored.cv_results_["cost"], search.cv_results_["cost"] * np.log(2))
    assert scored.best_params_ == search.best_params_


@pytest.mark.parametrize("cv", ["2x3", 3])
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(tol=1e-10), make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))],
)
def test_robust_cv_takes_a_weight_for_copies_of_a_row(model, cv):
    name = "logisticregression__C" if hasattr(model, "steps") else "C"
    Z = StandardScaler().fit_transform(X)[FEW]
    weights = np.arange(len(Z)) % 4
    copies = np.repeat(np.arange(len(Z)), weights)
    search = RobustCV(model, {name: [0.01, 1.0, 100.0]}, cv=cv)
    weighted = clone(search).fit(Z, Y[FEW], sample_weight=weights)
    repeated = clone(search).fit(Z[copies], Y[FEW][copies])
    for column in ("loss_avg", "loss_max", "loss_ratio", "cost"):
        ours, theirs = weighted.cv_results_[column], repeated.cv_results_[column]
        assert np.allclose(ours, theirs, rtol=1e-5), column
    assert weighted.best_params_ == repeated.best_params_
    assert np.allclose(weighted.predict_proba(Z), repeated.predict_proba(Z), atol=1e-5)
    plain = clone(search).fit(Z, Y[FEW])
    assert not np.allclose(plain.predict_proba(Z), weighted.predict_proba(Z), atol=1e-3)


def test_robust_cv_refuses_weights_that_would_be_ignored():
    weights = np.ones(len(X[FEW]))
    rows = (X[FEW], Y[FEW], weights)
    no_weights = RobustCV(KNeighborsClassifier(), {"n_neighbors": [3]}, cv=3)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no weights"):
        no_weights.fit(*rows)
    search = RobustCV(LogisticRegression(), {"C": [1.0]}, cv=3, scoring=lambda m, X, y: 0.5)
    with pytest.raises(ValueError, match="must take `sample_weight`"):
        search.fit(*rows)
    with pytest.raises(ValueError, match="egative"):
        search.set_params(scoring="loss").fit(X[FEW], Y[FEW], -weights)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cv": "five"},
        {"scoring": "accuracy"},
        {"scoring": lambda model, X, y: 100.0},
        {"param_grid": []},
        {"theta_ratio": 0.1},
        {"theta_gain": -1},
    ],
)
def test_robust_cv_names_what_is_wrong(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RobustCV(LogisticRegression(), **{"param_grid": {"C": [1.0]}, **wrong}).fit(X[FEW], Y[FEW])
