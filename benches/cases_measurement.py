"""Known measurement errors: planes against LDA and Gram passes, the ellipsoid SVM against Clarabel on problem (34)."""

import clarabel
import numpy as np
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import harness
from harness import Bar, Case, Contender
from mainstay import EllipsoidSVC, ReGEC, RobustReGEC

TITLE = "Measurement error (`ReGEC`, `RobustReGEC`, `EllipsoidSVC`)"


def data(n, p, seed=1):
    """Two overlapping clouds and semi-axes around every row."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, p)) + np.outer(2 * y - 1, np.full(p, 1.5 / np.sqrt(p)))
    return X, y, 0.2 * rng.uniform(0.2, 1.0, (n, p))


def covariances(n, p, seed=2):
    """One full matrix P a row."""
    rng = np.random.default_rng(seed)
    roots = 0.1 / np.sqrt(p) * rng.standard_normal((n, p, p))
    return roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(p)


def cone_program(X, y, roots):
    """Problem (34) with C = 1 as Clarabel takes it; ``roots`` holds L with P = LL', one for all rows or one per row.

    Variables w, b, v, u (one u per cone); y(w'x + b) - 1 + v - u >= 0, v >= 0, (u, L'w) in the second-order cone.
    """
    (n, p), cones = X.shape, len(roots)
    sign = 2.0 * y - 1
    one, size = sparse.identity(n, format="csr"), p + 1 + n + cones
    reach = one if cones == n else sparse.csr_matrix(np.ones((n, 1)))
    margins = sparse.hstack([-sign[:, None] * np.c_[X, np.ones(n)], -one, reach])
    positive = sparse.hstack([sparse.csr_matrix((n, p + 1)), -one, sparse.csr_matrix((n, cones))])
    blocks = []
    for j, root in enumerate(roots):
        head = sparse.csr_matrix(([-1.0], ([0], [p + 1 + n + j])), shape=(1, size))
        tail = sparse.hstack([-sparse.csr_matrix(root.T), sparse.csr_matrix((p, size - p))])
        blocks += [head, tail]
    A = sparse.vstack([margins, positive, *blocks]).tocsc()
    b = np.r_[np.full(n, -1.0), np.zeros(n + cones * (p + 1))]
    P = sparse.diags(np.r_[np.ones(p), np.zeros(size - p)]).tocsc()
    cost = np.r_[np.zeros(p + 1), np.ones(n), np.zeros(cones)]
    kinds = [clarabel.NonnegativeConeT(2 * n)] + [clarabel.SecondOrderConeT(p + 1)] * cones
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-6
    return P, cost, A, b, kinds, settings


def svm_case(title, n, p, kind, ratio, rounds):
    """The peer's time is that of the solver alone; building its sparse matrix is not counted."""
    X, y, axes = data(n, p)
    if kind == "shared":
        roots, shared, own = [np.diag(axes[0])], axes[0], None
    elif kind == "diagonal":
        roots, shared, own = [np.diag(a) for a in axes], 0.0, axes
    else:
        own = covariances(n, p)
        values, vectors = np.linalg.eigh(own)
        # (34d) as it stands has the symmetric root; triangular ones are half as dense and suit Clarabel better.
        roots = list((vectors * np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1))
        shared = 0.0

    def peer(roots=roots):
        program = cone_program(X, y, roots)
        return lambda: np.array(clarabel.DefaultSolver(*program).solve().x[: p + 1])

    ours = EllipsoidSVC(shared)

    def peer_gap(answer):
        w, b = answer[:p], answer[p]
        reach = np.array([np.linalg.norm(root.T @ w) for root in roots])
        losses = np.maximum(0, 1 - (2 * y - 1) * (X @ w + b) + reach).sum()
        value = 0.5 * w @ w + losses
        best = EllipsoidSVC(shared, tol=1e-9).fit(X, y, uncertainty=own)
        bound = best.objective_ - best.dual_gap_ * max(1, best.objective_)
        return (value - bound) / max(1, value)

    contenders = [
        Contender("mainstay", lambda: ours.fit(X, y, uncertainty=own), lambda m: m.dual_gap_),
        Contender("Clarabel", peer(), peer_gap),
    ]
    if kind == "full":
        triangles = peer(list(np.linalg.cholesky(own)))
        contenders.append(Contender("Clarabel, triangular roots", triangles, peer_gap))
    return Case(title, contenders, [Bar("Clarabel", ratio)] if ratio else [], rounds)


def cases(_data):
    X, y, _ = data(100_000, 50)
    lda = LinearDiscriminantAnalysis(solver="lsqr")
    yield Case(
        "ReGEC, 100,000 x 50",
        [Contender("mainstay", lambda: ReGEC().fit(X, y)), Contender("LDA (lsqr)", lambda: lda.fit(X, y))],
        [Bar("LDA (lsqr)", 4)],
        rounds=11,
    )
    rows, labels, axes = data(10_000, 50)

    def grams():
        return [rows.T @ rows for _ in range(30)]

    bars = [Bar("30 Gram passes (numpy)", 0.2)]
    for xi in ("auto", 0.0):
        model = RobustReGEC(xi=xi)
        yield Case(
            f"RobustReGEC(xi={xi!r}), 10,000 x 50, per-row diagonal",
            [
                Contender("mainstay", lambda model=model: model.fit(rows, labels, uncertainty=axes)),
                Contender("30 Gram passes (numpy)", grams),
            ],
            bars,
        )
    yield svm_case("EllipsoidSVC, 2,000 x 50, shared P", 2000, 50, "shared", 10, 5)
    yield svm_case("EllipsoidSVC, 2,000 x 50, per-row diagonal", 2000, 50, "diagonal", 30, 3)
    yield svm_case("EllipsoidSVC, 500 x 50, per-row full", 500, 50, "full", None, 3)
    yield svm_case("EllipsoidSVC, 2,000 x 50, per-row full", 2000, 50, "full", 40, 3)
    many, classes, errors = data(20_000, 50)
    yield Case(
        "EllipsoidSVC, 20,000 x 50, per-row diagonal",
        [
            Contender(
                "mainstay",
                lambda: EllipsoidSVC().fit(many, classes, uncertainty=errors),
                lambda m: m.dual_gap_,
            )
        ],
        rounds=3,
    )


def growth(_data):
    """How time and memory grow."""

    def planes(n, p):
        X, y, _ = data(n, p)
        return lambda: ReGEC().fit(X, y)

    def robust(n, p):
        X, y, axes = data(n, p)
        return lambda: RobustReGEC(xi=0.0).fit(X, y, uncertainty=axes)

    def svm(n, p):
        X, y, axes = data(n, p)
        return lambda: EllipsoidSVC().fit(X, y, uncertainty=axes)

    yield ""
    for name, work, rows, columns in (
        ("ReGEC", planes, [25_000, 50_000, 100_000, 200_000], (20_000, [20, 40, 80, 160])),
        ("RobustReGEC(xi=0), diagonal", robust, [2500, 5000, 10_000, 20_000], (5000, [10, 20, 40, 80])),
        ("EllipsoidSVC, diagonal", svm, [1000, 2000, 4000, 8000], (1000, [10, 20, 40, 80])),
    ):
        for letter, sizes, run, rest in (
            ("n", rows, lambda n, work=work: work(n, 50), "p = 50"),
            ("p", columns[1], lambda p, work=work, n=columns[0]: work(n, p), f"n = {columns[0]:,}"),
        ):
            seconds, slope = harness.growth(sizes, run)
            shown = ", ".join(f"{size:,}: {s:.3g} s" for size, s in zip(sizes, seconds, strict=True))
            yield f"{name} against {letter} ({rest}): {shown}; slope {slope:.2f}.\n"
    code = (
        "import numpy as np; from mainstay import ReGEC\n"
        "X = np.random.default_rng(0).standard_normal((200_000, 50)); y = np.arange(200_000) % 2\n"
        "ReGEC().fit(X[:100], y[:100])\n"
    )
    extra = harness.peak_memory(code + "ReGEC().fit(X, y)") - harness.peak_memory(code)
    yield f"Memory of one ReGEC fit at 200,000 x 50 beyond the data (80 MB) themselves: {extra:.0f} MB."
