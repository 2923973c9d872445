"""Robust logistic regression, the Gaussian imputer and far rows, as users see them."""

import pickle

import numpy as np
import pytest
from scipy import optimize
from sklearn import covariance, linear_model
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import (
    DropFarRows,
    EllipsoidSVC,
    GaussianImputer,
    GroupedUncertainty,
    PenalizedClassifier,
    RobustLogisticRegression,
)
from mainstay.datasets import load_demo


def sample(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, p))
    y = (X @ rng.normal(size=p) + rng.logistic(size=n) > 0).astype(int)
    return X, y


def with_holes(X, share, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def test_the_imputer_gives_the_conditional_mean_and_covariance():
    X, _ = sample()
    imputer = GaussianImputer().fit(X)
    mu, S = imputer.mean_, imputer.covariance_
    row = np.array([[0.3, np.nan, -1.0, np.nan]])
    o, m = [0, 2], [1, 3]
    gain = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
    mean, factors = imputer.posterior(row)
    np.testing.assert_allclose(mean[0, m], mu[m] + gain @ (row[0, o] - mu[o]), atol=1e-10)
    np.testing.assert_array_equal(mean[0, o], row[0, o])
    V = factors[0] @ factors[0].T
    np.testing.assert_allclose(
        V[np.ix_(m, m)], S[np.ix_(m, m)] - gain @ S[np.ix_(o, m)], atol=1e-10
    )
    np.testing.assert_allclose(imputer.transform(row), mean)


def test_shrinkage_is_that_of_scikit_learn_on_standardised_rows():
    X, _ = sample()
    imputer = GaussianImputer().fit(X)
    _, wanted = covariance.ledoit_wolf(StandardScaler().fit_transform(X))
    assert imputer.shrinkage_ == pytest.approx(wanted, rel=1e-9)


def test_known_errors_are_taken_out():
    X, _ = sample(500)
    noisy = X + np.random.default_rng(3).normal(size=X.shape)
    imputer = GaussianImputer().fit(noisy, errors=1.0)
    cleaned = imputer.transform(noisy, errors=1.0)
    assert np.mean((cleaned - X) ** 2) < 0.6 * np.mean((noisy - X) ** 2)
    with pytest.raises(ValueError, match="errors has shape"):
        imputer.transform(noisy, errors=np.ones((3, 3)))
    with pytest.raises(ValueError, match="not negative"):
        imputer.transform(noisy, errors=-1.0)


def test_an_imputer_survives_pickling():
    X, _ = sample()
    imputer = GaussianImputer().fit(with_holes(X, 0.2))
    again = pickle.loads(pickle.dumps(imputer))
    rows = with_holes(X, 0.4)
    np.testing.assert_array_equal(imputer.transform(rows), again.transform(rows))


def test_nothing_stated_is_the_plain_logistic_regression():
    X, y = sample()
    robust = RobustLogisticRegression(alpha=0.02, tol=1e-10).fit(X, y)
    plain = PenalizedClassifier(alpha=0.02, tol=1e-10).fit(X, y)
    assert robust.objective_ == pytest.approx(plain.objective_, abs=1e-9)
    assert robust.dual_gap_ <= 1e-10
    np.testing.assert_allclose(robust.predict_proba(X), plain.predict_proba(X), atol=1e-4)
    assert np.all(robust.label_posterior_ == 1.0)


def test_a_row_with_nothing_measured_gets_about_the_base_rate():
    X, y = sample(400)
    model = RobustLogisticRegression(alpha=0.001).fit(X, y)
    p = model.predict_proba(np.full((1, 4), np.nan))[0, 1]
    assert abs(p - y.mean()) < 0.05


def test_told_what_is_missing_it_beats_mean_imputation():
    X, y = sample(2000, 6)
    train, test = slice(0, 1000), slice(1000, None)
    damaged = with_holes(X[test], 0.4)
    robust = RobustLogisticRegression(missing=0.4).fit(X[train], y[train])
    plain = PenalizedClassifier(alpha="cv").fit(X[train], y[train])
    filled = np.where(np.isnan(damaged), X[train].mean(0), damaged)
    loss = [
        -np.mean(np.log(model.predict_proba(rows)[np.arange(1000), y[test]]))
        for model, rows in ((robust, damaged), (plain, filled))
    ]
    assert loss[0] < loss[1] - 0.01


def test_suspicious_labels_are_the_wrong_ones():
    X, y = sample(600)
    wrong = np.random.default_rng(2).random(600) < 0.2
    model = RobustLogisticRegression(wrong_labels=0.2).fit(X, np.where(wrong, 1 - y, y))
    worst = np.argsort(model.label_posterior_)[: wrong.sum()]
    assert wrong[worst].mean() > 2.5 * wrong.mean()


@pytest.mark.parametrize("correction", ["after", "backward", "forward"])
def test_one_sided_noise_is_corrected(correction):
    X, y = sample(3000)
    hidden = (np.random.default_rng(4).random(3000) < 0.4) & (y == 1)
    model = RobustLogisticRegression(wrong_labels=(0.0, 0.4), correction=correction, alpha=1e-3)
    model.fit(X, np.where(hidden, 0, y))
    assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.04
    consistent = (model.decision_function(X) > 0) == (model.predict(X) == 1)
    assert consistent.all()


def test_errors_may_be_given_per_cell():
    X, y = sample(300)
    rng = np.random.default_rng(5)
    errors = rng.uniform(0, 1, X.shape)
    noisy = X + errors * rng.normal(size=X.shape)
    model = RobustLogisticRegression(alpha=0.01).fit(noisy, y, errors=errors)
    assert model.dual_gap_ <= 1e-6
    told, untold = model.predict_proba(noisy, errors=errors), model.predict_proba(noisy)
    # Told, it trusts the cells less.
    assert np.abs(told - 0.5).mean() < np.abs(untold - 0.5).mean()


def test_an_independent_minimiser_finds_the_same_average():
    X, y = sample(80, 3)
    errors, q, alpha = np.array([0.5, 0.0, 1.0]), np.array([0.3, 0.2, 0.0]), 0.05
    model = RobustLogisticRegression(alpha, errors=errors, missing=q, tol=1e-10).fit(X, y)
    mu, S = X.mean(axis=0), model.feature_model_.covariance_
    # Seen through errors, the posterior mean is mu + G (x + e - mu).
    G = S @ np.linalg.inv(S + np.diag(errors**2))
    seen = mu + (X - mu) @ G.T
    # A lost cell moves to what the others say of it.
    rest = np.empty_like(X)
    for j in range(3):
        o = [k for k in range(3) if k != j]
        block = S[np.ix_(o, o)] / np.where(np.eye(2) == 1, 1 - q[o], 1.0)
        rest[:, j] = seen[:, j] - mu[j] - (seen[:, o] - mu[o]) @ np.linalg.solve(block, S[o, j])
    own, kept = q * (1 - q) * rest**2, np.sqrt(1 - q)
    shared = (G * errors**2) @ G.T * np.outer(kept, kept)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    sign = np.where(y == 1, 1.0, -1.0)

    def value(v):
        w, b = v[:3], v[3]
        deviation = np.sqrt(own @ w**2 + w @ shared @ w)
        margins = (sign * ((seen - q * rest) @ w + b))[:, None] + deviation[:, None] * nodes
        losses = np.logaddexp(0, -margins) @ weights / weights.sum()
        return 0.5 * alpha * w @ w + losses.mean()

    at = np.append(model.coef_[0], model.intercept_[0])
    assert value(at) == pytest.approx(model.objective_, abs=1e-8)
    found = optimize.minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert found.fun == pytest.approx(model.objective_, abs=1e-8)
    np.testing.assert_allclose(found.x, at, atol=1e-4)


def test_errors_of_the_constructor_are_those_of_rows_to_predict():
    X, y = sample(300)
    told = RobustLogisticRegression(0.01, errors=1.0).fit(X, y)
    plain = RobustLogisticRegression(0.01).fit(X, y)
    # The training rows are exact: the model of the features is the same.
    np.testing.assert_array_equal(told.feature_model_.covariance_, plain.feature_model_.covariance_)
    noisy = X + np.random.default_rng(1).normal(size=X.shape)
    np.testing.assert_array_equal(told.predict(noisy), told.predict(noisy, errors=1.0))


def test_every_logistic_model_averages_over_what_is_missing():
    X, y = sample(300)
    imputer = GaussianImputer().fit(X)
    gaps = with_holes(X, 0.4)[:20]
    draws = np.random.default_rng(2)
    for model in (PenalizedClassifier(alpha=0.01), linear_model.LogisticRegression()):
        model.fit(X, y)
        found = imputer.averaged_proba(model, gaps)
        mean, factors = imputer.posterior(gaps)
        for i in range(3):
            scatter = draws.normal(size=(20_000, factors[i].shape[1])) @ factors[i].T
            simulated = model.predict_proba(mean[i] + scatter)[:, 1]
            # Four standard errors of 20,000 draws of something between 0 and 1.
            assert abs(found[i, 1] - simulated.mean()) < 4 * simulated.std() / 141 + 1e-9
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        nothing = np.full((1, 4), np.nan)
        rate = imputer.averaged_proba(model, nothing, base_rate=y.mean())
        assert rate[0, 1] == pytest.approx(y.mean(), abs=1e-9)
    huber = PenalizedClassifier("modified_huber").fit(X, y)
    with pytest.raises(ValueError, match="not logistic"):
        imputer.averaged_proba(huber, gaps)


def test_fits_do_not_depend_on_threads():
    X, y = sample()
    X = with_holes(X, 0.2)
    one = RobustLogisticRegression(missing=0.2).fit(X, y)
    two = RobustLogisticRegression(missing=0.2, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_models_can_be_saved_and_loaded(tmp_path):
    X, y = sample()
    X = with_holes(X, 0.2)
    model = RobustLogisticRegression(wrong_labels=(0.1, 0.0), errors=0.2, missing=0.1).fit(X, y)
    mainstay.save(model, tmp_path / "model.json")
    again = mainstay.load(tmp_path / "model.json")
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert isinstance(again, RobustLogisticRegression)


def test_it_works_in_a_pipeline_with_missing_cells():
    X, y = load_demo(return_X_y=True)
    X = with_holes(X, 0.1)
    model = make_pipeline(StandardScaler(), RobustLogisticRegression(alpha=0.01, missing=0.1))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.93


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"wrong_labels": 0.5}, "wrong_labels"),
        ({"wrong_labels": (0.6, 0.5)}, "wrong_labels"),
        ({"errors": -1.0}, "errors"),
        ({"missing": 1.0}, "missing"),
        ({"missing": [0.1, 0.2]}, "missing"),
        ({"correction": "sideways"}, "correction"),
    ],
)
def test_what_makes_no_sense_is_refused(params, text):
    X, y = sample(50)
    with pytest.raises(ValueError, match=text):
        RobustLogisticRegression(alpha=0.1, **params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"alpha": 0.1}, "alpha.*forward"),
        ({"errors": 0.1}, "errors.*forward"),
        ({"missing": 0.1}, "missing.*forward"),
        ({"protect": "worst"}, "correction.*backward"),
    ],
)
def test_what_cannot_be_averaged_is_refused(params, text):
    X, y = sample(50)
    with pytest.raises(ValueError, match=text):
        RobustLogisticRegression(wrong_labels=0.1, correction="averaged", **params).fit(X, y)


def test_an_average_is_one_hyperplane_that_claims_nothing(tmp_path):
    X, y = sample(120)
    model = RobustLogisticRegression(wrong_labels=(0.0, 0.2), correction="averaged", n_alphas=6)
    model.fit(X, y)
    assert not hasattr(model, "dual_gap_")
    assert not hasattr(model, "objective_")
    table = model.cv_results_
    assert len(table["params"]) == 24
    assert set(table["params"][0]) == {"prior", "row_weights", "alpha"}
    assert sum(table["weight"]) == pytest.approx(1)
    assert model.alpha_ == table["param_alpha"][np.argmax(table["weight"])]
    odds = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), rtol=1e-10)
    # Rows labelled 0 may be mislabelled, rows labelled 1 cannot.
    assert np.all(model.label_posterior_[y == 1] == 1)
    assert np.all(model.label_posterior_[y == 0] < 1)
    path = tmp_path / "model.json"
    mainstay.save(model, path)
    np.testing.assert_allclose(
        mainstay.load(path).predict_proba(X), model.predict_proba(X), rtol=0, atol=0
    )
    threads = RobustLogisticRegression(
        wrong_labels=(0.0, 0.2), correction="averaged", n_alphas=6, n_jobs=2
    )
    assert np.array_equal(threads.fit(X, y).coef_, model.coef_)


def test_what_belongs_to_rows_is_cut_with_them():
    rng = np.random.default_rng(3)
    X = rng.normal(5, 1, size=(60, 3))
    y = (X[:, 0] > 5).astype(int)
    X[7, 1] *= 100
    group, shapes = np.arange(60) % 2, [0.1, [0.2, 0.1, 0.1]]
    tuned = EllipsoidSVC(C=0.1)
    kept = DropFarRows(tuned).fit(X, y).kept_
    assert not kept[7]
    coef = EllipsoidSVC(C=0.1).fit(X[kept], y[kept], uncertainty=(group[kept], shapes)).coef_
    for uncertainty in ((group, shapes), GroupedUncertainty(group, shapes)):
        found = DropFarRows(tuned).fit(X, y, uncertainty=uncertainty)
        assert (found.estimator_.coef_ == coef).all()


def test_far_rows_do_not_see_rows_of_weight_zero():
    rng = np.random.default_rng(3)
    X = rng.normal(5, 1, size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 5).astype(int)
    X[::3] *= 50
    X[1, 2] *= 100
    here = np.arange(200) % 3 > 0
    weighted = DropFarRows(PenalizedClassifier()).fit(X, y, sample_weight=here.astype(float))
    without = DropFarRows(PenalizedClassifier()).fit(X[here], y[here])
    np.testing.assert_array_equal(weighted.distances_[here], without.distances_)
    assert (weighted.distances_[~here] == 0).all()
    rows = np.flatnonzero(here)[np.asarray(without.far_rows_["row"])]
    np.testing.assert_array_equal(weighted.far_rows_["row"], rows)
    assert 1 in rows
    np.testing.assert_allclose(weighted.estimator_.coef_, without.estimator_.coef_, rtol=1e-4)
    with pytest.raises(ValueError, match="sample_weight"):
        DropFarRows(PenalizedClassifier()).fit(X, y, sample_weight=here[1:])


def test_far_rows_are_named_with_feature_and_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(5, 1, size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 5).astype(int)
    X[7, 1] *= 100
    X[20, 2] *= 1000
    X[33, 0] *= 10
    model = DropFarRows(PenalizedClassifier()).fit(X, y)
    found = {
        int(row): (int(feature), float(unit))
        for row, feature, unit in zip(
            model.far_rows_["row"], model.far_rows_["feature"], model.far_rows_["unit"], strict=True
        )
    }
    assert found[7] == (1, 0.01)
    assert found[20] == (2, 0.001)
    assert found[33] == (0, 0.1)
    assert len(found) < 10
    assert not model.kept_[[7, 20, 33]].any()


def test_few_rows_of_many_features_have_distances_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 100))
    y = np.arange(60) % 2
    X[4] += 8
    model = DropFarRows(PenalizedClassifier()).fit(X, y)
    assert 4 in set(model.far_rows_["row"])
    assert len(model.far_rows_["row"]) < 6


def test_clean_normal_rows_are_kept():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 5)) @ rng.normal(size=(5, 5))
    y = (X[:, 0] > 0).astype(int)
    model = DropFarRows(PenalizedClassifier()).fit(X, y)
    assert model.kept_.mean() > 0.99


def test_a_given_share_is_dropped_from_every_class():
    X, y = sample(200)
    model = DropFarRows(PenalizedClassifier(), share=0.1).fit(X, y, sample_weight=np.ones(200))
    for label in (0, 1):
        rows = y == label
        assert abs((~model.kept_[rows]).sum() - 0.1 * rows.sum()) <= 1
    with pytest.raises(ValueError, match="share"):
        DropFarRows(PenalizedClassifier(), share=0.7).fit(X, y)


def worst_objective(model, X, y, budget, errors):
    """The worst-case objective by its definition, deletions by sorting."""
    w, b = model.coef_[0], model.intercept_[0]
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    centred = X - X.mean(axis=0)
    gains = np.sort(np.maximum(sign[:, None] * w * centred, 0), axis=1)[:, ::-1]
    margins = sign * (X @ w + b) - np.linalg.norm(errors * w) - gains[:, :budget].sum(axis=1)
    losses = np.sort(np.logaddexp(0, -margins))[::-1]
    k = round(model.worst_share * len(y))
    return model.alpha / 2 * w @ w + losses[:k].mean()


def test_the_worst_case_objective_is_that_of_its_definition():
    X, _ = sample(100)
    y = (X.sum(axis=1) > 0).astype(int)
    model = RobustLogisticRegression(
        0.01, missing=0.25, errors=0.05, protect="worst", worst_share=0.9, tol=1e-8
    ).fit(X, y)
    assert len(set(model.predict(X))) == 2
    assert model.objective_ == pytest.approx(worst_objective(model, X, y, 1, 0.05), abs=1e-9)
    assert model.dual_gap_ <= 1e-8
    assert sum(model.worst_rows_["weight"]) == pytest.approx(90)
    other = RobustLogisticRegression(0.01).fit(X, y).set_params(worst_share=0.9)
    assert worst_objective(other, X, y, 1, 0.05) > model.objective_


def test_a_hinge_fit_has_no_probabilities_but_takes_missing_cells(tmp_path):
    X, y = sample(80)
    model = RobustLogisticRegression(0.05, errors=0.1, protect="worst", loss="hinge").fit(X, y)
    assert not hasattr(model, "predict_proba")
    path = tmp_path / "model.json"
    mainstay.save(model, path)
    gaps = with_holes(X, 0.2)
    np.testing.assert_array_equal(mainstay.load(path).predict(gaps), model.predict(gaps))


@pytest.mark.parametrize(
    "params",
    [
        {"worst_share": 0.5},
        {"protect": "worst", "worst_share": 0.0},
        {"protect": "worst", "wrong_labels": 0.1, "correction": "forward"},
        {"loss": "hinge"},
        {"protect": "both"},
    ],
)
def test_what_the_worst_case_cannot_mean_is_refused(params):
    X, y = sample(40)
    with pytest.raises(ValueError, match=r"worst_share|correction|loss|protect"):
        RobustLogisticRegression(0.1, **params).fit(X, y)


def test_a_row_with_nothing_measured_gets_the_base_rate_of_skewed_rows():
    X, y = sample(300)
    skewed = np.exp(1.5 * X)
    model = RobustLogisticRegression(0.01).fit(skewed, y)
    nothing = np.full((1, X.shape[1]), np.nan)
    assert model.predict_proba(nothing)[0, 1] == pytest.approx(y.mean(), abs=1e-9)
    assert mainstay.RobustLogisticRegression(0.01, wrong_labels=0.1).fit(skewed, y).predict_proba(
        nothing
    )[0, 1] == pytest.approx((y.mean() - 0.1) / 0.8, abs=1e-9)


def test_a_row_with_nothing_measured_gets_the_base_rate_of_the_demo_whatever_is_stated():
    X, y = load_demo(return_X_y=True)
    X, nothing = StandardScaler().fit_transform(X), np.full((1, X.shape[1]), np.nan)
    for stated in ({}, {"errors": 1.0}, {"missing": 0.3}, {"errors": 0.5, "missing": 0.2}):
        model = RobustLogisticRegression(0.01, **stated).fit(X, y)
        assert model.predict_proba(nothing)[0, 1] == pytest.approx(np.mean(y == 1), abs=1e-9)


def test_told_of_errors_it_is_right_about_how_sure_it_is():
    X, y = sample(4000, 5, seed=3)
    noisy = X[2000:] + np.random.default_rng(4).normal(size=(2000, 5))
    model = RobustLogisticRegression(1e-4, errors=1.0).fit(X[:2000], y[:2000])
    score, truth = model.decision_function(noisy), y[2000:]
    # The slope of the truth on the score by logistic regression: below 1 too sure, above 1 too
    # cautious. Averaged over the posterior once more, as if the fit had not met errors, it is 1.2.
    slope, intercept = 1.0, 0.0
    for _ in range(20):
        p = 1 / (1 + np.exp(-slope * score - intercept))
        design = np.c_[score, np.ones(2000)]
        step = np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (truth - p))
        slope, intercept = slope + step[0], intercept + step[1]
    assert abs(slope - 1) < 0.1


def test_where_labels_are_wrong_penalties_weaker_than_one_logit_per_deviation_do_not_compete():
    X, y = sample(300)
    X = StandardScaler().fit_transform(X)
    wrong = RobustLogisticRegression(wrong_labels=0.1).fit(X, y).cv_results_["param_alpha"]
    right = RobustLogisticRegression().fit(X, y).cv_results_["param_alpha"]
    assert min(wrong) == pytest.approx(1 / 300)
    assert min(right) == pytest.approx(4e-6)
