import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mainstay import MissingFeatureCV, MissingFeaturePerceptron, MissingFeatureSVC
from mainstay.datasets import load_demo, make_separable_copies


def highs(X, y, v, budget, margin, C, weights=None, intercept=True):
    """Optimum of the paper's problem (4), as printed, by HiGHS."""
    m, n = X.shape
    weights = np.ones(m) if weights is None else weights
    P = v.sum() - budget
    # Variables: w, b, xi, lambda, alpha.
    b, xi, lam, al = n, n + 1, n + 1 + m, n + 1 + 2 * m
    size = al + m * n
    cost = np.zeros(size)
    cost[xi:lam] = weights / weights.sum() / margin
    rows, cols, vals, rhs = [], [], [], []

    def at_most(terms, bound):
        for column, value in terms:
            rows.append(len(rhs))
            cols.append(column)
            vals.append(value)
        rhs.append(bound)

    for i in range(m):
        alphas = [(al + i * n + j, 1.0) for j in range(n)]
        at_most([(lam + i, -P), *alphas, (b, -y[i]), (xi + i, -1.0)], 0.0)
        for j in range(n):
            terms = [(j, -y[i] * X[i, j]), (lam + i, v[j]), (al + i * n + j, -1.0)]
            at_most(terms, -margin * v[j] / P)
    A = sparse.csr_matrix((vals, (rows, cols)), shape=(len(rhs), size))
    free = (None, None) if intercept else (0, 0)
    bounds = [(-C, C)] * n + [free] + [(0, None)] * (size - n - 1)
    found = linprog(cost, A_ub=A, b_ub=rhs, bounds=bounds, method="highs")
    assert found.status == 0
    return found.fun


def clouds(seed, n=40, p=5, distance=2.0, share=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, 1, -1)
    return rng.normal(size=(n, p)) + distance / 2 * y[:, None] * rng.normal(size=p) / p**0.5, y


@pytest.mark.parametrize("seed", range(36))
def test_the_optimum_is_that_of_highs(seed):
    rng = np.random.default_rng(seed)
    X, y = clouds(seed, n=12 + seed, p=3 + seed % 5)
    p = X.shape[1]
    if seed % 4 == 3:
        X[rng.random(X.shape) < 0.5] = 0.0
    values = ["uniform", rng.random(p) * 3, np.arange(p) % 3 * 1.0, "mutual_info"][seed % 4]
    C = (0.01, 0.1, 1.0, 10.0, 100.0)[seed % 5]
    margin = (1.0, 0.3)[seed % 2]
    weights = rng.random(len(y)) + 0.1 if seed % 3 == 0 else None
    intercept = seed % 7 != 0
    total = {"uniform": p, "mutual_info": p}.get(values) if isinstance(values, str) else sum(values)
    budget = (0.0, 1.0, 0.5 * total, 0.97 * total)[(seed // 2) % 4]
    model = MissingFeatureSVC(
        budget, values=values, margin=margin, C=C, fit_intercept=intercept, tol=1e-8
    )
    with warnings.catch_warnings():
        # Some boxes and budgets leave nothing to learn, which is said.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y, sample_weight=weights)
    wanted = highs(X, y, model.values_, budget, margin, C, weights, intercept)
    assert model.dual_gap_ <= 1e-8
    assert model.objective_ == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert np.all(np.abs(model.coef_) <= C * (1 + 1e-12))
    if isinstance(values, str):
        assert model.values_.sum() == pytest.approx(p)


def test_nan_is_zero_at_fit_and_predict_and_infinity_is_refused():
    X, y = clouds(1)
    gaps = np.random.default_rng(0).random(X.shape) < 0.2
    holes, zeros = np.where(gaps, np.nan, X), np.where(gaps, 0.0, X)
    for model in (MissingFeatureSVC(), MissingFeaturePerceptron(), MissingFeatureCV(cv=3)):
        a = model.fit(holes, y).decision_function(holes)
        b = model.fit(zeros, y).decision_function(zeros)
        np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="inf"):
            model.fit(np.where(gaps, np.inf, X), y)
        with pytest.raises(ValueError, match="infinity"):
            model.predict(np.where(gaps, np.inf, X))


def test_frames_sparse_rows_and_pickles_agree():
    X, y = clouds(2, n=60)
    X[X < 0.3] = 0.0
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = MissingFeatureSVC().fit(X, y)
    for rows in (frame, sparse.csr_matrix(X), np.asfortranarray(X), X.astype(np.float32)):
        other = MissingFeatureSVC().fit(rows, y)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-3, atol=1e-3)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert copy.worst_case_score(X, y) == model.worst_case_score(X, y)


def test_threads_change_no_bit():
    X, y = clouds(3, n=3000, p=12)
    one = MissingFeatureSVC(2, n_jobs=1).fit(X, y)
    two = MissingFeatureSVC(2, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.objective_ == two.objective_


def test_the_worst_case_score_is_a_guarantee():
    X, y = clouds(4, n=80, p=6, distance=6)
    model = MissingFeatureSVC(2).fit(X, y)
    score = model.worst_case_score(X, y)
    assert model.worst_case_score(X, y, budget=0) == model.score(X, y)
    assert model.worst_case_score(X, y, budget=1) >= score
    right = np.ones(len(y), dtype=bool)
    for a in range(6):
        for b in range(6):
            damaged = X.copy()
            damaged[:, [a, b]] = 0
            right &= model.predict(damaged) == y
    assert right.mean() == score
    with pytest.raises(ValueError, match="not one of the classes"):
        model.worst_case_score(X, y + 7)


def test_the_report_counts_missing_features_and_abstains():
    X, y = clouds(5, n=60, p=6, distance=6)
    model = MissingFeatureSVC(2).fit(X, y)
    X[0, :3] = np.nan
    X[1, 0] = np.nan
    report = model.missing_report(X, abstain="unsure")
    assert list(report["missing"][:3]) == [3, 1, 0]
    assert list(report["covered"][:3]) == [False, True, True]
    stands = report["covered"] & (report["worst_margin"] > 0)
    assert (report["prediction"][~stands] == "unsure").all()
    assert (report["prediction"][stands] == model.predict(X)[stands]).all()
    assert (report["worst_margin"] <= report["margin"]).all()
    plain = model.missing_report(X)
    np.testing.assert_array_equal(plain["prediction"], model.predict(X))


def test_the_risk_bound_names_the_assumption_that_fails():
    X, y = clouds(6, n=500, p=3, distance=4)
    X /= np.abs(X).max()
    model = MissingFeatureSVC(1, fit_intercept=False, C=1, margin=0.1).fit(X, y)
    bound = model.risk_bound(X, y)
    assert 1 - model.worst_case_score(X, y) <= bound < 1
    assert model.risk_bound(X, y, delta=0.5) < bound
    with pytest.raises(ValueError, match="intercept"):
        MissingFeatureSVC(1).fit(X, y).risk_bound(X, y)
    with pytest.raises(ValueError, match=r"\|x\| <= 1"):
        model.risk_bound(2 * X, y)
    chosen = MissingFeatureSVC(1, values="mutual_info", fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="`values` were chosen"):
        chosen.risk_bound(X, y)
    with pytest.raises(ValueError, match="`C` was chosen"):
        MissingFeatureCV(1, fit_intercept=False, Cs=[1], cv=2).fit(X, y).risk_bound(X, y)


def test_a_stream_is_the_same_in_any_pieces():
    X, y = clouds(7, n=200, p=8)
    whole = MissingFeaturePerceptron(2).partial_fit(X, y, classes=[-1, 1])
    pieces = MissingFeaturePerceptron(2)
    for part in (slice(0, 1), slice(1, 90), slice(90, 200)):
        pieces.partial_fit(X[part], y[part], classes=[-1, 1])
        pieces = pickle.loads(pickle.dumps(pieces))
    np.testing.assert_array_equal(whole.coef_, pieces.coef_)
    with pytest.raises(ValueError, match="must name all classes"):
        MissingFeaturePerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="stream so far"):
        pieces.partial_fit(X, y, classes=[-1, 0, 1])
    with pytest.raises(ValueError, match="mutual information needs all rows"):
        MissingFeaturePerceptron(values="mutual_info").partial_fit(X, y, classes=[-1, 1])
    after = MissingFeaturePerceptron(values="mutual_info").fit(X, y)
    before = after.coef_.copy()
    after.partial_fit(X, y)
    assert not np.array_equal(before, after.coef_)


def test_tuning_takes_any_splits_and_damage():
    X, y = clouds(8, n=90, p=6, distance=8, share=0.67)
    folds = [(np.arange(0, 90, 2), np.arange(1, 90, 2)), (np.arange(1, 90, 2), np.arange(0, 90, 2))]
    for damage in ("greedy", "random", "exact"):
        model = MissingFeatureCV(1, damage=damage, Cs=[1e-5, 10], cv=folds).fit(X, y)
        assert model.C_ == 10
        results = model.cv_results_
        assert set(results["param_C"]) == {1e-5, 10}
        assert 0 in results["param_budget"]
        scores = np.array([results["split0_test_score"], results["split1_test_score"]])
        assert np.allclose(results["mean_test_score"], scores.mean(axis=0))
        assert np.allclose(results["std_test_score"], scores.std(axis=0))
        best = np.argmin(results["rank_test_score"])
        assert results["param_C"][best] == 10
    with pytest.raises(ValueError, match="damage"):
        MissingFeatureCV(damage="fire").fit(X, y)
    with pytest.raises(ValueError, match="Cs"):
        MissingFeatureCV(Cs=[]).fit(X, y)
    with pytest.raises(ValueError, match="below 90"):
        MissingFeatureCV(cv=[([0, 1], [99])]).fit(X, y)


def test_the_sanity_check_of_the_paper():
    X, y = make_separable_copies(random_state=3)
    assert X.shape == (1000, 22)
    assert np.array_equal(X[:, 20], X[:, 21])
    train, test = slice(0, 500), slice(500, 1000)
    values = np.r_[np.ones(20), 10, 10]
    model = MissingFeatureSVC(20, values=values).fit(X[train], y[train])
    damaged = X[test].copy()
    damaged[:, 21] = np.nan
    assert model.score(damaged, y[test]) == 1
    damaged[:, 20] = np.nan
    assert 0.65 < model.score(damaged, y[test]) < 0.85


def test_chunks_cost_something_and_say_so():
    X, y = clouds(9, n=300, p=6)
    whole = MissingFeatureSVC(1, C=1).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        parts = MissingFeatureSVC(1, C=1, n_chunks=6).fit(X, y)
    assert parts.objective_ >= whole.objective_ * (1 - 1e-4)


def test_centring_goes_before_in_a_pipeline():
    X, y = load_demo(return_X_y=True)
    model = make_pipeline(StandardScaler(), MissingFeatureSVC(3)).fit(X, y)
    X[:, :3] = np.nan
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"budget": 5}, "n_features=5"),
        ({"budget": -1}, "`budget` = -1"),
        ({"values": [1, 2]}, "2 numbers"),
        ({"values": [1, 1, -1, 1, 1]}, "feature 2"),
        ({"values": [0] * 5}, "all 0"),
        ({"values": "best"}, "values"),
        ({"margin": 0}, "`margin` = 0"),
        ({"C": -1}, "`C` = -1"),
        ({"tol": 0}, "`tol` = 0"),
        ({"n_chunks": 0}, "`n_chunks` = 0"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y = clouds(1)
    with pytest.raises(ValueError, match=message):
        MissingFeatureSVC(**params).fit(X, y)


def test_a_box_of_nothing_leaves_the_intercept():
    X, y = clouds(1, share=0.7)
    with pytest.warns(UserWarning, match="no classifier does better than a constant"):
        model = MissingFeatureSVC(C=0).fit(X, y)
    assert not model.coef_.any()
    assert (model.predict(X) == 1).all()


def test_the_budget_may_be_chosen_too_and_constant_models_are_avoided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
    model = MissingFeatureCV(4.0, damage="random", Cs=[1.0, 10.0], cv=3).fit(X, y)
    # All but one feature may go: guarding against the worst of that leaves no weights.
    assert model.budget_ < 4.0
    assert len(set(model.predict(X))) == 2
    assert set(np.asarray(model.cv_results_["param_budget"])) == {0.0, 1.0, 2.0, 4.0}
    assert model.C_ in model.tied_Cs_
    area = MissingFeatureCV(2.0, damage="random", budgets=[0, 2], scoring="roc_auc", cv=3)
    area.fit(X, y)
    assert 0.5 < max(area.cv_results_["mean_test_score"]) <= 1.0


def test_one_standard_error_takes_the_smallest_budget_that_is_hardly_worse():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=90) > 0).astype(int)
    best = MissingFeatureCV(2.0, Cs=[0.3, 3.0], cv=3).fit(X, y)
    simple = MissingFeatureCV(2.0, Cs=[0.3, 3.0], cv=3, rule="one_se").fit(X, y)
    scores = np.asarray(best.cv_results_["mean_test_score"])
    error = np.asarray(best.cv_results_["std_test_score"])[scores.argmax()] / np.sqrt(3)
    columns = (best.cv_results_[name] for name in ("param_budget", "param_C"))
    order = list(zip(*columns, strict=True))
    taken = order.index((simple.budget_, simple.C_))
    assert order == sorted(order)
    assert taken <= order.index((best.budget_, best.C_))
    # scikit-learn's deviation divides by the number of splits, the standard error by one less.
    assert scores[taken] >= scores.max() - error * np.sqrt(3 / 2) - 1e-12
    alike = [k for k, (budget, _) in enumerate(order) if budget == best.budget_]
    tied = [order[k][1] for k in alike if scores[k] == scores.max()]
    assert list(best.tied_Cs_) == tied


def test_a_choice_among_constant_models_is_told():
    X = np.random.default_rng(2).normal(size=(60, 3))
    y = np.arange(60) % 10 == 0
    with pytest.warns(UserWarning, match="constant"):
        MissingFeatureCV(2.0, Cs=[1e-9], budgets=[2.0], cv=3).fit(X, y)


def test_missing_features_may_be_filled_from_the_others(tmp_path):
    import mainstay

    X, y = load_demo(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    zero = MissingFeatureSVC(budget=3).fit(X, y)
    filled = MissingFeatureSVC(budget=3, at_predict="gaussian").fit(X, y)
    # The same problem: only what a missing cell stands for differs.
    np.testing.assert_array_equal(zero.coef_, filled.coef_)
    np.testing.assert_array_equal(zero.decision_function(X), filled.decision_function(X))
    rows = mainstay.GaussianImputer().fit(X).transform(gaps)
    np.testing.assert_allclose(filled.decision_function(gaps), zero.decision_function(rows))
    assert filled.score(gaps, y) >= zero.score(gaps, y)
    assert filled.worst_case_score(X, y) == zero.worst_case_score(X, y)
    mainstay.save(filled, tmp_path / "model.json")
    again = mainstay.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(gaps), filled.predict(gaps))
    assert np.isfinite(MissingFeatureSVC(at_predict="gaussian").fit(gaps, y).coef_).all()
