"""The conic SVM against its own semidefinite program, solved by a general conic solver."""

import pickle

import clarabel
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import ConicSVC, ConicSVCCV
from mainstay.datasets import make_label_noise, make_outliers


class Program:
    """min q'x subject to b - Ax in a product of cones, for Clarabel."""

    def __init__(self):
        self.count = 0
        self.rows, self.columns, self.values, self.rhs, self.cones = [], [], [], [], []
        self.cost = {}

    def variables(self, count):
        first = self.count
        self.count += count
        return np.arange(first, self.count)

    def block(self, cone, expressions):
        """Put all expressions, (list of (variable, coefficient), constant), in the cone."""
        for terms, constant in expressions:
            row = len(self.rhs)
            for variable, coefficient in terms:
                self.rows.append(row)
                self.columns.append(variable)
                self.values.append(-coefficient)
            self.rhs.append(constant)
        self.cones.append(cone)

    def at_least_zero(self, terms, constant=0.0):
        self.block(clarabel.NonnegativeConeT(1), [(terms, constant)])

    def product_at_least_square(self, a, b, c):
        """A * b >= c^2 for expressions a, b, c."""

        def add(u, v, sign):
            return u[0] + [(k, sign * t) for k, t in v[0]], u[1] + sign * v[1]

        double = [(k, 2 * t) for k, t in c[0]], 2 * c[1]
        self.block(clarabel.SecondOrderConeT(3), [add(a, b, 1.0), add(a, b, -1.0), double])

    def positive_semidefinite(self, entries):
        """The matrix of expressions `entries` (upper triangle read) is positive semidefinite."""
        order = len(entries)
        packed = []
        for j in range(order):
            for i in range(j + 1):
                scale = 1.0 if i == j else np.sqrt(2)
                terms, constant = entries[i][j]
                packed.append(([(k, scale * t) for k, t in terms], scale * constant))
        self.block(clarabel.PSDTriangleConeT(order), packed)

    def solve(self):
        shape = (len(self.rhs), self.count)
        A = sparse.csc_matrix((self.values, (self.rows, self.columns)), shape=shape)
        q = np.zeros(self.count)
        for variable, coefficient in self.cost.items():
            q[variable] += coefficient
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        P = sparse.csc_matrix((self.count, self.count))
        solver = clarabel.DefaultSolver(P, q, A, np.array(self.rhs), self.cones, settings)
        solution = solver.solve()
        solved = solution.status == clarabel.SolverStatus.Solved
        return solution.obj_val if solved else None


def problem_17(metric, rows, y, c, *, kappa=None, C=None):
    """Problem (17) literally; <metric, W> for tr W, so that Appendix A's kernel form fits too."""
    program = Program()
    n, p = rows.shape
    w, z = program.variables(p), program.variables(n)
    W = np.empty((p, p), dtype=int)
    for i in range(p):
        W[i, i:] = W[i:, i] = program.variables(p - i)
    for i in range(p):
        for j in range(p):
            program.cost[W[i, j]] = program.cost.get(W[i, j], 0.0) + metric[i, j]
    one = ([], 1.0)
    column = [([(k, 1.0)], 0.0) for k in w]
    matrix = [[([(W[i, j], 1.0)], 0.0) for j in range(p)] for i in range(p)]
    program.positive_semidefinite([[one, *column]] + [[column[i], *matrix[i]] for i in range(p)])
    for i in range(n):
        x = rows[i]
        plus, minus, first, second = program.variables(4)
        # 1 - y x'w = plus - minus, both >= 0; first >= plus^2/z, second >= minus^2/(1 - z).
        program.at_least_zero([(plus, 1.0)])
        program.at_least_zero([(minus, 1.0)])
        margin = [(w[j], y[i] * x[j]) for j in range(p)]
        program.block(clarabel.ZeroConeT(1), [([(plus, 1.0), (minus, -1.0), *margin], -1.0)])
        here = ([(z[i], 1.0)], 0.0)
        program.product_at_least_square(([(first, 1.0)], 0.0), here, ([(plus, 1.0)], 0.0))
        there = ([(z[i], -1.0)], 1.0)
        program.product_at_least_square(([(second, 1.0)], 0.0), there, ([(minus, 1.0)], 0.0))
        square = [(W[j, k], x[j] * x[k]) for j in range(p) for k in range(p)]
        linear = [(w[j], -2 * y[i] * x[j]) for j in range(p)]
        program.at_least_zero([*square, *linear, (first, -1.0), (second, -1.0)], 1.0)
        program.at_least_zero([(z[i], 1.0)])
        program.at_least_zero([(z[i], -1.0)], 1.0)
    if C is None:
        program.at_least_zero([(z[i], -c[i]) for i in range(n)], kappa * c.sum())
    else:
        for i in range(n):
            program.cost[z[i]] = C * c[i]
    return program.solve()


FORMS = [{"kappa": 0.05}, {"kappa": 0.3}, {"C": 0.2}, {"C": 3.0}]


def random_problems():
    rng = np.random.default_rng(0)
    for k in range(14):
        n, p = int(rng.integers(8, 26)), int(rng.integers(1, 5))
        X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-0.5, 0.5, size=p)
        y = np.where(X[:, 0] + rng.normal(size=n) * rng.uniform(0.1, 2) > 0, 1, 0)
        y[:2] = [0, 1]
        yield f"random {k}", X, y
    yield "outliers", *make_outliers(30, 3, 0.5, "clustered", random_state=5)
    yield "label noise", *make_label_noise(30, 3, 0.2, random_state=5)
    # Contradictory rows, more features than rows, and a separable set.
    yield "contradictions", np.repeat(rng.normal(size=(8, 2)), 2, axis=0), np.arange(16) % 2
    yield "wide", rng.normal(size=(6, 9)), np.arange(6) % 2
    yield (
        "separable",
        np.r_[rng.normal(size=(9, 2)) - 4, rng.normal(size=(9, 2)) + 4],
        np.repeat([0, 1], 9),
    )


def real_problems():
    for name, load, features in (("iris", load_iris, 4), ("wine", load_wine, 4)):
        X, y = load(return_X_y=True)
        rows = np.flatnonzero(y != 0)[::4]
        yield name, StandardScaler().fit_transform(X[rows, :features]), (y[rows] == 2).astype(int)
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", StandardScaler().fit_transform(X[::20, :4]), y[::20]


def test_the_objective_is_that_of_the_semidefinite_program():
    compared = 0
    for name, X, y in [*random_problems(), *real_problems()]:
        rows = np.c_[X, np.ones(len(X))]
        for k, form in enumerate(FORMS):
            weights = np.random.default_rng(k).uniform(0.5, 2, size=len(y)) if k % 2 else None
            c = np.ones(len(y)) if weights is None else weights
            optimum = problem_17(np.eye(rows.shape[1]), rows, 2.0 * y - 1, c, **form)
            model = ConicSVC(**form).fit(X, y, sample_weight=weights)
            assert model.dual_gap_ <= 1e-6, (name, form)
            # Clarabel's objective is a value of its own to about 1e-8; ours is at most 1e-6 off.
            if optimum is not None:
                compared += 1
                tolerance = 2e-6 * max(1, optimum)
                assert abs(model.objective_ - optimum) <= tolerance, (name, form)
                assert model.zero_one_bound_ <= optimum + tolerance
    assert compared >= 60


def values(kernel, X, Z):
    if kernel == "rbf":
        return rbf_kernel(X, Z, gamma=0.7)
    return polynomial_kernel(X, Z, gamma=0.7, coef0=1)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_kernel_fits_solve_the_program_of_appendix_a(kernel):
    compared = 0
    for seed in range(4):
        X, y = make_label_noise(9, 2, 0.2, random_state=seed)
        K = values("poly" if kernel == "poly" else "rbf", X, X)
        model = ConicSVC(kernel=kernel, gamma=0.7, coef0=1.0)
        rows = X if kernel != "precomputed" else K
        signs = 2.0 * y - 1
        signed = (K + 1) * np.outer(signs, signs)
        for form in FORMS:
            model.set_params(**{"kappa": None, "C": None, **form}).fit(rows, y)
            assert model.dual_gap_ <= 1e-6
            # In Appendix A the labels sit in the matrix, so every row has label +1 in (17).
            optimum = problem_17(signed, signed, np.ones(9), np.ones(9), **form)
            if optimum is not None:
                compared += 1
                assert abs(model.objective_ - optimum) <= 5e-6 * max(1, optimum), (seed, form)
    assert compared >= 8


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_decision_is_the_combination_of_kernel_values(kernel):
    X, y = make_label_noise(60, 3, 0.1, random_state=2)
    model = ConicSVC(kappa=0.1, kernel=kernel, gamma=0.7, coef0=1.0).fit(X, y)
    new = np.random.default_rng(0).uniform(-1, 1, size=(20, 3))
    K = values(kernel, X, new)
    expected = model.dual_coef_ @ K + model.intercept_
    scale = np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-12 * scale)
    assert set(np.flatnonzero(model.dual_coef_)) <= set(model.support_)
    assert not hasattr(model, "coef_")


def test_a_precomputed_kernel_predicts_from_kernel_values():
    X, y = make_label_noise(50, 2, 0.1, random_state=3)
    new = np.random.default_rng(0).uniform(-1, 1, size=(20, 2))
    direct = ConicSVC(0.1, kernel="rbf", gamma=1.0).fit(X, y)
    given = ConicSVC(0.1, kernel="precomputed").fit(rbf_kernel(X, gamma=1.0), y)
    assert abs(direct.objective_ - given.objective_) <= 2e-6
    scores = given.decision_function(rbf_kernel(new, X, gamma=1.0))
    np.testing.assert_allclose(scores, direct.decision_function(new), atol=5e-3)


def test_the_attributes_have_the_shapes_they_should(blobs):
    X, y = blobs
    classes = len(np.unique(y))
    model = ConicSVC().fit(X, y)
    shape = (len(y),) if classes == 2 else (len(y), classes)
    assert model.z_.shape == model.loss_shape_.shape == shape
    assert model.coef_.shape == (1 if classes == 2 else classes, 5)
    if classes == 2:
        assert isinstance(model.objective_, float)
        assert isinstance(model.zero_one_bound_, float)
        assert model.z_.sum() <= 0.1 * len(y) * (1 + 1e-9)
    else:
        assert model.objective_.shape == model.zero_one_bound_.shape == (classes,)
    assert model.n_iter_ >= 1


def test_a_path_is_in_the_order_given_and_monotone():
    X, y = make_outliers(80, 4, 0.5, "spread", random_state=1)
    kappas = [0.2, 0.01, 0.4]
    path = ConicSVC.path(X, y, kappas, tol=1e-7)
    assert [m.kappa for m in path] == kappas
    for model in path:
        assert isinstance(model, ConicSVC)
        assert model.dual_gap_ <= 1e-7
        alone = ConicSVC(model.kappa, tol=1e-7).fit(X, y)
        assert abs(alone.objective_ - model.objective_) <= 2e-7 * max(1, alone.objective_)
        assert model.predict(X).shape == y.shape
    assert path[1].objective_ >= path[0].objective_ >= path[2].objective_
    with pytest.raises(ValueError, match="kappas"):
        ConicSVC.path(X, y, kappas, kappa=0.1)
    with pytest.raises(ValueError, match="kappa"):
        ConicSVC.path(X, y, [1.5])


def test_the_price_of_a_budget_gives_the_same_model():
    X, y = make_outliers(100, 3, 0.5, "spread", random_state=4)
    budget = ConicSVC(0.2, tol=1e-9).fit(X, y)
    priced = ConicSVC(C=budget.price_, tol=1e-9).fit(X, y)
    assert priced.z_.sum() == pytest.approx(20, rel=1e-3)
    np.testing.assert_allclose(priced.coef_, budget.coef_, atol=1e-3)


def test_cross_validation_takes_folds_splitters_and_pairs():
    X, y = make_outliers(90, 3, 0.2, "clustered", random_state=2)
    folds = ConicSVCCV(kappas=8).fit(X, y)
    assert len(folds.cv_results_["param_kappa"]) == 8
    assert {"std_test_score", "split4_test_score"} <= set(folds.cv_results_)
    best = folds.cv_results_["mean_test_score"].max()
    chosen = folds.cv_results_["param_kappa"] == folds.kappa_
    assert folds.cv_results_["mean_test_score"][chosen] == best
    assert folds.cv_results_["rank_test_score"][chosen] == 1
    assert folds.cv_results_["params"][int(chosen.argmax())] == {"kappa": folds.kappa_}
    again = ConicSVCCV(kappas=8, n_jobs=2).fit(X, y)
    assert (again.coef_ == folds.coef_).all()

    where = np.where(np.arange(90) < 60, -1, 0)
    split = ConicSVCCV(kappas=[0.3, 0.05], cv=PredefinedSplit(where)).fit(X, y)
    pairs = ConicSVCCV(kappas=[0.3, 0.05], cv=[(np.arange(60), np.arange(60, 90))]).fit(X, y)
    assert split.kappa_ == pairs.kappa_
    assert "split1_test_score" not in split.cv_results_
    # Parameters as column and as dicts, three folds, mean, deviation, rank.
    assert len(ConicSVCCV(kappas=4, cv=KFold(3)).fit(X, y).cv_results_) == 8


def test_suspicious_labels_are_ranked_without_another_fit():
    X, y = make_outliers(100, 3, 0.1, "none", random_state=3)
    names = np.array(["no", "yes"])
    y = names[y]
    flipped = [4, 50, 77]
    y[flipped] = np.where(y[flipped] == "no", "yes", "no")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ConicSVC(0.05).fit(frame, y)
    suspects = model.suspicious_labels(["b"])
    assert list(suspects.columns) == ["row", "label", "score", "predicted", "b"]
    assert sorted(suspects["row"][:3]) == flipped
    assert (suspects["label"][:3] != suspects["predicted"][:3]).all()
    assert (np.diff(suspects["score"]) <= 0).all()
    assert (suspects["b"] == frame["b"].to_numpy()[suspects["row"]]).all()
    assert len(ConicSVC(0.05).fit(X, y).suspicious_labels(["a", "b", "c"])) == 100
    with pytest.raises(ValueError, match="no column 'd'"):
        model.suspicious_labels(["d"])
    copy = pickle.loads(pickle.dumps(model))
    by_z = model.suspicious_labels(ranking="z")
    assert (copy.suspicious_labels()["row"].to_numpy() == by_z["row"].to_numpy()).all()
    with pytest.raises(ValueError, match="training rows"):
        copy.suspicious_labels(["b"])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_model_file_gives_back_the_same_model(kernel, tmp_path, blobs):
    X, y = blobs
    for model in (ConicSVC(0.1, kernel=kernel), ConicSVCCV(kappas=[0.1, 0.3], cv=2, kernel=kernel)):
        model.fit(X, y)
        mainstay.save(model, tmp_path / "model.json")
        copy = mainstay.load(tmp_path / "model.json")
        assert type(copy) is type(model)
        assert (copy.decision_function(X) == model.decision_function(X)).all()
        assert (copy.z_ == model.z_).all()


def test_mistakes_are_named():
    X, y = make_outliers(30, 2, 0.5, "none", random_state=3)
    for params, text in (
        ({"kappa": 1.2}, "kappa"),
        ({"kappa": 0.1, "C": 1.0}, "at most one"),
        ({"C": -1.0}, "C"),
        ({"kernel": "cubic"}, "kernel"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": "rbf", "gamma": 0.0}, "gamma"),
    ):
        with pytest.raises(ValueError, match=text):
            ConicSVC(**params).fit(X, y)
    with pytest.raises(ValueError, match="not linearly separable"):
        ConicSVC(0.0).fit(X, np.arange(30) % 2)
    K = X @ X.T
    with pytest.raises(ValueError, match="positive semidefinite"):
        ConicSVC(kernel="precomputed", fit_intercept=False).fit(-K, y)
    K[0, 1] += 1
    with pytest.raises(ValueError, match=r"\(1, 0\)"):
        ConicSVC(kernel="precomputed").fit(K, y)
    with pytest.warns(ConvergenceWarning):
        ConicSVC(0.05, max_iter=1).fit(X, np.arange(30) % 2)


def test_the_generators_say_what_they_draw():
    X, y = make_outliers(2000, 4, 0.2, "clustered", 0.1, random_state=1)
    far = np.linalg.norm(X, axis=1) > 4
    assert 140 < far.sum() < 260
    assert (y[far] == 1).all()
    X2, _ = make_outliers(2000, 4, 0.2, "clustered", 0.1, random_state=1)
    assert (X == X2).all()
    for wrong in ({"kind": "few"}, {"sigma": -1}, {"fraction": 1.5}, {"n": 1}):
        with pytest.raises(ValueError):  # noqa: PT011
            make_outliers(**wrong)
